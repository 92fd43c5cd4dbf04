// SPDX-License-Identifier: BSD-3-Clause
// The first broken rule of a model, found in constant evaluation: a stable code and a text with the layer's name and
// the values.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::diagnostics {

/// A line of the user's source; 0 if it is not known.
struct source_line {
  char const* file = "";
  int line = 0;

  /// The file's name without its folders.
  [[nodiscard]] constexpr std::string_view file_name() const {
    std::string_view const path = file;
    auto const slash = path.find_last_of("/\\");
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  }
};

/// A mistake in a model, an assignment or training options; `code` 0 means that there is none. Codes are stable:
/// 1xxx shapes and layers, 2xxx stages and pipelines, 3xxx tiles and memory, 4xxx training and execution, 5xxx files.
/// Each has a section in docs/errors.md.
struct diagnostic {
  int code = 0;
  source_line where = {};  ///< the call in the user's source, if it is known
  message text;

  [[nodiscard]] constexpr bool failed() const noexcept { return code != 0; }
  [[nodiscard]] constexpr bool has_text() const noexcept { return code > 0; }

  /// The text as the compiler prints it: followed by "(model.cpp:17)" if the line is known.
  [[nodiscard]] constexpr fixed_text<message::capacity + 90> text_with_line() const {
    fixed_text<message::capacity + 90> result(text.view());
    if (where.line > 0)
      result.append(" (").append(where.file_name().substr(0, 64)).append(':').append(where.line).append(')');
    return result;
  }

  /// Records a mistake that has had its own compile error: the model is invalid, but nothing more is said of it.
  constexpr void already_reported() {
    if (!failed()) code = -1;
  }

  /// Says where the problem is, unless that is known better.
  constexpr void locate(source_line const& call) {
    if (failed() && where.line == 0) where = call;
  }

  /// Records the problem if it is the first one: `report(1002, "layer '", name, "' expects ...")`.
  template <class... Parts>
  constexpr void report(int error_code, Parts... parts) {  // by value: literals of all lengths are one type
    if (!begin(error_code)) return;
    (append(parts), ...);
    end();
  }
  /// Begins a report whose parts are appended afterwards; false if there is a problem already.
  constexpr bool begin(int error_code) {
    if (failed()) return false;
    code = error_code;
    return true;
  }
  constexpr void end() { text.append(" [E").append(code).append(']'); }

  /// One part of a message: text, a number, or anything with `append_to(message&)`, such as a shape. What is
  /// said of a part that has had its own compile error has been said with that.
  constexpr void append(char const* part) { text.append(std::string_view(part)); }
  template <class Part>
    requires(!std::is_array_v<Part>)
  constexpr void append(Part const& part) {
    if constexpr (requires { part.append_to(text); })
      part.append_to(text);
    else
      text.append(part);
    if constexpr (requires { part.already_reported(); })
      if (part.already_reported()) code = -1;
  }
};

}  // namespace stagecraft::diagnostics
