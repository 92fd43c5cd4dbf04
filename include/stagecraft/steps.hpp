// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own, with several models, losses and optimizers, and gradients as arrays. No other header
// includes it.
#pragma once

#include <stagecraft/stagecraft.hpp>

#include <stagecraft/operations/words.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/training/steps/gradient_trainer.hpp>
#include <stagecraft/training/steps/step_trainer.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
