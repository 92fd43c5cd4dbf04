// SPDX-License-Identifier: BSD-3-Clause
// What the passes of one execution of a pipeline share: where micro-batches come from and results go to.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/step_view.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::engine {

/// Where the first stage's infeed puts a micro-batch.
template <class Session>
class pipeline_feed {
 public:
  pipeline_feed(std::array<float*, static_cast<std::size_t>(Session::input_count())> const& inputs,
                std::array<float*, Session::end_count> const& targets,
                std::array<float*, Session::end_count> const& scales, int& samples, float const** lent)
      : inputs_(inputs), targets_(targets), scales_(scales), samples_(samples), lent_(lent) {}

  /// (batch, shape...) of an input.
  [[nodiscard]] float* input(int index) const { return inputs_[index]; }
  /// Whether samples need not be copied: `lend` says where all of the only input's lie until the step is over.
  [[nodiscard]] bool takes_loans() const { return lent_ != nullptr; }
  void lend(float const* samples) const { *lent_ = samples; }
  template <std::size_t Output>
  [[nodiscard]] auto* target() const {
    return reinterpret_cast<typename Session::template target_type<Output>*>(targets_[Output]);
  }
  /// The weight of each row of an output in the loss.
  [[nodiscard]] float* scale(std::size_t output) const { return scales_[output]; }
  /// How many samples the micro-batch has, from the first row on.
  void set_valid_samples(int count) const { samples_ = count; }

 private:
  std::array<float*, static_cast<std::size_t>(Session::input_count())> inputs_;
  std::array<float*, Session::end_count> targets_, scales_;
  int& samples_;
  float const** lent_;
};

/// What all passes of an execution share. Each thread has a copy, which it may look at when the execution is over.
template <class Session>
struct pipeline_execution {
  void const* feed = nullptr;
  void (*call_feed)(void const*, pipeline_feed<Session> const&, int replica, int step) = nullptr;
  void const* results = nullptr;
  void (*call_results)(void const*, step_view<Session> const&) = nullptr;
  void (*cancel)(pipeline_execution const&) noexcept = nullptr;  ///< ends every wait in `feed` and `results`
  bool has_targets = false;
  thread_team* team = nullptr;  ///< of the devices' first threads; null: there is one
  std::uint64_t seed = 1;
  std::uint64_t first_step = 0;  ///< of training, counted over all replicas
  std::int64_t updates = 0;      ///< of the weights, before this execution
  int accumulated = 0;           ///< micro-batches before this execution whose weight update is still to come
  float learning_rate = 0;
  float const* shared_weights = nullptr;    ///< of all replicas together, where each holds a part
  float const* prepared_weights = nullptr;  ///< what steps have made of them once
  float* folded_weights = nullptr;          ///< those that steps read, if others' normalizations are in them
  trace* record = nullptr;
};

}  // namespace stagecraft::engine
