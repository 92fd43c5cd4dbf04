# SPDX-License-Identifier: BSD-3-Clause
"""Programs on other processors than that of this machine, emulated by qemu-x86_64 (Debian package qemu-user).

    python3 processors.py check PROGRAM [EMULATOR]
        PROGRAM, which needs x86-64-v4, runs where it can, and says elsewhere why it cannot.
    python3 processors.py choose PROGRAM [EMULATOR]
        PROGRAM, which chooses at run time, runs everywhere.
    python3 processors.py tiles PROGRAM
        PROGRAM, which is compiled for AMX, runs where there is AVX-512 BF16.

With an emulator, on older processors; without, on this machine. Ends with 77 (skipped) if the emulator is "NOTFOUND", or
where PROGRAM cannot run."""
import pathlib
import subprocess
import sys

SKIPPED = 77
# Processors that qemu 7.2 emulates in full, and the -march that they run.
OLDER = {"qemu64": "x86-64", "Nehalem": "x86-64-v2", "Haswell": "x86-64-v3"}
NEWEST = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=250)


def flags_of_processor():
    """What this machine has, as Linux sees it; None on another system."""
    path = pathlib.Path("/proc/cpuinfo")
    if not path.is_file():
        return None
    flags = next((line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("flags")), "")
    return set(flags.split())


def here_is_v4():
    flags = flags_of_processor()
    return None if flags is None else NEWEST <= flags


def check_complaint(name, ended, runs):
    expected = ["[E4040]", "compiled for x86-64-v4", "lacks ", *sorted(NEWEST)]
    if runs is not None:
        expected.append(f"-march={runs}, which")
    found = [f"{name}: '{text}' is missing in: {ended.stderr}" for text in expected if text not in ended.stderr]
    if ended.stderr.count("[E4040]") > 1:
        found.append(f"{name}: the program complains more than once: {ended.stderr}")
    if ended.returncode != 1:
        found.append(f"{name}: ended with {ended.returncode}, not with 1")
    if ended.stdout:
        found.append(f"{name}: something ran before the check: {ended.stdout}")
    return found


def check_run(name, ended, *expected):
    found = [f"{name}: '{text}' is missing in: {ended.stdout}" for text in expected if text not in ended.stdout]
    if ended.returncode != 0:
        found.append(f"{name}: ended with {ended.returncode}: {ended.stderr}")
    return found


def check(program, emulator):
    if emulator:
        return [text for name, runs in OLDER.items()
                for text in check_complaint(name, run(emulator, "-cpu", name, program), runs)]
    ended = run(program)
    if here_is_v4() is False:
        return check_complaint("this machine", ended, None)
    return check_run("this machine", ended, "initialised", "right")


def choose(program, emulator):
    if emulator:
        return [text for name in OLDER
                for text in check_run(name, run(emulator, "-cpu", name, program), "older: 4 lanes", "newer: not on this")]
    newer = ("newer: not on this",) if here_is_v4() is False else ("newer: 16 lanes", "the same values")
    return check_run("this machine", run(program), "older: 4 lanes", *newer)


def tiles(program, _):
    return check_run("this machine", run(program), "carried out")


def main(what, program, emulator=""):
    if what == "tiles" and not NEWEST | {"avx512_bf16"} <= (flags_of_processor() or set()):
        print("skipped: this processor has no AVX-512 BF16")
        return SKIPPED
    if emulator.endswith("NOTFOUND"):
        print("skipped: qemu-x86_64 is not installed (Debian package qemu-user; tools/setup.sh installs it)")
        return SKIPPED
    found = {"check": check, "choose": choose, "tiles": tiles}[what](program, emulator)
    print("\n".join(found) if found else "as expected on " + (", ".join(OLDER) if emulator else "this machine"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
