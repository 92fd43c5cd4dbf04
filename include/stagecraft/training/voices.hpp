// SPDX-License-Identifier: BSD-3-Clause
// Several voices of one predictor: states of their own over the same weights, such as those of the notes or channels of
// an audio effect. Include it where it is used; not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/predictor.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace stagecraft::trainers {

/// Reports E1162 for a model with a layer whose states are not kept beside the weights, and for one without states.
template <class Session>
inline constexpr diagnostic voices_problem = [] {
  diagnostic problem;
  if constexpr (Session::calls_alone) {
    constexpr auto const& graph = Session::graph;
    auto const report_states = [&](int call) {
      auto const& layer = graph.layer_of(call);
      for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
        if (graph.parameters[i].between_batches)
          return problem.report(1162, "layer '", layer.name, "' of model '", graph.name(),
                                "' is not compiled to inlined code, so that its states stand among the weights; give ",
                                "each voice a predictor of its own: model.sharing_weights()");
    };
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      ((cpu::kept_floats<typename Session::first_plan, static_cast<int>(Call)> == 0 ? report_states(Call) : void()),
       ...);
    }(std::make_index_sequence<graph.calls.size()>{});
    if (!graph.is_stateful())
      problem.report(1162, "model '", graph.name(), "' has no layer that keeps states from batch to batch; name one ",
                     "with .stateful = true, or call the predictor itself");
  }
  return problem;
}();

}  // namespace stagecraft::trainers

namespace stagecraft {

/// Voices of a predictor that has a `call` of arrays. They use its weights, also after these have changed, and its
/// memory for runs: one thread at a time calls the predictor and all of its voices.
///
///     sc::predictor<amplifier, single> model;
///     sc::voices<decltype(model)> voices(model, 16);       // all states are zeros
///     auto const y = voices.call(3, std::array{sample});   // the next step of the fourth voice
///
/// A call costs what the predictor's costs, and each voice takes the bytes of its states. The predictor must outlive
/// its voices, and stay where it is. Errors: E4151 a model without such a call, E1162 a model without states, or with a
/// layer that is not inlined (docs/realtime.md).
template <class Predictor>
class voices {
  using session_type = typename Predictor::session_type;
  static_assert(trainers::report<trainers::lone_call_problem<session_type>>());
  static_assert(trainers::report<trainers::voices_problem<session_type>>());
  using kept = cpu::prepared_weights<typename session_type::first_plan>;
  static constexpr auto const& graph = session_type::graph;
  static constexpr std::size_t stride = static_cast<std::size_t>(kept::state_floats);

  /// The index at which a state begins among those of a voice.
  static constexpr std::size_t place(int parameter) {
    std::size_t floats = 0;
    for (int i = 0; i < parameter; ++i)
      if (graph.parameters[i].between_batches) floats += static_cast<std::size_t>(graph.parameters[i].size());
    return floats;
  }

 public:
  /// Number of floats in the states of a voice.
  static constexpr std::size_t state_floats = place(static_cast<int>(graph.parameters.size()));

  /// Allocates the states of `count` voices, all zeros.
  voices(Predictor& model, std::size_t count)
      : model_(&model), count_(count), memory_(static_cast<long long>(count * stride)) {}

  /// Number of voices.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Computes the outputs of one batch, as the predictor's `call`, with the states of a voice, which it changes.
  /// `voice` is below `size()`. Nothing is checked at run time, allocated or locked.
  void call(std::size_t voice, std::span<float const, Predictor::call_inputs> x,
            std::span<float, Predictor::call_outputs> y) noexcept {
    model_->session().call(x.data(), y.data(), states(voice));
  }
  /// Returns the outputs that the other `call` writes.
  [[nodiscard]] std::array<float, Predictor::call_outputs> call(
      std::size_t voice, std::span<float const, Predictor::call_inputs> x) noexcept {
    std::array<float, Predictor::call_outputs> y;
    call(voice, x, y);
    return y;
  }

  /// Sets the states of a voice to zeros.
  void reset_states(std::size_t voice) noexcept { std::fill_n(states(voice), stride, 0.0F); }

  /// Copies the states of a voice: those of one layer after the other, each row by row, the oldest of kept steps first.
  void get_states(std::size_t voice, std::span<float, state_floats> to) const noexcept {
    kept::give_states(states(voice), [&](int parameter) { return to.data() + place(parameter); });
  }
  /// Sets the states of a voice to what `get_states` of any voice of this model has copied, perhaps into a file.
  void set_states(std::size_t voice, std::span<float const, state_floats> from) noexcept {
    kept::take_states(states(voice), [&](int parameter) { return from.data() + place(parameter); });
  }

 private:
  [[nodiscard]] float* states(std::size_t voice) const noexcept { return memory_.data() + voice * stride; }

  Predictor* model_;
  std::size_t count_;
  engine::aligned_block memory_;
};

/// Stands for the voices of a predictor whose model has errors.
template <>
class voices<trainers::invalid_predictor<>> {
 public:
  static constexpr std::size_t state_floats = 1;
  template <class... Any>
  explicit voices(Any const&...) {}
  [[nodiscard]] std::size_t size() const noexcept { return 0; }
  template <class... Any>
  std::array<float, 1> call(Any const&...) noexcept {
    return {};
  }
  void reset_states(std::size_t) noexcept {}
  template <class Any>
  void get_states(std::size_t, Any const&) const noexcept {}
  template <class Any>
  void set_states(std::size_t, Any const&) noexcept {}
};

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
