# SPDX-License-Identifier: BSD-3-Clause
"""fine_tuning.txt: ten steps of fine-tuning. A network without its last layer, its first block frozen, gets a new last
layer; batch normalizations of the frozen block use their moving statistics. In float32, in which Keras's kernel gathers
the unbiased variance.

Run: pip install "tensorflow-cpu==2.15.*" && python make_fine_tuning.py
"""

import re

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

STEPS, BATCH, BATCHES = 10, 8, 2
numbers = np.random.default_rng(11)
file = GoldenFile("fine_tuning.txt", "Ten steps of fine-tuning: losses of the steps, and the weights after them")
layers = tf.keras.layers

image = x = layers.Input((6, 6, 2))
for block in (1, 2):
    x = layers.Conv2D(3, 3, padding="same", use_bias=False, name=f"block{block}_conv")(x)
    x = layers.BatchNormalization(name=f"block{block}_bn")(x)
    x = layers.Activation("tanh", name=f"block{block}_tanh")(x)
x = layers.GlobalAveragePooling2D(name="pool")(x)
x = layers.Dense(5, name="predictions")(x)
base = tf.keras.Model(image, x, name="base")

part = tf.keras.Model(base.input, base.layers[-2].output, name="base")
for layer in part.layers:
    if re.match("block1_.*", layer.name):
        layer.trainable = False
tuned = tf.keras.Sequential([layers.Input((6, 6, 2)), part, layers.Dense(3, name="classes")])


def drawn(name, shape):
    if "variance" in name or "gamma" in name:
        return numbers.uniform(0.5, 1.5, shape).astype(np.float32)
    return numbers.normal(0, 0.4, shape).astype(np.float32)


tuned.set_weights([drawn(weight.name, weight.shape) for weight in tuned.weights])
for index, weight in enumerate(tuned.get_weights()):
    file.add(f"before/{index}", weight)
data = [(numbers.normal(0, 1, (BATCH, 6, 6, 2)).astype(np.float32), numbers.integers(0, 3, BATCH)) for _ in range(BATCHES)]
for index, (pictures, classes) in enumerate(data):
    file.add(f"x/{index}", pictures)
    file.add(f"y/{index}", classes)

tuned.compile(tf.keras.optimizers.legacy.SGD(0.05, momentum=0.9), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
file.add("losses", [tuned.train_on_batch(*data[step % BATCHES]) for step in range(STEPS)])
for index, weight in enumerate(tuned.get_weights()):
    file.add(f"after/{index}", weight)
file.add("predicted", tuned.predict(data[0][0], verbose=0))
file.write()
