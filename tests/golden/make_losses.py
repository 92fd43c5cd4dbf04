# SPDX-License-Identifier: BSD-3-Clause
"""losses.txt: every loss with its options: value per row, value (SUM_OVER_BATCH_SIZE) and gradient.

Run: pip install "tensorflow-cpu==2.15.*" && python make_losses.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

losses = tf.keras.losses
file = GoldenFile(
    "losses.txt",
    "Losses. case/{target,prediction[,sample_weight],rows,loss,gradient}",
)
file.comment("The gradient is that of `loss` by `prediction`; `rows` are the losses before weights and mean.")
numbers = Numbers(2)


def add(name, make, target, prediction, sample_weight=None):
    """`rows` are the losses before the reduction and without sample weights."""
    prediction = tf.constant(prediction, tf.float32)
    target = tf.constant(target, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(prediction)
        value = make(reduction=losses.Reduction.SUM_OVER_BATCH_SIZE)(target, prediction, sample_weight)
    file.add(f"{name}/target", target)
    file.add(f"{name}/prediction", prediction)
    if sample_weight is not None:
        file.add(f"{name}/sample_weight", sample_weight)
    file.add(f"{name}/rows", make(reduction=losses.Reduction.NONE)(target, prediction))
    file.add(f"{name}/loss", value)
    file.add(f"{name}/gradient", tape.gradient(value, prediction))


def loss(kind, **options):
    return lambda reduction: kind(reduction=reduction, **options)


weights = np.array([1, 0.5, 0, 2, 3], np.float32)

# Class probabilities and logits, 5 rows of 4 classes.
logits = numbers.normal(5, 4, scale=2)
probabilities = numbers.uniform(5, 4, low=0.05, high=1)
probabilities = np.round(probabilities / probabilities.sum(-1, keepdims=True), 3)
unnormalised = numbers.uniform(5, 4, low=0.05, high=1)  # rows that do not add up to 1
far_logits = np.array([[1000, 0, -1000, 5], [-1000, 0, 1000, 3], [88, -88, 89, -104], [-500] * 4, [0] * 4], np.float32)
hard = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [1e-8, 1, 0, 0], [0, 0, 0, 1]], np.float32)
labels = np.array([2, 0, 3, 1, 3], np.float32)
one_hot = np.eye(4, dtype=np.float32)[labels.astype(int)]
soft = np.array([[0.7, 0.1, 0.1, 0.1], [0.25] * 4, [0, 0.5, 0.5, 0], [1, 0, 0, 0], [0.2, 0.3, 0.4, 0.1]], np.float32)

sparse, categorical, binary = (
    losses.SparseCategoricalCrossentropy,
    losses.CategoricalCrossentropy,
    losses.BinaryCrossentropy,
)
for suffix, weight in (("", None), ("_weighted", weights)):
    add(f"sparse_categorical_crossentropy{suffix}", loss(sparse), labels, probabilities, weight)
    add(f"sparse_categorical_crossentropy_logits{suffix}", loss(sparse, from_logits=True), labels, logits, weight)
    add(f"categorical_crossentropy{suffix}", loss(categorical), one_hot, probabilities, weight)
    add(f"categorical_crossentropy_logits{suffix}", loss(categorical, from_logits=True), one_hot, logits, weight)
add("sparse_categorical_crossentropy_unnormalised", loss(sparse), labels, unnormalised)
add("sparse_categorical_crossentropy_hard", loss(sparse), labels, hard)
add("sparse_categorical_crossentropy_far_logits", loss(sparse, from_logits=True), labels, far_logits)
add("sparse_categorical_crossentropy_column", loss(sparse, from_logits=True), labels[:, None], logits)
add(
    "sparse_categorical_crossentropy_rank3",
    loss(sparse),
    [[2, 0, 3], [1, 1, 0]],
    tf.nn.softmax(numbers.normal(2, 3, 4)),
)
add(
    "sparse_categorical_crossentropy_logits_rank3",
    loss(sparse, from_logits=True),
    [[2, 0, 3], [1, 1, 0]],
    numbers.normal(2, 3, 4),
    np.array([2, 0.5], np.float32),
)
add("categorical_crossentropy_unnormalised", loss(categorical), one_hot, unnormalised)
add("categorical_crossentropy_soft", loss(categorical), soft, probabilities)
add("categorical_crossentropy_logits_soft", loss(categorical, from_logits=True), soft, logits)
add("categorical_crossentropy_hard", loss(categorical), one_hot, hard)
add("categorical_crossentropy_far_logits", loss(categorical, from_logits=True), one_hot, far_logits)
add("categorical_crossentropy_smoothing", loss(categorical, label_smoothing=0.1), one_hot, probabilities)
add(
    "categorical_crossentropy_logits_smoothing",
    loss(categorical, from_logits=True, label_smoothing=0.1),
    one_hot,
    logits,
    weights,
)
add(
    "categorical_crossentropy_logits_rank3",
    loss(categorical, from_logits=True),
    one_hot[:4].reshape(2, 2, 4),
    logits[:4].reshape(2, 2, 4),
)

# Binary: 5 rows of 3 outputs, and one output.
targets = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]], np.float32)
soft_targets = numbers.uniform(5, 3)
near, near_logits = numbers.uniform(5, 3, low=0.02, high=0.98), numbers.normal(5, 3, scale=2)
far_binary = np.array(
    [[1000, 1000, -1000], [-1000, 88, -88], [89, -104, 0], [-0.001, 20, 20], [50, 50, -50]], np.float32
)
hard_binary = np.array([[0, 1, 0], [0, 1, 1e-8], [0.5, 1, 0], [1, 0, 1e-7], [1, 0, 0.9999999]], np.float32)
for suffix, weight in (("", None), ("_weighted", weights)):
    add(f"binary_crossentropy{suffix}", loss(binary), targets, near, weight)
    add(f"binary_crossentropy_logits{suffix}", loss(binary, from_logits=True), targets, near_logits, weight)
add("binary_crossentropy_one", loss(binary), targets[:, :1], near[:, :1])
add("binary_crossentropy_soft", loss(binary), soft_targets, near)
add("binary_crossentropy_logits_soft", loss(binary, from_logits=True), soft_targets, near_logits)
add("binary_crossentropy_hard", loss(binary), targets, hard_binary)
add("binary_crossentropy_far_logits", loss(binary, from_logits=True), targets, far_binary)
add("binary_crossentropy_smoothing", loss(binary, label_smoothing=0.2), targets, near)
add(
    "binary_crossentropy_logits_smoothing",
    loss(binary, from_logits=True, label_smoothing=0.2),
    targets,
    near_logits,
    weights,
)

# Regression; the first error is 0, and one is exactly huber's delta.
target, prediction = numbers.normal(5, 3), numbers.normal(5, 3, scale=2)
prediction[0, 0], target[0, 0] = 0.5, 0.5
prediction[0, 1], target[0, 1] = 1.5, 0.5
prediction[0, 2], target[0, 2] = -1.5, -0.5
prediction[1] = [1e4, -1e4, 0]
target3, prediction3 = numbers.normal(2, 3, 4), numbers.normal(2, 3, 4, scale=2)
for name, kind, options in (
    ("mean_squared_error", losses.MeanSquaredError, {}),
    ("mean_absolute_error", losses.MeanAbsoluteError, {}),
    ("huber", losses.Huber, {}),
    ("huber_half", losses.Huber, {"delta": 0.5}),
    ("huber_two", losses.Huber, {"delta": 2.0}),
):
    add(name, loss(kind, **options), target, prediction)
    add(f"{name}_weighted", loss(kind, **options), target, prediction, weights)
    add(f"{name}_one", loss(kind, **options), target[:, 1:2], prediction[:, 1:2])
    add(f"{name}_rank3", loss(kind, **options), target3, prediction3)
    add(f"{name}_rank3_weighted", loss(kind, **options), target3, prediction3, np.array([2, 0.5], np.float32))
file.write()
