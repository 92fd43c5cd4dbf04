// SPDX-License-Identifier: BSD-3-Clause
// Models that have all layers of the library, in few programs.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

#include "../pipelined/own_layers.hpp"
#include "own_training.hpp"

namespace laws {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

/// Every activation of dense layers, side by side; the next layer applies the gradients of some.
struct activations_model : sc::functional<activations_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(6);
    auto narrow = dense(5, sc::tanh)(dense(9, sc::relu)(x));
    return dense(4)(concatenate()(
        dense(3, sc::sigmoid)(narrow), dense(3, sc::gelu)(narrow), dense(3, sc::swish)(narrow),
        dense(2, sc::selu)(narrow), dense(2, sc::elu)(narrow), dense(2, sc::softplus)(narrow),
        dense(2, sc::softsign)(narrow), dense(2, sc::exponential)(narrow), dense(3, sc::hard_sigmoid)(narrow),
        dense(2, mish{})(narrow), dense(2, bent{0.5F, 3})(narrow), dense(4, sc::softmax)(narrow)));
  }
};

struct activation_layers_model : sc::functional<activation_layers_model> {
  static constexpr auto build(auto& model) {
    auto x = dense(6)(model.input(4, 5));
    return dense(3)(concatenate()(re_lu(6)(x), leaky_re_lu()(x), elu_layer()(x), thresholded_re_lu(0.25F)(x),
                                  prelu()(x), softmax_layer()(x), softmax_layer(1)(x), activation(sc::tanh)(x),
                                  prelu({.shared_axes = 1})(x), activation(mish{})(x)));
  }
};

struct merges_model : sc::functional<merges_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 4);
    auto a = dense(4, sc::tanh)(x), b = dense(4, sc::sigmoid)(x), c = dense(4)(x);
    // Repeated along the last axis, the axes in front, one between, and by operators.
    auto gate = dense(1, sc::sigmoid)(x), row = dense(4)(flatten()(x));
    auto all = multiply()(subtract()(a, gate), average()(row, a, gate), maximum()(b, gate, row));
    auto middle = add()(reshape(3, 1, 4)(a), reshape(1, 1, 4)(row), reshape(1, 3, 4)(b));
    auto operated = 1 - (a * gate + gate * 2) / (2 - gate) - 1 / (gate + 3) + b / (1 + gate) + all;
    c += operated;
    c -= dense(4)(reshape(3, 12)(-middle * -0.5)) / 4;
    auto sums = add()(subtract()(a, b), average()(a, b, c), maximum()(b, c, a));
    auto parts =
        add()(b[{sc::all(), sc::slice(1, {})}], c[{sc::all(), -1}]) * a[{sc::all(), sc::slice(2), sc::slice(1, -2)}];
    return dense(2)(concatenate(1)(multiply()(sums, c), add()(a, a), concatenate()(dense(2)(a), dense(2)(b)), parts));
  }
};

/// Two outputs, of which `network_model` uses one: no loss depends on the other.
struct heads_model : sc::functional<heads_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(12);
    auto unused = dense(3, sc::relu, {.kernel_regularizer = sc::regularizers::l2{0.01F}})(dense(4)(x));
    return sc::outputs(unused, dropout(0.25F)(unused), dense(12)(x));
  }
};

/// A shared layer, views, a nested model, dropout, and layers of a user's own.
struct network_model : sc::functional<network_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    dense shared(8, sc::swish,
                 {.kernel_regularizer = sc::regularizers::l1_l2{0.01F, 0.02F},
                  .activity_regularizer = sc::regularizers::l1_l2{0.02F, 0.01F},
                  .kernel_constraint = sc::constraints::max_norm{.max_value = 0.75F},
                  .bias_constraint = sc::constraints::non_neg{}});
    auto a = shared(random_runs::gain()(x));
    auto b = shared(dropout(0.25F)(random_runs::squash()(a)));
    auto c = recomputation_checkpoint()(flatten()(dense(3)(reshape(4, 2)(random_runs::blend()(a, b)))));
    auto heads = heads_model()(add()(dense(12, sc::relu)(c), dense(12)(dropout(0.5F)(b))));
    return dense(5, {.kernel_regularizer = hoyer{}, .kernel_constraint = l1_at_most{}})(heads[2]);
  }
};

/// Some are frozen.
using normalizations_model =
    sc::sequential<input{3, 6}, dense{8}, batch_normalization{}, dense{7, sc::tanh, {.trainable = false}},
                   layer_normalization{}, batch_normalization{1}, batch_normalization{{.trainable = false}},
                   layer_normalization{{.axis = {1, 2}, .trainable = false}}, layer_normalization{1},
                   batch_normalization{{.axis = 1, .trainable = false}}, dense{2}>;

struct convolutions_model : sc::functional<convolutions_model> {
  static constexpr auto build(auto& model) {
    auto const same = sc::padding::same;
    auto x = conv2d(4, 3, sc::relu, {.padding = same})(model.input(7, 6, 2));
    auto a = conv2d(6, {3, 2}, {.strides = 2})(x);
    auto b = depthwise_conv2d(3, sc::swish, {.padding = same})(x);
    auto c = separable_conv2d(5, 3, sc::tanh, {.padding = same})(b);
    auto d = conv2d_transpose(3, 3, {.strides = 2})(a);
    return dense(3)(concatenate()(flatten()(c), flatten()(d), flatten()(a)));
  }
};

struct convolutions_of_sequences_model : sc::functional<convolutions_of_sequences_model> {
  static constexpr auto build(auto& model) {
    auto const same = sc::padding::same;
    auto x = conv1d(6, 3, sc::gelu, {.padding = sc::padding::causal})(model.input(9, 3));
    auto a = separable_conv1d(4, 3, {.padding = same})(x);
    auto b = conv1d(4, 3, {.padding = same, .dilation_rate = 2, .groups = 2})(x);
    auto c = spatial_dropout1d(0.25F)(add()(a, b));
    auto d = cropping1d({1, 2})(zero_padding1d({2, 1})(up_sampling1d(2)(max_pooling1d(2)(c))));
    auto e = concatenate(1)(d, average_pooling1d(2)(c));
    return dense(3)(concatenate()(global_average_pooling1d()(e), global_max_pooling1d()(e)));
  }
};

struct resizing_model : sc::functional<resizing_model> {
  static constexpr auto build(auto& model) {
    auto const same = sc::padding::same;
    auto x = dense(3, sc::tanh)(model.input(6, 5, 2));
    auto a = max_pooling2d(2)(x), b = average_pooling2d(3, 2, {.padding = same})(x);
    auto c = up_sampling2d({2, 1})(a);
    auto d = up_sampling2d(2, {.interpolation = sc::interpolation::bilinear})(b);
    auto e = spatial_dropout2d(0.25F)(cropping2d({{1, 1}, {2, 1}})(zero_padding2d({{2, 0}, {1, 2}})(d)));
    return dense(3)(concatenate()(flatten()(c), flatten()(e), global_average_pooling2d()(x), global_max_pooling2d()(x),
                                  flatten()(max_pooling2d(3, 1, {.padding = same})(x))));
  }
};

/// The description that models are trained with unless a law is about something else.
inline constexpr auto plain_training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.02F},
                                                    .loss = sc::losses::mean_squared_error{},
                                                    .batch_size = 4};

}  // namespace laws
