# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of docs/performance.md, between its two comments, from what run.py measured, and copies the pictures.

    performance.py build/benchmark [--avx2 build/benchmark_avx2] [--page docs/performance.md]

Networks stand in a table with their figures, one line for one and two threads; all other rows of one thread that have
a peer in a second one, with the ratio and the fraction of the machine's limit. With --avx2, both have a column with the
ratios of a run that was compiled with -march=x86-64-v3.
"""
import argparse
import json
import pathlib
import sys

import pictures
import rows
import table
from measurements import Measurements

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN = "<!-- benchmarks/performance.py writes from here -->"
END = "<!-- to here -->"
NETWORKS = (rows.TRAINING, rows.INFERENCE)
ONE, TWO = ", 1 thread", ", 2 threads"


def measured_in(folder):
    """The lines of a run's table, its measurements, and what it says of machine, compiler and flags."""
    measured = Measurements()
    for path in sorted((folder / "results").glob("*.json")):
        measured.read(path)
    note = folder / "note.txt"
    return table.lines_of(measured), measured, note.read_text(encoding="utf-8").strip() if note.exists() else ""


def is_of_two_threads(line):
    return line["group"].endswith("threads:2")


def title_of(line):
    """A row's name without the number of threads."""
    title = line["row"]
    for end in (ONE, TWO, ", threads: 1", ", threads: 2"):
        title = title.removesuffix(end)
    return title


def ratio_of(line):
    """How many times as fast as its peer, as text: the better, the larger, whatever is counted."""
    return f"{pictures.speed_of(line):.2f}" if line else ""


def figure_of(line, figure):
    if line["counter"] == "samples/s":
        return f"{figure:,.0f}/s"
    return table.quantity(line["counter"], figure)


def limit_of(line):
    return f"{line['of_limit']:.0%} of {line['limit']}" if line["of_limit"] else ""


def text_of(header, lines):
    """A table of Markdown."""
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines]])


def threads_over_one(line, groups):
    """Two threads over one of the same network, from figures of one run, or nothing."""
    two = groups.get(line["group"].replace("threads:1", "threads:2"), {}).get("stagecraft", {})
    if "threads:1" not in line["group"] or line["counter"] not in two:
        return ""
    ratio = two[line["counter"]] / line["figure"]
    return f"{1 / ratio if line['counter'] in table.LESS_IS_BETTER else ratio:.2f}"


def networks(lines, groups, others):
    """The table of networks, on one thread."""
    header = ["", "stagecraft", "best peer", "ratio", *(["ratio, AVX2"] if others else []), "of the limit",
              "two threads over one"]
    found = []
    for line in lines:
        if line["section"] in NETWORKS and line["of_peer"] and not is_of_two_threads(line):
            other = [ratio_of(others.get((line["section"], line["row"])))] if others else []
            found.append([f"{line['section'].split(',')[0].lower()}: {title_of(line)}",
                          figure_of(line, line["figure"]), f"{figure_of(line, line['of_peer'])} ({line['peer']})",
                          ratio_of(line), *other, limit_of(line), threads_over_one(line, groups)])
    return text_of(header, found)


def kernels(lines, others):
    """The table of products, convolutions, elementwise work and updates of weights, and of what compiling costs."""
    header = ["", "ratio", *(["ratio, AVX2"] if others else []), "peer", "of the limit"]
    found = []
    for line in lines:
        of_interest = line["section"] not in NETWORKS and line["section"].endswith("/s") and "thread," in line["section"]
        if line["section"] == rows.COMPILING:
            of_interest = line["counter"] in ("seconds", "MB")
        if of_interest and line["of_peer"] and not is_of_two_threads(line):
            other = [ratio_of(others.get((line["section"], line["row"])))] if others else []
            found.append([line["row"], ratio_of(line), *other, line["peer"], limit_of(line)])
    return text_of(header, found)


def below_limit(lines):
    limited = {line["group"]: line for line in lines if line["of_limit"] and not is_of_two_threads(line)}
    below = [line for line in limited.values() if line["of_limit"] < rows.least_of_limit(line["section"])]
    names = "; ".join(f"{title_of(line)} {line['of_limit']:.0%}" for line in sorted(below, key=lambda x: x["of_limit"]))
    return (f"{len(limited) - len(below)} of {len(limited)} rows reach {rows.LEAST_OF_LIMIT:.0%} of the machine's limit "
            f"(products {rows.LEAST_OF_PRODUCTS:.0%})" + (f"; those below: {names}." if names else "."))


def section(folder, avx2=None):
    """What stands between the two comments."""
    lines, measured, note = measured_in(folder)
    others = {}
    if avx2:
        others = {(line["section"], line["row"]): line for line in measured_in(avx2)[0] if line["of_peer"]}
    budgets = [line for line in lines if line["met"] is not None]
    met = sum(1 for line in budgets if line["met"])
    parts = [f"Medians of one run: {note}." if note else "Medians of one run."]
    if measured.fma_peak:
        parts[0] += f" The peak of multiply-adds is {measured.fma_peak / 1e9:.0f} GFLOP/s."
    parts += [networks(lines, measured.groups, others),
              "<details><summary>All kernels of one thread, and compiling</summary>\n", kernels(lines, others),
              "</details>", f"{met} of the table's {len(budgets)} budgets are met. {below_limit(lines)}"]
    return "\n\n".join(parts)


def write(page, text):
    """Replaces what stands between the comments; ends this script if they are not there."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page} lacks the comments {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="where run.py wrote its results and pictures")
    parser.add_argument("--avx2", type=pathlib.Path, help="the folder of a run with -march=x86-64-v3")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    given = parser.parse_args(arguments)
    text = section(given.folder, given.avx2)
    write(given.page, text)
    pictures.main(["--to-docs", str(given.folder)])
    print(given.page)


if __name__ == "__main__":
    main(sys.argv[1:])
