// SPDX-License-Identifier: BSD-3-Clause
// All layers. Level 2.
#pragma once

#include <stagecraft/layers/activation.hpp>
#include <stagecraft/layers/add.hpp>
#include <stagecraft/layers/average.hpp>
#include <stagecraft/layers/average_pooling1d.hpp>
#include <stagecraft/layers/average_pooling2d.hpp>
#include <stagecraft/layers/batch_normalization.hpp>
#include <stagecraft/layers/concatenate.hpp>
#include <stagecraft/layers/conv1d.hpp>
#include <stagecraft/layers/conv2d.hpp>
#include <stagecraft/layers/conv2d_transpose.hpp>
#include <stagecraft/layers/dense.hpp>
#include <stagecraft/layers/depthwise_conv2d.hpp>
#include <stagecraft/layers/dropout.hpp>
#include <stagecraft/layers/flatten.hpp>
#include <stagecraft/layers/input.hpp>
#include <stagecraft/layers/layer_normalization.hpp>
#include <stagecraft/layers/max_pooling1d.hpp>
#include <stagecraft/layers/max_pooling2d.hpp>
#include <stagecraft/layers/maximum.hpp>
#include <stagecraft/layers/multiply.hpp>
#include <stagecraft/layers/reshape.hpp>
#include <stagecraft/layers/separable_conv1d.hpp>
#include <stagecraft/layers/separable_conv2d.hpp>
#include <stagecraft/layers/subtract.hpp>
