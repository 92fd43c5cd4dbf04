// SPDX-License-Identifier: BSD-3-Clause
// What a call of a running program can fail with: Graphcore's classes of the embedded application runtime, and what
// its queue refuses.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>

namespace stagecraft::serving {

/// Base of all of them.
class serving_error : public error {
 public:
  using error::error;
};

/// The model itself has failed for these inputs, such as a floating-point exception of an emulated IPU (E5084, after
/// the model's own text). The engine has begun anew and takes calls.
class application_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The machine lacked something for a moment: memory, threads (E5085). The engine has begun anew; the call may be
/// repeated.
class recoverable_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The program has failed in a way that is not known (E5086). The engine is stopped until `restart`.
class unrecoverable_runtime_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// The engine is stopped, or stops, and takes no calls (E5081).
class runtime_stopped : public serving_error {
 public:
  using serving_error::serving_error;
};

/// As many calls wait as may wait (E5082).
class queue_full : public serving_error {
 public:
  using serving_error::serving_error;
};

/// A call was not answered in its time (E5083).
class deadline_exceeded : public serving_error {
 public:
  using serving_error::serving_error;
};

}  // namespace stagecraft::serving
