// The model 'sequential' of cnn.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using cnn = sc::sequential<input{12, 12, 2},
                           conv2d{4, 3, sc::relu, {.padding = sc::padding::same,
                               .kernel_regularizer = sc::regularizers::l2{.l2 = 0.001F}}},
                           batch_normalization{{.momentum = 0.9}}, max_pooling2d{2},
                           separable_conv2d{6, {3, 5}, {.padding = sc::padding::same}}, leaky_re_lu{0.1F},
                           average_pooling2d{2, {.strides = 1}}, zero_padding2d{{{1, 0}, {0, 1}}},
                           conv2d_transpose{3, 2, {.strides = 2}}, spatial_dropout2d{0.1F}, flatten{},
                           dense{4, {.kernel_initializer = sc::initializers::he_normal{},
                               .kernel_constraint = sc::constraints::max_norm{.max_value = 3.0F}}}>;

}  // namespace models
