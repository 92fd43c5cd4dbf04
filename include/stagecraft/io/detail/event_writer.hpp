// SPDX-License-Identifier: BSD-3-Clause
// Files of events, as TensorBoard reads them: records of TensorFlow, each a message `Event` of protocol buffers.
// Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto, framework/summary.proto,
// framework/tensor.proto.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::io {

/// Writes a message of protocol buffers: fields in the order of the calls.
class proto_message {
 public:
  void add_varint(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void add_bytes(int field, std::string_view bytes) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
  }
  void add_double(int field, double value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 1);
    append(bytes_, std::bit_cast<std::uint64_t>(value));
  }
  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

  /// Appends a number's bytes, little-endian.
  template <class Number>
  static void append(std::string& to, Number value) {
    for (std::size_t i = 0; i < sizeof value; ++i) to += static_cast<char>(value >> (8 * i) & 0xFFU);
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) bytes_ += static_cast<char>((value & 127U) | 128U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// The CRC-32C of bytes, masked as in TensorFlow's records.
[[nodiscard]] inline std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> result{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1U ^ ((value & 1U) != 0 ? 0x82F63B78U : 0U);
      result[i] = value;
    }
    return result;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (char const byte : bytes) crc = crc >> 8U ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return std::rotr(~crc, 15) + 0xA282EAD8U;
}

/// Appends events to a new file. Each is flushed. Throws file_error E5040.
class event_writer {
 public:
  event_writer(std::string path, double wall_time) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    if (!file_) throw file_error("E5040", "tensor_board: cannot open '" + path_ + "' for writing");
    proto_message event;
    event.add_double(1, wall_time);
    event.add_bytes(3, "brain.Event:2");
    write(event);
  }

  void scalar(std::string_view tag, float value, std::int64_t step, double wall_time) {
    std::string number;
    proto_message::append(number, std::bit_cast<std::uint32_t>(value));
    proto_message tensor;
    tensor.add_varint(1, 1);  // DT_FLOAT
    tensor.add_bytes(2, {});
    tensor.add_bytes(5, number);
    summary(tag, tensor, "scalars", step, wall_time);
  }

  /// Appends a histogram as TensorBoard's plugin makes it: 30 buckets of equal width. Equal values are all in the last
  /// bucket, and so are NaN.
  void histogram(std::string_view tag, std::span<float const> values, std::int64_t step, double wall_time) {
    std::array<double, buckets> inside{};
    double first = 0, last = 0;
    bool is_any = false;
    for (float const value : values) {
      auto const number = static_cast<double>(value);
      if (number != number) continue;  // NaN
      first = is_any ? std::min(first, number) : number, last = is_any ? std::max(last, number) : number;
      is_any = true;
    }
    double const width = (last - first) / buckets;
    for (float const value : values) {
      auto const place = (static_cast<double>(value) - first) / width;  // NaN if all are the same
      ++inside[place >= 0 && place < buckets - 1 ? static_cast<std::size_t>(place) : buckets - 1];
    }
    std::string rows;
    for (std::size_t i = 0; i < buckets; ++i)
      for (double const each : {first + width * static_cast<double>(i),
                                i + 1 == buckets ? last : first + width * static_cast<double>(i + 1), inside[i]})
        proto_message::append(rows, std::bit_cast<std::uint64_t>(each));
    proto_message shape, tensor;
    for (std::uint64_t const length : {std::uint64_t{buckets}, std::uint64_t{3}}) {
      proto_message dimension;
      dimension.add_varint(1, length);
      shape.add_bytes(2, dimension.bytes());
    }
    tensor.add_varint(1, 2);  // DT_DOUBLE
    tensor.add_bytes(2, shape.bytes());
    tensor.add_bytes(4, rows);
    summary(tag, tensor, "histograms", step, wall_time);
  }

 private:
  static constexpr std::size_t buckets = 30;
  struct close_file {
    void operator()(std::FILE* opened) const noexcept { std::fclose(opened); }
  };

  void summary(std::string_view tag, proto_message const& tensor, std::string_view plugin, std::int64_t step,
               double wall_time) {
    proto_message plugin_data, metadata, value, all, event;
    plugin_data.add_bytes(1, plugin);
    metadata.add_bytes(1, plugin_data.bytes());
    value.add_bytes(1, tag);
    value.add_bytes(8, tensor.bytes());
    value.add_bytes(9, metadata.bytes());
    all.add_bytes(1, value.bytes());
    event.add_double(1, wall_time);
    if (step != 0) event.add_varint(2, static_cast<std::uint64_t>(step));
    event.add_bytes(5, all.bytes());
    write(event);
  }

  void write(proto_message const& event) {
    std::string record;
    proto_message::append(record, std::uint64_t{event.bytes().size()});
    proto_message::append(record, masked_crc32c(record));
    record += event.bytes();
    proto_message::append(record, masked_crc32c(event.bytes()));
    if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0)
      throw file_error("E5040", "tensor_board: cannot write to '" + path_ + "'");
  }

  std::string path_;
  std::unique_ptr<std::FILE, close_file> file_;
};

}  // namespace stagecraft::io
