// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's ModelService.
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/services.hpp"
#include "tensorflow_serving.grpc.pb.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

api::ModelVersionStatus::State state_of(std::string const& name) {
  if (name == "AVAILABLE") return api::ModelVersionStatus::AVAILABLE;
  if (name == "LOADING") return api::ModelVersionStatus::LOADING;
  return name == "UNLOADING" ? api::ModelVersionStatus::UNLOADING : api::ModelVersionStatus::END;
}

void write_status(rpc_call& call, api::GetModelStatusRequest const& request, api::GetModelStatusResponse& response) {
  auto const& spec = request.model_spec();
  if (!request.has_model_spec()) throw http_error{400, "Missing ModelSpec"};
  // A label chooses no version here, as in TensorFlow Serving.
  auto const number = spec.has_version() ? spec.version().value() : 0;
  auto const states = call.calls().states(spec.name());
  for (auto each = states.rbegin(); each != states.rend(); ++each) {
    if (spec.has_version() && number != each->first) continue;
    auto& version = *response.add_model_version_status();
    auto const& [state, problem] = each->second;
    version.set_version(each->first);
    version.set_state(state_of(state));
    version.mutable_status()->set_error_code(problem.empty() ? grpc::StatusCode::OK : grpc::StatusCode::UNKNOWN);
    version.mutable_status()->set_error_message(problem);
  }
  if (response.model_version_status().empty()) throw http_error{404, no_version_text(spec.name(), number)};
}

model_settings settings_of(api::ModelConfig const& config) {
  using enum version_policy::kind;
  model_settings result{.name = config.name(), .folder = config.base_path(), .policy = {}, .labels = {}};
  auto const& policy = config.model_version_policy();
  if (policy.has_all()) result.policy.which = all;
  if (policy.has_specific()) {
    result.policy.which = specific;
    result.policy.versions.insert(policy.specific().versions().begin(), policy.specific().versions().end());
  }
  // TensorFlow Serving takes 0 for 1.
  if (policy.has_latest()) result.policy.count = std::max<std::int64_t>(policy.latest().num_versions(), 1);
  for (auto const& [label, number] : config.version_labels()) result.labels.emplace(label, number);
  return result;
}

/// Writes the status of errors into the answer, too.
void reload(rpc_call& call, api::ReloadConfigRequest const& request, api::ReloadConfigResponse& response) {
  try {
    if (!request.config().has_model_config_list())
      throw http_error{400,
                       "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is "
                       "currently supported"};
    std::vector<model_settings> models;
    for (auto const& each : request.config().model_config_list().config()) models.push_back(settings_of(each));
    call.calls().reload(std::move(models));
    response.mutable_status();
  } catch (http_error const& why) {
    auto const status = status_of(why);
    response.mutable_status()->set_error_code(status.error_code());
    response.mutable_status()->set_error_message(why.text);
    throw;
  }
}

class model_service final : public api::ModelService::CallbackService {
 public:
  explicit model_service(rpc_core& core) : core_(core) {}

  grpc::ServerUnaryReactor* GetModelStatus(grpc::CallbackServerContext* context,
                                           api::GetModelStatusRequest const* request,
                                           api::GetModelStatusResponse* response) override {
    return answer_now(core_, context, true, [=](rpc_call& call) { write_status(call, *request, *response); });
  }
  grpc::ServerUnaryReactor* HandleReloadConfigRequest(grpc::CallbackServerContext* context,
                                                      api::ReloadConfigRequest const* request,
                                                      api::ReloadConfigResponse* response) override {
    return answer_later(core_, context, request->ByteSizeLong(), "",
                        [=](rpc_call& call) { reload(call, *request, *response); });
  }

 private:
  rpc_core& core_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_model_service(rpc_core& core) { return std::make_unique<model_service>(core); }

}  // namespace stagecraft::tool
