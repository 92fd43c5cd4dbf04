// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices whose sizes are known at run time: sums term by term, whatever is packed or shared.
#include "../../larger_deviation.hpp"

#include <stagecraft/kernels/product/bfloat16_product.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

namespace kernels = stagecraft::kernels;
using kernels::product_shape;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Exactly as long as it says: sanitizers watch the ends.
struct matrix {
  std::int64_t size;
  std::unique_ptr<float[]> values;

  explicit matrix(std::int64_t size_) : size(size_), values(new float[at(size_)]) {}
  matrix(std::int64_t size_, std::mt19937& engine) : matrix(size_) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < size; ++i) values[at(i)] = uniform(engine);
  }
  [[nodiscard]] float* data() const { return values.get(); }
  friend bool operator==(matrix const& a, matrix const& b) {
    for (std::int64_t i = 0; i < a.size; ++i)
      if (!(a.values[at(i)] == b.values[at(i)])) return false;
    return a.size == b.size;
  }
};

template <class Arch>
void check(product_shape const& shape, std::mt19937& engine) {
  CAPTURE(shape.rows);
  CAPTURE(shape.inner);
  CAPTURE(shape.columns);
  CAPTURE(shape.transpose_a);
  CAPTURE(shape.transpose_b);
  CAPTURE(kernels::lanes<Arch>);
  std::int64_t const rows = shape.rows, inner = shape.inner, columns = shape.columns;
  matrix const a(rows * inner, engine), b(inner * columns, engine);
  matrix const workspace(kernels::product_workspace<Arch>(shape)), y(rows * columns);
  kernels::product<Arch>(shape, a.data(), b.data(), y.data(), workspace.data());

  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += static_cast<double>(a.values[at(shape.transpose_a ? k * rows + row : row * inner + k)]) *
               static_cast<double>(b.values[at(shape.transpose_b ? column * inner + k : k * columns + column)]);
      double const error = std::abs(static_cast<double>(y.values[at(row * columns + column)]) - sum);
      worst = larger_deviation(worst, error);
    }
  CHECK(worst < 1e-7 * static_cast<double>(inner) + 1e-6);

  // The same bits in three shares of the columns, the last one first.
  matrix const shared(rows * columns);
  for (int const index : {2, 0, 1})
    kernels::product<Arch>(shape, a.data(), b.data(), shared.data(), workspace.data(), {index, 3});
  CHECK(shared == y);

  // The same bits with something added to the sums, and stored twice: rows that lie apart, or one for all.
  std::int64_t const apart = columns + 3;
  matrix const added(rows * apart, engine), copied(rows * apart), finished(rows * columns);
  for (std::int64_t const stride : {apart, std::int64_t{0}}) {
    kernels::product<Arch>(shape, a.data(), b.data(), finished.data(), workspace.data(), {},
                           {{added.data(), stride}, {copied.data(), apart}});
    bool right = true;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        float const sum = y.values[at(row * columns + column)] + added.values[at(row * stride + column)];
        right = right && finished.values[at(row * columns + column)] == sum &&
                copied.values[at(row * apart + column)] == sum;
      }
    CHECK(right);
  }

  // The same with b packed before.
  matrix const packed(kernels::packed_product_floats<Arch>(shape)), again(rows * columns);
  kernels::pack_product<Arch>(shape, b.data(), packed.data());
  kernels::packed_product<Arch>(shape, a.data(), packed.data(), again.data(), workspace.data());
  CHECK(again == y);

  // And for some of the rows alone, as samples are divided.
  if (shape.transpose_a || rows < 2) return;
  product_shape part = shape;
  part.rows = shape.rows / 2;
  matrix const half(part.rows * columns);
  kernels::product<Arch>(part, a.data() + (rows - part.rows) * inner, b.data(), half.data(), workspace.data());
  bool same = true;
  for (std::int64_t i = 0; i < half.size; ++i)
    same = same && half.values[at(i)] == y.values[at((rows - part.rows) * columns + i)];
  CHECK(same);
}

/// Products of pairs of bfloat16 are those of floats where these are numbers of bfloat16.
template <class arch = kernels::default_architecture>
void check_pairs([[maybe_unused]] product_shape const& shape, [[maybe_unused]] std::mt19937& engine) {
  if constexpr (kernels::multiplies_bfloat16_pairs<arch>) {
    CAPTURE(shape.rows);
    CAPTURE(shape.inner);
    CAPTURE(shape.columns);
    CAPTURE(shape.transpose_a);
    CAPTURE(shape.transpose_b);
    auto const &floats = kernels::product_functions<arch>{}, &pairs = kernels::products_of_pairs<arch>;
    std::int64_t const results = std::int64_t{shape.rows} * shape.columns;
    matrix const a(std::int64_t{shape.rows} * shape.inner, engine),
        b(std::int64_t{shape.inner} * shape.columns, engine);
    for (auto const* each : {&a, &b})
      kernels::round_to<stagecraft::dtype::bfloat16>(each->data(), each->data(), each->size);
    matrix const workspace(kernels::product_workspace<>(shape)), packed(kernels::packed_product_floats<>(shape));
    matrix const expected(results), y(results), again(results), added(shape.columns, engine);
    kernels::product_finish const finish{{added.data(), 0}, {}};
    floats.product(shape, a.data(), b.data(), expected.data(), workspace.data(), {}, finish);
    for (int const index : {2, 0, 1})
      pairs.product(shape, a.data(), b.data(), y.data(), workspace.data(), {index, 3}, finish);
    double worst = 0;
    for (std::int64_t i = 0; i < results; ++i) {
      double const error = std::abs(static_cast<double>(y.values[at(i)]) - static_cast<double>(expected.values[at(i)]));
      worst = larger_deviation(worst, error);
    }
    CHECK(worst < 2e-7 * static_cast<double>(shape.inner) + 2e-6);
    pairs.pack(shape, b.data(), packed.data());
    pairs.packed(shape, a.data(), packed.data(), again.data(), workspace.data(), finish);
    CHECK(again == y);
  }
}

template <class Arch>
void check_all() {
  std::mt19937 engine(3);
  for (bool const transpose_a : {false, true})
    for (bool const transpose_b : {false, true})
      for (auto const& [rows, inner, columns] :
           {std::array{1, 1, 1}, std::array{2, 3, 5}, std::array{7, 19, 33}, std::array{15, 64, 16},
            std::array{16, 31, 47}, std::array{100, 17, 70}, std::array{13, 256, 32}, std::array{20, 300, 65},
            std::array{200, 513, 9}, std::array{50, 40, 150}, std::array{300, 20, 64}, std::array{20, 530, 512},
            std::array{97, 270, 411}, std::array{200, 300, 40}, std::array{200, 20, 24}}) {
        product_shape const shape{rows, inner, columns, transpose_a, transpose_b};
        check<Arch>(shape, engine);
        if (std::is_same_v<Arch, kernels::default_architecture>) check_pairs(shape, engine);
      }
}

}  // namespace

TEST_CASE("products of any size") {
  check_all<kernels::default_architecture>();
#if !defined(STAGECRAFT_TEST_FEWER_MACHINES) && defined(__AVX2__)
  check_all<xsimd::fma3<xsimd::avx2>>();
#endif
}
