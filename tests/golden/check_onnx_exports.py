# SPDX-License-Identifier: BSD-3-Clause
"""Runs exported models in onnxruntime, and compares what they predict with what is recorded: 1e-5 of the largest value.

    python3 tests/golden/check_onnx_exports.py <folder>     the folder has <name>.onnx and <name>_values.safetensors, as
                                                            tests/import/check_export.py leaves them

Run with onnx 1.14.1, whose checker looks at each file, and onnxruntime 1.16.3."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from safetensors_file import read_safetensors


def main():
    failures = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
        onnx.checker.check_model(onnx.load(path), full_check=True)
        values = read_safetensors(path.with_name(path.stem + "_values.safetensors"))
        session = onnxruntime.InferenceSession(str(path))
        given = {of.name: values[f"inputs:{i}"] for i, of in enumerate(session.get_inputs())}
        found = session.run(None, given)
        off = max(float(np.max(np.abs(y - values[f"outputs:{i}"])) / np.max(np.abs(y))) for i, y in enumerate(found))
        failures += off > 1e-5
        print(f"{path.name}: differs by {off:.1e}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
