# SPDX-License-Identifier: BSD-3-Clause
"""ctc.txt: the loss CTC, ops.ctc_loss with lengths, ctc_batch_cost, ten steps of training, and ops.ctc_decode.

Run: pip install "keras==3.15.*" "tensorflow-cpu==2.21.*" && KERAS_BACKEND=tensorflow python make_ctc.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import keras
import tensorflow as tf
from keras.src.legacy.backend import ctc_batch_cost

file = GoldenFile("ctc.txt", f"CTC. case/{{target,prediction[,sample_weight],rows,loss,gradient}}, by Keras {keras.__version__}.")
numbers = Numbers(7)


def add(name, target, prediction, rows_of, sample_weight=None):
    """`gradient` is that of the weighted mean of the rows by the prediction."""
    prediction = tf.constant(prediction, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(prediction)
        rows = rows_of(tf.constant(target), prediction)
        weights = np.ones(len(target), np.float32) if sample_weight is None else sample_weight
        loss = tf.reduce_mean(rows * weights)
    file.add(f"{name}/target", target)
    file.add(f"{name}/prediction", prediction)
    if sample_weight is not None:
        file.add(f"{name}/sample_weight", sample_weight)
    file.add(f"{name}/rows", rows)
    file.add(f"{name}/loss", loss)
    file.add(f"{name}/gradient", tape.gradient(loss, prediction))


def ctc(target, prediction):
    rows = keras.losses.ctc(target, prediction)
    mean = keras.losses.CTC()(target, prediction)
    np.testing.assert_allclose(mean, np.mean(rows), rtol=1e-6)
    return rows


# Repeated labels, none at all, as many as fit, and one label for all steps.
few = np.array([[1, 2, 2, 0], [1, 1, 0, 0], [0, 0, 0, 0], [3, 2, 1, 3], [2, 0, 0, 0]], np.int32)
add("ctc", few, numbers.normal(5, 6, 4, scale=2), ctc)
add("ctc_weighted", few, numbers.normal(5, 6, 4), ctc, np.array([1, 0.5, 0, 2, 3], np.float32))
longer = np.array([[1, 2, 3, 4, 5, 6, 7, 1, 1, 2, 0, 0], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]], np.int32)
add("ctc_long", longer, numbers.normal(2, 40, 8, scale=3), ctc)
add("ctc_far", few[:, :2], numbers.normal(5, 3, 4, scale=60), ctc)

# Lengths of samples, and a blank that is the last class.
labels = np.array([[0, 1, 1], [2, 0, 9], [1, 9, 9]], np.int32)
label_length, steps = np.array([[3], [2], [1]], np.int32), np.array([[5], [6], [2]], np.int32)
file.add("lengths/label_length", label_length)
file.add("lengths/logit_length", steps)


def with_lengths(target, prediction):
    return keras.ops.ctc_loss(tf.minimum(target, 2), prediction, label_length[:, 0], steps[:, 0], mask_index=3)


add("lengths", labels, numbers.normal(3, 6, 4), with_lengths)
probabilities = tf.nn.softmax(numbers.normal(3, 6, 4)).numpy()
add("batch_cost", np.minimum(labels, 2), probabilities,
    lambda target, prediction: ctc_batch_cost(target, prediction, steps, label_length)[:, 0])

# Ten steps of Dense(4) at each of six steps.
x, y = numbers.normal(10, 6, 3), np.tile(few[[0, 1, 3, 4, 2]], (2, 1))
net = keras.Sequential([keras.Input((6, 3)), keras.layers.Dense(4)])
net.compile(keras.optimizers.SGD(0.05), keras.losses.CTC())
kernel = numbers.normal(3, 4)
net.layers[-1].set_weights([kernel, np.zeros(4, np.float32)])
file.add("training/x", x)
file.add("training/y", y)
file.add("training/kernel", kernel)
history = []
for i in (0, 5) * 5:
    net.reset_metrics()
    history.append(net.train_on_batch(x[i : i + 5], y[i : i + 5]))
file.add("training/losses", history)
file.add("training/trained_kernel", net.layers[-1].get_weights()[0])
file.add("training/trained_bias", net.layers[-1].get_weights()[1])

# Decoders.
logits = numbers.normal(3, 12, 5, scale=2)
lengths = np.array([12, 7, 0], np.int32)
file.comment("decode: greedy[_apart][_last], beams with beam_width 2, 5 and 100; <name>/{labels,scores}.")
file.add("decode/logits", logits)
file.add("decode/lengths", lengths)
full = np.full(3, 12, np.int32)


def decode(name, of, **options):
    found, scores = keras.ops.ctc_decode(logits, of, **options)
    file.add(f"decode/{name}/labels", found)
    file.add(f"decode/{name}/scores", scores)


decode("greedy", full)
decode("greedy_apart", lengths, merge_repeated=False)
decode("greedy_last", lengths, mask_index=4)
for width in (2, 5, 100):
    decode(f"beams_{width}", full, strategy="beam_search", beam_width=width, top_paths=2)
decode("beams_middle", np.array([12, 7, 3], np.int32), strategy="beam_search", beam_width=8, top_paths=3, mask_index=2)
file.write()
