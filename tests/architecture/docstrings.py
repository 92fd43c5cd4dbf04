# SPDX-License-Identifier: BSD-3-Clause
"""Every option that a user can write has a docstring, which editors show while it is written; and no comment begins as a
fragment of a sentence.

    python3 docstrings.py [folder of the project]     prints each field without one, and each fragment, as file:line: text

Options are the fields of structs that end in _options, and of what a user makes in braces: losses, optimizers,
initializers and regularizers, `training`, and the description of an IPU. A docstring is a line of /// above a field, or
///< after it; layers repeat their options as members, which need none. A fragment is a comment whose first line begins with a
word of FRAGMENT, such as "Of a tile." or "Whether it waits.": it lacks its subject or its verb for everybody who finds it by
search. A condition is written "True if it waits.", a number "The number of ...", a choice "The rule by which ..."."""
import pathlib
import re
import sys

ROOMS = {"losses", "optimizers", "initializers", "regularizers"}
INTERNAL = {"checked_options", "output_loss"}
NAMES = re.compile(r"\w+_options|training|ipu_config")
STRUCT = re.compile(r"\s*struct (\w+)(?: final)?(?: : [^{;]*)? \{")
FIELD = re.compile(r"\s+(?=\S)(?!static |using |friend |return |constexpr |template |struct |class |enum |explicit |\[\[|//)"
                   r"[\w:<>,\s\*&]*?[\w>\*&] \*?(\w+)(\[\w+\])?( = [^;]*|\{[^;]*\})?;")

COMMENTED = ("include/stagecraft", "tools/stagecraft", "examples")  # whose comments are no fragments
COMMENT = re.compile(r"(///<|///|//)\s+(.*)")
FRAGMENT = r"(Of|With|Without|Those|The same|Behind|Before|Whether|How|Which)\b"


def fragments_of(lines):
    """Pairs of line number and comment, of comments that begin as a fragment. After a member also in small letters."""
    before = ""
    for number, line in enumerate(lines, 1):
        found = COMMENT.search(line)
        after = found and found.group(1) == "///<"
        if (found and (after or not before.strip().startswith("//"))
                and re.match(FRAGMENT, found.group(2), re.IGNORECASE if after else 0)):
            yield number, found.group(2)
        before = line


def is_public(path):
    return "detail" not in path.parts


def fields_without(path):
    """Pairs of line number and name, struct::field, of options without a docstring."""
    room = path.parent.name
    lines = path.read_text(encoding="utf-8").splitlines()
    struct, depth, start = None, 0, 0
    for number, line in enumerate(lines, 1):
        code = re.sub(r"//.*", "", line)
        found = STRUCT.match(code)
        if (struct is None and found and found.group(1) not in INTERNAL
                and (room in ROOMS or NAMES.fullmatch(found.group(1)))):
            struct, start = found.group(1), depth
        elif struct is not None and depth == start + 1:
            field = FIELD.match(code)
            if re.match(r"\s*(private|protected):", code):
                struct = None
            elif field and "///" not in line and not lines[number - 2].strip().startswith("///"):
                yield number, f"{struct}::{field.group(1)}"
        depth += code.count("{") - code.count("}")
        if struct is not None and depth <= start:
            struct = None


def main(root):
    include = pathlib.Path(root) / "include" / "stagecraft"
    found = [(path, number, name) for path in sorted(include.rglob("*.hpp")) if is_public(path.relative_to(include))
             for number, name in fields_without(path)]
    for path, number, name in found:
        print(f"{path.relative_to(root)}:{number}: {name} has no docstring")
    sources = [path for folder in COMMENTED for path in sorted((pathlib.Path(root) / folder).rglob("*.[hc]pp"))]
    fragments = [(path, number, comment) for path in sources
                 for number, comment in fragments_of(path.read_text(encoding="utf-8").splitlines())]
    for path, number, comment in fragments:
        print(f"{path.relative_to(root)}:{number}: begins as a fragment: {comment}")
    return 1 if found or fragments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))
