# SPDX-License-Identifier: BSD-3-Clause
"""The library's headers, precompiled: most of what compiling a case costs is reading them, which is the same each time.

Only what a case itself includes is precompiled for it, so that it still sees no other header. They are compiled
again when the compiler or any file that they include is newer.
"""
import fcntl
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "architecture"))
import house  # noqa: E402

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include" / "stagecraft"

# What Clang says of a header that has been edited since; the case is then compiled without.
MODIFIED = "has been modified since the precompiled header"
# What most cases include, the longest first.
PREFIXES = (("stagecraft/pipeline.hpp", "stagecraft/training/trainer.hpp"), ("stagecraft/pipeline.hpp",))


def included_by(names):
    """Headers and what they include, directly or not; of others' headers themselves only."""
    return frozenset(names).union(*(included_by_one(name) for name in names if name.startswith("stagecraft/")))


@functools.cache
def included_by_one(name):
    """What a header of the library includes, directly or not."""
    own = house.closure(INCLUDE, name.removeprefix("stagecraft/"))
    return frozenset(other for each in own for _, other in house.includes_of(INCLUDE / each))


def prefix_of(source):
    """The first of PREFIXES whose headers a text of C++ includes at its top, directly or not."""
    included = set()
    for line in source.splitlines():
        found = re.fullmatch(r"#include <([\w./]+)>", line.strip())
        if found:
            included.add(found.group(1))
        elif line.strip() and not line.startswith("//"):
            break
    if not included <= {name for prefix in PREFIXES for name in prefix}:
        included = included_by(included)
    return next((prefix for prefix in PREFIXES if included.issuperset(prefix)), ())


def is_current(description):
    """Whether no file that was read is newer than the result; a time equal to the beginning may hide a change."""
    try:
        known = json.loads(description.read_text(encoding="utf-8"))
        return all(os.stat(path).st_mtime_ns < known["begin"] for path in known["files"])
    except (OSError, ValueError, KeyError):
        return False


def make(command, headers, folder):
    """Compiles headers into a folder, with the description of what was read; gives whether that succeeded."""
    begin = time.time_ns()
    result = folder / ("headers.hpp.gch" if is_gcc(command[0]) else "headers.hpp.pch")
    text = folder / "headers.hpp"
    text.write_text("".join(f"#include <{header}>\n" for header in headers), encoding="utf-8")
    dependencies = folder / "headers.d"
    unfinished = result.with_suffix(".part")
    # Clang would instantiate what the headers ask for in each case again.
    once = [] if is_gcc(command[0]) else ["-fpch-instantiate-templates"]
    run = subprocess.run([*command, *once, "-x", "c++-header", str(text), "-o", str(unfinished), "-MD", "-MF",
                          str(dependencies)],
                         env=dict(os.environ, LC_ALL="C", CCACHE_DISABLE="1"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    # With warnings, a case would show them without the headers' precompilation: leave that to it.
    if run.returncode != 0 or run.stdout.strip():
        return False
    words = dependencies.read_text(encoding="utf-8").split(":", 1)[1].replace("\\\n", " ").split()
    files = [path for path in words if path != str(text)] + [shutil.which(command[0])]
    os.replace(unfinished, result)
    (folder / "headers.json").write_text(json.dumps({"begin": begin, "files": files}), encoding="utf-8")
    return True


def is_gcc(compiler):
    return "clang" not in pathlib.Path(compiler).name


def options(command, source, folder):
    """What to add to a compiler's command for a text of C++, so that it takes the headers that it begins with from a
    folder; they are compiled where they are not there or not current. Empty if there is nothing to take."""
    prefix = prefix_of(source)
    if not prefix:
        return []
    name = "_".join([pathlib.Path(command[0]).name, *(word for word in command if word.startswith("-std=")),
                     pathlib.Path(prefix[-1]).stem])
    place = pathlib.Path(folder).resolve() / name
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(place / "headers.json") and not make(command, prefix, place):
            return []
    if is_gcc(command[0]):
        return ["-Winvalid-pch", "-include", str(place / "headers.hpp")]
    return ["-include-pch", str(place / "headers.hpp.pch")]
