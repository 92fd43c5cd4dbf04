// SPDX-License-Identifier: BSD-3-Clause
// What start.cpp has for programs.
#pragma once

#include <cstdint>

/// The pattern that fills the stack before the program uses it.
inline constexpr std::uint32_t unused_stack = 0xdeadbeef;

extern "C" {
/// Prints a text in the debugger's console.
void print(char const* text);
/// Ticks of the processor's clock since the start, modulo 2^24.
unsigned ticks();
/// Bytes of the stack that the program has used at most so far.
unsigned used_stack_bytes();
/// Bytes of the program's variables.
unsigned static_bytes();
}
