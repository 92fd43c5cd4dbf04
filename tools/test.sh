#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds everything and runs all tests, in four steps: with GCC what must not compile, and those examples and tests
# that compilers carry out in different ways; with Clang 19 what handles memory under the address and undefined-behaviour
# sanitizers, threads under the thread sanitizer, and the rest, the program `stagecraft` too, without.
# tests/CMakeLists.txt says which test is where.
#
#     tools/test.sh              all steps, about 38 minutes on two cores
#     tools/test.sh asan tsan    these
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

steps=("$@")
[[ ${#steps[@]} -gt 0 ]] || steps=(test test_clang asan tsan)
for step in "${steps[@]}"; do
  echo "== $step"
  cmake --workflow --preset "$step"
done
