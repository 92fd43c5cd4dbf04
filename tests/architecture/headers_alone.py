# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone. CMake's own verification of header sets asks the same and takes four times as long, most of
it for what was read before. Here the standard library and others' are compiled once, for all headers; that a header
includes those of them that it names is read off its text. And some headers that many include are compiled with them: a
header that includes one of these starts from there. And headers each of which includes the one before are one text.

    python3 headers_alone.py c++-compiler      prints each header that does not
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import chains
import house

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
ROOT = INCLUDE / "stagecraft"
OPTIONS = ("-std=c++20", "-march=native", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}")
# Where Debian has HDF5's headers, which no compiler looks for by itself.
OPTIONS += ("-isystem/usr/include/hdf5/serial",)
JOBS = 2
BASES = 8  # headers that are compiled for those that include them; each costs what about ten headers do

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


def names_without_include(name):
    """What a header names of the standard library, though neither it nor an own header that it includes says where from."""
    included = {other for own in house.closure(ROOT, name) for _, other in house.includes_of(ROOT / own)}
    code = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", (ROOT / name).read_text(encoding="utf-8"))
    for header, names in DECLARES.items():
        match = names.search(code)
        if match and header not in included:
            line = code.count("\n", 0, match.start()) + 1
            yield f"include/stagecraft/{name}:{line}: {match.group(0)} without #include <{header}>"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def others_of(headers):
    others = sorted({other for name in headers for _, other in house.includes_of(ROOT / name)
                     if not other.startswith(("stagecraft/", "nlohmann/"))})  # JSON's takes a second to load, used or not
    # xtensor has moved its headers between versions, and optional components may not be installed.
    return "".join(f"#if __has_include(<{other}>)\n#include <{other}>\n#endif\n" for other in others)


def bases_of(headers):
    """For each header the one of a few headers that holds most of what it includes, or None: chosen so that the least is
    left to read, one after the other."""
    closures = {name: house.closure(ROOT, name) - {name} for name in headers}
    lines = {name: (ROOT / name).read_text(encoding="utf-8").count("\n") for name in headers}
    saved = {name: lines[name] + sum(lines[other] for other in closures[name]) for name in headers}
    bases = dict.fromkeys(headers)

    def gain(base):
        return sum(max(0, saved[base] - saved.get(bases[name], 0)) for name in headers if base in closures[name])

    for _ in range(BASES):
        best = max(headers, key=gain)
        for name in headers:
            if best in closures[name] and saved[best] > saved.get(bases[name], 0):
                bases[name] = best
    return bases


def precompile(compiler, text, name, folder, before=()):
    """The options that load a text of includes, and what other such options load before."""
    source = folder / f"{name}.hpp"
    source.write_text(text, encoding="utf-8")
    is_clang = "clang" in run(compiler, "--version").stdout
    compiled = source.with_suffix(".hpp.pch" if is_clang else ".hpp.gch")
    once = ("-fpch-instantiate-templates",) if is_clang else ()  # not in each header again
    result = run(compiler, *OPTIONS, *once, *before, "-x", "c++-header", str(source), "-o", str(compiled))
    if result.returncode != 0:
        sys.exit(result.stdout)
    return ("-include-pch", str(compiled)) if is_clang else ("-include", str(source))


def check(compiler, names, precompiled, folder):
    unit = folder / (names[-1].replace("/", "_") + ".cpp")
    unit.write_text("".join(f"#include <stagecraft/{name}>\n" for name in names), encoding="utf-8")
    result = run(compiler, *OPTIONS, *precompiled, "-fsyntax-only", str(unit))
    headers = " or ".join(f"include/stagecraft/{name}" for name in names)
    return [f"{headers}: {result.stdout}"] if result.returncode != 0 else []


def problems(compiler, headers):
    found = [text for name in headers for text in names_without_include(name)]
    others, bases = others_of(headers), bases_of(headers)
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        folder = pathlib.Path(temporary)

        of_others = precompile(compiler, others, "others", folder)

        def options(number, base):
            include = f"#include <stagecraft/{base}>\n"
            if of_others[0] == "-include-pch":  # Clang adds to what is precompiled
                return precompile(compiler, include, f"base_{number}", folder, of_others)
            return precompile(compiler, others + include, f"base_{number}", folder)

        used = sorted(set(bases.values()) - {None})
        precompiled = {None: of_others, **dict(zip(used, pool.map(options, range(len(used)), used)))}
        units = [(chain, base) for base in precompiled for chain in chains.chains_of(
            {name: house.closure(ROOT, name) for name in headers if bases[name] == base})]
        for texts in pool.map(lambda unit: check(compiler, unit[0], precompiled[unit[1]], folder), units):
            found += texts
    return found


if __name__ == "__main__":
    names = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.h*"))]  # C has one, too
    broken = problems(sys.argv[1], names)
    print("\n".join(broken) if broken else f"all {len(names)} headers compile alone")
    sys.exit(1 if broken else 0)
