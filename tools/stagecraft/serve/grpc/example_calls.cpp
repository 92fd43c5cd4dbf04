// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/example_calls.hpp"

#include "serve/examples/example_inputs.hpp"
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/tensor_proto.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

using outputs_of_call = std::vector<std::vector<float>>;

outputs_of_call call_model(rpc_call& call, served_version const& version, example_inputs& examples) {
  return call.calls().call(version, std::move(examples.inputs), examples.samples, call.counted(),
                           {.time = call.time_left(), .sequence = {}, .parent = call.parent()});
}

/// Reads the examples of a request.
void read_input(api::Input const& input, example_inputs& to) {
  auto const read_all = [&](auto const& list) {
    for (auto const& each : list.examples()) to.read(each);
  };
  if (input.kind_case() == api::Input::kExampleList) {
    read_all(input.example_list());
  } else if (input.kind_case() == api::Input::kExampleListWithContext) {
    to.read_context(input.example_list_with_context().context());
    read_all(input.example_list_with_context());
  }
  if (to.samples == 0) throw http_error{400, "Input is empty."};
}

outputs_of_call call_with(rpc_call& call, served_version const& version, bound_signature const& signature,
                          api::Input const& input, std::int64_t& samples) {
  auto const most = call.options().max_bytes_in_flight;
  example_inputs examples(signature, version.description(), call.counted(), most);
  read_input(input, examples);
  samples = examples.samples;
  count_answer(signature, samples, call.counted(), most);
  return call_model(call, version, examples);
}

void write(bound_signature const& signature, std::vector<float> const& scores, std::int64_t samples,
           api::ClassificationResult& to) {
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    auto const* const own = scores.data() + static_cast<std::size_t>(sample) * signature.classes;
    auto& classifications = *to.add_classifications();
    for (auto const one : answered_classes(signature, own)) {
      auto& each = *classifications.add_classes();
      if (!signature.labels.empty()) each.set_label(signature.labels[one]);
      each.set_score(own[one]);
    }
  }
}

void write(std::vector<float> const& values, api::RegressionResult& to) {
  for (auto const each : values) to.add_regressions()->set_value(each);
}

/// The name of a signature in answers.
std::string name_of(std::string const& asked) { return std::string(model_signatures::name_of(asked)); }

template <class Request, class Response, class Write>
void answer(rpc_call& call, Request const& request, Response& response, bool classifies, Write const& write) {
  auto const& spec = request.model_spec();
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  auto const& signature = find_signature(version, spec.signature_name(), classifies);
  std::int64_t samples = 0;
  auto const outputs = call_with(call, version, signature, request.input(), samples);
  write(signature, outputs[signature.output], samples);
  write_spec(spec.name(), version.number, name_of(spec.signature_name()), *response.mutable_model_spec());
}

}  // namespace

void classify(rpc_call& call, api::ClassificationRequest const& request, api::ClassificationResponse& response) {
  answer(call, request, response, true, [&](auto const& signature, auto const& scores, auto samples) {
    write(signature, scores, samples, *response.mutable_result());
  });
}

void regress(rpc_call& call, api::RegressionRequest const& request, api::RegressionResponse& response) {
  answer(call, request, response, false,
         [&](auto const&, auto const& values, auto) { write(values, *response.mutable_result()); });
}

void infer_tasks(rpc_call& call, api::MultiInferenceRequest const& request, api::MultiInferenceResponse& response) {
  if (request.tasks().empty()) throw http_error{400, "ModelSpec has no name specified."};
  auto const& first = request.tasks(0).model_spec();
  auto const version = find(call.calls(), true, first);
  std::vector<bound_signature const*> signatures;
  std::set<std::string> names;
  for (auto const& task : request.tasks()) {
    auto const& spec = task.model_spec();
    if (spec.name().empty()) throw http_error{400, "Found ModelSpec with an empty model name."};
    if (spec.name() != first.name())
      throw http_error{400, "All ModelSpecs in a MultiInferenceRequest must access the same model name."};
    auto const name = name_of(spec.signature_name());
    if (!names.insert(name).second) throw http_error{400, "Duplicate evaluation of signature: " + name};
    bool const classifies = task.method_name() == "tensorflow/serving/classify";
    if (!version.signatures->has(name)) throw http_error{400, "Requested signature not found in model graph: " + name};
    if (!classifies && task.method_name() != "tensorflow/serving/regress")
      throw http_error{501, "Unsupported signature method_name: " + task.method_name()};
    signatures.push_back(&find_signature(version, name, classifies));
    if (signatures.back()->features != signatures.front()->features)
      throw http_error{400, "Input tensor must be the same for all Signatures."};
  }
  std::int64_t samples = 0;
  auto const outputs = call_with(call, version, *signatures.front(), request.input(), samples);
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    auto const& signature = *signatures[i];
    auto& result = *response.add_results();
    count_answer(signature, samples * static_cast<std::int64_t>(i + 1), call.counted(),
                 call.options().max_bytes_in_flight);
    if (signature.classifies)
      write(signature, outputs[signature.output], samples, *result.mutable_classification_result());
    else
      write(outputs[signature.output], *result.mutable_regression_result());
    auto const& spec = request.tasks(static_cast<int>(i)).model_spec();
    write_spec(spec.name(), version.number, name_of(spec.signature_name()), *result.mutable_model_spec());
  }
}

void predict_examples(rpc_call& call, served_version const& version, bound_signature const& signature,
                      api::PredictRequest const& request, api::PredictResponse& response) {
  auto const& known = version.description();
  check_inputs(request, signature_inputs());
  auto const own = signature_outputs(signature, known);
  auto const wanted = places_of_wanted(request, own);
  auto const& [name, tensor] = *request.inputs().begin();
  if (name != "inputs") throw http_error{400, "there is no input '" + name + "'"};
  if (tensor.dtype() != tensorflow::DT_STRING)
    throw http_error{400, "input '" + name + "' has datatype '" + tensorflow::DataType_Name(tensor.dtype()) +
                              "', which is not taken: expected DT_STRING"};
  auto const shape = shape_of(name, tensor.tensor_shape());
  if (shape.size() != 1 || shape[0] < 1)
    throw http_error{400, "input '" + name + "': expected serialized examples of shape (n,), n from 1 on"};
  auto const& texts = tensor.string_val();
  if (!tensor.tensor_content().empty() || texts.size() > shape[0])
    throw http_error{400, "input '" + name + "' has tensor_content, or more texts than samples"};
  auto const most = call.options().max_bytes_in_flight;
  example_inputs examples(signature, known, call.counted(), most);
  std::size_t bytes_read = 0;  // the last text may stand for many examples
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    std::string_view text;
    if (!texts.empty()) text = texts.Get(static_cast<int>(std::min<std::int64_t>(i, texts.size() - 1)));
    if ((bytes_read += text.size()) > most)
      throw http_error{413, "the examples have more than " + std::to_string(most) + " bytes"};
    examples.read(text);
  }
  auto const samples = examples.samples;
  count_answer(signature, samples, call.counted(), most);
  auto const outputs = call_model(call, version, examples);
  auto const& values = outputs[signature.output];
  for (auto const place : wanted) {
    auto& to = (*response.mutable_outputs())[own[place].name];
    to.Clear();
    if (!signature.classifies) {
      write_tensor(own[place], samples, values, to);
      continue;
    }
    std::vector<float> scores;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      auto const* const all = values.data() + static_cast<std::size_t>(sample) * signature.classes;
      for (auto const one : answered_classes(signature, all))
        if (own[place].is_bytes)
          to.add_string_val(signature.labels[one]);
        else
          scores.push_back(all[one]);
    }
    write_tensor(own[place], samples, scores, to);
    if (own[place].is_bytes) to.set_dtype(tensorflow::DT_STRING);
  }
  write_spec(request.model_spec().name(), version.number, name_of(request.model_spec().signature_name()),
             *response.mutable_model_spec());
}

}  // namespace stagecraft::tool
