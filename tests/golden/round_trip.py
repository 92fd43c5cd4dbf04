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
HEADERS
namespace sc = stagecraft;
inline constexpr auto run = sc::inference{.batch_size = 2};
template <std::size_t Rank> auto recorded(sc::tensor_file const& file, int input) {
  auto const* const found = file.find("inputs:" + std::to_string(input));
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
// Arguments: name, weights, where to save, and pairs of recorded values and the file that Keras has saved.
template <class Model, std::size_t... Ranks> void travel(char** argv) {
  sc::predictor<Model, run> model;
  model.load_weights(argv[2]);
  for (int i = 4; argv[i] != nullptr; i += 2) {
    sc::predictor<Model, run> other(7);
    other.load_weights(argv[i + 1]);
    if (other.get_weights() != model.get_weights()) std::puts("the weights differ"), std::exit(1);
    auto const file = sc::read_safetensors(argv[i]);
    int input = 0;
    std::tuple const inputs{recorded<Ranks>(file, input++)...};
    std::apply([&](auto const&... each) {
      if constexpr (sizeof...(each) == 1)
        std::printf("differs by %.1e\n", off(model.predict(each...), file));
      else
        std::printf("differs by %.1e\n", off(model.predict(sc::inputs(each...)), file));
    }, inputs);
  }
  sc::save_model(model, argv[3]);
}
int main(int, char** argv) try {
  std::string const name = argv[1];
CALLS
} catch (std::exception const& why) {
  std::puts(why.what());
  return 1;
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

    def values(self, ending):
        return self.folder / f"{self.name}{ending}_values.safetensors"

    def header(self, ending):
        return self.folder / f"imported{ending}" / f"{self.name}.hpp"

    def import_both(self):
        for ending, file in (("", f"{self.name}.h5"), ("_3", f"{self.name}_3.keras")):
            output = self.header(ending).with_suffix("")
            output.parent.mkdir(exist_ok=True)
            output_of([self.arguments.program, "import", self.folder / file, "--output", output])
        # What Keras calls a model without a name differs.
        texts = [re.sub(r"name = .*", "", self.header(ending).read_text().partition("\n")[2]) for ending in ("", "_3")]
        weights = [self.header(ending).with_suffix(".safetensors").read_bytes() for ending in ("", "_3")]
        if weights[0] != weights[1] or texts[0] != texts[1]:
            raise Failure("models of Keras 2 and Keras 3 are imported differently")
        self.row["lines"] = str(len(self.header("").read_text().splitlines()))

    def call(self):
        recorded = read_safetensors(self.values(""))
        ranks = [recorded[f"inputs:{i}"].ndim for i in range(sum(name.startswith("inputs") for name in recorded))]
        kind = re.findall(r"^(?:struct|using) (\w+)\b", self.header("").read_text(), re.M)[-1]
        return f'  if (name == "{self.name}") travel<models::{kind}, {", ".join(map(str, ranks))}>(argv);'

    def predict(self, program):
        files = [self.values(""), self.folder / f"{self.name}.h5", self.values("_3"), self.folder / f"{self.name}_3.keras"]
        said = output_of([program, self.name, self.header("").with_suffix(".safetensors"), self.folder / "saved" / self.name, *files])
        self.row["as Keras 2"], self.row["as Keras 3"] = re.findall(r"differs by (\S+)", said)

    def export(self):
        saved = self.folder / "saved"
        for ending in (".h5", ".keras", ".weights.h5", "_js/model.json"):
            output_of([self.arguments.program, "export", saved / self.name, "--to", saved / f"{self.name}{ending}"])
        said = output_of([self.arguments.program, "export", saved / self.name, "--to", saved / f"{self.name}.onnx"], may_fail=True)
        if "E5069" in said:
            self.row["ONNX Runtime"] = "E5069: " + said.strip().splitlines()[1].strip()
        (saved / f"{self.name}_values.safetensors").write_bytes(self.values("").read_bytes())

    def go(self, *steps):
        try:
            for step in steps:
                if "failed" not in self.row:
                    step()
        except Failure as problem:
            self.row["failed"] = str(problem)


def compile_all(arguments, models):
    """One program of all models that were imported: the library's headers are read once."""
    headers = "\n".join(f'#include "{model.header("")}"' for model in models)
    text = PROGRAM.replace("HEADERS", headers).replace("CALLS", "\n".join(model.call() for model in models))
    source, program = arguments.folder / "program.cpp", arguments.folder / "program"
    if program.exists() and source.exists() and source.read_text() == text:
        return program
    source.write_text(text)
    program.unlink(missing_ok=True)
    hdf5 = shlex.split(output_of(["pkg-config", "--cflags", "--libs", "hdf5"]))
    output_of([*shlex.split(arguments.compiler), "-std=c++20", "-march=native", "-I", HERE.parents[1] / "include", source, "-o", program,
               *hdf5, "-lzip", "-lz", "-pthread"])
    return program


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
        model.go(model.import_both)
    program = compile_all(arguments, [model for model in rows.values() if "failed" not in model.row])
    for model in rows.values():
        model.go(lambda: model.predict(program), model.export)
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
