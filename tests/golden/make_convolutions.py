# SPDX-License-Identifier: BSD-3-Clause
"""convolutions.txt: outputs and gradients of the convolution layers.

Run: pip install "tensorflow-cpu==2.15.*" && python make_convolutions.py
"""

import itertools

from layer_cases import LayerCases
import tensorflow as tf

layers = tf.keras.layers
cases = LayerCases("convolutions.txt", "Convolution layers", 11)


def padding_of(length, kernel, stride, dilation, padding):
    """Zeros before and behind one axis."""
    extent = (kernel - 1) * dilation + 1
    if padding == "causal":
        return extent - 1, 0
    total = max((-(-length // stride) - 1) * stride + extent - length, 0) if padding == "same" else 0
    return total // 2, total - total // 2


def by_slices(layer):
    """The layer as sums of products of slices: TensorFlow has no gradient of grouped and of dilated convolutions on
    CPUs."""
    spatial = len(layer.kernel_size)

    def convolve(x, kernel, groups):
        axes = list(zip(x.shape[-1 - spatial : -1], layer.kernel_size, layer.strides, layer.dilation_rate))
        paddings = [padding_of(*axis, layer.padding) for axis in axes]
        x = tf.pad(x, [(0, 0)] * (x.shape.rank - 1 - spatial) + paddings + [(0, 0)])
        lengths = [
            (length + sum(pads) - (size - 1) * rate - 1) // stride + 1
            for (length, size, stride, rate), pads in zip(axes, paddings)
        ]
        channels, filters = kernel.shape[-2], kernel.shape[-1] // groups
        outputs = []
        for group in range(groups):
            total = 0
            for place in itertools.product(*map(range, layer.kernel_size)):
                slices = [
                    slice(at * rate, at * rate + (length - 1) * stride + 1, stride)
                    for at, rate, length, stride in zip(place, layer.dilation_rate, lengths, layer.strides)
                ]
                part = x[(..., *slices, slice(group * channels, (group + 1) * channels))]
                total += tf.matmul(part, kernel[(*place, slice(None), slice(group * filters, (group + 1) * filters))])
            outputs.append(total)
        return tf.concat(outputs, -1)

    def call(inputs, weights):
        x = inputs[0]
        if "depthwise_kernel" in weights:
            kernel = weights["depthwise_kernel"]
            channels = x.shape[-1]
            x = convolve(x, tf.reshape(kernel, (*layer.kernel_size, 1, channels * layer.depth_multiplier)), channels)
            if "pointwise_kernel" in weights:
                x = tf.matmul(x, tf.reshape(weights["pointwise_kernel"], weights["pointwise_kernel"].shape[-2:]))
        else:
            x = convolve(x, weights["kernel"], layer.groups)
        return layer.activation(x + weights["bias"] if layer.use_bias else x)

    return call


def add(make, name, shape, *arguments, slices=False, **options):
    layer = make(*arguments, **options)
    cases.add_layer(name, layer, *shape, differentiable=by_slices(layer) if slices else None)


def conv2d(*case, **options):
    add(layers.Conv2D, *case, **options)


def conv1d(*case, **options):
    add(layers.Conv1D, *case, **options)


def depthwise(*case, **options):
    add(layers.DepthwiseConv2D, *case, **options)


def separable(*case, **options):
    add(layers.SeparableConv2D, *case, **options)


def transpose(*case, **options):
    add(layers.Conv2DTranspose, *case, **options)


conv2d("conv2d", (2, 6, 7, 3), 5, 3)
conv2d("conv2d_same_relu", (3, 5, 4, 4), 6, 3, padding="same", activation="relu")
conv2d("conv2d_strides_same_tanh", (2, 7, 6, 3), 4, (3, 2), strides=(2, 3), padding="same", activation="tanh")
conv2d("conv2d_strides_valid", (2, 7, 8, 2), 3, (3, 5), strides=2)
conv2d("conv2d_dilation_gelu", (2, 6, 5, 3), 4, (2, 3), dilation_rate=(3, 1), activation="gelu", slices=True)
conv2d("conv2d_dilation_same_no_bias", (1, 6, 6, 2), 3, 3, dilation_rate=2, padding="same", use_bias=False, slices=True)
conv2d("conv2d_pointwise_softmax", (3, 4, 3, 6), 5, 1, activation="softmax")
conv2d("conv2d_pointwise_strides_no_bias", (2, 5, 5, 4), 7, 1, strides=2, use_bias=False)
conv2d("conv2d_softmax", (2, 4, 4, 2), 3, 3, padding="same", activation="softmax")
conv2d("conv2d_groups_same_relu", (2, 5, 4, 4), 6, 3, padding="same", groups=2, activation="relu", slices=True)
conv2d("conv2d_groups_strides", (1, 6, 5, 6), 3, (2, 3), strides=(2, 1), groups=3, use_bias=False, slices=True)
conv2d("conv2d_groups_wide", (1, 2, 3, 6), 34, 2, groups=2, activation="swish", slices=True)
conv2d("conv2d_wide", (1, 3, 3, 5), 35, 2)
conv2d("conv2d_whole", (5, 3, 4, 2), 3, (3, 4), activation="sigmoid")
conv2d("conv2d_large_kernel_same", (2, 3, 2, 2), 2, (5, 4), padding="same")
conv2d("conv2d_one_filter", (4, 4, 4, 1), 1, 2, activation="elu")
conv2d("conv2d_more_axes", (2, 3, 4, 5, 2), 3, 2, activation="relu")

conv1d("conv1d", (3, 8, 4), 5, 3)
conv1d("conv1d_strides_same_relu", (2, 9, 3), 4, 4, strides=2, padding="same", activation="relu")
conv1d("conv1d_causal", (2, 7, 2), 3, 3, padding="causal")
conv1d("conv1d_causal_strides_tanh", (2, 7, 3), 2, 3, strides=2, padding="causal", activation="tanh")
conv1d("conv1d_causal_dilation_gelu", (2, 8, 2), 3, 2, dilation_rate=3, padding="causal", activation="gelu", slices=True)
conv1d("conv1d_dilation_no_bias", (1, 8, 3), 4, 3, dilation_rate=2, use_bias=False, slices=True)
conv1d("conv1d_groups_softmax", (2, 6, 4), 6, 3, groups=2, activation="softmax", slices=True)
conv1d("conv1d_wide", (1, 4, 17), 18, 2, padding="same")
conv1d("conv1d_more_axes", (2, 3, 6, 2), 4, 3, strides=2)

depthwise("depthwise", (2, 5, 6, 3), 3)
depthwise("depthwise_same_relu", (3, 5, 4, 4), (3, 2), padding="same", activation="relu")
depthwise("depthwise_multiplier_strides", (2, 7, 6, 2), 3, depth_multiplier=3, strides=2, padding="same")
depthwise("depthwise_strides_gelu", (2, 6, 7, 3), (2, 3), strides=2, activation="gelu")
depthwise("depthwise_dilation_no_bias", (1, 7, 6, 2), 3, dilation_rate=2, use_bias=False, slices=True)
depthwise("depthwise_multiplier_softmax", (2, 4, 4, 3), 2, depth_multiplier=2, activation="softmax")
depthwise("depthwise_wide", (1, 3, 3, 19), 2, padding="same", activation="tanh")

separable("separable", (2, 5, 6, 3), 4, 3)
separable("separable_multiplier_relu", (2, 7, 6, 2), 5, (3, 2), depth_multiplier=2, strides=2, activation="relu")
separable("separable_same_gelu", (3, 4, 5, 3), 2, 3, padding="same", activation="gelu")
separable("separable_dilation_no_bias", (1, 6, 7, 2), 3, 3, dilation_rate=2, use_bias=False, slices=True)
separable("separable_softmax_wide", (1, 3, 3, 17), 18, 2, activation="softmax")
add(layers.SeparableConv1D, "separable_conv1d", (2, 7, 3), 4, 3, strides=2, activation="tanh")
add(layers.SeparableConv1D, "separable_conv1d_causal", (2, 6, 2), 3, 3, depth_multiplier=2, padding="causal")

transpose("transpose", (2, 3, 4, 3), 4, 3)
transpose("transpose_same_relu", (2, 4, 3, 2), 3, 3, padding="same", activation="relu")
transpose("transpose_strides", (2, 3, 4, 3), 2, (3, 4), strides=2)
transpose("transpose_strides_same_tanh", (3, 3, 2, 4), 3, 3, strides=(2, 3), padding="same", activation="tanh")
transpose("transpose_output_padding", (2, 3, 3, 2), 3, 3, strides=2, output_padding=1)
transpose("transpose_output_padding_same", (1, 3, 4, 3), 2, 3, strides=(3, 2), padding="same", output_padding=(2, 0))
transpose("transpose_small_kernel_no_bias", (2, 3, 2, 3), 4, 2, strides=3, use_bias=False)
transpose("transpose_dilation_gelu", (2, 3, 4, 2), 3, (2, 3), dilation_rate=2, activation="gelu")
transpose("transpose_dilation_same", (1, 5, 4, 2), 3, 3, dilation_rate=2, padding="same")
transpose("transpose_softmax", (2, 3, 3, 3), 4, 2, strides=2, padding="same", activation="softmax")
transpose("transpose_wide", (1, 2, 2, 5), 19, 2, strides=2)

shared = layers.Conv2D(3, 3, padding="same", activation="tanh")
cases.add("shared_chain", [cases.numbers.normal(2, 4, 5, 3)], lambda inputs: shared(shared(inputs[0])), shared)
first = layers.Conv2D(3, 3, padding="same", activation="relu", name="first")
second = layers.Conv2D(3, 1, use_bias=False, name="second")
cases.add(
    "residual",
    [cases.numbers.normal(3, 4, 3, 3)],
    lambda inputs: layers.Add()([inputs[0], second(first(inputs[0]))]),
    first,
    second,
)
cases.write()
