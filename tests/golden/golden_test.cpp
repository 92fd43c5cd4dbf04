// SPDX-License-Identifier: BSD-3-Clause
// The golden files are whole, and their reader reads them.
#include "golden.hpp"

#include <cmath>

#include <doctest/doctest.h>

TEST_CASE("activations.txt holds what std::exp and std::tanh give") {
  auto const file = golden::read("activations.txt");
  auto const& x = file["grid/x"];
  REQUIRE(x.shape == std::vector<std::size_t>{x.size()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(file["grid/linear/y"][i] == x[i]);
    CHECK(file["grid/exponential/y"][i] == doctest::Approx(std::exp(x[i])).epsilon(1e-6));
    CHECK(file["grid/tanh/dx"][i] / file["grid/dy"][i] ==
          doctest::Approx(1 - std::tanh(x[i]) * std::tanh(x[i])).epsilon(1e-5));
  }
  CHECK(std::isinf(file["far/exponential/y"].values.back()));
  auto const& softmax = file["softmax/y"];
  REQUIRE(softmax.shape == std::vector<std::size_t>{10, 7});
  for (std::size_t row = 0; row < 10; ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += softmax[row * 7 + i];
    CHECK(sum == doctest::Approx(1));
  }
}

TEST_CASE("a missing file or tensor is an error that names it") {
  CHECK_THROWS_WITH_AS(golden::read("absent.txt"), doctest::Contains("absent.txt"), std::runtime_error);
  auto const file = golden::read("activations.txt");
  CHECK_THROWS_WITH_AS((void)file["absent"], doctest::Contains("'absent' in activations.txt"), std::runtime_error);
  CHECK(file.contains("softmax/x"));
  CHECK(file.names("softmax/") == std::vector<std::string>{"x", "dy", "y", "dx"});
}
