# SPDX-License-Identifier: BSD-3-Clause
"""Models of make_keras_models.py as Keras 2 saves them in TensorFlow's format: tests/import/saved_models.tar.xz, with the
weights that their .h5 and .keras have.

    python3 tests/golden/make_saved_models.py

Made with TensorFlow 2.15.1 and its Keras 2.15.0. `mlp` has been trained, and has its functions; `shared` has functions,
and its variables are in two files, as several workers write them; of `nested` one weight is float64, one bfloat16."""
import pathlib
import shutil
import sys
import tarfile
import tempfile

sys.argv = sys.argv[:1]
import keras
import make_keras_models as models
import numpy as np
import tensorflow as tf
from numpy.random import default_rng

HERE = pathlib.Path(__file__).parents[1] / "import"
ALL = [models.mlp, models.cnn, models.lstm, models.nested, models.attention, models.shared]


def rewrite(folder, change, parts=1):
    """Writes a folder's variables anew, as TensorFlow does, in so many files."""
    prefix = str(folder / "variables/variables")
    reader = tf.train.load_checkpoint(prefix)
    tensors = {name: change(name, tf.constant(reader.get_tensor(name))) for name in sorted(reader.get_variable_to_shape_map())}
    shutil.rmtree(folder / "variables")
    (folder / "variables/variables_temp").mkdir(parents=True)
    names = list(tensors)
    written = [f"{prefix}_temp/part{i}" for i in range(parts)]
    for i, part in enumerate(written):
        own = names[i::parts]
        tf.raw_ops.SaveV2(prefix=part, tensor_names=own, shape_and_slices=[""] * len(own), tensors=[tensors[n] for n in own])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=written, destination_prefix=prefix)


def other_type(name, value):
    if "layer_with_weights-1/layer_with_weights-0/kernel/" in name:
        return tf.cast(value, tf.float64)
    if "layer_with_weights-0/layer_with_weights-0/kernel/" in name:  # whose values have few bits
        return tf.cast(value, tf.bfloat16)
    return value


def main():
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        for make in ALL:
            keras.backend.clear_session()
            model = make()
            if make is models.mlp:
                model.compile("adam", "mse", metrics=["mae"])
                model.fit(np.zeros((4, 6)), np.zeros((4, 3)), verbose=0)
            if make is models.attention:
                model._name = "functional"  # as Keras 3 calls it
            random = default_rng(sum(map(ord, make.__name__)))
            weights = [np.round(random.normal(0, 0.3, w.shape) * 64) / 64 for w in model.get_weights()]
            model.set_weights([abs(w) + 0.5 if "moving_variance" in v.name else w for w, v in zip(weights, model.weights)])
            folder = root / f"{make.__name__}_saved"
            model.save(folder, save_format="tf", save_traces=make in (models.mlp, models.shared))
            if make is models.shared:
                rewrite(folder, lambda _, value: value, 2)
            if make is models.nested:
                rewrite(folder, other_type)
        with tarfile.open(HERE / "saved_models.tar.xz", "w:xz", preset=9) as packed:
            for path in sorted(root.rglob("*")):
                if path.is_file() and path.name != "fingerprint.pb":
                    info = packed.gettarinfo(path, str(path.relative_to(root)))
                    info.mtime, info.uid, info.gid, info.uname, info.gname = 1795564800, 0, 0, "root", "root"
                    with path.open("rb") as file:
                        packed.addfile(info, file)


if __name__ == "__main__":
    main()
