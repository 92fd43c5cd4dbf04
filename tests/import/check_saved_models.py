# SPDX-License-Identifier: BSD-3-Clause
"""Imports SavedModels of real Keras (saved_models.tar.xz, made by tests/golden/make_saved_models.py), which have the
weights of the .h5 and .keras files that check_import.py has imported: headers and weights must be the same. Then come
folders that are wrong, each with the code that must be said.

    python3 tests/import/check_saved_models.py <the program stagecraft> <the folder of check_import.py>"""
import pathlib
import shutil
import struct
import sys
import tarfile

from program import check, end, run

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[2])
TABLE = [0] * 256
for index in range(256):
    value = index
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE[index] = value


def checksum(data):
    """CRC-32C, masked."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    return bytes(result) + bytes([number])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(kind, shape, offset, data, shard=0, size=None, extra=b""):
    dimensions = b"".join(field(2, field(1, length)) for length in shape)
    return (field(1, kind) + field(2, dimensions) + field(3, shard) + field(4, offset) + field(5, len(data) if size is None else size)
            + varint(6 << 3 | 5) + struct.pack("<I", checksum(data)) + extra)


def block(entries, kind=0):
    content = b"".join(varint(0) + varint(len(name)) + varint(len(value)) + name + value for name, value in entries)
    content += struct.pack("<II", 0, 1) + bytes([kind])
    return content + struct.pack("<I", checksum(content))


def table(entries, header=field(1, 1), kind=0):
    data = block([(b"", header), *sorted(entries.items())] if header is not None else sorted(entries.items()), kind)
    index = block([(b"z", varint(0) + varint(len(data) - 5))])
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def text_tensor(text):
    length = struct.pack("<I", len(text))
    return varint(len(text)) + struct.pack("<I", checksum(length)) + text, length + struct.pack("<I", checksum(length)) + text


def checkpoint(path, kernel=None, **options):
    """A folder whose model is one Dense layer, `kernel` is the entry of its weight in the table."""
    config = '{"class_name": "Sequential", "name": "s", "config": {"name": "s", "layers": [%s]}}' % ", ".join(
        ['{"class_name": "InputLayer", "config": {"batch_input_shape": {"class_name": "__tuple__", "items": [null, 2]}, "name": "i"}}',
         '{"class_name": "Dense", "config": {"name": "dense", "units": 3, "use_bias": false}}'])
    shutil.rmtree(path, ignore_errors=True)
    (path / "variables").mkdir(parents=True)
    child = lambda number, name: field(1, field(1, number) + field(2, name))
    saved = options.get("objects", [child(1, b"layer_with_weights-0"), child(2, b"kernel"), b""])
    (path / "saved_model.pb").write_bytes(field(2, field(7, b"".join(field(1, each) for each in saved))))
    layers = options.get("metadata", {0: config, 1: '{"name": "dense"}', **options.get("names", {})})
    (path / "keras_metadata.pb").write_bytes(b"".join(field(1, field(2, i) + field(5, text.encode())) for i, text in layers.items()))
    saved = saved[:2] + [field(2, field(1, b"VARIABLE_VALUE") + field(2, b"dense/kernel") + field(3, b"k"))] + saved[3:]
    graph, summed = text_tensor(options.get("graph", b"".join(field(1, each) for each in saved)))
    data = struct.pack("<6f", *range(6))
    (path / "variables/variables.data-00000-of-00001").write_bytes(graph + data)
    objects = entry(7, (), 0, summed, size=len(graph))
    kernel = kernel(len(graph), data) if kernel else entry(1, (2, 3), len(graph), data)
    entries = {b"_CHECKPOINTABLE_OBJECT_GRAPH": objects, b"k": kernel}
    (path / "variables/variables.index").write_bytes(table(entries, options.get("header", field(1, 1)), options.get("kind", 0)))


def models_in_each_other(levels, width):
    """Each model has all of the next level, so that paths are many more than objects; and their names."""
    first = lambda level: 1 + (level - 1) * width
    below = lambda level: b"".join(field(1, field(1, first(level) + i) + field(2, b"layer-%d" % i)) for i in range(width))
    objects = [below(1)] + [below(level + 1) if level < levels else b"" for level in range(1, levels + 1) for _ in range(width)]
    return {"objects": objects, "names": {i: '{"name": "%d%s"}' % (i, "x" * 1000) for i in range(1, len(objects))}}


def refused(code, *texts, kernel=None, change=None, **options):
    path = FOLDER / "wrong_saved"
    checkpoint(path, kernel, **options)
    if change:
        change(path)
    status, text = run("show", path)
    check(status == 1 and f"[{code}]" in text, f"{texts}: exit code {status}, expected 1 and {code}: {text}")
    for each in texts:
        check(each in text, f"'{each}' is missing in: {text}")


def changed(file, change):
    def apply(path):
        data = bytearray((path / file).read_bytes())
        (path / file).write_bytes(change(data))
    return apply


def flipped(place):
    def flip(data):
        data[place] ^= 1
        return data
    return flip


def check_refusals():
    checkpoint(FOLDER / "good_saved")
    code, text = run("show", FOLDER / "good_saved")
    check(code == 0 and "kernel (2, 3)" in text, text)
    index, data = "variables/variables.index", "variables/variables.data-00000-of-00001"
    refused("E5100", "48 bytes", change=changed(index, lambda bytes: bytes[:20]))
    refused("E5100", "does not end as tables do", change=changed(index, lambda bytes: bytes[:-4]))
    refused("E5100", "a block has another checksum", change=changed(index, flipped(30)))
    refused("E5100", "tensor 'k' has another checksum", change=changed(data, flipped(-3)))
    refused("E5100", "_CHECKPOINTABLE_OBJECT_GRAPH' has another checksum", change=changed(data, flipped(12)))
    refused("E5100", "of which tensor 'k' takes 24", change=changed(data, lambda bytes: bytes[:-3]))
    refused("E5001", "data-00000-of-00001", change=lambda path: (path / data).unlink())
    refused("E5001", "variables.index", change=lambda path: (path / index).unlink())
    refused("E5100", "snappy", kind=1)
    refused("E5100", "not known", kind=7)
    refused("E5100", "big-endian", header=field(1, 1) + field(2, 1))
    refused("E5100", "no header", header=None)
    refused("E5100", "0 files", header=field(1, 0))
    refused("E5101", "complex64", kernel=lambda at, data: entry(8, (3,), at, data))
    refused("E5101", "string", kernel=lambda at, data: entry(7, (3,), at, data))
    refused("E5101", "type 99", kernel=lambda at, data: entry(99, (3,), at, data))
    refused("E5065", "kernel has the shape (6,), expected (2, 3)", kernel=lambda at, data: entry(1, (6,), at, data))
    refused("E5100", "24 bytes", kernel=lambda at, data: entry(2, (2, 3), at, data))
    refused("E5100", "24 bytes", kernel=lambda at, data: entry(1, (1 << 40, 1 << 40), at, data))
    refused("E5100", "file 3 of 1", kernel=lambda at, data: entry(1, (2, 3), at, data, shard=3))
    refused("E5100", "slices", kernel=lambda at, data: entry(1, (2, 3), at, data, extra=field(7, b"")))
    refused("E5100", "of which tensor 'k'", kernel=lambda at, data: entry(1, (2, 3), 1 << 62, data))
    refused("E5102", "no objects", graph=b"")
    refused("E5102", "is object 7 of 1", graph=field(1, field(1, field(1, 7) + field(2, b"layer_with_weights-0"))))
    refused("E5102", "cut off", graph=b"\x0a\x7f")
    refused("E5065", "layer 'dense' has 0 arrays", graph=field(1, b""))
    refused("E5102", "in each other too often", **models_in_each_other(levels=12, width=4))
    refused("E5240", "'serve'", metadata={})
    refused("E5102", "no JSON", metadata={0: "{"})
    refused("E5102", "no JSON", metadata={0: "[" * 100000})
    refused("E5063", "the model is a Mine", metadata={0: '{"class_name": "Mine", "config": {}}'})
    refused("E5102", "no object", metadata={0: "[]"})
    refused("E5102", "cut off", change=changed("keras_metadata.pb", lambda bytes: bytes[:-4]))
    refused("E5102", "cut off", change=changed("saved_model.pb", lambda bytes: bytes[:-4]))


def main():
    for old in FOLDER.glob("*_saved"):
        shutil.rmtree(old)
    with tarfile.open(HERE / "saved_models.tar.xz") as archive:
        archive.extractall(FOLDER)
    (FOLDER / "saved").mkdir(exist_ok=True)
    for path in sorted(FOLDER.glob("*_saved")):
        name = path.name.removesuffix("_saved")
        output = FOLDER / "saved" / name
        code, text = run("import", path, "--output", output)
        check(code == 0, f"{path.name}: {text}")
        if code != 0:
            continue
        header, expected = (each.read_text().partition("\n")[2] for each in (output.with_suffix(".hpp"), HERE / "expected" / f"{name}.hpp"))
        check(header == expected, f"{path.name}: {name}.hpp differs")
        weights = [folder / f"{name}.safetensors" for folder in (output.parent, FOLDER)]
        check(weights[0].read_bytes() == weights[1].read_bytes(), f"{path.name}: its weights are not those of {name}")
    check_refusals()
    end()


if __name__ == "__main__":
    main()
