// SPDX-License-Identifier: BSD-3-Clause
// Convolutions whose shapes are known at run time, as products of floats and of pairs of bfloat16: exact for whole
// numbers, whatever the windows, and the same bits for some of the images; of floats those of plain loops.
#include <stagecraft/host/lists/list_workspace.hpp>
#include <stagecraft/kernels/convolution/products_of_windows.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <type_traits>

namespace kernels = stagecraft::kernels;
using kernels::convolution_part;
using kernels::detail::float_terms;
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

template <class Terms, class Arch = kernels::default_architecture>
void check(stagecraft::operations::windows const& windows, extents const& image, int filters) {
  extents output;
  REQUIRE(windows.out(image, filters, output));
  CAPTURE(image.size());
  CAPTURE(filters);
  auto const terms = static_cast<int>(windows.size()) * image[-1];
  auto const workspace = [&](convolution_part part) {
    return tensor(kernels::products_of_windows_workspace<Terms, Arch>(part, static_cast<int>(output.size() / filters),
                                                                      terms, filters));
  };
  kernels::window_walk<Arch> const walk{windows, image, output};
  for (float const scale : {1.0F, 0.3F}) {
    tensor const x(image.size(), 1, scale), w(std::int64_t{terms} * filters, 2, scale), y(output.size(), 3, scale);
    auto const run = [&](convolution_part part, tensor const& one, tensor const& other, tensor const& third) {
      kernels::multiply_windows<Terms, Arch>(part, walk, one.data(), other.data(), third.data(),
                                             workspace(part).data());
    };
    tensor const found_x(x.size), found_w(w.size), found_y(y.size);
    run(convolution_part::output, x, w, found_y);
    run(convolution_part::input, found_x, w, y);
    run(convolution_part::filter, x, found_w, y);

    tensor const expected_x(x.size), expected_w(w.size), expected_y(y.size);
    auto const expect = [&](convolution_part part, tensor const& one, tensor const& other, tensor const& third) {
      kernels::convolve_windows<Arch>(part, walk, 1, one.data(), other.data(), third.data());
    };
    expect(convolution_part::output, x, w, expected_y);
    expect(convolution_part::input, expected_x, w, y);
    expect(convolution_part::filter, x, expected_w, y);
    bool const is_whole = scale == 1.0F;
    if (is_whole) CHECK(are_equal(found_x.data(), expected_x));
    if (is_whole || std::is_same_v<Terms, float_terms>) {
      CHECK(are_equal(found_w.data(), expected_w));
      CHECK(are_equal(found_y.data(), expected_y));
    }
    // The last image alone.
    auto one = walk;
    one.image[0] = one.output[0] = 1;
    tensor const last_x(one.image.size()), last_y(one.output.size());
    auto const before_x = x.size - last_x.size, before_y = y.size - last_y.size;
    kernels::multiply_windows<Terms, Arch>(convolution_part::output, one, x.data() + before_x, w.data(), last_y.data(),
                                           workspace(convolution_part::output).data());
    kernels::multiply_windows<Terms, Arch>(convolution_part::input, one, last_x.data(), w.data(), y.data() + before_y,
                                           workspace(convolution_part::input).data());
    CHECK(are_equal(found_y.data() + before_y, last_y));
    CHECK(are_equal(found_x.data() + before_x, last_x));
  }
}

template <class Terms>
void check_all() {
  constexpr window same{.size = 3, .before = 1, .after = 1};
  check<Terms>({window{.size = 3}}, {2, 9, 8}, 5);
  check<Terms>({window{.size = 5, .stride = 2, .before = 1, .after = 2}}, {3, 30, 7}, 34);
  check<Terms>({window{.size = 3, .dilation = 2, .before = 2}}, {2, 11, 3}, 1);
  check<Terms>({window{.size = 4, .before = 3, .after = 3}}, {1, 2, 1}, 70);  // some see padding alone on one side
  check<Terms>({same, same}, {2, 7, 6, 33}, 65);
  check<Terms>({window{.size = 2, .stride = 3}, window{.size = 3, .dilation = 3, .after = 1}}, {3, 8, 9, 4}, 16);
  check<Terms>({window{}, window{}}, {2, 3, 5, 31}, 7);
  check<Terms>({window{.size = 2, .stride = 2}, same, window{.size = 2, .dilation = 2}}, {2, 5, 4, 6, 3}, 18);
  check<Terms>({same, window{.size = 5, .before = 2, .after = 2}}, {2, 20, 20, 44}, 3);
}

}  // namespace

TEST_CASE("convolutions over one to three axes as products of floats") { check_all<float_terms>(); }

TEST_CASE("convolutions over one to three axes as products of pairs of bfloat16") {
  if constexpr (kernels::multiplies_bfloat16_pairs<kernels::default_architecture>)
    check_all<kernels::detail::bfloat16_pair_terms>();
}

TEST_CASE("which convolutions are products of floats depends on no batch where their bits would") {
  stagecraft::operations::windows const windows{window{.size = 3}};
  auto const gains = [&](convolution_part part, int images, int places) {
    return kernels::windows_of_floats<>.gains(part, windows, {images, places + 2, 4}, {images, places, 5}, 1);
  };
  for (int const images : {1, 2, 64}) {
    CHECK(gains(convolution_part::input, images, 8));
    CHECK_FALSE(gains(convolution_part::input, images, 7));
  }
  CHECK(gains(convolution_part::output, 4, 2));
  CHECK_FALSE(gains(convolution_part::filter, 2, 2));
}

TEST_CASE("each part of a convolution that is a product has the workspace that it needs") {
  using namespace stagecraft::operations;
  using workspace = stagecraft::cpu::list_workspace<kernels::default_architecture>;
  auto const& by = kernels::windows_of_floats<>;
  stagecraft::operations::windows const three{window{.size = 3}};
  // Three terms of 30 windows; twelve of six, which are too few.
  struct entry {
    extents image, filter, output;
    bool gains;
  };
  for (auto const& [image, filter, output, gains] :
       {entry{{2, 17, 1}, {3, 1, 5}, {2, 15, 5}, true}, entry{{2, 5, 4}, {3, 4, 5}, {2, 3, 5}, false}}) {
    auto const reserved = [&](operation const& what, extents const& first, extents const& second,
                              extents const& result) {
      node const nodes[]{{{}, first}, {{}, second}, {what, result, 0, 2}};
      int const operands[]{0, 1}, order[]{2};
      return workspace::of(nodes, operands, order, false, &by);
    };
    auto const needed = [&](convolution_part part) {
      auto const count = static_cast<int>(output.size() / output[-1]);
      return gains ? by.workspace(part, count, static_cast<int>(filter.size() / filter[-1]), filter[-1]) : 0;
    };
    bool const is_enough =
        reserved(convolution{three}, image, filter, output) >= needed(convolution_part::output) &&
        reserved(convolution_input_gradient{three}, output, filter, image) >= needed(convolution_part::input);
    CHECK(is_enough);
    CHECK((reserved(convolution_filter_gradient{three}, image, output, filter) > 0) == gains);
    CHECK(reserved(convolution_filter_gradient{three}, image, output, filter) >= needed(convolution_part::filter));
  }
}
