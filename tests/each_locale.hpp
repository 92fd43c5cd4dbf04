// SPDX-License-Identifier: BSD-3-Clause
// Runs something in each way in which a program can change how numbers are written: the C locale, a thread's own locale
// and that of C++'s streams, all with a comma for the point.
#pragma once

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <locale.h>
#include <locale>
#include <string>
#include <unistd.h>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define STAGECRAFT_TEST_LEAKS_OF_LIBRARY __lsan::ScopedDisabler const of_library;
#endif
#endif
#if !defined(STAGECRAFT_TEST_LEAKS_OF_LIBRARY)
#define STAGECRAFT_TEST_LEAKS_OF_LIBRARY
#endif

namespace tests {

/// The C library keeps copies of some names for ever: that is no leak of what is tested.
inline locale_t library_locale(char const* name) {
  STAGECRAFT_TEST_LEAKS_OF_LIBRARY
  return newlocale(LC_ALL_MASK, name, nullptr);
}
inline char const* set_library_locale(char const* name) {
  STAGECRAFT_TEST_LEAKS_OF_LIBRARY
  return std::setlocale(LC_ALL, name);
}

/// The name of a locale with a decimal comma; empty, with a message, where there is none and none can be made.
inline std::string const& locale_with_comma() {
  static std::string const name = [] {
    auto const has_comma = [](char const* each) {
      auto const found = library_locale(each);
      if (found == nullptr) return false;
      auto const former = uselocale(found);
      char text[8];
      std::snprintf(text, sizeof text, "%.1f", 0.5);
      uselocale(former);
      freelocale(found);
      return text[1] == ',';
    };
    for (char const* const each : {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8"})
      if (has_comma(each)) return std::string(each);
    // A machine without locales, such as a container's, has their sources, from which the folder of the tests gets one.
    static struct made {
      std::string path = std::filesystem::temp_directory_path() / ("locale_with_comma_" + std::to_string(getpid()));
      ~made() { std::filesystem::remove_all(path); }
    } const folder;
    std::filesystem::create_directory(folder.path);
    auto const command = "localedef -i de_DE -f UTF-8 '" + folder.path + "/de_DE.UTF-8' >/dev/null 2>&1";
    [[maybe_unused]] int const status = std::system(command.c_str());
    setenv("LOCPATH", folder.path.c_str(), 1);
    if (has_comma("de_DE.UTF-8")) return std::string("de_DE.UTF-8");
    MESSAGE("no locale has a decimal comma, and localedef (Debian: locales) made none: only std::locale is tried");
    return std::string();
  }();
  return name;
}

struct decimal_comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Calls `f(which)` in each of these locales, and puts everything back.
template <class F>
void for_each_locale(F const& f) {
  auto const former = std::locale::global(std::locale(std::locale::classic(), new decimal_comma));
  f("std::locale::global");
  std::locale::global(former);
  auto const& name = locale_with_comma();
  if (name.empty()) return;
  REQUIRE(set_library_locale(name.c_str()) != nullptr);
  f("setlocale");
  set_library_locale("C");
  auto const own = library_locale(name.c_str());
  auto const before = uselocale(own);
  f("uselocale");
  uselocale(before);
  freelocale(own);
}

}  // namespace tests
