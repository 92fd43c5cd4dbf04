#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft launch`: the command lines for Open MPI and MPICH, what is refused, and runs on this host and on two others,
which are this one behind a program in place of ssh.

    launch.py <the program stagecraft> <mpirun>...
"""
import atexit
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

TOOL, *LAUNCHERS = sys.argv[1:]
scratch = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, scratch, True)
failures = []
count = 0


def program(name, text):
    path = scratch / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def hosts(text):
    path = scratch / "hosts.txt"
    path.write_bytes(text.encode())
    return str(path)


def check(what, arguments, code, *expected, environment=None):
    """Runs `stagecraft launch`, and looks for texts in its output."""
    global count
    count += 1
    run = subprocess.run([TOOL, "launch", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=scratch,
                         env={**os.environ, **(environment or {})}, check=False)
    text = run.stdout + run.stderr
    if run.returncode != code or any(each not in text for each in expected):
        failures.append(f"{what}: expected code {code} and {expected}, found code {run.returncode} and:\n{text}")
    return text


os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"):
    os.environ.pop(name, None)
say = program("say", 'echo "rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}: $# $1 $2 $3 $VARIABLE"; exit ${CODE:-0}\n')
# Stand for the launchers where command lines alone count.
open_mpi = program("open_mpi", 'echo "mpirun (Open MPI) 4.1.4"\n')
mpich = program("mpich", 'printf "HYDRA build details:\\n    Version: 4.0.2\\n"\n')
several = hosts("# racks\nalpha:4\n\n  beta.rack-2 slots=8  # the new one\r\n10.0.0.7\n")

# Command lines.
line = ["-n", 6, "./say", "--hosts", several, "--dry-run"]
path = scratch / "say"
check("Open MPI", [*line, "--mpirun", open_mpi], 0,
      f"{open_mpi} -n 6 --host alpha:4,beta.rack-2:8,10.0.0.7:1 --map-by slot:PE=1 --bind-to core {path}\n")
check("MPICH", [*line, "--mpirun", mpich], 0,
      f"{mpich} -n 6 -hosts alpha:4,beta.rack-2:8,10.0.0.7:1 -bind-to core:1 {path}\n")
more = [*line, "--threads", 3, "--bind", "hwthread", "--env", "VARIABLE=a b", "--env", "HOME", "--flag=--verbose"]
check("Open MPI's options", [*more, "--mpirun", open_mpi, "--", "--epochs", "3", "it's"], 0,
      "--use-hwthread-cpus --map-by slot:PE=3 --bind-to hwthread -x 'VARIABLE=a b' -x HOME --verbose "
      f"{path} --epochs 3 'it'\\''s'\n")
check("MPICH's options", [*more, "--mpirun", mpich, "--", "-n", "5", ""], 0,
      f"-bind-to hwthread:3 -genv VARIABLE 'a b' --verbose {path} -n 5 ''\n")
check("words in brackets", [*line, "--mpirun", open_mpi, "--", "[1,2,3]", "[]"], 0, f"{path} '[1,2,3]' '[]'\n")
check("words in brackets without --", [*line, "--mpirun", open_mpi, "data", "[1,2]"], 0, f"{path} data '[1,2]'\n")
check("NUMA", [*line, "--mpirun", open_mpi, "--bind", "numa"], 0, "--map-by slot --bind-to numa")
check("more ranks than slots", ["-n", 14, *line[2:], "--mpirun", open_mpi, "--oversubscribe"], 0,
      "--map-by slot --bind-to none --oversubscribe")
check("a resource manager's hosts", ["-n", 4000, "./say", "--mpirun", open_mpi, "--dry-run"], 0,
      f"{open_mpi} -n 4000 --map-by", environment={"SLURM_JOB_ID": "1"})

# What is refused.
check("too many ranks", ["-n", 14, *line[2:], "--mpirun", open_mpi], 1, "expected slots for 14 ranks, found 13", "[E2127]")
check("too many ranks here", ["-n", 4096, "./say", "--mpirun", open_mpi], 1, "this host: expected slots for 4096 ranks", "[E2127]")
check("no launcher", ["-n", 1, "./say", "--mpirun", "no-such-mpirun"], 1, "cannot be started", "[E2124]")
check("another launcher", ["-n", 1, "./say", "--mpirun", "echo"], 1, "whose --version says 'echo", "[E2124]")
check("no program", ["-n", 1, "./nothing"], 1, "./nothing: expected a program, found no such file [E2126]")
check("no program in PATH", ["-n", 1, "say"], 1, "a program of this folder is ./say [E2126]")
check("a file", ["-n", 1, several], 1, "found a file that may not be executed [E2126]")
check("a second program", ["-n", 1, "./say", "--", "1", ":", "rm"], 1, "found ':'", "[E2126]")
check("no variable", ["-n", 1, "./say", "--env", "NOT_THERE", "--mpirun", open_mpi], 1, "'NOT_THERE' [E2129]")
check("a variable's name", ["-n", 1, "./say", "--env", "A-B=1", "--mpirun", open_mpi], 1, "'A-B=1' [E2129]")
check("no file", ["-n", 1, "./say", "--hosts", "nothing.txt"], 1, "[E5001]")
check("no ranks", ["./say"], 2, "--ranks is required")
check("two answers", ["-n", 1, "./say", "--bind", "core", "--oversubscribe"], 2, "excludes")
for text, found in (("a\nb:0\n", ":2: expected NAME, NAME:SLOTS or NAME slots=SLOTS, found '0' slots"),
                    ("a\n\n-oProxyCommand=touch${IFS}x\n", ":3: expected"), ("$(touch x)\n", ":1: expected"),
                    ("a;touch x\n", ":1: expected"), ("`touch`\n", "the name '`touch`'"), ("a,b:3\n", "the name 'a,b'"),
                    ("a slots=2 max_slots=3\n", "found 'max_slots=3'"), ("a:99999999999\n", "'99999999999' slots"),
                    ("a:1\n#\na:2\n", ":3: expected NAME, NAME:SLOTS or NAME slots=SLOTS, found 'a' again, as in line 1"),
                    ("\n# nobody\n", "expected a host in a line, found none"), ("a\0b\n", ":1: expected")):
    check(repr(text), ["-n", 1, "./say", "--hosts", hosts(text), "--mpirun", open_mpi], 1, found, "[E2125]")
if (scratch / "x").exists():
    failures.append("a name of a host was carried out")

# Runs. What stands in place of ssh says which host it is to what it starts, where sha256sum asks for it. Open MPI, called
# by a path, puts that folder in front of PATH; and its daemons of one host must not share a folder for files.
ssh = program("ssh", f'while [ "${{1#-}}" != "$1" ]; do shift; done\nON_HOST="$1"; '
                     f'TMPDIR="$(mktemp -d {scratch}/tmp.XXXXXX)"; export ON_HOST TMPDIR; shift\n'
                     'exec sh -c "$*"\n')
answer = scratch / "answer"
program("bin/sha256sum", f"""if [ -e {answer} ] && tr '\\0' '\\n' < /proc/$PPID/environ | grep -qx ON_HOST=beta; then . {answer}; fi
PATH=${{PATH#*:}} exec sha256sum "$@"
""")
os.environ["PATH"] = f"{scratch}/bin:{os.environ['PATH']}"
for launcher in LAUNCHERS:
    mpirun = os.path.basename(launcher)
    os.environ["PATH"] += f":{os.path.dirname(launcher)}"
    is_open_mpi = "HYDRA" not in subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    here = ["-n", 2, "--mpirun", mpirun, "--oversubscribe", "./say"]
    text = check(f"{mpirun} on this host", [*here, "--env", "VARIABLE=of all", "--", "--a", "b c", "--"], 0)
    if sorted(re.findall("rank.*", text)) != ["rank 0: 3 --a b c -- of all", "rank 1: 3 --a b c -- of all"]:
        failures.append(f"{mpirun}: found {text}")
    check(f"{mpirun}: the program's code", [*here, "--env", "CODE=7"], 7)
    flags = ["--mca", "plm_rsh_agent", ssh] if is_open_mpi else ["-launcher-exec", ssh]
    there = [*here, "--hosts", hosts("alpha\nbeta\n"), *(f"--flag={each}" for each in flags)]
    answer.unlink(missing_ok=True)
    check(f"{mpirun} on two hosts", there, 0, "rank 0: 0", "rank 1: 0")
    tagged = "--tag-output" if is_open_mpi else "-prepend-rank"
    check(f"{mpirun}: lines with their ranks", [*there, f"--flag={tagged}"], 0, "rank 1: 0")
    answer.write_text(f'echo "{"ab" * 32}  $1"; exit 0\n')
    text = check(f"{mpirun}: another build", there, 1, "host beta: expected the build of", "found another one (sha256 abababababababab) [E2128]")
    if "rank" in text:
        failures.append(f"{mpirun}: ranks have run: {text}")
    check(f"{mpirun}: not compared", [*there, "--no-check"], 0, "rank 1: 0")
    answer.write_text('echo "sha256sum: $1: No such file or directory" >&2; exit 1\n')
    check(f"{mpirun}: no program there", there, 1, "host beta: expected the build of", "No such file or directory", "[E2128]")

print(f"{count} launches with {len(LAUNCHERS)} launchers, {len(failures)} failures")
for each in failures:
    print(each)
sys.exit(1 if failures else 0)
