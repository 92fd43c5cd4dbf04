# SPDX-License-Identifier: BSD-3-Clause
"""Writes the golden files of this folder; golden.hpp reads them.

A file is a sequence of blocks: a line `name rank d0 d1 ...`, then d0 * d1 * ... numbers (float32, shortest text that
reads back to the same value) on one or more lines. Lines that start with `#` are comments. Names hold no blanks.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
LINE = 118


def number(value):
    value = np.float32(value)
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == np.rint(value) and abs(value) < 1e7:
        return "-0" if value == 0 and np.signbit(value) else str(int(value))
    plain = np.format_float_positional(value, unique=True, trim="-")
    plain = plain.replace("0.", ".", 1) if plain.lstrip("-").startswith("0.") else plain
    scientific = np.format_float_scientific(value, unique=True, trim="-", exp_digits=1).replace("e+", "e")
    text = plain if len(plain) <= len(scientific) else scientific
    assert np.float32(float(text)) == value
    return text


class GoldenFile:
    def __init__(self, name, title):
        import tensorflow as tf

        self.path = FOLDER / name
        self.names = set()
        maker = f"make_*.py of this folder with tensorflow {tf.__version__}"
        self.lines = [f"# {title}", f"# Made by {maker}; do not edit."]

    def comment(self, text):
        self.lines.append(f"# {text}")

    def add(self, name, value):
        value = np.asarray(value, dtype=np.float32)
        assert " " not in name and name not in self.names, name
        self.names.add(name)
        self.lines.append(" ".join([name, str(value.ndim), *map(str, value.shape)]))
        line = ""
        for text in map(number, value.ravel()):
            if line and len(line) + 1 + len(text) > LINE:
                self.lines.append(line)
                line = ""
            line = f"{line} {text}" if line else text
        if line:
            self.lines.append(line)

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")
        print(f"{self.path.name}: {len(self.names)} tensors, {self.path.stat().st_size} bytes")


class Numbers:
    """Random inputs with few digits, so that the files stay small."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def normal(self, *shape, scale=1.0, digits=2):
        return np.round(self.generator.normal(0, scale, shape), digits).astype(np.float32)

    def uniform(self, *shape, low=0.0, high=1.0, digits=2):
        return np.round(self.generator.uniform(low, high, shape), digits).astype(np.float32)

    def integers(self, *shape, high):
        return self.generator.integers(0, high, shape)

    def one_hot(self, rows, classes):
        return np.eye(classes, dtype=np.float32)[self.generator.integers(0, classes, rows)]
