# SPDX-License-Identifier: BSD-3-Clause
"""Small model files for the checks of this folder, byte by byte."""
import array
import io
import json
import zipfile


def keras(config, weights=b""):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", weights)
    return packed.getvalue()


def sequential(*layers):
    entries = [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "input"}}]
    entries += [{"class_name": name, "config": config} for name, config in layers]
    return {"class_name": "Sequential", "config": {"name": "sequential", "layers": entries}}


def message(*fields):
    """Fields of protobuf: a number, and an integer, bytes or a text."""
    def varint(value):
        result = bytearray()
        while value > 127:
            result.append(value & 127 | 128)
            value >>= 7
        return bytes(result) + bytes([value])
    packed = b""
    for number, value in fields:
        if isinstance(value, int):
            packed += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            packed += varint(number << 3 | 2) + varint(len(value)) + value
    return packed


def onnx(nodes, constants=(), opset=17, shape=(None, 4), inputs=("x",), outputs=("y",)):
    """A file of nodes (type, inputs, outputs, attributes) and constants (name, shape, numbers)."""
    dimensions = [(1, message((2, "n")) if length is None else message((1, length))) for length in shape]
    value = lambda name: message((1, name), (2, message((1, message((1, 1), (2, message(*dimensions)))))))
    graph = [(1, message(*((1, i) for i in ins), *((2, o) for o in outs), (4, kind), *((5, each) for each in attributes)))
             for kind, ins, outs, *attributes in nodes]
    graph += [(5, message(*((1, length) for length in lengths), (2, 1), (8, name), (9, array.array("f", numbers).tobytes())))
              for name, lengths, numbers in constants]
    graph += [(11, value(name)) for name in inputs] + [(12, value(name)) for name in outputs]
    return message((1, 8), (7, message(*graph)), (8, message((1, ""), (2, opset))))


def node(kind, name, *inputs, **attributes):
    """A node of TensorFlow's graphs; an attribute is its kind and its value."""
    def dimension(length):
        return (2, message((1, (1 << 64) - 1 if length is None else length)))

    def value(what, of):
        if what == "real":
            return b"\x25" + array.array("f", [of]).tobytes()
        if what == "tensor":
            content = array.array("f", of).tobytes()
            return message((8, message((1, 1), (2, message(dimension(len(of)))), (4, content))))
        if what == "shape":
            return message((7, message(*map(dimension, of))))
        if what == "function":
            return message((10, message((1, of))))
        return message(({"text": 2, "integer": 3, "truth": 5, "type": 6}[what], int(of) if what == "truth" else of))
    return message((1, name), (2, kind), *((3, each) for each in inputs), *((5, message((1, key), (2, value(*each)))) for key, each in attributes.items()))


def graph_def(*nodes):
    """A frozen graph."""
    return message(*((1, each) for each in nodes))
