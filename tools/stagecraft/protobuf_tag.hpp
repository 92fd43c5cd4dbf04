// SPDX-License-Identifier: BSD-3-Clause
// The number and the kind of a field of protobuf, for comparison with those that a reader finds.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>

namespace stagecraft::tool {

constexpr std::uint32_t tag(std::uint32_t number, protozero::pbf_wire_type type) {
  return protozero::tag_and_type(number, type);
}

}  // namespace stagecraft::tool
