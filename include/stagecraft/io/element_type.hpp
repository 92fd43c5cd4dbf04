// SPDX-License-Identifier: BSD-3-Clause
// The types of elements that files of tensors hold: safetensors' types, with NumPy's names for them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace stagecraft {

/// The type of the elements of a tensor in a file. The host computes in float32; other types are converted when floats
/// are asked for.
enum class element_type : unsigned char {
  float64,
  int64,
  uint64,
  float32,
  int32,
  uint32,
  float16,
  bfloat16,
  int16,
  uint16,
  int8,
  uint8,
  boolean
};

namespace io {

/// A type's size in bytes, and its name in each format. NumPy has no bfloat16.
struct element_type_facts {
  element_type type;
  std::size_t size;
  std::string_view name, safetensors, numpy;
};
inline constexpr element_type_facts element_types[]{
    {element_type::float64, 8, "float64", "F64", "<f8"}, {element_type::int64, 8, "int64", "I64", "<i8"},
    {element_type::uint64, 8, "uint64", "U64", "<u8"},   {element_type::float32, 4, "float32", "F32", "<f4"},
    {element_type::int32, 4, "int32", "I32", "<i4"},     {element_type::uint32, 4, "uint32", "U32", "<u4"},
    {element_type::float16, 2, "float16", "F16", "<f2"}, {element_type::bfloat16, 2, "bfloat16", "BF16", ""},
    {element_type::int16, 2, "int16", "I16", "<i2"},     {element_type::uint16, 2, "uint16", "U16", "<u2"},
    {element_type::int8, 1, "int8", "I8", "|i1"},        {element_type::uint8, 1, "uint8", "U8", "|u1"},
    {element_type::boolean, 1, "bool", "BOOL", "|b1"}};

[[nodiscard]] constexpr element_type_facts const& facts_of(element_type type) noexcept {
  return element_types[static_cast<std::size_t>(type)];
}

/// The type with this name in a format; `Format` is `&element_type_facts::safetensors` or `numpy`.
template <std::string_view element_type_facts::* Format>
[[nodiscard]] constexpr std::optional<element_type> find_element_type(std::string_view text) noexcept {
  for (auto const& facts : element_types)
    if (facts.*Format == text && !text.empty()) return facts.type;
  return std::nullopt;
}

}  // namespace io

/// Keras's name of the type.
[[nodiscard]] constexpr std::string_view name(element_type type) noexcept { return io::facts_of(type).name; }

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(element_type type) noexcept { return io::facts_of(type).size; }

}  // namespace stagecraft
