// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/elementwise/whole.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <doctest/doctest.h>

namespace {

namespace kernels = stagecraft::kernels;
using stagecraft::operations::whole_function;

}  // namespace

TEST_CASE("rows of int32 have the bits of single numbers, at any distance") {
  constexpr int count = 37;
  std::array<float, 3 * count> a{}, b{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto const n = static_cast<std::int32_t>(i);
    a[i] = std::bit_cast<float>(i % 5 == 0 ? -0x7fffffff - 1 + n : i % 7 == 0 ? 0x7fffffff - n : n - 20);
    b[i] = std::bit_cast<float>(i % 3 == 0 ? n - 20 : 9 - n);
  }
  for (int f = 1; f <= static_cast<int>(whole_function::equal); ++f)
    for (int const step_y : {1, 2})
      for (int const step_a : {0, 1, 3})
        for (int const step_b : {0, 1, 2}) {
          CAPTURE(f);
          CAPTURE(step_a);
          CAPTURE(step_b);
          auto const function = static_cast<whole_function>(f);
          std::array<float, 2 * count> y{};
          kernels::whole_row(function, count, y.data(), step_y, a.data(), step_a, b.data(), step_b);
          bool is_same = true;
          for (std::size_t i = 0; i < count; ++i) {
            float const single = kernels::whole_value(function, a[i * static_cast<std::size_t>(step_a)],
                                                      b[i * static_cast<std::size_t>(step_b)]);
            is_same = is_same && std::bit_cast<std::uint32_t>(single) ==
                                     std::bit_cast<std::uint32_t>(y[i * static_cast<std::size_t>(step_y)]);
          }
          CHECK(is_same);
        }
}
