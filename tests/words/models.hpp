// SPDX-License-Identifier: BSD-3-Clause
// Models of the words, a family each: what the laws of pipelines and of policies are about.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace words {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct merging_model : sc::functional<merging_model> {
  static constexpr auto build(auto& model) {
    auto x = dense(4, sc::tanh)(model.input(3, 4));
    auto a = attention({.use_scale = true, .dropout = 0.25F})(x, x);
    auto b = additive_attention({.causal = true})(x, a);
    auto c = dot({2, 1}, {.normalize = true})(b, permute(2, 1)(minimum()(a, x)));
    return dense(2)(flatten()(repeat_vector(2)(flatten()(c))));
  }
};

using regularization_model = sc::sequential<input{2, 2, 2, 3}, rescaling{0.5, {.offset = 0.25F}}, dense{3, sc::tanh},
                                            gaussian_noise{0.25}, spatial_dropout3d{0.25}, gaussian_dropout{0.25, 3},
                                            unit_normalization{}, alpha_dropout{0.125}, flatten{}, dense{2}>;

}  // namespace words
