# SPDX-License-Identifier: BSD-3-Clause
"""Makes bars.h5, a small network that names the direction of a bar, and imported_network.txt: ten steps of a train_step
that fine-tunes it. Its layers are frozen but for a new last one, which names signs of two bars; its batch normalizations
use their moving statistics.

examples/models/bars.hpp, below its licence, and bars.safetensors are what the program writes from that file:

    pip install "tensorflow-cpu==2.15.*" && python make_imported_network.py bars.h5
    stagecraft import bars.h5 --output bars
"""

import sys

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

SIDE, STEPS, BATCH = 12, 10, 4
SIGNS = (0, 2), (1, 3), (0, 1), (2, 3)  # directions of the two bars, in eighths of a turn
numbers = np.random.default_rng(12)
tf.keras.utils.set_random_seed(12)
layers = tf.keras.layers


def picture(directions):
    """Bars of 7 pixels through one point, and noise: as examples/46_imported_network.cpp draws them."""
    middle = numbers.uniform(4, 7, 2)
    y, x = np.mgrid[0:SIDE, 0:SIDE] - middle[:, None, None]
    result = numbers.uniform(-0.2, 0.2, (SIDE, SIDE))
    for direction in directions:
        angle = direction * np.pi / 4
        along = x * np.cos(angle) + y * np.sin(angle)
        away = np.hypot(x * np.sin(angle) - y * np.cos(angle), np.maximum(np.abs(along) - 3, 0))
        result += np.clip(1.2 - away, 0, 1)
    return result


def drawn(choices, count):
    classes = numbers.integers(0, len(choices), count)
    return np.stack([picture(choices[c]) for c in classes])[..., None].astype(np.float32), classes


image = x = layers.Input((SIDE, SIDE, 1))
for block, filters in ((1, 8), (2, 16)):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"block{block}_conv")(x)
    x = layers.BatchNormalization(momentum=0.9, name=f"block{block}_bn")(x)
    x = layers.Activation("relu", name=f"block{block}_relu")(x)
    x = layers.MaxPooling2D(name=f"block{block}_pool")(x)
x = layers.GlobalAveragePooling2D(name="pool")(x)
bars = tf.keras.Model(image, layers.Dense(4, "softmax", name="direction")(x), name="bars")
bars.compile("adam", "sparse_categorical_crossentropy", ["accuracy"])
bars.fit(*drawn([(d,) for d in range(4)], 2048), epochs=12, verbose=0)
print("accuracy:", bars.evaluate(*drawn([(d,) for d in range(4)], 512), verbose=0)[1])
bars.save(sys.argv[1], include_optimizer=False)


class Tuned(tf.keras.Model):
    def __init__(self):
        super().__init__()
        base = tf.keras.Model(bars.input, bars.layers[-2].output, name="bars")
        base.trainable = False
        self.network = tf.keras.Sequential([layers.Input((SIDE, SIDE, 1)), base, layers.Dense(4, name="sign")])

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            scores = self.network(x, training=True)
            loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, scores)
            loss += 0.01 * tf.reduce_mean(scores**2)
        weights = self.network.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


file = GoldenFile("imported_network.txt", "Ten steps of a train_step on an imported network with a new last layer")
tuned = Tuned()
for index, weight in enumerate(tuned.network.get_weights()):
    file.add(f"tuned/before/{index}", weight)
tuned.compile(tf.keras.optimizers.legacy.SGD(0.2, momentum=0.9))
losses = []
for step in range(STEPS):
    pictures, classes = drawn(SIGNS, BATCH)
    file.add(f"tuned/x/{step}", pictures)
    file.add(f"tuned/y/{step}", classes[:, None])
    losses.append(tuned.train_on_batch(pictures, classes))
file.add("tuned/losses", losses)
for index, weight in enumerate(tuned.network.get_weights()):
    file.add(f"tuned/after/{index}", weight)
file.write()
