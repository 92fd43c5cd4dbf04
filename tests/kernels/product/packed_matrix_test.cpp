// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;

namespace {

template <class Arch>
constexpr bool layout_is_sound(int columns, int panel_columns, int panels) {
  return panel_columns % kernels::lanes<Arch> == 0 && panels * panel_columns >= columns &&
         (panels - 1) * panel_columns < columns;
}

template <int Columns, class Arch>
constexpr bool layout_is_sound() {
  using layout = packed_matrix<3, Columns, Arch>;
  return layout_is_sound<Arch>(Columns, layout::panel_columns, layout::panels) && layout::size % 64 == 0 &&
         layout::size >= layout::panels * layout::panel_stride && layout::panel_stride == 3 * layout::panel_columns &&
         layout::index(2, Columns - 1) < layout::size;
}

template <class... Arch>
constexpr bool layouts_are_sound() {
  return ((layout_is_sound<1, Arch>() && layout_is_sound<10, Arch>() && layout_is_sound<17, Arch>() &&
           layout_is_sound<80, Arch>() && layout_is_sound<100, Arch>() && layout_is_sound<257, Arch>()) &&
          ...);
}
static_assert(layouts_are_sound<MATMUL_ARCHITECTURES>());

// Where whole panels fit, nothing is padded, and the layout does not depend on the rows.
template <class... Arch>
constexpr bool divisible_columns_have_no_padding() {
  return ((packed_matrix<784, 256, Arch>::size == 784 * 256 && packed_matrix<256, 128, Arch>::size == 256 * 128 &&
           packed_matrix<64, 64, Arch>::panel_columns == packed_matrix<1, 64, Arch>::panel_columns) &&
          ...);
}
static_assert(divisible_columns_have_no_padding<MATMUL_ARCHITECTURES>());

template <int Rows, int Columns, class Arch>
void check_round_trip() {
  using layout = packed_matrix<Rows, Columns, Arch>;
  buffer original(Rows * Columns);
  buffer packed(layout::size, 7.0F);
  buffer unpacked(Rows * Columns);
  original.fill(Rows * 100 + Columns);
  layout::pack(original.data(), packed.data());
  layout::unpack(packed.data(), unpacked.data());
  CHECK(first_difference(original.data(), unpacked.data(), Rows * Columns) == -1);

  double sum = 0;
  double packed_sum = 0;
  for (int i = 0; i < Rows * Columns; ++i) sum += original.data()[i] * original.data()[i];
  for (int i = 0; i < layout::size; ++i) packed_sum += packed.data()[i] * packed.data()[i];
  CHECK(sum == packed_sum);  // all padding is 0

  int const row = Rows - 1;
  int const column = Columns / 2;
  CHECK(packed.data()[column / layout::panel_columns * layout::panel_stride + row * layout::panel_columns +
                      column % layout::panel_columns] == original.data()[row * Columns + column]);
  CHECK(packed.guard_is_intact());
  CHECK(unpacked.guard_is_intact());
}

template <int Rows, int Columns, class... Arch>
void check_round_trips() {
  (check_round_trip<Rows, Columns, Arch>(), ...);
}

}  // namespace

TEST_CASE("packing a matrix and unpacking it gives it back, and pads with zeros") {
  check_round_trips<1, 1, MATMUL_ARCHITECTURES>();
  check_round_trips<3, 10, MATMUL_ARCHITECTURES>();
  check_round_trips<17, 80, MATMUL_ARCHITECTURES>();
  check_round_trips<5, 127, MATMUL_ARCHITECTURES>();
  check_round_trips<2, 129, MATMUL_ARCHITECTURES>();
}
