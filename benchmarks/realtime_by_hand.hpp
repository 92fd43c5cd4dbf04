// SPDX-License-Identifier: BSD-3-Clause
// The peer of small networks: their loops by hand, with the library's elementary functions. Weights are Keras's.
#pragma once

#include <stagecraft/kernels/simd/math.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace stagecraft::benchmarks {

namespace by_hand {

template <std::size_t N>
using row = std::array<float, N>;

/// y = bias + x kernel, with the kernel as Keras has it: a row for each input.
template <std::size_t In, std::size_t Out>
inline void affine(float const* __restrict x, float const* __restrict kernel, float const* __restrict bias,
                   float* __restrict y) {
  for (std::size_t i = 0; i < Out; ++i) y[i] = bias == nullptr ? 0.0F : bias[i];
  for (std::size_t k = 0; k < In; ++k)
    for (std::size_t i = 0; i < Out; ++i) y[i] += x[k] * kernel[k * Out + i];
}

enum class function { tanh, sigmoid };
template <function F, std::size_t N>
inline void apply(float* x) {
  kernels::transform<kernels::default_architecture>(
      N, [](auto const& v) { return F == function::tanh ? kernels::tanh<>(v) : kernels::sigmoid<>(v); }, x,
      static_cast<float const*>(x));
}

}  // namespace by_hand

/// A dense layer.
template <std::size_t In, std::size_t Units>
class dense_by_hand {
 public:
  explicit dense_by_hand(std::vector<std::vector<float>> const& weights) : kernel_(weights[0]), bias_(weights[1]) {}
  float const* call(float const* x) {
    by_hand::affine<In, Units>(x, kernel_.data(), bias_.data(), y_.data());
    return y_.data();
  }

 private:
  std::vector<float> kernel_, bias_;
  alignas(64) by_hand::row<Units> y_{};
};

/// A causal convolution that keeps the steps before, one step a call.
template <std::size_t In, std::size_t Filters, std::size_t Kernel, std::size_t Dilation>
class conv1d_by_hand {
 public:
  explicit conv1d_by_hand(std::vector<std::vector<float>> const& weights) : kernel_(weights[0]), bias_(weights[1]) {}
  float const* call(float const* x) {
    std::copy_n(x, In, rows_[next_].begin());
    for (std::size_t i = 0; i < Filters; ++i) y_[i] = bias_[i];
    for (std::size_t tap = 0; tap < Kernel; ++tap) {
      std::size_t at = next_ + 1 + tap * Dilation;
      if (at >= length) at -= length;
      for (std::size_t k = 0; k < In; ++k)
        for (std::size_t i = 0; i < Filters; ++i) y_[i] += rows_[at][k] * kernel_[(tap * In + k) * Filters + i];
    }
    next_ = next_ + 1 == length ? 0 : next_ + 1;
    return y_.data();
  }

 private:
  static constexpr std::size_t length = (Kernel - 1) * Dilation + 1;
  std::vector<float> kernel_, bias_;
  alignas(64) by_hand::row<Filters> y_{};
  std::array<by_hand::row<In>, length> rows_{};
  std::size_t next_ = 0;
};

/// An LSTM that keeps its state, one step a call.
template <std::size_t In, std::size_t Units>
class lstm_by_hand {
 public:
  explicit lstm_by_hand(std::vector<std::vector<float>> const& weights)
      : kernel_(weights[0]), recurrent_(weights[1]), bias_(weights[2]) {}
  float const* call(float const* x) {
    using enum by_hand::function;
    alignas(64) by_hand::row<4 * Units> z, of_state;
    by_hand::affine<In, 4 * Units>(x, kernel_.data(), bias_.data(), z.data());
    by_hand::affine<Units, 4 * Units>(h_.data(), recurrent_.data(), nullptr, of_state.data());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += of_state[i];
    float *const input = z.data(), *const forget = input + Units, *const cell = forget + Units,
                 *const output = cell + Units;
    by_hand::apply<sigmoid, 2 * Units>(input);
    by_hand::apply<tanh, Units>(cell);
    by_hand::apply<sigmoid, Units>(output);
    for (std::size_t i = 0; i < Units; ++i) h_[i] = c_[i] = forget[i] * c_[i] + input[i] * cell[i];
    by_hand::apply<tanh, Units>(h_.data());
    for (std::size_t i = 0; i < Units; ++i) h_[i] *= output[i];
    return h_.data();
  }

 private:
  std::vector<float> kernel_, recurrent_, bias_;
  alignas(64) by_hand::row<Units> h_{}, c_{};
};

/// A GRU that keeps its state, one step a call (reset_after, Keras's default).
template <std::size_t In, std::size_t Units>
class gru_by_hand {
 public:
  explicit gru_by_hand(std::vector<std::vector<float>> const& weights)
      : kernel_(weights[0]), recurrent_(weights[1]), bias_(weights[2]) {}
  float const* call(float const* x) {
    using enum by_hand::function;
    alignas(64) by_hand::row<3 * Units> a, b;
    by_hand::affine<In, 3 * Units>(x, kernel_.data(), bias_.data(), a.data());
    by_hand::affine<Units, 3 * Units>(h_.data(), recurrent_.data(), bias_.data() + 3 * Units, b.data());
    for (std::size_t i = 0; i < 2 * Units; ++i) a[i] += b[i];
    by_hand::apply<sigmoid, 2 * Units>(a.data());
    float *const update = a.data(), *const reset = update + Units, *const candidate = reset + Units;
    for (std::size_t i = 0; i < Units; ++i) candidate[i] += reset[i] * b[2 * Units + i];
    by_hand::apply<tanh, Units>(candidate);
    for (std::size_t i = 0; i < Units; ++i) h_[i] = update[i] * h_[i] + (1 - update[i]) * candidate[i];
    return h_.data();
  }

 private:
  std::vector<float> kernel_, recurrent_, bias_;
  alignas(64) by_hand::row<Units> h_{};
};

/// One layer, and a dense one of its results.
template <class First, std::size_t Units, std::size_t Outputs>
class then_dense {
 public:
  explicit then_dense(std::vector<std::vector<float>> const& weights)
      : first_(weights), dense_({weights[weights.size() - 2], weights.back()}) {}
  float const* call(float const* x) { return dense_.call(first_.call(x)); }

 private:
  First first_;
  dense_by_hand<Units, Outputs> dense_;
};

/// Steps of one number, one after the other.
template <class Program, std::size_t Steps>
class block_by_hand {
 public:
  explicit block_by_hand(std::vector<std::vector<float>> const& weights) : program_(weights) {}
  float const* call(float const* x) {
    for (std::size_t step = 0; step < Steps; ++step) y_[step] = *program_.call(x + step);
    return y_.data();
  }

 private:
  Program program_;
  by_hand::row<Steps> y_{};
};

}  // namespace stagecraft::benchmarks
