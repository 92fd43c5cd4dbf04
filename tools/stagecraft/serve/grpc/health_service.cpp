// SPDX-License-Identifier: BSD-3-Clause
// gRPC's own protocol of health: the server is serving when each model has a version, and no longer when it ends.
// gRPC's library has a service of it, too, whose watchers would keep a server from its end.
#include "health.grpc.pb.h"
#include "serve/grpc/services.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace stagecraft::tool {

namespace {

namespace api = grpc::health::v1;

using status = api::HealthCheckResponse::ServingStatus;

bool is_known(std::string_view service) {
  constexpr std::array<std::string_view, 5> names{"", "tensorflow.serving.PredictionService",
                                                  "tensorflow.serving.ModelService", "inference.GRPCInferenceService",
                                                  "grpc.health.v1.Health"};
  return std::find(names.begin(), names.end(), service) != names.end();
}

class health_service;

/// A client that hears of each change.
class watcher final : public grpc::ServerWriteReactor<api::HealthCheckResponse> {
 public:
  watcher(health_service& all, bool is_known);

  /// Writes the status unless the client has it; while another one is being written, a later call does.
  void tell(status now) {
    {
      std::scoped_lock const lock(mutex_);
      if (!is_known_) now = api::HealthCheckResponse::SERVICE_UNKNOWN;
      if (is_busy_ || has_finished_ || (has_told_ && response_.status() == now)) return;
      is_busy_ = has_told_ = true;
      response_.set_status(now);
    }
    StartWrite(&response_);
  }
  /// Finishes once, when what is being written is written.
  void finish(grpc::Status const& with) {
    {
      std::scoped_lock const lock(mutex_);
      if (has_finished_) return;
      ends_ = true;
      last_ = with;
      if (is_busy_) return;
      has_finished_ = true;
    }
    Finish(with);
  }
  void OnWriteDone(bool is_written) override {
    {
      std::scoped_lock const lock(mutex_);
      is_busy_ = false;
      if (is_written && !ends_) return;
      if (!ends_) last_ = grpc::Status::CANCELLED;
      has_finished_ = true;
    }
    Finish(last_);
  }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  health_service& all_;
  bool const is_known_;
  api::HealthCheckResponse response_;
  std::mutex mutex_;
  bool has_told_ = false, is_busy_ = false, ends_ = false, has_finished_ = false;
  grpc::Status last_;
};

class health_service final : public api::Health::CallbackService, public streaming_service {
 public:
  explicit health_service(rpc_core& core) : core_(core), looker_([this] { look(); }) {}
  ~health_service() override {
    end_streams();
    looker_.join();
  }

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, api::HealthCheckRequest const* request,
                                  api::HealthCheckResponse* response) override {
    return answer_now(core_, context, false, [=, this](rpc_call&) {
      if (!is_known(request->service())) throw http_error{404, "there is no service '" + request->service() + "'"};
      response->set_status(now());
    });
  }
  grpc::ServerWriteReactor<api::HealthCheckResponse>* Watch(grpc::CallbackServerContext*,
                                                            api::HealthCheckRequest const* request) override {
    return new watcher(*this, is_known(request->service()));
  }

  [[nodiscard]] grpc::Service& service() noexcept override { return *this; }
  void end_streams() noexcept override {
    {
      std::scoped_lock const lock(mutex_);  // watchers leave the set, and are deleted, under this lock
      ends_ = true;
      for (auto* const each : watchers_) each->finish(ending());
    }
    changes_.notify_all();
  }

 private:
  friend class watcher;

  static grpc::Status ending() { return {grpc::StatusCode::UNAVAILABLE, "the server ends"}; }
  [[nodiscard]] status now() const {
    return core_.calls.is_ready() ? api::HealthCheckResponse::SERVING : api::HealthCheckResponse::NOT_SERVING;
  }
  /// The thread that looks for changes while somebody watches.
  void look() {
    constexpr std::chrono::milliseconds pause(200);
    std::unique_lock lock(mutex_);
    while (!ends_) {
      changes_.wait(lock, [this] { return ends_ || !watchers_.empty(); });
      if (ends_) return;
      auto const found = now();
      for (auto* const each : watchers_) each->tell(found);
      changes_.wait_for(lock, pause, [this] { return ends_; });
    }
  }

  rpc_core& core_;
  std::mutex mutex_;
  std::condition_variable changes_;
  bool ends_ = false;
  std::set<watcher*> watchers_;
  std::thread looker_;
};

watcher::watcher(health_service& all, bool is_known) : all_(all), is_known_(is_known) {
  bool ends = false;
  {
    std::scoped_lock const lock(all_.mutex_);
    ends = all_.ends_;
    all_.watchers_.insert(this);
  }
  if (ends) {
    finish(health_service::ending());
  } else {
    tell(all_.now());
    all_.changes_.notify_all();
  }
}

void watcher::OnDone() {
  {
    std::scoped_lock const lock(all_.mutex_);
    all_.watchers_.erase(this);
  }
  delete this;
}

}  // namespace

std::unique_ptr<streaming_service> make_health_service(rpc_core& core) {
  return std::make_unique<health_service>(core);
}

}  // namespace stagecraft::tool
