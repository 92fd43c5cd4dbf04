# SPDX-License-Identifier: BSD-3-Clause
"""perceptron*.txt: a perceptron 20-16-12-10 trained by Keras from given weights and batches.

Run: pip install "tensorflow-cpu==2.15.*" "tensorflow-addons==0.22.*" && python make_perceptron.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf
import tensorflow_addons as tfa

optimizers = tf.keras.optimizers.legacy
layers = tf.keras.layers
SIZES = (20, 16, 12, 10)
STEPS, BATCH = 10, 8
l1, l2, l1_l2 = tf.keras.regularizers.l1, tf.keras.regularizers.l2, tf.keras.regularizers.l1_l2

numbers = Numbers(4)
initial = []
for rows, columns in zip(SIZES, SIZES[1:]):
    initial += [numbers.normal(rows, columns, scale=rows**-0.5), numbers.normal(columns, scale=0.1)]
x = numbers.normal(STEPS * BATCH, SIZES[0])
y = numbers.integers(STEPS * BATCH, high=SIZES[-1])
sample_weight = numbers.uniform(STEPS * BATCH, low=0, high=2, digits=1)
class_weight = {index: float(value) for index, value in enumerate([1, 0.5, 2, 1, 0, 3, 1, 1.5, 0.25, 1])}
NAMES = ("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "dense_2/kernel", "dense_2/bias")


def model(optimizer, head="linear", regularizers=({}, {}, {}), metrics=(), loss=None, weighted_metrics=None):
    net = tf.keras.Sequential([tf.keras.Input((SIZES[0],))])
    for units, activation, options in zip(SIZES[1:], ("relu", "relu", head), regularizers):
        net.add(layers.Dense(units, activation, **options))
    loss = loss or tf.keras.losses.SparseCategoricalCrossentropy(from_logits=head == "linear")
    net.compile(optimizer, loss, metrics=list(metrics), weighted_metrics=weighted_metrics)
    net.set_weights(initial)
    return net


class AddsLoss(layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_mean(tf.square(x)))
        return 0.5 * x


def activity_model():
    net = tf.keras.Sequential([tf.keras.Input((SIZES[0],))])
    net.add(layers.Dense(SIZES[1], "relu", activity_regularizer=l1(0.001)))
    net.add(layers.Dense(SIZES[2], "relu", activity_regularizer=l1_l2(l1=0.002, l2=0.003)))
    net.add(layers.ActivityRegularization(l2=0.004))
    net.add(AddsLoss())
    net.add(layers.Dense(SIZES[3]))
    net.compile(optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"])
    net.set_weights(initial)
    return net


def add_weights(file, prefix, net):
    for name, value in zip(NAMES, net.get_weights()):
        file.add(f"{prefix}/{name}", value)


def add_data(file, samples, weights=False):
    for name, value in zip(NAMES, initial):
        file.add(f"initial/{name}", value)
    file.add("x", x[:samples])
    file.add("y", y[:samples])
    if weights:
        file.add("sample_weight", sample_weight[:samples])
        file.add("class_weight", list(class_weight.values()))


def train(file, name, net, use_sample_weight=False, use_class_weight=False):
    losses = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        losses.append(
            net.train_on_batch(
                x[batch],
                y[batch],
                sample_weight=sample_weight[batch] if use_sample_weight else None,
                class_weight=class_weight if use_class_weight else None,
            )
        )
    file.add(f"{name}/losses", losses)
    add_weights(file, name, net)
    print(name, losses)


file = GoldenFile("perceptron.txt", "Ten steps of a perceptron 20-16-12-10 (relu, relu, linear) from `initial`.")
file.comment("Batch i is rows 8 i ... 8 i + 7 of x and y; sparse categorical cross-entropy from logits.")
file.comment("<optimizer>/losses: before each step; <optimizer>/<weights>: after the last one.")
add_data(file, STEPS * BATCH)
for name, optimizer in (
    ("sgd_momentum", optimizers.SGD(0.05, momentum=0.9)),
    ("sgd_nesterov", optimizers.SGD(0.05, momentum=0.9, nesterov=True)),
    ("rmsprop", optimizers.RMSprop(0.01)),
    ("adam", optimizers.Adam(0.01)),
    ("adamw", tfa.optimizers.AdamW(0.05, learning_rate=0.01, exclude_from_weight_decay=["bias"])),
):
    file.add(f"{name}/learning_rate", float(optimizer.learning_rate))
    train(file, name, model(optimizer))
file.comment("loss_scale: LossScaleOptimizer(Adam(0.01), initial_scale=2^126, dynamic_growth_steps=2), which is too much at")
file.comment("  times; loss_scale/scales: after each step. The loss is the sum over a batch.")
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(
    optimizers.Adam(0.01), initial_scale=2.0**126, dynamic_growth_steps=2
)
total = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
scales = []
on_batch = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: scales.append(float(optimizer.loss_scale)))
net = model(optimizer, loss=total)
losses = [
    net.fit(x[i * BATCH : (i + 1) * BATCH], y[i * BATCH : (i + 1) * BATCH], BATCH, verbose=0, callbacks=[on_batch])
    .history["loss"][0]
    for i in range(STEPS)
]
file.add("loss_scale/learning_rate", 0.01)
file.add("loss_scale/losses", losses)
file.add("loss_scale/scales", scales)
add_weights(file, "loss_scale", net)
print("loss_scale", losses, scales)
file.write()

regularized = (
    {"kernel_regularizer": l1(0.01), "bias_regularizer": l2(0.1)},
    {"kernel_regularizer": l2(0.02), "bias_regularizer": l1(0.05)},
    {"kernel_regularizer": l1_l2(l1=0.003, l2=0.004)},
)
file = GoldenFile("perceptron_options.txt", "As perceptron.txt, SGD(learning_rate=0.1), with one option each.")
file.comment("regularized: dense: kernel l1(0.01), bias l2(0.1); dense_1: kernel l2(0.02), bias l1(0.05);")
file.comment("  dense_2: kernel l1_l2(l1=0.003, l2=0.004). The losses include the penalties.")
file.comment("sample_weight, class_weight, both_weights (their product). softmax: softmax in the last layer and")
file.comment("  from_logits=False; Keras then computes the loss from the logits all the same.")
file.comment("clipped: regularized, with LAMB(0.05, weight_decay=0.1, exclude_from_weight_decay=['bias'],")
file.comment("  global_clipnorm=0.5).")
file.comment("activity: dense: activity l1(0.001); dense_1: activity l1_l2(l1=0.002, l2=0.003), then")
file.comment("  ActivityRegularization(l2=0.004), then a layer that adds mean(square(x)) of its input and halves it.")
file.comment("als: Graphcore's ALSOptimizer(SGD(0.1), 2^19, update_frequency=2, max_loss_scaling_factor=2^22,")
file.comment("  ratio_threshold=0.01, histogram_bin_edge=65504), by the guide's formulas; als/scales: after each step.")
file.comment("binary: the loss is BinaryCrossentropy(from_logits=True) against one-hot rows of y.")
add_data(file, STEPS * BATCH, weights=True)
train(file, "regularized", model(optimizers.SGD(0.1), regularizers=regularized))
lamb = tfa.optimizers.LAMB(0.05, weight_decay=0.1, exclude_from_weight_decay=["bias"], global_clipnorm=0.5)
train(file, "clipped", model(lamb, regularizers=regularized))
train(file, "sample_weight", model(optimizers.SGD(0.1)), use_sample_weight=True)
train(file, "class_weight", model(optimizers.SGD(0.1)), use_class_weight=True)
train(file, "both_weights", model(optimizers.SGD(0.1)), use_sample_weight=True, use_class_weight=True)
train(file, "softmax", model(optimizers.SGD(0.1), head="softmax"))
indices, y = y, np.eye(10, dtype=np.float32)[y]
train(file, "binary", model(optimizers.SGD(0.1), loss=tf.keras.losses.BinaryCrossentropy(from_logits=True)))
y = indices
net = model(optimizers.SGD(0.1))
scale, overflowed, seen = 2.0**19, 0, 0
losses, scales = [], []
for step in range(STEPS):
    batch = slice(step * BATCH, (step + 1) * BATCH)
    with tf.GradientTape() as tape:
        loss = net.compiled_loss(tf.constant(y[batch]), net(x[batch]))
        scaled = loss * scale
    gradients = tape.gradient(scaled, net.trainable_variables)
    for gradient in gradients:
        overflowed += int(np.sum(np.abs(gradient) >= 65504))
        seen += gradient.shape.num_elements()
    net.optimizer.apply_gradients(zip([g / scale for g in gradients], net.trainable_variables))
    if (step + 1) % 2 == 0:
        following = scale / 2 if overflowed / seen > 0.01 else scale * 2
        scale = following if 1 <= following < 2.0**22 else scale
        overflowed = seen = 0
    losses.append(float(loss))
    scales.append(scale)
file.add("als/losses", losses)
file.add("als/scales", scales)
add_weights(file, "als", net)
print("als", losses, scales)
net = activity_model()
losses = [net.train_on_batch(x[i * BATCH : (i + 1) * BATCH], y[i * BATCH : (i + 1) * BATCH])[0] for i in range(STEPS)]
file.add("activity/losses", losses)
add_weights(file, "activity", net)
print("activity", losses)
file.write()

file = GoldenFile("perceptron_fit.txt", "fit, evaluate and predict, 20 samples, batch_size=8, SGD(0.1).")
file.comment("<case>/history/<key>: one value per epoch, keys in Keras's order. Two epochs, shuffle=False; the")
file.comment("  last batch")
file.comment("  has 4 samples. evaluate, predict: on the same 20 samples after fit; evaluate in the order of history.")
file.comment("plain. validation_data: rows 20 ... 29 (history only). validation_split=0.25: trains on the first 15.")
file.comment("regularized, activity: as in perceptron_options.txt. sample_weight, class_weight: fit with these,")
file.comment("  metrics=['accuracy'] and")
file.comment("  weighted_metrics=['accuracy']; evaluate has the sample_weight too, but never the class_weight.")
file.comment("none: reduction='none', SGD(0.01), sample_weight.")
SAMPLES, VALIDATION = 20, 10
add_data(file, SAMPLES + VALIDATION, weights=True)
data = x[:SAMPLES], y[:SAMPLES]
fit = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0}


def record(name, net, history, evaluate_weight=None, weights=True):
    for key, value in history.history.items():
        file.add(f"{name}/history/{key}", value)
        print(name, key, value)
    if not weights:
        return
    add_weights(file, name, net)
    file.add(f"{name}/evaluate", net.evaluate(*data, batch_size=BATCH, sample_weight=evaluate_weight, verbose=0))
    file.add(f"{name}/predict", net.predict(data[0], batch_size=BATCH, verbose=0))


net = model(optimizers.SGD(0.1), metrics=["accuracy"])
record("plain", net, net.fit(*data, **fit))
net = model(optimizers.SGD(0.1), metrics=["accuracy"])
held_out = x[SAMPLES : SAMPLES + VALIDATION], y[SAMPLES : SAMPLES + VALIDATION]
record("validation_data", net, net.fit(*data, validation_data=held_out, **fit), weights=False)
net = model(optimizers.SGD(0.1), metrics=["accuracy"])
record("validation_split", net, net.fit(*data, validation_split=0.25, **fit))
net = model(optimizers.SGD(0.1), metrics=["accuracy"], regularizers=regularized)
record("regularized", net, net.fit(*data, **fit))
net = activity_model()
record("activity", net, net.fit(*data, **fit))
weights = sample_weight[:SAMPLES]
# Keras 2.15 cannot fit with both kinds of weights at once (a fault of its data adapter); train_on_batch above can.
net = model(optimizers.SGD(0.1), metrics=["accuracy"], weighted_metrics=["accuracy"])
record("sample_weight", net, net.fit(*data, sample_weight=weights, **fit), weights)
net = model(
    optimizers.SGD(0.01), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
)
record("none", net, net.fit(*data, sample_weight=weights, **fit), weights)
net = model(optimizers.SGD(0.1), metrics=["accuracy"], weighted_metrics=["accuracy"])
record("class_weight", net, net.fit(*data, class_weight=class_weight, **fit))
file.write()
