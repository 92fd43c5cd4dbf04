#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the WebAssembly module of the page docs/digits.md: trains the network here, and compiles its predictor.

    tools/site/web.py <folder>     writes <folder>/digits.wasm

Needs clang++-19, lld-19, Debian's wasi-libc, libc++-19-dev-wasm32 and libclang-rt-19-dev-wasm32; 77 if they are not here."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "examples/web"
TO_WASM = ["clang++-19", "--target=wasm32-wasi", "-std=c++20", "-O2", "-msimd128", "-fno-exceptions", "-fno-rtti", "-mexec-model=reactor", "-Wl,--strip-all"]


def can_build():
    return bool(shutil.which("clang++-19") and shutil.which("wasm-ld-19")) and pathlib.Path("/usr/lib/wasm32-wasi/libc.a").exists()


def build(folder):
    """The module; its weights stand beside it in weights.hpp."""
    folder.mkdir(parents=True, exist_ok=True)
    module, train = folder / "digits.wasm", folder / "train"
    include = [f"-I{ROOT / 'include'}", f"-I{folder}"]
    subprocess.run(["clang++-19", "-std=c++20", "-O2", "-march=native", "-pthread", *include, WEB / "train.cpp", "-o", train], check=True)
    (folder / "weights.hpp").write_text(subprocess.run([train], check=True, capture_output=True, text=True).stdout, encoding="utf-8")
    subprocess.run([*TO_WASM, *include, WEB / "predict.cpp", "-o", module], check=True)
    return module


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not can_build():
        print("the page docs/digits.md has no module: a compiler for WebAssembly is not here", file=sys.stderr)
        sys.exit(77)
    print(build(pathlib.Path(sys.argv[1])))
