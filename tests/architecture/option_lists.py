#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Option lists in the texts of errors (E4084, E4140, E4141) name the members of their structs, in order.

usage: option_lists.py ROOT
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"^struct (\w+_options)\b[^;{]*\{\n(.*?)^\};", re.M | re.S)
MEMBER = re.compile(r"^  (?!static |using |friend |\[\[|return |//|constexpr )[\w:<>, *&]*[\w>*&] (\w+)(?: = [^;]*|\{[^;]*\})?;", re.M)
ORDER = re.compile(r"std::string_view order\s*=\s*((?:\"[^\"]*\"\s*)+);")


def joined(literals):
    """The names in adjacent string literals."""
    return "".join(re.findall(r'"([^"]*)"', literals)).split(", ")


def structs_of(text):
    """Name, members and listed names (None without a list) of each struct of options of a header."""
    for name, body in STRUCT.findall(text):
        order = ORDER.search(body)
        yield name, MEMBER.findall(body), joined(order.group(1)) if order else None


def compare(where, expected, found):
    return [] if expected == found else [f"{where}: members are {', '.join(expected)}, but the text has {', '.join(found)}"]


def check(root):
    include = root / "include/stagecraft"
    problems, count = [], 0
    for path in sorted(include.rglob("*.hpp")):
        for name, members, order in structs_of(path.read_text(encoding="utf-8")):
            if order is not None:
                count += 1
                problems += compare(f"{path}: {name}", members, order)
    streamed = {name: members for path in include.glob("data/*.hpp") for name, members, _ in structs_of(path.read_text(encoding="utf-8"))}
    found = None
    for path in include.glob("training/*.hpp"):
        found = found or re.search(r'fits \? ((?:"[^"]*"\s*)+): ((?:"[^"]*"\s*)+),', path.read_text(encoding="utf-8"))
    if found is None:
        return problems + ["training/: the lists of E4140 are not found"]
    problems += compare("E4140, fit", streamed.get("fit_options", []), joined(found.group(1)))
    problems += compare("E4140, evaluate", streamed.get("evaluate_options", []), joined(found.group(2)))
    return problems + ([] if count >= 9 else [f"only {count} structs with a list of options are found"])


def self_test():
    text = ('struct a_options {\n  int x = 0;  ///< x\n  /// y\n  std::vector<int> y{};\n  static constexpr std::string_view order = "x, "\n      "z";\n};\n')
    (name, members, order), = structs_of(text)
    assert (name, members, order) == ("a_options", ["x", "y"], ["x", "z"]), (name, members, order)
    assert compare("a", members, order)


if __name__ == "__main__":
    self_test()
    found = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
