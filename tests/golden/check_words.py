# SPDX-License-Identifier: BSD-3-Clause
"""Whether every layer, loss, metric and optimizer has Keras's values: an entry of the table that tests walk on the host and on
emulated IPUs, and its tensors in a golden file (forward, gradient and, where it is trained, ten steps).

    python3 tests/golden/check_words.py        lists the words that have none, and fails if there are any"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE, TESTS = ROOT / "include" / "stagecraft", ROOT / "tests"
# What has no values of Keras's, and why.
WITHOUT = {
    "activity_penalty": "stands behind layers, whose activity_regularizer perceptron_options.txt has",
    "input": "computes nothing",
    "output_part": "is a part of a layer's result",
    "recomputation_checkpoint": "computes nothing",
    "tf_op_lambda": "is an operator, whose layers have entries",
    "layer": "is a base",
    "slicing_op_lambda": "is an operator: golden_functional_test.cpp",
    "time_distributed": "is carried out as its layer: time_distributed.txt",
    "acc": "is another name",
    "kld": "is another name",
    "mae": "is another name",
    "mape": "is another name",
    "mse": "is another name",
    "msle": "is another name",
    "sparse_categorical_crossentropy metric": "is the loss of that name: losses.txt",
    "optimizer": "is a base",
    "captured_gradient": "is no word of users'",
    "loss_scale_optimizer": "is a step of another one: golden_optimizers_test.cpp",
    "als_optimizer": "is Graphcore's: golden_options_test.cpp",
    "added_loss": "is what layers add: perceptron_options.txt",
    "own_metric": "is a base of one's own",
    "mean": "is not compiled: metrics_test.cpp",
    "sum": "is not compiled: metrics_test.cpp",
    "mean_tensor": "is not compiled: metrics_test.cpp",
}


def text_of(*paths):
    return "\n".join((TESTS / path).read_text(encoding="utf-8") for path in paths)


def cases_of(name):
    """The cases of a golden file: what stands before the first slash of its tensors' names."""
    lines = text_of(f"golden/{name}").splitlines()
    return {line.split("/")[0] for line in lines if re.match(r"[a-z]\w*/", line)}, lines


def headers(room, pattern):
    for header in sorted((INCLUDE / room).rglob("*.hpp")):
        if re.search(pattern, header.read_text(encoding="utf-8")):
            yield header.stem


def has_entry(word, table):
    return re.search(rf"(?<![\w.]){word}\s*[{{(<]", table) is not None


def check(kind, words, found):
    without = {key.split()[0] for key in WITHOUT if " " not in key or key.endswith(kind)}
    missing = [word for word in words if word not in without and not found(word)]
    for word in missing:
        print(f"{kind} '{word}' has no entry: see 'Adding a layer' in CONTRIBUTING.md")
    return len(missing)


def main():
    table = text_of("words/table.hpp")
    layers = list(headers("layers", r"class_name = "))
    count = check("layer", layers, lambda word: has_entry(word, table))
    for family in re.findall(r'check_words\("(\w+\.txt)"', text_of("words/values_test.cpp")):
        cases, lines = cases_of(family)
        for part in ("output", "losses"):
            for case in sorted(case for case in cases if not any(line.startswith(f"{case}/{part} ") for line in lines)):
                print(f"{family}: '{case}' has no {part}")
                count += 1
    trained, (cases, _) = text_of("losses/output_for_each_loss.hpp"), cases_of("losses.txt")
    losses = list(headers("losses", r"static constexpr bool sparse_targets = (true|false);\n\n  constexpr auto call"))
    count += check("loss", losses, lambda word: has_entry(word, trained) and word in cases)
    table, (cases, _) = text_of("metrics/metric_table.hpp"), cases_of("metrics.txt")
    metrics = list(headers("metrics", r"constexpr operator metric\(\)|own_metric<"))
    count += check("metric", metrics, lambda word: has_entry(word, table) or any(case.startswith(word) for case in cases))
    table = text_of("optimizers/optimizer_table.hpp")
    optimizers = list(headers("optimizers", r"static constexpr std::string_view name"))
    count += check("optimizer", optimizers, lambda word: has_entry(word, table))
    print(f"{len(layers)} layers, {len(losses)} losses, {len(metrics)} metrics, {len(optimizers)} optimizers")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
