#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds everything and runs all tests, in four steps: with GCC what must not compile, and those examples and tests
# that compilers carry out in different ways; with Clang 19 what handles memory under the address and undefined-behaviour
# sanitizers, threads under the thread sanitizer, and the rest, the program `stagecraft` too, without.
# tests/CMakeLists.txt says which test is where.
#
#     tools/test.sh              all steps, about 38 minutes on two cores
#     tools/test.sh asan tsan    these
#     tools/test.sh portable     other processors and systems: all that this machine has compilers for, run or emulated.
#                                STAGECRAFT_ZIG: a Python with the package ziglang, for musl, macOS and Windows;
#                                STAGECRAFT_CMAKE: CMake from 3.28 on, for its modules
#     tools/test.sh portable --write   the same, and puts the rows into docs/platforms.md and docs/bare_metal.md
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

steps=() write=
for each in "$@"; do
  if [[ $each == --write ]]; then write=1; else steps+=("$each"); fi
done
[[ ${#steps[@]} -gt 0 ]] || steps=(test test_clang asan tsan)
for step in "${steps[@]}"; do
  echo "== $step"
  if [[ $step == portable ]]; then
    python3 -B tests/portable/platforms.py build/portable ${STAGECRAFT_ZIG:+--zig "$STAGECRAFT_ZIG"} ${write:+--write docs/platforms.md}
    python3 -B tests/portable/bare_metal.py build/portable/bare_metal ${write:+--write docs/bare_metal.md} || [[ $? == 77 ]]  # 77: no compiler for it
    python3 -B tests/portable/web.py build/portable/web || [[ $? == 77 ]]
    python3 -B tests/portable/module.py build/portable/module ${STAGECRAFT_CMAKE:+--cmake "$STAGECRAFT_CMAKE"} || [[ $? == 77 ]]
    continue
  fi
  cmake --workflow --preset "$step"
done
