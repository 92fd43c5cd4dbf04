// SPDX-License-Identifier: BSD-3-Clause
// The services of gRPC's front.
#pragma once

#include "serve/grpc/rpc_call.hpp"

#include <grpcpp/impl/service_type.h>
#include <memory>

namespace stagecraft::tool {

/// TensorFlow Serving's PredictionService.
[[nodiscard]] std::unique_ptr<grpc::Service> make_prediction_service(rpc_core& core);
/// TensorFlow Serving's ModelService.
[[nodiscard]] std::unique_ptr<grpc::Service> make_model_service(rpc_core& core);

/// A service with streams, which stay open until their clients end them.
class streaming_service {
 public:
  virtual ~streaming_service() = default;
  [[nodiscard]] virtual grpc::Service& service() noexcept = 0;
  /// Ends each stream when the request that it is answering has its answer; further ones end at once.
  virtual void end_streams() noexcept = 0;
};
/// KServe's GRPCInferenceService.
[[nodiscard]] std::unique_ptr<streaming_service> make_inference_service(rpc_core& core);
/// gRPC's Health.
[[nodiscard]] std::unique_ptr<streaming_service> make_health_service(rpc_core& core);

}  // namespace stagecraft::tool
