// SPDX-License-Identifier: BSD-3-Clause
// Feeds .keras archives to the reader of programs: arbitrary bytes or, where the first byte is odd, archives of a
// configuration and an HDF5 file that the bytes describe, deflated, in which four bytes are changed. Anything but a
// file_error, or weights of as many numbers as their shapes say, fails; so does libFuzzer's limit of memory.
#include "hdf5_tree.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zip.h>

namespace sc = stagecraft;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// An archive of deflated members; none if libzip does not write it.
std::vector<std::byte> packed(std::string const& config, std::vector<std::byte> const& weights) {
  auto* const source = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  require(source != nullptr);
  zip_source_keep(source);
  auto* const archive = zip_open_from_source(source, ZIP_TRUNCATE, nullptr);
  require(archive != nullptr);
  for (auto const& [name, data, size] :
       {std::tuple<char const*, void const*, std::size_t>("config.json", config.data(), config.size()),
        {"model.weights.h5", weights.data(), weights.size()}})
    zip_file_add(archive, name, zip_source_buffer(archive, data, size, 0), ZIP_FL_ENC_UTF_8);
  std::vector<std::byte> bytes;
  zip_stat_t facts;
  if (zip_close(archive) != 0) {
    zip_discard(archive);
  } else if (zip_source_stat(source, &facts) == 0 && zip_source_open(source) == 0) {
    bytes.resize(facts.size);
    require(zip_source_read(source, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size()));
    zip_source_close(source);
  }
  zip_source_free(source);
  return bytes;
}

std::vector<std::byte> made_archive(std::span<std::uint8_t const> bytes) {
  fuzz::byte_stream from(bytes);
  std::array<std::pair<std::size_t, std::byte>, 4> changes;
  for (auto& [place, value] : changes) {
    place = from.byte() + 256U * from.byte();
    value = static_cast<std::byte>(from.byte());
  }
  auto const config = from.text(fuzz::configurations);
  auto archive = packed(config, fuzz::hdf5_tree(from).make());
  for (auto const& [place, value] : changes)  // from its end, where the directory is
    if (place > 0 && place <= archive.size()) archive[archive.size() - place] = value;
  return archive;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size == 0) return 0;
  std::span const rest(bytes + 1, size - 1);
  std::vector<std::byte> archive;
  if (bytes[0] % 2 == 1)
    archive = made_archive(rest);
  else
    for (auto const each : rest) archive.push_back(static_cast<std::byte>(each));
  try {
    for (auto const& tensor : sc::io::keras_archive(sc::io::byte_source(archive, "fuzz")).weights().tensors)
      require(sc::io::bytes_of(tensor.shape, sc::size_of(tensor.type)) == tensor.bytes.size());
  } catch (sc::file_error const& error) {
    auto const code = error.code();
    require(code == "E5015" || code == "E5030" || code == "E5205" || code == "E5220" ||
            (code >= "E5061" && code <= "E5063"));
  }
  return 0;
}
