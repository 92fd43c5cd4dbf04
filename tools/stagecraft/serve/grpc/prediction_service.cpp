// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's PredictionService.
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/services.hpp"
#include "serve/grpc/tensor_proto.hpp"
#include "serve/input_tensors.hpp"
#include "tensorflow_serving.grpc.pb.h"

#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

void predict(rpc_call& call, api::PredictRequest const& request, api::PredictResponse& response) {
  auto const& spec = request.model_spec();
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  check_signature(spec.signature_name());
  auto const& known = version.runtime->description();
  input_tensors inputs(known.inputs);
  std::size_t bytes = request.ByteSizeLong();
  for (auto const& [name, tensor] : request.inputs()) {
    auto const shape = shape_of(name, tensor.tensor_shape());
    auto const place = inputs.place_of(name, shape);
    inputs.values[place] = numbers_of(call, name, tensor, shape);
    bytes += inputs.values[place].size() * sizeof(float);
    call.count_bytes(bytes);
  }
  inputs.check_all();
  // Each output at most once, as TensorFlow Serving's filter is a set of names.
  std::vector<std::size_t> wanted;
  for (auto const& name : request.output_filter()) wanted.push_back(place_of_output(known.outputs, name));
  for (std::size_t i = 0; request.output_filter().empty() && i < known.outputs.size(); ++i) wanted.push_back(i);
  auto const samples = inputs.samples;
  auto const outputs = call.calls().call(version, std::move(inputs.values), samples, call.counted(), call.time_left());
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
  if (request.metadata_field().empty())
    throw http_error{400, "GetModelMetadataRequest must specify at least one metadata_field"};
  for (auto const& each : request.metadata_field())
    if (each != field) throw http_error{400, "Metadata field " + each + " is not supported"};
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  auto const& known = version.runtime->description();
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
  throw http_error{400, "Expected " + kind + " signature method_name to be tensorflow/serving/" + method +
                            ". Was: tensorflow/serving/predict"};
}

class prediction_service final : public api::PredictionService::CallbackService {
 public:
  explicit prediction_service(rpc_core& core) : core_(core) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context, api::PredictRequest const* request,
                                    api::PredictResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(),
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
    return answer_now(core_, context, true, [=](rpc_call& call) {
      if (request->tasks().empty()) throw http_error{400, "Inference request must have at least one task"};
      auto const& task = request->tasks(0);
      constexpr std::string_view prefix = "tensorflow/serving/";
      auto const name = std::string_view(task.method_name());
      bool const is_regression = name == "tensorflow/serving/regress";
      if (!is_regression && name != "tensorflow/serving/classify")
        throw http_error{501, "Unsupported signature method_name: " + task.method_name()};
      refuse_examples(call, task.has_model_spec(), task.model_spec(), is_regression ? "regression" : "classification",
                      std::string(name.substr(prefix.size())));
    });
  }

 private:
  rpc_core& core_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_prediction_service(rpc_core& core) {
  return std::make_unique<prediction_service>(core);
}

}  // namespace stagecraft::tool
