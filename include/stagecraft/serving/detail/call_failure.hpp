// SPDX-License-Identifier: BSD-3-Clause
// Why a call has no outputs. Kept as a text, not as an exception: each caller gets an object of its own, on its thread.
#pragma once

#include <stagecraft/serving/serving_errors.hpp>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace stagecraft::serving::detail {

/// A class of serving_error, and its text.
struct call_failure {
  enum class kind { none, stopped, late, application, recoverable, unrecoverable };

  kind what = kind::none;
  std::string text;

  [[nodiscard]] static call_failure of_stop() {
    return {kind::stopped, "the engine was stopped before the call was run"};
  }
  [[nodiscard]] static call_failure of_time() { return {kind::late, "the call was not answered in its time"}; }
  /// The failure that an exception of a program is: its class, and its text without the code.
  [[nodiscard]] static call_failure of(std::exception_ptr const& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (recoverable_runtime_error const& why) {
      return {kind::recoverable, without_code(why)};
    } catch (unrecoverable_runtime_error const& why) {
      return {kind::unrecoverable, without_code(why)};
    } catch (application_runtime_error const& why) {
      return {kind::application, without_code(why)};
    } catch (error const& why) {
      return {kind::application, why.what()};
    } catch (std::bad_alloc const&) {
      return {kind::recoverable, "the machine has no more memory"};
    } catch (std::system_error const& why) {
      return {kind::recoverable, why.what()};
    } catch (std::exception const& why) {
      return {kind::unrecoverable, why.what()};
    } catch (...) {
      return {kind::unrecoverable, "the program has failed"};
    }
  }

  void raise() const {
    switch (what) {
      case kind::none: return;
      case kind::stopped: throw runtime_stopped("E5081", text);
      case kind::late: throw deadline_exceeded("E5083", text);
      case kind::application: throw application_runtime_error("E5084", text);
      case kind::recoverable: throw recoverable_runtime_error("E5085", text);
      case kind::unrecoverable: throw unrecoverable_runtime_error("E5086", text);
    }
  }

 private:
  [[nodiscard]] static std::string without_code(error const& why) {
    std::string text = why.what();
    auto const end = " [" + std::string(why.code()) + "]";
    if (text.ends_with(end)) text.resize(text.size() - end.size());
    return text;
  }
};

}  // namespace stagecraft::serving::detail
