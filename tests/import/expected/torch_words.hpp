// The model 'torch_words' of torch_words.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using torch_words = sc::named<"torch_words", sc::sequential<input{7}.of_type(sc::dtype::int32), embedding{20, 5},
                                                            bidirectional{lstm{4,
                                                                {.return_sequences = true}}}.named("both"),
                                                            gru{6, {.return_sequences = true}}, lstm{5}.named("lstm"),
                                                            dense{2, sc::sigmoid}.named("fc")>>;

}  // namespace models
