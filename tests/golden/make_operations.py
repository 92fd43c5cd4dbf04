# SPDX-License-Identifier: BSD-3-Clause
"""traced_layers.txt: outputs and gradients of recurrent layers, attention, embeddings, group normalization and masks.

Run: pip install "tensorflow-cpu==2.15.*" && python make_operations.py
"""

import textwrap

from layer_cases import LayerCases
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")  # each case's model is traced anew
layers = tf.keras.layers
cases = LayerCases("traced_layers.txt", "Recurrent layers, attention, embeddings, masks", 23)
for line in (
    "Before each case stand its weights as Keras names and orders them. <weight> leaves out the layer's and",
    "  the cell's name; with several layers it starts with the layer's.",
    "Integers and attention masks are inputs like others; TensorFlow gives them no gradient, here stand zeros.",
):
    cases.file.comment(line)
numbers = cases.numbers
BATCH = 3


def add(name, inputs, make):
    """`make` gives the call, a function of the inputs, and the layers that hold the weights."""
    tf.keras.backend.clear_session()  # so that the layers have their first names
    call, *built = make()
    call([tf.constant(value) for value in inputs])
    variables = [variable for layer in built for variable in layer.weights]
    weights = ", ".join(f"{each.name.split(':')[0]}[{','.join(map(str, each.shape))}]" for each in variables)
    for line in textwrap.wrap(f"{name}: {weights}", 116, subsequent_indent="  ", break_on_hyphens=False):
        cases.file.comment(line)
    cases.add(name, inputs, call, *built)
    symbolic = [tf.keras.Input(value.shape[1:]) for value in inputs]
    model = tf.keras.Model(symbolic, call(symbolic))
    eager, graph = call([tf.constant(value) for value in inputs]), model.predict(inputs, verbose=0)
    np.testing.assert_allclose(eager, graph, rtol=1e-5, atol=1e-6)  # the masks arrive in both


def add_layer(name, shape, make):
    """One layer on one input."""

    def made():
        layer = make()
        return lambda inputs: layer(inputs[0]), layer

    add(name, [numbers.normal(BATCH, *shape)], made)


def add_chain(name, inputs, *makes):
    """Layers in a row, of which each passes its mask on."""

    def made():
        chain = [make() for make in makes]

        def call(values):
            x = values[0]
            for layer in chain:
                x = layer(x)
            return x

        return call, *(layer for layer in chain if not isinstance(layer, layers.Masking))

    add(name, [inputs], made)


for name, options, shape in (
    ("group_normalization", {"groups": 3}, (4, 4, 6)),
    ("group_normalization_instance", {"groups": -1}, (4, 4, 6)),
    ("group_normalization_one_group", {"groups": 1}, (4, 4, 6)),
    ("group_normalization_no_scale", {"groups": 3, "scale": False}, (4, 4, 6)),
    ("group_normalization_no_center", {"groups": 3, "center": False}, (4, 4, 6)),
    ("group_normalization_rank3", {"groups": 3}, (5, 6)),
    ("group_normalization_rank3_epsilon", {"groups": 2, "epsilon": 0.1}, (5, 6)),
):
    add_layer(name, shape, lambda: layers.GroupNormalization(**options))

indices = numbers.integers(BATCH, 5, high=7).astype(np.float32)
indices[0, :3] = (0, 6, 6)  # both ends, and one row twice in a sample
add_chain("embedding", indices, lambda: layers.Embedding(7, 4))

for kind, make, kind_options in (
    ("simple_rnn", layers.SimpleRNN, {}),
    ("lstm", layers.LSTM, {}),
    ("gru", layers.GRU, {}),
    ("gru_reset_before", layers.GRU, {"reset_after": False}),
):
    for variant, options in (
        ("", {}),
        ("_sequences", {"return_sequences": True}),
        ("_backwards", {"go_backwards": True}),
        ("_sequences_backwards", {"return_sequences": True, "go_backwards": True}),
        ("_no_bias", {"use_bias": False}),
    ):
        add_layer(kind + variant, (5, 3), lambda: make(4, **kind_options, **options))
add_layer("simple_rnn_relu", (5, 3), lambda: layers.SimpleRNN(4, activation="relu"))
add_layer("lstm_hard_sigmoid", (5, 3), lambda: layers.LSTM(4, recurrent_activation="hard_sigmoid"))

for name, options, sequences in (
    ("bidirectional_lstm", {}, False),
    ("bidirectional_lstm_sequences", {}, True),
    ("bidirectional_lstm_sequences_sum", {"merge_mode": "sum"}, True),
):
    add_layer(name, (5, 3), lambda: layers.Bidirectional(layers.LSTM(4, return_sequences=sequences), **options))
add_layer("time_distributed_dense", (5, 3), lambda: layers.TimeDistributed(layers.Dense(4)))


def add_attention(name, inputs, options=None, masked=False, **call_options):
    """Two inputs are the query and the value; a mask is the last input."""

    def made():
        layer = layers.MultiHeadAttention(**{"num_heads": 2, "key_dim": 3, **(options or {})})

        def call(values):
            if masked:
                *values, mask = values
                return layer(values[0], values[-1], attention_mask=tf.cast(mask, "bool"), **call_options)
            return layer(values[0], values[-1], **call_options)

        return call, layer

    add(name, inputs, made)


def sequence(length):
    return numbers.normal(BATCH, length, 6)


def attention_mask(queries, values):
    """1 where a query may look at a value."""
    mask = numbers.integers(BATCH, queries, values, high=2).astype(np.float32)
    mask[np.arange(BATCH)[:, None], np.arange(queries), np.arange(queries) % values] = 1  # each sees something
    return mask


add_attention("multi_head_attention", [sequence(5)])
add_attention("multi_head_attention_value_dim", [sequence(5)], {"value_dim": 4})
add_attention("multi_head_attention_no_bias", [sequence(5)], {"use_bias": False})
add_attention("multi_head_attention_causal", [sequence(5)], use_causal_mask=True)
add_attention("multi_head_attention_two_inputs", [sequence(5), sequence(4)])
add_attention("multi_head_attention_two_inputs_causal", [sequence(5), sequence(4)], use_causal_mask=True)
add_attention("multi_head_attention_mask", [sequence(5), attention_mask(5, 5)], masked=True)
add_attention(
    "multi_head_attention_mask_causal", [sequence(5), attention_mask(5, 5)], masked=True, use_causal_mask=True
)
add_attention("multi_head_attention_mask_two_inputs", [sequence(5), sequence(4), attention_mask(5, 4)], masked=True)
nothing_seen = attention_mask(5, 5)
nothing_seen[1, 2] = 0
add_attention("multi_head_attention_mask_nothing_seen", [sequence(5), nothing_seen], masked=True)

at_the_end = np.array([[3, 1, 6, 2, 5], [4, 2, 6, 0, 0], [1, 0, 0, 0, 0]], np.float32)
in_between = np.array([[3, 0, 6, 0, 5], [0, 2, 2, 0, 4], [0, 0, 0, 0, 0]], np.float32)
for place, ids in (("end", at_the_end), ("between", in_between)):
    for variant, options in (
        ("", {}),
        ("_sequences", {"return_sequences": True}),
        ("_sequences_backwards", {"return_sequences": True, "go_backwards": True}),
    ):
        add_chain(
            f"masked_{place}_embedding_lstm{variant}",
            ids,
            lambda: layers.Embedding(7, 4, mask_zero=True),
            lambda: layers.LSTM(4, **options),
        )
add_chain(
    "masked_embedding_bidirectional_lstm_sequences",
    in_between,
    lambda: layers.Embedding(7, 4, mask_zero=True),
    lambda: layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
)


def with_masked_steps(value):
    steps = numbers.normal(BATCH, 5, 3)
    steps[0, 3:] = value
    steps[1, (0, 2), :] = value
    steps[2, 1, :2] = value  # not all of the step's values, so that it counts
    return steps


for variant, options in (("", {}), ("_sequences", {"return_sequences": True})):
    add_chain(
        f"masking_gru{variant}",
        with_masked_steps(0),
        lambda: layers.Masking(),
        lambda: layers.GRU(4, **options),
    )
add_chain(
    "masking_value_simple_rnn_sequences",
    with_masked_steps(-1),
    lambda: layers.Masking(mask_value=-1),
    lambda: layers.SimpleRNN(4, return_sequences=True),
)
cases.write()
