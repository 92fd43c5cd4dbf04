// SPDX-License-Identifier: BSD-3-Clause
// The text of a file_error, put together piece by piece: "<file>: expected ..., found ...". Kept out of line, since
// strings added up in place cost more compile time than all that is done with the data; and not with `<<`, for which
// GCC tries every operator of the standard library's.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::datasets::detail {

class complaint {
 public:
  [[gnu::noinline]] explicit complaint(std::string_view file) : text_(file) { text_ += ": expected "; }

  [[gnu::noinline]] complaint& add(std::string_view piece) {
    text_ += piece;
    return *this;
  }

  [[gnu::noinline]] complaint& add(std::size_t number) {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    text_.append(digits + first, sizeof digits - first);
    return *this;
  }
  /// What says itself what it is.
  template <class Described>
  auto add(Described const& described) -> decltype(described.describe_to(*this)) {
    return described.describe_to(*this);
  }

  [[noreturn, gnu::noinline]] void raise(std::string_view code) const { throw file_error(code, text_); }

 private:
  std::string text_;
};

}  // namespace stagecraft::datasets::detail
