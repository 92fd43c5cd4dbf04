# SPDX-License-Identifier: BSD-3-Clause
"""HDF5 files that swell, for tests/import/check_hostile_files.py.

    python3 make_hostile_files.py     writes ../import/hostile_files.tar.xz

Made with h5py 3."""
import io
import json
import pathlib
import tarfile
import tempfile
import zlib

import h5py
import numpy as np

OUTPUT = pathlib.Path(__file__).parent.parent / "import" / "hostile_files.tar.xz"


def model(file, units):
    layers = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, units], "name": "input"}},
              {"class_name": "Dense", "config": {"name": "dense", "units": units, "use_bias": False}}]
    file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"name": "sequential", "layers": layers}})
    group = file.create_group("model_weights")
    group.attrs["layer_names"] = [b"dense"]
    group = group.create_group("dense")
    group.attrs["weight_names"] = [b"dense/kernel:0"]
    return group


def zeros(file):
    """196 MB of zeros, as the model needs them, in 0.2 MB."""
    model(file, 7000).create_dataset("dense/kernel:0", (7000, 7000), "float32", np.zeros((7000, 7000), "float32"),
                                     chunks=(1000, 7000), compression="gzip", compression_opts=9)


def chunk(file):
    """A chunk that says 64 kB and inflates to 400 MB."""
    data = model(file, 128).create_dataset("dense/kernel:0", (128, 128), "float32", chunks=(128, 128), compression="gzip")
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(400)) + packer.flush()
    data.id.write_direct_chunk((0, 0), packed)


def main():
    with tempfile.TemporaryDirectory() as name, tarfile.open(OUTPUT, "w:xz") as archive:
        for make in (zeros, chunk):
            path = pathlib.Path(name) / f"{make.__name__}.h5"
            with h5py.File(path, "w") as file:
                make(file)
            facts = tarfile.TarInfo(path.name)
            facts.size = path.stat().st_size
            archive.addfile(facts, io.BytesIO(path.read_bytes()))
            print(path.name, facts.size)


main()
