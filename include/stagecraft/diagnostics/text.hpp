// SPDX-License-Identifier: BSD-3-Clause
// Text that is put together by the compiler: messages of errors, names of layers, rows of tables.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft {

/// A string of at most `Capacity` characters, usable in constant evaluation and as a template argument.
/// What does not fit is cut off, and `is_cut()` says so; nothing allocates.
template <std::size_t Capacity>
struct fixed_text {
  static constexpr std::size_t capacity = Capacity;

  /// The text, a zero, and whether characters are missing: a member of its own would be printed with each name.
  char characters[Capacity + 2]{};
  std::size_t length = 0;

  constexpr fixed_text() = default;
  constexpr fixed_text(char const* text) { append(std::string_view(text)); }
  constexpr fixed_text(std::string_view text) { append(text); }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters, length}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return length == 0; }
  constexpr operator std::string_view() const noexcept { return view(); }
  /// True if characters are missing.
  [[nodiscard]] constexpr bool is_cut() const noexcept { return characters[Capacity + 1] != 0; }

  constexpr fixed_text& append(std::string_view text) {
    // One plain loop: constant evaluation counts its steps.
    std::size_t const count = text.size() < Capacity - length ? text.size() : Capacity - length;
    char const* const from = text.data();
    for (std::size_t i = 0; i < count; ++i) characters[length + i] = from[i];
    length += count;
    if (count < text.size()) cut();
    return *this;
  }
  constexpr fixed_text& append(char c) {
    if (length < Capacity)
      characters[length++] = c;
    else
      cut();
    return *this;
  }
  constexpr fixed_text& append(long long number) {
    if (number < 0) append('-');
    char digits[20]{};
    int count = 0;
    do {
      auto const digit = number % 10;
      digits[count++] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
      number /= 10;
    } while (number != 0);
    while (count > 0) append(digits[--count]);
    return *this;
  }
  constexpr fixed_text& append(int number) { return append(static_cast<long long>(number)); }

  /// Records that characters are missing.
  constexpr void cut() noexcept { characters[Capacity + 1] = 1; }

  friend constexpr bool operator==(fixed_text const& a, fixed_text const& b) { return a.view() == b.view(); }
  friend constexpr bool operator==(fixed_text const& a, std::string_view b) { return a.view() == b; }
  friend constexpr bool operator==(fixed_text const& a, char const* b) { return a.view() == b; }
};

/// A text as a template argument, `f<"text">`, has room for its own characters only.
template <std::size_t Length>
fixed_text(char const (&)[Length]) -> fixed_text<Length - 1>;

}  // namespace stagecraft

namespace stagecraft::diagnostics {

/// A layer's, model's or parameter's name. Keras's own names stay well below this length.
inline constexpr std::size_t max_name_length = 47;

}  // namespace stagecraft::diagnostics

namespace stagecraft {

/// A name as a value of a template: at most 47 letters, those of layers and weights.
using fixed_name = fixed_text<diagnostics::max_name_length>;

}  // namespace stagecraft

namespace stagecraft::diagnostics {

/// The text of an error.
using message = fixed_text<400>;

}  // namespace stagecraft::diagnostics
