// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/data/detail/parts.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace sc = stagecraft;

TEST_CASE("E5225: a number of an element is refused if float32 would make it an infinity") {
  auto const error_of = [](auto const& part) -> std::string {
    std::array<float, 4> to{};
    try {
      sc::data::detail::write_part(part, to.data());
    } catch (sc::data_error const& error) {
      return error.what();
    }
    return {};
  };
  double const infinity = std::numeric_limits<double>::infinity();
  xt::xtensor<double, 1> row = xt::xtensor<double, 1>::from_shape({3});
  row(0) = infinity;
  row(1) = -std::numeric_limits<float>::max();
  row(2) = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of(row).empty());
  CHECK(error_of(std::vector<double>{infinity, 1e-50}).empty());
  CHECK(error_of(1e38).empty());
  row(1) = 1e39;
  std::string const text =
      "dataset: expected numbers that float32 holds, of which the largest is 3.4028235e+38, found 1e+39 in an element "
      "[E5225]";
  CHECK(error_of(row) == text);
  CHECK(error_of(xt::view(row, xt::range(2, -4, -1))) == text);
  CHECK(error_of(std::vector<double>{1, 1e39}) == text);
  CHECK(error_of(1e39) == text);
}
