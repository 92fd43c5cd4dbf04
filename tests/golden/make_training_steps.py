# SPDX-License-Identifier: BSD-3-Clause
"""training_steps.txt: ten steps of a GAN with gradient penalty, written with two GradientTapes and two optimizers. In
double precision, as float32's own rounding comes to 1e-5 after 30 steps of the critic.

Run: pip install "tensorflow-cpu==2.15.*" && python make_training_steps.py
"""

from golden_file import GoldenFile
import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
STEPS, BATCH, CRITIC_STEPS = 10, 16, 3
numbers = np.random.default_rng(7)
file = GoldenFile("training_steps.txt", "A GAN with gradient penalty: losses of ten steps, and the weights after them")

layers = tf.keras.layers
generator = tf.keras.Sequential([layers.Input((3,)), layers.Dense(8, "relu"), layers.Dense(4)])
critic = tf.keras.Sequential([layers.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(1)])
for name, model in (("generator", generator), ("critic", critic)):
    model.set_weights([numbers.normal(0, 0.5, w.shape).astype(np.float32) for w in model.get_weights()])
    for index, weight in enumerate(model.get_weights()):
        file.add(f"{name}/before/{index}", weight)

optimizers = {
    "critic": tf.keras.optimizers.Adam(0.003, beta_1=0.5),
    "generator": tf.keras.optimizers.SGD(0.05, momentum=0.9),
}


def numbers_of(*shape):
    return numbers.normal(0, 1, shape).astype(np.float32)


def move(name, model, tape, loss):
    optimizers[name].apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


losses = []
for step in range(STEPS):
    real, noise = numbers_of(BATCH, 4) * 0.5 + 1, numbers_of(BATCH, 3)
    mix = numbers.uniform(0, 1, (BATCH, 1)).astype(np.float32)
    for name, value in (("real", real), ("noise", noise), ("mix", mix)):
        file.add(f"{name}/{step}", value)
    of_critic = []
    for _ in range(CRITIC_STEPS):
        with tf.GradientTape() as tape:
            fake = generator(noise)
            mixed = real * mix + fake * (1 - mix)
            with tf.GradientTape() as inner:
                inner.watch(mixed)
                score = critic(mixed)
            slope = inner.gradient(score, mixed)
            norm = tf.sqrt(tf.reduce_sum(slope**2, -1) + 1e-12)
            loss = tf.reduce_mean(critic(fake) - critic(real)) + 10 * tf.reduce_mean((norm - 1) ** 2)
        move("critic", critic, tape, loss)
        of_critic.append(loss.numpy())
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(generator(noise)))
    move("generator", generator, tape, loss)
    losses.append([np.mean(of_critic), loss.numpy()])
file.add("losses", losses)
for name, model in (("generator", generator), ("critic", critic)):
    for index, weight in enumerate(model.get_weights()):
        file.add(f"{name}/after/{index}", weight)
file.write()
