// SPDX-License-Identifier: BSD-3-Clause
// Layers that put the elements of a sample into another shape: tf.keras.layers.Reshape, Flatten, Permute, RepeatVector.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>

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

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = reshape>
  constexpr explicit reshape(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                             detail::wrong_options = {})
      : reshape(1) {
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

/// Joins all axes but the batch: tf.keras.layers.Flatten.
/// Shape: (a, b, ...) to (a * b * ...). No weights, no cost: the output is the input's memory.
struct flatten : layer<flatten> {
  static constexpr std::string_view class_name = "Flatten";
  static constexpr bool is_view = true;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone

  constexpr auto call(auto& ops, auto x) const { return ops.reshape(x, {x.length(0), detail::sample_shape(x).size()}); }
};

/// Changes the order of a sample's axes: tf.keras.layers.Permute.
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

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = permute>
  constexpr explicit permute(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                             detail::wrong_options = {})
      : permute(1) {
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

/// Repeats a vector n times, as the steps of a sequence: tf.keras.layers.RepeatVector.
///
/// Shape: (features) to (n, features). No weights, no arithmetic. Errors: E1001; E1012 if n is below 1; E1041 for an
/// input of another number of axes. Definition: Keras API, layers/reshaping_layers/repeat_vector.
struct repeat_vector : layer<repeat_vector> {
  static constexpr std::string_view class_name = "RepeatVector";
  static constexpr std::string_view usage = "repeat_vector{n}"sv;

  int n = 1;
  using arguments = argument_list<&repeat_vector::n>;

  constexpr explicit repeat_vector(detail::whole_number n_) : n(n_) {}

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = repeat_vector>
  constexpr explicit repeat_vector(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : repeat_vector(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (n < 1)
      ops.error(1012, "repeats its input ", n, " times; it must do so at least once");
    else if (!detail::are_counts(n))
      ops.error(1012, "repeats its input ", n, " times; it may do so ", detail::count_limit(n));
    else if (x.rank() != 2)
      ops.error(1041, "expects an input of shape (features,), but got ", detail::sample_shape(x));
    else
      return ops.broadcast(ops.reshape(x, {x.length(0), 1, x.length(1)}), {x.length(0), n, x.length(1)});
    return x;
  }
};

}  // namespace stagecraft::layers
