# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the tables in tests/words: what layer_cases.py writes, and ten steps of gradient descent."""

from layer_cases import LayerCases, weight_path
import tensorflow as tf

BATCH = 3
RATE = 0.005  # as in tests/words/check_word.hpp


class WordCases(LayerCases):
    def __init__(self, name, title, seed):
        super().__init__(name, title, seed)
        for line in (
            "case/losses: half the squared distance of the output from output_gradient, before each of ten steps of",
            "  gradient descent on inputs and weights; case/<weight>_trained: weights afterwards.",
        ):
            self.file.comment(line)

    def word(self, name, inputs, make, call=None, **options):
        """`inputs`: shapes of samples, or arrays. `make` makes the layer; `call(layer, inputs)`: as Keras calls it."""
        tf.keras.backend.clear_session()
        layer = make()
        arrays = [self.numbers.normal(BATCH, *each) if isinstance(each, tuple) else each for each in inputs]

        def run(values):
            if call:
                return call(layer, values)
            return layer(values[0] if len(values) == 1 else values)

        self.add(name, arrays, run, layer, before=self.remember(layer), **options)
        self.train(name, arrays, run, layer)

    def remember(self, layer):
        def before():
            self.first = [variable.numpy() for variable in layer.weights]

        return before

    def train(self, name, arrays, run, layer):
        for variable, value in zip(layer.weights, self.first):
            variable.assign(value)
        inputs = [tf.Variable(value) for value in arrays]
        leaves = inputs + list(layer.trainable_weights)
        losses = []
        for _ in range(10):
            with tf.GradientTape() as tape:
                for leaf in leaves:
                    tape.watch(leaf)
                output = run([tf.convert_to_tensor(value) for value in inputs])
                loss = tf.reduce_sum(tf.square(output - self.gradient)) / 2
            losses.append(loss.numpy())
            for leaf, gradient in zip(leaves, tape.gradient(loss, leaves)):
                if gradient is not None:
                    leaf.assign_sub(RATE * tf.convert_to_tensor(gradient))
        assert losses[-1] <= losses[0], name
        self.file.add(f"{name}/losses", losses)
        for variable in layer.weights:
            self.file.add(f"{name}/{weight_path(variable)}_trained", variable)
