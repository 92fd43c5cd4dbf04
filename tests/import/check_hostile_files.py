# SPDX-License-Identifier: BSD-3-Clause
"""Files that were made to hang the program, to fill the memory, or to spoil what it prints.

    python3 tests/import/check_hostile_files.py <the program stagecraft> <folder>

Each must end with a code within seconds of a processor and some hundred MB, as docs/importing.md promises. HDF5 files that
swell are in hostile_files.tar.xz, made by tests/golden/make_hostile_files.py."""
import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile

from model_files import keras, message, onnx, sequential
from program import TOOL, check, end

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[2])
MB = 1 << 20
SECONDS, MEMORY = 20, 700 * MB  # of processors, all processes together; a sanitizer or a slow machine takes more than 5 s


def measured(*arguments):
    """The exit code, what was printed, seconds of processors, and bytes of the process that took most."""
    with subprocess.Popen([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, text.decode(errors="replace"), used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def refused(name, content, *texts):
    path = FOLDER / name
    path.write_bytes(content)
    code, text, took, held = measured("show", path)
    path.unlink()
    about = f"{name}: exit code {code}, {took:.1f} s, {held / MB:.0f} MB: {text[:500]}"
    print(about.partition("\n")[0])
    check(code == 1 and any(f"[{each}]" in text for each in texts[0].split("|")), f"not {texts[0]}: {about}")
    check(all(each in text for each in texts[1:]), f"not {texts[1:]}: {about}")
    check(took < SECONDS and held < MEMORY, f"too much: {about}")


def packed(config, weights):
    """An archive whose members are deflated, as Keras's are not."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, parts in (("config.json", config), ("model.weights.h5", weights)):
            with archive.open(name, "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
    return result.getvalue()


def lying(config, weights, size):
    """An archive whose directory and header say another size of its weights."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", config)
        archive.writestr("model.weights.h5", weights)
        header = archive.getinfo("model.weights.h5").header_offset
    archive = bytearray(result.getvalue())
    for at in (header + 22, archive.rindex(b"model.weights.h5") - 46 + 24):
        archive[at : at + 4] = struct.pack("<I", size)
    return bytes(archive)


def check_archives(dense):
    zeros = [bytes(MB)] * 200
    refused("spaces.keras", packed([b" " * MB] * 200, [b""]), "E5220", "'config.json'")
    refused("zeros.keras", packed([dense.encode()], zeros), "E5220", "'model.weights.h5'")
    # As many zeros as the model needs.
    large = sequential(("Dense", {"name": "dense", "units": 10**7}))
    refused("wanted_zeros.keras", packed([json.dumps(large).encode()], zeros), "E5220", "'model.weights.h5'")
    refused("less.keras", lying(dense, bytes(40 * MB), 1000), "E5015", "longer than it says")
    refused("more.keras", lying(dense, bytes(MB), MB + 1), "E5015", "shorter than it says")
    refused("lists.keras", packed([b"[" + b"[],[]," * (MB * 5 // 6) + b"[]]"], [b""]), "E5063")


def check_hdf5():
    """A byte of a valid file at which libhdf5 goes round in a circle, and arrays that become more than their bytes."""
    with tarfile.open(HERE / "models.tar.xz") as archive:
        whole = archive.extractfile("mlp.h5").read()
    refused("circle.h5", whole[:4400] + b"\xc5" + whole[4401:], "E5105|E5061")
    with tarfile.open(HERE / "hostile_files.tar.xz") as archive:
        refused("zeros.h5", archive.extractfile("zeros.h5").read(), "E5220", "dense/kernel:0")
        refused("chunk.h5", archive.extractfile("chunk.h5").read(), "E5061|E5105")


def node_chain(count):
    nodes = [("Relu" if i % 2 else "Tanh", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(count)]
    return onnx(nodes, outputs=(f"t{count}",))


def residual_blocks(count):
    """Each takes the sum of all before it: blocks that repeat become a function."""
    nodes = []
    for i in range(count):
        before = f"t{i}" if i else "x"
        nodes += [("Relu", [before], [f"r{i}"]), ("Tanh", [f"r{i}"], [f"u{i}"]), ("Add", [before, f"u{i}"], [f"t{i + 1}"])]
    return onnx(nodes, outputs=(f"t{count}",))


def many_outputs(count):
    return onnx([("Relu", ["x"], [f"t{i}"]) for i in range(count)], outputs=[f"t{i}" for i in range(count)])


def many_inputs(count):
    """Sums of which each takes another input."""
    nodes = [("Add", [f"t{i - 1}" if i > 1 else "x0", f"x{i}"], [f"t{i}"]) for i in range(1, count)]
    return onnx(nodes, inputs=[f"x{i}" for i in range(count)], outputs=(f"t{count - 1}",))


def layer_chain(count, backward):
    """A functional model of Keras 2, whose layers may stand in the file in the order that is worst."""
    def layer(i):
        before = f"a{i - 1}" if i else "x"
        return {"class_name": "Activation", "name": f"a{i}", "config": {"name": f"a{i}", "activation": "relu"},
                "inbound_nodes": [[[before, 0, 0, {}]]]}

    layers = [layer(i) for i in range(count)]
    inputs = {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [None, 4], "name": "x"}, "inbound_nodes": []}
    config = {"name": "chain", "layers": [inputs, *(reversed(layers) if backward else layers)], "input_layers": [["x", 0, 0]],
              "output_layers": [[f"a{count - 1}", 0, 0]]}
    return keras({"class_name": "Functional", "config": config})


def check_long_chains():
    """Time in proportion to the length."""
    for name, content in (("chain", node_chain(20_000)), ("blocks", residual_blocks(4_000)), ("outputs", many_outputs(6_000)),
                          ("inputs", many_inputs(6_000))):
        path = FOLDER / f"{name}.onnx"
        path.write_bytes(content)
        code, text, took, held = measured("import", path, "--output", FOLDER / "chain")
        about = f"{path.name}: exit code {code}, {took:.1f} s, {held / MB:.0f} MB"
        print(about)
        check(code == 0 and took < SECONDS / 2 and held < MEMORY, f"{about}: {text[:500]}")
    # Their weights are no HDF5 file, which is said after all layers have been read.
    refused("list.keras", keras(sequential(*(("Activation", {"name": f"a{i}", "activation": "relu"}) for i in range(20_000)))), "E5061")
    refused("forward.keras", layer_chain(10_000, False), "E5061")
    refused("backward.keras", layer_chain(10_000, True), "E5061")


def check_texts():
    """What a file calls something neither cuts a message nor reaches the terminal as it is."""
    evil = "a\0b\x1b[2J\r\u202e\x9b" + "x" * 100_000
    hidden = [("name.onnx", onnx([("Bad\0Type", ["x"], ["y"])]), "E5064"),
              ("output.onnx", onnx([("Relu", ["x"], ["y"])], outputs=(evil,)), "E5067|E5063|E5064"),
              ("layer.keras", keras(sequential(("Dense", {"name": evil, "units": "many"}))), "E5064"),
              ("class.keras", keras(sequential((evil, {"name": "dense"}))), "E5064"),
              ("model.keras", keras({"class_name": evil, "config": {}}), "E5063")]
    for name, content, codes in hidden:
        path = FOLDER / name
        path.write_bytes(content)
        code, text, _, _ = measured("show", path)
        check(code == 1 and any(text.rstrip().endswith(f"[{each}]") for each in codes.split("|")), f"{name}: {code}, {text[-200:]!r}")
        check("\\x00" in text and len(text) < 20_000, f"{name}: {text[:300]!r}, {len(text)}")
        check(not any(each in text for each in "\0\x1b\r\u202e\x9b"), f"{name}: {text[:300]!r}")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    check_archives(json.dumps(sequential(("Dense", {"name": "dense", "units": 3}))))
    check_hdf5()
    check_long_chains()
    check_texts()
    shutil.rmtree(FOLDER)
    end()


if __name__ == "__main__":
    main()
