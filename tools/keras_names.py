# SPDX-License-Identifier: BSD-3-Clause
"""The table of all of Keras's public names in docs/keras.md: which are here, and why others are not.

    python3 tools/keras_names.py            writes the table
    python3 tools/keras_names.py --check    fails if it is stale

keras_names.txt lists the names of each module of Keras 2.6, one a line: `Name`, or `Name -> word` where the library has
another word, or `Name: why it is not here`; `*: why` is the reason of those that have none. A name is here if the
module's rooms declare it, or have a header of its name, in snake_case as Keras makes default names of it, or if a layer has
it as its class name."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include" / "stagecraft"
LIST = pathlib.Path(__file__).with_suffix(".txt")
DOCUMENT = ROOT / "docs" / "keras.md"
BEGIN, END = "<!-- made by tools/keras_names.py -->", "<!-- until here -->"
DECLARED = re.compile(r"(?:^|\s)(?:struct|class|using|namespace|enum class) (\w+)|constexpr (?:\w+ )*?\w[\w:<>]* (\w+)(?:[\({;]| ?=)|^void (\w+)\(|^\s+(\w+),  *///<", re.M)
WIDTH = 118


def snake_case(name):
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def words_of(rooms):
    """What headers declare, and layers by their class names."""
    found, classes = set(), {}
    for room in rooms:
        path = INCLUDE / room
        for header in sorted(path.rglob("*.hpp")) if path.is_dir() else [path]:
            text = header.read_text(encoding="utf-8")
            found |= {header.stem} | {name for names in DECLARED.findall(text) for name in names if name}
            for name, layer in re.findall(r'class_name = "(\w+)"(?:(?!class_name).)*?usage =\s+"(\w+)', text, re.S):
                classes[name] = layer
    return found, classes


class Module:
    def __init__(self, name, rooms):
        self.name = name
        self.words, self.classes = words_of(rooms)
        self.same, self.other, self.missing, self.default = [], [], {}, "not yet"

    def add(self, line):
        name, _, word = line.partition(" -> ")
        name, _, why = (name, "", "") if word else line.partition(": ")
        if name == "*":
            self.default = why
            return
        if word and not all(part in self.words for part in re.findall(r"\w+", word.split("(")[0])[-1:]):
            sys.exit(f"{LIST.name}: {self.name}.{name} is said to be '{word}', which no header declares")
        own = self.classes.get(name, snake_case(name))
        here = own in self.words
        if why and here:
            sys.exit(f"{LIST.name}: {self.name}.{name} is here as '{own}', and has a reason why it is not")
        if word:
            self.other.append(f"`{name}`: `{word}`")
        elif here and own == snake_case(name):
            self.same.append(f"`{name}`")
        elif here:
            self.other.append(f"`{name}`: `{own}`")
        else:
            self.missing.setdefault(why or self.default, []).append(f"`{name}`")

    def lines(self):
        yield from ("", f"### {self.name}", "", "| | |", "|---|---|")
        if self.same:
            yield f"| here | {', '.join(self.same)} |"
        if self.other:
            yield f"| here as | {', '.join(self.other)} |"
        for why, names in self.missing.items():
            yield f"| not here: {why} | {', '.join(names)} |"


def table():
    modules = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name, rooms = re.fullmatch(r"\[(\S+)\] (.*)", line).groups()
            modules.append(Module(name, rooms.split()))
        elif line and not line.startswith("#"):
            modules[-1].add(line)
    here = sum(len(module.same) + len(module.other) for module in modules)
    missing = sum(len(names) for module in modules for names in module.missing.values())
    lines = [BEGIN, f"Keras 2.6 has {here + missing} public names; {here} of them are here. Names are in snake_case, as Keras",
             "makes default names from them."]
    for module in modules:
        lines += module.lines()
    return "\n".join([*lines, END]) + "\n"


def main():
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    new = before + table() + rest.partition(END + "\n")[2]
    if sys.argv[1:] == ["--check"]:
        if new != text:
            sys.exit("docs/keras.md does not have all of Keras's names as they are: run tools/keras_names.py")
    else:
        DOCUMENT.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
