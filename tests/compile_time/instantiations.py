# SPDX-License-Identifier: BSD-3-Clause
"""Counts what Clang 19 makes of each program of this folder: declarations (each template that is instantiated is some)
and expressions (their bodies and constants). A measure of compile time that is the same in every run and on every machine.

    instantiations.py            compares with instantiations.txt; fails above the tolerance, or if a model of 2n layers
                                 (chain_64.cpp) costs more than 2.2 times one of n (chain_32.cpp), or if the perceptron by
                                 a step of one's own costs more than 1.15 times that by a trainer
    instantiations.py --update   writes instantiations.txt, to be reviewed
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
BASELINE = HERE / "instantiations.txt"
COMPILER = "clang++-19"
TOLERANCE = 1.05
DOUBLE_SIZE = 2.2
OF_TRAINER = 1.15  # own_step.cpp over trainer.cpp
COUNTED = {"declarations": r"^\s*(\d+) decls total", "expressions": r"^\s*(\d+) stmts/exprs total"}


def count(source):
    """Declarations and expressions of one translation unit."""
    command = [COMPILER, "-std=c++20", f"-I{INCLUDE}", "-fsyntax-only", "-Xclang", "-print-stats", str(source)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{source} does not compile:\n{run.stdout}")
    return tuple(int(re.search(pattern, run.stdout, re.M).group(1)) for pattern in COUNTED.values())


def toolchain():
    """The compiler and the standard library that the counts depend on."""
    run = subprocess.run([COMPILER, "-std=c++20", "-x", "c++", "-E", "-P", "-"], input="#include <cstddef>\n"
                         "__clang_major__ _GLIBCXX_RELEASE\n", stdout=subprocess.PIPE, text=True, check=True)
    clang, library = run.stdout.split()[-2:]
    return f"Clang {clang}, libstdc++ {library}"


def count_of_text(text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "unit.cpp")
        source.write_text(text, encoding="utf-8")
        return count(source)


def measure():
    """The counts by name; `pipeline.hpp` is the include alone."""
    counts = {"pipeline.hpp": count_of_text("#include <stagecraft/pipeline.hpp>\n")}
    for source in sorted(HERE.glob("*.cpp")):
        counts[source.stem] = count(source)
    return counts


def read_baseline():
    lines = BASELINE.read_text(encoding="utf-8").splitlines() if BASELINE.exists() else []
    rows = [line.split() for line in lines if line and line[0] != "#"]
    return {name: tuple(int(number) for number in numbers) for name, *numbers in rows}


def half_of(name):
    """chain_64 -> chain_32"""
    match = re.fullmatch(r"(.*_)(\d*[02468])", name)
    return f"{match.group(1)}{int(match.group(2)) // 2}" if match else None


def compare(counts, baseline):
    """What is wrong, as texts."""
    found = []
    for name, numbers in counts.items():
        if name not in baseline:
            found.append(f"{name}: no line in {BASELINE.name}")
            continue
        for what, number, reviewed in zip(COUNTED, numbers, baseline[name]):
            if number > reviewed * TOLERANCE:
                found.append(f"{name}: {number} {what}, more than {TOLERANCE} x the reviewed {reviewed}")
    found += [f"{name} stands in {BASELINE.name}, but does not exist" for name in baseline if name not in counts]
    for name, numbers in counts.items():
        if half_of(name) in counts:
            for what, number, half, alone in zip(COUNTED, numbers, counts[half_of(name)], counts["pipeline.hpp"]):
                ratio = (number - alone) / (half - alone)
                print(f"{name} makes {ratio:.2f} x the {what} of {half_of(name)}, beyond the include")
                if ratio > DOUBLE_SIZE:
                    found.append(f"{name} makes {ratio:.2f} x the {what} of {half_of(name)}, more than {DOUBLE_SIZE}")
    for what, number, by_trainer in zip(COUNTED, counts["own_step"], counts["trainer"]):
        print(f"own_step makes {number / by_trainer:.3f} x the {what} of trainer")
        if number > OF_TRAINER * by_trainer:
            found.append(f"own_step makes {number / by_trainer:.3f} x the {what} of trainer, more than {OF_TRAINER}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if shutil.which(COMPILER) is None:
        print(f"skipped: no {COMPILER}")
        return 77
    counts, baseline = measure(), read_baseline()
    if not options.update and f"# {toolchain()}" not in BASELINE.read_text(encoding="utf-8"):
        print(f"{BASELINE.name} is not of {toolchain()}: only the growth is checked")
        baseline = counts
    for name, numbers in counts.items():
        print(f"{name:16}", *(f"{number:8} {what}" for what, number in zip(COUNTED, numbers)))
    found = compare(counts, {} if options.update else baseline)
    if options.update:
        lines = ["# Declarations and expressions that the compiler makes of each program of this folder.",
                 "# Written by instantiations.py --update; look at the difference before committing it.",
                 f"# {toolchain()}"]
        lines += [" ".join([name, *map(str, numbers)]) for name, numbers in counts.items()]
        BASELINE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    print("\n".join(found) if found else f"all within {TOLERANCE} x the reviewed counts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
