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

/// Refuses parameters that would change the answer if they were not ignored.
template <class Parameters>
void check_parameters(Parameters const& parameters, std::string const& of) {
  for (auto const* each : {"shared_memory_region", "classification", "sequence_id"}) {
    auto const found = parameters.find(each);
    if (found == parameters.end()) continue;
    auto const& value = found->second;
    bool const is_none =
        value.parameter_choice_case() == api::InferParameter::kInt64Param
            ? value.int64_param() == 0
            : value.parameter_choice_case() == api::InferParameter::kUint64Param && value.uint64_param() == 0;
    if (!is_none) throw http_error{400, of + " has the parameter '" + each + "', which is not taken"};
  }
}

/// The time that a request allows itself, in microseconds: Triton's parameter `timeout`.
std::chrono::microseconds time_of(rpc_call const& call, api::ModelInferRequest const& request) {
  auto most = std::chrono::duration_cast<std::chrono::microseconds>(call.options().time);
  auto const found = request.parameters().find("timeout");
  if (found == request.parameters().end()) return most;
  auto const& value = found->second;
  std::int64_t given = -1;
  if (value.parameter_choice_case() == api::InferParameter::kInt64Param) given = value.int64_param();
  if (value.parameter_choice_case() == api::InferParameter::kUint64Param)
    given = static_cast<std::int64_t>(std::min(value.uint64_param(), std::uint64_t{1} << 62));
  if (given < 0) throw http_error{400, "the parameter 'timeout' is no time in microseconds"};
  if (given > 0 && (most.count() == 0 || given < most.count())) most = std::chrono::microseconds(given);
  return most;
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
  auto const version = find_kserve_version(call.calls(), request.model_name(), request.model_version());
  auto const& known = version.runtime->description();
  auto const most = time_of(call, request);
  check_parameters(request.parameters(), "the request");
  if (request.inputs_size() > static_cast<int>(known.inputs.size()))
    throw http_error{400, "there are more inputs than the model's"};
  bool const is_raw = request.raw_input_contents_size() > 0;
  if (is_raw && request.raw_input_contents_size() != request.inputs_size())
    throw http_error{400, "expected " + std::to_string(request.inputs_size()) + " raw_input_contents, found " +
                              std::to_string(request.raw_input_contents_size())};
  input_tensors inputs(known.inputs);
  std::size_t bytes = request.ByteSizeLong();
  for (int i = 0; i < request.inputs_size(); ++i) {
    auto const& each = request.inputs(i);
    check_parameters(each.parameters(), "input '" + each.name() + "'");
    auto const type = kserve_type(each.name(), each.datatype());
    std::vector<std::int64_t> const shape(each.shape().begin(), each.shape().end());
    auto values = numbers_of(each, type, shape, is_raw ? &request.raw_input_contents(i) : nullptr);
    bytes += values.size() * sizeof(float);
    call.count_bytes(bytes);
    inputs.values[inputs.place_of(each.name(), shape)] = std::move(values);
  }
  inputs.check_all();
  std::vector<std::size_t> wanted;
  for (auto const& each : request.outputs()) {
    check_parameters(each.parameters(), "output '" + each.name() + "'");
    auto const place = place_of_output(known.outputs, each.name());
    if (std::find(wanted.begin(), wanted.end(), place) != wanted.end())
      throw http_error{400, "output '" + each.name() + "' is asked for twice"};
    wanted.push_back(place);
  }
  for (std::size_t i = 0; request.outputs().empty() && i < known.outputs.size(); ++i) wanted.push_back(i);

  auto const samples = inputs.samples;
  auto const outputs =
      call.calls().call(version, std::move(inputs.values), samples, call.counted(), call.time_left(most));
  response.set_model_name(request.model_name());
  response.set_model_version(std::to_string(version.number));
  response.set_id(request.id());
  for (auto const place : wanted) {
    auto const& spec = known.outputs[place];
    auto& tensor = *response.add_outputs();
    tensor.set_name(spec.name);
    tensor.set_datatype("FP32");
    tensor.add_shape(samples);
    for (auto const length : spec.shape) tensor.add_shape(length);
    response.add_raw_output_contents(outputs[place].data(), outputs[place].size() * sizeof(float));
  }
}

}  // namespace stagecraft::tool
