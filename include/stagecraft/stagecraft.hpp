// SPDX-License-Identifier: BSD-3-Clause
// Models, their checks, training and prediction on the host, data sets. <stagecraft/ipu.hpp> has emulated IPUs, too:
// their profiles, and training on them.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/datasets/digits.hpp>
#include <stagecraft/datasets/mnist.hpp>
#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/ipu/emulation/ipu_machine.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/device_memory.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
