// SPDX-License-Identifier: BSD-3-Clause
// Models of the words, a family each: what the laws of pipelines and of policies are about.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace words {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct merging_model : sc::functional<merging_model> {
  static constexpr auto build(auto& model) {
    auto x = dense(4, sc::tanh)(model.input(3, 4));
    auto masked = masking()(dense(1, sc::relu)(x));  // steps of 0 do not count
    x = einsum_dense("abc,cd->abd", {-1, 4}, {.bias_axes = "d"})(x);
    auto [seen, scores] = multi_head_attention(2, 2, {.return_attention_scores = true})(x, masked);
    auto a = attention({.use_scale = true, .dropout = 0.25F})(x, seen + dense(4)(reshape(3, 6)(scores)));
    auto b = additive_attention({.causal = true})(x, a);
    auto c = dot({2, 1}, {.normalize = true})(b, permute(2, 1)(minimum()(a, x)));
    return dense(2)(flatten()(repeat_vector(2)(flatten()(c))));
  }
};

/// A layer that adds to the loss itself.
struct adds_loss : sc::layer<adds_loss> {
  static constexpr std::string_view class_name = "AddsLoss";
  constexpr auto call(auto& ops, auto x) const {
    ops.add_loss(ops.sum(square(x), -1) * 0.125F);
    return x * 0.75F;
  }
};

using regularization_model =
    sc::sequential<input{2, 2, 2, 3}, rescaling{0.5, {.offset = 0.25F}},
                   dense{3, sc::tanh, {.activity_regularizer = sc::regularizers::l1{0.01F}}},
                   activity_regularization{{.l2 = 0.02F}}, adds_loss{}, gaussian_noise{0.25}, spatial_dropout3d{0.25},
                   gaussian_dropout{0.25, 3}, unit_normalization{}, alpha_dropout{0.125}, flatten{}, dense{2}>;

struct preprocessing_model : sc::functional<preprocessing_model> {
  static constexpr auto build(auto& model) {
    using enum sc::interpolation;
    auto x = normalization({.axis = {1, -1}})(model.input(4, 5, 2));
    auto crop = center_crop(3, 4)(layer_normalization({.axis = {2, 1}})(dense(3, sc::tanh)(x)));
    auto a = resizing(2, 3, {.interpolation = lanczos3})(crop);
    auto b = resizing(3, 2, {.interpolation = area, .crop_to_aspect_ratio = true})(x);
    auto bins = discretization({.bin_boundaries = {-0.5, 0, 0.5}})(flatten()(b));
    auto learnt = discretization({.num_bins = 3})(flatten()(x));
    auto codes = category_encoding(4, {.output_mode = sc::output_mode::count})(bins, flatten()(b));
    return dense(2)(concatenate()(dense(3)(codes), flatten()(a), learnt));
  }
};

struct window_model : sc::functional<window_model> {
  static constexpr auto build(auto& model) {
    auto x = conv3d(2, 2, sc::tanh)(model.input(3, 3, 3, 2));
    auto a = conv3d_transpose(2, 2, {.strides = 2, .padding = sc::padding::same})(x);
    auto b = cropping3d({0, 1, 1})(zero_padding3d({1, 1, 0})(up_sampling3d({1, 2, 2})(max_pooling3d({1, 2, 2})(a))));
    auto c = conv1d_transpose(3, 2, sc::relu)(locally_connected1d(2, 3)(reshape(32, 4)(a)));
    auto d = locally_connected2d(2, {2, 3}, {.strides = 2})(reshape(8, 4, 4)(a));
    return dense(2)(concatenate()(flatten()(average_pooling3d()(b)), global_max_pooling3d()(a),
                                  global_average_pooling3d()(b), flatten()(c), flatten()(d)));
  }
};

using augmentation_model =
    sc::sequential<input{5, 6, 2}, random_flip{}, random_contrast{0.25}, random_translation{0.25, 0.25},
                   random_rotation{0.125, {.fill_mode = sc::fill_mode::constant}}, random_crop{4, 4},
                   random_zoom{0.25, {.fill_mode = sc::fill_mode::wrap, .seed = 7}}, flatten{}, dense{2}>;

struct recurrent_model : sc::functional<recurrent_model> {
  static constexpr auto build(auto& model) {
    auto x = conv_lstm2d(2, 2, {.return_sequences = true, .dropout = 0.25F})(input{3, 4, 3, 2}.of_batch_size(3)(model));
    auto a = conv_lstm1d(2, 2, {.recurrent_dropout = 0.25F})(reshape(3, 6, 2)(x));
    auto b = conv_lstm3d(1, 2, {.padding = sc::padding::same})(reshape(3, 3, 2, 1, 2)(x));
    rnn cells(stacked_rnn_cells(lstm_cell(3, {.dropout = 0.125F}), gru_cell(2)), {.return_sequences = true});
    auto c = rnn(simple_rnn_cell(3), {.go_backwards = true})(cells(reshape(3, 12)(x)));
    auto [code, h, memory] = lstm(3, {.return_state = true, .stateful = true})(reshape(3, 12)(x));
    auto steps = masking()(dense(1, sc::relu)(reshape(3, 4)(flatten()(x)[{sc::all(), sc::slice(0, 12)}])));
    auto decoded = lstm(3, {.return_sequences = true, .return_state = true})(steps, h, memory);
    auto [both, forward, backward] = bidirectional(gru(2, {.return_state = true}))(decoded);
    auto kept = capture_upstream_gradients()(dense(2)(both));
    return dense(2)(concatenate()(flatten()(a), flatten()(b), c, kept, backward));
  }
};

}  // namespace words
