// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu.hpp>
#include <stagecraft/kernels/elementwise/whole.hpp>
#include <stagecraft/operations/words.hpp>
#include <stagecraft/stagecraft.hpp>
#include <bit>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::dtype;
using sc::operations::whole_function;

constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                       most = std::numeric_limits<std::int32_t>::max();

constexpr std::int32_t value(whole_function f, std::int32_t a, std::int32_t b = 0) {
  return std::bit_cast<std::int32_t>(sc::kernels::whole_value(f, std::bit_cast<float>(a), std::bit_cast<float>(b)));
}

// NumPy's results, but for divisions by 0, which it leaves open.
static_assert(value(whole_function::add, most, 1) == least);
static_assert(value(whole_function::subtract, least, 1) == most);
static_assert(value(whole_function::multiply, 65536, 65537) == 65536);
static_assert(value(whole_function::divide, -7, 2) == -3);
static_assert(value(whole_function::divide, least, -1) == least);
static_assert(value(whole_function::divide, 7, 0) == 0);
static_assert(value(whole_function::remainder, -7, 2) == -1);
static_assert(value(whole_function::floor_divide, -7, 2) == -4);
static_assert(value(whole_function::floor_divide, 7, -2) == -4);
static_assert(value(whole_function::modulo, -7, 3) == 2);
static_assert(value(whole_function::modulo, 7, -3) == -2);
static_assert(value(whole_function::power, 3, 20) == -808182895);
static_assert(value(whole_function::power, -1, -3) == -1);
static_assert(value(whole_function::power, 2, -1) == 0);
static_assert(value(whole_function::absolute, least) == least);
static_assert(value(whole_function::right_shift, -8, 1) == -4);
static_assert(value(whole_function::right_shift, -8, 40) == -1);
static_assert(value(whole_function::left_shift, 3, 31) == least);
static_assert(value(whole_function::left_shift, 3, 32) == 0);
static_assert(sc::kernels::whole_of_float(-2.9F) == -2);
static_assert(sc::kernels::whole_of_float(3e9F) == most);
static_assert(sc::kernels::whole_of_float(-3e9F) == least);
static_assert(sc::kernels::whole_of_float(std::numeric_limits<float>::quiet_NaN()) == 0);

struct minus : sc::layer<minus> {
  static constexpr std::string_view class_name = "Minus";
  constexpr auto call(auto&, auto x) const { return x - 16777216; }
};
struct arithmetic : sc::layer<arithmetic> {
  static constexpr std::string_view class_name = "Arithmetic";
  constexpr auto call(auto& ops, auto x) const {
    auto const near = x - 16777216;
    auto const chosen = where(near > 1, near * 3 / 2, -near);
    return ops.concatenate({chosen, sc::maximum(near, 2), ops.cast(equal(near, 1), dtype::int32)}, -1);
  }
};
/// Sums of floats and int32 are floats; conversions round as documented.
struct mixed : sc::layer<mixed> {
  static constexpr std::string_view class_name = "Mixed";
  constexpr auto call(auto& ops, auto x) const {
    auto const bytes = ops.cast(x, dtype::uint8), signs = ops.cast(x, dtype::int8);
    return ops.concatenate(
        {(x - 16777216) + 0.5F, bytes + signs, ops.cast(ops.cast(x / 2, dtype::float32), dtype::float32)});
  }
};

struct bits : sc::layer<bits> {
  static constexpr std::string_view class_name = "Bits";
  constexpr auto call(auto& ops, auto x) const {
    auto const mixed = bitwise_xor(bitwise_or(bitwise_and(x, 0xfff), 0x1000), bitwise_not(left_shift(x, 1)));
    return ops.concatenate({mixed, right_shift(x, ops.cast(equal(x, x), dtype::int32)),
                            view(ops.cast(x, dtype::float32), dtype::int32) - view(ops.full({1}, 1.5F), dtype::int32)});
  }
};

template <class Layer, class Machine>
using predictor =
    sc::predictor<sc::sequential<input{1}.of_type(dtype::int32), Layer{}>, sc::inference{.batch_size = 2}, Machine>;

xt::xtensor<std::int32_t, 2> const given{{16777217}, {16777219}, {-5}};

template <class Layer>
void check_on_both(std::vector<std::vector<float>> const& expected) {
  predictor<Layer, sc::host<>> host;
  auto const found = host.predict(given);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].size(); ++k) CHECK(found(i, k) == expected[i][k]);
  predictor<Layer, sc::ipu<>> tiles;
  CHECK(tiles.predict(given) == found);
}

}  // namespace

TEST_CASE("int32 inputs are exact, and so is arithmetic on them") {
  check_on_both<minus>({{1}, {3}, {-16777220}});
  check_on_both<arithmetic>({{-1, 2, 1}, {4, 3, 0}, {16777220, 2, 0}});
  check_on_both<bits>({{-33558532, 8388608, 197132288}, {-33558536, 8388609, 197132288}, {8178, -3, -2132803584}});
  check_on_both<mixed>({{1.5F, 2, 8388608}, {3.5F, 6, 8388609}, {-16777220, 246, -2}});
}
