# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that a node says is passed over: walks the table of operators (operator_table.cpp).

    python3 tests/import/check_operators.py <the program stagecraft> <folder>

Each operator is refused with an attribute that the table does not have, each attribute with a value of another kind, and
one that must have a value with another; and each attribute that a converter reads stands in the table."""
import array
import pathlib
import re
import sys

from model_files import message, onnx
from program import check, end, run

FOLDER = pathlib.Path(sys.argv[2])
TOOL = pathlib.Path(__file__).parents[2] / "tools" / "stagecraft" / "onnx"
KINDS = {"real": 1, "integer": 2, "text": 3, "tensor": 4, "graph": 5, "reals": 6, "integers": 7, "texts": 8}


def attribute(name, kind, *value):
    return message((1, name), *value, (20, kind))


def table():
    """Operators with their attributes: name, kind, and the only value or None."""
    text = (TOOL / "operator_table.cpp").read_text()
    lines = text[text.index('R"(') + 4 : text.index('\n)"')].replace("\n ", " ").splitlines()
    found = {}
    for operator, _inputs, _outputs, *attributes in map(str.split, lines):
        found[operator] = []
        for each in attributes:
            name, mark, rest = re.match(r"(\w+)([:=~])(\S+)", each).groups()
            kind = ("integer" if rest.isdigit() else "text") if mark == "=" else rest
            found[operator].append((name, kind, rest if mark == "=" else None))
    return found


def problems(nodes):
    """What is said of each node; they are all in one file, named after their numbers."""
    path = FOLDER / "operators.onnx"
    apart = [(*kind.rpartition(".")[::-2], each) for kind, each in nodes]
    named = [(1, message((1, "x"), (2, f"y{i}"), (3, f"n{i}"), (4, kind), (5, each), (7, domain))) for i, (kind, domain, each) in enumerate(apart)]
    value = lambda name: message((1, name), (2, message((1, message((1, 1), (2, message((1, message((2, "n"))), (1, message((1, 4))))))))))
    path.write_bytes(message((1, 8), (7, message(*named, (11, value("x")), *((12, value(f"y{i}")) for i in range(len(nodes))))), (8, message((2, 17)))))
    code, text = run("show", path)
    check(code == 1 and "[E5064]" in text, f"operators.onnx: exit code {code}: {text[-2000:]}")
    return {int(number): rest for number, rest in re.findall(r"node 'n(\d+)' (.*)", text)}


def of_other_kind(name, kind):
    return attribute(name, 3, (4, "one")) if kind == "real" else message((1, name), (20, 1))


def check_all(what, nodes, expected):
    said = problems(nodes)
    for i, (node, text) in enumerate(zip(nodes, expected, strict=True)):
        check(text in said.get(i, ""), f"{what} of {node[0]}: '{text}' is missing in: {said.get(i)}")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    operators = table()
    check(len(operators) >= 60 and all(kind in KINDS for each in operators.values() for _, kind, _ in each), f"the table: {operators}")
    check_all("an unknown attribute", [(each, attribute("surprise", 2, (3, 1))) for each in operators], ["'surprise', which is not here"] * len(operators))
    all_of = [(operator, *each) for operator, attributes in operators.items() for each in attributes]
    check_all("another kind", [(operator, of_other_kind(name, kind)) for operator, name, kind, _ in all_of],
              [f"'{name}', a {'text' if kind == 'real' else 'number'}, expected" for _, name, kind, _ in all_of])
    fixed = [(operator, name, kind, value) for operator, name, kind, value in all_of if value is not None]
    check(len(fixed) > 4, "attributes that must have one value")
    nodes = [(operator, attribute(name, KINDS[kind], (4, "other") if kind == "text" else (3, int(value) + 1))) for operator, name, kind, value in fixed]
    check_all("another value", nodes, [f"'{name}', {repr('other') if kind == 'text' else int(value) + 1}" for _, name, kind, value in fixed])
    cast = lambda to: ("Cast", ["a"], ["y"], attribute("to", 2, (3, to)))
    wrong = {"not here": cast(14),
             "auto_pad": ("MaxPool", ["a"], ["y"], attribute("auto_pad", 3, (4, "SAME"))), "tanh": ("Gelu", ["a"], ["y"], attribute("approximate", 3, (4, "x")))}
    for text, node in wrong.items():
        shape = (None, 2, 4) if text == "auto_pad" else (None, 4)
        (FOLDER / "wrong.onnx").write_bytes(onnx([("Relu", ["x"], ["a"]), node], shape=shape))
        code, said = run("show", FOLDER / "wrong.onnx")
        check(code == 1 and text in said and "[E5064]" in said, f"{node}: {said}")
    for to, name in ((10, "float16"), (16, "bfloat16")):
        (FOLDER / "rounds.onnx").write_bytes(onnx([("Relu", ["x"], ["a"]), cast(to)]))
        code, said = run("show", FOLDER / "rounds.onnx")
        check(code == 0 and f".in_dtype(sc::dtype::{name})" in said, f"a cast to {name}: {said}")
    surplus = [("Relu", ["x", "x"], ["y"]), ("Sub", ["x", "x", "x"], ["y"])]
    for node in surplus:
        (FOLDER / "surplus.onnx").write_bytes(onnx([node]))
        code, text = run("show", FOLDER / "surplus.onnx")
        check(code == 1 and "has an input" in text, f"{node}: {text}")
    # Numbers that float32 does not have are refused, not rounded: 1e39 would be infinity, 2^24 + 1 its neighbour.
    for kind, letter, number, said in ((11, "d", 1e38, ""), (11, "d", 1e39, "float32"),
                                       (7, "q", 1 << 24, ""), (7, "q", (1 << 24) + 1, "float32")):
        for count in (1, 4):
            constant = message((1, count), (2, kind), (9, array.array(letter, [number] * count).tobytes()))
            nodes = [("Constant", [], ["c"], attribute("value", 4, (5, constant))), ("Pow", ["x", "c"], ["y"])]
            (FOLDER / "numbers.onnx").write_bytes(onnx(nodes))
            code, text = run("show", FOLDER / "numbers.onnx")
            check((code == 0 if not said else code == 1 and said in text), f"{count} times {number}: {code} {text}")
    names = {name for each in operators.values() for name, _, _ in each}
    for path in sorted(TOOL.rglob("*.cpp")):
        if path.parent.name == "export" or path.name in ("onnx_builder.cpp", "operator_table.cpp", "onnx_versions.cpp"):
            continue
        for name in re.findall(r"node\.(?:find|integer|integers|real|text)\(\"(\w+)\"", path.read_text()):
            check(name in names, f"{path.name} reads '{name}', which the table of operators has not")
    end()


main()
