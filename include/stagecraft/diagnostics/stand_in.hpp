// SPDX-License-Identifier: BSD-3-Clause
// What queries answer about a model that has had its compile error: values that agree with whatever the user compares
// them with, so that one mistake stays one error.
#pragma once

#include <cstddef>

namespace stagecraft::diagnostics {

/// Replaces a number that is not known. It equals everything; as an int it is `value`, so that loops end.
struct any_number {
  int value = 0;

  constexpr operator int() const noexcept { return value; }
  template <class T>
  friend constexpr bool operator==(any_number, T const&) noexcept {
    return true;
  }
  friend constexpr bool operator==(any_number, any_number) noexcept { return true; }
  friend constexpr bool operator!=(any_number, any_number) noexcept { return true; }
  // It is at least what it is compared with. On the right of `<` it is `value`, since loops end there.
  template <class T>
  friend constexpr bool operator>=(any_number, T const&) noexcept {
    return true;
  }
  template <class T>
  friend constexpr bool operator>(any_number, T const&) noexcept {
    return true;
  }
};

/// Replaces a list of calls.
struct any_calls {
  std::size_t calls = 0;  // of the model, which is looked at, so that its error comes

  [[nodiscard]] constexpr any_number size() const noexcept { return {}; }
  [[nodiscard]] constexpr any_number operator[](std::size_t) const noexcept { return {}; }
  [[nodiscard]] constexpr int const* begin() const noexcept { return nullptr; }
  [[nodiscard]] constexpr int const* end() const noexcept { return nullptr; }
  template <class T>
  friend constexpr bool operator==(any_calls const&, T const&) noexcept {
    return true;
  }
};

/// Replaces a value of a class: the value, but equal to everything.
template <class T>
struct any_value : T {
  template <class Other>
  friend constexpr bool operator==(any_value const&, Other const&) noexcept {
    return true;
  }
};

template <class T>
inline constexpr any_value<T> anything{};

}  // namespace stagecraft::diagnostics
