// SPDX-License-Identifier: BSD-3-Clause
// The loops of activations beside their definitions, at NaN, infinities and thresholds, at every place of a register
// and on every instruction set. tests/activations compares them with Keras.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <stagecraft/activations/activations.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

namespace kernels = stagecraft::kernels;
namespace activations = stagecraft::activations;
using stagecraft::activation;

namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
constexpr float numbers[] = {none, -none, infinite, -infinite, 0.0F, -0.0F, 1e-40F, 3, -3, 0.5F, -0.5F, 6, 7};

/// Keras's definition of relu.
float relu_of(activation const& f, float x) {
  if (std::isnan(x)) return x;
  float const y = x > f.threshold ? x : f.alpha != 0 ? f.alpha * (x - f.threshold) : 0;  // 0 at -infinity, too
  return f.max_value >= 0 && y > f.max_value ? f.max_value : y;
}

bool same(float found, float expected) { return std::isnan(expected) ? std::isnan(found) : found == expected; }

template <activation Act, class Arch>
void check_relu() {
  for (std::size_t const n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33})
    for (std::size_t place = 0; place < n; ++place)
      for (float const number : numbers) {
        std::vector<float> x(n, 1.0F), y(n + 1, -77.0F);
        x[place] = number;
        kernels::activation_forward<Act, Arch>(x.data(), y.data(), static_cast<std::int64_t>(n));
        std::size_t wrong = y[n] == -77.0F ? 0 : 1;
        for (std::size_t i = 0; i < n; ++i) wrong += same(y[i], relu_of(Act, x[i])) ? 0 : 1;
        if (wrong == 0) continue;
        CAPTURE(n);
        CAPTURE(place);
        CAPTURE(number);
        CHECK(wrong == 0);
      }
}

/// A NaN stays one in its place, and makes no other.
template <activation Act, class Arch>
void check_nan() {
  std::vector<float> x(37, 1.0F), y(37);
  for (std::size_t place = 0; place < x.size(); ++place) {
    x[place] = none;
    kernels::activation_forward<Act, Arch>(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += std::isnan(y[i]) == (i == place) ? 0 : 1;
    CHECK(wrong == 0);
    x[place] = 1;
  }
}

template <class... Arch>
void check_relu_on() {
  (check_relu<stagecraft::relu, Arch>(), ...);
  (check_relu<activations::relu(0.25F), Arch>(), ...);
  (check_relu<activations::relu(0, 6), Arch>(), ...);
  (check_relu<activations::relu(0.25F, 6, 0.5F), Arch>(), ...);
}

template <class... Arch>
void check_nan_on() {
  (check_nan<stagecraft::relu, Arch>(), ...);
  (check_nan<stagecraft::sigmoid, Arch>(), ...);
  (check_nan<stagecraft::tanh, Arch>(), ...);
  (check_nan<stagecraft::gelu, Arch>(), ...);
  (check_nan<activations::gelu(true), Arch>(), ...);
  (check_nan<stagecraft::swish, Arch>(), ...);
  (check_nan<stagecraft::selu, Arch>(), ...);
  (check_nan<stagecraft::elu, Arch>(), ...);
  (check_nan<stagecraft::exponential, Arch>(), ...);
  (check_nan<stagecraft::softplus, Arch>(), ...);
  (check_nan<stagecraft::softsign, Arch>(), ...);
  (check_nan<stagecraft::hard_sigmoid, Arch>(), ...);
}

}  // namespace

TEST_CASE("relu of NaN, infinities and numbers at its thresholds, at each place") {
  check_relu_on<MATMUL_ARCHITECTURES>();
}

TEST_CASE("an activation of NaN is NaN, in its place alone") { check_nan_on<MATMUL_ARCHITECTURES>(); }
