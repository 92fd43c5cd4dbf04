// SPDX-License-Identifier: BSD-3-Clause
// Convolutions whose shapes are known at run time, as products of pairs of bfloat16: exact for whole numbers, whatever
// the windows, and the same bits for some of the images.
#include <stagecraft/kernels/convolution/bfloat16_windows.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>

namespace kernels = stagecraft::kernels;
using kernels::convolution_part;
using stagecraft::operations::extents;
using stagecraft::operations::window;

namespace {

/// Small whole numbers, or fractions that no sum is exact for. Exactly as long as it says: sanitizers watch the ends.
struct tensor {
  std::int64_t size;
  std::unique_ptr<float[]> values;

  explicit tensor(std::int64_t size_) : size(size_), values(new float[static_cast<std::size_t>(size_)]) {
    std::fill_n(values.get(), size, 0.0F);
  }
  tensor(std::int64_t size_, unsigned state, float scale) : tensor(size_) {
    for (std::int64_t i = 0; i < size; ++i) {
      state = state * 1664525U + 1013904223U;
      values[static_cast<std::size_t>(i)] = (static_cast<float>(state >> 29U) - 3.0F) * scale;
    }
  }
  [[nodiscard]] float* data() const { return values.get(); }
};
bool are_equal(float const* a, tensor const& b) { return std::equal(b.data(), b.data() + b.size, a); }

template <class Arch = kernels::default_architecture>
void check([[maybe_unused]] stagecraft::operations::windows const& windows, [[maybe_unused]] extents const& image,
           [[maybe_unused]] int filters) {
  if constexpr (kernels::multiplies_bfloat16_pairs<Arch>) {
    extents output;
    REQUIRE(windows.out(image, filters, output));
    CAPTURE(image.size());
    CAPTURE(filters);
    auto const terms = static_cast<int>(windows.size()) * image[-1];
    auto const workspace = [&](convolution_part part) {
      return tensor(
          kernels::windows_of_pairs_workspace<Arch>(part, static_cast<int>(output.size() / filters), terms, filters));
    };
    kernels::window_walk<Arch> const walk{windows, image, output};
    for (float const scale : {1.0F, 0.3F}) {
      tensor const x(image.size(), 1, scale), w(std::int64_t{terms} * filters, 2, scale), y(output.size(), 3, scale);
      auto const run = [&](convolution_part part, tensor const& one, tensor const& other, tensor const& third) {
        kernels::convolve_windows_of_pairs<Arch>(part, walk, one.data(), other.data(), third.data(),
                                                 workspace(part).data());
      };
      tensor const found_x(x.size), found_w(w.size), found_y(y.size);
      run(convolution_part::output, x, w, found_y);
      run(convolution_part::input, found_x, w, y);
      run(convolution_part::filter, x, found_w, y);
      if (scale == 1.0F) {
        tensor const expected_x(x.size), expected_w(w.size), expected_y(y.size);
        auto const expect = [&](convolution_part part, tensor const& one, tensor const& other, tensor const& third) {
          kernels::convolve_windows<Arch>(part, walk, 1, one.data(), other.data(), third.data());
        };
        expect(convolution_part::output, x, w, expected_y);
        expect(convolution_part::input, expected_x, w, y);
        expect(convolution_part::filter, x, expected_w, y);
        CHECK(are_equal(found_x.data(), expected_x));
        CHECK(are_equal(found_w.data(), expected_w));
        CHECK(are_equal(found_y.data(), expected_y));
      }
      // The last image alone.
      auto one = walk;
      one.image[0] = one.output[0] = 1;
      tensor const last_x(one.image.size()), last_y(one.output.size());
      auto const before_x = x.size - last_x.size, before_y = y.size - last_y.size;
      kernels::convolve_windows_of_pairs<Arch>(convolution_part::output, one, x.data() + before_x, w.data(),
                                               last_y.data(), workspace(convolution_part::output).data());
      kernels::convolve_windows_of_pairs<Arch>(convolution_part::input, one, last_x.data(), w.data(),
                                               y.data() + before_y, workspace(convolution_part::input).data());
      CHECK(are_equal(found_y.data() + before_y, last_y));
      CHECK(are_equal(found_x.data() + before_x, last_x));
    }
  }
}

}  // namespace

TEST_CASE("convolutions over one to three axes in pairs of bfloat16") {
  check({window{.size = 3}}, {2, 9, 8}, 5);
  check({window{.size = 5, .stride = 2, .before = 1, .after = 2}}, {3, 30, 7}, 34);
  check({window{.size = 3, .dilation = 2, .before = 2}}, {2, 11, 3}, 1);
  check({window{.size = 4, .before = 3, .after = 3}}, {1, 2, 1}, 70);  // windows that see padding alone on one side
  check({window{.size = 3, .before = 1, .after = 1}, window{.size = 3, .before = 1, .after = 1}}, {2, 7, 6, 33}, 65);
  check({window{.size = 2, .stride = 3}, window{.size = 3, .dilation = 3, .after = 1}}, {3, 8, 9, 4}, 16);
  check({window{}, window{}}, {2, 3, 5, 31}, 7);
  check({window{.size = 2, .stride = 2}, window{.size = 3, .before = 1, .after = 1}, window{.size = 2, .dilation = 2}},
        {2, 5, 4, 6, 3}, 18);
  check({window{.size = 3, .before = 1, .after = 1}, window{.size = 5, .before = 2, .after = 2}}, {2, 20, 20, 44}, 3);
}
