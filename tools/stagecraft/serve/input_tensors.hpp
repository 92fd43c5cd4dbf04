// SPDX-License-Identifier: BSD-3-Clause
// The rules for the tensors of a request, whichever protocol brings them: types, shapes, and numbers that a type or
// float32 cannot hold. Errors are http_error 400 with the input and the place of the number.
#pragma once

#include "serve/http/http_message.hpp"
#include "serve/shared_memory.hpp"

#include <stagecraft/io/element_type.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/serving/servable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stagecraft::tool {

/// The type with KServe's name, "FP32"; none for BYTES and unknown names.
[[nodiscard]] std::optional<element_type> find_kserve_type(std::string_view name);
/// The type of an input by KServe's name. Throws http_error 400.
[[nodiscard]] element_type kserve_type(std::string const& input, std::string const& name);

/// Number of elements of an input. Throws http_error 400 for a shape with a negative length, or with too many elements.
[[nodiscard]] std::int64_t element_count(std::string const& input, std::vector<std::int64_t> const& shape);

/// Throws http_error 400: `value` at the place `index` is no number of the type.
[[noreturn]] void refuse_element(std::string const& input, element_type type, std::vector<std::int64_t> const& shape,
                                 std::size_t index, double value);

/// The numbers of little-endian bytes, as many as the shape has. Throws http_error 400.
[[nodiscard]] std::vector<float> numbers_of_bytes(std::string const& input, element_type type,
                                                  std::vector<std::int64_t> const& shape, std::string_view bytes);

/// The first `count` numbers of an input from an array whose elements may be wider than its type, rounded to float32.
/// Throws http_error 400 for one that the type, or float32, cannot hold.
template <class From>
[[nodiscard]] std::vector<float> numbers_of(std::string const& input, element_type type,
                                            std::vector<std::int64_t> const& shape, From const* values,
                                            std::size_t count) {
  // These types hold each element of the array as it is.
  bool const holds_all = (std::is_same_v<From, float> && type == element_type::float32) ||
                         (std::is_same_v<From, std::int64_t> && type == element_type::int64) ||
                         (std::is_same_v<From, std::uint64_t> && type == element_type::uint64);
  std::vector<float> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const value = static_cast<double>(values[i]);
    if (!holds_all && !io::can_hold(type, value)) refuse_element(input, type, shape, i, value);
    if (type == element_type::float64 && io::overflows_float(value))
      refuse_element(input, element_type::float32, shape, i, value);
    result.push_back(static_cast<float>(values[i]));
  }
  return result;
}

/// Appends the numbers of a text: one for each byte, and zeros up to a sample of the input. Throws http_error 400 if it
/// has more bytes than the sample has numbers.
void append_bytes(serving::tensor_spec const& input, std::string_view text, std::vector<float>& to);
/// Appends the numbers of `count` texts, each after its length in four bytes, as KServe's BYTES has them. Throws
/// http_error 400 also if the bytes are not as many texts.
void append_packed_bytes(serving::tensor_spec const& input, std::int64_t count, std::string_view packed,
                         std::vector<float>& to);
/// The bytes of an input's numbers: a short text becomes a whole sample. Throws http_error 413 if they are more than
/// `most`.
[[nodiscard]] std::size_t bytes_of_numbers(serving::tensor_spec const& input, std::int64_t samples, std::size_t most);
/// The bytes of base64, with or without '=' at its end; none if it is damaged.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
/// The shape of a sample as clients see it: a text is one element.
[[nodiscard]] inline std::vector<std::int64_t> visible_shape(serving::tensor_spec const& of) {
  return of.is_bytes ? std::vector<std::int64_t>{1} : of.shape;
}
/// The input with this name, or null.
[[nodiscard]] serving::tensor_spec const* find_spec(std::vector<serving::tensor_spec> const& specs,
                                                    std::string const& name);
/// Throws http_error 400 if an input of bytes has another type, or another input BYTES.
void check_bytes(serving::tensor_spec const& input, std::string const& type, bool is_bytes);

/// The inputs of a call, in the model's order.
class input_tensors {
 public:
  /// Keeps a reference.
  explicit input_tensors(std::vector<serving::tensor_spec> const& specs) : values(specs.size()), specs_(specs) {}

  std::vector<std::vector<float>> values;
  std::int64_t samples = -1;  ///< -1 before the first input

  /// The place of an input whose shape is a batch of the model's; of an input of bytes (n) or (n, 1). Throws http_error
  /// 400 for an unknown name, another shape, or another number of samples than that of earlier inputs.
  [[nodiscard]] std::size_t place_of(std::string const& name, std::vector<std::int64_t> const& shape);
  /// Throws http_error 400 if an input is missing.
  void check_all() const;

 private:
  std::vector<serving::tensor_spec> const& specs_;
};

/// The places of the outputs that a request names. Throws http_error 400 for an unknown name.
[[nodiscard]] std::size_t place_of_output(std::vector<serving::tensor_spec> const& specs, std::string const& name);

/// Throws http_error 400 if an input's part of shared memory has another size than its numbers.
void check_memory_size(std::string const& input, shared_part const& part, std::size_t expected);

/// True if the score at the first place comes before the one at the second in a list of the best ones: NaN is the
/// lowest one, and of equal ones the first comes first.
[[nodiscard]] bool is_better_score(float const* scores, std::size_t first, std::size_t second) noexcept;
/// Triton's classification of each sample: the `count` highest values, "0.900000:3" with their indices, or as many as
/// there are. NaN is the lowest one. Throws http_error 400 for a sample of more than a million numbers.
[[nodiscard]] std::vector<std::string> best_classes(std::vector<float> const& values, std::int64_t samples,
                                                    std::int64_t count);
/// Texts as KServe's BYTES has them: each after its length in four bytes.
[[nodiscard]] std::string packed_texts(std::vector<std::string> const& texts);

}  // namespace stagecraft::tool
