// SPDX-License-Identifier: BSD-3-Clause
// Rounding to half in place: the bits of a conversion there and back, what is too large, the mean of rounding at
// random, and the same bits for every architecture and division.
#include <stagecraft/ipu/tiles/half_rounding.hpp>
#include <stagecraft/kernels/random/round_to_half.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;
namespace half_number = stagecraft::half_number;
using kernels::half_overflow;

/// Each half with the numbers around it, and numbers of all sizes; an odd count.
std::vector<float> test_floats() {
  std::vector<float> floats;
  for (unsigned half = 0; half < 0x7C00; ++half) {
    auto const bits = std::bit_cast<std::uint32_t>(half_number::value(static_cast<std::uint16_t>(half)));
    for (std::uint32_t const beside : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x1800U, 0x1FFFU})
      floats.push_back(std::bit_cast<float>(bits + beside));
  }
  for (int exponent = -149; exponent < 128; ++exponent) floats.push_back(std::ldexp(1.25F, exponent));
  floats.push_back(65504.0F);
  floats.push_back(65519.996F);
  floats.push_back(65520.0F);
  floats.push_back(std::numeric_limits<float>::infinity());
  floats.push_back(std::numeric_limits<float>::quiet_NaN());
  floats.push_back(std::bit_cast<float>(0x7F802000U));
  auto const positive = floats.size();
  for (std::size_t i = 0; i < positive; ++i) floats.push_back(-floats[i]);
  floats.push_back(0.3F);
  return floats;
}

float limited(std::uint16_t half, half_overflow overflow) {
  return half_number::value(half_number::without_infinity(half, overflow == half_overflow::nan));
}

template <class Function>
int differences(std::vector<float> const& found, std::vector<float> const& from, Function const& expected) {
  int different = 0;
  for (std::size_t i = 0; i < from.size(); ++i)
    different += std::bit_cast<std::uint32_t>(found[i]) != std::bit_cast<std::uint32_t>(expected(from[i], i)) ? 1 : 0;
  return different;
}

template <class Arch, half_overflow Overflow>
void check_rounding() {
  CAPTURE(kernels::lanes<Arch>);
  auto const floats = test_floats();
  auto const count = static_cast<std::int64_t>(floats.size());
  auto rounded = floats;
  CHECK(kernels::round_to_half<Overflow, Arch>(rounded.data(), count));
  CHECK(differences(rounded, floats, [](float x, std::size_t) { return limited(half_number::nearest(x), Overflow); }) ==
        0);
  // Once more changes nothing, neither in this way nor at random.
  auto again = rounded;
  CHECK_FALSE(kernels::round_to_half<half_overflow::largest, Arch>(again.data(), count));
  CHECK(differences(again, rounded, [](float x, std::size_t) { return x; }) == 0);
  kernels::random_key const key(3, 4);
  CHECK_FALSE(kernels::round_to_half_at_random<half_overflow::largest, Arch>(again.data(), count, key));
  CHECK(differences(again, rounded, [](float x, std::size_t) { return x; }) == 0);

  // At random: element by element what one number's conversion gives, in one piece or in several.
  auto drawn = floats;
  CHECK(kernels::round_to_half_at_random<Overflow, Arch>(drawn.data(), count, key, 1000));
  CHECK(differences(drawn, floats, [&](float x, std::size_t i) {
          return limited(half_number::at_random(x, kernels::random_uniform(key, 1000 + i)), Overflow);
        }) == 0);
  auto pieces = floats;
  for (std::int64_t first = 0; first < count; first += 777)
    kernels::round_to_half_at_random<Overflow, Arch>(pieces.data() + first, std::min<std::int64_t>(777, count - first),
                                                     key, 1000 + static_cast<std::uint64_t>(first));
  CHECK(differences(pieces, drawn, [](float x, std::size_t) { return x; }) == 0);
}

template <class... Arch>
void check_all() {
  (check_rounding<Arch, half_overflow::largest>(), ...);
  (check_rounding<Arch, half_overflow::nan>(), ...);
}

/// The mean of many roundings of one number, in units of the distance of its neighbours.
void check_mean(float number, double distance) {
  CAPTURE(number);
  constexpr int count = 1 << 18;
  std::vector<float> drawn(count, number);
  kernels::round_to_half_at_random<half_overflow::largest>(drawn.data(), count, {17, 5});
  double sum = 0;
  bool only_neighbours = true;
  for (float const x : drawn) {
    sum += static_cast<double>(x) - static_cast<double>(number);
    only_neighbours = only_neighbours && std::fabs(static_cast<double>(x) - static_cast<double>(number)) < distance;
  }
  CHECK(only_neighbours);
  // The standard deviation of the mean is at most 0.5 / 512; five of them.
  CHECK(std::fabs(sum / count / distance) < 5 * 0.5 / 512);
}

}  // namespace

TEST_CASE("all halves and what lies between them") { check_all<MATMUL_ARCHITECTURES>(); }

TEST_CASE("the same as converting to a half and back") {
  auto floats = test_floats();
  std::erase_if(floats, [](float x) { return !(std::fabs(x) < 65520.0F); });
  auto const count = static_cast<std::int64_t>(floats.size());
  std::vector<std::uint16_t> halves(floats.size());
  auto converted = floats;
  kernels::halves_of_floats(floats.data(), halves.data(), count);
  kernels::floats_of_halves(halves.data(), converted.data(), count);
  auto rounded = floats;
  CHECK_FALSE(kernels::round_to_half<half_overflow::largest>(rounded.data(), count));
  CHECK(differences(rounded, converted, [](float x, std::size_t) { return x; }) == 0);
}

TEST_CASE("what is too large becomes the largest number or NaN") {
  std::vector<float> const large{65520.0F, -65520.0F, 1e30F, -std::numeric_limits<float>::infinity()};
  auto largest = large;
  CHECK(kernels::round_to_half<half_overflow::largest>(largest.data(), 4));
  CHECK(largest == std::vector<float>{65504.0F, -65504.0F, 65504.0F, -65504.0F});
  auto nan = large;
  CHECK(kernels::round_to_half<half_overflow::nan>(nan.data(), 4));
  for (float const x : nan) CHECK(std::isnan(x));
  float invalid = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(kernels::round_to_half<half_overflow::largest>(&invalid, 1));
  CHECK(std::isnan(invalid));
}

TEST_CASE("rounding at random has the number itself as its mean") {
  check_mean(1.0F + 0x1p-13F, 0x1p-10);
  check_mean(1.0F + 0x1p-12F + 0x1p-13F, 0x1p-10);
  check_mean(-1000.3F, 0.5);
  check_mean(0.1F, 0x1p-14);
  check_mean(0x1p-25F + 0x1p-27F, 0x1p-24);
  check_mean(-0x1p-28F, 0x1p-24);
  check_mean(3.0e-5F, 0x1p-24);
  check_mean(65503.0F, 32);
}

TEST_CASE("other seeds and streams draw other numbers") {
  std::vector<float> const between(64, 1.0F + 0x1p-11F);
  auto a = between, b = between, c = between, d = between;
  kernels::round_to_half_at_random<half_overflow::largest>(a.data(), 64, {1, 1});
  kernels::round_to_half_at_random<half_overflow::largest>(b.data(), 64, {1, 1});
  kernels::round_to_half_at_random<half_overflow::largest>(c.data(), 64, {2, 1});
  kernels::round_to_half_at_random<half_overflow::largest>(d.data(), 64, {1, 2});
  CHECK(a == b);
  CHECK(a != c);
  CHECK(a != d);
}
