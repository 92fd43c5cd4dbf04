// SPDX-License-Identifier: BSD-3-Clause
// What Keras has of what a model may hold: its layers, initializers, regularizers and constraints.
#pragma once

#include <cstddef>
#include <string_view>

namespace stagecraft::io {

/// The library's layers that Keras 2 has.
inline constexpr std::string_view keras_2_layers =
    "Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention Average AveragePooling1D "
    "AveragePooling2D AveragePooling3D BatchNormalization Bidirectional CategoryEncoding CenterCrop Concatenate Conv1D "
    "Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Cropping1D "
    "Cropping2D Cropping3D Dense DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Flatten GRU "
    "GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
    "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization InputLayer LSTM "
    "LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxPooling1D MaxPooling2D "
    "MaxPooling3D Maximum Minimum MultiHeadAttention Multiply Normalization PReLU Permute RandomContrast "
    "RandomCrop RandomFlip RandomRotation RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape "
    "Resizing SeparableConv1D SeparableConv2D SimpleRNN Softmax SpatialDropout1D SpatialDropout2D "
    "SpatialDropout3D Subtract ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D UpSampling2D "
    "UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D";
/// Classes of Keras 2 that Keras 3 has no longer.
inline constexpr std::string_view not_in_keras_3 = "LocallyConnected1D LocallyConnected2D ThresholdedReLU";
/// Its initializers, regularizers and constraints.
inline constexpr std::string_view keras_2_objects =
    "Zeros Ones Constant RandomNormal RandomUniform TruncatedNormal VarianceScaling GlorotNormal GlorotUniform "
    "HeNormal HeUniform LecunNormal LecunUniform Orthogonal Identity L1 L2 L1L2 MaxNorm MinMaxNorm NonNeg "
    "RadialConstraint UnitNorm";
/// Its activations, and layers that may stand in their place.
inline constexpr std::string_view keras_2_activations =
    "linear relu softmax sigmoid tanh gelu swish selu elu exponential softplus softsign hard_sigmoid ReLU ELU";

/// Whether a list of names, with one blank after each but the last, has this one.
[[nodiscard]] constexpr bool lists(std::string_view names, std::string_view name) noexcept {
  while (!names.empty()) {
    auto const blank = names.find(' ');
    if (names.substr(0, blank) == name) return true;
    names.remove_prefix(blank == std::string_view::npos ? names.size() : blank + 1);
  }
  return false;
}

}  // namespace stagecraft::io
