# SPDX-License-Identifier: BSD-3-Clause
"""Imports models that real Keras has saved, and compares what is written with expected/.

    python3 tests/import/check_import.py <the program stagecraft> <folder>            fails if anything differs
    python3 tests/import/check_import.py <the program stagecraft> <folder> --update   writes expected/ anew

The models of Keras 3 are those of Keras 2 with the same weights: their headers differ in the first line only, their
weights not at all. Then come files that are wrong, each with the code that must be said. What is left in the folder is
read by predictions_test.cpp."""
import array
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent
TOOL, FOLDER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
UPDATE = "--update" in sys.argv
failures = []


def run(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def check(holds, text):
    if not holds:
        failures.append(text)


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


def refused(name, content, code, *texts, arguments=()):
    path = FOLDER / name
    path.write_bytes(content)
    status, text = run("show", path, *arguments)
    check(status == 1 and f"[{code}]" in text, f"{name}: exit code {status}, expected 1 and {code}: {text}")
    for each in texts:
        check(each in text, f"{name}: '{each}' is missing in: {text}")
    check(not list(FOLDER.glob(path.stem + ".hpp")), f"{name}: a header was written")


def keras(config, weights=b""):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", weights)
    return packed.getvalue()


def sequential(*layers):
    entries = [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "input"}}]
    entries += [{"class_name": name, "config": config} for name, config in layers]
    return {"class_name": "Sequential", "config": {"name": "sequential", "layers": entries}}


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
    check(run("show", FOLDER / "nothing.h5") [0] == 1, "a file that is not there")
    check(run("show", FOLDER / "mlp.onnx")[0] == 1, "a file of another kind")
    check(run("import")[0] == 2, "no file")
    check(run("frobnicate")[0] == 2, "no command")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with tarfile.open(HERE / "models.tar.xz") as archive:
        archive.extractall(FOLDER)
    import_all()
    code, text = run("show", FOLDER / "resnet.h5")
    check(code == 0 and "inputs['input_1'] shape: (None, 16, 16, 3)" in text and "kernel (3, 3, 3, 4)" in text, text)
    check_refusals()
    for each in failures:
        print(each)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
