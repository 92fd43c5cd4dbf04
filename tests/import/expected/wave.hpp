// The model 'rtneural' of wave.json: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using wave = sc::named<"rtneural", sc::sequential<input{12, 2}, dense{4, sc::relu},
                                                  conv1d{6, 3, sc::tanh, {.padding = sc::padding::causal,
                                                      .dilation_rate = 2, .groups = 2}},
                                                  batch_normalization{{.epsilon = 0.01F}}, prelu{{.shared_axes = 1}},
                                                  conv1d{4, 1, {.padding = sc::padding::causal}},
                                                  batch_normalization{{.epsilon = 0.5F, .center = false,
                                                      .scale = false}},
                                                  prelu{{.shared_axes = {1, 2}}}, lstm{3, {.return_sequences = true}},
                                                  dense{3, sc::softmax}>>;

}  // namespace models
