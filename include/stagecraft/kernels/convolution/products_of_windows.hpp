// SPDX-License-Identifier: BSD-3-Clause
// Convolutions over one to three axes, of any shape, as products of each window's patch with the filter. They compute
// the results of `convolve_windows` in floats, or, where the processor multiplies pairs of bfloat16, of rounded
// operands. Keras counterpart: tf.nn.convolution, also after tf.cast to tf.bfloat16.
#pragma once

#include <stagecraft/kernels/convolution/windows.hpp>
#include <stagecraft/kernels/product/bfloat16_product.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// The patches that windows see of images: terms for each window, in the order of the filter's.
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
  operations::window along_[3];  // the first axes may be 1 long
  int length_[3]{1, 1, 1}, count_[3]{1, 1, 1}, channels_, count_of_images_;
};

/// Patches whose products with the filter are found together, before they are added to the images' gradient.
[[nodiscard]] constexpr int patches_at_once(int terms) {
  constexpr int near_floats = 1 << 16;
  int const fit = near_floats / terms / 8 * 8;
  return fit < 8 ? 8 : fit > product_rows_at_once ? product_rows_at_once : fit;
}

/// Numbers of images as terms of products: floats.
template <class Terms, class Arch>
struct terms_of_windows {
  /// The shape of the product, and the number of terms of a row that are added at once.
  [[nodiscard]] static constexpr product_shape of(product_shape const& shape) { return shape; }
  static constexpr int at_once = 1;
  static constexpr product_functions<Arch> products{};

  /// Writes a row's terms from number `first` on; padding if `from` is null. The floats after them are overwritten.
  [[gnu::always_inline]] static void write(float const* from, float* row, int first, int count) {
    constexpr int width = lanes<Arch>;
    float* const to = row + first;
    for (int i = 0; i < count; i += width) {
      int const rest = count - i;
      (from == nullptr ? batch<Arch>(0.0F)
       : rest < width  ? load_first<Arch>(from + i, rest)
                       : batch<Arch>::load_unaligned(from + i))
          .store_unaligned(to + i);
    }
  }
  /// Ends a row of terms.
  static void finish(float* /*row*/, int /*depth*/) {}
  [[nodiscard]] static auto panels(product_shape const& shape, float const* b, float* workspace) {
    return panels_of_right<Arch>(shape, b, workspace);
  }
};
/// Pairs of bfloat16.
template <class Arch>
struct terms_of_windows<bfloat16_pair_terms, Arch> {
  [[nodiscard]] static constexpr product_shape of(product_shape const& shape) { return of_pairs(shape); }
  static constexpr int at_once = 2;
  static constexpr product_functions<Arch> products = products_of_pairs<Arch>;

  [[gnu::always_inline]] static void write(float const* from, float* row, int first, int count) {
    auto* const numbers = reinterpret_cast<std::uint16_t*>(row) + first;
    if (from == nullptr)
      std::memset(numbers, 0, static_cast<std::size_t>(count) * sizeof *numbers);
    else
      narrow<dtype::bfloat16, Arch>(from, numbers, count);
  }
  static void finish(float* row, int depth) { row[depth - 1] = 0.0F; }
  [[nodiscard]] static auto panels(product_shape const& shape, float const* b, float* workspace) {
    return pair_panels_of_right<Arch>(shape, b, workspace);
  }
};

/// y = the products of all patches with the filter.
template <class Terms, class Arch>
void multiply_patches(patches const& all, product_shape const& shape, float const* x, float const* w, float* y,
                      float* workspace) {
  using terms = terms_of_windows<Terms, Arch>;
  alignas(64) float left[product_left_floats<Arch>];
  product_of_panels<Arch, Terms>(
      terms::of(shape), y, {}, {},
      [&](int first, int depth, int row, int rows) {
        int const begin = terms::at_once * first, rest = shape.inner - begin,
                  last = begin + (rest < terms::at_once * depth ? rest : terms::at_once * depth);
        auto here = all.at(row);
        float* to = left;
        for (int r = 0; r < rows; ++r, all.go_on(here), to += depth) {
          terms::finish(to, depth);
          int term = 0;
          all.for_each_run(here, begin, last, [&](std::int64_t from, int count) {
            terms::write(from < 0 ? nullptr : x + from, to, term, count);
            term += count;
          });
        }
        return product_left<Arch>{left, depth, 1, 0};
      },
      terms::panels(shape, w, workspace));
}

/// w = the products of all patches, transposed, with y.
template <class Terms, class Arch>
void multiply_transposed_patches(patches const& all, product_shape const& shape, float const* x, float* w,
                                 float const* y, float* workspace) {
  using terms = terms_of_windows<Terms, Arch>;
  using floats = terms_of_windows<float_terms, Arch>;
  constexpr int width = lanes<Arch>, step = product_rows_at_once;
  alignas(64) float left[product_left_floats<Arch>];
  product_of_panels<Arch, Terms>(
      terms::of(shape), w, {}, {},
      [&](int first, int depth, int row, int rows) {
        auto here = all.at(terms::at_once * first);
        auto const write = [&](float* to) {
          int term = 0;
          all.for_each_run(here, row, row + rows, [&](std::int64_t from, int count) {
            floats::write(from < 0 ? nullptr : x + from, to, term, count);
            term += count;
          });
          all.go_on(here);
        };
        for (int k = 0; k < depth; ++k) {
          float* const to = left + k * step;
          write(to);
          if constexpr (terms::at_once == 2) {
            alignas(64) float other[step + width];
            bool const is_single = 2 * (first + k) + 1 == shape.inner;
            if (!is_single) write(other);
            for (int r = 0; r < rows; r += width)
              pair_up<Arch>(batch<Arch>::load_aligned(to + r),
                            is_single ? batch<Arch>(0.0F) : batch<Arch>::load_aligned(other + r))
                  .store_aligned(to + r);
          }
        }
        return product_left<Arch>{left, 1, step, 0};
      },
      terms::panels(shape, y, workspace));
}

/// x = sums of the products of y with the transposed filter, each added at the place of its patch.
template <class Terms, class Arch>
void add_patches(patches const& all, product_shape shape, float* x, float const* w, float const* y, float* workspace) {
  using terms = terms_of_windows<Terms, Arch>;
  int const count = shape.rows, at_once = patches_at_once(shape.columns);
  float* const sums = workspace + packed_product_floats<Arch>(terms::of(shape));
  terms::products.pack(shape, w, workspace);
  auto here = all.at(0);
  for (int row = 0; row < count; row += at_once) {
    shape.rows = count - row < at_once ? count - row : at_once;
    terms::products.packed(shape, y + std::int64_t{row} * shape.inner, workspace, sums, nullptr, {});
    for (int r = 0; r < shape.rows; ++r, all.go_on(here)) {
      float const* term = sums + std::int64_t{r} * shape.columns;
      all.for_each_run(here, 0, shape.columns, [&](std::int64_t to, int terms_of_run) {
        if (to >= 0) scaled_add<true, Arch>(1.0F, term, x + to, terms_of_run);
        term += terms_of_run;
      });
    }
  }
}

}  // namespace detail

/// The product that computes a part of a convolution of `windows` windows.
[[nodiscard]] constexpr product_shape product_of_windows(convolution_part part, int windows, int terms, int filters) {
  switch (part) {
    case convolution_part::output: return {windows, terms, filters, false, false};
    case convolution_part::input: return {windows, filters, terms, false, true};
    default: return {terms, windows, filters, false, false};  // a is transposed where it is written
  }
}

/// Floats of workspace for these products.
template <class Terms, class Arch = default_architecture>
[[nodiscard]] constexpr std::int64_t products_of_windows_workspace(convolution_part part, int windows, int terms,
                                                                   int filters) {
  auto const shape = detail::terms_of_windows<Terms, Arch>::of(product_of_windows(part, windows, terms, filters));
  if (part == convolution_part::input)
    return packed_product_floats<Arch>(shape) + std::int64_t{terms} * detail::patches_at_once(terms);
  return product_workspace<Arch>(shape);
}

/// Computes one of the tensors of a convolution of one group: see `convolve_windows`.
template <class Terms, class Arch = default_architecture>
inline void multiply_windows(convolution_part part, window_walk<Arch> const& walk, float* x, float* w, float* y,
                             float* workspace) {
  detail::patches const all(walk.windows, walk.image, walk.output);
  auto const shape = product_of_windows(part, all.size(), all.terms(), walk.output[-1]);
  switch (part) {
    case convolution_part::output: return detail::multiply_patches<Terms, Arch>(all, shape, x, w, y, workspace);
    case convolution_part::filter:
      return detail::multiply_transposed_patches<Terms, Arch>(all, shape, x, w, y, workspace);
    default: set_to_zero<Arch>(x, walk.image.size()); detail::add_patches<Terms, Arch>(all, shape, x, w, y, workspace);
  }
}

namespace detail {

/// True if products are faster than `convolve_windows`, since packed data serve several windows. Sums of floats have
/// the same bits, but for those of an image's gradient, which must not depend on the number of images.
template <class Terms>
[[nodiscard]] constexpr bool gains_by_products(convolution_part part, operations::windows const& windows,
                                               operations::extents const& image, operations::extents const& output,
                                               int groups) {
  constexpr int least_rows = 8;
  if (groups != 1) return false;
  auto const terms = static_cast<int>(windows.size()) * image[-1];
  auto const count = static_cast<int>(output.size() / output[-1]);
  if (std::is_same_v<Terms, float_terms>)
    return terms > 1 && (part == convolution_part::input ? count / image[0] : count) >= least_rows;
  auto const product = product_of_windows(part, count, terms, output[-1]);
  return product.inner > 1 && product.rows >= least_rows;
}
template <class Terms, class Arch>
inline constexpr window_functions<Arch> products_of_windows{
    &gains_by_products<Terms>, &products_of_windows_workspace<Terms, Arch>, &multiply_windows<Terms, Arch>};

}  // namespace detail

/// Convolutions as products of floats, and of pairs of bfloat16.
template <class Arch = default_architecture>
inline constexpr window_functions<Arch> const& windows_of_floats =
    detail::products_of_windows<detail::float_terms, Arch>;
template <class Arch = default_architecture>
inline constexpr window_functions<Arch> const& windows_of_pairs =
    detail::products_of_windows<detail::bfloat16_pair_terms, Arch>;

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
