# SPDX-License-Identifier: BSD-3-Clause
"""Models in ONNX files, as users bring them to `stagecraft import`: <folder>/<name>.onnx, and what onnxruntime predicts:
<name>_x0.npy, ..., <name>_y0.npy, ..., in the file's own layouts.

    python3 tests/golden/make_onnx_models.py <folder>        and then pack the folder into tests/import/onnx_models.tar.xz

Made with PyTorch 1.13, onnx 1.14.1 and onnxruntime 1.16.3; torch_2, which is all that is made where PyTorch is 2, with PyTorch 2.2.2; torch_dynamo, which is all
where it has the exporter that looks at programs, with PyTorch 2.15, onnx 1.23.2, onnxscript 0.7.2 and onnxruntime 1.32."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

FOLDER = pathlib.Path(sys.argv[1])
random = np.random.default_rng(1)


def few_bits(shape, scale=0.3):
    """Numbers of a few bits: files are packed well in the repository."""
    return (np.round(random.normal(0, scale, shape) * 64) / 64).astype("float32")


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 8, bias=False), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=1))

    def forward(self, x):
        return self.layers(x)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.each = nn.Conv2d(4, 8, 3, padding=1, groups=4)
        self.wide = nn.Conv2d(8, 6, 3, padding=2, dilation=2)
        self.average = nn.AvgPool2d(2, stride=1)
        self.up = nn.ConvTranspose2d(6, 3, 4, stride=2, padding=1)
        self.more = nn.Upsample(scale_factor=2, mode="nearest")
        self.padded = nn.ZeroPad2d((1, 0, 0, 2))
        self.last = nn.Linear(3 * 10 * 9, 4)

    def forward(self, x):
        x = nn.functional.relu6(self.norm(self.first(x)))
        x = nn.functional.leaky_relu(self.each(self.pool(x)), 0.1)
        x = self.average(nn.functional.silu(self.wide(x)))
        x = self.padded(self.more(self.up(x)))
        return self.last(x.view(x.size(0), -1))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after)) if stride > 1 else None

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(x)) + shortcut)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 7, stride=2, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 8, 2), Block(8, 8, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.layer2(self.layer1(torch.relu(self.bn(self.stem(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Words(nn.Module):
    """Embedding, recurrent layers with and without directions, and the last step."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 5)
        self.both = nn.LSTM(5, 4, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 6, batch_first=True)
        self.lstm = nn.LSTM(6, 5, batch_first=True)
        self.fc = nn.Linear(5, 2)

    def forward(self, x):
        x, _ = self.both(self.embedding(x))
        x, _ = self.gru(x)
        x, _ = self.lstm(x)
        return torch.sigmoid(self.fc(x[:, -1, :]))


class Mixer(nn.Module):
    """Layer normalization, GELU, products along both axes of a sequence."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.LayerNorm(8)])
        self.across = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.along = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for norm, across, along in zip(self.norms, self.across, self.along):
            y = across(norm(x).transpose(1, 2)).transpose(1, 2)
            x = x + nn.functional.gelu(along(y))
        return self.head(x.mean(dim=1))


class Attention(nn.Module):
    """Heads as programs write them: three dense layers or one, with a causal mask or none."""

    def __init__(self, size, heads, is_causal, is_one):
        super().__init__()
        self.heads, self.is_causal, self.is_one = heads, is_causal, is_one
        if is_one:
            self.qkv = nn.Linear(size, 3 * size)
        else:
            self.q, self.k, self.v = nn.Linear(size, size), nn.Linear(size, size, bias=False), nn.Linear(size, size)
        self.out = nn.Linear(size, size)
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)).view(1, 1, 6, 6), persistent=False)

    def forward(self, x):
        batch, steps, size = x.shape
        q, k, v = self.qkv(x).split(size, dim=2) if self.is_one else (self.q(x), self.k(x), self.v(x))
        q, k, v = (y.view(batch, steps, self.heads, size // self.heads).transpose(1, 2) for y in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (size // self.heads) ** 0.5
        if self.is_causal:
            scores = scores.masked_fill(self.mask[:, :, :steps, :steps] == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(batch, steps, size))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.first, self.second = Attention(8, 2, False, False), Attention(8, 4, True, True)
        self.own = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = x + self.first(self.norm(x))
        x = x + self.second(x)
        return self.head((x + self.own(x, x, x, need_weights=False)[0]).mean(1))


class Parts(nn.Module):
    """Parts of channels, of rows, and of what dense layers give."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 6, 3, padding=1), nn.Linear(6, 4)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, dim=1)
        top, bottom = (a * torch.sigmoid(b)).split([2, 4], dim=2)
        x = torch.cat([bottom.mean((2, 3)), top.mean((2, 3))], 1)
        p, q = self.fc(x).chunk(2, 1)
        return torch.cat([torch.tanh(x[:, 1:4]), p * q], 1)


def of_opset_18():
    """Axes as inputs, and parts by their number."""
    node = helper.make_node
    nodes = [
        node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2),
        node("Slice", ["b", "zero", "four", "rows"], ["b4"]),
        node("Pad", ["b4", "amounts", "", "rows"], ["c"]),
        node("Add", ["a", "c"], ["d"]),
        node("ReduceMean", ["d", "pixels"], ["y"], keepdims=0),
    ]
    arrays = {"zero": [0], "four": [4], "amounts": [1, 0], "rows": [2], "pixels": [2, 3]}
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["batch", 4, 5, 3]), ("y", ["batch", 2]))]
    graph = helper.make_graph(nodes, "of_opset_18", ends[:1], ends[1:], [numpy_helper.from_array(np.asarray(a, "int64"), n) for n, a in arrays.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="by hand")
    model.ir_version = 8
    return model


def by_hand():
    """Two inputs and outputs, constants of each kind, and nodes without names."""
    node = helper.make_node
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 8, 8])
    size = helper.make_tensor_value_info("size", TensorProto.FLOAT, ["batch", 2])
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("digit", ["batch", 5]), ("map", ["batch", 6, 4, 4]))]
    nodes = [
        node("Sub", ["image", "mean"], ["a"]),
        node("Div", ["a", "deviation"], ["b"]),
        node("Conv", ["b", "k", "kb"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2]),
        node("Elu", ["c"], ["d"], alpha=0.5),
        node("Conv", ["b", "k2"], ["e"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("HardSigmoid", ["e"], ["f"]),
        node("Concat", ["d", "f"], ["map"], axis=1),
        node("GlobalAveragePool", ["map"], ["g"]),
        node("Flatten", ["g"], ["h"]),
        node("Concat", ["h", "size"], ["i"], axis=-1),
        node("Mul", ["i", "half"], ["j"]),
        node("MatMul", ["j", "m"], ["l"]),
        node("Add", ["mb", "l"], ["n"]),
        node("Softplus", ["n"], ["o"]),
        node("Sub", ["o", "one"], ["p"]),
        node("Gemm", ["p", "w", "wb"], ["q"], alpha=0.5, beta=2.0),
        node("Softmax", ["q"], ["digit"]),
    ]
    arrays = {"mean": few_bits((1, 3, 1, 1)), "deviation": 1 + abs(few_bits((3, 1, 1))), "k": few_bits((4, 3, 3, 3)), "kb": few_bits((4,)),
              "k2": few_bits((2, 3, 3, 3)).astype("float16").astype("float32"), "half": np.float32(0.5), "m": few_bits((8, 6)), "mb": few_bits((6,)), "one": np.ones(1, "float32"),
              "w": few_bits((6, 5)), "wb": few_bits((5,))}
    graph = helper.make_graph(nodes, "by_hand", [image, size], outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], producer_name="by hand")
    model.ir_version = 8
    return model


class EncoderOfTorch2(nn.Module):
    """PyTorch 2 divides one product by unflatten, and has scaled_dot_product_attention."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 1, enable_nested_tensor=False)
        self.causal, self.weighted = nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 4, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.encoder(x)
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        x = x + self.causal(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)[0]
        return self.head((x + self.weighted(x, x, x)[0]).mean(1))


class ExportedProgram(nn.Module):
    """What torch.export sees: a recurrent layer, and attention by scaled_dot_product_attention."""

    def __init__(self):
        super().__init__()
        self.steps = nn.LSTM(6, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.steps(x)[0]
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(nn.functional.gelu(x).mean(1))


def save(name, model, *inputs):
    path = FOLDER / (name + ".onnx")
    onnx.checker.check_model(model)
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(str(path))
    for i, x in enumerate(inputs):
        np.save(FOLDER / f"{name}_x{i}.npy", x)
    for i, y in enumerate(session.run(None, {of.name: x for of, x in zip(session.get_inputs(), inputs)})):
        np.save(FOLDER / f"{name}_y{i}.npy", y)


def with_few_bits(module):
    module.eval()
    with torch.no_grad():
        for key, value in module.state_dict().items():
            if value.dtype == torch.float32:
                value.copy_(torch.from_numpy(few_bits(tuple(value.shape)) if "var" not in key else 1 + abs(few_bits(tuple(value.shape)))))
    return module


def save_dynamo(name, module, x):
    samples = ({0: torch.export.Dim("batch", min=1, max=1024)},)
    model = torch.onnx.export(with_few_bits(module), (torch.from_numpy(x),), dynamo=True, dynamic_shapes=samples).model_proto
    for node in model.graph.node:  # where in the program it comes from, which is long
        del node.metadata_props[:]
    save(name, model, x)


def save_torch(name, module, x, opset, **options):
    with_few_bits(module)
    path = FOLDER / (name + ".onnx")
    torch.onnx.export(module, torch.from_numpy(x), str(path), opset_version=opset, input_names=["input"], output_names=["output"], **options)
    save(name, onnx.load(path), x)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    dynamic = {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}}
    if hasattr(torch.onnx, "ONNXProgram") and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9):
        return save_dynamo("torch_dynamo", ExportedProgram(), few_bits((3, 5, 6), 1))
    if torch.__version__.startswith("2."):
        return save_torch("torch_2", EncoderOfTorch2(), few_bits((2, 6, 8), 1), 17, **dynamic)
    kept = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    save_torch("torch_mlp", Perceptron(), few_bits((2, 6), 1), 13)
    save_torch("torch_cnn", Convolutions(), few_bits((2, 2, 12, 12), 1), 14, **dynamic, **kept)
    save_torch("torch_resnet", Residual(), few_bits((2, 3, 16, 16), 1), 17, **dynamic)
    save_torch("torch_words", Words(), random.integers(0, 20, (2, 7)), 16, **dynamic)
    save_torch("torch_mixer", Mixer(), few_bits((2, 6, 8), 1), 16)
    save_torch("torch_mixer17", Mixer(), few_bits((2, 6, 8), 1), 17, **dynamic)
    save("by_hand", by_hand(), few_bits((2, 3, 8, 8), 1), few_bits((2, 2), 1))
    save_torch("torch_attention", Encoder(), few_bits((1, 6, 8), 1), 17)
    save_torch("torch_parts", Parts(), few_bits((2, 2, 6, 6), 1), 16, **dynamic)
    save("opset_18", of_opset_18(), few_bits((2, 4, 5, 3), 1))


if __name__ == "__main__":
    main()
