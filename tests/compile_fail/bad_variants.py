# SPDX-License-Identifier: BSD-3-Clause
"""The bad variants of all cases, compiled with one compiler, which says of each what its case and docs/errors expect.

    python3 bad_variants.py g++ [--headers=<folder>] [--standard=c++2c] [case...]

Those that begin with the same headers are one text, since reading headers and instantiating what they need is most of what
compiling one costs: each in a namespace of its own, whose name is taken out of what the compiler says. A case of which the
compiler does not say what is expected there, or says something together with others, is compiled alone, and that counts.
"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

import compile_case
import precompiled
from run_case import problems_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "architecture"))
import chains  # noqa: E402

CASES = pathlib.Path(__file__).resolve().parent
WITHOUT_LIMIT = {True: ["-fmax-errors=0"], False: ["-ferror-limit=0"]}  # by whether it is GCC
# In a namespace, main is a function like others, and lacks its return.
OPTIONS = ["-Wno-return-type"]
INCLUDE = re.compile(r"#include <([\w./]+)>")
BEGINS = re.compile(r"(?:\S+: )?(?:fatal )?(error|warning): ")
CONTINUES = re.compile(r"\S+: note: ")
SUMMARY = re.compile(r"(?:\d+ warnings?)?(?: and )?(?:\d+ errors?)? generated\.")


def includes_of(case):
    return [match.group(1) for line in case.variant(True) if (match := INCLUDE.fullmatch(line.strip()))]


def texts_of(cases):
    """The cases as lists, each of which is compiled as one text: no case sees a header that it does not include."""
    found, together = [], collections.defaultdict(list)
    for case in cases:
        if any(line.startswith(("namespace stagecraft", "#define")) for line in case.lines):
            found.append([case])
        else:
            prefix = precompiled.prefix_of("\n".join(case.variant(True)))
            together[prefix, case.is_warning, frozenset(precompiled.included_by(includes_of(case)))].append(case)
    for kind in sorted({key[:2] for key in together}):
        sets = {key: key[2] for key in together if key[:2] == kind}
        found += [[case for key in chain for case in together[key]] for chain in chains.chains_of(sets)]
    return found


def diagnostics(output):
    """What a compiler printed, as lists of lines, each with an error or a warning, the lines that lead to it, and its notes."""
    found, leading = [], []
    for line in output.splitlines():
        if compile_case.INCLUDED_FROM.match(line) or SUMMARY.fullmatch(line):
            continue
        if compile_case.is_source_echo(line) and found and not leading:
            found[-1].append(line)
        elif BEGINS.match(line):
            found.append([*leading, line])
            leading = []
        elif CONTINUES.match(line) and found:
            found[-1] += [*leading, line]
            leading = []
        else:
            leading.append(line)
    if leading:
        found.append(leading)
    return found


def summary(lines):
    """What Clang says at the end."""
    counts = {kind: sum(BEGINS.match(line) is not None and BEGINS.match(line).group(1) == kind for line in lines)
              for kind in ("warning", "error")}
    texts = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
    return [" and ".join(texts) + " generated."] if texts else []


def outputs_by_case(cases, output, is_gcc):
    """What the compiler would have said of each case alone, by its file's stem, of those with which nothing of what belongs
    to several, or to none, has to do; and that."""
    by_case, others, doubtful = {case.path.stem: [] for case in cases}, [], set()
    for lines in diagnostics(output):
        text = "\n".join(lines)
        named = by_case.keys() & (set(re.findall(rf"(E\d{{4}}_\w+)/{compile_case.EXAMPLE}", text)) or
                                  set(re.findall(r"\b(E\d{4}_\w+)::", text)))
        if len(named) != 1:
            others.append(text)
            doubtful |= named or by_case.keys()
            continue
        stem = named.pop()
        text = re.sub(rf"(?:\./)?{stem}/{compile_case.EXAMPLE}", compile_case.EXAMPLE, text)
        by_case[stem] += re.sub(rf"\b{stem}::", "", text).splitlines()
    return {stem: "\n".join([*lines, *([] if is_gcc else summary(lines))])
            for stem, lines in by_case.items() if stem not in doubtful}, others


def compile_together(cases, compiler, standard, headers):
    """What the compiler says of each of several cases, as outputs_by_case has it."""
    lines, included = [], set()
    for case in cases:
        names = [name for name in includes_of(case) if name not in included]
        included.update(names)
        stem = case.path.stem
        lines += [*(f"#include <{name}>" for name in names), f"namespace {stem} {{",
                  f'#include "{stem}/{compile_case.EXAMPLE}"', "}"]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            variant = pathlib.Path(folder, case.path.stem, compile_case.EXAMPLE)
            variant.parent.mkdir()
            variant.write_text("\n".join(case.variant(True)) + "\n", encoding="utf-8")
        pathlib.Path(folder, "all.cpp").write_text("\n".join([*lines, ""]), encoding="utf-8")
        is_gcc = precompiled.is_gcc(compiler)
        _, output = compile_case.compile_source(compiler, "all.cpp", [*OPTIONS, *WITHOUT_LIMIT[is_gcc]], folder, standard,
                                                headers)
    return outputs_by_case(cases, output, is_gcc)


def problems_of_text(cases, compiler, standard, headers):
    """Each case with what is wrong, and whether it had to be compiled alone."""
    outputs, others = {}, []
    if len(cases) > 1:
        outputs, others = compile_together(cases, compiler, standard, headers)
    for text in others:
        print("  of no case, or of several:\n    " + text.replace("\n", "\n    "))
    for case in cases:
        output = outputs.get(case.path.stem, "")
        compiled = not compile_case.error_lines(output)
        found = problems_of(case, compiler, standard, compiled, output) if output else ["nothing is said"]
        is_alone = bool(found)
        if is_alone:
            compiled, output = compile_case.compile_bad_variant(case, compiler, standard, headers)
            found = problems_of(case, compiler, standard, compiled, output)
        yield case, found, is_alone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler")
    parser.add_argument("cases", nargs="*", type=pathlib.Path)
    parser.add_argument("--standard", default="c++20")
    parser.add_argument("--headers", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    paths = options.cases or sorted(CASES.glob("E[0-9][0-9][0-9][0-9]_*.cpp"))
    failed = False
    for cases in texts_of([compile_case.read_case(path) for path in paths]):
        for case, found, is_alone in problems_of_text(cases, options.compiler, options.standard, options.headers):
            print(f"{case.path.name}: {'FAILED' if found else 'ok'}{', alone' if is_alone else ''}")
            print("".join("  " + text.replace("\n", "\n  ") + "\n" for text in found), end="")
            failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
