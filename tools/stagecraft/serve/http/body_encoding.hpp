// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks bodies: Content-Encoding gzip and deflate.
#pragma once

#include "serve/http/counted_bytes.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft::tool {

enum class body_encoding { none, gzip, deflate };

/// Reads a value of Content-Encoding; nullopt if the encoding is not supported.
[[nodiscard]] std::optional<body_encoding> parse_body_encoding(std::string_view value);

/// True if a value of Accept-Encoding takes gzip.
[[nodiscard]] bool takes_gzip(std::string_view accepted);

/// Unpacks a body. `counted` counts it as it grows. Throws http_error 400 if it is damaged or truncated, 413 if it has
/// more than `most` bytes, 503 if there are too many bytes in flight.
[[nodiscard]] std::string unpack_body(std::string_view packed, body_encoding encoding, std::size_t most,
                                      counted_bytes& counted, std::size_t most_in_flight);

/// Packs a body with gzip, fast rather than small.
[[nodiscard]] std::string pack_body(std::string_view body);

}  // namespace stagecraft::tool
