# SPDX-License-Identifier: BSD-3-Clause
"""Cases of layers in a golden file: inputs, weights, output, and the gradients of sum(output * output_gradient)."""

import re

from golden_file import GoldenFile, Numbers
import tensorflow as tf


def weight_path(variable):
    """The name of a weight below its layer and without the cell's, unless it is one of several: kernel,
    forward_lstm/recurrent_kernel, lstm_cell_1/kernel."""
    parts = variable.name.split(":")[0].split("/")[1:]
    if "stacked_rnn_cells" in parts:
        return "/".join(part for part in parts if part != "stacked_rnn_cells")
    return "/".join(part for part in parts if not re.search(r"_cell(_\d+)?$", part))


class LayerCases:
    def __init__(self, name, title, seed):
        self.file = GoldenFile(name, f"{title}: case/input_<i>, case/<weight>, case/output.")
        self.file.comment("The gradients are those of sum(output * output_gradient): case/input_<i>_gradient,")
        self.file.comment("  case/<weight>_gradient.")
        self.numbers = Numbers(seed)

    def add(self, name, inputs, call, *built, differentiable=None, before=None):
        """`call` maps the list of inputs to the output; `built` are the layers whose weights are given values.
        `differentiable(inputs, weights)` gives the same output, where TensorFlow has no gradient of `call`'s.
        `before()` is called when the weights have their values."""
        numbers, file = self.numbers, self.file
        inputs = [tf.constant(value) for value in inputs]
        call(inputs)  # creates the weights
        weights, file_weights = {}, {}
        for layer in built:
            for variable in layer.weights:
                kind = weight_path(variable)
                shape, is_positive = variable.shape, "variance" in kind
                variable.assign(numbers.uniform(*shape, low=0.5) if is_positive else numbers.normal(*shape, scale=0.5))
                weights[f"{layer.name}/{kind}" if len(built) > 1 else kind] = variable
        for kind, variable in weights.items():
            file_weights[kind] = variable.numpy()
        if before:
            before()
        with tf.GradientTape() as tape:
            for value in inputs:
                tape.watch(value)
            output = differentiable(inputs, weights) if differentiable else call(inputs)
            self.gradient = gradient = numbers.normal(*output.shape)
            total = tf.reduce_sum(output * gradient)
        gradients = tape.gradient(total, (inputs, weights), unconnected_gradients="zero")
        of_inputs, of_weights = tf.nest.map_structure(tf.convert_to_tensor, gradients)
        if differentiable:
            tf.debugging.assert_near(output, call(inputs), rtol=1e-5, atol=1e-5)
        for index, value in enumerate(inputs):
            file.add(f"{name}/input_{index}", value)
        for kind, value in file_weights.items():
            file.add(f"{name}/{kind}", value)
        file.add(f"{name}/output", output)
        file.add(f"{name}/output_gradient", gradient)
        for index, value in enumerate(of_inputs):
            file.add(f"{name}/input_{index}_gradient", value)
        for kind, value in of_weights.items():
            file.add(f"{name}/{kind}_gradient", value)

    def add_layer(self, name, layer, *shape, differentiable=None):
        """One layer on one input of a shape."""
        inputs = [self.numbers.normal(*shape)]
        self.add(name, inputs, lambda inputs: layer(inputs[0]), layer, differentiable=differentiable)

    def write(self):
        self.file.write()
