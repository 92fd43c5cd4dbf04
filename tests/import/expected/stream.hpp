// The model 'rtneural' of stream.json: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using stream = sc::named<"rtneural", sc::sequential<input{1, 1}.of_batch_size(1), dense{5, sc::tanh},
                                                    conv1d{4, 3, sc::tanh, {.padding = sc::padding::causal,
                                                        .dilation_rate = 2, .stateful = true}},
                                                    conv1d{6, 2, {.padding = sc::padding::causal, .dilation_rate = 4,
                                                        .groups = 2, .stateful = true}},
                                                    prelu{{.shared_axes = 1}},
                                                    conv1d{3, 1, {.padding = sc::padding::causal}},
                                                    gru{4, {.return_sequences = true, .stateful = true}}, dense{2}>>;

}  // namespace models
