# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of float32 in a safetensors file, by name."""
import json

import numpy as np


def read_safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[8 + length + first : 8 + length + last], "<f4").reshape(entry["shape"])
    return arrays
