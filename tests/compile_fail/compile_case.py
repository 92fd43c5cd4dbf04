# SPDX-License-Identifier: BSD-3-Clause
"""A case that must not compile: how it is read, compiled, and how its compiler's output is read.

A case is a C++ file. `#ifdef STAGECRAFT_BAD ... #else ... #endif` holds what is wrong and what is right; comment lines
`// expect-error: <text>` say what the compiler must print for the former, and `// <- here` at the end of a line says
that the compiler must name this line. `// expect-source: <text>` is text of the library's source that it must show. With `// expect-warning: <text>` instead, the former compiles, and the compiler
prints that.

One mistake prints one error and at most MOST_CHARACTERS, with its text within the first MOST_TEXT_LINE lines, and names
the user's own line within the first MOST_USER_LINE lines. A case of which a compiler prints more has its own limits, with
the compiler and the reason; a limit that a case does not need is refused:

    // most-error-lines: 2 (GCC: the class cannot be constructed, either)
    // most-characters: 9000 (GCC: fit's instantiations)
    // text-line: 5 (Clang: a constant is evaluated before)
    // user-line: 20 (GCC: the layer's own constructors come first)

The reason `designator` stands for one that several cases share: a compiler refuses a designator that it does not know, such as
`{.batchsize = 64}`, in words of its own, whatever function takes the list. The user's line of such a case has a designator. Where an
argument stands before the list, its conversion reports (`refusing` in diagnostics/any_argument.hpp), and no limit is needed; nor with
Clang where a deleted constructor takes the list. It is needed for

- GCC, which says the error's text and then names the option that it does not know, of a layer. If the constructor were deleted, it
  would print three errors, since layers inherit it;
- Clang, if the list is in a model's `build`, which is then no constant: Clang says that once, after the error;
- a field of a description: no function is called, and GCC says of the deduction of its type that it failed, and that no
  constructor matches. A deduction guide that takes whatever the fields refuse would make it one error that names the field, but
  then there is no deduction from the fields at all (C++20, [over.match.class.deduct]), whose names guides do not see.
"""
import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile

import precompiled

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
MOST_ERROR_LINES = 1
MOST_WARNING_LINES = 2
MOST_CHARACTERS = 4000
MOST_TEXT_LINE = 3
MOST_USER_LINE = 16  # compilers repeat a line of source and point into it for each step from the text to the user's line
LIMITS = {"most-error-lines": MOST_ERROR_LINES, "most-characters": MOST_CHARACTERS, "text-line": MOST_TEXT_LINE,
          "user-line": MOST_USER_LINE}
LIMIT = re.compile(r"// (most-error-lines|most-characters|text-line|user-line): (\d+) \((GCC|Clang): (.+)\)")
DESIGNATOR = re.compile(r"[{,]\s*\.\w+\s*[={]")
HERE = "// <- here"
EXAMPLE = "example.cpp"  # what a variant is called while it is compiled


def name_of(compiler):
    return "GCC" if precompiled.is_gcc(compiler) else "Clang"


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    code: str  # "E2001"
    expected: list
    is_warning: bool
    lines: list
    shown: list = dataclasses.field(default_factory=list)
    own_limits: dict = dataclasses.field(default_factory=dict)  # by word and compiler
    needs_designator: bool = False  # a limit has the reason `designator`

    def limit(self, word, compiler):
        return self.own_limits.get((word, name_of(compiler)), LIMITS[word])

    def marked_variant(self, bad):
        """The file's lines with STAGECRAFT_BAD resolved, without the comment at its top, as (number, line, is marked)."""
        result, branches = [], []
        for number, line in enumerate(self.lines, 1):
            text = line.strip()
            if text in ("#ifdef STAGECRAFT_BAD", "#ifndef STAGECRAFT_BAD"):
                branches.append(bad == text.startswith("#ifdef"))
            elif text.startswith("#if"):
                branches.append(None)
                result.append((number, line))
            elif text == "#else" and branches and branches[-1] is not None:
                branches[-1] = not branches[-1]
            elif text.startswith("#endif") and branches and branches.pop() is not None:
                pass
            elif False not in branches:
                result.append((number, line))
        while result and (not result[0][1].strip() or result[0][1].startswith("//")):
            result.pop(0)
        while result and not result[-1][1].strip():
            result.pop()
        return [(number, line.rstrip().removesuffix(HERE).rstrip(), line.rstrip().endswith(HERE))
                for number, line in result]

    def variant(self, bad):
        """The lines of a variant, without marks."""
        return [line for _, line, _ in self.marked_variant(bad)]


def read_case(path):
    path = pathlib.Path(path).resolve()
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = {kind: [line.split(f"// expect-{kind}:", 1)[1].strip() for line in lines if f"// expect-{kind}:" in line]
             for kind in ("error", "warning", "source")}
    code = re.match(r"(E\d{4})(?:_|$)", path.stem)
    matches = [match for line in lines if (match := LIMIT.fullmatch(line.strip()))]
    limits = {(match[1], match[3]): int(match[2]) for match in matches}
    return Case(path, code.group(1) if code else "", texts["error"] or texts["warning"],
                bool(texts["warning"]) and not texts["error"], lines, texts["source"], limits,
                any(match[4] == "designator" for match in matches))


# GCC collects its garbage once it has 2 GB, not at every doubling: that saves time.
GCC_OPTIONS = ["--param=ggc-min-expand=300", "--param=ggc-min-heapsize=2000000"]


def compile_source(compiler, source, arguments=(), directory=None, standard="c++20", headers=None):
    """Parses a file without generating code; gives whether it compiled, and what the compiler printed. With a folder
    for precompiled headers, the library's headers are read from there."""
    options = [f"-std={standard}", "-Wall", "-Wextra", f"-I{INCLUDE}"]
    if pathlib.Path(compiler).name.startswith("g++"):
        options += GCC_OPTIONS
    taken = []
    if headers:
        text = pathlib.Path(directory or ".", source).read_text(encoding="utf-8")
        taken = precompiled.options([compiler, *options], text, headers)
    command = [compiler, *options, "-fsyntax-only", *taken, *arguments, str(source)]
    environment = dict(os.environ, LC_ALL="C", CCACHE_DISABLE="1")
    run = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", timeout=1000)
    if taken and precompiled.MODIFIED in run.stdout:
        return compile_source(compiler, source, arguments, directory, standard)
    return run.returncode == 0, run.stdout


def is_source_echo(line):
    """Whether a line of the output repeats a line of source: '   12 | using x = ...;'."""
    return re.match(r"\s*\d*\s\|", line) is not None


def readable(output):
    """The output without repeated source, and with the messages in one piece: compilers print them as string template
    arguments, with quotes escaped, Clang cut into lines: `piece{{{"layer "}, {"\\'dense\\' is "}}}`."""
    text = "\n".join(line for line in output.splitlines() if not is_source_echo(line))
    text = re.sub(r'"\}{1,3}, (?:(?:\w+::)*piece(?:<\d+>)?)?\{{1,3}"', "", text)
    return re.sub(r"\\(['\"\\])", r"\1", text)


def error_lines(output):
    return [line for line in output.splitlines() if "error:" in line and not is_source_echo(line)]


def warning_lines(output):
    return [line for line in output.splitlines() if "warning:" in line and not is_source_echo(line)]


@dataclasses.dataclass
class Printed:
    """The size of what a compiler prints, whatever folders the library and its headers are in, and however the headers
    include each other."""
    characters: int
    errors: int
    text_line: int  # the first line with the error's text, from 1; 0 if there is none
    user_line: int  # the first line that names a marked line of the case


INCLUDED_FROM = re.compile(r"In file included from |\s+from \S+:\d+[:,]")


def printed(case, output):
    lines = [line.replace(f"{INCLUDE}/", "") for line in output.splitlines() if not INCLUDED_FROM.match(line)]
    marked = [f"{EXAMPLE}:{line}:" for line, (_, _, is_marked) in enumerate(case.marked_variant(True), 1) if is_marked]

    def first(tells):
        return next((number for number, line in enumerate(lines, 1) if tells(line)), 0)

    return Printed(
        sum(len(line) + 1 for line in lines), len(error_lines(output)),
        first(lambda line: any(text in line for text in case.shown) or
              (not is_source_echo(line) and f"[{case.code}]" in readable(line))),
        first(lambda line: any(line.startswith(place) for place in marked or [f"{EXAMPLE}:"])))


def length_problems(case, compiler, output):
    """What is too long in what a compiler prints of the bad variant, as a list of texts."""
    size, found = printed(case, output), []
    for word, number, text in (
            ("most-error-lines", size.errors, "lines with `error:`"), ("most-characters", size.characters, "characters"),
            ("text-line", size.text_line, "lines up to the error's text"),
            ("user-line", size.user_line, "lines up to the user's own")):
        if number > case.limit(word, compiler):
            found.append(f"the bad variant prints {number} {text}, more than {case.limit(word, compiler)}")
        elif number <= LIMITS[word] < case.limit(word, compiler):
            found.append(f"the bad variant needs no `// {word}:` for {name_of(compiler)}: it prints {number} {text}")
    if case.needs_designator and not any(marked and DESIGNATOR.search(line) for _, line, marked in case.marked_variant(True)):
        found.append("the marked line has no designator, which is the reason of a limit")
    if size.text_line == 0:
        found.append("the bad variant does not print its text")
    return found


def compile_bad_variant(case, compiler, standard="c++20", headers=None):
    """Whether it compiled, and what the compiler said of it, under the name example.cpp."""
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(case.variant(True)) + "\n"
        pathlib.Path(folder, EXAMPLE).write_text(text, encoding="utf-8")
        return compile_source(compiler, EXAMPLE, directory=folder, standard=standard, headers=headers)


def problems_of_bad_variant(case, compiled, output):
    """What is wrong with what a compiler said of the bad variant, as a list of texts; empty if it is as expected."""
    found = []
    if not case.expected:
        found.append("the case has no `// expect-error:` line")
    if case.code and not any(f"[{case.code}]" in text for text in case.expected + case.shown):
        found.append(f"no `// expect-error:` line names [{case.code}]")
    if compiled and not case.is_warning:
        return found + ["the bad variant compiles"]
    text = readable(output)
    flat = " ".join(text.split())
    variant = list(enumerate(case.marked_variant(True), 1))
    lines = {str(number): line for line, (number, _, _) in variant}
    for expected in case.expected:
        # Where an error's own text names a line, it is the variant's.
        placed = re.sub(re.escape(case.path.name) + r":(\d+)",
                        lambda match: f"{EXAMPLE}:{lines.get(match.group(1), match.group(1))}", expected)
        if " ".join(placed.split()) not in flat:
            found.append(f"the bad variant's output lacks: {placed}")
    found += [f"the bad variant's output does not show: {text}" for text in case.shown if text not in output]
    for line, (number, _, is_marked) in variant:
        if is_marked and f"{EXAMPLE}:{line}:" not in text:
            found.append(f"the bad variant's output does not name line {number}, which is marked `{HERE}`")
    if case.is_warning and error_lines(output):
        found.append("the bad variant has an error, not only a warning")
    if case.is_warning and len(warning_lines(output)) > MOST_WARNING_LINES:
        found.append(f"the bad variant gives more than {MOST_WARNING_LINES} lines with `warning:`")
    if found:
        found.append("output of the bad variant:\n" + output)
    return found


def together(cases):
    """The good variants of cases as one text of C++: under their own lines' numbers, and if there are several, each in a
    namespace of its own."""
    includes, bodies = [], []
    for case in cases:
        body = []
        for number, line, _ in case.marked_variant(False):
            if line.startswith("#include"):
                includes += [line] if line not in includes else []
            else:
                body += [f'#line {number} "{case.path.name}"', line]
        bodies += [f"namespace {case.path.stem} {{", *body, "}"] if len(cases) > 1 else body
    return "\n".join([*includes, *bodies, ""])


def problems_of_good_variants(cases, compiler, headers=None):
    """What a compiler has against the good variants of cases, compiled as one text; empty if it has nothing."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, EXAMPLE).write_text(together(cases), encoding="utf-8")
        # In a namespace, main is a function like others, and lacks its return.
        compiled, output = compile_source(compiler, EXAMPLE, ["-Wno-return-type"], folder, headers=headers)
    if not compiled:
        return ["a good variant does not compile:\n" + output]
    return ["a good variant compiles with warnings:\n" + output] if output.strip() else []
