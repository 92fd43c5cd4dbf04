# SPDX-License-Identifier: BSD-3-Clause
"""The module stagecraft, cmake/stagecraft.cppm: compiles it, a program with a file that imports it and one that includes the library,
which train to the same bits, and a file whose mistake must be found.

    module.py <folder for programs> [--compiler clang++-19] [--cmake PROGRAM] [--times]

--cmake: CMake from 3.28 on; builds the same program by stagecraft_add_module as well, with Ninja. --times: the processor time of
README's first program that imports, and that includes, with -O3. 77 if the compiler is not here."""
import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/portable/module"
FLAGS = ["-std=c++20", "-march=native", "-pthread", f"-I{ROOT / 'include'}", "-Wall", "-Wextra", "-Werror", "-Wno-include-angled-in-module-purview"]


def seconds_of(command):
    """Runs; returns its processor time, without waits for the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([str(each) for each in command], check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def module_of(compiler, optimization, folder):
    """The module's interface, its object, and the seconds of both."""
    interface, assembled = folder / f"stagecraft{optimization}.pcm", folder / f"stagecraft{optimization}.o"
    seconds = seconds_of([compiler, optimization, *FLAGS, "--precompile", ROOT / "cmake/stagecraft.cppm", "-o", interface])
    return interface, assembled, seconds + seconds_of([compiler, optimization, "-march=native", "-c", interface, "-o", assembled])


def print_times(compiler, folder):
    interface, assembled, of_module = module_of(compiler, "-O3", folder)
    including = (ROOT / "examples/00_first.cpp").read_text(encoding="utf-8")
    importing, replaced = re.subn(r"#include <stagecraft/stagecraft.hpp>\n(#include .*\n)", r"\1import stagecraft;\n", including)
    assert replaced == 1, "the first program does not include the library first"
    texts = []
    for name, text, options in (("includes", including, []), ("imports", importing, [f"-fmodule-file=stagecraft={interface}"])):
        source, program = folder / f"{name}.cpp", folder / name
        source.write_text(text, encoding="utf-8")
        checked = seconds_of([compiler, "-O3", *FLAGS, *options, "-fsyntax-only", source])
        compiled = seconds_of([compiler, "-O3", *FLAGS, *options, source, *([assembled] if options else []), "-o", program])
        texts.append(subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(f"{compiler}: README's program that {name} the library: {checked:.1f} s to check, {compiled:.1f} s to compile")
    print(f"{compiler}: the module: {of_module:.1f} s, {interface.stat().st_size / 1e6:.0f} MB")
    assert texts[0] == texts[1], texts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--cmake")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    compiler, folder = options.compiler, options.folder
    if not shutil.which(compiler):
        print(f"{compiler} is not here", file=sys.stderr)
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    interface, assembled, _ = module_of(compiler, "-O1", folder)
    program, from_module = folder / "program", [f"-fmodule-file=stagecraft={interface}"]
    seconds_of([compiler, "-O1", *FLAGS, *from_module, SOURCES / "program.cpp", SOURCES / "included.cpp", assembled, "-o", program])
    subprocess.run([program], check=True)
    mistake = subprocess.run([compiler, *FLAGS, *from_module, "-fsyntax-only", SOURCES / "mistake.cpp"], capture_output=True, text=True)
    assert mistake.returncode != 0 and "E2001" in re.sub(r'"\}, \{"', "", mistake.stderr), mistake.stderr
    if options.cmake:
        build = folder / "cmake"
        shutil.rmtree(build, ignore_errors=True)
        seconds_of([options.cmake, "-S", SOURCES, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-O1", f"-DSTAGECRAFT={ROOT}"])
        seconds_of([options.cmake, "--build", build])
        subprocess.run([build / "program"], check=True)
    if options.times:
        print_times(compiler, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
