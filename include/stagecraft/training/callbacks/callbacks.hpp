// SPDX-License-Identifier: BSD-3-Clause
// Includes all callbacks. Keras counterpart: tf.keras.callbacks.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/csv_logger.hpp>
#include <stagecraft/training/callbacks/early_stopping.hpp>
#include <stagecraft/training/callbacks/lambda_callback.hpp>
#include <stagecraft/training/callbacks/learning_rate_scheduler.hpp>
#include <stagecraft/training/callbacks/progbar_logger.hpp>
#include <stagecraft/training/callbacks/reduce_lr_on_plateau.hpp>
#include <stagecraft/training/callbacks/terminate_on_nan.hpp>
#include <stagecraft/training/callbacks/throughput_estimator.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
