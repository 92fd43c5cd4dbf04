// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary texts to the reader of Keras's configurations, and what it makes of them to the writer of source.
// Anything but a file_error, or source, fails.
#include "source_model.hpp"
#include "source_writer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace sc = stagecraft;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  try {
    auto const config = sc::io::parse_json({reinterpret_cast<char const*>(bytes), size}, "fuzz");
    auto const model = sc::tool::read_config(config, "fuzz", {});
    if (sc::tool::write_source(model, {"model", "fuzz"}).empty()) std::abort();
  } catch (sc::file_error const& error) {
    if (error.code() != "E5030" && error.code() != "E5063" && error.code() != "E5064") std::abort();
  }
  return 0;
}
