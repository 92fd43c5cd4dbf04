// SPDX-License-Identifier: BSD-3-Clause
// All layers, with Keras's second names of layers, such as tf.keras.layers.MaxPool2D.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/layers/activation/activation_layers.hpp>
#include <stagecraft/layers/attention/attention.hpp>
#include <stagecraft/layers/attention/multi_head_attention.hpp>
#include <stagecraft/layers/convolutional/convolution.hpp>
#include <stagecraft/layers/convolutional/locally_connected.hpp>
#include <stagecraft/layers/convolutional/separable_convolution.hpp>
#include <stagecraft/layers/convolutional/transposed_convolution.hpp>
#include <stagecraft/layers/core/activation.hpp>
#include <stagecraft/layers/core/dense.hpp>
#include <stagecraft/layers/core/einsum_dense.hpp>
#include <stagecraft/layers/core/embedding.hpp>
#include <stagecraft/layers/core/graphcore_layers.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/layers/core/lambda.hpp>
#include <stagecraft/layers/core/masking.hpp>
#include <stagecraft/layers/core/op_lambda.hpp>
#include <stagecraft/layers/merging/concatenate.hpp>
#include <stagecraft/layers/merging/dot.hpp>
#include <stagecraft/layers/merging/merge.hpp>
#include <stagecraft/layers/normalization/batch_normalization.hpp>
#include <stagecraft/layers/normalization/group_normalization.hpp>
#include <stagecraft/layers/normalization/layer_normalization.hpp>
#include <stagecraft/layers/normalization/unit_normalization.hpp>
#include <stagecraft/layers/output_part.hpp>  // for layers of one's own with several outputs
#include <stagecraft/layers/pooling/global_pooling.hpp>
#include <stagecraft/layers/pooling/pooling.hpp>
#include <stagecraft/layers/preprocessing/features.hpp>
#include <stagecraft/layers/preprocessing/image_augmentation.hpp>
#include <stagecraft/layers/preprocessing/image_preprocessing.hpp>
#include <stagecraft/layers/preprocessing/random_warp.hpp>
#include <stagecraft/layers/regularization/activity_regularization.hpp>
#include <stagecraft/layers/regularization/dropout.hpp>
#include <stagecraft/layers/regularization/noise.hpp>
#include <stagecraft/layers/reshaping/cropping.hpp>
#include <stagecraft/layers/reshaping/reshape.hpp>
#include <stagecraft/layers/reshaping/up_sampling.hpp>
#include <stagecraft/layers/reshaping/zero_padding.hpp>
#include <stagecraft/layers/rnn/bidirectional.hpp>
#include <stagecraft/layers/rnn/conv_lstm.hpp>
#include <stagecraft/layers/rnn/gru.hpp>
#include <stagecraft/layers/rnn/lstm.hpp>
#include <stagecraft/layers/rnn/rnn.hpp>
#include <stagecraft/layers/rnn/simple_rnn.hpp>
#include <stagecraft/layers/rnn/time_distributed.hpp>

namespace stagecraft::layers {

using avg_pool1d = average_pooling1d;
using avg_pool2d = average_pooling2d;
using avg_pool3d = average_pooling3d;
using convolution1d = conv1d;
using convolution1d_transpose = conv1d_transpose;
using convolution2d = conv2d;
using convolution2d_transpose = conv2d_transpose;
using convolution3d = conv3d;
using convolution3d_transpose = conv3d_transpose;
using global_avg_pool1d = global_average_pooling1d;
using global_avg_pool2d = global_average_pooling2d;
using global_avg_pool3d = global_average_pooling3d;
using global_max_pool1d = global_max_pooling1d;
using global_max_pool2d = global_max_pooling2d;
using global_max_pool3d = global_max_pooling3d;
using max_pool1d = max_pooling1d;
using max_pool2d = max_pooling2d;
using max_pool3d = max_pooling3d;
using separable_convolution1d = separable_conv1d;
using separable_convolution2d = separable_conv2d;

}  // namespace stagecraft::layers

namespace stagecraft {

// `sc::dense` is `sc::layers::dense`, as keras.Input stands beside keras.layers.Input: the same class, so that programs
// which use both namespaces see one. `sc::activation` is the option.
using layers::activity_regularization;
using layers::add;
using layers::additive_attention;
using layers::alpha_dropout;
using layers::attention;
using layers::average;
using layers::average_pooling1d;
using layers::average_pooling2d;
using layers::average_pooling3d;
using layers::batch_normalization;
using layers::bidirectional;
using layers::capture_upstream_gradients;
using layers::category_encoding;
using layers::center_crop;
using layers::concatenate;
using layers::conv1d;
using layers::conv1d_transpose;
using layers::conv2d;
using layers::conv2d_transpose;
using layers::conv3d;
using layers::conv3d_transpose;
using layers::conv_lstm1d;
using layers::conv_lstm2d;
using layers::conv_lstm3d;
using layers::cropping1d;
using layers::cropping2d;
using layers::cropping3d;
using layers::dense;
using layers::depthwise_conv2d;
using layers::discretization;
using layers::dot;
using layers::dropout;
using layers::einsum_dense;
using layers::elu_layer;
using layers::embedding;
using layers::flatten;
using layers::gaussian_dropout;
using layers::gaussian_noise;
using layers::global_average_pooling1d;
using layers::global_average_pooling2d;
using layers::global_average_pooling3d;
using layers::global_max_pooling1d;
using layers::global_max_pooling2d;
using layers::global_max_pooling3d;
using layers::group_normalization;
using layers::gru;
using layers::input;
using layers::instance_normalization;
using layers::lambda;
using layers::layer_normalization;
using layers::leaky_re_lu;
using layers::locally_connected1d;
using layers::locally_connected2d;
using layers::lstm;
using layers::masking;
using layers::max_pooling1d;
using layers::max_pooling2d;
using layers::max_pooling3d;
using layers::maximum;
using layers::minimum;
using layers::multi_head_attention;
using layers::multiply;
using layers::normalization;
using layers::permute;
using layers::prelu;
using layers::random_contrast;
using layers::random_crop;
using layers::random_flip;
using layers::random_rotation;
using layers::random_translation;
using layers::random_zoom;
using layers::re_lu;
using layers::recomputation_checkpoint;
using layers::repeat_vector;
using layers::rescaling;
using layers::reshape;
using layers::resizing;
using layers::rnn;
using layers::separable_conv1d;
using layers::separable_conv2d;
using layers::serial_dense;
using layers::simple_rnn;
using layers::softmax_layer;
using layers::spatial_dropout1d;
using layers::spatial_dropout2d;
using layers::spatial_dropout3d;
using layers::subtract;
using layers::thresholded_re_lu;
using layers::time_distributed;
using layers::unit_normalization;
using layers::up_sampling1d;
using layers::up_sampling2d;
using layers::up_sampling3d;
using layers::zero_padding1d;
using layers::zero_padding2d;
using layers::zero_padding3d;

}  // namespace stagecraft

#ifndef __clang__
namespace stagecraft::layers::detail {

/// GCC 12 refuses, in `sequential` within a template, a constructor that a layer inherits or that C++ makes for it
/// ("used before its definition"), unless code outside of templates has called it; this function does.
inline void call_constructors() {
  static_cast<void>(additive_attention{});
  static_cast<void>(additive_attention{{.name = ""}});
  static_cast<void>(attention{});
  static_cast<void>(attention{{.name = ""}});
  static_cast<void>(conv1d{4, 3});
  static_cast<void>(conv1d{4, 3, {.name = ""}});
  static_cast<void>(conv1d_transpose{4, 3});
  static_cast<void>(conv1d_transpose{4, 3, {.name = ""}});
  static_cast<void>(conv2d{4, 3});
  static_cast<void>(conv2d{4, 3, {.name = ""}});
  static_cast<void>(conv3d{4, 3});
  static_cast<void>(conv3d{4, 3, {.name = ""}});
  static_cast<void>(conv3d{4, {3, 3, 3}});
  static_cast<void>(conv3d_transpose{4, 3});
  static_cast<void>(conv3d_transpose{4, 3, {.name = ""}});
  static_cast<void>(conv3d_transpose{4, {3, 3, 3}});
  static_cast<void>(separable_conv1d{4, 3});
  static_cast<void>(separable_conv1d{4, 3, {.name = ""}});
  static_cast<void>(separable_conv2d{4, 3});
  static_cast<void>(separable_conv2d{4, 3, {.name = ""}});
  static_cast<void>(capture_upstream_gradients{});
  static_cast<void>(capture_upstream_gradients{{.name = ""}});
  static_cast<void>(locally_connected1d{4, 3});
  static_cast<void>(locally_connected1d{4, 3, {.name = ""}});
  static_cast<void>(locally_connected2d{4, 3});
  static_cast<void>(locally_connected2d{4, 3, {.name = ""}});
  static_cast<void>(instance_normalization{});
  static_cast<void>(instance_normalization{{.name = ""}});
  static_cast<void>(unit_normalization{});
  static_cast<void>(unit_normalization{{.name = ""}});
  static_cast<void>(average_pooling1d{});
  static_cast<void>(average_pooling1d{2});
  static_cast<void>(average_pooling1d{2, {.name = ""}});
  static_cast<void>(average_pooling2d{});
  static_cast<void>(average_pooling2d{2, {.name = ""}});
  static_cast<void>(average_pooling3d{});
  static_cast<void>(average_pooling3d{{.name = ""}});
  static_cast<void>(average_pooling3d{2});
  static_cast<void>(average_pooling3d{2, {.name = ""}});
  static_cast<void>(average_pooling3d{{2, 2, 2}});
  static_cast<void>(average_pooling3d{{2, 2, 2}, {.name = ""}});
  static_cast<void>(global_average_pooling1d{});
  static_cast<void>(global_average_pooling1d{{.name = ""}});
  static_cast<void>(global_average_pooling2d{});
  static_cast<void>(global_average_pooling2d{{.name = ""}});
  static_cast<void>(global_average_pooling3d{});
  static_cast<void>(global_average_pooling3d{{.name = ""}});
  static_cast<void>(global_max_pooling1d{});
  static_cast<void>(global_max_pooling1d{{.name = ""}});
  static_cast<void>(global_max_pooling2d{});
  static_cast<void>(global_max_pooling2d{{.name = ""}});
  static_cast<void>(global_max_pooling3d{});
  static_cast<void>(global_max_pooling3d{{.name = ""}});
  static_cast<void>(max_pooling1d{});
  static_cast<void>(max_pooling1d{2});
  static_cast<void>(max_pooling1d{2, {.name = ""}});
  static_cast<void>(max_pooling2d{});
  static_cast<void>(max_pooling2d{2, {.name = ""}});
  static_cast<void>(max_pooling3d{});
  static_cast<void>(max_pooling3d{{.name = ""}});
  static_cast<void>(max_pooling3d{2});
  static_cast<void>(max_pooling3d{2, {.name = ""}});
  static_cast<void>(max_pooling3d{{2, 2, 2}});
  static_cast<void>(max_pooling3d{{2, 2, 2}, {.name = ""}});
  static_cast<void>(discretization{});
  static_cast<void>(discretization{{.name = ""}});
  static_cast<void>(discretization{{2, 2, 2}});
  static_cast<void>(normalization{});
  static_cast<void>(normalization{{.name = ""}});
  static_cast<void>(normalization{{2, 2, 2}});
  static_cast<void>(random_flip{});
  static_cast<void>(random_flip{{.name = ""}});
  static_cast<void>(activity_regularization{});
  static_cast<void>(activity_regularization{{.name = ""}});
  static_cast<void>(alpha_dropout{0.5F});
  static_cast<void>(gaussian_dropout{0.5F});
  static_cast<void>(gaussian_noise{0.5F});
  static_cast<void>(spatial_dropout1d{0.5F});
  static_cast<void>(spatial_dropout2d{0.5F});
  static_cast<void>(spatial_dropout3d{0.5F});
  static_cast<void>(cropping3d{});
  static_cast<void>(up_sampling3d{});
  static_cast<void>(zero_padding3d{});
  static_cast<void>(conv_lstm1d{4, 3});
  static_cast<void>(conv_lstm1d{4, 3, {.name = ""}});
  static_cast<void>(conv_lstm2d{4, 3});
  static_cast<void>(conv_lstm2d{4, 3, {.name = ""}});
  static_cast<void>(conv_lstm3d{4, 3});
  static_cast<void>(conv_lstm3d{4, 3, {.name = ""}});
  static_cast<void>(conv_lstm3d{4, {3, 3, 3}});
}

}  // namespace stagecraft::layers::detail
#endif

#include <stagecraft/diagnostics/end_headers.hpp>
