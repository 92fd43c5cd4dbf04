// SPDX-License-Identifier: BSD-3-Clause
// The answer to a call of a running program, which may not be there yet.
#pragma once

#include <stagecraft/serving/detail/call_record.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// What `engine::submit` returns. Who destroys it does not want the answer: samples that are in no batch yet never get
/// into one.
class reply {
 public:
  explicit reply(std::shared_ptr<detail::call_record> call) : call_(std::move(call)) {}
  reply(reply&&) noexcept = default;
  reply& operator=(reply&& other) noexcept {
    abandon();
    call_ = std::move(other.call_);
    return *this;
  }
  ~reply() { abandon(); }

  /// Whether the answer is there within this time.
  [[nodiscard]] bool wait_for(std::chrono::microseconds time) const {
    return call_->wait_until(detail::serving_clock::now() + time);
  }

  /// Waits for the outputs: those of all samples, one after the other, for each output of the model. Once only.
  /// Throws serving_error: E5081 the engine was stopped before, E5083 the call's time is over, E5084 to E5086 the
  /// program has failed.
  [[nodiscard]] std::vector<std::vector<float>> get() {
    auto const call = std::exchange(call_, nullptr);
    if (!call->wait_until(call->deadline)) {
      call->abandoned = true;
      detail::call_failure::of_time().raise();
    }
    call->failure().raise();
    return std::move(call->outputs);
  }

 private:
  void abandon() noexcept {
    if (call_) call_->abandoned = true;
  }

  std::shared_ptr<detail::call_record> call_;
};

}  // namespace stagecraft::serving
