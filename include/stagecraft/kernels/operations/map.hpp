// SPDX-License-Identifier: BSD-3-Clause
// Functions of one, two or three numbers over whole arrays, with broadcasting. Level 4.
#pragma once

#include <stagecraft/kernels/broadcast.hpp>
#include <stagecraft/kernels/math.hpp>
#include <stagecraft/kernels/operations/strided.hpp>
#include <stagecraft/operations/map.hpp>
#include <cmath>

namespace stagecraft::kernels {

namespace detail {

/// y = f(load) for all rows; array 0 is y.
template <class Arch, class F>
inline void map_rows(strided_axes<4, Arch> const& axes, float* y, std::array<float const*, 3> const& x, F const& f) {
  auto const length = axes.row_length();
  auto const strides = axes.row_strides();
  axes.for_each_row([&](auto const& at) {
    row_operand const operands[3]{
        {x[0] + at[1], strides[1] == 0}, {x[1] + at[2], strides[2] == 0}, {x[2] + at[3], strides[3] == 0}};
    float* const to = y + at[0];
    for_each_batch<Arch>(operands, length, [&](std::int64_t i, int valid, auto const& load) {
      store_first<Arch>(f(load), to + i, valid);
    });
  });
}

/// A function of the C library, lane by lane.
template <class Arch, class F>
[[nodiscard]] inline batch<Arch> each_lane(batch<Arch> const& a, batch<Arch> const& b, F const& f) {
  alignas(64) float x[lanes<Arch>], y[lanes<Arch>];
  a.store_aligned(x);
  b.store_aligned(y);
  for (int lane = 0; lane < lanes<Arch>; ++lane) x[lane] = f(x[lane], y[lane]);
  return batch<Arch>::load_aligned(x);
}

}  // namespace detail

/// y = apply(x...) at each place. Array 0 of `axes` is y, the others are the operands; those that the function does not
/// have may be anything that can be read.
template <class Arch = default_architecture>
inline void map_function(operations::function apply, strided_axes<4, Arch> const& axes, float* y,
                         std::array<float const*, 3> const& x) {
  using operations::function;
  using value = batch<Arch>;
  auto const rows = [&](auto const& f) { detail::map_rows<Arch>(axes, y, x, f); };
  auto const indicator = [](auto const& condition) { return xsimd::select(condition, value(1.0F), value(0.0F)); };
  switch (apply) {
    case function::identity: return rows([](auto const& in) { return in(0); });
    case function::negative: return rows([](auto const& in) { return -in(0); });
    case function::absolute: return rows([](auto const& in) { return xsimd::abs(in(0)); });
    case function::sign:
      return rows([&](auto const& in) {
        value const a = in(0), zero(0.0F);
        return indicator(a > zero) - indicator(a < zero);
      });
    case function::floor: return rows([](auto const& in) { return xsimd::floor(in(0)); });
    case function::exp: return rows([](auto const& in) { return exp<Arch>(in(0)); });
    case function::log: return rows([](auto const& in) { return log<Arch>(in(0)); });
    case function::sqrt: return rows([](auto const& in) { return xsimd::sqrt(in(0)); });
    case function::rsqrt: return rows([](auto const& in) { return value(1.0F) / xsimd::sqrt(in(0)); });
    case function::sin:
      return rows([](auto const& in) {
        value const a = in(0);
        return detail::each_lane<Arch>(a, a, [](float x0, float) { return std::sin(x0); });
      });
    case function::cos:
      return rows([](auto const& in) {
        value const a = in(0);
        return detail::each_lane<Arch>(a, a, [](float x0, float) { return std::cos(x0); });
      });
    case function::tanh: return rows([](auto const& in) { return tanh<Arch>(in(0)); });
    case function::sigmoid: return rows([](auto const& in) { return sigmoid<Arch>(in(0)); });
    case function::erf: return rows([](auto const& in) { return erf<Arch>(in(0)); });
    case function::add: return rows([](auto const& in) { return in(0) + in(1); });
    case function::subtract: return rows([](auto const& in) { return in(0) - in(1); });
    case function::multiply: return rows([](auto const& in) { return in(0) * in(1); });
    case function::divide: return rows([](auto const& in) { return in(0) / in(1); });
    case function::power:
      return rows([](auto const& in) {
        return detail::each_lane<Arch>(in(0), in(1), [](float x0, float x1) { return std::pow(x0, x1); });
      });
    case function::maximum: return rows([](auto const& in) { return at_least(in(0), in(1)); });
    case function::minimum: return rows([](auto const& in) { return at_most(in(0), in(1)); });
    case function::less: return rows([&](auto const& in) { return indicator(in(0) < in(1)); });
    case function::less_equal: return rows([&](auto const& in) { return indicator(in(0) <= in(1)); });
    case function::equal: return rows([&](auto const& in) { return indicator(in(0) == in(1)); });
    case function::select:
      return rows([](auto const& in) { return xsimd::select(in(0) != value(0.0F), in(1), in(2)); });
  }
}

}  // namespace stagecraft::kernels
