# SPDX-License-Identifier: BSD-3-Clause
"""Makes small graphs of TensorFlow with recorded predictions: tests/import/tensorflow_graphs.tar.xz.

    python3 tests/golden/make_tensorflow_graphs.py        # TensorFlow 2.21.0, Keras 3.15.1

Each has a SavedModel's folder or a frozen graph (.pb), and <name>_x.npy and <name>_y.npy, or numbered ones of several
inputs and outputs."""
import io
import os
import pathlib
import shutil
import tarfile
import tempfile

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

TO = pathlib.Path(__file__).parents[1] / "import" / "tensorflow_graphs.tar.xz"
FOLDER = pathlib.Path(tempfile.mkdtemp())
RANDOM = np.random.RandomState(7)


def numbers(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def variable(name, *shape):
    return tf.Variable(numbers(*shape), name=name)


def record(name, inputs, outputs):
    for letter, arrays in ("x", inputs), ("y", outputs):
        for i, each in enumerate(arrays):
            np.save(FOLDER / (f"{name}_{letter}.npy" if len(arrays) == 1 else f"{name}_{letter}{i}.npy"), np.asarray(each))


def save_module(name, module, *inputs):
    tf.saved_model.save(module, str(FOLDER / name), signatures={"serving_default": module.predict})
    outputs = module.predict(*map(tf.constant, inputs))
    record(name, inputs, [outputs[key] for key in sorted(outputs)])


def save_keras(name, model, *inputs):
    for weight in model.weights:
        value = numbers(*weight.shape)
        weight.assign(abs(value) + 0.5 if weight.name.endswith("variance") else value / np.sqrt(value.size ** 0.5))
    model.export(str(FOLDER / name), verbose=False)
    record(name, inputs, [model(inputs[0] if len(inputs) == 1 else list(inputs), training=False)])


def freeze(name, function, *inputs):
    """A frozen graph with an Identity for each output."""
    concrete = tf.function(function, input_signature=[tf.TensorSpec([None, *x.shape[1:]], tf.as_dtype(x.dtype), name=f"x{i}") for i, x in enumerate(inputs)]).get_concrete_function()
    frozen = convert_variables_to_constants_v2(concrete)
    (FOLDER / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    record(name, inputs, concrete(*map(tf.constant, inputs)))


class Ranker(tf.Module):
    """Two dense layers, whose GELU is written as nodes, and a score that a residual path joins."""

    def __init__(self):
        self.kernel, self.bias = variable("dense/kernel", 6, 8), variable("dense/bias", 8)
        self.out_kernel, self.out_bias = variable("out/kernel", 8, 6), variable("out/bias", 6)
        self.last = variable("score/kernel", 6, 3)

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, name="features")])
    def predict(self, features):
        with tf.name_scope("dense"):
            y = tf.nn.bias_add(tf.matmul(features, self.kernel), self.bias)
            y = 0.5 * y * (1.0 + tf.math.erf(y / np.float32(np.sqrt(2.0))))
        with tf.name_scope("out"):
            y = tf.nn.bias_add(tf.matmul(y, self.out_kernel), self.out_bias)
        with tf.name_scope("residual"):
            y = tf.math.tanh(features + y) / (1.0 + tf.abs(features))
        with tf.name_scope("score"):
            return {"scores": tf.nn.softmax(tf.matmul(y, self.last))}


class Loops(tf.Module):
    """A loop and a condition whose values are known, a function that is called twice, and whole numbers."""

    def __init__(self):
        self.weight = variable("shared/kernel", 4, 4)
        self.table = variable("table", 9, 4)

    @tf.function
    def step(self, x):
        return tf.nn.relu(tf.matmul(x, self.weight))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int32, name="words"), tf.TensorSpec([None, 4], tf.float32, name="x")])
    def predict(self, words, x):
        x = self.step(self.step(x))
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5 + tf.cast(i, tf.float32)), [tf.constant(0), x])[1]
        y = tf.cond(tf.constant(2) > 1, lambda: y + 1.0, lambda: y - 1.0)
        return {"a": y, "b": tf.reduce_mean(tf.gather(self.table, words), axis=1) - y}


def gates(x):
    """A frozen graph whose nodes have names of their own."""
    with tf.name_scope("dense"):
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.constant(numbers(6, 8), name="kernel")), tf.constant(numbers(8), name="bias")))
    with tf.name_scope("gate"):
        y = y * tf.sigmoid(tf.matmul(x, tf.constant(numbers(6, 8), name="kernel")))
    with tf.name_scope("out"):
        return [tf.nn.softmax(tf.matmul(y, tf.constant(numbers(8, 3), name="kernel")))]


def elementwise(x):
    p = tf.abs(x) + 0.25
    return [tf.math.rsqrt(p), tf.math.log1p(p), tf.math.expm1(x), tf.math.erfc(x), tf.nn.relu6(4 * x), tf.nn.leaky_relu(x, 0.3),
            tf.math.squared_difference(x, p), tf.math.floordiv(x, 0.3), tf.math.floormod(x, 0.3), tf.math.divide_no_nan(x, tf.nn.relu(x)),
            tf.clip_by_value(x, -0.5, 0.25), tf.where(x > 0, x, 2 * x), tf.cast(tf.not_equal(tf.sign(x), 1.0), tf.float32), tf.nn.selu(x) + tf.nn.elu(x),
            tf.nn.softplus(x) * tf.nn.softsign(x), tf.maximum(x, 0.1) + tf.minimum(x, p), tf.pow(p, 1.5) + tf.atan(x) + tf.round(3 * x),
            tf.add_n([x, p, x]), tf.zeros_like(x) + tf.ones_like(x), tf.cast(tf.math.logical_or(x > 0.5, tf.math.logical_not(x > -0.5)), tf.float32)]


def along_axes(x):  # (samples, 4, 6)
    return [tf.reduce_sum(x, 2), tf.reduce_max(x, [1, 2]), tf.reduce_prod(x, 1), tf.reduce_min(x, -1, keepdims=True), tf.cumsum(x, 1, reverse=True),
            tf.cast(tf.argmax(x, 2), tf.float32), tf.nn.log_softmax(x), tf.cast(tf.reduce_any(x > 0.5, 2), tf.float32),
            tf.transpose(x, [0, 2, 1]), x[:, 1:3, ::2], x[:, -1], x[..., tf.newaxis, 2], tf.concat([x, 2 * x], 1), tf.stack([x, -x], 2),
            tf.unstack(x, axis=1)[2], tf.split(x, 3, axis=2)[1], tf.tile(x, [1, 2, 1]), tf.pad(x, [[0, 0], [1, 0], [0, 2]]), tf.reverse(x, [2]),
            tf.gather(x, [3, 0], axis=1), tf.one_hot(tf.cast(tf.argmax(x, 2), tf.int32), 6, 2.0, -1.0), tf.slice(x, [0, 1, 2], [-1, 2, 3]),
            tf.reshape(x, [tf.shape(x)[0], 3, 8]), tf.matmul(x, x, transpose_b=True), tf.einsum("abc,cd->abd", x, tf.constant(numbers(6, 2)))]


def pictures(x):  # (samples, 6, 6, 4)
    kernel = tf.constant(numbers(3, 3, 4, 5))
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME"), tf.constant(numbers(5))))
    return [y, tf.nn.depthwise_conv2d(x, tf.constant(numbers(3, 3, 4, 2)), [1, 1, 1, 1], "VALID"), tf.nn.avg_pool2d(x, 3, 2, "SAME"),
            tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.compat.v1.nn.fused_batch_norm(x, numbers(4), numbers(4), numbers(4), abs(numbers(4)) + 0.5, is_training=False)[0],
            tf.nn.depth_to_space(x, 2), tf.nn.space_to_depth(x, 2), tf.image.resize(x, [12, 12], "nearest"), tf.image.resize(x, [9, 12]),
            tf.nn.conv2d(x, kernel, 1, [[0, 0], [1, 0], [0, 2], [0, 0]], dilations=2)]


def cnn():
    layers = keras.layers
    x = inputs = keras.Input((8, 8, 3), name="picture")
    x = layers.Conv2D(4, 3, padding="same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    y = layers.DepthwiseConv2D(3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(layers.Add()([x, y]))
    x = layers.Dense(5, activation="gelu")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


def encoder():
    layers = keras.layers
    inputs = keras.Input((5, 8), name="steps")
    x = layers.LayerNormalization()(inputs)
    x = layers.Add()([inputs, layers.MultiHeadAttention(2, 4)(x, x)])
    return keras.Model(inputs, layers.Dense(2)(layers.Dense(12, activation="gelu")(x)))


def main():
    save_module("ranker", Ranker(), numbers(5, 6))
    save_module("loops", Loops(), RANDOM.randint(0, 9, (5, 3)).astype(np.int32), numbers(5, 4))
    save_keras("cnn", cnn(), numbers(3, 8, 8, 3))
    save_keras("encoder", encoder(), numbers(3, 5, 8))
    freeze("gates", gates, numbers(5, 6))
    freeze("elementwise", elementwise, numbers(4, 7))
    freeze("along_axes", along_axes, numbers(3, 4, 6))
    freeze("pictures", pictures, numbers(2, 6, 6, 4))
    for path in FOLDER.glob("*/fingerprint.pb"):
        path.unlink()
    for path in FOLDER.glob("*/assets"):
        shutil.rmtree(path)

    def plain(info):
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path in sorted(FOLDER.rglob("*")):
            if path.is_file():
                archive.add(path, str(path.relative_to(FOLDER)), filter=plain)
    TO.write_bytes(packed.getvalue())
    shutil.rmtree(FOLDER)
    print(f"wrote {TO}: {len(packed.getvalue())} bytes")


main()
