#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests twice: with every list of operations inlined that can be, and with none (STAGECRAFT_INLINED_LISTS). Tests
# that compare bits hold either way. Arguments: a pattern of ctest's names; by default all rooms that run models on the host.
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=${1:-'^(host|training|engine|words|laws|io|data|serving|allocation)'}
for value in 1 0; do
  folder=build/inlined_lists_$value
  cmake --preset test_clang -B "$folder" -D STAGECRAFT_TEST_PART= -D STAGECRAFT_BUILD_EXAMPLES=OFF \
    -D CMAKE_CXX_FLAGS="-O1 -DSTAGECRAFT_INLINED_LISTS=$value" >/dev/null
  rooms=$(ctest --test-dir "$folder" -N -R "$pattern" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: \([a-z0-9_.]*\)\.[a-z0-9_]*$/\1/p' | sort -u | tr . _)
  targets=()
  for room in $rooms; do targets+=("${room}_tests"); done
  [[ $pattern != *allocation* ]] || targets+=(allocation_tests)
  nice ninja -C "$folder" "${targets[@]}"
  ctest --test-dir "$folder" --output-on-failure -R "$pattern"
done
