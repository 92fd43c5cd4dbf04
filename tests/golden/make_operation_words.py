# SPDX-License-Identifier: BSD-3-Clause
"""operation_words.txt: what words of `ops` compute, and their gradients, by TensorFlow, NumPy and ONNX Runtime.

Run: pip install tensorflow onnx onnxruntime && python make_operation_words.py
"""

from layer_cases import LayerCases
import numpy as np
import onnx
from onnx import helper
import onnxruntime
import tensorflow as tf

cases = LayerCases("operation_words.txt", "Words of ops: case/input_<i>, case/output", 41)
numbers = cases.numbers
x = numbers.normal(3, 5, 4)
wide = numbers.normal(3, 11, 2)


def add(name, inputs, call):
    """`call` maps tensors to the output by TensorFlow, which has its gradients."""
    cases.add(name, inputs, lambda values: tf.cast(call(*values), tf.float32))


def add_values(name, inputs, output):
    """Values that have no gradient, or one that TensorFlow lacks."""
    for index, value in enumerate(inputs):
        cases.file.add(f"{name}/input_{index}", value)
    cases.file.add(f"{name}/output", output)


def run_onnx(operator, inputs, opset=18, initializers=(), **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape) for name, value in zip(names, inputs)]
    constants = [onnx.numpy_helper.from_array(value, f"c{i}") for i, value in enumerate(initializers) if value is not None]
    more = [f"c{i}" if value is not None else "" for i, value in enumerate(initializers)]
    node = helper.make_node(operator, names + more, ["y"], **attributes)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", given, [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))[0]


# Functions of a number.
small = numbers.uniform(3, 7, low=-0.95, high=0.95)
for name in ("tan", "asin", "acos", "atan", "atanh"):
    add(name, [small], getattr(tf.math, name))
for name in ("sinh", "cosh", "asinh", "expm1"):
    add(name, [numbers.normal(3, 7, scale=2)], getattr(tf.math, name))
add("acosh", [numbers.uniform(3, 7, low=1.05, high=9)], tf.math.acosh)
add("log1p", [numbers.uniform(3, 7, low=-0.9, high=9)], tf.math.log1p)
halves = np.array([[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.7], [-3.2, -0.2, 0, 0.2, 1e7, -1e9, 7]], np.float32)
add_values("round", [halves], np.rint(halves))
add_values("ceil", [halves], np.ceil(halves))
add_values("trunc", [halves], np.trunc(halves))
a, b = numbers.normal(3, 7, scale=4), np.array([1.5, -1.5, 2, -2, 0.7, 3, -3], np.float32)
add("mod", [a, b], tf.math.floormod)
add_values("fmod", [a, b], np.fmod(a, b))
special = np.array([[1, np.nan, np.inf, -np.inf, 0, -3, 2]], np.float32)
add_values("isnan", [special], np.isnan(special))
add_values("isinf", [special], np.isinf(special))
add_values("isfinite", [special], np.isfinite(special))
truth, other = np.array([[0, 0, 1, 1, 2, 0]], np.float32), np.array([[0, 1, 0, 1, -3, 5]], np.float32)
for name in ("logical_and", "logical_or", "logical_xor"):
    add_values(name, [truth, other], getattr(np, name)(truth, other))
add_values("logical_not", [truth], np.logical_not(truth))
add_values("not_equal", [truth, other], truth != other)
low, high = numbers.uniform(7, low=-1, high=-0.2), numbers.uniform(7, low=0.2, high=1)
add("clip", [a, low, high], lambda v, lower, upper: tf.minimum(tf.maximum(v, lower), upper))
points = numbers.normal(3, 7, scale=2)
for name, operator, attributes in (
    ("hard_sigmoid", "HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("hard_swish", "HardSwish", {}),
    ("elu", "Elu", {"alpha": 1.5}),
    ("celu", "Celu", {"alpha": 1.5}),
    ("selu", "Selu", {"alpha": 1.5, "gamma": 0.9}),
    ("mish", "Mish", {}),
    ("thresholded_relu", "ThresholdedRelu", {"alpha": 0.7}),
    ("shrink", "Shrink", {"lambd": 0.6, "bias": 0.2}),
):
    add_values(name, [points], run_onnx(operator, [points], **attributes))

# Reductions and running sums. TensorFlow has 0 for the gradient of a running product where a factor is 0.
zeros = x.copy()
zeros[0, 1, 2] = zeros[1, 0, 0] = zeros[1, 3, 0] = 0
add("prod", [zeros], lambda v: tf.reduce_prod(v, 1, keepdims=True))
add("prod_of_axes", [x], lambda v: tf.reduce_prod(v, [1, 2], keepdims=True))
add("logsumexp", [x * 30], lambda v: tf.reduce_logsumexp(v, [1, 2], keepdims=True))
add("l1_norm", [x], lambda v: tf.reduce_sum(tf.abs(v), 1, keepdims=True))
add("l2_norm", [x], lambda v: tf.norm(v, axis=-1, keepdims=True))
ties = np.round(x)
for name, position in (("argmax", np.argmax), ("argmin", np.argmin)):
    add_values(name, [ties], np.expand_dims(position(ties, 1), 1))
    add_values(f"{name}_last", [ties], np.expand_dims(4 - position(ties[:, ::-1], 1), 1))
for variant, options in (("", {}), ("_exclusive", {"exclusive": True}), ("_reverse", {"reverse": True}), ("_both", {"exclusive": True, "reverse": True})):
    add("cumsum" + variant, [wide], lambda v: tf.cumsum(v, 1, **options))
    add("cumprod" + variant, [np.where(x == 0, np.float32(0.5), x)], lambda v: tf.math.cumprod(v, 1, **options))

add("local_response_normalization", [x.reshape(3, 5, 1, 4)],
    lambda v: tf.nn.local_response_normalization(v, 1, 1.5, 0.2, 0.7))
# Movement.
add("moveaxis", [x], lambda v: tf.transpose(v, [0, 2, 1]))
add("tile", [x], lambda v: tf.tile(v, [1, 2, 3]))
add("roll", [x], lambda v: tf.roll(v, -2, 1))
add("slice_backwards", [x], lambda v: v[:, 4:0:-2])
add("flip_of_part", [x], lambda v: v[:, 3::-1])
add("pad_value", [x], lambda v: tf.pad(v, [[0, 0], [2, 1], [0, 0]], constant_values=1.5))
add("pad_reflect", [x], lambda v: tf.pad(v, [[0, 0], [3, 4], [0, 0]], "REFLECT"))
add("pad_symmetric", [x], lambda v: tf.pad(v, [[0, 0], [3, 5], [0, 0]], "SYMMETRIC"))
add("pad_edge", [x], lambda v: tf.gather(v, np.clip(np.arange(-3, 7), 0, 4), axis=1))
add("pad_wrap", [x], lambda v: tf.gather(v, np.arange(-7, 8) % 5, axis=1))
add("tril", [x], lambda v: tf.linalg.band_part(v, -1, 1))
add("triu", [x], lambda v: tf.linalg.band_part(v, 2, -1))
image = numbers.normal(2, 4, 6, 3)
add("space_to_depth", [image], lambda v: tf.nn.space_to_depth(v, 2))
deep = numbers.normal(2, 2, 3, 8)
add("depth_to_space", [deep], lambda v: tf.nn.depth_to_space(v, 2))
crd = run_onnx("DepthToSpace", [np.ascontiguousarray(deep.transpose(0, 3, 1, 2))], blocksize=2, mode="CRD")
add_values("depth_to_space_channels_first", [deep], crd.transpose(0, 2, 3, 1))
add_values("space_to_depth_channels_first", [crd.transpose(0, 2, 3, 1)], deep)
add("stack", [x, x + 1], lambda v, w: tf.stack([v, w], 2))
add("split", [x], lambda v: (lambda p, q: p[:, :2] * q)(*tf.split(v, [3, 2], 1)))

# Indices.
add("take_constant", [x], lambda v: tf.gather(v, [4, 4, 4, 0, 2, 1, 0, 1, 2, 3, -1 + 5], axis=1))
add("take_repeated", [x], lambda v: tf.gather(v, [0, 0, 3, 3, 1, 1], axis=1))
chosen = np.array([[3, 0], [2, 2]], np.float32)
add("take", [x, chosen], lambda v, i: tf.gather(v, tf.cast(i, tf.int32), axis=2))
along = np.array([[[4, 0, 1, 1], [0, 0, 2, 3]]] * 3, np.float32)
along[1] = (along[1] + 2) % 5


def take_along(values, indices):
    moved, at = tf.transpose(values, [0, 2, 1]), tf.cast(tf.transpose(indices, [0, 2, 1]), tf.int32)
    return tf.transpose(tf.gather(moved, at, batch_dims=2), [0, 2, 1])


add("take_along_axis", [x, along], take_along)
negative = along - 5 * (along > 2)
add_values("take_along_axis_negative", [x, negative], np.take_along_axis(x, negative.astype(int), 1))
unique = np.array([[[4, 0, 1, 1], [0, 3, 2, 3]]] * 3, np.float32)
put, added = x.copy(), x.copy()
values = numbers.normal(3, 2, 4)
np.put_along_axis(put, unique.astype(int), values, 1)
add_values("put_along_axis", [x, unique, values], put)
for place in np.ndindex(*along.shape):
    added[place[0], int(along[place]), place[2]] += values[place]
add_values("put_along_axis_added", [x, along, values], added)
places = np.array([[[0, 4], [2, 0]], [[1, 1], [2, 3]]], np.float32)
add("gather_nd", [x, places], lambda v, i: tf.gather_nd(v, tf.cast(i, tf.int32)))
of_samples = np.array([[[3], [0]], [[4], [4]], [[1], [2]]], np.float32)
add("gather_nd_of_samples", [x, of_samples], lambda v, i: tf.gather_nd(v, tf.cast(i, tf.int32), batch_dims=1))
rows = numbers.normal(2, 2, 4)
add("scatter_nd", [x, places, rows], lambda v, i, w: tf.tensor_scatter_nd_update(v, tf.cast(i, tf.int32), w))
again = places.copy()
again[1, 0] = places[0, 0]
add("scatter_nd_added", [x, again, rows], lambda v, i, w: tf.tensor_scatter_nd_add(v, tf.cast(i, tf.int32), w))
classes = np.array([[0, 2, 3], [1, 1, 0]], np.float32)
add_values("one_hot", [classes], tf.one_hot(classes.astype(int), 4))
add_values("one_hot_axis", [classes], tf.one_hot(classes.astype(int), 4, axis=1))

# Order.
add("top_k", [x], lambda v: tf.math.top_k(v, 3).values)
add_values("top_k_indices", [ties], tf.cast(tf.math.top_k(ties, 3).indices, tf.float32))
add_values("top_k_smallest", [x], np.sort(x, 1)[:, :2])
add("sort", [x], lambda v: tf.sort(v, 1))
add("sort_falling", [x], lambda v: tf.sort(v, 2, "DESCENDING"))
add_values("argsort", [ties], np.argsort(ties, 1, kind="stable"))
add_values("argsort_first_axis", [ties], np.argsort(ties, 0, kind="stable"))

# Sums of products.
for name, formula, shapes in (
    ("einsum_batch", "bij,bjk->bik", ((3, 4, 5), (3, 5, 2))),
    ("einsum_heads", "bqhd,bkhd->bhqk", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("einsum_outer", "bi,bj->bij", ((3, 4), (3, 5))),
    ("einsum_inner", "bij,bij->b", ((3, 4, 5), (3, 4, 5))),
    ("einsum_summed", "bijk,jl->bl", ((3, 2, 4, 3), (4, 5))),
    ("einsum_one", "bij->ji", ((3, 4, 5),)),
):
    add(name, [numbers.normal(*shape) for shape in shapes], lambda *v: tf.einsum(formula, *v))

# Sizes.
for name, length, mode, places in (
    ("resize_linear_twice", 10, "linear", "half_pixel"),
    ("resize_linear_thrice", 15, "linear", "half_pixel"),
    ("resize_linear_up", 7, "linear", "half_pixel"),
    ("resize_linear_down", 3, "linear", "half_pixel"),
    ("resize_linear_corners", 8, "linear", "align_corners"),
    ("resize_linear_asymmetric", 10, "linear", "asymmetric"),
    ("resize_nearest_up", 8, "nearest", "half_pixel"),
    ("resize_nearest_twice", 10, "nearest", "half_pixel"),
    ("resize_nearest_down", 2, "nearest", "half_pixel"),
):
    rows = np.ascontiguousarray(x.transpose(0, 2, 1))
    resized = run_onnx("Resize", [rows], initializers=(None, None, np.array([3, 4, length], np.int64)), mode=mode,
                       coordinate_transformation_mode=places, nearest_mode="round_prefer_floor")
    add_values(name, [x], resized.transpose(0, 2, 1))
floor = run_onnx("Resize", [rows], initializers=(None, None, np.array([3, 4, 15], np.int64)), mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")
add_values("resize_nearest_earlier", [x], floor.transpose(0, 2, 1))
add_values("resize_linear_last_axis", [rows], run_onnx(
    "Resize", [rows], initializers=(None, None, np.array([3, 4, 7], np.int64)), mode="linear"))
cases.write()
