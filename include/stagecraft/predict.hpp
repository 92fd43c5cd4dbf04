// SPDX-License-Identifier: BSD-3-Clause
// Models and their predictions without an operating system: no exceptions, RTTI, heap, threads or streams. It needs
// neither xtensor nor xsimd, and compiles with -fno-exceptions -fno-rtti for bare metal.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/pipeline.hpp>
#include <stagecraft/predict/constant_weight.hpp>
#include <stagecraft/predict/static_predictor.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
