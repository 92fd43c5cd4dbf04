# SPDX-License-Identifier: BSD-3-Clause
"""What the compiler made of a program, read with objdump and nm (Debian package binutils).

    python3 instructions.py fused OBJECT
        The products in OBJECT's fused_kernel are fused with the additions.
    python3 instructions.py oldest OBJECT
        The check of the processor, which OBJECT has a copy of, runs on every processor.
    python3 instructions.py separate PROGRAM OLDER NEWER
        What the objects OLDER and NEWER both define, PROGRAM has from OLDER; nothing that computes is defined by both.
"""
import re
import subprocess
import sys

# Beyond the x86-64 of 2003: whatever AVX encodes, the moves and masks of AVX-512, and the scalar instructions of v2 and v3.
NEWER = re.compile(r"v[a-z]|k[a-z]+[bwdq]$|(popcnt|crc32|movbe|lzcnt|tzcnt|andn|bextr|bls\w+|bzhi|mulx|pdep|pext|rorx|"
                   r"sarx|shlx|shrx)[bwlq]?$")
# The rooms of what computes the steps; all of it carries the architecture in its name. First values are made once, before
# the steps, by functions without vectors.
COMPUTES = re.compile(r"stagecraft::(kernels::|cpu::layer_steps<|engine::session<|engine::pipeline_pass<|cpu::host_call<|trainer<)")
FIRST_VALUES = re.compile(r"^(void |float |double )?stagecraft::kernels::"
                          r"(initialize|random_|compute_fans|detail::(fill_|scaled_variance|dot))")
CHECKS = re.compile(r"stagecraft::kernels::detail::(\(anonymous namespace\)::)?(check_processor|require_processor|"
                    r"complain_about_processor|(?:allowed_|usable_)?instruction_sets|may_use_tiles|only|level_of|processor_)")


def output(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def functions(path):
    """The instructions of each function of a file, by mangled name."""
    found, now = {}, None
    for line in output("objdump", "-d", "--no-show-raw-insn", path).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            now = found.setdefault(match.group(1), [])
        elif (match := re.match(r"\s+[0-9a-f]+:\s+(\S.*)", line)) and now is not None:
            now.append(match.group(1))
    return found


def is_newer(instructions):
    return any(NEWER.match(line.split()[0]) for line in instructions)


def shared_names(older, newer):
    """Names that each of two objects defines, and that the linker therefore takes from one of them."""
    def weak(path):
        symbols = [line.split() for line in output("nm", "--defined-only", path).splitlines()]
        return {fields[2] for fields in symbols if len(fields) == 3 and fields[1] in "WVu"}
    return weak(older) & weak(newer)


def demangled(names):
    return dict(zip(names, output("c++filt", text="\n".join(names)).splitlines())) if names else {}


def separate(program, older, newer):
    of_newer, of_program = functions(newer), functions(program)
    shared = [name for name in sorted(shared_names(older, newer)) if name in of_newer]
    if len(shared) < 10 or not any(is_newer(of_newer[name]) for name in of_newer):
        return [f"{newer} does not look like what this test is about"]
    found = []
    for name, text in demangled([name for name in shared if is_newer(of_newer[name])]).items():
        if COMPUTES.search(text) and not FIRST_VALUES.match(text):
            found.append(f"both units define {text}, which does not carry the architecture in its name")
        if is_newer(of_program.get(name, [])):
            found.append(f"the program has the newer unit's {text}")
    return found


def oldest(path):
    found, checks = [], 0
    every = functions(path)
    for name, text in demangled(list(every)).items():
        if CHECKS.match(text):
            checks += 1
            found += [f"{path}: {text}: {line}" for line in every[name] if NEWER.match(line.split()[0])]
    return found if checks >= 3 else [f"{path} has only {checks} functions of the check"]


def fused(path):
    """One multiply-add per vector, and no product that is added in a second step."""
    kernels = [lines for name, lines in functions(path).items() if name == "fused_kernel"]
    if len(kernels) != 1:
        return [f"{path} has no function fused_kernel"]
    names = [line.split()[0] for line in kernels[0]]
    found = []
    if not any(re.match(r"vfmadd\d+ps$", name) for name in names):
        found.append("no vfmadd...ps")
    if not any(re.match(r"vfnmadd\d+ps$", name) for name in names):
        found.append("no vfnmadd...ps")
    for name in ("vmulps", "vaddps", "vsubps", "mulps", "addps", "subps", "call"):
        if name in names:
            found.append(f"{name}, which the fused operations leave nothing to do for")
    return [f"{path}: {text}" for text in found] + (["", *kernels[0]] if found else [])


if __name__ == "__main__":
    problems = {"fused": fused, "oldest": oldest, "separate": separate}[sys.argv[1]](*sys.argv[2:])
    print("\n".join(problems) if problems else "as expected")
    sys.exit(1 if problems else 0)
