#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What each test file costs to compile and each test to run, from the logs of ninja and ctest.

    tools/test_cost.py                           of the builds of .ci/run: build/test, test_clang, asan and tsan
    tools/test_cost.py build/test                of one build folder
    tools/test_cost.py --budget 60               fails if all of it is more than 60 minutes of processor time
    tools/test_cost.py --update                  writes tests/cost/cost.txt, the table that others are compared with

A line that costs a quarter more than in the table, and at least a second, is named, and the tool ends with 1. Machines
differ: what all lines have become slower or faster by, in the middle, does not count. Times are of the wall's clock while
two jobs run on two quiet cores, so their sum is processor time. What came from a compiler's cache is not measured: set
CCACHE_RECACHE=1 for the build.
"""
import argparse
import collections
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "cost" / "cost.txt"
BUILDS = [ROOT / "build" / name for name in ("test", "test_clang", "asan", "tsan")]
GROWTH = 1.25  # more than a quarter
LEAST_SECONDS = 1.0  # less is noise
CACHED = 0.2  # of the time in the table: an object from a cache


def compile_costs(log):
    """Seconds by what ninja's log names; of an output's lines the last one counts. Linking is one sum."""
    times = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            times[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    costs = collections.Counter()
    for output, seconds in times.items():
        is_compiled = output.endswith((".o", ".gch", ".pch"))
        costs["compile " + object_name(output) if is_compiled else "link"] += seconds
    return dict(costs)


def object_name(output):
    """tests/CMakeFiles/laws_tests.dir/laws/dense_test.cpp.o is of tests/laws/dense_test.cpp."""
    found = re.fullmatch(r"(.*?)(?:^|/)?CMakeFiles/([^/]+)\.dir/(.*?)(?:\.o)?", output)
    if not found:
        return output
    folder, target, source = found.groups()
    if source.startswith("cmake_pch"):
        return f"{folder}/{target}, all headers"
    return "/".join(part for part in (folder, source) if part)


def run_costs(log):
    """Seconds by test of ctest's LastTest.log."""
    costs, name = {}, None
    for line in log.splitlines():
        if found := re.match(r"\d+/\d+ Test: (\S+)", line):
            name = found.group(1)
        elif (found := re.match(r"Test time = +([\d.]+) sec", line)) and name:
            costs["run " + name] = float(found.group(1))
    return costs


def costs_of(build):
    """Everything that a build folder's logs tell, by '<build>: <compile or run> <what>'."""
    costs = {}
    for path, read in ((build / ".ninja_log", compile_costs),
                       (build / "Testing" / "Temporary" / "LastTest.log", run_costs)):
        if path.exists():
            costs.update({f"{build.name}: {name}": seconds
                          for name, seconds in read(path.read_text(encoding="utf-8", errors="replace")).items()})
    return costs


def read_table(text):
    return {line.split(maxsplit=1)[1]: float(line.split(maxsplit=1)[0]) for line in text.splitlines() if line.strip()}


def write_table(costs):
    return "".join(f"{seconds:7.1f} {name}\n" for name, seconds in sorted(costs.items()) if seconds >= LEAST_SECONDS)


def compare(costs, table):
    """How many times as slow as the table's this machine is, and the lines that grew, as (name, seconds, expected)."""
    ratios = [costs[name] / seconds for name, seconds in table.items()
              if name in costs and costs[name] > CACHED * seconds]
    if not ratios:
        return 1.0, []
    speed = statistics.median(ratios)
    grown = []
    for name, seconds in costs.items():
        expected = speed * table.get(name, 0.0)
        if name in table and seconds > GROWTH * expected and seconds > expected + LEAST_SECONDS:
            grown.append((name, seconds, expected))
    return speed, sorted(grown, key=lambda line: line[2] - line[1])


def print_sums(costs):
    def group(name):
        build, kind, what = name.split(" ", 2) if name.count(" ") > 1 else (*name.split(" ", 1), "")
        what = what.removeprefix("tests/")
        return f"{build} {kind} {re.split(r'[/.,]', what)[0]}"

    sums = collections.Counter()
    for name, seconds in costs.items():
        sums[group(name)] += seconds
    for name, seconds in sums.most_common(25):
        print(f"{seconds:8.0f} s  {name}")
    print("the most expensive:")
    for name, seconds in sorted(costs.items(), key=lambda line: -line[1])[:25]:
        print(f"{seconds:8.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", type=pathlib.Path, default=BUILDS)
    parser.add_argument("--budget", type=float, metavar="MINUTES")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    costs = {}
    for build in options.builds:
        costs.update(costs_of(build.resolve()))
    if not costs:
        sys.exit("test_cost: no logs of ninja and ctest in " + ", ".join(map(str, options.builds)))
    print_sums(costs)
    minutes = sum(costs.values()) / 60
    print(f"{minutes:.1f} minutes in all")
    failed = False
    if options.budget is not None and minutes > options.budget:
        print(f"that is more than the budget of {options.budget:g}")
        failed = True
    if options.update:
        TABLE.write_text(write_table(costs), encoding="utf-8")
        return 1 if failed else 0
    table = read_table(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    cached = [name for name, seconds in table.items() if name in costs and costs[name] <= CACHED * seconds]
    if cached:
        print(f"{len(cached)} lines took less than a fifth of the table's time, as if from a cache")
    speed, grown = compare(costs, table)
    if table:
        print(f"this machine takes {speed:.2f} times as long as the table's")
    for name, seconds, expected in grown:
        print(f"{name}: {seconds:.1f} s; {expected:.1f} s was to be expected")
    return 1 if failed or grown else 0


if __name__ == "__main__":
    sys.exit(main())
