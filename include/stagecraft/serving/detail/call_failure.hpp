// SPDX-License-Identifier: BSD-3-Clause
// Why a call has no outputs. Kept as a text, not as an exception: each caller gets an object of its own, on its thread.
#pragma once

#include <stagecraft/serving/serving_errors.hpp>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <system_error>

namespace stagecraft::serving::detail {

/// A class of serving_error, and its text. Copies share the text, so that calls can be answered when memory is short.
class call_failure {
 public:
  enum class kind { none, stopped, late, application, recoverable, unrecoverable };

  kind what = kind::none;

  [[nodiscard]] std::string text() const { return own_text_ ? *own_text_ : text_of(what); }

  [[nodiscard]] static call_failure of_stop() noexcept { return {kind::stopped}; }
  [[nodiscard]] static call_failure of_time() noexcept { return {kind::late}; }
  /// The failure that an exception of a program is: its class, and its text without the code. If there is no memory for
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
      case kind::stopped: return "the engine was stopped before the call was run";
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

}  // namespace stagecraft::serving::detail
