# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of whole numbers, which check_onnx_nodes.py compares with onnxruntime: numbers above 2^24, which float32 does not have, products of
8 bits, whose sums have more digits than float32, and onnxruntime's own operators of transformers."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node as node
from onnx.reference import ReferenceEvaluator

FLOAT, INT32, INT64, INT8, UINT8 = (getattr(TensorProto, each) for each in ("FLOAT", "INT32", "INT64", "INT8", "UINT8"))
BEYOND = 2**24


def case(name, nodes, outputs, inputs, constants, opset=21, exact=None):
    """The case whose inputs, but for the first axis, and constants have the shapes of these arrays. `exact` computes the output in doubles
    where onnxruntime rounds sums before the last step."""
    given = [helper.make_tensor_value_info(each, helper.np_dtype_to_tensor_dtype(array.dtype), ["N", *array.shape[1:]]) for each, array in inputs.items()]
    found = [helper.make_tensor_value_info(each, kind, None) for each, kind in outputs.items()]
    graph = helper.make_graph(nodes, name, given, found, [numpy_helper.from_array(np.asarray(each), which) for which, each in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    if exact is not None:
        expected = [exact(*inputs.values(), {which: np.asarray(each, "float64") for which, each in constants.items()})]
    elif any(each.op_type == "BitCast" for each in nodes):  # newer than onnxruntime
        expected = ReferenceEvaluator(model).run(None, inputs)
    else:
        expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    return f"whole_{name}", model, list(inputs.values()), expected


def words():
    x = np.array([[BEYOND + 1, -BEYOND - 3, 7], [5, 2**31 - 1, -9]], "int32")
    int32, int64 = (lambda *values: np.array(values, "int32").squeeze()), (lambda *values: np.array(values, "int64"))
    yield case("difference", [node("Sub", ["x", "c"], ["d"]), node("Cast", ["d"], ["y"], to=FLOAT)], {"y": FLOAT}, {"x": x}, {"c": int32(BEYOND)})
    yield case("quotient_remainder", [node("Sub", ["x", "c"], ["d"]), node("Div", ["d", "e"], ["q"]), node("Mod", ["x", "e"], ["r"]), node("Add", ["q", "r"], ["y"])],
               {"y": INT32}, {"x": x}, {"c": int32(BEYOND + 1, -BEYOND - 3, 2**30 + 1), "e": int32(3, -7, BEYOND + 5)})
    yield case("bits", [node("BitwiseAnd", ["x", "m"], ["a"]), node("BitwiseXor", ["x", "a"], ["o"]), node("BitwiseNot", ["o"], ["n"]), node("BitwiseOr", ["n", "m"], ["w"]),
                        node("Div", ["w", "k"], ["y"])], {"y": INT32}, {"x": x}, {"m": int32(0x55555555), "k": int32(1024)})
    yield case("float_bits", [node("BitCast", ["x"], ["w"], to=INT32), node("BitwiseAnd", ["w", "m"], ["z"]), node("BitCast", ["z"], ["y"], to=FLOAT)], {"y": FLOAT},
               {"x": np.array([[1.5, -2.25, 1e-3]], "float32")}, {"m": int32(-65536)}, 26)
    yield case("choice", [node("Equal", ["x", "p"], ["m"]), node("Where", ["m", "z", "x"], ["w"]), node("Cast", ["w"], ["y"], to=FLOAT)], {"y": FLOAT},
               {"x": int64([BEYOND + 1, BEYOND, 3])}, {"p": np.int64(BEYOND), "z": np.int64(0)})
    yield case("moved", [node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), node("Slice", ["t", "s", "e", "a"], ["p"]), node("Concat", ["p", "t"], ["k"], axis=2),
                         node("Reshape", ["k", "to"], ["q"]), node("Sub", ["q", "c"], ["d"]), node("Cast", ["d"], ["y"], to=FLOAT)], {"y": FLOAT},
               {"x": np.array([[[BEYOND + 1, BEYOND + 3, 7], [5, 2**31 - 1, -9]]], "int32")},
               {"s": int64(1), "e": int64(2), "a": int64(2), "to": int64(0, -1), "c": int32(BEYOND)})
    yield case("power", [node("Pow", ["x", "e"], ["w"]), node("Mod", ["w", "k"], ["y"])], {"y": INT32}, {"x": int32([3, -5, 1291]).reshape(1, 3)}, {"e": int32(3), "k": int32(1000)})
    yield case("bounds", [node("Max", ["x", "c"], ["u"]), node("Clip", ["u", "lo", "hi"], ["v"]), node("Neg", ["v"], ["n"]), node("Abs", ["n"], ["a"]), node("Sub", ["a", "c"], ["d"]),
                          node("Cast", ["d"], ["y"], to=FLOAT)], {"y": FLOAT}, {"x": x}, {"c": int32(BEYOND + 1), "lo": int32(-5), "hi": int32(2**30 + 1)})
    yield case("reductions", [node("ReduceSum", ["x", "a"], ["s"], keepdims=0), node("ReduceMax", ["x", "a"], ["m"], keepdims=0), node("Sub", ["m", "s"], ["y"])], {"y": INT32},
               {"x": int32([BEYOND + 1, -BEYOND - 4, 7, 9, 2**30 + 1]).reshape(1, 5)}, {"a": int64(1)})
    yield case("running_sum", [node("CumSum", ["x", "a"], ["s"], exclusive=1, reverse=1), node("Mod", ["s", "k"], ["y"])], {"y": INT32},
               {"x": int32([BEYOND + 1, -BEYOND - 4, 7, 9, 2**30 - 1]).reshape(1, 5)}, {"a": np.int64(1), "k": int32(1000)})
    yield case("bytes", [node("Add", ["x", "y"], ["z"]), node("Mul", ["z", "y"], ["w"]), node("BitShift", ["w", "s"], ["o"], direction="LEFT")], {"o": UINT8},
               {"x": np.array([[200, 100, 3]], "uint8"), "y": np.array([[100, 200, 255]], "uint8")}, {"s": np.uint8(1)})
    bounds = {each: np.int8(number) for each, number in {"three": 3, "lo": 0, "hi": 6, "six": 6}.items()}
    yield case("hard_swish", [node("Add", ["x", "three"], ["a"]), node("Clip", ["a", "lo", "hi"], ["c"]), node("Mul", ["x", "c"], ["m"]), node("Div", ["m", "six"], ["y"])],
               {"y": INT8}, {"x": np.arange(-5, 15, dtype="int8").reshape(2, 10)}, bounds)
    beyond = int32([BEYOND + 1, BEYOND + 2, -BEYOND - 3, BEYOND + 2, 2**31 - 1, 5]).reshape(1, 6)
    yield case("largest", [node("TopK", ["x", "k"], ["v", "i"], axis=1), node("Sub", ["v", "c"], ["d"]), node("Mod", ["d", "m"], ["y"])], {"y": INT32, "i": INT64}, {"x": beyond},
               {"k": int64(4), "c": int32(BEYOND), "m": int32(1000)})
    yield case("rows", [node("GatherElements", ["x", "i"], ["v"], axis=1), node("Sub", ["v", "c"], ["d"]), node("Mod", ["d", "m"], ["y"])], {"y": INT32}, {"x": beyond},
               {"i": int64([2, 0, 4]), "c": int32(BEYOND), "m": int32(1000)})
    random = np.random.default_rng(1)
    yield case("places", [node("Equal", ["x", "p"], ["m"]), node("Not", ["m"], ["n"]), node("Cast", ["n"], ["i"], to=INT64), node("CumSum", ["i", "a"], ["c"]),
                          node("Mul", ["c", "i"], ["q"]), node("Add", ["q", "one"], ["at"]), node("Gather", ["table", "at"], ["y"])], {"y": FLOAT}, {"x": int64([4, 7, 8, 1, 1])},
               {"p": np.int64(1), "one": np.int64(1), "a": np.int64(1), "table": random.random((9, 4), "float32")})


def quantized_layer(x, c):
    """Conv and Relu between conversions: onnxruntime's sums of floats are a step away from these in 3 of 576 numbers."""
    q = np.clip(np.rint(x / np.float32(c["s"])) + c["z"], 0, 255) - c["z"]
    windows = np.lib.stride_tricks.sliding_window_view(q, (3, 3), axis=(2, 3))
    along = lambda each: each[None, :, None, None]
    sums = np.einsum("nchwij,fcij->nfhw", windows, c["w"]) * along(c["s"] * c["ws"]) + along(c["b"])
    return (np.clip(np.rint(np.maximum(sums, 0) / c["s2"]), 0, 255) * c["s2"]).astype("float32")


def quantized():
    random = np.random.default_rng(0)
    x, w = random.integers(0, 256, (3, 600)).astype("uint8"), random.integers(-128, 128, (600, 7)).astype("int8")
    picture, kernel = random.integers(0, 256, (2, 40, 6, 6)).astype("uint8"), random.integers(-128, 128, (5, 40, 3, 3)).astype("int8")
    real = lambda *values: np.array(values, "float32").squeeze()
    yield case("product", [node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])], {"y": INT32}, {"x": x}, {"w": w, "xz": np.uint8(128), "wz": np.int8(3)})
    yield case("product_scaled", [node("MatMulInteger", ["x", "w", "xz"], ["s"]), node("Cast", ["s"], ["f"], to=FLOAT), node("Mul", ["f", "k"], ["y"])], {"y": FLOAT}, {"x": x},
               {"w": (w // 16).astype("int8"), "xz": np.uint8(100), "k": real(0.01)})
    yield case("convolution", [node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1])], {"y": INT32}, {"x": picture}, {"w": kernel, "xz": np.uint8(7)})
    yield case("convolution_scaled", [node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])], {"y": UINT8}, {"x": picture},
               {"xs": real(0.02), "xz": np.uint8(120), "w": kernel, "ws": random.uniform(0.005, 0.02, 5).astype("float32"), "wz": np.zeros(5, "int8"), "ys": real(0.3),
                "yz": np.uint8(110), "b": random.integers(-30000, 30000, 5).astype("int32")})
    yield case("product_rounded", [node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])], {"y": UINT8}, {"x": x},
               {"xs": real(0.02), "xz": np.uint8(120), "w": w, "ws": real(0.01), "wz": np.int8(0), "ys": real(0.5), "yz": np.uint8(130)})
    floats = 3 * random.standard_normal((3, 4, 5)).astype("float32")
    yield case("dense", [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
                         node("Gemm", ["d", "dw", "b"], ["y"], transB=1)], {"y": FLOAT}, {"x": random.standard_normal((3, 50)).astype("float32")},
               {"s": real(0.02), "z": np.int8(-7), "w": random.integers(-128, 128, (6, 50)).astype("int8"), "ws": random.uniform(0.001, 0.003, 6).astype("float32"),
                "wz": np.zeros(6, "int8"), "b": random.standard_normal(6).astype("float32")})
    yield case("rounded", [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1), node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)], {"y": FLOAT}, {"x": floats},
               {"s": real(0.02, 0.03, 0.05, 0.1), "z": np.array([100, 128, 0, 255], "uint8")})
    yield case("rounded_signed", [node("QuantizeLinear", ["x", "s", "z"], ["y"])], {"y": INT8}, {"x": floats}, {"s": real(0.025), "z": np.int8(-5)})
    yield case("layer", [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
                         node("Conv", ["d", "dw", "b"], ["c"]), node("Relu", ["c"], ["r"]), node("QuantizeLinear", ["r", "s2", "z2"], ["o"]), node("DequantizeLinear", ["o", "s2", "z2"], ["y"])],
               {"y": FLOAT}, {"x": random.standard_normal((2, 3, 8, 8)).astype("float32")},
               {"s": real(0.02), "z": np.uint8(128), "w": random.integers(-127, 128, (8, 3, 3, 3)).astype("int8"), "ws": random.uniform(0.001, 0.003, 8).astype("float32"),
                "wz": np.zeros(8, "int8"), "b": random.standard_normal(8).astype("float32"), "s2": real(0.01), "z2": np.uint8(0)}, exact=quantized_layer)


def transformers():
    random = np.random.default_rng(0)
    floats = lambda *shape: 0.3 * random.standard_normal(shape).astype("float32")
    own = lambda *of, **options: node(*of, domain="com.microsoft", **options)
    x, weights = floats(2, 5, 8), {"w": floats(8, 24), "b": floats(24)}
    tables = {"words": floats(10, 8), "places": floats(6, 8), "segments": floats(2, 8), "g": floats(8) + 1, "h": floats(8)}
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")
    i, s = np.array([[1, 4, 2, 0, 3], [9, 8, 7, 6, 5]], "int32"), np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]], "int32")
    yield case("attention", [own("Attention", ["x", "w", "b"], ["y"], num_heads=2)], {"y": FLOAT}, {"x": x}, weights, 17)
    yield case("attention_causal", [own("Attention", ["x", "w", "b"], ["y"], num_heads=4, unidirectional=1)], {"y": FLOAT}, {"x": x}, weights, 17)
    yield case("attention_mask", [own("Attention", ["x", "w", "b", "mask"], ["y"], num_heads=2)], {"y": FLOAT}, {"x": x, "mask": mask}, weights, 17)
    yield case("encoder", [own("EmbedLayerNormalization", ["i", "s", "words", "places", "segments", "g", "h", "mask"], ["e", "k"], epsilon=1e-5),
                           own("Attention", ["e", "w", "b", "k"], ["a"], num_heads=2), own("SkipLayerNormalization", ["a", "e", "g", "h"], ["y"], epsilon=1e-5)], {"y": FLOAT},
               {"i": i, "s": s, "mask": mask}, {**tables, **weights}, 17)


def cases():
    yield from words()
    yield from quantized()
    yield from transformers()
