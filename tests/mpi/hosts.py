#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with one rank on each of three hosts, which are network namespaces joined by a bridge: messages go through
TCP, and each host has a name of its own. Then one host's link is cut while ranks train: the others end in time, with a
line that names the rank on it. Where namespaces may not be made, it says so, and ends with code 77.

    python3 hosts.py <mpirun of Open MPI> <the program mpi_tests> <the program killed>
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HOSTS = 3
SKIPPED = 77


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


class Hosts:
    """Network namespaces on one bridge."""

    def __init__(self):
        self.number = os.getpid() % 100000
        self.net = f"10.{64 + os.getpid() % 128}.{os.getpid() // 128 % 256}"
        self.bridge = f"scb{self.number}"
        self.names = [f"sch{self.number}x{i}" for i in range(HOSTS)]

    def __enter__(self):
        try:
            ip("link", "add", self.bridge, "type", "bridge")
            ip("addr", "add", f"{self.net}.254/24", "dev", self.bridge)
            ip("link", "set", self.bridge, "up")
            for i, name in enumerate(self.names):
                ip("netns", "add", name)
                ip("link", "add", self.cable(i), "type", "veth", "peer", "name", "e0", "netns", name)
                ip("link", "set", self.cable(i), "master", self.bridge, "up")
                ip("-n", name, "addr", "add", f"{self.net}.{i + 1}/24", "dev", "e0")
                ip("-n", name, "link", "set", "e0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as problem:
            self.__exit__()
            print(f"this machine may not make network namespaces: {getattr(problem, 'stderr', problem)}")
            sys.exit(SKIPPED)
        return self

    def __exit__(self, *_):
        for name in self.names:
            ip("netns", "del", name, check=False)
        ip("link", "del", self.bridge, check=False)

    def cable(self, host):
        return f"scv{self.number}x{host}"

    def command(self, mpirun, count, program, *arguments):
        hosts = ",".join(f"{self.net}.{i + 1}:1" for i in range(count))
        return [mpirun, "--bind-to", "none", "-n", str(count), "--host", hosts, "--mca", "plm_rsh_agent",
                f"{sys.executable} {pathlib.Path(__file__).resolve()} --agent {self.number}",
                "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", f"{self.net}.0/24",
                "--mca", "oob_tcp_if_include", f"{self.net}.0/24", "--mca", "routed", "direct", program, *arguments]


def agent(number, words):
    """In place of ssh: carries out a command on a host, under its name."""
    while words[0].startswith("-"):
        words = words[1:]
    name = f"sch{number}x{int(words[0].rsplit('.', 1)[1]) - 1}"
    os.execvp("ip", ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c",
                     f'hostname {name}; exec sh -c "$0"', " ".join(words[1:])])


def cut(hosts, mpirun, program):
    """Cuts the second of two hosts off while ranks train; returns what was wrong."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile(mode="w+") as output:
        run = subprocess.Popen(hosts.command(mpirun, 2, program, folder, "100000"), stdout=output,
                               stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while not list(pathlib.Path(folder).glob("backup*")) and time.monotonic() < end:
            time.sleep(0.05)
        ip("link", "set", hosts.cable(1), "down")
        begin = time.monotonic()
        said = []
        while time.monotonic() < begin + 40 and not said:
            time.sleep(0.2)
            output.seek(0)
            said = [line for line in output.read().splitlines() if line.startswith("stagecraft: rank")]
        took = time.monotonic() - begin
        try:
            run.wait(timeout=20)
        except subprocess.TimeoutExpired:
            run.kill()
        output.seek(0)
        text = output.read()
        print(f"a host was cut off: said after {took:.1f} s: {said}")
        if not said or not re.search(rf": rank 1 \({hosts.names[1]}\): expected a message", said[0]):
            return f"expected a line that names rank 1 and its host, found:\n{text}"
    return None


def main(mpirun, tests, killed):
    with Hosts() as hosts:
        begin = time.monotonic()
        run = subprocess.run(hosts.command(mpirun, HOSTS, tests, "--test-case=*stages*,*random*", "--test-case-exclude=twelve*"),
                             capture_output=True, text=True, timeout=600, check=False)
        print(f"{HOSTS} hosts: code {run.returncode} after {time.monotonic() - begin:.1f} s")
        if run.returncode != 0 or "SUCCESS!" not in run.stdout + run.stderr:
            print(run.stdout + run.stderr)
            return 1
        problem = cut(hosts, mpirun, killed)
        if problem:
            print(problem)
            return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--agent":
        agent(sys.argv[2], sys.argv[3:])
    sys.exit(main(*sys.argv[1:]))
