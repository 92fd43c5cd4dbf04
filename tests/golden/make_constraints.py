# SPDX-License-Identifier: BSD-3-Clause
"""constraints.txt: what the constraints make of weights.

Run: pip install "tensorflow-cpu==2.15.*" && python make_constraints.py
"""

from golden_file import GoldenFile, Numbers
import tensorflow as tf

constraints = tf.keras.constraints
cases = {
    "non_neg": constraints.NonNeg(),
    "max_norm": constraints.MaxNorm(),
    "max_norm_options": constraints.MaxNorm(max_value=1.25, axis=1),
    "unit_norm": constraints.UnitNorm(),
    "unit_norm_filters": constraints.UnitNorm(axis=[0, 1, 2]),
    "min_max_norm": constraints.MinMaxNorm(),
    "min_max_norm_options": constraints.MinMaxNorm(min_value=2.4, max_value=2.5, rate=0.25, axis=0),
}

file = GoldenFile("constraints.txt", "Constraints. `matrix`, `filters`; case: what becomes of one of them.")
numbers = Numbers(11)
matrix = numbers.normal(5, 3)
matrix[:, 1] *= 0.1
matrix[0, 2] = 0
filters = numbers.normal(2, 2, 3, 4)
file.add("matrix", matrix)
file.add("filters", filters)
for name, constraint in cases.items():
    file.add(name, constraint(tf.constant(filters if "filters" in name else matrix)).numpy())
for size in (1, 2, 3, 4, 5):
    weights = numbers.normal(size, size, 2, 2)
    file.add(f"radial_{size}_weights", weights)
    file.add(f"radial_{size}", constraints.RadialConstraint()(tf.constant(weights)).numpy() if size > 1 else weights)
file.write()
