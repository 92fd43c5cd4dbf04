# SPDX-License-Identifier: BSD-3-Clause
"""depth_order.txt: in which order Keras executes the calls of functional models, and lists their layers.

Run: pip install "tensorflow-cpu==2.15.*" && python make_depth_order.py
"""

import random

from golden_file import GoldenFile
import tensorflow as tf

file = GoldenFile("depth_order.txt", "Functional graphs, and Keras's order of their calls. Per case, all integers:")
file.comment("layers: the layer of each call, calls in the order of their creation; layers are numbered by their")
file.comment("  first call.")
file.comment("input_counts: how many inputs each call has (0: a model input); inputs: the calls they come from,")
file.comment("  one after another.")
file.comment("outputs: the calls whose results are the model's outputs, in order.")
file.comment("depths: of each call, as model._nodes_by_depth has it (-1: not part of the model).")
file.comment("order: the calls by depth, deepest first, within a depth in Keras's own order, model inputs left out.")
file.comment("layer_order: the layers in the order of model.layers, model inputs included.")


class Graph:
    def __init__(self):
        tf.keras.backend.clear_session()
        self.layers, self.tensors, self.calls = [], [], []  # a call: (layer, [calls of the inputs])

    def add(self, layer, inputs, result):
        if all(layer is not each for each in self.layers):
            self.layers.append(layer)
        self.calls.append((next(i for i, each in enumerate(self.layers) if each is layer), list(inputs)))
        self.tensors.append(result)
        return len(self.calls) - 1

    def input(self):
        result = tf.keras.Input((2,))
        return self.add(result._keras_history.layer, [], result)

    def call(self, layer, *inputs):
        tensors = [self.tensors[i] for i in inputs]
        return self.add(layer, inputs, layer(tensors[0] if len(tensors) == 1 else tensors))

    def write(self, name, outputs):
        inputs = [i for i, (_, sources) in enumerate(self.calls) if not sources]
        model = tf.keras.Model([self.tensors[i] for i in inputs], [self.tensors[i] for i in outputs])

        node_of = {}
        for index, tensor in enumerate(self.tensors):
            history = tensor._keras_history
            node_of[id(history.layer._inbound_nodes[history.node_index])] = index
        depths, order = [-1] * len(self.calls), []
        for depth in sorted(model._nodes_by_depth, reverse=True):
            for node in model._nodes_by_depth[depth]:
                depths[node_of[id(node)]] = depth
                if not node.is_input:
                    order.append(node_of[id(node)])
        number = {id(layer): index for index, layer in enumerate(self.layers)}
        file.add(f"{name}/layers", [layer for layer, _ in self.calls])
        file.add(f"{name}/input_counts", [len(sources) for _, sources in self.calls])
        file.add(f"{name}/inputs", [source for _, sources in self.calls for source in sources])
        file.add(f"{name}/outputs", outputs)
        file.add(f"{name}/depths", depths)
        file.add(f"{name}/order", order)
        file.add(f"{name}/layer_order", [number[id(layer)] for layer in model.layers])
        created = sorted(order, key=lambda call: (-depths[call], call))
        note = "" if created == order else f"  (not {created}, the order of creation within a depth)"
        print(name, order, note)
        return created == order


def dense():
    return tf.keras.layers.Dense(2)


def add():
    return tf.keras.layers.Add()


graph = Graph()
x = graph.input()
a, b = graph.call(dense(), x), graph.call(dense(), x)
graph.write("branches", [graph.call(add(), a, b)])

graph = Graph()
x = graph.input()
a, b = graph.call(dense(), x), graph.call(dense(), x)
graph.write("branches_swapped", [graph.call(add(), b, a)])

graph = Graph()
x = graph.input()
for _ in range(3):
    x = graph.call(add(), x, graph.call(dense(), graph.call(dense(), x)))
graph.write("residual", [x])

graph = Graph()
x = graph.input()
for _ in range(3):
    x = graph.call(add(), graph.call(dense(), graph.call(dense(), x)), graph.call(dense(), x))
graph.write("residual_projected", [x])

graph = Graph()
x, shared = graph.input(), dense()
a = graph.call(shared, x)
graph.write("shared_chain", [graph.call(dense(), graph.call(shared, graph.call(shared, a)))])

graph = Graph()
x, y, shared = graph.input(), graph.input(), dense()
deep = graph.call(shared, graph.call(dense(), graph.call(dense(), x)))
shallow = graph.call(shared, y)
graph.write("shared_at_two_depths", [graph.call(add(), shallow, deep)])

graph = Graph()
x, y, shared = graph.input(), graph.input(), dense()
first = graph.call(shared, x)
late = graph.call(dense(), graph.call(dense(), graph.call(dense(), y)))
graph.write("shared_near_the_output", [graph.call(shared, late), graph.call(dense(), graph.call(add(), first, late))])

graph = Graph()
x = graph.input()
trunk = graph.call(dense(), x)
heads = [graph.call(dense(), trunk), graph.call(dense(), graph.call(dense(), trunk)), graph.call(dense(), trunk)]
graph.write("heads", heads)

graph = Graph()
x = graph.input()
trunk = graph.call(dense(), x)
heads = [graph.call(dense(), trunk), graph.call(dense(), graph.call(dense(), trunk)), graph.call(dense(), trunk)]
graph.write("heads_reversed", heads[::-1])

graph = Graph()
x = graph.input()
a = graph.call(dense(), x)
b = graph.call(dense(), a)
graph.write("output_inside", [b, a])

graph = Graph()
x = graph.input()
graph.write("same_input_twice", [graph.call(add(), x, x, graph.call(dense(), x))])

graph = Graph()
x, y = graph.input(), graph.input()
graph.call(dense(), y)  # not part of the model
graph.write("unused_call", [graph.call(dense(), x), graph.call(dense(), y)])

agree = 0
RANDOM = 30
for case in range(RANDOM):
    random.seed(case)
    graph = Graph()
    calls = [graph.input() for _ in range(random.choice((1, 1, 2, 3)))]
    shared = []
    consumed = set()
    for _ in range(random.randint(4, 14)):
        kind = random.random()
        recent = calls[-5:]
        if kind < 0.4 and len(recent) >= 2:
            inputs = random.sample(recent, random.randint(2, min(3, len(recent))))
            layer = add()
        else:
            inputs = [random.choice(recent)]
            if shared and random.random() < 0.35:
                layer = random.choice(shared)
            else:
                layer = dense()
                if random.random() < 0.5:
                    shared.append(layer)
        consumed.update(inputs)
        calls.append(graph.call(layer, *inputs))
    outputs = [call for call in calls if call not in consumed and graph.calls[call][1]]
    unread = [call for call in calls if call not in consumed and not graph.calls[call][1]]
    for call in unread:
        outputs.append(graph.call(dense(), call))
    if random.random() < 0.3:
        inner = [call for call in calls if call in consumed and graph.calls[call][1]]
        outputs += random.sample(inner, min(1, len(inner)))
    if random.random() < 0.5:
        random.shuffle(outputs)
    agree += graph.write(f"random_{case}", outputs)
print(f"{agree} of {RANDOM} random models are ordered by creation within each depth")
file.write()
