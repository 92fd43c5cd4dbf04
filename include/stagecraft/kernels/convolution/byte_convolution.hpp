// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of whole numbers of 8 bits: the convolutions of floats, each of which is four channels. Counterpart:
// QLinearConv and ConvInteger of ONNX.
#pragma once

#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/product/byte_products.hpp>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

namespace detail {

/// The convolution of four channels a step, whose input has its border in memory: the bytes there are zeros plus the
/// shift, which the offsets take away everywhere.
[[nodiscard]] constexpr convolution_shape of_channel_quads(convolution_shape shape) {
  shape.channels = shape.groups * quads_of(shape.group_channels());
  shape.height = shape.padded_height(), shape.width = shape.padded_width();
  shape.top = shape.left = shape.bottom = shape.right = 0;
  return shape;
}

}  // namespace detail

/// A convolution's kernel and offsets.
template <convolution_shape Shape, class Arch = default_architecture>
using byte_filter = byte_kernel<Shape.steps(), Shape.group_filters(), Shape.group_channels(), Shape.groups, Arch>;

/// Floats of a convolution's kernel and offsets.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long byte_filter_floats = byte_filter<Shape, Arch>::floats;

/// Makes them of a `packed_filter` for each group and of a bias or null: see byte_kernel.
template <convolution_shape Shape, class Arch = default_architecture>
void pack_byte_filter(float const* w, float const* bias, int shift, float* to) {
  byte_filter<Shape, Arch>::pack(w, bias, shift, to);
}

/// Floats that Batch inputs take as bytes, their borders included.
template <int Batch, convolution_shape Shape>
inline constexpr long long byte_picture_floats =
    static_cast<long long>(Batch) * detail::of_channel_quads(Shape).input_size();

/// Writes Batch inputs as bytes, the nearest to x + shift, for `convolution_of_bytes`. Items of `part`: rows.
template <int Batch, convolution_shape Shape, class Arch = default_architecture>
void picture_to_bytes(float const* x, int shift, std::uint8_t* to, share part = {}) {
  constexpr auto padded = detail::of_channel_quads(Shape);
  constexpr int pixel = 4 * padded.channels, row_bytes = pixel * padded.width,
                row_floats = Shape.width * Shape.channels;
  auto const [first, last] = part.of(std::int64_t{Batch} * padded.height);
  for (std::int64_t row = first; row < last; ++row) {
    auto const y = static_cast<int>(row % padded.height) - Shape.top;
    std::uint8_t* const begin = to + row * row_bytes;
    if (y < 0 || y >= Shape.height) {
      std::memset(begin, shift, row_bytes);
      continue;
    }
    if constexpr (Shape.left > 0) std::memset(begin, shift, Shape.left * pixel);
    rows_to_bytes<Shape.group_channels(), Arch>(x + (row / padded.height * Shape.height + y) * row_floats,
                                                static_cast<float>(shift), begin + Shape.left * pixel,
                                                std::int64_t{Shape.width} * Shape.groups);
    if constexpr (Shape.right > 0) std::memset(begin + (Shape.left + Shape.width) * pixel, shift, Shape.right * pixel);
  }
}

/// y = epilogue(the convolution of x with w + the offsets) in floats, where the sums are exact. x: `picture_to_bytes`;
/// w: a byte_filter; y: Batch x output. See `convolution`.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void convolution_of_bytes(std::uint8_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                          share part = {}) {
  if constexpr (Shape.is_product()) {
    matmul_of_bytes<Batch * Shape.height * Shape.width, Shape.channels, Shape.filters, Arch>(x, w, y, epilogue, part);
  } else {
    auto const whole = join_epilogues(byte_sums_epilogue{w + byte_filter<Shape, Arch>::offsets}, epilogue);
    convolution<Batch, detail::of_channel_quads(Shape), false, Arch, detail::byte_terms>(
        reinterpret_cast<float const*>(x), w, nullptr, y, whole, part);
  }
}

}  // namespace stagecraft::kernels
