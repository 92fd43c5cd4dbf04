// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the readers of safetensors, npz, npy and TensorFlow.js's folders. The first byte chooses
// which. Anything but a file_error, or tensors whose bytes are as many as their shapes say, fails.
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/tfjs.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// model.json up to a zero; what is behind it is each file of weights.
void check_tfjs(std::span<std::byte const> bytes) {
  std::string_view const all(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  auto const text = all.substr(0, all.find('\0'));
  auto const weights = bytes.subspan(text.size() < all.size() ? text.size() + 1 : text.size());
  int files = 0;
  sc::io::tfjs_reader const reader("fuzz", [&](std::string const& name) {
    require(!name.empty() && name.find('/') == std::string::npos && name != "..");
    return ++files > 8 ? std::vector<std::byte>() : std::vector<std::byte>(weights.begin(), weights.end());
  });
  check(reader.read(text).weights);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size == 0) return 0;
  auto const rest = std::as_bytes(std::span(bytes + 1, size - 1));
  try {
    if (bytes[0] == 'j') {
      check_tfjs(rest);
      return 0;
    }
    switch (bytes[0] % 3) {
      case 0: check(sc::parse_safetensors(rest, "fuzz")); break;
      case 1: check(sc::parse_npz(rest, "fuzz")); break;
      default: check(sc::parse_npy(rest, "fuzz")); break;
    }
  } catch (sc::file_error const& error) {
    require(error.code().substr(0, 4) == "E501" || error.code() == "E5068" || error.code() == "E5205");
  }
  return 0;
}
