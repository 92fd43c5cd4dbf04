// SPDX-License-Identifier: BSD-3-Clause
// Which calls and weights steps multiply in pairs of bfloat16, where these lie in a pass's copy of the weight, and the
// gradients of such a product.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/threads/share.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::cpu {

/// The offset of the next packed factor after one of `floats` floats: it begins in a cache line of its own, and a
/// kernel may read past the end of the one before.
[[nodiscard]] constexpr long long behind_factor(long long floats) { return floats / 16 * 16 + 80; }

/// True if a call computes in bfloat16 on a processor that multiplies pairs of them.
template <class Call>
inline constexpr bool multiplies_bfloat16 = [] {
  if constexpr (!kernels::multiplies_bfloat16_pairs<typename Call::architecture>)
    return false;
  else if constexpr (requires { requires Call::plan::stored == dtype::bfloat16; })
    return computed_type_of<typename Call::plan::job, Call::call> == dtype::bfloat16;
  else
    return false;
}();

/// The kernel of a layer, stored as pairs of its rows in place of floats. A convolution's taps have pairs of their own
/// (pack_pairs_of_runs), and its groups follow each other.
template <class Plan, int Layer>
struct bfloat16_kernel {
  using architecture = typename Plan::architecture;
  static constexpr auto const& layer = Plan::graph.layers[Layer];
  static constexpr bool is_dense = layer.kernel == layer_kernel::product;
  static constexpr bool is_transposed = layer.kernel == layer_kernel::transposed_convolution;
  static constexpr bool is_convolution = is_transposed || layer.kernel == layer_kernel::convolution;
  [[nodiscard]] static constexpr int input_of(int call) {
    return Plan::graph.inputs[Plan::graph.call(call).first_input];
  }
  template <class Is>
  [[nodiscard]] static constexpr bool some_call(Is const& is) {
    for (int call = 0; call < static_cast<int>(Plan::graph.calls.size()); ++call)
      if (!Plan::graph.call(call).is_input && Plan::graph.call(call).layer == Layer && is(call)) return true;
    return false;
  }
  /// Channels of a convolution's group; of a transposed one, the filters.
  [[nodiscard]] static constexpr int channels_of(parameter const& info) { return info.shape[info.shape.rank() - 2]; }
  /// A kernel all of whose factors are stored in bfloat16: the same in training and without. A single channel
  /// of a convolution's input would make as many pairs as floats.
  static constexpr bool multiplies_pairs = [] {
    if constexpr (Plan::stored != dtype::bfloat16 || !kernels::multiplies_bfloat16_pairs<architecture>) {
      return false;
    } else if constexpr (!rounds_copies_of_weights<Plan::training.dtype_policy> ||
                         layer.type_of_values != dtype::of_policy || !(is_dense || is_convolution) ||
                         layer.parameter_count == 0) {
      return false;
    } else {
      constexpr auto const& info = Plan::graph.parameters[layer.first_parameter];
      if constexpr (!info.is_cast() || some_call([](int call) {
                      return Plan::model_plan.calls[input_of(call)].stored != dtype::bfloat16;
                    }))
        return false;
      else if constexpr (is_convolution)
        return (is_transposed ? info.columns() : channels_of(info)) > 1;
      else
        return true;
    }
  }();

  /// Makes the copy of `from`.
  static void pack(float const* from, float* to) {
    constexpr auto const& info = Plan::graph.parameters[layer.first_parameter];
    constexpr int rows = info.rows(), columns = info.columns() / info.groups, run = is_dense ? rows : channels_of(info);
    kernels::detail::pack_pairs_of_groups<rows, columns, run, info.groups, architecture>(from, to, {});
  }
};

/// The bfloat16_kernel of the layer that a call is of.
template <class Plan, int Call>
using bfloat16_kernel_of_call = bfloat16_kernel<Plan, Plan::graph.call(Call).layer>;

/// The layer whose first weight it is, if its kernel is multiplied in pairs; else -1.
template <class Plan, std::size_t Parameter>
inline constexpr int bfloat16_layer_of_weight = [] {
  if constexpr (Plan::stored == dtype::bfloat16) {
    return []<std::size_t... Layer>(std::index_sequence<Layer...>) {
      int found = -1;
      ((Plan::graph.layers[Layer].parameter_count > 0 &&
                Plan::graph.layers[Layer].first_parameter == static_cast<int>(Parameter) &&
                bfloat16_kernel<Plan, static_cast<int>(Layer)>::multiplies_pairs
            ? found = static_cast<int>(Layer)
            : 0),
       ...);
      return found;
    }(std::make_index_sequence<Plan::graph.layers.size()>{});
  } else {
    return -1;
  }
}();

/// The gradients of y (Rows x Units) = x (Rows x Inputs) w. Its functions take memory of `floats` floats for the packed
/// factors, one after the other, with room to read on: rows of dy that may end with a zero, pairs of rows of dy and x,
/// and w's pairs of columns. `make_factors` and `turn` come first, and all threads must have ended them.
template <int Rows, int Inputs, int Units, class Arch>
struct gradients_of_pairs {
  static constexpr long long gradient_pairs = behind_factor(1LL * Rows * kernels::pairs_of(Units)),
                             input_pairs = gradient_pairs + behind_factor(1LL * kernels::pairs_of(Rows) * Units),
                             column_pairs = input_pairs + behind_factor(1LL * kernels::pairs_of(Rows) * Inputs),
                             floats =
                                 column_pairs + kernels::packed_matrix<kernels::pairs_of(Units), Inputs, Arch>::size;

  /// x: floats, or as std::uint16_t bfloat16.
  template <bool OfInput, bool OfWeight, class Number>
  static void make_factors(Number const* x, float const* dy, float* room, kernels::share part) {
    if constexpr (OfInput) kernels::narrow_rows<Rows, Units, Arch>(dy, reinterpret_cast<std::uint16_t*>(room), part);
    if constexpr (OfWeight) {
      kernels::pair_rows<Rows, Inputs, Arch>(x, room + input_pairs, part);
      kernels::pair_rows<Rows, Units, Arch>(dy, room + gradient_pairs, part);
    }
  }
  /// w: pairs of rows.
  static void turn(float const* w, float* room, kernels::share part) {
    kernels::transpose_row_pairs<Inputs, Units, Arch>(w, room + column_pairs, part);
  }
  template <class Epilogue>
  static void find_input_gradient(float const* room, float* dx, Epilogue const& epilogue, kernels::share part) {
    kernels::matmul_of_pairs<Rows, Units, Inputs, Arch>(reinterpret_cast<std::uint16_t const*>(room),
                                                        room + column_pairs, dx, epilogue, part);
  }
  template <bool Adds>
  static void find_weight_gradient(float const* room, float* dw, kernels::share part) {
    kernels::weight_gradient_of_pairs<Rows, Inputs, Units, Adds, Arch>(room + input_pairs, room + gradient_pairs, dw,
                                                                       part);
  }
};

}  // namespace stagecraft::cpu
