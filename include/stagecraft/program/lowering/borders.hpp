// SPDX-License-Identifier: BSD-3-Clause
// Lowering of zero padding and cropping: each is the other's backward step. Level 4.
#pragma once

#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/layers/cropping1d.hpp>
#include <stagecraft/layers/cropping2d.hpp>
#include <stagecraft/layers/zero_padding1d.hpp>
#include <stagecraft/layers/zero_padding2d.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

namespace detail {

/// Samples of an image, or of a sequence, which is an image of one column.
constexpr box_axes image_axes(int batch, shape const& of) {
  return {batch, of[0], of.rank() == 2 ? 1 : of[1], of.back()};
}
constexpr box_axes border_before(border const& steps) { return {0, steps.before, 0, 0}; }
constexpr box_axes border_before(border_2d const& border) { return {0, border.rows.before, border.columns.before, 0}; }

struct padding_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_pad(step, Call::input(step), Call::output(step), image_axes(Call::batch, Call::input_shape()),
               border_before(Call::layer.padding), image_axes(Call::batch, Call::output_shape()));
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (!Call::wants_input_gradient(0)) return;
    append_slice(step, Call::output_gradient(step), Call::input_gradient(step),
                 image_axes(Call::batch, Call::output_shape()), border_before(Call::layer.padding),
                 image_axes(Call::batch, Call::input_shape()));
  }
};

struct cropping_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_slice(step, Call::input(step), Call::output(step), image_axes(Call::batch, Call::input_shape()),
                 border_before(Call::layer.cropping), image_axes(Call::batch, Call::output_shape()));
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (!Call::wants_input_gradient(0)) return;
    append_pad(step, Call::output_gradient(step), Call::input_gradient(step),
               image_axes(Call::batch, Call::output_shape()), border_before(Call::layer.cropping),
               image_axes(Call::batch, Call::input_shape()));
  }
};

}  // namespace detail

template <>
struct lowering<layers::zero_padding2d> : detail::padding_lowering {};
template <>
struct lowering<layers::zero_padding1d> : detail::padding_lowering {};
template <>
struct lowering<layers::cropping2d> : detail::cropping_lowering {};
template <>
struct lowering<layers::cropping1d> : detail::cropping_lowering {};

}  // namespace stagecraft
