// SPDX-License-Identifier: BSD-3-Clause
// Joins its inputs along one axis: tf.keras.layers.Concatenate.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Joins two or more inputs whose shapes agree in all other axes. `axis` counts as in Keras: the batch is axis 0, -1 is
/// the last. No weights.
/// Errors: E1001; E1015 axis out of range or the batch; E1016 shapes that differ elsewhere.
/// Definition: Keras API, layers/merging_layers/concatenate.
struct concatenate : layer<concatenate> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Concatenate";
  static constexpr std::string_view usage = "concatenate{} or concatenate{axis}"sv;
  static constexpr int least_inputs = 2, most_inputs = 16;

  int axis = -1;
  using arguments = argument_list<&concatenate::axis>;

  constexpr explicit(false) concatenate(int axis_ = -1) : axis(axis_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = concatenate>
  constexpr explicit concatenate(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                 detail::wrong_options = {})
      : concatenate(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The mask passes to the output, unless sequences are joined end to end.
  [[nodiscard]] constexpr bool passes_mask() const { return !takes_no_mask(); }
  [[nodiscard]] constexpr bool takes_no_mask() const { return axis == 1 || axis == -2; }

  /// The axis in a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }

  constexpr auto call(auto& ops, tensor_list in) const {
    shape const first = detail::sample_shape(in[0]);
    auto const along = shape_axis(first);
    if (along < 0 || along >= first.rank()) {
      ops.error(1015, "joins along axis ", axis, ", which is not an axis of an input of shape ", first,
                "; axis 0 is the batch, the last is ", first.rank());
      return in[0];
    }
    for (std::size_t i = 1; i < in.size(); ++i) {
      shape const other = detail::sample_shape(in[i]);
      bool same = other.rank() == first.rank();
      for (int k = 0; same && k < first.rank(); ++k) same = k == along || other[k] == first[k];
      if (same) continue;
      ops.error(1016, "joins along axis ", axis, ", so its inputs must agree in all others, but input 0 has ", first,
                " and input ", static_cast<int>(i), " has ", other);
      return in[0];
    }
    return ops.concatenate(in, along + 1);
  }
};

}  // namespace stagecraft::layers
