# SPDX-License-Identifier: BSD-3-Clause
"""optimizers.txt: ten steps of every optimizer with given weights and gradients.

Run: pip install "tensorflow-cpu==2.15.*" && python make_optimizers.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

optimizers = tf.keras.optimizers.legacy
STEPS = 10
cases = {
    "sgd": (optimizers.SGD, {"learning_rate": 0.1}),
    "sgd_momentum": (optimizers.SGD, {"learning_rate": 0.1, "momentum": 0.9}),
    "sgd_nesterov": (optimizers.SGD, {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    "sgd_decay": (optimizers.SGD, {"learning_rate": 0.1, "momentum": 0.9, "decay": 0.25}),
    "rmsprop": (optimizers.RMSprop, {}),
    "rmsprop_options": (optimizers.RMSprop, {"learning_rate": 0.05, "rho": 0.8, "epsilon": 0.01}),
    "rmsprop_momentum": (optimizers.RMSprop, {"learning_rate": 0.01, "momentum": 0.9, "epsilon": 0.01}),
    "rmsprop_centered": (optimizers.RMSprop, {"learning_rate": 0.01, "centered": True, "epsilon": 0.01}),
    "rmsprop_centered_momentum": (
        optimizers.RMSprop,
        {"learning_rate": 0.01, "momentum": 0.5, "centered": True, "epsilon": 0.01},
    ),
    "adam": (optimizers.Adam, {}),
    "adam_options": (optimizers.Adam, {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 0.01}),
    "rmsprop_decay": (optimizers.RMSprop, {"learning_rate": 0.05, "epsilon": 0.01, "decay": 0.25}),
    "adam_amsgrad": (optimizers.Adam, {"learning_rate": 0.05, "beta_2": 0.9, "amsgrad": True}),
    "adam_decay": (optimizers.Adam, {"learning_rate": 0.05, "epsilon": 0.01, "decay": 0.25}),
}

file = GoldenFile(
    "optimizers.txt",
    "Optimizers. `weights`; `gradients` (one row per step); case/<option> as the optimizer has it;",
)
file.comment("case/weights: after each step.")
numbers = Numbers(3)
weights = numbers.normal(7)
gradients = numbers.normal(STEPS, 7)
gradients[:, 1] *= 100
gradients[:, 2] *= 1e-3
gradients[:, 3] = 0  # never a gradient
gradients[4:, 4] = 0  # no gradient any more: momentum and moments fade
gradients[:, 5] = 0.5  # constant
file.add("weights", weights)
file.add("gradients", gradients)
for name, (kind, options) in cases.items():
    optimizer = kind(**options)
    variable = tf.Variable(weights)
    history = []
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
        history.append(variable.numpy().copy())
    for option, value in optimizer.get_config().items():
        if option != "name" and not (option == "decay" and value == 0):
            file.add(f"{name}/{option}", float(value))
    file.add(f"{name}/weights", history)
file.write()
