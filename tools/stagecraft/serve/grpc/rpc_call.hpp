// SPDX-License-Identifier: BSD-3-Clause
// What all calls of gRPC have in common: the token, counted bytes, deadlines, threads, and statuses from errors.
#pragma once

#include "serve/http/counted_bytes.hpp"
#include "serve/http/http_message.hpp"
#include "serve/http/worker_pool.hpp"
#include "serve/server_calls.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

/// Work for the threads that wait for answers of models.
class rpc_task {
 public:
  virtual ~rpc_task() = default;
  virtual void run() noexcept = 0;
};

/// The state that all services share.
struct rpc_core {
  rpc_core(rpc_options const& with, server_calls& to)
      : options(with), calls(to), pool(with.threads, with.most_waiting, [](auto task) { task->run(); }) {}

  /// Takes work for a model.
  [[nodiscard]] bool take(std::unique_ptr<rpc_task>& task, std::string const& model) {
    return pool.take(task, model, calls.has_models());
  }

  rpc_options options;
  server_calls& calls;
  worker_pool<rpc_task> pool;
};

/// An error with a status that HTTP has no counterpart of.
struct rpc_error {
  grpc::Status status;
};

/// One call's part of the work: its bytes and its time.
class rpc_call {
 public:
  rpc_call(rpc_core& core, grpc::CallbackServerContext& context)
      : core_(core), context_(context), counted_(core.calls.bytes_in_flight()) {}

  /// Counts a request's bytes. Throws http_error 503 if all requests have too many.
  void count_bytes(std::size_t bytes);
  /// The time that is left for the call, 0: any. Throws http_error 504 if none is left.
  [[nodiscard]] std::chrono::microseconds time_left() const;
  /// The time that is left for a call that may take `most`, 0: any.
  [[nodiscard]] std::chrono::microseconds time_left(std::chrono::microseconds most) const;
  [[nodiscard]] counted_bytes& counted() noexcept { return counted_; }
  [[nodiscard]] server_calls& calls() const noexcept { return core_.calls; }
  [[nodiscard]] rpc_options const& options() const noexcept { return core_.options; }
  /// The call's trace id, `traceparent`; empty: it has none.
  [[nodiscard]] std::string_view parent() const noexcept;
  /// Throws http_error 401 if the call lacks the token.
  void check_token() const;
  /// Puts the call's trace id beside its status, and, if it may be tried again, when: gRPC's clients obey it. A call is
  /// told once, before it is finished.
  void tell(grpc::Status const& status) noexcept;

 private:
  rpc_core& core_;
  grpc::CallbackServerContext& context_;
  counted_bytes counted_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The status for an error with a status of HTTP.
[[nodiscard]] grpc::Status status_of(http_error const& why);

/// Carries out `work(call)`, and makes a status of its errors. Counts the answer; `counts_success`: false if OK is no
/// answer yet.
template <class Work>
[[nodiscard]] grpc::Status guarded(rpc_call& call, bool needs_token, Work const& work,
                                   bool counts_success = true) noexcept {
  auto const begin = std::chrono::steady_clock::now();
  int status = 200;
  auto const carry_out = [&]() -> grpc::Status {
    try {
      if (needs_token) call.check_token();
      work(call);
      return grpc::Status::OK;
    } catch (http_error const& why) {
      status = why.status;
      return status_of(why);
    } catch (rpc_error const& why) {
      status = 400;
      return why.status;
    } catch (std::bad_alloc const&) {
      status = 503;
      return {grpc::StatusCode::UNAVAILABLE, "the machine has no more memory"};
    } catch (std::exception const& why) {
      status = 500;
      return {grpc::StatusCode::INTERNAL, why.what()};
    }
  };
  auto result = carry_out();
  if (status != 200 || counts_success) call.calls().count(status, std::chrono::steady_clock::now() - begin);
  return result;
}

/// Answers a call about the server's state on gRPC's own thread.
template <class Work>
[[nodiscard]] grpc::ServerUnaryReactor* answer_now(rpc_core& core, grpc::CallbackServerContext* context,
                                                   bool needs_token, Work const& work) {
  auto* const reactor = context->DefaultReactor();
  rpc_call call(core, *context);
  auto const status = guarded(call, needs_token, work);
  call.tell(status);
  reactor->Finish(status);
  return reactor;
}

/// Answers a call of a model, whose name may be empty, on a thread that may wait. gRPC keeps the messages until the
/// answer.
template <class Work>
[[nodiscard]] grpc::ServerUnaryReactor* answer_later(rpc_core& core, grpc::CallbackServerContext* context,
                                                     std::size_t bytes, std::string const& model, Work work) {
  class task final : public rpc_task {
   public:
    task(rpc_core& core, grpc::CallbackServerContext& context, grpc::ServerUnaryReactor* reactor, Work work)
        : call(core, context), context_(context), reactor_(reactor), work_(std::move(work)) {}
    void run() noexcept override {
      if (context_.IsCancelled()) return reactor_->Finish(grpc::Status::CANCELLED);
      auto const status = guarded(call, true, work_);
      call.counted().clear();
      call.tell(status);
      reactor_->Finish(status);
    }
    rpc_call call;

   private:
    grpc::CallbackServerContext& context_;
    grpc::ServerUnaryReactor* reactor_;
    Work work_;
  };
  auto* const reactor = context->DefaultReactor();
  rpc_call refusal(core, *context);
  auto const status = guarded(
      refusal, false,
      [&](rpc_call&) {
        auto made = std::make_unique<task>(core, *context, reactor, std::move(work));
        made->call.count_bytes(bytes);
        std::unique_ptr<rpc_task> any = std::move(made);
        if (!core.take(any, model)) throw http_error{503, "as many requests wait as may wait"};
      },
      false);
  if (status.ok()) return reactor;
  refusal.tell(status);
  reactor->Finish(status);
  return reactor;
}

}  // namespace stagecraft::tool
