# SPDX-License-Identifier: BSD-3-Clause
"""initializers.txt: for statistical tests of the initializers.

Run: pip install "tensorflow-cpu==2.15.*" && python make_initializers.py
"""

import math

import numpy as np
from golden_file import GoldenFile
from keras.src.initializers.initializers import _compute_fans
import tensorflow as tf

initializers = tf.keras.initializers
file = GoldenFile("initializers.txt", "Initializers. fans/<shape>: fan_in, fan_out as Keras computes them.")
file.comment("<initializer>/<shape>/bounds: every value lies within [lower, upper] (inf: no bound);")
file.comment("<initializer>/<shape>/moments: mean and standard deviation of the distribution;")
file.comment("<initializer>/<shape>/sample: mean, standard deviation, smallest and largest value of one draw of")
file.comment("  real Keras;")
file.comment("<initializer>/<shape>/values: the values, where they are not random. <shape> is written 30x20.")
# A normal distribution cut at two standard deviations has this standard deviation; Keras divides by it.
CUT = 0.87962566103423978

SHAPES = ((300, 200), (64, 400), (5, 5, 8, 16), (100, 80))
for shape in SHAPES + ((7,), (1, 10), (3, 4), (2, 3, 4), (2, 3, 4, 5, 6)):
    file.add(f"fans/{'x'.join(map(str, shape))}", _compute_fans(shape))


def add(name, make, shapes, lower, upper, mean, deviation):
    for shape in shapes:
        key = f"{name}/{'x'.join(map(str, shape))}"
        values = make(seed=1234)(shape).numpy().astype(np.float64)
        low, high, spread = (value(shape) if callable(value) else value for value in (lower, upper, deviation))
        assert values.min() >= low - 1e-6 and values.max() <= high + 1e-6, key
        tolerance = 5 * spread / math.sqrt(values.size)
        assert abs(values.mean() - mean) < tolerance and abs(values.std() - spread) < tolerance, key
        file.add(f"{key}/bounds", [low, high])
        file.add(f"{key}/moments", [mean, spread])
        file.add(f"{key}/sample", [values.mean(), values.std(), values.min(), values.max()])


def fixed(name, initializer, *shapes):
    for shape in shapes:
        file.add(f"{name}/{'x'.join(map(str, shape))}/values", initializer(shape))


def variance(scale, mode):
    def of(shape):
        fan_in, fan_out = _compute_fans(shape)
        return scale / max(1.0, {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode])

    return of


def scaling(name, make, scale, mode, distribution):
    of = variance(scale, mode)
    if distribution == "uniform":
        limit = lambda shape: math.sqrt(3 * of(shape))  # noqa: E731
    elif distribution == "truncated_normal":
        limit = lambda shape: 2 * math.sqrt(of(shape)) / CUT  # noqa: E731
    else:
        limit = lambda shape: math.inf  # noqa: E731
    add(name, make, SHAPES, lambda shape: -limit(shape), limit, 0, lambda shape: math.sqrt(of(shape)))


scaling("glorot_uniform", initializers.GlorotUniform, 1, "fan_avg", "uniform")
scaling("glorot_normal", initializers.GlorotNormal, 1, "fan_avg", "truncated_normal")
scaling("he_uniform", initializers.HeUniform, 2, "fan_in", "uniform")
scaling("he_normal", initializers.HeNormal, 2, "fan_in", "truncated_normal")
scaling("lecun_uniform", initializers.LecunUniform, 1, "fan_in", "uniform")
scaling("lecun_normal", initializers.LecunNormal, 1, "fan_in", "truncated_normal")
file.comment("variance_scaling_<mode>_<distribution>: scale 3")
for mode in ("fan_in", "fan_out", "fan_avg"):
    for distribution in ("truncated_normal", "untruncated_normal", "uniform"):
        scaling(
            f"variance_scaling_{mode}_{distribution}",
            lambda seed, mode=mode, kind=distribution: initializers.VarianceScaling(3, mode, kind, seed),
            3,
            mode,
            distribution,
        )
SHAPE = SHAPES[:1]
add("random_normal", initializers.RandomNormal, SHAPE, -math.inf, math.inf, 0, 0.05)
file.comment("random_normal_options: mean 1, stddev 2; random_uniform_options: minval -1, maxval 3;")
file.comment("  truncated_normal_options:")
file.comment("  mean 1, stddev 2 (of the normal distribution before it is cut at two standard deviations)")
add("random_normal_options", lambda seed: initializers.RandomNormal(1, 2, seed), SHAPE, -math.inf, math.inf, 1, 2)
add("random_uniform", initializers.RandomUniform, SHAPE, -0.05, 0.05, 0, 0.1 / math.sqrt(12))
add("random_uniform_options", lambda seed: initializers.RandomUniform(-1, 3, seed), SHAPE, -1, 3, 1, 4 / math.sqrt(12))
add("truncated_normal", initializers.TruncatedNormal, SHAPE, -0.1, 0.1, 0, 0.05 * CUT)
add("truncated_normal_options", lambda seed: initializers.TruncatedNormal(1, 2, seed), SHAPE, -3, 5, 1, 2 * CUT)

fixed("zeros", initializers.Zeros(), (3,), (2, 3))
fixed("ones", initializers.Ones(), (3,), (2, 3))
file.comment("constant: value 0.25; identity: gain 1; identity_options: gain 0.5")
fixed("constant", initializers.Constant(0.25), (3,), (2, 3))
fixed("identity", initializers.Identity(), (3, 3), (2, 4), (4, 2))
fixed("identity_options", initializers.Identity(0.5), (3, 3))

file.comment("orthogonal/<shape>/product: the shape is flattened to rows (all but the last axis) x columns; the")
file.comment("  product of the")
file.comment("  smaller side's vectors with each other, for gain 1 and, orthogonal_options, gain 2: gain^2 on the")
file.comment("  diagonal.")
for name, gain in (("orthogonal", 1.0), ("orthogonal_options", 2.0)):
    for shape in ((4, 4), (6, 3), (3, 6), (2, 2, 3)):
        values = initializers.Orthogonal(gain, seed=1)(shape).numpy().reshape(-1, shape[-1])
        product = values @ values.T if values.shape[0] < values.shape[1] else values.T @ values
        file.add(f"{name}/{'x'.join(map(str, shape))}/product", np.round(product, 5) + 0.0)
file.write()
