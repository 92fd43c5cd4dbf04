// SPDX-License-Identifier: BSD-3-Clause
// What a call of a predictor costs, as constants, beside what is measured: bytes of the heap, and painted stack.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/call_costs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "counted_memory.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

inline constexpr auto single = sc::inference{.batch_size = 1};
inline constexpr auto several = sc::inference{.batch_size = 3};

using perceptron = sc::predictor<sc::sequential<input{24}, dense{16, sc::relu}, dense{4}>, single>;
using batched = sc::predictor<sc::sequential<input{24}, dense{16, sc::relu}, dense{4}>, several>;
using amplifier =
    sc::predictor<sc::sequential<input{1, 1}.of_batch_size(1), lstm{40, {.stateful = true}}, dense{1}>, single>;
using interpreted = sc::predictor<sc::sequential<input{4, 8}, layer_normalization{}, gru{5}>, several>;

// Each product is a multiplication and an addition, then come bias and activation.
static_assert(sc::worst_case_flops<perceptron> >= 2 * (24 * 16 + 16 * 4));
static_assert(sc::worst_case_flops<perceptron> <= 2 * (24 * 16 + 16 * 4) + 2 * (16 + 4));
static_assert(sc::worst_case_flops<batched> == 3 * sc::worst_case_flops<perceptron>);
static_assert(sc::worst_case_flops<amplifier> >= 2 * 160 * (1 + 40) + 2 * 40);
static_assert(sc::worst_case_flops<amplifier> <= 2 * 160 * (1 + 40) + 2 * 40 + 20 * 40);

static_assert(sc::call_stack_bytes<perceptron> < 16384);
static_assert(sc::call_stack_bytes<amplifier> < 32768);

/// Bytes of a program's stack that are painted, which a call then may write to.
constexpr std::size_t painted = 1 << 18;
constexpr unsigned char paint = 0xA7;

[[gnu::noinline]] unsigned char* paint_stack() {
  unsigned char area[painted];
  std::fill_n(area, painted, paint);
  unsigned char* volatile begin = area;
  asm volatile("" : : "r"(begin) : "memory");
  return begin;
}

template <class Predictor>
[[gnu::noinline]] void call_once(Predictor& model, float const* x, float* y) {
  model.call(std::span<float const, Predictor::call_inputs>(x, Predictor::call_inputs),
             std::span<float, Predictor::call_outputs>(y, Predictor::call_outputs));
}

/// Bytes of stack that a call has written to, as far as paint says.
template <class Predictor>
[[gnu::noinline]] long long stack_of(Predictor& model) {
  static std::array<float, Predictor::call_inputs> x{};
  static std::array<float, Predictor::call_outputs> y{};
  call_once(model, x.data(), y.data());  // packs weights
  unsigned char const* const end = static_cast<unsigned char*>(paint_stack());
  call_once(model, x.data(), y.data());
  unsigned char const volatile* first = end;
  while (first < end + painted && *first == paint) ++first;
  return end + painted - first;
}

template <class Predictor>
void check() {
#if defined(__GLIBC__)
  auto const bytes_in_use = [] {
    auto const found = mallinfo2();
    return static_cast<long long>(found.uordblks + found.hblkhd);
  };
  long long const before = bytes_in_use();
#endif
  Predictor model;
#if defined(__GLIBC__)
  // Each of at most 18 blocks has a head of 16 bytes, and is rounded up to begin and end at cache lines.
  constexpr long long of_heads = 18 * (16 + 64 + 16);
  long long const kept = bytes_in_use() - before;
  MESSAGE("memory " << kept << " of " << sc::predictor_memory_bytes<Predictor>);
  CHECK(kept >= sc::predictor_memory_bytes<Predictor>);
  CHECK(kept <= sc::predictor_memory_bytes<Predictor> + of_heads);
#endif
  long const calls = allocations();
  long long const stack = stack_of(model);
  CHECK(allocations() == calls);
  MESSAGE("stack " << stack << " of " << sc::call_stack_bytes<Predictor>);
  CHECK(stack > 0);
#if defined(__OPTIMIZE__)
  CHECK(stack <= sc::call_stack_bytes<Predictor>);
#endif
}

}  // namespace

TEST_CASE("memory and stack of predictors are at most the constants") {
  check<perceptron>();
  check<batched>();
  check<amplifier>();
  check<interpreted>();
}
