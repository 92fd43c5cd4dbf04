# SPDX-License-Identifier: BSD-3-Clause
"""Every block of code in README, docs/ and examples/README.md is compiled or checked.

    snippets.py

A block of C++ stands, but for spaces and comments, in a file of tests/ or examples/, paragraph by paragraph; its includes
are includes of that file, or of a header of the library that the file includes. In commands, the subcommands and options
of the program `stagecraft` are those that tools/stagecraft declares, and the files and presets of this repository that
they name are there. CMake's commands name targets, components and functions of cmake/. JSON is JSON, and stands in
docs/ or tests/, too. Lines of Python stand, one after the other, in a .py file of tests/. Prints what does not hold."""
import functools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.M | re.S)


def bare(text):
    """Code without comments and spaces."""
    return re.sub(r"\s+", "", re.sub(r"(?<!:)//[^\n]*", "", text))


def pages():
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", ROOT / "packaging" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path for path in found if path.name != "errors.in.md"]


@functools.cache
def programs():
    """Of each file of C++ that a test compiles: its code, and whether it is one of the program's own outputs."""
    files = [path for folder in ("tests", "examples") for ending in ("*.cpp", "*.hpp") for path in sorted((ROOT / folder).rglob(ending))]
    return [bare(path.read_text(encoding="utf-8")) for path in files]


@functools.cache
def tool():
    return "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tools" / "stagecraft").rglob("*.cpp")))


@functools.cache
def cmake():
    return "".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*"))])


def problems_of_cpp(code):
    kept = [line for line in code.splitlines() if not re.match(r"\s*(#include|namespace sc = stagecraft;)", line)]
    paragraphs = [bare(part) for part in re.split(r"\n\s*\n|^\s*\.\.\.\s*$", "\n".join(kept), flags=re.M)]
    paragraphs = [part for part in paragraphs if part]
    if not any(all(part in text for part in paragraphs) for text in programs()):
        found = [part for part in paragraphs if not any(part in text for text in programs())]
        yield "no file of tests/ or examples/ has " + (f"its paragraph {found[0][:60]}..." if found else "all of its paragraphs")
    for header in re.findall(r'#include <(stagecraft/[^>]+)>', code):
        if not (ROOT / "include" / header).exists():
            yield f"there is no header <{header}>"


def problems_of_sh(code):
    for line in re.sub(r"\\\n", " ", code).splitlines():
        line = re.sub(r"(?:^|\s)#.*", "", line)
        for command in re.findall(r"(?:^|&& |\$ )stagecraft (.*)", line):
            subcommand = re.match(r"[a-z]+", command)
            if not subcommand or not re.search(rf'add_subcommand\(\s*"{subcommand[0]}"', tool()):
                yield f"the program has no command {command}"
            for option in re.findall(r"(?<=\s)--[\w-]+", command):
                if not re.search(rf'[",(](?:--)?{re.escape(option[2:])}[",]', tool()):
                    yield f"the program has no option {option}"
        for path in re.findall(r"(?:^|\s)((?:tools|tests|packaging|benchmarks|examples|\.ci)/[\w./-]+\w)", line):
            if not (ROOT / path).exists():
                yield f"there is no {path}"
        for preset in re.findall(r"--preset (\w+)", line):
            if f'"name": "{preset}"' not in (ROOT / "CMakePresets.json").read_text(encoding="utf-8"):
                yield f"there is no preset {preset}"


def problems_of_cmake(code):
    for target in re.findall(r"stagecraft::(\w+)", code):
        if not re.search(rf"\b(?:stagecraft_{target}|stagecraft::{target}|{target})\b", cmake()):
            yield f"there is no target stagecraft::{target}"
    for component in re.findall(r"COMPONENTS ([\w ]+)\)", code):
        for name in component.split():
            if not re.search(rf"\b{name}\b", cmake()):
                yield f"there is no component {name}"
    for function in re.findall(r"^\s*(stagecraft_\w+)\(", code, re.M):
        if f"function({function}" not in cmake():
            yield f"there is no function {function}"


def problems_of_json(code):
    try:
        json.loads(code)
    except ValueError as problem:
        yield f"it is no JSON: {problem}"


def problems_of_python(code):
    def lines(text):
        return "\n".join(line for line in (re.sub(r"\s*(?<!\S)#.*", "", each).strip() for each in text.splitlines()) if line)

    if not any(lines(code) in lines(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))):
        yield "no .py file of tests/ has these lines"


CHECKS = {"cpp": problems_of_cpp, "sh": problems_of_sh, "cmake": problems_of_cmake, "json": problems_of_json, "python": problems_of_python}


def main():
    wrong, count = [], 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            count += 1
            where = f"{page.relative_to(ROOT)}:{text[:block.start()].count(chr(10)) + 1}"
            if block[2] not in CHECKS:
                wrong.append(f"{where}: blocks of {block[2]} are not checked")
            else:
                wrong += [f"{where}: {problem}" for problem in CHECKS[block[2]](block[3])]
    print("\n".join(wrong) if wrong else f"{count} blocks of code hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
