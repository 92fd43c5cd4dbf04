// SPDX-License-Identifier: BSD-3-Clause
// Memory for operations of Asio that must not fail.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace stagecraft::tool {

/// Holds one operation at a time; what is larger, or comes while it is taken, is allocated. One thread uses it.
class reserved_memory {
 public:
  reserved_memory() = default;
  reserved_memory(reserved_memory const&) = delete;
  reserved_memory& operator=(reserved_memory const&) = delete;

  [[nodiscard]] void* take(std::size_t size) {
    if (size > bytes_.size() || is_taken_) return ::operator new(size);
    is_taken_ = true;
    return bytes_.data();
  }
  void give_back(void* place) noexcept {
    if (place == bytes_.data())
      is_taken_ = false;
    else
      ::operator delete(place);
  }

 private:
  alignas(std::max_align_t) std::array<std::byte, 512> bytes_{};
  bool is_taken_ = false;
};

/// What Asio asks for the memory of a handler's operation.
template <class Value>
struct reserved_allocator {
  using value_type = Value;

  explicit reserved_allocator(reserved_memory& of) noexcept : memory(&of) {}
  template <class Other>
  reserved_allocator(reserved_allocator<Other> const& other) noexcept : memory(other.memory) {}

  [[nodiscard]] Value* allocate(std::size_t count) { return static_cast<Value*>(memory->take(count * sizeof(Value))); }
  void deallocate(Value* place, std::size_t) noexcept { memory->give_back(place); }
  template <class Other>
  [[nodiscard]] bool operator==(reserved_allocator<Other> const& other) const noexcept {
    return memory == other.memory;
  }

  reserved_memory* memory;
};

/// A handler whose operation is in reserved memory, which is free again when the handler is called.
template <class Function>
class reserved_handler {
 public:
  using allocator_type = reserved_allocator<Function>;

  reserved_handler(reserved_memory& memory, Function function) : memory_(&memory), function_(std::move(function)) {}
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(*memory_); }
  template <class Problem>
  void operator()(Problem const& problem) {
    function_(problem);
  }

 private:
  reserved_memory* memory_;
  Function function_;
};

}  // namespace stagecraft::tool
