// SPDX-License-Identifier: BSD-3-Clause
// Pixels of PNG files. Needs libpng. Channels follow from each other as in TensorFlow's decode_png.
#pragma once

#include <stagecraft/data/detail/pixels.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <png.h>
#include <span>
#include <string>

namespace stagecraft::data::detail {

/// One file. libpng leaves its functions by longjmp: those that call it have nothing to destroy.
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

  /// Reads what stands before the pixels, and asks for `channels` bytes of each: 1, 3 or 4. False if it cannot.
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

}  // namespace stagecraft::data::detail
