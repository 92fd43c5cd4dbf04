// SPDX-License-Identifier: BSD-3-Clause
// What the library's lists are read through: the part of std::span that it needs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

#include <cstddef>
#include <type_traits>

namespace stagecraft::tracing {

/// A part of an array that something else holds, as std::span is, with its names. std::span asks the concepts of ranges
/// and iterators of each type of element, which takes GCC 14 ms; this one asks for `data()` and `size()`. A
/// std::span converts to it, and it, by name or with const elements, to a std::span. As there, a temporary that is no
/// view itself converts only where elements are const, for arguments of calls; Clang warns where the view outlives it.
template <class T>
class
#ifdef __clang__
    [[gsl::Pointer(T)]]
#endif
    array_view {
 public:
  using element_type = T;
  using iterator = T*;

  constexpr array_view() noexcept = default;
  constexpr array_view(T* first, std::size_t count) noexcept : data_(first), size_(count) {}
  constexpr array_view(T* first, T* last) noexcept : data_(first), size_(static_cast<std::size_t>(last - first)) {}
  /// A list of numbers, {0, 1}, is no view: its 0 is not a null pointer.
  constexpr array_view(int, std::size_t) = delete;
  template <std::size_t Count>
  constexpr array_view(T (&array)[Count]) noexcept : data_(array), size_(Count) {}  // NOLINT: as std::span
  /// Views a std::array, a std::vector, a growing_array or another view.
  template <class List>
    requires requires(List& list) {
      list.size();
      // No derived ones; std::is_convertible would be instantiated for each type of element.
      requires requires(void (&take)(T(*)[]), std::remove_pointer_t<decltype(list.data())>(*given)[]) { take(given); };
      requires std::is_const_v<T> || std::is_lvalue_reference_v<List> || requires { typename List::element_type; };
    }
  constexpr array_view(List&& list) noexcept : data_(list.data()), size_(list.size()) {}  // NOLINT: as std::span

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] constexpr T& front() const noexcept { return data_[0]; }
  [[nodiscard]] constexpr T& back() const noexcept { return data_[size_ - 1]; }
  [[nodiscard]] constexpr array_view first(std::size_t count) const noexcept { return {data_, count}; }
  [[nodiscard]] constexpr array_view subspan(std::size_t offset) const noexcept {
    return {data_ + offset, size_ - offset};
  }
  [[nodiscard]] constexpr array_view subspan(std::size_t offset, std::size_t count) const noexcept {
    return {data_ + offset, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace stagecraft::tracing
