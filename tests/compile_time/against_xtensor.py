# SPDX-License-Identifier: BSD-3-Clause
"""Compile time of the stage checks, whole translation unit, against that of `#include <xtensor/xtensor.hpp>` alone.

    against_xtensor.py g++ clang++-19

User time of the compiler without optimization, the smallest of several runs that alternate, so that other work on the
machine does not count. Stops as soon as all budgets are met with some room, or just met after a few rounds, or after the
last one.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
# At most this many times the time of xtensor's include.
BUDGETS = {"five_layers": 1.0, "resnet50": 2.0, "sixteen_stages": 2.0}
ROOM = 0.85  # of a budget: less than that is no accident of one run
FIRST_CHECK = 3
ROUNDS = 10
# Clang 19 compiles xtensor before 0.26 only with this flag.
FOR_XTENSOR = {"clang": ["-fno-relaxed-template-template-args", "-Wno-deprecated-no-relaxed-template-template-args"]}


def user_time(compiler, source, arguments):
    before = os.times().children_user
    command = [compiler, "-std=c++20", "-O0", f"-I{INCLUDE}", *arguments, "-c", str(source), "-o", os.devnull]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{compiler} does not compile {source}:\n{run.stdout}")
    return os.times().children_user - before


def measure(compiler, folder):
    """The smallest times of xtensor's include and of each program with a budget."""
    xtensor = pathlib.Path(folder, "xtensor.cpp")
    xtensor.write_text("#if __has_include(<xtensor/containers/xtensor.hpp>)\n#include <xtensor/containers/xtensor.hpp>\n"
                       "#else\n#include <xtensor/xtensor.hpp>\n#endif\n", encoding="utf-8")
    units = {"xtensor": (xtensor, FOR_XTENSOR["clang"] if "clang" in compiler else [])}
    units |= {name: (HERE / f"{name}.cpp", []) for name in BUDGETS if (HERE / f"{name}.cpp").exists()}
    smallest = dict.fromkeys(units, float("inf"))
    for done in range(1, ROUNDS + 1):
        for name, (source, arguments) in units.items():
            smallest[name] = min(smallest[name], user_time(compiler, source, arguments))
        used = max(smallest[name] / (BUDGETS[name] * smallest["xtensor"]) for name in units if name in BUDGETS)
        if used <= (1 if done >= FIRST_CHECK else ROOM):
            break
    return smallest


def main(compilers):
    failed = False
    for compiler in compilers:
        with tempfile.TemporaryDirectory() as folder:
            times = measure(compiler, folder)
        print(f"{pathlib.Path(compiler).name}: #include <xtensor/xtensor.hpp> alone {times['xtensor']:.2f} s")
        for name, budget in BUDGETS.items():
            if name not in times:
                continue
            ratio = times[name] / times["xtensor"]
            verdict = "ok" if ratio <= budget else "TOO SLOW"
            print(f"  {name:14} {times[name]:.2f} s = {ratio:.2f} x, budget {budget:.1f} x: {verdict}")
            failed = failed or ratio > budget
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
