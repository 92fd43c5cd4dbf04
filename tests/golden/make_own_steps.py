# SPDX-License-Identifier: BSD-3-Clause
"""own_steps.txt: ten steps of two models with a `train_step` of their own, and what their `test_step` and `predict` say
afterwards: distillation, and a variational auto-encoder whose random numbers are an input. In double precision.

Run: pip install "tensorflow-cpu==2.15.*" && python make_own_steps.py
"""

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
STEPS, BATCH, TEMPERATURE, SHARE = 10, 8, 3.0, 0.3
numbers = np.random.default_rng(5)
file = GoldenFile("own_steps.txt", "Distillation and a variational auto-encoder: ten steps, and what comes after them")
layers = tf.keras.layers


def network(inputs, hidden, outputs):
    model = tf.keras.Sequential([layers.Input((inputs,)), layers.Dense(hidden, "tanh"), layers.Dense(outputs)])
    model.set_weights([numbers.normal(0, 0.5, w.shape).astype(np.float32) for w in model.get_weights()])
    return model


class Distiller(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.teacher, self.student = network(5, 12, 3), network(5, 4, 3)

    def losses_of(self, x, y):
        says, learns = self.teacher(x), self.student(x)
        hard = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, learns)
        soft = tf.keras.losses.KLDivergence()(tf.nn.softmax(says / TEMPERATURE), tf.nn.softmax(learns / TEMPERATURE))
        return hard, soft

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            hard, soft = self.losses_of(x, y)
            loss = SHARE * hard + (1 - SHARE) * soft * TEMPERATURE**2
        weights = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"hard": hard, "soft": soft}

    def test_step(self, data):
        hard, _ = self.losses_of(*data)
        return {"hard": hard}

    def call(self, x):
        return tf.nn.softmax(self.student(x))


class AutoEncoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = network(6, 8, 4), network(2, 8, 6)

    def losses_of(self, x, noise):
        code = self.encoder(x)
        mean, log_variance = code[:, :2], code[:, 2:]
        drawn = self.decoder(mean + tf.exp(log_variance / 2) * noise)
        reconstruction = tf.reduce_mean(tf.reduce_sum((drawn - x) ** 2, -1))
        divergence = tf.reduce_mean(tf.reduce_sum(mean**2 + tf.exp(log_variance) - log_variance - 1, -1)) / 2
        return reconstruction, divergence

    def train_step(self, data):
        x, noise = data
        with tf.GradientTape() as tape:
            reconstruction, divergence = self.losses_of(x, noise)
            loss = reconstruction + divergence
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}

    def test_step(self, data):
        x, _ = data
        reconstruction, divergence = self.losses_of(x, tf.zeros((BATCH, 2), tf.float64))
        return {"reconstruction": reconstruction, "divergence": divergence}

    def call(self, x):
        return self.decoder(self.encoder(x)[:, :2])


def run(name, model, parts, metrics, optimizer, data):
    for part in parts:
        for index, weight in enumerate(getattr(model, part).get_weights()):
            file.add(f"{name}/{part}/before/{index}", weight)
    model.compile(optimizer)
    losses = []
    for step in range(STEPS):
        x, y = data()
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        losses.append(model.train_on_batch(x, y))
    file.add(f"{name}/losses", losses)
    for part in parts:
        for index, weight in enumerate(getattr(model, part).get_weights()):
            file.add(f"{name}/{part}/after/{index}", weight)
    x, y = data()
    file.add(f"{name}/x/test", x)
    file.add(f"{name}/y/test", y)
    tested = model.test_on_batch(x, y, return_dict=True)
    file.add(f"{name}/tested", [tested[each] for each in metrics])
    file.add(f"{name}/predicted", model.predict(x, verbose=0))


def drawn(*shape):
    return numbers.normal(0, 1, shape).astype(np.float32)


legacy = tf.keras.optimizers.legacy
run("distillation", Distiller(), ("teacher", "student"), ("hard",), legacy.Adam(0.02),
    lambda: (drawn(BATCH, 5), numbers.integers(0, 3, (BATCH, 1))))
run("autoencoder", AutoEncoder(), ("encoder", "decoder"), ("reconstruction", "divergence"), legacy.SGD(0.02, momentum=0.9),
    lambda: (drawn(BATCH, 6), drawn(BATCH, 2)))
file.write()
