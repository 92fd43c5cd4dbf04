// SPDX-License-Identifier: BSD-3-Clause
// A call of KServe's ModelInfer: alone, or one of a stream.
#pragma once

#include "kserve.grpc.pb.h"
#include "serve/grpc/rpc_call.hpp"

#include <cstdint>
#include <string>

namespace stagecraft::tool {

/// The number of a version, 0 for an empty text. Throws http_error 400 if it is no number above 0.
[[nodiscard]] std::int64_t kserve_version(std::string const& text);
/// Finds a model's version. Throws http_error 400, and 404 with Triton's words.
[[nodiscard]] served_version find_kserve_version(server_calls& calls, std::string const& model,
                                                 std::string const& version);

/// Answers a request with raw contents. Throws http_error.
void infer(rpc_call& call, inference::ModelInferRequest const& request, inference::ModelInferResponse& response);

}  // namespace stagecraft::tool
