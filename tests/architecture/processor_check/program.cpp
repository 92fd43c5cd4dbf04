// SPDX-License-Identifier: BSD-3-Clause
// Compiled for every x86-64 processor; newer.cpp is not. Nothing of it may run where newer.cpp cannot.
#include <stagecraft/kernels/simd/simd.hpp>
#include <cstdio>

float newer_sum(float const* x, int n);

namespace {

struct speaks {
  speaks() { std::puts("initialised"); }
} const speaks_first;

}  // namespace

int main() {
  float x[40];
  for (int i = 0; i < 40; ++i) x[i] = static_cast<float>(i);
  bool const right = newer_sum(x, 40) == 780.0F;
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
