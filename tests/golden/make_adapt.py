# SPDX-License-Identifier: BSD-3-Clause
"""adapt.txt: what Normalization and Discretization learn of data, and what they make of them then.

Run: pip install "tensorflow-cpu==2.15.*" && python make_adapt.py
"""

from golden_file import GoldenFile, Numbers
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
numbers = Numbers(21)
file = GoldenFile("adapt.txt", "Layers that are adapted to data: what they learn, and their output.")

data = numbers.normal(150, 4, 3) * np.array([1, 3, 0.5], np.float32) + np.array([0, 2, -1], np.float32)
file.add("data", data)
for name, axis in (("features", -1), ("places", (2, 1)), ("all", None)):
    layer = layers.Normalization(axis=axis)
    layer.adapt(data)
    for weight, value in zip(("mean", "variance"), layer.weights):
        file.add(f"{name}/{weight}", value)
    file.add(f"{name}/output", layer(data[:7]))
for name, options in (("bins", {"num_bins": 5}), ("exact_bins", {"num_bins": 3, "epsilon": 0.005})):
    layer = layers.Discretization(**options)
    layer.adapt(data)
    file.add(f"{name}/bin_boundaries", np.array(layer.bin_boundaries, np.float32))
    file.add(f"{name}/output", tf.cast(layer(data[:7]), "float32"))
file.write()
