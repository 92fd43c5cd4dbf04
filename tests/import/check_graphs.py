# SPDX-License-Identifier: BSD-3-Clause
"""Graphs inside of ONNX graphs, and graphs without an axis of samples: what is imported of them, and what is refused.

    python3 tests/import/check_graphs.py <the program stagecraft> <folder>

Branches whose condition is known, loops with a known number of trips and functions become their nodes; --dimension and
--input-value fix what a file leaves open."""
import array
import pathlib
import sys

from model_files import message
from program import check, end, run

FOLDER = pathlib.Path(sys.argv[2])
REAL, WHOLE, TRUTH = 1, 7, 9


def value(name, shape=None, kind=REAL):
    dimensions = [(1, message((2, each)) if isinstance(each, str) else message((1, each))) for each in shape or ()]
    tensor = message((1, kind), *([] if shape is None else [(2, message(*dimensions))]))
    return message((1, name), (2, message((1, tensor))))


def node(kind, inputs, outputs, *attributes, domain=""):
    return message(*((1, each) for each in inputs), *((2, each) for each in outputs), (4, kind),
                   *((5, each) for each in attributes), (7, domain))


def graph(nodes, inputs, outputs, constants=()):
    numbers = lambda kind, values: array.array("f" if kind == REAL else "q", values).tobytes() if kind != TRUTH else bytes(values)
    return message(*((1, each) for each in nodes),
                   *((5, message(*((1, length) for length in shape), (2, kind), (8, name), (9, numbers(kind, values))))
                     for name, shape, kind, values in constants),
                   *((11, each) for each in inputs), *((12, each) for each in outputs))


def body(name, *of):
    return message((1, name), (6, graph(*of)), (20, 5))


def whole(name, number):
    return message((1, name), (3, number), (20, 2))


def attempt(name, main, *options, functions=(), opset=17):
    path = FOLDER / f"{name}.onnx"
    path.write_bytes(message((1, 8), (7, main), (8, message((1, ""), (2, opset))), *((25, each) for each in functions)))
    code, text = run("import", path, *options)
    return code, path.with_suffix(".hpp").read_text() if code == 0 else text


def imported(name, pieces, *of, **more):
    code, text = attempt(name, *of, **more)
    check(code == 0, f"{name}: {text}")
    for each in pieces:
        check(each in text, f"{name}: '{each}' is missing in {text}")
    return text


def refused(name, error, *of, **more):
    code, text = attempt(name, *of, **more)
    check(code == 1 and error in text, f"{name}: expected '{error}': {text}")


def branches():
    then = body("then_branch", [node("Sin", ["x"], ["s"])], [], [value("s")])
    other = body("else_branch", [node("Cos", ["x"], ["c"])], [], [value("c")])
    choice = node("If", ["cond"], ["y"], then, other)
    for known, piece in ((1, "sin("), (0, "cos(")):
        imported(f"branch{known}", [piece], graph([choice], [value("x", ("n", 4))], [value("y")], [("cond", (), TRUTH, [known])]))
    refused("branch_open", "takes 'cond', which is no constant",
            graph([choice], [value("x", ("n", 4)), value("cond", ("n", 1), TRUTH)], [value("y")]))
    # The rate of a network for two of them, which is an input.
    rate = node("Equal", ["rate", "high"], ["cond"])
    main = graph([rate, choice], [value("x", ("n", 4)), value("rate", (), WHOLE)], [value("y")], [("high", (), WHOLE, [16000])])
    imported("rate_high", ["sin("], main, "--input-value", "rate=16000")
    imported("rate_low", ["cos("], main, "--input-value", "rate=8000")
    refused("rate_other", "there is no such input [E5231]", main, "--input-value", "speed=1")


def loops():
    step = body("body", [node("Identity", ["go"], ["go_on"]), node("Sin", ["v"], ["w"]), node("Cos", ["w"], ["seen"])],
                [value("i", (), WHOLE), value("go", (), TRUTH), value("v")], [value("go_on"), value("w"), value("seen")])
    constants = [("three", (), WHOLE, [3]), ("yes", (), TRUTH, [1])]
    text = imported("loop", ["ops.concatenate("], graph([node("Loop", ["three", "yes", "x"], ["last", "all"], step)],
                    [value("x", (2, 4))], [value("last"), value("all")], constants))
    check(text.count("own_sine{}(") == 3 and text.count("cos(") == 3, f"three trips: {text}")
    many = [("three", (), WHOLE, [100000]), ("yes", (), TRUTH, [1])]
    refused("loop_many", "makes more than 1,024 trips",
            graph([node("Loop", ["three", "yes", "x"], ["last", "all"], step)], [value("x", (2, 4))], [value("last"), value("all")], many))
    add = body("body", [node("Add", ["sum", "at"], ["next"]), node("Identity", ["next"], ["out"])],
               [value("sum"), value("at")], [value("next"), value("out")])
    text = imported("scan", ["add{}(", "ops.concatenate("], graph([node("Scan", ["first", "x"], ["last", "all"], add, whole("num_scan_inputs", 1))],
                    [value("first", (2,)), value("x", (3, 2))], [value("last"), value("all")]))
    check("model.input({3, 2}, " in text and "model.input({2}, " in text, f"inputs without samples: {text}")


def functions():
    twice = message((1, "twice"), (4, "a"), (5, "c"), (7, node("Sin", ["a"], ["b"])), (7, node("Sin", ["b"], ["c"])), (10, "own"),
                    (9, message((1, ""), (2, 17))))
    main = graph([node("twice", ["x"], ["h"], domain="own"), node("twice", ["h"], ["y"], domain="own")], [value("x", ("n", 4))], [value("y")])
    check(imported("function", [], main, functions=[twice]).count("sin(") == 4, "two calls of two sines")
    circle = message((1, "twice"), (4, "a"), (5, "b"), (7, node("twice", ["a"], ["b"], domain="own")), (10, "own"), (9, message((1, ""), (2, 17))))
    refused("circle", "contain themselves", main, functions=[circle])
    # Each of 40 functions calls the one before it twice.
    bomb = [message((1, f"f{i}"), (4, "a"), (5, "c"), *((7, node(f"f{i - 1}" if i else "Sin", [a], [b], domain="own" if i else ""))
                    for a, b in (("a", "b"), ("b", "c"))), (10, "own"), (9, message((1, ""), (2, 17)))) for i in range(40)]
    refused("bomb", "more than 200,000 nodes", graph([node("f39", ["x"], ["y"], domain="own")], [value("x", ("n", 4))], [value("y")]), functions=bomb)


def dimensions():
    main = graph([node("Sin", ["x"], ["y"])], [value("x", ("batch", "steps", 4))], [value("y")])
    refused("open", "[E5063]", main)
    imported("named", ["input{7, 4}"], main, "--dimension", "steps=7")
    imported("numbered", ["input{7, 4}"], main, "--dimension", "x.1=7")
    for text, why in (("steps", "expected a name"), ("steps=0", "whole numbers"), ("height=3", "no input has"), ("x.2=5", "no input has")):
        refused("dimension", why, main, "--dimension", text)
    # All axes are those of one sample: the sum joins what would be samples.
    total = graph([node("ReduceSum", ["x"], ["y"], whole("keepdims", 0))], [value("x", ("batch", 4))], [value("y")])
    refused("sum", "is along samples", total)
    imported("sum_of_all", ["input{3, 4}", "ops.sum("], total, "--dimension", "batch=3")


FOLDER.mkdir(parents=True, exist_ok=True)
branches()
loops()
functions()
dimensions()
end()
