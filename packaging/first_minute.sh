#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs README's first commands as they stand there, on this Debian; without sudo where root has none.
#
#     packaging/first_minute.sh            here
#     packaging/first_minute.sh trixie     in a new root of that release, which debootstrap makes; needs root
set -euo pipefail
exec </dev/null
cd "$(dirname "$0")/.."

if [[ $# -eq 1 ]]; then
  root=$(mktemp -d)
  trap 'rm -rf --one-file-system "$root"' EXIT
  debootstrap --variant=minbase "$1" "$root" >"$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
  for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf; do  # how this machine reaches Debian's archive
    [[ ! -e $file ]] || cp -L "$file" "$root$file"
  done
  mkdir "$root/stagecraft"
  git archive HEAD | tar -x -C "$root/stagecraft"
  chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin /stagecraft/packaging/first_minute.sh
  exit
fi

commands=$(awk '/^```sh$/ {inside = 1; next} /^```$/ && inside {exit} inside' README.md)
if ! command -v sudo >/dev/null; then
  apt-get update -q
  commands=$(sed -e 's/^sudo //' -e 's/\<apt install\>/apt-get install -q -y --no-install-recommends/' <<<"$commands")
fi
echo "$commands"
bash -euxc "$commands"
