// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's PredictionService.
#include "serve/examples/example_inputs.hpp"
#include "serve/grpc/example_calls.hpp"
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/services.hpp"
#include "serve/grpc/tensor_proto.hpp"
#include "serve/input_tensors.hpp"
#include "tensorflow_serving.grpc.pb.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

void predict(rpc_call& call, api::PredictRequest const& request, api::PredictResponse& response) {
  auto const& spec = request.model_spec();
  auto const version = find(call.calls(), request.has_model_spec(), spec);
  check_signature(version, spec.signature_name());
  if (auto const* const signature = version.signatures->find(spec.signature_name()))
    return predict_examples(call, version, *signature, request, response);
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
  auto const wanted = places_of_wanted(request, known.outputs);
  auto const samples = inputs.samples;
  auto const outputs = call.calls().call(version, std::move(inputs.values), samples, call.counted(),
                                         {.time = call.time_left(), .sequence = {}, .parent = call.parent()});
  for (auto const place : wanted) {
    auto& tensor = (*response.mutable_outputs())[known.outputs[place].name];
    tensor.Clear();
    write_tensor(known.outputs[place], samples, outputs[place], tensor);
  }
  write_spec(spec.name(), version.number, std::string(model_signatures::name_of(spec.signature_name())),
             *response.mutable_model_spec());
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
  auto const write = [&](std::string_view name, std::vector<serving::tensor_spec> const& inputs,
                         std::vector<serving::tensor_spec> const& outputs, std::string const& method) {
    auto& to = (*signatures.mutable_signature_def())[std::string(name)];
    for (auto const& each : inputs) write_info(each, (*to.mutable_inputs())[each.name]);
    for (auto const& each : outputs) write_info(each, (*to.mutable_outputs())[each.name]);
    to.set_method_name(method);
  };
  write(version.signatures->of_tensors(), visible_inputs(known), known.outputs, "tensorflow/serving/predict");
  for (auto const& [name, own] : version.signatures->of_examples())
    write(name, signature_inputs(), signature_outputs(own, known), own.method_name());
  (*response.mutable_metadata())[field].PackFrom(signatures);
  write_spec(spec.name(), version.number, "", *response.mutable_model_spec());
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
                                     api::ClassificationResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(), request->model_spec().name(),
                        [=](rpc_call& call) { classify(call, *request, *response); });
  }
  grpc::ServerUnaryReactor* Regress(grpc::CallbackServerContext* context, api::RegressionRequest const* request,
                                    api::RegressionResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(), request->model_spec().name(),
                        [=](rpc_call& call) { regress(call, *request, *response); });
  }
  grpc::ServerUnaryReactor* MultiInference(grpc::CallbackServerContext* context,
                                           api::MultiInferenceRequest const* request,
                                           api::MultiInferenceResponse* response) override {
    auto const model = request->tasks().empty() ? std::string() : request->tasks(0).model_spec().name();
    return answer_later(core_, context, request->ByteSizeLong(), model,
                        [=](rpc_call& call) { infer_tasks(call, *request, *response); });
  }

 private:
  rpc_core& core_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_prediction_service(rpc_core& core) {
  return std::make_unique<prediction_service>(core);
}

}  // namespace stagecraft::tool
