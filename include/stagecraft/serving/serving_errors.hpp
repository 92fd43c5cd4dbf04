// SPDX-License-Identifier: BSD-3-Clause
// Errors of calls of an embedded runtime: the classes of Graphcore's embedded application runtime, and refusals of the
// queue.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>

namespace stagecraft::serving {

/// The base of all errors of serving.
class serving_error : public error {
 public:
  using error::error;
};

/// The model itself has failed for these inputs, such as a floating-point exception of an emulated IPU (E5084, after
/// the model's own text). The runtime takes further calls.
class application_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The machine lacked memory or threads for a moment (E5085). The runtime takes further calls; the call may be
/// repeated.
class recoverable_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The servable failed in an unknown way (E5086). The runtime is stopped until `restart`.
class unrecoverable_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The runtime is stopped, or stops, and takes no calls (E5081).
class runtime_stopped : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The queue is full (E5082).
class queue_full : public serving_error {
 public:
  using serving_error::serving_error;
};

/// A call was not answered within its time (E5083).
class deadline_exceeded : public serving_error {
 public:
  using serving_error::serving_error;
};

}  // namespace stagecraft::serving
