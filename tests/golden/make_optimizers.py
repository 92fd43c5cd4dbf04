# SPDX-License-Identifier: BSD-3-Clause
"""optimizers.txt: ten steps of every optimizer with given weights and gradients.

Run: pip install "tensorflow-cpu==2.15.*" "tensorflow-addons==0.22.*" &&
     pip install --no-deps "tf-models-official==2.15.0" && python make_optimizers.py
"""

import importlib.util
import pathlib

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf
import tensorflow_addons as tfa

optimizers = tf.keras.optimizers.legacy


def lars():
    """The class of the model garden, without all else that its package wants."""
    package = pathlib.Path(importlib.util.find_spec("official").origin).parent
    spec = importlib.util.spec_from_file_location("lars", package / "modeling" / "optimization" / "lars.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LARS


LARS = lars()
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

schedules = tf.keras.optimizers.schedules
# Those of tests/optimizers/optimizer_table.hpp, under the same names.
walked = {
    "adagrad": optimizers.Adagrad(0.05),
    "adagrad_options": optimizers.Adagrad(0.05, initial_accumulator_value=0.5, epsilon=0.01),
    "adadelta": optimizers.Adadelta(0.5),
    "adadelta_options": optimizers.Adadelta(1.0, rho=0.8, epsilon=0.01),
    "adamax": optimizers.Adamax(),
    "adamax_options": optimizers.Adamax(0.05, beta_1=0.8, beta_2=0.9, epsilon=0.01),
    "nadam": optimizers.Nadam(),
    "nadam_options": optimizers.Nadam(0.05, beta_1=0.8, beta_2=0.95, epsilon=0.01, schedule_decay=0.5),
    "ftrl": optimizers.Ftrl(0.1),
    "ftrl_options": optimizers.Ftrl(
        0.1,
        learning_rate_power=-0.75,
        initial_accumulator_value=0.5,
        l1_regularization_strength=0.1,
        l2_regularization_strength=0.2,
        l2_shrinkage_regularization_strength=0.05,
        beta=0.3,
    ),
    "sgdw": tfa.optimizers.SGDW(0.05, learning_rate=0.1, momentum=0.9, nesterov=True),
    "adamw": tfa.optimizers.AdamW(0.05, learning_rate=0.05, beta_1=0.8, epsilon=0.01, amsgrad=True),
    "adam_clipvalue": optimizers.Adam(0.05, clipvalue=0.25),
    "sgd_clipnorm": optimizers.SGD(0.1, momentum=0.5, clipnorm=0.75),
    "rmsprop_global_clipnorm": optimizers.RMSprop(0.05, epsilon=0.01, clipvalue=2.0, global_clipnorm=1.5),
    "lamb": tfa.optimizers.LAMB(0.05),
    "lamb_options": tfa.optimizers.LAMB(
        0.05, beta_1=0.8, beta_2=0.95, epsilon=0.01, weight_decay=0.1, decay=0.25, clipnorm=2.0
    ),
    "lamb_without_adaptation": tfa.optimizers.LAMB(0.05, weight_decay=0.1, exclude_from_layer_adaptation=["Variable"]),
    "lars": LARS(2.0),
    "lars_nesterov": LARS(0.5, momentum=0.5, weight_decay_rate=0.1, eeta=0.02, nesterov=True, decay=0.25),
    "lars_popular_momentum": LARS(
        0.5, momentum=0.5, weight_decay_rate=0.1, eeta=0.02, nesterov=True, classic_momentum=False
    ),
}
SCHEDULE_STEPS = 40
scheduled = {
    "exponential_decay": schedules.ExponentialDecay(0.5, 10, 0.8),
    "exponential_decay_staircase": schedules.ExponentialDecay(0.5, 7, 0.8, staircase=True),
    "inverse_time_decay": schedules.InverseTimeDecay(0.5, 10, 0.8),
    "inverse_time_decay_staircase": schedules.InverseTimeDecay(0.5, 7, 0.8, staircase=True),
    "polynomial_decay": schedules.PolynomialDecay(0.5, 30, 0.1),
    "polynomial_decay_power": schedules.PolynomialDecay(0.5, 30, 0.1, power=2.5),
    "polynomial_decay_cycle": schedules.PolynomialDecay(0.5, 12, 0.1, power=0.5, cycle=True),
    "cosine_decay": schedules.CosineDecay(0.5, 30),
    "cosine_decay_alpha": schedules.CosineDecay(0.5, 30, alpha=0.25),
    "cosine_decay_restarts": schedules.CosineDecayRestarts(0.5, 5),
    "cosine_decay_restarts_options": schedules.CosineDecayRestarts(0.5, 6, t_mul=1.5, m_mul=0.75, alpha=0.1),
    "cosine_decay_restarts_equal": schedules.CosineDecayRestarts(0.5, 8, t_mul=1.0, m_mul=0.5),
    "piecewise_constant_decay": schedules.PiecewiseConstantDecay([3, 10, 25], [0.5, 0.3, 0.2, 0.05]),
}

file = GoldenFile(
    "optimizers.txt",
    "Optimizers. `weights`; `gradients` (one row per step); case/<option> as the optimizer has it;",
)
file.comment("case/weights: after each step. schedule/<schedule>: the learning rates of forty updates.")
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


def train(optimizer):
    variable, history = tf.Variable(weights), []
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
        history.append(variable.numpy().copy())
    return history


for name, optimizer in walked.items():
    file.add(f"{name}/learning_rate", float(optimizer.learning_rate))
    file.add(f"{name}/weights", train(optimizer))
for name, schedule in scheduled.items():
    file.add(f"schedule/{name}", [float(schedule(step)) for step in range(SCHEDULE_STEPS)])
file.comment("<n> / 5 times the initial rate for n = 0 ... 4, then exponential_decay")
warm = scheduled["exponential_decay"]
file.add("schedule/linear_warmup", [0.1 * step if step < 5 else float(warm(step)) for step in range(SCHEDULE_STEPS)])
optimizer = optimizers.SGD(scheduled["exponential_decay"], momentum=0.5, decay=0.25)
file.add("sgd_schedule_decay/learning_rate", 0.5)
file.add("sgd_schedule_decay/weights", train(optimizer))


def average(optimizer, momentum, frequency):
    """use_ema of Keras 2.11, with the optimizers of 2.6."""
    variable, mean, history = tf.Variable(weights), weights.copy(), []
    for step, gradient in enumerate(gradients):
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
        mean = np.float32(momentum) * mean + np.float32(1 - momentum) * variable.numpy()
        if frequency and (step + 1) % frequency == 0:
            variable.assign(mean)
        history.append(variable.numpy().copy())
    return history


file.add("moving_average/learning_rate", 0.1)
file.add("moving_average/weights", average(optimizers.SGD(0.1, momentum=0.9), 0.75, 3))
file.write()
