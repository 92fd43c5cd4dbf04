// SPDX-License-Identifier: BSD-3-Clause
// The steps of all layers on the host.
#pragma once

#include <stagecraft/host/operations/batch_normalization.hpp>
#include <stagecraft/host/operations/conv2d_transpose.hpp>
#include <stagecraft/host/operations/convolution.hpp>
#include <stagecraft/host/operations/dense.hpp>
#include <stagecraft/host/operations/depthwise_conv2d.hpp>
#include <stagecraft/host/operations/global_pooling.hpp>
#include <stagecraft/host/operations/layer_normalization.hpp>
#include <stagecraft/host/operations/pooling.hpp>
#include <stagecraft/host/operations/separable_convolution.hpp>
#include <stagecraft/host/operations/time_distributed.hpp>
#include <stagecraft/host/operations/up_sampling.hpp>
#include <stagecraft/host/operations/views.hpp>
