// SPDX-License-Identifier: BSD-3-Clause
// Gives its input another shape: tf.keras.layers.Reshape.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Shape: any to the target, which has as many elements; one dimension may be -1 and is inferred. No weights, no cost:
/// the output is the input's memory. Errors: E1017 if the numbers of elements differ.
/// Definition: Keras API, layers/reshaping_layers/reshape.
struct reshape : layer<reshape> {
  static constexpr std::string_view class_name = "Reshape";
  static constexpr std::string_view usage = "reshape{4, 7} with the new dimensions"sv;
  static constexpr bool is_view = true;

  shape target;
  using arguments = argument_list<&reshape::target>;

  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1)
  constexpr explicit reshape(Dimensions... dimension) : target(dimension...) {}
  constexpr explicit reshape(shape const& target_) : target(target_) {}

  /// Nothing, or anything else: E1025.
  template <class L = reshape>
  constexpr reshape() : reshape(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer::layer;
  template <class L = reshape>
  constexpr explicit reshape(detail::wrong_options, ...) : reshape(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    auto result = target;
    long long known = 1;
    int unknown = -1;
    bool valid = true;
    for (int i = 0; i < target.rank(); ++i) {
      if (target[i] == -1 && unknown < 0)
        unknown = i;
      else if (target[i] < 1)
        valid = false;
      else if (known <= shape::most_elements)
        known *= target[i];
    }
    if (valid && unknown >= 0 && in.size() % known == 0) {
      result[unknown] = static_cast<int>(in.size() / known);
      known = in.size();
    }
    if (valid && known == in.size()) return ops.reshape(x, operations::extents::of_batch(x.length(0), result));
    ops.error(1017, "cannot give an input of shape ", in, " (", in.size(), " elements) the shape ", target);
    return x;
  }
};

}  // namespace stagecraft::layers
