// SPDX-License-Identifier: BSD-3-Clause
#include "png_file.hpp"

#include <algorithm>
#include <cstddef>
#include <png.h>
#include <stdexcept>
#include <vector>

void write_png(std::string const& path, xt::xtensor<float, 2> const& picture, int scale) {
  auto const square = static_cast<std::size_t>(scale);
  std::size_t const rows = picture.shape(0) * square, columns = picture.shape(1) * square;
  std::vector<png_byte> bytes(rows * columns);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      bytes[row * columns + column] =
          static_cast<png_byte>(255 * std::clamp(picture(row / square, column / square), 0.0F, 1.0F) + 0.5F);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(columns);
  image.height = static_cast<png_uint_32>(rows);
  image.format = PNG_FORMAT_GRAY;
  if (png_image_write_to_file(&image, path.c_str(), 0, bytes.data(), 0, nullptr) == 0)
    throw std::runtime_error(path + ": " + image.message);
}
