# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft run`: every option, and saved_model_cli's words for what is wrong.

    check_run.py <the program> <folder with scores/ and exported/1/>
"""
import array
import json
import os
import pathlib
import pickle
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
    if kind == "d":
        header = header.replace("<f4", "<f8")
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

    # Functions of NumPy, as NumPy 2.4 computes them; np.random as after np.random.seed(0), one for all expressions.
    for given, values in (
            ('np.sin(np.arange(4)).reshape(2, 2)', [[0.0, 0.8414709568023682], [0.9092974066734314, 0.14112000167369843]]),
            ('np.cos(np.linspace(0, np.pi, 4)).reshape(-1, 2)', [[1.0, 0.5], [-0.5, -1.0]]),
            ('np.exp([[0, 0.5], [-1, 1]])', [[1.0, 1.6487212181091309], [0.3678794503211975, 2.7182817459106445]]),
            ('np.tan([[0.5, 1]]) + np.sqrt(np.array([[4], [9]]))', [[2.546302556991577, 3.5574076175689697], [3.546302556991577, 4.557407855987549]]),
            ('np.eye(2)', [[1.0, 0.0], [0.0, 1.0]]),
            ('np.eye(2, k=-1) - np.identity(2) / 2', [[-0.5, 0.0], [1.0, -0.5]]),
            ('np.random.randn(2, 2)', [[1.764052391052246, 0.40015721321105957], [0.978738009929657, 2.2408931255340576]]),
            ('np.random.rand(2, 2) - 0.5', [[0.04881350323557854, 0.2151893675327301], [0.10276337713003159, 0.044883184134960175]]),
            ('np.random.randint(0, 255, (2, 2)).astype(np.float32) / 255', [[0.6745098233222961, 0.18431372940540314], [0.4588235318660736, 0.7529411911964417]]),
            ('np.random.randint(0, 255, size=(2, 2), dtype=np.uint8) / 255', [[0.6745098233222961, 0.03921568766236305], [0.49803921580314636, 0.5490196347236633]]),
            ('np.random.uniform(-1, 1, size=(2, 2))', [[0.09762700647115707, 0.4303787350654602], [0.20552675426006317, 0.08976636826992035]]),
            ('np.random.normal(loc=0.5, scale=2, size=(2, 2))', [[4.028104782104492, 1.3003144264221191], [2.4574759006500244, 4.981786251068115]]),
            ('np.random.RandomState(42).randn(2, 2)', [[0.49671414494514465, -0.13826429843902588], [0.6476885676383972, 1.5230298042297363]]),
            ('np.linspace(-1, 1, num=4, endpoint=False).reshape(2, 2)', [[-1.0, -0.5], [0.0, 0.5]]),
            ('np.arange(4, dtype=np.float32).reshape(2, 2).T / 4', [[0.0, 0.5], [0.25, 0.75]]),
            ('np.array([[1.7, -1.7], [2.5, 0.3]]).astype(int)', [[1.0, -1.0], [2.0, 0.0]]),
            ("np.array([[0.1, 3.14159], [2049, 0.3]], dtype='float16')", [[0.0999755859375, 3.140625], [2048.0, 0.300048828125]]),
            ('np.full((2, 2), 0.25) * np.log([1, np.e]) ** 2', [[0.0, 0.25], [0.0, 0.25]]),
            ('np.stack([np.ones(2), np.zeros(2)], axis=-1)', [[1.0, 0.0], [1.0, 0.0]]),
            ('np.concatenate([np.ones((1, 2)), np.arange(2)[np.newaxis, :]])', [[1.0, 1.0], [0.0, 1.0]]),
            ('(np.arange(4).reshape(2, 2) - np.arange(4).mean()) / np.std(np.arange(4))', [[-1.341640830039978, -0.4472135901451111], [0.4472135901451111, 1.341640830039978]]),
            ('np.tile([0.5, -0.5], (2, 1))', [[0.5, -0.5], [0.5, -0.5]]),
            ('np.clip(np.arange(4).reshape(2, 2) % 3 // 2, 0, 1) - 7 % -4', [[1.0, 1.0], [2.0, 1.0]]),):
        _, out, err = run("--input_exprs", f"pixels=np.zeros((2, 2, 3));size={given}")
        _, expected, _ = run("--input_exprs", f"pixels=np.zeros((2, 2, 3));size={values}")
        if out != expected or err:
            failures.append(f"{given}: {err}{out}\ninstead of\n{expected}")
    _, out, _ = run("--input_exprs", "pixels=np.random.rand(1, 2, 3);size=np.random.rand(1, 2)")
    # The second input goes on where the first one ends.
    drawn = run("--input_exprs", "pixels=np.random.rand(1, 2, 3);size=np.random.rand(1, 2)")[1]
    if drawn != out or drawn == run("--input_exprs", "pixels=np.random.rand(1, 2, 3);size=np.random.RandomState(0).rand(1, 2)")[1]:
        failures.append(f"random numbers: {drawn} after {out}")

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
    for text in "__import__('os')", "open('x')", "1 +", "[1, [2]", "1 2", "(" * 100 + ")" * 100, "np.zeros((99999, 99999))", \
            "[1, 2] * 2", "[[1]] + [[2]]", "-[1]", "np.ones(2).astype(", "np.ones(2).astype([float[)", "np.zeros((2**20, -1, 0))", \
            "np.ones(4).reshape(-1, -1)", "np.ones(3).reshape(-1, 0)", "np.arange(0, 1, 0)", "np.arange(1e300)", "{1: 2}", "'a", "1e999":
        refused(text, "--input_exprs", f"size={text}", text=f"Expression \"{text}\" is not a valid python literal.")
    for text, why in (("np.fft.fft([1, 2])", "np.fft.fft is none of the functions that are carried out, which docs/cli.md lists."),
                      ("np.random.default_rng(0).random(2)", "np.random.default_rng is none of the functions"), ("np.sin()", ""), ("np.sin(1, 2)", ""),
                      ("np.ones(3) + np.ones(2)", "Arrays of shapes (3,) and (2,) do not go together."), ("np.ones(2).sort()", ".sort() is none of the methods"),
                      ("np.array([300]).astype(np.uint8)", "300 is no number of type uint8."), ("np.full(2, np.nan, dtype=int)", "nan is no number of type int64."),
                      ("np.ones(2, dtype='complex64')", "There is no type 'complex64'."), ("np.ones(2, kind=1)", "There is no argument 'kind'."),
                      ("np.random.randint(5, 5)", "np.random.randint draws from whole numbers"), ("np.ones(3)[1:]", "In brackets after an array, np.newaxis"),
                      ("np.repeat(np.ones(1000000), 1000000)", ""), ("np.tile([1], 999999999)", ""), ("np.eye(99999)", ""), ("np.sum([1], axis=2)", "Axis 2 is none")):
        refused(text, "--input_exprs", f"size={text}", text=f"Expression \"{text}\" is not a valid python literal." + (" " + why if why else ""))
    refused("beyond float32", "--input_exprs", "size=[[1, 1e39]]", text="Expression \"[[1, 1e39]]\": element [0, 1] is 1e+39, which is no number of type float32")
    refused("examples", "--input_examples", "all={'size': [1]}", text="tf.Example input must be a list of dictionaries, but \"{'size': [1]}\" is <class 'dict'>")
    refused("examples", "--input_examples", "all=[{'size': 1}]", text="feature value must be a list, but size: \"1\" is <class 'int'> [E5095]")
    refused("examples", "--input_examples", "all=[{'size': 'a'}]", text="feature value must be a list, but size: \"a\" is <class 'str'> [E5095]")
    refused("examples", "--input_examples", "all=2.5", text="tf.Example input must be a list of dictionaries, but \"2.5\" is <class 'float'> [E5095]")
    refused("examples", "--input_examples", "all='a'", text="tf.Example input must be a list of dictionaries, but \"a\" is <class 'str'> [E5095]")
    refused("variable", "--inputs", f"{two}[none]", text=f"Input file {scratch}/two.npz does not contain variable with name \"none\".")
    refused("arrays", "--inputs", two, text=f"Input file {scratch}/two.npz contains more than one ndarrays. Please specify the name of ndarray to use.")
    refused("pickle", "--inputs", f"pixels={scratch}/pickle.npy", text="[E5013]")
    (scratch / "x.pkl").write_bytes(pickle.dumps([1, 2]))
    (scratch / "x.data").write_bytes(pickle.dumps([1, 2], protocol=2))
    (scratch / "old.pickle").write_bytes(pickle.dumps([1, 2], protocol=0))
    for name in "x.pkl", "x.data", "old.pickle":
        refused("a pickle", "--inputs", f"size={scratch}/{name}", text=f"{scratch}/{name}: is a pickle, which is a program of Python's and is not run. Save its array by "
                f"NumPy: np.save(\"{scratch}/{pathlib.Path(name).stem}.npy\", array), and give that file [E5208]")
    (scratch / "wide.npy").write_bytes(npy((1, 2), [], "d") + struct.pack("<2d", 1, 1e39))
    refused("beyond float32", "--inputs", f"size={scratch}/wide.npy", text=f"{scratch}/wide.npy: element[0, 1] is 1e+39, which is no number of type float32, of which the largest is 3.4028235e+38 [E5205]")
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

    # Options that have no effect without others.
    for option, value in ("--num_ipus", "4"), ("--matmul_amp", "0.5"), ("--conv_amp", "0.6"), ("--matmul_partial_type", "half"), ("--conv_partial_type", "float"):
        refused(option, *ok, option, value, text=f"{option} requires --init_ipu", folder="exported/1")
    refused("overwrite", *ok, "--overwrite", text="--overwrite requires --outdir")

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

    # Of a converted model: the machine that it is for, unless an option says something else.
    converted = scratch / "converted"
    shutil.copytree(FOLDER / "exported/1", converted)
    how = json.loads((converted / "application.json").read_text())
    how["machine"] = {"num_ipus": 2, "matmul_amp": 0.4, "conv_amp": 0.3, "matmul_partial_type": "half", "conv_partial_type": "half"}
    (converted / "application.json").write_text(json.dumps(how))
    for options, parts in (([], ["auto_select_ipus = 2", "0.4F", "0.3F", "sc::dtype::float16"]),
                           (["--num_ipus", "4", "--conv_amp", "0.5", "--matmul_partial_type", "float"], ["auto_select_ipus = 4", "0.4F", "0.5F", "sc::dtype::float32"])):
        before = set((scratch / "stagecraft").glob("*/application.cpp"))
        _, _, err = run(*given, "--init_ipu", *options, folder=converted, XDG_CACHE_HOME=str(scratch), CXX="/none/c++")
        expect("a converted model", err, "cannot be started")
        for source in set((scratch / "stagecraft").glob("*/application.cpp")) - before:
            expect("a converted model", source.read_text(), *parts)
    refused("IPUs of a converted model", *given, "--num_ipus", "4", folder=converted, text="--num_ipus requires --init_ipu")
    for folder, arguments, text in ((converted, ["--threads", "2"], "threads are the host's [E5209]"),
                                    (scratch, ["--threads", "2"], f"{scratch}: --threads is for exported models"), (scratch, ["--allowed_batch_sizes", "1"], "--allowed_batch_sizes is for")):
        (scratch / "application.cpp").write_text("")
        result = subprocess.run([TOOL, "compile", folder, "--compiler", "/none/c++", *arguments], capture_output=True, text=True)
        expect("compile", result.stderr, text, "[E5209]")

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

for arguments in (["show", "x.h5", "--tag_set", "serve"], ["show", "x.h5", "--all"], ["show", "x.h5", "--list_ops"], ["show", "--dir", "x", "--signature_def", "serving_default"],
                  ["show", "--dir", "x", "--all", "--tag_set", "serve"], ["show", "--dir", "x", "--input-shape", "3"]):
    result = subprocess.run([TOOL, *arguments], capture_output=True, text=True)
    if result.returncode != 2 or ("requires" not in result.stderr and "excludes" not in result.stderr):
        failures.append(f"{arguments}: {result}")
result = subprocess.run([TOOL, "import", "x.keras", "--architecture", "x.json"], capture_output=True, text=True)
expect("architecture", result.stderr, "x.keras: --architecture is for .h5 files of weights alone", "[E5209]")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
