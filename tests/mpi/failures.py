#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs ranks that do not do the same, and checks that all end in time, with a text that names the rank and the reason.

    python3 failures.py <mpirun> <option for the number of processes> <the program failures>
"""
import re
import subprocess
import sys
import time

# What happens, the number of ranks, and what one line of the output says; None: all is well.
CASES = (
    ("nothing", 2, None),
    ("nothing", 4, None),
    ("nothing", 3, r"a cluster of ranks\{4\}: expected a divisor of 4 processes, found 3 \[E4169\]"),
    ("single", 2, r"caught: .+ expected MPI with MPI_THREAD_FUNNELED .+, found level 0 and that thread \[E4170\]"),
    ("thread", 2, r"caught: .+ expected MPI with MPI_THREAD_FUNNELED .+, found level 1 and another one \[E4170\]"),
    ("finalized", 2, r"caught: a cluster's trainer: expected MPI to run, found it finalized \[E4170\]"),
    ("callback", 2, r"stagecraft: rank 0 of 2 \(.+\): the disk is full$"),
    ("data", 4, r"stagecraft: rank 3 of 4 \(.+\): x: expected samples of shape \(4,\), found \(5,\) \[E4001\]"),
    ("shorter", 2, r"rank 1 \(.+\): expected steps 0 to 0 of 8 in fit, with 32 batches of 2 samples as rank 0 does, "
                   r"found steps 0 to 0 of 6 in fit, with 24 batches of 2 samples \[E4167\]"),
    ("scattered", 2, r"rank 1 \(.+\): expected steps 0 to 0 of 8 in fit, with 32 batches of 2 samples, scattered are x\[0\] as "
                     r"rank 0 does, found steps 0 to 0 of 8 in fit, with 32 batches of 2 samples \[E4167\]"),
    ("ends", 2, r"stagecraft: rank 1 of 2 \(.+\): dataset: .*\[E4"),
    ("fewer", 4, r"rank 3 \(.+\): expected the end of epoch 1 of 3 as rank 0 does, found the end of epoch 1 of 2 "
                 r"\[E4167\]"),
    ("evaluates", 2, r"rank 1 \(.+\): expected the begin of fit as rank 0 does, found steps 0 to 0 of 8 in evaluate"),
    ("other", 2, r"rank 1 \(.+\): expected the begin of fit as rank 0 does, found the construction of a trainer "
                 r"\[E4167\]"),
    ("model", 2, r"rank 1 \(.+\): expected the program of rank 0, found another model \[E4171\]"),
    ("leaves", 2, r"rank 1 \(.+\): expected it to go on as rank 0 \(.+\) does, found that it has ended \[E4167\]"),
    ("late", 2, r"stagecraft: rank 0 of 2 \(.+\): rank 1 \(.+\): expected a message within 1 seconds, found none "
                r"\[E4168\]"),
    ("third_late", 4, r"stagecraft: rank [013] of 4 \(.+\): rank 2 \(.+\): expected a message within 1 seconds, found none "
                      r"\[E4168\]"),
    ("killed", 2, None),
)
MOST_SECONDS = 30


def main(mpirun, option, program):
    failed = 0
    for what, ranks, expected in CASES:
        begin = time.monotonic()
        try:
            run = subprocess.run([mpirun, option, str(ranks), program, what], capture_output=True, text=True,
                                 timeout=MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            print(f"{what} on {ranks} ranks: still runs after {MOST_SECONDS} seconds")
            failed += 1
            continue
        text = run.stdout + run.stderr
        is_well = what == "nothing" and expected is None
        problems = []
        if (run.returncode == 0) != is_well:
            problems.append(f"ended with code {run.returncode}")
        if expected is not None and not re.search(expected, text, re.MULTILINE):
            problems.append(f"expected a line with '{expected}'")
        said = [line for line in text.splitlines() if line.startswith("stagecraft: rank")]
        if what != "killed" and len(said) > (0 if is_well else 1):
            problems.append("expected one message")
        print(f"{what} on {ranks} ranks: {'; '.join(problems) or 'as expected'}, {time.monotonic() - begin:.1f} s")
        if problems:
            print(text)
            failed += 1
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
