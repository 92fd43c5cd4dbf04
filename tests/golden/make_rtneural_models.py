# SPDX-License-Identifier: BSD-3-Clause
"""Models of real Keras in RTNeural's JSON format, and what Keras predicts: tests/import/rtneural_models.tar.xz.

    python3 tests/golden/make_rtneural_models.py

The weights of a layer are those of Keras's get_weights, in nested lists. Samples of the first two models and of the last,
whose number of steps is open, are predicted one after the other, with states that go on; the last has convolutions, for
which Keras keeps nothing, and so predicts all samples as one sequence. Made with Keras 3.15.1 on TensorFlow 2.21.0."""
import io
import json
import os
import pathlib
import tarfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import keras

L = keras.layers
ARCHIVE = pathlib.Path(__file__).parents[1] / "import" / "rtneural_models.tar.xz"
RANDOM = np.random.default_rng(31)


def entry(layer):
    """A layer of the file."""
    types = {"Dense": "dense", "LSTM": "lstm", "GRU": "gru", "Conv1D": "conv1d", "PReLU": "prelu", "Activation": "activation",
             "BatchNormalization": "batchnorm", "TimeDistributed": "time-distributed-dense"}
    kind = type(layer).__name__
    inner = layer.layer if kind == "TimeDistributed" else layer
    function = getattr(inner, "activation", None)
    name = "" if function is None or function.__name__ == "linear" else function.__name__
    written = {"type": types[kind], "activation": name, "shape": [None, *list(layer.output.shape[1:])]}
    if kind == "Conv1D":
        written |= {"kernel_size": list(layer.kernel_size), "dilation": list(layer.dilation_rate), "groups": layer.groups}
    if kind == "BatchNormalization":
        written["epsilon"] = layer.epsilon
    return written | {"weights": [array.tolist() for array in layer.get_weights()]}


def model_file(model, steps):
    layers = [entry(layer) for layer in model.layers]
    for each in layers:
        if len(each["shape"]) == 3:
            each["shape"][1] = steps
    return json.dumps({"in_shape": [None, steps, model.input_shape[-1]], "layers": layers}, indent=1)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def models():
    """Each with its number of steps in the file, and its inputs."""
    open_steps = keras.Input(batch_shape=(1, 1, 2))
    yield "amplifier", keras.Sequential([open_steps, L.LSTM(6, return_sequences=True, stateful=True), L.Dense(1)]), None, numbers(9, 1, 2)
    layers = [L.TimeDistributed(L.Dense(5, activation="tanh")), L.GRU(4, return_sequences=True, stateful=True),
              L.Dense(3, activation="sigmoid", use_bias=False), L.Activation("elu"), L.Dense(2)]
    yield "synthesizer", keras.Sequential([keras.Input(batch_shape=(1, 1, 3)), *layers]), None, numbers(9, 1, 3)
    layers = [L.Dense(4, activation="relu"), L.Conv1D(6, 3, dilation_rate=2, groups=2, padding="causal", activation="tanh"),
              L.BatchNormalization(epsilon=0.01), L.PReLU(shared_axes=[1]), L.Conv1D(4, 1, padding="causal"),
              L.BatchNormalization(epsilon=0.5, center=False, scale=False), L.PReLU(shared_axes=[1, 2]),
              L.LSTM(3, return_sequences=True), L.Dense(3, activation="softmax")]
    yield "wave", keras.Sequential([keras.Input((12, 2)), *layers]), 12, numbers(4, 12, 2)
    layers = [L.Dense(5, activation="tanh"), L.Conv1D(4, 3, dilation_rate=2, padding="causal", activation="tanh"),
              L.Conv1D(6, 2, dilation_rate=4, groups=2, padding="causal"), L.PReLU(shared_axes=[1]), L.Conv1D(3, 1, padding="causal"),
              L.GRU(4, return_sequences=True), L.Dense(2)]
    yield "stream", keras.Sequential([keras.Input((None, 1)), *layers]), None, numbers(17, 1, 1)


def array_file(array):
    packed = io.BytesIO()
    np.save(packed, np.ascontiguousarray(array))
    return packed.getvalue()


def main():
    with tarfile.open(ARCHIVE, "w:xz") as archive:

        def add(name, content):
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))

        for name, model, steps, x in models():
            # Numbers of all sizes and signs, variances above 0.
            model.set_weights([0.5 * np.abs(numbers(*w.shape)) + 0.1 if "variance" in w.path else 0.5 * numbers(*w.shape)
                               for w in model.weights])
            if name == "stream":
                y = model(x.reshape(1, -1, x.shape[-1])).numpy().reshape(len(x), 1, -1)
            else:
                y = np.concatenate([model(x[i : i + 1]).numpy() for i in range(len(x))])
            add(f"{name}.json", model_file(model, steps).encode())
            add(f"{name}_x0.npy", array_file(x))
            add(f"{name}_y0.npy", array_file(y))


main()
