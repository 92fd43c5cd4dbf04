# SPDX-License-Identifier: BSD-3-Clause
"""cnn.txt: ten training steps of a small convolutional network on 28 x 28 images, by Keras.

The network has 1.2 million weights, so images and first weights are numbers that both sides make by the same formula
(`number` here, golden_cnn_test.cpp there), and of the last weights the file has every STRIDE-th.

Run: pip install "tensorflow-cpu==2.15.*" && python make_cnn.py
"""

import numpy as np
from golden_file import GoldenFile
import tensorflow as tf

layers = tf.keras.layers
optimizers = tf.keras.optimizers.legacy
STEPS, BATCH, STRIDE = 10, 16, 4999


def number(stream, count):
    """`count` numbers in [0, 1), exact in float32."""
    z = (np.arange(count, dtype=np.uint64) + np.uint64(stream * 7919)) & np.uint64(0xFFFFFFFF)
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        z = ((z ^ (z >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    z ^= z >> np.uint64(15)
    return (z >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def images(step):
    """A bright column per class, in noise."""
    labels = (np.arange(BATCH) * 7 + step * 3) % 10
    x = number(100 + step, BATCH * 28 * 28).reshape(BATCH, 28, 28, 1) * np.float32(0.5)
    for sample, label in enumerate(labels):
        x[sample, :, 2 * label + 3, :] += np.float32(0.5)
    return x, labels


def weights(shapes):
    result = []
    for index, shape in enumerate(shapes):
        fan_in = int(np.prod(shape[:-1])) if len(shape) > 1 else 400
        scale = np.float32(2.0) * np.float32(1.0 / np.sqrt(fan_in))
        result.append(((number(index, int(np.prod(shape))) - np.float32(0.5)) * scale).reshape(shape))
    return result


def network():
    return tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )


file = GoldenFile("cnn.txt", "Ten steps of conv2d 32, conv2d 64, max_pooling2d, dense 128, dense 10; make_cnn.py says how.")
file.comment("<optimizer>/losses; <optimizer>/predictions of the images of step 0 after them;")
file.comment(f"<optimizer>/<number of the weight>: every {STRIDE}th of its last values.")
for name, optimizer in (
    ("sgd", optimizers.SGD(0.05, momentum=0.9)),
    ("adam", optimizers.Adam(0.001)),
):
    net = network()
    net.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    net.set_weights(weights([value.shape for value in net.get_weights()]))
    losses = [net.train_on_batch(*images(step)) for step in range(STEPS)]
    print(name, losses)
    file.add(f"{name}/losses", losses)
    file.add(f"{name}/predictions", net.predict_on_batch(images(0)[0]))
    for index, value in enumerate(net.get_weights()):
        file.add(f"{name}/{index}", value.ravel()[::STRIDE])
file.write()
