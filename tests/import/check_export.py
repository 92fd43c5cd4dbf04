# SPDX-License-Identifier: BSD-3-Clause
"""Exports the models that predictions_test.cpp has saved, to all formats, and compares each file with exports.tar.xz, byte
for byte; and imports them again: the headers are those of expected/, the weights the same.

    python3 tests/import/check_export.py <the program stagecraft> <folder of check_import.py>            fails if any differs
    python3 tests/import/check_export.py <the program stagecraft> <folder of check_import.py> --update   writes exports.tar.xz

An option that a layer gets changes the files: then --update, and both scripts below before it is committed.
What is committed has been loaded by real Keras, which predicted the same: tests/golden/check_exports.py <folder>/saved; and onnxruntime: check_onnx_exports.py."""
import array
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

from program import check, end, run

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[2])
SAVED, UPDATE = FOLDER / "saved", "--update" in sys.argv
COMMITTED = HERE / "exports.tar.xz"
NAMES = "mlp cnn branches resnet mobilenet shared lstm nested attention staged".split()


def without_first_line(path):
    return path.read_text().partition("\n")[2]


def export_all(names):
    for name in names:
        for ending in (".h5", ".keras", ".weights.h5", "_js/model.json", ".npz", ".onnx", ".safetensors"):
            to = SAVED / (name + ending)
            by_library = name == "staged" and ending in (".h5", ".keras", ".weights.h5")
            before = to.read_bytes() if by_library else None
            code, text = run("export", SAVED / name, "--to", to)
            check(code == 0, f"{to.name}: {text}")
            check(before is None or to.read_bytes() == before, f"{to.name}: the tool and the library differ")
        values = FOLDER / f"{'mlp' if name == 'staged' else name}_values.safetensors"
        shutil.copy(values, SAVED / f"{name}_values.safetensors")


def of_any_version(data):
    """A file's bytes as if the program had the version with which exports.tar.xz was written: files name it."""
    return re.sub(rb"stagecraft v\d+\.\d+\.\d+", b"stagecraft v0.1.0",
                  re.sub(rb"stagecraft\x1a.\d+\.\d+\.\d+", b"stagecraft\x1a\x050.1.0", data))


def files(names):
    for name in names:
        for ending in (".h5", ".keras", ".weights.h5", "_js/model.json", "_js/group1-shard1of1.bin", ".npz", ".onnx", ".safetensors"):
            yield SAVED / (name + ending)
        yield SAVED / name / "model.json"


def compare(names):
    if UPDATE:
        with tarfile.open(COMMITTED, "w:xz", preset=9) as archive:
            for path in files(names):
                entry = archive.gettarinfo(path, path.relative_to(SAVED))
                entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname, entry.mode = 0, 0, 0, "", "", 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
        return
    with tarfile.open(COMMITTED) as archive:
        expected = {member.name: of_any_version(archive.extractfile(member).read()) for member in archive}
    found = {path.relative_to(SAVED).as_posix(): of_any_version(path.read_bytes()) for path in files(names)}
    for name in sorted(expected.keys() | found.keys()):
        check(expected.get(name) == found.get(name), f"{name} is not what is committed")


def import_again(names):
    for name in names:
        with zipfile.ZipFile(SAVED / f"{name}.keras") as archive:
            (SAVED / f"{name}_3.json").write_bytes(archive.read("config.json"))
        for ending in (".h5", ".keras", "_js/model.json", "_js/", "", ".weights.h5"):
            output = FOLDER / "again" / ("mlp" if name == "staged" else name)
            output.parent.mkdir(exist_ok=True)
            described = ["--architecture", SAVED / f"{name}_3.json"] if ending == ".weights.h5" else []
            code, text = run("import", f"{SAVED}/{name}{ending}", "--output", output, *described)
            check(code == 0, f"{name}{ending}: {text}")
            if code != 0:
                continue
            header = HERE / "expected" / f"{'mlp' if name == 'staged' else name}.hpp"
            same = without_first_line(output.with_suffix(".hpp")) == without_first_line(header)
            check(same, f"{name}{ending}: its header is not expected/{header.name}")
            weights = (FOLDER / f"{'mlp' if name == 'staged' else name}.safetensors").read_bytes()
            check(output.with_suffix(".safetensors").read_bytes() == weights, f"{name}{ending}: its weights differ")


def check_training():
    """A training is exported with its optimizer; where Keras has not what it needs, a note says so."""
    bundle, to = FOLDER / "trained" / "bundle", FOLDER / "trained" / "exported.h5"
    code, text = run("export", bundle, "--to", to)
    check(code == 0 and "note" not in text, text)
    check(to.read_bytes() == (FOLDER / "trained" / "again.h5").read_bytes(), "a training: the tool and the library differ")
    for ending in (".keras", ".weights.h5"):
        code, text = run("export", bundle, "--to", to.with_suffix(ending))
        same = code == 0 and to.with_suffix(ending).read_bytes() == to.with_name("again" + ending).read_bytes()
        check(same and "note" not in text, f"a training, {ending}: the tool and the library differ: {text}")
    path = bundle / "training.json"
    before, key, after = path.read_text().replace("mean_squared_error", "my_loss").rpartition('"crc32": "')
    text = before + key + "0" * 8 + after[8:]  # its checksum has zeros in its own place
    path.write_text(before + key + f"{zlib.crc32(text.encode()):08x}" + after[8:])
    code, text = run("export", bundle, "--to", to)
    check(code == 0 and "note: the model is there without its optimizer: Keras 2 has no loss 'my_loss' [E5121]" in text, text)
    check(run("show", to)[0] == 0 and to.stat().st_size < (FOLDER / "trained" / "again.h5").stat().st_size, "a model alone")


def make_bundle(folder, layers, weights):
    """A bundle of a Sequential; weights are lists of floats by their names, of one axis or a single number, or lists of rows."""
    model = {"class_name": "Sequential", "config": {"name": "made", "layers": [{"class_name": kind, "config": config} for kind, config in layers]}}
    header, numbers = {}, array.array("f")
    for name, values in weights.items():
        shape = [] if name.endswith("count:0") else [len(values)]
        if isinstance(values[0], list):
            shape, values = [len(values), len(values[0])], sum(values, [])
        places = [4 * len(numbers), 4 * (len(numbers) + len(values))]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": places}
        numbers.extend(values)
    text = json.dumps(header).encode()
    files = {"model.json": json.dumps(model).encode(), "weights.safetensors": len(text).to_bytes(8, "little") + text + numbers.tobytes()}
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    sums = {name: {"bytes": len(content), "crc32": f"{zlib.crc32(content):08x}"} for name, content in files.items()}
    training = json.dumps({"format": "stagecraft bundle", "format_version": 1, "training": None, "files": sums, "crc32": "0" * 8})
    (folder / "training.json").write_text(training.replace('"00000000"', f'"{zlib.crc32(training.encode()):08x}"'))


def check_headers():
    """Programs with the headers of a model predict what the model does; int8 rounds to 127ths of a column's largest weight."""
    folder, kernel, bias, x = FOLDER / "for_header", [[1.0, -2.0], [0.25, 4.0], [-3.0, 1.5]], [0.5, -1.0], [1.0, -2.0, 0.5]
    make_bundle(folder, [("InputLayer", {"name": "x", "batch_input_shape": [None, 3]}), ("Dense", {"name": "d", "units": 2})],
                {"d/kernel:0": kernel, "d/bias:0": bias})
    expected = [bias[j] + sum(x[i] * kernel[i][j] for i in range(3)) for j in range(2)]
    compiler = "clang++-19" if shutil.which("clang++-19") else "g++"
    for ending, tolerance in ((".hpp", 1e-6), (".int8.hpp", 3 * 4 / 254)):
        header = folder / f"made{ending}"
        code, text = run("export", folder, "--to", header)
        check(code == 0, text)
        program = folder / "program.cpp"
        program.write_text(f'''#include <stagecraft/predict.hpp>
#include "{header.name}"
#include <bit>
#include <cstdio>
constinit stagecraft::static_predictor<models::made, models::made_weights> net;
int main() {{
  float const x[]{{{", ".join(map(str, x))}}};
  for (float const y : net(x)) std::printf("%08x\\n", std::bit_cast<unsigned>(y));
}}
''')
        built = subprocess.run([compiler, "-std=c++20", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", f"-I{HERE.parents[1] / 'include'}",
                                str(program), "-o", str(folder / "program")], capture_output=True, text=True)
        check(built.returncode == 0, built.stderr[:2000])
        printed = subprocess.run([str(folder / "program")], capture_output=True, text=True).stdout.split()
        found = [struct.unpack("<f", struct.pack("<I", int(word, 16)))[0] for word in printed]
        check(len(found) == 2 and all(abs(a - b) <= tolerance for a, b in zip(found, expected)), f"{header.name}: {found} is not {expected}")
        check(("std::int8_t" in header.read_text()) == (ending == ".int8.hpp"), f"{header.name}: the type of its weights")


def check_normalizations():
    """Of the file with this checksum onnxruntime 1.16 predicts what Keras 2.15 does, to 1e-6."""
    folder = FOLDER / "normalized"
    make_bundle(folder, [("InputLayer", {"name": "x", "batch_input_shape": [None, 2, 3, 4]}), ("Normalization", {"name": "n", "axis": [-1]}),
                         ("GroupNormalization", {"name": "g", "groups": 2, "epsilon": 0.001})],
                {"n/mean:0": [1, 2, 3, 4], "n/variance:0": [1, 4, 0.25, 0], "n/count:0": [1], "g/gamma:0": [1, 0.5, 2, -1], "g/beta:0": [0, 1, 2, 3]})
    code, text = run("export", folder, "--to", folder.with_suffix(".onnx"))
    check(code == 0 and f"{zlib.crc32(of_any_version(folder.with_suffix('.onnx').read_bytes())):08x}" == "265d9b53", f"normalizations: {text}")
    # Axes that are not the last change places with them.
    of_steps = {"name": "t", "layer": {"class_name": "LayerNormalization", "config": {"name": "each", "axis": [1]}}}
    make_bundle(folder, [("InputLayer", {"name": "x", "batch_input_shape": [None, 2, 3, 4]}), ("TimeDistributed", of_steps),
                         ("LayerNormalization", {"name": "l", "axis": [1], "epsilon": 0.25})],
                {"t/gamma:0": [0.5, 1, 2], "t/beta:0": [0, -1, 1], "l/gamma:0": [1, 0.5], "l/beta:0": [2, 3]})
    code, text = run("export", folder, "--to", folder.with_suffix(".onnx"))
    check(code == 0 and f"{zlib.crc32(of_any_version(folder.with_suffix('.onnx').read_bytes())):08x}" == "f3358d44", f"axes in front: {text}")


def main():
    names = sorted(NAMES)
    export_all(names)
    compare(names)
    import_again(names)
    code, text = run("show", SAVED / "staged")
    check(code == 0 and "inputs['input_1'] shape: (None, 6)" in text and "dense: dense{8, sc::relu} (stage 0)" in text, text)
    check(run("export", SAVED / "mlp", "--to", SAVED / "mlp.txt")[0] == 1, "a format that is not there")
    check(run("export", FOLDER, "--to", SAVED / "none.h5")[0] == 1, "a folder that is no bundle")
    check_training()
    check_normalizations()
    check_headers()
    end()


if __name__ == "__main__":
    main()
