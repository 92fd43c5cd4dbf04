// The model 'rtneural' of synthesizer.json: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using synthesizer = sc::named<"rtneural", sc::sequential<input{1, 3}.of_batch_size(1), dense{5, sc::tanh},
                                                         gru{4, {.return_sequences = true, .stateful = true}},
                                                         dense{3, sc::sigmoid, {.use_bias = false}},
                                                         activation{sc::elu}, dense{2}>>;

}  // namespace models
