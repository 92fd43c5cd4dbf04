// SPDX-License-Identifier: BSD-3-Clause
// The server of gRPC, and the only symbol of its module.
#include "serve/grpc/services.hpp"
#include "serve/server_calls.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <limits>
#include <mutex>
#include <thread>

namespace stagecraft::tool {

namespace {

/// A length as gRPC takes it.
int length_of(std::size_t bytes) {
  return static_cast<int>(std::min(bytes, static_cast<std::size_t>(std::numeric_limits<int>::max())));
}

class grpc_front final : public rpc_front {
 public:
  grpc_front(rpc_options const& options, server_calls& calls)
      : core_(options, calls),
        prediction_(make_prediction_service(core_)),
        model_(make_model_service(core_)),
        inference_(make_inference_service(core_)),
        health_(make_health_service(core_)) {
    grpc::ServerBuilder builder;
    auto const host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
    builder.AddListeningPort(host + ":" + std::to_string(options.port), credentials(options), &port_);
    for (auto* const each : {prediction_.get(), model_.get(), &inference_->service(), &health_->service()})
      builder.RegisterService(each);
    builder.SetMaxReceiveMessageSize(length_of(options.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // or a taken port would be shared
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, length_of(options.max_header_bytes));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(options.idle_time.count()));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, length_of(options.threads + options.most_waiting));
    // What gRPC reads before a request is whole, which the server's count of bytes does not see.
    constexpr std::size_t own_bytes = std::size_t{64} << 20;
    builder.SetResourceQuota(grpc::ResourceQuota("stagecraft").Resize(options.max_bytes_in_flight + own_bytes));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ <= 0)
      throw file_error("E5282", options.host + ":" + std::to_string(options.port) +
                                    " cannot be listened to by gRPC: the address is taken, or the files of --ssl_cert "
                                    "and --ssl_key do not belong together");
    stopper_ = std::thread([this] { stop_when_asked(); });
  }
  ~grpc_front() override {
    begin_stop();
    if (stopper_.joinable()) stopper_.join();
  }

  [[nodiscard]] int port() const noexcept override { return port_; }
  void begin_stop() noexcept override {
    {
      std::scoped_lock const lock(mutex_);
      is_asked_ = true;
    }
    changes_.notify_all();
  }
  [[nodiscard]] bool has_stopped() const noexcept override { return has_stopped_; }

 private:
  static std::shared_ptr<grpc::ServerCredentials> credentials(rpc_options const& options) {
    if (options.certificate.empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions files;
    files.pem_key_cert_pairs.push_back({options.key, options.certificate});
    return grpc::SslServerCredentials(files);
  }

  /// The thread that shuts the server down, made at the beginning, since the system may have no thread at the end.
  void stop_when_asked() {
    {
      std::unique_lock lock(mutex_);
      changes_.wait(lock, [this] { return is_asked_; });
    }
    inference_->end_streams();
    health_->end_streams();
    server_->Shutdown();  // waits until all calls are answered
    has_stopped_ = true;
  }

  rpc_core core_;
  std::unique_ptr<grpc::Service> prediction_, model_;
  std::unique_ptr<streaming_service> inference_, health_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changes_;
  bool is_asked_ = false;
  std::atomic<bool> has_stopped_ = false;
  std::thread stopper_;
};

}  // namespace

}  // namespace stagecraft::tool

extern "C" [[gnu::visibility("default")]] stagecraft::tool::rpc_front* stagecraft_make_grpc_front_4(
    stagecraft::tool::rpc_options const& options, stagecraft::tool::server_calls& calls) {
  return new stagecraft::tool::grpc_front(options, calls);
}
