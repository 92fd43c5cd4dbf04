# SPDX-License-Identifier: BSD-3-Clause
"""Prints the benchmarks' table from what Google Benchmark wrote, and writes it as table.json.

    table.py [--check] [--note TEXT] [--output table.json] results.json...

Figures are medians over the repetitions; a row's value is stagecraft's figure over that of the best peer in the same
run, rounded to two decimals, and is held against the budget in that form. With --check, the exit code is 1 if a row
misses its budget. table.json is an array of {row, value, unit, peer, budget, met, of_limit, limit}; budget and met are
null for a row without one. The limit is the larger of operations over the peak of multiply-adds and bytes over the
bandwidth of the cache that holds them, all measured in the same run; rows below LEAST_OF_LIMIT of it are printed.
"""
import argparse
import json
import pathlib
import re
import sys

from measurements import Measurements
from rows import LEAST_OF_LIMIT, LEAST_OF_PRODUCTS, NAMES, OWN, ROWS, Row, least_of_limit

LESS_IS_BETTER = {"time", "p99.9", "seconds", "MB", "allocations/step", "declarations", "expressions"}
UNITS = {"time": "time", "seconds": "time", "MB": "memory"}


def meets(value, budget):
    """Whether a value keeps `>= 1.15` or `<= 0.9`."""
    relation, number = budget.split()
    return value >= float(number) if relation == ">=" else value <= float(number)


def best_peer(row, programs):
    """The name of the fastest of the peers that were measured, or None."""
    names = [name for name in programs if (name in row.peers if row.peers else name not in OWN)]
    names = [name for name in names if row.counter in programs[name]]
    if not names:
        return None
    choose = min if row.counter in LESS_IS_BETTER else max
    return choose(names, key=lambda name: programs[name][row.counter])


def evaluate(row, group, programs):
    """One line of the table, or None if stagecraft or all peers are missing."""
    own = programs.get("stagecraft", {})
    if row.counter not in own:
        return None
    figure = own[row.counter]
    if row.against == "none":
        peer, value, unit, of_peer = "", figure, row.unit or row.counter, None
    else:
        name = row.against or best_peer(row, programs)
        of_peer = own.get(name) if row.against else name and programs[name][row.counter]
        if not of_peer:
            return None
        peer, value = NAMES.get(name, name), figure / of_peer
        unit = f"x the peer's {UNITS.get(row.counter, row.counter)}"
    value = round(value, 2)
    title = re.fullmatch(row.group, group).expand(row.title)
    return {"section": row.section, "group": group, "row": title, "value": value, "unit": unit, "peer": peer,
            "budget": row.budget or None, "met": meets(value, row.budget) if row.budget else None,
            "counter": row.counter, "figure": figure, "of_peer": of_peer,
            "of_limit": round(own["of_limit"], 2) if "of_limit" in own else None, "limit": own.get("limit")}


def default_rows(groups):
    """(group, counter) of what stagecraft has and no row names."""
    named = [re.compile(row.group) for row in ROWS]
    return [(group, counter) for group, programs in groups.items() if not any(p.fullmatch(group) for p in named)
            for counter in ("FLOP/s", "bytes/s", "samples/s") if counter in programs.get("stagecraft", {})]


def lines_of(measured):
    """All lines of the table, in the order of the rows."""
    lines = []
    for row in ROWS:
        for group, programs in measured.groups.items():
            if re.fullmatch(row.group, group):
                lines.append(evaluate(row, group, programs))
    for group, counter in default_rows(measured.groups):
        row = Row(f"Other kernels, one thread, {counter}", re.escape(group), group, counter)
        lines.append(evaluate(row, group, measured.groups[group]))
    return [line for line in lines if line]


def quantity(counter, figure):
    """A figure as people read it."""
    if figure is None:
        return ""
    if counter in ("time", "p99.9"):
        return f"{figure * 1e6:,.1f} us" if figure >= 1e-6 else f"{figure * 1e9:,.1f} ns"
    if counter == "seconds":
        return f"{figure:.2f} s"
    if counter in ("FLOP/s", "bytes/s"):
        return f"{figure / 1e9:.1f} G"
    return f"{figure:,.0f}"


def print_table(lines, out):
    section = None
    width = max((len(line["row"]) for line in lines), default=10)
    for line in lines:
        if line["section"] != section:
            section = line["section"]
            print(f"\n{section}\n{'':{width + 2}}{'stagecraft':>12} {'peer':>12}  {'':18} {'ratio':>6} {'budget':>8}  "
                  f"{'met':3}  of the limit", file=out)
        limit = f"{line['of_limit']:.0%} {line['limit']}" if line["of_limit"] and line["of_peer"] else ""
        met = {True: "yes", False: "no", None: ""}[line["met"]]
        ratio = f"{line['value']:.2f}" if line["of_peer"] else ""
        counter = line["counter"]
        figures = f"{quantity(counter, line['figure']):>12} {quantity(counter, line['of_peer']):>12}"
        verdict = f"{ratio:>6} {line['budget'] or '':>8}  {met:3}  {limit:>12}"
        text = f"  {line['row']:{width}}{figures}  {line['peer'][:18]:18} {verdict}"
        print(text.rstrip(), file=out)


def print_context(measured, note, lines, out):
    budgets = [line for line in lines if line["met"] is not None]
    missed = [line for line in budgets if not line["met"]]
    print(f"\n{note}" if note else "", file=out)
    if measured.fma_peak:
        print(f"FMA peak of one core, measured beside the benchmarks: {measured.fma_peak / 1e9:.0f} GFLOP/s", file=out)
    print(f"{len(budgets) - len(missed)} of {len(budgets)} budgets are met", file=out)
    for line in missed:
        print(f"  missed: {line['section'].split(',')[0]}: {line['row']}: {line['value']:.2f}, budget {line['budget']}",
              file=out)
    print_limits(measured, lines, out)


def print_limits(measured, lines, out):
    """The caches' bandwidths, and the rows that stay too far below the machine's limit."""
    read, others = measured.bandwidths["read"], [measured.bandwidths["copy"], measured.bandwidths["change"]]
    if read:
        levels = ", ".join(f"{where} {', '.join(f'{of[where] / 1e9:.0f}' for of in [read, *others] if where in of)}"
                           for where in read)
        print(f"GB/s that one core reads, copies and changes in place: {levels}", file=out)
    limited = {line["group"]: line for line in lines if line["of_limit"]}
    below = [line for line in limited.values() if line["of_limit"] < least_of_limit(line["section"])]
    print(f"{len(limited) - len(below)} of {len(limited)} rows reach {LEAST_OF_LIMIT:.0%} of the machine's limit, "
          f"or products {LEAST_OF_PRODUCTS:.0%}", file=out)
    for line in below:
        print(f"  below: {line['section'].split(',')[0]}: {line['row']}: {line['of_limit']:.0%} of {line['limit']}",
              file=out)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--output", type=pathlib.Path, help="where table.json goes")
    parser.add_argument("--note", default="", help="machine, compiler and flags, printed with the table")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row misses its budget")
    given = parser.parse_args(arguments)
    measured = Measurements()
    for path in given.results:
        measured.read(path)
    lines = lines_of(measured)
    print_table(lines, sys.stdout)
    print_context(measured, given.note, lines, sys.stdout)
    if given.output:
        keys = ("row", "value", "unit", "peer", "budget", "met", "of_limit", "limit")
        table = [{**{key: line[key] for key in keys}, "row": f"{line['section'].split(',')[0]}: {line['row']}"}
                 for line in lines]
        given.output.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 1 if given.check and any(line["met"] is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
