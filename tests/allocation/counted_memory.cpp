// SPDX-License-Identifier: BSD-3-Clause
#include "counted_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};
std::atomic<bool> is_refused{false};
std::atomic<long> given_back{0};
std::atomic<long long> taken_bytes{0};

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  ++count;
  taken_bytes += static_cast<long long>(bytes);
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (is_refused) throw std::bad_alloc();
  if (void* const memory = take(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  ++given_back;
  std::free(memory);
}

}  // namespace

long allocations() noexcept { return count; }
void refuse_allocations(bool refused) noexcept { is_refused = refused; }
long long allocated_bytes() noexcept { return taken_bytes; }
long live_allocations() noexcept { return count - given_back; }

void* operator new(std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes, 1); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return take(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::nothrow_t const&) noexcept { give_back(memory); }
void operator delete[](void* memory, std::nothrow_t const&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t, std::nothrow_t const&) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t, std::nothrow_t const&) noexcept { give_back(memory); }
