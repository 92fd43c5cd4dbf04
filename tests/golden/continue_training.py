# SPDX-License-Identifier: BSD-3-Clause
"""Trainings that Keras begins, the library goes on with, and Keras ends: from .h5 files of Keras 2 and .keras files of Keras 3,
with the optimizer's numbers. Which of them says the Python that runs it.

    python3 tests/golden/continue_training.py <folder> [--compiler "g++ -O1"]

Keras trains two epochs and saves; then both go on for three, and what the library has saved goes on in Keras for three more.
Prints how far the weights are from Keras's own, in parts of the largest of each; 1e-5 is the bound. In Keras 2 each optimizer is
that of Keras 2.6 (`optimizers.legacy`) and that of Keras 2.15; RMSprop of 2.15 and of Keras 3 has its epsilon at another place. The
files trained/ of tests/import/models.tar.xz are some of those that are left in the folder.

Made with TensorFlow 2.15.1 and its Keras 2.15.0, and with Keras 3.15.1 on JAX."""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from make_keras_models import write_safetensors

HERE = pathlib.Path(__file__).parent
BOUND = 1e-5
L, IS_3 = keras.layers, keras.__version__.startswith("3")
ENDING = ".keras" if IS_3 else ".h5"
MODULES = {"": keras.optimizers} if IS_3 else {"": keras.optimizers.legacy, "_newer": keras.optimizers}
OPTIMIZERS = {  # here, and in Keras
    "adam": ("adam{}", "Adam", {}),
    "amsgrad": ("adam{.learning_rate = 0.01F, .amsgrad = true}", "Adam", {"learning_rate": 0.01, "amsgrad": True}),
    "sgd": ("sgd{.learning_rate = 0.02F, .momentum = 0.9F}", "SGD", {"learning_rate": 0.02, "momentum": 0.9}),
    "nesterov": ("sgd{.momentum = 0.9F, .nesterov = true}", "SGD", {"momentum": 0.9, "nesterov": True}),
    "plain_sgd": ("sgd{.clipnorm = 0.5F}", "SGD", {"clipnorm": 0.5}),
    "rmsprop": ("rmsprop{.momentum = 0.5F, .centered = true}", "RMSprop", {"momentum": 0.5, "centered": True}),
    "adamax": ("adamax{}", "Adamax", {}),
    "adadelta": ("adadelta{.learning_rate = 0.5F}", "Adadelta", {"learning_rate": 0.5}),
}
PROGRAM = r"""
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdio>
#include <string>
namespace sc = stagecraft;
using namespace sc::layers;
using model = sc::sequential<input{4, 3}, lstm{3}, batch_normalization{}, dense{1}>;
constexpr auto of(auto optimizer) {
  return sc::training{.optimizer = optimizer, .loss = sc::losses::mean_squared_error{}, .batch_size = 4};
}
template <std::size_t Rank> auto read(std::string const& path) {
  auto const file = sc::read_npy(path);
  std::array<std::size_t, Rank> shape{};
  std::copy(file.shape.begin(), file.shape.end(), shape.begin());
  auto tensor = xt::xtensor<float, Rank>::from_shape(shape);
  auto const values = sc::io::to_floats(file);
  std::copy(values.begin(), values.end(), tensor.begin());
  return tensor;
}
template <auto const& Training> void go(std::string const& folder, std::string const& from, std::string const& to) {
  sc::trainer<model, Training> trainer(7);
  trainer.load(folder + "/" + from);
  trainer.fit(read<3>(folder + "/x.npy"), read<2>(folder + "/y.npy"), {.epochs = 3, .verbose = 0, .shuffle = false});
  sc::save_model(trainer, folder + "/" + to);
}
"""


def program_of(names):
    text, calls = PROGRAM, ""
    for name in names:
        text += f"inline constexpr auto {name} = of(sc::optimizers::{OPTIMIZERS[name][0]});\n"
        for age in MODULES:
            calls += f'  go<{name}>(argv[1], "trained_{name}{age}{ENDING}", "continued_{name}{age}{ENDING}");\n'
    return text + "int main(int, char** argv) try {\n" + calls + "} catch (std::exception const& why) {\n  std::puts(why.what());\n  return 1;\n}\n"


def make_model(optimizer):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4, 3)), L.LSTM(3), L.BatchNormalization(), L.Dense(1)])
    model.compile(optimizer, "mse")
    return model


def difference(found, expected):
    return max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)) for a, b in zip(found, expected, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--compiler", default="g++ -O1")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    x, y = (np.round(random.normal(size=shape) * 64).astype("float32") / 64 for shape in ((32, 4, 3), (32, 1)))
    np.save(folder / "x.npy", x), np.save(folder / "y.npy", y)

    def train(model, epochs):
        model.fit(x, y, batch_size=4, epochs=epochs, verbose=0, shuffle=False)
        return model.get_weights()

    after, values = {}, {"x": x, "y": y}
    for name, (_, kind, options) in OPTIMIZERS.items():
        for age, module in MODULES.items():
            model = make_model(getattr(module, kind)(**options))
            train(model, 2)
            model.save(folder / f"trained_{name}{age}{ENDING}")
            after[name + age] = train(model, 3), train(model, 3)
            for i, weight in enumerate(after[name + age][0]):
                values[f"{name}{age}:{i}"] = weight
    write_safetensors(folder / "trained_values.safetensors", values)

    (folder / "continue.cpp").write_text(program_of(OPTIMIZERS))
    hdf5 = shlex.split(subprocess.run("pkg-config --cflags --libs hdf5", shell=True, capture_output=True, text=True).stdout)
    subprocess.run([*shlex.split(arguments.compiler), "-std=c++20", "-march=native", "-I", HERE.parents[1] / "include",
                    folder / "continue.cpp", "-o", folder / "continue", *hdf5, "-lzip", "-lz", "-pthread"], check=True)
    subprocess.run([folder / "continue", folder], check=True)
    failures = 0
    print("| optimizer | steps | the library goes on | then Keras goes on |\n|---|---|---|---|")
    for name, (ours, theirs) in after.items():
        model = keras.models.load_model(folder / f"continued_{name}{ENDING}")
        first, steps = difference(model.get_weights(), ours), int(model.optimizer.iterations)
        second = difference(train(model, 3), theirs)
        failures += not (first <= BOUND and second <= BOUND and steps == 40)
        print(f"| {name} | {steps} | {first:.1e} | {second:.1e} |", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
