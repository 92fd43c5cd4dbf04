# SPDX-License-Identifier: BSD-3-Clause
"""time_distributed.txt: layers in TimeDistributed, which see the steps of all samples as samples.

Run: pip install "tensorflow-cpu==2.15.*" && python make_time_distributed.py
"""

from layer_cases import LayerCases
import tensorflow as tf

layers = tf.keras.layers
cases = LayerCases("time_distributed.txt", "Layers in TimeDistributed", 11)

for name, each, shape in (
    ("dense", layers.Dense(5, activation="tanh"), (2, 3, 4)),
    ("dense_rank4", layers.Dense(2, activation="relu"), (2, 3, 2, 4)),
    ("conv2d", layers.Conv2D(3, 2, activation="relu"), (2, 3, 4, 4, 2)),
    ("max_pooling2d", layers.MaxPooling2D(2), (2, 3, 4, 4, 2)),
    ("flatten", layers.Flatten(), (2, 3, 2, 4)),
    ("layer_normalization", layers.LayerNormalization(), (2, 3, 4)),
    ("lstm", layers.LSTM(3), (2, 3, 4, 2)),
    ("softmax", layers.Activation("softmax"), (2, 3, 4)),
):
    cases.add_layer(name, layers.TimeDistributed(each), *shape)
nested = layers.TimeDistributed(layers.TimeDistributed(layers.Conv1D(2, 2)))
cases.add_layer("nested", nested, 2, 2, 3, 4, 2)

# Ten steps of Input(3, 4) -> TimeDistributed(Dense(5, tanh)) -> Flatten -> Dense(2).
file, numbers, steps, batch = cases.file, cases.numbers, 10, 4
file.comment("trained: ten steps of Input(3, 4), TimeDistributed(Dense(5, tanh)), Flatten, Dense(2); SGD(0.1), the mean")
file.comment("squared error, batches of 4 rows of x (12 numbers) and y. initial, trained: weights before and after.")
net = tf.keras.Sequential(
    [tf.keras.Input((3, 4)), layers.TimeDistributed(layers.Dense(5, "tanh")), layers.Flatten(), layers.Dense(2)]
)
net.compile(tf.keras.optimizers.legacy.SGD(0.1), "mse")
names = ("time_distributed/kernel", "time_distributed/bias", "dense_1/kernel", "dense_1/bias")
net.set_weights([numbers.normal(*weight.shape, scale=0.5) for weight in net.weights])
x, y = numbers.normal(steps * batch, 12), numbers.normal(steps * batch, 2)
file.add("x", x)
file.add("y", y)
for name, value in zip(names, net.get_weights()):
    file.add(f"initial/{name}", value)
parts = [slice(batch * step, batch * (step + 1)) for step in range(steps)]
file.add("trained/losses", [net.train_on_batch(x[part].reshape(-1, 3, 4), y[part]) for part in parts])
for name, value in zip(names, net.get_weights()):
    file.add(f"trained/{name}", value)
cases.write()
