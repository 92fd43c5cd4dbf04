# SPDX-License-Identifier: BSD-3-Clause
"""Compiles smoke.cpp for each platform that this machine has a compiler for, runs it where something can, and compares what it
prints with this machine's own program. On some, bundle.cpp saves a model that this machine's program loads, and loads one of this
machine.

    platforms.py <folder for programs> [--only NAME ...] [--zig PYTHON] [--write docs/platforms.md] [--without-bundles]

--zig: a Python that has the package ziglang, whose compiler brings the headers of other systems. Prints the rows of
docs/platforms.md, and with --write puts them there; fails if a program does not compile, does not run, or prints other numbers. With --only, a platform whose
compiler is missing is skipped (77)."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 2e-3  # of numbers of about 1 after 24 steps of training: sums are ordered by the width of registers
GNU = ["-O1", "-pthread"]


@dataclass
class Platform:
    name: str                  # of the row
    compiler: list             # the command, without the source
    runner: list = field(default_factory=list)   # what runs the program; empty: this machine
    how: str = "run"           # run, run by Wine, emulated; linked: nothing here runs it
    zig: str = ""              # the target of zig's compiler
    bundles: bool = False      # also whether it and this machine load each other's folders


PLATFORMS = [
    Platform("x86_64 Linux, baseline (SSE2)", ["clang++-19", "-march=x86-64"]),
    Platform("x86_64 Linux, AVX2", ["clang++-19", "-march=x86-64-v3"]),
    Platform("x86_64 Linux, portable registers", ["clang++-19", "-march=x86-64", "-DSTAGECRAFT_PORTABLE_REGISTERS"]),
    Platform("x86_64 Linux, GCC, C++23", ["g++", "-march=x86-64-v3", "-std=c++23"]),
    Platform("x86_64 Linux, Clang, C++23", ["clang++-19", "-march=x86-64-v3", "-std=c++23"]),
    Platform("x86_64 Linux, Clang, C++26", ["clang++-19", "-march=x86-64-v3", "-std=c++26"]),
    *[Platform(f"x86_64 Linux, GCC {release}", [f"g++-{release}", "-march=x86-64-v3"]) for release in (12, 13, 14, 15, 16)],
    *[Platform(f"x86_64 Linux, Clang {release}", [f"clang++-{release}", "-march=x86-64-v3"]) for release in (19, 20, 21, 22, 23)],
    Platform("x86_64 Linux, GCC 16, C++26", ["g++-16", "-march=x86-64-v3", "-std=c++26"]),
    Platform("x86_64 Linux, Clang 23, C++26", ["clang++-23", "-march=x86-64-v3", "-std=c++26"]),
    Platform("x86_64 Linux, libc++", ["clang++-19", "-march=x86-64-v3", "-stdlib=libc++"]),
    Platform("aarch64 Linux (NEON)", ["aarch64-linux-gnu-g++"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], "emulated", bundles=True),
    Platform("armv7 Linux (NEON)", ["arm-linux-gnueabihf-g++", "-mfpu=neon"], ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"], "emulated"),
    Platform("i686 Linux (SSE2)", ["i686-linux-gnu-g++", "-msse2"], ["/usr/i686-linux-gnu/lib/ld-linux.so.2", "--library-path", "/usr/i686-linux-gnu/lib"], bundles=True),
    Platform("i686 Linux (x87)", ["i686-linux-gnu-g++", "-mno-sse"], ["/usr/i686-linux-gnu/lib/ld-linux.so.2", "--library-path", "/usr/i686-linux-gnu/lib"]),
    Platform("riscv64 Linux", ["riscv64-linux-gnu-g++"], ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"], "emulated", bundles=True),
    Platform("riscv64 Linux (V)", ["clang++-19", "--target=riscv64-linux-gnu", "-march=rv64gcv", "-fuse-ld=lld"],
             ["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0", "-L", "/usr/riscv64-linux-gnu"], "emulated"),
    Platform("ppc64el Linux", ["powerpc64le-linux-gnu-g++"], ["qemu-ppc64le", "-L", "/usr/powerpc64le-linux-gnu"], "emulated"),
    Platform("s390x Linux (big-endian)", ["s390x-linux-gnu-g++"], ["qemu-s390x", "-L", "/usr/s390x-linux-gnu"], "emulated", bundles=True),
    Platform("x86_64 Windows, MinGW", ["x86_64-w64-mingw32-g++-posix", "-static"], ["wine"], "run by Wine", bundles=True),
    Platform("x86_64 Windows, Zig", [], ["wine"], "run by Wine", zig="x86_64-windows-gnu"),
    Platform("x86_64 Linux, musl", ["-mcpu=x86_64_v3"], zig="x86_64-linux-musl"),
    Platform("aarch64 Linux, musl", [], ["qemu-aarch64"], "emulated", zig="aarch64-linux-musl"),
    Platform("x86_64 FreeBSD", ["-mcpu=x86_64_v3"], how="linked", zig="x86_64-freebsd"),
    Platform("aarch64 macOS", [], how="linked", zig="aarch64-macos"),
    Platform("x86_64 macOS", ["-mcpu=x86_64_v3"], how="linked", zig="x86_64-macos"),
]


def numbers(text):
    """The lines as (word, number or text)."""
    return [(line.split()[0], float(line.split()[1])) if line.startswith(("loss ", "logit ")) else (line, 0.0) for line in text.splitlines()]


def same(found, expected):
    """True if the words are those expected and each number is near the one expected. NaN is near nothing, itself included."""
    return [word for word, _ in found] == [word for word, _ in expected] and all(
        abs(a - b) <= TOLERANCE * max(1, abs(b)) for (_, a), (_, b) in zip(found, expected))


def headers_of_libraries(folder):
    """A folder with the headers of xtensor and xsimd alone, since /usr/include is of this machine."""
    only = folder / "libraries"
    only.mkdir(parents=True, exist_ok=True)
    for name in ("xtensor", "xtl", "xsimd", "nlohmann", "zlib.h", "zconf.h", "zip.h", "zipconf.h"):
        link = only / name
        if not link.exists():
            link.symlink_to(pathlib.Path("/usr/include") / name)
    return only


def with_rows(document, rows, head="| platform | compiler |", names=1):
    """The document with these rows in the table with this head, in the order of PLATFORMS, or else of the table; rows of what was not
    tried now stay. The first `names` cells say what a row is of."""
    lines = document.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    last = next(i for i in range(first, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
    known = {"|".join(row.split("|")[1:1 + names]).strip(): row for row in [*lines[first:last], *rows]}
    table = [known.pop(each.name) for each in PLATFORMS if each.name in known]
    return "\n".join([*lines[:first], *table, *known.values(), *lines[last:]]) + "\n"


def command_of(each, zig):
    if each.zig:
        return [zig, "-m", "ziglang", "c++", "-target", each.zig, *each.compiler] if zig else None
    return each.compiler if shutil.which(each.compiler[0]) else None


def compiler_of(command):
    """Its name and the first number of its release, as it says itself."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    if found := re.search(r"clang version (\d+)", said):
        return ("Zig's " if "ziglang" in command else "") + f"Clang {found[1]}"
    release = subprocess.run([command[0], "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return f"GCC {re.match(r'[0-9]+', release)[0]}"


def built(command, folder, source, program):
    """What went wrong when the program was compiled and linked."""
    standard = [] if any(word.startswith("-std=") for word in command) else ["-std=c++20"]
    done = subprocess.run([*command, *standard, *GNU, f"-I{ROOT / 'include'}", f"-I{headers_of_libraries(folder)}", ROOT / "tests/portable" / source, "-o", program],
                          capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return f"does not compile: {lines[0] if lines else done.stderr[-500:]}"


def saved_and_loaded(folder, saving, loading):
    """What went wrong when one program loaded what the other had saved: the bits of weights are the same."""
    bundle = folder / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    outputs = []
    for command, word in ((saving, "save"), (loading, "load")):
        ran = subprocess.run([*command, word, bundle], capture_output=True, text=True, timeout=900, env=environment_of(folder))
        if ran.returncode != 0:
            return f"cannot {word} a bundle: {ran.stderr[-300:]}"
        outputs.append(numbers(ran.stdout))
    return "" if outputs[0] and same(*outputs) else f"another model is loaded than was saved: {outputs}"


def bundles_problem(each, command, folder, program, own):
    """What went wrong between the platform and this machine, whose program is `own`."""
    other = [*each.runner, program.with_name(f"bundle_{program.name}")]
    problem = built([*command, "-DWITHOUT_ZLIB"], folder, "bundle.cpp", other[-1])
    return problem or saved_and_loaded(folder, other, [own]) or saved_and_loaded(folder, [own], other)


def environment_of(folder):
    return {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str((folder / "wine").resolve())}


def tried(each, command, folder, expected):
    """(what was done: run, emulated or linked; what went wrong)."""
    suffix = ".exe" if "Windows" in each.name else ""
    program = folder / (each.name.replace(" ", "_").replace(",", "").replace("(", "").replace(")", "") + suffix)
    if problem := built(command, folder, "smoke.cpp", program):
        return "", problem
    if each.how == "linked" or each.runner and not shutil.which(each.runner[0]):
        return "linked | |", ""
    ran = subprocess.run([*each.runner, program], capture_output=True, text=True, timeout=900, env=environment_of(folder))
    if ran.returncode != 0:
        return "", f"ends with {ran.returncode}: {ran.stderr[-300:]}"
    found = numbers(ran.stdout)
    if not same(found, expected):
        return "", f"prints other numbers:\n{ran.stdout}"
    most = max((abs(a - b) for (_, a), (_, b) in zip(found, expected)), default=0)
    if each.bundles and (problem := bundles_problem(each, command, folder, program, folder / "native_bundle")):
        return "", problem
    return f"{each.how} | {most:.0e} |{' both ways' if each.bundles else ''}", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--zig")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--without-bundles", action="store_true", help="in half of the time")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = [each for each in PLATFORMS if not options.only or any(word in each.name for word in options.only)]
    if options.without_bundles:
        wanted = [replace(each, bundles=False) for each in wanted]
    native = Platform("native", ["clang++-19" if shutil.which("clang++-19") else "g++", "-march=native", "-std=c++20"])
    own = options.folder / "native"
    subprocess.run([*native.compiler, *GNU, f"-I{ROOT / 'include'}", ROOT / "tests/portable/smoke.cpp", "-o", own], check=True)
    expected = numbers(subprocess.run([own], capture_output=True, text=True, check=True).stdout)
    if not expected or not same(expected, expected):
        sys.exit("this machine's own program prints no numbers, or some that are not finite")

    if any(each.bundles and command_of(each, options.zig) for each in wanted):
        subprocess.run([*native.compiler, *GNU, f"-I{ROOT / 'include'}", ROOT / "tests/portable/bundle.cpp", "-o", options.folder / "native_bundle", "-lz"], check=True)

    failed, skipped, rows = False, 0, []
    print("| platform | compiler | tried | largest difference | bundles |\n|---|---|---|---|---|")
    for each in wanted:
        command = command_of(each, options.zig)
        if command is None:
            skipped += 1
            print(f"{each.name}: its compiler is not here", file=sys.stderr)
            continue
        begin = time.monotonic()
        what, problem = tried(each, command, options.folder, expected)
        if problem:
            failed = True
            print(f"{each.name}: {problem}", file=sys.stderr)
            continue
        rows.append(f"| {each.name} | {compiler_of(command)} | {what} |")
        print(rows[-1], flush=True)
        print(f"{each.name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    if options.write:
        options.write.write_text(with_rows(options.write.read_text(), rows))
    return 1 if failed else 77 if options.only and skipped == len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
