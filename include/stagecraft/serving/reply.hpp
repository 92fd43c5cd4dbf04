// SPDX-License-Identifier: BSD-3-Clause
// A call of an embedded runtime, from its inputs to its answer: why it failed, the record that caller and runtime
// share, and the reply that the caller holds.
#pragma once

#include <stagecraft/serving/serving_errors.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

/// Why a call has no outputs: a class of serving_error, and its text. It is no exception, so that each caller gets an
/// object of its own, on its thread. Copies share the text, so that calls can be answered when memory is short.
class call_failure {
 public:
  enum class kind { none, stopped, late, application, recoverable, unrecoverable };

  kind what = kind::none;

  [[nodiscard]] std::string text() const { return own_text_ ? *own_text_ : text_of(what); }

  [[nodiscard]] static call_failure of_stop() noexcept { return {kind::stopped}; }
  [[nodiscard]] static call_failure of_time() noexcept { return {kind::late}; }
  /// Converts an exception of a servable: its class, and its text without the code. If there is no memory for
  /// the text, it is the one that all failures of that class have.
  [[nodiscard]] static call_failure of(std::exception_ptr const& thrown) noexcept {
    kind found = kind::unrecoverable;
    try {
      return read(thrown, found);
    } catch (...) {
      return {found};
    }
  }

  void raise() const {
    switch (what) {
      case kind::none: return;
      case kind::stopped: throw runtime_stopped("E5081", text());
      case kind::late: throw deadline_exceeded("E5083", text());
      case kind::application: throw application_runtime_error("E5084", text());
      case kind::recoverable: throw recoverable_runtime_error("E5085", text());
      case kind::unrecoverable: throw unrecoverable_runtime_error("E5086", text());
    }
  }

  call_failure(kind of = kind::none) noexcept : what(of) {}

 private:
  call_failure(kind of, std::string const& text) : what(of), own_text_(std::make_shared<std::string const>(text)) {}

  /// Sets `found` before it asks for memory.
  [[nodiscard]] static call_failure read(std::exception_ptr const& thrown, kind& found) {
    try {
      std::rethrow_exception(thrown);
    } catch (recoverable_runtime_error const& why) {
      return {found = kind::recoverable, without_code(why)};
    } catch (unrecoverable_runtime_error const& why) {
      return {found = kind::unrecoverable, without_code(why)};
    } catch (application_runtime_error const& why) {
      return {found = kind::application, without_code(why)};
    } catch (error const& why) {
      return {found = kind::application, why.what()};
    } catch (std::bad_alloc const&) {
      return {found = kind::recoverable};
    } catch (std::system_error const& why) {
      return {found = kind::recoverable, why.what()};
    } catch (std::exception const& why) {
      return {found = kind::unrecoverable, why.what()};
    } catch (...) {
      return {found = kind::unrecoverable};
    }
  }

  [[nodiscard]] static char const* text_of(kind of) noexcept {
    switch (of) {
      case kind::none: return "";
      case kind::stopped: return "the embedded runtime was stopped before the call was run";
      case kind::late: return "the call was not answered in its time";
      case kind::recoverable: return "the machine has no more memory";
      case kind::application:
      case kind::unrecoverable: break;
    }
    return "the program has failed";
  }

  [[nodiscard]] static std::string without_code(error const& why) {
    std::string text = why.what();
    auto const end = " [" + std::string(why.code()) + "]";
    if (text.ends_with(end)) text.resize(text.size() - end.size());
    return text;
  }

  std::shared_ptr<std::string const> own_text_;
};

using serving_clock = std::chrono::steady_clock;

/// One call; the caller, who may leave, and the runtime share it.
struct call_record {
  std::vector<std::vector<float>> inputs;   // not changed after the call is queued
  std::vector<std::vector<float>> outputs;  // each sample's outputs are written once, before `finish`
  std::int64_t samples = 0;
  int priority = 0;  // 1 is the most urgent one; 0: after all that have one
  serving_clock::time_point arrival, deadline = serving_clock::time_point::max();

  // Samples in batches, and samples with outputs; the runtime's lock guards them.
  std::int64_t given = 0, done = 0;

  /// True if nobody waits for the answer any more.
  std::atomic<bool> abandoned = false;

  /// Answers the call: with its outputs or, if `why` is a failure, with that. Only the first answer counts; returns
  /// false for others. Needs no memory.
  bool finish(call_failure why = {}) noexcept {
    {
      std::scoped_lock const lock(mutex_);
      if (finished_) return false;
      finished_ = true;
      failure_ = std::move(why);
    }
    answered_.notify_all();
    return true;
  }
  /// Waits until `when`; false if the answer is not there by then.
  bool wait_until(serving_clock::time_point when) {
    std::unique_lock lock(mutex_);
    auto const is_there = [this] { return finished_; };
    if (when == serving_clock::time_point::max()) {
      answered_.wait(lock, is_there);
      return true;
    }
    return answered_.wait_until(lock, when, is_there);
  }
  [[nodiscard]] call_failure failure() {
    std::scoped_lock const lock(mutex_);
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  bool finished_ = false;
  call_failure failure_;
};

}  // namespace stagecraft::serving::detail

namespace stagecraft::serving {

/// The answer that `embedded_runtime::submit` returns, which may still be awaited. Destroying it abandons the call:
/// samples that are in no batch yet never get into one.
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

  /// Waits for at most `time`; true if the answer is there.
  [[nodiscard]] bool wait_for(std::chrono::microseconds time) const {
    return call_->wait_until(detail::serving_clock::now() + time);
  }

  /// Waits for the outputs: for each output of the model the numbers of all samples, one sample after the other. It
  /// may be called once. Throws serving_error: E5081 the runtime was stopped before, E5083 the call's time is over,
  /// E5084 to E5086 the servable failed.
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
