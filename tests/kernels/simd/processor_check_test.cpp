// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <stagecraft/kernels/simd/processor_check.hpp>
#include <string_view>

#include "flags_of_cpuinfo.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using kernels::detail::complain_about_processor;
using kernels::detail::level_of;
using kernels::detail::only;
using enum kernels::instruction_set;

constexpr auto level_2 = only(sse3) | only(ssse3) | only(sse4_1) | only(sse4_2) | only(popcnt);
constexpr auto level_3 =
    level_2 | only(avx) | only(avx2) | only(fma) | only(f16c) | only(bmi) | only(bmi2) | only(lzcnt) | only(movbe);
constexpr auto level_4 = level_3 | only(avx512f) | only(avx512bw) | only(avx512cd) | only(avx512dq) | only(avx512vl);

// A processor that has all, or more, gives no complaint.
static_assert(complain_about_processor(0, 0).length == 0);
static_assert(complain_about_processor(0, level_4).length == 0);
static_assert(complain_about_processor(level_3, level_3).length == 0);
static_assert(complain_about_processor(level_3, level_4).length == 0);
static_assert(complain_about_processor(only(tbm), only(tbm) | level_2).length == 0);
static_assert(complain_about_processor(only(sse3), 0).length > 0);
static_assert(complain_about_processor(~0ULL >> 30, 0).length + 1 < sizeof(kernels::detail::processor_complaint));

static_assert(level_of(0).name == std::string_view("x86-64"));
static_assert(level_of(level_2).name == std::string_view("x86-64-v2"));
static_assert(level_of(level_3 & ~only(movbe)).name == std::string_view("x86-64-v2"));
static_assert(level_of(level_3 | only(avx512f)).name == std::string_view("x86-64-v3"));
static_assert(level_of(level_4 | only(gfni)).name == std::string_view("x86-64-v4"));

static_assert(kernels::detail::instruction_set_names[static_cast<int>(sse4_2)] == std::string_view("sse4.2"));
static_assert(kernels::detail::instruction_set_names[static_cast<int>(tbm)] == std::string_view("tbm"));
// Applications that were compiled before say it so.
static_assert(static_cast<int>(sse3) == 0 && static_cast<int>(tbm) == 31 && static_cast<int>(amx_bf16) == 33);

// Tiles are usable where Linux gives them, which is asked only for code that needs them.
using kernels::detail::allowed_instruction_sets;
constexpr auto tiles = only(amx_tile) | only(amx_bf16);
constexpr auto gives = [] { return true; };
constexpr auto refuses = [] { return false; };
static_assert(allowed_instruction_sets(level_4 | tiles, level_4 | tiles, gives) == (level_4 | tiles));
static_assert(allowed_instruction_sets(level_4 | tiles, level_4 | tiles, refuses) == level_4);
static_assert(allowed_instruction_sets(level_4 | only(amx_tile), level_4 | tiles, refuses) == level_4);
static_assert(allowed_instruction_sets(level_4 | tiles, level_4, nullptr) == level_4);
static_assert(allowed_instruction_sets(level_4, level_4 | tiles, nullptr) == (level_4 | tiles));

TEST_CASE("the complaint says what the program needs, what is missing, and what would run") {
  CHECK(std::string_view(complain_about_processor(level_4, level_3).text) ==
        "stagecraft: this program is compiled for x86-64-v4, but this processor lacks avx512f, avx512bw, avx512cd, "
        "avx512dq, avx512vl; compile it with -march=x86-64-v3, which this processor runs, or with -march=native on "
        "this machine (stagecraft's own programs: -D STAGECRAFT_ARCH=... of CMake) [E4040]\n");
  CHECK(std::string_view(complain_about_processor(level_2 | only(avx2), level_4 & ~only(avx2)).text) ==
        "stagecraft: this program is compiled for x86-64-v2 and more, but this processor lacks avx2; compile it with "
        "-march=x86-64-v2, which this processor runs, or with -march=native on this machine (stagecraft's own "
        "programs: -D STAGECRAFT_ARCH=... of CMake) [E4040]\n");
}

TEST_CASE("what these tests are compiled for") {
#if defined(__AVX2__)
  CHECK((kernels::compiled_instruction_sets & only(avx2)) != 0);
#else
  CHECK((kernels::compiled_instruction_sets & only(avx2)) == 0);
#endif
#if defined(__x86_64__)
  // The tests run, so the processor has all of it.
  CHECK((kernels::compiled_instruction_sets & ~kernels::detail::instruction_sets_of_processor()) == 0);
#if defined(__linux__)
  constexpr auto long_known = only(avx512bf16) - 1;  // to any Linux that this compiles on
  CHECK((kernels::detail::instruction_sets_of_processor() & long_known) ==
        (tests::instruction_sets_of_cpuinfo() & long_known));
#endif
#else
  CHECK(kernels::compiled_instruction_sets == 0);
#endif
}

}  // namespace
