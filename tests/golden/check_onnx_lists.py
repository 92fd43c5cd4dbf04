# SPDX-License-Identifier: BSD-3-Clause
"""Runs the ONNX files of all words of `ops` and of the layers in tests/words with onnxruntime, and compares its outputs with
the library's predictions.

    STAGECRAFT_ONNX_FOLDER=/tmp/lists build/.../io_tests -sf='*onnx*'          writes files and predictions
    python check_onnx_lists.py /tmp/lists [--update]                          compares; --update writes onnx_lists.txt

onnx_lists.txt has the checksum of each file, which the test compares where there is no onnxruntime."""
import pathlib
import sys

import numpy as np
import onnxruntime

TARGET = pathlib.Path(__file__).resolve().parent / "onnx_lists.txt"
TOLERANCE = 2e-5


def difference(path):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    numbers = lambda kind: np.fromfile(path.with_suffix("." + kind), np.float32)
    given = {}
    for each in session.get_inputs():
        # A state, "lstm/states_0", begins with zeros; a model has one input beside states.
        kinds = [kind for kind in (each.name, "input") if "/" not in each.name and path.with_suffix("." + kind).exists()]
        given[each.name] = (numbers(kinds[0]) if kinds else np.zeros(each.shape, np.float32)).reshape(each.shape)
    outputs = [each.name for each in session.get_outputs() if not each.name.endswith("_next")]
    found = [y.reshape(y.shape[0] if y.ndim else 1, -1) for y in session.run(outputs, given)]
    found = (found[0] if len(found) == 1 else np.concatenate(found, 1)).ravel()
    expected = numbers("output")
    if found.shape != expected.shape:
        return np.inf
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        apart = np.where(same, 0, np.abs(found - expected) / (1 + np.abs(expected)))
    return float(np.max(np.nan_to_num(apart, nan=np.inf), initial=0))


def main():
    folder = pathlib.Path(sys.argv[1])
    wrong, worst, count = [], ("", 0.0), 0
    for path in sorted(folder.glob("*.onnx")):
        try:
            here = difference(path)
        except Exception as problem:  # what onnxruntime throws has no common type
            wrong.append(f"{path.stem}: {str(problem)[:200]}")
            continue
        count += 1
        if not here <= TOLERANCE:
            wrong.append(f"{path.stem}: differs by {here:.2g}")
        elif here > worst[1]:
            worst = (path.stem, here)
    refused = [line for line in (folder / "checksums.txt").read_text().splitlines() if " E5" in line]
    print("\n".join(wrong))
    print(f"{count} files run by onnxruntime {onnxruntime.__version__}; the largest difference is {worst[1]:.2g} ({worst[0]}); "
          f"{len(refused)} refused, {len(wrong)} wrong")
    if "--update" in sys.argv and not wrong:
        lines = ["# Checksums of the ONNX files of words and layers, made by check_onnx_lists.py --update with onnxruntime "
                 f"{onnxruntime.__version__}; E5260: refused."]
        TARGET.write_text("\n".join(lines + sorted((folder / "checksums.txt").read_text().splitlines())) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
