# SPDX-License-Identifier: BSD-3-Clause
"""summary_*.txt and pipeline_summary_*.txt: the texts of summary() and print_pipeline_stage_assignment_summary().

The models are real Keras models, and names, shapes, parameter counts, connections and order are taken from them. The
layout is written here, after Keras 2.6 (2.15 indents rows and prints sizes in bytes) and after Graphcore's Keras, which
tensorflow-cpu does not have.

Run: pip install "tensorflow-cpu==2.15.*" && python make_summaries.py
"""

from golden_file import FOLDER
import tensorflow as tf

layers = tf.keras.layers


def row(cells, ends):
    """One line of a table: every cell is cut, and filled up, at its column's end; the last character of all columns
    but the last one is a blank."""
    text = ""
    for cell, end in zip(cells, ends):
        if text:
            text = text[:-1] + " "
        text = (text + str(cell))[:end].ljust(end)
    return text


def is_chain(model):
    """Whether Keras prints the model without its connections."""
    if isinstance(model, tf.keras.Sequential) or not model._is_graph_network:
        return True
    nodes = [node for depth in model._nodes_by_depth.values() for node in depth]
    at_every_depth_one = all(len(depth) == 1 for depth in model._nodes_by_depth.values())
    one_input_each = all(len(tf.nest.flatten(node.keras_inputs)) <= 1 for node in nodes)
    not_shared = all(sum(node in nodes for node in layer._inbound_nodes) <= 1 for layer in model.layers)
    return at_every_depth_one and one_input_each and not_shared


def title(layer):
    return f"{layer.name} ({type(layer).__name__})"


def shape_of(layer):
    try:
        return layer.output_shape
    except AttributeError:  # a layer that has other shapes in other calls, or was never called on its own
        return "multiple"


def count(weights):
    return sum(int(tf.size(weight)) for weight in {id(weight): weight for weight in weights}.values())


def summary(model, line_length=None):
    chain = is_chain(model)
    line_length = line_length or (65 if chain else 98)
    ends = [int(line_length * part) for part in ((0.45, 0.85, 1.0) if chain else (0.33, 0.55, 0.67, 1.0))]
    header = ["Layer (type)", "Output Shape", "Param #"] + ([] if chain else ["Connected to"])
    lines = [f'Model: "{model.name}"', "_" * line_length, row(header, ends), "=" * line_length]
    for index, layer in enumerate(model.layers):
        cells = [title(layer), shape_of(layer), layer.count_params() if layer.built else "0 (unused)"]
        if chain:
            lines.append(row(cells, ends))
        else:
            relevant = [node for depth in model._nodes_by_depth.values() for node in depth]
            connections = [
                f"{inbound.name}[{node_index}][{tensor_index}]"
                for node in layer._inbound_nodes
                if node in relevant
                for inbound, node_index, tensor_index, _ in node.iterate_inbound()
            ]
            lines.append(row(cells + connections[:1] + [""] * (not connections), ends))
            lines += [row(["", "", "", connection], ends) for connection in connections[1:]]
        lines.append(("=" if index + 1 == len(model.layers) else "_") * line_length)
    trainable, fixed = count(model.trainable_weights), count(model.non_trainable_weights)
    lines.append(f"Total params: {trainable + fixed:,}")
    lines.append(f"Trainable params: {trainable:,}")
    lines.append(f"Non-trainable params: {fixed:,}")
    lines.append("_" * line_length)
    return lines


def calls(model):
    """Keras's order of execution: deepest first, and Keras's own order within a depth."""
    return [
        node
        for depth in sorted(model._nodes_by_depth, reverse=True)
        for node in model._nodes_by_depth[depth]
        if not node.is_input
    ]


def pipeline_summary(model, stages, line_length=None):
    """`stages`: one per layer (Sequential) or call; a list of them for a nested model."""
    sequential = isinstance(model, tf.keras.Sequential)
    line_length = line_length or (60 if sequential else 89)
    ends = [int(line_length * part) for part in ((0.5, 1.0) if sequential else (0.4, 0.8, 1.0))]
    header = ["Layer (type)", "Pipeline Stage"]
    if not sequential:
        header = ["Layer (type) (node index)", "Input Layers", "Pipeline Stage"]
    lines = [f'Model: "{model.name}"', "_" * line_length, row(header, ends), "=" * line_length]

    def is_model(entry):
        return isinstance(entry if sequential else entry.layer, tf.keras.Model)

    def add(entries, stages):
        assert len(entries) == len(stages)
        for index, (entry, stage) in enumerate(zip(entries, stages)):
            if is_model(entry):
                nested = entry if sequential else entry.layer
                lines.append(f'Nested Model: "{nested.name}"')
                lines.append("-" * line_length)
                add(nested.layers if sequential else calls(nested), stage)
                continue
            if sequential:
                lines.append(row([title(entry), stage], ends))
            else:
                inputs = [parent.layer.name for parent in entry.parent_nodes]
                node_index = entry.layer._inbound_nodes.index(entry)
                lines.append(row([f"{title(entry.layer)} ({node_index})", inputs[0], stage], ends))
                lines.extend(row(["", name, ""], ends) for name in inputs[1:])
            last = index + 1 == len(entries) or is_model(entries[index + 1])
            lines.append(("=" if last else "_") * line_length)

    add(model.layers if sequential else calls(model), stages)
    return lines


def write(name, lines):
    (FOLDER / name).write_text("".join(f"{line}\n" for line in lines))
    print(f"--- {name}", *lines, sep="\n")


def fresh(make):
    tf.keras.backend.clear_session()  # default names start again: dense, dense_1, ...
    return make()


def mlp():
    return tf.keras.Sequential(
        [
            tf.keras.Input((28, 28)),
            layers.Flatten(),
            layers.Dense(256, "relu"),
            layers.Dense(128, "relu"),
            layers.Dense(10),
        ]
    )


def long_names():
    return tf.keras.Sequential(
        [
            tf.keras.Input((6, 4)),
            layers.Dense(8, use_bias=False, name="a_layer_whose_name_does_not_fit_its_column"),
            layers.Activation("relu"),
            layers.Dropout(0.5),
            layers.Reshape((2, 3, 8)),
            layers.Flatten(),
            layers.Dense(1234567, name="wide"),
        ],
        name="long_names",
    )


def branches():
    one, two = tf.keras.Input((32,), name="input_a"), tf.keras.Input((32,), name="input_b")
    shared = layers.Dense(16, "relu", name="shared")
    a, b = shared(one), shared(two)
    joined = layers.Concatenate()([a, b])
    left = layers.Dense(16)(joined)
    total = layers.Add()([left, a, b])
    return tf.keras.Model([one, two], [layers.Dense(10)(total), layers.Dense(1)(joined)])


def chain():
    x = tf.keras.Input((28, 28))
    y = layers.Dense(64, "relu")(layers.Flatten()(x))
    y = layers.Dropout(0.2)(y)
    return tf.keras.Model(x, layers.Dense(10)(y))


def several_shapes():
    """A layer without weights that is called on two shapes."""
    one, two = tf.keras.Input((4, 3), name="input_a"), tf.keras.Input((5, 2), name="input_b")
    flatten = layers.Flatten()
    return tf.keras.Model([one, two], layers.Concatenate()([flatten(one), flatten(two)]))


def nested():
    inside = tf.keras.Input((16,), name="block_input")
    block = tf.keras.Model(
        inside,
        layers.Add(name="block_add")([inside, layers.Dense(16, "relu", name="block_dense")(inside)]),
        name="block",
    )
    x = tf.keras.Input((32,), name="input_a")
    first = block(layers.Dense(16)(x))
    second = block(layers.Dense(16)(first))
    return tf.keras.Model(x, layers.Dense(10)(layers.Add()([first, second])), name="nested")


def nested_sequential():
    block = tf.keras.Sequential(
        [tf.keras.Input((16,)), layers.Dense(16, "relu", name="block_1"), layers.Dense(16, name="block_2")],
        name="block",
    )
    return tf.keras.Sequential([tf.keras.Input((8,)), layers.Dense(16), block, layers.Dense(4)], name="outer")


class MyModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense_layer_1 = layers.Dense(8)
        self.dense_layer_2 = layers.Dense(8)
        self.concat = layers.Concatenate()
        self.dense_layer_3 = layers.Dense(1)

    def call(self, x):
        return self.dense_layer_3(self.concat([self.dense_layer_1(x), self.dense_layer_2(x)]))


def subclass():
    model = MyModel()
    model.build((None, 6))
    return model


for name, make in (
    ("sequential", mlp),
    ("long_names", long_names),
    ("functional", branches),
    ("functional_chain", chain),
    ("several_shapes", several_shapes),
    ("nested", nested),
    ("nested_sequential", nested_sequential),
    ("subclass", subclass),
):
    write(f"summary_{name}.txt", summary(fresh(make)))
write("summary_sequential_80.txt", summary(fresh(mlp), 80))
write("summary_functional_120.txt", summary(fresh(branches), 120))

write("pipeline_summary_sequential.txt", pipeline_summary(fresh(mlp), [0, 0, 1, 1]))
write("pipeline_summary_sequential_unassigned_65.txt", pipeline_summary(fresh(mlp), [None] * 4, 65))
write("pipeline_summary_long_names.txt", pipeline_summary(fresh(long_names), [0, 0, 1, 1, 2, 3]))
write("pipeline_summary_nested_sequential.txt", pipeline_summary(fresh(nested_sequential), [0, [0, 1], 1]))
write("pipeline_summary_functional.txt", pipeline_summary(fresh(branches), [0, 0, 0, 1, 1, 1, 2]))
write("pipeline_summary_functional_85.txt", pipeline_summary(fresh(branches), [0, 0, 0, 1, 1, 1, 2], 85))
write("pipeline_summary_functional_unassigned.txt", pipeline_summary(fresh(branches), [None] * 7))
write("pipeline_summary_nested.txt", pipeline_summary(fresh(nested), [0, [0, 0], 1, [1, 2], 2, 3]))
