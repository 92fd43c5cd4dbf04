// SPDX-License-Identifier: BSD-3-Clause
// A model with two inputs, in two stages, and steps around it.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <stagecraft/serving/application_options.hpp>
#include <algorithm>
#include <cstddef>
#include <span>

namespace applications {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto image = model.input({2, 3}, "image"), size = model.input({2}, "size");
    auto x = dense{6, sc::relu}(flatten{}(image));
    x = concatenate{}(x, size);
    return sc::outputs(dense{4, sc::softmax}(x), dense{1}(x));
  }
};
using staged = sc::pipelined<network, sc::stages<0, 0, 1, 1, 1>>;

/// Pixels from 0 to 255; a size as it is.
struct scale_pixels {
  using preprocessing_step_signature =
      sc::serving::signature<sc::serving::spec<"pixels", 2, 3>, sc::serving::spec<"size", 2>>;
  static void call(std::span<float const, 6> pixels, std::span<float const, 2> size, std::span<float, 6> image,
                   std::span<float, 2> same) {
    for (std::size_t i = 0; i < 6; ++i) image[i] = pixels[i] / 255;
    for (std::size_t i = 0; i < 2; ++i) same[i] = size[i];
  }
};

/// The best class, and all that the model says of it.
struct find_class {
  static void call(std::span<float const, 4> scores, std::span<float const, 1> other, std::span<float, 1> best,
                   std::span<float, 2> both) {
    auto const* const found = std::max_element(scores.data(), scores.data() + 4);
    best[0] = static_cast<float>(found - scores.data());
    both[0] = *found;
    both[1] = other[0];
  }
};

}  // namespace applications
