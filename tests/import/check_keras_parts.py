# SPDX-License-Identifier: BSD-3-Clause
"""Imports models of Keras whose parts are no plain layers (keras_parts.tar.xz, made by tests/golden/make_keras_parts.py):
cells in loops, convolutional LSTMs, states that pass from layer to layer, masks given in calls, operations on tensors. What
is written is compiled as one program, and predictions are compared with the recorded ones. Then come files that are wrong.

    python3 tests/import/check_keras_parts.py <the program stagecraft> <folder> <C++ compiler> [--thorough]

Two of the models are compiled, all of them with --thorough. Models of Keras 3 that have the source of Keras 2's must have
its weights, too."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

from program import check, end, run

HERE = pathlib.Path(__file__).parent
FOLDER, COMPILER = pathlib.Path(sys.argv[2]), sys.argv[3]
THOROUGH = "--thorough" in sys.argv[4:]
COMPILED = "mixed", "masks_3", "scales"
# What the source of each must have: layers where the file has layers.
SOURCES = {
    "cells": ["rnn{stacked_rnn_cells{lstm_cell{4}, gru_cell{3}, lstm_cell{4}}, {.return_sequences = true}}", "simple_rnn_cell{4, {.activation = sc::relu}}", ".return_state = true"],
    "conv_lstm": ["conv_lstm1d{3, 3, {.strides = 2", "conv_lstm2d{3, 3, {", "conv_lstm3d{2, 2"],
    "states": ["auto [", 'lstm{5, {.return_sequences = true}}.named("decoder")', "bidirectional{gru{3, {.return_state = true}}}"],
    "elementwise": ["sc::layer<", "where("],
    "movement": ["sc::layer<", "ops.slice("],
    "mixed": ["rescaling{", "re_lu{", "embedding{10, 4}", "multiply{}"],
    "masks": [".call_masked(ops, "],
    "scales": ["return x * gamma;", ".initializer = sc::initializers::constant{1e-6F}", "return x + y * 0.17F;", "return x * sc::minimum(sc::maximum(x / 6.0F + 0.5F, 0.0F), 1.0F);", "return sc::minimum(sc::maximum(x / 6.0F"],
}
PROGRAM = """#include <stagecraft/stagecraft.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/weights.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace sc = stagecraft;
inline constexpr auto run = sc::inference{.batch_size = 3};

template <std::size_t Rank>
xt::xtensor<float, Rank> recorded(sc::tensor_file const& file, std::string const& name) {
  auto const* const found = file.find(name);
  if (found == nullptr || found->shape.size() != Rank) throw sc::file_error("E5066", "there is no '" + name + "'");
  std::array<std::size_t, Rank> shape{};
  for (std::size_t i = 0; i < Rank; ++i) shape[i] = static_cast<std::size_t>(found->shape[i]);
  auto tensor = xt::xtensor<float, Rank>::from_shape(shape);
  auto const values = sc::io::to_floats(*found);
  std::copy(values.begin(), values.end(), tensor.begin());
  return tensor;
}

int wrong = 0;
void compare(char const* name, auto const& found, auto const& expected) {
  double off = 0, largest = 1e-30;
  auto other = expected.begin();
  for (float const value : found) {
    float const right = *other++;
    if (!std::isfinite(value)) off = INFINITY;
    largest = std::fmax(largest, std::fabs(right));
    off = std::fmax(off, std::fabs(value - right));
  }
  std::printf("%s: differs by %.1e of its largest value\\n", name, off / largest);
  wrong += !(off / largest < 2e-6);
}
"""


def numbered(name, letter):
    found = [each for each in FOLDER.glob(f"{name}_{letter}*.npy") if re.fullmatch(rf"{name}_{letter}\d+", each.stem)]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def rank_of(path):
    return len(re.search(rb"'shape': \(([^)]*)\)", path.read_bytes()[:200])[1].replace(b" ", b"").strip(b",").split(b","))


def compiled(names):
    text, parts = PROGRAM, []
    for name in names:
        text += f'#include "{name}.hpp"\n'
        xs, ys = numbered(name, "x"), numbered(name, "y")
        given = [f'recorded<{rank_of(x)}>(values, "inputs:{i}")' for i, x in enumerate(xs)]
        outputs = [f"y{i}" for i in range(len(ys))]
        part = f'  {{\n    sc::predictor<models::{name}, run> net;\n    net.load_weights("{name}.safetensors");\n'
        part += f'    auto const values = sc::read_safetensors("{name}_test.safetensors");\n'
        part += f"    auto const {outputs[0] if len(ys) == 1 else '[' + ', '.join(outputs) + ']'} = net.predict({given[0] if len(xs) == 1 else 'sc::inputs(' + ', '.join(given) + ')'});\n"
        for i, y in enumerate(ys):
            part += f'    compare("{name}, output {i}", y{i}, recorded<{rank_of(y)}>(values, "outputs:{i}"));\n'
        parts.append(part + "  }\n")
    made = FOLDER / "made"
    (made / "all.cpp").write_text(text + "\nint main() {\n" + "".join(parts) + "  return wrong == 0 ? 0 : 1;\n}\n")
    done = subprocess.run([COMPILER, "-std=c++20", "-O0", "-march=native", "-w", "-I", HERE.parents[1] / "include", "all.cpp", "-o", "all", "-pthread", "-lzip", "-lz"], capture_output=True, text=True, cwd=made)
    check(done.returncode == 0, done.stderr[:3000])
    if done.returncode == 0:
        done = subprocess.run([made / "all"], capture_output=True, text=True, cwd=made)
        print(done.stdout)
        check(done.returncode == 0, f"predictions differ: {done.stdout}{done.stderr[-2000:]}")


def check_models():
    names = []
    made = FOLDER / "made"
    for path in sorted([*FOLDER.glob("*.h5"), *FOLDER.glob("*.keras")], key=lambda each: (each.stem.removesuffix("_3"), each.suffix == ".keras")):
        name, base = path.stem, path.stem.removesuffix("_3")
        arguments = [word for letter, option in (("x", "--test-inputs"), ("y", "--test-outputs")) for each in numbered(name, letter) for word in (option, each)]
        code, said = run("import", path, "--output", made / name, *arguments)
        check(code == 0, f"{path.name}: {said}")
        if code != 0:
            continue
        source = (made / f"{name}.hpp").read_text()
        for each in SOURCES[base]:
            check(each in source, f"{path.name}: '{each}' is missing in\n{source}")
        if name == "states":
            check(source == (HERE / "expected" / "states.hpp").read_text(), f"{name}.hpp is not as expected/{name}.hpp:\n{source}")
        other = made / f"{base}.hpp"
        body = lambda text: text.partition("\n")[2].replace(name, base)
        is_same = base != name and other.exists() and body(source) == body(other.read_text())
        if is_same:
            same = (made / f"{name}.safetensors").read_bytes() == (made / f"{base}.safetensors").read_bytes()
            check(same, f"{path.name}: its weights are not those of {base}.h5")
        elif THOROUGH or name in COMPILED:
            names.append(name)
    compiled(names)


def keras_3(*layers, outputs):
    """A configuration of Keras 3 of an input of (4, 6) and these layers, as architecture of a file of weights alone."""
    tensor = lambda of: {"class_name": "__keras_tensor__", "config": {"shape": [None, 4, 6], "dtype": "float32", "keras_history": [of, 0, 0]}}
    entries = [{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 4, 6], "dtype": "float32", "name": "x"}, "registered_name": None, "name": "x", "inbound_nodes": []}]
    for name, module, class_name, config, args, kwargs in layers:
        args = [tensor(each[1:]) if isinstance(each, str) and each.startswith("@") else each for each in args]
        kwargs = {key: tensor(each[1:]) if isinstance(each, str) and each.startswith("@") else each for key, each in kwargs.items()}
        entries.append({"module": module, "class_name": class_name, "config": {"name": name, **config}, "registered_name": class_name, "name": name, "inbound_nodes": [{"args": args, "kwargs": kwargs}]})
    return {"module": "keras.src.models.functional", "class_name": "Functional", "config": {"name": "m", "trainable": True, "layers": entries, "input_layers": [["x", 0, 0]], "output_layers": [[outputs, 0, 0]]}}


def refused(text, *layers, outputs="y", code="E5064"):
    path = FOLDER / "wrong.json"
    path.write_text(json.dumps(keras_3(*layers, outputs=outputs)))
    status, said = run("import", FOLDER / "elementwise.h5", "--architecture", path, "--output", FOLDER / "made" / "wrong")
    check(status == 1 and f"[{code}]" in said and text in said, f"'{text}': exit code {status}, expected 1 and {code}: {said}")


def check_refusals():
    numpy = "keras.src.ops.numpy"
    refused("layer 'y' (keras.Nonzero) is keras.Nonzero, which is not here", ("y", numpy, "Nonzero", {}, ["@x"], {}))
    refused("layer 'y' (keras.Add) has an argument 'surprise', which is not here", ("y", numpy, "Add", {}, ["@x", 1.0], {"surprise": 3}))
    refused("layer 'y' (keras.Mean) has an argument 'surprise'", ("y", numpy, "Mean", {"axis": 1, "surprise": 3}, ["@x"], {}))
    refused("layer 'y' (keras.Add) lacks an argument", ("y", numpy, "Add", {}, ["@x"], {}))
    refused("layer 'y' (keras.Add) has an argument that is no number", ("y", numpy, "Add", {}, ["@x", "one"], {}))
    refused("layer 'y' (keras.Add) has lists of different lengths", ("y", numpy, "Add", {}, ["@x", [[1.0], [2.0, 3.0]]], {}))
    refused("layer 'y' (keras.GetItem) has a slice that depends on data", ("y", numpy, "GetItem", {}, ["@x", ["@x"]], {}))
    refused("layer 'y' (keras.Round) rounds to another number of decimals", ("y", numpy, "Round", {"decimals": 2}, ["@x"], {}))
    refused("layer 'y' (keras.OneHot) has its places along another axis", ("y", "keras.src.ops.nn", "OneHot", {"num_classes": 3, "axis": 1}, ["@x"], {}))
    # A sum over samples, and the problem of a layer after an operation that is not here.
    refused("'y'", ("y", numpy, "Sum", {"axis": 0, "keepdims": False}, ["@x"], {}))
    refused("'z' (Mish)", ("y", numpy, "Nonzero", {}, ["@x"], {}), ("z", "keras.layers", "Mish", {}, ["@y"], {}), outputs="z")
    code = {"class_name": "__lambda__", "config": {"code": "4wEAAAA=", "defaults": None, "closure": None}}
    refused("layer 'y' (Lambda) has a function of Python", ("y", "keras.layers", "Lambda", {"function": code, "arguments": {}}, ["@x"], {}))
    named = {"module": "builtins", "class_name": "function", "config": "relu6", "registered_name": "function"}
    refused("layer 'y' (Lambda) has the function 'relu6', of which the file has only the name", ("y", "keras.layers", "Lambda", {"function": named, "arguments": {}}, ["@x"], {}))
    own = {"class_name": "MinimalCell", "config": {"units": 3}}
    refused("layer 'y' (RNN) has a cell MinimalCell, which is not here", ("y", "keras.layers", "RNN", {"cell": own}, ["@x"], {}))
    two = {"class_name": "StackedRNNCells", "config": {"cells": [{"class_name": "LSTMCell", "config": {"units": 3, "surprise": 1}}]}}
    refused("layer 'y' (RNN) has a cell LSTMCell that has options that are not here: 'surprise'", ("y", "keras.layers", "RNN", {"cell": two}, ["@x"], {}))
    one = {"class_name": "GRUCell", "config": {"units": 3}}
    refused("layer 'y' (RNN) is called with first states that do not fit", ("y", "keras.layers", "RNN", {"cell": one}, ["@x"], {"initial_state": "@x"}))
    refused("layer 'y' (LayerScale) is called on something else than 5 channels", ("y", "keras.layers", "LayerScale", {"init_values": 0.5, "projection_dim": 5}, ["@x"], {}))
    refused("layer 'y' (CustomScaleLayer) is called on something else than two tensors", ("y", "keras.layers", "CustomScaleLayer", {"scale": 0.5}, ["@x"], {}))
    refused("layer 'y' (LayerScale) has no option 'projection_dim'", ("y", "keras.layers", "LayerScale", {"init_values": 0.5}, ["@x"], {}))
    refused("layer 'y' (LayerScale) has options that are not here: 'mode'", ("y", "keras.layers", "LayerScale", {"init_values": 0.5, "projection_dim": 6, "mode": 1}, ["@x"], {}))
    refused("layer 'y' (Dense) is called with a mask, which is not here", ("y", "keras.layers", "Dense", {"units": 3}, ["@x"], {"mask": "@x"}))


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "made").mkdir(parents=True)
    with tarfile.open(HERE / "keras_parts.tar.xz") as archive:
        archive.extractall(FOLDER)
    check_refusals()
    check_models()
    end()


main()
