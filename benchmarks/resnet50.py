# SPDX-License-Identifier: BSD-3-Clause
"""ResNet-50 from a file of Keras to its first prediction, and its latency beside ONNX Runtime's on the same file.

    python3 resnet50.py <the program stagecraft> <folder> --keras <python> [--onnxruntime <python>]
                        [--compiler "g++ -O3 -march=native"] [--output build/benchmark/results/resnet50.json]

Keras 2 makes resnet50.h5 in the folder with random weights, and predicts for one picture. Then: import, compile, first
prediction, which is compared with Keras's, each with its seconds by the clock and of the processor. The model is saved and
exported as resnet50.onnx; both run it for batches of one on one thread, in turns, and the least time of each counts. --output
writes what table.py reads: its row stands beside the others'.
"""
import argparse
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BOUND = 1e-5

KERAS = r"""
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np
model = keras.applications.ResNet50(weights=None)
random = np.random.default_rng(1)
def values(weight):
    if weight.shape.rank > 1:
        return random.normal(0, np.prod(weight.shape[:-1]) ** -0.5, weight.shape)
    return random.uniform(-0.2, 0.2, weight.shape) + ("gamma" in weight.name or "variance" in weight.name)
model.set_weights([values(weight) for weight in model.weights])
x = random.uniform(0, 1, (1, 224, 224, 3)).astype("float32")
model.save("resnet50.h5"); np.save("x.npy", x); np.save("y.npy", model.predict(x, verbose=0))
"""

PROGRAM = r"""
#include "resnet50.hpp"
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/weights.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
namespace sc = stagecraft;
inline constexpr auto run = sc::inference{.batch_size = 1};
int main(int count, char** arguments) {
  sc::predictor<models::resnet50, run> net;
  net.load_weights("resnet50.safetensors");
  auto const picture = sc::io::to_floats(sc::read_npy("x.npy")), expected = sc::io::to_floats(sc::read_npy("y.npy"));
  auto x = xt::xtensor<float, 4>::from_shape({1, 224, 224, 3});
  std::copy(picture.begin(), picture.end(), x.begin());
  auto y = net.predict(x);
  double off = 0, largest = 0;
  std::size_t i = 0;
  for (float const value : y) {
    off = std::fmax(off, std::fabs(value - expected[i]));
    largest = std::fmax(largest, std::fabs(expected[i++]));
  }
  std::printf("differs by %.1e\n", off / largest);
  if (count < 2) return 0;
  if (std::string(arguments[1]) == "save") return sc::save_model(net, "resnet50"), 0;
  double best = 1e9;
  for (int k = 0; k < std::stoi(arguments[1]); ++k) {
    auto const begin = std::chrono::steady_clock::now();
    y = net.predict(x);
    best = std::fmin(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("least %.4e s\n", best);
}
"""

ONNX_RUNTIME = r"""
import sys, time
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession("resnet50.onnx", options, providers=["CPUExecutionProvider"])
x, y = np.load("x.npy"), np.load("y.npy")
given = {session.get_inputs()[0].name: x}
found = session.run(None, given)[0]
print(f"differs by {np.max(np.abs(found - y)) / np.max(np.abs(y)):.1e}")
best = 1e9
for _ in range(int(sys.argv[1])):
    begin = time.perf_counter()
    session.run(None, given)
    best = min(best, time.perf_counter() - begin)
print(f"least {best:.4e} s, ONNX Runtime {onnxruntime.__version__}")
"""


class Parts:
    """Commands with what they took."""

    def __init__(self, folder):
        self.folder, self.rows = folder, []

    def run(self, what, command):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([str(each) for each in command], cwd=self.folder, capture_output=True, text=True)
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begin
        if done.returncode != 0:
            sys.exit(f"{what} failed:\n{done.stdout}{done.stderr}")
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if what:
            self.rows.append((what, seconds, used))
        return done.stdout

    def print(self):
        print("| part | seconds | of the processor |\n|---|---|---|")
        for what, seconds, used in [*self.rows, ("together", *map(sum, list(zip(*self.rows))[1:]))]:
            print(f"| {what} | {seconds:.1f} | {used:.1f} |")


def check(said, whose):
    off = float(re.search(r"differs by (\S+)", said)[1])
    print(f"{whose} differs from Keras by {off:.1e} of the largest value")
    if not off <= BOUND:
        sys.exit("which is too much")


def least(said):
    return float(re.search(r"least (\S+) s", said)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--keras", required=True, help="a Python with Keras 2")
    parser.add_argument("--onnxruntime", help="a Python with ONNX Runtime")
    parser.add_argument("--compiler", default="g++ -O3 -march=native")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    parts = Parts(given.folder)
    if not (given.folder / "y.npy").exists():
        parts.run("", [pathlib.Path(given.keras).absolute(), "-c", KERAS])
    (given.folder / "program.cpp").write_text(PROGRAM)
    parts.run("import", [given.program, "import", "resnet50.h5", "--output", "resnet50"])
    lines = len((given.folder / "resnet50.hpp").read_text().splitlines())
    parts.run("compile", [*shlex.split(given.compiler), "-std=c++20", "-I", HERE.parent / "include", "program.cpp", "-o", "program",
                          "-lzip", "-lz", "-pthread"])
    check(parts.run("weights and first prediction", ["./program"]), "stagecraft")
    parts.print()
    print(f"resnet50.hpp has {lines} lines")
    if not given.onnxruntime:
        return
    parts.run("", ["./program", "save"])
    parts.run("", [given.program, "export", "resnet50", "--to", "resnet50.onnx"])
    own, peer = [], []
    for _ in range(given.rounds):  # in turns: what else the machine does hits both
        own.append(least(parts.run("", ["./program", 5])))
        said = parts.run("", [pathlib.Path(given.onnxruntime).absolute(), "-c", ONNX_RUNTIME, 5])
        peer.append(least(said))
    check(said, "ONNX Runtime on the exported file")
    print(f"batch 1, one thread, least of {given.rounds * 5}: stagecraft {min(own) * 1e3:.1f} ms, "
          f"ONNX Runtime {re.search('ONNX Runtime (.*)', said)[1]} {min(peer) * 1e3:.1f} ms, ratio {min(own) / min(peer):.2f}")
    if given.output:
        name = "resnet50/predict/batch:1/threads:1/"
        entries = [{"name": name + whose, "run_name": name + whose, "run_type": "iteration", "family_index": i, "iterations": 5,
                    "real_time": min(times) * 1e3, "cpu_time": min(times) * 1e3, "time_unit": "ms"}
                   for i, (whose, times) in enumerate((("stagecraft", own), ("onnxruntime", peer)))]
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps({"context": {}, "benchmarks": entries}, indent=1) + "\n")


if __name__ == "__main__":
    main()
