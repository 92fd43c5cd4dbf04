// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's REST for signatures of examples.
#pragma once

#include "serve/api.hpp"

namespace stagecraft::tool {

/// Answers `:classify`, or `:regress`, and frees the body. Throws http_error.
[[nodiscard]] http_response answer_examples(server_state& state, served_version const& version, http_request& request,
                                            bool classifies);
/// Answers `:predict` by a signature of examples, whose tensor is one of serialized ones, and frees the body; none if
/// the request names another signature. Throws http_error.
[[nodiscard]] std::optional<http_response> predict_examples(server_state& state, served_version const& version,
                                                            http_request& request);

}  // namespace stagecraft::tool
