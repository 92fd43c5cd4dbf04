// SPDX-License-Identifier: BSD-3-Clause
// From the user's arrays to batches: sources, sets, weights, orders and checks.
#pragma once

#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <stagecraft/training/data/row_weights.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <stagecraft/training/data/shuffle.hpp>
