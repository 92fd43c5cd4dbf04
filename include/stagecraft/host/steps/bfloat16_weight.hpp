// SPDX-License-Identifier: BSD-3-Clause
// Which weights steps multiply in pairs of bfloat16, and where these lie in a pass's copy of the weight. Constants
// only.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>
#include <stagecraft/layers/core/dense.hpp>
#include <stagecraft/plan/program.hpp>
#include <cstddef>

namespace stagecraft::detail {

/// The kernel of the layer of a call. In place of its floats stand pairs of its rows (pack_row_pairs) and, for the
/// gradient of the input, behind them pairs of its columns.
template <class Plan, int Call>
struct bfloat16_weight {
  using architecture = typename Plan::architecture;
  static constexpr auto const& layer = Plan::graph.layer_of(Call);
  static constexpr int input = Plan::graph.inputs[Plan::graph.call(Call).first_input];
  /// Whether training asks for the gradient of the input: an input of the model has none.
  static constexpr bool has_gradient =
      !only_infers<Plan::training> && !Plan::graph.call(Plan::program.calls[input].root).is_input;
  /// A product of an even number of inputs, and of units for the gradient, whose layer has this call alone.
  static constexpr bool multiplies_pairs = [] {
    if constexpr (Plan::stored != dtype::bfloat16 || !kernels::multiplies_bfloat16_pairs<architecture>) {
      return false;
    } else if constexpr (!rounds_copies_of_weights<Plan::training.dtype_policy> ||
                         layer.type_of_values != dtype::of_policy || !same_type(layer.type, tag_of<layers::dense>)) {
      return false;
    } else {
      constexpr auto const& info = Plan::graph.parameters[layer.first_parameter];
      if constexpr (layer.call_count != 1 || !info.trainable || info.rows() % 2 != 0 || info.columns() % 2 != 0 ||
                    Plan::program.calls[input].stored != dtype::bfloat16)
        return false;
      else
        return kernels::packed_matrix<info.rows() / 2, info.columns(), architecture>::size +
                   (has_gradient ? kernels::packed_matrix<info.columns() / 2, info.rows(), architecture>::size : 0) <=
               Plan::weights.size[layer.first_parameter];
    }
  }();
};

/// The same by the number of a weight.
template <class Plan, std::size_t Parameter>
struct bfloat16_copy {
  using architecture = typename Plan::architecture;
  static constexpr auto const& info = Plan::graph.parameters[Parameter];
  /// The call whose kernel it is; -1: it is none that is multiplied in pairs.
  static constexpr int call = [] {
    for (auto const& layer : Plan::graph.layers)
      if (layer.first_parameter == static_cast<int>(Parameter) && layer.parameter_count > 0 && layer.call_count == 1)
        return layer.first_call;
    return -1;
  }();

  /// Makes the copy of `from`; false if it has to be made of floats.
  static bool pack([[maybe_unused]] float const* from, [[maybe_unused]] float* to) {
    if constexpr (call >= 0) {
      if constexpr (bfloat16_weight<Plan, call>::multiplies_pairs) {
        kernels::pack_row_pairs<info.rows(), info.columns(), architecture>(from, to);
        if constexpr (bfloat16_weight<Plan, call>::has_gradient)
          kernels::pack_column_pairs<info.rows(), info.columns(), architecture>(
              from, to + kernels::packed_matrix<info.rows() / 2, info.columns(), architecture>::size);
        return true;
      }
    }
    return false;
  }
};

}  // namespace stagecraft::detail
