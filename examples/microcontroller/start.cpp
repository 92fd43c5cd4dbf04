// SPDX-License-Identifier: BSD-3-Clause
// What runs before main on a Cortex-M: variables get their first values, and the processor's floats are switched on.
// Output goes to the debugger or QEMU, by semihosting.
#include "start.hpp"

#include <cstdint>

/// The registers of the system timer: control, reload value, current value.
static std::uint32_t volatile* const systick = reinterpret_cast<std::uint32_t volatile*>(0xe000e010);

extern "C" {

extern std::uint32_t data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[], painted_end[], stack_end[];
int main();
[[noreturn]] void reset();
[[noreturn]] void fault();

[[gnu::section(".vectors"), gnu::used]] void (*const vectors[16])() = {
    reinterpret_cast<void (*)()>(stack_end), reset, fault, fault, fault, fault, fault};

/// Asks the debugger for something, by its number.
static void semihosting(int what, void const* argument) {
  register int in_r0 asm("r0") = what;
  register void const* in_r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(in_r0) : "r"(in_r1) : "memory");
}
void print(char const* text) { semihosting(0x04, text); }
[[noreturn]] static void leave(bool is_well) {
  std::uint32_t const reason[2]{is_well ? 0x20026U : 0x20023U, 0};
  while (true) semihosting(0x18, reinterpret_cast<void const*>(reason[0]));
}

void reset() {
  *reinterpret_cast<std::uint32_t volatile*>(0xe000ed88) |= 0xfU << 20U;  // CPACR: the coprocessors of floats
  asm volatile("dsb\n isb");
  systick[1] = 0xffffff;
  systick[0] = 5;  // counts the processor's clock, without interrupts
  for (std::uint32_t *to = data_begin, *from = data_in_flash; to < data_end; ++to, ++from) *to = *from;
  for (std::uint32_t* to = bss_begin; to < bss_end; ++to) *to = 0;
  for (std::uint32_t volatile* to = bss_end; to < painted_end; ++to) *to = unused_stack;
  leave(main() == 0);
}
void fault() {
  print("fault\n");
  leave(false);
}

unsigned ticks() { return 0xffffff - systick[2]; }
unsigned used_stack_bytes() {
  std::uint32_t const volatile* at = bss_end;
  while (at < stack_end && *at == unused_stack) ++at;
  return static_cast<unsigned>((stack_end - const_cast<std::uint32_t const*>(at)) * 4);
}
unsigned static_bytes() { return static_cast<unsigned>((bss_end - data_begin) * 4); }
}
