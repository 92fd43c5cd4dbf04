# SPDX-License-Identifier: BSD-3-Clause
"""Networks of PyTorch with random weights, exported by both of its exporters with a fixed and a free batch: imported by the
tool, compiled, and compared with onnxruntime. Prints a table, and fails if a row is worse than pytorch.txt says.

    check_pytorch.py <stagecraft> <folder> <compiler> [--only <expression>] [--import-only] [--update]

Skipped (77) where Python lacks torch, torchvision, onnxruntime."""
import contextlib
import io
import logging
import pathlib
import re
import subprocess
import sys
import time
import warnings

try:
    import numpy as np
    import onnxruntime
    import torch
    import torchvision
    from torch import nn
except ImportError as lacks:
    print(f"skipped: {lacks}")
    sys.exit(77)

TOOL = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])
COMPILER = sys.argv[3]
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
LIST = HERE / "pytorch.txt"
CLASSIFIERS = {"alexnet": 224, "vgg11": 64, "resnet18": 64, "resnext50_32x4d": 64, "squeezenet1_1": 64, "densenet121": 64,
               "googlenet": 64, "inception_v3": 128, "shufflenet_v2_x0_5": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64,
               "mnasnet0_5": 64, "efficientnet_b0": 64, "efficientnet_v2_s": 64, "regnet_y_400mf": 64, "regnet_x_400mf": 64,
               "convnext_tiny": 64, "vit_b_16": 224, "swin_t": 64, "swin_v2_t": 64, "maxvit_t": 224}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.inside = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.inside(x)


class Decoder(nn.Module):
    """Tokens, learned positions, a causal mask, and the scores of the next token."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 32), nn.Embedding(16, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")
        self.inside, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 50)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.tokens(ids) + self.positions(torch.arange(length))
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        return self.out(self.inside(x, mask=mask, is_causal=True))


class Sentence(nn.Module):
    """The mean of the tokens that count, of length 1."""

    def __init__(self):
        super().__init__()
        self.tokens, self.inside = nn.Embedding(50, 32, padding_idx=0), Encoder()

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        x = self.inside(self.tokens(ids)) * mask
        return nn.functional.normalize(x.sum(1) / mask.sum(1).clamp(min=1e-9), dim=1)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                           nn.Conv2d(b, b, 3, padding=1), nn.ReLU())
        self.down, self.middle, self.up, self.last = block(3, 8), block(8, 16), block(24, 8), nn.Conv2d(8, 2, 1)
        self.wide = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.turned = nn.ConvTranspose2d(8, 8, 2, stride=2)

    def forward(self, x):
        high = self.down(x)
        low = self.middle(nn.functional.max_pool2d(high, 2))
        y = self.up(torch.cat([high, self.wide(low)], 1))
        return self.last(nn.functional.max_pool2d(self.turned(y), 2))


class Tagger(nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.tokens, self.both = nn.Embedding(40, 8), both
        self.inside = kind(8, 6, num_layers=2, batch_first=True, bidirectional=both)
        self.out = nn.Linear(12 if both else 6, 5)

    def forward(self, ids):
        y, state = self.inside(self.tokens(ids))
        h = state[0] if isinstance(state, tuple) else state
        last = torch.cat([h[-2], h[-1]], 1) if self.both else h[-1]
        return self.out(y), self.out(last)


def images(size):
    return lambda batch: torch.randn(batch, 3, size, size)


def tokens(most, length, padded=False):
    def make(batch):
        ids = torch.randint(1, most, (batch, length))
        if padded:
            ids[:, length - 3:] = 0
        return ids
    return make


def networks():
    for name, size in CLASSIFIERS.items():
        more = {"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
        yield name, lambda name=name, more=more: getattr(torchvision.models, name)(weights=None, num_classes=10, **more), images(size)
    yield "encoder", Encoder, lambda batch: torch.randn(batch, 7, 32)
    yield "decoder", Decoder, tokens(50, 12)
    yield "sentence", Sentence, tokens(50, 12, True)
    yield "unet", UNet, images(32)
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for both in (False, True):
            name = f"{kind.__name__.lower()}_tagger" + ("_both" if both else "")
            yield name, lambda kind=kind, both=both: Tagger(kind, both), tokens(40, 9)


def with_statistics(model):
    """Batch normalizations with statistics of their own: those of a new network change nothing."""
    for part in model.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    return model.eval()


def export(model, x, path, is_new, is_free):
    kwargs = {}
    if is_free:
        kwargs = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)} if is_new else {"dynamic_axes": {"x": {0: "batch"}}}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), str(path), input_names=["x"], dynamo=is_new, **kwargs)


def run(*command, seconds=300):
    done = subprocess.run([str(part) for part in command], cwd=FOLDER, capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stdout + done.stderr


def import_network(name, path, x):
    """None, or why the tool refuses it. The test that it writes has onnxruntime's outputs."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    given = x.numpy().astype("float32")
    arrays = []
    for i, array in enumerate([given, *outputs]):  # pictures with channels first: the tool moves them
        arrays.append(FOLDER / f"{name}_{i}.npy")
        np.save(arrays[-1], np.ascontiguousarray(array, dtype="float32"))
    try:
        code, text = run(TOOL, "import", path, "--output", name, "--test-inputs", arrays[0], "--test-outputs", *arrays[1:])
    except subprocess.TimeoutExpired:
        return "takes longer than five minutes"
    found = re.search(r"\n  (.*)", text) or re.search(r": (.*)", text)
    return None if code == 0 else (found[1] if found else text[-200:])[:160]


def compile_and_run(name):
    program = FOLDER / name
    begin = time.time()
    code, text = run(COMPILER, "-std=c++20", "-O0", "-march=native", "-fconstexpr-steps=500000000" if "clang" in COMPILER else "-Wall",
                     "-I", INCLUDE, f"{name}_test.cpp", "-o", program, "-pthread", "-lzip", seconds=900)
    if code != 0:
        first = re.search(r"error: (.*)", text)
        return "does not compile: " + (first[1] if first else text[:160])
    code, text = run(program, ".")
    program.unlink()
    return f"right, compiled in {time.time() - begin:.0f} s" if code == 0 else "WRONG " + " ".join(text.split("\n"))[:160]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    said, known = {}, {}
    for name, make, inputs in networks():
        if not re.match(ONLY, name):
            continue
        torch.manual_seed(1)
        model = with_statistics(make())
        for is_new in (False, True):
            for is_free in (False, True):
                row = f"{name} {'new' if is_new else 'old'} {'free' if is_free else 'fixed'}"
                case = row.replace(" ", "_")
                x = inputs(2)
                try:
                    export(model, x, FOLDER / f"{case}.onnx", is_new, is_free)
                except Exception as why:  # what PyTorch throws has no common type
                    said[row] = "PyTorch does not export it: " + str(why).split("\n")[0][:100]
                    print(row, said[row], flush=True)
                    continue
                why = import_network(case, FOLDER / f"{case}.onnx", x)
                if why is not None:
                    said[row] = "refused: " + why
                elif "--import-only" in sys.argv:
                    said[row] = "imported"
                else:
                    source = re.sub(rf"\b{case}\b", "", (FOLDER / f"{case}.hpp").read_text())
                    if source not in known:
                        known[source] = compile_and_run(case)
                    said[row] = known[source]
                print(row, said[row], flush=True)
    right = sum(why.startswith("right") for why in said.values())
    print(f"{right} of {len(said)} are right, with PyTorch {torch.__version__}, torchvision {torchvision.__version__}, "
          f"onnxruntime {onnxruntime.__version__}")
    lines = [f"{row}: {re.sub(', compiled in .*', '', why)}" for row, why in said.items()]
    if "--update" in sys.argv:
        LIST.write_text("\n".join(lines) + "\n")
        return 0
    expected = dict(line.split(": ", 1) for line in LIST.read_text().splitlines()) if LIST.exists() else {}
    worse = [line for line in lines if expected.get(line.split(": ")[0]) == "right" and not line.endswith(": right")]
    print("\n".join(worse))
    return 1 if worse or any("WRONG" in why for why in said.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
