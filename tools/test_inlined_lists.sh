#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests twice: with every list of operations inlined that can be, and with none (STAGECRAFT_INLINED_LISTS). Tests
# that compare bits hold either way. Predictors alone have inlined lists, so that these are the files of tests that name
# one. Arguments: a pattern of such files, such as '^(host|words)/'; by default all in rooms that run models on the host.
# STAGECRAFT_INLINED_LISTS=1 or =0 in the environment: one of the two.
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=${1:-'^(allocation|data|engine|host|io|laws|serving|training|words)/'}
files=$(cd tests && grep -rlE 'predictor<' --include='*_test.cpp' . | sed 's|^\./||' | grep -E "$pattern" | sort)
rooms=$(dirname $files | sort -u)
only=$(tr '\n' '|' <<<"$files" | sed 's/|$//')
[[ $rooms != *allocation* ]] || only+='|allocation/CMakeLists\.txt'
targets=() tests=()
for room in $rooms; do
  targets+=("${room//\//_}_tests")
  tests+=("${room//\//.}")
done
names=$(IFS='|'; echo "${tests[*]//./\\.}")
for value in ${STAGECRAFT_INLINED_LISTS:-1 0}; do
  folder=build/inlined_lists_$value
  cmake --preset test_clang -B "$folder" -D STAGECRAFT_TEST_PART= -D STAGECRAFT_BUILD_EXAMPLES=OFF \
    -D STAGECRAFT_TEST_ONLY="^($only)$" -D CMAKE_CXX_FLAGS="-O1 -DSTAGECRAFT_INLINED_LISTS=$value" >/dev/null
  nice ninja -C "$folder" ${STAGECRAFT_JOBS:+-j$STAGECRAFT_JOBS} "${targets[@]}"
  ctest --test-dir "$folder" --output-on-failure -R "^($names)(\\.[a-z0-9_]*)?$"
done
