# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the bad variants of some cases with each compiler, and compares what it says with the case and with
docs/errors:

    python3 run_case.py E102*.cpp g++ clang++-19 [--standard=c++2c] [--headers=<folder>]

With --headers, the library's headers are precompiled into that folder and taken from there. All cases together take less
time: bad_variants.py and good_variants.py."""
import argparse
import pathlib
import sys

import compile_case

sys.path.insert(0, str(compile_case.ROOT / "tools"))
import errors_catalogue  # noqa: E402


def problems_of(case, compiler, standard, compiled, output):
    """What is wrong with what a compiler said of a bad variant, as a list of texts."""
    found = compile_case.problems_of_bad_variant(case, compiled, output)
    if standard == "c++20" and not found:
        found = compile_case.length_problems(case, compiler, output)
    if standard == "c++20" and not found:
        found = errors_catalogue.stale_output(case, compiler, output)
    return found


def cases_and_compilers(arguments):
    """Files of cases, which end with .cpp, and then compilers."""
    cases = [each for each in arguments if each.endswith(".cpp")]
    compilers = arguments[len(cases):]
    if not cases or not compilers or arguments[:len(cases)] != cases:
        raise SystemExit("expected one file E2001_....cpp or several, and then one compiler or several")
    return [compile_case.read_case(each) for each in cases], compilers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arguments", nargs="+", metavar="case.cpp|compiler")
    parser.add_argument("--standard", default="c++20")
    parser.add_argument("--headers", type=pathlib.Path)
    options = parser.parse_args()
    cases, compilers = cases_and_compilers(options.arguments)
    failed = False
    for case in cases:
        for compiler in compilers:
            compiled, output = compile_case.compile_bad_variant(case, compiler, options.standard, options.headers)
            found = problems_of(case, compiler, options.standard, compiled, output)
            print(f"{case.path.name}: {compiler} -std={options.standard}: {'FAILED' if found else 'ok'}")
            for text in found:
                print("  " + text.replace("\n", "\n  "))
            failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
