// SPDX-License-Identifier: BSD-3-Clause
// A client of both services of gRPC, for check_grpc.py.
//
//     grpc_client ADDRESS calls CLASS SCORE SCORE       all calls, and their errors; the numbers are those that REST
//     answers grpc_client ADDRESS examples CLASS SCORE SCORE    calls with examples, of a model with signatures of them
//     grpc_client ADDRESS refused STATUS                a call of the model that ends with this status
//     grpc_client ADDRESS load                          calls on four threads, a stream, and health, until the server
//     ends
//
// The environment has GRPC_CLIENT_TOKEN, a bearer token, and GRPC_CLIENT_CA, a file of certificates, if they are used.
#include "health.grpc.pb.h"
#include "kserve.grpc.pb.h"
#include "tensorflow_serving.grpc.pb.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace tf = tensorflow;
namespace api = tensorflow::serving;
namespace kserve = inference;
using grpc::StatusCode;

int failures = 0;

void check(char const* what, bool condition, std::string const& found = {}) {
  if (condition) return;
  ++failures;
  std::printf("%s: %s\n", what, found.c_str());
}

struct client {
  explicit client(std::shared_ptr<grpc::Channel> const& channel)
      : prediction(api::PredictionService::NewStub(channel)),
        model(api::ModelService::NewStub(channel)),
        inference(kserve::GRPCInferenceService::NewStub(channel)),
        health(grpc::health::v1::Health::NewStub(channel)) {}
  std::unique_ptr<api::PredictionService::Stub> prediction;
  std::unique_ptr<api::ModelService::Stub> model;
  std::unique_ptr<kserve::GRPCInferenceService::Stub> inference;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

void prepare(grpc::ClientContext& context) {
  if (auto const* const token = std::getenv("GRPC_CLIENT_TOKEN"))
    context.AddMetadata("authorization", std::string("Bearer ") + token);
}

/// Calls `method` of a stub within half a minute.
template <class Stub, class Method, class Request, class Response>
grpc::Status ask(Stub& stub, Method method, Request const& request, Response& response,
                 std::chrono::microseconds time = std::chrono::seconds(30)) {
  grpc::ClientContext context;
  prepare(context);
  context.set_deadline(std::chrono::system_clock::now() + time);
  return (stub.*method)(&context, request, &response);
}

void expect(char const* what, grpc::Status const& status, StatusCode code, std::string_view text) {
  check(what, status.error_code() == code && status.error_message().find(text) != std::string::npos,
        std::to_string(status.error_code()) + " " + status.error_message());
}

// The rows of check_serve.py, as often as there are samples.
constexpr int pixels[6] = {0, 51, 102, 153, 204, 255};
constexpr double size[2] = {0.5, -1};

tf::TensorProto& add(api::PredictRequest& request, char const* name, tf::DataType type,
                     std::vector<std::int64_t> const& shape) {
  auto& tensor = (*request.mutable_inputs())[name];
  tensor.Clear();
  tensor.set_dtype(type);
  for (auto const length : shape) tensor.mutable_tensor_shape()->add_dim()->set_size(length);
  return tensor;
}

api::PredictRequest predict_request(int samples = 1) {
  api::PredictRequest request;
  request.mutable_model_spec()->set_name("scores");
  auto& first = add(request, "pixels", tf::DT_UINT8, {samples, 2, 3});
  auto& second = add(request, "size", tf::DT_DOUBLE, {samples, 2});
  for (int i = 0; i < samples; ++i) {
    for (int const each : pixels) first.add_int_val(each);
    for (double const each : size) second.add_double_val(each);
  }
  return request;
}

kserve::ModelInferRequest infer_request() {
  kserve::ModelInferRequest request;
  request.set_model_name("scores");
  request.set_id("7");
  auto& first = *request.add_inputs();
  first.set_name("pixels");
  first.set_datatype("UINT8");
  for (int const length : {1, 2, 3}) first.add_shape(length);
  for (int const each : pixels) first.mutable_contents()->add_uint_contents(static_cast<unsigned>(each));
  auto& second = *request.add_inputs();
  second.set_name("size");
  second.set_datatype("FP64");
  for (int const length : {1, 2}) second.add_shape(length);
  for (double const each : size) second.mutable_contents()->add_fp64_contents(each);
  return request;
}

using scores = std::vector<float>;  // the class and both scores

scores numbers_of(api::PredictResponse const& response) {
  scores result;
  for (auto const* const name : {"class", "scores"})
    if (auto const found = response.outputs().find(name); found != response.outputs().end())
      result.insert(result.end(), found->second.float_val().begin(), found->second.float_val().end());
  return result;
}
scores numbers_of(kserve::ModelInferResponse const& response) {
  scores result;
  for (auto const& bytes : response.raw_output_contents()) {
    auto const before = result.size();
    result.resize(before + bytes.size() / sizeof(float));
    std::memcpy(result.data() + before, bytes.data(), bytes.size());
  }
  return result;
}

void check_predict(client& to, scores const& expected) {
  auto& stub = *to.prediction;
  auto const predict = [&](api::PredictRequest const& request, api::PredictResponse& response) {
    return ask(stub, &api::PredictionService::Stub::Predict, request, response);
  };
  api::PredictResponse response;
  auto status = predict(predict_request(), response);
  check("predict", status.ok() && numbers_of(response) == expected, status.error_message());
  check("the version", response.model_spec().name() == "scores" && response.model_spec().version().value() == 1 &&
                           response.model_spec().signature_name() == "serving_default");

  // Bytes, a list of one number for all, and an output alone; samples in several batches.
  auto request = predict_request();
  auto& bytes = add(request, "pixels", tf::DT_UINT8, {1, 2, 3});
  for (int const each : pixels) *bytes.mutable_tensor_content() += static_cast<char>(each);
  request.add_output_filter("scores");
  status = predict(request, response);
  check("bytes", status.ok() && numbers_of(response) == scores(expected.begin() + 1, expected.end()),
        status.error_message());
  request = predict_request();
  add(request, "pixels", tf::DT_HALF, {1, 2, 3}).add_half_val(0x3c00);  // 1
  api::PredictResponse of_ones;
  status = predict(request, of_ones);
  add(request, "pixels", tf::DT_INT64, {1, 2, 3});
  for (int i = 0; i < 6; ++i) (*request.mutable_inputs())["pixels"].add_int64_val(1);
  check("a short list", status.ok() && predict(request, response).ok() && numbers_of(of_ones) == numbers_of(response),
        status.error_message());
  status = predict(predict_request(40), response);
  check("many samples",
        status.ok() && response.outputs().at("class").float_val_size() == 40 &&
            response.outputs().at("scores").tensor_shape().dim(0).size() == 40,
        status.error_message());

  struct row {
    char const* what;
    StatusCode code;
    char const* text;
    std::function<void(api::PredictRequest&)> change;
  };
  row const rows[]{
      {"no model", StatusCode::INVALID_ARGUMENT, "Missing ModelSpec", [](auto& r) { r.clear_model_spec(); }},
      {"model", StatusCode::NOT_FOUND, "Servable not found for request: Latest(none)",
       [](auto& r) { r.mutable_model_spec()->set_name("none"); }},
      {"version", StatusCode::NOT_FOUND, "Servable not found for request: Specific(scores, 7)",
       [](auto& r) { r.mutable_model_spec()->mutable_version()->set_value(7); }},
      {"label", StatusCode::INVALID_ARGUMENT, "Unrecognized servable version label: canary",
       [](auto& r) { r.mutable_model_spec()->set_version_label("canary"); }},
      {"signature", StatusCode::FAILED_PRECONDITION, "Serving signature key \"x\" not found.",
       [](auto& r) { r.mutable_model_spec()->set_signature_name("x"); }},
      {"missing", StatusCode::INVALID_ARGUMENT,
       "input size does not match signature: 1!=2 len({pixels}) != len({pixels,size}). Sent extra: {}. Missing but "
       "required: {size}.",
       [](auto& r) { r.mutable_inputs()->erase("size"); }},
      {"one more", StatusCode::INVALID_ARGUMENT, "Sent extra: {x}. Missing but required: {}.",
       [](auto& r) { add(r, "x", tf::DT_FLOAT, {1}); }},
      {"unknown", StatusCode::INVALID_ARGUMENT, "there is no input 'x'",
       [](auto& r) {
         add(r, "x", tf::DT_FLOAT, {1});
         r.mutable_inputs()->erase("size");
       }},
      {"shape", StatusCode::INVALID_ARGUMENT, "has shape (6,), expected a batch of (2, 3)",
       [](auto& r) { add(r, "pixels", tf::DT_FLOAT, {6}); }},
      {"negative", StatusCode::INVALID_ARGUMENT, "expected a batch of (2, 3)",
       [](auto& r) { add(r, "pixels", tf::DT_FLOAT, {-1, 2, 3}); }},
      {"huge", StatusCode::RESOURCE_EXHAUSTED, "bytes of numbers",
       [](auto& r) {
         add(r, "size", tf::DT_FLOAT, {std::int64_t{1} << 36, 2}).add_float_val(1);
         add(r, "pixels", tf::DT_FLOAT, {std::int64_t{1} << 36, 2, 3}).add_float_val(1);
       }},
      {"samples", StatusCode::INVALID_ARGUMENT, "different numbers of samples",
       [](auto& r) { add(r, "size", tf::DT_FLOAT, {2, 2}); }},
      {"texts", StatusCode::INVALID_ARGUMENT, "which is not taken",
       [](auto& r) { add(r, "size", tf::DT_STRING, {1, 2}); }},
      {"more numbers", StatusCode::INVALID_ARGUMENT, "input 'pixels' has 7 numbers, expected 6",
       [](auto& r) { (*r.mutable_inputs())["pixels"].add_int_val(1); }},
      {"fewer bytes", StatusCode::INVALID_ARGUMENT, "has 3 bytes of tensor_content, expected 16",
       [](auto& r) { (*r.mutable_inputs())["size"].set_tensor_content("abc"); }},
      {"too large for its type", StatusCode::INVALID_ARGUMENT,
       "input 'pixels': element[0, 1, 2] is 300, which is no number of type uint8",
       [](auto& r) { (*r.mutable_inputs())["pixels"].set_int_val(5, 300); }},
      {"too large for float32", StatusCode::INVALID_ARGUMENT,
       "input 'size': element[0, 1] is 1e+300, which is no number of type float32",
       [](auto& r) { (*r.mutable_inputs())["size"].set_double_val(1, 1e300); }},
      {"output", StatusCode::INVALID_ARGUMENT,
       "output tensor alias not found in signature: x Outputs expected to be in the set {class,scores}.",
       [](auto& r) { r.add_output_filter("x"); }},
      {"output twice", StatusCode::INVALID_ARGUMENT, "duplicate output tensor alias: class", [](auto& r) {
         for (int i = 0; i < 2; ++i) r.add_output_filter("class");
       }}};
  for (auto const& each : rows) {
    auto changed = predict_request();
    each.change(changed);
    expect(each.what, predict(changed, response), each.code, each.text);
  }
  // A client's own deadline ends the call.
  status = ask(stub, &api::PredictionService::Stub::Predict, predict_request(50000), response,
               std::chrono::microseconds(200));
  expect("deadline", status, StatusCode::DEADLINE_EXCEEDED, "");
}

void check_models(client& to) {
  api::GetModelMetadataRequest request;
  api::GetModelMetadataResponse response;
  request.mutable_model_spec()->set_name("scores");
  auto const metadata = [&] {
    return ask(*to.prediction, &api::PredictionService::Stub::GetModelMetadata, request, response);
  };
  expect("no field", metadata(), StatusCode::INVALID_ARGUMENT, "must specify at least one metadata_field");
  request.add_metadata_field("signature_def");
  api::SignatureDefMap signatures;
  check("metadata",
        metadata().ok() && response.metadata().at("signature_def").UnpackTo(&signatures) &&
            signatures.signature_def().at("serving_default").method_name() == "tensorflow/serving/predict" &&
            signatures.signature_def().at("serving_default").inputs().at("pixels").tensor_shape().dim(2).size() == 3);
  request.add_metadata_field("x");
  expect("field", metadata(), StatusCode::INVALID_ARGUMENT, "Metadata field x is not supported");

  api::ClassificationRequest examples;
  api::ClassificationResponse classes;
  examples.mutable_model_spec()->set_name("scores");
  expect("classify", ask(*to.prediction, &api::PredictionService::Stub::Classify, examples, classes),
         StatusCode::INVALID_ARGUMENT, "Was: tensorflow/serving/predict");

  api::GetModelStatusRequest which;
  api::GetModelStatusResponse states;
  which.mutable_model_spec()->set_name("scores");
  check("status", ask(*to.model, &api::ModelService::Stub::GetModelStatus, which, states).ok() &&
                      states.model_version_status_size() == 1 && states.model_version_status(0).version() == 1 &&
                      states.model_version_status(0).state() == api::ModelVersionStatus::AVAILABLE &&
                      states.model_version_status(0).status().error_code() == 0);
  which.mutable_model_spec()->set_name("none");
  expect("status of none", ask(*to.model, &api::ModelService::Stub::GetModelStatus, which, states),
         StatusCode::NOT_FOUND, "Could not find any versions of model none");
  which.mutable_model_spec()->mutable_version()->set_value(7);
  expect("status of a version", ask(*to.model, &api::ModelService::Stub::GetModelStatus, which, states),
         StatusCode::NOT_FOUND, "Could not find version 7 of model none");

  // The policy and labels of a folder that the server has may change; another folder is refused.
  api::ReloadConfigRequest reload;
  api::ReloadConfigResponse reloaded;
  auto const change = [&] {
    return ask(*to.model, &api::ModelService::Stub::HandleReloadConfigRequest, reload, reloaded);
  };
  expect("no list", change(), StatusCode::INVALID_ARGUMENT, "Only ModelConfigList is currently supported");
  auto& config = *reload.mutable_config()->mutable_model_config_list()->add_config();
  config.set_name("scores");
  config.set_base_path("/");
  expect("a folder", change(), StatusCode::PERMISSION_DENIED, "--allow_reload_config");
  config.set_base_path(std::getenv("GRPC_CLIENT_FOLDER"));
  (*config.mutable_version_labels())["stable"] = 7;
  expect("a label", change(), StatusCode::FAILED_PRECONDITION,
         "Request to assign label to version 7 of model scores, which is not currently available for inference");
  (*config.mutable_version_labels())["stable"] = 1;
  auto const status = change();
  check("reload", status.ok() && reloaded.status().error_code() == 0, status.error_message());
  auto predict = predict_request();
  predict.mutable_model_spec()->set_version_label("stable");
  api::PredictResponse answer;
  check("a label's version", ask(*to.prediction, &api::PredictionService::Stub::Predict, predict, answer).ok() &&
                                 answer.model_spec().version().value() == 1);
}

void check_infer(client& to, scores const& expected) {
  using stub = kserve::GRPCInferenceService::Stub;
  auto& service = *to.inference;
  kserve::ModelInferResponse response;
  auto const infer = [&](kserve::ModelInferRequest const& request) {
    return ask(service, &stub::ModelInfer, request, response);
  };
  auto status = infer(infer_request());
  check("infer",
        status.ok() && numbers_of(response) == expected && response.id() == "7" && response.model_version() == "1",
        status.error_message());
  auto request = infer_request();
  for (auto& each : *request.mutable_inputs()) each.clear_contents();
  auto& raw_pixels = *request.add_raw_input_contents();
  for (int const each : pixels) raw_pixels += static_cast<char>(each);
  request.add_raw_input_contents(size, sizeof size);
  request.add_outputs()->set_name("scores");
  status = infer(request);
  check("raw", status.ok() && numbers_of(response) == scores(expected.begin() + 1, expected.end()),
        status.error_message());

  struct row {
    char const *what, *text;
    StatusCode code;
    std::function<void(kserve::ModelInferRequest&)> change;
  };
  constexpr auto wrong = StatusCode::INVALID_ARGUMENT;
  row const rows[]{
      {"model", "Request for unknown model: 'none' is not found", StatusCode::NOT_FOUND,
       [](auto& r) { r.set_model_name("none"); }},
      {"version", "version 7 is not at ready state", StatusCode::NOT_FOUND, [](auto& r) { r.set_model_version("7"); }},
      {"no version", "should be an integral value > 0", wrong, [](auto& r) { r.set_model_version("x"); }},
      {"type", "has datatype 'BYTES', which is not taken", wrong,
       [](auto& r) { r.mutable_inputs(0)->set_datatype("BYTES"); }},
      {"contents", "contents of another type than 'INT8'", wrong,
       [](auto& r) { r.mutable_inputs(0)->set_datatype("INT8"); }},
      {"half", "which raw_input_contents alone can hold", wrong,
       [](auto& r) { r.mutable_inputs(0)->set_datatype("FP16"); }},
      {"number", "element[0, 0, 1] is 256, which is no number of type uint8", wrong,
       [](auto& r) { r.mutable_inputs(0)->mutable_contents()->set_uint_contents(1, 256); }},
      {"count", "has 7 numbers, expected 6", wrong,
       [](auto& r) { r.mutable_inputs(0)->mutable_contents()->add_uint_contents(1); }},
      {"huge", "a shape that cannot be", wrong,
       [](auto& r) { r.mutable_inputs(0)->set_shape(0, std::int64_t{1} << 62); }},
      {"name", "there is no input 'x'", wrong, [](auto& r) { r.mutable_inputs(0)->set_name("x"); }},
      {"missing", "input 'size' is missing", wrong, [](auto& r) { r.mutable_inputs()->RemoveLast(); }},
      {"raw and typed", "contents field must not be specified", wrong,
       [](auto& r) {
         r.add_raw_input_contents("123456");
         r.add_raw_input_contents(size, sizeof size);
       }},
      {"one raw", "expected 2 raw_input_contents, found 1", wrong, [](auto& r) { r.add_raw_input_contents("1"); }},
      {"output", "there is no output 'x'", wrong, [](auto& r) { r.add_outputs()->set_name("x"); }},
      {"priority", "the parameter 'priority' is no number from 0 on", wrong,
       [](auto& r) { (*r.mutable_parameters())["priority"].set_int64_param(-1); }},
      {"memory", "begun without --allow_shared_memory", wrong,
       [](auto& r) { (*r.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("x"); }},
      {"sequence", "parameter 'sequence_id'", wrong,
       [](auto& r) { (*r.mutable_parameters())["sequence_id"].set_int64_param(5); }}};
  for (auto const& each : rows) {
    auto changed = infer_request();
    each.change(changed);
    expect(each.what, infer(changed), each.code, each.text);
  }

  // A stream: an error is one of its request alone.
  grpc::ClientContext context;
  prepare(context);
  auto const stream = service.ModelStreamInfer(&context);
  for (int i = 0; i < 6; ++i) {
    auto one = infer_request();
    one.set_id(std::to_string(i));
    if (i == 3) one.set_model_name("none");
    stream->Write(one);
  }
  stream->WritesDone();
  kserve::ModelStreamInferResponse part;
  int count = 0;
  for (; stream->Read(&part); ++count)
    check("stream",
          part.infer_response().id() == std::to_string(count) &&
              (count == 3 ? part.error_message() == "Request for unknown model: 'none' is not found"
                          : part.error_message().empty() && numbers_of(part.infer_response()) == expected),
          part.error_message());
  check("the stream's end", stream->Finish().ok() && count == 6, std::to_string(count));
}

void check_server(client& to) {
  using stub = kserve::GRPCInferenceService::Stub;
  auto& service = *to.inference;
  kserve::ServerLiveResponse live;
  check("live", ask(service, &stub::ServerLive, kserve::ServerLiveRequest(), live).ok() && live.live());
  kserve::ServerReadyResponse ready;
  check("ready", ask(service, &stub::ServerReady, kserve::ServerReadyRequest(), ready).ok() && ready.ready());
  kserve::ServerMetadataResponse server;
  check("server", ask(service, &stub::ServerMetadata, kserve::ServerMetadataRequest(), server).ok() &&
                      server.name() == "stagecraft");
  for (auto const* const name : {"scores", "none"}) {
    kserve::ModelReadyRequest which;
    kserve::ModelReadyResponse model;
    which.set_name(name);
    check("model ready", ask(service, &stub::ModelReady, which, model).ok() && model.ready() == (name[0] == 's'), name);
  }
  kserve::ModelMetadataRequest which;
  kserve::ModelMetadataResponse model;
  which.set_name("scores");
  check("KServe's metadata", ask(service, &stub::ModelMetadata, which, model).ok() && model.inputs_size() == 2 &&
                                 model.inputs(0).name() == "pixels" && model.inputs(0).shape(0) == -1 &&
                                 model.outputs(1).datatype() == "FP32" && model.versions(0) == "1");
  kserve::RepositoryIndexResponse index;
  check("index", ask(service, &stub::RepositoryIndex, kserve::RepositoryIndexRequest(), index).ok() &&
                     index.models_size() == 1 && index.models(0).state() == "READY");
  kserve::ModelStatisticsResponse counts;
  check("statistics", ask(service, &stub::ModelStatistics, kserve::ModelStatisticsRequest(), counts).ok() &&
                          counts.model_stats_size() == 1 && counts.model_stats(0).inference_count() > 40);
}

/// Health, which needs no token.
void check_health(client& to) {
  namespace health = grpc::health::v1;
  using stub = health::Health::Stub;
  health::HealthCheckRequest request;
  health::HealthCheckResponse response;
  for (auto const* const name : {"", "inference.GRPCInferenceService", "tensorflow.serving.PredictionService"}) {
    request.set_service(name);
    response.Clear();
    check("health",
          ask(*to.health, &stub::Check, request, response).ok() &&
              response.status() == health::HealthCheckResponse::SERVING,
          name);
  }
  request.set_service("none");
  expect("health of no service", ask(*to.health, &stub::Check, request, response), StatusCode::NOT_FOUND, "'none'");
  for (auto const* const name : {"", "none"}) {
    request.set_service(name);
    grpc::ClientContext context;
    auto const stream = to.health->Watch(&context, request);
    check("watched health",
          stream->Read(&response) && response.status() == (name[0] == 'n' ? health::HealthCheckResponse::SERVICE_UNKNOWN
                                                                          : health::HealthCheckResponse::SERVING));
    context.TryCancel();
    check("the end of watching", stream->Finish().error_code() == StatusCode::CANCELLED);
  }
}

/// The example of check_serve.py's row, in bytes as clients of TensorFlow Serving send it, or a part of it.
std::string example(bool has_pixels = true, bool has_size = true) {
  tf::Example result;
  auto& features = *result.mutable_features()->mutable_feature();
  for (int const each : pixels)
    if (has_pixels) features["pixels"].mutable_float_list()->add_value(static_cast<float>(each));
  for (double const each : size)
    if (has_size) features["size"].mutable_float_list()->add_value(static_cast<float>(each));
  features["other"].mutable_bytes_list()->add_value("no feature of the signature");
  return result.SerializeAsString();
}

template <class Request>
Request of_signature(char const* signature) {
  Request request;
  request.mutable_model_spec()->set_name("scores");
  request.mutable_model_spec()->set_signature_name(signature);
  return request;
}

void check_examples(client& to, scores const& expected) {
  using stub = api::PredictionService::Stub;
  auto const is_expected = [&](api::Classifications const& found) {
    return found.classes_size() == 2 && found.classes(0).label() == "no" && found.classes(0).score() == expected[1] &&
           found.classes(1).label() == "yes" && found.classes(1).score() == expected[2];
  };
  auto classify = of_signature<api::ClassificationRequest>("classify");
  for (int i = 0; i < 3; ++i) classify.mutable_input()->mutable_example_list()->add_examples(example());
  api::ClassificationResponse classes;
  auto status = ask(*to.prediction, &stub::Classify, classify, classes);
  check("classify", status.ok() && classes.result().classifications_size() == 3, status.error_message());
  for (auto const& each : classes.result().classifications()) check("classified", is_expected(each));
  check("classify's signature",
        classes.model_spec().signature_name() == "classify" && classes.model_spec().version().value() == 1);
  auto regress = of_signature<api::RegressionRequest>("regress");
  auto& list = *regress.mutable_input()->mutable_example_list_with_context();
  list.set_context(example(false, true));
  list.add_examples(example(true, false));
  api::RegressionResponse values;
  status = ask(*to.prediction, &stub::Regress, regress, values);
  check("regress",
        status.ok() && values.result().regressions_size() == 1 && values.result().regressions(0).value() == expected[0],
        status.error_message());
  api::MultiInferenceRequest several;
  *several.mutable_input() = classify.input();
  for (auto const* const name : {"classify", "regress"}) {
    auto& task = *several.add_tasks();
    task.set_method_name(std::string("tensorflow/serving/") + name);
    task.mutable_model_spec()->set_name("scores");
    task.mutable_model_spec()->set_signature_name(name);
  }
  api::MultiInferenceResponse results;
  status = ask(*to.prediction, &stub::MultiInference, several, results);
  check("several tasks",
        status.ok() && results.results_size() == 2 &&
            results.results(0).classification_result().classifications_size() == 3 &&
            results.results(1).regression_result().regressions(2).value() == expected[0],
        status.error_message());
  auto predict = of_signature<api::PredictRequest>("classify");
  add(predict, "inputs", tf::DT_STRING, {1}).add_string_val(example());
  api::PredictResponse outputs;
  status = ask(*to.prediction, &stub::Predict, predict, outputs);
  check("predict of examples",
        status.ok() && outputs.outputs().at("classes").string_val(1) == "yes" &&
            outputs.outputs().at("scores").float_val(1) == expected[2],
        status.error_message());

  // Wrong ones.
  auto const refused = [&](char const* what, auto const& request, std::string_view text) {
    expect(what, ask(*to.prediction, &stub::Classify, request, classes), StatusCode::INVALID_ARGUMENT, text);
  };
  auto wrong = of_signature<api::ClassificationRequest>("classify");
  refused("no examples", wrong, "Input is empty.");
  wrong.mutable_input()->mutable_example_list()->add_examples(example(false, true));
  refused("a feature that is missing", wrong, "Feature: pixels (data type: float) is required but could not be found.");
  // Each beginning of an example, and each with another byte: an answer or an error of the example, whatever it is.
  auto const whole = example();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    for (auto const& bytes : {whole.substr(0, i), changed}) {
      wrong.mutable_input()->mutable_example_list()->set_examples(0, bytes);
      auto const found = ask(*to.prediction, &stub::Classify, wrong, classes);
      check("a damaged example", found.ok() || found.error_code() == StatusCode::INVALID_ARGUMENT,
            std::to_string(i) + " " + found.error_message());
    }
  }
  wrong.mutable_input()->mutable_example_list()->set_examples(0, whole.substr(0, whole.size() - 1));
  refused("a cut example", wrong, "Could not parse example input, at index 0");
  wrong.mutable_model_spec()->set_signature_name("regress");
  refused("another method", wrong, "to be tensorflow/serving/classify. Was: tensorflow/serving/regress");
  wrong.mutable_model_spec()->set_signature_name("none");
  refused("no signature", wrong, "No signature was found with the name: none");
  several.mutable_tasks(1)->mutable_model_spec()->set_signature_name("other");
  expect("other features", ask(*to.prediction, &stub::MultiInference, several, results), StatusCode::INVALID_ARGUMENT,
         "Input tensor must be the same for all Signatures.");
}

/// Calls until the server ends. Each call is answered, or refused as by a server that is no longer there. gRPC's
/// library cancels a call that comes between the server's end and the client's notice of it.
void load(client& to) {
  std::atomic<int> answered = 0, streamed = 0, others = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (;;) {
        api::PredictResponse response;
        auto const status = ask(*to.prediction, &api::PredictionService::Stub::Predict, predict_request(7), response);
        if (!status.ok()) {
          if (status.error_code() != StatusCode::UNAVAILABLE && status.error_code() != StatusCode::CANCELLED) {
            std::printf("%d %s\n", status.error_code(), status.error_message().c_str());
            ++others;
          }
          return;
        }
        if (answered++ == 0) {
          std::puts("begun");
          std::fflush(stdout);
        }
      }
    });
  grpc::ClientContext context;
  prepare(context);
  auto const stream = to.inference->ModelStreamInfer(&context);
  kserve::ModelStreamInferResponse part;
  grpc::ClientContext watching;
  auto const health = to.health->Watch(&watching, {});
  grpc::health::v1::HealthCheckResponse now;
  check("health before the end", health->Read(&now) && now.status() == grpc::health::v1::HealthCheckResponse::SERVING);
  while (stream->Write(infer_request()) && stream->Read(&part)) ++streamed;
  while (health->Read(&now))
    check("health at the end", now.status() == grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  check("the end of health", health->Finish().error_code() == StatusCode::UNAVAILABLE);
  auto const end = stream->Finish().error_code();
  check("the stream's end", end == StatusCode::UNAVAILABLE || end == StatusCode::CANCELLED, std::to_string(end));
  for (auto& each : callers) each.join();
  std::printf("%d answered, %d streamed, %d others\n", answered.load(), streamed.load(), others.load());
  check("load", others == 0);
}

std::shared_ptr<grpc::ChannelCredentials> credentials() {
  auto const* const path = std::getenv("GRPC_CLIENT_CA");
  if (path == nullptr) return grpc::InsecureChannelCredentials();
  std::ifstream file(path);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  return grpc::SslCredentials(options);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  client to(grpc::CreateChannel(arguments[1], credentials()));
  std::string_view const what = arguments[2];
  if (what == "calls") {
    scores expected;
    for (int i = 3; i < count; ++i) expected.push_back(std::strtof(arguments[i], nullptr));
    check_predict(to, expected);
    check_models(to);
    check_infer(to, expected);
    check_server(to);
    check_health(to);
  } else if (what == "examples") {
    scores expected;
    for (int i = 3; i < count; ++i) expected.push_back(std::strtof(arguments[i], nullptr));
    check_examples(to, expected);
  } else if (what == "refused" && count == 4) {
    api::PredictResponse response;
    auto const status = ask(*to.prediction, &api::PredictionService::Stub::Predict, predict_request(), response);
    check("refused", std::to_string(status.error_code()) == arguments[3],
          std::to_string(status.error_code()) + " " + status.error_message());
  } else {
    load(to);
  }
  return failures == 0 ? 0 : 1;
}
