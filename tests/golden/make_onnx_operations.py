# SPDX-License-Identifier: BSD-3-Clause
"""ONNX files of nodes that are no layers, and what onnxruntime predicts: <folder>/<name>.onnx, <name>_x0.npy, <name>_y0.npy.

    python3 tests/golden/make_onnx_operations.py <folder>     and then pack the folder into tests/import/onnx_operations.tar.xz

Made with onnx 1.23.2 and onnxruntime 1.32.0."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])
random = np.random.default_rng(34)


def few_bits(*shape, scale=0.3):
    """Numbers of a few bits: files are packed well in the repository."""
    return (np.round(random.normal(0, scale, shape) * 64) / 64).astype("float32")


class Graph:
    def __init__(self, name, opset, shape):
        self.name, self.opset, self.shape = name, opset, shape
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, *inputs, outputs=1, **attributes):
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.count += 1
        made = [f"{kind.lower()}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, made, f"{kind}_{self.count}", **attributes))
        return made[0] if outputs == 1 else made

    def save(self, results, samples=3):
        value = lambda name, shape=None: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [value("x", ["n", *self.shape])], [value(each) for each in results], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        path = FOLDER / f"{self.name}.onnx"
        onnx.save(model, path)
        x = few_bits(samples, *self.shape, scale=1)
        np.save(FOLDER / f"{self.name}_x0.npy", x)
        for i, y in enumerate(onnxruntime.InferenceSession(path).run(None, {"x": x})):
            np.save(FOLDER / f"{self.name}_y{i}.npy", y.astype("float32"))


def integers(*values):
    return np.array(values, dtype="int64")


def number(value):
    return np.array(value, dtype="float32")


def picture():
    """Activations of MobileNetV3, squeeze and excitation, groups, normalizations, parts and borders."""
    to = Graph("operations_picture", 17, (4, 8, 6))
    x = to.node("HardSwish", to.node("Conv", "x", few_bits(8, 2, 3, 3), few_bits(8), group=2, pads=[1, 1, 1, 1]))
    gate = to.node("ReduceMean", x, axes=[2, 3], keepdims=1)
    gate = to.node("HardSigmoid", to.node("Conv", gate, few_bits(8, 8, 1, 1), few_bits(8)), alpha=1 / 6, beta=0.5)
    x = to.node("Mul", gate, x)
    x = to.node("InstanceNormalization", x, few_bits(8), few_bits(8), epsilon=1e-3)
    x = to.node("Pad", x, integers(0, 0, 1, 2, 0, 0, 2, 1), mode="reflect")
    x = to.node("Slice", x, integers(1, -1), integers(10, -9), integers(2, 3), integers(2, -2))
    centred = to.node("Sub", x, to.node("ReduceMean", x, axes=[1], keepdims=1))
    deviation = to.node("Sqrt", to.node("Add", to.node("ReduceMean", to.node("Pow", centred, number(2)), axes=[1]), number(1e-3)))
    x = to.node("Add", to.node("Mul", to.node("Div", centred, deviation), few_bits(8, 1, 1)), few_bits(1, 8, 1, 4))
    x = to.node("Clip", x, number(-0.75), number(1.25))
    to.save([to.node("ReduceL2", x, axes=[1, 2], keepdims=0), x])


def sequence():
    """A class token, learned positions, attention that is no layer of Keras's, masks, both directions with their last states."""
    to = Graph("operations_sequence", 17, (7, 6))
    token = to.node("Expand", to.constant(few_bits(1, 1, 6), "token"), to.node("Concat", to.node("Slice", to.node("Shape", "x"), integers(0), integers(1)), integers(1, 6), axis=0))
    x = to.node("Concat", token, to.node("Slice", "x", integers(1), integers(7), integers(1)), axis=1)
    x = to.node("Add", x, to.constant(few_bits(1, 7, 6), "encoder.positions"))
    q, k, v = to.node("Split", to.node("MatMul", x, few_bits(6, 12)), integers(4, 4, 4), axis=2, outputs=3)
    scores = to.node("MatMul", q, to.node("Transpose", k, perm=[0, 2, 1]))
    scores = to.node("Where", to.node("Greater", scores, number(-0.5)), scores, number(-2))
    x = to.node("MatMul", to.node("Softmax", scores, axis=1), v)
    w, r, b = few_bits(2, 20, 4), few_bits(2, 20, 5), few_bits(2, 40)
    steps, last = to.node("LSTM", to.node("Transpose", x, perm=[1, 0, 2]), w, r, b, hidden_size=5, direction="bidirectional", outputs=2)
    picked = to.node("Gather", to.node("Squeeze", to.node("Slice", steps, integers(0), integers(1), integers(1)), integers(1)), integers(6, 0, 3, 3), axis=0)
    picked = to.node("Transpose", picked, perm=[1, 0, 2])
    token = to.node("Gather", to.node("Abs", x), integers(-1)[0], axis=1)
    both = to.node("Reshape", to.node("Transpose", last, perm=[1, 0, 2]), integers(0, 10))
    rest = to.node("Div", to.node("Exp", to.node("Min", token, number(1.5))), to.node("Max", to.node("ReduceSum", to.node("Abs", token), integers(1)), number(0.25)))
    to.save([to.node("Concat", both, rest, axis=1), picked, to.node("LogSoftmax", scores, axis=1)])


def old():
    """What was an attribute before opset 10, 11 or 13; softmax of several axes."""
    to = Graph("operations_old", 9, (3, 4, 6))
    x = to.node("Conv", "x", few_bits(4, 3, 1, 1))
    x = to.node("Clip", x, min=-0.5, max=0.75)
    a, b = to.node("Split", x, axis=1, split=[1, 3], outputs=2)
    x = to.node("Mul", b, to.node("Unsqueeze", to.node("Squeeze", a, axes=[1]), axes=[1]))
    x = to.node("Slice", x, axes=[2, 3], starts=[1, -4], ends=[4, 2**31])
    x = to.node("Pad", x, pads=[0, 0, 0, 0, 0, 0, 1, 0], mode="constant", value=0.5)
    x = to.node("Upsample", x, np.array([1, 1, 2, 2], dtype="float32"), mode="nearest")
    to.save([to.node("Softmax", x, axis=1), to.node("ReduceMax", to.node("Dropout", x, ratio=0.5), axes=[2], keepdims=0)])


FOLDER.mkdir(parents=True, exist_ok=True)
picture()
sequence()
old()
