// SPDX-License-Identifier: BSD-3-Clause
// A program that is compiled for a newer processor than the one it is started on says so and ends, before it dies of an
// illegal instruction. simd.hpp includes this, so that each translation unit with kernels checks what its own flags
// (-march) let the compiler use. A unit that is entered only where the processor is known to have all of that, as in a
// program that chooses among units at run time, is compiled with -DSTAGECRAFT_NO_PROCESSOR_CHECK. Processors other than
// x86-64 are not checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The instruction sets of x86 that compilers use without being asked for each by name, and that kernels use: what the
// library calls them, what the compilers' flags do, and the macros that are defined where the flags allow them. The
// macros of this list end with this header. Files of applications store the sets by their places: new ones come last.
#define STAGECRAFT_INSTRUCTION_SETS(X)                       \
  X(sse3, "sse3", __SSE3__)                                  \
  X(ssse3, "ssse3", __SSSE3__)                               \
  X(sse4_1, "sse4.1", __SSE4_1__)                            \
  X(sse4_2, "sse4.2", __SSE4_2__)                            \
  X(popcnt, "popcnt", __POPCNT__)                            \
  X(avx, "avx", __AVX__)                                     \
  X(avx2, "avx2", __AVX2__)                                  \
  X(fma, "fma", __FMA__)                                     \
  X(f16c, "f16c", __F16C__)                                  \
  X(bmi, "bmi", __BMI__)                                     \
  X(bmi2, "bmi2", __BMI2__)                                  \
  X(lzcnt, "lzcnt", __LZCNT__)                               \
  X(movbe, "movbe", __MOVBE__)                               \
  X(avx512f, "avx512f", __AVX512F__)                         \
  X(avx512bw, "avx512bw", __AVX512BW__)                      \
  X(avx512cd, "avx512cd", __AVX512CD__)                      \
  X(avx512dq, "avx512dq", __AVX512DQ__)                      \
  X(avx512vl, "avx512vl", __AVX512VL__)                      \
  X(avx512ifma, "avx512ifma", __AVX512IFMA__)                \
  X(avx512vbmi, "avx512vbmi", __AVX512VBMI__)                \
  X(avx512vbmi2, "avx512vbmi2", __AVX512VBMI2__)             \
  X(avx512vnni, "avx512vnni", __AVX512VNNI__)                \
  X(avx512bitalg, "avx512bitalg", __AVX512BITALG__)          \
  X(avx512vpopcntdq, "avx512vpopcntdq", __AVX512VPOPCNTDQ__) \
  X(avx512bf16, "avx512bf16", __AVX512BF16__)                \
  X(avx512fp16, "avx512fp16", __AVX512FP16__)                \
  X(avxvnni, "avxvnni", __AVXVNNI__)                         \
  X(gfni, "gfni", __GFNI__)                                  \
  X(sse4a, "sse4a", __SSE4A__)                               \
  X(fma4, "fma4", __FMA4__)                                  \
  X(xop, "xop", __XOP__)                                     \
  X(tbm, "tbm", __TBM__)                                     \
  X(amx_tile, "amx-tile", __AMX_TILE__)                      \
  X(amx_bf16, "amx-bf16", __AMX_BF16__)

namespace stagecraft::kernels {

/// Instruction sets of x86, and sets of them: bit i stands for the i-th.
enum class instruction_set {
#define STAGECRAFT_ENUMERATOR(name, flag, macro) name,
  STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_ENUMERATOR)
#undef STAGECRAFT_ENUMERATOR
};
using instruction_sets = std::uint64_t;

// Each translation unit has its own copy of this namespace.
namespace {

/// The instruction sets that the flags of this translation unit let the compiler use. (An undefined macro's text is its
/// own name.)
[[maybe_unused]] constexpr instruction_sets compiled_instruction_sets = 0
#define STAGECRAFT_TEXT(macro) #macro
#define STAGECRAFT_IF_DEFINED(name, flag, macro) \
  | (STAGECRAFT_TEXT(macro)[0] != '_' ? 1ULL << static_cast<int>(instruction_set::name) : 0)
    STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_IF_DEFINED)
#undef STAGECRAFT_IF_DEFINED
#undef STAGECRAFT_TEXT
    ;

}  // namespace
}  // namespace stagecraft::kernels

// The check itself runs on every processor, whatever the flags are.
#if defined(__x86_64__) && defined(__clang__)
#define STAGECRAFT_CHECKS_PROCESSOR
// clang-format off
#pragma clang attribute push( \
    __attribute__((target("arch=x86-64,no-sse3,no-popcnt,no-bmi,no-bmi2,no-lzcnt,no-movbe"))), apply_to = function)
// clang-format on
#elif defined(__x86_64__) && defined(__GNUC__)
#define STAGECRAFT_CHECKS_PROCESSOR
#pragma GCC push_options
#pragma GCC target("arch=x86-64")
#endif

namespace stagecraft::kernels::detail {

/// The names of the instruction sets in compilers' flags: -m<name>.
inline constexpr char const* instruction_set_names[] = {
#define STAGECRAFT_NAME(name, flag, macro) flag,
    STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_NAME)
#undef STAGECRAFT_NAME
};

[[nodiscard]] constexpr instruction_sets only(instruction_set which) { return 1ULL << static_cast<int>(which); }

/// A value of -march that stands for no single processor, and the sets that it needs.
struct processor_level {
  char const* name;
  instruction_sets sets;
};

/// The highest level that needs nothing but `sets`.
[[nodiscard]] constexpr processor_level level_of(instruction_sets sets) {
  using enum instruction_set;
  constexpr auto v2 = only(sse3) | only(ssse3) | only(sse4_1) | only(sse4_2) | only(popcnt);
  constexpr auto v3 =
      v2 | only(avx) | only(avx2) | only(fma) | only(f16c) | only(bmi) | only(bmi2) | only(lzcnt) | only(movbe);
  constexpr auto v4 = v3 | only(avx512f) | only(avx512bw) | only(avx512cd) | only(avx512dq) | only(avx512vl);
  if ((v4 & ~sets) == 0) return {"x86-64-v4", v4};
  if ((v3 & ~sets) == 0) return {"x86-64-v3", v3};
  if ((v2 & ~sets) == 0) return {"x86-64-v2", v2};
  return {"x86-64", 0};
}

/// A text that needs no other memory. An aggregate: a constructor that nobody writes would be compiled with the flags.
struct processor_complaint {
  char text[1024];
  std::size_t length;

  [[gnu::cold, gnu::noinline]] constexpr processor_complaint& operator<<(char const* more) {
    while (*more != 0 && length + 1 < sizeof text) text[length++] = *more++;
    return *this;
  }
};

/// E4040, for code that needs the sets `needed` on a processor with the sets `present`: empty if it has all of them.
[[nodiscard, gnu::cold]] constexpr processor_complaint complain_about_processor(instruction_sets needed,
                                                                                instruction_sets present) {
  processor_complaint complaint{};
  instruction_sets const missing = needed & ~present;
  if (missing == 0) return complaint;
  processor_level const level = level_of(needed);
  complaint << "stagecraft: this program is compiled for " << level.name << (needed == level.sets ? "" : " and more")
            << ", but this processor lacks ";
  char const* separator = "";
  for (int i = 0; i < static_cast<int>(sizeof instruction_set_names / sizeof *instruction_set_names); ++i)
    if ((missing >> i & 1U) != 0) {
      complaint << separator << instruction_set_names[i];
      separator = ", ";
    }
  complaint << "; compile it with -march=" << level_of(present).name
            << ", which this processor runs, or with -march=native on this machine "
               "(stagecraft's own programs: -D STAGECRAFT_ARCH=... of CMake) ["
            << "E4040"
            << "]\n";
  return complaint;
}

/// The sets of `present` that code which needs `needed` may use. `may_use_tiles` is called where both have the tiles of
/// AMX, which programs must request from Linux.
[[nodiscard]] constexpr instruction_sets allowed_instruction_sets(instruction_sets needed, instruction_sets present,
                                                                  bool (*may_use_tiles)()) {
  constexpr instruction_sets tiles = only(instruction_set::amx_tile) | only(instruction_set::amx_bf16);
  return (needed & present & tiles) == 0 || may_use_tiles() ? present : present & ~tiles;
}

#if defined(STAGECRAFT_CHECKS_PROCESSOR)
/// The sets that the processor has. Tiles must be requested from the operating system, too.
[[nodiscard, gnu::cold]] inline instruction_sets instruction_sets_of_processor() {
  __builtin_cpu_init();
  instruction_sets found = 0;
#define STAGECRAFT_IF_FOUND(name, flag, macro) \
  if (__builtin_cpu_supports(flag)) found |= only(instruction_set::name);
  STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_IF_FOUND)
#undef STAGECRAFT_IF_FOUND
  return found;
}

/// Asks Linux to let the program and its threads use the tiles of AMX, which programs must do once before they use any:
/// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). False if Linux refuses, or is too old (before 5.16). Source:
/// the kernel's documentation, "Using XSTATE features in user space applications".
[[nodiscard]] inline bool may_use_tiles() {
#if defined(__linux__)
  long result = 158;  // the number of arch_prctl
  asm volatile("syscall" : "+a"(result) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return result == 0;
#else
  return true;
#endif
}

/// The sets of this processor that code which needs `needed` may use: the processor has them, and the system allows
/// them.
[[nodiscard]] inline instruction_sets usable_instruction_sets(instruction_sets needed) {
  return allowed_instruction_sets(needed, instruction_sets_of_processor(), may_use_tiles);
}

/// Ends the program if the processor lacks any of the sets, or the system does not let it use them. A runtime library
/// that does not even find SSE2, which all these processors have, knows nothing of the processor: it is Zig's for musl.
[[gnu::cold]] inline void require_processor(instruction_sets needed) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse2")) {
    static_cast<void>(allowed_instruction_sets(needed, needed, may_use_tiles));
    return;
  }
  processor_complaint const complaint = complain_about_processor(needed, usable_instruction_sets(needed));
  if (complaint.length == 0) return;
  std::fputs(complaint.text, stderr);
  std::_Exit(EXIT_FAILURE);
}

namespace {

// Runs when the program starts or a shared library is loaded, before the default initialisation there.
#if !defined(STAGECRAFT_NO_PROCESSOR_CHECK)
[[gnu::constructor(101)]] void check_processor() { require_processor(compiled_instruction_sets); }
#elif defined(__AMX_TILE__)
[[gnu::constructor(101)]] void check_processor() { static_cast<void>(may_use_tiles()); }
#endif

}  // namespace
#endif

}  // namespace stagecraft::kernels::detail

#if defined(STAGECRAFT_CHECKS_PROCESSOR) && defined(__clang__)
#pragma clang attribute pop
#elif defined(STAGECRAFT_CHECKS_PROCESSOR)
#pragma GCC pop_options
#endif
#undef STAGECRAFT_CHECKS_PROCESSOR
#undef STAGECRAFT_INSTRUCTION_SETS
