# SPDX-License-Identifier: BSD-3-Clause
"""pooling.txt: outputs and gradients of the layers that pool, pad, crop and repeat, and of the activation layers.

Run: pip install "tensorflow-cpu==2.15.*" && python make_pooling.py
"""

import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from layer_cases import LayerCases
import numpy as np
import tensorflow as tf

layers = tf.keras.layers
cases = LayerCases("pooling.txt", "Pooling, padding, up-sampling and activation layers", 17)
numbers = cases.numbers

IMAGE, SEQUENCE = (2, 5, 6, 3), (2, 7, 3)
for name, Pool2D, Pool1D in (
    ("max", layers.MaxPooling2D, layers.MaxPooling1D),
    ("average", layers.AveragePooling2D, layers.AveragePooling1D),
):
    cases.add_layer(f"{name}2d", Pool2D(), *IMAGE)
    cases.add_layer(f"{name}2d_same", Pool2D(padding="same"), *IMAGE)
    cases.add_layer(f"{name}2d_3_2_same", Pool2D(3, 2, padding="same"), *IMAGE)
    cases.add_layer(f"{name}2d_2x3_strides_1x2", Pool2D((2, 3), (1, 2)), *IMAGE)
    cases.add_layer(f"{name}2d_gaps", Pool2D(2, 3), 2, 6, 8, 2)
    cases.add_layer(f"{name}2d_wide", Pool2D(), 1, 4, 4, 37)
    cases.add_layer(f"{name}1d", Pool1D(), *SEQUENCE)
    cases.add_layer(f"{name}1d_3_1_same", Pool1D(3, 1, padding="same"), *SEQUENCE)
    cases.add_layer(f"{name}1d_4_3_same", Pool1D(4, 3, padding="same"), *SEQUENCE)
ties = np.array([[0, 0, 1, 1], [0, 0, 2, 1], [3, -1, 0, -2], [3, 3, -1, 0]], np.float32).reshape(1, 4, 4, 1)
cases.add("max2d_ties", [ties], lambda inputs: layers.MaxPooling2D()(inputs[0]))
cases.add("max2d_ties_overlap", [ties], lambda inputs: layers.MaxPooling2D(3, 1, padding="same")(inputs[0]))

for name, Global2D, Global1D in (
    ("max", layers.GlobalMaxPooling2D, layers.GlobalMaxPooling1D),
    ("average", layers.GlobalAveragePooling2D, layers.GlobalAveragePooling1D),
):
    cases.add_layer(f"global_{name}2d", Global2D(), *IMAGE)
    cases.add_layer(f"global_{name}2d_keepdims", Global2D(keepdims=True), *IMAGE)
    cases.add_layer(f"global_{name}1d", Global1D(), *SEQUENCE)
    cases.add_layer(f"global_{name}1d_keepdims", Global1D(keepdims=True), *SEQUENCE)
cases.add("global_max2d_ties", [ties], lambda inputs: layers.GlobalMaxPooling2D()(inputs[0]))

cases.add_layer("zero_padding2d", layers.ZeroPadding2D(), 2, 2, 3, 2)
cases.add_layer("zero_padding2d_1x2", layers.ZeroPadding2D((1, 2)), 2, 2, 3, 2)
cases.add_layer("zero_padding2d_each", layers.ZeroPadding2D(((1, 0), (2, 3))), 2, 2, 3, 2)
cases.add_layer("zero_padding1d", layers.ZeroPadding1D(), 2, 3, 2)
cases.add_layer("zero_padding1d_each", layers.ZeroPadding1D((0, 2)), 2, 3, 2)
cases.add_layer("cropping2d", layers.Cropping2D(1), *IMAGE)
cases.add_layer("cropping2d_each", layers.Cropping2D(((1, 0), (2, 3))), *IMAGE)
cases.add_layer("cropping1d", layers.Cropping1D(), *SEQUENCE)
cases.add_layer("cropping1d_each", layers.Cropping1D((0, 3)), *SEQUENCE)

cases.add_layer("up_sampling2d", layers.UpSampling2D(), 2, 3, 2, 3)
cases.add_layer("up_sampling2d_3x1", layers.UpSampling2D((3, 1)), 2, 3, 2, 3)
cases.add_layer("up_sampling2d_bilinear", layers.UpSampling2D(interpolation="bilinear"), 2, 3, 4, 3)
cases.add_layer("up_sampling2d_bilinear_3x4", layers.UpSampling2D((3, 4), interpolation="bilinear"), 1, 4, 3, 2)
cases.add_layer("up_sampling2d_bilinear_one", layers.UpSampling2D((2, 3), interpolation="bilinear"), 2, 1, 3, 1)
cases.add_layer("up_sampling1d", layers.UpSampling1D(), *SEQUENCE)
cases.add_layer("up_sampling1d_3", layers.UpSampling1D(3), *SEQUENCE)

# Values at the places where the functions change.
kinks = np.array([[-2, -1, -0.5, 0], [0.25, 0.5, 1, 2], [3, 6, 7, -7]], np.float32)
for name, layer in (
    ("re_lu", layers.ReLU()),
    ("re_lu_6", layers.ReLU(6.0)),
    ("re_lu_3", layers.ReLU(3.0)),
    ("re_lu_slope", layers.ReLU(negative_slope=0.1)),
    ("re_lu_all", layers.ReLU(max_value=2.0, negative_slope=0.2, threshold=0.5)),
    ("leaky_re_lu", layers.LeakyReLU()),
    ("leaky_re_lu_half", layers.LeakyReLU(0.5)),
    ("elu", layers.ELU()),
    ("elu_half", layers.ELU(0.5)),
    ("thresholded_re_lu", layers.ThresholdedReLU()),
    ("thresholded_re_lu_half", layers.ThresholdedReLU(0.5)),
):
    cases.add(name, [kinks], lambda inputs: layer(inputs[0]))
cases.add_layer("softmax", layers.Softmax(), 2, 3, 4)
cases.add_layer("softmax_axis_1", layers.Softmax(axis=1), 2, 3, 4)
cases.add_layer("softmax_axis_2", layers.Softmax(axis=-2), 2, 2, 3, 2)
prelu = layers.PReLU()
cases.add("prelu", [kinks], lambda inputs: prelu(inputs[0]), prelu)
cases.add_layer("prelu_image", layers.PReLU(), 2, 2, 3, 2)
cases.add_layer("prelu_shared", layers.PReLU(shared_axes=[1, 2]), 2, 3, 4, 3)
cases.add_layer("prelu_shared_rows", layers.PReLU(shared_axes=[2]), 2, 3, 4, 3)
cases.add_layer("prelu_shared_channels", layers.PReLU(shared_axes=[1, 3]), 2, 3, 4, 3)
cases.add_layer("prelu_one", layers.PReLU(shared_axes=[1, 2, 3]), 2, 3, 4, 3)
cases.write()
