# SPDX-License-Identifier: BSD-3-Clause
"""Loads exported models in real Keras, and compares what they predict with what is recorded: 1e-5 of the largest value.

    python3 tests/golden/check_exports.py --committed  what tests/import/exports.tar.xz has, and each model.json of a bundle in it
    python3 tests/golden/check_exports.py <folder>     the folder has <name>.h5, .keras, .weights.h5, <name>_js/model.json
                                                       and <name>/model.json, as tests/import/check_export.py leaves them

Keras 2 reads the .h5, the description in a bundle's model.json, and TensorFlow.js's folder by the loader of Python's tensorflowjs, Keras 3
the .keras and .weights.h5; of .h5 files, those of Keras 2 itself as well, it reads some only. Run with TensorFlow 2.15.1 and its Keras 2.15.0 and tensorflowjs 4.17.0, and with Keras 3.15.1 on JAX."""
import importlib
import importlib.util
import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import types

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiles sooner what runs once

import numpy as np

import keras
from safetensors_file import read_safetensors



def unpack_committed():
    """The committed exports, and what is recorded of their models."""
    folder, inputs = pathlib.Path(tempfile.mkdtemp()), pathlib.Path(__file__).parents[1] / "import"
    for packed in ("models.tar.xz", "exports.tar.xz"):
        with tarfile.open(inputs / packed) as archive:
            archive.extractall(folder / packed.partition(".")[0])
    for bundle in (folder / "exports").glob("*/model.json"):
        name = bundle.parent.name
        if name.endswith("_js"):
            continue
        recorded = [folder / "models" / f"{each}_values.safetensors" for each in ("mlp" if name == "staged" else name, f"{name}_3")]
        shutil.copy(next(path for path in recorded if path.exists()), folder / "exports" / f"{name}_values.safetensors")
    return folder / "exports"


FOLDER = unpack_committed() if sys.argv[1] == "--committed" else pathlib.Path(sys.argv[1])
IS_KERAS_2 = keras.__version__.startswith("2.")
failures = 0


def difference(model, values):
    inputs = [values[f"inputs:{i}"] for i in range(len(model.inputs))]
    found = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    found = found if isinstance(found, (list, tuple)) else [found]
    outputs = [values[f"outputs:{i}"] for i in range(len(found))]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, outputs))


def check(what, make, values):
    global failures
    keras.backend.clear_session()
    try:
        off = difference(make(), values)
        text = f"differs by {off:.1e}"
        failures += off > 1e-5
    except Exception as problem:  # what Keras says of a file is what is asked here
        failures += 1
        text = f"FAILED: {type(problem).__name__}: {problem}"
    print(f"Keras {keras.__version__}, {what}: {text}", flush=True)


def load(path):
    return keras.models.load_model(path, compile=False)


def from_description(name):
    """The model that model_from_json makes of a bundle's model.json, with the weights of the bundle by name."""
    model = keras.models.model_from_json((FOLDER / name / "model.json").read_text())
    if not (FOLDER / name / "training.json").exists():  # a committed description alone: the weights are those of the .h5
        model.set_weights(load(FOLDER / f"{name}.h5").get_weights())
        return model
    arrays = read_safetensors(FOLDER / name / "weights.safetensors")
    tree = json.loads((FOLDER / name / "training.json").read_text())
    order = {path: i for i, path in enumerate(tree["trainable_weights"] + tree["non_trainable_weights"])}
    weights = {}
    for path in sorted(order, key=order.get):
        weights.setdefault(path.split("/")[0], []).append(arrays[path])
    for layer in model.layers:
        if layer.weights:
            own = layer.trainable_weights + layer.non_trainable_weights
            for variable, array in zip(own, weights[layer.name], strict=True):
                variable.assign(array)
    return model


def import_tfjs():
    # The package's own __init__ needs what nothing here does.
    place = pathlib.Path(next(iter(importlib.util.find_spec("tensorflowjs").submodule_search_locations)))
    for name in ("tensorflowjs", "tensorflowjs.converters"):
        module = types.ModuleType(name)
        module.__path__ = [str(place / "converters" if name.endswith("converters") else place)]
        sys.modules.setdefault(name, module)
    return importlib.import_module("tensorflowjs.converters.keras_tfjs_loader")


def load_js(folder):
    if "tensorflowjs.converters.keras_tfjs_loader" not in sys.modules:
        import_tfjs()
    keras_tfjs_loader = sys.modules["tensorflowjs.converters.keras_tfjs_loader"]
    return keras_tfjs_loader.load_keras_model(str(folder / "model.json"), use_unique_name_scope=False)


def load_weights(name):
    model = load(FOLDER / f"{name}.keras")
    model.set_weights([0 * w for w in model.get_weights()])
    model.load_weights(FOLDER / f"{name}.weights.h5")
    return model


for path in sorted(FOLDER.glob("*.h5")):
    if path.name.endswith(".weights.h5"):
        continue
    name = path.stem
    recorded = read_safetensors(FOLDER / f"{name}_values.safetensors")
    if IS_KERAS_2:
        check(path.name, lambda: load(path), recorded)
        check(f"{name}/model.json", lambda: from_description(name), recorded)
        check(f"{name}_js", lambda: load_js(FOLDER / f"{name}_js"), recorded)
    else:
        check(f"{name}.keras", lambda: load(FOLDER / f"{name}.keras"), recorded)
        check(f"{name}.weights.h5", lambda: load_weights(name), recorded)
sys.exit(failures > 0)
