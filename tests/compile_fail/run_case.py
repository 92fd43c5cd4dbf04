# SPDX-License-Identifier: BSD-3-Clause
"""Runs one case with each compiler: python3 run_case.py E2001_length.cpp g++ clang++-19:c++20,c++2c

A later standard, where the error's text may reach the compiler in another way, is tried with the bad variant only."""
import sys

import compile_case


def main(path, compilers):
    case = compile_case.read_case(path)
    failed = False
    for entry in compilers:
        compiler, _, standards = entry.partition(":")
        for standard in (standards or "c++20").split(","):
            found = compile_case.problems(case, compiler, standard, with_good_variant=standard == "c++20")
            print(f"{case.path.name}: {compiler} -std={standard}: {'FAILED' if found else 'ok'}")
            for text in found:
                print("  " + text.replace("\n", "\n  "))
            failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
