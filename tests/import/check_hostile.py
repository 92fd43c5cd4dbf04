# SPDX-License-Identifier: BSD-3-Clause
"""Puts hostile texts into every text of model files, and looks at the C++ that is made of them.

    python3 tests/import/check_hostile.py <the program stagecraft> <folder> <C++ compiler> [--thorough]

Each file is refused with a code, or its header has the shape of a model (tests/fuzz/source_shape.hpp) and compiles. The
quick form puts into each text a few of the values, in turn; the thorough one puts in all attacks and more of the others, and has the compiler
look at what the models compute."""
import copy
import json
import math
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

from program import check, end, run

FOLDER, COMPILER, THOROUGH = pathlib.Path(sys.argv[2]), sys.argv[3], "--thorough" in sys.argv
HERE, MODELS = pathlib.Path(__file__).parent, FOLDER / "models"
# Code after whatever could end where a text stands: none of it may ever be a token, nor be a name that the tool makes.
PAYLOAD = "__PAYLOAD__"
ATTACKS = [f'int32)>; inline int const x = {PAYLOAD}(); using other = sc::sequential<input{{4}}.of_type(sc::dtype::int32',
           f'"; {PAYLOAD}(); "', f'x")>>; {PAYLOAD} y; //', f'a\n{PAYLOAD} b;\n', f')json"; {PAYLOAD} x; /*', f'*/ {PAYLOAD} /*',
           f"x'); {PAYLOAD}", f"\\\n#include <{PAYLOAD}>\n"]
ODD = ["a\\", "ends \\\\", "\r", "\x01\x1b[31m", "\x7f", "a\0b", '"', "'", "//", "/*", "*/", ')json"', "??/", "???", "%s%n", "$(x)", "`x`",
       "\u202e\u2066evil\u2069", "\u0430dmin", "\u200b", "\u2028", "\u00e9", "\U0001f600", "", " ", "_", "__a", "_A", "0", "007", "2d", "#", "@",
       "a#1", "L" * 47, "L" * 48, "L" * 100_000, "\u00e9" * 24]
WORDS = ["int", "nullptr", "protected", "constexpr", "and", "co_await", "xor_eq", "alignas", "errno", "NULL", "assert", "stdin", "INT_MAX", "EOF", "linux",
         "sc", "std", "models", "model", "build", "name", "kind", "x", "w", "rest1_rest", "int1_int", "block1_dense", "dense", "elu_layer", "head",
         "conv_norm_activation", "named_model_parts", "functional", "stagecraft", "main", "t4"]
VALUES = ATTACKS + ODD + WORDS
turn = random.Random(1)
headers, count, accepted = [], 0, 0


def texts_of(value, found=None):
    """Distinct texts in their order."""
    found = {} if found is None else found
    if isinstance(value, str):
        found[value] = None
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        texts_of(each, found)
    return found


def with_text(value, old, new):
    """A text in the place of another one, wherever it stands, and where names of weights begin with it."""
    if isinstance(value, str):
        return new + value[len(old):] if value == old or value.startswith(old + "/") else value
    if isinstance(value, dict):
        return {key: with_text(each, old, new) for key, each in value.items()}
    return [with_text(each, old, new) for each in value] if isinstance(value, list) else value


def values_for(number, most=3):
    """All attacks and some others, or an attack and those whose turn it is."""
    if THOROUGH:
        return [*ATTACKS, *turn.sample(ODD + WORDS, 12)]
    return [ATTACKS[number % len(ATTACKS)], *turn.sample(ODD + WORDS, most - 1)]


def tokens_of(text, where):
    """What stands outside of comments and texts."""
    check(all(c == "\n" or " " <= c <= "~" for c in text), f"{where}: a character that is no printable ASCII")
    found = re.findall(r'//[^\n]*|R"json\((?:.|\n)*?\)json"|"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*|\S', text)
    return {each for each in found if not each.startswith("//") and not each.startswith(('"', 'R"'))}


def attempt(path, what, output=None):
    """Imports a file, to a name of its own if it is not known where to. What comes out is kept, to be looked at in the end."""
    global count, accepted
    count += 1
    code, text = run("import", path, *(() if output else ("--output", FOLDER / f"h{count}")))
    output = output or FOLDER / f"h{count}"
    if code == 0:
        accepted += 1
        headers.append(output.with_name(output.name + ".hpp"))
        test = output.with_name(output.name + "_test.cpp").read_text()
        check(PAYLOAD not in tokens_of(test, what) and test.count("#include \"") == 1, f"{what}: in the test\n{test}")
    else:
        check(code == 1 and re.search(r"\[E\d{4}\]", text), f"{what}: exit code {code}, no code in: {text[:2000]}")
    return code


def named_model():
    config = json.loads((HERE.parent / "fuzz" / "named_model.inc").read_text().removeprefix('R"json(').rpartition(")json")[0])
    shapes = {"stem1_conv/kernel": [3, 3, 2, 4], "stem1_conv/bias": [4]}
    for block in 1, 2, 3:
        name = f"stage1_block{block}"
        shapes |= {f"{name}_conv/kernel": [3, 3, 4, 4], f"{name}_conv/bias": [4]}
        shapes |= {f"{name}_bn/{kind}": [4] for kind in ("gamma", "beta", "moving_mean", "moving_variance")}
    shapes["table/embeddings"] = [10, 4]
    for way in "forward", "backward":
        shapes |= {f"reader/{way}_steps/lstm_cell/{kind}": of for kind, of in (("kernel", [4, 8]), ("recurrent_kernel", [2, 8]), ("bias", [8]))}
    shapes["mix/kernel"] = [4, 4]
    for name, units in ("each", 4), ("encode", 4), ("head/inner", 4), ("result", 2):
        shapes |= {f"{name}/kernel": [4, units], f"{name}/bias": [units]}
    return config, shapes


def check_tfjs():
    config, shapes = named_model()
    (FOLDER / "w.bin").write_bytes(bytes(4 * sum(map(math.prod, shapes.values()))))
    weights = [{"name": name.removeprefix("head/"), "shape": shape, "dtype": "float32"} for name, shape in shapes.items()]
    whole = {"format": "layers-model", "generatedBy": "keras", "convertedBy": None,
             "modelTopology": {"keras_version": "2.15.0", "backend": "tensorflow", "model_config": config},
             "weightsManifest": [{"paths": ["w.bin"], "weights": weights}]}
    path = FOLDER / "model.json"
    path.write_text(json.dumps(whole))
    check(attempt(path, "tfjs, as it is") == 0, "the TensorFlow.js model is not imported as it is")
    for number, old in enumerate(texts_of(whole)):
        for new in values_for(number):
            path.write_text(json.dumps(with_text(whole, old, new)))
            attempt(path, f"tfjs: {old!r} is {new[:80]!r}")
    # Blocks that are alike but for a number in their names, and one whose name has what could stand for a number.
    odd = whole
    for kind in "conv", "bn", "out":
        odd = with_text(odd, f"stage1_block2_{kind}", f"stage1_block#_{kind}")
    path.write_text(json.dumps(odd))
    check(attempt(path, "tfjs: a '#' in the place of a number") == 0, "names with '#' are not imported")
    # Keywords of a call have the names of options, and hide them: the type of the layer must not pass unseen.
    call = copy.deepcopy(whole)
    dense = next(each for each in call["modelTopology"]["model_config"]["config"]["layers"] if each["name"] == "result")
    dense["config"]["dtype"] = ATTACKS[0]
    dense["inbound_nodes"][0][0][3] = {"dtype": "float32"}
    path.write_text(json.dumps(call))
    check(attempt(path, "tfjs: a call's dtype") == 1, "a layer's dtype that no library has is taken")


def check_keras():
    for name in ("nested_3", "shared_3", "sentences_3") if THOROUGH else ("shared_3",):
        with zipfile.ZipFile(MODELS / f"{name}.keras") as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        config = json.loads(members["config.json"])
        for number, old in enumerate(texts_of(config)):
            for new in values_for(number, 2):
                path = FOLDER / "hostile.keras"
                with zipfile.ZipFile(path, "w") as archive:
                    for member, content in members.items():
                        archive.writestr(member, content if member != "config.json" else json.dumps(with_text(config, old, new)))
                attempt(path, f"{name}: {old!r} is {new[:80]!r}")


def check_rtneural():
    whole = json.loads((MODELS / "wave.json").read_text())
    path = FOLDER / "hostile.json"
    path.write_text(json.dumps(whole))
    check(attempt(path, "RTNeural, as it is") == 0, "the model in RTNeural's format is not imported as it is")
    for number, old in enumerate(texts_of(whole)):
        for new in values_for(number):
            path.write_text(json.dumps(with_text(whole, old, new)))
            attempt(path, f"RTNeural: {old!r} is {new[:80]!r}")


def same_length(text):
    """Hostile bytes as long as a text, as they stand in JSON."""
    def filled(value):
        return value + b"x" * (len(text) - len(value))
    short = [b'\\"', b'\\"}', b"\\n", b"\\\\", b"*/", b"//", b"';", b"()", b"\xd0\xb0", b"\xe2\x80\xae", b"int", b"for", b"\\u0000", b"\\u202e", b"?" * len(text), b" "]
    return [filled(each) for each in short if len(each) <= len(text)]


def check_in_place(path, begin, what):
    """Files whose lengths must stay as they are: an HDF5 file's attribute, the messages of a SavedModel."""
    whole = path.read_bytes()
    text = whole[whole.index(begin):]
    found = sorted({each for each in re.findall(rb'"([A-Za-z0-9_>.-]{2,40})"', text[: 1 << 16])}, key=text.index)
    for number, old in enumerate(found):
        values = same_length(old)
        for new in values if THOROUGH else values[number % len(values):][:1]:
            path.write_bytes(whole.replace(b'"' + old + b'"', b'"' + new + b'"') if number % 2 else whole.replace(old, new))
            attempt(path if path.suffix == ".h5" else path.parent, f"{what}: {old} is {new}")
    path.write_bytes(whole)


def check_h5_and_saved_model():
    path = FOLDER / "hostile.h5"
    shutil.copy(MODELS / "nested.h5", path)
    check_in_place(path, b'{"class_name"', "nested.h5")
    folder = FOLDER / "hostile_saved"
    shutil.copytree(MODELS / "nested_saved", folder)
    check_in_place(folder / "keras_metadata.pb", b'{"', "nested_saved")


def varint(value):
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


# What is inside which field of ONNX's messages: other messages, or texts.
NODE = {1: str, 2: str, 3: str, 4: str, 5: {1: str, 4: str, 9: str}, 7: str}
VALUE = {1: str, 2: {1: {2: {1: {2: str}}}}}
ONNX = {2: str, 3: str, 4: str, 7: {1: NODE, 2: str, 5: {8: str}, 11: VALUE, 12: VALUE, 13: VALUE}, 8: {1: str}}


def with_texts(data, kind, change):
    """A message of protobuf whose texts are changed."""
    result, at = b"", 0

    def read_varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        begin = at
        tag = read_varint()
        if tag & 7 == 0:
            read_varint()
        elif tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
        else:
            size = read_varint()
            content, at = data[at : at + size], at + size
            inside = kind.get(tag >> 3)
            if inside is not None:
                content = change(content) if inside is str else with_texts(content, inside, change)
                result += varint(tag) + varint(len(content)) + content
                continue
        result += data[begin:at]
    return result


def check_onnx():
    for name in ("torch_mlp", "torch_words", "by_hand", "torch_resnet") if THOROUGH else ("torch_mlp", "by_hand"):
        whole = (MODELS / f"{name}.onnx").read_bytes()
        found = {}
        with_texts(whole, ONNX, lambda text: found.setdefault(text, text))
        check(len(found) > 10, f"{name}.onnx has {len(found)} texts")
        for number, old in enumerate(found):
            values = [each.encode() for each in values_for(number, 2)] + ([b"\xff\xfe"] if number % 8 == 0 else [])
            for new in values:
                path = FOLDER / "hostile.onnx"
                path.write_bytes(with_texts(whole, ONNX, lambda text: new if text == old else text))
                attempt(path, f"{name}.onnx: {old} is {new[:80]}")


# The same of TensorFlow's graphs: nodes with their attributes.
ATTRIBUTE = {1: str, 2: {2: str, 8: {8: str}, 10: {1: str}}}
GRAPH_DEF = {1: {1: str, 2: str, 3: str, 4: str, 5: ATTRIBUTE}, 2: {1: {1: {1: str, 2: {1: str}, 3: {1: str}}, 3: {1: str, 2: str, 3: str}}}}


def check_graph_def():
    whole = (MODELS / "gates.pb").read_bytes()
    found = {}
    with_texts(whole, GRAPH_DEF, lambda text: found.setdefault(text, text))
    check(len(found) > 20, f"gates.pb has {len(found)} texts")
    for number, old in enumerate(found if THOROUGH else list(found)[::2]):
        for new in [each.encode() for each in values_for(number, 2)] + ([b"\xff\xfe"] if number % 8 == 0 else []):
            path = FOLDER / "hostile.pb"
            path.write_bytes(with_texts(whole, GRAPH_DEF, lambda text: new if text == old else text))
            attempt(path, f"gates.pb: {old} is {new[:80]}")


def write_bundle(folder, config, shapes):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    header, size = {}, 0
    for name, shape in shapes.items():
        header[name + ":0"] = {"dtype": "F32", "shape": shape, "data_offsets": [size, size := size + 4 * math.prod(shape)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    files = {}
    for name, content in ("model.json", json.dumps(config).encode()), ("weights.safetensors", struct.pack("<Q", len(text)) + text + bytes(size)):
        (folder / name).write_bytes(content)
        files[name] = {"bytes": len(content), "crc32": f"{zlib.crc32(content):08x}"}
    training = json.dumps({"format": "stagecraft bundle", "format_version": 1, "stagecraft_version": "0", "training": None,
                           "trainable_weights": [], "non_trainable_weights": [], "files": files, "crc32": "00000000"})
    (folder / "training.json").write_text(training.replace('"crc32": "00000000"}', f'"crc32": "{zlib.crc32(training.encode()):08x}"}}'))


def check_bundles():
    """A bundle is imported, exported as files of the other formats with the same names, which are imported, and converted."""
    config, shapes = named_model()
    for each in config["config"]["layers"]:
        each["config"].pop("dtype", None)
    folder = FOLDER / "bundle"
    shapes = {name.replace("_steps/lstm_cell", "_lstm"): shape for name, shape in shapes.items()}
    write_bundle(folder, config, shapes)
    check(attempt(folder, "a bundle, as it is") == 0, "the bundle is not imported as it is")
    for number, old in enumerate(texts_of(config)):
        for new in values_for(number, 2):
            write_bundle(folder, with_text(config, old, new), {with_text(name, old, new): shape for name, shape in shapes.items()})
            what = f"bundle: {old!r} is {new[:80]!r}"
            attempt(folder, what)
            if number % 6 == 0 or THOROUGH:
                for to in "exported.h5", "exported.keras", "exported.onnx":
                    if run("export", folder, "--to", FOLDER / to)[0] == 0:
                        attempt(FOLDER / to, f"{what}, as {to}")
    check_applications(folder, config, shapes)


def check_applications(folder, config, shapes):
    """What `convert` and `compile` write: its tokens are those of a harmless model."""
    how = {"batch_size": 2, "iterations": 1, "output_names": ["first"], "processing_header": "", "preprocessing_step": "", "postprocessing_step": "",
           "machine": {"num_ipus": 1, "matmul_amp": 0.6, "conv_amp": 0.6, "matmul_partial_type": "float", "conv_partial_type": "float"},
           "solution": {"device_mapping": [0, 1], "pipeline_mapping": {"stem1_conv": 0, "result": 1}}}

    def convert(config, shapes, how, what):
        write_bundle(folder, config, shapes)
        (folder / "application.json").write_text(json.dumps(how))
        place = FOLDER / "converted"
        shutil.rmtree(place, ignore_errors=True)
        code, text = run("convert", "--dir", folder, "--output_dir", place, "--tag_set", "serve", "--signature_def", "serving_default", "ipu", "--no_compile")
        check(code == 0 or (code == 1 and re.search(r"\[E\d{4}\]", text)), f"{what}: exit code {code}: {text[:2000]}")
        if code != 0:
            return set()
        return tokens_of((place / "application.cpp").read_text(), what)

    harmless = convert(config, shapes, how, "an application")
    check("inference" in harmless, f"the harmless application is not converted: {harmless}")
    for number, old in enumerate([*texts_of(how), "stem1_conv", "named"]):
        for new in values_for(number, 4):
            changed = with_text(how, old, new)
            if old == "stem1_conv":
                changed["solution"]["pipeline_mapping"] = {new: 0, "result": 1}
            for key in ("processing_header", "preprocessing_step", "postprocessing_step") if old == "" else ("",):
                what = f"application: {key} {old!r} is {new[:80]!r}"
                given = {**how, key: new} if key else changed
                own = with_text(config, old, new) if key == "" else config
                found = convert(own, {with_text(name, old, new) if key == "" else name: shape for name, shape in shapes.items()}, given, what)
                # A step is a type in a header beside the model, whose name has letters, `::`, and lists in <>.
                more = {each for each in found - harmless if not re.fullmatch(r"\d+|[A-Za-z0-9_]{1,90}", each)}
                check(not more and PAYLOAD not in found, f"{what}: {more}")


def check_file_names():
    """The model's name in C++ is made of the file's, and its test includes the header."""
    names = ['x"y', "x'y", "a\nb", "a\\b", "a\\", "protected", "constexpr", "nullptr", "int", "errno", "EOF", "x*y", "//", "<b>", "a b", "\u202ex", "\u0430b",
             "-x", "2d", "%s", "$(x)", "L" * 200, "#", "??", ".", "a.b", "_", "__", "sc", "build", "kind", f'a"; {PAYLOAD} x; "', f"{PAYLOAD}()"]
    for name in names:
        path = FOLDER / (name.replace("/", "_") + ".h5")
        shutil.copy(MODELS / "shared.h5", path)
        attempt(path, f"the file {name!r}", output=path.with_suffix(""))


def check_headers():
    """All headers that were written have the shape of a model's, and compile."""
    program = FOLDER / "source_check"
    subprocess.run([COMPILER, "-std=c++20", HERE / "source_check.cpp", "-o", program], check=True)
    wrong = subprocess.run([program, *headers], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    for each in wrong[:5]:
        check(False, f"{each} has not the shape of a model:\n{pathlib.Path(each).read_text()[:4000]}")
    distinct, types = {}, {}
    for each in headers:
        text = each.read_text()
        check(PAYLOAD not in tokens_of(text, each.name), f"{each}:\n{text[:4000]}")
        name = re.findall(r"^(?:struct|using) ([A-Za-z0-9_]+) [:=]", text, re.M)[-1]
        distinct.setdefault(re.sub(rf"\b{name}(_parts)?\b", "", text.partition("\n")[2]), each)
        types[each] = name
    own = [each for each in distinct.values() if each not in map(pathlib.Path, wrong)]
    size = max(1, -(-len(own) // 8)) if THOROUGH else len(own)
    taken = set()
    for begin in range(0, len(own), size):
        part = [each for each in own[begin : begin + size] if types[each] not in taken and not taken.add(types[each])]
        # Names of files are no matter of the compiler's here: some are no names of headers.
        source = "".join(re.sub(r"^#pragma once\n", "", each.read_text(), flags=re.M) for each in part)
        asked = part if THOROUGH else part[:: max(1, len(part) // 12)]
        source += "".join(f"static_assert(stagecraft::call_count<models::{types[each]}> > 0);\n" for each in asked)
        path = FOLDER / f"headers_{begin}.cpp"
        path.write_text(source)
        done = subprocess.run([COMPILER, "-std=c++20", "-march=native", "-fsyntax-only", "-w", "-I", HERE.parent.parent / "include", path], capture_output=True, text=True)
        check(done.returncode == 0, f"{path}: {done.stderr[:6000]}")
    print(f"{count} files, {accepted} of them imported as {len(own)} headers")


def check_types():
    """No text that is read converts to source: each way is an error of the compiler's."""
    source = '#include "source/source_text.hpp"\nusing namespace stagecraft::tool;\nsource_text made(std::string const& read) {{ {} }}\n'
    made = ['return "a"_cpp + string_literal(read) + number_text(1);', "return read;", "return source_text(read);", "return source_text(std::string(read));",
            "return source_text(read.c_str());", "return own_text(read.c_str());", "return own_text(std::string_view(read));", 'return "a"_cpp + read;',
            "source_text text; text += read; return text;", "source_text text; text += read.c_str(); return text;"]
    for each in made:
        (FOLDER / "types.cpp").write_text(source.format(each))
        done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-I", HERE.parent.parent / "tools" / "stagecraft", FOLDER / "types.cpp"], capture_output=True, text=True)
        check((done.returncode == 0) == (each is made[0]), f"{each}: the compiler's exit code is {done.returncode}: {done.stderr[:1000]}")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for packed in "models.tar.xz", "onnx_models.tar.xz", "rtneural_models.tar.xz", "saved_models.tar.xz", "tensorflow_graphs.tar.xz":
        with tarfile.open(HERE / packed) as archive:
            archive.extractall(MODELS)
    check_tfjs()
    check_rtneural()
    check_keras()
    check_h5_and_saved_model()
    check_onnx()
    check_graph_def()
    check_bundles()
    check_file_names()
    check_types()
    check_headers()
    end()


if __name__ == "__main__":
    main()
