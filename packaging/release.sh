#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the files of a release from what is committed: the source archive, the single header, the site, and their
# checksums. The same commit gives the same bytes.
#
#     packaging/release.sh FOLDER                 and, with --debian, Debian's packages, too (debian.sh)
set -euo pipefail
exec </dev/null
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -nE 's/.*int version_\w+ = ([0-9]+);/\1/p' include/stagecraft/version.hpp | paste -sd.)
name=stagecraft-$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pack() {  # FOLDER NAME: NAME.tar.gz, in which all is older than the commit, belongs to root and is sorted
  tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$2" |
    gzip -9n >"$folder/$2.tar.gz"
}

git archive --prefix="$name/" HEAD | tar -x -C "$work"
pack "$work" "$name"
cp "$work/$name/single_include/stagecraft/stagecraft.hpp" "$folder/stagecraft.hpp"

"$work/$name/tools/site.sh"
mv "$work/$name/build/site" "$work/$name-site"
pack "$work" "$name-site"

files=("$name.tar.gz" "$name-site.tar.gz" stagecraft.hpp)
if [[ ${2:-} == --debian ]]; then
  packaging/debian.sh "$work/debian"
  cp "$work"/debian/*.deb "$folder"
  files+=($(cd "$folder" && ls ./*.deb))
fi
(cd "$folder" && sha256sum "${files[@]}" | tee SHA256SUMS)
