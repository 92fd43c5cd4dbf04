// SPDX-License-Identifier: BSD-3-Clause
// Changes the order of a sample's axes: tf.keras.layers.Permute.
#pragma once

#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Axis i of a sample's result is axis dims[i] of its input; they count from 1, as in Keras: `permute{2, 1}`.
///
/// Shape: the input's lengths in the new order. No weights, no arithmetic. Errors: E1001; E1074 if `dims` does not name
/// each axis once. Definition: Keras API, layers/reshaping_layers/permute.
struct permute : layer<permute> {
  static constexpr std::string_view class_name = "Permute";
  static constexpr std::string_view usage = "permute{2, 1} with the old axes in their new order"sv;

  shape dims;
  using arguments = argument_list<&permute::dims>;

  template <std::integral... Dims>
    requires(sizeof...(Dims) >= 1)
  constexpr explicit permute(Dims... each) : dims(each...) {}

  /// Nothing, or anything else: E1025.
  template <class L = permute>
  constexpr permute() : permute(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer::layer;
  template <class L = permute>
  constexpr explicit permute(detail::wrong_options, ...) : permute(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    int seen = 0;
    for (int const axis : dims) seen |= axis > 0 && axis <= shape::max_rank ? 1 << axis : 0;
    if (dims.rank() + 1 != x.rank() || seen != (2 << dims.rank()) - 2) {
      ops.error(1074, "has dims ", dims, ", which do not name each axis of an input of shape ", detail::sample_shape(x),
                " once; they count from 1");
      return x;
    }
    axis_list order(0);
    for (int const axis : dims) order.axes[order.count++] = axis;
    return ops.transpose(x, order);
  }
};

}  // namespace stagecraft::layers
