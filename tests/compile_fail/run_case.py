# SPDX-License-Identifier: BSD-3-Clause
"""Runs one case with each compiler: python3 run_case.py E2001_length.cpp g++ clang++-19:c++20,c++2c

A later standard, where the error's text may reach the compiler in another way, is tried with the bad variant only.
With --headers=<folder>, the library's headers are precompiled into that folder and taken from there."""
import sys

import compile_case


def main(path, compilers, headers=None):
    case = compile_case.read_case(path)
    failed = False
    for entry in compilers:
        compiler, _, standards = entry.partition(":")
        for standard in (standards or "c++20").split(","):
            found = compile_case.problems(case, compiler, standard, with_good_variant=standard == "c++20",
                                          headers=headers)
            print(f"{case.path.name}: {compiler} -std={standard}: {'FAILED' if found else 'ok'}")
            for text in found:
                print("  " + text.replace("\n", "\n  "))
            failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--headers=")]
    folders = [argument.partition("=")[2] for argument in sys.argv[1:] if argument not in arguments]
    if len(arguments) < 2:
        sys.exit(__doc__)
    sys.exit(main(arguments[0], arguments[1:], *folders))
