# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of loops, which check_onnx_nodes.py compares with onnxruntime: many trips, axes and directions of elements and results, counters,
places that follow from them, loops within loops, states of int32, graphs with samples and without."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node as node

FLOAT, INT32, INT64, BOOL = (getattr(TensorProto, each) for each in ("FLOAT", "INT32", "INT64", "BOOL"))
random = np.random.default_rng(34)


def few_bits(*shape):
    return (np.round(random.normal(0, 0.3, shape) * 64) / 64).astype("float32")


def value(name, shape=None, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(each), name) for name, each in arrays.items()]


def scan_body(nodes, inputs, outputs, **weights):
    return helper.make_graph(nodes, "body", list(map(value, inputs)), list(map(value, outputs)), constants(**weights))


def loop_body(nodes, states, outputs, **weights):
    """The condition goes on as it is unless a node gives `go`. `states` are names, or values of other types."""
    goes_on = [] if any("go" in each.output for each in nodes) else [node("Identity", ["c"], ["go"])]
    of = lambda each: value(each) if isinstance(each, str) else each
    return helper.make_graph([*goes_on, *nodes], "body", [value("i", [], INT64), value("c", [], BOOL), *map(of, states)],
                             [value("go", [], BOOL), *map(of, outputs)], constants(**weights))


def case(name, nodes, inputs, outputs, shapes=None, kinds={}, **weights):
    """`shapes`: those of the inputs in the file, where these are open."""
    given = [value(each, (shapes or {}).get(each, array.shape), helper.np_dtype_to_tensor_dtype(array.dtype)) for each, array in inputs.items()]
    graph = helper.make_graph(nodes, name, given, [value(each, None, kinds.get(each, FLOAT)) for each in outputs], constants(**weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    return f"loop_{name}", model, list(inputs.values()), expected


def cases():
    yes = {"yes": np.array(True)}
    # A recurrent network of 5,000 steps.
    body = scan_body([node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["s", "u"], ["q"]), node("Add", ["a", "q"], ["p"]), node("Add", ["p", "b"], ["h"]), node("Tanh", ["h"], ["n"]),
                      node("Mul", ["n", "n"], ["o"])], ["s", "x"], ["n", "o"], w=few_bits(4, 5), u=few_bits(5, 5), b=few_bits(5))
    yield case("many", [node("Scan", ["s0", "xs"], ["last", "all"], body=body, num_scan_inputs=1)], {"xs": few_bits(5000, 2, 4)}, ["last", "all"], s0=np.zeros((2, 5), "float32"))
    # Two inputs and two outputs along other axes, each in its direction.
    body = scan_body([node("Add", ["s", "x"], ["a"]), node("Mul", ["a", "z"], ["n"]), node("Sub", ["n", "x"], ["o"]), node("Identity", ["n"], ["p"])], ["s", "x", "z"], ["n", "o", "p"])
    axes = {"scan_input_axes": [1, 0], "scan_input_directions": [1, 0], "scan_output_axes": [2, 0], "scan_output_directions": [0, 1]}
    yield case("axes", [node("Scan", ["s0", "xs", "zs"], ["last", "o", "p"], body=body, num_scan_inputs=2, **axes)],
               {"s0": few_bits(3, 2), "xs": few_bits(3, 40, 2), "zs": few_bits(40, 3, 2)}, ["last", "o", "p"])
    body = scan_body([node("Add", ["s", "x"], ["a"]), node("Tanh", ["a"], ["n"])], ["s", "x"], ["n"])
    yield case("back", [node("Scan", ["s0", "xs"], ["last"], body=body, num_scan_inputs=1, scan_input_directions=[1])], {"s0": few_bits(3), "xs": few_bits(40, 3)}, ["last"])
    # The end follows from a counter, and the elements from the number of the trip, which is a factor, too.
    body = loop_body([node("Gather", ["xs", "i"], ["x"], axis=0), node("Cast", ["i"], ["r"], to=FLOAT), node("Mul", ["x", "r"], ["y"]), node("Mul", ["s", "half"], ["h"]),
                      node("Add", ["h", "y"], ["n"]), node("Add", ["k", "two"], ["m"]), node("Less", ["m", "most"], ["go"]), node("Identity", ["n"], ["o"])],
                     ["s", value("k", [], INT64)], ["n", value("m", [], INT64), "o"], half=np.float32(0.5), two=np.int64(2), most=np.int64(60))
    yield case("counter", [node("Loop", ["", "yes", "s0", "k0"], ["last", "k", "all"], body=body), node("Cast", ["k"], ["r"], to=FLOAT), node("Add", ["last", "r"], ["y"])],
               {"s0": few_bits(2, 3), "xs": few_bits(50, 2, 3)}, ["y", "all"], k0=np.int64(0), **yes)
    # A number of samples that is open.
    body = loop_body([node("MatMul", ["s", "u"], ["q"]), node("Sin", ["q"], ["n"]), node("Cos", ["n"], ["o"])], ["s"], ["n", "o"], u=few_bits(4, 4))
    yield case("samples", [node("Loop", ["trips", "yes", "x"], ["last", "all"], body=body)], {"x": few_bits(2, 4)}, ["last", "all"], {"x": ["n", 4]}, trips=np.int64(100), **yes)
    # A loop within a scan, states of one number, and states of int32 that wrap.
    rows = lambda name: value(name, [2, 3])
    inner = loop_body([node("Mul", ["t", "most"], ["q"]), node("Add", ["q", "x"], ["r"])], [rows("t")], [rows("r")], most=np.float32(0.75))
    outer = helper.make_graph([node("Loop", ["trips", "yes", "s"], ["l"], body=inner), node("Tanh", ["l"], ["n"])], "body", [rows("s"), rows("x")], [rows("n")])
    yield case("nested", [node("Scan", ["s0", "xs"], ["last"], body=outer, num_scan_inputs=1)], {"s0": few_bits(2, 3), "xs": few_bits(30, 2, 3)}, ["last"], trips=np.int64(40), **yes)
    number = lambda name: value(name, [])
    body = loop_body([node("Add", ["s", "d"], ["n"]), node("Cast", ["i"], ["r"], to=FLOAT), node("Mul", ["r", "n"], ["o"])], [number("s")], [number("n"), number("o")])
    yield case("numbers", [node("ReduceSum", ["x"], ["d"], keepdims=0), node("Loop", ["trips", "yes", "zero"], ["last", "all"], body=body)], {"x": few_bits(5)}, ["last", "all"],
               trips=np.int64(70), zero=np.float32(0), **yes)
    word = lambda name: value(name, None, INT32)
    body = loop_body([node("Mul", ["s", "three"], ["a"]), node("Add", ["a", "x"], ["n"])], [word("s")], [word("n")], three=np.int32(3))
    yield case("words", [node("Loop", ["trips", "yes", "x"], ["last"], body=body)], {"x": np.array([1, 2, -3, 70000, 5], "int32")}, ["last"], kinds={"last": INT32}, trips=np.int64(100), **yes)
    # A step that is no operation is written out, trip by trip.
    body = loop_body([node("Conv", ["s", "w"], ["n"], pads=[1, 1])], ["s"], ["n"], w=few_bits(3, 3, 3))
    yield case("layers", [node("Loop", ["trips", "yes", "x"], ["last"], body=body)], {"x": few_bits(2, 3, 6)}, ["last"], {"x": ["n", 3, 6]}, trips=np.int64(40), **yes)
