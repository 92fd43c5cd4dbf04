// SPDX-License-Identifier: BSD-3-Clause
#include "wav_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace {

[[noreturn]] void refuse(std::string const& path, std::string const& reason) {
  throw std::runtime_error(path + ": " + reason);
}

/// The little-endian whole number of `bytes` bytes at `at`.
std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
  return value;
}

void append(std::string& to, std::uint32_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to += static_cast<char>(value >> 8 * i & 255U);
}

constexpr std::uint32_t whole_numbers = 1, floats = 3, extensible = 65534;

struct sample_format {
  std::uint32_t kind = 0, channels = 0, rate = 0, bits = 0;

  explicit sample_format(std::string_view chunk, std::string const& path) {
    if (chunk.size() < 16) refuse(path, "the format is cut short");
    kind = number(chunk, 0, 2);
    if (kind == extensible && chunk.size() >= 26) kind = number(chunk, 24, 2);
    channels = number(chunk, 2, 2);
    rate = number(chunk, 4, 4);
    bits = number(chunk, 14, 2);
    bool const known =
        (kind == whole_numbers && (bits == 16 || bits == 24 || bits == 32)) || (kind == floats && bits == 32);
    if (!known || channels == 0 || channels > 64 || rate == 0 || rate > 768000)
      refuse(path, "the format is not known: samples of 16, 24 or 32 bits, uncompressed, are");
  }
  [[nodiscard]] float sample(std::string_view bytes, std::size_t at) const {
    std::uint32_t const value = number(bytes, at, bits / 8);
    if (kind == floats) return std::bit_cast<float>(value);
    return static_cast<float>(static_cast<std::int32_t>(value << (32 - bits))) / 2147483648.0F;
  }
};

}  // namespace

sound read_wav(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot be read");
  std::string const content{std::istreambuf_iterator<char>(file), {}};
  std::string_view const bytes = content;
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE") refuse(path, "is no WAV file");
  std::string_view format;
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    auto const name = bytes.substr(at, 4);
    std::size_t const length = number(bytes, at + 4, 4);
    auto const chunk = bytes.substr(at + 8, length);  // what is cut short ends where the file does
    if (name == "fmt ") format = chunk;
    if (name == "data") {
      sample_format const of(format, path);
      std::size_t const step = of.bits / 8, frame = step * of.channels;
      sound result{static_cast<int>(of.rate), std::vector<float>(chunk.size() / frame)};
      for (std::size_t i = 0; i < result.samples.size(); ++i) {
        float sum = 0;
        for (std::size_t channel = 0; channel < of.channels; ++channel)
          sum += of.sample(chunk, i * frame + channel * step);
        result.samples[i] = sum / static_cast<float>(of.channels);
      }
      return result;
    }
    at += 8 + length + length % 2;
  }
  refuse(path, "has no samples");
}

void write_wav(std::string const& path, sound const& what) {
  auto const rate = static_cast<std::uint32_t>(what.rate), length = static_cast<std::uint32_t>(2 * what.samples.size());
  std::string bytes = "RIFF";
  append(bytes, 36 + length, 4);
  bytes += "WAVEfmt ";
  append(bytes, 16, 4);
  append(bytes, whole_numbers, 2);
  append(bytes, 1, 2);
  append(bytes, rate, 4);
  append(bytes, 2 * rate, 4);
  append(bytes, 2, 2);
  append(bytes, 16, 2);
  bytes += "data";
  append(bytes, length, 4);
  for (float const sample : what.samples)
    append(bytes, static_cast<std::uint32_t>(std::lround(std::clamp(sample, -1.0F, 1.0F) * 32767.0F)), 2);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) refuse(path, "cannot be written");
}
