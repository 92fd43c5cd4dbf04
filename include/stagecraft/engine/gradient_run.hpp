// SPDX-License-Identifier: BSD-3-Clause
// The two halves of a training step, one by one: the gradients of a batch, and the update of the weights by gradients
// that the caller gives.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_run.hpp>
#include <stagecraft/engine/pipeline_update.hpp>
#include <stagecraft/engine/session.hpp>
#include <algorithm>
#include <cstddef>

namespace stagecraft::engine {

/// A policy for gradients that the calls of a layer have been added up in.
template <class Policy>
struct policy_of_given_gradients : Policy {
  template <class Plan, std::size_t Parameter>
  static void sum_of_calls(pass_memory const&) {}
};
template <class Plan>
struct plan_of_given_gradients : Plan {
  using policy = policy_of_given_gradients<typename Plan::policy>;
};

/// Carries out halves of training steps with a session's memory, optimizer and counters. The session has one replica,
/// no stages, one micro-batch for each weight update, no regularizers and no loss scale, and its policy joins no update
/// with a backward step. Allocates nothing.
template <class Session>
class gradient_run {
  using sizes = typename Session::sizes;
  using plan = typename Session::first_plan;
  using layout = typename Session::layout;
  using passes = pipeline_run<Session, execution_mode::training>;
  using update = pipeline_update<sizes, plan_of_given_gradients<plan>>;
  static_assert(sizes::replicas == 1 && sizes::stages == 1 && sizes::workers == 1);

 public:
  explicit gradient_run(Session& session)
      : session_(&session), back_(session.copied_, session.pointers_[0]->weights.data()) {}

  /// The passes of one training step, which leave the gradients in the session's memory and no weight changed, but for
  /// states such as moving means. `feed` and `results` as in session::train.
  template <class Feed, class Results>
  void find(Feed const& feed, Results const& results) {
    auto all = session_->execution(feed, results, true);
    all.first_step = session_->steps_++;
    for (auto& count : own().done) count.reset();
    passes const work(all, session_->pointers_, 1, session_->done_);
    auto const place = place_of(all.updates + 1);
    session_->teams_[0].run(0, [work, place](device_thread const& self) {
      return work.run_only_stage(0, 1, self) && pipeline_update<sizes, plan>::sum_calls(place, self);
    });
  }
  /// One weight update by the gradients in the session's memory, which are zeros afterwards.
  void apply() {
    auto const place = place_of(session_->updates_ + 1);
    bool const done = session_->teams_[0].run(0, [place](device_thread const& self) {
      if (!find_norms<0>(place, self) || !update::apply(place, self)) return false;
      if constexpr (have_constraints<plan>) return update::constrain(place, self);
      return true;
    });
    if (done) ++session_->updates_;
    // No backward step writes gradients of weights on which nothing depends.
    std::fill_n(own().gradients.data(), plan::weights.floats, 0.0F);
  }

  /// Copies the gradient of one parameter from or to its own, row-major shape.
  template <std::size_t Parameter>
  void read(float* row_major) const {
    layout::template read<Parameter>(own().gradients.data(), row_major);
  }
  template <std::size_t Parameter>
  void write(float const* row_major) {
    layout::template write<Parameter>(row_major, own().gradients.data());
  }

 private:
  [[nodiscard]] auto& own() const { return *session_->pointers_[0]; }
  [[nodiscard]] typename update::job place_of(std::int64_t number) const {
    return {session_->pointers_, 0, 0, number, session_->seed_, session_->learning_rate_};
  }
  template <int Round>
  static bool find_norms([[maybe_unused]] typename update::job const& place,
                         [[maybe_unused]] device_thread const& self) {
    if constexpr (Round < update::norm_rounds)
      return update::template add_squares<Round>(place, self) && find_norms<Round + 1>(place, self);
    return true;
  }

  Session* session_;
  copied_weights::giving const back_;  // weights and states that have changed
};

}  // namespace stagecraft::engine
