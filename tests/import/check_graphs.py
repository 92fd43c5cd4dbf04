# SPDX-License-Identifier: BSD-3-Clause
"""Graphs inside of ONNX graphs, and graphs without an axis of samples: what is imported of them, and what is refused.

    python3 tests/import/check_graphs.py <the program stagecraft> <folder>

Branches whose condition is known, loops with a known number of trips and functions become their nodes; --dimension and
--input-value fix what a file leaves open. Nodes of onnxruntime's domain, and those that stand for several others, are written
as these; types of elements are known for each tensor."""
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
    # Many trips are a scan, whose step is written once; it has the number of the trip as a row of a table, and counters, which may end it.
    trips = lambda number: [("three", (), WHOLE, [number]), ("yes", (), TRUTH, [1]), ("none", (), WHOLE, [0]), ("two", (), WHOLE, [2]), ("most", (), WHOLE, [9000])]
    many = lambda number, of=step: graph([node("Loop", ["three", "yes", "x"], ["last", "all"], of)], [value("x", (2, 4))], [value("last"), value("all")], trips(number))
    text = imported("loop_many", ["ops.scan(ops.full({x.length(0), 5000, 1}, 0.0F)", "_done.all[", "_done.last["], many(5000))
    check(text.count("sin(") == 1 and text.count("cos(") == 1, f"a step that is written once: {text}")
    refused("loop_too_many", "makes more than 65,536 trips", many(100000))
    counted = body("body", [node("Gather", ["t", "i"], ["e"]), node("Add", ["v", "e"], ["w"]), node("Add", ["k", "two"], ["m"]), node("Less", ["m", "most"], ["go_on"])],
                   [value("i", (), WHOLE), value("go", (), TRUTH), value("v"), value("k", (), WHOLE)], [value("go_on"), value("w"), value("m", (), WHOLE)])
    main = graph([node("Loop", ["", "yes", "x", "none"], ["last", "k"], counted)], [value("x", (4,)), value("t", (4500, 4))], [value("last")], trips(0))
    imported("loop_counter", ["ops.scan(y, 1, ", "= k_state[0] + k_in;"], main)
    # A step that is a layer is written out, and too long for that.
    layers = body("body", [node("Identity", ["go"], ["go_on"]), node("Conv", ["v", "c"], ["w"], message((1, "pads"), (8, 1), (8, 1), (20, 7)))],
                  [value("i", (), WHOLE), value("go", (), TRUTH), value("v")], [value("go_on"), value("w")], [("c", (2, 2, 3), REAL, [1] * 12)])
    refused("loop_of_layers", "is no scan, since it has a Conv1D in each trip",
            graph([node("Loop", ["three", "yes", "x"], ["last"], layers)], [value("x", ("n", 2, 4))], [value("last")], trips(5000)))
    ends = body("body", [node("Sin", ["v"], ["w"]), node("Less", ["w", "half"], ["go_on"])],
                [value("i", (), WHOLE), value("go", (), TRUTH), value("v")], [value("go_on"), value("w")], [("half", (), REAL, [0.5])])
    refused("loop_of_data", "ends when data says so", graph([node("Loop", ["three", "yes", "x"], ["last"], ends)], [value("x", (2, 4))], [value("last")], trips(5000)))
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
    # Functions of one name, which overloads tell apart.
    named = lambda kind, which: message((1, "f"), (4, "a"), (5, "b"), (7, node(kind, ["a"], ["b"])), (10, "own"), (9, message((1, ""), (2, 17))), (13, which))
    calls = [node("f", ["x"], ["s"], domain="own") + message((8, "one")), node("f", ["s"], ["y"], domain="own") + message((8, "two"))]
    imported("overloads", ["sin(", "cos("], graph(calls, [value("x", ("n", 4))], [value("y")]), functions=[named("Sin", "one"), named("Cos", "two")])
    circle = message((1, "twice"), (4, "a"), (5, "b"), (7, node("twice", ["a"], ["b"], domain="own")), (10, "own"), (9, message((1, ""), (2, 17))))
    refused("circle", "contain themselves", main, functions=[circle])
    # Each of 40 functions calls the one before it twice.
    bomb = [message((1, f"f{i}"), (4, "a"), (5, "c"), *((7, node(f"f{i - 1}" if i else "Sin", [a], [b], domain="own" if i else ""))
                    for a, b in (("a", "b"), ("b", "c"))), (10, "own"), (9, message((1, ""), (2, 17)))) for i in range(40)]
    refused("bomb", "more than 200,000 nodes", graph([node("f39", ["x"], ["y"], domain="own")], [value("x", ("n", 4))], [value("y")]), functions=bomb)


def other_domains():
    """Nodes that onnxruntime's optimizer writes are those of ONNX that they stand for."""
    x, row = [value("x", ("n", 3, 4))], [("r", (4,), REAL, [1, 2, 3, 4])]
    own = lambda kind, inputs, *attributes: graph([node(kind, inputs, ["y"], *attributes, domain="com.microsoft")], x, [value("y")], row)
    imported("gelu", ["gelu"], own("Gelu", ["x"]))
    imported("bias_gelu", ["gelu", "batch_normalization"], own("BiasGelu", ["x", "r"]))
    imported("fast_gelu", ["gelu(true)"], own("FastGelu", ["x"]))
    imported("skip", ["layer_normalization", "add{}"], own("SkipLayerNormalization", ["x", "x", "r"]))
    refused("mean", "which no node before it gives", graph([node("SkipLayerNormalization", ["x", "x", "r"], ["y", "m"], domain="com.microsoft"),
            node("Relu", ["m"], ["z"])], x, [value("y"), value("z")], row))
    refused("unknown", "which is not here", own("LongformerAttention", ["x", "r"]))
    refused("attention", "has weights that do not fit its heads", graph([node("Attention", ["x", "k"], ["y"], whole("num_heads", 1), domain="com.microsoft")], x,
                                                                        [value("y")], [("k", (4, 4), REAL, range(16))]))
    refused("attribute", "has the attribute 'transBatchA', 1; only 0 is here", own("FusedMatMul", ["x", "x"], whole("transBatchA", 1)))
    refused("own_gelu", "which is not here", graph([node("Gelu", ["x"], ["y"], domain="own")], x, [value("y")]))


def types():
    """The types of elements follow the nodes, whatever layers these become."""
    shape = [("s", (2,), WHOLE, [-1, 4]), ("two", (), WHOLE, [2])]
    half = [node("Reshape", ["x", "s"], ["h"]), node("Div", ["h", "two"], ["y"])]
    imported("whole_division", [" / 2;"], graph(half, [value("x", ("n", 2, 2), WHOLE)], [value("y")], shape))
    means = graph([node("ReduceMean", ["x"], ["y"], message((1, "axes"), (8, 1), (20, 7)))], [value("x", ("n", 4), 2)], [value("y")])
    imported("whole_mean", ["ops.mean(", "floor("], means)
    uint8, int16 = 2, 5
    for kind, wrapped in ((uint8, "sc::dtype::uint8"), (int16, "right_shift(left_shift(")):
        imported("wraps", [wrapped], graph([node("Add", ["x", "x"], ["y"])], [value("x", ("n", 4), kind)], [value("y")]))
    # Whole numbers above 2^24 are computed in int32, where that has them; sums of int64 only if the user says so.
    int32 = 6
    beyond = lambda kind, of="Sub": graph([node(of, ["x", "c"], ["y"])], [value("x", ("n", 4), kind)], [value("y")], [("c", (), WHOLE, [1 << 24])])
    imported("beyond", ["x - 16777216", "of_type(sc::dtype::int32)"], beyond(int32))
    refused("int64_sum", "outside of int32, which is what int64 and uint32 are here; if the model's fit, give --int64-to-int32", beyond(WHOLE))
    code, text = attempt("int64_sum", beyond(WHOLE), "--int64-to-int32")
    check(code == 0 and "x - 16777216" in text, f"int64_sum: {text}")
    imported("bits", ["bitwise_and(x, 16777216)"], beyond(WHOLE, "BitwiseAnd"))
    refused("root", "above 2^24, which float32 does not have", graph([node("Sqrt", ["x"], ["y"])], [value("x", ("n", 4), int32)], [value("y")]))
    # Products of 8 bits: of floats, whose sums are exact, or of parts of them.
    product = lambda number: graph([node("MatMulInteger", ["x", "k"], ["y"])], [value("x", ("n", 600), uint8)], [value("y")], [("k", (600, 1), WHOLE, [number] * 600)])
    check(imported("product", ["dense{1, "], product(100)).count("dense{") == 1, "a product of one part")
    check(imported("product", ["sc::dtype::int32"], product(127)).count("dense{") == 2, "a product of two parts")
    imported("picture", ["input{4"], graph([node("Cast", ["x"], ["c"], whole("to", 1)), node("Relu", ["c"], ["y"])],
                                               [value("x", ("n", 4), uint8)], [value("y")]))
    imported("wrapped", ["sc::dtype::uint8"], graph([node("Cast", ["x"], ["y"], whole("to", uint8))], [value("x", ("n", 4))], [value("y")]))
    # Nodes of 16 bits are layers that compute in them, and casts to them are layers that round.
    float16 = 10
    half = graph([node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["r"]), node("Reshape", ["r", "s"], ["h"]), node("Exp", ["h"], ["e"]), node("Cast", ["e"], ["y"], whole("to", REAL))],
                 [value("x", ("n", 4), float16)], [value("y")], [("w", (4, 4), REAL, range(16)), ("s", (2,), WHOLE, [-1, 4])])
    imported("half", ["dense{4, sc::relu, {.use_bias = false}}.in_dtype(sc::dtype::float16)", "activation{sc::exponential}.in_dtype(sc::dtype::float16)"], half)
    imported("rounded_to_half", ["activation{sc::linear}.in_dtype(sc::dtype::float16)"],
             graph([node("Cast", ["x"], ["h"], whole("to", float16)), node("Cast", ["h"], ["y"], whole("to", REAL))], [value("x", ("n", 4))], [value("y")]))
    # 2^62 + 2^62 is no number of int64, and 2^53 + 1 none of a double: neither is computed.
    for number in (1 << 62, (1 << 53) - 1):
        refused("too_large", "", graph([node("Add", ["c", "c"], ["d"]), node("Mul", ["x", "d"], ["y"])], [value("x", ("n", 4), WHOLE)], [value("y")],
                                       [("c", (), WHOLE, [number])]))


def written_out():
    """Nodes that stand for several others."""
    x = [value("x", ("n", 3, 4))]
    counts = lambda *each: [("c", (len(each),), WHOLE, each)]
    turn = graph([node("ReverseSequence", ["x", "c"], ["y"], whole("batch_axis", 0), whole("time_axis", 1))], x, [value("y")], counts(2, 2))
    imported("turned", ["ops.flip("], turn)
    refused("turned_apart", "from sample to sample", graph([node("ReverseSequence", ["x", "c"], ["y"], whole("time_axis", 1))], x, [value("y")], counts(2, 3)))
    refused("turned_too_far", "more steps than there are", graph([node("ReverseSequence", ["x", "c"], ["y"], whole("time_axis", 1))], x, [value("y")], counts(4, 4)))
    text = lambda name, of: message((1, name), (4, of), (20, 3))
    sums = lambda formula: graph([node("Einsum", ["x", "x"], ["y"], text("equation", formula))], x, [value("y")])
    imported("einsum", ['ops.einsum("abc,adc->abd"'], sums("Bij, Bkj -> Bik"))
    imported("einsum_dots", ['ops.einsum("dab,dcb->dac"'], sums("...ij,...kj->...ik"))
    imported("einsum_implicit", ['ops.einsum("abc,adc->abd"'], sums("aij,akj->aik"))
    for formula, why in (("bij,cij->ij", "joins samples"), ("bii,bij->bj", "do not fit"), ("bij,bij", "moves samples"), ("bij,bij->ib", "moves samples"),
                         ("bij,b..ij->bij", "other ranks"), ("bij,bij->bii", "a letter twice")):
        refused("einsum", why, sums(formula))
    one = lambda formula, axes: graph([node("Einsum", ["x"], ["y"], text("equation", formula))], [value("x", axes)], [value("y")])
    imported("einsum_diagonal", ["where(", "ops.sum("], one("...ii->...i", ("n", 3, 3)))
    imported("einsum_number", ['ops.einsum("ya->y"', ".length(0), 1}"], one("i->", (3,)))
    # Of one sample, each sequence may have a length of its own.
    imported("turned_each", ["ops.take_along_axis("], graph([node("ReverseSequence", ["x", "c"], ["y"], whole("batch_axis", 0), whole("time_axis", 1))],
             [value("x", (2, 4))], [value("y")], counts(4, 3)))
    # The remainder of reals has the divisor's sign, slopes broadcast, and an optional value is the value.
    reals = [value("x", ("n", 4)), value("z", ("n", 4))]
    imported("floored", ["fmod(", "where("], graph([node("Mod", ["x", "z"], ["y"])], reals, [value("y")]))
    imported("slopes", ["where("], graph([node("PRelu", ["x", "z"], ["y"])], reals, [value("y")]))
    imported("optional", ["sin("], graph([node("OptionalGetElement", ["x"], ["o"]), node("Sin", ["o"], ["y"])], [value("x", ("n", 4))], [value("y")]))
    imported("opset_1", ["1.0F - "], graph([node("Not", ["x"], ["y"])], [value("x", ("n", 4), TRUTH)], [value("y")]), opset=1)
    refused("opset_1_others", "expected 7 to", graph([node("Sin", ["x"], ["y"])], [value("x", ("n", 4))], [value("y")]), opset=6)
    # Windows that are taken element by element: a convolution of one sample, and the places of largest elements.
    numbers = lambda name, *each: message((1, name), *((8, one) for one in each), (20, 7))
    conv = lambda groups: graph([node("Conv", ["x", "k"], ["y"], whole("group", groups), numbers("pads", 1, 1))],
                                [value("x", (2, 2, 5)), value("k", (2, 2 // groups, 3))], [value("y")])
    imported("conv_of_one", ["ops.matmul("], conv(1))
    imported("conv_of_each", ["ops.slice(x, 3, 2, 1)", "return b * c;"], conv(2))
    # A hard swish in four nodes, whose neighbours stay layers; with another limit, it is none.
    swish = lambda most: graph([node("Mul", ["x", "half"], ["h"]), node("Add", ["h", "three"], ["s"]), node("Clip", ["s", "none", "most"], ["c"]),
                                node("Mul", ["h", "c"], ["p"]), node("Div", ["p", "six"], ["q"]), node("Mul", ["q", "half"], ["y"])],
                               [value("x", ("n", 4))], [value("y")], [("half", (), REAL, [0.5]), ("three", (), REAL, [3]), ("none", (), REAL, [0]),
                                                                      ("most", (), REAL, [most]), ("six", (), REAL, [6])])
    imported("hard_swish", ["input{4}, rescaling{0.5F}, ", "::own_hard_swish{}", "rescaling{0.5F}>"], swish(6))
    check("hard_swish{" not in imported("no_swish", ["multiply{}"], swish(5)), "a hard swish with another limit")
    imported("max_places", ["where(", "infinity()"], graph([node("MaxPool", ["x"], ["y", "i"], numbers("kernel_shape", 2), numbers("pads", 1, 0))],
             [value("x", (1, 2, 5))], [value("y"), value("i")]))
    # Places that are named twice, once from the end, are refused: which value stays is left open.
    put = lambda *places: graph([node("ScatterElements", ["x", "p", "u"], ["y"], whole("axis", 0))], [value("x", (4,))], [value("y")],
                                [("p", (2,), WHOLE, places), ("u", (2,), REAL, [5, 6])])
    imported("put", ["ops.put_along_axis("], put(1, -1))
    refused("put_twice", "names a place twice", put(3, -1))
    # Before opset 13, LogSoftmax is along all axes from one on, and the classes of a loss are along one.
    loss = graph([node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y"], text("reduction", "none"))], [value("x", ("n", 3, 4)), value("t", ("n", 4), WHOLE)], [value("y")])
    for opset in (12, 13):
        check("{1, 2}" not in imported("loss", ["ops.max(y, {1})"] if opset == 13 else ["ops.max("], loss, opset=opset), f"classes of opset {opset}")
    # A recurrent layer of which an operation takes the last step.
    sequence = graph([node("LSTM", ["x", "w", "r"], ["s"], whole("hidden_size", 1)), node("Squeeze", ["s", "one"], ["q"]), node("Gather", ["q", "last"], ["g"]),
                      node("Abs", ["g"], ["y"])], [value("x", (6, "n", 2))], [value("y")],
                     [("w", (1, 4, 2), REAL, range(8)), ("r", (1, 4, 1), REAL, range(4)), ("one", (1,), WHOLE, [1]), ("last", (), WHOLE, [-1])])
    imported("last_step", ["lstm{1}", "abs("], sequence)
    hot = lambda depth: graph([node("OneHot", ["x", "d", "v"], ["y"])], [value("x", ("n", 3), WHOLE)], [value("y")],
                              [("d", (), WHOLE, [depth]), ("v", (2,), REAL, [0, 1])])
    imported("one_hot", ["equal("], hot(5))
    refused("one_hot_deep", "has a depth", hot(1 << 40))


def shapes():
    """Lengths of a Reshape whose product is no number of int64, and those that name nothing."""
    reshape = lambda axes, *lengths: graph([node("Reshape", ["x", "s"], ["y"])], [value("x", axes)], [value("y")],
                                           [("s", (len(lengths),), WHOLE, lengths)])
    imported("reshape_all", ["reshape{3, 4}"], reshape((2, 6), 3, -1))
    for axes, first in (((2, 6), 4), (("n", 12), -1)):
        for rest in ((1 << 62, -1), (-1, 1 << 62), (-2, 6), ((1 << 63) - 1, 1 << 62)):
            refused("reshape", "[E5064]", reshape(axes, first, *rest))
    refused("reshape_open", "has a shape that is not known", reshape(("n", 12), 0, -1, -1))


def samples():
    """Their number is not known when the model is written: lengths may name it, and no number is computed with it."""
    count = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Cast", ["n"], ["r"], whole("to", REAL))]
    constants = [("zero", (), WHOLE, [0]), ("first", (1,), WHOLE, [0]), ("end", (1,), WHOLE, [1 << 40]), ("w", (4,), REAL, [1, 2, 3, 4])]
    x = [value("x", ("n", 4))]
    for kind in ("Add", "Sub", "Mul", "Div", "Less", "Max"):
        refused("samples", "computes with the number of samples", graph([*count, node(kind, ["x", "r"], ["y"])], x, [value("y")], constants))
    refused("samples_limit", "computes with the number of samples", graph([*count, node("Clip", ["x", "", "r"], ["y"])], x, [value("y")], constants))
    half = [*count, node("Mul", ["r", "w"], ["h"]), node("Add", ["x", "h"], ["y"])]
    refused("samples_times", "computes with the number of samples", graph(half, x, [value("y")], constants))
    part = [node("Shape", ["x"], ["s"], whole("end", 1)), node("Slice", ["w", "s", "end", "first"], ["p"]), node("Add", ["x", "p"], ["y"])]
    refused("samples_slice", "[E5064]", graph(part, x, [value("y")], constants))
    wide = [node("Shape", ["x"], ["s"]), node("Cast", ["s"], ["r"], whole("to", REAL)), node("Cast", ["r"], ["l"], whole("to", WHOLE)), node("Reshape", ["x", "l"], ["y"])]
    imported("samples_shape", ["input{4}"], graph([*wide[:3], node("Expand", ["w", "l"], ["e"]), node("Add", ["x", "e"], ["y"])], x, [value("y")], constants))
    imported("samples_reshape", ["input{4}"], graph([*wide, node("Sin", ["y"], ["z"])], x, [value("z")]))


def rows_of_samples():
    """A constant with a row for each sample has one here: what depends on their number is refused."""
    count = [node("Shape", ["x"], ["s"], whole("end", 1)), node("Concat", ["s", "four"], ["l"], whole("axis", 0)), node("ConstantOfShape", ["l"], ["o"])]
    numbers = [("four", (1,), WHOLE, [4]), ("zero", (1,), WHOLE, [0]), ("one", (1,), WHOLE, [1]), ("both", (2,), WHOLE, [1, 4])]
    x = [value("x", ("n", 4))]
    made = lambda *more: graph([*count, *more, node("Add", ["x", "c"], ["y"])], x, [value("y")], numbers)
    imported("rows", ["input{4}"], made(node("Identity", ["o"], ["c"])))
    imported("rows_mean", ["input{4}"], made(node("ReduceMean", ["o", "zero"], ["c"])))
    imported("rows_sum_of_others", ["input{4}"], made(node("ReduceSum", ["o", "one"], ["c"])))
    for kind, inputs, option in (("ReduceSum", ["o", "zero"], ("keepdims", 1)), ("ReduceProd", ["o"], ("keepdims", 0)), ("Concat", ["o", "o"], ("axis", 0)),
                                 ("Slice", ["o", "zero", "one"], None)):
        main = made(node(kind, inputs, ["c"], *([whole(*option)] if option else [])))
        refused("rows_counted", "", main)
    refused("rows_size", "computes with the number of samples", made(node("Size", ["o"], ["z"]), node("Cast", ["z"], ["c"], whole("to", REAL))))
    turned = [node("Transpose", ["o"], ["t"]), node("ReduceSum", ["t", "one"], ["h"]), node("Reshape", ["h", "both"], ["c"])]
    refused("rows_turned", "", made(*turned))
    refused("rows_shape", "[E5064]", made(node("Shape", ["o"], ["d"]), node("Cast", ["d"], ["r"], whole("to", REAL)), node("ReduceSum", ["r"], ["c"])))
    # A window of known length is computed.
    for kind in ("Hann", "Hamming", "Blackman"):
        imported(kind, ["input{4}"], graph([node(f"{kind}Window", ["w"], ["c"]), node("Mul", ["x", "c"], ["y"])], x, [value("y")], [("w", (), WHOLE, [4])]))
    # Constants that are divided and padded.
    parts = [node("Split", ["both", "ones"], ["a", "b"]), node("Pad", ["b", "before"], ["p"]), node("Cast", ["p"], ["c"], whole("to", REAL))]
    imported("constant_parts", ["offset"], graph([*parts, node("ReduceSum", ["c"], ["d"], whole("keepdims", 0)), node("Add", ["x", "d"], ["y"])], x, [value("y")],
             [*numbers, ("ones", (2,), WHOLE, [1, 1]), ("before", (2,), WHOLE, [3, 0])]))


def constants():
    """Nodes of constants round as their types do: the length 10 times 1.3 is 13 in float32, and in float64."""
    for kind, bits in ((REAL, "f"), (11, "d")):
        factor = message((2, kind), (8, "k"), (9, array.array(bits, [1.3]).tobytes()))
        main = graph([node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Cast", ["n"], ["r"], whole("to", kind)),
                      node("Mul", ["r", "k"], ["m"]), node("Floor", ["m"], ["f"]), node("Cast", ["f"], ["c"], whole("to", REAL)), node("Add", ["x", "c"], ["y"])],
                     [value("x", ("n", 10))], [value("y")], [("one", (), WHOLE, [1])])
        imported("rounded", ["offset = 13.0F"], main + message((5, factor)))
    # A constant of more axes than the input makes its own: the second one is that of samples, then.
    more = [("c", (1, 1, 1), REAL, [2]), ("b", (1, 1, 4), REAL, [1, 2, 3, 4]), ("w", (4, 4), REAL, range(16))]
    mean = node("ReduceMean", ["h"], ["y"], message((1, "axes"), (8, 1), (20, 7)))
    x = [value("x", ("n", 4))]
    refused("more_axes", "samples", graph([node("Add", ["x", "c"], ["h"]), mean], x, [value("y")], more))
    refused("more_axes_bias", "samples", graph([node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["h"]), mean], x, [value("y")], more))
    # A scale of another axis than the normalized one, for which there are as many numbers.
    scale = [("g", (4, 1), REAL, [1, 2, 3, 4]), ("r", (1, 4), REAL, [1, 2, 3, 4]), ("two", (), REAL, [2]), ("e", (), REAL, [1e-5])]
    x = [value("x", ("n", 4, 4))]
    normal = lambda which: graph([node("LayerNormalization", ["x", which], ["y"])], x, [value("y")], scale)
    imported("scale_of_last", ["layer_normalization"], normal("r"))
    refused("scale_of_others", "of other axes", normal("g"))
    last = message((1, "axes"), (8, (1 << 64) - 1), (20, 7))
    steps = lambda which: graph([node("ReduceMean", ["x"], ["m"], last), node("Sub", ["x", "m"], ["c"]), node("Mul", ["c", "c"], ["q"]),
                                 node("ReduceMean", ["q"], ["v"], last), node("Add", ["v", "e"], ["a"]), node("Sqrt", ["a"], ["s"]),
                                 node("Div", ["c", "s"], ["d"]), node("Mul", ["d", which], ["y"])], x, [value("y")], scale)
    imported("steps_of_last", ["layer_normalization{{.epsilon = 1e-5F, .center = false}}"], steps("r"))
    imported("steps_of_others", [".shape = {1, 4, 1}"], steps("g"))


def no_elements():
    """What has no elements is a constant: reductions of it give the number that they begin with, and nothing else is made up."""
    ints = lambda name, *each: message((1, name), *((8, one & (1 << 64) - 1) for one in each), (20, 7))
    total = lambda kind, axis, axes, type=REAL: graph([node(kind, ["x"], ["y"], ints("axes", axis))], [value("x", axes, type)], [value("y")])
    imported("no_sum", ["input{1}", ".shape = {1, 2, 1, 4}"], total("ReduceSum", 1, (2, 0, 4)))
    for kind, type in (("ReduceMax", WHOLE), ("ReduceLogSum", WHOLE), ("ReduceMean", REAL)):
        refused("no_number", "no whole numbers" if type == WHOLE else "a mean of no numbers", total(kind, 1, (2, 0, 4), type))
    refused("nothing", "output 'y' is a constant without elements", total("ReduceSum", 2, (2, 0, 4)))
    # An input beside others is left out; a first length of 0 is any number of samples, and --input-shape gives other lengths.
    joined = graph([node("Concat", ["x", "z"], ["c"], whole("axis", 1)), node("Sin", ["c"], ["y"])], [value("x", (2, 3)), value("z", (2, 0))], [value("y")])
    code, text = attempt("no_part", joined)
    check(code == 0 and "input{3}" in text, f"no_part: {text}")
    check("input 'z' has no elements, and is left out" in run("import", FOLDER / "no_part.onnx")[1], "no_part: nothing is said of the input")
    of_sines = lambda *axes: graph([node("Sin", ["x"], ["y"])], [value("x", axes)], [value("y")])
    imported("no_samples", ["input{4}"], of_sines(0, 4))
    imported("no_length", ["input{5, 4}"], of_sines(2, 0, 4), "--input-shape", "5,4")
    # No operator without a rule for constants passes them on.
    for kind in ("Tan", "Softplus", "Flatten"):
        refused("constant_of", "takes the constant 'c'", graph([node(kind, ["c"], ["d"]), node("Add", ["x", "d"], ["y"])], [value("x", ("n", 4))], [value("y")],
                                                               [("c", (1, 4), REAL, [1, 2, 3, 4])]))


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
other_domains()
types()
written_out()
shapes()
samples()
rows_of_samples()
constants()
no_elements()
dimensions()
end()
