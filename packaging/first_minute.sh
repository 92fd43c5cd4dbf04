#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs README's first commands as they stand there, on this Debian; without sudo where root has none. Says how long they took.
# In a new root of a release: packaging/fresh_root.sh trixie packaging/first_minute.sh
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

commands=$(awk '/^```sh$/ {inside = 1; next} /^```$/ && inside {exit} inside' README.md)
if ! command -v sudo >/dev/null; then
  apt-get update -q
  commands=$(sed -e 's/^sudo //' -e 's/\<apt install\>/apt-get install -q -y --no-install-recommends/' <<<"$commands")
fi
echo "$commands"
SECONDS=0
bash -euxc "$commands"
echo "README's first commands took $SECONDS s"
