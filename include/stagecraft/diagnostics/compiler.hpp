// SPDX-License-Identifier: BSD-3-Clause
// What is said to a compiler that cannot read this library, before it tries: one sentence. The include after it, of a
// file that does not exist, ends the compilation. Read first by the headers that programs begin with.
#pragma once

#if !defined(__GNUC__)
#error stagecraft needs GCC 12 or newer, or Clang 19 or newer
#include <see the error above>
#elif defined(__apple_build_version__) && __apple_build_version__ < 17000000
#error stagecraft needs Xcode 16.3 or newer (Clang 19)
#include <see the error above>
#elif defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 19
#error stagecraft needs Clang 19 or newer, or GCC 12 or newer
#include <see the error above>
#elif !defined(__clang__) && __GNUC__ < 12
#error stagecraft needs GCC 12 or newer, or Clang 19 or newer
#include <see the error above>
#elif defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error stagecraft looks for NaN and rounds in a set order: replace -ffast-math by -fno-math-errno -fno-trapping-math
#include <see the error above>
#elif __cplusplus < 202002L
#error stagecraft needs C++20: compile with -std=c++20
#include <see the error above>
#endif
