# SPDX-License-Identifier: BSD-3-Clause
"""Writes tensor_files/: small files by NumPy and by Hugging Face's safetensors, which the readers are tested with.

    python3 make_tensor_files.py        needs numpy and safetensors; made with numpy 1.26 and safetensors 0.4 or newer
"""
import pathlib

import numpy as np
import safetensors.numpy

folder = pathlib.Path(__file__).parent / "tensor_files"
folder.mkdir(exist_ok=True)
kernel = np.arange(6, dtype=np.float32).reshape(2, 3) / 4 - 0.5
tensors = {"dense/kernel:0": kernel, "half": np.array([1.5, -0.25, 65504, 5.96e-08], np.float16),
           "iter": np.array(7, np.int64), "mask": np.array([True, False]), "empty": np.zeros((0, 3), np.float64)}
safetensors.numpy.save_file(tensors, folder / "all.safetensors", {"made_by": "safetensors"})
np.savez(folder / "stored.npz", **tensors)
np.savez_compressed(folder / "deflated.npz", **tensors, zeros=np.zeros((40, 50), np.float32))
np.save(folder / "columns.npy", np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)))
np.save(folder / "big_endian.npy", kernel.astype(">f4"))
np.save(folder / "pickle.npy", np.array([{"a": 1}], dtype=object))
np.save(folder / "records.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
