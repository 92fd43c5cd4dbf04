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
  expected.insert(expected.begin(), shape.empty() ? 0 : shape[0]);
  if (shape != expected || shape[0] < 1)
    throw http_error{400, "input '" + name + "' has shape " + io::shape_text(shape) + ", expected a batch of " +
                              io::shape_text(spec->shape)};
  if (samples >= 0 && samples != shape[0]) throw http_error{400, "inputs have different numbers of samples"};
  samples = shape[0];
  return static_cast<std::size_t>(spec - specs_.begin());
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
                      [own](std::size_t a, std::size_t b) {
                        bool const a_is_none = std::isnan(own[a]), b_is_none = std::isnan(own[b]);
                        if (a_is_none || b_is_none) return a_is_none == b_is_none ? a < b : b_is_none;
                        return own[a] > own[b] || (own[a] == own[b] && a < b);
                      });
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
