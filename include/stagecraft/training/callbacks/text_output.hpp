// SPDX-License-Identifier: BSD-3-Clause
// Where the text of progress bars and callbacks goes, and where their time comes from.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// Receives text. Made from any callable that takes a std::string_view; it keeps a reference, so the callable must be
/// an lvalue that lives longer. By default text goes to stdout, which is flushed each time.
class text_output {
 public:
  text_output() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, text_output> &&
             std::is_invocable_v<Function&, std::string_view>)
  text_output(Function& function)
      : receiver_(const_cast<void*>(static_cast<void const*>(&function))),
        write_([](void* receiver, std::string_view text) { (*static_cast<Function*>(receiver))(text); }) {}

  void operator()(std::string_view text) const { write_(receiver_, text); }

 private:
  static void write_to_stdout(void*, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void* receiver_ = nullptr;
  void (*write_)(void*, std::string_view) = write_to_stdout;
};

/// Tells the time in seconds. Made from any callable without arguments that returns a number; it keeps a reference, so
/// the callable must be an lvalue that lives longer. By default the system's time of day, as in Keras.
class time_source {
 public:
  time_source() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, time_source> && std::is_invocable_r_v<double, Function&>)
  time_source(Function& function)
      : source_(const_cast<void*>(static_cast<void const*>(&function))),
        seconds_([](void* source) -> double { return (*static_cast<Function*>(source))(); }) {}

  [[nodiscard]] double operator()() const { return seconds_(source_); }

 private:
  static double time_of_day(void*) {
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  void* source_ = nullptr;
  double (*seconds_)(void*) = time_of_day;
};

}  // namespace stagecraft::trainers
