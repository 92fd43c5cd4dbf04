# SPDX-License-Identifier: BSD-3-Clause
"""Models of Keras 2.15 and Keras 3 there and back: each is made and saved by both, imported, compiled, its predictions are
compared with Keras's, it is saved by the library, exported, and loaded by both and by ONNX Runtime, which predict again.

    python3 tests/golden/round_trip.py <the program stagecraft> <folder> --keras-2 <python> --keras-3 <python>
                                       [--onnxruntime <python>] [--compiler "g++ -O1"] [name ...]

Prints a table of differences in parts of the largest value; 1e-5 is the bound, and what is beyond it, or fails, ends the
program with 1. Steps whose results are in the folder are not done again. The interpreters have tensorflow-cpu 2.15 (and
tensorflowjs 4.17), Keras 3 with JAX, onnxruntime."""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import time

from safetensors_file import read_safetensors

HERE = pathlib.Path(__file__).parent
BOUND = 1e-5
PROGRAM = r"""
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/weights.hpp>
#include <cmath>
#include <cstdio>
#include "HEADER"
namespace sc = stagecraft;
inline constexpr auto run = sc::inference{.batch_size = 2};
template <std::size_t Rank> auto recorded(sc::tensor_file const& file, std::string const& name) {
  auto const* const found = file.find(name);
  std::array<std::size_t, Rank> shape{};
  std::copy(found->shape.begin(), found->shape.end(), shape.begin());
  auto tensor = xt::xtensor<float, Rank>::from_shape(shape);
  auto const values = sc::io::to_floats(*found);
  std::copy(values.begin(), values.end(), tensor.begin());
  return tensor;
}
double off(auto const& found, sc::tensor_file const& file, std::string const& name) {
  auto const values = sc::io::to_floats(*file.find(name));
  if (values.size() != found.size()) return INFINITY;
  double largest = 0, off = 0;
  std::size_t i = 0;
  for (float const value : found) {
    largest = std::fmax(largest, std::fabs(values[i]));
    off = std::isnan(value) ? INFINITY : std::fmax(off, std::fabs(value - values[i]));
    ++i;
  }
  return off / largest;
}
double off(auto const& predicted, sc::tensor_file const& file) {
  double largest = 0;
  int output = 0;
  auto const look = [&](auto const& each) {
    largest = std::fmax(largest, off(each, file, "outputs:" + std::to_string(output++)));
  };
  if constexpr (requires { predicted.size(); })
    look(predicted);
  else
    std::apply([&](auto const&... each) { (look(each), ...); }, predicted);
  return largest;
}
int main(int, char** argv) {
  sc::predictor<models::TYPE, run> model;
  model.load_weights(argv[1]);
  for (int i = 3; argv[i] != nullptr; i += 2) {  // values, and the file that Keras has saved
    sc::predictor<models::TYPE, run> other(7);
    other.load_weights(argv[i + 1]);
    if (other.get_weights() != model.get_weights()) return std::puts("the weights differ"), 1;
    auto const file = sc::read_safetensors(argv[i]);
    std::printf("differs by %.1e\n", off(model.predict(INPUTS), file));
  }
  sc::save_model(model, argv[2]);
}
"""


class Failure(Exception):
    pass


def output_of(command, folder=None, may_fail=False):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0 and not may_fail:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise Failure(next((line for line in lines if "error:" in line), lines[-1] if lines else f"exit code {done.returncode}"))
    return done.stdout + done.stderr


def make_models(arguments):
    for python, ending in ((arguments.keras_2, ".h5"), (arguments.keras_3, ".keras")):
        if not list(arguments.folder.glob(f"*{ending}")):
            output_of([python, HERE / "make_keras_models.py", "--all", arguments.folder])


class Model:
    """One of Keras's models on its way; what is measured stands in `row`."""

    def __init__(self, name, arguments):
        self.name, self.arguments, self.row = name, arguments, {}
        self.folder = arguments.folder
        self.headers = {}

    def values(self, ending):
        return self.folder / f"{self.name}{ending}_values.safetensors"

    def import_both(self):
        for ending, file in (("", f"{self.name}.h5"), ("_3", f"{self.name}_3.keras")):
            output = self.folder / f"imported{ending}" / self.name
            output.parent.mkdir(exist_ok=True)
            output_of([self.arguments.program, "import", self.folder / file, "--output", output])
            self.headers[ending] = output.with_suffix(".hpp")
        texts = [path.read_text().partition("\n")[2] for path in self.headers.values()]
        weights = [path.with_suffix(".safetensors").read_bytes() for path in self.headers.values()]
        if weights[0] != weights[1]:
            raise Failure("the weights of Keras 2 and Keras 3 are imported differently")
        self.row["lines"] = str(len(texts[0].splitlines()))
        return texts[0] == texts[1]

    def compile_and_run(self, endings):
        """The program of the first header, with the values of these files."""
        header = self.headers[endings[0]]
        shapes = read_safetensors(self.values(endings[0]))
        ranks = [shapes[f"inputs:{i}"].ndim for i in range(sum(name.startswith("inputs") for name in shapes))]
        inputs = ", ".join(f'recorded<{rank}>(file, "inputs:{i}")' for i, rank in enumerate(ranks))
        if len(ranks) > 1:
            inputs = f"sc::inputs({inputs})"
        names = re.findall(r"^(?:struct|using) (\w+)\b", header.read_text(), re.M)
        text = PROGRAM.replace("HEADER", str(header)).replace("TYPE", names[-1]).replace("INPUTS", inputs)
        source, program = (self.folder / f"{self.name}{endings[0]}_program{end}" for end in (".cpp", ""))
        begin = time.monotonic()
        if not program.exists() or not source.exists() or source.read_text() != text:
            source.write_text(text)
            hdf5 = shlex.split(output_of(["pkg-config", "--cflags", "--libs", "hdf5"]))
            output_of([*shlex.split(self.arguments.compiler), "-std=c++20", "-march=native", "-I", HERE.parents[1] / "include",
                       source, "-o", program, *hdf5, "-lzip", "-lz", "-pthread"])
            self.row["compiled"] = f"{time.monotonic() - begin:.0f} s"
        files = [each for end in endings for each in (self.values(end), self.folder / (f"{self.name}.h5" if end == "" else f"{self.name}_3.keras"))]
        said = output_of([program, header.with_suffix(".safetensors"), self.folder / "saved" / self.name, *files])
        for ending, difference in zip(endings, re.findall(r"differs by (\S+)", said), strict=True):
            self.row["as Keras 2" if ending == "" else "as Keras 3"] = difference

    def export(self):
        saved = self.folder / "saved"
        for ending in (".h5", ".keras", ".weights.h5", "_js/model.json"):
            output_of([self.arguments.program, "export", saved / self.name, "--to", saved / f"{self.name}{ending}"])
        said = output_of([self.arguments.program, "export", saved / self.name, "--to", saved / f"{self.name}.onnx"], may_fail=True)
        if "E5069" in said:
            self.row["ONNX Runtime"] = "E5069: " + said.strip().splitlines()[1].strip()
        (saved / f"{self.name}_values.safetensors").write_bytes(self.values("").read_bytes())

    def travel(self):
        try:
            if self.import_both():
                self.compile_and_run(["", "_3"])
            else:  # the names that Keras gives models by itself differ
                self.compile_and_run(["_3"])
                self.compile_and_run([""])
            self.export()
        except Failure as problem:
            self.row["failed"] = str(problem)


COLUMNS = {".h5": "h5", "/model.json": "json", "_js": "js", ".keras": "keras", ".weights.h5": "weights.h5"}


def check_exports(arguments, rows):
    saved = arguments.folder / "saved"
    for python in (arguments.keras_2, arguments.keras_3):
        said = output_of([python, HERE / "check_exports.py", saved], may_fail=True)
        for what, result in re.findall(r"^Keras [\d.]+, (\S+): (.*)$", said, re.M):
            ending = max((each for each in COLUMNS if what.endswith(each)), key=len)
            name = what.removesuffix(ending)
            if name in rows:
                rows[name].row[COLUMNS[ending]] = result.removeprefix("differs by ")
    if arguments.onnxruntime:
        said = output_of([arguments.onnxruntime, HERE / "check_onnx_exports.py", saved], may_fail=True)
        for name, result in re.findall(r"^(\w+)\.onnx: differs by (\S+)$", said, re.M):
            if name in rows:
                rows[name].row["ONNX Runtime"] = result


def is_good(cell):
    try:
        return float(cell) <= BOUND
    except ValueError:
        return cell.startswith("E5069")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--keras-2", required=True)
    parser.add_argument("--keras-3", required=True)
    parser.add_argument("--onnxruntime")
    parser.add_argument("--compiler", default="g++ -O1")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    (arguments.folder / "saved").mkdir(parents=True, exist_ok=True)
    make_models(arguments)
    names = arguments.names or sorted(path.stem for path in arguments.folder.glob("*.h5"))
    rows = {name: Model(name, arguments) for name in names}
    for model in rows.values():
        model.travel()
        print(f"{model.name}: {model.row}", file=sys.stderr, flush=True)
    check_exports(arguments, rows)
    measured = ["as Keras 2", "as Keras 3", *COLUMNS.values()] + ["ONNX Runtime"] * bool(arguments.onnxruntime)
    columns = ["model", "lines", *measured]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    failures = 0
    for name, model in rows.items():
        cells = [model.row.get(column, "-") for column in measured]
        failures += not all(map(is_good, cells))
        print("| " + " | ".join([name, model.row.get("lines", "-"), *cells]) + " |" + (f" {model.row['failed']}" if "failed" in model.row else ""))
    print(f"{len(rows) - failures} of {len(rows)} models")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
