# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house that can be read off the files: which room may include which, and what a file looks like.

    python3 house.py [folder of the project]     prints each broken rule as file:line: text
"""
import pathlib
import re
import sys

# A header includes only rooms with a smaller level, and its own room.
LEVELS = {
    "diagnostics": 0, "initializers": 0, "regularizers": 0,
    "graph": 1, "operations": 1,
    "layers": 2, "activations": 2, "constraints": 2, "losses": 2, "metrics": 2, "optimizers": 2,
    "models": 3, "pipeline": 3, "ipu": 3,
    "program": 4, "kernels": 4,
    "execution": 5,
    "training": 6,
    "datasets": 7, "io": 7, "serving": 7, "report": 7,
}
# Within a level, these may look at each other in one direction.
SAME_LEVEL = {("operations", "graph"), ("layers", "activations"), ("layers", "constraints"), ("pipeline", "models"), ("ipu", "models"), ("ipu", "pipeline"),
              ("initializers", "diagnostics"), ("regularizers", "diagnostics")}
# Headers above the rooms: the level up to which they may include.
TOP = {"version.hpp": 0, "pipeline.hpp": 3, "stagecraft.hpp": 7, "ipu.hpp": 7}

ONLY_INCLUDER = {"xsimd": "kernels/simd.hpp", "xtensor": "training/xtensor.hpp", "xtl": "training/xtensor.hpp"}

# What the checks of stages must not cost: levels 0 to 3 do without these.
EXPENSIVE = {"iostream", "ostream", "istream", "sstream", "fstream", "iomanip", "ranges", "functional", "chrono",
             "string", "cmath", "regex", "algorithm", "numeric", "memory", "map", "unordered_map", "filesystem", "format"}
# Run-time errors have texts; nothing of <stagecraft/pipeline.hpp> includes these headers.
WITH_STRINGS = {"diagnostics/exceptions.hpp", "diagnostics/throw_error.hpp"}

LONGEST_HEADER = 400
LONGEST_LINE = 120
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]")


def includes_of(path):
    """The includes of a file, as pairs of line number and name."""
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            result.append((number, match.group(1)))
    return result


def level_of(name):
    """The level of a header such as graph/shape.hpp, or None where its room is not known."""
    return LEVELS.get(name.split("/")[0]) if "/" in name else TOP.get(name)


def may_include(name, other):
    if name in TOP and "/" not in name:
        return level_of(other) is not None and level_of(other) <= TOP[name]
    room, other_room = name.split("/")[0], other.split("/")[0]
    if other == "version.hpp" or room == other_room or (room, other_room) in SAME_LEVEL:
        return True
    return level_of(other) is not None and "/" in other and level_of(other) < level_of(name)


def check_include(name, number, included, where):
    if included.startswith("stagecraft/"):
        other = included.removeprefix("stagecraft/")
        if level_of(other) is None:
            yield f"{where}:{number}: <{included}> is in no room of the house"
        elif not may_include(name, other):
            yield (f"{where}:{number}: includes <{included}> of level {level_of(other)}, but is itself of level "
                   f"{level_of(name)}; a header includes smaller levels and its own room")
        return
    library = included.split("/")[0]
    if "/" in included and library in ONLY_INCLUDER and name != ONLY_INCLUDER[library]:
        yield f"{where}:{number}: includes <{included}>; only stagecraft/{ONLY_INCLUDER[library]} includes {library}"
    if included in EXPENSIVE and level_of(name) <= 3 and name not in WITH_STRINGS:
        yield f"{where}:{number}: includes <{included}>, too expensive for levels 0 to 3"


def closure(include, start):
    """Start and all own headers that it includes, directly or not."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        path = include / name
        if name in found or not path.is_file():
            continue
        found.add(name)
        waiting += [other.removeprefix("stagecraft/") for _, other in includes_of(path) if other.startswith("stagecraft/")]
    return found


def check_header(include, path):
    name = path.relative_to(include).as_posix()
    where = f"include/stagecraft/{name}"
    lines = path.read_text(encoding="utf-8").splitlines()
    if level_of(name) is None:
        yield f"{where}:1: is in no room of the house"
        return
    for number, included in includes_of(path):
        yield from check_include(name, number, included, where)
    if len(lines) > LONGEST_HEADER:
        yield f"{where}:{LONGEST_HEADER + 1}: has {len(lines)} lines, more than {LONGEST_HEADER}"
    if len(lines) < 3 or not lines[1].startswith("// "):
        yield f"{where}:2: no comment says what this header is"
    if "#pragma once" not in lines:
        yield f"{where}:1: no #pragma once"


def check_source(root, path):
    """Rules for every file of C++."""
    where = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if not lines or lines[0] != f"// {LICENCE}":
        yield f"{where}:1: the first line is not the licence: // {LICENCE}"
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE and "http" not in line and not line.startswith("// expect-error:"):
            yield f"{where}:{number}: has {len(line)} characters, more than {LONGEST_LINE}"
    # xtensor up to 0.27 computes a wrong result from a lazy reduction with keep_dims inside a larger expression.
    code = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"keep_dims", code):
        if not re.search(r"\bimmediate\b", code[max(0, code.rfind(";", 0, match.start())):code.find(";", match.start())]):
            yield f"{where}:{code.count(chr(10), 0, match.start()) + 1}: keep_dims without evaluation_strategy::immediate"


def problems(root):
    """All broken rules of a project, as texts."""
    root = pathlib.Path(root)
    include = root / "include" / "stagecraft"
    found = []
    for path in sorted(include.rglob("*.hpp")):
        found += check_header(include, path)
    for folder in ("include", "tests", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            found += check_source(root, path)
    for name in sorted(closure(include, "pipeline.hpp") & WITH_STRINGS):
        found.append(f"include/stagecraft/pipeline.hpp:1: includes, directly or not, <stagecraft/{name}>")
    for folder in ("cmake", "tools", "tests", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".sh", ".cmake") or path.name == "CMakeLists.txt":
                if not any(LICENCE in line for line in path.read_text(encoding="utf-8").splitlines()[:2]):
                    found.append(f"{path.relative_to(root).as_posix()}:1: no licence in the first two lines: # {LICENCE}")
    return found


if __name__ == "__main__":
    broken = problems(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(broken) if broken else "the house is in order")
    sys.exit(1 if broken else 0)
