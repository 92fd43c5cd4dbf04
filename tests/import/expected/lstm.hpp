// The model 'sequences' of lstm.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using lstm_model = sc::named<"sequences", sc::sequential<input{7}, embedding{20, 5},
                                                         bidirectional{lstm{4, {.return_sequences = true}}},
                                                         time_distributed{dense{6, sc::relu}},
                                                         gru{5, {.return_sequences = true}}, simple_rnn{4},
                                                         dense{2, sc::softmax}>>;

}  // namespace models
