# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone. CMake's own verification of header sets asks the same of one process for each header, which
takes many times as long. Clang compiles all of them in one process: each is a submodule of one module that is never
built, so that what a header does not include is not visible in it, though it has been read. The standard library and others'
headers are read once, and are visible to all; that a header includes those of them that it names is read off its text.

    python3 headers_alone.py c++-compiler      prints what does not; without Clang, the headers are compiled one by one
"""
import concurrent.futures
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import house

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
ROOT = INCLUDE / "stagecraft"
OPTIONS = ("-std=c++20", "-march=native", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}")
# Where Debian has HDF5's headers, which no compiler looks for by itself.
OPTIONS += ("-isystem/usr/include/hdf5/serial",)
MPI = [str(path) for path in pathlib.Path("/usr/lib").glob("*/openmpi/include")]
OPTIONS += tuple(f"-isystem{path}" for path in MPI[:1])
JOBS = 2  # of compilers other than Clang

# Which header declares what is named so. Of names that several headers declare, none is listed.
DECLARES = {
    "algorithm": r"(?:max_element|min_element|clamp|sort|stable_sort|copy_n|copy|fill|fill_n|find_if|find|equal|any_of|all_of|"
                 r"none_of|count_if|transform|lower_bound|upper_bound|shuffle|ranges::\w+)\b",
    "array": r"(?:array|to_array)\b",
    "atomic": r"atomic(?:_ref|_thread_fence)?\b",
    "bit": r"(?:bit_cast|bit_ceil|bit_floor|bit_width|popcount|countr_zero|countl_zero|has_single_bit)\b",
    "charconv": r"(?:to_chars|from_chars)\b",
    "chrono": r"chrono::",
    "cmath": r"(?:sqrt|log|log2|log1p|exp|expm1|pow|tanh|sinh|cosh|erf|floor|ceil|lround|nearbyint|isnan|isfinite|isinf|fma)\(",
    "concepts": r"(?:same_as|convertible_to|derived_from|invocable|integral|floating_point|default_initializable)\b",
    "condition_variable": r"condition_variable\b",
    "cstdint": r"u?int(?:8|16|32|64)_t\b",
    "cstring": r"mem(?:cpy|set|move|cmp)\b",
    "functional": r"function\b",
    "limits": r"numeric_limits\b",
    "memory": r"(?:unique_ptr|make_unique|shared_ptr|make_shared|assume_aligned)\b",
    "mutex": r"(?:mutex|lock_guard|scoped_lock|unique_lock)\b",
    "numeric": r"(?:accumulate|iota|gcd|lcm|inner_product)\b",
    "optional": r"(?:optional|nullopt)\b",
    "span": r"span\b",
    "string": r"(?:string|to_string)\b",
    "string_view": r"string_view\b",
    "thread": r"(?:thread|jthread|this_thread)\b",
    "tuple": r"(?:tuple|make_tuple|tie|tuple_size_v|apply)\b",
    "type_traits": r"(?:is_\w+_v|conditional_t|remove_\w+_t|underlying_type_t|is_constant_evaluated)\b",
    "utility": r"(?:move|forward|exchange|declval|integer_sequence|index_sequence|make_index_sequence|make_integer_sequence)\b",
    "vector": r"vector\b",
}
DECLARES = {header: re.compile(rf"\bstd::{names}") for header, names in DECLARES.items()}
DECLARES["nlohmann/json.hpp"] = re.compile(r"\bnlohmann::")


@functools.cache
def others_in(name):
    """What a header includes itself."""
    return frozenset(other for _, other in house.includes_of(ROOT / name))


def names_without_include(name):
    """What a header names of the standard library or of JSON's, though neither it nor an own header that it includes says where from."""
    included = frozenset().union(*(others_in(own) for own in house.closure(ROOT, name)))
    code = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", (ROOT / name).read_text(encoding="utf-8"))
    for header, names in DECLARES.items():
        match = None if header in included else names.search(code)
        if match:
            line = code.count("\n", 0, match.start()) + 1
            yield f"include/stagecraft/{name}:{line}: {match.group(0)} without #include <{header}>"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def others_of(headers):
    others = sorted({other for name in headers for _, other in house.includes_of(ROOT / name)
                     if not other.startswith("stagecraft/")})
    others = [other for other in others if not other.startswith("arm_")]  # compilers have them, and refuse them elsewhere
    # xtensor has moved its headers between versions, and optional components may not be installed.
    return "".join(f"#if __has_include(<{other}>)\n#include <{other}>\n#endif\n" for other in others)


def compile_as_submodules(compiler, headers, folder):
    modules, unit = folder / "stagecraft.modulemap", folder / "all.cpp"
    modules.write_text("module stagecraft {\n" + "".join(
        f'  module "{name}" {{ header "{ROOT / name}" export * }}\n' for name in headers)
        + "".join(f'  textual header "{ROOT / name}"\n' for name in house.INSIDE_STRUCTS) + "}\n", encoding="utf-8")
    unit.write_text(others_of(headers) + "".join(f"#include <stagecraft/{name}>\n" for name in headers), encoding="utf-8")
    result = run(compiler, *OPTIONS, "-fmodules", "-fno-implicit-modules", "-fno-implicit-module-maps", "-fmodule-name=stagecraft",
                 f"-fmodule-map-file={modules}", "-Xclang", "-fmodules-local-submodule-visibility", "-ferror-limit=0",
                 "-fsyntax-only", str(unit))
    return [result.stdout] if result.returncode != 0 else []


def compile_one_by_one(compiler, headers, folder):
    others = folder / "others.hpp"
    others.write_text(others_of(headers), encoding="utf-8")
    result = run(compiler, *OPTIONS, "-x", "c++-header", str(others), "-o", f"{others}.gch")
    if result.returncode != 0:
        return [result.stdout]

    def check(name):
        unit = folder / (name.replace("/", "_") + ".cpp")
        unit.write_text(f"#include <stagecraft/{name}>\n", encoding="utf-8")
        result = run(compiler, *OPTIONS, "-include", str(others), "-fsyntax-only", str(unit))
        return f"include/stagecraft/{name}: {result.stdout}" if result.returncode != 0 else ""

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [text for text in pool.map(check, headers) if text]


def problems(compiler, headers):
    found = [text for name in headers for text in names_without_include(name)]
    compile_all = compile_as_submodules if "clang" in run(compiler, "--version").stdout else compile_one_by_one
    with tempfile.TemporaryDirectory() as folder:
        return found + compile_all(compiler, headers, pathlib.Path(folder))


if __name__ == "__main__":
    names = [name for path in sorted(ROOT.rglob("*.h*"))  # C has one, too
             if (name := path.relative_to(ROOT).as_posix()) not in house.INSIDE_STRUCTS]  # these do not
    if not MPI:  # nothing can be said of what includes it
        names = [name for name in names if not any("mpi.h" in others_in(own) for own in house.closure(ROOT, name))]
    broken = problems(sys.argv[1], names)
    print("\n".join(broken) if broken else f"all {len(names)} headers compile alone")
    sys.exit(1 if broken else 0)
