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

# What is left of Keras's, each once with hard and once with soft targets: 5 rows of 4 outputs. Two zeros of each
# (mean_absolute_percentage_error, kl_divergence), a row of zeros (cosine_similarity), margins of exactly 0 (hinges).
file.comment("<loss>, <loss>_soft: the losses that have no options.")
errors, values = numbers.normal(5, 4), numbers.normal(5, 4, scale=2)
values[0], errors[1], errors[2, :2], values[2, 0] = 0, 0, 0, 1e-8
counts, means = np.abs(np.rint(values * 2)), numbers.uniform(5, 4, high=3)
means[0, 0] = 1e-8
signs, margins = np.where(soft > 0.25, 1.0, -1.0).astype(np.float32), numbers.normal(5, 4, scale=1.5)
margins[0, 0], margins[1, 0], margins[1, 1:3] = 1, -1, [3, 1]
for name, kind, hard_target, soft_target, prediction in (
    ("mean_absolute_percentage_error", losses.MeanAbsolutePercentageError, errors, values, means),
    ("mean_squared_logarithmic_error", losses.MeanSquaredLogarithmicError, counts, values, means),
    ("log_cosh", losses.LogCosh, counts, errors * 50, values),
    ("poisson", losses.Poisson, counts, means[::-1], means),
    ("kl_divergence", losses.KLDivergence, one_hot, soft, probabilities),
    ("hinge", losses.Hinge, one_hot, signs, margins),
    ("squared_hinge", losses.SquaredHinge, one_hot, signs, margins),
    ("categorical_hinge", losses.CategoricalHinge, one_hot, soft, margins),
    ("cosine_similarity", losses.CosineSimilarity, errors, values[::-1], values),
):
    add(name, loss(kind), hard_target, prediction, weights)
    add(f"{name}_soft", loss(kind), soft_target, prediction)

# Along another axis than the last one: 4 samples of (3, 2) and one of (2, 3, 2).
file.comment("<loss>_axis: axis=1 of samples (3, 2), <loss>_axis2: axis=2 of samples (2, 3, 2).")
of_axes = Numbers(31)
for name, kind, options in (
    ("categorical_crossentropy", categorical, {"label_smoothing": 0.1}),
    ("categorical_crossentropy_logits", categorical, {"from_logits": True}),
    ("binary_crossentropy", binary, {}),
    ("cosine_similarity", losses.CosineSimilarity, {}),
):
    for suffix, axis, shape in (("_axis", 1, (4, 3, 2)), ("_axis2", 2, (4, 2, 3, 2))):
        target = np.round(tf.nn.softmax(of_axes.normal(*shape), axis).numpy(), 3)
        add(f"{name}{suffix}", loss(kind, axis=axis, **options), target, of_axes.uniform(*shape, low=0.05, high=0.95),
            weights[:4] if axis == 1 else None)
file.write()

# Ten steps of a model that has an output for each of these losses, and the others with other reductions.
file = GoldenFile("losses_training.txt", "Ten steps of input (6) -> for each loss Dense(4) (poisson: softplus; axis: Dense(12), Reshape((3, 4))), SGD(0.05), batches of 4.")
file.comment("x, y (targets of all outputs), weights; <loss>/{kernel,bias}: before; <loss>/trained/...: after ten steps.")
file.comment("losses: the total before each step, then that of each output. weighted: with sample weights.")
SUM = losses.Reduction.SUM
outputs = {
    "mean_absolute_percentage_error": losses.MeanAbsolutePercentageError(),
    "mean_squared_logarithmic_error": losses.MeanSquaredLogarithmicError(),
    "log_cosh": losses.LogCosh(),
    "poisson": losses.Poisson(),
    "kl_divergence": losses.KLDivergence(),
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "categorical_hinge": losses.CategoricalHinge(),
    "cosine_similarity": losses.CosineSimilarity(),
    "mean_squared_error_sum": losses.MeanSquaredError(reduction=SUM),
    "categorical_crossentropy_sum": losses.CategoricalCrossentropy(from_logits=True, reduction=SUM),
    "mean_squared_error": losses.MeanSquaredError(),
    "mean_absolute_error": losses.MeanAbsoluteError(),
    "huber": losses.Huber(0.5),
    "binary_crossentropy": losses.BinaryCrossentropy(from_logits=True),
    "categorical_crossentropy": losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    "sparse_categorical_crossentropy": losses.SparseCategoricalCrossentropy(from_logits=True),
    "categorical_crossentropy_axis": losses.CategoricalCrossentropy(from_logits=True, axis=1),
    "binary_crossentropy_axis": losses.BinaryCrossentropy(from_logits=True, axis=1),
    "cosine_similarity_axis": losses.CosineSimilarity(axis=1, reduction=SUM),
    # The class has no axis, the function has.
    "sparse_categorical_crossentropy_axis": lambda t, p: losses.sparse_categorical_crossentropy(t, p, True, 1),
}
layers, steps, batch = tf.keras.layers, 10, 4
x = numbers.uniform(steps * batch, 6, low=0.1)
y = np.where(numbers.uniform(steps * batch, 4) > 0.5, 1.0, 0.0).astype(np.float32)
y[:, 0] = 1 - y[:, 1]  # both classes in each row
sample_weight = numbers.uniform(steps * batch, low=0.5, high=2, digits=1)
# Positive, for losses of logarithms.
def width(name):
    return 12 if name.endswith("_axis") else 4


initial = {
    name: (numbers.uniform(6, width(name), low=0.02, high=0.25), numbers.uniform(width(name), low=0.02, high=0.2))
    for name in outputs
}
file.comment("mean_absolute_percentage_error: loss weight 0.01, targets y + 1; sparse: their first 1; axis: y, 1 - y, y; sparse, axis: 2 y.")
file.add("x", x)
file.add("y", y)
file.add("sample_weight", sample_weight)


def targets_of(rows):
    def target(name):
        if name == "sparse_categorical_crossentropy_axis":
            return 2 * y[rows]
        if name.startswith("sparse"):
            return y[rows].argmax(1)
        if name.endswith("_axis"):
            return np.stack([y[rows], 1 - y[rows], y[rows]], 1)
        return y[rows] + (1 if "percentage" in name else 0)

    return [target(name) for name in outputs]


def head(name, x):
    x = layers.Dense(width(name), "softplus" if name == "poisson" else None, name=name)(x)
    return layers.Reshape((3, 4), name=name + "_reshape")(x) if name.endswith("_axis") else x


for run, weighted in (("plain", False), ("weighted", True)):
    given = tf.keras.Input((6,))
    net = tf.keras.Model(given, [head(name, given) for name in outputs])
    scale = [0.01 if "percentage" in name else 1.0 for name in outputs]
    net.compile(tf.keras.optimizers.legacy.SGD(0.05), list(outputs.values()), loss_weights=scale)
    for name, (kernel, bias) in initial.items():
        net.get_layer(name).set_weights([kernel, bias])
    history = []
    for step in range(steps):
        rows = slice(step * batch, (step + 1) * batch)
        history.append(
            net.train_on_batch(x[rows], targets_of(rows), sample_weight=sample_weight[rows] if weighted else None)
        )
    file.add(f"{run}/losses", history)
    for name, weights_of in initial.items():
        for kind, value, trained in zip(("kernel", "bias"), weights_of, net.get_layer(name).get_weights()):
            if not weighted:
                file.add(f"initial/{name}/{kind}", value)
            file.add(f"{run}/{name}/{kind}", trained)
    print(run, history[0], history[-1])
file.write()
