// SPDX-License-Identifier: BSD-3-Clause
// The owner of one object.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::threads {

/// A std::unique_ptr without deleters and arrays: compilers instantiate a twentieth as much for each type.
template <class T>
class owned {
 public:
  owned() = default;
  /// Takes an object that `new` has made.
  explicit owned(T* made) noexcept : object_(made) {}
  owned(owned&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  owned& operator=(owned&& other) noexcept {
    T* const before = object_;
    object_ = other.object_;
    other.object_ = before;
    return *this;
  }
  // Compiled once for each type: GCC inlines it wherever a life ends, which made a twelfth of a small trainer's code.
  [[gnu::cold, gnu::noinline]] ~owned() { delete object_; }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace stagecraft::threads
