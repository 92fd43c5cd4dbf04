# SPDX-License-Identifier: BSD-3-Clause
"""Pictures are well-formed SVG, pages HTML, traces JSON: check.py <program that writes them to a folder>, or check.py
<files>.

Of an SVG: it is XML; each class has a colour on a light and on a dark page; nothing lies outside of the picture; text
keeps clear of the picture's edge. Of a page: it is XML with such pictures, and needs no other file. Of a trace: what
Chrome's viewer needs of each event, and of a profile's, that events lie within each other.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"
NUMBER = re.compile(r"-?\d+(?:\.\d)?")


def check(condition, what):
    if not condition:
        raise ValueError(what)


def class_colors(style):
    return dict(re.findall(r"\.stagecraft \.([\w-]+)\{(fill|stroke):#[0-9a-f]{6}\}", style))


def corners(element):
    """Points that an element reaches, as far as they are written as they are: not those of relative commands."""
    if element.tag == SVG + "rect":
        x, y, width, height = (float(element.get(name, "0")) for name in ("x", "y", "width", "height"))
        check(width >= 0 and height >= 0, f"a box of size {width} x {height}")
        return [(x, y), (x + width, y + height)]
    if element.tag == SVG + "path":
        path = element.get("d")
        check(re.fullmatch(r"(?:[MLC](?:-?\d+(?:\.\d)?[ ]?)+|[lhvq](?:-?\d+(?:\.\d)?[ ]?)+|z)+", path), f"a path {path}")
        numbers = [float(number) for piece in re.findall(r"[MLC][^a-zA-Z]*", path) for number in NUMBER.findall(piece)]
        check(len(numbers) % 2 == 0, f"a path with a coordinate too much: {path}")
        return list(zip(numbers[::2], numbers[1::2]))
    if element.tag == SVG + "text":
        return [(float(element.get("x")), float(element.get("y")))]
    return []


def check_svg(text):
    check_picture(ElementTree.fromstring(text))


def check_picture(root):
    check(root.tag == SVG + "svg" and root.get("class") == "stagecraft", "not an <svg class='stagecraft'>")
    left, top, width, height = (float(number) for number in root.get("viewBox").split())
    check((left, top) == (0, 0) and root.get("width") == root.get("viewBox").split()[2], "viewBox is not the size")
    check(root.find(SVG + "title").text, "no title")
    light, dark = root.find(SVG + "style").text.split("@media (prefers-color-scheme: dark)")
    check(class_colors(light) and class_colors(light) == class_colors(dark), "light and dark define other classes")
    turned = {text for group in root.iter(SVG + "g") if group.get("transform") for text in group}
    for element in root.iter():
        for name in element.get("class", "stagecraft").split():
            check(name == "stagecraft" or name in class_colors(light), f"class {name} has no colour")
        if element in turned:
            continue
        for x, y in corners(element):
            check(-0.1 <= x <= width + 0.1 and -0.1 <= y <= height + 0.1, f"({x}, {y}) outside of {width} x {height}")


def check_page(text):
    check(text.startswith("<!DOCTYPE html>\n"), "not a page of HTML")
    root = ElementTree.fromstring(text)
    check(root.tag == HTML + "html" and root.find(f"{HTML}head/{HTML}title").text, "no title")
    body = root.find(HTML + "body")
    for picture in body.iter(SVG + "svg"):
        check_picture(picture)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    check(len(ids) == len(set(ids)), "an id twice")
    for element in root.iter():
        check(element.get("src") is None, f"a file besides the page: {element.get('src')}")
        check(element.get("href", "#memory")[1:] in ids + ["memory"], f"a link to nothing: {element.get('href')}")
        if not element.tag.endswith(("style", "script")):
            check(not re.search(r"\b(nan|inf)\b", (element.text or "").lower()), f"a number that is none: {element.text}")
    for table in body.iter(HTML + "table"):
        widths = {len(row) for row in table.iter(HTML + "tr")}
        check(len(widths) == 1, f"rows of {sorted(widths)} cells in one table")


def check_profile_trace(trace):
    open_events = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            open_events.setdefault(event["tid"], [])
            continue
        check(event["ph"] == "X" and event["tid"] in open_events, f"an event of a row without a name: {event}")
        check(event["cat"] and event["name"] and event["args"]["cycles"] > 0, f"an event of nothing: {event}")
        outer = open_events[event["tid"]]
        begin = round(event["ts"] * 1e6)
        end = begin + round(event["dur"] * 1e6)
        while outer and outer[-1][1] <= begin:
            outer.pop()
        check(not outer or (outer[-1][0] <= begin and end <= outer[-1][1]), f"an event across another one's end: {event}")
        outer.append((begin, end))


def check_trace(text):
    trace = json.loads(text)
    if "machine" in trace["otherData"]:
        check_profile_trace(trace)
        return trace
    check(set(trace) == {"displayTimeUnit", "otherData", "traceEvents"}, "other members than a trace has")
    check(isinstance(trace["otherData"]["dropped"], int), "no count of dropped events")
    named, last = set(), 0.0
    for event in trace["traceEvents"]:
        row = event["pid"], event["tid"]
        if event["ph"] == "M":
            named |= {row} if event["name"] == "thread_name" else set()
            continue
        check(event["ph"] == "X" and row in named, f"an event of a row without a name: {event}")
        check(event["ts"] >= last and event["dur"] >= 0, f"an event at an earlier time: {event}")
        check(event["cat"] and event["name"] and "worker" in event["args"], f"an event without a name: {event}")
        last = event["ts"]
    return trace


def check_dot(text):
    """Braces and quotes are closed, and edges lead to nodes."""
    code = re.sub(r'"(?:[^"\\\n]|\\.)*"', "text", text)
    check('"' not in code and code.count("{") == code.count("}"), "quotes or braces that do not close")
    nodes = set(re.findall(r"^ *(n\d+_\d+) \[", code, re.M))
    edges = re.findall(r"^ *(n\d+_\d+) -> (n\d+_\d+)", code, re.M)
    check(nodes and {end for edge in edges for end in edge} <= nodes, "an edge without a node")
    check(len(edges) == len(set(edges)) == code.count("->"), "an edge twice")


def check_file(path):
    text = path.read_bytes().decode("utf-8")
    {".svg": check_svg, ".html": check_page, ".json": check_trace, ".dot": check_dot}[path.suffix](text)


def check_files(paths):
    failures = 0
    for path in paths:
        try:
            check_file(path)
        except (ValueError, KeyError, AttributeError, ElementTree.ParseError) as problem:
            failures += 1
            print(f"{path.name}: {problem}")
    return failures


def main():
    arguments = [pathlib.Path(argument) for argument in sys.argv[1:]]
    if arguments and all(path.suffix for path in arguments):
        return 1 if check_files(arguments) else 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments[0], folder], check=True)
        files = sorted(pathlib.Path(folder).iterdir())
        kinds = {suffix: sum(path.suffix == suffix for path in files) for suffix in (".svg", ".html", ".dot", ".json")}
        failures = check_files(files)
        trace = json.loads((pathlib.Path(folder) / "trace.json").read_text(encoding="utf-8"))
        if sum(event["ph"] == "X" for event in trace["traceEvents"]) != 60 or trace["otherData"]["dropped"] != 3:
            print("trace.json: not the 60 events that were recorded, and 3 that were dropped")
            failures += 1
    print(f"{len(files)} files: {kinds}; {failures} with a mistake")
    return 1 if failures or len(files) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
