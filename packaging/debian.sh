#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages from what is committed, and looks at them with lintian. Needs debhelper and lintian.
#
#     packaging/debian.sh FOLDER             libstagecraft-dev and stagecraft, into FOLDER
#     packaging/debian.sh FOLDER headers     libstagecraft-dev alone, in seconds
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
source=$folder/stagecraft
rm -rf "$source"
mkdir "$source"
git archive HEAD | tar -x -C "$source"
cp -r packaging/debian "$source/debian"
kind=(-b)
[[ ${2:-} != headers ]] || kind=(-A)
(cd "$source" && dpkg-buildpackage -us -uc "${kind[@]}")
lintian --fail-on error,warning "$folder"/*.changes
