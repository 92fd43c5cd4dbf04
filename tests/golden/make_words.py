# SPDX-License-Identifier: BSD-3-Clause
"""words_*.txt: the layers of the tables in tests/words, a file for each family.

Run: pip install "tensorflow-cpu==2.15.*" && python make_words.py [family...]

Keras 2.15 has some arguments elsewhere than 2.6: `causal` of the attentions is one of their calls.
"""

import sys

from word_cases import BATCH, WordCases
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
layers = tf.keras.layers


def packed(outputs):
    """Several outputs side by side, as operations::tracer::outputs packs them."""
    if not isinstance(outputs, (list, tuple)):
        return outputs
    return tf.concat([tf.reshape(value, (BATCH, -1)) for value in tf.nest.flatten(outputs)], 1)


def merging(cases):
    def attend(layer, inputs):
        return layer(inputs, use_causal_mask=True)

    word = cases.word
    word("minimum", [(2, 3), (2, 3)], layers.Minimum)
    word("minimum_broadcast", [(2, 3), (2, 1), (1, 3)], layers.Minimum)
    word("dot", [(4, 2), (4, 3)], lambda: layers.Dot(1))
    word("dot_axes", [(2, 4), (4, 3)], lambda: layers.Dot((2, 1)))
    word("dot_vectors", [(4,), (4,)], lambda: layers.Dot(-1))
    word("dot_cosine", [(4,), (4,)], lambda: layers.Dot(1, normalize=True))
    word("dot_images", [(3, 2, 2), (2, 3)], lambda: layers.Dot((1, 2)))
    word("permute", [(3, 4)], lambda: layers.Permute((2, 1)))
    word("permute_image", [(2, 3, 4)], lambda: layers.Permute((3, 1, 2)))
    word("repeat_vector", [(4,)], lambda: layers.RepeatVector(3))
    word("attention", [(3, 4), (5, 4)], layers.Attention)
    word("attention_scale_key", [(3, 4), (5, 2), (5, 4)], lambda: layers.Attention(use_scale=True))
    word("attention_causal", [(4, 3), (4, 3)], layers.Attention, attend)
    word("additive_attention", [(3, 4), (5, 4)], layers.AdditiveAttention)
    word(
        "additive_attention_causal_key",
        [(3, 4), (3, 2), (3, 4)],
        lambda: layers.AdditiveAttention(use_scale=False),
        attend,
    )

    # Masks are inputs behind the layer's own: numbers of tokens, 0 where a place does not count. Other seed: later words.
    def masked(own, **options):
        def call(layer, inputs):
            masks = [tf.not_equal(tokens, 0.0) for tokens in inputs[own:]]
            if isinstance(layer, layers.MultiHeadAttention):
                given = [tf.identity(value) for value in inputs[:own]]
                for value, mask in zip(given, masks):
                    value._keras_mask = mask
                return packed(layer(*given, **options))
            return packed(layer(inputs[:own], mask=masks, **options))

        return call

    tokens = np.array([[1, 2, 0, 0], [0, 3, 1, 1], [2, 1, 3, 0]], np.float32)
    word("attention_masked", [(3, 2), (4, 2), tokens[:, 1:], tokens], layers.Attention, masked(2))
    word(
        "additive_attention_masked",
        [(4, 2), (4, 2), tokens, tokens],
        layers.AdditiveAttention,
        masked(2, use_causal_mask=True, return_attention_scores=True),
    )
    word(
        "multi_head_attention_masked",
        [(4, 3), (4, 2), tokens, tokens],
        lambda: layers.MultiHeadAttention(2, 2),
        masked(2, use_causal_mask=True),
    )
    word(
        "multi_head_attention_key",
        [(3, 3), (4, 2), (4, 3), tokens[:, :3], tokens, tokens[::-1].copy()],
        lambda: layers.MultiHeadAttention(2, 2, output_shape=2),
        masked(3, return_attention_scores=True),
    )

    def scored(layer, inputs):
        given = [tf.identity(value) for value in inputs[:2]]
        mask = tf.not_equal(inputs[2], 0.0) if len(inputs) > 2 else None
        return packed(layer(*given, attention_mask=mask, return_attention_scores=True))

    def heads(**options):
        return lambda: layers.MultiHeadAttention(2, 3, **options)

    word("multi_head_attention_images", [(2, 3, 4), (2, 2, 4)], heads(), scored)
    word("multi_head_attention_rows", [(2, 3, 4), (2, 2, 4)], heads(attention_axes=(2,)), scored)
    word("multi_head_attention_columns", [(3, 2, 4), (2, 2, 4)], heads(attention_axes=(1,)), scored)
    seen = np.array([[[1, 0], [0, 1], [1, 1]]] * 2 + [[[1, 1]] * 3], np.float32)
    word("multi_head_attention_rows_masked", [(2, 3, 4), (2, 2, 4), seen], heads(attention_axes=(2,)), scored)


def regularization(cases):
    word = cases.word
    word("gaussian_noise", [(2, 3)], lambda: layers.GaussianNoise(0.5))
    word("gaussian_dropout", [(2, 3)], lambda: layers.GaussianDropout(0.25))
    word("alpha_dropout", [(2, 3)], lambda: layers.AlphaDropout(0.25))
    word("spatial_dropout3d", [(2, 1, 2, 3)], lambda: layers.SpatialDropout3D(0.5))
    word("unit_normalization", [(2, 3)], layers.UnitNormalization)
    word("unit_normalization_axes", [(2, 3, 2)], lambda: layers.UnitNormalization(axis=[1, 2]))
    word("rescaling", [(2, 3)], lambda: layers.Rescaling(0.5, offset=-1))

    # Graphcore's layers compute what Keras's do.
    def strided(layer, inputs):
        order = [0, 2, 1, 3]
        return tf.gather(layer(tf.gather(inputs[0], order, axis=-1)), order, axis=-1)

    word("instance_normalization", [(2, 3, 2)], lambda: layers.GroupNormalization(-1))
    word("group_normalization_strided", [(3, 4)], lambda: layers.GroupNormalization(2, center=False, scale=False), strided)
    word("serial_dense_units", [(3,)], lambda: layers.Dense(4))
    word("serial_dense_features", [(2, 6)], lambda: layers.Dense(2, "tanh"))
    word("serial_dense_rows", [(4, 3)], lambda: layers.Dense(2, use_bias=False))
    tokens = np.array([[0, 5, 2, 3], [1, 1, 4, 0], [2, 3, 5, 5]], np.float32)
    word("embedding_serialized", [tokens], lambda: layers.Embedding(6, 3))

    class Capture(layers.Layer):
        """Gives what it gets, and its gradient to a weight that nothing reads."""

        def build(self, shape):
            self.gradient = self.add_weight("gradient", (3, *shape[1:]))

        def call(self, x):
            return tf.custom_gradient(lambda x, _: (tf.identity(x), lambda dy: (dy, dy)))(x, self.gradient)

    word("capture_upstream_gradients", [(2, 3)], Capture)

    def strided_rows(layer, inputs):
        order = [0, 2, 1, 3]
        return tf.gather(layer(tf.gather(inputs[0], order, axis=1)), order, axis=1)

    word("group_normalization_axis", [(2, 4, 3)], lambda: layers.GroupNormalization(2, axis=2))
    word("group_normalization_axis_strided", [(4, 3)], lambda: layers.GroupNormalization(2, axis=1, center=False, scale=False), strided_rows)
    word("instance_normalization_axis", [(3, 2, 2)], lambda: layers.GroupNormalization(-1, axis=1))
    word("alpha_dropout_noise_shape", [(4, 3)], lambda: layers.AlphaDropout(0.25, noise_shape=(None, 1, 3)))


def preprocessing(cases):
    word = cases.word

    def numbers(layer, inputs):
        return tf.cast(layer(inputs[0]), "float32")

    def tokens(*shape):
        return cases.numbers.integers(BATCH, *shape, high=4).astype(np.float32)

    word("center_crop", [(5, 4, 2)], lambda: layers.CenterCrop(2, 3))
    def with_weights(layer, inputs):
        if layer.built:
            layer.finalize_state()
        return layer(inputs[0])

    word("normalization", [(2, 3)], layers.Normalization, with_weights)
    word("normalization_axes", [(2, 2, 3)], lambda: layers.Normalization(axis=(-1, 1)), with_weights)
    word("normalization_given", [(2, 3)], lambda: layers.Normalization(mean=[1, 2, 3], variance=0.5))
    word("normalization_one", [(2, 3)], lambda: layers.Normalization(axis=None, mean=1, variance=4))
    word("discretization", [(4,)], lambda: layers.Discretization([-1.0, 0.0, 0.5]), numbers)
    def encode(layer, inputs):  # TensorFlow has no gradient of it
        return layer(tf.stop_gradient(inputs[0]))

    def weigh(layer, inputs):
        result = tf.reduce_sum(tf.one_hot(tf.cast(inputs[0], "int32"), 4) * inputs[1][:, :, None], 1)
        kept = [tf.stop_gradient(each) for each in inputs]
        tf.debugging.assert_near(layer(kept[0], count_weights=kept[1]), result)
        return result

    def resize_by_area(layer, inputs):
        rows = tf.image.resize(tf.eye(5)[None, :, None], (3, 1), "area")[0, :, 0]
        columns = tf.image.resize(tf.eye(4)[None, :, None], (6, 1), "area")[0, :, 0]
        result = tf.einsum("ij,bjkc,lk->bilc", rows, inputs[0], columns)
        tf.debugging.assert_near(layer(tf.stop_gradient(inputs[0])), result, atol=1e-5)
        return result

    word("category_encoding", [tokens(3)], lambda: layers.CategoryEncoding(4), encode)
    word("category_encoding_one_hot", [tokens(1)], lambda: layers.CategoryEncoding(4, output_mode="one_hot"), encode)
    # Keras 2.15 wants it for one number of a sample alone; 2.6 adds an axis.
    word("category_encoding_one_hot_each", [tokens(3)], lambda: layers.Lambda(lambda x: tf.one_hot(tf.cast(x, "int32"), 4)))
    word("category_encoding_count", [tokens(3)], lambda: layers.CategoryEncoding(4, output_mode="count"), encode)
    word(
        "category_encoding_weighted",
        [tokens(3), (3,)],
        lambda: layers.CategoryEncoding(4, output_mode="count"),
        weigh,
    )
    for by in ("nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        word(
            f"resizing_{by}",
            [(5, 4, 2)],
            lambda: layers.Resizing(3, 6, interpolation=by),
            resize_by_area if by == "area" else None,
        )
    cropped = {"crop_to_aspect_ratio": True}
    word("resizing_cropped_rows", [(5, 4, 2)], lambda: layers.Resizing(2, 4, **cropped))
    word("resizing_cropped_columns", [(3, 6, 1)], lambda: layers.Resizing(4, 2, "nearest", **cropped))


def window(cases):
    same = {"padding": "same"}
    for name, shape, make, arguments, options in (
        ("conv3d", (3, 3, 4, 2), layers.Conv3D, (3, 2), {}),
        ("conv3d_same_strides", (4, 3, 4, 2), layers.Conv3D, (2, (3, 2, 3), 2, "same"), {"activation": "tanh"}),
        (
            "conv3d_dilated",
            (4, 2, 2, 2),
            layers.Conv3D,
            (2, (2, 2, 1)),
            {"dilation_rate": (2, 1, 1), "use_bias": False},
        ),
        ("conv3d_groups", (3, 2, 2, 4), layers.Conv3D, (4, (2, 1, 2)), {"groups": 2}),
        ("conv1d_transpose", (4, 2), layers.Conv1DTranspose, (3, 3, 2), {"activation": "tanh"}),
        ("conv1d_transpose_same", (3, 2), layers.Conv1DTranspose, (2, 3, 2, "same"), {"output_padding": 1}),
        ("conv1d_transpose_no_bias", (3, 2), layers.Conv1DTranspose, (2, 2, 3), {"use_bias": False}),
        ("conv3d_transpose", (2, 2, 3, 2), layers.Conv3DTranspose, (2, 2), {}),
        ("conv3d_transpose_same", (3, 2, 2, 2), layers.Conv3DTranspose, (2, (2, 3, 2), (1, 2, 2), "same"), {}),
        ("conv3d_transpose_strides", (2, 2, 2, 2), layers.Conv3DTranspose, (2, (3, 2, 2), 2), {}),
        ("locally_connected1d", (4, 2), layers.LocallyConnected1D, (3, 2), {"activation": "tanh"}),
        ("locally_connected1d_strides", (5, 2), layers.LocallyConnected1D, (2, 3, 2), {"use_bias": False}),
        ("locally_connected2d", (3, 5, 2), layers.LocallyConnected2D, (2, (2, 3), (1, 2)), {}),
        ("max_pooling3d", (2, 4, 5, 2), layers.MaxPooling3D, (), {}),
        ("max_pooling3d_same", (3, 3, 2, 2), layers.MaxPooling3D, ((3, 2, 2), (1, 2, 1)), same),
        ("average_pooling3d", (2, 4, 2, 2), layers.AveragePooling3D, ((1, 2, 2),), {}),
        ("average_pooling3d_same", (3, 4, 2, 2), layers.AveragePooling3D, (3, 2), same),
        ("global_max_pooling3d", (2, 2, 3, 2), layers.GlobalMaxPooling3D, (), {}),
        ("global_average_pooling3d", (2, 2, 3, 2), layers.GlobalAveragePooling3D, (), {"keepdims": True}),
        ("zero_padding3d", (1, 2, 2, 2), layers.ZeroPadding3D, (((1, 0), (0, 2), (1, 1)),), {}),
        ("cropping3d", (2, 3, 3, 2), layers.Cropping3D, (((1, 0), (0, 1), (1, 1)),), {}),
        ("up_sampling3d", (1, 2, 2, 2), layers.UpSampling3D, ((2, 1, 3),), {}),
    ):
        cases.word(name, [shape], lambda: make(*arguments, **options))

    def masked_mean(layer, inputs):
        return layer(inputs[0], mask=tf.not_equal(inputs[1], 0.0))

    tokens = np.array([[1, 2, 0, 0], [0, 3, 1, 1], [2, 1, 3, 0]], np.float32)
    for name, options in (("", {}), ("_keepdims", {"keepdims": True})):
        cases.word(
            f"global_average_pooling1d{name}_masked",
            [(4, 3), tokens],
            lambda: layers.GlobalAveragePooling1D(**options),
            masked_mean,
        )


def augmentation(cases):
    """With ranges of one number, training draws nothing. TensorFlow's gradients are not those of what it computes: here
    each pixel's share of each pixel is found from images of one pixel."""
    image = (4, 5, 2)

    def augmented(layer, inputs):
        pixels = image[0] * image[1]
        beyond = layer(tf.zeros((1, *image)), training=True)
        units = tf.tile(tf.reshape(tf.eye(pixels), (pixels, *image[:2], 1)), (1, 1, 1, image[2]))
        shares = layer(units, training=True)[..., :1] - beyond[..., :1]
        result = tf.einsum("pijc,bpd->bijd", shares, tf.reshape(inputs[0], (-1, pixels, image[2]))) + beyond
        tf.debugging.assert_near(layer(tf.stop_gradient(inputs[0]), training=True), result, atol=1e-5)
        return result

    def unchanged(layer, inputs):
        return layer(inputs[0], training=False)

    def resized_and_cropped(layer, inputs):  # as Keras 2.6 does; 2.15 crops first
        rows, columns = image[:2]
        is_tall = rows / columns > layer.height / layer.width
        size = (
            int(layer.width * rows / columns) if is_tall else layer.height,
            layer.width if is_tall else int(layer.height * columns / rows),
        )
        resized = tf.image.resize(inputs[0], size)
        top, left = (size[0] - layer.height) // 2, (size[1] - layer.width) // 2
        return resized[:, top : top + layer.height, left : left + layer.width]

    def rotate(turn, **options):
        return lambda: layers.RandomRotation((turn, turn), **options)

    def translate(down, right, **options):
        return lambda: layers.RandomTranslation((down, down), (right, right), **options)

    word = cases.word
    word("random_flip", [image], layers.RandomFlip, unchanged)
    word("random_contrast", [image], lambda: layers.RandomContrast((0, 0.5)), unchanged)
    word("random_crop", [image], lambda: layers.RandomCrop(2, 3), resized_and_cropped)
    word("random_translation", [image], translate(0.3, -0.15), augmented)
    word("random_translation_wrap", [image], translate(-1, 0.7, fill_mode="wrap"), augmented)
    word("random_rotation", [image], rotate(0.1), augmented)
    word("random_rotation_constant", [image], rotate(-0.2, fill_mode="constant", fill_value=0.5), augmented)
    word("random_rotation_nearest", [image], rotate(0.07, fill_mode="nearest", interpolation="nearest"), augmented)
    word("random_zoom", [image], lambda: layers.RandomZoom((0.3, 0.3)), augmented)
    word("random_zoom_both", [image], lambda: layers.RandomZoom((-0.3, -0.3), (0.4, 0.4), fill_mode="nearest"), augmented)
    word("random_zoom_drawn", [image], lambda: layers.RandomZoom(0.25, fill_mode="wrap"), unchanged)


def recurrent(cases):
    smooth = {"recurrent_activation": "sigmoid"}
    for name, shape, make, arguments, options in (
        ("conv_lstm1d", (3, 4, 2), layers.ConvLSTM1D, (2, 2), {**smooth, "return_sequences": True}),
        ("conv_lstm2d", (3, 3, 3, 2), layers.ConvLSTM2D, (2, 2), smooth),
        (
            "conv_lstm2d_backwards",
            (3, 4, 3, 2),
            layers.ConvLSTM2D,
            (1, (3, 2), 2, "same"),
            {"use_bias": False, "go_backwards": True},
        ),
        ("conv_lstm3d", (2, 2, 2, 2, 2), layers.ConvLSTM3D, (1, 2), {**smooth, "padding": "same"}),
    ):
        cases.word(name, [shape], lambda: make(*arguments, **options))

    def loop(name, make_cell, **options):
        cases.word(name, [(4, 2)], lambda: layers.RNN(make_cell(), **options))

    loop("rnn_simple_rnn_cell", lambda: layers.SimpleRNNCell(3))
    loop("rnn_lstm_cell", lambda: layers.LSTMCell(3), return_sequences=True)
    loop("rnn_gru_cell", lambda: layers.GRUCell(3), go_backwards=True)
    loop("rnn_gru_cell_reset_before", lambda: layers.GRUCell(3, use_bias=False, reset_after=False))
    loop("rnn_stacked", lambda: [layers.LSTMCell(3), layers.LSTMCell(2)], return_sequences=True)

    # With states: they go in behind the input, and come out behind the output.
    def with_states(name, shape, states, make, tokens=None, backwards=None):
        def call(layer, inputs):
            count = 1 + len(states)
            initial = [inputs[i] for i in range(1, count)]
            if isinstance(layer, layers.RNN) and len(states) > 2:
                initial = [initial[i : i + 2] for i in range(0, len(initial), 2)]  # of stacked cells
            mask = None if tokens is None else tf.not_equal(inputs[count], 0.0)
            return packed(layer(inputs[0], initial_state=initial or None, mask=mask))

        given = [shape, *states] + ([] if tokens is None else [tokens])
        cases.word(name, given, make, call)

    both = {"return_sequences": True, "return_state": True}
    tokens = np.array([[0, 1, 2, 0], [1, 0, 1, 3], [0, 0, 0, 1]], np.float32)
    units = (3,)
    with_states("lstm_states", (4, 2), [units, units], lambda: layers.LSTM(3, **both))
    with_states("lstm_state", (4, 2), [], lambda: layers.LSTM(3, return_state=True))
    with_states("lstm_states_masked", (4, 2), [units, units], lambda: layers.LSTM(3, **both), tokens)
    with_states("gru_states", (4, 2), [units], lambda: layers.GRU(3, return_state=True, go_backwards=True))
    with_states("simple_rnn_states", (4, 2), [units], lambda: layers.SimpleRNN(3, **both))
    with_states("rnn_states", (4, 2), [units, units], lambda: layers.RNN(layers.LSTMCell(3), **both))
    with_states(
        "rnn_stacked_states",
        (4, 2),
        [units, units, (2,), (2,)],
        lambda: layers.RNN([layers.LSTMCell(3), layers.LSTMCell(2)], return_state=True),
    )
    loop("rnn_stacked_of_three", lambda: [layers.LSTMCell(units) for units in (2, 3, 2)], return_sequences=True)
    with_states("rnn_masked", (4, 2), [], lambda: layers.RNN(layers.GRUCell(3), return_sequences=True), tokens)
    with_states(
        "bidirectional_states",
        (4, 2),
        [units, units, units, units],
        lambda: layers.Bidirectional(layers.LSTM(3, name="lstm", **both)),
    )
    with_states(
        "bidirectional_rnn_masked",
        (4, 2),
        [],
        lambda: layers.Bidirectional(layers.RNN(layers.GRUCell(2), name="rnn", **both), merge_mode="sum"),
        tokens,
    )
    image = (3, 2, 2)
    with_states(
        "conv_lstm2d_states",
        (4, 3, 2, 1),
        [image, image],
        lambda: layers.ConvLSTM2D(2, 2, padding="same", recurrent_activation="sigmoid", **both),
    )
    with_states(
        "conv_lstm1d_masked",
        (4, 3, 2),
        [],
        lambda: layers.ConvLSTM1D(2, 2, recurrent_activation="sigmoid", return_sequences=True),
        tokens,
    )
    apart = {"merge_mode": None}
    with_states(
        "bidirectional_apart", (4, 2), [], lambda: layers.Bidirectional(layers.LSTM(3, name="lstm", **both), **apart)
    )
    with_states(
        "bidirectional_apart_masked",
        (4, 2),
        [],
        lambda: layers.Bidirectional(layers.GRU(2, name="gru", return_sequences=True), **apart),
        tokens,
    )
    with_states("bidirectional_ends", (4, 2), [], lambda: layers.Bidirectional(layers.SimpleRNN(3, name="simple_rnn"), **apart))
    with_states(
        "bidirectional_backward_layer",
        (4, 2),
        [],
        lambda: layers.Bidirectional(
            layers.LSTM(3, name="lstm", return_sequences=True),
            backward_layer=layers.LSTM(2, name="other", activation="sigmoid", go_backwards=True, return_sequences=True),
        ),
    )


def core(cases):
    """Layers with kernels of their own, and those that move or combine numbers."""
    word = cases.word
    image, sequence, pair = (4, 5, 2), (5, 3), [(2, 3), (2, 3)]
    for name, make in {
        "conv1d": lambda: layers.Conv1D(4, 2, strides=2, activation="tanh"),
        "separable_conv1d": lambda: layers.SeparableConv1D(2, 2, padding="same"),
        "average_pooling1d": layers.AveragePooling1D,
        "max_pooling1d": layers.MaxPooling1D,
        "global_max_pooling1d": layers.GlobalMaxPooling1D,
        "zero_padding1d": lambda: layers.ZeroPadding1D((1, 2)),
        "cropping1d": lambda: layers.Cropping1D((1, 2)),
        "up_sampling1d": lambda: layers.UpSampling1D(2),
        "spatial_dropout1d": lambda: layers.SpatialDropout1D(0.5),
    }.items():
        word(name, [sequence], make)
    for name, make in {
        "conv2d": lambda: layers.Conv2D(3, (2, 3), padding="same"),
        "conv2d_transpose": lambda: layers.Conv2DTranspose(3, 2, strides=2),
        "depthwise_conv2d": lambda: layers.DepthwiseConv2D(2, depth_multiplier=2),
        "separable_conv2d": lambda: layers.SeparableConv2D(3, 2, activation="tanh"),
        "average_pooling2d": lambda: layers.AveragePooling2D(2, padding="same"),
        "max_pooling2d": layers.MaxPooling2D,
        "global_average_pooling2d": layers.GlobalAveragePooling2D,
        "global_max_pooling2d": layers.GlobalMaxPooling2D,
        "zero_padding2d": lambda: layers.ZeroPadding2D(((1, 0), (0, 2))),
        "cropping2d": lambda: layers.Cropping2D(((1, 0), (1, 1))),
        "up_sampling2d": lambda: layers.UpSampling2D((2, 1)),
        "spatial_dropout2d": lambda: layers.SpatialDropout2D(0.5),
        "batch_normalization": layers.BatchNormalization,
        "layer_normalization": layers.LayerNormalization,
        "flatten": layers.Flatten,
        "reshape": lambda: layers.Reshape((10, 4)),
    }.items():
        word(name, [image], make)
    for name in ("add", "subtract", "multiply", "average", "maximum", "concatenate"):
        word(name, pair, getattr(layers, name.capitalize()))
    for name, make in {
        "dense": lambda: layers.Dense(4, "tanh"),
        "activation": lambda: layers.Activation("gelu"),
        "re_lu": lambda: layers.ReLU(1, 0.1),
        "leaky_re_lu": layers.LeakyReLU,
        "prelu": layers.PReLU,
        "thresholded_re_lu": lambda: layers.ThresholdedReLU(0.5),
        "elu_layer": layers.ELU,
        "softmax_layer": layers.Softmax,
        "dropout": lambda: layers.Dropout(0.5),
        "lambda": lambda: layers.Lambda(tf.square),
        "masking": layers.Masking,
        "activity_regularization": layers.ActivityRegularization,
    }.items():
        word(name, [(2, 3)], make)
    for name, shape, equation, output, options in (
        ("einsum_dense", (4, 3), "abc,cd->abd", (None, 2), {"activation": "tanh", "bias_axes": "d"}),
        ("einsum_dense_front", (2, 3), "...x,xy->...y", 4, {}),
        ("einsum_dense_behind", (3, 2), "ab...,bc->ac...", 4, {"bias_axes": "c"}),
        ("einsum_dense_heads", (4, 3), "abc,cde->adbe", (2, None, 2), {"bias_axes": "de"}),
        ("einsum_dense_joined", (4, 3, 2), "abde,dec->abc", (None, 3), {"bias_axes": "c"}),
        ("einsum_dense_each", (4, 3), "abc,bcd->adb", (2, 4), {"bias_axes": "b"}),
    ):
        word(name, [shape], lambda: layers.EinsumDense(equation, output, **options))
    for name, axis in (("front", 1), ("ends", [1, -1]), ("turned", [2, 1]), ("turned_rows", [-1, 2])):
        word(f"layer_normalization_{name}", [image], lambda: layers.LayerNormalization(axis))


FAMILIES = (merging, regularization, preprocessing, window, augmentation, recurrent, core)
for seed, family in enumerate(FAMILIES):
    if len(sys.argv) > 1 and family.__name__ not in sys.argv[1:]:
        continue
    cases = WordCases(f"words_{family.__name__}.txt", f"Words of {family.__name__}", 40 + seed)
    family(cases)
    cases.write()
