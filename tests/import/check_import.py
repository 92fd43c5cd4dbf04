# SPDX-License-Identifier: BSD-3-Clause
"""Imports models that real Keras has saved, and compares what is written with expected/.

    python3 tests/import/check_import.py <the program stagecraft> <folder>            fails if anything differs
    python3 tests/import/check_import.py <the program stagecraft> <folder> --update   writes expected/ anew

The models of Keras 3 are those of Keras 2 with the same weights: their headers differ in the first line only, their
weights not at all. Then come files that are wrong, each with the code that must be said. What is left in the folder is
read by predictions_test.cpp."""
import array
import json
import math
import pathlib
import random
import re
import shutil
import sys
import tarfile
import zipfile

from model_files import keras, message, onnx, sequential
from program import check, end, run, run_on_terminal

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[2])
UPDATE = "--update" in sys.argv


def without_first_line(text):
    return text.partition("\n")[2]


def floats(path):
    data = path.read_bytes()
    values = array.array("f")
    values.frombytes(data[8 + int.from_bytes(data[:8], "little") :])
    return values


def import_all():
    for path in sorted([*FOLDER.glob("*.h5"), *FOLDER.glob("*.keras")]):
        is_keras_3 = path.suffix == ".keras"
        name = path.stem.removesuffix("_3")
        output = FOLDER / ("keras_3" if is_keras_3 else "") / name
        output.parent.mkdir(exist_ok=True)
        code, text = run("import", path, "--output", output)
        check(code == 0, f"{path.name}: {text}")
        if code != 0:
            continue
        header = output.with_suffix(".hpp").read_text()
        expected = HERE / "expected" / f"{name}.hpp"
        if UPDATE and (not is_keras_3 or not (FOLDER / f"{name}.h5").exists()):
            expected.write_text(header)
        if is_keras_3 and (FOLDER / f"{name}.h5").exists():
            check(without_first_line(header) == without_first_line(expected.read_text()), f"{path.name}: {name}.hpp differs")
            same = output.with_suffix(".safetensors").read_bytes() == (FOLDER / f"{name}.safetensors").read_bytes()
            check(same, f"{path.name}: its weights are not those of {name}.h5")
            values, others = (floats(FOLDER / f"{each}_values.safetensors") for each in (name, f"{name}_3"))
            off = max(abs(a - b) for a, b in zip(values, others, strict=True))
            check(off < 1e-5 * max(map(abs, values)), f"{path.name}: Keras 2 and Keras 3 differ by {off}")
            continue
        check(header == expected.read_text(), f"{path.name}: {name}.hpp is not as expected/{name}.hpp")
        if is_keras_3:
            shutil.copy(output.with_suffix(".safetensors"), FOLDER / f"{name}.safetensors")
            shutil.copy(FOLDER / f"{path.stem}_values.safetensors", FOLDER / f"{name}_values.safetensors")


def import_onnx():
    """Inputs and predictions of onnxruntime lie beside each file, in its own order of axes."""
    import_with_values(sorted(FOLDER.glob("*.onnx")))


def import_with_values(paths):
    for path in paths:
        arrays = [sorted(FOLDER.glob(f"{path.stem}_{kind}[0-9].npy")) for kind in "xy"]
        code, text = run("import", path, "--test-inputs", *arrays[0], "--test-outputs", *arrays[1])
        check(code == 0, f"{path.name}: {text}")
        if code != 0:
            continue
        header, expected = path.with_suffix(".hpp"), HERE / "expected" / f"{path.stem}.hpp"
        if UPDATE:
            shutil.copy(header, expected)
        check(header.read_text() == expected.read_text(), f"{path.name}: {header.name} is not as expected/{header.name}")
        shutil.copy(FOLDER / f"{path.stem}_test.safetensors", FOLDER / f"{path.stem}_values.safetensors")


RTNEURAL = "amplifier", "stream", "synthesizer", "wave"


def check_rtneural():
    """What Keras predicted lies beside each file. Then files that are wrong, and one whose steps are said."""
    import_with_values([FOLDER / f"{name}.json" for name in RTNEURAL])
    whole = json.loads((FOLDER / "wave.json").read_text())

    def wrong(code, *texts, layer=None, arguments=(), **changes):
        changed = json.loads(json.dumps(whole))
        to = changed if layer is None else changed["layers"][layer]
        for key, value in changes.items():
            to.pop(key) if value is None else to.update({key: value})
        refused("wrong_rtneural.json", json.dumps(changed).encode(), code, *texts, arguments=arguments)

    open_steps = [None, None, 2]
    wrong("E5063", "expected [null, numbers] or [null, steps, numbers]", in_shape=[None])
    wrong("E5063", "expected [null, numbers]", in_shape=[4, 12, 2])
    wrong("E5063", "'version'", version=2)
    wrong("E5063", "no layers", layers=[])
    wrong("E5064", "layer 0 (conv3d): there is no layer of this type", layer=0, type="conv3d")
    wrong("E5064", "layer 0 (dense): the activation 'mish' is not known", layer=0, activation="mish")
    wrong("E5064", "layer 7 (lstm): the activation 'relu' is not known", layer=7, activation="relu")
    wrong("E5064", "layer 3 (prelu): the activation 'tanh' is not known", layer=3, activation="tanh")
    wrong("E5065", "layer 'activation' has weights, expected none", layer=3, type="activation", activation="tanh")
    wrong("E5064", "layer 1 (conv1d): 'strides' is not known", layer=1, strides=[2])
    wrong("E5063", "layer 1 (conv1d): 'dilation' is not a list of one number", layer=1, dilation=2)
    wrong("E5063", "layer 1 (conv1d): 'groups' is no number above 0", layer=1, groups=0)
    wrong("E5063", "layer 2 (batchnorm) has no epsilon", layer=2, epsilon=None)
    wrong("E5063", "layer 0 (dense) has no list of weights", layer=0, weights=None)
    wrong("E5063", "layer 0 (dense), array 1 has something else than numbers", layer=0, weights=[[[1, 1, 1, 1]] * 2, [1, 1, 1, "1"]])
    wrong("E5063", "layer 0 (dense), array 0 has rows of different lengths", layer=0, weights=[[[1, 1, 1, 1], [1]], [1, 1, 1, 1]])
    wrong("E5065", "layer 'dense': kernel has the shape (3, 4), expected (2, 4)", layer=0, weights=[[[1, 1, 1, 1]] * 3, [1, 1, 1, 1]])
    wrong("E5205", "1e+39", layer=0, weights=[[[1, 1, 1, 1]] * 2, [1, 1, 1e39, 1]])
    (FOLDER / "open.json").write_text(json.dumps({**whole, "in_shape": open_steps}))
    code, text = run("show", FOLDER / "open.json", "--input-shape", "12,2")
    check(code == 0 and "(None, 12, 2)" in text and "stateful" not in text, text)
    code, text = run("show", FOLDER / "open.json")
    check(code == 0 and "(None, 1, 2)" in text and ".groups = 2, .stateful = true" in text, text)


def check_command_line():
    """What is written where, and exit codes: 0, 1 for files, 2 for what was typed."""
    model = FOLDER / "mlp.h5"
    for arguments in ([], ["import"], ["imports", model], ["import", model, "--input-shape", "x"], ["export", model], ["show", model, "--what"]):
        code, text = run(*arguments)
        check(code == 2, f"stagecraft {arguments}: exit code {code}, expected 2: {text}")
    for arguments in (["--version"], ["--help"], ["import", "--help"], ["show", model]):
        check(run(*arguments)[0] == 0, f"stagecraft {arguments}: exit code is not 0")
    out = FOLDER / "command_line"
    (FOLDER / "a_file").write_bytes(b"")
    for arguments in (["import", FOLDER / "none.keras"], ["import", model, "--output", FOLDER / "a_file" / "below"],
                      ["import", model, "--output", out, "--test-inputs", FOLDER / "none.npy"]):
        code, text = run(*arguments)
        check(code == 1 and "[E5" in text, f"stagecraft {arguments}: exit code {code}, expected 1: {text}")
    code, text = run("import", model, "--output", out, "--input-shape", "6", "--input-shape", "4")
    check(code == 1 and "there are 2 --input-shape, but the model has 1 input [E5209]" in text, f"more shapes than inputs: {text}")
    check(not out.with_suffix(".hpp").exists(), "an import that failed has written a header")
    code, said, shown = run_on_terminal("import", model, "--output", out)
    check(code == 0 and "wrote" in said and "\r" not in said, f"what is printed beside progress: {said}")
    check(re.search(r"\r\x1b\[Kreading .*mlp.h5, layer 0 of 3", shown), f"no progress on a terminal: {shown!r}")
    check(shown.endswith("\r\x1b[K"), f"progress is left on the terminal: {shown!r}")
    code, said, shown = run_on_terminal("import", FOLDER / "a_file", "--output", out)
    check(code == 1 and shown.rpartition("\x1b[K")[2].startswith("stagecraft: "), f"an error after progress: {shown!r}")
    check("\x1b" not in run("import", model, "--output", out)[1], "progress without a terminal")


def check_options_without_initializer():
    """Keras's None is the default of its add_weight: glorot_uniform, for biases, too."""
    path = FOLDER / "no_initializer.keras"
    with zipfile.ZipFile(FOLDER / "mlp_3.keras") as members, zipfile.ZipFile(path, "w") as changed:
        for name in members.namelist():
            data = members.read(name)
            if name == "config.json":
                config = json.loads(data)
                dense = next(each for each in config["config"]["layers"] if each["class_name"] == "Dense")
                dense["config"].update(kernel_initializer=None, bias_initializer=None)
                data = json.dumps(config)
            changed.writestr(name, data)
    code, text = run("import", path, "--output", FOLDER / "no_initializer")
    check(code == 0, f"{path.name}: {text}")
    header = (FOLDER / "no_initializer.hpp").read_text()
    check(header.count("initializer = sc::initializers::glorot_uniform{}") == 1, f"{path.name}: {header}")


def check_wrapped_lines():
    """However many lines a layer takes, all but the first are indented alike."""
    with zipfile.ZipFile(FOLDER / "mlp_3.keras") as members:
        weights = members.read("model.weights.h5")  # of which nothing is read
    config = sequential(("Resizing", {"name": "made_smaller_before_all_others", "height": 2, "width": 3, "interpolation": "lanczos3",
                                      "crop_to_aspect_ratio": True, "dtype": "float16"}))
    config["config"].update(name="wrapped_name")
    config["config"]["layers"][0]["config"]["batch_shape"] = [None, 4, 4, 1]
    path = FOLDER / "wrapped_lines.keras"
    path.write_bytes(keras(config, weights))
    code, text = run("import", path, "--output", FOLDER / "wrap")
    check(code == 0, f"{path.name}: {text}")
    lines = (FOLDER / "wrap.hpp").read_text().splitlines()
    layer = next(i for i, line in enumerate(lines) if "resizing{" in line)
    indents = [len(line) - len(line.lstrip()) for line in lines[layer : layer + 3]]
    check(lines[layer + 2].endswith(">>;") and indents[1] == indents[2] == indents[0] + 4, "\n".join(lines[layer : layer + 3]))
    # Not within a text, whatever quotation marks that has.
    config["config"]["layers"][1]["config"]["name"] = 'a_layer_"called, so"_and_"so, as_well"_here'
    path.write_bytes(keras(config, weights))
    code, text = run("import", path, "--output", FOLDER / "wrap")
    written = (FOLDER / "wrap.hpp").read_text()
    check(code == 0 and r'"a_layer_\"called, so\"_and_\"so, as_well\"_here"' in written, f"{text}{written}")


def refused(name, content, code, *texts, arguments=()):
    path = FOLDER / name
    path.write_bytes(content)
    status, text = run("show", path, *arguments)
    check(status == 1 and f"[{code}]" in text, f"{name}: exit code {status}, expected 1 and {code}: {text}")
    for each in texts:
        check(each in text, f"{name}: '{each}' is missing in: {text}")
    check(not list(FOLDER.glob(path.stem + ".hpp")), f"{name}: a header was written")


def call(layer, *others, mask=None):
    """A call as Keras 3 writes it."""
    def tensor(of):
        return {"class_name": "__keras_tensor__", "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [of, 0, 0]}}

    return {"args": [tensor(layer), *others], "kwargs": {"mask": tensor(mask)} if mask else {}}


def check_refusals():
    whole = (FOLDER / "mlp.h5").read_bytes()
    archive = (FOLDER / "mlp_3.keras").read_bytes()
    with zipfile.ZipFile(FOLDER / "mlp_3.keras") as members:
        config = members.read("config.json").decode()
        weights = members.read("model.weights.h5")
    dense = {"name": "dense", "units": 3}
    refused("empty.h5", b"", "E5061")
    refused("text.h5", b"no file of this kind", "E5061")
    refused("short.h5", whole[: len(whole) // 2], "E5061")
    refused("short.keras", archive[: len(archive) // 2], "E5015")
    refused("text.keras", keras("{no json"), "E5063", "config.json")
    refused("deep.keras", keras("[" * 100000), "E5063")
    refused("weights.keras", keras(config, weights[:-100]), "E5061")
    refused("list.keras", keras([]), "E5063")
    refused("subclass.keras", keras({"class_name": "Mine", "config": {}}), "E5063", "the model is a Mine")
    refused("lacking.keras", keras(sequential(("Dense", {"name": "dense"})), weights), "E5064", "units")
    refused("types.keras", keras(sequential(("Dense", {"name": "dense", "units": "many"})), weights), "E5064", "units")
    refused("large.keras", keras(sequential(("Dense", {"name": "dense", "units": 10**12})), weights), "E5064", "units")
    deep = {**dense, "more": 1}
    refused("deep.keras", keras(json.dumps(sequential(("Dense", deep))).replace('"more": 1', '"more": ' + "[" * 10**5 + "]" * 10**5)),
            "E5063", "nested too deep")
    refused("twice.keras", keras(sequential(("Dense", dense), ("Dense", dense)), weights), "E5063", "two layers 'dense'")
    refused("shape.keras", keras(sequential(("Dense", {"name": "dense", "units": 8})), weights), "E5065", "kernel", "(6, 8)",
            "(4, 8)")
    refused("many.keras", keras(sequential(("TextVectorization", {"name": "text"}), ("Dense", {**dense, "activation": "mish"}),
                                           ("Hashing", {"name": "hash"})), weights),
            "E5064", "TextVectorization", "mish", "Hashing")
    node = [["b", 0, 0, {}]], [["a", 0, 0, {}]]
    circle = [{"class_name": "Flatten", "name": name, "config": {"name": name}, "inbound_nodes": [calls]}
              for name, calls in zip("ab", node)]
    inputs = {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [None, 4]}, "inbound_nodes": []}
    functional = {"name": "m", "layers": [inputs, *circle], "input_layers": [["x", 0, 0]], "output_layers": [["a", 0, 0]]}
    refused("circle.keras", keras({"class_name": "Functional", "config": functional}, weights), "E5063", "circle")
    functional = {**functional, "layers": [inputs], "output_layers": [["x", 5, 0]]}
    refused("nowhere.keras", keras({"class_name": "Functional", "config": functional}, weights), "E5063")
    nothing = {**sequential(("Dense", dense))}
    nothing["config"]["layers"][0]["config"]["batch_shape"] = [None, None]
    refused("unknown.keras", keras(nothing, weights), "E5063", "--input-shape")
    refused("hard.keras", keras(sequential(("Dense", {**dense, "activation": "hard_sigmoid"})), weights), "E5064", "of Keras 3")
    noisy = ("Dropout", {"name": "dropout", "rate": 0.25, "noise_shape": [None, 1]})
    (FOLDER / "noisy.keras").write_bytes(keras(sequential(noisy), weights))
    code, text = run("show", FOLDER / "noisy.keras")
    check(code == 0 and "dropout: dropout{0.25F, sc::shape{1}}" in text, text)
    words = {"batch_shape": [None, 4], "name": "words"}, {"name": "embed", "input_dim": 5, "output_dim": 2, "mask_zero": True}
    for zero, mask in ((True, "from_words"), (False, "from_words"), (True, "words")):
        embedding = {**words[1], "mask_zero": zero}
        layers = [("InputLayer", words[0], []), ("Embedding", embedding, [call("words")]), ("NotEqual", {"name": "from_words"}, [call("words", 0)]),
                  ("LSTM", {"name": "lstm", "units": 2}, [call("embed", mask=mask)])]
        entries = [{"class_name": kind, "name": of["name"], "config": of, "inbound_nodes": nodes} for kind, of, nodes in layers]
        functional = {"name": "m", "layers": entries, "input_layers": [["words", 0, 0]], "output_layers": [["lstm", 0, 0]]}
        path = FOLDER / "masked.keras"
        path.write_bytes(keras({"class_name": "Functional", "config": functional}, weights))
        code, text = run("show", path)
        # The weights are of another model: that they are looked for means that the mask was understood, as the embedding's
        # or as one that the call is given, which check_keras_parts.py compares with Keras. Comparisons that are no
        # operation of keras.ops are not.
        expected = "'from_words' (NotEqual)" if mask == "from_words" and not zero else "[E5065]"
        check(code == 1 and expected in text, f"mask {mask} of an embedding, mask_zero {zero}: {text}")
    for key in ("max_value", "negative_slope", "threshold"):
        as_activation = {"class_name": "ReLU", "config": {key: -2.0}}
        refused("negative.keras", keras(sequential(("Dense", {**dense, "activation": as_activation})), weights), "E5064", key)
        refused("negative.keras", keras(sequential(("Dense", dense), ("ReLU", {"name": "relu", key: -2.0})), weights), "E5064", key)
    large = ("LeakyReLU", {"name": "leaky", "negative_slope": 1e39})
    refused("units.keras", keras(sequential(("Dense", {"name": "dense", "units": 2**31 - 1})), weights), "E5064", "units")
    heads = ("MultiHeadAttention", {"name": "attention", "num_heads": 2, "key_dim": 2, "attention_axes": [-2]})
    refused("heads.keras", keras(sequential(heads), weights), "E5064", "attention_axes")
    refused("infinite.keras", keras(sequential(("Dense", dense), large), weights), "E5064", "1e+39")
    refused("noise.keras", keras(sequential(("Dropout", {**noisy[1], "noise_shape": [1, 1]})), weights), "E5064", "noise_shape")
    quoted = {"name": "e", "equation": 'ab,bc->ac", 1}, own{"', "output_shape": [3], "activation": None}
    refused("quoted.keras", keras(sequential(("EinsumDense", quoted)), weights), "E5064", "equation")
    refused("letters.keras", keras(sequential(("EinsumDense", {**quoted, "equation": "ab,cd->ac"})), weights), "E5064", "E1124")
    check_refusals_of_tfjs()
    check(run("show", FOLDER / "nothing.h5") [0] == 1, "a file that is not there")
    check(run("show", FOLDER / "mlp.tflite")[0] == 1, "a file of another kind")
    check(run("import")[0] == 2, "no file")
    check(run("frobnicate")[0] == 2, "no command")


def check_changed_hdf5():
    """Bytes here and there are others, the same ones in each run: libhdf5 may crash, the tool says so."""
    whole, numbers = (FOLDER / "mlp.h5").read_bytes(), random.Random(5)
    path = FOLDER / "changed.h5"
    for i in range(48):
        changed = bytearray(whole)
        for _ in range(1 << i % 6):
            changed[numbers.randrange(len(changed))] = numbers.randrange(256)
        path.write_bytes(changed)
        code, text = run("show", path)
        check(code == 0 or (code == 1 and re.search(r"\[E5(06[1-5]|105|205)\]", text)), f"changed.h5, {i}: exit code {code}: {text}")
    path.unlink()


def check_onnx_refusals():
    relu = [("Relu", ["x"], ["y"])]
    kernel = ("k", (4, 3), [0.0] * 12)
    whole = (FOLDER / "torch_mlp.onnx").read_bytes()
    refused("empty.onnx", b"", "E5067", "no graph")
    refused("text.onnx", b"no file of this kind", "E5067")
    refused("short.onnx", whole[: len(whole) // 2], "E5067", "cut off")
    refused("opset.onnx", onnx(relu, opset=6), "E5063", "opset 6")
    refused("newer.onnx", onnx(relu, opset=29), "E5063", "opset 29")
    refused("lies.onnx", onnx([("MatMul", ["x", "k"], ["y"])], [("k", (4, 1 << 40), [0.0] * 12)]), "E5067", "'k'")
    refused("bytes.onnx", onnx([("MatMul", ["x", "k"], ["y"])], [("k", (4, 4), [0.0] * 12)]), "E5067", "64 bytes")
    refused("matrix.onnx", onnx([("MatMul", ["x", "k"], ["y"])], [kernel], shape=(None, 5)), "E5064", "does not fit")
    refused("many.onnx", onnx([("Relu", ["x"], ["a"]), ("Unique", ["a"], ["b"]), ("Add", ["b", "x"], ["c"]), ("NonZero", ["x"], ["d"]), ("Add", ["c", "d"], ["y"])]),
            "E5064", "Unique", "NonZero")
    refused("determinant.onnx", onnx([("Det", ["x"], ["y"])], shape=(None, 5, 5)), "E5064", "larger than 4 by 4")
    pads = message((1, "auto_pad"), (4, "SAME_UPPER"), (20, 3))
    for name, made, shape in (("small_determinant.onnx", ("Det", ["x"], ["y"]), (None, 2, 3, 3)),
                              ("groups.onnx", ("ConvTranspose", ["x", "w"], ["y"], message((1, "group"), (3, 2), (20, 2)), pads), (None, 4, 6, 6))):
        (FOLDER / name).write_bytes(onnx([made], [("w", (4, 1, 3, 3), [0.5] * 36)], shape=shape))
        code, text = run("show", FOLDER / name)
        check(code == 0, f"{name}: {text}")
    refused("shift.onnx", onnx([("BitShift", ["x", "k"], ["y"])], [("k", (), [1.0])]), "E5064", "shifts numbers of a type that is not here")
    refused("scatter.onnx", onnx([("TensorScatter", ["x", "x"], ["y"], message((1, "axis"), (3, 0), (20, 2)))]), "E5064", "an axis or a mode")
    refused("regions.onnx", onnx([("RoiAlign", ["x", "k", "k"], ["y"])], [kernel], shape=(None, 3, 8, 8)), "E5064", "regions of samples")
    refused("unpool.onnx", onnx([("MaxUnpool", ["x", "x"], ["y"])], shape=(None, 3, 8, 8)), "E5064", "among all samples")
    refused("linear.onnx", onnx([("LinearAttention", ["x", "x", "x"], ["y"])], shape=(None, 3, 8)), "E5064", "do not fit its update_rule")
    refused("order.onnx", onnx([("Relu", ["z"], ["y"]), ("Relu", ["x"], ["z"])]), "E5063", "'z'")
    refused("unknown.onnx", onnx(relu, shape=(None, None)), "E5063", "--input-shape")
    refused("outputs.onnx", onnx([("Relu", ["x"], ["z"])]), "E5063", "'y'")
    refused("reshape.onnx", onnx([("Reshape", ["x", "k"], ["y"])], [("k", (2,), [8.0, 2.0])]), "E5064", "Reshape")
    outside = message((1, 2), (2, 1), (8, "k"), (13, message((1, "location"), (2, "../secret"))), (14, 1))
    refused("outside.onnx", message((7, message((5, outside))), (8, message((2, 17)))), "E5067", "not beside the file")
    refused("add.onnx", onnx([("Add", [], ["y"])]), "E5064", "lacks inputs")
    refused("mode.onnx", onnx([("Dropout", ["x", "", "k"], ["y"])], [("k", (), [1.0])]), "E5064", "model.eval()")
    floats = message((1, 2), (2, 7), (8, "k"), (4, array.array("f", [1, 2]).tobytes()))
    refused("floats.onnx", message((7, message((5, floats))), (8, message((2, 17)))), "E5067", "the field of another type")
    refused("split.onnx", onnx([("Split", ["x"], ["y", "z", "w"])]), "E5064", "cuts samples")
    along = message((1, "axis"), (3, 1))
    for sizes in ([2.0], [2.0, 1.0], [2.0, 3.0], [5.0, -1.0]):
        refused("sizes.onnx", onnx([("Split", ["x", "s"], ["y", "z"], along)], [("s", (len(sizes),), sizes)]), "E5064", "other sizes")
    heads = [("Reshape", ["x", "s"], ["h"]), ("Transpose", ["h"], ["t"], message((1, "perm"), *((8, i) for i in (0, 2, 1, 3)))),
             ("MatMul", ["t", "t"], ["y"])]
    refused("heads.onnx", onnx(heads, shape=(None, 4, 4)), "E5064")
    # One head outside of attention: its 3-D form has the same numbers, for a node, a product and an output.
    split = [("Reshape", ["x", "s"], ["h"]), ("Transpose", ["h"], ["t"], message((1, "perm"), *((8, i) for i in (0, 2, 1, 3)))),
             ("Reshape", ["t", "r"], ["j"])]
    dense = [("MatMul", ["x", "k"], ["d"]), ("Reshape", ["d", "s"], ["h"]), *split[1:]]
    numbers = [("k", (4, 4), [0.5] * 16), ("s", (4,), [0.0, 4.0, 1.0, 4.0]), ("r", (3,), [-1.0, 4.0, 4.0])]
    for last in ([("Relu", ["j"], ["y"])], [("MatMul", ["j", "k"], ["y"])], [("Identity", ["j"], ["y"])]):
        (FOLDER / "one_head.onnx").write_bytes(onnx([*dense, *last], numbers, shape=(None, 4, 4)))
        code, text = run("show", FOLDER / "one_head.onnx")
        check(code == 0, f"one_head.onnx, {last}: {text}")
    mean = [("ReduceMean", [], ["m"]), ("Sub", ["x", "m"], ["c"]), ("Pow", ["c", "k"], ["p"]), ("ReduceMean", ["p"], ["v"]),
            ("Add", ["v", "k"], ["a"]), ("Sqrt", ["a"], ["r"]), ("Div", ["c", "r"], ["y"])]
    refused("mean.onnx", onnx(mean, [("k", (), [2.0])]), "E5064", "lacks input 0")
    shape = ("s", (4,), [2.0**26, 2.0**14, 2.0**26, -1.0])
    refused("counted.onnx", onnx([("Reshape", ["k", "s"], ["y"])], [kernel, shape]), "E5064")
    refused("length.onnx", onnx([("Slice", ["k", "s", "s"], ["y"])], [("k", (1 << 40, 0), []), ("s", (1,), [0.0])]), "E5064")
    unit = [("k", (0,), []), ("u", (1, 1), [0.0]), ("i", (), [0.0])]
    refused("none.onnx", onnx([("Add", ["k", "u"], ["a"]), ("Squeeze", ["a"], ["b"]), ("Gather", ["b", "i"], ["y"])], unit), "E5064")
    refused("samples.onnx", onnx([("ReduceMean", ["x"], ["y"], message((1, "axes"), (8, 0), (8, 1)))], shape=(None, 4, 3)), "E5064", "over samples")
    turned = [("Transpose", ["x"], ["t"], message((1, "perm"), *((8, i) for i in (1, 0, 2)))), ("Reshape", ["t", "s"], ["y"])]
    refused("divided.onnx", onnx(turned, [("s", (4,), [4.0, -1.0, 4.0, 2.0**62])], shape=(None, 4, 4)), "E5064", "Reshape")
    # A 0 where the samples are, which are not the first.
    refused("zero.onnx", onnx(turned, [("s", (4,), [0.0, 0.0, 2.0, 2.0])], shape=(None, 4, 4)), "E5064", "axis of samples")
    # Steps and samples, whose numbers change places without a Transpose.
    swapped = [turned[0], ("Shape", ["x"], ["l"], message((1, "end"), (3, 1))), ("Concat", ["l", "s"], ["r"]), ("Reshape", ["t", "r"], ["y"])]
    refused("swapped.onnx", onnx(swapped, [("s", (2,), [-1.0, 3.0])], shape=(None, 4, 3)), "E5064", "Reshape")
    refused("diagonal.onnx", onnx([("Trilu", ["k", "d"], ["m"]), ("MatMul", ["x", "m"], ["y"])], [("k", (4, 4), [1.0] * 16)], inputs=("x", "d")), "E5064", "Trilu")
    region = [message((1, name), (4, text)) for name, text in (("mode", "nearest"), ("coordinate_transformation_mode", "tf_crop_and_resize"))]
    refused("region.onnx", onnx([("Resize", ["x", "", "k"], ["y"], *region)], [("k", (4,), [1.0, 1.0, 2.0, 2.0])], shape=(None, 3, 4, 4)), "E5064", "tf_crop_and_resize")


def check_constants_of_onnx():
    """Weights in nodes, which count as those beside them do, and in files of their own, of any two sizes."""
    table = message((1, "value"), (5, message((1, 1025), (1, 1024), (2, 1), (9, bytes(4 * 1025 * 1024)))))
    (FOLDER / "nodes.onnx").write_bytes(onnx([("Constant", [], ["k"], table), ("MatMul", ["x", "k"], ["y"])], shape=(None, 1025)))
    code, text = run("show", FOLDER / "nodes.onnx")
    check(code == 0 and "kernel (1025, 1024)" in text, text)
    parts = []
    for name, lengths in (("k", (4, 64)), ("b", (64,))):
        (FOLDER / f"part_{name}.bin").write_bytes(bytes(4 * math.prod(lengths)))
        parts.append((5, message(*((1, length) for length in lengths), (2, 1), (8, name),
                                 (13, message((1, "location"), (2, f"part_{name}.bin"))), (14, 1))))
    value = lambda name: message((1, name), (2, message((1, message((1, 1), (2, message((1, message((2, "n"))), (1, message((1, 4))))))))))
    node = message((1, "x"), (1, "k"), (1, "b"), (2, "y"), (4, "Gemm"))
    (FOLDER / "parts.onnx").write_bytes(message((7, message((1, node), *parts, (11, value("x")), (12, value("y")))), (8, message((2, 17)))))
    code, text = run("show", FOLDER / "parts.onnx")
    check(code == 0 and "kernel (4, 64)" in text, text)
    # Mod has the sign of its second number, or with fmod of its first: a shape of (-1, 4), and not of (4, 9).
    of_first = [("Mod", ["a", "b"], ["c"], message((1, "fmod"), (3, 1))), ("Add", ["c", "d"], ["s"]), ("Reshape", ["x", "s"], ["r"]), ("Relu", ["r"], ["y"])]
    (FOLDER / "fmod.onnx").write_bytes(onnx(of_first, [("a", (2,), [-7.0, -7.0]), ("b", (2,), [5.0, 5.0]), ("d", (2,), [1.0, 6.0])]))
    code, text = run("show", FOLDER / "fmod.onnx")
    check(code == 0, text)
    slopes = [("Conv", ["x", "k"], ["c"]), ("PRelu", ["c", "s"], ["y"])]
    (FOLDER / "slopes.onnx").write_bytes(onnx(slopes, [("k", (3, 2, 1, 1), [1.0] * 6), ("s", (1, 3, 1, 1), [0.1, 0.2, 0.3])], shape=(None, 2, 4, 4)))
    code, text = run("import", FOLDER / "slopes.onnx", "-o", FOLDER / "slopes")
    check(code == 0 and "prelu{{.shared_axes = {1, 2}}}" in (FOLDER / "slopes.hpp").read_text(), text)
    # All axes from one on are normalized; no axis of samples is.
    planes = [("g", (3, 4), [0.5] * 12), ("b", (3, 4), [1.0] * 12)]
    norm = lambda axis: [("LayerNormalization", ["x", "g", "b"], ["y"], message((1, "axis"), (3, axis)))]
    (FOLDER / "planes.onnx").write_bytes(onnx(norm(1), planes, shape=(None, 3, 4)))
    code, text = run("show", FOLDER / "planes.onnx")
    check(code == 0 and ".axis = {-2, -1}" in text and "gamma (3, 4)" in text, text)
    refused("samples.onnx", onnx(norm(0), planes, shape=(None, 3, 4)), "E5064", "none of a sample")
    refused("other.onnx", onnx(norm(1), [planes[0], ("b", (4,), [1.0] * 4)], shape=(None, 3, 4)), "E5064", "of other axes")
    approximate = ("Gelu", ["x"], ["y"], message((1, "approximate"), (4, "tanh"), (20, 3)))
    (FOLDER / "tanh.onnx").write_bytes(onnx([approximate], opset=20))
    code, text = run("import", FOLDER / "tanh.onnx", "-o", FOLDER / "tanh")
    check(code == 0 and "sc::activations::gelu(true)" in (FOLDER / "tanh.hpp").read_text(), text)


def tfjs(weights, paths=("w.bin",), **others):
    return json.dumps({"modelTopology": {"model_config": sequential(("Dense", {"name": "dense", "units": 3}))},
                       "weightsManifest": [{"paths": list(paths), "weights": weights}], **others}).encode()


def check_refusals_of_tfjs():
    kernel = {"name": "dense/kernel", "shape": [4, 3], "dtype": "float32"}
    bias = {"name": "dense/bias", "shape": [3], "dtype": "float32"}
    (FOLDER / "w.bin").write_bytes(bytes(60))
    (FOLDER / "good.json").write_bytes(tfjs([kernel, bias]))
    # Activations with numbers, which Keras and save_model write as layers.
    for activation, text in (({"class_name": "ReLU", "config": {"max_value": 6.0, "negative_slope": 0.5, "threshold": None}}, "relu(0.5F, 6.0F, 0.0F)"),
                             ({"class_name": "ELU", "config": {"alpha": 0.5}}, "elu(0.5F)"),
                             ({"class_name": "gelu", "config": {"approximate": True}}, "gelu(true)")):
        model = json.loads(tfjs([kernel, bias]))
        model["modelTopology"]["model_config"]["config"]["layers"][-1]["config"]["activation"] = activation
        (FOLDER / "activation.json").write_text(json.dumps(model))
        code, said = run("import", FOLDER / "activation.json", "-o", FOLDER / "activation")
        check(code == 0 and f"sc::activations::{text}" in (FOLDER / "activation.hpp").read_text(), said)
    # Axes: none, those along which slopes are shared, and those that letters name.
    einsum = {"name": "e", "equation": "ab,bcd->acd", "output_shape": [3, 2], "activation": "relu", "bias_axes": "d"}
    turned = [("Reshape", {"name": "r", "target_shape": [4, 1]}), ("LayerNormalization", {"name": "l", "axis": [2, 1]})]
    for layer, shapes, text in ((("Normalization", {"name": "n", "axis": [], "mean": None, "variance": None}),
                                 {"n/mean": [], "n/variance": [], "n/count": []}, ".axis = sc::axis_list::none()"),
                                (("PReLU", {"name": "p", "shared_axes": [1]}), {"p/alpha": [1]}, ".shared_axes = 1"),
                                (("EinsumDense", einsum), {"e/kernel": [4, 3, 2], "e/bias": [2]},
                                 'einsum_dense{"ab,bcd->acd", {3, 2}, sc::relu, {.bias_axes = "d"'),
                                (("EinsumDense", {**einsum, "equation": "...x,xy->...y", "output_shape": 3, "bias_axes": None}),
                                 {"e/kernel": [4, 3]}, 'einsum_dense{"...x,xy->...y", {3}, sc::relu'),
                                (turned, {"l/gamma": [1, 4], "l/beta": [1, 4]}, "layer_normalization{{.axis = {2, 1}}}")):
        layers = layer if isinstance(layer, list) else [layer]
        (FOLDER / "axes.bin").write_bytes(bytes(4 * sum(map(math.prod, shapes.values()))))
        weights = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in shapes.items()]
        model = {"modelTopology": {"model_config": sequential(*layers)}, "weightsManifest": [{"paths": ["axes.bin"], "weights": weights}]}
        (FOLDER / "axes.json").write_text(json.dumps(model))
        code, said = run("import", FOLDER / "axes.json", "-o", FOLDER / "axes")
        check(code == 0 and text in (FOLDER / "axes.hpp").read_text(), said)
    code, text = run("show", FOLDER / "good.json")
    check(code == 0 and "kernel (4, 3)" in text, text)
    packed = {**kernel, "quantization": {"dtype": "uint8", "scale": 0.5, "min": -1}}
    (FOLDER / "p.bin").write_bytes(bytes(range(12)) + bytes(12))
    (FOLDER / "packed.json").write_bytes(tfjs([packed, bias], ["p.bin"]))
    code, text = run("import", FOLDER / "packed.json", "--output", FOLDER / "packed")
    values = list(floats(FOLDER / "packed.safetensors"))
    check(code == 0 and values == [i / 2 - 1 for i in range(12)] + [0.0] * 3, f"{text} {values}")
    refused("outside.json", tfjs([kernel, bias], ["../w.bin"]), "E5068", "../w.bin")
    refused("slash.json", tfjs([kernel, bias], ["/etc/passwd"]), "E5068")
    refused("missing.json", tfjs([kernel, bias], ["none.bin"]), "E5001", "none.bin")
    refused("long.json", tfjs([{**kernel, "shape": [4, 2**40]}]), "E5068", "takes more bytes")
    refused("over.json", tfjs([{**kernel, "shape": [2**40, 2**40]}]), "E5068")
    refused("minus.json", tfjs([{**kernel, "shape": [-4, 3]}]), "E5068", "shape")
    refused("twice.json", tfjs([kernel, bias, {**kernel, "name": "a"}, {**bias, "name": "b"}], ["w.bin", "w.bin"]), "E5068", "twice")
    refused("left.json", tfjs([kernel]), "E5068", "60 bytes, the weights 48")
    refused("dtype.json", tfjs([{**kernel, "dtype": "string"}]), "E5068", "string")
    refused("graph.json", tfjs([], [], format="graph-model"), "E5068", "graph-model")
    refused("nothing.json", b"{}", "E5068", "modelTopology")
    refused("deep.json", b"[" * 100000, "E5068")
    refused("names.json", tfjs([{**kernel, "name": "other/kernel"}, bias]), "E5065", "1 arrays, expected 2")


def import_weight_names():
    """Files whose weights are called otherwise than the layers (tests/golden/make_weight_names.py): the n-th is full of n."""
    folder = FOLDER / "weight_names"
    with tarfile.open(HERE / "weight_names.tar.xz") as archive:
        archive.extractall(folder)
    shape = [None, 2]
    layers = [{"class_name": kind, "config": {"name": name, **options}}
              for kind, name, options in (("InputLayer", "x", {"batch_input_shape": shape}), ("Dense", "a", {"units": 2}),
                                          ("BatchNormalization", "n", {}), ("Dense", "c", {"units": 2}))]
    encoder = {"class_name": "Sequential", "config": {"name": "encoder", "layers": layers}}
    outer = [layers[0], encoder, {"class_name": "Dense", "config": {"name": "b", "units": 1}}]
    for name, each in (("flat", layers), ("nested", outer)):
        (folder / f"{name}.json").write_text(json.dumps({"class_name": "Sequential", "config": {"name": name, "layers": each}}))
    for name, architecture in (("sequential.h5", ""), ("sequential.keras", ""), ("nested.h5", ""), ("nested_frozen.h5", ""),
                               ("nested.keras", ""), ("sequential.weights.h5", "flat"), ("subclassed.h5", "flat"),
                               ("second_graph.h5", "flat"), ("scopes.h5", "flat"), ("keras_1.h5", "flat"),
                               ("nested.weights.h5", "nested"), ("nested_second_graph.h5", "nested"),
                               ("nested_frozen_second_graph.h5", "nested")):
        options = ["--architecture", folder / f"{architecture}.json"] if architecture else []
        code, text = run("import", folder / name, "--output", folder / "out", *options)
        check(code == 0, f"{name}: {text}")
        if code != 0:
            continue
        data = (folder / "out.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        values = floats(folder / "out.safetensors")
        order = ["a/kernel", "a/bias", "n/gamma", "n/beta", "n/moving_mean", "n/moving_variance", "c/kernel", "c/bias"]
        if "nested" in name:
            order = [*(f"encoder/{each}" for each in order), "b/kernel", "b/bias"]
        found = [values[header[f"{each}:0"]["data_offsets"][0] // 4] for each in order]
        check(found == [*range(1, len(order) + 1)], f"{name}: {found}")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for packed in ("models.tar.xz", "onnx_models.tar.xz", "onnx_operations.tar.xz", "rtneural_models.tar.xz"):
        with tarfile.open(HERE / packed) as archive:
            archive.extractall(FOLDER)
    import_all()
    import_weight_names()
    import_onnx()
    check_rtneural()
    check_onnx_refusals()
    check_constants_of_onnx()
    code, text = run("show", FOLDER / "resnet.h5")
    check(code == 0 and "inputs['input_1'] shape: (None, 16, 16, 3)" in text and "kernel (3, 3, 3, 4)" in text, text)
    check_wrapped_lines()
    check_options_without_initializer()
    check_refusals()
    check_changed_hdf5()
    check_command_line()
    end()


if __name__ == "__main__":
    main()
