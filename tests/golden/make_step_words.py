# SPDX-License-Identifier: BSD-3-Clause
"""step_words.txt: ten steps of two models with a train_step. One adds up and clips gradients by hand, and moves another
model in every third step; the other one learns from its own moving average. In double precision.

Run: pip install "tensorflow-cpu==2.15.*" && python make_step_words.py
"""

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
STEPS, BATCH = 10, 8
numbers = np.random.default_rng(21)
file = GoldenFile("step_words.txt", "Gradients applied by hand, moving averages, and sub-steps of some steps only")
layers, legacy = tf.keras.layers, tf.keras.optimizers.legacy


def drawn(*shape):
    return numbers.normal(0, 1, shape).astype(np.float32)


def network(is_normalized):
    between = [layers.BatchNormalization(momentum=0.9)] if is_normalized else []
    model = tf.keras.Sequential([layers.Input((4,)), layers.Dense(6, "tanh"), *between, layers.Dense(2)])
    model.set_weights([np.abs(drawn(*w.shape)) + 0.5 if w.ndim == 1 else drawn(*w.shape) * 0.5
                       for w in model.get_weights()])
    return model


def average(moved, source, decay):
    for to, of in zip(moved.trainable_variables, source.trainable_variables):
        to.assign(decay * to + (1 - decay) * of)
    for to, of in zip(moved.non_trainable_variables, source.non_trainable_variables):
        to.assign(of)


class Clipped(tf.keras.Model):
    """Gradients of two halves of a batch are added and clipped by hand; every third step moves another model."""
    parts, metrics_of = ("line", "probe"), ("loss", "norm", "probe")

    def __init__(self):
        super().__init__()
        self.line, self.probe = network(False), network(False)
        self.of_line, self.of_probe = legacy.Adam(0.01), legacy.SGD(0.05, momentum=0.9)
        self.number, self.last_probe = 0, 0.0

    def train_step(self, data):
        x, y = data
        total, losses = None, []
        for half in (slice(0, BATCH // 2), slice(BATCH // 2, BATCH)):
            with tf.GradientTape() as tape:
                losses.append(tf.reduce_mean((self.line(x[half]) - y[half])**2))
            found = tape.gradient(losses[-1], self.line.trainable_variables)
            total = found if total is None else [a + b for a, b in zip(total, found)]
        norm = tf.sqrt(tf.add_n([tf.reduce_sum(g**2) for g in total]))
        scale = tf.minimum(0.5 / norm, 1.0)
        self.of_line.apply_gradients([(g * scale, w) for g, w in zip(total, self.line.trainable_variables)])
        if self.number % 3 == 0:
            with tf.GradientTape() as tape:
                self.last_probe = tf.reduce_mean((self.probe(x) - y)**2)
            self.of_probe.apply_gradients(zip(tape.gradient(self.last_probe, self.probe.trainable_variables),
                                              self.probe.trainable_variables))
        self.number += 1
        return {"loss": sum(losses), "norm": norm, "probe": self.last_probe}


class Follower(tf.keras.Model):
    """A student that learns from its own moving average; every fourth step copies it."""
    parts, metrics_of = ("student", "slow", "kept"), ("loss",)

    def __init__(self):
        super().__init__()
        self.student, self.slow, self.kept = network(True), network(True), network(True)
        self.of_student, self.number = legacy.Adam(0.01), 0

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            out = self.student(x, training=True)
            away = tf.stop_gradient(self.slow(x, training=True)) - out
            loss = tf.reduce_mean((out - y)**2) + 0.5 * tf.reduce_mean(away**2)
        self.of_student.apply_gradients(zip(tape.gradient(loss, self.student.trainable_variables),
                                            self.student.trainable_variables))
        average(self.slow, self.student, 0.9)
        if self.number % 4 == 0:
            average(self.kept, self.student, 0.0)
        self.number += 1
        return {"loss": loss}


for name, model in (("clipped", Clipped()), ("follower", Follower())):
    def add_weights(when):
        for index, weight in enumerate(weight for part in model.parts for weight in getattr(model, part).get_weights()):
            file.add(f"{name}/{when}/{index}", weight)

    add_weights("before")
    model.compile(run_eagerly=True)
    losses = []
    for step in range(STEPS):
        x, y = drawn(BATCH, 4), drawn(BATCH, 2)
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        values = model.train_on_batch(x, y, return_dict=True)
        losses.append([values[each] for each in model.metrics_of])
    file.add(f"{name}/losses", losses)
    add_weights("after")
file.write()
