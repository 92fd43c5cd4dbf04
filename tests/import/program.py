# SPDX-License-Identifier: BSD-3-Clause
"""What the checks of this folder share: the program stagecraft, which is their first argument, and what was found wrong."""
import os
import pathlib
import pty
import subprocess
import sys

TOOL = pathlib.Path(sys.argv[1])
failures = []


def run(*arguments):
    """The exit code, and all that was printed."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout + done.stderr


def run_on_terminal(*arguments):
    """The exit code, standard output, and what a terminal gets that is standard error."""
    terminal, of_program = pty.openpty()
    with subprocess.Popen([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=of_program, text=True) as process:
        os.close(of_program)
        said = process.stdout.read()
        shown = b""
        try:  # a terminal whose program has ended is an error in the place of an end
            while part := os.read(terminal, 1 << 16):
                shown += part
        except OSError:
            pass
    os.close(terminal)
    return process.returncode, said, shown.decode()


def check(holds, text):
    if not holds:
        failures.append(text)


def end():
    for each in failures:
        print(each)
    sys.exit(1 if failures else 0)
