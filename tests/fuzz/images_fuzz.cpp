// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the readers of PNG and JPEG; the first byte says which channels are asked for, and whether
// pixels are made of those of the file. Anything but a file_error, or an image of the size that was asked for, fails.
#include <stagecraft/data/load_img.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace sc = stagecraft;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array modes{sc::data::color_mode::grayscale, sc::data::color_mode::rgb, sc::data::color_mode::rgba};
  sc::data::load_img_options options{.color_mode = modes[bytes[0] % 3]};
  if (bytes[0] & 64) {
    options.target_size = {3, 5};
    options.interpolation = static_cast<sc::interpolation>(bytes[0] / 4 % 4);
    options.keep_aspect_ratio = (bytes[0] & 128) != 0;
  }
  auto const require = [](bool condition) {
    if (!condition) std::abort();
  };
  try {
    auto const image = sc::data::detail::image_of(std::as_bytes(std::span(bytes + 1, size - 1)), "fuzz", options);
    require(image.dimension() == 3 && image.shape()[2] == static_cast<std::size_t>(options.color_mode));
    if (options.target_size[0] > 0) require(image.shape()[0] == 3 && image.shape()[1] == 5);
    for (float const value : image) require(std::isfinite(value) && value > -256 && value < 512);
  } catch (sc::file_error const& error) {
    require(error.code() == "E5103" || error.code() == "E5104");
  }
  return 0;
}
