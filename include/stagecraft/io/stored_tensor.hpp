// SPDX-License-Identifier: BSD-3-Clause
// A tensor of a file: name, type, shape and bytes, whose count is computed without overflow.
#pragma once

#include <stagecraft/io/element_type.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The bytes of a tensor: the product of the dimensions and the size of an element; none if it does not fit into 63
/// bits, or if a dimension is negative.
[[nodiscard]] constexpr std::optional<std::uint64_t> bytes_of(std::span<std::int64_t const> shape,
                                                              std::size_t element_size) noexcept {
  constexpr std::uint64_t most = ~std::uint64_t{0} >> 1;
  bool empty = false;
  for (auto const dimension : shape) {
    if (dimension < 0) return std::nullopt;
    empty = empty || dimension == 0;
  }
  if (empty) return 0;
  std::uint64_t product = element_size;
  for (auto const dimension : shape) {
    if (product > most / static_cast<std::uint64_t>(dimension)) return std::nullopt;
    product *= static_cast<std::uint64_t>(dimension);
  }
  return product;
}

}  // namespace stagecraft::io

namespace stagecraft {

/// One tensor of a file. `bytes` holds the elements row by row, little-endian.
struct stored_tensor {
  std::string name;
  element_type type = element_type::float32;
  std::vector<std::int64_t> shape;  ///< empty: a single number
  std::vector<std::byte> bytes;

  /// Number of elements.
  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(bytes.size() / size_of(type)); }

  friend bool operator==(stored_tensor const&, stored_tensor const&) = default;
};

namespace io {

/// Copies numbers of `size` bytes each from the machine's order of bytes to little-endian, that of files, or back.
inline void copy_little_endian(std::byte* to, std::byte const* from, std::size_t bytes, std::size_t size) {
  static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
  if constexpr (std::endian::native == std::endian::little) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  } else {
    for (std::size_t first = 0; first + size <= bytes; first += size)
      for (std::size_t i = 0; i < size; ++i) to[first + i] = from[first + size - 1 - i];
  }
}

/// The number whose little-endian bytes begin at `from`.
template <class Number>
[[nodiscard]] inline Number little_endian_at(std::byte const* from) {
  std::byte bytes[sizeof(Number)];
  copy_little_endian(bytes, from, sizeof bytes, sizeof bytes);
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

/// True for types of floating-point numbers.
[[nodiscard]] constexpr bool is_floating(element_type type) noexcept {
  return type == element_type::float64 || type == element_type::float32 || type == element_type::float16 ||
         type == element_type::bfloat16;
}

/// Converts IEEE half precision to float, exactly.
[[nodiscard]] constexpr float float_of_half(std::uint16_t half) noexcept {
  std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  std::uint32_t const exponent = (half >> 10) & 31U, fraction = half & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  float const small = static_cast<float>(fraction) * 0x1p-24F;
  return sign == 0 ? small : -small;
}

template <class From, class Make>
void append_floats(std::span<std::byte const> bytes, std::vector<float>& to, Make const& make) {
  for (std::size_t i = 0; i + sizeof(From) <= bytes.size(); i += sizeof(From))
    to.push_back(make(little_endian_at<From>(bytes.data() + i)));
}

/// The elements as floats; wider types are rounded. `file` is named in errors; if the tensor holds a part of its shape,
/// `first` is the number of its first element. Throws file_error E5205 for a finite element beyond float32.
[[nodiscard]] inline std::vector<float> to_floats(stored_tensor const& tensor, std::string_view file = {},
                                                  std::size_t first = 0) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(tensor.size()));
  auto const as = [&]<class From>(From) {
    append_floats<From>(tensor.bytes, result, [](From x) { return static_cast<float>(x); });
  };
  switch (tensor.type) {
    case element_type::float64:
      append_floats<double>(tensor.bytes, result, [&](double x) {
        return narrowed(x, [&] {
          auto const element = "element" + place_text(tensor.shape, first + result.size());
          auto const where = tensor.name.empty() ? element : "tensor '" + tensor.name + "': " + element;
          return file.empty() ? where : std::string(file) + ": " + where;
        });
      });
      break;
    case element_type::int64: as(std::int64_t{}); break;
    case element_type::uint64: as(std::uint64_t{}); break;
    case element_type::float32: as(float{}); break;
    case element_type::int32: as(std::int32_t{}); break;
    case element_type::uint32: as(std::uint32_t{}); break;
    case element_type::float16:
      append_floats<std::uint16_t>(tensor.bytes, result, [](std::uint16_t x) { return float_of_half(x); });
      break;
    case element_type::bfloat16:
      append_floats<std::uint16_t>(tensor.bytes, result, [](std::uint16_t x) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
      });
      break;
    case element_type::int16: as(std::int16_t{}); break;
    case element_type::uint16: as(std::uint16_t{}); break;
    case element_type::int8: as(std::int8_t{}); break;
    case element_type::uint8:
    case element_type::boolean: as(std::uint8_t{}); break;
  }
  return result;
}

/// Makes a tensor of floats. `Shape` is any range of integers.
template <class Shape>
[[nodiscard]] stored_tensor float_tensor(std::string name, Shape const& shape, std::span<float const> values) {
  stored_tensor result{std::move(name), element_type::float32, {shape.begin(), shape.end()}, {}};
  result.bytes.resize(values.size_bytes());
  copy_little_endian(result.bytes.data(), std::as_bytes(values).data(), values.size_bytes(), sizeof(float));
  return result;
}

/// Makes a tensor of a single number.
template <class Number>
[[nodiscard]] stored_tensor number_tensor(std::string name, element_type type, Number value) {
  stored_tensor result{std::move(name), type, {}, std::vector<std::byte>(sizeof value)};
  copy_little_endian(result.bytes.data(), std::as_bytes(std::span(&value, 1)).data(), sizeof value, sizeof value);
  return result;
}

/// The text of a shape, "(3, 4)", in Python's spelling.
template <class Shape>
[[nodiscard]] std::string shape_text(Shape const& shape) {
  std::string text = "(";
  std::size_t count = 0;
  for (auto const dimension : shape) text += (count++ > 0 ? ", " : "") + std::to_string(dimension);
  return text + (count == 1 ? ",)" : ")");
}

}  // namespace io

/// The tensors of a file, in its order, and the texts beside them.
struct tensor_file {
  std::vector<stored_tensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;

  /// The tensor with this name; null if there is none.
  [[nodiscard]] stored_tensor const* find(std::string_view name) const noexcept {
    for (auto const& tensor : tensors)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }
  /// The text with this name; null if there is none.
  [[nodiscard]] std::string const* find_metadata(std::string_view name) const noexcept {
    for (auto const& [key, text] : metadata)
      if (key == name) return &text;
    return nullptr;
  }

  friend bool operator==(tensor_file const&, tensor_file const&) = default;
};

}  // namespace stagecraft
