# SPDX-License-Identifier: BSD-3-Clause
"""The good variants of all cases compile without a warning. Those that begin with the same headers are one text, since
reading the headers is most of what compiling one costs.

    python3 good_variants.py g++ [--headers=<folder>]
"""
import argparse
import pathlib
import sys

import compile_case
import precompiled

CASES = pathlib.Path(__file__).resolve().parent


def groups():
    """The cases, by the headers that they begin with; one that adds to a namespace of the library is alone."""
    found = {}
    for path in sorted(CASES.glob("E[0-9][0-9][0-9][0-9]_*.cpp")):
        case = compile_case.read_case(path)
        adds = any(line.startswith("namespace stagecraft") for line in case.lines)
        key = (path.name,) if adds else precompiled.prefix_of("\n".join(case.lines))
        found.setdefault(key, []).append(case)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler")
    parser.add_argument("--headers", type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    for prefix, cases in groups().items():
        found = compile_case.problems_of_good_variants(cases, options.compiler, options.headers)
        print(f"{len(cases)} of {' '.join(prefix) or 'other headers'}: {'FAILED' if found else 'ok'}")
        print("".join(text + "\n" for text in found), end="")
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
