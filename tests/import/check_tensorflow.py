# SPDX-License-Identifier: BSD-3-Clause
"""Imports graphs of TensorFlow (tensorflow_graphs.tar.xz, made by tests/golden/make_tensorflow_graphs.py), compiles what
was written, and compares predictions with the recorded ones. Then come files that are wrong, each with the code that must
be said, and a walk through the table of operations: nothing that a node states is passed over.

    python3 tests/import/check_tensorflow.py <the program stagecraft> <folder> <C++ compiler> [--thorough]

Three of the models are compiled, all of them with --thorough."""
import array
import math
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile

from model_files import graph_def, message, node
from program import check, end, run

HERE = pathlib.Path(__file__).parent
FOLDER, COMPILER = pathlib.Path(sys.argv[2]), sys.argv[3]
COMPILED = ("loops", "cnn", "along_axes.pb")
TOOL = HERE.parents[1] / "tools" / "stagecraft" / "tensorflow"
# What the source of each must have: layers where the graph has layers.
SOURCES = {"ranker": ["dense{8, sc::gelu}", "dense{3, sc::softmax"],
           "loops": ["model.input", "dense{4, sc::relu"],
           "cnn": ["conv2d{4, 3", "depthwise_conv2d{3", "max_pooling2d{2}", "global_average_pooling2d{}", "dense{5, sc::gelu}"],
           "encoder": ["layer_normalization{", "multi_head_attention{2, 4}", "dense{12, sc::gelu}", "dense{2}"],
           "gates.pb": ["dense{8, sc::relu}", "dense{3, sc::softmax"],
           "elementwise.pb": ["model.input"], "along_axes.pb": ["model.input"], "pictures.pb": ["conv2d{5, 3, sc::relu"]}


def numbered(name, letter):
    found = sorted(FOLDER.glob(f"{name}_{letter}*.npy"), key=lambda path: (len(path.name), path.name))
    return [each for each in found if re.fullmatch(rf"{name}_{letter}\d*", each.stem)]


def compile_and_run(file, program):
    done = subprocess.run([COMPILER, "-std=c++20", "-O0", "-march=native", "-w", "-I", HERE.parents[1] / "include", f"{program}_test.cpp", "-o", program, "-pthread", "-lzip", "-lz"],
                          capture_output=True, text=True)
    check(done.returncode == 0, f"{file}: {done.stderr[:3000]}")
    if done.returncode == 0:
        done = subprocess.run([program], capture_output=True, text=True, cwd=FOLDER / "made")
        check(done.returncode == 0, f"{file}: its predictions differ: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def check_models():
    for file, texts in SOURCES.items():
        name = file.removesuffix(".pb")
        outputs = numbered(name, "y")
        nodes = ["Identity"] + [f"Identity_{i}" for i in range(1, len(outputs))] if len(outputs) > 2 else []
        arguments = [word for each in nodes for word in ("--output-node", each)]
        arguments += [word for each in numbered(name, "x") for word in ("--test-inputs", each)]
        arguments += [word for each in outputs for word in ("--test-outputs", each)]
        code, said = run("import", FOLDER / file, "--output", FOLDER / "made" / name, *arguments)
        check(code == 0, f"{file}: {said}")
        if code != 0:
            continue
        source = (FOLDER / "made" / f"{name}.hpp").read_text()
        for each in texts:
            check(each in source, f"{file}: '{each}' is missing in\n{source}")
        if file not in COMPILED and "--thorough" not in sys.argv[4:]:
            continue
        compile_and_run(file, FOLDER / "made" / name)


def check_comparison():
    """What the written tests compare with: NaN and infinity are right where they are expected, and nowhere else."""
    text = (FOLDER / "made" / "cnn_test.cpp").read_text()
    function = text[text.index("double difference(") : text.index("\n}\n", text.index("double difference(")) + 3]
    source = FOLDER / "comparison.cpp"
    source.write_text("#include <cmath>\n#include <vector>\n" + function + """int main() {
  using v = std::vector<float>;
  float const nan = NAN, inf = INFINITY;
  bool right = difference(v{1, nan, inf, 2}, v{1, nan, inf, 4}) == 0.5 && difference(v{nan, -inf}, v{nan, -inf}) == 0;
  right = right && std::isinf(difference(v{1, nan}, v{1, 2})) && std::isinf(difference(v{1, 2}, v{1, nan}));
  right = right && std::isinf(difference(v{3, 1}, v{inf, 1})) && std::isinf(difference(v{inf}, v{-inf}));
  return right && std::isinf(difference(v{1, 2}, v{1})) ? 0 : 1;
}
""")
    done = subprocess.run([COMPILER, "-std=c++20", source, "-o", FOLDER / "comparison"], capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    if done.returncode == 0:
        check(subprocess.run([FOLDER / "comparison"]).returncode == 0, "difference() of the written tests is wrong")


def write_array(path, numbers):
    """A sample to a number, in NumPy's format."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(numbers)}, 1), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", numbers).tobytes())


def check_digits():
    """Remainders of numbers whose quotient is rounded, and functions of small numbers; each output is compared by its largest number."""
    single = lambda number: array.array("f", [number])[0]
    down = lambda a, b: math.fmod(a, b) + (b if math.fmod(a, b) * b < 0 else 0)
    tenth, x, small = single(0.1), [1, -1, 0.5, 2.5, -0.7], [1e-6, -3e-7, 2e-6, 0, -1e-6]
    large = [1, -0.75, math.inf, 0.3, -0.45]
    x, small, large = ([single(each) for each in numbers] for numbers in (x, small, large))
    given = [node("Placeholder", name, dtype=("type", 1), shape=("shape", (None, 1))) for name in ("x", "small", "large")]
    given += [node("Const", "tenth", value=("tensor", [tenth])), node("Const", "minus", value=("tensor", [-tenth]))]
    made = {"down": ("FloorMod", "x", "tenth"), "up": ("FloorMod", "x", "minus"), "rest": ("TruncateMod", "x", "tenth"),
            "both": ("FloorMod", "x", "large"), "of_tenth": ("FloorMod", "tenth", "x"), "log_small": ("Log1p", "small"), "log_large": ("Log1p", "large"),
            "exp_small": ("Expm1", "small"), "exp_large": ("Expm1", "large")}
    expected = {"down": [down(a, tenth) for a in x], "up": [down(a, -tenth) for a in x], "rest": [math.fmod(a, tenth) for a in x],
                "both": [down(a, b) for a, b in zip(x, large)], "of_tenth": [down(tenth, b) for b in x]}
    for name, numbers in ("small", small), ("large", large):
        expected |= {f"log_{name}": list(map(math.log1p, numbers)), f"exp_{name}": list(map(math.expm1, numbers))}
    (FOLDER / "digits.pb").write_bytes(graph_def(*given, *(node(kind, name, *of) for name, (kind, *of) in made.items())))
    arguments = []
    for name, numbers in ("x", x), ("small", small), ("large", large):
        write_array(FOLDER / f"digits_{name}.npy", numbers)
        arguments += ["--test-inputs", FOLDER / f"digits_{name}.npy"]
    for name, numbers in expected.items():
        write_array(FOLDER / f"digits_{name}.npy", numbers)
        arguments += ["--output-node", name, "--test-outputs", FOLDER / f"digits_{name}.npy"]
    code, said = run("import", FOLDER / "digits.pb", "--output", FOLDER / "made" / "digits", *arguments)
    check(code == 0, f"digits.pb: {said}")
    if code == 0:
        compile_and_run("digits.pb", FOLDER / "made" / "digits")


def check_flattened():
    """A dense layer between a flattening and a reshaping one is no dense layer on the last axis."""
    kernel = message((8, message((1, 1), (2, message((2, message((1, 4))), (2, message((1, 6))))), (4, bytes(96)))))
    whole = lambda *of: message((8, message((1, 9), (2, message((2, message((1, len(of)))))), (4, array.array("q", of).tobytes()))))
    const = lambda name, kind, value: message((1, name), (2, "Const"), (5, message((1, "dtype"), (2, message((6, kind))))), (5, message((1, "value"), (2, value))))
    graph = lambda axes, before, after: graph_def(
        node("Placeholder", "x", dtype=("type", 1), shape=("shape", (None, *axes))), const("kernel", 1, kernel), const("before", 9, whole(-1, before)),
        const("after", 9, whole(-1, *after)), node("Reshape", "flat", "x", "before"), node("MatMul", "product", "flat", "kernel"), node("Reshape", "y", "product", "after"))
    for axes, after, texts in ((2, 2), (3, 2), ["flatten{}", "dense{6", "reshape{3, 2}"]), ((2, 2), (1, 6), ["flatten{}", "dense{6", "reshape{1, 6}"]), ((3, 4), (3, 6), ["product: dense{6, {.use_bias = false}}"]):
        (FOLDER / "flattened.pb").write_bytes(graph(axes, 4, after))
        code, said = run("show", FOLDER / "flattened.pb")
        check(code == 0 and all(each in said for each in texts), f"{axes} to {after}: {said}")


def refused(code, text, data, *arguments):
    path = FOLDER / "wrong.pb"
    path.write_bytes(data)
    status, said = run("show", path, *arguments)
    check(status == 1 and f"[{code}]" in said and text in said, f"'{text}': exit code {status}, expected 1 and {code}: {said}")


def check_refusals():
    x = node("Placeholder", "x", dtype=("type", 1), shape=("shape", (None, 4)))
    good = graph_def(x, node("Relu", "y", "x"))
    (FOLDER / "good.pb").write_bytes(good)
    code, said = run("show", FOLDER / "good.pb")
    check(code == 0 and "activation{sc::relu}" in said, f"the good graph: {said}")
    refused("E5240", "cut off", good[:-3])
    refused("E5240", "no nodes", b"")
    refused("E5241", "round in a circle", graph_def(x, node("Add", "y", "x", "z"), node("Relu", "z", "y")), "--output-node", "z")
    refused("E5241", "which nothing gives", graph_def(x, node("Add", "y", "x", "nowhere")))
    refused("E5241", "two nodes 'y'", graph_def(x, node("Relu", "y", "x"), node("Relu", "y", "x")), "--output-node", "y")
    refused("E5241", "no function 'f'", graph_def(x, node("PartitionedCall", "y", "x", f=("function", "f"))))
    refused("E5241", "does not depend on the inputs", graph_def(x, node("Const", "c", value=("tensor", [1.0])), node("Relu", "y", "c")))
    refused("E5241", "how many axes", graph_def(node("Placeholder", "x", dtype=("type", 1)), node("Relu", "y", "x")))
    refused("E5243", "no node 'z'", good, "--output-node", "z")
    refused("E5243", "'y', 'z'", graph_def(x, node("Relu", "y", "x"), node("Tanh", "z", "x")))
    refused("E5209", "--signature", good, "--signature", "serving_default")
    refused("E5064", "is a Unique, which is not here", graph_def(x, node("Unique", "y", "x")))
    refused("E5064", "depends on data", graph_def(x, node("If", "y", "x", "x", then_branch=("function", "f"), else_branch=("function", "f"))))
    for path in "ranker", "encoder":
        code, said = run("show", FOLDER / path, "--signature", "other")
        check(code == 1 and "[E5242]" in said and "serving_default" in said, f"{path}: {said}")
    shutil.copytree(FOLDER / "ranker", FOLDER / "of_examples")
    graph = FOLDER / "of_examples" / "saved_model.pb"
    graph.write_bytes(graph.read_bytes().replace(b"tensorflow/serving/predict", b"tensorflow/serving/regress"))
    code, said = run("show", FOLDER / "of_examples", "--signature", "serving_default")
    check(code == 1 and "[E5242]" in said and "is one of examples (tensorflow/serving/regress)" in said, f"a signature of examples: {said}")
    code, said = run("show", HERE / "expected" / "missing.onnx", "--output-node", "y")
    check(code == 1 and "[E5209]" in said, said)


def table():
    """Operations with their attributes: name, kind, use and the only value."""
    text = (TOOL / "operation_table.cpp").read_text()
    lines = text[text.index('R"(') + 4 : text.index('\n)"')].replace("\n ", " ").splitlines()
    found = {}
    for operation, _inputs, _outputs, *attributes in map(str.split, lines):
        found[operation] = [re.match(r"(\w+)([:=~])(\S+)", each).groups() for each in attributes]
    return found


def check_table():
    operations = table()
    placeholder = operations.pop("Placeholder")  # an input, whose attributes the reader takes
    check([name for name, _, _ in placeholder] == ["dtype", "shape"], f"Placeholder: {placeholder}")
    check(len(operations) >= 120, f"the table has {len(operations)} operations")

    def said_of(what, wanted):
        """What is said of nodes that are wrong in one way each, all in one file."""
        nodes = [node("Placeholder", "x", dtype=("type", 1), shape=("shape", (None, 4)))]
        nodes += [node(operation, f"n{i}", **attributes) for i, (operation, attributes, _) in enumerate(wanted)]
        (FOLDER / "table.pb").write_bytes(graph_def(*nodes))
        code, text = run("show", FOLDER / "table.pb", *[word for i in range(len(wanted)) for word in ("--output-node", f"n{i}")])
        check(code == 1 and "[E5064]" in text, f"{what}: exit code {code}: {text[-1500:]}")
        found = {int(number): rest for number, rest in re.findall(r"node 'n(\d+)' (.*)", text)}
        for i, (operation, _, expected) in enumerate(wanted):
            check(expected in found.get(i, ""), f"{what} of {operation}: '{expected}' is missing in: {found.get(i)}")

    said_of("an unknown attribute", [(each, {"surprise": ("integer", 1)}, "'surprise', which is not here") for each in operations])
    all_of = [(operation, *each) for operation, attributes in operations.items() for each in attributes]
    said_of("another kind", [(operation, {name: ("real", 0.5) if rest != "real" else ("text", "one")}, f"'{name}', of the kind") for operation, name, _, rest in all_of])
    said_of("a type of 16 bits", [(operation, {name: ("type", 19)}, f"'{name}', type 19") for operation, name, _, rest in all_of if rest == "elements"])
    said_of("another value", [(operation, {name: ("truth", rest == "false")}, f"'{name}', of which only {rest}") for operation, name, mark, rest in all_of if mark == "="])
    names = {name for each in operations.values() for name, _, _ in each}
    for path in [TOOL / "lowering.cpp", *sorted(TOOL.glob("lower_*.cpp"))]:
        for name in re.findall(r"node(?:\(\))?\.(?:find|integer|integers|real|text|truth)\(\s*\"(\w+)\"", path.read_text()):
            check(name in names, f"{path.name} reads '{name}', which the table of operations has not")
    converters = set()
    for path in sorted(TOOL.glob("l*.cpp")):
        text = path.read_text()
        converters |= set(re.findall(r"\"([A-Z]\w+)\"", text))
    for operation in operations:
        check(operation in converters, f"{operation} is in the table, and nothing lowers it")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "made").mkdir(parents=True)
    with tarfile.open(HERE / "tensorflow_graphs.tar.xz") as archive:
        archive.extractall(FOLDER)
    check_refusals()
    check_table()
    check_flattened()
    check_digits()
    check_models()
    check_comparison()
    end()


main()
