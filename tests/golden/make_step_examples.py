# SPDX-License-Identifier: BSD-3-Clause
"""step_examples.txt: ten steps of what the examples of training steps do beside those of make_own_steps.py: a network
that learns from a gradient step inside of it (MAML), a policy gradient (REINFORCE), learning rates that differ from
layer to layer by two optimizers over disjoint weights, a classifier and its saliency map, a frozen normalization in
TimeDistributed and in a layer of one's own, and penalties in a model without its last layers. In double precision, but
for TimeDistributed's normalization, whose moving statistics Keras gathers in float32.

Run: pip install "tensorflow-cpu==2.15.*" && python make_step_examples.py
"""

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

STEPS = 10
numbers = np.random.default_rng(35)
file = GoldenFile("step_examples.txt", "Ten steps of training steps, losses and gradients of one's own")
layers, legacy = tf.keras.layers, tf.keras.optimizers.legacy


def drawn(*shape):
    return numbers.normal(0, 1, shape).astype(np.float32)


def draw_weights(model, scale=0.5):
    model.set_weights([numbers.normal(0, scale, w.shape).astype(np.float32) for w in model.get_weights()])


def add_weights(name, weights):
    for index, weight in enumerate(weights):
        file.add(f"{name}/{index}", weight)


def move(optimizer, tape, loss, weights):
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


def learn_to_learn(name="meta", tasks=4, samples=5, units=6, rate=0.1):
    shapes = (1, units), (units,), (units, 1), (1,)
    weights = [tf.Variable(drawn(*shape).astype(np.float64) * 0.5) for shape in shapes]
    add_weights(f"{name}/before", [w.numpy() for w in weights])
    optimizer, losses = legacy.Adam(0.01), []

    def network(x, w):
        return tf.tanh(x @ w[0] + w[1]) @ w[2] + w[3]

    for step in range(STEPS):
        support, answers, query, wanted = (drawn(tasks, samples, 1) for _ in range(4))
        for what, value in (("support", support), ("answers", answers), ("query", query), ("wanted", wanted)):
            file.add(f"{name}/{what}/{step}", value)
        with tf.GradientTape() as tape:
            of_tasks = []
            for task in range(tasks):
                with tf.GradientTape() as inner:
                    inner.watch(weights)
                    error = tf.reduce_mean((network(support[task].astype(np.float64), weights) - answers[task]) ** 2)
                learnt = [w - rate * g for w, g in zip(weights, inner.gradient(error, weights))]
                of_tasks.append(tf.reduce_mean((network(query[task].astype(np.float64), learnt) - wanted[task]) ** 2))
            loss = tf.reduce_mean(tf.stack(of_tasks))
        move(optimizer, tape, loss, weights)
        losses.append(loss.numpy())
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", [w.numpy() for w in weights])


def policy_gradient(name="policy", batch=12, places=6, actions=3):
    policy = tf.keras.Sequential([layers.Input((places,)), layers.Dense(8, "tanh"), layers.Dense(actions)])
    draw_weights(policy)
    add_weights(f"{name}/before", policy.get_weights())
    optimizer, losses = legacy.RMSprop(0.01), []
    for step in range(STEPS):
        seen, chosen, gain = drawn(batch, places), numbers.integers(0, actions, (batch, 1)), drawn(batch, 1)
        for what, value in (("seen", seen), ("chosen", chosen), ("gain", gain)):
            file.add(f"{name}/{what}/{step}", value)
        with tf.GradientTape() as tape:
            logits = policy(seen)
            taken = tf.gather(tf.nn.log_softmax(logits), chosen, axis=1, batch_dims=1)
            entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), -1))
            loss = -tf.reduce_mean(taken * gain) - 0.01 * entropy
        move(optimizer, tape, loss, policy.trainable_variables)
        losses.append([loss.numpy(), entropy.numpy()])
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", policy.get_weights())


def rates_of_layers(name="rates", batch=8):
    """Adam's rate is 0.01 of the last layer, a tenth of that of the first, and half of the second."""
    model = tf.keras.Sequential([layers.Input((5,)), layers.Dense(6, "tanh", name="first"),
                                 layers.Dense(4, "tanh", name="second"), layers.Dense(2, name="last")])
    draw_weights(model)
    add_weights(f"{name}/before", model.get_weights())
    optimizers = [legacy.Adam(0.001), legacy.Adam(0.005), legacy.Adam(0.01)]
    losses = []
    for step in range(STEPS):
        x, y = drawn(batch, 5), drawn(batch, 2)
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, model(x)))
        gradients = [tape.gradient(loss, layer.trainable_variables) for layer in model.layers]
        for optimizer, layer, of_layer in zip(optimizers, model.layers, gradients):
            optimizer.apply_gradients(zip(of_layer, layer.trainable_variables))
        losses.append(loss.numpy())
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", model.get_weights())


def saliency(name="saliency", batch=6, side=6):
    image = layers.Input((side, side, 1))
    x = layers.MaxPooling2D(2)(layers.Conv2D(3, 3, activation="gelu")(image))
    model = tf.keras.Model(image, layers.Dense(2)(layers.Flatten()(x)))
    draw_weights(model)
    add_weights(f"{name}/before", model.get_weights())
    model.compile(legacy.Adam(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = []
    for step in range(STEPS):
        pictures, classes = drawn(batch, side, side, 1), numbers.integers(0, 2, (batch, 1))
        file.add(f"{name}/x/{step}", pictures)
        file.add(f"{name}/y/{step}", classes)
        losses.append(model.train_on_batch(pictures, classes))
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", model.get_weights())
    pictures = tf.constant(drawn(batch, side, side, 1), tf.keras.backend.floatx())
    file.add(f"{name}/x/test", pictures.numpy())
    with tf.GradientTape() as tape:
        tape.watch(pictures)
        largest = tf.reduce_max(model(pictures), -1)
    file.add(f"{name}/slopes", tf.abs(tape.gradient(largest, pictures)).numpy())


def penalties(name="penalties", batch=8):
    """What is left of a model adds to the loss, what is removed does not."""
    given = x = layers.Input((5,))
    x = layers.Dense(6, "tanh", activity_regularizer=tf.keras.regularizers.L2(0.1), name="first")(x)
    x = layers.ActivityRegularization(l1=0.05, name="second")(x)
    x = layers.Dense(3, activity_regularizer=tf.keras.regularizers.L2(0.7), name="removed")(x)
    base = tf.keras.Model(given, x)
    model = tf.keras.Sequential([layers.Input((5,)), tf.keras.Model(base.input, base.layers[-2].output),
                                 layers.Dense(2, name="last")])
    draw_weights(model)
    add_weights(f"{name}/before", model.get_weights())
    model.compile(legacy.SGD(0.05, momentum=0.9), "mean_squared_error")
    losses = []
    for step in range(STEPS):
        x, y = drawn(batch, 5), drawn(batch, 2)
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        losses.append(model.train_on_batch(x, y))
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", model.get_weights())


def frozen_in_time(name="time", batch=8, steps=3):
    """A frozen normalization inside of TimeDistributed uses its moving statistics; one that is trained moves them."""
    def normalized(wrapped):
        return layers.TimeDistributed(wrapped)

    base = tf.keras.Sequential([layers.Input((steps, 4)), normalized(layers.Dense(5, "tanh")),
                                normalized(layers.BatchNormalization())])
    base.trainable = False
    model = tf.keras.Sequential([layers.Input((steps, 4)), base, normalized(layers.Dense(3)),
                                 normalized(layers.BatchNormalization()), layers.Flatten(), layers.Dense(2)])
    draw_weights(model, 0.4)
    model.set_weights([np.abs(w) + 0.2 if w.ndim == 1 else w for w in model.get_weights()])
    add_weights(f"{name}/before", model.get_weights())
    model.compile(legacy.SGD(0.05, momentum=0.9), "mean_squared_error")
    losses = []
    for step in range(STEPS):
        x, y = drawn(batch, steps, 4), drawn(batch, 2)
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        losses.append(model.train_on_batch(x, y))
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", model.get_weights())


class Block(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense, self.normalized = layers.Dense(units, "tanh"), layers.BatchNormalization(momentum=0.9)

    def call(self, x):
        return self.normalized(self.dense(x))


def frozen_in_layer(name="block", batch=8):
    """A normalization inside of a layer of one's own that is frozen from outside uses its moving statistics."""
    base = tf.keras.Sequential([layers.Input((4,)), Block(5)])
    base.trainable = False
    model = tf.keras.Sequential([layers.Input((4,)), base, Block(3), layers.Dense(2)])
    model.set_weights([np.abs(drawn(*w.shape)) + 0.4 if w.ndim == 1 else drawn(*w.shape) * 0.4
                       for w in model.get_weights()])
    add_weights(f"{name}/before", model.get_weights())
    model.compile(legacy.SGD(0.05, momentum=0.9), "mean_squared_error")
    losses = []
    for step in range(STEPS):
        x, y = drawn(batch, 4), drawn(batch, 2)
        file.add(f"{name}/x/{step}", x)
        file.add(f"{name}/y/{step}", y)
        losses.append(model.train_on_batch(x, y))
    file.add(f"{name}/losses", losses)
    add_weights(f"{name}/after", model.get_weights())


tf.keras.backend.set_floatx("float64")
learn_to_learn()
policy_gradient()
rates_of_layers()
saliency()
penalties()
tf.keras.backend.set_floatx("float32")
frozen_in_time()
tf.keras.backend.set_floatx("float64")
frozen_in_layer()
file.write()
