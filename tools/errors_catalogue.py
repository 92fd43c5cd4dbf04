#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes docs/errors.md from docs/errors.in.md and the cases of tests/compile_fail.

    tools/errors_catalogue.py             writes docs/errors.md
    tools/errors_catalogue.py --check     fails if docs/errors.md is not what would be written; what the compilers say
                                          is not asked again: the test of each case compares it
    tools/errors_catalogue.py --complete  fails if a code of the library lacks its section, or its case
    tools/errors_catalogue.py E2001 ...   asks the compilers again for these codes only, and keeps what the others have
    ... --headers <folder>                keeps the library's precompiled headers there, for the next time

docs/errors.in.md has one section per code, "## E2001: ...", in the order of the codes, with the meaning in prose. At
the end of the section of a code that has a case (tests/compile_fail/E2001_*.cpp, the first by name), this tool puts the
case's broken and mended variant and what the compilers say of the broken one. The output of a compiler that is missing,
or of another version than the one that was written down, is kept as it is.
"""
import argparse
import concurrent.futures
import difflib
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "compile_fail"))
sys.dont_write_bytecode = True
import compile_case  # noqa: E402

SOURCE = ROOT / "docs" / "errors.in.md"
RESULT = ROOT / "docs" / "errors.md"
CASES = ROOT / "tests" / "compile_fail"
COMPILERS = {"GCC": ("g++", 12), "Clang": ("clang++-19", 19)}
LONGEST_LINE = 200
GENERATED = "<!-- Made by tools/errors_catalogue.py from docs/errors.in.md and tests/compile_fail: edit those. -->"


@functools.cache
def version_of(compiler):
    """A compiler's version such as 12.2, or None without it."""
    path = shutil.which(compiler)
    if path is None:
        return None
    arguments = ["-dumpfullversion"] if "clang" not in compiler else ["-dumpversion"]
    text = subprocess.run([path, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return ".".join(text.split(".")[:2])


def stable(output):
    """Compiler output without what changes from machine to machine or with an unrelated edit of the library: folders,
    chains of includes, line numbers inside the library, numbers of placeholder types, and the far ends of very long
    lines."""
    lines, in_library = [], False
    for line in output.splitlines():
        if line.startswith("In file included from") or re.match(r"\s+from \S+:\d+[:,]", line):
            continue
        line = line.replace(str(compile_case.INCLUDE) + "/", "")
        line = re.sub(r"(^|[\s(])(?:/[\w.+-]+)+/([\w.+-]+):", r"\1\2:", line)
        position = re.match(r"([\w./+-]+):(?:\d+:)?(?:\d+:)? ", line)
        if position:
            in_library = position.group(1) != "example.cpp"
        line = re.sub(r"(stagecraft/[\w/]+\.hpp):\d+(:\d+)?", r"\1", line)
        line = re.sub(r"\bauto:\d+", "auto", line)  # GCC counts them
        if in_library:
            line = re.sub(r"^(\s*)(\d+) \|", lambda match: match.group(1) + " " * len(match.group(2)) + " |", line)
        whole = len(line) <= LONGEST_LINE or "error:" in line
        lines.append(line if whole else line[:LONGEST_LINE - 4] + " ...")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def block(language, text):
    return f"```{language}\n{text}\n```\n"


def kept_output(code, name, previous):
    """What docs/errors.md has for a compiler already: its heading and block."""
    section = re.search(rf"^## {code}:.*?(?=^## E|\Z)", previous, re.M | re.S)
    if section is None:
        return None
    found = re.search(rf"^{name} [\d.]+ says:\n\n```text\n.*?\n```\n", section.group(0), re.M | re.S)
    return found.group(0) if found else None


def output_block(name, version, output):
    return f"{name} {version} says:\n\n" + block("text", stable(output))


def is_kept(written, name, version):
    """Whether a compiler is missing, or another one than that whose output is written."""
    return version is None or (written is not None and not written.startswith(f"{name} {version} "))


def stale_output(case, compiler, output):
    """What differs between a compiler's output for a case and docs/errors.md, as a list of texts: empty if nothing."""
    names = [name for name, (command, _) in COMPILERS.items() if pathlib.Path(compiler).name == command]
    if not names or first_cases()[case.code].path != case.path:
        return []
    written = kept_output(case.code, names[0], present_text())
    if is_kept(written, names[0], version_of(compiler)):
        return []
    now = output_block(names[0], version_of(compiler), output)
    if now == written:
        return []
    return ["docs/errors.md is stale: run tools/errors_catalogue.py\n" + difference(written or "", now)]


def generated_part(case, versions, previous, headers, ask_compilers):
    """Examples and compiler output of one case, in Markdown."""
    broken, mended = "\n".join(case.variant(True)), "\n".join(case.variant(False))
    text = "Broken:\n\n" + block("cpp", broken) + "\nMended:\n\n" + block("cpp", mended)
    for name, (compiler, _) in COMPILERS.items():
        written = kept_output(case.code, name, previous)
        if ask_compilers and not is_kept(written, name, versions[name]):
            _, output = compile_case.compile_bad_variant(case, compiler, headers=headers)
            text += "\n" + output_block(name, versions[name], output)
        elif written:
            text += "\n" + written
    return text


@functools.cache
def first_cases():
    """The first case of each code."""
    cases = {}
    for path in sorted(CASES.glob("E[0-9][0-9][0-9][0-9]_*.cpp")):
        case = compile_case.read_case(path)
        cases.setdefault(case.code, case)
    return cases


def present_text():
    return RESULT.read_text(encoding="utf-8") if RESULT.exists() else ""


def difference(present, text):
    return "".join(difflib.unified_diff(present.splitlines(True), text.splitlines(True), "docs/errors.md",
                                        "what tools/errors_catalogue.py writes", n=2))


def catalogue(headers, asks):
    """The text of docs/errors.md, and the library's precompiled headers in a folder. The compilers are asked again for the
    codes for which asks holds."""
    previous = present_text()
    versions = {name: version_of(compiler) for name, (compiler, _) in COMPILERS.items()}
    for name, (compiler, _) in COMPILERS.items():
        if versions[name] is None:
            print(f"errors_catalogue: no {compiler}: its output is kept as it is", file=sys.stderr)
    cases = first_cases()
    first, *parts = re.split(r"(?m)^(?=## E\d{4}:)", SOURCE.read_text(encoding="utf-8"))

    def section(part):
        code, text = part[3:8], part.rstrip() + "\n"
        if code not in cases:
            return text
        return text + "\n" + generated_part(cases[code], versions, previous, headers, asks(code))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sections = list(pool.map(section, parts))
    return "\n".join([GENERATED + "\n\n" + first.rstrip() + "\n", *sections])


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def library_codes():
    """The codes that stand in the library: those of compile errors, and those of exceptions."""
    compile_time, run_time = set(), set()
    for path in sorted(compile_case.INCLUDE.rglob("*.hpp")):
        text = without_comments(path.read_text(encoding="utf-8"))
        compile_time.update("E" + number for number in re.findall(r"(?:\breport\(|\w\((?=\s*\d{4},\s*\"))\s*([1-5]\d{3}),", text))
        compile_time.update(re.findall(r"\[(E\d{4})\]", text))
        run_time.update(re.findall(r"\"(E\d{4})\"", text))
    for path in sorted((pathlib.Path(__file__).parent / "stagecraft").rglob("*.cpp")):  # the tool's are exceptions or notes
        run_time.update(re.findall(r"[\"[](E\d{4})[\"\]]", without_comments(path.read_text(encoding="utf-8"))))
    return compile_time, run_time


def missing_parts():
    """What the catalogue lacks or has too much, as texts."""
    compile_time, run_time = library_codes()
    sections = re.findall(r"(?m)^## (E\d{4}):", SOURCE.read_text(encoding="utf-8"))
    cases = first_cases()
    found = []
    for code in sorted(compile_time | run_time):
        if code not in sections:
            found.append(f"{code} stands in the library, but has no section '## {code}: ...' in docs/errors.in.md")
    for code in sorted(compile_time - set(cases)):
        found.append(f"{code} is a compile error, but has no case tests/compile_fail/{code}_*.cpp")
    for code in sorted(set(sections) | set(cases)):
        if code not in compile_time | run_time:
            found.append(f"{code} has a section or a case, but does not stand in the library")
    if sections != sorted(set(sections)):
        found.append("the sections of docs/errors.in.md are not in the order of their codes, or one is there twice")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="code")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--headers", metavar="FOLDER")
    options = parser.parse_args()
    if options.complete:
        found = missing_parts()
        print("\n".join(found) if found else "every code has its section and its case")
        return 1 if found else 0
    with tempfile.TemporaryDirectory() as temporary:
        text = catalogue(options.headers or temporary,
                         lambda code: not options.check and (not options.codes or code in options.codes))
    if not options.check:
        RESULT.write_text(text, encoding="utf-8")
        return 0
    if text == present_text():
        print("docs/errors.md is current")
        return 0
    print(difference(present_text(), text) + "docs/errors.md is stale: run tools/errors_catalogue.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
