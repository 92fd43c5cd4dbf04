// SPDX-License-Identifier: BSD-3-Clause
// Keras's second names of layers, such as tf.keras.layers.MaxPool2D.
#pragma once

#include <stagecraft/layers/convolutional/conv1d.hpp>
#include <stagecraft/layers/convolutional/conv1d_transpose.hpp>
#include <stagecraft/layers/convolutional/conv2d.hpp>
#include <stagecraft/layers/convolutional/conv2d_transpose.hpp>
#include <stagecraft/layers/convolutional/conv3d.hpp>
#include <stagecraft/layers/convolutional/conv3d_transpose.hpp>
#include <stagecraft/layers/convolutional/separable_conv1d.hpp>
#include <stagecraft/layers/convolutional/separable_conv2d.hpp>
#include <stagecraft/layers/pooling/average_pooling1d.hpp>
#include <stagecraft/layers/pooling/average_pooling2d.hpp>
#include <stagecraft/layers/pooling/average_pooling3d.hpp>
#include <stagecraft/layers/pooling/global_average_pooling1d.hpp>
#include <stagecraft/layers/pooling/global_average_pooling2d.hpp>
#include <stagecraft/layers/pooling/global_average_pooling3d.hpp>
#include <stagecraft/layers/pooling/global_max_pooling1d.hpp>
#include <stagecraft/layers/pooling/global_max_pooling2d.hpp>
#include <stagecraft/layers/pooling/global_max_pooling3d.hpp>
#include <stagecraft/layers/pooling/max_pooling1d.hpp>
#include <stagecraft/layers/pooling/max_pooling2d.hpp>
#include <stagecraft/layers/pooling/max_pooling3d.hpp>

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
