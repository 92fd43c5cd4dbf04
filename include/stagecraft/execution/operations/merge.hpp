// SPDX-License-Identifier: BSD-3-Clause
// The steps of the merging layers on the host: add, subtract, multiply, average, maximum; and of operators. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/execution/operations/broadcast.hpp>
#include <stagecraft/kernels/broadcast.hpp>
#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/layers/add.hpp>
#include <stagecraft/layers/average.hpp>
#include <stagecraft/layers/maximum.hpp>
#include <stagecraft/layers/multiply.hpp>
#include <stagecraft/layers/subtract.hpp>
#include <stagecraft/layers/tf_op_lambda.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft {

namespace detail {

/// What the merging layers have in common. For inputs of one shape, `Rule` says `forward(inputs, count, y, n)` and
/// `backward<Add>(inputs, count, which, dy, dx, n)`; for others, `Rule::broadcast` says what becomes of elements.
template <class Rule>
struct merge_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static auto inputs(Call const& call, long long first) {
    std::array<float const*, Call::input_count> x{};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = call.input(static_cast<int>(i)) + first;
    return x;
  }

  template <class Call>
  static void forward(Call const& call) {
    if constexpr (broadcast_operation<Call>::needed)
      return broadcast_operation<Call>::template forward<typename Rule::broadcast>(call);
    else
      return forward_of_one_shape(call);
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (broadcast_operation<Call>::needed)
      return broadcast_operation<Call>::template backward<typename Rule::broadcast>(call);
    else
      return backward_of_one_shape(call);
  }

 private:
  template <class Call>
  static void forward_of_one_shape(Call const& call) {
    auto const [first, last] = call.elements(floats<Call>);
    Rule::template forward<typename Call::architecture>(inputs(call, first).data(), Call::input_count,
                                                        call.output() + first, last - first);
  }

  template <class Call>
  static void backward_of_one_shape(Call const& call) {
    auto const range = call.elements(floats<Call>);
    auto const x = inputs(call, range.first);
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      (input_backward<Index>(call, x.data(), range), ...);
    }(std::make_integer_sequence<int, Call::input_count>{});
  }
  template <int Index, class Call>
  static void input_backward(Call const& call, float const* const* x, kernels::share::range const& range) {
    if constexpr (Call::wants_input_gradient(Index))
      Rule::template backward<Call::adds_input_gradient(Index), typename Call::architecture>(
          x, Call::input_count, Index, call.output_gradient() + range.first, call.input_gradient(Index) + range.first,
          range.last - range.first);
  }
};

struct add_rule {
  using broadcast = kernels::broadcast_add;

  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::add<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int, int, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(1.0F, dy, dx, n);
  }
};

struct subtract_rule {
  using broadcast = kernels::broadcast_subtract;

  template <class Arch>
  static void forward(float const* const* x, int, float* y, long long n) {
    kernels::subtract<Arch>(x[0], x[1], y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int, int which, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(which == 0 ? 1.0F : -1.0F, dy, dx, n);
  }
};

struct average_rule {
  using broadcast = kernels::broadcast_average;

  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::average<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int count, int, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(1.0F / static_cast<float>(count), dy, dx, n);
  }
};

struct multiply_rule {
  using broadcast = kernels::broadcast_multiply;

  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::multiply<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const* x, int count, int which, float const* dy, float* dx, long long n) {
    kernels::multiply_backward<Add, Arch>(x, count, which, dy, dx, n);
  }
};

struct maximum_rule {
  using broadcast = kernels::broadcast_maximum;

  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::maximum<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const* x, int count, int which, float const* dy, float* dx, long long n) {
    kernels::maximum_backward<Add, Arch>(x, count, which, dy, dx, n);
  }
};

/// Operators take the loops for operands of any shape; a number is an operand of one element.
template <class Rule>
struct operator_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }
  template <class Call>
  static void forward(Call const& call) {
    broadcast_operation<Call>::template forward<Rule>(call);
  }
  template <class Call>
  static void backward(Call const& call) {
    broadcast_operation<Call>::template backward<Rule>(call);
  }
};

}  // namespace detail

template <>
struct operation<layers::tf_op_lambda<tensor_operator::add>> : detail::operator_operation<kernels::broadcast_add> {};
template <>
struct operation<layers::tf_op_lambda<tensor_operator::subtract>>
    : detail::operator_operation<kernels::broadcast_subtract> {};
template <>
struct operation<layers::tf_op_lambda<tensor_operator::multiply>>
    : detail::operator_operation<kernels::broadcast_multiply> {};
template <>
struct operation<layers::tf_op_lambda<tensor_operator::divide>>
    : detail::operator_operation<kernels::broadcast_divide> {};
template <>
struct operation<layers::tf_op_lambda<tensor_operator::negative>>
    : detail::operator_operation<kernels::broadcast_multiply> {};

template <>
struct operation<layers::add> : detail::merge_operation<detail::add_rule> {};
template <>
struct operation<layers::subtract> : detail::merge_operation<detail::subtract_rule> {};
template <>
struct operation<layers::average> : detail::merge_operation<detail::average_rule> {};
template <>
struct operation<layers::multiply> : detail::merge_operation<detail::multiply_rule> {};
template <>
struct operation<layers::maximum> : detail::merge_operation<detail::maximum_rule> {};

}  // namespace stagecraft
