# SPDX-License-Identifier: BSD-3-Clause
"""A case that must not compile: how it is read, compiled, and how its compiler's output is read.

A case is a C++ file. `#ifdef STAGECRAFT_BAD ... #else ... #endif` holds what is wrong and what is right; comment lines
`// expect-error: <text>` say what the compiler must print for the former, and `// <- here` at the end of a line says
that the compiler must name this line.
"""
import dataclasses
import os
import pathlib
import re
import subprocess

import precompiled

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
MAX_ERROR_LINES = 2
HERE = "// <- here"


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    code: str  # "E2001"
    expected: list
    lines: list

    @property
    def marked_lines(self):
        return [number for number, line in enumerate(self.lines, 1) if line.rstrip().endswith(HERE)]

    def variant(self, bad):
        """The file's lines with STAGECRAFT_BAD resolved, without the comment at its top and without marks."""
        result, branches = [], []
        for line in self.lines:
            text = line.strip()
            if text in ("#ifdef STAGECRAFT_BAD", "#ifndef STAGECRAFT_BAD"):
                branches.append(bad == text.startswith("#ifdef"))
            elif text.startswith("#if"):
                branches.append(None)
                result.append(line)
            elif text == "#else" and branches and branches[-1] is not None:
                branches[-1] = not branches[-1]
            elif text.startswith("#endif") and branches and branches.pop() is not None:
                pass
            elif False not in branches:
                result.append(line)
        while result and (not result[0].strip() or result[0].startswith("//")):
            result.pop(0)
        result = [line.rstrip().removesuffix(HERE).rstrip() for line in result]
        while result and not result[-1]:
            result.pop()
        return result


def read_case(path):
    path = pathlib.Path(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    expected = [line.split("// expect-error:", 1)[1].strip() for line in lines if "// expect-error:" in line]
    code = re.match(r"(E\d{4})(?:_|$)", path.stem)
    return Case(path, code.group(1) if code else "", expected, lines)


def compile_source(compiler, source, arguments=(), directory=None, standard="c++20", headers=None):
    """Parses a file without generating code; gives whether it compiled, and what the compiler printed. With a folder
    for precompiled headers, the library's headers are read from there."""
    options = [f"-std={standard}", "-Wall", "-Wextra", f"-I{INCLUDE}"]
    taken = []
    if headers:
        text = pathlib.Path(directory or ".", source).read_text(encoding="utf-8")
        taken = precompiled.options([compiler, *options], text, headers)
    command = [compiler, *options, "-fsyntax-only", *taken, *arguments, str(source)]
    environment = dict(os.environ, LC_ALL="C", CCACHE_DISABLE="1")
    run = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", timeout=240)
    if taken and precompiled.MODIFIED in run.stdout:
        return compile_source(compiler, source, arguments, directory, standard)
    return run.returncode == 0, run.stdout


def is_source_echo(line):
    """Whether a line of the output repeats a line of source: '   12 | using x = ...;'."""
    return re.match(r"\s*\d*\s\|", line) is not None


def readable(output):
    """The output without repeated source, and with the messages in one piece: compilers print them as string template
    arguments, with quotes escaped, Clang cut into several: `piece<5>{"layer "}, piece<9>{"\\'dense\\' is "}`."""
    text = "\n".join(line for line in output.splitlines() if not is_source_echo(line))
    text = re.sub(r'"\}{1,2}, (?:(?:\w+::)*piece(?:<\d+>)?)?\{{1,2}"', "", text)
    return re.sub(r"\\(['\"\\])", r"\1", text)


def error_lines(output):
    return [line for line in output.splitlines() if "error:" in line and not is_source_echo(line)]


def problems(case, compiler, standard="c++20", with_good_variant=True, headers=None):
    """What is wrong with a case under one compiler, as a list of texts; empty if it behaves."""
    found = []
    if not case.expected:
        found.append("the case has no `// expect-error:` line")
    if case.code and not any(f"[{case.code}]" in text for text in case.expected):
        found.append(f"no `// expect-error:` line names [{case.code}]")
    if with_good_variant:
        compiled, output = compile_source(compiler, case.path, standard=standard, headers=headers)
        if not compiled:
            found.append("the good variant does not compile:\n" + output)
        elif output.strip():
            found.append("the good variant compiles with warnings:\n" + output)
    compiled, output = compile_source(compiler, case.path, ["-DSTAGECRAFT_BAD"], standard=standard, headers=headers)
    if compiled:
        return found + ["the bad variant compiles"]
    text = readable(output)
    flat = " ".join(text.split())
    for expected in case.expected:
        if " ".join(expected.split()) not in flat:
            found.append(f"the bad variant's output lacks: {expected}")
    for number in case.marked_lines:
        if f"{case.path.name}:{number}:" not in text:
            found.append(f"the bad variant's output does not name line {number}, which is marked `{HERE}`")
    errors = error_lines(output)
    if len(errors) > MAX_ERROR_LINES:
        found.append(f"the bad variant gives {len(errors)} lines with `error:`, more than {MAX_ERROR_LINES}")
    if found:
        found.append("output of the bad variant:\n" + output)
    return found
