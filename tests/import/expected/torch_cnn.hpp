// The model 'torch_cnn' of torch_cnn.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using torch_cnn = sc::named<"torch_cnn", sc::sequential<input{12, 12, 2}, zero_padding2d{},
                                                        conv2d{4, 3, {.strides = 2, .use_bias = false}}.named("first"),
                                                        batch_normalization{{.momentum = 0.9,
                                                            .epsilon = 1e-5F}}.named("norm"),
                                                        re_lu{{.max_value = 6.0F}}, zero_padding2d{},
                                                        max_pooling2d{3, {.strides = 2}},
                                                        depthwise_conv2d{3, {.padding = sc::padding::same,
                                                            .depth_multiplier = 2}}.named("each"),
                                                        leaky_re_lu{0.1F},
                                                        conv2d{6, 3, sc::swish, {.padding = sc::padding::same,
                                                            .dilation_rate = 2}}.named("wide"),
                                                        average_pooling2d{2, {.strides = 1}},
                                                        conv2d_transpose{3, 4, {.strides = 2,
                                                            .padding = sc::padding::same}}.named("up"),
                                                        up_sampling2d{2}, zero_padding2d{{{0, 2}, {1, 0}}}, flatten{},
                                                        dense{4}.named("last")>>;

}  // namespace models
