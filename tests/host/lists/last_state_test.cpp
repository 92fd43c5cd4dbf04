// SPDX-License-Identifier: BSD-3-Clause
// The last state of a scan, where the gradient keeps it: it has memory of its own then, beside that of the loop.
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/losses/loss.hpp>
#include <doctest/doctest.h>

#include <array>
#include <string_view>

namespace sc = stagecraft;

namespace {

/// The square of the sum over the columns, one after the other.
struct square_of_sum : sc::loss<square_of_sum> {
  static constexpr std::string_view name = "square_of_sum";
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const step = [](auto here, auto const& before) { return std::array{before[0] + here}; };
    auto const sums = ops.scan(ops.reshape(output - target, {1, 1, 4}), 2, std::array{ops.full({1, 1}, 0.0F)}, step);
    return square(sums.last[0]);
  }
};

}  // namespace

TEST_CASE("a kept last state is what the loop has left") {
  std::array<float, 4> const target{1, 1, 1, 1}, output{2, 3, 4, 5};
  std::array<float, 4> gradient{};
  float const one = 1;
  CHECK(sc::kernels::loss<square_of_sum{}, 1, 4>(target.data(), output.data(), &one, gradient.data()) == 100.0F);
  for (float const each : gradient) CHECK(each == 20.0F);
}
