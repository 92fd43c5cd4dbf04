#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the tables of prices in docs/machines.md with what the program prints, or writes them.

    python3 prices.py <the program prices> <machines.md> [--write]
"""
import pathlib
import re
import subprocess
import sys


def main(program, page, *options):
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    path = pathlib.Path(page)
    text = path.read_text(encoding="utf-8")
    place = re.compile(r"(?<=<!-- prices: tests/mpi/prices\.py --write -->\n\n).*?(?=\n<!-- end of prices -->)", re.S)
    found = place.search(text)
    if found is None:
        sys.exit(f"{page}: expected the comments around the prices, found none")
    if "--write" in options:
        path.write_text(text[:found.start()] + printed + text[found.end():], encoding="utf-8")
    elif found.group() != printed:
        sys.exit(f"{page}: the prices are others now; write them: prices.py {program} {page} --write\n{printed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
