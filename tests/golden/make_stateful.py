# SPDX-License-Identifier: BSD-3-Clause
"""stateful.txt: stateful recurrent layers in a model that predicts, is trained and evaluated, and is reset.

Run: pip install "tensorflow-cpu==2.15.*" && python make_stateful.py
"""

from golden_file import GoldenFile, Numbers
import tensorflow as tf

layers = tf.keras.layers
BATCH, STEPS, FEATURES = 2, 4, 3
file = GoldenFile("stateful.txt", "Stateful recurrent layers: initial/<number of a weight>, x, y, then what becomes of them.")
file.comment("first, second: the same data predicted twice; losses: fit without shuffling, three epochs, begun without")
file.comment("a reset; evaluated: a loss; reset: predicted after a reset; states/<layer>_<n>: h, c afterwards.")
numbers = Numbers(31)

x = tf.keras.Input((STEPS, FEATURES), batch_size=BATCH)
a = layers.LSTM(3, return_sequences=True, stateful=True, name="a")(x)
b = layers.Bidirectional(layers.GRU(2, return_sequences=True, stateful=True, name="each"), name="b")(a)
cells = [layers.LSTMCell(2), layers.LSTMCell(3)]
c = layers.RNN(cells, stateful=True, go_backwards=True, name="c")(b)
d = layers.SimpleRNN(3, return_sequences=True, stateful=True, name="d")(layers.Masking(name="masking")(x))
e = layers.ConvLSTM1D(2, 2, padding="same", stateful=True, name="e")(layers.Reshape((STEPS, FEATURES, 1))(x))
y = layers.Dense(2, name="y")(layers.Concatenate()([c, layers.Flatten()(d), layers.Flatten()(e)]))
model = tf.keras.Model(x, y)
model.compile(tf.keras.optimizers.legacy.SGD(0.05), "mse")
for number, variable in enumerate(model.weights):
    variable.assign(numbers.normal(*variable.shape, scale=0.5))
    file.add(f"initial/{number}", variable)

data, targets = numbers.normal(3 * BATCH, STEPS, FEATURES), numbers.normal(3 * BATCH, 2)
data[2, 0] = data[2, 1] = data[1, 2] = data[4, 3] = 0  # masked steps
file.add("x", data)
file.add("y", targets)
options = {"batch_size": BATCH, "verbose": 0}
file.add("first", model.predict(data, **options))
file.add("second", model.predict(data, **options))
file.add("losses", model.fit(data, targets, epochs=3, shuffle=False, **options).history["loss"])
file.add("evaluated", [model.evaluate(data, targets, **options)])
model.reset_states()
file.add("reset", model.predict(data, **options))
for name in "ade":
    for i, state in enumerate(model.get_layer(name).states):
        file.add(f"states/{name}_{i}", state)
file.write()
