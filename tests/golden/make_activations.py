# SPDX-License-Identifier: BSD-3-Clause
"""activations.txt: every activation of Keras 2 with its gradient.

Run: pip install "tensorflow-cpu==2.15.*" && python make_activations.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

activations = tf.keras.activations
cases = {
    "linear": activations.linear,
    "relu": activations.relu,
    "relu_alpha": lambda x: activations.relu(x, alpha=0.25),
    "relu_max": lambda x: activations.relu(x, max_value=2.0),
    "relu6": lambda x: activations.relu(x, max_value=6.0),
    "relu_threshold": lambda x: activations.relu(x, threshold=1.0),
    "relu_alpha_threshold": lambda x: activations.relu(x, alpha=0.25, threshold=1.0),
    "relu_all": lambda x: activations.relu(x, alpha=0.25, max_value=2.0, threshold=1.0),
    "sigmoid": activations.sigmoid,
    "tanh": activations.tanh,
    "gelu": activations.gelu,
    "gelu_tanh": lambda x: activations.gelu(x, approximate=True),
    "swish": activations.swish,
    "selu": activations.selu,
    "elu": activations.elu,
    "elu_half": lambda x: activations.elu(x, alpha=0.5),
    "exponential": activations.exponential,
    "softplus": activations.softplus,
    "softsign": activations.softsign,
    "hard_sigmoid": activations.hard_sigmoid,
}


def result(function, x, dy):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tape.gradient(y, x, output_gradients=tf.constant(dy))


file = GoldenFile("activations.txt", "Activations: y = f(x) and dx for the gradient dy of y.")
numbers = Numbers(1)
grid = np.concatenate([np.arange(-6, 6.01, 0.25), [-2.5, -2.49, 2.49, 1.01, 0.99, 1e-3, -1e-3, 1e-6, -1e-6]])
grid = grid.astype(np.float32)
# 88.7 is the last whole tenth where exp(x) is finite, 104 is beyond the smallest subnormal of exp(-x).
far = np.array([-1000, -104, -89, -88, -50, -20, -12, -9, -8, 8, 9, 12, 20, 50, 88, 88.7, 89, 104, 1000], np.float32)
for prefix, x in (("grid", grid), ("far", far)):
    dy = numbers.uniform(len(x), low=0.1, high=2.0)
    file.comment(f"{prefix}: common x and dy of the cases below")
    file.add(f"{prefix}/x", x)
    file.add(f"{prefix}/dy", dy)
    for name, function in cases.items():
        y, dx = result(function, x, dy)
        file.add(f"{prefix}/{name}/y", y)
        file.add(f"{prefix}/{name}/dx", dx)

rows = np.concatenate(
    [
        numbers.normal(4, 7, scale=2),
        np.array(
            [
                [0] * 7,
                [1000, 0, -1000, 0, 0, 0, 0],
                [-1000] * 7,
                [80, 79, 78, -80, -79, -78, 0],
                [100, 100, 1, 2, 3, 4, 5],
                [-1, -200, -300, -1, -1, -1, -104],
            ],
            np.float32,
        ),
    ]
)
dy = numbers.normal(*rows.shape)
y, dx = result(activations.softmax, rows, dy)
file.comment("softmax over the last axis")
for name, value in {"x": rows, "dy": dy, "y": y, "dx": dx}.items():
    file.add(f"softmax/{name}", value)
x, dy = numbers.normal(2, 3, 4), numbers.normal(2, 3, 4)
y, dx = result(activations.softmax, x, dy)
for name, value in {"x": x, "dy": dy, "y": y, "dx": dx}.items():
    file.add(f"softmax_rank3/{name}", value)
file.write()
