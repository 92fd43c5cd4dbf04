// SPDX-License-Identifier: BSD-3-Clause
// Images in files, .png and .jpg. Keras counterpart: keras.utils.load_img with img_to_array. CMake: stagecraft::images.
#pragma once

#include <stagecraft/data/detail/pixels.hpp>
#include <stagecraft/data/detail/read_jpeg.hpp>
#include <stagecraft/data/detail/read_png.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace stagecraft::data {

/// Which channels an image has in memory, whatever its file has: one, three, or three and the opacity (255 where the
/// file has none).
enum class color_mode : unsigned char { grayscale = 1, rgb = 3, rgba = 4 };

/// Options of `load_img`, in the order of Keras's.
struct load_img_options {
  data::color_mode color_mode = color_mode::rgb;  ///< channels of the result
  std::array<int, 2> target_size{0, 0};           ///< height and width; 0, 0: those of the file
  /// How pixels follow from those of the file, without smoothing: nearest, bilinear, bicubic or area; else E5104.
  stagecraft::interpolation interpolation = interpolation::nearest;
  /// Whether the largest part in the middle is taken that has the shape of `target_size`, so that nothing is distorted.
  bool keep_aspect_ratio = false;
};

namespace detail {

/// The pixels of a file's bytes, by how they begin: E5103.
[[nodiscard]] inline pixels read_pixels(std::span<std::byte const> bytes, std::string const& name, color_mode mode) {
  auto const begins = [&](std::string_view with) {
    return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
  };
  if (begins("\x89PNG\r\n\x1a\n")) return read_png(bytes, name, static_cast<int>(mode));
  if (begins("\xff\xd8\xff")) {
    if (mode != color_mode::rgba) return read_jpeg(bytes, name, static_cast<int>(mode));
    auto const opaque = read_jpeg(bytes, name, 3);
    pixels result{opaque.height, opaque.width, 4, {}};
    result.values.reserve(opaque.values.size() / 3 * 4);
    for (std::size_t i = 0; i < opaque.values.size(); ++i) {
      result.values.push_back(opaque.values[i]);
      if (i % 3 == 2) result.values.push_back(255);
    }
    return result;
  }
  io::refuse("E5103", name,
             begins("GIF8") ? "is a GIF, which is not read: convert it to PNG"
             : begins("BM") ? "is a BMP, which is not read: convert it to PNG"
                            : "expected a PNG or JPEG");
}

/// The part of a length that is taken: its first pixel, and how many.
struct taken_part {
  int first = 0, count = 0;
};

inline void check_image_size(std::string const& name, std::array<int, 2> size, interpolation how) {
  if (size[0] < 1 || size[1] < 1 ||
      static_cast<std::uint64_t>(size[0]) * static_cast<std::uint64_t>(size[1]) > most_pixels)
    io::refuse("E5104", name,
               "expected a height and a width from 1 on, of at most 2^28 pixels, found " + std::to_string(size[0]) +
                   " and " + std::to_string(size[1]));
  if (how > interpolation::area)
    io::refuse("E5104", name, "expected the interpolation nearest, bilinear, bicubic or area; `resizing` has others");
}

/// The image of a file's bytes; `name` is what errors call it.
[[nodiscard]] inline xt::xarray<float> image_of(std::span<std::byte const> bytes, std::string const& name,
                                                load_img_options const& options) {
  auto const from = read_pixels(bytes, name, options.color_mode);
  bool const is_same = options.target_size == std::array{0, 0};
  int const height = is_same ? from.height : options.target_size[0];
  int const width = is_same ? from.width : options.target_size[1];
  check_image_size(name, {height, width}, options.interpolation);
  taken_part rows{0, from.height}, columns{0, from.width};
  if (options.keep_aspect_ratio) {
    auto const scaled = [](int length, int by, int over) {
      return static_cast<int>(std::max<std::int64_t>(std::int64_t{length} * by / over, 1));
    };
    rows.count = std::min(from.height, scaled(from.width, height, width));
    columns.count = std::min(from.width, scaled(from.height, width, height));
    rows.first = (from.height - rows.count) / 2;
    columns.first = (from.width - columns.count) / 2;
  }
  auto image = xt::xarray<float>::from_shape(
      {static_cast<std::size_t>(height), static_cast<std::size_t>(width), static_cast<std::size_t>(from.channels)});
  if (is_same)
    std::copy(from.values.begin(), from.values.end(), image.data());
  else
    resize(from, taken_by(rows.first, rows.count, height, options.interpolation),
           taken_by(columns.first, columns.count, width, options.interpolation),
           std::span<float>(image.data(), image.size()));
  return image;
}

}  // namespace detail

/// The image in a .png or .jpg file: (height, width, channels), numbers from 0 to 255.
/// Errors: file_error E5001 the file cannot be read, E5103 it is no image, a damaged one, one that claims to have more
/// pixels than its bytes can become, or more than 2^28, E5104 options.
/// Definition: Keras API, utils/image_utils; channels of PNG files as in TensorFlow's decode_png.
[[nodiscard]] inline xt::xarray<float> load_img(std::string const& path, load_img_options const& options = {}) {
  io::byte_source const source(path);
  return detail::image_of(source.read(0, source.size()), path, options);
}

}  // namespace stagecraft::data
