// SPDX-License-Identifier: BSD-3-Clause
// What constant evaluation, and what runs keep beside their steps, append to: the part of std::vector that they need.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>

namespace stagecraft::tracing {

/// An array that grows, as std::vector does, with its names. Compilers instantiate it in a tenth of std::vector's time
/// for each type of element, and evaluate it faster. Elements need a default value, which those that are not there yet
/// have already; what is removed is overwritten. Allocates with `new`. No
/// step of a program waits for one that grows: it is compiled for size.
template <class T>
class growing_array {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = T const*;

  constexpr growing_array() noexcept = default;
  /// `count` elements of the default value.
  constexpr explicit growing_array(std::size_t count) { resize(count); }
  constexpr growing_array(std::size_t count, T const& value) { assign(count, value); }
  constexpr growing_array(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  constexpr growing_array(T const* first, T const* last) { append(first, last); }
  constexpr growing_array(growing_array const& other) { append(other.begin(), other.end()); }
  constexpr growing_array(growing_array&& other) noexcept { swap(other); }
  constexpr growing_array& operator=(growing_array const& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  constexpr growing_array& operator=(growing_array&& other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~growing_array() { delete[] data_; }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T* data() noexcept { return data_; }
  [[nodiscard]] constexpr T const* data() const noexcept { return data_; }
  [[nodiscard]] constexpr T* begin() noexcept { return data_; }
  [[nodiscard]] constexpr T const* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T const* end() const noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] constexpr T const& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] constexpr T& front() noexcept { return data_[0]; }
  [[nodiscard]] constexpr T const& front() const noexcept { return data_[0]; }
  [[nodiscard]] constexpr T& back() noexcept { return data_[size_ - 1]; }
  [[nodiscard]] constexpr T const& back() const noexcept { return data_[size_ - 1]; }

  constexpr void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = static_cast<T&&>(value);
  }
  /// One more element, of the default value, which stands there already.
  constexpr T& emplace_back() {
    if (size_ == capacity_) grow(size_ + 1);
    return data_[size_++];
  }
  template <class... Fields>
  constexpr T& emplace_back(Fields&&... fields) {
    push_back(T(static_cast<Fields&&>(fields)...));
    return back();
  }
  [[gnu::cold]] constexpr void append(T const* first, T const* last) {
    reserve(size_ + static_cast<std::size_t>(last - first));
    for (; first != last; ++first) data_[size_++] = *first;
  }
  /// Puts values that are not the array's own before `place`.
  [[gnu::cold]] constexpr void insert(T const* place, T const* first, T const* last) {
    std::size_t const at = static_cast<std::size_t>(place - data_);
    std::size_t const more = static_cast<std::size_t>(last - first);
    reserve(size_ + more);
    for (std::size_t i = size_; i > at; --i) data_[i - 1 + more] = static_cast<T&&>(data_[i - 1]);
    for (std::size_t i = 0; i < more; ++i) data_[at + i] = first[i];
    size_ += more;
  }
  constexpr void insert(T const* place, T const& value) { insert(place, &value, &value + 1); }
  constexpr void pop_back() { data_[--size_] = T(); }
  constexpr void clear() {
    while (size_ > 0) pop_back();
  }
  constexpr void resize(std::size_t count) {
    if (count > capacity_) grow(count);
    while (size_ > count) pop_back();
    size_ = count;
  }
  constexpr void resize(std::size_t count, T const& value) {
    if (count > capacity_) grow(count);
    while (size_ > count) pop_back();
    while (size_ < count) data_[size_++] = value;
  }
  constexpr void assign(std::size_t count, T const& value) {
    clear();
    resize(count, value);
  }
  constexpr void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  constexpr void swap(growing_array& other) noexcept {
    T* const data = data_;
    std::size_t const size = size_, capacity = capacity_;
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.data_ = data;
    other.size_ = size;
    other.capacity_ = capacity;
  }

  friend constexpr bool operator==(growing_array const& a, growing_array const& b)
    requires std::equality_comparable<T>
  {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  [[gnu::cold, gnu::noinline]] constexpr void grow(std::size_t least) {
    std::size_t const capacity = least < 2 * capacity_ ? 2 * capacity_ : least;
    T* const data = new T[capacity]();
    for (std::size_t i = 0; i < size_; ++i) data[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = data;
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace stagecraft::tracing
