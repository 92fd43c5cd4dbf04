# SPDX-License-Identifier: BSD-3-Clause
"""Says whether kernels are compiled once per shape, not once per layer: a network with more layers of the same shapes has
the same kernels. Compares the symbols of same_shapes.hpp with two and with four blocks.

    kernels_per_shape.py COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
INCLUDE = FOLDER.parents[1] / "include"


def kernels(compiler, blocks, folder):
    """The functions of the kernels, without what only inlining keeps apart."""
    program = pathlib.Path(folder) / f"blocks_{blocks}.o"
    options = ["-std=c++20", "-O0", f"-DBLOCKS={blocks}", f"-I{INCLUDE}"]
    source = ["-x", "c++", "-c", str(FOLDER / "same_shapes.hpp")]
    subprocess.run([compiler, *options, *source, "-o", str(program)], check=True)
    symbols = subprocess.run(["nm", "--demangle", str(program)], check=True, capture_output=True, text=True).stdout
    names = (line.split(maxsplit=2)[2] for line in symbols.splitlines() if line.split()[-2:] and " W " in line)
    return {name for name in names if "stagecraft::kernels::" in name.split("(")[0].split("<")[0].split()[-1]}  # not in what it returns


def main():
    compiler = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        few, many = (kernels(compiler, blocks, folder) for blocks in (2, 4))
    products = [name for name in many if name.split("<")[0].endswith(("::convolution", "::matmul"))]
    print(f"{len(few)} kernels with two blocks, {len(many)} with four; {len(products)} of them forward products")
    if not products or few != many:
        for name in sorted(many - few):
            print("only with four:", name[:300])
        sys.exit(1)


main()
