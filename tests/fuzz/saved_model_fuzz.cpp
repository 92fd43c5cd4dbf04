// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the reader of SavedModels: saved_model.pb, keras_metadata.pb and variables.index, whose
// lengths stand in front, and the file of bytes. The first byte says whether checksums are compared. Anything but a
// file_error, or a model whose weights are as many as their shapes say, fails.
#include "saved_model/saved_model.hpp"
#include "source/source_writer.hpp"
#include "source_shape.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace sc = stagecraft;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  auto const require = [](bool condition) {
    if (!condition) std::abort();
  };
  if (size < 7) return 0;
  auto rest = std::as_bytes(std::span(bytes + 7, size - 7));
  std::array<std::span<std::byte const>, 3> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto const length = std::min<std::size_t>(bytes[1 + 2 * i] + 256U * bytes[2 + 2 * i], rest.size());
    parts[i] = rest.first(length), rest = rest.subspan(length);
  }
  auto const text = [](std::span<std::byte const> of) {
    return std::string(reinterpret_cast<char const*>(of.data()), of.size());
  };
  sc::tool::saved_model_files files{"fuzz", text(parts[0]), text(parts[1]), {}};
  files.variables.index_name = "fuzz/variables.index";
  files.variables.index.assign(parts[2].begin(), parts[2].end());
  files.variables.open = [&](int shard, int count) {
    require(shard >= 0 && shard < count);
    return std::make_unique<sc::io::byte_source const>(rest, "fuzz/variables.data");
  };
  files.variables.has_checksums = bytes[0] % 2 != 0;
  try {
    auto const model = sc::tool::read_saved_model(std::move(files), {});
    sc::tool::for_each_weighted_layer(model, "", [&](sc::tool::model_layer const& layer, std::string const&) {
      require(layer.weights.size() == layer.values.size());
      for (auto const& each : layer.values) {
        std::uint64_t count = 1;
        for (auto const length : each.shape) count *= static_cast<std::uint64_t>(length);
        require(count == each.values.size());
      }
    });
    auto const source = sc::tool::write_source(model, {sc::tool::type_name_of("fuzz"), "fuzz"});
    require(fuzz::source_shape(source.view()).is_model());
  } catch (sc::file_error const& error) {
    auto const code = error.code();
    require(code.substr(0, 4) == "E510" || code == "E5063" || code == "E5064" || code == "E5065" || code == "E5191" ||
            code == "E5205" || code.substr(0, 4) == "E524");
  }
  return 0;
}
