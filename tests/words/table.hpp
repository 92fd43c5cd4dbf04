// SPDX-License-Identifier: BSD-3-Clause
// The layers of the library whose only tests are laws: a table for each family, with the names of
// tests/golden/make_words.py.
#pragma once

#include <stagecraft/layers/layers.hpp>

#include "word.hpp"

namespace words {

using namespace sc::layers;  // NOLINT: as a program writes it

/// A layer that has been called on masked inputs, those with these numbers; its masks come behind its own inputs, and 0
/// is a step that does not count.
template <class Layer>
Layer masked(Layer layer, std::initializer_list<int> inputs) {
  for (int const input : inputs) layer.masks.inputs[layer.masks.count++] = input;
  return layer;
}
/// Differences say nothing of masks.
inline constexpr word_traits of_masks{.has_slopes = false};

inline std::vector<word> merging_words() {
  return {
      {"minimum", minimum{}, {{2, 3}, {2, 3}}},
      {"minimum_broadcast", minimum{}, {{2, 3}, {2, 1}, {1, 3}}},
      {"dot", dot{1}, {{4, 2}, {4, 3}}},
      {"dot_axes", dot{{2, 1}}, {{2, 4}, {4, 3}}},
      {"dot_vectors", dot{-1}, {{4}, {4}}},
      {"dot_cosine", dot{1, {.normalize = true}}, {{4}, {4}}},
      {"dot_images", dot{{1, 2}}, {{3, 2, 2}, {2, 3}}},
      {"permute", permute{2, 1}, {{3, 4}}},
      {"permute_image", permute{3, 1, 2}, {{2, 3, 4}}},
      {"repeat_vector", repeat_vector{3}, {{4}}},
      {"attention", attention{}, {{3, 4}, {5, 4}}},
      {"attention_scale_key", attention{{.use_scale = true}}, {{3, 4}, {5, 2}, {5, 4}}},
      {"attention_causal", attention{{.causal = true}}, {{4, 3}, {4, 3}}},
      {"additive_attention", additive_attention{}, {{3, 4}, {5, 4}}},
      {"additive_attention_causal_key",
       additive_attention{{.use_scale = false, .causal = true}},
       {{3, 4}, {3, 2}, {3, 4}}},
      {"attention_masked", masked(attention{}, {0, 1}), {{3, 2}, {4, 2}, {3}, {4}}, of_masks},
      {"additive_attention_masked",
       masked(additive_attention{{.causal = true, .return_attention_scores = true}}, {0, 1}),
       {{4, 2}, {4, 2}, {4}, {4}},
       of_masks},
      {"multi_head_attention_masked",
       masked(multi_head_attention{2, 2, {.use_causal_mask = true}}, {0, 1}),
       {{4, 3}, {4, 2}, {4}, {4}},
       of_masks},
      {"multi_head_attention_key",
       masked(multi_head_attention{2, 2, {.output_shape = 2, .return_attention_scores = true}}, {0, 1, 2}),
       {{3, 3}, {4, 2}, {4, 3}, {3}, {4}, {4}},
       of_masks},
      {"multi_head_attention_images",
       multi_head_attention{2, 3, {.return_attention_scores = true}},
       {{2, 3, 4}, {2, 2, 4}}},
      {"multi_head_attention_rows",
       multi_head_attention{2, 3, {.attention_axes = 2, .return_attention_scores = true}},
       {{2, 3, 4}, {2, 2, 4}}},
      {"multi_head_attention_columns",
       multi_head_attention{2, 3, {.attention_axes = 1, .return_attention_scores = true}},
       {{3, 2, 4}, {2, 2, 4}}},
      {"multi_head_attention_rows_masked",
       multi_head_attention{2, 3, {.attention_axes = 2, .attention_mask = true, .return_attention_scores = true}},
       {{2, 3, 4}, {2, 2, 4}, {3, 2}},
       of_masks},
  };
}

inline std::vector<word> regularization_words() {
  return {
      {"gaussian_noise", gaussian_noise{0.5}, {{2, 3}}},
      {"gaussian_dropout", gaussian_dropout{0.25}, {{2, 3}}},
      {"alpha_dropout", alpha_dropout{0.25}, {{2, 3}}},
      {"spatial_dropout3d", spatial_dropout3d{0.5}, {{2, 1, 2, 3}}},
      {"unit_normalization", unit_normalization{}, {{2, 3}}},
      {"unit_normalization_axes", unit_normalization{{.axis = {1, 2}}}, {{2, 3, 2}}},
      {"rescaling", rescaling{0.5, {.offset = -1}}, {{2, 3}}},
      {"instance_normalization", instance_normalization{}, {{2, 3, 2}}},
      {"group_normalization_strided",
       group_normalization{{.groups = 2, .center = false, .scale = false, .strided_channel_grouping = true}},
       {{3, 4}}},
      {"serial_dense_units", serial_dense{4, 2, sc::serialization_dimension::kernel_rows}, {{3}}},
      {"serial_dense_features",
       serial_dense{2, 3, sc::serialization_dimension::input_rows_kernel_columns, {.activation = sc::tanh}},
       {{2, 6}}},
      {"serial_dense_rows",
       serial_dense{2, 2, sc::serialization_dimension::input_columns, {.use_bias = false}},
       {{4, 3}}},
      {"embedding_serialized", embedding{6, 3, {.serialization_factor = 3}}, {{4}}, {.has_slopes = false}},
      {"capture_upstream_gradients", capture_upstream_gradients{}, {{2, 3}}, {.has_slopes = false}},
      {"group_normalization_axis", group_normalization{{.groups = 2, .axis = 2}}, {{2, 4, 3}}},
      {"group_normalization_axis_strided",
       group_normalization{
           {.groups = 2, .axis = -2, .center = false, .scale = false, .strided_channel_grouping = true}},
       {{4, 3}}},
      {"instance_normalization_axis", instance_normalization{{.axis = 1}}, {{3, 2, 2}}},
      {"alpha_dropout_noise_shape", alpha_dropout{0.25, sc::shape{1, 3}}, {{4, 3}}},
  };
}

inline std::vector<word> preprocessing_words() {
  using enum sc::interpolation;
  auto const resized = [](sc::interpolation by, word_traits const& traits = {}) {
    static constexpr char const* names[]{"nearest",  "bilinear", "bicubic",  "area",
                                         "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};
    return word(std::string("resizing_") + names[static_cast<int>(by)], resizing{3, 6, {.interpolation = by}},
                {{5, 4, 2}}, traits);
  };
  word_traits const whole{.has_slopes = false};
  return {
      {"center_crop", center_crop{2, 3}, {{5, 4, 2}}},
      {"normalization", normalization{}, {{2, 3}}},
      {"normalization_axes", normalization{{.axis = {-1, 1}}}, {{2, 2, 3}}},
      {"normalization_given", normalization{{.mean = {1, 2, 3}, .variance = 0.5F}}, {{2, 3}}},
      {"normalization_one", normalization{{.axis = sc::axis_list::none(), .mean = 1, .variance = 4}}, {{2, 3}}},
      {"discretization", discretization{{.bin_boundaries = {-1, 0, 0.5}}}, {{4}}, whole},
      {"category_encoding", category_encoding{4}, {{3}}, whole},
      {"category_encoding_one_hot", category_encoding{4, {.output_mode = sc::output_mode::one_hot}}, {{1}}, whole},
      {"category_encoding_one_hot_each", category_encoding{4, {.output_mode = sc::output_mode::one_hot}}, {{3}}, whole},
      {"category_encoding_count", category_encoding{4, {.output_mode = sc::output_mode::count}}, {{3}}, whole},
      {"category_encoding_weighted", category_encoding{4, {.output_mode = sc::output_mode::count}}, {{3}, {3}}},
      resized(nearest),
      resized(bilinear),
      resized(bicubic, {.tolerance = 2e-3}),  // TensorFlow looks its weights up in a table of 1024
      resized(area),
      resized(lanczos3),
      resized(lanczos5),
      resized(gaussian),
      resized(mitchellcubic),
      {"resizing_cropped_rows", resizing{2, 4, {.crop_to_aspect_ratio = true}}, {{5, 4, 2}}},
      {"resizing_cropped_columns",
       resizing{4, 2, {.interpolation = nearest, .crop_to_aspect_ratio = true}},
       {{3, 6, 1}}},
  };
}

inline std::vector<word> window_words() {
  auto const same = sc::padding::same;
  return {
      {"conv3d", conv3d{3, 2}, {{3, 3, 4, 2}}},
      {"conv3d_same_strides", conv3d{2, {3, 2, 3}, sc::tanh, {.strides = 2, .padding = same}}, {{4, 3, 4, 2}}},
      {"conv3d_dilated", conv3d{2, {2, 2, 1}, {.dilation_rate = {2, 1, 1}, .use_bias = false}}, {{4, 2, 2, 2}}},
      {"conv3d_groups", conv3d{4, {2, 1, 2}, {.groups = 2}}, {{3, 2, 2, 4}}},
      {"conv1d_transpose", conv1d_transpose{3, 3, sc::tanh, {.strides = 2}}, {{4, 2}}},
      {"conv1d_transpose_same", conv1d_transpose{2, 3, {.strides = 2, .padding = same, .output_padding = 1}}, {{3, 2}}},
      {"conv1d_transpose_no_bias", conv1d_transpose{2, 2, {.strides = 3, .use_bias = false}}, {{3, 2}}},
      {"conv3d_transpose", conv3d_transpose{2, 2}, {{2, 2, 3, 2}}},
      {"conv3d_transpose_same",
       conv3d_transpose{2, {2, 3, 2}, {.strides = {1, 2, 2}, .padding = same}},
       {{3, 2, 2, 2}}},
      {"conv3d_transpose_strides", conv3d_transpose{2, {3, 2, 2}, {.strides = 2}}, {{2, 2, 2, 2}}},
      {"locally_connected1d", locally_connected1d{3, 2, sc::tanh}, {{4, 2}}},
      {"locally_connected1d_strides", locally_connected1d{2, 3, {.strides = 2, .use_bias = false}}, {{5, 2}}},
      {"locally_connected2d", locally_connected2d{2, {2, 3}, {.strides = {1, 2}}}, {{3, 5, 2}}},
      {"max_pooling3d", max_pooling3d{}, {{2, 4, 5, 2}}},
      {"max_pooling3d_same", max_pooling3d{{3, 2, 2}, {.strides = {1, 2, 1}, .padding = same}}, {{3, 3, 2, 2}}},
      {"average_pooling3d", average_pooling3d{{1, 2, 2}}, {{2, 4, 2, 2}}},
      {"average_pooling3d_same", average_pooling3d{3, {.strides = 2, .padding = same}}, {{3, 4, 2, 2}}},
      {"global_max_pooling3d", global_max_pooling3d{}, {{2, 2, 3, 2}}},
      {"global_average_pooling3d", global_average_pooling3d{{.keepdims = true}}, {{2, 2, 3, 2}}},
      {"zero_padding3d", zero_padding3d{{{1, 0}, {0, 2}, {1, 1}}}, {{1, 2, 2, 2}}},
      {"cropping3d", cropping3d{{{1, 0}, {0, 1}, {1, 1}}}, {{2, 3, 3, 2}}},
      {"up_sampling3d", up_sampling3d{{2, 1, 3}}, {{1, 2, 2, 2}}},
      {"global_average_pooling1d_masked", masked(global_average_pooling1d{}, {0}), {{4, 3}, {4}}, of_masks},
      {"global_average_pooling1d_keepdims_masked",
       masked(global_average_pooling1d{{.keepdims = true}}, {0}),
       {{4, 3}, {4}},
       of_masks},
  };
}

inline std::vector<word> augmentation_words() {
  using enum sc::fill_mode;
  sc::shape const image{4, 5, 2};
  word_traits const trains{.trains = true}, drawn{};
  return {
      {"random_flip", random_flip{}, {image}, drawn},
      {"random_contrast", random_contrast{{0, 0.5}}, {image}, drawn},
      {"random_crop", random_crop{2, 3}, {image}, drawn},
      {"random_translation", random_translation{{0.3, 0.3}, {-0.15, -0.15}}, {image}, trains},
      {"random_translation_wrap", random_translation{{-1, -1}, {0.7, 0.7}, {.fill_mode = wrap}}, {image}, trains},
      {"random_rotation", random_rotation{{0.1, 0.1}}, {image}, trains},
      {"random_rotation_constant",
       random_rotation{{-0.2, -0.2}, {.fill_mode = constant, .fill_value = 0.5F}},
       {image},
       trains},
      {"random_rotation_nearest",
       random_rotation{{0.07, 0.07}, {.fill_mode = nearest, .interpolation = sc::interpolation::nearest}},
       {image},
       trains},
      {"random_zoom", random_zoom{{0.3, 0.3}}, {image}, trains},
      {"random_zoom_both", random_zoom{{-0.3, -0.3}, {0.4, 0.4}, {.fill_mode = nearest}}, {image}, trains},
      {"random_zoom_drawn", random_zoom{0.25, {.fill_mode = wrap}}, {image}, drawn},
  };
}

inline std::vector<word> recurrent_words() {
  auto const same = sc::padding::same;
  return {
      {"conv_lstm1d", conv_lstm1d{2, 2, {.recurrent_activation = sc::sigmoid, .return_sequences = true}}, {{3, 4, 2}}},
      {"conv_lstm2d", conv_lstm2d{2, 2, {.recurrent_activation = sc::sigmoid}}, {{3, 3, 3, 2}}},
      {"conv_lstm2d_backwards",
       conv_lstm2d{1, {3, 2}, {.strides = 2, .padding = same, .use_bias = false, .go_backwards = true}},
       {{3, 4, 3, 2}},
       {.has_slopes = false}},
      {"rnn_simple_rnn_cell", rnn{simple_rnn_cell{3}}, {{4, 2}}},
      {"rnn_lstm_cell", rnn{lstm_cell{3}, {.return_sequences = true}}, {{4, 2}}},
      {"rnn_gru_cell", rnn{gru_cell{3}, {.go_backwards = true}}, {{4, 2}}},
      {"rnn_gru_cell_reset_before", rnn{gru_cell{3, {.use_bias = false, .reset_after = false}}}, {{4, 2}}},
      {"rnn_stacked", rnn{stacked_rnn_cells{lstm_cell{3}, lstm_cell{2}}, {.return_sequences = true}}, {{4, 2}}},
      {"conv_lstm3d", conv_lstm3d{1, 2, {.padding = same, .recurrent_activation = sc::sigmoid}}, {{2, 2, 2, 2, 2}}},
      {"lstm_states", lstm{3, {.return_sequences = true, .return_state = true}}, {{4, 2}, {3}, {3}}},
      {"lstm_state", lstm{3, {.return_state = true}}, {{4, 2}}},
      {"lstm_states_masked",
       masked(lstm{3, {.return_sequences = true, .return_state = true}}, {0}),
       {{4, 2}, {3}, {3}, {4}},
       of_masks},
      {"gru_states", gru{3, {.return_state = true, .go_backwards = true}}, {{4, 2}, {3}}},
      {"simple_rnn_states", simple_rnn{3, {.return_sequences = true, .return_state = true}}, {{4, 2}, {3}}},
      {"rnn_states", rnn{lstm_cell{3}, {.return_sequences = true, .return_state = true}}, {{4, 2}, {3}, {3}}},
      {"rnn_stacked_states",
       rnn{stacked_rnn_cells{lstm_cell{3}, lstm_cell{2}}, {.return_state = true}},
       {{4, 2}, {3}, {3}, {2}, {2}}},
      {"rnn_stacked_of_three",
       rnn{stacked_rnn_cells{lstm_cell{2}, lstm_cell{3}, lstm_cell{2}}, {.return_sequences = true}},
       {{4, 2}}},
      {"rnn_masked", masked(rnn{gru_cell{3}, {.return_sequences = true}}, {0}), {{4, 2}, {4}}, of_masks},
      {"bidirectional_states",
       bidirectional{lstm{3, {.return_sequences = true, .return_state = true}}},
       {{4, 2}, {3}, {3}, {3}, {3}}},
      {"bidirectional_rnn_masked",
       masked(bidirectional{rnn{gru_cell{2}, {.return_sequences = true, .return_state = true}},
                            {.merge_mode = merge_mode::sum}},
              {0}),
       {{4, 2}, {4}},
       of_masks},
      {"conv_lstm2d_states",
       conv_lstm2d{
           2,
           2,
           {.padding = same, .recurrent_activation = sc::sigmoid, .return_sequences = true, .return_state = true}},
       {{4, 3, 2, 1}, {3, 2, 2}, {3, 2, 2}}},
      {"conv_lstm1d_masked",
       masked(conv_lstm1d{2, 2, {.recurrent_activation = sc::sigmoid, .return_sequences = true}}, {0}),
       {{4, 3, 2}, {4}},
       of_masks},
      {"bidirectional_apart",
       bidirectional{lstm{3, {.return_sequences = true, .return_state = true}}, {.merge_mode = merge_mode::none}},
       {{4, 2}}},
      {"bidirectional_apart_masked",
       masked(bidirectional{gru{2, {.return_sequences = true}}, {.merge_mode = merge_mode::none}}, {0}),
       {{4, 2}, {4}},
       of_masks},
      {"bidirectional_ends", bidirectional{simple_rnn{3}, {.merge_mode = merge_mode::none}}, {{4, 2}}},
      {"bidirectional_backward_layer",
       bidirectional{
           lstm{3, {.return_sequences = true}},
           lstm{2, {.activation = sc::sigmoid, .return_sequences = true, .go_backwards = true, .name = "other"}}},
       {{4, 2}}},
  };
}

/// Layers with kernels of their own, and those that move or combine numbers.
inline std::vector<word> core_words() {
  auto const same = sc::padding::same;
  sc::shape const image{4, 5, 2}, sequence{5, 3}, rows{2, 3};
  return {
      {"conv1d", conv1d{4, 2, sc::tanh, {.strides = 2}}, {sequence}},
      {"separable_conv1d", separable_conv1d{2, 2, {.padding = same}}, {sequence}},
      {"average_pooling1d", average_pooling1d{}, {sequence}},
      {"max_pooling1d", max_pooling1d{}, {sequence}},
      {"global_max_pooling1d", global_max_pooling1d{}, {sequence}},
      {"zero_padding1d", zero_padding1d{{1, 2}}, {sequence}},
      {"cropping1d", cropping1d{{1, 2}}, {sequence}},
      {"up_sampling1d", up_sampling1d{2}, {sequence}},
      {"spatial_dropout1d", spatial_dropout1d{0.5}, {sequence}},
      {"conv2d", conv2d{3, {2, 3}, {.padding = same}}, {image}},
      {"conv2d_transpose", conv2d_transpose{3, 2, {.strides = 2}}, {image}},
      {"depthwise_conv2d", depthwise_conv2d{2, {.depth_multiplier = 2}}, {image}},
      {"separable_conv2d", separable_conv2d{3, 2, sc::tanh}, {image}},
      {"average_pooling2d", average_pooling2d{2, {.padding = same}}, {image}},
      {"max_pooling2d", max_pooling2d{}, {image}},
      {"global_average_pooling2d", global_average_pooling2d{}, {image}},
      {"global_max_pooling2d", global_max_pooling2d{}, {image}},
      {"zero_padding2d", zero_padding2d{{{1, 0}, {0, 2}}}, {image}},
      {"cropping2d", cropping2d{{{1, 0}, {1, 1}}}, {image}},
      {"up_sampling2d", up_sampling2d{{2, 1}}, {image}},
      {"spatial_dropout2d", spatial_dropout2d{0.5}, {image}},
      {"batch_normalization", batch_normalization{}, {image}},
      {"layer_normalization", layer_normalization{}, {image}},
      {"flatten", flatten{}, {image}},
      {"reshape", reshape{10, 4}, {image}},
      {"add", add{}, {rows, rows}},
      {"subtract", subtract{}, {rows, rows}},
      {"multiply", multiply{}, {rows, rows}},
      {"average", average{}, {rows, rows}},
      {"maximum", maximum{}, {rows, rows}},
      {"concatenate", concatenate{}, {rows, rows}},
      {"dense", dense{4, sc::tanh}, {rows}},
      {"activation", activation{sc::gelu}, {rows}},
      {"re_lu", re_lu{{.max_value = 1, .negative_slope = 0.1F}}, {rows}},
      {"leaky_re_lu", leaky_re_lu{}, {rows}},
      {"prelu", prelu{}, {rows}},
      {"thresholded_re_lu", thresholded_re_lu{0.5}, {rows}},
      {"elu_layer", elu_layer{}, {rows}},
      {"softmax_layer", softmax_layer{}, {rows}},
      {"dropout", dropout{0.5}, {rows}},
      {"lambda", lambda{[](auto x) { return square(x); }}, {rows}},
      {"masking", masking{}, {rows}},
      {"activity_regularization", activity_regularization{}, {rows}},
      {"einsum_dense", einsum_dense{"abc,cd->abd", {-1, 2}, sc::tanh, {.bias_axes = "d"}}, {{4, 3}}},
      {"einsum_dense_front", einsum_dense{"...x,xy->...y", 4}, {{2, 3}}},
      {"einsum_dense_behind", einsum_dense{"ab...,bc->ac...", 4, {.bias_axes = "c"}}, {{3, 2}}},
      {"einsum_dense_heads", einsum_dense{"abc,cde->adbe", {2, -1, 2}, {.bias_axes = "de"}}, {{4, 3}}},
      {"einsum_dense_joined", einsum_dense{"abde,dec->abc", {-1, 3}, {.bias_axes = "c"}}, {{4, 3, 2}}},
      {"einsum_dense_each", einsum_dense{"abc,bcd->adb", {2, 4}, {.bias_axes = "b"}}, {{4, 3}}},
      {"layer_normalization_front", layer_normalization{1}, {image}},
      {"layer_normalization_ends", layer_normalization{{.axis = {1, -1}}}, {image}},
      {"layer_normalization_turned", layer_normalization{{.axis = {2, 1}}}, {image}},
      {"layer_normalization_turned_rows", layer_normalization{{.axis = {-1, 2}}}, {image}},
  };
}

}  // namespace words
