// SPDX-License-Identifier: BSD-3-Clause
// Joins its inputs along one axis: tf.keras.layers.Concatenate. Level 2.
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
  static constexpr std::string_view usage = "concatenate{} or concatenate{axis}";
  static constexpr int most_inputs = 16;

  int axis = -1;

  constexpr explicit(false) concatenate(int axis_ = -1) : axis(axis_) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = concatenate>
  constexpr explicit concatenate(detail::wrong_options, ...) : concatenate(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// Steps that do not count do not count behind it; but not where sequences are joined end to end.
  [[nodiscard]] constexpr bool passes_mask() const { return !takes_no_mask(); }
  [[nodiscard]] constexpr bool takes_no_mask() const { return axis == 1 || axis == -2; }

  /// The axis among those of a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(2, most_inputs)) return in[0];
    auto const along = shape_axis(in[0]);
    if (along < 0 || along >= in[0].rank())
      return in.error(1015, "joins along axis ", axis, ", which is not an axis of an input of shape ", in[0],
                      "; axis 0 is the batch, the last is ", in[0].rank());
    auto result = in[0];
    for (int i = 1; i < in.size(); ++i) {
      bool same = in[i].rank() == in[0].rank();
      for (int k = 0; same && k < in[0].rank(); ++k) same = k == along || in[i][k] == in[0][k];
      if (!same)
        return in.error(1016, "joins along axis ", axis, ", so its inputs must agree in all others, but input 0 has ",
                        in[0], " and input ", i, " has ", in[i]);
      result[along] += in[i][along];
    }
    return result;
  }
};

}  // namespace stagecraft::layers
