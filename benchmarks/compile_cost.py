# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of the compiler for stagecraft's programs and for their peers, which take turns in one run.

    compile_cost.py --output compile.json --compiler g++ --flags="-O3 -march=native"

Writes benchmarks in the form of Google Benchmark: compile/<program>/<compiler>/<whose>, with the counters `seconds`
(user and system time of the whole translation unit) and `MB` (the largest resident set).
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
COMPILE_TIME = ROOT / "tests" / "compile_time"
EXAMPLES = ROOT / "examples"
REPETITIONS = 3
INCLUDE_XTENSOR = """#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif
"""

sys.path.insert(0, str(COMPILE_TIME))
import instantiations  # noqa: E402
from against_xtensor import FOR_XTENSOR  # noqa: E402


def version(compiler):
    """`g++ 12.2.0`"""
    run = subprocess.run([compiler, "-dumpfullversion", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=False)
    return f"{'clang++' if 'clang' in compiler else 'g++'} {run.stdout.split()[0] if run.stdout else ''}".strip()


def compile_once(command):
    """Seconds and megabytes, or None if it does not compile."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return {"seconds": usage.ru_utime + usage.ru_stime, "MB": usage.ru_maxrss / 1024}


def include_flags(package):
    if not shutil.which("pkg-config"):
        return None
    run = subprocess.run(["pkg-config", "--cflags", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True, check=False)
    return shlex.split(run.stdout) if run.returncode == 0 else None


def units(compilers, flags, folder):
    """(name, command without output) of each translation unit; those of one group stand together."""
    xtensor = pathlib.Path(folder, "xtensor.cpp")
    xtensor.write_text(INCLUDE_XTENSOR, encoding="utf-8")
    for compiler in compilers:
        kind = "clang" if "clang" in compiler else "gcc"
        command = [compiler, "-std=c++20", f"-I{ROOT / 'include'}", "-O0"]
        for name in ("five_layers", "resnet50"):
            yield f"compile/{name}/{kind}/xtensor", [*command, *FOR_XTENSOR.get(kind, []), xtensor]
            yield f"compile/{name}/{kind}/stagecraft", [*command, COMPILE_TIME / f"{name}.cpp"]
    command = [compilers[0], "-std=c++20", f"-I{ROOT / 'include'}", f"-I{EXAMPLES}", *flags]
    kind = "clang" if "clang" in compilers[0] else "gcc"
    eigen = include_flags("eigen3")
    if eigen is not None:
        yield f"compile/01_mnist/{kind}/eigen", [*command, *eigen, HERE / "compile_time" / "mnist_eigen.cpp"]
    for name in ("01_mnist", "02_cnn"):
        if (EXAMPLES / f"{name}.cpp").exists():
            yield f"compile/{name}/{kind}/stagecraft", [*command, EXAMPLES / f"{name}.cpp"]


def growth():
    """What Clang makes of a chain of 64 layers and of one of 32, beyond the include: a count, the same in each run."""
    if not shutil.which(instantiations.COMPILER):
        return []
    alone = instantiations.count_of_text("#include <stagecraft/pipeline.hpp>\n")
    found = []
    for whose, source in (("stagecraft", "chain_64.cpp"), ("half", "chain_32.cpp")):
        numbers = [number - base for number, base in zip(instantiations.count(COMPILE_TIME / source), alone)]
        found.append({"name": f"compile/chain/clang/{whose}", "run_type": "iteration",
                      **dict(zip(instantiations.COUNTED, numbers))})
    return found


def measure(compilers, flags):
    found = growth()
    with tempfile.TemporaryDirectory() as folder:
        programs = list(units(compilers, flags, folder))
        for repetition in range(REPETITIONS):
            for name, command in programs:
                cost = compile_once([*map(str, command), "-c", "-o", os.devnull])
                if cost is None:
                    print(f"compile_cost: {name} does not compile", file=sys.stderr)
                else:
                    found.append({"name": name, "run_name": name, "run_type": "iteration",
                                  "repetition_index": repetition, **cost})
    return found


def write(output, compiler, flags):
    """Measures, with Clang or GCC beside the compiler if they are there, and writes the file."""
    compilers = [compiler]
    other = "clang++-19" if "clang" not in compiler else "g++"
    if shutil.which(other):
        compilers.append(other)
    content = {"context": {}, "benchmarks": measure(compilers, shlex.split(flags))}
    output.write_text(json.dumps(content, indent=1), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O3 -march=native", help="of the programs that run")
    given = parser.parse_args()
    write(given.output, given.compiler, given.flags)


if __name__ == "__main__":
    main()
