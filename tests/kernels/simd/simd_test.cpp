// SPDX-License-Identifier: BSD-3-Clause
// Batches of floats: partial loads and stores, reductions, fused multiply-add, clamps.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <stagecraft/kernels/simd/simd.hpp>
#include <doctest/doctest.h>

namespace kernels = stagecraft::kernels;
using architecture = kernels::default_architecture;
using batch = kernels::batch<architecture>;
constexpr int lanes = kernels::lanes<architecture>;

static_assert(lanes >= 2 && lanes <= 16);
static_assert(kernels::integer_batch<architecture>::size == lanes);

namespace {

std::vector<float> values(batch const& x) {
  std::vector<float> result(lanes);
  x.store_unaligned(result.data());
  return result;
}

}  // namespace

TEST_CASE("partial loads and stores touch the first lanes only") {
  for (int count = 0; count <= lanes; ++count) {
    CAPTURE(count);
    auto const exact = std::make_unique<float[]>(static_cast<std::size_t>(count));  // sanitizers watch its end
    for (int i = 0; i < count; ++i) exact[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
    auto const loaded = values(kernels::load_first<architecture>(exact.get(), count));
    auto const kept = values(kernels::keep_first(batch(2.5F), count));
    std::vector<float> stored(lanes, -77.0F);
    kernels::store_first(batch(3.0F), stored.data(), count);
    kernels::store_first(batch(4.0F), exact.get(), count);
    for (int lane = 0; lane < lanes; ++lane) {
      auto const at = static_cast<std::size_t>(lane);
      CHECK(loaded[at] == (lane < count ? static_cast<float>(lane + 1) : 0.0F));
      CHECK(kept[at] == (lane < count ? 2.5F : 0.0F));
      CHECK(stored[at] == (lane < count ? 3.0F : -77.0F));
    }
  }
  float const one[] = {9.0F};
  auto const filled = values(kernels::load_lanes_or<1, architecture>(one, -5.0F));
  CHECK(filled[0] == 9.0F);
  for (std::size_t lane = 1; lane < lanes; ++lane) CHECK(filled[lane] == -5.0F);
  CHECK(values(kernels::load_lanes<1, architecture>(one))[1] == 0.0F);
}

TEST_CASE("horizontal sum and maximum") {
  for (int place = 0; place < lanes; ++place) {
    std::vector<float> x(lanes);
    for (int lane = 0; lane < lanes; ++lane) x[static_cast<std::size_t>(lane)] = static_cast<float>(-1 - lane);
    CHECK(kernels::horizontal_sum(batch::load_unaligned(x.data())) == -0.5F * lanes * (lanes + 1));
    x[static_cast<std::size_t>(place)] = 7;
    CHECK(kernels::horizontal_max(batch::load_unaligned(x.data())) == 7);
  }
}

TEST_CASE("the fused multiply-add is fused where the instruction set has one") {
  // (1 + e) (1 - e) - 1 = -e^2, which is lost if the product is rounded.
  float const volatile e = 0x1p-13F;
  float const fused = values(kernels::fused_multiply_add(batch(1 + e), batch(1 - e), batch(-1.0F)))[0];
  float const negative = values(kernels::fused_negative_multiply_add(batch(1 + e), batch(1 - e), batch(1.0F)))[0];
#if defined(__FMA__) || defined(__AVX512F__)
  CHECK(fused == -0x1p-26F);
  CHECK(negative == 0x1p-26F);
#else
  CHECK(std::fabs(fused) <= 0x1p-26F);
  CHECK(std::fabs(negative) <= 0x1p-26F);
#endif
}

TEST_CASE("clamps keep NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(values(kernels::at_least(batch(nan), batch(0.0F)))[0]));
  CHECK(std::isnan(values(kernels::at_most(batch(nan), batch(0.0F)))[0]));
  CHECK(values(kernels::at_least(batch(-1.0F), batch(0.0F)))[0] == 0);
  CHECK(values(kernels::at_most(batch(2.0F), batch(1.0F)))[0] == 1);
}

TEST_CASE("sums over every size") {
  for (int const n : {0, 1, 7, 15, 16, 17, 31, 64, 1000}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 100);
    double expected = 0;
    for (float const value : x) expected += value;
    CHECK(kernels::transform_sum<architecture>(
              n, [](batch const& v) { return v; }, static_cast<float const*>(x.data())) == expected);
  }
}
