// SPDX-License-Identifier: BSD-3-Clause
// Convolutions over one to three axes, of any shape, as products of what each window sees with the filter, where the
// processor multiplies pairs of bfloat16: what `convolve_windows` computes, of operands that are rounded to it. Keras
// counterpart: tf.nn.convolution of what tf.cast makes tf.bfloat16.
#pragma once

#include <stagecraft/kernels/convolution/windows.hpp>
#include <stagecraft/kernels/product/bfloat16_product.hpp>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// What the windows over images see: a patch of terms for each window, in the order of the filter's.
class patches {
 public:
  /// The window that a patch is of.
  struct place {
    int image = 0, at[3]{};
  };

  patches(operations::windows const& windows, operations::extents const& image, operations::extents const& output)
      : channels_(image[-1]), count_of_images_(image[0]) {
    for (int i = 0; i < windows.count; ++i) {
      int const axis = 3 - windows.count + i;
      along_[axis] = windows[i];
      length_[axis] = image[i + 1];
      count_[axis] = output[i + 1];
    }
  }
  [[nodiscard]] int terms() const { return along_[0].size * along_[1].size * along_[2].size * channels_; }
  [[nodiscard]] int size() const { return count_of_images_ * count_[0] * count_[1] * count_[2]; }

  [[nodiscard]] place at(int patch) const {
    place result;
    for (int axis = 2; axis >= 0; --axis) {
      result.at[axis] = patch % count_[axis];
      patch /= count_[axis];
    }
    result.image = patch;
    return result;
  }
  void go_on(place& here) const {
    for (int axis = 2; axis >= 0; --axis) {
      if (++here.at[axis] < count_[axis]) return;
      here.at[axis] = 0;
    }
    ++here.image;
  }

  /// Calls `f(from, count)` for terms [first, last) of a patch, one run after the other: `count` numbers of the images
  /// from number `from` on, or of padding if that is negative.
  template <class F>
  void for_each_run(place const& here, int first, int last, F const& f) const {
    auto const in_image = [&](int axis, int tap) {
      return here.at[axis] * along_[axis].stride + tap * along_[axis].dilation - along_[axis].before;
    };
    int const of_row = along_[2].size * channels_;
    int const begin_row = first / of_row;
    int i = begin_row / along_[1].size, j = begin_row % along_[1].size;
    for (int begin = begin_row * of_row; begin < last; begin += of_row) {
      int const p = in_image(0, i), q = in_image(1, j);
      int term = first > begin ? first - begin : 0;
      int const end = last - begin < of_row ? last - begin : of_row;
      if (p < 0 || p >= length_[0] || q < 0 || q >= length_[1]) {
        f(std::int64_t{-1}, end - term);
      } else {
        std::int64_t const row = ((std::int64_t{here.image} * length_[0] + p) * length_[1] + q) * length_[2];
        for (int tap = term == 0 ? 0 : term / channels_; term < end;) {
          int const r = in_image(2, tap);
          bool const is_inside = r >= 0 && r < length_[2];
          int const of_tap = term - tap * channels_;
          tap += is_inside && along_[2].dilation == 1 ? length_[2] - r : 1;
          int const stop = tap > along_[2].size || tap * channels_ > end ? end : tap * channels_;
          f(is_inside ? (row + r) * channels_ + of_tap : std::int64_t{-1}, stop - term);
          term = stop;
        }
      }
      if (++j == along_[1].size) j = 0, ++i;
    }
  }

 private:
  operations::window along_[3];  // the first ones may be 1 long
  int length_[3]{1, 1, 1}, count_[3]{1, 1, 1}, channels_, count_of_images_;
};

/// Patches whose products with the filter are found together, before they are added to the images' gradient.
[[nodiscard]] constexpr int patches_at_once(int terms) {
  constexpr int near_floats = 1 << 16;
  int const fit = near_floats / terms / 8 * 8;
  return fit < 8 ? 8 : fit > product_rows_at_once ? product_rows_at_once : fit;
}

/// y = the products of all patches with the filter.
template <class Arch>
void multiply_patches(patches const& all, product_shape const& shape, float const* x, float const* w, float* y,
                      float* workspace) {
  alignas(64) float left[pairs_of_rows_floats<Arch>];
  bool const keeps = shape.rows > product_rows_at_once;
  product_of_panels<Arch, bfloat16_pair_terms>(
      of_pairs(shape), y, {}, {},
      [&](int first, int depth, int row, int rows) {
        int const last = 2 * first + terms_of_pairs(shape.inner, first, depth);
        auto here = all.at(row);
        for (int r = 0; r < rows; ++r, all.go_on(here)) {
          float* const to = left + r * depth;
          to[depth - 1] = 0.0F;
          auto* numbers = reinterpret_cast<std::uint16_t*>(to);
          all.for_each_run(here, 2 * first, last, [&](std::int64_t from, int count) {
            if (from < 0)
              std::memset(numbers, 0, static_cast<std::size_t>(count) * sizeof *numbers);
            else
              narrow<dtype::bfloat16, Arch>(x + from, numbers, count);
            numbers += count;
          });
        }
        return product_left<Arch>{left, depth, 1, 0};
      },
      [&](product_panel& panel, int first, int column, int row) {
        float* const packed = workspace + (keeps ? std::int64_t{column} * panel.depth : 0);
        if (row == 0) pair_product_panel<Arch>(shape, w, first, column, panel, packed);
        panel.begin = packed;
        if (row > 0) panel.next = packed + panel.depth * panel.stride;
      });
}

/// w = the products of all patches, transposed, with y.
template <class Arch>
void multiply_transposed_patches(patches const& all, product_shape const& shape, float const* x, float* w,
                                 float const* y, float* workspace) {
  constexpr int width = lanes<Arch>, tile_rows = product_tile_rows<Arch>;
  alignas(64) float left[pairs_of_rows_floats<Arch>];
  bool const keeps = shape.rows > product_rows_at_once;
  product_of_panels<Arch, bfloat16_pair_terms>(
      of_pairs(shape), w, {}, {},
      [&](int first, int depth, int row, int rows) {
        alignas(64) float both[2][product_rows_at_once] = {};
        std::int64_t const tile = packed_tile_floats<Arch>(depth);
        auto here = all.at(2 * first);
        for (int k = 0; k < depth; ++k) {
          for (int half = 0; half < 2; ++half, all.go_on(here)) {
            float* to = both[half];
            if (2 * (first + k) + half == shape.inner) {
              std::memset(to, 0, static_cast<std::size_t>(rows) * sizeof *to);
              break;
            }
            all.for_each_run(here, row, row + rows, [&](std::int64_t from, int count) {
              auto const bytes = static_cast<std::size_t>(count) * sizeof *to;
              if (from < 0)
                std::memset(to, 0, bytes);
              else
                std::memcpy(to, x + from, bytes);
              to += count;
            });
          }
          for (int r = 0; r < rows; r += width) {
            alignas(64) float pairs[width];
            pair_up<Arch>(batch<Arch>::load_aligned(both[0] + r), batch<Arch>::load_aligned(both[1] + r))
                .store_aligned(pairs);
            for (int i = 0; i < width && r + i < rows; i += tile_rows)
              std::memcpy(left + (r + i) / tile_rows * tile + k * tile_rows, pairs + i, tile_rows * sizeof(float));
          }
        }
        return product_left<Arch>{left, 1, tile_rows, tile};
      },
      [&](product_panel& panel, int first, int column, int row) {
        float* const packed = workspace + (keeps ? std::int64_t{column} * panel.depth : 0);
        if (row == 0) pair_product_panel<Arch>(shape, y, first, column, panel, packed);
        panel.begin = packed;
        if (row > 0) panel.next = packed + panel.depth * panel.stride;
      });
}

/// x = sums of the products of y with the transposed filter, each where its patch lies.
template <class Arch>
void add_patches(patches const& all, product_shape shape, float* x, float const* w, float const* y, float* workspace) {
  int const count = shape.rows, at_once = patches_at_once(shape.columns);
  float* const sums = workspace + packed_product_floats<Arch>(of_pairs(shape));
  pack_product_of_pairs<Arch>(shape, w, workspace);
  auto here = all.at(0);
  for (int row = 0; row < count; row += at_once) {
    shape.rows = count - row < at_once ? count - row : at_once;
    packed_product_of_pairs<Arch>(shape, y + std::int64_t{row} * shape.inner, workspace, sums, nullptr);
    for (int r = 0; r < shape.rows; ++r, all.go_on(here)) {
      float const* term = sums + std::int64_t{r} * shape.columns;
      all.for_each_run(here, 0, shape.columns, [&](std::int64_t to, int terms) {
        if (to >= 0) scaled_add<true, Arch>(1.0F, term, x + to, terms);
        term += terms;
      });
    }
  }
}

}  // namespace detail

/// The product that computes a part of a convolution of so many windows.
[[nodiscard]] constexpr product_shape product_of_windows(convolution_part part, int windows, int terms, int filters) {
  switch (part) {
    case convolution_part::output: return {windows, terms, filters, false, false};
    case convolution_part::input: return {windows, filters, terms, false, true};
    default: return {terms, windows, filters, true, false};
  }
}

/// Floats of workspace for it.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::int64_t windows_of_pairs_workspace(convolution_part part, int windows, int terms,
                                                                int filters) {
  auto shape = detail::of_pairs(product_of_windows(part, windows, terms, filters));
  if (part == convolution_part::input)
    return packed_product_floats<Arch>(shape) + std::int64_t{terms} * detail::patches_at_once(terms);
  shape.transpose_a = false;  // packed as pairs, elsewhere
  return product_workspace<Arch>(shape);
}

/// Sets the tensor that is computed: see `convolve_windows`, of one group.
template <class Arch = default_architecture>
inline void convolve_windows_of_pairs(convolution_part part, window_walk<Arch> const& walk, float* x, float* w,
                                      float* y, float* workspace) {
  detail::patches const all(walk.windows, walk.image, walk.output);
  auto const shape = product_of_windows(part, all.size(), all.terms(), walk.output[-1]);
  switch (part) {
    case convolution_part::output: return detail::multiply_patches<Arch>(all, shape, x, w, y, workspace);
    case convolution_part::filter: return detail::multiply_transposed_patches<Arch>(all, shape, x, w, y, workspace);
    default: set_to_zero<Arch>(x, walk.image.size()); detail::add_patches<Arch>(all, shape, x, w, y, workspace);
  }
}

/// Whether they are faster than `convolve_windows`: but for groups, wherever there are pairs, if what is packed serves
/// a few rows.
[[nodiscard]] constexpr bool gains_by_pairs(convolution_part part, operations::windows const& windows,
                                            operations::extents const& image, operations::extents const& output,
                                            int groups) {
  if (groups != 1) return false;
  auto const terms = static_cast<int>(windows.size()) * image[-1];
  auto const count = static_cast<int>(output.size() / output[-1]);
  auto const product = product_of_windows(part, count, terms, output[-1]);
  return product.inner > 1 && product.rows >= 8;
}

/// Convolutions of pairs, in the place of those of floats.
template <class Arch>
struct window_functions {
  bool (*gains)(convolution_part, operations::windows const&, operations::extents const&, operations::extents const&,
                int);
  void (*convolve)(convolution_part, window_walk<Arch> const&, float*, float*, float*, float*);
};
template <class Arch = default_architecture>
inline constexpr window_functions<Arch> windows_of_pairs{&gains_by_pairs, &convolve_windows_of_pairs<Arch>};

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
