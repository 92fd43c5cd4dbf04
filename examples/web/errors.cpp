// SPDX-License-Identifier: BSD-3-Clause
// What a thrown error does in a program for WebAssembly without exceptions (Clang's -fignore-exceptions): says it, and
// ends the program. Link this file to it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

extern "C" {

void* __cxa_allocate_exception(std::size_t size) noexcept { return std::malloc(size); }

// All that the library and C++'s own libraries throw begins with a std::exception.
[[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
  std::fprintf(stderr, "%s\n", static_cast<std::exception*>(thrown)->what());
  std::exit(EXIT_FAILURE);
}
}
