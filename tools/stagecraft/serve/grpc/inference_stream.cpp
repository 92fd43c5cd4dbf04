// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/inference_stream.hpp"

#include "serve/grpc/infer_call.hpp"

#include <memory>
#include <optional>

namespace stagecraft::tool {

/// One stream. It reads a request, answers it on a thread of the pool, writes the answer, and reads the next one.
class inference_stream final : public inference_streams::reactor {
 public:
  inference_stream(rpc_core& core, grpc::CallbackServerContext& context, inference_streams& all)
      : core_(core), context_(context), all_(all) {
    bool ends = false;
    {
      std::scoped_lock const lock(all_.mutex_);
      ends = all_.ends_;
      all_.streams_.insert(this);
    }
    rpc_call call(core_, context_);
    auto const status = guarded(call, true, [](rpc_call&) {}, false);
    if (!status.ok() || ends)
      finish(status.ok() ? ending() : status);
    else
      StartRead(&request_);
  }

  void OnReadDone(bool is_read) override {
    if (!is_read) return finish(grpc::Status::OK);
    {
      std::scoped_lock const lock(mutex_);
      if (has_finished_) return;
      is_busy_ = true;
    }
    rpc_call refusal(core_, context_);
    auto const status = guarded(
        refusal, false,
        [&](rpc_call&) {
          std::unique_ptr<rpc_task> work = std::make_unique<task>(*this);
          if (!core_.take(work, request_.model_name())) throw http_error{503, "as many requests wait as may wait"};
        },
        false);
    if (!status.ok()) write(status);
  }
  void OnWriteDone(bool is_written) override {
    std::optional<grpc::Status> last;
    {
      std::scoped_lock const lock(mutex_);
      is_busy_ = false;
      last = last_;
      if (!is_written && !last) last = grpc::Status::CANCELLED;
      has_finished_ = last.has_value();
    }
    if (last) return Finish(*last);
    request_.Clear();
    StartRead(&request_);
  }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    {
      std::scoped_lock const lock(all_.mutex_);
      all_.streams_.erase(this);
    }
    delete this;
  }

  /// Ends the stream now, or after the answer that is being made.
  void end_soon() { finish(ending()); }

 private:
  struct task final : rpc_task {
    explicit task(inference_stream& of) : call(of.core_, of.context_), owner(of) {}
    void run() noexcept override {
      auto const status = guarded(call, false, [this](rpc_call& one) {
        one.count_bytes(owner.request_.ByteSizeLong());
        owner.response_.Clear();
        infer(one, owner.request_, *owner.response_.mutable_infer_response());
      });
      call.counted().clear();
      owner.write(status);
    }
    rpc_call call;
    inference_stream& owner;
  };

  static grpc::Status ending() { return {grpc::StatusCode::UNAVAILABLE, "the server ends"}; }

  /// Writes the answer; an error is one of its request alone, and the stream goes on.
  void write(grpc::Status const& status) {
    if (!status.ok()) {
      response_.mutable_infer_response()->Clear();
      response_.mutable_infer_response()->set_id(request_.id());
    }
    response_.set_error_message(status.ok() ? "" : status.error_message());
    StartWrite(&response_);
  }
  /// Finishes once: at once while a request is awaited, else when the answer has been written.
  void finish(grpc::Status const& status) {
    {
      std::scoped_lock const lock(mutex_);
      if (has_finished_) return;
      if (is_busy_) {
        if (!last_) last_ = status;
        return;
      }
      has_finished_ = true;
    }
    Finish(status);
  }

  rpc_core& core_;
  grpc::CallbackServerContext& context_;
  inference_streams& all_;
  inference::ModelInferRequest request_;
  inference::ModelStreamInferResponse response_;
  std::mutex mutex_;
  bool is_busy_ = false;              // from a request to its written answer
  bool has_finished_ = false;         // Finish was called
  std::optional<grpc::Status> last_;  // the status to finish with after the answer
};

inference_streams::reactor* inference_streams::begin(rpc_core& core, grpc::CallbackServerContext* context) {
  return new inference_stream(core, *context, *this);
}

void inference_streams::end() noexcept {
  std::scoped_lock const lock(mutex_);  // streams leave the set, and are deleted, under this lock
  ends_ = true;
  for (auto* const each : streams_) each->end_soon();
}

}  // namespace stagecraft::tool
