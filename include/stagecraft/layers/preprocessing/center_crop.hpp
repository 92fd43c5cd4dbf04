// SPDX-License-Identifier: BSD-3-Clause
// The middle of an image: tf.keras.layers.CenterCrop.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Keeps `height` rows and `width` columns from the middle of an image; where a border is odd, one less is cut before
/// it than after it.
///
/// Shape: (rows, columns, channels) to (height, width, channels). No weights, no arithmetic. Errors: E1001; E1041 for
/// an input of another number of axes; E1045 if it is no part of the image. Definition: Keras API,
/// layers/preprocessing_layers/image_preprocessing/center_crop.
struct center_crop : layer<center_crop> {
  static constexpr std::string_view class_name = "CenterCrop";
  static constexpr std::string_view usage = "center_crop{height, width}"sv;

  int height = 1, width = 1;
  using arguments = argument_list<&center_crop::height, &center_crop::width>;

  constexpr center_crop(detail::whole_number height_, detail::whole_number width_) : height(height_), width(width_) {}

  /// Nothing, or anything else: E1025.
  template <class L = center_crop>
  constexpr center_crop() : center_crop(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer::layer;
  template <class L = center_crop>
  constexpr explicit center_crop(detail::wrong_options, ...) : center_crop(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else if (height < 1 || width < 1 || height > x.length(1) || width > x.length(2))
      ops.error(1045, "crops to ", height, " by ", width, ", which is no part of an input of shape ",
                detail::sample_shape(x));
    else
      return ops.slice(ops.slice(x, 1, (x.length(1) - height) / 2, height), 2, (x.length(2) - width) / 2, width);
    return x;
  }
};

}  // namespace stagecraft::layers
