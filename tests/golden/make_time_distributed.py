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

cases.write()
