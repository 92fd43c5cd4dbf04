# SPDX-License-Identifier: BSD-3-Clause
"""How much each compiler prints of each case, the longest first: characters, errors, the line that has the error's text
and the line that names the user's.

    python3 lengths.py g++ clang++-19 [--headers=<folder>] [case...]
"""
import argparse
import pathlib

import bad_variants
import compile_case


def sizes_with(compiler, cases, headers):
    """Each case with what one compiler prints of it. Cases are compiled together where that is possible."""
    for text in bad_variants.texts_of(cases):
        outputs = bad_variants.compile_together(text, compiler, "c++20", headers)[0] if len(text) > 1 else {}
        for case in text:
            output = outputs.get(case.path.stem)
            if not output or compile_case.length_problems(case, compiler, output):  # others may have to do with it
                output = compile_case.compile_bad_variant(case, compiler, headers=headers)[1]
            yield case, compile_case.printed(case, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arguments", nargs="+", metavar="compiler|case.cpp")
    parser.add_argument("--headers", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    compilers = [each for each in options.arguments if not each.endswith(".cpp")]
    paths = [each for each in options.arguments if each.endswith(".cpp")] or \
        sorted(bad_variants.CASES.glob("E[0-9][0-9][0-9][0-9]_*.cpp"))
    cases = [compile_case.read_case(path) for path in paths]
    for compiler in compilers:
        sizes = sorted(sizes_with(compiler, cases, options.headers), key=lambda size: -size[1].characters)
        for case, size in sizes:
            print(f"{compiler:11} {size.characters:6} characters {size.errors} errors, text in {size.text_line:2}, "
                  f"user's in {size.user_line:2}: {case.path.stem}")
        over = sum(size.characters > compile_case.MOST_CHARACTERS for _, size in sizes)
        print(f"{compiler}: {over} of {len(sizes)} print more than {compile_case.MOST_CHARACTERS} characters, "
              f"{sum(size.errors > 1 for _, size in sizes)} more than one error, "
              f"{sum(size.text_line > compile_case.MOST_TEXT_LINE for _, size in sizes)} their text too late, "
              f"{sum(size.user_line > compile_case.MOST_USER_LINE for _, size in sizes)} the user's "
              "line too late")


if __name__ == "__main__":
    main()
