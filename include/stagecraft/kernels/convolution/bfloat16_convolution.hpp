// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of bfloat16, where the processor multiplies pairs of them: the convolutions of floats, each of which is
// a pair of channels, of filters or of samples. Keras counterpart: tf.nn.convolution of tf.bfloat16.
#pragma once

#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>

#include <cstdint>

namespace stagecraft::kernels {

namespace detail {

/// The convolution of pairs of channels.
[[nodiscard]] constexpr convolution_shape of_channel_pairs(convolution_shape shape) {
  shape.channels = shape.groups * pairs_of(shape.group_channels());
  return shape;
}
/// The convolution whose input gradient sums pairs of filters.
[[nodiscard]] constexpr convolution_shape of_filter_pairs(convolution_shape shape) {
  shape.filters = shape.groups * pairs_of(shape.group_filters());
  return shape;
}

}  // namespace detail

/// Floats of the kernel as pairs of channels: the pairs of each group, one after the other. The last channel of an odd
/// number makes a pair with a zero.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long filter_pair_floats = filter_floats<detail::of_channel_pairs(Shape), Arch>;

/// The kernel, a `packed_filter` for each group, as pairs of channels. Items of `part`: pairs of rows of each group's
/// matrix.
template <convolution_shape Shape, class Arch = default_architecture>
void pack_filter_pairs(float const* w, float* pairs, share part = {}) {
  detail::pack_pairs_of_groups<Shape.steps(), Shape.group_filters(), Shape.group_channels(), Shape.groups, Arch>(
      w, pairs, part);
}

/// y = epilogue(the convolution of x with w) in floats, or epilogue(y + it) if Accumulate. x: Batch x input numbers of
/// bfloat16, those of each pixel and group followed by a zero if they are odd (`pad_rows`); w: pairs of channels. See
/// `convolution`.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch = default_architecture,
          class Epilogue = no_epilogue>
void convolution_of_pairs(std::uint16_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                          share part = {}) {
  if constexpr (Shape.is_product() && !Accumulate)
    matmul_of_pairs<Batch * Shape.height * Shape.width, Shape.channels, Shape.filters, Arch>(x, w, y, epilogue, part);
  else
    convolution<Batch, detail::of_channel_pairs(Shape), Accumulate, Arch, detail::bfloat16_pair_terms>(
        reinterpret_cast<float const*>(x), w, nullptr, y, epilogue, part);
}

/// A convolution of pairs whose result is written, not added.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void convolution_of_pairs(std::uint16_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                          share part = {}) {
  convolution_of_pairs<Batch, Shape, false, Arch>(x, w, y, epilogue, part);
}

/// Floats of the kernel as pairs of filters.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long turned_filter_floats = filter_floats<detail::of_filter_pairs(Shape), Arch>;

/// The kernel's pairs of channels as pairs of filters. Items of `part`: pairs of rows of each group's matrix.
template <convolution_shape Shape, class Arch = default_architecture>
void turn_filter_pairs(float const* w, float* turned, share part = {}) {
  for (int group = 0; group < Shape.groups; ++group)
    detail::turn_pairs_of_runs<Shape.steps(), Shape.group_filters(), Shape.group_channels(), Arch>(
        w + group * (filter_pair_floats<Shape, Arch> / Shape.groups),
        turned + group * (turned_filter_floats<Shape, Arch> / Shape.groups), part);
}

/// Floats of workspace that `convolution_input_gradient_of_pairs` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long input_gradient_of_pairs_workspace =
    convolution_input_gradient_workspace<detail::of_filter_pairs(Shape), Arch>;

/// dx (+)= the gradient of the input in floats, through the epilogue. dy: Batch x output numbers of bfloat16, those of
/// each pixel and group followed by a zero if they are odd; w: pairs of filters. See `convolution_input_gradient`.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Epilogue = no_epilogue>
void convolution_input_gradient_of_pairs(std::uint16_t const* dy, float const* w, float* workspace, float* dx,
                                         Epilogue const& epilogue = {}, share part = {}) {
  convolution_input_gradient<Batch, detail::of_filter_pairs(Shape), Accumulate, Arch, detail::bfloat16_pair_terms>(
      reinterpret_cast<float const*>(dy), w, workspace, dx, epilogue, part);
}

/// dw (+)= the gradient of the filters in floats, of pairs of samples: `pair_rows` of Batch x input and Batch x output,
/// up to a register after whose ends may be read. `workspace` and dw: see `convolution_filter_gradient`.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_filter_gradient_of_pairs(float const* x, float const* dy, float* workspace, float* dw,
                                          share part = {}) {
  convolution_filter_gradient<pairs_of(Batch), Shape, Accumulate, Arch, detail::bfloat16_pair_terms>(x, dy, workspace,
                                                                                                     dw, part);
}

}  // namespace stagecraft::kernels
