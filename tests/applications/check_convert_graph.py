# SPDX-License-Identifier: BSD-3-Clause
"""Converts graphs of TensorFlow, a SavedModel of functions and a frozen graph, with names of their nodes in the options,
and runs two of the applications: they predict what TensorFlow has.

    python3 tests/applications/check_convert_graph.py <the program stagecraft>"""
import array
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

TOOL = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).parents[2]
scratch = pathlib.Path(tempfile.mkdtemp())
failures = []
count = 0
runtime = ["--int64_to_int32_conversion", "--embedded_runtime_save_config", '{"embedded_runtime_exec_cachedir": "kept", "runtime_api_timeout_us": 700}']


def convert(source, *options, compiles=False):
    global count
    count += 1
    to = scratch / f"converted_{count}"
    result = subprocess.run([TOOL, "convert", "--dir", scratch / source, "--output_dir", to, "ipu", *(() if compiles else ("--no_compile",)), *options],
                            capture_output=True, text=True, cwd=scratch)
    return to, result.returncode, result.stderr


def gives(what, source, *options, has=(), lacks=(), application=()):
    to, code, said = convert(source, *options)
    if code != 0 or "WARNING" in said:
        failures.append(f"{what}: {said}")
        return
    text, program = (to / "model.hpp").read_text(), (to / "application.cpp").read_text()
    failures.extend(f"{what}: expected '{each}' in\n{text}" for each in has if each not in text)
    failures.extend(f"{what}: '{each}' is in\n{text}" for each in lacks if each in text)
    failures.extend(f"{what}: expected '{each}' in\n{program}" for each in application if each not in program)


def refuses(what, source, code, text, *options):
    _, status, said = convert(source, *options)
    if status != 1 or f"[{code}]" not in said or text not in said:
        failures.append(f"{what}: expected {code} '{text}', found {status}\n{said}")


def numbers(path):
    """The numbers of a .npy file of float32."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    assert "<f4" in data[:begin].decode("latin1"), path
    return array.array("f", data[begin:])


def predicts(what, source, key, output, *options):
    """Compiles the application, runs it, and compares with what TensorFlow has predicted."""
    to, code, said = convert(source, "--batch_size", "5", "--flag=-O0", *options, compiles=True)
    if code != 0:
        failures.append(f"{what}: {said[-3000:]}")
        return
    name = source.removesuffix(".pb")
    done = subprocess.run([TOOL, "run", "--dir", to, "--tag_set", "serve", "--signature_def", "serving_default", "--inputs", f"{key}={scratch / name}_x.npy",
                           "--outdir", to / "predicted"], capture_output=True, text=True)
    if done.returncode != 0:
        failures.append(f"{what}: {done.stdout}{done.stderr}")
        return
    found, expected = numbers(to / "predicted" / f"{output}.npy"), numbers(scratch / f"{name}_y.npy")
    if len(found) != len(expected) or max(abs(a - b) for a, b in zip(found, expected)) > 1e-5:
        failures.append(f"{what}: {found}, expected {expected}")


with tarfile.open(ROOT / "tests/import/tensorflow_graphs.tar.xz") as archive:
    archive.extractall(scratch)
# Nodes that an option treats alike are one layer, others are not.
gives("a layer of seven nodes", "ranker", "--excluded_nodes", "^dense/", has=["dense{8, sc::gelu}.on_host()"], application=['.output_names = {"scores"}'])
gives("without a bias", "ranker", "--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "out/BiasAdd$", has=["dense{6, {.use_bias = false}}.in_dtype"])
gives("an activation alone", "gates.pb", "--excluded_nodes", "score|out/Softmax$", "out/MatMul", has=["dense{3, sc::softmax, {.use_bias = false}}.on_host()"])
gives("the last node", "gates.pb", "--excluded_nodes", "out/Softmax", has=["activation{sc::softmax}.on_host()", "dense{3, {.use_bias = false}}.named"])
refuses("a node in the middle", "gates.pb", "E5140", "'dense/Relu'", "--excluded_nodes", "^dense/Relu$")
gives("the nodes of a GELU", "ranker", "--gelu_replacement", json.dumps({"nodes": ["dense/(mul|add|Erf|truediv)"], "node_as_gelu_input": ["dense/BiasAdd"], "node_use_gelu_output": ["^out/MatMul"]}),
      has=["dense{8}", "activation{sc::gelu}"], lacks=["erf"])
sharding = ["--num_ipus", "2", "--manual_sharding", '[["^dense/", "out/"], ["^residual/", "score"]]']
gives("sharding", "ranker", *sharding, application=['"dense": 0', '"score": 1', '"sum_tanh_absolute": 1'])
to, code, said = convert("gates.pb", "--excluded_nodes", "nowhere")
if "'nowhere' of excluded_nodes is in the name of no layer" not in said:
    failures.append(f"a name that no node has: {said}")
# A layer of the model's own is in the header alone.
to, code, said = convert("ranker")
(to / "model.hpp").unlink()
done = subprocess.run([TOOL, "compile", to], capture_output=True, text=True)
if done.returncode != 1 or "[E5245]" not in done.stderr:
    failures.append(f"without its header: {done.stderr}")
# Stages by the names of nodes, and a solution file with such names.
lists = [["dense/", "out/"], ["residual/", "score/"]]
predicts("a SavedModel in two stages", "ranker", "features", "scores", *runtime, "--pipeline_cfg",
         json.dumps({"converter": "manual", "manual_pipeline_config": lists, "device_info": [0, 1], "profiling_enable": False, "solution_dir": str(scratch)}))
(scratch / "nodes.pipeconfig").write_text(json.dumps({"device_mapping": [0, 1], "pipeline_mapping": {"dense/MatMul": 0, "dense/Erf": 1, "dense/BiasAdd": 0, "dense/mul": 1, "dense/add": 1, "dense/truediv": 1,
                                                     "dense/mul_1": 1, "out/MatMul": 1, "out/BiasAdd": 1, "residual/add": 1, "residual/Tanh": 1, "residual/Abs": 1, "residual/add_1": 1,
                                                     "residual/truediv": 1, "score/MatMul": 1, "score/Softmax": 1}}))
predicts("a frozen graph with excluded nodes and shards", "gates.pb", "x0", "Identity", "--excluded_nodes", "^dense/", "--num_ipus", "2",
         "--manual_sharding", '[["^gate/"], ["^out/"]]')
if "--thorough" in sys.argv:
    predicts("a solution file of nodes", "ranker", "features", "scores", *runtime, "--pipeline_cfg",
             json.dumps({"converter": "load", "solution_path": str(scratch / "nodes.pipeconfig"), "profiling_enable": False}))
print("\n".join(failures))
sys.exit(1 if failures else 0)
