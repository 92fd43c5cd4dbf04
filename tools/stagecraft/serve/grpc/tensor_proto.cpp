// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/tensor_proto.hpp"

#include "serve/input_tensors.hpp"

#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

namespace stagecraft::tool {

namespace {

std::optional<element_type> type_of(tensorflow::DataType type) {
  switch (type) {
    case tensorflow::DT_FLOAT: return element_type::float32;
    case tensorflow::DT_DOUBLE: return element_type::float64;
    case tensorflow::DT_HALF: return element_type::float16;
    case tensorflow::DT_BFLOAT16: return element_type::bfloat16;
    case tensorflow::DT_INT8: return element_type::int8;
    case tensorflow::DT_INT16: return element_type::int16;
    case tensorflow::DT_INT32: return element_type::int32;
    case tensorflow::DT_INT64: return element_type::int64;
    case tensorflow::DT_UINT8: return element_type::uint8;
    case tensorflow::DT_UINT16: return element_type::uint16;
    case tensorflow::DT_UINT32: return element_type::uint32;
    case tensorflow::DT_UINT64: return element_type::uint64;
    case tensorflow::DT_BOOL: return element_type::boolean;
    default: return std::nullopt;
  }
}

/// Calls `with` with the list of the type, an array and its length.
template <class With>
auto with_list(tensorflow::TensorProto const& tensor, element_type type, With const& with) {
  auto const call = [&](auto const& list) { return with(list.data(), static_cast<std::size_t>(list.size())); };
  switch (type) {
    case element_type::float64: return call(tensor.double_val());
    case element_type::float32: return call(tensor.float_val());
    case element_type::float16:
    case element_type::bfloat16: return call(tensor.half_val());
    case element_type::int64: return call(tensor.int64_val());
    case element_type::uint64: return call(tensor.uint64_val());
    case element_type::uint32: return call(tensor.uint32_val());
    case element_type::boolean: return call(tensor.bool_val());
    default: return call(tensor.int_val());
  }
}

template <class Names, class NameOf>
std::string joined(Names const& names, NameOf const& name_of) {
  std::set<std::string> sorted;
  for (auto const& each : names) sorted.insert(name_of(each));
  std::string text;
  for (auto const& each : sorted) text += (text.empty() ? "" : ",") + each;
  return "{" + text + "}";
}

/// The place of an output of the filter. Throws http_error 400 with TensorFlow Serving's words.
std::size_t place_of_wanted(std::vector<serving::tensor_spec> const& outputs, std::string const& name,
                            std::vector<std::size_t> const& before) {
  auto const found = std::find_if(outputs.begin(), outputs.end(), [&](auto const& one) { return one.name == name; });
  if (found == outputs.end())
    throw http_error{400, "output tensor alias not found in signature: " + name +
                              " Outputs expected to be in the set " +
                              joined(outputs, [](auto const& one) { return one.name; }) + "."};
  auto const place = static_cast<std::size_t>(found - outputs.begin());
  if (std::find(before.begin(), before.end(), place) != before.end())
    throw http_error{400, "duplicate output tensor alias: " + name};
  return place;
}

}  // namespace

std::vector<std::int64_t> shape_of(std::string const& input, tensorflow::TensorShapeProto const& shape) {
  if (shape.unknown_rank()) throw http_error{400, "input '" + input + "' has no shape"};
  std::vector<std::int64_t> lengths;
  for (auto const& each : shape.dim()) lengths.push_back(each.size());
  return lengths;
}

std::vector<float> numbers_of(rpc_call& call, std::string const& input, tensorflow::TensorProto const& tensor,
                              std::vector<std::int64_t> const& shape) {
  auto const type = type_of(tensor.dtype());
  if (!type)
    throw http_error{400, "input '" + input + "' has the type " + std::to_string(tensor.dtype()) +
                              " of TensorFlow's, which is not taken"};
  auto const size = static_cast<std::size_t>(element_count(input, shape));
  auto const element_size = io::facts_of(*type).size;
  auto const fail_of_length = [&](std::size_t count, std::string const& what, std::size_t expected) {
    throw http_error{
        400, "input '" + input + "' has " + std::to_string(count) + what + ", expected " + std::to_string(expected)};
  };
  // A short list may stand for a shape of any size.
  if (size > call.options().max_bytes_in_flight / sizeof(float))
    throw http_error{413, "input '" + input + "' has more than " + std::to_string(call.options().max_bytes_in_flight) +
                              " bytes of numbers"};
  call.count_bytes(size * sizeof(float));
  if (auto const& bytes = tensor.tensor_content(); !bytes.empty()) {
    if (bytes.size() != size * element_size)
      fail_of_length(bytes.size(), " bytes of tensor_content", size * element_size);
    return numbers_of_bytes(input, *type, shape, bytes);
  }
  return with_list(tensor, *type, [&](auto const* values, std::size_t count) {
    if (count > size) fail_of_length(count, " numbers", size);
    std::vector<float> result;
    if (*type == element_type::float16 || *type == element_type::bfloat16) {
      result = numbers_of(input, element_type::uint16, shape, values, count);  // the bits
      for (auto& each : result) {
        auto const bits = static_cast<std::uint16_t>(each);
        each = *type == element_type::float16 ? io::float_of_half(bits)
                                              : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      }
    } else {
      result = numbers_of(input, *type, shape, values, count);
    }
    result.resize(size, result.empty() ? 0.0F : result.back());
    return result;
  });
}

std::vector<float> numbers_of_texts(rpc_call& call, serving::tensor_spec const& input,
                                    tensorflow::TensorProto const& tensor, std::int64_t samples) {
  call.count_bytes(bytes_of_numbers(input, samples, call.options().max_bytes_in_flight));
  auto const& texts = tensor.string_val();
  if (!tensor.tensor_content().empty() || texts.size() > samples)
    throw http_error{400, "input '" + input.name + "' has tensor_content, or more texts than samples"};
  std::vector<float> values;
  for (std::int64_t i = 0; i < samples; ++i)
    append_bytes(input, texts.empty() ? std::string_view() : texts.Get(std::min(static_cast<int>(i), texts.size() - 1)),
                 values);
  return values;
}

void write_tensor(serving::tensor_spec const& spec, std::int64_t samples, std::vector<float> const& values,
                  tensorflow::TensorProto& to) {
  to.set_dtype(tensorflow::DT_FLOAT);
  to.mutable_tensor_shape()->add_dim()->set_size(samples);
  for (auto const length : spec.shape) to.mutable_tensor_shape()->add_dim()->set_size(length);
  to.mutable_float_val()->Add(values.begin(), values.end());
}

void write_info(serving::tensor_spec const& spec, tensorflow::TensorInfo& to) {
  to.set_name(spec.name + ":0");
  to.set_dtype(spec.is_bytes ? tensorflow::DT_STRING : tensorflow::DT_FLOAT);
  to.mutable_tensor_shape()->add_dim()->set_size(-1);
  for (auto const length : spec.shape) to.mutable_tensor_shape()->add_dim()->set_size(length);
}

void check_inputs(tensorflow::serving::PredictRequest const& request, std::vector<serving::tensor_spec> const& inputs) {
  if (request.inputs().size() == inputs.size()) return;
  std::vector<std::string> extra, missing;
  for (auto const& [name, tensor] : request.inputs())
    if (std::none_of(inputs.begin(), inputs.end(), [&](auto const& one) { return one.name == name; }))
      extra.push_back(name);
  for (auto const& each : inputs)
    if (!request.inputs().contains(each.name)) missing.push_back(each.name);
  auto const same = [](std::string const& name) { return name; };
  throw http_error{400, "input size does not match signature: " + std::to_string(request.inputs().size()) +
                            "!=" + std::to_string(inputs.size()) + " len(" +
                            joined(request.inputs(), [](auto const& one) { return one.first; }) + ") != len(" +
                            joined(inputs, [](auto const& one) { return one.name; }) + "). Sent extra: " +
                            joined(extra, same) + ". Missing but required: " + joined(missing, same) + "."};
}

std::vector<std::size_t> places_of_wanted(tensorflow::serving::PredictRequest const& request,
                                          std::vector<serving::tensor_spec> const& outputs) {
  std::vector<std::size_t> wanted;
  for (auto const& name : request.output_filter()) wanted.push_back(place_of_wanted(outputs, name, wanted));
  for (std::size_t i = 0; request.output_filter().empty() && i < outputs.size(); ++i) wanted.push_back(i);
  return wanted;
}

}  // namespace stagecraft::tool
