// SPDX-License-Identifier: BSD-3-Clause
// A request and its answer, independent of their bytes on a connection.
#pragma once

#include "serve/http/counted_bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::tool {

struct http_request {
  std::string method, path;  ///< "GET" and "POST"; without a query
  std::string body;
  std::string parent;                ///< the request's trace id, `traceparent`; empty: none
  std::int64_t json_length = -1;     ///< Inference-Header-Content-Length: bytes of JSON before binary tensors; -1: all
  counted_bytes* counted = nullptr;  ///< counts the body of a POST
};

struct http_response {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";  ///< a constant
  std::int64_t json_length = -1;  ///< bytes of JSON before binary tensors in the answer; -1: all are JSON
};

/// Ends an answer with a status and {"error": text}.
struct http_error {
  int status = 400;
  std::string text;
};

/// The answer {"error": text}.
[[nodiscard]] http_response error_response(int status, std::string const& text);

}  // namespace stagecraft::tool
