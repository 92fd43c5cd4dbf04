# SPDX-License-Identifier: BSD-3-Clause
"""normalization.txt: outputs, gradients and moving statistics of BatchNormalization and LayerNormalization.

Run: pip install "tensorflow-cpu==2.15.*" && python make_normalization.py
"""

from golden_file import GoldenFile, Numbers
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
file = GoldenFile("normalization.txt", "Normalizations: case/input_0, case/<weight>, case/output (while training).")
file.comment("The gradients are those of sum(output * output_gradient): case/input_0_gradient, case/<weight>_gradient.")
file.comment("  Of a moving statistic, case/<weight>_gradient is what the training step takes off it.")
file.comment("case/prediction is the output in inference, before the training step.")
numbers = Numbers(11)


def kind_of(variable):
    return variable.name.split("/")[-1].split(":")[0]


def give_values(layer):
    for variable in layer.weights:
        if kind_of(variable) == "moving_variance":
            variable.assign(numbers.uniform(*variable.shape, low=0.5, high=2))
        else:
            variable.assign(numbers.normal(*variable.shape, scale=0.5))
    return {kind_of(variable): variable.numpy() for variable in layer.weights}


def add(name, layer, *shape):
    value = tf.constant(numbers.normal(*shape))
    layer.build(value.shape)
    before = give_values(layer)
    file.add(f"{name}/input_0", value)
    for kind, weight in before.items():
        file.add(f"{name}/{kind}", weight)
    file.add(f"{name}/prediction", layer(value, training=False))
    gradient = numbers.normal(*shape)
    with tf.GradientTape() as tape:
        tape.watch(value)
        output = layer(value, training=True)
        total = tf.reduce_sum(output * gradient)
    trained = layer.trainable_weights
    of_input, of_weights = tape.gradient(total, (value, trained))
    file.add(f"{name}/output", output)
    file.add(f"{name}/output_gradient", gradient)
    file.add(f"{name}/input_0_gradient", of_input)
    for variable, each in zip(trained, of_weights):
        file.add(f"{name}/{kind_of(variable)}_gradient", each)
    for variable in layer.non_trainable_weights:
        file.add(f"{name}/{kind_of(variable)}_gradient", before[kind_of(variable)] - variable.numpy())


for name, options, shape in (
    ("batch_rank2_1", {}, (5, 1)),
    ("batch_rank2_3", {}, (5, 3)),
    ("batch_rank2_17", {}, (4, 17)),
    ("batch_rank2_64", {"momentum": 0.5}, (3, 64)),
    ("batch_rank3_3", {}, (2, 7, 3)),
    ("batch_rank3_17", {"epsilon": 0.1}, (2, 3, 17)),
    ("batch_rank4_1", {"momentum": 0.75}, (2, 3, 4, 1)),
    ("batch_rank4_3", {}, (2, 3, 4, 3)),
    ("batch_rank4_17", {"momentum": 0.25}, (2, 2, 2, 17)),
    ("batch_rank4_64", {"momentum": 0}, (2, 2, 2, 64)),
    ("batch_rank5_3", {"momentum": 0.5}, (2, 2, 2, 2, 3)),
    ("batch_rank3_axis1", {"axis": 1, "momentum": 0.5}, (3, 4, 3)),
    ("batch_rank4_axis1", {"axis": 1, "momentum": 0.5}, (2, 3, 4, 5)),
    ("batch_rank4_axis2", {"axis": 2, "momentum": 0.5}, (2, 3, 4, 5)),
    ("batch_no_center", {"center": False}, (4, 3)),
    ("batch_no_scale", {"scale": False}, (2, 3, 2, 3)),
    ("batch_neither", {"center": False, "scale": False}, (4, 3)),
):
    add(name, layers.BatchNormalization(**options), *shape)

for name, options, shape in (
    ("layer_rank2_1", {}, (3, 1)),
    ("layer_rank2_3", {}, (5, 3)),
    ("layer_rank2_10", {}, (19, 10)),
    ("layer_rank2_17", {"epsilon": 0.1}, (3, 17)),
    ("layer_rank2_64", {}, (3, 64)),
    ("layer_rank2_200", {}, (2, 200)),
    ("layer_rank3_3", {}, (2, 5, 3)),
    ("layer_rank4_17", {}, (2, 2, 2, 17)),
    ("layer_rank3_axes", {"axis": [1, 2]}, (3, 4, 3)),
    ("layer_rank4_axes", {"axis": [-2, -1]}, (2, 3, 4, 5)),
    ("layer_rank4_all", {"axis": [1, 2, 3]}, (3, 2, 3, 4)),
    ("layer_no_center", {"center": False}, (4, 6)),
    ("layer_no_scale", {"scale": False}, (4, 18)),
    ("layer_neither", {"center": False, "scale": False}, (4, 6)),
):
    add(name, layers.LayerNormalization(**options), *shape)

# Moving statistics after several steps, and what is predicted with them.
for name, shape in (("steps_rank2", (4, 5)), ("steps_rank4", (2, 3, 2, 5))):
    layer = layers.BatchNormalization(momentum=0.8)
    steps = numbers.normal(3, *shape, scale=2)
    for step in steps:
        layer(step, training=True)
    file.add(f"{name}/inputs", steps)
    for variable in layer.non_trainable_weights:
        file.add(f"{name}/{kind_of(variable)}", variable)
    file.add(f"{name}/prediction", layer(steps[0], training=False))

# A training whose last batch is partial: 10 samples in batches of 4. One layer is called twice.
tf.keras.backend.clear_session()
inputs = tf.keras.Input((2, 2, 3))
shared = layers.BatchNormalization(momentum=0.7, name="shared")
x = layers.Dense(4, name="first")(inputs)
x = shared(layers.Activation("tanh")(shared(x)))
x = layers.LayerNormalization(name="rows")(x)
x = layers.Dense(3, name="second")(layers.Flatten()(x))
x = layers.BatchNormalization(momentum=0.6, gamma_regularizer="l2", name="last")(x)
model = tf.keras.Model(inputs, x)
for layer in model.layers:
    for kind, value in give_values(layer).items():
        file.add(f"fit/before/{layer.name}/{kind}", value)
data, targets = numbers.normal(10, 2, 2, 3), numbers.normal(10, 3)
model.compile(tf.keras.optimizers.legacy.SGD(0.1), "mse")
history = model.fit(data, targets, batch_size=4, epochs=3, shuffle=False, verbose=0)
file.add("fit/x", data)
file.add("fit/y", targets)
file.add("fit/loss", history.history["loss"])
for layer in model.layers:
    for variable in layer.weights:
        file.add(f"fit/after/{layer.name}/{kind_of(variable)}", variable)
file.add("fit/evaluate", model.evaluate(data, targets, batch_size=4, verbose=0))
file.add("fit/predict", model.predict(data, batch_size=4, verbose=0))
assert [w.name for w in model.weights if "shared" in w.name] == [
    f"shared/{kind}:0" for kind in ("gamma", "beta", "moving_mean", "moving_variance")
]
assert np.isfinite(history.history["loss"]).all()

# Other axes than the last ones in their order: gamma's shape is that of the list.
for name, axis, shape in (
    ("layer_rank3_turned", [2, 1], (3, 4, 3)),
    ("layer_rank3_front", 1, (3, 4, 5)),
    ("layer_rank4_turned", [-2, 1], (2, 3, 4, 5)),
):
    add(name, layers.LayerNormalization(axis), *shape)
file.write()
