// SPDX-License-Identifier: BSD-3-Clause
// The module stagecraft: all that <stagecraft/ipu.hpp> and <stagecraft/steps.hpp> have. docs/building.md says how a program
// imports it. What it exports belongs to the global module, so that files of one program may include or import.
module;

// What the library reads of the standard library and of others must not become part of the module. tests/portable/platforms_test.py
// checks that no header is missing.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cfenv>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <locale.h>
#include <time.h>
#if __has_include(<pthread.h>)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

// Clang's intrinsics are static, and a template that calls them with arguments of its own finds no static function of a
// module when another file instantiates it. They are always inlined, so that it does not matter what they are else.
#if defined(__clang__) && (defined(__x86_64__) || defined(__i386__))
#define static
#include <immintrin.h>
#undef static
#endif

#include <xsimd/xsimd.hpp>

#include <stagecraft/kernels/simd/portable_registers.hpp>  // declares xsimd's names
#include <stagecraft/kernels/simd/processor_check.hpp>     // has names of each file's own, which cannot be exported
#include <stagecraft/training/data/xtensor.hpp>

export module stagecraft;

export extern "C++" {
#include <stagecraft/ipu.hpp>
#include <stagecraft/steps.hpp>
}

// Arrays of programs; what else xtensor has is included before the import.
export namespace xt {
using xt::adapt;
using xt::all;
using xt::newaxis;
using xt::range;
using xt::view;
using xt::xarray;
using xt::xtensor;
}  // namespace xt

// What the library's templates need of the standard library where a program instantiates them, and a structured binding of
// its results: compilers look for these names in the importing file.
export namespace std {
using std::get;
using std::initializer_list;
using std::operator==;
using std::tuple_element;
using std::tuple_size;
}  // namespace std
