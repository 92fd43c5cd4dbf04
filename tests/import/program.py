# SPDX-License-Identifier: BSD-3-Clause
"""What the checks of this folder share: the program stagecraft, which is their first argument, and what was found wrong."""
import pathlib
import subprocess
import sys

TOOL = pathlib.Path(sys.argv[1])
failures = []


def run(*arguments):
    """The exit code, and all that was printed."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def check(holds, text):
    if not holds:
        failures.append(text)


def end():
    for each in failures:
        print(each)
    sys.exit(1 if failures else 0)
