// SPDX-License-Identifier: BSD-3-Clause
// What a layer's rules say of a call with inputs of given shapes.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <iterator>
#include <string_view>

namespace layer_rules {

namespace sc = stagecraft;

/// The weights that a layer says it has, as a constant.
struct weights_of_layer {
  sc::parameter entries[8]{};
  int count = 0;

  constexpr weights_of_layer() = default;
  constexpr explicit weights_of_layer(sc::parameter_list const& found) : count(found.count) {
    for (std::size_t i = 0; i < found.entries.size() && i < std::size(entries); ++i) entries[i] = found.entries[i];
  }
};

struct rules {
  sc::diagnostics::diagnostic problem;
  sc::shape output;
  long long flops = 0;
  weights_of_layer weights;

  [[nodiscard]] constexpr bool gives(sc::shape const& shape) const { return !problem.failed() && output == shape; }
  [[nodiscard]] constexpr bool says(std::string_view text) const { return problem.text == text; }
};

/// The layer is called "the_layer".
template <sc::Layer L, class... Shapes>
constexpr rules rules_of(L const& layer, Shapes const&... shapes) {
  rules result;
  sc::shape const given[]{shapes...};
  sc::layer_inputs const in(given, sizeof...(Shapes), "the_layer", result.problem);
  sc::parameter_list weights;
  sc::detail::rules_of_layer<L> const found(layer, in, "the_layer", weights, result.problem);
  result.weights = weights_of_layer(weights);
  result.output = found.output;
  result.flops = found.flops;
  return result;
}

}  // namespace layer_rules
