// SPDX-License-Identifier: BSD-3-Clause
// Keras's `interpolation` argument of up_sampling2d and resizing.
#pragma once

namespace stagecraft {

/// The rule that computes the pixels of an image from those of a smaller or larger one.
enum class interpolation : unsigned char {
  nearest,        ///< each pixel is repeated
  bilinear,       ///< between the centres of the pixels, each of which lies at its half
  bicubic,        ///< by cubic polynomials of four pixels along each axis (Keys, a = -0.5)
  area,           ///< the mean of the pixels that lie under one
  lanczos3,       ///< by a sinc function of six pixels along each axis
  lanczos5,       ///< by a sinc function of ten pixels along each axis
  gaussian,       ///< by a bell of standard deviation 0.5
  mitchellcubic,  ///< by the cubic polynomials of Mitchell and Netravali
};

}  // namespace stagecraft
