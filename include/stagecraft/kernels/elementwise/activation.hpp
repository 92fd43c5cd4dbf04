// SPDX-License-Identifier: BSD-3-Clause
// Elementwise activation functions: value and gradient of a batch, and of a whole array. Softmax is in softmax.hpp.
// Keras counterpart: tf.keras.activations.
#pragma once

#include <stagecraft/activations/activation_formula.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/simd/math.hpp>
#include <stagecraft/kernels/simd/math_fast.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// An elementwise activation function on a batch of floats, for use inside other kernels (a matmul's epilogue, say).
///
/// - `forward(x)` returns f(x);
/// - `gradient(saved, dy)` returns f'(x) * dy, where saved is x if `Act.gradient_needs_input()`, f(x) otherwise.
///
/// f(NaN) is NaN as in Keras, for relu too. At the points where f has no derivative the gradient is TensorFlow's.
///
/// Measured on [-20, 20]: relative error at most 2.2e-7, but for gelu and hard_sigmoid, whose small values cancel:
/// gelu's error is at most 1.9e-7 (its tanh form's 0.9e-7) of 1 + |y|, hard_sigmoid's 2.2e-8. Elementary functions are
/// those of kernels/simd/math.hpp.
template <activation Act, class Arch = default_architecture>
struct activation_function {
  static_assert(Act.elementwise(), "softmax is not elementwise: use kernels/normalization/softmax.hpp");
  using value = batch<Arch>;

  [[nodiscard]] static value forward(value const& x) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return x;
    if constexpr (kind == activation_kind::relu) return relu_forward(x);
    if constexpr (kind == activation_kind::sigmoid) return kernels::sigmoid(x);
    if constexpr (kind == activation_kind::tanh) return kernels::tanh(x);
    if constexpr (kind == activation_kind::gelu) return kernels::gelu(x);
    if constexpr (kind == activation_kind::gelu_tanh) return kernels::gelu_tanh(x);
    if constexpr (kind == activation_kind::swish) return x * kernels::sigmoid(x);
    if constexpr (kind == activation_kind::selu)
      return xsimd::select(x < value(0.0F), value(selu_scale * selu_alpha) * kernels::expm1(x), value(selu_scale) * x);
    if constexpr (kind == activation_kind::elu)
      return xsimd::select(x < value(0.0F), value(Act.alpha) * kernels::expm1(x), x);
    if constexpr (kind == activation_kind::exponential) return kernels::exp(x);
    if constexpr (kind == activation_kind::softplus) return kernels::softplus(x);
    if constexpr (kind == activation_kind::softsign) return x / (value(1.0F) + xsimd::abs(x));
    if constexpr (kind == activation_kind::hard_sigmoid)
      return at_most(at_least(x / value(5.0F) + value(0.5F), value(0.0F)), value(1.0F));
    if constexpr (kind == activation_kind::own) {
      static_assert(stagecraft::detail::report<stagecraft::detail::activation_formula_problem<Act>>());
      value y;
      formula_function<stagecraft::detail::formula_of_activation<Act, false>, Arch>({})(&x, &y);
      return y;
    }
  }

  /// True if there is `forward_each`.
  static constexpr bool gains_by_interleaving =
      Act.kind == activation_kind::exponential || Act.kind == activation_kind::gelu ||
      Act.kind == activation_kind::gelu_tanh || Act.kind == activation_kind::sigmoid ||
      Act.kind == activation_kind::swish || Act.kind == activation_kind::tanh;

  /// `forward` of several registers at once, in place.
  template <int Count>
    requires gains_by_interleaving
  static void forward_each(value (&x)[Count]) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::exponential) return exp_each(x);
    if constexpr (kind == activation_kind::gelu) return gelu_each(x);
    if constexpr (kind == activation_kind::sigmoid) return sigmoid_each(x);
    if constexpr (kind == activation_kind::tanh) return tanh_each(x);
    if constexpr (kind == activation_kind::gelu_tanh || kind == activation_kind::swish) {
      value gate[Count];
      for (int i = 0; i < Count; ++i) gate[i] = x[i];
      if constexpr (kind == activation_kind::gelu_tanh)
        detail::gelu_tanh_gate_each<Arch>(gate);
      else
        sigmoid_each(gate);
      for (int i = 0; i < Count; ++i) x[i] = x[i] * gate[i];
    }
  }

  [[nodiscard]] static value gradient([[maybe_unused]] value const& saved, value const& dy) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return dy;
    if constexpr (kind == activation_kind::relu) return relu_gradient(saved, dy);
    if constexpr (kind == activation_kind::sigmoid) return dy * saved * (value(1.0F) - saved);
    if constexpr (kind == activation_kind::tanh) return dy * fused_negative_multiply_add(saved, saved, value(1.0F));
    if constexpr (kind == activation_kind::gelu) {
      value const density = value(0.3989422804F) * kernels::exp(value(-0.5F) * saved * saved);
      return dy * fused_multiply_add(saved, density, kernels::normal_distribution(saved));
    }
    if constexpr (kind == activation_kind::gelu_tanh) {
      value const s = detail::gelu_tanh_gate(saved);
      value const slope =
          value(2 * 0.7978845608F) * fused_multiply_add(value(3 * 0.044715F), saved * saved, value(1.0F));
      return dy * fused_multiply_add(saved * s * (value(1.0F) - s), slope, s);
    }
    if constexpr (kind == activation_kind::swish) {
      value const s = kernels::sigmoid(saved);
      return dy * fused_multiply_add(saved * s, value(1.0F) - s, s);
    }
    if constexpr (kind == activation_kind::selu)
      return dy * xsimd::select(saved < value(0.0F), saved + value(selu_scale * selu_alpha), value(selu_scale));
    if constexpr (kind == activation_kind::elu) {
      if constexpr (Act.gradient_needs_input())
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), value(Act.alpha) * kernels::exp(saved));
      else
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), saved + value(Act.alpha));
    }
    if constexpr (kind == activation_kind::exponential) return dy * saved;
    if constexpr (kind == activation_kind::softplus) return value(0.0F) - dy * kernels::expm1(value(0.0F) - saved);
    if constexpr (kind == activation_kind::softsign) {
      value const rest = value(1.0F) - xsimd::abs(saved);
      return dy * rest * rest;
    }
    if constexpr (kind == activation_kind::hard_sigmoid)
      return xsimd::select(xsimd::abs(saved) <= value(2.5F), value(0.2F) * dy, value(0.0F));
    if constexpr (kind == activation_kind::own) {
      value const given[]{dy, saved};
      value dx;
      formula_function<stagecraft::detail::formula_of_activation<Act, true>, Arch>({})(given, &dx);
      return dx;
    }
  }

 private:
  static constexpr float selu_scale = 1.0507009873554805F;
  static constexpr float selu_alpha = 1.6732632423543772F;

  [[nodiscard]] static value relu_forward(value const& x) {
    if constexpr (Act.threshold == 0 && Act.max_value < 0) {
      if constexpr (Act.alpha == 0) return at_least(x, value(0.0F));
      return xsimd::select(x > value(0.0F), x, value(Act.alpha) * x);
    } else {
      value y = xsimd::select(x <= value(Act.threshold), value(0.0F), x);
      if constexpr (Act.max_value >= 0) y = at_most(at_least(y, value(0.0F)), value(Act.max_value));
      if constexpr (Act.alpha != 0)
        y = xsimd::select(x < value(Act.threshold), y + value(Act.alpha) * (x - value(Act.threshold)), y);
      return y;
    }
  }

  [[nodiscard]] static value relu_gradient(value const& saved, value const& dy) {
    if constexpr (Act.threshold == 0 && Act.max_value < 0) {
      return xsimd::select(saved > value(0.0F), dy, value(Act.alpha) * dy);
    } else {
      // saved is the input here; for relu6 it is the output, which passes the same comparison.
      auto passes = saved > value(Act.threshold);
      if constexpr (Act.max_value == 6 && Act.threshold == 0)
        passes = passes & (saved < value(6.0F));
      else if constexpr (Act.max_value >= 0)
        passes = passes & (saved >= value(0.0F)) & (saved <= value(Act.max_value));
      value dx = xsimd::select(passes, dy, value(0.0F));
      if constexpr (Act.alpha != 0) dx = xsimd::select(saved < value(Act.threshold), dx + value(Act.alpha) * dy, dx);
      return dx;
    }
  }
};

/// An epilogue that applies an activation to sums, after their bias. For y of the same shape it is the step of a layer,
/// too.
template <activation Act, class Arch = default_architecture>
struct activation_epilogue {
  [[nodiscard, gnu::always_inline]] inline batch<Arch> operator()(batch<Arch> const& sum) const {
    return activation_function<Act, Arch>::forward(sum);
  }
  [[nodiscard, gnu::always_inline]] inline batch<Arch> operator()(batch<Arch> const& sum, int /*column*/,
                                                                  std::int64_t /*element*/) const {
    return (*this)(sum);
  }
};

/// `activation_epilogue` with the fast forms of elementary functions, for activations that are one of them.
template <activation Act, class Arch = default_architecture>
struct fast_activation_epilogue {
  [[nodiscard, gnu::always_inline]] inline batch<Arch> operator()(batch<Arch> const& sum) const {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::sigmoid)
      return fast_sigmoid<Arch>(sum);
    else if constexpr (kind == activation_kind::tanh)
      return fast_tanh<Arch>(sum);
    else if constexpr (kind == activation_kind::swish)
      return sum * fast_sigmoid<Arch>(sum);
    else if constexpr (kind == activation_kind::exponential)
      return fast_exp<Arch>(sum);
    else
      return activation_function<Act, Arch>::forward(sum);
  }
  [[nodiscard, gnu::always_inline]] inline batch<Arch> operator()(batch<Arch> const& sum, int /*column*/,
                                                                  std::int64_t /*element*/) const {
    return (*this)(sum);
  }
};

/// An epilogue that makes the gradient of f(x) the gradient of x: y holds f(x), for activations whose gradient needs
/// nothing else. Up to a register after the end of y may be read.
template <activation Act, class Arch = default_architecture>
struct activation_gradient_epilogue {
  static_assert(!Act.gradient_needs_input());
  float const* y;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& gradient, int /*column*/,
                                                            std::int64_t element) const {
    return activation_function<Act, Arch>::gradient(Batch::load_unaligned(y + element), gradient);
  }
};

/// y = f(x) for n values. y may be x.
template <activation Act, class Arch = default_architecture>
inline void activation_forward(float const* x, float* y, std::int64_t n) {
  if constexpr (Act.kind == activation_kind::linear) {
    if (x != y) std::memmove(y, x, static_cast<std::size_t>(n) * sizeof(float));
  } else {
    using function = activation_function<Act, Arch>;
    if constexpr (function::gains_by_interleaving)
      transform_each<Arch>(n, [](auto& values) { function::forward_each(values); }, x, y);
    else
      transform<Arch>(n, [](batch<Arch> const& value) { return function::forward(value); }, y, x);
  }
}

/// dx = f' * dy, or dx += f' * dy if Accumulate, for n values. `saved` is x if `Act.gradient_needs_input()`, f(x)
/// otherwise; a linear activation reads no `saved`. Without Accumulate dx may be dy or saved.
template <activation Act, bool Accumulate = false, class Arch = default_architecture>
inline void activation_backward(float const* saved, float const* dy, float* dx, std::int64_t n) {
  using function = activation_function<Act, Arch>;
  using value = batch<Arch>;
  if constexpr (Act.kind == activation_kind::linear) {
    if constexpr (Accumulate)
      transform<Arch>(
          n, [](value const& g, value const& sum) { return sum + g; }, dx, dy, static_cast<float const*>(dx));
    else
      activation_forward<Act, Arch>(dy, dx, n);
  } else if constexpr (Accumulate) {
    transform<Arch>(
        n, [](value const& s, value const& g, value const& sum) { return sum + function::gradient(s, g); }, dx, saved,
        dy, static_cast<float const*>(dx));
  } else {
    transform<Arch>(n, [](value const& s, value const& g) { return function::gradient(s, g); }, dx, saved, dy);
  }
}

}  // namespace stagecraft::kernels
