// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the reader of ONNX files, and the graphs that it finds to what makes layers of them.
// Anything but a file_error, or a model whose weights are as many as their shapes say, and whose source has the shape
// of one, fails.
#include "onnx/onnx_trace.hpp"
#include "source/source_writer.hpp"
#include "source_shape.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace sc = stagecraft;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  auto const require = [](bool condition) {
    if (!condition) std::abort();
  };
  try {
    auto const graph = sc::tool::parse_onnx({reinterpret_cast<char const*>(bytes), size}, "fuzz");
    auto const model = sc::tool::read_onnx(graph, "fuzz", {});
    for (auto const& layer : model.layers) {
      require(layer.weights.size() == layer.values.size());
      for (auto const& each : layer.values) {
        std::uint64_t count = 1;
        for (auto const length : each.shape) count *= static_cast<std::uint64_t>(length);
        require(count == each.values.size());
      }
    }
    auto const source = sc::tool::write_source(model, {sc::tool::type_name_of("fuzz"), "fuzz"});
    require(fuzz::source_shape(source.view()).is_model());
  } catch (sc::file_error const& error) {
    require(error.code() == "E5063" || error.code() == "E5064" || error.code() == "E5067" || error.code() == "E5191" ||
            error.code() == "E5205");
  }
  return 0;
}
