// SPDX-License-Identifier: BSD-3-Clause
// KServe's GRPCInferenceService: what is asked about the server and its models.
#include "serve/grpc/infer_call.hpp"
#include "serve/grpc/inference_stream.hpp"
#include "serve/grpc/services.hpp"
#include "serve/input_tensors.hpp"

namespace stagecraft::tool {

namespace {

namespace api = inference;

template <class Tensors>
void write_tensors(std::vector<serving::tensor_spec> const& specs, Tensors& to) {
  for (auto const& spec : specs) {
    auto& tensor = *to.Add();
    tensor.set_name(spec.name);
    tensor.set_datatype(spec.is_bytes ? "BYTES" : "FP32");
    tensor.add_shape(-1);
    for (auto const length : visible_shape(spec)) tensor.add_shape(length);
  }
}

void write_metadata(rpc_call& call, api::ModelMetadataRequest const& request, api::ModelMetadataResponse& response) {
  auto const version = find_kserve_version(call.calls(), request.name(), request.version());
  auto const& known = version.description();
  response.set_name(request.name());
  for (auto const number : call.calls().numbers(request.name())) response.add_versions(std::to_string(number));
  response.set_platform(version.steps == nullptr ? "stagecraft" : "ensemble");
  write_tensors(known.inputs, *response.mutable_inputs());
  write_tensors(known.outputs, *response.mutable_outputs());
}

template <class Tensors>
void write_config_tensors(std::vector<serving::tensor_spec> const& specs, Tensors& to) {
  for (auto const& spec : specs) {
    auto& tensor = *to.Add();
    tensor.set_name(spec.name);
    tensor.set_data_type(spec.is_bytes ? api::TYPE_STRING : api::TYPE_FP32);
    for (auto const length : visible_shape(spec)) tensor.add_dims(length);
  }
}

void write_config(rpc_call& call, api::ModelConfigRequest const& request, api::ModelConfig& to) {
  auto const version = find_kserve_version(call.calls(), request.name(), request.version());
  auto const& known = version.description();
  to.set_name(request.name());
  to.set_platform(version.steps == nullptr ? "stagecraft" : "ensemble");
  if (version.steps == nullptr) to.set_backend("stagecraft");
  to.set_max_batch_size(known.batch_size);
  write_config_tensors(known.inputs, *to.mutable_input());
  write_config_tensors(known.outputs, *to.mutable_output());
  if (version.steps != nullptr) {
    for (auto const& step : version.steps->steps()) {
      auto& told = *to.mutable_ensemble_scheduling()->add_step();
      told.set_model_name(step.model);
      told.set_model_version(step.version == 0 ? -1 : step.version);
      told.mutable_input_map()->insert(step.inputs.begin(), step.inputs.end());
      told.mutable_output_map()->insert(step.outputs.begin(), step.outputs.end());
    }
  } else if (version.sequences == nullptr)
    (void)to.mutable_dynamic_batching();
  else
    to.mutable_sequence_batching()->set_max_sequence_idle_microseconds(
        static_cast<std::uint64_t>(version.sequences->idle().count()));
}

/// True if the version answers; an unknown one does not.
bool is_ready(rpc_call& call, api::ModelReadyRequest const& request) {
  auto const number = kserve_version(request.version());
  try {
    return call.calls().answers(call.calls().find(request.name(), {.number = number, .label = ""}));
  } catch (http_error const&) {
    return false;
  }
}

void write_index(rpc_call& call, api::RepositoryIndexRequest const& request, api::RepositoryIndexResponse& response) {
  for (auto const& each : index_of(call.calls(), request.ready())) {
    auto& model = *response.add_models();
    model.set_name(each.name);
    model.set_version(each.version);
    model.set_state(each.state);
    model.set_reason(each.reason);
  }
}

/// Refuses parameters, which would have to be obeyed.
template <class Request>
void check_parameters(Request const& request, bool unloads) {
  for (auto const& [name, value] : request.parameters())
    if (!unloads || name != "unload_dependents")
      throw http_error{400, "the parameter '" + name + "' is not taken: a model is what its folder has"};
}

void write(call_times::sum const& of, api::StatisticDuration& to) {
  to.set_count(static_cast<std::uint64_t>(of.calls));
  to.set_ns(static_cast<std::uint64_t>(of.nanoseconds));
}

void write_statistics(rpc_call& call, api::ModelStatisticsRequest const& request,
                      api::ModelStatisticsResponse& response) {
  auto const number = kserve_version(request.version());
  auto const add = [&](std::string const& name, served_version const& version) {
    auto const counts = version.runtime->statistics();
    auto& model = *response.add_model_stats();
    model.set_name(name);
    model.set_version(std::to_string(version.number));
    model.set_inference_count(static_cast<std::uint64_t>(counts.samples));
    model.set_execution_count(static_cast<std::uint64_t>(counts.batches));
    model.set_last_inference(static_cast<std::uint64_t>(version.times->last()));
    write(version.times->succeeded(), *model.mutable_inference_stats()->mutable_success());
    write(version.times->failed(), *model.mutable_inference_stats()->mutable_fail());
    write(queue_of(counts), *model.mutable_inference_stats()->mutable_queue());
  };
  if (!request.name().empty())
    return add(request.name(), find_kserve_version(call.calls(), request.name(), request.version()));
  for (auto const& name : call.calls().names()) {
    try {
      add(name, call.calls().find(name, {.number = number, .label = ""}));
    } catch (http_error const&) {  // it has no version yet
    }
  }
}

class inference_service final : public api::GRPCInferenceService::CallbackService, public streaming_service {
 public:
  explicit inference_service(rpc_core& core) : core_(core) {}

  grpc::Service& service() noexcept override { return *this; }
  void end_streams() noexcept override { streams_.end(); }

  using context_pointer = grpc::CallbackServerContext*;
  using reactor_pointer = grpc::ServerUnaryReactor*;

  reactor_pointer ServerLive(context_pointer context, api::ServerLiveRequest const*,
                             api::ServerLiveResponse* response) override {
    return answer_now(core_, context, false, [=](rpc_call&) { response->set_live(true); });
  }
  reactor_pointer ServerReady(context_pointer context, api::ServerReadyRequest const*,
                              api::ServerReadyResponse* response) override {
    return answer_now(core_, context, false, [=](rpc_call& call) { response->set_ready(call.calls().is_ready()); });
  }
  reactor_pointer ModelReady(context_pointer context, api::ModelReadyRequest const* request,
                             api::ModelReadyResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { response->set_ready(is_ready(call, *request)); });
  }
  reactor_pointer ServerMetadata(context_pointer context, api::ServerMetadataRequest const*,
                                 api::ServerMetadataResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call&) {
      response->set_name("stagecraft");
      response->set_version(version_text());
      for (auto const* each : triton_extensions) response->add_extensions(each);
    });
  }
  reactor_pointer ModelMetadata(context_pointer context, api::ModelMetadataRequest const* request,
                                api::ModelMetadataResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { write_metadata(call, *request, *response); });
  }
  reactor_pointer ModelInfer(context_pointer context, api::ModelInferRequest const* request,
                             api::ModelInferResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(), request->model_name(),
                        [=](rpc_call& call) { infer(call, *request, *response); });
  }
  grpc::ServerBidiReactor<api::ModelInferRequest, api::ModelStreamInferResponse>* ModelStreamInfer(
      context_pointer context) override {
    return streams_.begin(core_, context);
  }
  reactor_pointer ModelConfig(context_pointer context, api::ModelConfigRequest const* request,
                              api::ModelConfigResponse* response) override {
    return answer_now(core_, context, true,
                      [=](rpc_call& call) { write_config(call, *request, *response->mutable_config()); });
  }
  reactor_pointer ModelStatistics(context_pointer context, api::ModelStatisticsRequest const* request,
                                  api::ModelStatisticsResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { write_statistics(call, *request, *response); });
  }
  reactor_pointer RepositoryIndex(context_pointer context, api::RepositoryIndexRequest const* request,
                                  api::RepositoryIndexResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { write_index(call, *request, *response); });
  }
  reactor_pointer RepositoryModelLoad(context_pointer context, api::RepositoryModelLoadRequest const* request,
                                      api::RepositoryModelLoadResponse*) override {
    return answer_later(core_, context, request->ByteSizeLong(), "", [=](rpc_call& call) {
      check_parameters(*request, false);
      call.calls().load(request->model_name());
    });
  }
  reactor_pointer RepositoryModelUnload(context_pointer context, api::RepositoryModelUnloadRequest const* request,
                                        api::RepositoryModelUnloadResponse*) override {
    return answer_later(core_, context, request->ByteSizeLong(), "", [=](rpc_call& call) {
      check_parameters(*request, true);
      auto const steps = request->parameters().find("unload_dependents");
      call.calls().unload(request->model_name(), steps != request->parameters().end() && steps->second.bool_param());
    });
  }
  reactor_pointer SystemSharedMemoryStatus(context_pointer context, api::SystemSharedMemoryStatusRequest const* request,
                                           api::SystemSharedMemoryStatusResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      for (auto const& each : call.calls().memory().list(request->name())) {
        auto& region = (*response->mutable_regions())[each.name];
        region.set_name(each.name);
        region.set_key(each.key);
        region.set_offset(each.offset);
        region.set_byte_size(each.size);
      }
    });
  }
  reactor_pointer SystemSharedMemoryRegister(context_pointer context,
                                             api::SystemSharedMemoryRegisterRequest const* request,
                                             api::SystemSharedMemoryRegisterResponse*) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      call.calls().memory().add({request->name(), request->key(), request->offset(), request->byte_size()});
    });
  }
  reactor_pointer SystemSharedMemoryUnregister(context_pointer context,
                                               api::SystemSharedMemoryUnregisterRequest const* request,
                                               api::SystemSharedMemoryUnregisterResponse*) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { call.calls().memory().remove(request->name()); });
  }
  reactor_pointer TraceSetting(context_pointer context, api::TraceSettingRequest const* request,
                               api::TraceSettingResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      trace_values changes;
      for (auto const& [name, values] : request->settings())
        changes[name].assign(values.value().begin(), values.value().end());
      for (auto const& [name, values] : call.calls().change_traces(request->model_name(), changes))
        for (auto const& each : values) (*response->mutable_settings())[name].add_value(each);
    });
  }
  reactor_pointer LogSettings(context_pointer context, api::LogSettingsRequest const* request,
                              api::LogSettingsResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) {
      log_values changes;
      using value = api::LogSettingsRequest::SettingValue;
      for (auto const& [name, to] : request->settings()) {
        if (to.parameter_choice_case() == value::kBoolParam)
          changes[name] = to.bool_param();
        else if (to.parameter_choice_case() == value::kUint32Param)
          changes[name] = to.uint32_param();
        else
          changes[name] = to.string_param();
      }
      for (auto const& [name, of] : call.calls().change_log(changes)) {
        auto& told = (*response->mutable_settings())[name];
        if (auto const* truth = std::get_if<bool>(&of)) told.set_bool_param(*truth);
        if (auto const* number = std::get_if<std::uint32_t>(&of)) told.set_uint32_param(*number);
        if (auto const* text = std::get_if<std::string>(&of)) told.set_string_param(*text);
      }
    });
  }

 private:
  rpc_core& core_;
  inference_streams streams_;
};

}  // namespace

std::unique_ptr<streaming_service> make_inference_service(rpc_core& core) {
  return std::make_unique<inference_service>(core);
}

}  // namespace stagecraft::tool
