// SPDX-License-Identifier: BSD-3-Clause
// The activation that an output of a model comes from: if it is softmax or sigmoid, losses take the logits, as Keras's
// do.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/models/queries.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft {

/// The last activation of an output.
struct last_activation {
  activation function = linear;  ///< `linear` if the last layer applies none
  /// False after a layer that computes something else, such as a merge or a layer of the user's own: then `function`
  /// says nothing.
  bool is_known = false;
  bool is_layer = false;         ///< a layer of its own applies it: activation, or softmax_layer along the last axis
  bool is_behind_views = false;  ///< true if flatten or reshape come after it, so that Keras does not see it any more
  int call = -1;                 ///< the call that applies it

  /// True if softmax or sigmoid is the last thing that happens to the output.
  [[nodiscard]] constexpr bool has_logits() const noexcept {
    return is_known && !is_behind_views &&
           (function.kind == activation_kind::softmax || function.kind == activation_kind::sigmoid);
  }

  friend constexpr bool operator==(last_activation const&, last_activation const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::models {

template <class M, int Call>
constexpr last_activation find_last_activation() {
  using layer_type = layer_t<M, Call>;
  constexpr auto const& layer = layer_of<M, Call>;
  if constexpr (requires { layer_type::is_view; }) {
    if constexpr (layer_type::is_view && inputs_of<M, Call>.size() == 1) {
      auto result = find_last_activation<M, inputs_of<M, Call>[0]>();
      result.is_behind_views = true;
      return result;
    } else {
      return {};
    }
  } else if constexpr (requires { requires layer_type::is_softmax; }) {
    constexpr auto const& shape = output_shape_of<M, Call>;
    if (layer.shape_axis(shape) != shape.rank() - 1) return {};
    return {.function = softmax, .is_known = true, .is_layer = true, .call = Call};
  } else if constexpr (requires {
                         requires std::same_as<std::remove_cvref_t<decltype(layer.activation)>, activation>;
                       }) {
    return {.function = layer.activation, .is_known = true, .call = Call};
  } else if constexpr (requires { requires std::same_as<std::remove_cvref_t<decltype(layer.function)>, activation>; }) {
    return {.function = layer.function, .is_known = true, .is_layer = true, .call = Call};
  } else {
    return {};
  }
}

template <class M, std::size_t... Output>
constexpr auto find_last_activations(std::index_sequence<Output...>) {
  return std::array<last_activation, sizeof...(Output)>{find_last_activation<M, outputs_of<M>[Output]>()...};
}

/// The last activation of each output of a model, in the order of the outputs.
template <Model M>
inline constexpr auto last_activations_of =
    find_last_activations<M>(std::make_index_sequence<graph_of<M>.outputs_of(0).size()>());

}  // namespace stagecraft::models
