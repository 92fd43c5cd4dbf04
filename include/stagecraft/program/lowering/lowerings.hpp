// SPDX-License-Identifier: BSD-3-Clause
// The lowerings of all layers. Level 4.
#pragma once

#include <stagecraft/program/lowering/normalization.hpp>
#include <stagecraft/program/lowering/pooling.hpp>
#include <stagecraft/program/lowering/time_distributed.hpp>
#include <stagecraft/program/lowering/traced.hpp>
#include <stagecraft/program/lowering/up_sampling.hpp>
