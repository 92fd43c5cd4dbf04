// SPDX-License-Identifier: BSD-3-Clause
// The steps of all layers on the host. Level 5.
#pragma once

#include <stagecraft/execution/operations/batch_normalization.hpp>
#include <stagecraft/execution/operations/conv2d_transpose.hpp>
#include <stagecraft/execution/operations/convolution.hpp>
#include <stagecraft/execution/operations/dense.hpp>
#include <stagecraft/execution/operations/depthwise_conv2d.hpp>
#include <stagecraft/execution/operations/global_pooling.hpp>
#include <stagecraft/execution/operations/layer_normalization.hpp>
#include <stagecraft/execution/operations/pooling.hpp>
#include <stagecraft/execution/operations/separable_convolution.hpp>
#include <stagecraft/execution/operations/time_distributed.hpp>
#include <stagecraft/execution/operations/up_sampling.hpp>
#include <stagecraft/execution/operations/views.hpp>
