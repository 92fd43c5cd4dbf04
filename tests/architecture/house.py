# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house that can be read off the files: which room may include which, and what a file looks like.

    python3 house.py [folder of the project]     prints each broken rule as file:line: text
"""
import collections
import functools
import itertools
import pathlib
import re
import sys

# The floors of the house, from the bottom, and the rooms on each: a header includes headers of lower floors, and of its own
# room. A part of a room that needs less than the room stands on a lower floor, so that others can include it there.
FLOORS = (
    "diagnostics",
    "threads initializers regularizers kernels/simd",
    "graph",
    "operations machines pipeline/schedule kernels/random",
    "activations constraints losses optimizers ipu/cycles ipu/convolution ipu/steps",
    "layers kernels ipu/vertices ipu/tasks ipu/tiles ipu/lowering/traced",
    "models metrics",
    "pipeline applications",
    "description kernels/update host/lists training/callbacks",
    "plan engine/policy",
    "engine host predict ipu/lowering ipu/placement ipu/profile",
    "training ipu/tiles/codelets ipu/emulation",
    "datasets io report",
    "data serving mpi",
)
MOST_FLOORS = 14
# The order of rooms and their parts on one floor, where there is one: each includes those on its left.
INSIDE = (
    "operations/kinds < operations < operations/plan",
    "optimizers < optimizers/schedules",
    "ipu/cycles < ipu/convolution < ipu/steps",
    "kernels/elementwise < kernels/reduction kernels/product kernels/pooling kernels/normalization "
    "< kernels/convolution kernels/loss",
    "ipu/vertices < ipu/tasks < ipu/lowering/traced",
    "plan < engine/policy",
    "host/steps < host/layer_steps < host",
    "ipu/lowering < ipu/placement < ipu/profile",
    "training/data < training < training/steps",
    "ipu/tiles/codelets < ipu/emulation",
)
LEVELS = {room: level for level, rooms in enumerate(FLOORS) for room in rooms.split()}
# A room of INSIDE, and the number of its row and its place in the row.
PLACES = {room: (number, place) for number, row in enumerate(INSIDE)
          for place, rooms in enumerate(row.split("<")) for room in rooms.split()}
# Headers that structs include inside their braces: options that several layers have.
INSIDE_STRUCTS = ("layers/common_options.hpp", "layers/normalization/scale_options.hpp", "layers/rnn/cell_options.hpp",
                  "layers/rnn/recurrent_initializers.hpp", "layers/rnn/recurrent_options.hpp", "optimizers/common_options.hpp")
# Headers that others include at their beginning and end, or inside a struct, once for each.
READ_AGAIN = ("diagnostics/begin_headers.hpp", "diagnostics/end_headers.hpp", *INSIDE_STRUCTS)
# Headers above the rooms: the level up to which they may include.
TOP = {"version.hpp": 0, "pipeline.hpp": LEVELS["pipeline"], "stagecraft.hpp": len(FLOORS), "ipu.hpp": len(FLOORS),
       "mpi.hpp": len(FLOORS), "steps.hpp": len(FLOORS),
       "predict.hpp": len(FLOORS)}

# The engine runs any machine by its policy, so it includes no header of one, whatever its floor. Nor do plans and
# descriptions, and the host knows no IPU.
NEVER_INCLUDES = {"engine": ("host/", "ipu/"), "plan": ("host/", "ipu/"), "description": ("host/", "ipu/"), "host": ("ipu/",),
                  "ipu": ("host/",)}
# Emulated IPUs are carried out on the host: these parts of ipu/ include its steps.
ON_THE_HOST = ("ipu/emulation", "ipu/tiles/codelets")

ONLY_INCLUDER = {"xsimd": "kernels/simd/simd.hpp", "xtensor": "training/data/xtensor.hpp", "xtl": "training/data/xtensor.hpp",
                 "mpi.h": "mpi/rank_group.hpp"}

# What the checks of stages and the estimates of IPUs must not cost: up to the level of `pipeline` all rooms but those of
# loops over data do without these.
CHEAP = LEVELS["pipeline"]
NOT_CHEAP = ("threads", "kernels/", "ipu/tiles")
EXPENSIVE = {"iostream", "ostream", "istream", "sstream", "fstream", "iomanip", "ranges", "functional", "chrono",
             "string", "cmath", "regex", "algorithm", "numeric", "memory", "map", "unordered_map", "filesystem", "format"}
# Run-time errors have texts; nothing of <stagecraft/pipeline.hpp> includes these headers.
WITH_STRINGS = {"diagnostics/exceptions.hpp", "diagnostics/shown_text.hpp", "diagnostics/throw_error.hpp"}

# What carries plans out asks a policy what machines do, not which machine it has.
WITHOUT_MACHINES = ("plan", "engine", "engine/policy", "host", "host/lists", "host/steps", "host/layer_steps")

# Plans and their execution ask what a layer's steps do (`layer_kernel`, traits, its `call`), not which layer it is: a copy under
# another name gets the same. What no layer is stands in layers/ itself.
WITHOUT_LAYERS = ("plan", "engine", "engine/policy", "host/steps")

MOST_HEADERS = 30  # in a folder
MOST_HEADERS_IN_ALL = 750
LONGEST_HEADER = 400
LONGEST_LINE = 120
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
# What numbers look like with these depends on the locale that the program has set: <stagecraft/diagnostics/number_text.hpp>
# and <charconv> do not ask it. Whole numbers of printf's family have no point, and letters of ASCII are compared.
OF_A_LOCALE = re.compile(
    r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?L?[aAeEfFgG](?![A-Za-z])|"
    r"\b(?:strto[df]|strtold|ato[fi]|sto(?:f|d|ld)|[sf]?scanf|[io]?stringstream|num_(?:get|put)|"
    r"to(?:upper|lower)|is(?:alnum|alpha|digit|lower|upper|print|space|punct|xdigit))\(|"
    r"#\s*include <(?:sstream|iostream|iomanip|locale|clocale)>")
INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]")


@functools.cache
def includes_of(path):
    """The includes of a file, as pairs of line number and name."""
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            result.append((number, match.group(1)))
    return result


def longest_path(name, rooms):
    """The longest path in rooms that the path of a header such as graph/shape.hpp begins with, or None."""
    room = name.rpartition("/")[0]
    while room and room not in rooms:
        room = room.rpartition("/")[0]
    return room or None


def room_of(name):
    """The room, or the part of one, that a header such as graph/shape.hpp stands in, or None."""
    return longest_path(name, LEVELS.keys() | PLACES.keys())


def level_of(name):
    """The floor of a header such as graph/shape.hpp, or None where its room is not known."""
    return LEVELS.get(longest_path(name, LEVELS)) if "/" in name else TOP.get(name)


def is_left_of(room, other):
    """Whether a row of INSIDE has a room on the left of the other."""
    if room not in PLACES or other not in PLACES:
        return False
    (row, place), (other_row, other_place) = PLACES[room], PLACES[other]
    return row == other_row and place < other_place


def may_include(name, other):
    if level_of(other) is None:
        return False
    if name in TOP:
        return level_of(other) <= TOP[name]
    room, other_room = room_of(name), room_of(other)
    return (other == "version.hpp" or room == other_room or level_of(other) < level_of(name)
            or level_of(other) == level_of(name) and is_left_of(other_room, room))


def never_included(name):
    """The beginnings of headers that one of a room includes neither directly nor through others."""
    return () if room_of(name) in ON_THE_HOST else NEVER_INCLUDES.get(name.split("/")[0], ())


def check_include(name, number, included, where):
    if included.startswith("stagecraft/"):
        other = included.removeprefix("stagecraft/")
        if level_of(other) is None:
            yield f"{where}:{number}: <{included}> is in no room of the house"
        elif not may_include(name, other):
            yield (f"{where}:{number}: includes <{included}> of {room_of(other) or 'the house'}, floor {level_of(other)}, but is "
                   f"itself of {room_of(name) or 'the house'}, floor {level_of(name)}; a header includes lower floors, its own "
                   f"room, and what INSIDE has on its left")
        elif other.startswith(never_included(name)):
            yield f"{where}:{number}: includes <{included}>; {name.split('/')[0]} knows {other.split('/')[0]} by its policy alone"
        return
    library = included.split("/")[0]
    if ("/" in included or included.endswith(".h")) and library in ONLY_INCLUDER and name != ONLY_INCLUDER[library]:
        yield f"{where}:{number}: includes <{included}>; only stagecraft/{ONLY_INCLUDER[library]} includes {library}"
    if included in EXPENSIVE and level_of(name) <= CHEAP and name not in WITH_STRINGS and not name.startswith(NOT_CHEAP):
        yield f"{where}:{number}: includes <{included}>, too expensive for floors up to {CHEAP}"


@functools.cache
def closure(include, start):
    """Start and all own headers that it includes, directly or not."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        included = own_includes_of(include, name)
        if name in found or included is None:
            continue
        found.add(name)
        waiting += included
    return frozenset(found)


@functools.cache
def own_includes_of(include, name):
    """The own headers that one of them includes itself; None: there is no such header."""
    path = include / name
    if not path.is_file():
        return None
    return [other.removeprefix("stagecraft/") for _, other in includes_of(path) if other.startswith("stagecraft/")]


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
    if any(re.search(r"\bLevel \d", line) for line in itertools.takewhile(lambda line: line.startswith("//"), lines)):
        yield f"{where}:2: says its level, which follows from its folder"
    if "#pragma once" not in lines and name not in READ_AGAIN:
        yield f"{where}:1: no #pragma once"
    for number, line in enumerate(lines, 1):
        if match := OF_A_LOCALE.search(line.partition("//")[0]):
            yield f"{where}:{number}: {match.group()} follows the locale; use <stagecraft/diagnostics/number_text.hpp>"
    direct = own_includes_of(include, name) or ()
    for other in sorted(other for other in closure(include, name) if other.startswith(never_included(name))):
        if other not in direct:
            yield f"{where}:1: includes, not directly, <stagecraft/{other}>"
    if room_of(name) in WITHOUT_MACHINES:
        for number, line in enumerate(lines, 1):
            if re.search(r"\bis_ipu\b", line):
                yield f"{where}:{number}: asks which machine it has; let its policy say what it does"
    if room_of(name) in WITHOUT_LAYERS:
        for number, line in enumerate(lines, 1):
            code = line.partition("//")[0]
            if re.search(r"\blayers::|<stagecraft/layers/(layers\.hpp|aliases\.hpp|\w+/)", code):
                yield f"{where}:{number}: names a layer; ask what its steps do (layer_kernel, or a trait beside the layer)"


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
    for match in re.finditer(r'(?<!")keep_dims(?!:)', code):  # in texts, it is an attribute of TensorFlow's
        if not re.search(r"\bimmediate\b", code[max(0, code.rfind(";", 0, match.start())):code.find(";", match.start())]):
            yield f"{where}:{code.count(chr(10), 0, match.start()) + 1}: keep_dims without evaluation_strategy::immediate"


TASK_KINDS = re.compile(r"EACH\((\w+)\)")
# Names of tensors do nothing; a layer of the user's own needs its call, and traced tasks the function that runs each of them.
WITHOUT_RUN = ("tensor_names", "own_layer_step", "traced_tasks")


def check_tasks(include):
    """Each kind of task on tiles stands in three headers: its struct in ipu/steps, its `cost_of` in ipu/tasks, and its `run` in
    ipu/tiles/codelets."""
    listed = include / "ipu" / "steps" / "task_work.hpp"
    if not listed.is_file():
        return
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((include / "ipu").rglob("*.hpp"))}
    macro = re.search(r"#define STAGECRAFT_FAMILIES\(EACH\)(.*?)\n\n", texts[listed], re.S)
    for kind in TASK_KINDS.findall(macro.group(1)) if macro else ():
        for what, folder, pattern in (("struct", "steps", rf"^struct {kind} \{{"),
                                      ("cost_of", "tasks", rf"\bcost_of\(\w+ const&[^()]*\b{kind} const&"),
                                      ("run", "tiles/codelets", rf"\bvoid run\(\w+&[^()]*\b{kind} const&")):
            places = [path.relative_to(include).as_posix() for path, text in texts.items() if re.search(pattern, text, re.M)]
            if kind in WITHOUT_RUN and what == "run":
                continue
            if len(places) != 1 or not places[0].startswith(f"ipu/{folder}/"):
                yield (f"include/stagecraft/ipu/steps/task_work.hpp:1: {what} of {kind} is to stand in one header of "
                       f"ipu/{folder}, but stands in {', '.join(places) or 'none'}")


MOST_FILES_OF_THE_WAY = 10


def check_way(root):
    """The way of a batch as CONTRIBUTING tells it: at most ten headers, each of which the first one includes."""
    document = root / "CONTRIBUTING.md"
    if not document.is_file():
        return
    text = document.read_text(encoding="utf-8").partition("## The way of a batch")[2].partition("\n## ")[0]
    way = re.findall(r"^\d+\. `([\w/]+\.hpp)`:", text, re.M)
    if not 2 <= len(way) <= MOST_FILES_OF_THE_WAY:
        yield f"CONTRIBUTING.md:1: the way of a batch has {len(way)} files, more than {MOST_FILES_OF_THE_WAY} or hardly any"
        return
    for name in way:
        if name not in closure(root / "include" / "stagecraft", way[0]):
            yield f"CONTRIBUTING.md:1: {name} is on the way of a batch, but <stagecraft/{way[0]}> does not include it"


def check_documented(root):
    """What documents and examples include stands between begin_headers.hpp and end_headers.hpp: a program's macros do no harm
    there, and -Wsign-conversion finds nothing (docs/building.md)."""
    documents = [*root.glob("README.md"), *(root / "docs").glob("*.md"), *(root / "examples").rglob("*.[hc]pp")]
    named = {name for path in documents for name in re.findall(r"<(stagecraft/[^>\s]+\.hpp)>", path.read_text(encoding="utf-8"))}
    for name in sorted(named):
        path = root / "include" / name
        if re.search(r"/detail/|/layers/.+/", name) or not path.is_file() or name.removeprefix("stagecraft/") in INSIDE_STRUCTS:
            continue
        text = path.read_text(encoding="utf-8")
        if not all(f"#include <stagecraft/{each}>" in text for each in READ_AGAIN[:2]):
            yield f"include/{name}:1: documents include it, so it begins with begin_headers.hpp and ends with end_headers.hpp"


def problems(root):
    """All broken rules of a project, as texts."""
    root = pathlib.Path(root)
    include = root / "include" / "stagecraft"
    found = []
    headers = sorted(include.rglob("*.hpp"))
    for path in headers:
        found += check_header(include, path)
    for folder, count in sorted(collections.Counter(path.parent for path in headers).items()):
        if count > MOST_HEADERS:
            found.append(f"{folder.relative_to(root).as_posix()}:1: has {count} headers, more than {MOST_HEADERS}")
    tool = root / "tools" / "stagecraft"
    for folder in sorted({tool, *(path for path in tool.rglob("*") if path.is_dir())}):
        count = sum(path.is_file() for path in folder.iterdir()) if folder.is_dir() else 0
        if count > MOST_HEADERS:
            found.append(f"{folder.relative_to(root).as_posix()}:1: has {count} files, more than {MOST_HEADERS}")
    if len(headers) > MOST_HEADERS_IN_ALL:
        found.append(f"include/stagecraft:1: has {len(headers)} headers, more than {MOST_HEADERS_IN_ALL}")
    for folder in ("include", "tests", "examples", "benchmarks", "tools"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            if path.parent == root / "tests" / "import" / "expected":
                continue  # as users get them
            found += check_source(root, path)
    found += [*check_documented(root), *check_tasks(include), *check_way(root)]
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
