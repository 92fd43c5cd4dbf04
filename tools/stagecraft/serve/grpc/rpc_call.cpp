// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/rpc_call.hpp"

#include "serve/token.hpp"
#include "serve/trace_id.hpp"

namespace stagecraft::tool {

void rpc_call::count_bytes(std::size_t bytes) {
  if (!counted_.grow_to(bytes, core_.options.max_bytes_in_flight))
    throw http_error{503, "the requests that are there have " + std::to_string(core_.options.max_bytes_in_flight) +
                              " bytes, as many as they may have"};
}

std::chrono::microseconds rpc_call::time_left() const { return time_left(core_.options.time); }

std::chrono::microseconds rpc_call::time_left(std::chrono::microseconds most) const {
  using std::chrono::microseconds;
  constexpr microseconds::rep none = 0;
  std::optional<microseconds> left;
  if (most.count() > 0)
    left = most - std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin_);
  // A client without a deadline has one at the end of all time.
  if (auto const deadline = context_.deadline(); deadline != std::chrono::system_clock::time_point::max()) {
    auto const until = std::chrono::duration_cast<microseconds>(deadline - std::chrono::system_clock::now());
    left = left ? std::min(*left, until) : until;
  }
  if (!left) return microseconds(none);
  if (left->count() <= 0) throw http_error{504, "the request has waited longer than a call may take"};
  return *left;
}

void rpc_call::check_token() const {
  if (core_.options.token.empty()) return;
  auto const& sent = context_.client_metadata();
  auto const found = sent.find("authorization");
  auto const value =
      found == sent.end() ? std::string_view() : std::string_view(found->second.data(), found->second.length());
  if (!is_same_token(bearer_token(value), core_.options.token)) throw http_error{401, "a bearer token is asked for"};
}

std::string_view rpc_call::parent() const noexcept {
  auto const found = context_.client_metadata().find("traceparent");
  if (found == context_.client_metadata().end()) return {};
  std::string_view const value(found->second.data(), found->second.length());
  return is_trace_id(value) ? value : std::string_view();
}

void rpc_call::tell(grpc::Status const& status) noexcept {
  try {
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
      context_.AddTrailingMetadata("grpc-retry-pushback-ms", "1000");
    if (auto const value = parent(); !value.empty()) context_.AddTrailingMetadata("traceparent", std::string(value));
  } catch (std::bad_alloc const&) {  // the status is told without it
  }
}

grpc::Status status_of(http_error const& why) {
  auto const code = [&] {
    switch (why.status) {
      case 400: return grpc::StatusCode::INVALID_ARGUMENT;
      case 401: return grpc::StatusCode::UNAUTHENTICATED;
      case 403: return grpc::StatusCode::PERMISSION_DENIED;
      case 404: return grpc::StatusCode::NOT_FOUND;
      case 412: return grpc::StatusCode::FAILED_PRECONDITION;
      case 413: return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case 501: return grpc::StatusCode::UNIMPLEMENTED;
      case 503: return grpc::StatusCode::UNAVAILABLE;
      case 504: return grpc::StatusCode::DEADLINE_EXCEEDED;
      default: return grpc::StatusCode::INTERNAL;
    }
  }();
  return {code, why.text};
}

}  // namespace stagecraft::tool
