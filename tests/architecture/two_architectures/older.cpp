// SPDX-License-Identifier: BSD-3-Clause
// Compiled for every x86-64 processor, and linked first.
#include <cmath>
#include <cstdio>

#include "work.hpp"

shared::findings findings_of_older() { return shared::find_out(); }

// Chooses at run time, as docs/architectures.md shows.
int main() {
  auto const older = findings_of_older();
  std::printf("older: %d lanes\n", older.lanes);
  if (!__builtin_cpu_supports("x86-64-v4")) {
    std::puts("newer: not on this processor");
    return 0;
  }
  auto const newer = findings_of_newer();
  std::printf("newer: %d lanes\n", newer.lanes);
  bool same = older.values.size() == newer.values.size() && !older.values.empty();
  for (std::size_t i = 0; same && i < older.values.size(); ++i)
    same = std::abs(older.values[i] - newer.values[i]) <= 1e-4F * (1 + std::abs(older.values[i]));
  std::puts(same ? "the same values" : "different values");
  return same ? 0 : 1;
}
