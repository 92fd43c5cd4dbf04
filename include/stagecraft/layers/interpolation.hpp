// SPDX-License-Identifier: BSD-3-Clause
// Keras's `interpolation` argument of up_sampling2d.
#pragma once

namespace stagecraft {

/// How the pixels of a larger image follow from those of a smaller one.
enum class interpolation : unsigned char {
  nearest,   ///< each pixel is repeated
  bilinear,  ///< between the centres of the pixels, each of which lies at its half
};

}  // namespace stagecraft
