// SPDX-License-Identifier: BSD-3-Clause
// The whole library: models, their checks, training on the host, profiles of emulated IPUs (<stagecraft/ipu.hpp> trains
// on them, too), data sets.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/datasets/digits.hpp>
#include <stagecraft/datasets/mnist.hpp>
#include <stagecraft/execution/host.hpp>
#include <stagecraft/execution/ipu_machine.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/program/auto_pipeline.hpp>
#include <stagecraft/program/device_memory.hpp>
#include <stagecraft/program/inference.hpp>
#include <stagecraft/program/profile.hpp>
#include <stagecraft/program/timetable_of.hpp>
#include <stagecraft/program/training.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>
