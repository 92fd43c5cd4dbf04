# SPDX-License-Identifier: BSD-3-Clause
"""Programs that compare many imported models with their recorded outputs: each layer is traced when the program runs (node_run.hpp)."""
import collections
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).parent
# Layers of the library that have a `call`; others are compiled as part of a model.
WINDOWS = {f"{name}{axes}d" for name in ("average_pooling", "conv", "cropping", "global_average_pooling", "global_max_pooling",
                                         "max_pooling", "up_sampling", "zero_padding") for axes in (1, 2, 3)}
TRACED = WINDOWS | {"activation", "add", "average", "batch_normalization", "concatenate", "conv2d_transpose", "dense", "depthwise_conv2d",
                    "dot", "dropout", "elu_layer", "flatten", "group_normalization", "layer_normalization", "leaky_re_lu", "maximum", "minimum",
                    "multiply", "permute", "re_lu", "rescaling", "reshape", "softmax_layer", "subtract", "thresholded_re_lu"}


class NotTraced(Exception):
    """A model has what these programs cannot carry out."""


def apart(text):
    """The parts of a list between its commas."""
    found, depth = [""], 0
    for each in text:
        depth += (each in "({[<") - (each in ")}]>")
        if each == "," and depth == 0:
            found.append("")
        else:
            found[-1] += each
    return [each.strip() for each in found if each.strip()]


class Program:
    """The C++ of one model: its own layers, and statements that carry it out."""

    def __init__(self, header):
        parts = re.search(r"\nnamespace (\w+_parts) \{\n(.*?)\n\}  // namespace \1\n", header, re.S)
        self.layers = parts[2] if parts else ""
        self.own = set(re.findall(r"struct (\w+) : sc::layer<", self.layers))
        self.counts = collections.Counter()
        chain = re.search(r"sc::sequential<\s*(.*)>>;", header, re.S)
        build = re.findall(r"static constexpr auto build\(auto& model\) \{\n(.*?)\n  \}\n", header, re.S)
        if chain:
            self.statements = self.of_chain(apart(" ".join(chain[1].split())))
        elif len(build) == 1:
            self.statements = [each for line in build[0].split(";") if (each := self.statement(" ".join(line.split())))]
        else:
            raise NotTraced("several models")

    def layer(self, text):
        found = re.fullmatch(r'(?:\w+_parts::)?(\w+)\{(.*)\}(?:\.named\("(\w+)"\))?', text)
        if not found or found[1] not in self.own | TRACED:
            raise NotTraced(text)
        key = found[1].rstrip("_")
        number = self.counts[key]
        self.counts[key] += 1
        return f'{found[1]}{{{found[2]}}}, "{found[3] or key + (f"_{number}" if number else "")}"'

    def of_chain(self, items):
        first = re.fullmatch(r"input(\{.*?\})(?:\.of_type\((sc::dtype::int32)\))?", items[0])
        if not first:
            raise NotTraced(items[0])
        return [f"auto x = m.input({first[1]}{f', {first[2]}' if first[2] else ''});", *(f"x = m.apply({self.layer(each)}, {{x}});" for each in items[1:]), "m.output(x);"]

    def expression(self, text):
        if re.fullmatch(r"\w+", text):
            return text
        if found := re.fullmatch(r'model\.input\(\{?([\d, ]*)\}?(?:, "[^"]*")?(, sc::dtype::int32)?\)', text):
            return f"m.input({{{found[1]}}}{found[2] or ''})"
        end = text.find("{")
        depth = 0
        for end in range(max(end, 0), len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                break
        name = re.match(r'(?:\.named\("\w+"\))?', text[end + 1 :])[0]
        end += len(name) + 1
        if not re.fullmatch(r"\(.*\)", text[end:]):
            raise NotTraced(text)
        inputs = text[end + 1 : -1]
        inputs = inputs[1:-1] if inputs.startswith("{") else inputs
        inputs = ", ".join(map(self.expression, apart(inputs)))
        return f"m.apply({self.layer(text[:end])}, {{{inputs}}})"

    def statement(self, line):
        line = re.sub(r"^// NOLINT ?", "", line)
        if not line or line.startswith("using "):
            return ""
        if found := re.fullmatch(r"return (?:sc::outputs\((.*)\)|(.*))", line):
            return "\n".join(f"m.output({self.expression(each)});" for each in (apart(found[1]) if found[1] else [found[2]]))
        found = re.fullmatch(r"((?:auto )?\w+ = )(.*)", line)
        if not found:
            raise NotTraced(line)
        return f"{found[1]}{self.expression(found[2])};"


def program_of(folder, name):
    """The program of an imported model; none if a layer of it cannot be traced alone."""
    try:
        return Program((folder / f"{name}.hpp").read_text())
    except NotTraced:
        return None


def carry_out(folder, compiler, programs):
    """What the models print, by their names, or nothing and the compiler's errors."""
    text = '#include "node_run.hpp"\n'
    for i, (name, each) in enumerate(programs.items()):
        text += f"namespace case_{i} {{\nnamespace sc = stagecraft;\nusing namespace sc::layers;\n{each.layers}\nvoid run() {{\n"
        text += "\n".join([f'node_run::model m("{name}");', *each.statements, "}\n}\n"])
    text += "int main() {\n  std::setvbuf(stdout, nullptr, _IONBF, 0);\n"
    for i, name in enumerate(programs):
        text += f'  std::puts("== {name}"); try {{ case_{i}::run(); }} catch (std::exception const& why) {{ std::puts(why.what()); }}\n'
    path = folder / f"{next(iter(programs))}_traced.cpp"
    path.write_text(text + "}\n")
    program = path.with_suffix("").resolve()
    flags = [compiler, "-std=c++20", "-O0", "-w", "-march=native", "-pthread", "-I", HERE.parents[1] / "include", "-I", HERE]
    header = []
    if "clang" in str(compiler):  # half of the time is that of the headers
        made = folder / "node_run.hpp.pch"
        if not made.exists():
            subprocess.run([*flags, "-x", "c++-header", HERE / "node_run.hpp", "-o", made], check=True)
        header = ["-include-pch", made]
    done = subprocess.run([*flags, *header, path, "-o", program, "-lzip", "-lz"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    said = subprocess.run([program], cwd=folder, capture_output=True, text=True).stdout
    program.unlink()
    return {part.split("\n", 1)[0]: part.split("\n")[1:] for part in said.split("== ")[1:]}, ""


def compare(folder, compiler, programs):
    """For each model: right, or what is wrong."""
    said, errors = carry_out(folder, compiler, programs)
    names = list(programs)
    if said is None and len(names) == 1:
        first = re.search(r"error: (.*)", errors)
        return {names[0]: "DOES NOT COMPILE " + (first[1] if first else errors[:200])}
    if said is None:
        some = {name: programs[name] for name in names[: len(names) // 2]}
        rest = {name: programs[name] for name in names[len(names) // 2 :]}
        return {**compare(folder, compiler, some), **compare(folder, compiler, rest)}
    lines = {name: [each for each in said.get(name, []) if each] for name in names}
    return {name: "right" if each and all(line.endswith(" right") for line in each) else "WRONG " + " ".join(each) for name, each in lines.items()}
