// SPDX-License-Identifier: BSD-3-Clause
// A trainer takes an older architecture than the one that the program is compiled for, and trains alike.
#include "trainer_cases.hpp"

#include <algorithm>
#include <cmath>

namespace {

struct model : sc::functional<model> {
  static constexpr auto build(auto& builder) {
    auto const x = builder.input(4);
    auto const a = dense(37, sc::gelu)(x), b = dense(37, sc::tanh)(x);
    return dense(3)(dropout(0.25F)(concatenate()(multiply()(a, b), a)));
  }
};

/// Losses, accuracies, predictions.
template <class Arch>
std::vector<double> train() {
  cases::samples const data(80), other(24, 2);
  sc::trainer<model, cases::training, sc::host_machine<1, Arch>> trainer(1);
  auto const history = trainer.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .validation_split = 0.2});
  std::vector<double> found;
  for (auto const& [name, values] : history.history) found.insert(found.end(), values.begin(), values.end());
  auto const predicted = trainer.predict(other.x);
  found.insert(found.end(), predicted.begin(), predicted.end());
  return found;
}

double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(a.size() == 3 * 4 + 24 * 3);
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("a trainer for an older architecture trains alike") {
  [[maybe_unused]] auto const expected = train<sc::kernels::default_architecture>();
#if defined(__x86_64__)
  CHECK(largest_difference(train<xsimd::sse2>(), expected) < 1e-5);
#if defined(__AVX2__) && defined(__FMA__)
  CHECK(largest_difference(train<xsimd::fma3<xsimd::avx2>>(), expected) < 1e-5);
#endif
#endif
}
