# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft run`: every option, and saved_model_cli's words for what is wrong.

    check_run.py <the program> <folder with scores/ and exported/1/>
"""
import array
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

TOOL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def run(*arguments, folder="scores", **environment):
    result = subprocess.run([TOOL, "run", "--dir", FOLDER / folder, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return result.returncode, result.stdout, result.stderr


def expect(what, found, *parts):
    for part in parts:
        if part not in found:
            failures.append(f"{what}: expected '{part}' in\n{found}")


def refused(what, *arguments, text, folder="scores"):
    code, out, err = run(*arguments, folder=folder)
    expect(what, err, text)
    if code not in (1, 2):
        failures.append(f"{what}: exit code {code}, and\n{out}")


def npy(shape, values, kind="f"):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    if kind == "O":
        header = header.replace("<f4", "|O")
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes()


def floats(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    return data[10:begin].decode(), array.array("f", data[begin:])


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    pixels = [i * 7919 % 256 for i in range(24)]
    sizes = [i * 31 % 17 / 8 - 1 for i in range(8)]
    (scratch / "pixels.npy").write_bytes(npy((4, 2, 3), pixels))
    (scratch / "pickle.npy").write_bytes(npy((1,), [0], "O"))
    for name, arrays in ("one", {"size": sizes}), ("two", {"size": sizes, "other": sizes}):
        with zipfile.ZipFile(scratch / f"{name}.npz", "w") as archive:
            for key, values in arrays.items():
                archive.writestr(key + ".npy", npy((4, 2), values))
    image, one, two = f"pixels={scratch}/pixels.npy", f"size={scratch}/one.npz", f"size={scratch}/two.npz"

    # The same from files, with names and without, and from expressions and examples.
    code, expected, err = run("--tag_set", "serve", "--signature_def", "serving_default", "--inputs", f"{image};{one}")
    if code != 0:
        failures.append(f"files: {err}")
    expect("outputs", expected, "Result for output key class:\n[", "Result for output key scores:\n[[")
    if expected.index("key class") > expected.index("key scores") or len(expected.splitlines()) != 7:
        failures.append(f"outputs are not in order, or of other shapes:\n{expected}")
    rows = lambda values, length: [values[i:i + length] for i in range(0, len(values), length)]
    text = str(rows(rows(pixels, 3), 2))
    for what, given in {
            "a name": ["--inputs", f"{image};{two}[size]"],
            "a quote in a name": ["--inputs", f"pixels={shutil.copy(scratch / 'pixels.npy', scratch / ('it' + chr(39) + 's.npy'))};{one}"],
            "expressions": ["--input_exprs", f"pixels={text};size={rows(sizes, 2)}"],
            "numpy": ["--input_exprs", f"pixels = np.array({text}, dtype=np.float32).reshape(-1, 2, 3) * np.ones((4, 2, 3));"
                                       f"size = np.array({sizes}).astype('float32').reshape((4, 2))"],
            "both": ["--inputs", image, "--input_exprs", f"size=({rows(sizes, 2)} + np.zeros([4, 2])) / 2 * 2.0"],
            "examples": ["--input_examples", f"all={[{'pixels': rows(p, 3), 'size': s} for p, s in zip(rows(pixels, 6), rows(sizes, 2))]}"],
    }.items():
        code, out, err = run(*given)
        if out != expected or err:
            failures.append(f"{what}: {err}\n{out}\ninstead of\n{expected}")
    code, out, err = run("--inputs", f"{image}[any];{two}[other]", "--input_exprs", "size=np.full((4, 2), 3)")
    expect("warnings", err, f"WARNING: Input file {scratch}/pixels.npy contains a single ndarray. Name key \"any\" ignored.",
           "WARNING: input_key size has been specified with both --inputs and --input_exprs options. Value in --input_exprs "
           "will be used.")
    code, out, err = run("--input_exprs", "pixels=np.arange(0, 12, 2).reshape(1, 2, 3);size=np.random.rand(1, 2)",
                         "--input_examples", "all=[{'size': [1, 2]}]")
    expect("warnings", err, "WARNING: input_key size has been specified in multiple options. Value in --input_examples will be used.")

    # Files of outputs.
    out_folder = scratch / "made" / "out"
    given = ["--inputs", f"{image};{one}", "--outdir", out_folder]
    code, out, err = run(*given)
    expect("outdir", out, f"Output class is saved to {out_folder}/class.npy", f"Output scores is saved to {out_folder}/scores.npy")
    header, values = floats(out_folder / "scores.npy")
    expect("header", header, "'shape': (4, 2)", "'descr': '<f4'")
    if len(values) != 8 or not all(0 < value <= 1 for value in values[::2]):
        failures.append(f"scores.npy has {values}")
    refused("no overwrite", *given,
            text=f"Output file {out_folder}/class.npy already exists. Add \"--overwrite\" to overwrite the existing output files.")
    code, out, err = run(*given, "--overwrite")
    expect("overwrite", out, "is saved to")

    # What is wrong, in the words of saved_model_cli.
    refused("nothing", text="At least one of --inputs, --input_exprs or --input_examples must be required")
    refused("key", "--input_exprs", "x=1", text="\"x\" is not a valid input key. Please choose from \"pixels\", \"size\", or use --show option.")
    refused("format", "--inputs", "pixels", text="--inputs \"pixels\" format is incorrect. Please follow\"<input_key>=<filename>\", "
            "or\"<input_key>=<filename>[<variable_name>]\"")
    refused("format", "--inputs", "pixels=a[b", text="format is incorrect")
    refused("format", "--input_exprs", "pixels", text="--input_exprs \"pixels\" format is incorrect. Please follow\"<input_key>=<python expression>\"")
    refused("format", "--input_exprs", "pixels;size", text="--input_exprs \"pixels;size\" format is incorrect.")
    for text in "__import__('os')", "open('x')", "1 +", "[1, [2]", "np.exp(1)", "1 2", "(" * 100 + ")" * 100, "np.zeros((99999, 99999))", \
            "[1, 2] * 2", "[[1]] + [[2]]", "-[1]", "np.ones(2).astype(", "np.ones(2).astype([float[)", "np.zeros((2**20, -1, 0))", \
            "np.ones(4).reshape(-1, -1)", "np.ones(3).reshape(-1, 0)", "np.arange(0, 1, 0)", "np.arange(1e300)", "{1: 2}", "'a", "1e999":
        refused(text, "--input_exprs", f"size={text}", text=f"Expression \"{text}\" is not a valid python literal.")
    refused("examples", "--input_examples", "all={'size': [1]}", text="tf.Example input must be a list of dictionaries, but \"{'size': [1]}\" is <class 'dict'>")
    refused("examples", "--input_examples", "all=[{'size': 1}]", text="feature value must be a list, but size: \"1\" is <class 'int'> [E5095]")
    refused("examples", "--input_examples", "all=[{'size': 'a'}]", text="feature value must be a list, but size: \"a\" is <class 'str'> [E5095]")
    refused("examples", "--input_examples", "all=2.5", text="tf.Example input must be a list of dictionaries, but \"2.5\" is <class 'float'> [E5095]")
    refused("examples", "--input_examples", "all='a'", text="tf.Example input must be a list of dictionaries, but \"a\" is <class 'str'> [E5095]")
    refused("variable", "--inputs", f"{two}[none]", text=f"Input file {scratch}/two.npz does not contain variable with name \"none\".")
    refused("arrays", "--inputs", two, text=f"Input file {scratch}/two.npz contains more than one ndarrays. Please specify the name of ndarray to use.")
    refused("pickle", "--inputs", f"pixels={scratch}/pickle.npy", text="[E5013]")
    refused("missing", "--inputs", image, text="input \"size\" is not given")
    refused("shape", "--input_exprs", "pixels=np.ones((1, 3, 2));size=[[1, 2]]", text="input \"pixels\" has shape (1, 3, 2), expected (None, 2, 3)")
    refused("samples", "--input_exprs", "pixels=np.ones((2, 2, 3));size=[[1, 2]]", text="input \"size\" has 1 samples, the ones before 2")
    ok = ["--input_exprs", "pixels=np.ones((1, 2, 3));size=[[1, 2]]"]
    refused("tag", *ok, "--tag_set", "train", text="MetaGraphDef associated with tag-set train could not be found in the SavedModel. Please use one of the following tag-sets: "
            "['serve'] [E5095]")
    refused("worker", *ok, "--worker", "grpc://localhost:8470", text="--worker grpc://localhost:8470: sessions of TensorFlow run on workers")
    refused("debugger", *ok, "--tf_debug", text="--tf_debug: TensorFlow's debugger")
    refused("signature", *ok, "--signature_def", "other", text="Could not find signature \"other\". Please choose from: serving_default [E5095]")
    refused("folder", *ok, folder="none", text="[E5087]")
    for option, value in ("--num_ipus", "0"), ("--matmul_amp", "1.5"), ("--conv_amp", "-1"), ("--matmul_partial_type", "double"), ("--conv_partial_type", "x"):
        refused(option, *ok, option, value, text=option)
    refused("ipu", *ok, "--init_ipu", text="only exported models are compiled for another machine")

    # Emulated IPUs: compiled once, and then found in the cache; each option makes another application.
    given = ["--input_exprs", "image=np.arange(12).reshape(2, 2, 3) / 12;size=[[1, 2], [3, 4]]"]
    _, on_host, err = run(*given, folder="exported/1")
    ipu = ["--init_ipu", "--num_ipus", "2", "--matmul_amp", "0.4", "--conv_amp", "0.3", "--matmul_partial_type", "half",
           "--conv_partial_type", "half"]
    compiler = scratch / "c++"
    compiler.symlink_to(shutil.which(os.environ.get("CXX", "c++")))
    cached = {"folder": "exported/1", "XDG_CACHE_HOME": str(scratch), "CXX": str(compiler), "CXXFLAGS": "-O0"}
    code, out, err = run(*given, *ipu, **cached)
    if code != 0 or out.replace(" ", "")[:60] != on_host.replace(" ", "")[:60]:
        failures.append(f"emulated IPUs: {err}\n{out}\ninstead of\n{on_host}")
    source = next((scratch / "stagecraft").glob("*/application.cpp"))
    expect("source", source.read_text(), ".auto_select_ipus = 2", ".matmuls = {.available_memory_proportion = 0.4F, .partials_type = sc::dtype::float16}",
           ".convolutions = {.available_memory_proportion = 0.3F, .partials_type = sc::dtype::float16}")
    compiler.unlink()  # none is needed for what is in the cache, and one is for anything else
    code, again, err = run(*given, *ipu, **cached)
    if code != 0 or again != out:
        failures.append(f"from the cache: {err}\n{again}")
    plain = ["--init_ipu", "--num_ipus", "2"]
    for what, options, other in (("another machine", plain, {}), ("matmul_amp", [*plain, "--matmul_amp", "0.4"], {}), ("flags", ipu, {"CXXFLAGS": "-O1"}),
                                 ("a compiler", ipu, {"CXX": "/none/c++"}), ("headers", ipu, {"STAGECRAFT_INCLUDE": "/none"})):
        code, _, err = run(*given, *options, **{**cached, **other})
        expect(what, err, f"the compiler '{other.get('CXX', compiler)}' cannot be started", "[E5094]")

    # Its steps go with it, and nothing else does.
    stepped = scratch / "stepped"
    shutil.copytree(FOLDER / "exported/1", stepped)
    (stepped / "steps.hpp").write_text("// steps")
    how = json.loads((stepped / "application.json").read_text())
    for header, step, text in (("steps.hpp", "", "the compiler '/none/c++' cannot be started"), ("../steps.hpp", "", "'processing_header' has a character"),
                               ("steps.hpp", "a{}}; int b{", "'preprocessing_step' has a character"), ("none.hpp", "", "has no none.hpp")):
        (stepped / "application.json").write_text(json.dumps({**how, "processing_header": header, "preprocessing_step": step}))
        code, _, err = run(*given, "--init_ipu", folder=stepped, XDG_CACHE_HOME=str(scratch), CXX="/none/c++")
        expect("steps", err, text)
    if len(list((scratch / "stagecraft").glob("*/steps.hpp"))) != 2:
        failures.append("the header with the steps is not in the cache")

# `show` and `scan`: what TensorFlow 2.21's saved_model_cli prints of a SavedModel with these inputs and outputs.
SIGNATURE = """\
The given SavedModel SignatureDef contains the following input(s):
  inputs['image'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 2, 3)
      name: serving_default_image:0
  inputs['size'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 2)
      name: serving_default_size:0
The given SavedModel SignatureDef contains the following output(s):
  outputs['other'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 1)
      name: StatefulPartitionedCall:1
  outputs['scores'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 4)
      name: StatefulPartitionedCall:0
Method name is: tensorflow/serving/predict
"""
OPS = "The MetaGraph with tag set ['serve'] contains the following ops: {'Functional', 'InputLayer', 'Flatten', 'Dense', 'Concatenate'}\n"
TAG_SETS = "The given SavedModel contains the following tag-sets:\n'serve'\n"
KEYS = "The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:\nSignatureDef key: \"serving_default\"\n"


def said(command, folder, *arguments):
    result = subprocess.run([TOOL, command, "--dir", FOLDER / folder, *arguments], capture_output=True, text=True)
    return result.stdout + result.stderr


for command, folder, arguments, expected in (
        ("show", "exported/1", [], TAG_SETS),
        ("show", "exported/1", ["--list_ops"], "--list_ops must be paired with a tag-set or with --all.\n" + TAG_SETS),
        ("show", "exported/1", ["--tag_set", "serve"], KEYS),
        ("show", "exported/1", ["--tag_set", "serve", "--list_ops"], OPS + KEYS),
        ("show", "exported/1", ["--tag_set", "serve", "--signature_def", "serving_default"], SIGNATURE),
        ("show", "exported/1", ["--all"], "\nMetaGraphDef with tag-set: 'serve' contains the following SignatureDefs:\n\nsignature_def['serving_default']:\n" +
         "".join("  " + line for line in SIGNATURE.splitlines(True)) + OPS),
        ("show", "scores", ["--tag_set", "serve", "--list_ops"],
         f"stagecraft: {FOLDER}/scores has no model.json: an application alone is compiled, and has no operations to list [E5190]\n"),
        ("show", "exported/1", ["--tag_set", "x"], "stagecraft: MetaGraphDef associated with tag-set x could not be found in the SavedModel. "
         "Please use one of the following tag-sets: ['serve'] [E5095]\n"),
        ("show", "exported/1", ["--tag_set", "serve", "--signature_def", "x"],
         "stagecraft: Could not find signature \"x\". Please choose from: serving_default [E5095]\n"),
        ("show", "none", [], f"stagecraft: SavedModel file does not exist at: {FOLDER}/none [E5095]\n"),
        ("scan", "exported/1", [], "MetaGraph with tag set ['serve'] does not contain the default denylisted ops: {'WriteFile', 'ReadFile', 'PrintV2'}\n"),
        ("scan", "exported/1", ["--tag_set", "serve", "--op_denylist", "Dense, none,Flatten"],
         "MetaGraph with tag set ['serve'] contains the following denylisted ops: {'Dense', 'Flatten'}\n")):
    found = said(command, folder, *arguments)
    if found != expected:
        failures.append(f"{command} {folder} {arguments}:\n{found}\ninstead of\n{expected}")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
