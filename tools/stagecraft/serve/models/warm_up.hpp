// SPDX-License-Identifier: BSD-3-Clause
// Warm-up requests of a version: TensorFlow Serving's assets.extra/tf_serving_warmup_requests, which are answered
// before anybody else's.
#pragma once

#include "serve/models/served_models.hpp"

#include <string>

namespace stagecraft::tool {

/// Calls a version with the requests of its folder's file, if there is one: PredictionLog of Predict, Classify, Regress
/// and MultiInference, at most 1000, in TensorFlow's format of records. Answers are dropped. Throws file_error E5302:
/// the file is damaged, or a request is none that the version can answer; serving_error as embedded_runtime::call.
void warm_up(std::string const& folder, served_version const& version);

}  // namespace stagecraft::tool
