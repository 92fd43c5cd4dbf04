// SPDX-License-Identifier: BSD-3-Clause
// Whether a layer's call is elementwise, and then its formulas: what a machine needs to compute it in a loop of another
// layer, or in one of its own. Level 2.
#pragma once

#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/elementwise.hpp>
#include <array>

namespace stagecraft::detail {

/// The layer without what makes no difference to what it computes: so that equal layers share what is compiled.
template <class L>
constexpr L anonymous(L layer) {
  layer.layer_name = {};
  layer.pipeline_stage = unassigned;
  layer.layer_id = -1;
  return layer;
}

/// What is known of an elementwise call of `Inputs` inputs.
template <int Inputs>
struct elementwise_facts {
  bool holds = false;            ///< whether it is one
  bool repeats = false;          ///< whether an input is repeated along axes
  activation function = linear;  ///< the activation that is all of it, if it is one
  std::array<operations::extents, Inputs> aligned{};
  /// For the gradient of each input: which inputs it reads, a bit for each, and whether it reads the result.
  std::array<unsigned, Inputs> gradient_reads{};
  std::array<bool, Inputs> gradient_reads_output{};
};

/// A call of a layer on a batch of inputs of these shapes (see `anonymous`). Softmax, for example, is not elementwise.
///
///     using call = elementwise_call<anonymous(layer), batch, trains, shape(4, 5), shape(4, 5)>;
///     if constexpr (call::facts.holds && !call::facts.repeats) ... formula_of_layer<call> ... gradient_of_layer<call,
///     0>
template <auto Layer, int Batch, bool Trains, shape... Inputs>
class elementwise_call {
  static constexpr int count = sizeof...(Inputs);

  static constexpr operations::elementwise analyse() {
    shape const shapes[]{Inputs...};
    auto traced = trace_layer(Layer, shapes, Batch, Trains);
    if (traced.outputs.empty()) traced.list.problem.report(1001, "");
    return operations::elementwise(traced);
  }
  static constexpr elementwise_facts<count> find_facts() {
    elementwise_facts<count> result;
    if constexpr (HasCall<std::remove_cvref_t<decltype(Layer)>>) {
      auto const found = analyse();
      result.holds = found.holds;
      if (!found.holds) return result;
      result.repeats = found.repeats;
      if (auto const* group = found.group(); group != nullptr) result.function = activation_of(*group);
      for (int i = 0; i < count; ++i) {
        auto const index = static_cast<std::size_t>(i);
        result.aligned[index] = found.aligned[index];
        for (auto const& step : found.gradient(i).steps) {
          if (step.from != operations::formula_source::place) continue;
          if (step.index < count) result.gradient_reads[index] |= 1U << step.index;
          if (step.index == count) result.gradient_reads_output[index] = true;
        }
      }
    }
    return result;
  }

 public:
  static constexpr elementwise_facts<count> facts = find_facts();

  struct make_value {
    constexpr operations::formula operator()() const { return analyse().value(); }
  };
  template <int Input>
  struct make_gradient {
    constexpr operations::formula operator()() const { return analyse().gradient(Input); }
  };
};

/// The result of an elementwise call as an operations::frozen_formula: number i at each place is input i.
template <class Call>
inline constexpr auto const& formula_of_layer = operations::formula_of<typename Call::make_value>;
/// The gradient of an input at each place of the result: of one that is repeated, what is to be summed. Number i at
/// each place is input i; then come the result and its gradient.
template <class Call, int Input>
inline constexpr auto const& gradient_of_layer = operations::formula_of<typename Call::template make_gradient<Input>>;

}  // namespace stagecraft::detail
