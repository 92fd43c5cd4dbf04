// The model 'mlp' of mlp.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using mlp = sc::named<"mlp", sc::sequential<input{6}, dense{8, sc::relu}, dropout{0.2F},
                                            dense{8, sc::tanh, {.use_bias = false}}.named("wide"),
                                            dense{3, sc::softmax}>>;

}  // namespace models
