#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the WebAssembly of the page docs/digits.md: trains the network here and compiles its predictor, and compiles README's
program, which trains in the page.

    tools/site/web.py <folder>     writes <folder>/digits.wasm and <folder>/first.wasm

Needs clang++-19, lld-19, Debian's wasi-libc, libc++-19-dev-wasm32 and libclang-rt-19-dev-wasm32; 77 if they are not here."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "examples/web"
TO_WASM = ["clang++-19", "--target=wasm32-wasi", "-std=c++20", "-O2", "-msimd128", "-Wl,--strip-all"]
PREDICTOR = [*TO_WASM, "-fno-exceptions", "-fno-rtti", "-mexec-model=reactor"]
# Debian's libraries have no exceptions: an error ends the program, by examples/web/errors.cpp.
TRAINER = [*TO_WASM, "-fexceptions", "-fignore-exceptions", WEB / "errors.cpp"]


def can_build():
    return bool(shutil.which("clang++-19") and shutil.which("wasm-ld-19")) and pathlib.Path("/usr/lib/wasm32-wasi/libc.a").exists()


def build_trainer(folder):
    """README's program."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "first.wasm"
    subprocess.run([*TRAINER, f"-I{ROOT / 'include'}", ROOT / "examples/00_first.cpp", "-o", program], check=True)
    return program


def build(folder):
    """The module; its weights stand beside it in weights.hpp."""
    folder.mkdir(parents=True, exist_ok=True)
    module, train = folder / "digits.wasm", folder / "train"
    include = [f"-I{ROOT / 'include'}", f"-I{folder}"]
    subprocess.run(["clang++-19", "-std=c++20", "-O2", "-march=native", "-pthread", *include, WEB / "train.cpp", "-o", train], check=True)
    (folder / "weights.hpp").write_text(subprocess.run([train], check=True, capture_output=True, text=True).stdout, encoding="utf-8")
    subprocess.run([*PREDICTOR, *include, WEB / "predict.cpp", "-o", module], check=True)
    return module


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not can_build():
        print("the page docs/digits.md has no module: a compiler for WebAssembly is not here", file=sys.stderr)
        sys.exit(77)
    print(build(pathlib.Path(sys.argv[1])), build_trainer(pathlib.Path(sys.argv[1])))
