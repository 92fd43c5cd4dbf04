// SPDX-License-Identifier: BSD-3-Clause
// The whole library, with emulated IPUs that carry out what they are given. Programs that do not train on them need
// <stagecraft/stagecraft.hpp> alone, which is less to read.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/stagecraft.hpp>
