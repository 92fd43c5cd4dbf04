// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/http_message.hpp"

#include "serve/tensor_json.hpp"

namespace stagecraft::tool {

http_response error_response(int status, std::string const& text) {
  std::string body = "{\"error\": ";
  write_text(text, body);
  return {.status = status, .body = body + "}\n"};
}

}  // namespace stagecraft::tool
