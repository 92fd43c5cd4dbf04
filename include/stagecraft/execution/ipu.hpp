// SPDX-License-Identifier: BSD-3-Clause
// How emulated IPUs carry out a program. Level 5.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/execution/ipu_machine.hpp>
#include <stagecraft/execution/tiles/ipu_policy.hpp>
