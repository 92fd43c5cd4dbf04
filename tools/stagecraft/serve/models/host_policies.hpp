// SPDX-License-Identifier: BSD-3-Clause
// Where instances of models run: Triton's --host-policy.
#pragma once

#include <map>
#include <sched.h>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The processors of each NUMA node, by the node's number, as far as this process may run on them; nodes without any
/// are left out. Empty if the system does not say. `system`: where Linux's /sys is. Throws file_error E5304: the files
/// cannot be read as lists of processors.
[[nodiscard]] std::vector<cpu_set_t> numa_nodes(std::string const& system = "/sys");

/// Named sets of processors.
class host_policies {
 public:
  /// Takes "name,cpu-cores=0-3,8" and "name,numa-node=0", which is the part of the node on which this process may run;
  /// several ones of a name are one set. Throws file_error E5304: it is neither, or a node or processor is not there,
  /// or not this process's. `system`: where Linux's /sys is.
  explicit host_policies(std::vector<std::string> const& texts = {}, std::string const& system = "/sys");

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
