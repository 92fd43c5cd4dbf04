// SPDX-License-Identifier: BSD-3-Clause
// Where the tables of a model go: Keras's arguments `line_length` and `print_fn` of `summary`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <concepts>
#include <cstdio>
#include <string_view>
#include <type_traits>

namespace stagecraft::models {

/// Keras's `print_fn`: anything that can be called with a line of text, without its end of line. Refers to what it is
/// made from, as std::string_view does; a function is kept itself. Without one, lines go to stdout.
class line_printer {
 public:
  constexpr line_printer() = default;
  template <class Print>
    requires(!std::same_as<std::remove_cvref_t<Print>, line_printer> && std::invocable<Print&, std::string_view>)
  constexpr explicit(false) line_printer(Print&& print) {
    using Callee = std::remove_reference_t<Print>;
    if constexpr (std::is_function_v<std::remove_pointer_t<std::decay_t<Print>>>) {
      callee_.function = reinterpret_cast<void (*)()>(static_cast<std::decay_t<Print>>(print));
      print_ = [](callee const& to, std::string_view line) {
        reinterpret_cast<std::decay_t<Print>>(to.function)(line);
      };
    } else {
      callee_.object = &print;
      print_ = [](callee const& to, std::string_view line) {
        (*const_cast<Callee*>(static_cast<Callee const*>(to.object)))(line);
      };
    }
  }

  void operator()(std::string_view line) const { print_(callee_, line); }

 private:
  union callee {
    void const* object = nullptr;
    void (*function)();
  };

  static void print_to_stdout(callee const&, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  }

  callee callee_;
  void (*print_)(callee const&, std::string_view) = print_to_stdout;
};

}  // namespace stagecraft::models

namespace stagecraft {

/// The arguments of `summary` and `print_pipeline_stage_assignment_summary`:
/// `sc::summary<mlp>({.line_length = 80, .print_fn = [&](std::string_view line) { ... }})`.
struct summary_options {
  /// Characters per line; 0: Keras's default for the kind of table.
  int line_length = 0;
  /// The function that gets each line, in place of standard output.
  models::line_printer print_fn = {};
};

}  // namespace stagecraft
