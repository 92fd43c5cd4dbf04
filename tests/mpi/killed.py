#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks of a training at random instants, and checks that all others end in time, that one line of the output names
the rank, and that the training goes on from its backup, on any number of ranks, to the bits of an uninterrupted one.

    python3 killed.py <mpirun> <option for the number of processes> <the program killed> <kills> [<seed>]

A rank is killed, which mpirun sees, or stopped, as if its host were gone, which only the other ranks see.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

EPOCHS = 40
LIMIT = 3  # seconds, of the program
MOST_SECONDS = 1.25 * LIMIT + 2 + 15  # a busy machine takes some seconds to end processes
WEIGHTS = re.compile(r"^from epoch (\d+): weights (\w+)$", re.M)


class Run:
    """A training of some ranks in a folder."""

    def __init__(self, mpirun, option, program, ranks, folder):
        self.ranks = ranks
        self.folder = pathlib.Path(folder)
        for old in self.folder.glob("process_*"):
            old.unlink()
        self.output = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen([mpirun, option, str(ranks), program, folder, str(EPOCHS)], stdout=self.output,
                                        stderr=subprocess.STDOUT, text=True)

    def processes(self):
        """The numbers of its processes, as soon as all have written theirs."""
        places = [self.folder / f"process_{rank}" for rank in range(self.ranks)]
        end = time.monotonic() + 60
        while not all(place.exists() for place in places):
            if self.process.poll() is not None or time.monotonic() > end:
                return None
            time.sleep(0.002)
        return [int(place.read_text()) for place in places]

    def end(self, seconds):
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = None
        self.output.seek(0)
        return code, self.output.read()


def is_running(process):
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def others(processes, rank):
    return [process for number, process in enumerate(processes) if number != rank]


def names_rank(text, rank, kind):
    """Whether one line says which rank it was, its host and the reason: mpirun's, or of the ranks. Once all ranks have
    said that they are at their end, the others wait for MPI's: the first rank cannot know which one it misses then."""
    said = [line for line in text.splitlines() if line.startswith("stagecraft: rank")]
    if kind == signal.SIGKILL:
        # Where mpirun took longer than the limit, a rank has said it, too.
        return (len(re.findall(rf"process rank {rank} .*signal 9", text)) == 1 and len(said) <= 1 and
                all(f": rank {rank} (" in line for line in said))
    if len(said) != 1 or not re.search(r"stagecraft: rank \d of \d \(.+\): ", said[0]) or "[E4168]" not in said[0]:
        return False
    return bool(re.search(rf": rank {rank} \(.+\): expected (a message|the end of MPI) within", said[0]) or
                ": another rank: expected the end of MPI within" in said[0])


def main(mpirun, option, program, kills, seed="36"):
    rng = random.Random(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        whole = Run(mpirun, option, program, 1, folder)
        code, text = whole.end(120)
        if code != 0 or not WEIGHTS.search(text):
            sys.exit(f"an uninterrupted training ended with code {code}:\n{text}")
        expected = WEIGHTS.search(text).group(2)
        seconds = time.monotonic() - begin
        failed = killed = 0
        longest = 0.0
        for _ in range(20 * int(kills) + 20):
            if killed == int(kills):
                break
            ranks = rng.choice((2, 4))
            run = Run(mpirun, option, program, ranks, folder)
            processes = run.processes()
            rank, kind = rng.randrange(ranks), signal.SIGSTOP if rng.random() < 0.25 else signal.SIGKILL
            time.sleep(rng.random() * seconds)
            problems = []
            hit = processes is not None and run.process.poll() is None
            if hit:
                try:
                    os.kill(processes[rank], kind)
                except ProcessLookupError:
                    hit = False
            begin = time.monotonic()
            code, text = run.end(MOST_SECONDS)
            took = time.monotonic() - begin
            found = WEIGHTS.search(text)
            if code == 0:  # it was at its end already
                if found is None or found.group(2) != expected:
                    problems.append(f"expected weights {expected}")
                print(f"{ranks} ranks ended before the kill: {'; '.join(problems) or 'as expected'}")
            else:
                killed += 1
                longest = max(longest, took)
                stopped_at_end = kind == signal.SIGSTOP and found is not None and found.group(2) == expected
                if code is None and stopped_at_end and not any(map(is_running, others(processes, rank))):
                    if is_running(processes[rank]):
                        os.kill(processes[rank], signal.SIGKILL)  # only mpirun waits for it
                elif code is None:
                    problems.append(f"still ran after {MOST_SECONDS} seconds")
                if not hit:
                    problems.append(f"ended with code {code} by itself")
                elif code is None and not problems:
                    pass  # MPI had ended everywhere: nothing waits for that process but mpirun
                elif not names_rank(text, rank, kind):
                    problems.append(f"expected one line that names rank {rank}")
                # A signal of mpirun's reaches a stopped process late where many others run.
                gone = time.monotonic() + 2
                while time.monotonic() < gone and any(is_running(process) for process in processes or []):
                    time.sleep(0.1)
                if any(is_running(process) for process in processes or []):
                    problems.append("a rank still runs")
                print(f"rank {rank} of {ranks} by {kind.name}: {'; '.join(problems) or 'as expected'}, {took:.1f} s")
            if problems:
                failed += 1
                print(text)
        last = Run(mpirun, option, program, rng.choice((1, 2, 4)), folder)
        code, text = last.end(120)
        found = WEIGHTS.search(text)
        if code != 0 or found is None or found.group(2) != expected:
            failed += 1
            print(f"the last run ended with code {code}, expected weights {expected}:\n{text}")
        print(f"{killed} kills, the others ended within {longest:.1f} s; the last run began at epoch "
              f"{found.group(1) if found else '?'}; {failed} failed")
        return failed != 0 or killed < int(kills)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
