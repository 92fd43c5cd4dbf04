// SPDX-License-Identifier: BSD-3-Clause
// What a layer's rules say of a call with inputs of given shapes.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <string_view>

namespace layer_rules {

namespace sc = stagecraft;

struct rules {
  sc::diagnostic problem;
  sc::shape output;
  long long flops = 0;
  sc::parameter_list weights;

  [[nodiscard]] constexpr bool gives(sc::shape const& shape) const { return !problem.failed() && output == shape; }
  [[nodiscard]] constexpr bool says(std::string_view text) const { return problem.text == text; }
};

/// The layer is called "the_layer".
template <sc::Layer L, class... Shapes>
constexpr rules rules_of(L const& layer, Shapes const&... shapes) {
  rules result;
  sc::shape const given[]{shapes...};
  sc::layer_inputs const in(given, sizeof...(Shapes), "the_layer", result.problem);
  sc::detail::rules_of_layer<L> const found(layer, in, "the_layer", result.weights, result.problem);
  result.output = found.output;
  result.flops = found.flops;
  return result;
}

}  // namespace layer_rules
