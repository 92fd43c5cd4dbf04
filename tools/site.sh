#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the site into build/site: docs/, README, the examples, and the reference of all words of users, made from their
# docstrings. It needs doxygen, which it installs on Debian, and the packages of tools/site/requirements.txt, which it
# installs from PyPI into build/site_packages. A link that leads nowhere is an error.
#
#     tools/site.sh          builds it; open build/site/index.html
#     tools/site.sh serve    builds it, and shows it at http://127.0.0.1:8000 while pages are edited
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v doxygen >/dev/null; then
  as_root=()
  [[ $EUID -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" apt-get install -q -y --no-install-recommends doxygen </dev/null
fi
packages=build/site_packages
[[ -x $packages/bin/python ]] || python3 -m venv "$packages"
"$packages/bin/pip" install -q --disable-pip-version-check -r tools/site/requirements.txt
export NO_MKDOCS_2_WARNING=1  # of what may come after MkDocs 1
tools/site/web.py build/web || [[ $? -eq 77 ]]  # the page that runs a predictor; without its compiler the page says so
command=${1:-build}
"$packages/bin/mkdocs" "$command" -q -f tools/site/mkdocs.yml
[[ $command == serve ]] || echo "build/site/index.html: $(find build/site -name '*.html' | wc -l) pages"
