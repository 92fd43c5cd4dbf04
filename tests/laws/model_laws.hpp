// SPDX-License-Identifier: BSD-3-Clause
// What the tests of this folder include.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

#include "gradient_check.hpp"
