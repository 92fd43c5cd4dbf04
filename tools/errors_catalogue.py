#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes docs/errors.md and its pages, docs/errors/E1xxx.md to E5xxx.md, from docs/errors.in.md and the cases of
tests/compile_fail.

    tools/errors_catalogue.py             writes them
    tools/errors_catalogue.py --check     fails if they are not what would be written; what the compilers say
                                          is not asked again: the test of each case compares it
    tools/errors_catalogue.py --complete  fails if a code of the library lacks its section, or its case
    tools/errors_catalogue.py E2001 ...   asks the compilers again for these codes only, and keeps what the others have
    ... --headers <folder>                keeps the library's precompiled headers there, for the next time

docs/errors.in.md has one section per code, "## E2001: ...", in the order of the codes, with the meaning in prose. A page
has the sections of a thousand codes, and docs/errors.md what precedes them and a list of all. At the end of the section of
a code that has a case (tests/compile_fail/E2001_*.cpp, the first by name), this tool puts the case's broken and mended
variant, and the line with the code that each compiler prints of the broken one. The line of a compiler that is missing, or
of another version than the one that was written down, is kept as it is.
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
INDEX = ROOT / "docs" / "errors.md"
PAGES = ROOT / "docs" / "errors"
CASES = ROOT / "tests" / "compile_fail"
COMPILERS = {"GCC": ("g++", 12), "Clang": ("clang++-19", 19)}
LONGEST_LINE = 600
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


def stable(line):
    """A line of a compiler's output without what changes from machine to machine or with an unrelated edit of the library:
    folders, line numbers inside the library, numbers of placeholder types, and the far end of a very long line."""
    line = line.replace(str(compile_case.INCLUDE) + "/", "")
    line = re.sub(r"(^|[\s(])(?:/[\w.+-]+)+/([\w.+-]+):", r"\1\2:", line)
    line = re.sub(r"(stagecraft/[\w/]+\.hpp):\d+(:\d+)?", r"\1", line)
    line = re.sub(r"\bauto:\d+", "auto", line).strip()  # GCC counts them
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE - 4] + " ..."


def telling_line(code, output):
    """The line that tells what is wrong: the first that says `error:` or `warning:` and has the code, else the first with
    the code, else the first error of a compiler that shows the code in a line of the library's source. Empty if there is
    none."""
    lines = [line for line in output.splitlines()
             if not compile_case.is_source_echo(line) and f"[{code}]" in compile_case.readable(line)]
    if not lines and f"[{code}]" in output:
        lines = compile_case.error_lines(output)
    return next((line for line in lines if re.search(r"\b(?:error|warning):", line)), lines[0] if lines else "")


def block(language, text):
    return f"```{language}\n{text}\n```\n"


def page_of(code):
    """The page that has the section of a code."""
    return PAGES / f"{code[:2]}xxx.md"


@functools.cache
def present_text(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def kept_line(code, name):
    """What a page has for a compiler already: its heading and block."""
    section = re.search(rf"^## {code}:.*?(?=^## E|\Z)", present_text(page_of(code)), re.M | re.S)
    if section is None:
        return None
    found = re.search(rf"^{name} [\d.]+ says:\n\n```text\n.*?\n```\n", section.group(0), re.M | re.S)
    return found.group(0) if found else None


def line_block(code, name, version, output):
    return f"{name} {version} says:\n\n" + block("text", stable(telling_line(code, output)))


def is_kept(written, name, version):
    """Whether a compiler is missing, or another one than that whose line is written."""
    return version is None or (written is not None and not written.startswith(f"{name} {version} "))


def stale_output(case, compiler, output):
    """What differs between a compiler's output for a case and its page, as a list of texts: empty if nothing."""
    names = [name for name, (command, _) in COMPILERS.items() if pathlib.Path(compiler).name == command]
    if not names or first_cases()[case.code].path != case.path:
        return []
    written = kept_line(case.code, names[0])
    if is_kept(written, names[0], version_of(compiler)):
        return []
    now = line_block(case.code, names[0], version_of(compiler), output)
    if now == written:
        return []
    return [f"docs/errors is stale: run tools/errors_catalogue.py {case.code}\n" + difference(page_of(case.code), written or "", now)]


def generated_part(case, versions, headers, ask_compilers):
    """Examples of one case and the compilers' lines, in Markdown."""
    broken, mended = "\n".join(case.variant(True)), "\n".join(case.variant(False))
    text = "Broken:\n\n" + block("cpp", broken) + "\nMended:\n\n" + block("cpp", mended)
    for name, (compiler, _) in COMPILERS.items():
        written = kept_line(case.code, name)
        if ask_compilers and not is_kept(written, name, versions[name]):
            _, output = compile_case.compile_bad_variant(case, compiler, headers=headers)
            text += "\n" + line_block(case.code, name, versions[name], output)
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


def difference(path, present, text):
    return "".join(difflib.unified_diff(present.splitlines(True), text.splitlines(True),
                                        str(path.relative_to(ROOT)), "what tools/errors_catalogue.py writes", n=2))


def anchor(title):
    """The fragment by which Markdown's hosts reach a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def catalogue(headers, asks):
    """The files of the catalogue as a dictionary from path to text, and the library's precompiled headers in a folder. The
    compilers are asked again for the codes for which asks holds."""
    versions = {name: version_of(compiler) for name, (compiler, _) in COMPILERS.items()}
    for name, (compiler, _) in COMPILERS.items():
        if versions[name] is None:
            print(f"errors_catalogue: no {compiler}: its lines are kept as they are", file=sys.stderr)
    cases = first_cases()
    first, *parts = re.split(r"(?m)^(?=## E\d{4}:)", SOURCE.read_text(encoding="utf-8"))

    def section(part):
        code, text = part[3:8], part.rstrip() + "\n"
        text = re.sub(r"\]\((\w+\.md)", r"](../\1", text)  # pages are one folder further down
        if code not in cases:
            return code, text
        return code, text + "\n" + generated_part(cases[code], versions, headers, asks(code))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sections = list(pool.map(section, parts))
    pages, index = {}, {}
    for code, text in sections:
        title = text.splitlines()[0].removeprefix("## ")
        pages.setdefault(page_of(code), [f"{GENERATED}\n\n# Errors {code[:2]}xxx\n\nAll codes: [errors.md](../errors.md).\n"])
        pages[page_of(code)].append(text)
        path = page_of(code).relative_to(INDEX.parent)
        index.setdefault(code[:2], [f"## {code[:2]}xxx\n"]).append(f"- [{code}]({path}#{anchor(title)}):{title[6:]}")
    lists = ["\n".join([lines[0], *lines[1:], ""]) for lines in index.values()]
    return {INDEX: "\n".join([GENERATED + "\n\n" + first.rstrip() + "\n", *lists]),
            **{path: "\n".join(texts) for path, texts in pages.items()}}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def library_codes():
    """The codes that stand in the library: those of compile errors, and those of exceptions."""
    compile_time, run_time = set(), set()
    for path in sorted(compile_case.INCLUDE.rglob("*.hpp")):
        whole = path.read_text(encoding="utf-8")
        text = without_comments(whole)
        compile_time.update(re.findall(r"\{  // \[(E\d{4})\]", whole))  # on a line that compilers show
        compile_time.update("E" + number for number in re.findall(
            r"(?:\b(?:report|error|begin_rejection)\(|\w\((?=\s*\d{4},\s*\"))\s*([1-5]\d{3})[,)]", text))
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
        texts = catalogue(options.headers or temporary,
                          lambda code: not options.check and (not options.codes or code in options.codes))
    if not options.check:
        PAGES.mkdir(exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [difference(path, present_text(path), text) for path, text in texts.items() if text != present_text(path)]
    stale += [f"{path}: is no page of the catalogue\n" for path in sorted(PAGES.glob("*")) if path not in texts]
    if not stale:
        print("docs/errors is current")
        return 0
    print("".join(stale) + "docs/errors is stale: run tools/errors_catalogue.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
