// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's PredictionService.
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/services.hpp"
#include "serve/grpc/tensor_proto.hpp"
#include "serve/input_tensors.hpp"
#include "tensorflow_serving.grpc.pb.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

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

/// Throws http_error 400 with TensorFlow Serving's words if the request has more or fewer inputs than the model.
void check_inputs(api::PredictRequest const& request, std::vector<serving::tensor_spec> const& inputs) {
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

void predict(rpc_call& call, api::PredictRequest const& request, api::PredictResponse& response) {
  auto const& spec = request.model_spec();
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  check_signature(spec.signature_name());
  auto const& known = version.description();
  check_inputs(request, known.inputs);
  input_tensors inputs(known.inputs);
  std::size_t bytes = request.ByteSizeLong();
  for (auto const& [name, tensor] : request.inputs()) {
    auto const shape = shape_of(name, tensor.tensor_shape());
    auto const place = inputs.place_of(name, shape);
    auto const& own = known.inputs[place];
    check_bytes(own, tensorflow::DataType_Name(tensor.dtype()), tensor.dtype() == tensorflow::DT_STRING);
    inputs.values[place] =
        own.is_bytes ? numbers_of_texts(call, own, tensor, inputs.samples) : numbers_of(call, name, tensor, shape);
    bytes += inputs.values[place].size() * sizeof(float);
    call.count_bytes(bytes);
  }
  inputs.check_all();
  std::vector<std::size_t> wanted;
  for (auto const& name : request.output_filter()) wanted.push_back(place_of_wanted(known.outputs, name, wanted));
  for (std::size_t i = 0; request.output_filter().empty() && i < known.outputs.size(); ++i) wanted.push_back(i);
  auto const samples = inputs.samples;
  auto const outputs = call.calls().call(version, std::move(inputs.values), samples, call.counted(),
                                         {.time = call.time_left(), .sequence = {}, .parent = call.parent()});
  for (auto const place : wanted) {
    auto& tensor = (*response.mutable_outputs())[known.outputs[place].name];
    tensor.Clear();
    write_tensor(known.outputs[place], samples, outputs[place], tensor);
  }
  write_spec(spec.name(), version.number, default_signature, *response.mutable_model_spec());
}

void write_metadata(rpc_call& call, api::GetModelMetadataRequest const& request,
                    api::GetModelMetadataResponse& response) {
  constexpr char const* field = "signature_def";
  auto const& spec = request.model_spec();
  if (!request.has_model_spec()) throw http_error{400, "Missing ModelSpec"};
  if (request.metadata_field().empty())
    throw http_error{400, "GetModelMetadataRequest must specify at least one metadata_field"};
  for (auto const& each : request.metadata_field())
    if (each != field) throw http_error{400, "Metadata field " + each + " is not supported"};
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  auto const& known = version.description();
  api::SignatureDefMap signatures;
  auto& signature = (*signatures.mutable_signature_def())[default_signature];
  for (auto const& each : known.inputs) write_info(each, (*signature.mutable_inputs())[each.name]);
  for (auto const& each : known.outputs) write_info(each, (*signature.mutable_outputs())[each.name]);
  signature.set_method_name("tensorflow/serving/predict");
  (*response.mutable_metadata())[field].PackFrom(signatures);
  write_spec(spec.name(), version.number, "", *response.mutable_model_spec());
}

/// Refuses examples as TensorFlow Serving does for a model whose signature is one of tensors, as an application's is.
void refuse_examples(rpc_call& call, bool has_spec, api::ModelSpec const& spec, std::string const& kind,
                     std::string const& method) {
  (void)find(call.calls(), has_spec, spec);
  check_signature(spec.signature_name());
  throw http_error{400, no_examples_text(kind, method)};
}

/// Refuses several tasks, by the first of them that TensorFlow Serving refuses for such a model.
void refuse_tasks(rpc_call& call, api::MultiInferenceRequest const& request) {
  if (request.tasks().empty()) throw http_error{400, "ModelSpec has no name specified."};
  auto const& task = request.tasks(0);
  auto const& spec = task.model_spec();
  (void)find(call.calls(), true, spec);
  if (!spec.signature_name().empty() && spec.signature_name() != default_signature)
    throw http_error{400, "Requested signature not found in model graph: " + spec.signature_name()};
  if (task.method_name() == "tensorflow/serving/classify")
    throw http_error{400, no_examples_text("classification", "classify")};
  if (task.method_name() == "tensorflow/serving/regress")
    throw http_error{400, no_examples_text("regression", "regress")};
  throw http_error{501, "Unsupported signature method_name: " + task.method_name()};
}

class prediction_service final : public api::PredictionService::CallbackService {
 public:
  explicit prediction_service(rpc_core& core) : core_(core) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context, api::PredictRequest const* request,
                                    api::PredictResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(), request->model_spec().name(),
                        [=](rpc_call& call) { predict(call, *request, *response); });
  }
  grpc::ServerUnaryReactor* GetModelMetadata(grpc::CallbackServerContext* context,
                                             api::GetModelMetadataRequest const* request,
                                             api::GetModelMetadataResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { write_metadata(call, *request, *response); });
  }
  grpc::ServerUnaryReactor* Classify(grpc::CallbackServerContext* context, api::ClassificationRequest const* request,
                                     api::ClassificationResponse*) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      refuse_examples(call, request->has_model_spec(), request->model_spec(), "classification", "classify");
    });
  }
  grpc::ServerUnaryReactor* Regress(grpc::CallbackServerContext* context, api::RegressionRequest const* request,
                                    api::RegressionResponse*) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      refuse_examples(call, request->has_model_spec(), request->model_spec(), "regression", "regress");
    });
  }
  grpc::ServerUnaryReactor* MultiInference(grpc::CallbackServerContext* context,
                                           api::MultiInferenceRequest const* request,
                                           api::MultiInferenceResponse*) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { refuse_tasks(call, *request); });
  }

 private:
  rpc_core& core_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_prediction_service(rpc_core& core) {
  return std::make_unique<prediction_service>(core);
}

}  // namespace stagecraft::tool
