// SPDX-License-Identifier: BSD-3-Clause
// Which of the runtime's classes an error of a program belongs to.
#pragma once

#include <stagecraft/serving/serving_errors.hpp>
#include <exception>
#include <new>
#include <system_error>

namespace stagecraft::serving::detail {

/// What callers are told, and whether the engine can go on.
struct failure_class {
  std::exception_ptr answer;
  bool goes_on = true;
};

[[nodiscard]] inline failure_class class_of(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (unrecoverable_runtime_error const&) {
    return {failure, false};
  } catch (serving_error const&) {
    return {failure};
  } catch (error const& why) {
    return {std::make_exception_ptr(application_runtime_error("E5084", why.what()))};
  } catch (std::bad_alloc const&) {
    return {std::make_exception_ptr(recoverable_runtime_error("E5085", "the machine has no more memory"))};
  } catch (std::system_error const& why) {
    return {std::make_exception_ptr(recoverable_runtime_error("E5085", why.what()))};
  } catch (std::exception const& why) {
    return {std::make_exception_ptr(unrecoverable_runtime_error("E5086", why.what())), false};
  } catch (...) {
    return {std::make_exception_ptr(unrecoverable_runtime_error("E5086", "the program has failed")), false};
  }
}

}  // namespace stagecraft::serving::detail
