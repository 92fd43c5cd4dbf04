// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic over whole arrays: every size, in place, gradients, ties, NaN.
#include <cmath>
#include <limits>
#include <vector>

#include <stagecraft/kernels/elementwise.hpp>
#include <doctest/doctest.h>

namespace kernels = stagecraft::kernels;

namespace {

constexpr int sizes[] = {1, 7, 15, 16, 17, 31, 64, 1000};

/// `count` inputs of n values each; some of them are equal.
std::vector<std::vector<float>> make_inputs(int count, int n) {
  std::vector<std::vector<float>> inputs(static_cast<std::size_t>(count));
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (int i = 0; i < n; ++i)
      inputs[input].push_back(std::round(3 * std::sin(static_cast<float>(i) * 1.1F + static_cast<float>(input) * 2)));
  return inputs;
}

std::vector<float const*> pointers(std::vector<std::vector<float>> const& inputs) {
  std::vector<float const*> result;
  for (auto const& each : inputs) result.push_back(each.data());
  return result;
}

/// The gradient of the chain max(...max(x0, x1)..., xn) that TensorFlow builds: of two equal values the first gets it.
int winner(std::vector<std::vector<float>> const& inputs, std::size_t i, bool largest) {
  int best = 0;
  for (std::size_t input = 1; input < inputs.size(); ++input) {
    float const a = inputs[static_cast<std::size_t>(best)][i];
    float const b = inputs[input][i];
    if (largest ? b > a : b < a) best = static_cast<int>(input);
  }
  return best;
}

}  // namespace

TEST_CASE("merging any number of inputs, forward and backward") {
  for (int const n : sizes)
    for (int const count : {1, 2, 3, 5}) {
      CAPTURE(n);
      CAPTURE(count);
      auto const inputs = make_inputs(count, n);
      auto const x = pointers(inputs);
      auto const size = static_cast<std::size_t>(n);
      std::vector<float> sum(size + 1, -77.0F);
      auto product = sum;
      auto mean = sum;
      auto most = sum;
      auto least = sum;
      kernels::add(x.data(), count, sum.data(), n);
      kernels::multiply(x.data(), count, product.data(), n);
      kernels::average(x.data(), count, mean.data(), n);
      kernels::maximum(x.data(), count, most.data(), n);
      kernels::minimum(x.data(), count, least.data(), n);
      for (auto const* result : {&sum, &product, &mean, &most, &least}) CHECK(result->back() == -77.0F);
      int wrong = 0;
      for (std::size_t i = 0; i < size; ++i) {
        float a = 0;
        float m = 1;
        for (auto const& input : inputs) {
          a += input[i];
          m *= input[i];
        }
        wrong += sum[i] != a;
        wrong += product[i] != m;
        wrong += std::fabs(mean[i] - a / static_cast<float>(count)) > 1e-6F;
        wrong += most[i] != inputs[static_cast<std::size_t>(winner(inputs, i, true))][i];
        wrong += least[i] != inputs[static_cast<std::size_t>(winner(inputs, i, false))][i];
      }
      CHECK(wrong == 0);

      std::vector<float> dy(size);
      for (std::size_t i = 0; i < size; ++i) dy[i] = static_cast<float>(i % 7) - 2.5F;
      for (int which = 0; which < count; ++which) {
        std::vector<float> by_product(size + 1, -77.0F);
        auto by_most = by_product;
        auto by_least = by_product;
        std::vector<float> added(size + 1, 10.0F);
        kernels::multiply_backward(x.data(), count, which, dy.data(), by_product.data(), n);
        kernels::maximum_backward(x.data(), count, which, dy.data(), by_most.data(), n);
        kernels::minimum_backward(x.data(), count, which, dy.data(), by_least.data(), n);
        kernels::multiply_backward<true>(x.data(), count, which, dy.data(), added.data(), n);
        kernels::maximum_backward<true>(x.data(), count, which, dy.data(), added.data(), n);
        kernels::minimum_backward<true>(x.data(), count, which, dy.data(), added.data(), n);
        CHECK(by_product.back() == -77.0F);
        CHECK(by_most.back() == -77.0F);
        CHECK(added.back() == 10.0F);
        for (std::size_t i = 0; i < size; ++i) {
          float others = dy[i];
          for (int input = 0; input < count; ++input)
            if (input != which) others *= inputs[static_cast<std::size_t>(input)][i];
          wrong += by_product[i] != others;
          wrong += by_most[i] != (winner(inputs, i, true) == which ? dy[i] : 0.0F);
          wrong += by_least[i] != (winner(inputs, i, false) == which ? dy[i] : 0.0F);
          wrong += added[i] != ((10.0F + by_product[i]) + by_most[i]) + by_least[i];
        }
        CHECK(wrong == 0);
      }
    }
}

TEST_CASE("subtract, scale, fill") {
  for (int const n : sizes) {
    CAPTURE(n);
    auto const inputs = make_inputs(2, n);
    auto const size = static_cast<std::size_t>(n);
    std::vector<float> y(size + 1, 5.0F);
    int wrong = 0;
    kernels::scaled_add<true>(-0.5F, inputs[0].data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 5.0F - 0.5F * inputs[0][i];
    kernels::scaled_add(2.0F, inputs[0].data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 2.0F * inputs[0][i];
    kernels::subtract(inputs[0].data(), inputs[1].data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != inputs[0][i] - inputs[1][i];
    kernels::subtract(y.data(), y.data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 0.0F;
    kernels::fill(y.data(), 3.25F, n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 3.25F;
    CHECK(wrong == 0);
    CHECK(y.back() == 5.0F);
  }
}

TEST_CASE("maximum and minimum give NaN where any input is NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::vector<float>> const inputs{{nan, 1, 1, 0}, {1, nan, 1, 1}, {2, 2, nan, 2}};
  auto const x = pointers(inputs);
  for (int const count : {2, 3}) {
    std::vector<float> most(4);
    std::vector<float> least(4);
    kernels::maximum(x.data(), count, most.data(), 4);
    kernels::minimum(x.data(), count, least.data(), 4);
    for (std::size_t i = 0; i < 4; ++i) {
      bool const any = i < static_cast<std::size_t>(count);
      CHECK(std::isnan(most[i]) == any);
      CHECK(std::isnan(least[i]) == any);
    }
  }
}

TEST_CASE("concatenate is a copy of blocks, and so is its gradient") {
  // Two tensors (2, 3) and (2, 5) side by side.
  std::vector<float> const a{1, 2, 3, 4, 5, 6};
  std::vector<float> const b{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  std::vector<float> y(16);
  kernels::copy_blocks(2, 3, a.data(), 3, y.data(), 8);
  kernels::copy_blocks(2, 5, b.data(), 5, y.data() + 3, 8);
  CHECK(y == std::vector<float>{1, 2, 3, 10, 20, 30, 40, 50, 4, 5, 6, 60, 70, 80, 90, 100});
  std::vector<float> da(6, 1.0F);
  kernels::copy_blocks<true>(2, 3, y.data(), 8, da.data(), 3);
  CHECK(da == std::vector<float>{2, 3, 4, 5, 6, 7});
  std::vector<float> db(10);
  kernels::copy_blocks(2, 5, y.data() + 3, 8, db.data(), 5);
  CHECK(db == b);
}
