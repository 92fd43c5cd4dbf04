// SPDX-License-Identifier: BSD-3-Clause
// Which version of which model a call of TensorFlow Serving's protocol means.
#pragma once

#include "serve/grpc/rpc_call.hpp"
#include "tensorflow_serving.pb.h"

#include <cstdint>
#include <string>

namespace stagecraft::tool {

/// The version that is asked for.
[[nodiscard]] version_choice choice_of(tensorflow::serving::ModelSpec const& spec);
/// Finds the version. Throws http_error 400 without a model's name, 404 if there is none, 400 for a label that it
/// does not have.
[[nodiscard]] served_version find(server_calls& calls, bool has_spec, tensorflow::serving::ModelSpec const& spec);
/// Throws rpc_error FAILED_PRECONDITION, as TensorFlow Serving, for a signature that the version does not have.
void check_signature(served_version const& version, std::string const& name);
/// Names the version that has answered.
void write_spec(std::string const& name, std::int64_t number, std::string const& signature,
                tensorflow::serving::ModelSpec& to);

}  // namespace stagecraft::tool
