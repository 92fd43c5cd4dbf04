# SPDX-License-Identifier: BSD-3-Clause
"""layers.txt: outputs and gradients of every layer.

Run: pip install "tensorflow-cpu==2.15.*" && python make_layers.py
"""

from layer_cases import LayerCases
import tensorflow as tf

layers = tf.keras.layers
cases = LayerCases("layers.txt", "Layers", 5)
numbers, add = cases.numbers, cases.add


def one(layer):
    return lambda inputs: layer(inputs[0])


for name, options, shape in (
    ("dense", {"units": 5}, (4, 6)),
    ("dense_no_bias", {"units": 5, "use_bias": False}, (4, 6)),
    ("dense_relu", {"units": 5, "activation": "relu"}, (4, 6)),
    ("dense_tanh", {"units": 3, "activation": "tanh"}, (3, 7)),
    ("dense_gelu", {"units": 3, "activation": "gelu"}, (3, 7)),
    ("dense_softmax", {"units": 5, "activation": "softmax"}, (4, 6)),
    ("dense_swish_no_bias", {"units": 4, "activation": "swish", "use_bias": False}, (3, 5)),
    ("dense_rank3", {"units": 4, "activation": "relu"}, (2, 3, 5)),
    ("dense_rank4_no_bias", {"units": 3, "use_bias": False}, (2, 2, 3, 4)),
    ("dense_one_unit", {"units": 1, "activation": "sigmoid"}, (3, 4)),
    ("dense_wide", {"units": 37}, (3, 19)),
):
    layer = layers.Dense(**options)
    add(name, [numbers.normal(*shape)], one(layer), layer)

add("flatten", [numbers.normal(2, 3, 4)], one(layers.Flatten()))
add("flatten_rank4", [numbers.normal(2, 2, 3, 2)], one(layers.Flatten()))
add("flatten_rank1", [numbers.normal(3)], one(layers.Flatten()))
add("reshape", [numbers.normal(2, 3, 4)], one(layers.Reshape((6, 2))))
add("reshape_inferred", [numbers.normal(2, 12)], one(layers.Reshape((-1, 2, 3))))
for activation in ("relu", "softmax", "elu", "selu"):
    add(f"activation_{activation}", [numbers.normal(3, 5)], one(layers.Activation(activation)))
add("activation_softmax_rank3", [numbers.normal(2, 3, 4)], one(layers.Activation("softmax")))

for name, make in (
    ("add", layers.Add),
    ("multiply", layers.Multiply),
    ("average", layers.Average),
    ("maximum", layers.Maximum),
    ("subtract", layers.Subtract),
):
    for count in (2,) if name == "subtract" else (2, 3):
        inputs = [numbers.normal(3, 4) for _ in range(count)]
        inputs[1][0, 0] = inputs[0][0, 0]  # a tie
        if count == 3:
            inputs[2][0, 0] = inputs[0][0, 0]
        add(f"{name}_{count}", inputs, make())
add("add_rank3", [numbers.normal(2, 3, 4) for _ in range(2)], layers.Add())
add("add_broadcast", [numbers.normal(2, 3, 4), numbers.normal(2, 1, 4)], layers.Add())
add("multiply_broadcast", [numbers.normal(2, 3, 1), numbers.normal(2, 3, 4)], layers.Multiply())
for inputs in (2, 3):
    widths = (3, 2, 4)[:inputs]
    add(f"concatenate_{inputs}", [numbers.normal(3, width) for width in widths], layers.Concatenate())
    add(f"concatenate_axis1_{inputs}", [numbers.normal(2, width, 3) for width in widths], layers.Concatenate(axis=1))
    add(f"concatenate_rank3_{inputs}", [numbers.normal(2, 3, width) for width in widths], layers.Concatenate())

shared = layers.Dense(4, activation="tanh")
add("shared_dense_chain", [numbers.normal(3, 4)], lambda inputs: shared(shared(inputs[0])), shared)
shared = layers.Dense(5, activation="relu")
add(
    "shared_dense_branches",
    [numbers.normal(3, 4), numbers.normal(3, 4)],
    lambda inputs: layers.Concatenate()([shared(inputs[0]), shared(inputs[1])]),
    shared,
)
# One tensor used twice by one layer, and a tensor used by two layers.
add("add_same_input", [numbers.normal(3, 4)], lambda inputs: layers.Add()([inputs[0], inputs[0]]))
add("multiply_same_input", [numbers.normal(3, 4)], lambda inputs: layers.Multiply()([inputs[0], inputs[0]]))
first, second = layers.Dense(4, activation="relu", name="first"), layers.Dense(4, name="second")
add(
    "residual",
    [numbers.normal(3, 4)],
    lambda inputs: layers.Add()([inputs[0], second(first(inputs[0]))]),
    first,
    second,
)
cases.write()
