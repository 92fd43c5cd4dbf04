// SPDX-License-Identifier: BSD-3-Clause
// Predictions of a network, the same on a host and on a microcontroller: prints the bits of the outputs, and what the
// program takes. MODEL is one of perceptron, keywords, amplifier.
#include "models.hpp"

#include <cstdint>

#ifdef BARE_METAL
#include "start.hpp"
#else
#include <cstdio>
static void print(char const* text) { std::fputs(text, stdout); }
#ifdef __riscv
/// Instructions that the processor has carried out.
static std::uint32_t instructions() {
  std::uint32_t count;
  asm volatile("csrr %0, minstret" : "=r"(count));
  return count;
}
#else
static std::uint32_t instructions() { return 0; }
#endif
#endif

#include <bit>

#define JOINED(a, b) a##b
#define WEIGHTS(model) JOINED(model, _weights)

#ifdef INT8
static constinit sc::int8_predictor<models::MODEL, models::WEIGHTS(MODEL)> net;
#else
static constinit sc::static_predictor<models::MODEL, models::WEIGHTS(MODEL)> net;
#endif
using predictor = decltype(net);
static constinit float x[predictor::inputs];
static constinit float y[predictor::outputs];

static void print(char const* what, std::uint32_t number) {
  char text[12]{};
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15U];
  text[8] = '\n';
  print(what);
  print(text);
}

int main() {
  drawn_numbers numbers{14};
  for (int sample = 0; sample < 3; ++sample) {
    for (float& each : x) each = numbers.next();
#ifdef BARE_METAL
    auto const begin = ticks();
    net(x, y);
    if (sample == 2) print("ticks ", (ticks() - begin) & 0xffffffU);
#else
    auto const begin = instructions();
    net(x, y);
    auto const end = instructions();
    if (sample == 2) print("instructions ", end - begin);
#endif
    for (float const each : y) print("output ", std::bit_cast<std::uint32_t>(each));
  }
#ifdef BARE_METAL
  print("static ", static_bytes());
  print("stack ", used_stack_bytes());
  print("bound ", predictor::stack_bytes);
#endif
  print("object ", predictor::memory_bytes);
  print("weights ", predictor::weight_bytes);
}
