// SPDX-License-Identifier: BSD-3-Clause
// Halves: all 65536 of them, floats at every boundary between two, NaN, and the same bits for every architecture.
#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"
#include "../product/reference_tiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;

/// The definition of IEEE 754 in doubles, which hold every half and every midpoint of two.
float float_of(unsigned half) {
  unsigned const exponent = half >> 10U & 31U;
  unsigned const fraction = half & 0x3FFU;
  unsigned const sign = (half & 0x8000U) << 16U;
  if (exponent == 31 && fraction != 0) return std::bit_cast<float>(sign | 0x7FC00000U | fraction << 13U);
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U);
  double const size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  return static_cast<float>(sign != 0 ? -size : size);
}

/// Searches all halves for the nearest one: positive halves are in the order of their numbers.
unsigned half_of(float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  unsigned const sign = bits >> 16U & 0x8000U;
  if (std::isnan(x)) return sign | 0x7E00U | (bits >> 13U & 0x3FFU);
  double const size = std::fabs(static_cast<double>(x));
  unsigned below = 0, above = 0x7C00;  // the last stands for 65536 here, where infinity is rounded to
  while (above - below > 1) {
    unsigned const middle = (below + above) / 2;
    (static_cast<double>(float_of(middle)) <= size ? below : above) = middle;
  }
  double const next = above == 0x7C00 ? 65536.0 : static_cast<double>(float_of(above));
  double const to_below = size - static_cast<double>(float_of(below)), to_above = next - size;
  bool const up = to_above < to_below || (to_above == to_below && below % 2 == 1);
  return sign | (up ? above : below);
}

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  return halves;
}

/// Each half, the midpoint to its neighbour, and the floats beside both; floats that are too small and too large; NaN.
std::vector<float> boundary_floats() {
  std::vector<float> positive;
  auto const with_neighbours = [&positive](float x) {
    auto const bits = std::bit_cast<std::uint32_t>(x);
    if (bits > 0) positive.push_back(std::bit_cast<float>(bits - 1));
    positive.push_back(x);
    positive.push_back(std::bit_cast<float>(bits + 1));
  };
  for (unsigned half = 0; half < 0x7C00; ++half) {
    with_neighbours(float_of(half));
    float const next = half == 0x7BFF ? 65536.0F : float_of(half + 1);
    with_neighbours(static_cast<float>((static_cast<double>(float_of(half)) + static_cast<double>(next)) / 2));
  }
  for (int exponent = -149; exponent < 128; ++exponent) with_neighbours(std::ldexp(1.0F, exponent));
  for (unsigned bits : {0x7F7FFFFFU, 0x7F800000U, 0x7F800001U, 0x7F802000U, 0x7FBFFFFFU, 0x7FC00000U, 0x7FFFFFFFU})
    positive.push_back(std::bit_cast<float>(bits));
  unsigned seed = 5;
  for (int i = 0; i < 100000; ++i) {
    seed = seed * 1664525U + 1013904223U;
    positive.push_back(std::bit_cast<float>(seed >> 1U));
  }
  std::vector<float> floats;
  for (float const x : positive)
    for (std::uint32_t const sign : {0U, 0x80000000U})
      floats.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) | sign));
  return floats;
}

template <class Arch>
void check_widening() {
  CAPTURE(kernels::lanes<Arch>);
  auto const halves = all_halves();
  std::vector<float> floats(halves.size());
  kernels::floats_of_halves<Arch>(halves.data(), floats.data(), 65536);
  int wrong = 0;
  for (std::size_t i = 0; i < halves.size(); ++i)
    wrong += std::bit_cast<std::uint32_t>(floats[i]) != std::bit_cast<std::uint32_t>(float_of(halves[i]));
  CHECK(wrong == 0);
}

template <class Arch>
void check_narrowing(std::vector<float> const& floats, std::vector<std::uint16_t> const& expected) {
  CAPTURE(kernels::lanes<Arch>);
  std::vector<std::uint16_t> halves(floats.size());
  kernels::halves_of_floats<Arch>(floats.data(), halves.data(), static_cast<std::int64_t>(floats.size()));
  CHECK(halves == expected);
}

template <class... Arch>
void check_all() {
  (check_widening<Arch>(), ...);
  auto const floats = boundary_floats();
  std::vector<std::uint16_t> expected;
  for (float const x : floats) expected.push_back(static_cast<std::uint16_t>(half_of(x)));
  (check_narrowing<Arch>(floats, expected), ...);
}

template <class Arch>
void check_tails() {
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<float> floats(n + 1, -77.0F);
    std::vector<std::uint16_t> halves(n + 1, 0x1234);
    for (std::size_t i = 0; i < n; ++i) floats[i] = static_cast<float>(i) - 3.5F;
    kernels::halves_of_floats<Arch>(floats.data(), halves.data(), static_cast<std::int64_t>(n));
    std::vector<float> back(n + 1, -77.0F);
    kernels::floats_of_halves<Arch>(halves.data(), back.data(), static_cast<std::int64_t>(n));
    CHECK(halves.back() == 0x1234);
    CHECK(back == floats);
  }
}

template <class... Arch>
void check_all_tails() {
  (check_tails<Arch>(), ...);
}

/// bfloat16: each of them, and floats around each and around each midpoint, are rounded as their definition says.
template <class Arch>
void check_bfloat16() {
  using stagecraft::dtype;
  CAPTURE(kernels::lanes<Arch>);
  auto const all = all_halves();
  std::vector<float> wide(all.size()), floats;
  kernels::widen<dtype::bfloat16, Arch>(all.data(), wide.data(), 65536);
  std::vector<std::uint16_t> expected;
  int wrong = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    std::uint32_t const bits = i << 16U;
    wrong += std::bit_cast<std::uint32_t>(wide[i]) != bits;
    bool const is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U, is_denormal = (i & 0x7F80U) == 0;
    if (is_denormal) continue;  // some processors flush them
    auto const add = [&](std::uint32_t of_float, std::uint32_t result) {
      floats.push_back(std::bit_cast<float>(of_float));
      expected.push_back(static_cast<std::uint16_t>(is_nan ? i | 0x40U : result));
    };
    bool const is_infinite = (bits & 0x7FFFFFFFU) == 0x7F800000U;
    add(bits, i);
    if (is_infinite) continue;
    add(bits + 0x7FFF, i);
    add(bits + 0x8000, i + (i & 1U));
    add(bits + 0x8001, i + 1);
    add(bits + 0xFFFF, i + 1);
  }
  CHECK(wrong == 0);
  std::vector<std::uint16_t> narrow(floats.size());
  auto const n = static_cast<std::int64_t>(floats.size()) - 1;  // the last ones are no whole register
  kernels::narrow<dtype::bfloat16, Arch>(floats.data(), narrow.data(), n);
  expected.back() = 0;
  CHECK(narrow == expected);
  kernels::round_to<dtype::bfloat16, Arch>(floats.data(), floats.data(), n);
  wrong = 0;
  for (std::size_t i = 0; i + 1 < floats.size(); ++i)
    wrong += std::bit_cast<std::uint32_t>(floats[i]) != std::uint32_t{expected[i]} << 16U;
  CHECK(wrong == 0);
  std::vector<std::uint16_t> sums(37, 0x3F80),
      terms(37, 0x3B80);  // 1 + 1/256 lies between two: 1, the even one, remains
  kernels::add_narrow<dtype::bfloat16, Arch>(terms.data(), sums.data(), 36);
  CHECK(sums == std::vector<std::uint16_t>(37, 0x3F80));
  kernels::add_narrow<dtype::bfloat16, Arch>(sums.data(), sums.data(), 36);
  CHECK(sums[35] == 0x4000);
  CHECK(sums[36] == 0x3F80);
}
template <class... Arch>
void check_all_bfloat16() {
  (check_bfloat16<Arch>(), ...);
}

/// The number of a column is added to each sum.
struct add_column {
  template <class Batch>
  Batch operator()(Batch const& sum, int column, std::int64_t /*element*/) const {
    alignas(64) float columns[Batch::size];
    for (int lane = 0; lane < static_cast<int>(Batch::size); ++lane) columns[lane] = static_cast<float>(column + lane);
    return sum + Batch::load_aligned(columns);
  }
};

/// Small whole numbers, of which products and sums are exact: products of pairs, and of tiles of them, are those of
/// floats, by any threads.
template <int M, int K, int N>
void check_pairs() {
  CAPTURE(M);
  CAPTURE(K);
  using stagecraft::dtype;
  using arch = kernels::default_architecture;
  using layout = kernels::packed_matrix<K, N>;
  constexpr std::size_t slack = 64;
  std::uint32_t seed = 3;
  auto const numbers = [&](std::size_t count) {
    std::vector<float> result(count + slack, NAN);
    for (std::size_t i = 0; i < count; ++i) {
      seed = seed * 1664525U + 1013904223U;
      result[i] = static_cast<float>(seed >> 28U) - 7;
    }
    return result;
  };
  auto const narrow = [](std::vector<float> const& x) {
    std::vector<std::uint16_t> result(x.size());
    kernels::narrow<dtype::bfloat16>(x.data(), result.data(), static_cast<std::int64_t>(x.size()));
    return result;
  };
  auto const x = numbers(M * K), dy = numbers(M * N), w = numbers(K * N);
  std::vector<float> packed(layout::size), y(M * N), dx(M * K), dw(layout::size);
  layout::pack(w.data(), packed.data());
  std::vector<float> workspace(kernels::input_gradient_workspace<K, N> + 64);
  kernels::matmul<M, K, N>(x.data(), packed.data(), y.data());
  kernels::matmul_input_gradient<M, K, N>(dy.data(), packed.data(), workspace.data(), dx.data(), kernels::share{});
  kernels::matmul_weight_gradient<M, K, N>(x.data(), dy.data(), dw.data());
  for (int i = 0; i < layout::size; i += kernels::lanes<>)  // padding, as updates without an epsilon leave it
    std::fill(packed.begin() + i + layout::elements_from(i, kernels::lanes<>), packed.begin() + i + kernels::lanes<>,
              NAN);
  constexpr int rows_of_pairs = kernels::pairs_of(M), k_pairs = kernels::pairs_of(K), n_pairs = kernels::pairs_of(N);
  auto const narrow_x = narrow(x), narrow_dy = narrow(dy);
  std::vector<std::uint16_t> left(2UL * M * k_pairs), left_dy(2UL * M * n_pairs);  // as many in a row as pairs have
  if constexpr (K % 2 == 0)
    left = narrow_x;
  else
    kernels::pad_rows<M, K>(narrow_x.data(), left.data());
  if constexpr (N % 2 == 0)
    left_dy = narrow_dy;
  else
    kernels::pad_rows<M, N>(dy.data(), left_dy.data());
  for (int threads : {1, 3}) {
    std::vector<float> rows(kernels::packed_matrix<k_pairs, N>::size),
        columns(kernels::packed_matrix<n_pairs, K>::size);
    std::vector<float> x_pairs(rows_of_pairs * K + slack, NAN), dy_pairs(rows_of_pairs * N + slack, NAN);
    std::vector<float> found_y(M * N), found_dx(M * K), found_dw(layout::size);
    auto const divide = [&](auto const& work) {
      for (int i = threads; i-- > 0;) work(kernels::share{i, threads});
    };
    divide([&](kernels::share part) {
      kernels::pack_row_pairs<K, N>(packed.data(), rows.data(), part);
      kernels::pair_rows<M, K>(narrow_x.data(), x_pairs.data(), part);
      kernels::pair_rows<M, N>(dy.data(), dy_pairs.data(), part);
    });
    divide([&](kernels::share part) { kernels::transpose_row_pairs<K, N>(rows.data(), columns.data(), part); });
    if constexpr (kernels::multiplies_bfloat16_pairs<arch>) {
      divide([&](kernels::share part) {
        kernels::matmul_of_pairs<M, K, N>(left.data(), rows.data(), found_y.data(), {}, part);
        kernels::matmul_of_pairs<M, N, K>(left_dy.data(), columns.data(), found_dx.data(), {}, part);
        kernels::weight_gradient_of_pairs<M, K, N>(x_pairs.data(), dy_pairs.data(), found_dw.data(), part);
      });
      CHECK(found_y == y);
      CHECK(found_dx == dx);
      CHECK(found_dw == dw);
    }
    using tiles = kernels::reference::reference_tiles;
    using output = kernels::detail::store_output<add_column>;
    std::vector<float> in_tiles(M * N), dw_in_tiles(layout::size);
    divide([&](kernels::share part) {
      kernels::detail::multiply_in_tiles<M, k_pairs, N, arch, tiles>(reinterpret_cast<float const*>(left.data()),
                                                                     rows.data(), in_tiles.data(), output{}, part);
      kernels::detail::weight_gradient_in_tiles<rows_of_pairs, K, N, false, arch, tiles>(
          x_pairs.data(), dy_pairs.data(), dw_in_tiles.data(), part);
    });
    for (int i = 0; i < M * N; ++i) in_tiles[static_cast<std::size_t>(i)] -= static_cast<float>(i % N);
    CHECK(in_tiles == y);
    CHECK(dw_in_tiles == dw);
    divide([&](kernels::share part) {
      kernels::detail::weight_gradient_in_tiles<rows_of_pairs, K, N, true, arch, tiles>(x_pairs.data(), dy_pairs.data(),
                                                                                        dw_in_tiles.data(), part);
    });
    for (float& gradient : dw_in_tiles) gradient /= 2;
    CHECK(dw_in_tiles == dw);
    CHECK(std::bit_cast<std::uint32_t>(rows[0]) ==
          (std::bit_cast<std::uint32_t>(w[0]) >> 16U | std::bit_cast<std::uint32_t>(w[N])));
    CHECK(std::bit_cast<std::uint32_t>(columns[0]) ==
          (std::bit_cast<std::uint32_t>(w[0]) >> 16U | std::bit_cast<std::uint32_t>(w[1])));
    auto const second = M > 1 ? std::bit_cast<std::uint32_t>(x[2 * K - 1]) : 0;
    CHECK(std::bit_cast<std::uint32_t>(x_pairs[K - 1]) == (std::bit_cast<std::uint32_t>(x[K - 1]) >> 16U | second));
  }
}

}  // namespace

TEST_CASE("products of pairs of bfloat16") {
  check_pairs<2, 2, 2>();
  check_pairs<4, 18, 10>();
  check_pairs<14, 70, 34>();
  check_pairs<6, 2100, 8>();
  check_pairs<600, 12, 66>();
  check_pairs<40, 34, 90>();
  check_pairs<1, 3, 5>();
  check_pairs<9, 33, 145>();
}

TEST_CASE("a tile's products are summed as the processor sums them") {
  using kernels::tile_shapes;
  tile_shapes shapes;
  for (int tile : {0, 1, 2}) {
    shapes.rows[tile] = 2;
    shapes.row_bytes[tile] = 8;
  }
  kernels::reference::tile_registers tiles;
  auto const product = [&](std::uint32_t first, std::uint32_t second, std::uint32_t third, float sum) {
    tiles.configure(shapes);
    float sums[4] = {sum, 0, 0, 0};
    std::uint32_t const left[4] = {first, second, 0, 0}, ones[4] = {third, 0, third, 0};
    tiles.load(0, sums, 8);
    tiles.load(1, left, 8);
    tiles.load(2, ones, 8);
    tiles.add_products(0, 1, 2);
    tiles.store(0, sums, 8);
    return sums[0];
  };
  constexpr std::uint32_t one = 0x3F80, of_ones = one << 16U | one, small = 0x3380;  // 2^-24
  CHECK(product(of_ones, 0x4000 << 16U | 0x4040, of_ones, 4) == 11);                 // 4 + (1 + 3) + (1 + 2)
  // 1 + 2^-24 is rounded to 1, the even one, each time; by themselves two small ones would be enough.
  CHECK(product(one, small, of_ones, 0) == 1);
  CHECK(product(one, small | small << 16U, of_ones, 0) == 1);
  CHECK(product(small | small << 16U, 0, of_ones, 1) == 1 + 0x1p-23F);
  // Denormal numbers are zeros, whether they are given or come out.
  CHECK(product(0x0001, 0, of_ones, 0) == 0);
  CHECK(product(0x7F00, 0, 0x0040, 0) == 0);
  CHECK(product(0x2000, 0, 0x1F80, 0) == 0);  // 2^-63 * 2^-64
  CHECK(product(0x2000, 0, 0x2000, 0) == 0x1p-126F);
  CHECK(product(0, 0, of_ones, 0x1p-127F) == 0);
}
TEST_CASE("every bfloat16, and floats between them") { check_all_bfloat16<MATMUL_ARCHITECTURES>(); }
TEST_CASE("every half, and floats on all boundaries of halves") { check_all<MATMUL_ARCHITECTURES>(); }

TEST_CASE("denormal halves are no denormal floats: nothing flushes them") {
  kernels::flush_denormals const as_in_a_step;
  auto const halves = all_halves();
  std::vector<float> floats(halves.size());
  std::vector<std::uint16_t> back(halves.size());
  auto const check = [&]<class... Arch>() {
    auto const once = [&]<class One>() {
      kernels::floats_of_halves<One>(halves.data(), floats.data(), 65536);
      kernels::halves_of_floats<One>(floats.data(), back.data(), 65536);
      int wrong = 0;
      for (unsigned i = 0; i < 65536; ++i) {
        bool const is_nan = (i & 0x7FFFU) > 0x7C00U;
        wrong += back[i] != (is_nan ? i | 0x200U : i);
      }
      CHECK(wrong == 0);
    };
    (once.template operator()<Arch>(), ...);
  };
  check.operator()<MATMUL_ARCHITECTURES>();
}

TEST_CASE("any number of halves, and none behind them") { check_all_tails<MATMUL_ARCHITECTURES>(); }

#if defined(__FLT16_MAX__)
TEST_CASE("the reference agrees with the compiler's own type") {
  int wrong = 0;
  for (float const x : boundary_floats()) {
    auto const half = static_cast<_Float16>(x);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, sizeof bits);
    wrong += std::isnan(x) ? (bits & 0x7FFFU) <= 0x7C00U : bits != half_of(x);
  }
  for (unsigned bits = 0; bits < 65536; ++bits) {
    auto const stored = static_cast<std::uint16_t>(bits);
    _Float16 half = 0;
    std::memcpy(&half, &stored, sizeof half);
    auto const value = static_cast<float>(half);
    wrong += std::isnan(value) ? !std::isnan(float_of(bits)) : value != float_of(bits);
  }
  CHECK(wrong == 0);
}
#endif
