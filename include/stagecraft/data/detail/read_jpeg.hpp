// SPDX-License-Identifier: BSD-3-Clause
// Pixels of JPEG files. Needs libjpeg.
#pragma once

#include <stagecraft/data/detail/pixels.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>  // which needs <cstdio> before it

#include <jerror.h>
#include <span>
#include <string>

namespace stagecraft::data::detail {

/// One file. libjpeg would end the program where it finds an error: it leaves its functions by longjmp here, and those
/// that call it have nothing to destroy.
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

  /// Reads what stands before the pixels, and asks for `channels` bytes of each: 1 or 3. False if it cannot.
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
    info_.dct_method = JDCT_IFAST;  // as TensorFlow has it
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
  /// Of what is only odd nothing is said; where bytes are missing, libjpeg would make them up.
  static void warn(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) fail(info);
  }
  /// Small files may have many scans, each of which goes over all pixels.
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
