# SPDX-License-Identifier: BSD-3-Clause
"""<stagecraft/pipeline.hpp> compiles where xtensor and xsimd cannot be included, and reaches no expensive header, directly
or through a standard one: python3 pipeline_alone.py [c++ compiler]..."""
import pathlib
import subprocess
import sys
import tempfile

import house

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
LIBRARIES = ("xtensor", "xsimd", "xtl")
PROGRAM = """\
#include <stagecraft/pipeline.hpp>
namespace sc = stagecraft;
using namespace sc::layers;
using perceptron = sc::sequential<input{28, 28}, flatten{}, dense{16, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<perceptron, sc::stages<0, 0, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);
int main() {}
"""


def poison(folder):
    """Headers in front of the real ones that cannot be included."""
    for library in LIBRARIES:
        for real in pathlib.Path("/usr/include", library).rglob("*.hpp"):
            path = pathlib.Path(folder, real.relative_to("/usr/include"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#error {library} must not be needed here\n", encoding="utf-8")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def check(compiler, folder):
    program = pathlib.Path(folder, "program.cpp")
    program.write_text(PROGRAM, encoding="utf-8")
    flags = (f"-I{folder}", f"-I{INCLUDE}", "-std=c++20", "-Wall", "-Wextra", "-Werror")
    compiled = run(compiler, *flags, str(program), "-o", str(pathlib.Path(folder, "program")))
    if compiled.returncode != 0:
        return [f"{compiler}: {compiled.stdout}"]
    found = []
    for name in run(compiler, *flags, "-M", str(program)).stdout.replace("\\\n", " ").split():
        path = pathlib.Path(name)
        if any(library in path.parts for library in LIBRARIES):
            found.append(f"{compiler}: <stagecraft/pipeline.hpp> reaches {path}")
        if path.parent.name.isdigit() and path.name in house.EXPENSIVE:
            found.append(f"{compiler}: <stagecraft/pipeline.hpp> reaches the expensive <{path.name}>")
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        poison(temporary)
        problems = [text for each in sys.argv[1:] for text in check(each, temporary)]
    print("\n".join(problems) if problems else "pipeline.hpp needs nothing")
    sys.exit(1 if problems else 0)
