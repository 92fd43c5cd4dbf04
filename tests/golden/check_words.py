# SPDX-License-Identifier: BSD-3-Clause
"""Whether every layer, loss, metric and optimizer has Keras's values: an entry of the table that tests walk on the host and on
emulated IPUs, and its tensors in a golden file (forward, gradient and, where it is trained, ten steps). Whether half of the layers
have at most 48 lines with their options, and half of the losses and metrics at most 14.

    python3 tests/golden/check_words.py           lists the words that have none, and fails if there are any
    python3 tests/golden/check_words.py --list    lists what each word has, and where"""
import pathlib
import re
import statistics
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
    "layer_call": "is what the call of a layer does",
    "slicing_op_lambda": "is an operator: golden_functional_test.cpp",
    "acc": "is another name",
    "kld": "is another name",
    "mae": "is another name",
    "mape": "is another name",
    "mse": "is another name",
    "msle": "is another name",
    "optimizer": "is a base",
    "captured_gradient": "is no word of users'",
    "added_loss": "is what layers add: perceptron_options.txt",
    "mean": "is not compiled: metrics_test.cpp",
    "sum": "is not compiled: metrics_test.cpp",
    "mean_tensor": "is not compiled: metrics_test.cpp",
}
# Words whose values are in files of their own: the tensors there, and the test that compares with them.
ELSEWHERE = {
    "time_distributed": ("time_distributed.txt", ("dense/output", "dense/input_0_gradient", "dense/kernel_gradient", "trained/losses"),
                         "training/golden_time_distributed_test.cpp"),
    "loss_scale_optimizer": ("perceptron.txt", ("loss_scale/losses", "loss_scale/scales"), "training/golden_optimizers_test.cpp"),
    "als_optimizer": ("perceptron_options.txt", ("als/losses", "als/scales"), "training/golden_options_test.cpp"),
}
MOST_LINES = {"layer": 48, "loss": 14, "metric": 14}  # of the median


def text_of(*paths):
    return "\n".join((TESTS / path).read_text(encoding="utf-8") for path in paths)


class Golden:
    """The cases of a golden file, which are what stands before the first slash of its tensors' names, and their tensors."""

    def __init__(self, name):
        self.name, self.tensors = name, {}
        for line in text_of(f"golden/{name}").splitlines():
            if match := re.match(r"([a-z]\w*)/([\w/]+) ", line):
                self.tensors.setdefault(match[1], set()).add(match[2])

    def has(self, tensor):
        case, _, rest = tensor.partition("/")
        return rest in self.tensors.get(case, ())


STRUCT = re.compile(r"((?:^///[^\n]*\n)*)(?:^template [^\n]*\n)?^struct (\w+)[^;{]*\{\n.*?^\};$", re.M | re.S)


def words_of(room, pattern):
    """The structs of a room that have the pattern, and the lines of each, its docstring and its options included."""
    for header in sorted((INCLUDE / room).rglob("*.hpp")):
        structs = {match[2]: match[0] for match in STRUCT.finditer(header.read_text(encoding="utf-8"))}
        for word, text in structs.items():
            if re.search(pattern, text.partition(f"struct {word}")[2]):
                yield word, sum(each.count("\n") + 1 for each in (text, structs.get(f"{word}_options")) if each)


def has_entry(word, table):
    return re.search(rf"(?<![\w.]){word}\s*[{{(<]", table) is not None


def entries_of(table):
    """What a table of metrics or optimizers gives to `check`: (word, names), where `check.template operator()<word{...}, 3>("a", "b")`
    has the names a and b. The word may stand in another function's argument."""
    for arguments, names in re.findall(r"operator\(\)<(.*?)>\(\s*(\"[^)]*\")\)", table, re.S):
        if word := re.search(r"(\w+)\{", arguments):
            yield word[1], re.findall(r'"(\w+)"', names)


def owner_of(case, words):
    """The word that a case is of: the longest one that its name begins with."""
    return max((word for word in words if case == word or case.startswith(word + "_")), key=len, default=None)


class Check:
    def __init__(self, lists):
        self.lists, self.problems = lists, []

    def words(self, kind, words, find):
        """`find(word)` says where its values are, in words, or what it lacks: a list."""
        for word, _ in words:
            found = f"no values: {WITHOUT[word]}" if word in WITHOUT else self.elsewhere(word) or find(word)
            if isinstance(found, list):
                self.problems.append(f"{kind} '{word}' has no {' and no '.join(found)}: see 'Adding a layer' in CONTRIBUTING.md")
            elif self.lists:
                print(f"{kind} {word}: {found}")
        if kind in MOST_LINES:
            median = statistics.median(lines for word, lines in words if word not in WITHOUT)
            if median > MOST_LINES[kind]:
                self.problems.append(f"a median {kind} has {median} lines, more than {MOST_LINES[kind]}")
            elif self.lists:
                print(f"{kind}: {len(words)} of them, {median} lines (median)")

    @staticmethod
    def elsewhere(word):
        if word not in ELSEWHERE:
            return None
        name, tensors, test = ELSEWHERE[word]
        golden = Golden(name)
        lacks = [f"'{tensor}' in {name}" for tensor in tensors if not golden.has(tensor)]
        if word not in text_of(test):
            lacks.append(f"test in {test}")
        return lacks or f"{name} ({', '.join(tensors)}), {test}"


def check_layers(check):
    table = text_of("words/table.hpp")
    families = [Golden(name) for name in re.findall(r'check_words\("(\w+\.txt)"', text_of("words/values_test.cpp"))]
    entries = {}  # of each layer, the names of its entries
    for name, entry in re.findall(r'\{"(\w+)",\s*(.*?)\n(?=\s*\{"|\s*\};)', table, re.S):
        for word in set(re.findall(r"(\w+)\s*[{(<]", entry)):
            entries.setdefault(word, []).append(name)
    cases = {case: tensors for family in families for case, tensors in family.tensors.items()}
    for family in families:
        for case, tensors in sorted(family.tensors.items()):
            lacks = [what for what, has in (("output", "output" in tensors), ("gradient", "input_0_gradient" in tensors),
                                            ("ten steps", "losses" in tensors)) if not has]
            check.problems += [f"{family.name}: '{case}' has no {what}" for what in lacks]

    def find(word):
        names = [name for name in entries.get(word, []) if name in cases]
        if not names and has_entry(word, table):  # whose names are made of options
            names = [case for case in cases if case.startswith(f"{word}_")]
        return f"{len(names)} entries: {', '.join(names)}" if names else ["entry in words/table.hpp"]

    check.words("layer", list(words_of("layers", r"class_name = ")), find)


def check_losses(check):
    outputs, of_rows, trained = text_of("losses/output_for_each_loss.hpp"), Golden("losses.txt"), Golden("losses_training.txt")
    words = list(words_of("losses", r"static constexpr bool sparse_targets = (true|false);\n\n  constexpr auto call"))
    names = [word for word, _ in words]

    def find(word):
        lacks = [] if has_entry(word, outputs) else ["output in losses/output_for_each_loss.hpp"]
        cases = [case for case in of_rows.tensors if owner_of(case, names) == word]
        lacks += [f"{part} in losses.txt" for part in ("rows", "gradient") if not any(part in of_rows.tensors[case] for case in cases)]
        if not any(trained.has(f"plain/{case}/kernel") for case in (word, f"{word}_sum")):
            lacks.append("ten steps in losses_training.txt")
        return lacks or f"{len(cases)} cases in losses.txt, ten steps on the host and on tiles in losses_training.txt"

    check.words("loss", words, find)


def check_metrics(check):
    entries, walked, accuracies = list(entries_of(text_of("metrics/metric_table.hpp"))), Golden("metric_table.txt"), Golden("metrics.txt")
    check.problems += [f"metrics/metric_table.hpp: '{'/'.join(names)}' of {word} has no values" for word, names in entries
                       if not walked.has("/".join(names))]
    words = list(words_of("metrics", r"constexpr operator metric\(\)|own_metric<"))

    def find(word):
        names = ["/".join(names) for each, names in entries if each == word]
        names += [case for case in accuracies.tensors if owner_of(case, [word for word, _ in words]) == word]
        return f"{len(names)} cases: {', '.join(names)}" if names else ["values"]

    check.words("metric", words, find)


def check_optimizers(check):
    entries, file = list(entries_of(text_of("optimizers/optimizer_table.hpp"))), Golden("optimizers.txt")

    def find(word):
        names = [name for each, names in entries for name in names if each == word]
        lacks = [f"ten steps of '{name}' in optimizers.txt" for name in names if not file.has(f"{name}/weights")]
        return lacks or (f"ten steps on the host and on tiles: {', '.join(names)}" if names else ["entry in optimizers/optimizer_table.hpp"])

    check.words("optimizer", list(words_of("optimizers", r"static constexpr std::string_view name")), find)


def main():
    check = Check("--list" in sys.argv)
    for family in (check_layers, check_losses, check_metrics, check_optimizers):
        family(check)
    print("\n".join(check.problems) or "all words have Keras's values")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
