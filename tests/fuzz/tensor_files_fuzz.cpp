// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the readers of safetensors, npz and npy. The first byte chooses which. Anything but a
// file_error, or tensors whose bytes are as many as their shapes say, fails.
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace sc = stagecraft;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}
void check(sc::stored_tensor const& tensor) {
  require(sc::io::bytes_of(tensor.shape, sc::size_of(tensor.type)) == tensor.bytes.size());
  require(sc::io::to_floats(tensor).size() == static_cast<std::size_t>(tensor.size()));
}
void check(sc::tensor_file const& file) {
  for (auto const& tensor : file.tensors) check(tensor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size == 0) return 0;
  auto const rest = std::as_bytes(std::span(bytes + 1, size - 1));
  try {
    switch (bytes[0] % 3) {
      case 0: check(sc::parse_safetensors(rest, "fuzz")); break;
      case 1: check(sc::parse_npz(rest, "fuzz")); break;
      default: check(sc::parse_npy(rest, "fuzz")); break;
    }
  } catch (sc::file_error const& error) {
    require(error.code().substr(0, 4) == "E501");
  }
  return 0;
}
