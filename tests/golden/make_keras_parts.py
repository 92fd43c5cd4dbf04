# SPDX-License-Identifier: BSD-3-Clause
"""Models of Keras with parts that are no plain layers: cells in loops, convolutional LSTMs, states that pass from layer to
layer, operations on tensors, factors of ConvNeXt. Each is <name>.h5 of Keras 2 or <name>_3.keras of Keras 3, with its inputs <name>_x0.npy ...
and what it predicts, <name>_y0.npy .... They are packed as tests/import/keras_parts.tar.xz.

    python3 tests/golden/make_keras_parts.py <folder> [<name>...]   once with Keras 2, once with Keras 3
    python3 tests/golden/make_keras_parts.py <folder> --large        architectures of keras.applications, which are not packed

Made with TensorFlow 2.15.1 and its Keras 2.15.0, and with Keras 3.15.1 on JAX."""
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from numpy.random import default_rng

L = keras.layers
IS_KERAS_2 = keras.__version__.startswith("2.")
if IS_KERAS_2:
    import tensorflow as tf
else:
    from keras import ops


def Input(*shape, **options):
    return keras.Input(shape, **options)


def cells():
    x = Input(5, 3)
    y = L.RNN([L.LSTMCell(4), L.GRUCell(3), L.LSTMCell(4)], return_sequences=True)(x)
    y = L.RNN(L.GRUCell(4, reset_after=False), return_sequences=True, go_backwards=True)(y)
    y, state = L.RNN(L.SimpleRNNCell(4, activation="relu"), return_state=True)(y)
    return keras.Model(x, L.Dense(2)(L.Concatenate()([y, state])), name="cells")


def conv_lstm():
    line, picture, volume = Input(3, 7, 2, name="line"), Input(3, 6, 6, 2, name="picture"), Input(2, 3, 3, 3, 1, name="volume")
    a = L.ConvLSTM1D(3, 3, strides=2)(line)
    b = L.ConvLSTM2D(3, 3, padding="same", return_sequences=True, activation="relu")(picture)
    b = L.ConvLSTM2D(2, (2, 3), recurrent_activation="sigmoid", dilation_rate=(1, 2))(b)
    c = L.ConvLSTM3D(2, 2)(volume)
    return keras.Model([line, picture, volume], [L.Flatten()(a), b, L.Flatten()(c)], name="conv_lstm")


def states():
    words, answer = Input(6, 3, name="words"), Input(4, 2, name="answer")
    _, h, c = L.LSTM(5, return_state=True, name="encoder")(words)
    y = L.LSTM(5, return_sequences=True, name="decoder")(answer, initial_state=[h, c])
    y, state = L.GRU(4, return_sequences=True, return_state=True)(y)
    z = L.SimpleRNN(4)(words, initial_state=state)
    both = L.Bidirectional(L.GRU(3, return_state=True))(words)
    last = L.Concatenate()([z, *both])
    return keras.Model([words, answer], [L.Dense(3, "softmax")(y), L.Dense(2)(last)], name="states")


def elementwise_2(x, y):
    a = 1.0 - x
    b = tf.nn.relu6(x * 4.0) / 6.0
    c = tf.where(x > 0.1, tf.exp(x), tf.zeros_like(x)) + tf.cast(y < x, "float32")
    d = tf.math.squared_difference(x, y) - tf.maximum(x, 0.5) * tf.minimum(y, 0.25)
    e = tf.clip_by_value(x, -0.5, 0.5) ** 2 + tf.abs(y) - tf.sqrt(tf.square(y) + 1.0)
    f = tf.nn.gelu(x) + tf.nn.silu(y) + tf.nn.leaky_relu(x, 0.1) + tf.nn.elu(y)
    g = tf.sigmoid(x) * tf.tanh(y) + tf.math.softplus(x) + tf.round(x * 3.0) + tf.floor(y) + tf.cast(tf.cast(x * 5.0, "int32"), "float32")
    h = x + np.arange(6, dtype="float32") / 8 + 7.0 // (tf.abs(y) + 1.0) + tf.math.floormod(x, 0.7)
    i = tf.cast(tf.logical_and(x > 0.0, tf.logical_not(tf.equal(y, 0.0))), "float32")
    return [a, b, c, d, e, f, g, h, i]


def elementwise_3(x, y):
    a = 1.0 - x
    b = ops.relu6(x * 4.0) / 6.0
    c = ops.where(x > 0.1, ops.exp(x), ops.zeros_like(x)) + ops.cast(y < x, "float32")
    d = ops.square(x - y) - ops.maximum(x, 0.5) * ops.minimum(y, 0.25)
    e = ops.clip(x, -0.5, 0.5) ** 2 + ops.abs(y) - ops.sqrt(ops.square(y) + 1.0)
    f = ops.gelu(x, approximate=False) + ops.silu(y) + ops.leaky_relu(x, 0.1) + ops.elu(y) + ops.hard_silu(x) + ops.gelu(y)
    g = ops.sigmoid(x) * ops.tanh(y) + ops.softplus(x) + ops.round(x * 3.0) + ops.floor(y) + ops.cast(ops.cast(x * 5.0, "int32"), "float32")
    h = x + np.arange(6, dtype="float32") / 8 + 7.0 // (ops.abs(y) + 1.0) + ops.mod(x, 0.7)
    i = ops.cast(ops.logical_and(x > 0.0, ops.logical_not(ops.equal(y, 0.0))), "float32")
    return [a, b, c, d, e, f, g, h, i]


def movement_2(x):
    a, b = tf.split(x, 2, axis=-1)
    first, *_ = tf.unstack(x, axis=1)
    c = tf.concat([a, b * 2.0], axis=1)
    d = tf.matmul(x, a, transpose_a=True)
    e = tf.reshape(tf.transpose(x, [0, 2, 1]), [-1, 24])
    f = tf.reduce_mean(x, axis=[1], keepdims=True) * tf.reduce_max(x, axis=-1, keepdims=True) + tf.reduce_sum(x, [1, 2], keepdims=True)
    g = tf.concat([tf.stack([x[:, 0], x[:, 1] * 0.5], axis=1), tf.concat([x[:, -1, ::2][:, tf.newaxis], x[..., :1, 3:]], -1)], 1)
    h = tf.squeeze(tf.expand_dims(tf.gather(x, [2, 0], axis=1), 1), 1)
    i = tf.nn.softmax(tf.tile(x, [1, 1, 2])) + tf.pad(x, [[0, 0], [0, 0], [2, 4]])
    j = tf.math.l2_normalize(x, axis=-1) + tf.reverse(x, [1]) + tf.math.reduce_variance(x, -1, keepdims=True)
    k = tf.reshape(x, [tf.shape(x)[0], 3, 8])
    return [first, c, d, e, f, g, h, i, j, k, tf.cast(tf.argmax(x, -1), "float32"), x @ np.full((6, 2), 0.5, "float32")]


def movement_3(x):
    a, b = ops.split(x, 2, axis=-1)
    first, *_ = ops.unstack(x, axis=1)
    c = ops.concatenate([a, b * 2.0], axis=1)
    d = ops.matmul(ops.swapaxes(x, 1, 2), a)
    e = ops.reshape(ops.transpose(x, [0, 2, 1]), [-1, 24])
    f = ops.mean(x, axis=1, keepdims=True) * ops.max(x, axis=-1, keepdims=True) + ops.sum(x, [1, 2], keepdims=True)
    g = ops.concatenate([ops.stack([x[:, 0], x[:, 1] * 0.5], axis=1), ops.concatenate([x[:, -1, ::2][:, None], x[..., :1, 3:]], -1)], 1)
    h = ops.squeeze(ops.expand_dims(ops.take(x, [2, 0], axis=1), 1), 1)
    i = ops.softmax(ops.tile(x, [1, 1, 2])) + ops.pad(x, [[0, 0], [0, 0], [2, 4]])
    j = ops.normalize(x, axis=-1) + ops.flip(x, 1) + ops.var(x, -1, keepdims=True)
    k = ops.einsum("bij,bkj->bik", x, x)
    return [first, c, d, e, f, g, h, i, j, k, ops.cast(ops.argmax(x, -1), "float32"), ops.matmul(x, np.full((6, 2), 0.5, "float32"))]


def elementwise():
    x, y = Input(6, name="x"), Input(6, name="y")
    return keras.Model([x, y], (elementwise_2 if IS_KERAS_2 else elementwise_3)(x, y), name="elementwise")


def movement():
    x = Input(4, 6, name="x")
    return keras.Model(x, (movement_2 if IS_KERAS_2 else movement_3)(x), name="movement")


def hard_swish(x):  # as MobileNetV3 of Keras 2.15 writes it
    return L.Multiply()([x, L.ReLU(6.0)(x + 3.0) * (1.0 / 6.0)])


def mixed():
    """Operations between layers, as people write them: gates, residual connections, attention by hand, a mean of words that count."""
    picture, words = Input(8, 8, 3, name="picture"), Input(6, name="words")
    x = hard_swish(L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(picture)))
    x = hard_swish(L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(x)))
    gate = L.Dense(4, "sigmoid")(L.GlobalAveragePooling2D()(x))
    x = x * L.Reshape((1, 1, 4))(gate) + x
    table = L.Embedding(10, 4)(words)
    if IS_KERAS_2:
        counts = tf.expand_dims(tf.cast(tf.not_equal(words, 0), "float32"), -1)
        mean = tf.reduce_sum(table * counts, axis=1) / (tf.reduce_sum(counts, axis=1) + 1e-6)
        pooled = tf.reduce_mean(x, [1, 2])
        joined = tf.concat([pooled, mean], -1)
    else:
        counts = ops.expand_dims(ops.cast(ops.not_equal(words, 0), "float32"), -1)
        mean = ops.sum(table * counts, axis=1) / (ops.sum(counts, axis=1) + 1e-6)
        pooled = ops.mean(x, [1, 2])
        joined = ops.concatenate([pooled, mean], -1)
    y = L.Dense(8)(joined)
    y = 1.0 - L.Dense(8, "tanh")(y) * y
    return keras.Model([picture, words], L.Dense(3, "softmax")(y), name="mixed")


def masks():
    words, sequence = Input(6, name="words"), Input(6, 3, name="sequence")
    counts = tf.not_equal(words, 3) if IS_KERAS_2 else ops.not_equal(words, 3)
    x = L.LSTM(4)(sequence, mask=counts)
    y = L.GRU(4)(sequence, initial_state=x, mask=counts)
    outputs = [x, y, L.GlobalAveragePooling1D()(sequence, mask=counts)]
    if not IS_KERAS_2:  # there the mask goes on to the layers after it, and the file does not say so
        z = L.SimpleRNN(4, return_sequences=True)(sequence, mask=counts)
        outputs += [L.Bidirectional(L.LSTM(3))(z), L.Attention()([z, z], mask=[counts, counts])]
    return keras.Model([words, sequence], L.Concatenate()([each if len(each.shape) == 2 else L.Flatten()(each) for each in outputs]), name="masks")


def scales():
    """Two blocks of ConvNeXt and a sum of InceptionResNetV2, with layers that keras.applications define: also as .h5 of Keras 3."""
    from keras.src.applications.convnext import LayerScale
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    picture = Input(8, 8, 3, name="picture")
    x = L.Activation("hard_silu")(L.Conv2D(4, 2, strides=2)(picture))
    for i in range(2):
        y = L.DepthwiseConv2D(3, padding="same", name=f"block_{i}_depthwise_conv")(x)
        y = L.LayerNormalization(epsilon=1e-6, name=f"block_{i}_layernorm")(y)
        y = L.Dense(8, activation="gelu", name=f"block_{i}_pointwise_conv_1")(y)
        y = L.Dense(4, name=f"block_{i}_pointwise_conv_2")(y)
        x = L.Add()([x, LayerScale(1e-6, 4, name=f"block_{i}_layer_scale")(y)])
    x = CustomScaleLayer(0.17)([x, L.Activation("hard_sigmoid")(y)])
    x = LayerScale(0.5, 4)(L.GlobalAveragePooling2D()(x))
    return keras.Model(picture, L.Dense(3, "softmax")(x), name="scales")


def application(name, size=64):
    def make():
        return getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)

    make.__name__ = name.lower()
    return make


SMALL = [cells, conv_lstm, states, elementwise, movement, mixed, masks] + ([] if IS_KERAS_2 else [scales])
LARGE = [application(each) for each in ("MobileNetV3Small", "MobileNetV3Large", "ConvNeXtTiny", "EfficientNetV2B0", "RegNetX002" if IS_KERAS_2 else "NASNetMobile")]


def as_list(value):
    return value if isinstance(value, (list, tuple)) else [value]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    is_large = "--large" in sys.argv
    only = [each for each in sys.argv[2:] if not each.startswith("--")]
    for make in LARGE if is_large else SMALL:
        if only and make.__name__ not in only:
            continue
        keras.backend.clear_session()
        model = make()
        random = default_rng(sum(map(ord, make.__name__)))
        names = [getattr(w, "path", None) or w.name for w in model.weights]
        values = []
        for name, w in zip(names, model.weights):
            # Numbers of a few bits: files are packed well in the repository.
            one = random.normal(0, (0.3 if not is_large or len(w.shape) < 2 else 1 / np.sqrt(np.prod(w.shape[:-1] if "depthwise" not in name else w.shape[:2]))), w.shape)
            one = one if is_large else np.round(one * 64) / 64
            values.append(abs(one) + 0.5 if "variance" in name else one + 1 if is_large and "gamma" in name else one)
        model.set_weights(values)
        shapes = [tuple(x.shape)[1:] for x in model.inputs]
        inputs = [random.integers(0, 10, (3, *shape)).astype("float32") if x.name.startswith("words") and len(shape) == 1 else np.round(random.normal(0, 1, (3, *shape)) * 64).astype("float32") / 64
                  for x, shape in zip(model.inputs, shapes)]
        outputs = [np.asarray(y) for y in as_list(model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0))]
        name = make.__name__ + ("" if IS_KERAS_2 else "_3")
        model.save(folder / (name + (".h5" if IS_KERAS_2 else ".keras")))
        if make is scales:
            model.save(folder / "scales.h5")
        for letter, arrays in (("x", inputs), ("y", outputs)):
            for i, each in enumerate(arrays):
                for stem in (name, "scales") if make is scales else (name,):
                    np.save(folder / f"{stem}_{letter}{i}.npy", each)
        print(name, [y.shape for y in outputs])


if __name__ == "__main__":
    main()
