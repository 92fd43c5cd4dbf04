// SPDX-License-Identifier: BSD-3-Clause
// Layers without operations: inputs are filled from outside, flatten and reshape are views. Level 4.
#pragma once

#include <stagecraft/layers/flatten.hpp>
#include <stagecraft/layers/input.hpp>
#include <stagecraft/layers/reshape.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

namespace detail {

struct view_lowering {
  template <class Call>
  static constexpr void forward(lowered_step&) {}
  template <class Call>
  static constexpr void backward(lowered_step&) {}
};

}  // namespace detail

template <>
struct lowering<layers::input> : detail::view_lowering {};
template <>
struct lowering<layers::flatten> : detail::view_lowering {};
template <>
struct lowering<layers::reshape> : detail::view_lowering {};

}  // namespace stagecraft
