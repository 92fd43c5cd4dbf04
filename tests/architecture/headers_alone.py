# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone. CMake's own verification of header sets asks the same and takes four times as long, most of
it for what was read before. Here each header starts from the precompiled one that holds most of what it includes, which
starts from another one in turn; the first is all of the standard library and others'. That a header includes those of them
that it names is read off its text.

    python3 headers_alone.py c++-compiler      prints each header that does not
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import house

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
ROOT = INCLUDE / "stagecraft"
OPTIONS = ("-std=c++20", "-march=native", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}")
JOBS = 2

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


class Compiled:
    """Headers that are compiled, each on top of another one; a text of C++ is what they are made from."""

    def __init__(self, compiler, folder):
        self.is_clang = "clang" in run(compiler, "--version").stdout
        self.compiler, self.folder = compiler, folder

    def add(self, name, text, base=None):
        """The file, and what the compiler says."""
        source = self.folder / (name.replace("/", "_") + ".h")
        source.write_text(text, encoding="utf-8")
        result = source.with_suffix(".h.pch" if self.is_clang else ".h.gch")
        options = ("-include-pch", str(base)) if base else ()
        ran = run(self.compiler, *OPTIONS, *options, "-x", "c++-header", str(source), "-o", str(result))
        return result, ran

    def check(self, name, text, base):
        source = self.folder / (name.replace("/", "_") + ".cpp")
        source.write_text(text, encoding="utf-8")
        # GCC has no header on top of another one: it gets that of others', by its source's name.
        options = ("-include-pch", str(base)) if self.is_clang else ("-include", str(base).removesuffix(".gch"))
        return run(self.compiler, *OPTIONS, *options, "-fsyntax-only", str(source))


def bases_of(headers):
    """For each header that includes others of the library, the one of them that holds most."""
    closures = {name: set(house.closure(ROOT, name)) - {name} for name in headers}
    bases = {}
    for name, closure in closures.items():
        known = [other for other in closure if other in closures]
        if known:
            bases[name] = max(known, key=lambda other: (len(closures[other]), other))
    return bases


def others_of(headers):
    others = sorted({other for name in headers for _, other in house.includes_of(ROOT / name)
                     if not other.startswith("stagecraft/")})
    # xtensor has moved its headers between versions, and optional components may not be installed.
    return "".join(f"#if __has_include(<{other}>)\n#include <{other}>\n#endif\n" for other in others)


def problems(compiler, headers):
    found = [text for name in headers for text in names_without_include(name)]
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        compiled = Compiled(compiler, pathlib.Path(temporary))
        others, ran = compiled.add("others", others_of(headers))
        if ran.returncode != 0:
            sys.exit(ran.stdout)
        bases = bases_of(headers) if compiled.is_clang else {}
        serves = set(bases.values())
        results = {}

        def check(name):
            text = f"#include <stagecraft/{name}>\n"
            base = others
            if name in bases:
                base, broken = results[bases[name]].result()
                if broken:  # it is named already
                    return others, broken
            if name in serves:
                result, ran = compiled.add(name, text, base)
            else:
                result, ran = base, compiled.check(name, text, base)
            return result, f"include/stagecraft/{name}: {ran.stdout}" if ran.returncode != 0 else ""

        # In this order a thread waits for headers only that another one has begun.
        for name in sorted(headers, key=lambda name: (len(house.closure(ROOT, name)), name)):
            results[name] = pool.submit(check, name)
        found += sorted({broken for _, broken in (result.result() for result in results.values()) if broken})
    return found


if __name__ == "__main__":
    names = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.hpp"))]
    broken = problems(sys.argv[1], names)
    print("\n".join(broken) if broken else f"all {len(names)} headers compile alone")
    sys.exit(1 if broken else 0)
