#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes single_include/stagecraft/stagecraft.hpp from include/stagecraft/ipu.hpp, operations/words.hpp and all that they include.

    tools/amalgamate.py           writes the file
    tools/amalgamate.py --check   fails if the file is not what would be written
    tools/amalgamate.py --output FILE

Each own header is put in once, where it is first included; what structs include inside their braces, each time.
Unconditional includes of standard headers move to the top, but after what is said to compilers that are too old;
conditional ones, and those of other libraries, stay where they are, because the lines around them may matter.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
ENTRY = "stagecraft/ipu.hpp"
WORDS = "stagecraft/operations/words.hpp"
COMPILER = "stagecraft/diagnostics/compiler.hpp"
RESULT = ROOT / "single_include/stagecraft/stagecraft.hpp"
INCLUDE_LINE = re.compile(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]")


# What headers that programs include read first and last.
AROUND = ("stagecraft/diagnostics/begin_headers.hpp", "stagecraft/diagnostics/end_headers.hpp")


def lines_inside(name):
    """The lines of a header that structs include inside their braces, without the comment at its top; else None."""
    text = (INCLUDE / name).read_text(encoding="utf-8")
    return None if "#pragma once" in text else ["  " + line for line in text.partition("\n\n")[2].splitlines()]


def lines_around(name):
    """The directives of a header of AROUND."""
    return [line for line in (INCLUDE / name).read_text(encoding="utf-8").splitlines() if line.startswith("#")]


class Amalgamation:
    def __init__(self):
        self.seen = set()
        self.standard_headers = set()
        self.body = []

    def add(self, name, included_by):
        if name in self.seen:
            return
        self.seen.add(name)
        path = INCLUDE / name
        if not path.is_file():
            sys.exit(f"amalgamate: {included_by} includes <{name}>, which does not exist")
        lines = path.read_text(encoding="utf-8").splitlines()
        own_lines = []
        depth = 0
        for number, line in enumerate(lines, 1):
            directive = re.match(r"\s*#\s*(\w+)", line)
            if directive and directive.group(1) in ("if", "ifdef", "ifndef"):
                depth += 1
            elif directive and directive.group(1) == "endif":
                depth -= 1
            include = INCLUDE_LINE.match(line)
            if include and include.group(2) in AROUND:
                pass  # once around all of them
            elif include and include.group(2).startswith("stagecraft/"):
                if depth:
                    sys.exit(f"amalgamate: {path}:{number}: an own header is included under a condition")
                if inside := (INCLUDE / include.group(2)).is_file() and lines_inside(include.group(2)):
                    own_lines += inside
                else:
                    self.add(include.group(2), name)
            elif include and include.group(1) == '"':
                sys.exit(f"amalgamate: {path}:{number}: own headers are included as <stagecraft/...>")
            elif include and depth == 0 and "/" not in include.group(2):
                self.standard_headers.add(include.group(2))
            elif not re.match(r"\s*#\s*pragma\s+once|// SPDX-License-Identifier:", line):
                own_lines.append(line)
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(own_lines)).strip("\n")
        if name != ENTRY:
            self.body += [f"// ---- {name}", text, ""]

    def text(self):
        self.add(COMPILER, "amalgamate")
        compiler, self.body = self.body, []
        self.add(ENTRY, "nothing")
        self.add(WORDS, "nothing")
        version = "".join((INCLUDE / "stagecraft/version.hpp").read_text(encoding="utf-8"))
        numbers = re.findall(r"int version_(?:major|minor|patch) = (\d+);", version)
        licence = (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
        return "\n".join([
            "// SPDX-License-Identifier: BSD-3-Clause",
            f"// stagecraft {'.'.join(numbers)} in one file, made by tools/amalgamate.py. Use it instead of the folder "
            "include/stagecraft, not with it.",
            "//",
            *[("// " + line).rstrip() for line in licence],
            "#pragma once",
            "",
            *compiler,
            *[f"#include <{name}>" for name in sorted(self.standard_headers)],
            "",
            *lines_around(AROUND[0]),
            "",
            *self.body,
            *lines_around(AROUND[1]),
        ]).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=RESULT)
    options = parser.parse_args()
    text = Amalgamation().text()
    if options.check:
        if options.output.is_file() and options.output.read_text(encoding="utf-8") == text:
            print(f"{options.output.relative_to(ROOT)} is current")
            return 0
        print(f"{options.output} is stale: run tools/amalgamate.py")
        return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
