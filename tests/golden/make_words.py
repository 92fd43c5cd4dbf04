# SPDX-License-Identifier: BSD-3-Clause
"""words_*.txt: the layers of the tables in tests/words, a file for each family.

Run: pip install "tensorflow-cpu==2.15.*" && python make_words.py [family...]

Keras 2.15 has some arguments elsewhere than 2.6: `causal` of the attentions is one of their calls.
"""

import sys

from word_cases import WordCases
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
layers = tf.keras.layers


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


def regularization(cases):
    word = cases.word
    word("gaussian_noise", [(2, 3)], lambda: layers.GaussianNoise(0.5))
    word("gaussian_dropout", [(2, 3)], lambda: layers.GaussianDropout(0.25))
    word("alpha_dropout", [(2, 3)], lambda: layers.AlphaDropout(0.25))
    word("spatial_dropout3d", [(2, 1, 2, 3)], lambda: layers.SpatialDropout3D(0.5))
    word("unit_normalization", [(2, 3)], layers.UnitNormalization)
    word("unit_normalization_axes", [(2, 3, 2)], lambda: layers.UnitNormalization(axis=[1, 2]))
    word("rescaling", [(2, 3)], lambda: layers.Rescaling(0.5, offset=-1))


FAMILIES = (merging, regularization)
for seed, family in enumerate(FAMILIES):
    if len(sys.argv) > 1 and family.__name__ not in sys.argv[1:]:
        continue
    cases = WordCases(f"words_{family.__name__}.txt", f"Words of {family.__name__}", 40 + seed)
    family(cases)
    cases.write()
