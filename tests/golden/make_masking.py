# SPDX-License-Identifier: BSD-3-Clause
"""masking.txt: recurrent layers behind Masking and Embedding(mask_zero=True), which leave steps out.

Run: pip install "tensorflow-cpu==2.15.*" && python make_masking.py
"""

from layer_cases import LayerCases
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
cases = LayerCases("masking.txt", "Recurrent layers whose steps are masked", 12)

# Sequences filled up behind, before and between, one without any step that counts, and a whole one.
COUNTS = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], np.float32)


def sequences(mask_value):
    x = cases.numbers.normal(5, 5, 3)
    x[1, 2, 0] = mask_value  # one feature alone
    return np.where(COUNTS[:, :, None] > 0, x, np.float32(mask_value)).astype(np.float32)


def behind_masking(name, *behind, mask_value=0.0):
    masking = layers.Masking(mask_value)

    def call(inputs):
        x = masking(inputs[0])
        for layer in behind:
            x = layer(x)
        return x

    cases.add(name, [sequences(mask_value)], call, *(layer for layer in behind if layer.name != "plain"))


for make in (layers.SimpleRNN, layers.GRU, layers.LSTM):
    name = make.__name__.lower()
    behind_masking(name, make(4))
    behind_masking(f"{name}_sequences", make(4, return_sequences=True), mask_value=-1.0)
    behind_masking(f"{name}_backwards", make(4, go_backwards=True))
behind_masking("gru_reset_before", layers.GRU(4, reset_after=False))
behind_masking("bidirectional", layers.Bidirectional(layers.LSTM(2, name="lstm")))
behind_masking("bidirectional_sequences",
               layers.Bidirectional(layers.GRU(2, return_sequences=True, name="gru"), merge_mode="sum"))
behind_masking("along", layers.Dense(4, activation="tanh", name="dense"), layers.Activation("relu", name="plain"),
               layers.LSTM(3, return_sequences=True, name="lstm"), layers.GRU(2, name="gru"))

embedding, memory = layers.Embedding(7, 4, mask_zero=True, name="embedding"), layers.LSTM(3, name="lstm")
tokens = np.where(COUNTS > 0, np.arange(25).reshape(5, 5) % 6 + 1, 0).astype(np.float32)
cases.add("embedding", [tokens], lambda inputs: memory(embedding(inputs[0])), embedding, memory)

cases.write()
