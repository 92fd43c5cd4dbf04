// The model 'rtneural' of amplifier.json: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using amplifier = sc::named<"rtneural", sc::sequential<input{1, 2}.of_batch_size(1),
                                                       lstm{6, {.return_sequences = true, .stateful = true}},
                                                       dense{1}>>;

}  // namespace models
