// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/infer_call.hpp"

#include "serve/input_tensors.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = inference;

using parameters = google::protobuf::Map<std::string, api::InferParameter>;

/// A parameter that is a whole number from 0 on; none if it is not there.
std::optional<std::int64_t> number_of(parameters const& all, char const* name) {
  auto const found = all.find(name);
  if (found == all.end()) return std::nullopt;
  auto const& value = found->second;
  std::int64_t result = -1;
  if (value.parameter_choice_case() == api::InferParameter::kInt64Param) result = value.int64_param();
  if (value.parameter_choice_case() == api::InferParameter::kUint64Param)
    result = static_cast<std::int64_t>(std::min(value.uint64_param(), std::uint64_t{1} << 62));
  if (result < 0) throw http_error{400, "the parameter '" + std::string(name) + "' is no number from 0 on"};
  return result;
}

/// The part of shared memory that parameters name; without a region if they name none.
shared_part part_of(parameters const& all) {
  shared_part result;
  auto const found = all.find("shared_memory_region");
  if (found == all.end()) return result;
  result.region = found->second.string_param();
  result.offset = static_cast<std::uint64_t>(number_of(all, "shared_memory_offset").value_or(0));
  result.size = static_cast<std::uint64_t>(number_of(all, "shared_memory_byte_size").value_or(0));
  if (result.region.empty()) throw http_error{400, "the parameter 'shared_memory_region' names none"};
  return result;
}

bool is_set(parameters const& all, char const* name) {
  auto const found = all.find(name);
  if (found == all.end()) return false;
  if (found->second.parameter_choice_case() != api::InferParameter::kBoolParam)
    throw http_error{400, "the parameter '" + std::string(name) + "' is no boolean"};
  return found->second.bool_param();
}

/// Triton's parameters of calls: a time in microseconds, a priority, a sequence.
call_options options_of(rpc_call const& call, parameters const& all) {
  call_options result;
  result.parent = call.parent();
  result.time = std::chrono::duration_cast<std::chrono::microseconds>(call.options().time);
  std::chrono::microseconds const given(number_of(all, "timeout").value_or(0));
  if (given.count() > 0 && (result.time.count() == 0 || given < result.time)) result.time = given;
  auto const priority = number_of(all, "priority").value_or(0);
  if (priority > most_priority)
    throw http_error{400, "the parameter 'priority' is above " + std::to_string(most_priority)};
  result.priority = static_cast<int>(priority);
  auto& sequence = result.sequence;
  sequence.starts = is_set(all, "sequence_start");
  sequence.ends = is_set(all, "sequence_end");
  auto const id = all.find("sequence_id");
  if (id == all.end()) return result;
  sequence.is_text = id->second.parameter_choice_case() == api::InferParameter::kStringParam;
  if (sequence.is_text)
    sequence.id = id->second.string_param();
  else if (id->second.parameter_choice_case() == api::InferParameter::kUint64Param && id->second.uint64_param() > 0)
    sequence.id = std::to_string(id->second.uint64_param());
  else if (auto const number = number_of(all, "sequence_id").value_or(0); number > 0)
    sequence.id = std::to_string(number);
  return result;
}

/// Calls `with(list)` with the contents of a type, and counts the numbers of all lists in `count`. Throws http_error
/// 400 for half precision, which has raw contents alone.
template <class With>
auto with_contents(std::string const& input, element_type type, api::InferTensorContents const& contents,
                   With const& with) {
  switch (type) {
    case element_type::float32: return with(contents.fp32_contents());
    case element_type::float64: return with(contents.fp64_contents());
    case element_type::int64: return with(contents.int64_contents());
    case element_type::uint64: return with(contents.uint64_contents());
    case element_type::boolean: return with(contents.bool_contents());
    case element_type::int8:
    case element_type::int16:
    case element_type::int32: return with(contents.int_contents());
    case element_type::uint8:
    case element_type::uint16:
    case element_type::uint32: return with(contents.uint_contents());
    case element_type::float16:
    case element_type::bfloat16: break;
  }
  throw http_error{400, "input '" + input + "' has datatype '" +
                            std::string(type == element_type::float16 ? "FP16" : "BF16") +
                            "', which raw_input_contents alone can hold"};
}

int all_contents(api::InferTensorContents const& contents) {
  return contents.bool_contents_size() + contents.int_contents_size() + contents.int64_contents_size() +
         contents.uint_contents_size() + contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

std::vector<float> numbers_of(api::ModelInferRequest::InferInputTensor const& input, element_type type,
                              std::vector<std::int64_t> const& shape, std::string const* raw) {
  auto const& name = input.name();
  auto const size = static_cast<std::size_t>(element_count(name, shape));
  auto const fail = [&](std::size_t found, std::string const& what, std::size_t expected) {
    throw http_error{
        400, "input '" + name + "' has " + std::to_string(found) + what + ", expected " + std::to_string(expected)};
  };
  if (raw != nullptr) {
    if (all_contents(input.contents()) > 0)
      throw http_error{400, "contents field must not be specified when using raw_input_contents for '" + name + "'"};
    auto const expected = size * io::facts_of(type).size;
    if (raw->size() != expected) fail(raw->size(), " raw bytes", expected);
    return numbers_of_bytes(name, type, shape, *raw);
  }
  return with_contents(name, type, input.contents(), [&](auto const& list) {
    auto const count = static_cast<std::size_t>(list.size());
    if (all_contents(input.contents()) != list.size())
      throw http_error{400, "input '" + name + "' has contents of another type than '" + input.datatype() + "'"};
    if (count != size) fail(count, " numbers", size);
    return tool::numbers_of(name, type, shape, list.data(), count);
  });
}

/// The numbers of an input of BYTES.
std::vector<float> numbers_of_texts(rpc_call& call, serving::tensor_spec const& spec,
                                    api::ModelInferRequest::InferInputTensor const& input, std::size_t& bytes,
                                    std::string const* raw) {
  std::vector<std::int64_t> const shape(input.shape().begin(), input.shape().end());
  auto const count = element_count(input.name(), shape);
  call.count_bytes(bytes += bytes_of_numbers(spec, count, call.options().max_bytes_in_flight));
  std::vector<float> values;
  if (auto const part = part_of(input.parameters()); !part.region.empty()) {
    append_packed_bytes(spec, count, call.calls().memory().read(part), values);
    return values;
  }
  auto const& texts = input.contents().bytes_contents();
  if (raw != nullptr) {
    if (all_contents(input.contents()) > 0)
      throw http_error{400,
                       "contents field must not be specified when using raw_input_contents for '" + input.name() + "'"};
    append_packed_bytes(spec, count, *raw, values);
    return values;
  }
  if (all_contents(input.contents()) != texts.size() || texts.size() != count)
    throw http_error{400, "input '" + input.name() + "' has " + std::to_string(texts.size()) +
                              " bytes_contents, expected " + std::to_string(count) + " and no others"};
  for (auto const& each : texts) append_bytes(spec, each, values);
  return values;
}

}  // namespace

std::int64_t kserve_version(std::string const& text) {
  if (text.empty()) return 0;
  std::int64_t number = 0;
  auto const* const end = text.data() + text.size();
  auto const [last, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || last != end || number < 1)
    throw http_error{400, "failed to get model version from specified version string '" + text +
                              "', version should be an integral value > 0"};
  return number;
}

served_version find_kserve_version(server_calls& calls, std::string const& model, std::string const& version) {
  auto const number = kserve_version(version);
  try {
    return calls.find(model, {.number = number, .label = ""});
  } catch (http_error const&) {
    bool const is_known = number > 0 && !calls.states(model).empty();
    throw http_error{404, "Request for unknown model: '" + model + "' " +
                              (is_known ? "version " + version + " is not at ready state" : "is not found")};
  }
}

void infer(rpc_call& call, api::ModelInferRequest const& request, api::ModelInferResponse& response) {
  auto options = options_of(call, request.parameters());
  auto version = find_kserve_version(call.calls(), request.model_name(), request.model_version());
  if (request.model_version().empty())
    version = call.calls().find(request.model_name(), std::move(version), options.sequence);
  auto const& known = version.description();
  if (request.inputs_size() > static_cast<int>(known.inputs.size()))
    throw http_error{400, "there are more inputs than the model's"};
  bool const is_raw = request.raw_input_contents_size() > 0;
  auto const given = std::count_if(request.inputs().begin(), request.inputs().end(),
                                   [](auto const& one) { return !one.parameters().contains("shared_memory_region"); });
  if (is_raw && request.raw_input_contents_size() != given)
    throw http_error{400, "expected " + std::to_string(given) + " raw_input_contents, found " +
                              std::to_string(request.raw_input_contents_size())};
  int next_raw = 0;
  input_tensors inputs(known.inputs);
  std::size_t bytes = request.ByteSizeLong();
  for (int i = 0; i < request.inputs_size(); ++i) {
    auto const& each = request.inputs(i);
    std::vector<std::int64_t> const shape(each.shape().begin(), each.shape().end());
    if (auto const* const spec = find_spec(known.inputs, each.name()); spec != nullptr) {
      bool const is_text = each.datatype() == "BYTES";
      check_bytes(*spec, each.datatype(), is_text);
      if (is_text) {
        auto const place = inputs.place_of(each.name(), shape);
        bool const has_raw = is_raw && !each.parameters().contains("shared_memory_region");
        inputs.values[place] =
            numbers_of_texts(call, *spec, each, bytes, has_raw ? &request.raw_input_contents(next_raw++) : nullptr);
        continue;
      }
    }
    auto const type = kserve_type(each.name(), each.datatype());
    std::vector<float> values;
    if (auto const part = part_of(each.parameters()); !part.region.empty()) {
      auto const& memory = call.calls().memory();
      auto const size = static_cast<std::size_t>(element_count(each.name(), shape)) * io::facts_of(type).size;
      check_memory_size(each.name(), part, size);
      call.count_bytes(bytes + size);
      values = numbers_of_bytes(each.name(), type, shape, memory.read(part));
    } else {
      values = numbers_of(each, type, shape, is_raw ? &request.raw_input_contents(next_raw++) : nullptr);
    }
    bytes += values.size() * sizeof(float);
    call.count_bytes(bytes);
    inputs.values[inputs.place_of(each.name(), shape)] = std::move(values);
  }
  inputs.check_all();
  std::vector<std::size_t> wanted;
  std::vector<std::int64_t> classes(known.outputs.size());
  std::vector<shared_part> parts(known.outputs.size());
  for (auto const& each : request.outputs()) {
    auto const place = place_of_output(known.outputs, each.name());
    if (std::find(wanted.begin(), wanted.end(), place) != wanted.end())
      throw http_error{400, "output '" + each.name() + "' is asked for twice"};
    wanted.push_back(place);
    classes[place] = number_of(each.parameters(), "classification").value_or(0);
    parts[place] = part_of(each.parameters());
    if (classes[place] > 0 && !parts[place].region.empty())
      throw http_error{400, "output '" + each.name() + "' has 'classification' and shared memory as well"};
  }
  for (std::size_t i = 0; request.outputs().empty() && i < known.outputs.size(); ++i) wanted.push_back(i);

  auto const samples = inputs.samples;
  options.time = call.time_left(options.time);
  auto const outputs = call.calls().call(version, std::move(inputs.values), samples, call.counted(), options);
  response.set_model_name(request.model_name());
  response.set_model_version(std::to_string(version.number));
  response.set_id(request.id());
  for (auto const place : wanted) {
    auto const& spec = known.outputs[place];
    auto& tensor = *response.add_outputs();
    tensor.set_name(spec.name);
    if (classes[place] > 0) {
      auto const found = best_classes(outputs[place], samples, classes[place]);
      tensor.set_datatype("BYTES");
      tensor.add_shape(samples);
      tensor.add_shape(static_cast<std::int64_t>(found.size()) / samples);
      response.add_raw_output_contents(packed_texts(found));
      continue;
    }
    tensor.set_datatype("FP32");
    tensor.add_shape(samples);
    for (auto const length : spec.shape) tensor.add_shape(length);
    auto const size = outputs[place].size() * sizeof(float);
    auto const& part = parts[place];
    if (part.region.empty()) {
      response.add_raw_output_contents(outputs[place].data(), size);
      continue;
    }
    call.calls().memory().write(part, outputs[place].data(), size);
    auto& told = *tensor.mutable_parameters();
    told["shared_memory_region"].set_string_param(part.region);
    told["shared_memory_offset"].set_int64_param(static_cast<std::int64_t>(part.offset));
    told["shared_memory_byte_size"].set_int64_param(static_cast<std::int64_t>(size));
    response.add_raw_output_contents("");
  }
}

}  // namespace stagecraft::tool
