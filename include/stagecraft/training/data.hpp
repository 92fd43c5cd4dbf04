// SPDX-License-Identifier: BSD-3-Clause
// From the user's arrays to batches: sources, sets, weights, orders and checks. Level 6.
#pragma once

#include <stagecraft/training/data_checks.hpp>
#include <stagecraft/training/fit_options.hpp>
#include <stagecraft/training/labelled_samples.hpp>
#include <stagecraft/training/row_weights.hpp>
#include <stagecraft/training/sample_set.hpp>
#include <stagecraft/training/sample_source.hpp>
#include <stagecraft/training/shuffle.hpp>
