# SPDX-License-Identifier: BSD-3-Clause
"""Draws the benchmarks' table as bars (speed.svg) and the kernels' roofline (roofline.svg).

    pictures.py --output build/benchmark [--note TEXT] results.json...
    pictures.py --to-docs build/benchmark    copies both pictures to docs/images
"""
import argparse
import math
import pathlib
import re
import shutil
import sys

import rows
import svg
import table
from measurements import Measurements

# The ratio whose bar is as long as there is place.
LONGEST = 2.0
IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "images"
AHEAD, BEHIND, PEER = "#1a7f5a", "#c2571a", "#8c959f"
PRODUCT, GRADIENT, CONVOLUTION, STREAM = "#1a7f5a", "#0969da", "#8250df", "#bf3989"


def speed_of(line):
    """How many times as fast as the peer."""
    ratio = line["figure"] / line["of_peer"]
    return 1 / ratio if line["counter"] in table.LESS_IS_BETTER else ratio


def in_picture(line):
    """The heading and the label of a line of the table, or None. One thread; products against all peers."""
    if not line["of_peer"] or line["group"].endswith("threads:2"):
        return None
    title = line["row"].replace(", 1 thread", "")
    if line["section"] == rows.PRODUCTS:
        return ("Matrix products", title.removesuffix(", all peers")) if title.endswith(", all peers") else None
    headings = {rows.TRAINING: "Training", rows.INFERENCE: "Inference",
                rows.ELEMENTWISE: "Elementwise, sums and rows of 16K and 1M floats"}
    heading = headings.get(line["section"])
    title = title.replace("MLP 784-256-128-10", "perceptron").removesuffix(" floats")
    return (heading, title) if heading else None


def draw_bars(lines, note, path):
    """Two columns of bars: networks and products on the left, elementwise work on the right."""
    columns = [[], []]
    for line in lines:
        place = in_picture(line)
        if place:
            columns[1 if place[0].startswith("Element") else 0].append((*place, line))
    columns = [column for column in columns if column]
    if not columns:
        return
    row, width, label, top = 19, 560, 235, 62
    extent = max(len(column) * row + len({heading for heading, _, _ in column}) * 30 for column in columns)
    drawing = svg.Drawing(width * len(columns) + 20, top + extent + 52, "Speed of stagecraft over the best peer's")
    drawing.text(20, 30, "Times as fast as the best peer, one thread", 18, weight="bold")
    drawing.text(20, 50, "The line is the best of Eigen, OpenBLAS and oneDNN, whose name stands behind each bar. "
                 "Longer is faster.", 12, svg.FAINT)
    for index, column in enumerate(columns):
        draw_column(drawing, column, 20 + index * width, top, label, (width - label - 150) / LONGEST, row)
    drawing.text(20, drawing.height - 14, note, 10.5, svg.FAINT)
    drawing.write(path)


def draw_column(drawing, column, left, top, label, scale, row):
    y, heading, first = top, None, None
    start = left + label
    for title, text, line in column:
        if title != heading:
            if heading:
                drawing.line(start + scale, first, start + scale, y, svg.INK, 1.2)
            heading = title
            y += 24
            drawing.text(left, y, heading, 13, weight="bold")
            y += 6
            first = y
        speed = speed_of(line)
        shown = min(speed, LONGEST)
        drawing.text(start - 8, y + row * 0.68, text, 11.5, anchor="end")
        drawing.box(start, y + 3, shown * scale, row - 6, AHEAD if round(speed, 2) >= 1 else BEHIND)
        if speed > LONGEST:  # a bar that is cut off
            for cut in (start + shown * scale - 14, start + shown * scale - 20):
                drawing.line(cut, y + row - 2, cut + 5, y + 1, "#ffffff", 3)
        drawing.text(start + max(shown, 1.0) * scale + 6, y + row * 0.68, f"{speed:.2f}", 11.5, weight="bold")
        drawing.text(start + max(shown, 1.0) * scale + 38, y + row * 0.68, line["peer"], 11.5, svg.FAINT)
        y += row
    if first is not None:
        drawing.line(start + scale, first, start + scale, y, svg.INK, 1.2)


def roofline_points(measured):
    """(name, colour, FLOP/byte, FLOP/s of stagecraft, FLOP/s of the best peer or None)"""
    kinds = [(r"forward/(.*)", r"matmul \1", PRODUCT), (r"weight_gradient/(.*)", r"weight gradient \1", GRADIENT),
             (r"input_gradient/(.*)", r"input gradient \1", GRADIENT),
             (r"(\w*conv2d\w*)/(.*)/batch:(\d+)", r"\1 \2 b\3", CONVOLUTION)]
    streams = {"relu/16K": 1 / 8, "relu/1M": 1 / 8, "sum/16K": 1 / 4, "sum/1M": 1 / 4}
    points = []
    for group, programs in measured.groups.items():
        own = programs.get("stagecraft", {})
        peers = [counters for name, counters in programs.items() if name not in rows.OWN]
        if group in streams and "bytes/s" in own:
            best = max((peer["bytes/s"] for peer in peers if "bytes/s" in peer), default=0) * streams[group]
            name = group.replace("/", ", ") + " floats"
            points.append((name, STREAM, streams[group], own["bytes/s"] * streams[group], best or None))
        if "FLOP/byte" not in own:
            continue
        for pattern, title, color in kinds:
            match = re.fullmatch(pattern, group)
            if match:
                best = max((peer["FLOP/s"] for peer in peers if "FLOP/s" in peer), default=0)
                name = re.sub(" same|(?<=depthwise) conv2d", "", match.expand(title).replace("_", " "))
                points.append((name, color, own["FLOP/byte"], own["FLOP/s"], best or None))
    return sorted(points, key=lambda point: point[2])


class LogAxes:
    """A frame with logarithmic axes."""

    def __init__(self, drawing, x_range, y_range, frame):
        self.drawing, self.x_range, self.y_range = drawing, x_range, y_range
        self.left, self.top, self.right, self.bottom = frame

    def x(self, value):
        low, high = (math.log2(bound) for bound in self.x_range)
        return self.left + (math.log2(value) - low) / (high - low) * (self.right - self.left)

    def y(self, value):
        low, high = (math.log2(bound) for bound in self.y_range)
        return self.bottom - (math.log2(value) - low) / (high - low) * (self.bottom - self.top)

    def draw(self, x_title, y_title):
        value = self.x_range[0]
        while value <= self.x_range[1]:
            self.drawing.line(self.x(value), self.top, self.x(value), self.bottom)
            text = f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
            self.drawing.text(self.x(value), self.bottom + 17, text, 11, svg.FAINT, "middle")
            value *= 2
        value = self.y_range[0]
        while value <= self.y_range[1]:
            self.drawing.line(self.left, self.y(value), self.right, self.y(value))
            self.drawing.text(self.left - 6, self.y(value) + 4, f"{value:g}", 11, svg.FAINT, "end")
            value *= 2
        self.drawing.text((self.left + self.right) / 2, self.bottom + 36, x_title, 12, anchor="middle")
        self.drawing.text(self.left - 40, (self.top + self.bottom) / 2, y_title, 12, anchor="middle", rotate=-90)


def draw_ceilings(axes, measured, peak):
    """The peak, and the bandwidths that were measured."""
    drawing = axes.drawing
    knees = [axes.x_range[1]]
    for where, rate in measured.bandwidths["read"].items():
        rate /= 1e9
        begin = max(axes.x_range[0], axes.y_range[0] / rate)
        knee = peak / rate
        knees.append(knee)
        drawing.line(axes.x(begin), axes.y(begin * rate), axes.x(knee), axes.y(peak), svg.INK, 1.5)
        slope = math.degrees(math.atan2(axes.y(peak) - axes.y(begin * rate), axes.x(knee) - axes.x(begin)))
        at = begin * 1.25
        drawing.text(axes.x(at) - 4, axes.y(at * rate) - 6, f"{where} {rate:.0f} GB/s", 11, rotate=round(slope, 1))
    drawing.line(axes.x(min(knees)), axes.y(peak), axes.right, axes.y(peak), svg.INK, 1.5)
    drawing.text(axes.x(min(knees)) + 4, axes.y(peak) - 6, f"FMA {peak:.0f} GFLOP/s", 11)


def place_label(taken, x, y, bounds):
    """A free place for a number near a point: the first of several around it."""
    spots = [(dx, dy) for radius in (14, 22, 31, 41, 52, 64) for dx, dy in
             ((0, radius), (radius * 0.8, radius * 0.6), (-radius * 0.8, radius * 0.6), (radius * 0.4, radius * 0.9),
              (-radius * 0.4, radius * 0.9), (0, -radius), (radius, 0))]
    for dx, dy in spots:
        spot = (x + dx, y + dy)
        inside = bounds[0] < spot[0] < bounds[2] and bounds[1] < spot[1] < bounds[3]
        if inside and all(abs(spot[0] - ox) > 16 or abs(spot[1] - oy) > 12 for ox, oy in taken):
            return spot
    return (x, y + spots[0][1])


def draw_roofline(measured, note, path):
    points = roofline_points(measured)
    peak = (measured.fma_peak or 0) / 1e9
    if not points or not peak:
        return
    height = max(560, 96 + 17 * len(points) + 40)
    drawing = svg.Drawing(1240, height, "Roofline of stagecraft's kernels")
    drawing.text(20, 30, "Roofline of one core: GFLOP/s over operations per byte of operands and results", 18,
                 weight="bold")
    drawing.colored_text(20, 50, (
        ("Filled: stagecraft's products,", PRODUCT), ("gradients,", GRADIENT), ("convolutions,", CONVOLUTION),
        ("elementwise and sums.", STREAM),
        ("Hollow: the best of Eigen, OpenBLAS and oneDNN in the same run.", svg.FAINT)))
    most = 2 ** math.ceil(math.log2(peak * 1.4))
    least = 2 ** math.floor(math.log2(min(point[3] for point in points) / 1.2e9))
    x_least = 2 ** (math.ceil(math.log2(points[0][2])) - 1)
    x_most = 2 ** math.ceil(math.log2(points[-1][2] * 1.1))
    axes = LogAxes(drawing, (x_least, x_most), (least, most), (70, 70, 790, height - 74))
    axes.draw("FLOP / byte", "GFLOP/s")
    draw_ceilings(axes, measured, peak)
    places = [(axes.x(point[2]), axes.y(point[3] / 1e9)) for point in points]
    for (x, _), point in zip(places, points):
        if point[4]:
            drawing.circle(x, axes.y(max(point[4] / 1e9, least)), 4, PEER, filled=False)
    for (x, y), point in zip(places, points):
        drawing.circle(x, y, 4.5, point[1])
    taken = list(places)
    for number, ((x, y), point) in enumerate(zip(places, points), 1):
        spot = place_label(taken, x, y, (axes.left, axes.top, axes.right, axes.bottom))
        taken.append(spot)
        drawing.line(x, y, *spot, point[1], 0.6)
        drawing.box(spot[0] - 8, spot[1] - 6, 16, 12, "#ffffff")
        drawing.text(spot[0], spot[1] + 4, str(number), 10.5, point[1], "middle", "bold")
        row = 84 + 17 * number
        drawing.text(828, row, str(number), 11, point[1], "end", "bold")
        drawing.text(836, row, point[0], 11)
        drawing.text(1160, row, f"{point[3] / 1e9:.0f}", 11, anchor="end")
        drawing.text(1220, row, f"{point[4] / 1e9:.0f}" if point[4] else "", 11, svg.FAINT, "end")
    drawing.text(1160, 84, "GFLOP/s", 11, anchor="end")
    drawing.text(1220, 84, "best peer", 11, svg.FAINT, "end")
    drawing.text(20, height - 14, note, 10.5, svg.FAINT)
    drawing.write(path)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=pathlib.Path, nargs="*")
    parser.add_argument("--output", type=pathlib.Path, help="folder of the pictures")
    parser.add_argument("--note", default="", help="machine, compiler and flags")
    parser.add_argument("--to-docs", type=pathlib.Path, metavar="FOLDER", help="copy the pictures of a run")
    given = parser.parse_args(arguments)
    if given.to_docs:
        IMAGES.mkdir(parents=True, exist_ok=True)
        for name in ("speed.svg", "roofline.svg"):
            shutil.copyfile(given.to_docs / name, IMAGES / name)
            print(f"{IMAGES / name}")
        return
    measured = Measurements()
    for path in given.results:
        measured.read(path)
    draw_bars(table.lines_of(measured), given.note, given.output / "speed.svg")
    draw_roofline(measured, given.note, given.output / "roofline.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
