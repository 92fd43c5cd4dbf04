# SPDX-License-Identifier: BSD-3-Clause
"""Models that real Keras has saved, as users bring them to `stagecraft import`: tests/import/<name>.h5 or .keras, and what
they predict: <name>.safetensors with "inputs:0", ... and "outputs:0", ....

    python3 tests/golden/make_keras_models.py                  once with Keras 2, which writes the .h5, once with Keras 3: .keras
    python3 tests/golden/make_keras_models.py --all <folder>   all models, the large ones too, as round_trip.py asks for them

Made with TensorFlow 2.15.1 and its Keras 2.15.0, and with Keras 3.15.1 on JAX."""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import keras
from numpy.random import default_rng

L = keras.layers
EVERY = "--all" in sys.argv
FOLDER = pathlib.Path(sys.argv[-1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "import"
IS_KERAS_2 = keras.__version__.startswith("2.")


def Input(*shape, name=None, **options):
    return keras.Input(shape, name=name, **options)


def mlp():
    return keras.Sequential([Input(6), L.Dense(8, "relu"), L.Dropout(0.2), L.Dense(8, "tanh", use_bias=False, name="wide"), L.Dense(3, "softmax")], name="mlp")


def cnn():
    return keras.Sequential(
        [
            Input(12, 12, 2),
            L.Conv2D(4, 3, padding="same", activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)),
            L.BatchNormalization(momentum=0.9),
            L.MaxPooling2D(),
            L.SeparableConv2D(6, (3, 5), strides=1, padding="same"),
            L.LeakyReLU(0.1),
            L.AveragePooling2D(2, strides=1),
            L.ZeroPadding2D(((1, 0), (0, 1))),
            L.Conv2DTranspose(3, 2, strides=2),
            L.SpatialDropout2D(0.1),
            L.Flatten(),
            L.Dense(4, kernel_initializer="he_normal", kernel_constraint=keras.constraints.MaxNorm(3)),
        ]
    )


def branches():
    image, size = Input(8, 8, 3, name="image"), Input(2, name="size")
    a = L.Conv2D(4, 1, activation="relu", name="narrow")(image)
    b = L.Conv2D(4, 3, padding="same", activation="swish", name="middle")(image)
    c = L.MaxPooling2D(3, strides=1, padding="same", name="pool")(image)
    x = L.Concatenate(name="joined")([a, b, c])
    x = L.GlobalAveragePooling2D()(x)
    x = L.Concatenate()([x, size])
    digit = L.Dense(5, "softmax", name="digit")(x)
    weight = L.Dense(1, name="weight")(L.Dense(4, "elu")(x))
    return keras.Model([image, size], [digit, weight], name="two_in_two_out")


def residual(x, filters, stride, project, name):
    shortcut = x
    if project:
        shortcut = L.Conv2D(2 * filters, 1, strides=stride, name=name + "_0_conv")(x)
        shortcut = L.BatchNormalization(epsilon=1.001e-5, name=name + "_0_bn")(shortcut)
    x = L.Conv2D(filters, 1, strides=stride, name=name + "_1_conv")(x)
    x = L.BatchNormalization(epsilon=1.001e-5, name=name + "_1_bn")(x)
    x = L.Activation("relu", name=name + "_1_relu")(x)
    x = L.Conv2D(filters, 3, padding="same", name=name + "_2_conv")(x)
    x = L.BatchNormalization(epsilon=1.001e-5, name=name + "_2_bn")(x)
    x = L.Activation("relu", name=name + "_2_relu")(x)
    x = L.Conv2D(2 * filters, 1, name=name + "_3_conv")(x)
    x = L.BatchNormalization(epsilon=1.001e-5, name=name + "_3_bn")(x)
    x = L.Add(name=name + "_add")([shortcut, x])
    return L.Activation("relu", name=name + "_out")(x)


def resnet():
    inputs = Input(16, 16, 3)
    x = L.ZeroPadding2D(1, name="conv1_pad")(inputs)
    x = L.Conv2D(4, 3, strides=2, name="conv1_conv")(x)
    x = L.BatchNormalization(epsilon=1.001e-5, name="conv1_bn")(x)
    x = L.Activation("relu", name="conv1_relu")(x)
    for group, filters in ((2, 4), (3, 6)):
        for block in range(1, 4):
            x = residual(x, filters, 2 if group > 2 and block == 1 else 1, block == 1, f"conv{group}_block{block}")
    x = L.GlobalAveragePooling2D(name="avg_pool")(x)
    return keras.Model(inputs, L.Dense(5, "softmax", name="predictions")(x), name="resnet10")


def mobilenet():
    inputs = Input(16, 16, 3)
    x = L.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = L.BatchNormalization(momentum=0.999, epsilon=1e-3)(x)
    x = L.ReLU(6.0)(x)
    channels = 8
    for filters, stride in ((8, 1), (8, 1), (12, 2), (12, 1), (12, 1)):
        shortcut = x
        x = L.Conv2D(2 * channels, 1, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.999)(x)
        x = L.ReLU(6.0)(x)
        x = L.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.999)(x)
        x = L.ReLU(6.0)(x)
        x = L.Conv2D(filters, 1, padding="same", use_bias=False)(x)
        x = L.BatchNormalization(momentum=0.999)(x)
        if stride == 1 and channels == filters:
            x = L.Add()([shortcut, x])
        channels = filters
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, L.Dense(4)(x), name="mobilenet")


def shared():
    left, right = Input(10, name="left"), Input(10, name="right")
    encode = L.Dense(6, "relu", name="encode")
    again = L.Dense(6, "sigmoid", name="again")
    a, b = again(encode(left)), again(encode(right))
    x = L.Concatenate()([L.Multiply()([a, b]), L.Subtract()([a, b])])
    return keras.Model([left, right], L.Dense(1, "sigmoid", name="same")(x), name="siamese")


def lstm():
    return keras.Sequential(
        [
            Input(7),
            L.Embedding(20, 5),
            L.Bidirectional(L.LSTM(4, return_sequences=True)),
            L.TimeDistributed(L.Dense(6, "relu")),
            L.GRU(5, return_sequences=True),
            L.SimpleRNN(4),
            L.Dense(2, "softmax"),
        ],
        name="sequences",
    )


def nested():
    encoder_input = Input(8, 8, 1)
    x = L.Conv2D(3, 3, activation="relu")(encoder_input)
    x = L.BatchNormalization()(x)
    encoder = keras.Model(encoder_input, L.Flatten()(x), name="encoder")
    head = keras.Sequential([Input(108), L.Dense(6, "gelu"), L.Dense(3)], name="head")
    a, b = Input(8, 8, 1, name="first"), Input(8, 8, 1, name="second")
    return keras.Model([a, b], head(L.Average()([encoder(a), encoder(b)])), name="pair")


def attention():
    inputs = Input(6, 8)
    x = inputs
    for _ in range(2):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.MultiHeadAttention(2, 4)(y, y)
        x = L.Add()([x, y])
        y = L.LayerNormalization(epsilon=1e-6)(x)
        y = L.Dense(16, "gelu")(y)
        y = L.Dense(8)(y)
        x = L.Add()([x, y])
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, L.Dense(3, "softmax")(x))


def unet():
    inputs = Input(16, 16, 3)
    x, skips = inputs, []
    for filters in (4, 8):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Conv2D(12, 3, padding="same", dilation_rate=2, activation="elu")(x)
    x = L.Dropout(0.3)(x)
    x = L.Concatenate()([L.UpSampling2D(2, interpolation="bilinear")(x), skips[1]])
    x = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = L.Concatenate()([L.Conv2DTranspose(4, 3, strides=2, padding="same")(x), skips[0]])
    x = L.Cropping2D(1)(L.ZeroPadding2D(1)(x))
    return keras.Model(inputs, L.Conv2D(2, 1, activation="sigmoid", name="mask")(x), name="unet")


def order_book():
    inputs = Input(12, 8, 1)
    x = L.Conv2D(4, (1, 2), strides=(1, 2))(inputs)
    x = L.LeakyReLU(0.01)(x)
    x = L.Conv2D(4, (4, 1), padding="same", activation="tanh")(x)
    x = L.Conv2D(4, (1, 4))(x)
    x = L.PReLU()(x)
    a = L.Conv2D(6, (3, 1), padding="same")(L.Conv2D(6, 1, padding="same")(x))
    b = L.Conv2D(6, (5, 1), padding="same")(L.Conv2D(6, 1, padding="same")(x))
    c = L.Conv2D(6, 1, padding="same")(L.MaxPooling2D((3, 1), strides=(1, 1), padding="same")(x))
    x = L.Reshape((12, 18))(L.Concatenate()([a, b, c]))
    x = L.LSTM(8)(x)
    return keras.Model(inputs, L.Dense(3, "softmax")(x), name="order_book")


def sentences():
    inputs = Input(7)
    x = L.Embedding(20, 6, mask_zero=True)(inputs)
    x = L.LSTM(6, return_sequences=True)(x)
    x = L.GRU(5)(x)
    return keras.Model(inputs, L.Dense(1, "sigmoid")(x), name="sentences")


def tagger():
    words, picture = Input(10, 6, name="words"), Input(12, name="picture")
    x = L.Conv1D(8, 3, padding="causal", activation="relu")(words)
    x = L.GroupNormalization(2)(x)
    y = L.Permute((2, 1))(L.RepeatVector(8)(L.Dense(10)(picture)))
    x = L.Attention()([x, y])
    x = L.Maximum()([L.GlobalMaxPooling1D()(x), L.GlobalAveragePooling1D()(y)])
    return keras.Model([words, picture], L.Dense(4, "softmax")(x), name="tagger")


def application(name, size, **options):
    return getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10, **options)


def resnet50():
    return application("ResNet50", 64)


def mobilenet_v2():
    return application("MobileNetV2", 64)


def efficientnet_b0():
    return application("EfficientNetB0", 64)


SMALL = [mlp, cnn, branches, shared, nested, lstm, attention, resnet, mobilenet, unet, order_book, sentences, tagger]
LARGE = [resnet50, mobilenet_v2, efficientnet_b0]  # whole models of keras.applications


def large_weight(name, shape, random):
    """A weight that keeps what deep models compute near 1."""
    if len(shape) > 1:
        return random.normal(0, 1, shape) / np.sqrt(np.prod(shape[:2] if "depthwise" in name or "dwconv" in name else shape[:-1]))
    return (1 if "gamma" in name or "variance" in name else 0) + random.uniform(-0.2, 0.2, shape)


def write_safetensors(path, arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))


def as_list(value):
    return value if isinstance(value, (list, tuple)) else [value]


def main():
    FOLDER.mkdir(exist_ok=True)
    for make in SMALL + LARGE if EVERY else SMALL:
        keras.backend.clear_session()
        model = make()
        random = default_rng(sum(map(ord, make.__name__)))
        # Values of a few bits: files are packed well in the repository.
        names = [getattr(w, "path", None) or w.name for w in model.weights]
        if make in LARGE:
            weights = [large_weight(n, w.shape, random) for w, n in zip(model.get_weights(), names)]
        else:
            weights = [np.round(random.normal(0, 0.3, w.shape) * 64) / 64 for w in model.get_weights()]
        model.set_weights(weights if make in LARGE else [abs(w) + 0.5 if "moving_variance" in n else w for w, n in zip(weights, names)])
        shapes = [tuple(x.shape)[1:] for x in model.inputs]
        inputs = [np.round(random.normal(0, 1, (2, *shape)) * 64).astype("float32") / 64 for shape in shapes]
        if make in (lstm, sentences):
            inputs = [random.integers(0, 20, (2, 7)).astype("float32")]
        outputs = [np.asarray(y) for y in as_list(model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0))]
        name = make.__name__ + ("" if IS_KERAS_2 else "_3")
        model.save(FOLDER / (name + (".h5" if IS_KERAS_2 else ".keras")))
        arrays = {f"inputs:{i}": x for i, x in enumerate(inputs)} | {f"outputs:{i}": y for i, y in enumerate(outputs)}
        write_safetensors(FOLDER / (name + "_values.safetensors"), arrays)


if __name__ == "__main__":
    main()
