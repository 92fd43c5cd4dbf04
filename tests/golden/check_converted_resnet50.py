# SPDX-License-Identifier: BSD-3-Clause
"""ResNet-50 from a file of Keras is divided among emulated IPUs, run and served, with Keras's predictions.

    check_converted_resnet50.py <the program stagecraft> <folder> [--compiler c++] [--flag FLAG]... [--only 2] [--fp16]

Needs tensorflow-cpu 2.15 for the first time, when resnet50.h5, images.npy and expected.npy are made in the folder. Run
by hand: each compilation takes minutes. What is there already is compiled no more.
"""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np


def make_model(folder):
    """Weights are random, with moving statistics that are not the defaults, and outputs that differ."""
    import tensorflow as tf
    tf.keras.utils.set_random_seed(1)
    numbers = np.random.default_rng(1)
    model = tf.keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3))
    for layer in model.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            count = layer.gamma.shape[0]
            layer.set_weights([numbers.uniform(0.5, 1, count), numbers.normal(0, 0.1, count),
                               numbers.normal(0, 0.2, count), numbers.uniform(0.5, 2, count)])
    head = model.get_layer("predictions")
    kernel, bias = head.get_weights()
    head.set_weights([kernel * 20, numbers.normal(0, 0.3, bias.shape)])
    images = numbers.normal(size=(8, 224, 224, 3)).astype("float32")
    model.save(folder / "resnet50.h5")
    np.save(folder / "images.npy", images)
    np.save(folder / "expected.npy", model.predict(images, batch_size=4, verbose=0))


def run(what, *command):
    begin = time.time()
    result = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"{what}: {time.time() - begin:.0f} s")
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def check(what, found, expected, tolerance):
    difference = float(np.max(np.abs(found - expected)))
    print(f"{what}: differs by {difference:.3g} at most, of outputs up to {expected.max():.3g}")
    if found.shape != expected.shape or not difference <= tolerance:
        sys.exit(f"{what}: more than {tolerance}")


def ask_server(tool, application, images):
    """The predictions of a server, by TensorFlow Serving's REST."""
    with socket.socket() as any_free:
        any_free.bind(("127.0.0.1", 0))
        port = any_free.getsockname()[1]
    server = subprocess.Popen([tool, "serve", "--model_name", "resnet50", "--model_base_path", application,
                               "--rest_api_port", str(port), "--rest_api_timeout_in_ms", "0"], stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/v1/models/resnet50"
        for _ in range(300):
            try:
                urllib.request.urlopen(address).read()
                break
            except OSError:
                time.sleep(0.1)
        body = json.dumps({"instances": images.tolist()}).encode()
        with urllib.request.urlopen(urllib.request.Request(address + ":predict", body)) as reply:
            return np.array(json.load(reply)["predictions"])
    finally:
        server.terminate()
        server.wait()


options = argparse.ArgumentParser()
options.add_argument("tool")
options.add_argument("folder", type=pathlib.Path)
options.add_argument("--compiler", default="c++")
options.add_argument("--flag", action="append", default=[])
options.add_argument("--only", type=int, action="append")
options.add_argument("--fp16", action="store_true")
given = options.parse_args()
if not (given.folder / "expected.npy").exists():
    make_model(given.folder)
images, expected = np.load(given.folder / "images.npy"), np.load(given.folder / "expected.npy")
precision, tolerance = ("FP16", 1e-2) if given.fp16 else ("FP32", 1e-5)
for ipus in given.only or (2, 4):
    place = given.folder / f"on_{ipus}_{precision}"
    what = f"{ipus} IPUs, {precision}"
    if not (place / "application.so").exists():
        pipeline = {"converter": "auto", "priority": "cycle", "min_ipu_quantity": ipus, "max_ipu_quantity": ipus,
                    "profiling_root_dir": f"{place}_profile", "solution_dir": f"{place}_solution"}
        runtime = {"embedded_runtime_exec_cachedir": f"{place}_cache", "runtime_api_timeout_us": 5000}
        said = run(f"{what}, converted", given.tool, "convert", "--dir", given.folder / "resnet50.h5", "--output_dir", place, "ipu",
                   "--batch_size", "4", "--precision_mode", precision, "--int64_to_int32_conversion",
                   "--embedded_runtime_save_config", json.dumps(runtime), "--pipeline_cfg", json.dumps(pipeline),
                   "--compiler", given.compiler, *(f"--flag={flag}" for flag in given.flag))
        print(said.splitlines()[0])
    name = json.loads((place / "model.json").read_text())["config"]["input_layers"][0][0]
    run(f"{what}, run", given.tool, "run", "--dir", place, "--tag_set", "serve", "--signature_def", "serving_default",
        "--inputs", f"{name}={given.folder}/images.npy", "--outdir", f"{place}_out", "--overwrite")
    output = next(pathlib.Path(f"{place}_out").glob("*.npy"))
    check(f"{what}, run", np.load(output), expected, tolerance)
    check(f"{what}, served", ask_server(given.tool, place, images), expected, tolerance)
