# SPDX-License-Identifier: BSD-3-Clause
"""metrics_per_output.txt: what fit and evaluate report of metrics per output and of weighted metrics.

Run: pip install "tensorflow-cpu==2.15.*" && python make_metrics_per_output.py
"""

from golden_file import GoldenFile, Numbers
import tensorflow as tf

layers, losses = tf.keras.layers, tf.keras.losses
SGD = tf.keras.optimizers.legacy.SGD
SAMPLES, TRAINED, BATCH = 18, 10, 4
file = GoldenFile("metrics_per_output.txt", "Metrics per output and weighted metrics: case/history/<key> of two epochs of")
file.comment("fit on the first 10 samples, batch_size=4, shuffle=False, SGD(0.1), validation on the others; then")
file.comment("case/evaluate/<key> of these others. Data: two/x, two/y..., two/weights (of samples), and the")
file.comment("weights before, two/initial/<weight>.")
numbers = Numbers(23)


def initialise(model):
    for variable in model.weights:
        variable.assign(numbers.normal(*variable.shape, scale=0.5))
        file.add(f"two/initial/{variable.name[:-2]}", variable)
    return model.get_weights()


def part(arrays, rows):
    return [array[rows] for array in arrays]


def fit(case, model, x, y, weights):
    first, rest = slice(0, TRAINED), slice(TRAINED, SAMPLES)
    others = x[rest], part(y, rest), weights[rest]
    history = model.fit(x[first], part(y, first), sample_weight=weights[first], validation_data=others,
                        batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    for key, values in history.history.items():
        file.add(f"{case}/history/{key}", values)
    result = model.evaluate(*others[:2], BATCH, sample_weight=weights[rest], verbose=0, return_dict=True)
    for key, value in result.items():
        file.add(f"{case}/evaluate/{key}", value)
    print(case, history.history, result)


file.comment("two: shared(x): 6 tanh; a(shared): 4 linear, sparse categorical cross-entropy from logits; b(shared): 2 linear,")
file.comment("  mean squared error.")
x, weights = numbers.normal(SAMPLES, 3), numbers.uniform(SAMPLES, high=2, digits=1)
weights[2] = weights[9] = weights[13] = 0
y = [x.argmax(1) + (x[:, 0] > 1), numbers.normal(SAMPLES, 2)]
for key, value in {"x": x, "y/a": y[0], "y/b": y[1], "weights": weights}.items():
    file.add(f"two/{key}", value)
initial = None
CASES = {
    "dictionary": {"metrics": {"a": "accuracy", "b": ["mae", "mse"]},
                   "weighted_metrics": {"b": ["mse", "mean_absolute_error"], "a": ["accuracy"]}},
    "lists": {"metrics": [[], ["mae"]], "weighted_metrics": [["accuracy", "sparse_categorical_accuracy"], []]},
    "only_b": {"metrics": {"b": "mse"}},
    "all": {"weighted_metrics": ["accuracy"]},
}
for case, options in CASES.items():
    inputs = tf.keras.Input((3,))
    shared = layers.Dense(6, "tanh", name="shared")(inputs)
    model = tf.keras.Model(inputs, [layers.Dense(4, name="a")(shared), layers.Dense(2, name="b")(shared)])
    model.compile(SGD(0.1), [losses.SparseCategoricalCrossentropy(from_logits=True), "mse"], **options)
    initial = initialise(model) if initial is None else initial
    model.set_weights(initial)
    fit(f"two/{case}", model, x, y, weights)

file.write()
