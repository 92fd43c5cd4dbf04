// SPDX-License-Identifier: BSD-3-Clause
// How emulated IPUs carry out a plan.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/ipu/emulation/ipu_machine.hpp>
#include <stagecraft/ipu/emulation/ipu_policy.hpp>
