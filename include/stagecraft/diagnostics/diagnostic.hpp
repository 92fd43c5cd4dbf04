// SPDX-License-Identifier: BSD-3-Clause
// The first broken rule of a model, found in constant evaluation: a stable code and a text with the layer's name and
// the values. Level 0.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <string_view>

namespace stagecraft {

/// What is wrong with a model, an assignment or training options; `code` 0 means that nothing is. Codes are stable:
/// 1xxx shapes and layers, 2xxx stages and pipelines, 3xxx tiles and memory, 4xxx training and execution, 5xxx files.
/// Each has a section in docs/errors.md.
struct diagnostic {
  int code = 0;
  int line = 0;  ///< of the user's source, where it is known; 0 otherwise
  message text;

  /// The code of a mistake that has had its own compile error before; nothing more is said of it.
  static constexpr int already_reported = -1;

  [[nodiscard]] constexpr bool failed() const noexcept { return code != 0; }
  [[nodiscard]] constexpr bool has_text() const noexcept { return code > 0; }

  /// The text as the compiler prints it: with "(line 17)" if the line is known.
  [[nodiscard]] constexpr fixed_text<message::capacity + 20> text_with_line() const {
    fixed_text<message::capacity + 20> result(text.view());
    if (line > 0) result.append(" (line ").append(line).append(')');
    return result;
  }

  /// Records the problem if it is the first one: `report(1002, "layer '", name, "' expects ...")`.
  template <class... Parts>
  constexpr void report(int error_code, Parts const&... parts) {
    if (failed()) return;
    code = error_code;
    (append(parts), ...);
    text.append(" [E").append(error_code).append(']');
  }

  /// One part of a message: text, a number, or anything with `append_to(message&)`, such as a shape.
  template <class Part>
  constexpr void append(Part const& part) {
    if constexpr (requires { part.append_to(text); })
      part.append_to(text);
    else
      text.append(part);
  }
};

}  // namespace stagecraft
