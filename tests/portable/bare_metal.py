# SPDX-License-Identifier: BSD-3-Clause
"""Predictions without an operating system: compiles bare_metal/main.cpp with a static_predictor for this machine and for
microcontrollers, runs the programs, emulated by QEMU, and compares the outputs.

    bare_metal.py <folder for programs> [--host] [--write docs/bare_metal.md]

--write puts the rows into the table. --host: only this machine, compiled without exceptions and RTTI. Else a missing compiler or emulator skips the test (77). Prints
the rows of docs/bare_metal.md. Fails if a program does not compile, needs a function of a heap, of exceptions or of an
operating system, prints other numbers than this machine, or takes more flash or memory than the perceptron may."""
import argparse
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import platforms

ROOT = pathlib.Path(__file__).resolve().parents[2]
START = ROOT / "examples/microcontroller"
TOLERANCE = 1e-5
NETWORKS = ("perceptron", "perceptron, int8", "keywords", "keywords, int8", "amplifier")
COMMON = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests/portable/bare_metal'}",
          str(ROOT / "tests/portable/bare_metal/main.cpp")]
# The processor, options of the compiler, the board, and the instructions of a tick of its clock under -icount shift=0.
BOARDS = (("Cortex-M4", ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"], "mps2-an386", 40),
          ("Cortex-M7", ["-mcpu=cortex-m7", "-mfpu=fpv5-d16"], "mps2-an500", 40),
          ("Cortex-M55", ["-mcpu=cortex-m55", "-mfpu=auto"], "mps3-an547", 31.25))
BARE = ["-mthumb", "-mfloat-abi=hard", "-fno-threadsafe-statics", "-ffunction-sections", "-fdata-sections", "-DBARE_METAL", f"-I{START}", str(START / "start.cpp"),
        "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", "-T", str(START / "memory.ld")]
# A RISC-V of 32 bits: Clang with libc++'s headers for systems without threads, Debian's picolibc, QEMU's board virt.
RISCV = "RISC-V (rv32imac)"
LIBRARY = pathlib.Path("/usr/lib/llvm-19/include/wasm32-wasi/c++/v1")
PICOLIBC = pathlib.Path("/usr/lib/picolibc/riscv64-unknown-elf/include")
CORE = ["-march=rv32imac", "-mabi=ilp32"]
PLACES = {"flash": 0x80000000, "flash_size": 0x200000, "ram": 0x80200000, "ram_size": 0x20000, "stack_size": 0x1000}
# What no program without an operating system may hold.
FORBIDDEN = re.compile(r"\b(_?malloc(_r)?|_?free(_r)?|_sbrk(_r)?|_Znwm|_Znwj|_ZdlPv\w*|__cxa_\w+|_Unwind_\w+|abort|_ZSt\w+|pthread_\w+|__gxx_personality\w*)$",
                       re.MULTILINE)
MOST_FLASH, MOST_MEMORY = 128 * 1024, 16 * 1024  # of the perceptron with bytes


def run(command, **options):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=300, **options)


def compiled(command, program):
    """Compiles; returns what is wrong, or an empty text."""
    built = run([*command, "-o", program])
    return "" if built.returncode == 0 else f"does not compile:\n{built.stderr[:3000]}"


def printed(text):
    """The outputs as floats, and the other numbers by their words."""
    outputs, others = [], {}
    for line in text.splitlines():
        word, _, number = line.partition(" ")
        if word == "output":
            outputs.append(struct.unpack("<f", struct.pack("<I", int(number, 16)))[0])
        elif number:
            others[word] = int(number, 16)
    return outputs, others


def largest_difference(found, expected):
    """NaN or another number of outputs differs infinitely."""
    if not expected or len(found) != len(expected):
        return float("inf")
    differences = [abs(a - b) for a, b in zip(found, expected)]
    return max(differences) if all(each == each for each in differences) else float("inf")


def definitions(network):
    """What makes main.cpp a program of the network."""
    model, _, arithmetic = network.partition(", ")
    return [f"-DMODEL={model}", *(["-DINT8"] if arithmetic else [])]


def file_name(network):
    return network.replace(", ", "_")


def on_host(network, folder):
    """The outputs of this machine's program; exits if something is wrong with it."""
    program, assembled = folder / file_name(network), folder / f"{file_name(network)}.o"
    compiler = "g++" if shutil.which("g++") else "clang++-19"
    problem = compiled([compiler, *COMMON, *definitions(network), "-c"], assembled) or compiled([compiler, assembled], program)
    if problem:
        sys.exit(f"{network}: {problem}")
    if found := FORBIDDEN.findall(run(["nm", assembled], check=True).stdout):
        sys.exit(f"{network}: the program uses {found}")
    return printed(run([program], check=True).stdout)[0]


def on_board(network, board, folder, expected):
    """The row of the table, and what is wrong."""
    name, options, machine, instructions = board
    program = folder / f"{file_name(network)}_{machine}"
    if problem := compiled(["arm-none-eabi-g++", *options, *COMMON, *definitions(network), *BARE], program):
        return "", problem
    if found := FORBIDDEN.findall(run(["arm-none-eabi-nm", program], check=True).stdout):
        return "", f"the program uses {found}"
    ran = run(["qemu-system-arm", "-M", machine, "-nographic", "-icount", "shift=0", "-semihosting", "-kernel", program], stdin=subprocess.DEVNULL)
    outputs, numbers = printed(ran.stderr + ran.stdout)
    difference = largest_difference(outputs, expected)
    if ran.returncode != 0 or not difference <= TOLERANCE:
        return "", f"ends with {ran.returncode}, {difference} from this machine's numbers:\n{ran.stderr[-1000:]}"
    if numbers["stack"] > numbers["bound"]:
        return "", f"takes {numbers['stack']} bytes of the stack, more than {numbers['bound']}"
    text, data, _ = map(int, run(["arm-none-eabi-size", program], check=True).stdout.splitlines()[1].split()[:3])
    flash, memory = text + data, numbers["static"] + numbers["stack"]
    if network.startswith("perceptron") and (flash > MOST_FLASH or memory > MOST_MEMORY):
        return "", f"takes {flash} bytes of flash and {memory} of memory"
    return (f"| {network} | {name} | {flash:,} | {numbers['weights']:,} | {memory:,} | {numbers['stack']:,} | "
            f"{round(numbers['ticks'] * instructions, -2):,.0f} | {difference:.0e} |"), ""


def can_do_riscv():
    return LIBRARY.exists() and PICOLIBC.exists() and all(map(shutil.which, ("clang++-19", "riscv64-unknown-elf-gcc", "qemu-system-riscv32")))


def on_riscv(network, folder, expected):
    """The row of the table, and what is wrong. Its memory is that of variables: nothing paints the stack."""
    program, assembled = folder / f"{file_name(network)}_riscv32", folder / f"{file_name(network)}_riscv32.o"
    # What is configured for WebAssembly's system, of which picolibc has neither musl's types nor locales.
    lines = [line for line in (LIBRARY / "__config_site").read_text(encoding="utf-8").splitlines() if "MUSL" not in line]
    (folder / "library").mkdir(exist_ok=True)
    (folder / "library/__config_site").write_text("\n".join(["#define _LIBCPP_HAS_NO_LOCALIZATION", "#define _LIBCPP_HAS_NO_WIDE_CHARACTERS", *lines, ""]), encoding="utf-8")
    command = ["clang++-19", "--target=riscv32-unknown-elf", *CORE, *COMMON, *definitions(network), "-fno-threadsafe-statics", "-ffunction-sections", "-fdata-sections",
               "-nostdinc++", "-isystem", folder / "library", "-isystem", LIBRARY, "-isystem", PICOLIBC, "-c"]
    places = ",".join(f"--defsym=__{name}={address:#x}" for name, address in PLACES.items())
    linked = ["riscv64-unknown-elf-gcc", *CORE, "--specs=picolibc.specs", "--oslib=semihost", "--crt0=semihost", assembled, f"-Wl,--gc-sections,{places}"]
    if problem := compiled(command, assembled) or compiled(linked, program):
        return "", problem
    if found := FORBIDDEN.findall(run(["riscv64-unknown-elf-nm", assembled], check=True).stdout):
        return "", f"the program uses {found}"
    ran = run(["qemu-system-riscv32", "-M", "virt", "-bios", "none", "-nographic", "-icount", "shift=0", "-semihosting-config", "enable=on,target=native", "-kernel", program],
              stdin=subprocess.DEVNULL)
    outputs, numbers = printed(ran.stderr + ran.stdout)
    difference = largest_difference(outputs, expected)
    if ran.returncode != 0 or not difference <= TOLERANCE:
        return "", f"ends with {ran.returncode}, {difference} from this machine's numbers:\n{ran.stderr[-1000:]}"
    text, data, variables = map(int, run(["riscv64-unknown-elf-size", program], check=True).stdout.splitlines()[1].split()[:3])
    return (f"| {network} | {RISCV} | {text + data:,} | {numbers['weights']:,} | {data + variables - PLACES['stack_size']:,} | | "
            f"{round(numbers['instructions'], -2):,.0f} | {difference:.0e} |"), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.host and not all(map(shutil.which, ("arm-none-eabi-g++", "qemu-system-arm"))):
        print("arm-none-eabi-g++ or qemu-system-arm is not here", file=sys.stderr)
        return 77
    failed, rows = False, []
    if not options.host:
        print("| network | processor | flash | of it weights | memory | of it stack | instructions | largest difference |\n|---|---|---|---|---|---|---|---|")
    for network in NETWORKS[:2] if options.host else NETWORKS:
        expected = on_host(network, options.folder)
        for board in () if options.host else (*BOARDS, (RISCV,)) if can_do_riscv() else BOARDS:
            row, problem = on_riscv(network, options.folder, expected) if board[0] == RISCV else on_board(network, board, options.folder, expected)
            if problem:
                failed = True
                print(f"{network} on {board[0]}: {problem}", file=sys.stderr)
            else:
                rows.append(row)
                print(row, flush=True)
    if options.write:
        options.write.write_text(platforms.with_rows(options.write.read_text(encoding="utf-8"), rows, "| network | processor |", 2), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
