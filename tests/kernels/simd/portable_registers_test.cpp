// SPDX-License-Identifier: BSD-3-Clause
// The compiler's own vectors do in each lane what the processor's registers do: operators, masks, rounding, NaN.
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <stagecraft/kernels/simd/simd.hpp>
#include <doctest/doctest.h>

namespace kernels = stagecraft::kernels;
using arch = kernels::portable_architecture;
using floats = kernels::batch<arch>;
using integers = xsimd::batch<std::int32_t, arch>;
using words = kernels::integer_batch<arch>;

static_assert(kernels::lanes<arch> == 4 && integers::size == 4 && words::size == 4);
#if defined(STAGECRAFT_PORTABLE_REGISTERS)
static_assert(std::is_same_v<kernels::default_architecture, arch>);
#elif defined(__SSE2__) || defined(__ARM_NEON)
static_assert(!std::is_same_v<kernels::default_architecture, arch>, "xsimd's registers come first");
#endif

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class Batch>
std::vector<typename Batch::value_type> lanes_of(Batch const& x) {
  std::vector<typename Batch::value_type> result(4);
  x.store_unaligned(result.data());
  for (std::size_t lane = 0; lane < 4; ++lane) CHECK((x.get(lane) == result[lane] || result[lane] != result[lane]));
  return result;
}
template <class T>
xsimd::batch<T, arch> of(T a, T b, T c, T d) {
  T const values[] = {a, b, c, d};
  return xsimd::batch<T, arch>::load_unaligned(values);
}

}  // namespace

TEST_CASE("arithmetic and comparisons go lane by lane") {
  auto const a = of(1.0F, -2.0F, 0.5F, 8.0F), b = of(4.0F, -2.0F, 2.0F, -4.0F);
  CHECK(lanes_of(a + b) == std::vector{5.0F, -4.0F, 2.5F, 4.0F});
  CHECK(lanes_of(a - b) == std::vector{-3.0F, 0.0F, -1.5F, 12.0F});
  CHECK(lanes_of(a * b) == std::vector{4.0F, 4.0F, 1.0F, -32.0F});
  CHECK(lanes_of(a / b) == std::vector{0.25F, 1.0F, 0.25F, -2.0F});
  CHECK(lanes_of(-a) == std::vector{-1.0F, 2.0F, -0.5F, -8.0F});
  CHECK(lanes_of(kernels::fused_multiply_add(a, b, a)) == std::vector{5.0F, 2.0F, 1.5F, -24.0F});
  CHECK(lanes_of(kernels::fused_negative_multiply_add(a, b, a)) == std::vector{-3.0F, -6.0F, -0.5F, 40.0F});
  auto const chosen = [&](auto const& mask) { return lanes_of(xsimd::select(mask, floats(1.0F), floats(0.0F))); };
  CHECK(chosen(a < b) == std::vector{1.0F, 0.0F, 1.0F, 0.0F});
  CHECK(chosen(a <= b) == std::vector{1.0F, 1.0F, 1.0F, 0.0F});
  CHECK(chosen(a > b) == std::vector{0.0F, 0.0F, 0.0F, 1.0F});
  CHECK(chosen(a >= b) == std::vector{0.0F, 1.0F, 0.0F, 1.0F});
  CHECK(chosen(a == b) == std::vector{0.0F, 1.0F, 0.0F, 0.0F});
  CHECK(chosen(a != b) == std::vector{1.0F, 0.0F, 1.0F, 1.0F});
  CHECK(chosen((a < b) & !(a == of(0.5F, 0.5F, 0.5F, 0.5F))) == std::vector{1.0F, 0.0F, 0.0F, 0.0F});
  CHECK(xsimd::any(a == b));
  CHECK_FALSE(xsimd::any(a == floats(7.0F)));
}

TEST_CASE("integers shift as their type does, and bits are those of the floats") {
  CHECK(lanes_of(of(-8, 7, 1 << 30, -1) >> 1) == std::vector{-4, 3, 1 << 29, -1});
  CHECK(lanes_of(of(0x8000'0000U, 7U, 1U, ~0U) >> 1) == std::vector{0x4000'0000U, 3U, 0U, 0x7FFF'FFFFU});
  CHECK(lanes_of(of(1, -1, 3, 0) << 4) == std::vector{16, -16, 48, 0});
  CHECK(lanes_of(words(0x9E37'79B9U) * words(0x85EB'CA6BU)) == std::vector(4, 0x9E37'79B9U * 0x85EB'CA6BU));
  CHECK(lanes_of(kernels::bit_cast<std::uint32_t>(of(1.0F, -0.0F, 2.0F, 0.5F))) ==
        std::vector{0x3F80'0000U, 0x8000'0000U, 0x4000'0000U, 0x3F00'0000U});
  CHECK(lanes_of(xsimd::to_int(of(1.9F, -1.9F, 0.0F, 1e6F))) == std::vector{1, -1, 0, 1'000'000});
  CHECK(lanes_of(xsimd::to_float(of(1, -1, 0, 7))) == std::vector{1.0F, -1.0F, 0.0F, 7.0F});
}

TEST_CASE("halves are rounded to the even integer, and signs are removed") {
  CHECK(lanes_of(xsimd::nearbyint(of(0.5F, 1.5F, -2.5F, 3.2F))) == std::vector{0.0F, 2.0F, -2.0F, 3.0F});
  CHECK(lanes_of(xsimd::floor(of(0.5F, -1.5F, 2.0F, -0.1F))) == std::vector{0.0F, -2.0F, 2.0F, -1.0F});
  CHECK(lanes_of(xsimd::sqrt(of(4.0F, 2.25F, 0.0F, 1.0F))) == std::vector{2.0F, 1.5F, 0.0F, 1.0F});
  CHECK(std::signbit(lanes_of(xsimd::abs(floats(-0.0F)))[0]) == false);
  CHECK(std::isinf(lanes_of(xsimd::exp(floats(1000.0F)))[0]));
}

TEST_CASE("clamps keep NaN, and sums have all lanes") {
  for (float const limit : {-1.0F, 1.0F}) {
    CHECK(std::isnan(lanes_of(kernels::at_least(floats(not_a_number), floats(limit)))[2]));
    CHECK(std::isnan(lanes_of(kernels::at_most(floats(not_a_number), floats(limit)))[2]));
  }
  CHECK(lanes_of(kernels::at_least(of(-1.0F, 2.0F, 0.0F, 5.0F), floats(1.0F))) == std::vector{1.0F, 2.0F, 1.0F, 5.0F});
  CHECK(lanes_of(kernels::at_most(of(-1.0F, 2.0F, 0.0F, 5.0F), floats(1.0F))) == std::vector{-1.0F, 1.0F, 0.0F, 1.0F});
  CHECK(xsimd::any(xsimd::isnan(of(0.0F, not_a_number, 0.0F, 0.0F))));
  CHECK(kernels::horizontal_sum(of(1.0F, 2.0F, 4.0F, 8.0F)) == 15.0F);
  CHECK(kernels::horizontal_max(of(1.0F, 2.0F, 9.0F, 8.0F)) == 9.0F);
}

TEST_CASE("parts of registers, and pairs") {
  auto const a = of(1.0F, 2.0F, 3.0F, 4.0F), b = of(5.0F, 6.0F, 7.0F, 8.0F);
  CHECK(lanes_of(xsimd::zip_lo(a, b)) == std::vector{1.0F, 5.0F, 2.0F, 6.0F});
  CHECK(lanes_of(xsimd::zip_hi(a, b)) == std::vector{3.0F, 7.0F, 4.0F, 8.0F});
  CHECK(lanes_of(kernels::keep_first(a, 3)) == std::vector{1.0F, 2.0F, 3.0F, 0.0F});
  float stored[] = {9, 9, 9};
  kernels::store_first(a, stored, 2);
  CHECK((stored[0] == 1 && stored[1] == 2 && stored[2] == 9));
  CHECK(lanes_of(kernels::load_first<arch>(stored, 3)) == std::vector{1.0F, 2.0F, 9.0F, 0.0F});
}
