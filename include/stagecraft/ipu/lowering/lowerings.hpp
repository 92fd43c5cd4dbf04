// SPDX-License-Identifier: BSD-3-Clause
// The lowerings of all layers.
#pragma once

#include <stagecraft/ipu/lowering/normalization.hpp>
#include <stagecraft/ipu/lowering/pooling.hpp>
#include <stagecraft/ipu/lowering/time_distributed.hpp>
#include <stagecraft/ipu/lowering/traced.hpp>
#include <stagecraft/ipu/lowering/up_sampling.hpp>
