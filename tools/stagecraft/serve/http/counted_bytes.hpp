// SPDX-License-Identifier: BSD-3-Clause
// Counts the bytes that all requests of a server have in memory, up to a limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace stagecraft::tool {

/// Bytes that count as long as this object lives.
class counted_bytes {
 public:
  explicit counted_bytes(std::atomic<std::size_t>& all) : all_(all) {}
  counted_bytes(counted_bytes const&) = delete;
  counted_bytes& operator=(counted_bytes const&) = delete;
  ~counted_bytes() { clear(); }

  /// Counts more bytes. Returns false, and counts none, if all bytes would be more than `most`.
  [[nodiscard]] bool add(std::size_t count, std::size_t most) {
    if (all_.fetch_add(count) + count > most) {
      all_ -= count;
      return false;
    }
    own_ += count;
    return true;
  }
  /// Counts at least `count` bytes. Returns false, and changes nothing, as above.
  [[nodiscard]] bool grow_to(std::size_t count, std::size_t most) { return count <= own_ || add(count - own_, most); }
  void clear() { all_ -= std::exchange(own_, 0); }

 private:
  std::atomic<std::size_t>& all_;
  std::size_t own_ = 0;
};

}  // namespace stagecraft::tool
