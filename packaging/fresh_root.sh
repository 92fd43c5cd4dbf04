#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command on what is committed, in a new root of a release of Debian, which debootstrap makes and which has nothing
# but Debian's smallest set of packages. Needs root.
#
#     packaging/fresh_root.sh trixie packaging/first_minute.sh
#     packaging/fresh_root.sh bookworm bash -c 'tools/setup.sh && cmake --workflow --preset demo'
set -euo pipefail
cd "$(dirname "$0")/.."
release=$1
shift
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase "$release" "$root" >"$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf; do  # how this machine reaches Debian's archive
  [[ ! -e $file ]] || cp -L "$file" "$root$file"
done
mkdir "$root/stagecraft"
git archive HEAD | tar -x -C "$root/stagecraft"
chroot "$root" env -i DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  sh -c 'apt-get update -q && cd /stagecraft && exec "$@"' sh "$@" </dev/null
