// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's ModelService.
#include "serve/grpc/model_spec.hpp"
#include "serve/grpc/services.hpp"
#include "tensorflow_serving.grpc.pb.h"

namespace stagecraft::tool {

namespace {

namespace api = tensorflow::serving;

void write_status(rpc_call& call, api::GetModelStatusRequest const& request, api::GetModelStatusResponse& response) {
  auto const& spec = request.model_spec();
  if (!request.has_model_spec()) throw http_error{400, "Missing ModelSpec"};
  auto const number = version_of(spec);
  auto const states = call.calls().states(spec.name());
  for (auto each = states.rbegin(); each != states.rend(); ++each) {
    if (number && *number != each->first) continue;
    auto& version = *response.add_model_version_status();
    auto const& [state, problem] = each->second;
    version.set_version(each->first);
    version.set_state(state == "AVAILABLE" ? api::ModelVersionStatus::AVAILABLE : api::ModelVersionStatus::END);
    version.mutable_status()->set_error_code(problem.empty() ? grpc::StatusCode::OK : grpc::StatusCode::UNKNOWN);
    version.mutable_status()->set_error_message(problem);
  }
  if (response.model_version_status().empty())
    throw http_error{404, "Could not find any versions of model " + spec.name()};
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
                                                      api::ReloadConfigRequest const*,
                                                      api::ReloadConfigResponse*) override {
    return answer_now(core_, context, true, [](rpc_call&) {
      throw http_error{501, "the models of this server are those of its command line"};
    });
  }

 private:
  rpc_core& core_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_model_service(rpc_core& core) { return std::make_unique<model_service>(core); }

}  // namespace stagecraft::tool
