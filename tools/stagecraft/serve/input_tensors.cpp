// SPDX-License-Identifier: BSD-3-Clause
#include "serve/input_tensors.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace stagecraft::tool {

std::optional<element_type> find_kserve_type(std::string_view name) {
  constexpr std::pair<std::string_view, element_type> types[]{
      {"FP32", element_type::float32},  {"FP64", element_type::float64},  {"FP16", element_type::float16},
      {"BOOL", element_type::boolean},  {"INT8", element_type::int8},     {"INT16", element_type::int16},
      {"INT32", element_type::int32},   {"INT64", element_type::int64},   {"UINT8", element_type::uint8},
      {"UINT16", element_type::uint16}, {"UINT32", element_type::uint32}, {"UINT64", element_type::uint64},
      {"BF16", element_type::bfloat16}};
  for (auto const& [each, type] : types)
    if (name == each) return type;
  return std::nullopt;
}

element_type kserve_type(std::string const& input, std::string const& name) {
  auto const type = find_kserve_type(name);
  if (!type) throw http_error{400, "input '" + input + "' has datatype '" + name + "', which is not taken"};
  return *type;
}

std::int64_t element_count(std::string const& input, std::vector<std::int64_t> const& shape) {
  std::int64_t size = 1;
  for (auto const length : shape) {
    if (length < 0 || (length > 0 && size > (std::int64_t{1} << 40) / length))
      throw http_error{400, "input '" + input + "' has a shape that cannot be"};
    size *= length;
  }
  return size;
}

void refuse_element(std::string const& input, element_type type, std::vector<std::int64_t> const& shape,
                    std::size_t index, double value) {
  throw http_error{400, "input '" + input + "': element" + io::place_text(shape, index) + " is " +
                            io::text_of_number(value) + ", which is no number of type " +
                            std::string(io::facts_of(type).name)};
}

std::vector<float> numbers_of_bytes(std::string const& input, element_type type, std::vector<std::int64_t> const& shape,
                                    std::string_view bytes) {
  stored_tensor tensor{"", type, shape, std::vector<std::byte>(bytes.size())};
  if (!bytes.empty()) std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
  std::vector<float> values;
  try {
    values = io::to_floats(tensor, "input '" + input + "'");
  } catch (file_error const& why) {  // a double beyond float32
    throw http_error{400, why.what()};
  }
  for (std::size_t i = 0; i < values.size() && type == element_type::boolean; ++i)
    if (!io::can_hold(type, static_cast<double>(values[i])))
      refuse_element(input, type, shape, i, static_cast<double>(values[i]));
  return values;
}

std::size_t input_tensors::place_of(std::string const& name, std::vector<std::int64_t> const& shape) {
  auto const spec = std::find_if(specs_.begin(), specs_.end(), [&](auto const& one) { return one.name == name; });
  if (spec == specs_.end()) throw http_error{400, "there is no input '" + name + "'"};
  auto expected = spec->shape;
  if (spec->is_bytes) expected.assign(shape.size() == 2 ? 1 : 0, 1);
  expected.insert(expected.begin(), shape.empty() ? 0 : shape[0]);
  if (spec->is_bytes && (shape != expected || shape[0] < 1))
    throw http_error{
        400, "input '" + name + "' has shape " + io::shape_text(shape) + ", expected one text a sample, (n, 1)"};
  if (shape != expected || shape[0] < 1)
    throw http_error{400, "input '" + name + "' has shape " + io::shape_text(shape) + ", expected a batch of " +
                              io::shape_text(spec->shape)};
  if (samples >= 0 && samples != shape[0]) throw http_error{400, "inputs have different numbers of samples"};
  samples = shape[0];
  return static_cast<std::size_t>(spec - specs_.begin());
}

void append_bytes(serving::tensor_spec const& input, std::string_view text, std::vector<float>& to) {
  auto const size = static_cast<std::size_t>(input.size());
  if (text.size() > size)
    throw http_error{400, "input '" + input.name + "' has a text of " + std::to_string(text.size()) +
                              " bytes, expected at most " + std::to_string(size)};
  for (char const each : text) to.push_back(static_cast<float>(static_cast<unsigned char>(each)));
  to.resize(to.size() + size - text.size());
}

void append_packed_bytes(serving::tensor_spec const& input, std::int64_t count, std::string_view packed,
                         std::vector<float>& to) {
  constexpr std::size_t length_bytes = 4;
  auto const fail = [&] {
    throw http_error{400, "input '" + input.name + "': its bytes are not " + std::to_string(count) +
                              " texts, each after its length in four bytes"};
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (packed.size() < length_bytes) fail();
    std::size_t length = 0;
    for (std::size_t byte = length_bytes; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(packed[byte]);
    packed.remove_prefix(length_bytes);
    if (length > packed.size()) fail();
    append_bytes(input, packed.substr(0, length), to);
    packed.remove_prefix(length);
  }
  if (!packed.empty()) fail();
}

std::size_t bytes_of_numbers(serving::tensor_spec const& input, std::int64_t samples, std::size_t most) {
  auto const bytes = static_cast<double>(samples) * static_cast<double>(input.size()) * sizeof(float);
  if (bytes > static_cast<double>(most))
    throw http_error{413, "input '" + input.name + "' has more than " + std::to_string(most) + " bytes of numbers"};
  return static_cast<std::size_t>(bytes);
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  auto const is_whole = text.size() % 4 == 0;
  for (int i = 0; i < 2 && is_whole && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string result;
  result.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char const each : text) {
    // TensorFlow's own base64 has '-' and '_'.
    auto const place = digits.find(each == '-' ? '+' : each == '_' ? '/' : each);
    if (place == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(place);
    if ((count += 6) < 8) continue;
    count -= 8;
    result += static_cast<char>(bits >> count & 0xffU);
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return result;
}

serving::tensor_spec const* find_spec(std::vector<serving::tensor_spec> const& specs, std::string const& name) {
  auto const found = std::find_if(specs.begin(), specs.end(), [&](auto const& one) { return one.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

void check_bytes(serving::tensor_spec const& input, std::string const& type, bool is_bytes) {
  if (input.is_bytes == is_bytes) return;
  throw http_error{400, "input '" + input.name + "' has datatype '" + type + "', which is not taken" +
                            (input.is_bytes ? ": expected BYTES" : "")};
}

void input_tensors::check_all() const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].empty()) throw http_error{400, "input '" + specs_[i].name + "' is missing"};
}

std::size_t place_of_output(std::vector<serving::tensor_spec> const& specs, std::string const& name) {
  auto const spec = std::find_if(specs.begin(), specs.end(), [&](auto const& one) { return one.name == name; });
  if (spec == specs.end()) throw http_error{400, "there is no output '" + name + "'"};
  return static_cast<std::size_t>(spec - specs.begin());
}

void check_memory_size(std::string const& input, shared_part const& part, std::size_t expected) {
  if (part.size == expected) return;
  throw http_error{400, "input '" + input + "' has " + std::to_string(part.size) +
                            " bytes of shared memory, expected " + std::to_string(expected)};
}

bool is_better_score(float const* scores, std::size_t first, std::size_t second) noexcept {
  bool const first_is_none = std::isnan(scores[first]), second_is_none = std::isnan(scores[second]);
  if (first_is_none || second_is_none) return first_is_none == second_is_none ? first < second : second_is_none;
  return scores[first] > scores[second] || (scores[first] == scores[second] && first < second);
}

std::vector<std::string> best_classes(std::vector<float> const& values, std::int64_t samples, std::int64_t count) {
  constexpr std::size_t most = 1000000;
  auto const size = values.size() / static_cast<std::size_t>(samples);
  if (size > most) throw http_error{400, "classification output tensor too large"};
  auto const wanted = std::min(size, static_cast<std::size_t>(count));
  std::vector<std::string> texts;
  std::vector<std::size_t> order(size);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    auto const* const own = values.data() + static_cast<std::size_t>(sample) * size;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                      [own](std::size_t a, std::size_t b) { return is_better_score(own, a, b); });
    for (std::size_t i = 0; i < wanted; ++i)
      texts.push_back(std::to_string(own[order[i]]) + ":" + std::to_string(order[i]));
  }
  return texts;
}

std::string packed_texts(std::vector<std::string> const& texts) {
  std::string bytes;
  for (auto const& each : texts) {
    for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(each.size() >> shift & 0xffU);
    bytes += each;
  }
  return bytes;
}

}  // namespace stagecraft::tool
