# SPDX-License-Identifier: BSD-3-Clause
"""functional.txt: models with branches, shared layers, nested models, several inputs and outputs.

Run: pip install "tensorflow-cpu==2.15.*" && python make_functional.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

layers, losses = tf.keras.layers, tf.keras.losses
SGD = tf.keras.optimizers.legacy.SGD
STEPS, BATCH = 5, 4
file = GoldenFile("functional.txt", "Functional models: case/initial/<weight>, data, case/losses of five SGD(0.1)")
file.comment("steps, case/final/<weight>, then the model's outputs (predict) on the first batch.")
file.comment("Batch i is rows 4 i ... 4 i + 3.")
numbers = Numbers(6)


def initialise(name, model):
    """Gives every weight a value. The names are <layer>/<weight>, as Keras has them."""
    for variable in model.weights:
        scale = 0.1 if variable.shape.rank == 1 else variable.shape[0] ** -0.5
        variable.assign(numbers.normal(*variable.shape, scale=scale))
        file.add(f"{name}/initial/{variable.name[:-2]}", variable)


def add_final(name, model):
    for variable in model.weights:
        file.add(f"{name}/final/{variable.name[:-2]}", variable)


def steps(name, model, x, y):
    initialise(name, model)
    history = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        history.append(model.train_on_batch(x[batch], y[batch]))
    file.add(f"{name}/x", x)
    file.add(f"{name}/y", y)
    file.add(f"{name}/losses", history)
    add_final(name, model)
    file.add(f"{name}/predict", model.predict(x[:BATCH], verbose=0))
    print(name, history)


def shared_model():
    """in(6) -> shared(6, tanh) -> shared -> left(4, relu)  \\
                                \\-> right(3, sigmoid)       concatenate -> ... -> out(5)"""
    x = tf.keras.Input((6,), name="in")
    shared = layers.Dense(6, "tanh", name="shared")
    first = shared(x)
    second = shared(first)
    left = layers.Dense(4, "relu", name="left")(second)
    right = layers.Dense(3, "sigmoid", name="right")(first)
    joined = layers.Concatenate(name="concatenate")([left, right])
    gate = layers.Dense(1, name="gate")(first)
    gated = layers.Multiply()([joined, gate])
    mixed = 1 - (joined * gate + gated / 4) - joined / (gate * gate + 2)
    table = layers.Add()([layers.Reshape((7, 1))(mixed), joined])
    parts = layers.Maximum()([table[:, 1:-1] - table[:, 2:], table[:, -1] * table[..., 3]])
    out = layers.Dense(5, name="out")(layers.Flatten()(layers.Maximum()([parts, mixed])))
    return tf.keras.Model(x, out, name="shared_model")


x, y = numbers.normal(STEPS * BATCH, 6), numbers.integers(STEPS * BATCH, high=5)
file.comment("shared_model: a = shared(in), b = shared(a), joined = concatenate(left(b), right(a)), gate = gate(a),")
file.comment("  mixed = 1 - (joined * gate + multiply(joined, gate) / 4) - joined / (gate * gate + 2),")
file.comment("  table = add(reshape(mixed), joined), reshaped to (7, 1),")
file.comment("  parts = maximum(table[:, 1:-1] - table[:, 2:], table[:, -1] * table[..., 3]),")
file.comment("  out = out(flatten(maximum(parts, mixed))); shared: 6")
file.comment("  tanh, gate: 1 linear, left: 4 relu,")
file.comment("  right: 3 sigmoid, out: 5 linear; sparse categorical cross-entropy from logits.")
model = shared_model()
model.compile(SGD(0.1), losses.SparseCategoricalCrossentropy(from_logits=True))
steps("shared_model", model, x, y)

file.comment("nested_model: a = block(in), b = block(a), c = tail(b), out = out(add(a, c)); block is a functional")
file.comment("  model of one")
file.comment("  input and two outputs, the second of which nobody uses:")
file.comment("  block_out(add(in, block_dense(inner(in)))), block_unused(add(...)), block_dense: 6 relu, block_out: 6 tanh,")
file.comment("  block_unused: 2 linear; inner is a sequential model of inner_1: 6 tanh; tail is a sequential model of")
file.comment("  tail_1: 4 relu, tail_2: 6 linear; out: 5 linear. Same loss.")
inside = tf.keras.Input((6,))
inner = tf.keras.Sequential([layers.Dense(6, "tanh", name="inner_1")], name="inner")
added = layers.Add()([inside, layers.Dense(6, "relu", name="block_dense")(inner(inside))])
heads = [layers.Dense(6, "tanh", name="block_out")(added), layers.Dense(2, name="block_unused")(added)]
block = tf.keras.Model(inside, heads, name="block")
tail = tf.keras.Sequential([layers.Dense(4, "relu", name="tail_1"), layers.Dense(6, name="tail_2")], name="tail")
outside = tf.keras.Input((6,), name="in")
a = block(outside)[0]
out = layers.Dense(5, name="out")(layers.Add()([a, tail(block(a)[0])]))
model = tf.keras.Model(outside, out, name="nested_model")
model.compile(SGD(0.1), losses.SparseCategoricalCrossentropy(from_logits=True))
steps("nested_model", model, x, y)

file.comment("two_outputs: joined = concatenate(dense_1(one), dense_2(two)), dense_1: 4 relu, dense_2: 3 tanh;")
file.comment("  a = a(joined): 5 linear, sparse categorical cross-entropy from logits; b = b(joined): 2 linear,")
file.comment("  mean squared error.")
file.comment("  Losses per step: loss, a_loss, b_loss. two_outputs_weighted: loss_weights 0.25 for a, 2 for b.")
file.comment("<two_outputs...>/fit/history/<key>: afterwards 2 epochs of fit on the first 10 samples,")
file.comment("  batch_size=4, shuffle=False,")
file.comment("  from the initial weights, metrics accuracy for a, mean_absolute_error (mae) for b, validation on")
file.comment("  the last 10.")
one, two = numbers.normal(STEPS * BATCH, 3), numbers.normal(STEPS * BATCH, 2)
labels, values = numbers.integers(STEPS * BATCH, high=5), numbers.normal(STEPS * BATCH, 2)
for key, value in {"one": one, "two": two, "a": labels, "b": values}.items():
    file.add(f"two_outputs/data/{key}", value)
initial = None
for name, weights in (("two_outputs", None), ("two_outputs_weighted", {"a": 0.25, "b": 2.0})):

    def build():
        inputs = tf.keras.Input((3,), name="one"), tf.keras.Input((2,), name="two")
        joined = layers.Concatenate()(
            [layers.Dense(4, "relu", name="dense_1")(inputs[0]), layers.Dense(3, "tanh", name="dense_2")(inputs[1])]
        )
        model = tf.keras.Model(inputs, [layers.Dense(5, name="a")(joined), layers.Dense(2, name="b")(joined)])
        model.compile(
            SGD(0.1),
            {"a": losses.SparseCategoricalCrossentropy(from_logits=True), "b": losses.MeanSquaredError()},
            metrics={"a": "accuracy", "b": "mae"},
            loss_weights=weights,
        )
        return model

    model = build()
    if initial is None:
        initialise(name, model)
        initial = model.get_weights()
    model.set_weights(initial)
    history = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        result = model.train_on_batch([one[batch], two[batch]], [labels[batch], values[batch]], return_dict=True)
        history.append([result["loss"], result["a_loss"], result["b_loss"]])
    file.add(f"{name}/losses", history)
    add_final(name, model)
    for key, value in zip("ab", model.predict([one[:BATCH], two[:BATCH]], verbose=0)):
        file.add(f"{name}/predict/{key}", value)
    print(name, history)

    model = build()
    model.set_weights(initial)
    history = model.fit(
        [one[:10], two[:10]],
        [labels[:10], values[:10]],
        validation_data=([one[10:], two[10:]], [labels[10:], values[10:]]),
        batch_size=BATCH,
        epochs=2,
        shuffle=False,
        verbose=0,
    )
    for key, value in history.history.items():
        file.add(f"{name}/fit/history/{key}", value)
        print(key, value)
    add_final(f"{name}/fit", model)
file.write()
