// SPDX-License-Identifier: BSD-3-Clause
// Streams of KServe's ModelStreamInfer: requests of one stream are answered one by one, in their order.
#pragma once

#include "kserve.grpc.pb.h"
#include "serve/grpc/rpc_call.hpp"

#include <mutex>
#include <set>

namespace stagecraft::tool {

class inference_stream;

/// The streams of a server. Streams refer to it until they are done, which they are when the server is shut down.
class inference_streams {
 public:
  using reactor = grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>;

  /// Begins a stream, which deletes itself when it is done.
  [[nodiscard]] reactor* begin(rpc_core& core, grpc::CallbackServerContext* context);
  /// Ends each stream when the request that it is answering has its answer; further ones end at once.
  void end() noexcept;

 private:
  friend class inference_stream;

  std::mutex mutex_;
  bool ends_ = false;
  std::set<inference_stream*> streams_;
};

}  // namespace stagecraft::tool
