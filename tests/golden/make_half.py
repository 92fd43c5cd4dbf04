# SPDX-License-Identifier: BSD-3-Clause
"""half.txt: a convolutional network and one of sequences trained by Keras under its policies of half precision.

Run: pip install "tensorflow-cpu==2.15.*" && python make_half.py
"""

from golden_file import GoldenFile, Numbers
import tensorflow as tf

layers, policies = tf.keras.layers, tf.keras.mixed_precision
STEPS, BATCH = 10, 8

numbers = Numbers(11)
x = numbers.normal(STEPS * BATCH, 6, 5, 2)
y = numbers.integers(STEPS * BATCH, high=4)
file = GoldenFile("half.txt", "Ten steps of gradient descent by policy, from the same weights; momentum 0.9, rate 0.05.")
file.comment("conv2d(6, 3, relu), batch_normalization, flatten, dense(12, tanh), dense(4); batch i is rows 8 i ... 8 i + 7;")
file.comment("sparse categorical cross-entropy from logits. <policy>/losses, <policy>/<number of a weight>, <policy>/outputs.")
file.comment("sequences/...: reshape(10, 6), dense(16, tanh), lstm(16) and attention of all places, simple_rnn(16), dense(4).")
file.add("x", x)
file.add("y", y)


def images():
    return tf.keras.Sequential([
        tf.keras.Input((6, 5, 2)),
        layers.Conv2D(6, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dense(12, activation="tanh"),
        layers.Dense(4),
    ])


def sequences():
    inputs = tf.keras.Input((6, 5, 2))
    features = layers.Dense(16, activation="tanh")(layers.Reshape((10, 6))(inputs))
    states = layers.LSTM(16, return_sequences=True)(features)
    attended = layers.MultiHeadAttention(1, 16)(states, states)
    return tf.keras.Model(inputs, layers.Dense(4)(layers.SimpleRNN(16)(attended)))


def train(make, prefix, every_policy):
    initial = None
    for policy in every_policy:
        policies.set_global_policy(policy)
        net = make()
        optimizer = tf.keras.optimizers.legacy.SGD(0.05, momentum=0.9)
        if policy == "mixed_float16":
            optimizer = policies.LossScaleOptimizer(optimizer, dynamic=False, initial_scale=128)
        net.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        if initial is None:
            initial = [numbers.normal(*w.shape, scale=0.3) if w.shape.rank > 1 else w.numpy() for w in net.weights]
            for index, value in enumerate(initial):
                file.add(f"{prefix}initial/{index}", value)
        net.set_weights(initial)
        losses = [net.train_on_batch(x[i * BATCH:(i + 1) * BATCH], y[i * BATCH:(i + 1) * BATCH]) for i in range(STEPS)]
        print(policy, losses)
        file.add(f"{prefix}{policy}/losses", losses)
        for index, value in enumerate(net.get_weights()):
            file.add(f"{prefix}{policy}/{index}", value)
        file.add(f"{prefix}{policy}/outputs", net.predict(x, verbose=0).astype("float32"))


train(images, "", ("float32", "mixed_float16", "mixed_bfloat16"))
train(sequences, "sequences/", ("mixed_bfloat16",))
file.write()
