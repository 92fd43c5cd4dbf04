// SPDX-License-Identifier: BSD-3-Clause
// Where instances of models run: Triton's --host-policy.
#pragma once

#include <map>
#include <sched.h>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Named sets of processors.
class host_policies {
 public:
  /// Takes "name,cpu-cores=0-3,8" and "name,numa-node=0"; several ones of a name are one set. Throws file_error E5304:
  /// it is neither, or a node or processor is not there, or not this process's.
  explicit host_policies(std::vector<std::string> const& texts = {});

  /// The processors of a policy; null if there is none with that name.
  [[nodiscard]] cpu_set_t const* find(std::string const& name) const noexcept;

 private:
  std::map<std::string, cpu_set_t> sets_;
};

/// While it lives, this thread, and threads that begin in it, which keep that, run on these processors alone.
class pinned_thread {
 public:
  /// Null: nothing changes. Throws std::system_error.
  explicit pinned_thread(cpu_set_t const* to);
  pinned_thread(pinned_thread const&) = delete;
  pinned_thread& operator=(pinned_thread const&) = delete;
  ~pinned_thread();

 private:
  bool is_pinned_ = false;
  cpu_set_t former_{};
};

}  // namespace stagecraft::tool
