// SPDX-License-Identifier: BSD-3-Clause
// Memory of the system that clients of the same machine share with the server: Triton's extension system_shared_memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// What a client has registered: a part of an object of shm_open.
struct shared_region {
  std::string name, key;
  std::uint64_t offset = 0, size = 0;
};

/// A part of a region that an input or output of a request names.
struct shared_part {
  std::string region;
  std::uint64_t offset = 0, size = 0;
};

/// The regions of a server. They are read and written as files, not mapped, so that a client that makes one shorter
/// fails its own calls and does not end the server. Any thread may call any function. Errors are http_error 400.
class shared_regions {
 public:
  shared_regions() = default;
  shared_regions(shared_regions const&) = delete;
  shared_regions& operator=(shared_regions const&) = delete;

  /// Throws http_error: the name is taken, or the object cannot be opened or is smaller.
  void add(shared_region const& region);
  /// Forgets a region, which may not be there; an empty name: all.
  void remove(std::string const& name);
  /// All regions, or that with this name. Throws http_error if there is none.
  [[nodiscard]] std::vector<shared_region> list(std::string const& name) const;

  /// Throw http_error: there is no such region, or the part is not within it.
  [[nodiscard]] std::string read(shared_part const& part) const;
  void write(shared_part const& part, void const* bytes, std::size_t count) const;

 private:
  struct opened;
  [[nodiscard]] std::shared_ptr<opened const> find(shared_part const& part) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<opened const>> regions_;
};

}  // namespace stagecraft::tool
