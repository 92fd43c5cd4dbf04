# SPDX-License-Identifier: BSD-3-Clause
"""Files of weights whose names are not those of the layers, for tests/import/weight_names_test.cpp.

    python3 make_weight_names.py     writes ../import/weight_names.tar.xz

Keras 3 puts the name of a Sequential or a subclassed model before those of its layers. What TensorFlow 1 in a second graph
and Keras 1 have written is imitated with h5py, in the layout that they share with Keras 2: groups of layers, each with
"weight_names". The n-th weight of a model, layer by layer, is full of n.

Made with Keras 3.15.1 and h5py 3."""
import io
import os
import pathlib
import tarfile
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import keras
import numpy as np

L = keras.layers
OUTPUT = pathlib.Path(__file__).parent.parent / "import" / "weight_names.tar.xz"


def numbered(model, *layers):
    """Fills the weights with numbers, in the order of the layers."""
    weights = [weight for layer in layers for weight in layer.weights]
    assert len(weights) == len(model.weights)
    for number, weight in enumerate(weights, 1):
        weight.assign(np.full(weight.shape, number, "float32"))
    return model


def sequential():
    layers = [L.Dense(2, name="a"), L.BatchNormalization(name="n"), L.Dense(2, name="c")]
    return numbered(keras.Sequential([keras.Input((2,)), *layers], name="sequential"), *layers)


def nested(inside_is_frozen=False):
    layers = [L.Dense(2, name="a"), L.BatchNormalization(name="n"), L.Dense(2, name="c")]
    encoder = keras.Sequential([keras.Input((2,)), *layers], name="encoder")
    encoder.trainable = not inside_is_frozen
    last, x = L.Dense(1, name="b"), keras.Input((2,))
    return numbered(keras.Model(x, last(encoder(x)), name="outer"), *layers, last)


class Subclassed(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.zeroth, self.more = L.Dense(2, name="a"), [L.BatchNormalization(name="n"), L.Dense(2, name="c")]

    def call(self, x):
        x = self.zeroth(x)
        for layer in self.more:
            x = layer(x)
        return x


def subclassed():
    model = Subclassed(name="mine")
    model(np.zeros((1, 2), "float32"))
    return numbered(model, model.zeroth, *model.more)


def nested_subclassed():
    encoder, last, x = Subclassed(name="encoder"), L.Dense(1, name="b"), keras.Input((2,))
    model = keras.Model(x, last(encoder(x)), name="outer")
    return numbered(model, encoder.zeroth, *encoder.more, last)


def cells():
    """Cells whose groups have another order in the file: gru_cell, simple_rnn_cell, simple_rnn_cell_1, simple_rnn_cell_10."""
    loop = L.RNN([L.GRUCell(2) if i == 6 else L.SimpleRNNCell(2) for i in range(13)], name="loop")
    return numbered(keras.Sequential([keras.Input((3, 2)), loop], name="cells"), loop)


KERNEL, VECTOR = (2, 2), (2,)
NORMALIZATION = [("gamma", VECTOR), ("beta", VECTOR), ("moving_mean", VECTOR), ("moving_variance", VECTOR)]


def imitate(path, groups):
    """`groups`: the names of weights in each layer's group, each with its number and shape."""
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [name.encode() for name in groups]
        for name, weights in groups.items():
            group = file.create_group(name)
            group.attrs["weight_names"] = [weight.encode() for weight, _, _ in weights]
            for weight, number, shape in weights:
                group.create_dataset(weight, data=np.full(shape, number, "float32"))


def imitations(folder):
    def dense(name, first, kernel="{}/kernel:0", bias="{}/bias:0"):
        return [(kernel.format(name), first, KERNEL), (bias.format(name), first + 1, VECTOR)]

    def normalization(name, first):
        return [(f"{name}/{part}:0", first + i, shape) for i, (part, shape) in enumerate(NORMALIZATION)]

    imitate(folder / "second_graph.h5", {"a": dense("a_1", 1), "n": normalization("n_3", 3), "c": dense("c_1", 7)})
    imitate(folder / "scopes.h5", {"a": dense("tower/c", 1), "n": normalization("tower/n", 3), "c": dense("tower/a", 7)})
    keras_1 = [(f"n_{part}:0", 3 + i, VECTOR) for i, part in enumerate(["gamma", "beta", "running_mean", "running_std"])]
    imitate(folder / "keras_1.h5", {"a": dense("a", 1, "{}_W:0", "{}_b:0"), "n": keras_1, "c": dense("c", 7, "{}_W:0", "{}_b:0")})
    imitate(folder / "theano.h5", {"a": [("a/kernel:0", 1, (3, 3, 1, 2)), ("a/bias:0", 2, VECTOR)]})
    with h5py.File(folder / "theano.h5", "a") as file:
        file.attrs["backend"] = b"theano"
    imitate(folder / "slashes.h5", {"block/a": dense("block/a", 1), "block/n": normalization("block/n", 3), "c": dense("c", 7)})
    # Of a nested model, what is trained comes first.
    statistics = normalization("n_1", 3)
    inside = [*dense("a_1", 1), *statistics[:2], *dense("c_1", 7), *statistics[2:]]
    last = [("b_1/kernel:0", 9, (2, 1)), ("b_1/bias:0", 10, (1,))]
    imitate(folder / "nested_second_graph.h5", {"encoder": inside, "b": last})
    frozen = [*dense("a_1", 1), *statistics, *dense("c_1", 7)]
    imitate(folder / "nested_frozen_second_graph.h5", {"encoder": frozen, "b": last})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, endings in ((sequential(), (".h5", ".weights.h5", ".keras")), (subclassed(), (".h5", ".weights.h5")),
                               (nested(), (".h5", ".weights.h5", ".keras")), (nested_subclassed(), (".weights.h5",)), (cells(), (".h5", ".weights.h5", ".keras"))):
            kind = {"mine": "subclassed", "outer": "nested"}.get(model.name, model.name)
            if any(isinstance(layer, Subclassed) for layer in model.layers):
                kind = "nested_subclassed"
            for ending in endings:
                file = folder / (kind + ending)
                (model.save_weights if ending == ".weights.h5" else model.save)(file)
        nested(inside_is_frozen=True).save(folder / "nested_frozen.h5")
        imitations(folder)
        with tarfile.open(OUTPUT, "w:xz") as archive:
            for file in sorted(folder.iterdir()):
                facts = tarfile.TarInfo(file.name)
                facts.size = file.stat().st_size
                archive.addfile(facts, io.BytesIO(file.read_bytes()))
                print(file.name, facts.size)


main()
