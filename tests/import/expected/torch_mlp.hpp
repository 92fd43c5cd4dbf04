// The model 'torch_mlp' of torch_mlp.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using torch_mlp = sc::named<"torch_mlp", sc::sequential<input{6}, dense{8, sc::relu}.named("layers_0"),
                                                        dense{8, sc::tanh, {.use_bias = false}}.named("layers_3"),
                                                        dense{3, sc::softmax}.named("layers_5")>>;

}  // namespace models
