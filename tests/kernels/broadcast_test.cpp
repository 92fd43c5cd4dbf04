// SPDX-License-Identifier: BSD-3-Clause
// Rows with an operand that is one number for all of them: results, gradients element by element, their sums.
#include <stagecraft/kernels/broadcast.hpp>
#include <array>
#include <doctest/doctest.h>

namespace {

namespace kernels = stagecraft::kernels;
using arch = kernels::default_architecture;

/// The last result, the last element of the first operand's gradient, and the second operand's gradient.
template <class Rule>
std::array<float, 3> last_of_row() {
  std::array<float, 7> const a{1, 2, 3, 4, 5, 6, 7}, dy{1, 1, 1, 1, 1, 1, 1};
  std::array<float, 7> y{}, dx{};
  float const b = 2;
  kernels::row_operand const operands[]{{a.data(), false}, {&b, true}};
  kernels::broadcast_row<Rule, arch>(operands, 2, y.data(), 7);
  kernels::broadcast_gradient_row<Rule, arch>(operands, 2, 0, dy.data(), dx.data(), false, 7);
  kernels::broadcast_gradient_row<Rule, arch>(operands, 2, 0, dy.data(), dx.data(), true, 7);
  return {y[6], dx[6], kernels::broadcast_gradient_sum<Rule, arch>(operands, 2, 1, dy.data(), 7)};
}
using values = std::array<float, 3>;

}  // namespace

TEST_CASE("rows with one number for all") {
  CHECK(last_of_row<kernels::broadcast_add>() == values{9, 2, 7});
  CHECK(last_of_row<kernels::broadcast_subtract>() == values{5, 2, -7});
  CHECK(last_of_row<kernels::broadcast_multiply>() == values{14, 4, 28});
  CHECK(last_of_row<kernels::broadcast_divide>() == values{3.5F, 1, -7});
  CHECK(last_of_row<kernels::broadcast_maximum>() == values{7, 2, 1});
  CHECK(last_of_row<kernels::broadcast_average>() == values{4.5F, 1, 3.5F});
}
