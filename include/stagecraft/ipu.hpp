// SPDX-License-Identifier: BSD-3-Clause
// The whole library: <stagecraft/stagecraft.hpp>, and emulated IPUs with their profiles. A program that only asks for
// profiles reads less with <stagecraft/ipu/profile/profile.hpp> and <stagecraft/ipu/profile/auto_pipeline.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/stagecraft.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
