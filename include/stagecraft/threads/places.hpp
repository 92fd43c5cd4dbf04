// SPDX-License-Identifier: BSD-3-Clause
// A place for each thread of a team.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstddef>

namespace stagecraft::threads {

/// Elements that are neither copied nor moved, such as atomics; their number is known when they are made. Compilers
/// instantiate a part of what std::vector is.
template <class T>
class places {
 public:
  explicit places(std::size_t count) : data_(new T[count]()), size_(count) {}
  places(places const&) = delete;
  places& operator=(places const&) = delete;
  ~places() { delete[] data_; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T const* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] T const* end() const noexcept { return data_ + size_; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] T const& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  T* data_;
  std::size_t size_;
};

}  // namespace stagecraft::threads
