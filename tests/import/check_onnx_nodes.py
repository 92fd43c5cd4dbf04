# SPDX-License-Identifier: BSD-3-Clause
"""Imports the cases of ONNX's own tests of operators, compiles them, and compares their outputs with the recorded ones.

    python3 tests/import/check_onnx_nodes.py <the program stagecraft> <folder> <compiler> [--only <expression>] [--import-only] [--new] [--update]

It needs the packages onnx and onnxruntime, without which it is skipped (exit code 77). Nodes of onnxruntime's own domain are cases
as well, and graphs of whole numbers (whole_nodes.py) and of loops (loop_nodes.py), whose outputs onnxruntime computes. onnx_nodes.txt lists all cases, refused ones with the kind of their reason; --update writes
it anew, and --new compares those alone that it does not list as imported. A case is taken if all that it takes and returns are tensors of numbers and no output
is NaN. Inputs that the importer does not take as such become constants. Models whose layers can be traced alone are carried out by programs of 60
(node_programs.py), the others are compiled as they are. What it prints is a line for each case: imported and right, imported and wrong, refused and why."""
import collections
import itertools
import pathlib
import re
import subprocess
import sys

from node_programs import compare, program_of
from program import run

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.loader import load_model_tests
    import loop_nodes
    import whole_nodes
except ImportError:
    sys.exit(77)

FOLDER = pathlib.Path(sys.argv[2])
COMPILER = sys.argv[3]
INCLUDE = pathlib.Path(__file__).parents[2] / "include"
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
GROUP, TRACED_GROUP = 12, 60
LIST = pathlib.Path(__file__).with_name("onnx_nodes.txt")
FLOATS = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
NUMBERS = (*FLOATS, *(getattr(onnx.TensorProto, each) for each in "INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8 BOOL".split()))


def tensors(values):
    return all(each.type.HasField("tensor_type") and each.type.tensor_type.elem_type in NUMBERS for each in values)


def cases():
    for case in load_model_tests(kind="node"):
        model = case.model if case.model is not None else onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        graph = model.graph
        values = [*graph.input, *graph.output]
        if not tensors(values) or not graph.input:
            continue
        if any(each.domain not in ("", "ai.onnx") for each in model.opset_import):
            continue
        if case.data_sets is not None:
            inputs, outputs = case.data_sets[0]
        else:
            read = lambda kind: [numpy_helper.to_array(onnx.load_tensor(path)) for path in
                                 sorted((pathlib.Path(case.model_dir) / "test_data_set_0").glob(f"{kind}_*.pb"))]
            inputs, outputs = read("input"), read("output")
        array = lambda each: numpy_helper.to_array(each) if isinstance(each, onnx.TensorProto) else np.asarray(each)
        inputs, outputs = list(map(array, inputs)), list(map(array, outputs))
        if len(inputs) == len(graph.input) and not any(np.isnan(each).any() for each in outputs):
            yield case.name, model, inputs, outputs


def microsoft_cases():
    """Nodes of com.microsoft on tensors of (2, 3, 4), with weights that are constants."""
    random = np.random.default_rng(1)
    floats = lambda *shape: random.standard_normal(shape).astype("float32")
    row, rows, matrix = floats(4), floats(2, 3, 4), floats(5, 4)
    for name, kind, weights, options in (
            ("gelu", "Gelu", [], {}), ("fast_gelu", "FastGelu", [], {}), ("fast_gelu_bias", "FastGelu", [row], {}),
            ("bias_gelu", "BiasGelu", [row], {}), ("quick_gelu", "QuickGelu", [], {"alpha": 1.5}),
            ("skip_layer_normalization", "SkipLayerNormalization", [rows, row, floats(4), floats(4)], {"epsilon": 1e-3}),
            ("skip_simplified_layer_normalization", "SkipSimplifiedLayerNormalization", [rows, row, floats(4)], {"epsilon": 1e-3}),
            ("fused_matmul", "FusedMatMul", [matrix], {"transB": 1, "alpha": 0.5}),
            ("fused_matmul_transposed", "FusedMatMul", [floats(2, 3, 5)], {"transA": 1, "alpha": 0.5})):
        x = floats(2, 3, 4)
        node = helper.make_node(kind, ["x", *(f"w{i}" for i in range(len(weights)))], ["y"], domain="com.microsoft", **options)
        graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate(weights)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        yield f"microsoft_{name}", model, [x], session.run(None, {"x": x})


def with_constants(model, inputs, kept):
    """The model in which inputs other than the first `kept` are constants."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for value, array in zip(list(changed.graph.input)[kept:], inputs[kept:], strict=True):
        changed.graph.initializer.append(numpy_helper.from_array(array, value.name))
    return changed


def import_case(name, model, inputs, outputs):
    """Nothing, or why it is refused."""
    reasons = []
    for kept in dict.fromkeys((len(inputs), 2, 1)):
        if kept > len(inputs):
            continue
        path = FOLDER / f"{name}.onnx"
        path.write_bytes(with_constants(model, inputs, kept).SerializeToString())
        arrays = [[], []]
        for kind, given in enumerate((inputs[:kept], outputs)):
            for i, array in enumerate(given):
                arrays[kind].append(FOLDER / f"{name}_{'xy'[kind]}{i}.npy")
                is_whole = kind == 0 and array.dtype.kind in "iu"
                np.save(arrays[kind][-1], np.ascontiguousarray(array, dtype="int64" if is_whole else "float32"))
        code, text = run("import", path, "--test-inputs", *arrays[0], "--test-outputs", *arrays[1])
        if code == 0:
            return None
        reasons.append(text)
    found = re.search(r"\n  .*?\) (.*)", reasons[-1]) or re.search(r": (.*)", reasons[-1])
    return re.sub(r" ?\[E\d+\]", "", found[1]).replace(f"{FOLDER}/", "") if found else reasons[-1][-200:]


# Kinds of reasons why a case is refused: by its operators, or by what is said. The first two are outside of what can be imported.
OF_DATA = {"Compress", "ConstantOfShape", "NonMaxSuppression", "NonZero", "Range", "Unique", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"}
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
NO_ELEMENTS = re.compile(r"_empty|zero_size|_zero$|shape_zero|allowzero|structural_empty")


def kind_of(name, model, why):
    operators = {node.op_type for node in model.graph.node}
    if operators & RANDOM or "training" in name:
        return "random numbers, training"
    if operators & OF_DATA or re.search(r"loop11|test_if$|^test_range|[gn]window", name):
        return "sizes depend on data"
    if "is of opset" in why:
        return "opset below 7"
    if NO_ELEMENTS.search(name):
        return "tensors without elements"
    return "operator is not here" if re.search(r"is an? \w+, which is not here", why) else "option is not here"


def compile_and_run(names):
    """What the program of some cases says of each; nothing if it does not compile."""
    text = "#include <stagecraft/stagecraft.hpp>\n#include <stagecraft/io/weights.hpp>\n#include <stagecraft/io/safetensors.hpp>\n"
    text += "#include <algorithm>\n#include <array>\n#include <cmath>\n#include <cstdio>\n#include <cstring>\n#include <string>\n#include <vector>\n"
    text += "#include <stagecraft/operations/words.hpp>\n#include <stagecraft/pipeline.hpp>\n#include <limits>\n#include <string_view>\n#define main run_case\n"
    for i, name in enumerate(names):
        text += f'namespace case_{i} {{\n#include "{name}_test.cpp"\n}}\n'
    text += "#undef main\nint main(int, char** argv) {\n  char const* const a[]{argv[0], \".\"};\n"
    for i, name in enumerate(names):
        text += f'  std::printf("== {name}\\n"); try {{ case_{i}::run_case(2, const_cast<char**>(a)); }} catch (std::exception const& why) {{ std::puts(why.what()); }}\n'
    path = FOLDER / f"{names[0]}_group.cpp"
    path.write_text(text + "}\n")
    program = path.with_suffix("")
    done = subprocess.run([COMPILER, "-std=c++20", "-O0", "-march=native", "-I", INCLUDE, path, "-o", program, "-pthread", "-lzip"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    said = subprocess.run([program], cwd=FOLDER, capture_output=True, text=True).stdout
    program.unlink()
    return {part.split("\n", 1)[0]: part for part in said.split("== ")[1:]}, ""


def results_of(names):
    said, errors = compile_and_run(names)
    if said is not None:
        return {name: "right" if "passed" in said.get(name, "") else "WRONG " + " ".join(said.get(name, "").split("\n")[1:]) for name in names}
    if len(names) == 1:
        first = re.search(r"error: (.*)", errors)
        return {names[0]: "DOES NOT COMPILE " + (first[1] if first else errors[:200])}
    half = len(names) // 2
    return {**results_of(names[:half]), **results_of(names[half:])}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    said, kinds = {}, {}
    for name, *case in itertools.chain(cases(), microsoft_cases(), whole_nodes.cases(), loop_nodes.cases()):
        if not re.search(ONLY, name):
            continue
        try:
            said[name] = import_case(name, *case)
        except subprocess.TimeoutExpired:
            said[name] = "TAKES LONGER THAN A MINUTE"
        if said[name] is not None:
            kinds[name] = kind_of(name, case[0], said[name])
    imported = [name for name, why in said.items() if why is None]
    listed = {line for line in LIST.read_text().splitlines() if ":" not in line} if "--new" in sys.argv else set()
    compiled = [name for name in imported if name not in listed] if "--import-only" not in sys.argv else []
    traced = {name: program for name in compiled if (program := program_of(FOLDER, name))}
    whole = [name for name in compiled if name not in traced]
    groups = [(compare, FOLDER, COMPILER, dict(list(traced.items())[i : i + TRACED_GROUP])) for i in range(0, len(traced), TRACED_GROUP)]
    groups += [(results_of, whole[i : i + GROUP]) for i in range(0, len(whole), GROUP)]
    for i, (function, *of) in enumerate(groups):
        found = function(*of)
        said.update(found)
        for name, what in found.items():
            if what != "right":
                print(f"{name}: {what}", file=sys.stderr)
        print(f"{i + 1} of {len(groups)} programs", file=sys.stderr, flush=True)
    for name, what in said.items():
        print(f"{name}: {what or 'imported'}")
    counts = collections.Counter("right" if what == "right" else "imported" if what is None else "wrong" if what.isupper() or what.split()[0].isupper() else "refused" for what in said.values())
    print(dict(counts), "of", len(said))
    print(dict(collections.Counter(kinds.values())))
    names = "\n".join([*sorted(imported), *sorted(f"{name}: {kind}: {said[name]}" for name, kind in kinds.items())]) + "\n"
    if "--update" in sys.argv:
        LIST.write_text(names)
    is_other = not ONLY and LIST.read_text() != names
    if is_other:
        print(f"other cases are imported than those of {LIST.name}")
    return 1 if counts["wrong"] or is_other else 0


sys.exit(main())
