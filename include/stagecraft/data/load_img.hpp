// SPDX-License-Identifier: BSD-3-Clause
// Reads images in .png and .jpg files with libpng and libjpeg; channels are converted as in TensorFlow's decode_png.
// Keras counterpart: keras.utils.load_img with img_to_array. CMake: stagecraft::images.
#pragma once

#include <stagecraft/data/detail/pixels.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <jerror.h>
#include <jpeglib.h>  // needs <cstdio> before it
#include <png.h>
#include <span>
#include <string>
#include <string_view>

namespace stagecraft::data::detail {

/// Decodes one file. libpng leaves its functions by longjmp, so functions that call it have nothing to destroy.
class png_decoder {
 public:
  explicit png_decoder(std::span<std::byte const> bytes)
      : bytes_(bytes),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &png_decoder::fail, &png_decoder::ignore)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    std::strcpy(reason_, "libpng found no memory");
  }
  png_decoder(png_decoder const&) = delete;
  png_decoder& operator=(png_decoder const&) = delete;
  ~png_decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Reads the header and asks for `channels` bytes of each pixel: 1, 3 or 4. Returns false if the file cannot be read.
  [[nodiscard]] bool read_header(int channels) noexcept {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, &png_decoder::give);
    png_read_info(png_, info_);
    std::uint64_t const rows = png_get_image_height(png_, info_);
    if (rows * png_get_rowbytes(png_, info_) / most_growth_of_byte > bytes_.size())
      png_error(png_, "it claims to have more pixels than its bytes can become");
    if (rows * png_get_image_width(png_, info_) > most_pixels) png_error(png_, "it has more than 2^28 pixels");
    convert(channels);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_channels(png_, info_) != channels || png_get_bit_depth(png_, info_) != 8)
      png_error(png_, "its kind of pixels is not known");
    return true;
  }
  [[nodiscard]] int height() const noexcept { return static_cast<int>(png_get_image_height(png_, info_)); }
  [[nodiscard]] int width() const noexcept { return static_cast<int>(png_get_image_width(png_, info_)); }

  /// Reads all rows, one after the other.
  [[nodiscard]] bool read_rows(std::uint8_t* to) noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (int row = 0; row < height(); ++row)
        png_read_row(png_, to + static_cast<std::size_t>(row) * png_get_rowbytes(png_, info_), nullptr);
    png_read_end(png_, nullptr);
    return true;
  }
  /// Why it could not.
  [[nodiscard]] char const* reason() const noexcept { return reason_; }

 private:
  void convert(int channels) {
    bool const is_gray = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0;
    png_set_strip_16(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (is_gray) png_set_expand_gray_1_2_4_to_8(png_);
    if (is_gray && channels >= 3) png_set_gray_to_rgb(png_);
    if (!is_gray && channels < 3) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    bool const is_clear = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    bool const has_alpha = is_clear || (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0;
    if (channels != 4) {
      png_set_strip_alpha(png_);
    } else if (is_clear) {
      png_set_tRNS_to_alpha(png_);
    } else if (!has_alpha) {
      png_set_add_alpha(png_, 255, PNG_FILLER_AFTER);
    }
  }
  [[noreturn]] static void fail(png_structp png, png_const_charp why) {
    auto& self = *static_cast<png_decoder*>(png_get_error_ptr(png));
    std::snprintf(self.reason_, sizeof self.reason_, "%s", why);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void give(png_structp png, png_bytep to, std::size_t count) {
    auto& self = *static_cast<png_decoder*>(png_get_io_ptr(png));
    if (count > self.bytes_.size() - self.at_) png_error(png, "the file ends within it");
    std::memcpy(to, self.bytes_.data() + self.at_, count);
    self.at_ += count;
  }

  std::span<std::byte const> bytes_;
  std::size_t at_ = 0;
  int passes_ = 1;
  char reason_[128]{};
  png_structp png_;
  png_infop info_;
};

/// Throws file_error E5103.
[[nodiscard]] inline pixels read_png(std::span<std::byte const> bytes, std::string const& name, int channels) {
  png_decoder decoder(bytes);
  auto const damaged = [&] { io::refuse("E5103", name, std::string("the PNG is damaged: ") + decoder.reason()); };
  if (!decoder.read_header(channels)) damaged();
  pixels result{decoder.height(), decoder.width(), channels, {}};
  result.values.resize(static_cast<std::size_t>(result.height) * static_cast<std::size_t>(result.width) *
                       static_cast<std::size_t>(channels));
  if (!decoder.read_rows(result.values.data())) damaged();
  return result;
}

/// Decodes one file. libjpeg would end the program when it finds an error; here it leaves its functions by longjmp
/// instead, so functions that call it have nothing to destroy.
class jpeg_decoder {
 public:
  explicit jpeg_decoder(std::span<std::byte const> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &jpeg_decoder::fail;
    errors_.emit_message = &jpeg_decoder::warn;
    info_.client_data = this;
  }
  jpeg_decoder(jpeg_decoder const&) = delete;
  jpeg_decoder& operator=(jpeg_decoder const&) = delete;
  ~jpeg_decoder() {
    if (is_made_) jpeg_destroy_decompress(&info_);
  }

  /// Reads the header and asks for `channels` bytes of each pixel: 1 or 3. Returns false if the file cannot be read.
  [[nodiscard]] bool read_header(int channels) noexcept {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    is_made_ = true;
    jpeg_mem_src(&info_, reinterpret_cast<unsigned char const*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&info_, TRUE);
    auto const count = std::uint64_t{info_.image_width} * info_.image_height;
    if (count / most_growth_of_byte > bytes_.size())
      return say("it claims to have more pixels than its bytes can become");
    if (count > most_pixels) return say("it has more than 2^28 pixels");
    if (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK)
      return say("its colours are those of printers (CMYK), which are not read: save it as RGB");
    info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.dct_method = JDCT_IFAST;  // as in TensorFlow
    info_.progress = &progress_;
    progress_.progress_monitor = &jpeg_decoder::look_at_scans;
    jpeg_start_decompress(&info_);
    return info_.output_components == channels || say("its kind of pixels is not known");
  }
  [[nodiscard]] int height() const noexcept { return static_cast<int>(info_.output_height); }
  [[nodiscard]] int width() const noexcept { return static_cast<int>(info_.output_width); }

  /// Reads all rows, one after the other.
  [[nodiscard]] bool read_rows(std::uint8_t* to) noexcept {
    if (setjmp(jump_) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to + std::size_t{info_.output_scanline} * info_.output_width *
                              static_cast<std::size_t>(info_.output_components);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  /// Why it could not.
  [[nodiscard]] char const* reason() const noexcept { return reason_; }

 private:
  bool say(char const* why) noexcept {
    std::snprintf(reason_, sizeof reason_, "%s", why);
    return false;
  }
  [[noreturn]] static void fail(j_common_ptr info) {
    auto& self = *static_cast<jpeg_decoder*>(info->client_data);
    info->err->format_message(info, self.reason_);
    std::longjmp(self.jump_, 1);
  }
  /// Ignores warnings about odd files, but not about missing bytes, which libjpeg would invent.
  static void warn(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) fail(info);
  }
  /// Refuses too many scans: a small file may have many, and each goes over all pixels.
  static void look_at_scans(j_common_ptr info) {
    constexpr int most_scans = 500;
    auto& self = *static_cast<jpeg_decoder*>(info->client_data);
    if (self.info_.input_scan_number <= most_scans) return;
    self.say("it has more than 500 scans");
    std::longjmp(self.jump_, 1);
  }

  std::span<std::byte const> bytes_;
  bool is_made_ = false;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_;
  char reason_[JMSG_LENGTH_MAX]{};
};

/// Throws file_error E5103.
[[nodiscard]] inline pixels read_jpeg(std::span<std::byte const> bytes, std::string const& name, int channels) {
  jpeg_decoder decoder(bytes);
  auto const damaged = [&] { io::refuse("E5103", name, std::string("the JPEG cannot be read: ") + decoder.reason()); };
  if (!decoder.read_header(channels)) damaged();
  pixels result{decoder.height(), decoder.width(), channels, {}};
  result.values.resize(static_cast<std::size_t>(result.height) * static_cast<std::size_t>(result.width) *
                       static_cast<std::size_t>(channels));
  if (!decoder.read_rows(result.values.data())) damaged();
  return result;
}

}  // namespace stagecraft::data::detail

namespace stagecraft::data {

/// The channels of an image in memory, whatever its file has: one, three, or three and the opacity (255 if the file has
/// none).
enum class color_mode : unsigned char { grayscale = 1, rgb = 3, rgba = 4 };

/// Options of `load_img`, in the order of Keras's.
struct load_img_options {
  data::color_mode color_mode = color_mode::rgb;  ///< channels of the result
  std::array<int, 2> target_size{0, 0};           ///< height and width; 0, 0: the file's
  /// The interpolation of new pixels from the file's, without smoothing: nearest, bilinear, bicubic or area; others are
  /// E5104.
  stagecraft::interpolation interpolation = interpolation::nearest;
  /// True: takes the largest part in the middle that has the aspect ratio of `target_size`, so that nothing is
  /// distorted.
  bool keep_aspect_ratio = false;
};

namespace detail {

/// The pixels of a file, whose first bytes tell its format. E5103.
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

/// The part of a length that is taken: its first pixel and the number of pixels.
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

/// The image of a file's bytes; errors call it `name`.
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

/// The image in a .png or .jpg file: (height, width, channels), numbers from 0 to 255. Errors: file_error E5001 the
/// file cannot be read; E5103 it is no image, is damaged, or claims more pixels than its bytes can become, or more than
/// 2^28; E5104 options. Definition: Keras API, utils/image_utils; channels of PNG files as in TensorFlow's decode_png.
[[nodiscard]] inline xt::xarray<float> load_img(std::string const& path, load_img_options const& options = {}) {
  io::byte_source const source(path);
  return detail::image_of(source.read(0, source.size()), path, options);
}

}  // namespace stagecraft::data
