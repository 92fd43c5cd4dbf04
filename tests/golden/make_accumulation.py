# SPDX-License-Identifier: BSD-3-Clause
"""accumulation.txt: gradients of four micro-batches per weight update, on one replica and on two, by hand with Keras.

Run: pip install "tensorflow-cpu==2.15.*" && python make_accumulation.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

optimizers = tf.keras.optimizers.legacy
layers = tf.keras.layers
UPDATES, COUNT, BATCH, REPLICAS = 2, 4, 4, 2

numbers = Numbers(11)
SHAPES = {
    "shared/kernel": (4, 4),
    "shared/bias": (4,),
    "hidden/kernel": (4, 6),
    "hidden/bias": (6,),
    "out/kernel": (6, 3),
    "out/bias": (3,),
}
initial = {name: numbers.normal(*shape, scale=shape[0] ** -0.5) for name, shape in SHAPES.items()}
x = numbers.normal(UPDATES * COUNT * REPLICAS * BATCH, 4)
y = numbers.integers(UPDATES * COUNT * REPLICAS * BATCH, high=3)
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def make_model():
    given = tf.keras.Input((4,))
    shared = layers.Dense(4, "tanh", name="shared")
    hidden = layers.Dense(6, "relu", name="hidden", kernel_regularizer=tf.keras.regularizers.l2(0.02))
    net = tf.keras.Model(given, layers.Dense(3, name="out")(hidden(shared(shared(given)))))
    for variable in net.trainable_variables:
        variable.assign(initial[variable.name.removesuffix(":0")])
    return net


def reduce_micro_batches(method, gradients):
    """What an accumulator holds after the gradients of one weight update."""
    total = tf.zeros_like(gradients[0])
    for n, gradient in enumerate(gradients):
        if method == "sum":
            total = total + gradient
        elif method == "mean":
            total = total + gradient * (1 / len(gradients))
        else:
            total = total * (n / (n + 1)) + gradient * (1 / (n + 1))
    return total


def train(file, name, optimizer, method, replicas, across=None):
    """Batch b of an update is micro-batch b // replicas of replica b % replicas."""
    net = make_model()
    variables = net.trainable_variables
    losses = []
    for update in range(UPDATES):
        gradients = []
        for batch in range(COUNT * replicas):
            first = (update * COUNT * replicas + batch) * BATCH
            with tf.GradientTape() as tape:
                loss = cross_entropy(y[first : first + BATCH], net(x[first : first + BATCH])) + sum(net.losses)
            losses.append(loss)
            gradients.append(tape.gradient(loss, variables))
        reduced = []
        for index in range(len(variables)):
            of_replicas = [
                reduce_micro_batches(method, [gradient[index] for gradient in gradients[replica::replicas]])
                for replica in range(replicas)
            ]
            total = tf.add_n(of_replicas)
            reduced.append(total / replicas if across == "mean" else total)
        optimizer.apply_gradients(zip(reduced, variables))
        for variable in variables:
            file.add(f"{name}/update_{update + 1}/{variable.name.removesuffix(':0')}", variable.numpy())
    file.add(f"{name}/losses", losses)
    print(name, np.round(losses, 3))


# The scale of gradients makes nearly no difference to RMSprop and Adam, unless epsilon is as large as they are.
OPTIMIZERS = {
    "sgd_momentum": lambda: optimizers.SGD(0.1, momentum=0.9),
    "rmsprop": lambda: optimizers.RMSprop(0.05, epsilon=0.1),
    "adam": lambda: optimizers.Adam(0.05, epsilon=0.1),
}

file = GoldenFile("accumulation.txt", "Two weight updates of four micro-batches (of four samples) per replica.")
file.comment("A model of dense layers 4-4-4-6-3: `shared` (tanh) is called twice, `hidden` (relu) has an l2(0.02) kernel;")
file.comment("sparse categorical cross-entropy from logits. Batch i is rows 4 i ... 4 i + 3 of x and y.")
file.comment("SGD(0.1, momentum=0.9), RMSprop(0.05, epsilon=0.1), Adam(0.05, epsilon=0.1).")
file.comment("<method>/<optimizer>/update_<n>/<weights>: after that update; losses: of each batch, with the penalty.")
file.comment("replicas/<method>/<across>/<optimizer>: the same of two replicas, which take the batches in turn, and whose")
file.comment("  accumulated gradients are summed, or averaged, before the update.")
for name, value in initial.items():
    file.add(f"initial/{name}", value)
file.add("x", x)
file.add("y", y)
for method in ("sum", "mean", "running_mean"):
    for name, optimizer in OPTIMIZERS.items():
        train(file, f"{method}/{name}", optimizer(), method, 1)
for method, across in (("sum", "sum"), ("mean", "sum"), ("running_mean", "mean")):
    for name, optimizer in OPTIMIZERS.items():
        train(file, f"replicas/{method}/{across}/{name}", optimizer(), method, REPLICAS, across)
file.write()
