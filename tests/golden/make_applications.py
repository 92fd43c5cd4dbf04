# SPDX-License-Identifier: BSD-3-Clause
"""The weights of tf.keras.applications: for each model, how many, how many numbers, and a hash of all names and shapes, as
tests/models/keras_applications_test.cpp computes it: applications.txt.

    python3 tests/golden/make_applications.py [--table]        --table prints all names and shapes
    python3 tests/golden/make_applications.py --all <folder>   weights and predictions of all, to be compared by hand

mobilenet_v2.txt has what MobileNetV2 predicts for a small picture; weights and the picture follow from names (values_of).

Made with TensorFlow 2.15.1 and its Keras 2.15.0."""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

MODELS = "ResNet50 ResNet101 ResNet152 VGG16 MobileNetV2 EfficientNetB0".split()


def values_of(name, shape):
    """Numbers that look random, and follow from a name: those of `values_of` in keras_applications_test.cpp."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    x = (np.arange(int(np.prod(shape)), dtype=np.uint64) * 2654435761 + (hashed & 0xFFFFFFFF)) & 0xFFFFFFFF
    for _ in range(2):
        x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    v = ((x >> 16) ^ x).astype("float64") / 4294967296 - 0.5
    kind = name.split("/")[-1]
    if "kernel" in kind:
        fan_in = int(np.prod(shape[:2])) if "depthwise" in kind else int(np.prod(shape[:-1]))
        v *= 2 * np.sqrt(3 / fan_in)
    elif kind in ("gamma:0", "variance:0", "moving_variance:0"):
        v = 1 + 0.5 * v
    elif kind != "picture":
        v *= 0.2
    return v.astype("float32").reshape(shape)


def predictions(name, size, classes):
    keras.backend.clear_session()
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=classes)
    arrays = {w.name: values_of(w.name, w.shape) for w in model.weights}
    model.set_weights(list(arrays.values()))
    x = values_of("picture", (1, size, size, 3))
    return arrays, x, model.predict(x, verbose=0)


def write_all(folder):
    for name, size in (("MobileNetV2", 32), ("ResNet50", 64), ("VGG16", 32), ("EfficientNetB0", 64)):
        arrays, x, y = predictions(name, size, 10)
        arrays = arrays | {"x": x, "y": y}
        for part, keys in (("weights", [k for k in arrays if k not in "xy"]), ("values", ["x", "y"])):
            entries, at = {}, 0
            for key in keys:
                entries[key] = {"dtype": "F32", "shape": list(arrays[key].shape), "data_offsets": [at, at + arrays[key].nbytes]}
                at += arrays[key].nbytes
            text = json.dumps(entries).encode()
            text += b" " * (-len(text) % 8)
            data = b"".join(arrays[key].tobytes() for key in keys)
            (pathlib.Path(folder) / f"{name}_{part}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


def main():
    if "--all" in sys.argv:
        return write_all(sys.argv[-1])
    np.savetxt(pathlib.Path(__file__).parent / "mobilenet_v2.txt", predictions("MobileNetV2", 32, 10)[2][0], "%.9g")
    lines = []
    for name in MODELS:
        keras.backend.clear_session()
        model = getattr(keras.applications, name)(weights=None)
        table = [w.name + "".join(f" {n}" for n in w.shape) for layer in model.layers for w in layer.weights]
        hashed = 0xCBF29CE484222325  # FNV-1a
        for byte in "".join(sorted(line + "\n" for line in table)).encode():
            hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        lines.append(f"{model.name} {len(table)} {sum(int(np.prod(w.shape)) for w in model.weights)} {hashed:016x}")
        if "--table" in sys.argv:
            print("\n".join(sorted(table)))
    (pathlib.Path(__file__).parent / "applications.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
