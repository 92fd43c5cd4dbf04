# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft convert ... ipu`: what each option makes of a model, and what is refused. All but one conversion write
sources only, which are read here, or are compiled by a compiler that only keeps what it is given; that one is compiled
and run.

    check_convert.py <the program>
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

TOOL = sys.argv[1]
failures = []
scratch = pathlib.Path(tempfile.mkdtemp())
count = 0


def layer(name, class_name, inputs, **config):
    return {"class_name": class_name, "config": {"name": name, **config}, "name": name,
            "inbound_nodes": [[[each, 0, 0, {}] for each in inputs]] if inputs else []}


def dense(name, source, units, **config):
    return layer(name, "Dense", [source], units=units, **config)


def write_bundle(folder, layers, output, weights, **config):
    """What save_model writes, of a predictor."""
    folder.mkdir()
    model = json.dumps({"class_name": "Functional", "config": {
        "name": "small", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [[output, 0, 0]], **config}}).encode()
    header, data = {}, b""
    for name, shape in weights.items():
        size = 1
        for length in shape:
            size *= length
        values = struct.pack(f"<{size}f", *(((i * 37 + len(data)) % 19 - 9) / 20 for i in range(size)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write_files(folder, model, struct.pack("<Q", len(text)) + text + data)


def write_files(folder, model, tensors):
    files = {}
    for name, content in ("model.json", model), ("weights.safetensors", tensors):
        (folder / name).write_bytes(content)
        files[name] = {"bytes": len(content), "crc32": f"{zlib.crc32(content):08x}"}
    training = json.dumps({"format": "stagecraft bundle", "format_version": 1, "stagecraft_version": "0", "training": None,
                           "trainable_weights": [], "non_trainable_weights": [], "files": files, "crc32": "00000000"})
    (folder / "training.json").write_text(training.replace('"crc32": "00000000"}',
                                                           f'"crc32": "{zlib.crc32(training.encode()):08x}"}}'))


def weights_of(**layers):
    result = {}
    for name, (inputs, units) in layers.items():
        result[f"{name}/kernel:0"], result[f"{name}/bias:0"] = [inputs, units], [units]
    return result


def add_application(folder, **how):
    """What an export adds to a bundle."""
    (folder / "application.json").write_text(json.dumps({"batch_size": 1, "iterations": 1, "output_names": [], **how}))


def compiler_that_answers(*answers):
    """A compiler that keeps sources and arguments in a folder, and whose programs answer so, one after the other."""
    folder = scratch / f"compiler_{count}"
    folder.mkdir()
    for i, answer in enumerate(answers):
        (folder / f"{i}.json").write_text(json.dumps(answer))
    program = folder / "c++"
    program.write_text(f"""#!/bin/sh
cd {folder}
number=$(ls | grep -c '^source')
echo "$@" >> arguments
for each; do
  case "$each" in *.cpp) cp "$each" "source_$number";; esac
  if [ "$previous" = -o ]; then printf '#!/bin/sh\necho "$@" >> {folder}/folders; cat {folder}/%s.json' $number > "$each"; chmod +x "$each"; fi
  previous=$each
done
""")
    program.chmod(0o755)
    return folder, program


def convert(*options, source="chain", name=None, tags="serve", signature="serving_default"):
    global count
    count += 1
    to = scratch / (name or f"converted_{count}")
    result = subprocess.run([TOOL, "convert", "--dir", scratch / source, "--output_dir", to, "--tag_set", tags,
                             "--signature_def", signature, "ipu",
                             *(() if name else ("--no_compile",)), *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=scratch)
    return to, result.returncode, result.stderr


def gives(what, *options, has=(), lacks=(), application=(), source="chain"):
    to, code, said = convert(*options, source=source)
    if code != 0:
        failures.append(f"{what}: {said}")
        return to
    text, program = (to / "model.hpp").read_text(), (to / "application.cpp").read_text()
    for where, parts in (text, has), (program, application):
        for part in parts:
            if part not in " ".join(where.split()):
                failures.append(f"{what}: expected '{part}' in\n{where}")
    for part in lacks:
        if part in text or part in program:
            failures.append(f"{what}: '{part}' is in\n{text}{program}")
    return to


def refuses(what, code, *options, text="", source="chain"):
    to, result, said = convert(*options, source=source)
    if result != 1 or code not in said or text not in said:
        failures.append(f"{what}: expected {code} '{text}', found {result}\n{said}")
    if to.exists():
        failures.append(f"{what}: {to} is left")


write_bundle(scratch / "chain", [
    layer("x", "InputLayer", [], batch_input_shape=[None, 6], dtype="float32"),
    dense("first", "x", 8, activation="relu"), layer("drop", "Dropout", ["first"], rate=0.5), dense("middle", "drop", 8),
    dense("last", "middle", 3)], "last", weights_of(first=(6, 8), middle=(8, 8), last=(8, 3)))
chain = [
    layer("x", "InputLayer", [], batch_input_shape=[None, 6], dtype="float32"), dense("first)json", "x", 8, dtype="float16"),
    dense("last", "first)json", 3)]
write_bundle(scratch / "staged", chain, "last", weights_of(**{"first)json": (6, 8), "last": (8, 3)}),
             pipeline_stages={"first)json": 0, "last": 1}, pipelining_device_mapping=[0, 1])
write_bundle(scratch / "four_layers", [
    layer("x", "InputLayer", [], batch_input_shape=[None, 6], dtype="float32"), dense("first", "x", 6), layer("drop", "Dropout", ["first"], rate=0.5),
    dense("middle", "drop", 6), dense("last", "middle", 3)], "last", weights_of(first=(6, 6), middle=(6, 6), last=(6, 3)),
             pipeline_stages={"first": 0, "drop": 0, "middle": 1, "last": 1}, pipelining_device_mapping=[0, 1],
             pipeline_stage_assignment=[[0, 0, 0], [1, 0, 0], [2, 0, 1], [3, 0, 1]])
write_bundle(scratch / "one_stage", [*chain, layer("softmax", "Softmax", ["last"])], "softmax",
             weights_of(**{"first)json": (6, 8), "last": (8, 3)}), pipeline_stages={"first)json": 0, "last": 0, "softmax": 0})
write_bundle(scratch / "sequence", [
    layer("x", "InputLayer", [], batch_input_shape=[None, 4, 6], dtype="float32"),
    layer("each", "TimeDistributed", ["x"], layer={"class_name": "Dense", "config": {"name": "inner", "units": 8}}), dense("last", "each", 3)],
             "last", weights_of(each=(6, 8), last=(8, 3)))
write_bundle(scratch / "words", [
    layer("x", "InputLayer", [], batch_input_shape=[None, 5], dtype="int64"),
    layer("embedding", "Embedding", ["x"], input_dim=9, output_dim=4), layer("flatten", "Flatten", ["embedding"]),
    dense("last", "flatten", 3)], "last", {"embedding/embeddings:0": [9, 4], **weights_of(last=(20, 3))})
parts_of_gelu = [
    layer("x", "InputLayer", [], batch_input_shape=[None, 6], dtype="float32"), dense("inner/dense", "x", 6),
    layer("inner/scaled", "Rescaling", ["inner/dense"], scale=0.5, offset=0.0),
    layer("inner/tanh", "Activation", ["inner/scaled"], activation="tanh"),
    layer("inner/mul", "Multiply", ["inner/dense", "inner/tanh"]), dense("outer/dense", "inner/mul", 3)]
for folder, output in ("gelu", "outer/dense"), ("two_outputs", "inner/tanh"), ("exported", "outer/dense"):
    write_bundle(scratch / folder, parts_of_gelu, output, weights_of(**{"inner/dense": (6, 6), "outer/dense": (6, 3)}))

add_application(scratch / "exported", batch_size=3, iterations=6, allowed_batch_sizes=[1, 3],
                signatures={"a": {"method_name": "tensorflow/serving/classify"}})

runtime = '{"embedded_runtime_exec_cachedir": "kept", "runtime_api_timeout_us": 700}'
half = ".in_dtype(sc::dtype::float16)"
plain = gives("no option", has=["dense{8, sc::relu}"], lacks=[half, ".on_host()", "solution"],
              application=[".auto_select_ipus = 1", ".batch_size = 1", ".steps_per_execution = 1", "sc::ipu<"])
# One option each, which the sources show.
gives("num_ipus", "--num_ipus", "2", application=[".auto_select_ipus = 2"])
gives("matmul_amp", "--matmul_amp", "0.25", application=[".matmuls = {.available_memory_proportion = 0.25F"])
gives("conv_amp", "--conv_amp", "0.25", application=[".convolutions = {.available_memory_proportion = 0.25F"])
gives("matmul_partial_type", "--matmul_partial_type", "half",
      application=[".matmuls = {.available_memory_proportion = 0.6F, .partials_type = sc::dtype::float16"])
gives("conv_partial_type", "--conv_partial_type", "half",
      application=[".convolutions = {.available_memory_proportion = 0.6F, .partials_type = sc::dtype::float16"])
gives("batch_size", "--batch_size", "4", application=[".batch_size = 4"])
gives("batch_per_step", "--batch_per_step", "3", application=[".steps_per_execution = 3"])
gives("precision_mode", "--precision_mode", "FP16", has=[f"dense{{8, sc::relu}}{half}", f"dense{{3}}{half}"])
gives("precision_conversion_excluded_nodes", "--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "^la", "irst",
      has=[f"dense{{8}}{half}.named(\"middle\")", "dense{3}.named(\"last\")", "dense{8, sc::relu}.named"])
gives("no_ipu_placement", "--no_ipu_placement", application=["sc::host<>"], lacks=["sc::ipu<"])
gives("ipu_placement", "--ipu_placement", application=["sc::ipu<"])
gives("excluded_nodes", "--excluded_nodes", "^first$", "last",
      has=["dense{8, sc::relu}.on_host()", "dense{3}.on_host()", "dense{8}.named"])
gives("a layer in another one", "--excluded_nodes", "each", source="sequence", has=["time_distributed{dense{8}}.on_host()"])
gives("a set of characters", "--excluded_nodes", "[l]as[t]", has=["dense{3}.on_host()"])
gives("remove_excluded_nodes", "--excluded_nodes", "drop", "first", "--remove_excluded_nodes", lacks=["dropout", "relu"],
      has=["model.input({8}, \"x\")", "dense{8}"])
gives("the end is removed", "--excluded_nodes", "last", "--remove_excluded_nodes", lacks=["dense{3}"])
gives("int64_to_int32_conversion", "--int64_to_int32_conversion", source="words", has=["sc::dtype::int32"])
gives("int64 on the host", "--no_ipu_placement", source="words", lacks=["int32"])
gelu = {"nodes": ["inner/scaled$", "inner/tanh", "inner/mul"], "node_as_gelu_input": ["inner/dense"],
        "node_use_gelu_output": ["outer"]}
gives("gelu_replacement", "--gelu_replacement", json.dumps({"gelu_replacement": gelu}), source="gelu", has=["sc::gelu"],
      lacks=["tanh", "multiply"])
gives("manual_sharding", "--num_ipus", "2", "--manual_sharding", "[['first'], ['^middle', 'last']]",
      application=["sc::pipeline::solution_file<solution>", "sc::schedule::sequential", '"device_mapping": [ 0, 1 ]', '"drop": 0',
                   '"middle": 1'])
gives("merge_subgraphs", "--merge_subgraphs")
# How an exported model is run, unless an option says it.
to = gives("as it is exported", source="exported", application=[".batch_size = 3", ".steps_per_execution = 6"], lacks=["allowed_batch_sizes"])
if json.loads((to / "application.json").read_text()).get("signatures") != {"a": {"method_name": "tensorflow/serving/classify"}}:
    failures.append("signatures of examples are not kept")
gives("batch_per_step of an embedded runtime", "--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime, source="exported",
      application=[".batch_size = 3", ".steps_per_execution = 1"])
gives("several sizes", "--no_ipu_placement", source="exported", application=[".batch_size = 3", ".allowed_batch_sizes = {1, 3}"])
gives("another size", "--no_ipu_placement", "--batch_size", "2", source="exported", application=[".batch_size = 2"], lacks=["allowed_batch_sizes"])
# Stages of the model itself, types of its layers, and a name in which a literal of C++ would end.
gives("stages", "--batch_per_step", "2", "--num_ipus", "2", source="staged",
      application=["sc::stages<0, 1>, sc::device_mapping<0, 1>", ".steps_per_execution = 4"])
to = gives("stages of what is left", "--excluded_nodes", "drop", "--remove_excluded_nodes", source="four_layers",
           application=["sc::stages<0, 1, 1>, sc::device_mapping<0, 1>"])
if (left := json.loads((to / "model.json").read_text())["config"])["pipeline_stage_assignment"] != [] or \
        left["pipeline_stages"] != {"first": 0, "middle": 1, "last": 1}:
    failures.append(f"stages of what is left: {left}")
gives("one stage of what is left", "--excluded_nodes", "softmax", "--remove_excluded_nodes", source="one_stage", application=["sc::stages<0, 0>"])
gives("another type", "--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "first", source="staged",
      has=[f"dense{{8}}{half}", f"dense{{3}}{half}"])
gives("a name", "--num_ipus", "2", "--manual_sharding", '[["first"], ["last"]]', source="staged",
      application=[r'"{\n" " \"device_mapping\": [\n"', r'" \"first)json\": 0,\n"', '"}";'])
to = gives("embedded_runtime_save_config", "--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime)
if json.loads((to / "application.json").read_text()).get("runtime_api_timeout_us") != 700:
    failures.append("runtime_api_timeout_us is not in application.json")
(scratch / "options.json").write_text("""{
  // all of it
  "batch_size": 2, "precision_mode": "FP16", "excluded_nodes": ["last"],  // and this
  "conv_amp": 0.5 }""")
to = gives("config_file", "--config_file", scratch / "options.json", "--batch_size", "5", has=[half, ".on_host()"],
           application=[".batch_size = 5", "0.5F"])
params = json.loads((to / "conversion_params.json").read_text())
if params["options"] != {"batch_size": 5, "precision_mode": "FP16", "excluded_nodes": ["last"], "conv_amp": 0.5} or \
        params["crc32"]["model.json"] != f"{zlib.crc32((scratch / 'chain/model.json').read_bytes()):08x}":
    failures.append(f"conversion_params.json: {params}")
shown = subprocess.run([TOOL, "show", to], stdout=subprocess.PIPE, text=True).stdout
if half not in shown or ".on_host()" not in shown:
    failures.append(f"show: {shown}")

result = subprocess.run([TOOL, "compile", to, "--allowed_batch_sizes", "1,5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
if result.returncode != 1 or "for emulated IPUs, which compute batches of one size [E5148]" not in result.stderr:
    failures.append(f"several sizes for IPUs: {result}")

# The program that asks for costs is compiled.
manual = {"converter": "manual", "manual_pipeline_config": [["first", "drop"], ["middle", "last"]], "device_info": [0, 1],
          "solution_dir": "by"}
gives("pipeline_cfg", "--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime, "--batch_per_step", "2",
      "--pipeline_cfg", json.dumps({**manual, "profiling_enable": False}), application=["sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 1>",
                                                      ".auto_select_ipus = 2", ".steps_per_execution = 4"])

# The search for stages: programs of a compiler that does not compile answer it.
found = {"memory": "", "description": "a profile", "config": {"pipeline_stages": {"first": 0, "drop": 1, "middle": 2, "last": 3},
                                                              "pipelining_device_mapping": [0, 1, 2, 3]}}
found["solution"] = json.dumps({"device_mapping": [0, 1, 2, 3], "pipeline_mapping": found["config"]["pipeline_stages"]})
too_small = {**found, "memory": "IPU 1 needs 9 bytes"}
stages_found = found
pipelined = ["--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime]
cfg = {"converter": "auto", "priority": "memory", "fine_tune_iter": 3, "max_ipu_quantity": 4, "profiling_root_dir": "profiles"}
kept, compiler = compiler_that_answers(too_small, found)
gives("auto", *pipelined, "--batch_size", "4", "--batch_per_step", "2", "--matmul_amp", "0.25", "--compiler", compiler, "--pipeline_cfg", json.dumps(cfg),
      application=[".auto_select_ipus = 4", ".available_memory_proportion = 0.25F", ".batch_size = 4", ".steps_per_execution = 8",
                   "sc::stages<0, 1, 2, 3>, sc::device_mapping<0, 1, 2, 3>"])
for i, parts in enumerate(([".min_ipus = 2, .max_ipus = 2, .fine_tune_iter = 3", "auto_pipeline_priority::memory", ".auto_select_ipus = 2", "0.25F",
                            ".batch_size = 4, .steps_per_execution = 4"], [".min_ipus = 4, .max_ipus = 4, .fine_tune_iter = 3", ".steps_per_execution = 8"])):
    for part in parts:
        if part not in (source := (kept / f"source_{i}").read_text()):
            failures.append(f"auto: expected '{part}' in\n{source}")
if (folders := (kept / "folders").read_text().split()) != ["profiles/auto_2_ipus", "profiles/auto_4_ipus"]:
    failures.append(f"auto: profiles in {folders}")
if json.loads((scratch / "solution/greedy_search.pipeconfig").read_text()) != json.loads(found["solution"]):
    failures.append("auto: another solution file")
# What `auto` has written is what `load` reads, unless it is told another path; a default of `auto` each.
kept, compiler = compiler_that_answers(found)
gives("load", *pipelined, "--compiler", compiler, "--pipeline_cfg", '{"converter": "load"}', application=["sc::stages<0, 1, 2, 3>"])
if '"middle": 2' not in (source := (kept / "source_0").read_text()):
    failures.append(f"load: {source}")
kept, compiler = compiler_that_answers(found)
gives("defaults of auto", *pipelined, "--compiler", compiler, "--pipeline_cfg", '{"converter": "auto", "min_ipu_quantity": 3, "solution_dir": "by"}',
      application=["sc::stages<0, 1, 2, 3>"])
if ".min_ipus = 4, .max_ipus = 4, .fine_tune_iter = 5" not in (source := (kept / "source_0").read_text()) or "priority::cycle" not in source:
    failures.append(f"defaults of auto: {source}")
if (kept / "folders").read_text().split() != ["pipeline-profiling/auto_4_ipus"] or not (scratch / "by/greedy_search.pipeconfig").exists():
    failures.append("defaults of auto: other folders")
for cfg_of_profile, folder in ((manual, "pipeline-profiling/manual_2_ipus"),
                               ({"converter": "load", "solution_path": "by/greedy_search.pipeconfig", "profiling_enable": True,
                                 "profiling_root_dir": "loaded"}, "loaded/load_4_ipus")):
    kept, compiler = compiler_that_answers(found)
    gives(folder, *pipelined, "--compiler", compiler, "--pipeline_cfg", json.dumps(cfg_of_profile))
    if (kept / "folders").read_text().split() != [folder]:
        failures.append(f"{folder}: no profile")
kept, compiler = compiler_that_answers(too_small, too_small)
refuses("auto", "E5181", *pipelined, "--compiler", compiler, "--pipeline_cfg", json.dumps(cfg), text="with 4 IPUs, IPU 1 needs 9 bytes")

# How it is compiled, and where the application is kept.
kept, compiler = compiler_that_answers({})
to, code, said = convert(*pipelined, "--compiler", compiler, "--march", "x86-64-v3", "--include", "/include", "--flag=-Dfirst", "--flag=-Dsecond", name="given")
arguments = (kept / "arguments").read_text()
if code != 0 or (to / "application.so").read_text() != (scratch / "kept/application.so").read_text() or \
        any(part not in arguments for part in ("-march=x86-64-v3", "-I /include", "-Dfirst -Dsecond")):
    failures.append(f"how it is compiled: {said}\n{arguments}")

# Converters come in Graphcore's order: what an earlier one has removed, no later one finds.
for what, options, source in (
        ("GELU before placement", ["--gelu_replacement", json.dumps(gelu), "--excluded_nodes", "inner/tanh"], "gelu"),
        ("placement before precision", ["--excluded_nodes", "drop", "--remove_excluded_nodes", "--precision_mode", "FP16",
                                        "--precision_conversion_excluded_nodes", "drop"], "chain"),
        ("placement before sharding", ["--excluded_nodes", "drop", "--remove_excluded_nodes", "--manual_sharding", '[["drop"]]'], "chain")):
    _, code, said = convert(*options, source=source)
    if code != 0 or f"'{options[-1].strip('[]').strip(chr(34))}' of {options[-2][2:]} is in the name of no layer" not in said:
        failures.append(f"{what}: {code} {said}")
refuses("placement before int64", "E5142", "--excluded_nodes", "flatten", "--remove_excluded_nodes", source="words", text="'flatten'")
_, code, said = convert("--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "nowhere", source="words")
if code != 1 or "[E5147]" not in said or "'nowhere'" in said:
    failures.append(f"int64 before precision: {said}")

# What is refused.
refuses("converted twice", "E5133", source=to.name)
(scratch / "full").mkdir()
(scratch / "full/file").write_text("")
for what, code, found in (("a folder that holds something", "E5091", convert(name="full")),
                          ("other tags", "E5132", convert(tags="train")), ("another signature", "E5132", convert(signature="other"))):
    if found[1] != 1 or code not in found[2]:
        failures.append(f"{what}: {found}")
for text, code, named in (('{"batchsize": 1}', "E5130", "'batchsize'"), ('{"batch_size": "1"}', "E5130", "'batch_size' is \"1\""),
                          ('{"num_ipus": 0}', "E5130", "'num_ipus' is 0"), ('{"conv_amp": 2}', "E5130", "from 0 to 1"),
                          ('{"precision_mode": "FP64"}', "E5130", '"FP32" or "FP16"'), ("[1]", "E5131", "object"),
                          ('{"merge_subgraphs": 1}', "E5130", "true or false"), ('{"batch_size"', "E5131", "JSON"),
                          ('{"excluded_nodes": ["("]}', "E5134", "'('"), ('{"excluded_nodes": "last"}', "E5130", "list"),
                          ('{"gelu_replacement": {"node": []}}', "E5130", "'node'"),
                          ('{"gelu_replacement": {}}', "E5130", "has no 'nodes'"), ('{"excluded_nodes": [1]}', "E5130", "'excluded_nodes' is 1"),
                          ('{"precision_conversion_excluded_nodes": "a"}', "E5130", "a list"), ('{"batch_per_step": -1}', "E5130", "from 0 to"),
                          ('{"matmul_partial_type": "double"}', "E5130", '"float" or "half"'), ('{"conv_partial_type": 1}', "E5130", "half"),
                          ('{"matmul_amp": -0.5}', "E5130", "from 0 to 1"), ('{"num_ipus": 1.5}', "E5130", "'num_ipus' is 1.5"),
                          ('{"manual_sharding": "a"}', "E5130", "a list of lists"), ('{"manual_sharding": ["a"]}', "E5130", "a list of texts"),
                          ('{"manual_sharding": [[1]]}', "E5130", "'manual_sharding' is 1"), ('{"no_ipu_placement": 0}', "E5130", "true or false"),
                          ('{"remove_excluded_nodes": 1}', "E5130", "true or false"), ('{"int64_to_int32_conversion": "yes"}', "E5130", "true or false"),
                          ('{"embedded_runtime_save_config": 5000}', "E5130", "an object"), ('{"pipeline_cfg": "auto"}', "E5171", "an object"),
                          ('{"embedded_runtime_save_config": {"embedded_runtime_exec_cachedir": "a"}}', "E5137", "runtime_api_timeout_us"),
                          ('{"embedded_runtime_save_config": {"embedded_runtime_exec_cachedir": 1}}', "E5130", "a text"),
                          ('{"batch_size": ' + "[" * 100000, "E5131", "too deep")):
    (scratch / "wrong.json").write_text(text)
    refuses(text, code, "--config_file", scratch / "wrong.json", text=named)
refuses("a file that is not there", "E5001", "--config_file", scratch / "none.json")
refuses("sharding for another number", "E5135", "--manual_sharding", '[["first"]]', "--num_ipus", "2")
refuses("sharding of nothing", "E5136", "--manual_sharding", '[["first"]]', "--excluded_nodes", ".")
refuses("sharding on the host", "E5136", "--manual_sharding", '[["first"]]', "--no_ipu_placement")
refuses("half a runtime", "E5137", "--int64_to_int32_conversion", "--embedded_runtime_save_config",
        '{"runtime_api_timeout_us": 5}', text="embedded_runtime_exec_cachedir")
refuses("int64 in a runtime", "E5138", "--embedded_runtime_save_config", runtime, text="int64_to_int32_conversion")
refuses("a pipeline without a runtime", "E5139", "--pipeline_cfg", '{"converter": "auto"}')
both = ["--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime]
refuses("a pipeline and sharding", "E5145", *both, "--pipeline_cfg", '{"converter": "auto"}', "--manual_sharding", '[["a"]]')
refuses("a pipeline without converter", "E5171", *both, "--pipeline_cfg", "{}")
refuses("the middle", "E5140", "--excluded_nodes", "middle", text="'middle'")
refuses("what cannot go", "E5142", "--excluded_nodes", "inner/mul", "--remove_excluded_nodes", source="gelu", text="2 inputs")
refuses("another input", "E5143", "--gelu_replacement", json.dumps({**gelu, "node_as_gelu_input": ["outer"]}), source="gelu")
refuses("another user", "E5143", "--gelu_replacement", json.dumps({**gelu, "node_use_gelu_output": ["inner"]}), source="gelu")
refuses("another shape", "E5143", "--gelu_replacement", '{"nodes": ["outer"]}', source="gelu", text="another shape")
refuses("two outputs", "E5143", "--gelu_replacement", json.dumps(gelu), source="two_outputs", text="'inner/tanh' is an output")
refuses("int64", "E5147", source="words", text="'x'")
refuses("a stage without layers", "E5149", "--excluded_nodes", "first", "drop", "--remove_excluded_nodes", source="four_layers", text="stage 0")
refuses("a pipeline on the host", "E5136", *both, "--no_ipu_placement", "--pipeline_cfg", '{"converter": "auto"}')
if (code := subprocess.run([TOOL, "convert", "--dir", scratch / "chain", "--output_dir", scratch / "none", "--tag_set", "serve"],
                           capture_output=True).returncode) != 2:
    failures.append(f"without ipu: {code}")
def warns(what, *options, lines, source="chain", name=None):
    """Converts, and says these lines and no other ones."""
    to, code, said = convert(*options, source=source, name=name)
    found = [line for line in said.splitlines() if line.startswith("WARNING")]
    if code != 0 or sorted(found) != sorted("WARNING: " + line for line in lines):
        failures.append(f"{what}: {code}, expected the warnings {lines}\n{said}")
    return to


# What has no effect: refused on the command line, and told of a file, unless it is the default.
merged = "'merge_subgraphs' has no effect: an application is one program in any case"
warns("merged in a runtime", "--int64_to_int32_conversion", "--merge_subgraphs", "--embedded_runtime_save_config", runtime, lines=[merged])
on_host = "'no_ipu_placement' makes an application for the host"
for name, value, more, why in (
        ("remove_excluded_nodes", True, {}, "there are no 'excluded_nodes' that it could remove"),
        ("precision_conversion_excluded_nodes", ["first"], {}, "'precision_mode' is FP32, which changes no layer"),
        ("num_ipus", 2, {"no_ipu_placement": True}, on_host), ("matmul_amp", 0.5, {"no_ipu_placement": True}, on_host),
        ("conv_amp", 0.5, {"no_ipu_placement": True}, on_host), ("matmul_partial_type", "half", {"no_ipu_placement": True}, on_host),
        ("conv_partial_type", "half", {"no_ipu_placement": True}, on_host), ("excluded_nodes", ["first"], {"no_ipu_placement": True}, on_host)):
    (scratch / "effects.json").write_text(json.dumps({name: value, **more}))
    warns(name, "--config_file", scratch / "effects.json", lines=[f"'{name}' of {scratch}/effects.json has no effect: {why}"])
    given = [f"--{name}", *([] if value is True else value if isinstance(value, list) else [str(value)]), *(f"--{key}" for key in more)]
    refuses(name, "E5209", *given, text=f"--{name} has no effect: {why}")
(scratch / "effects.json").write_text(json.dumps({"no_ipu_placement": True, "num_ipus": 1, "matmul_amp": 0.6, "conv_partial_type": "float", "excluded_nodes": []}))
warns("defaults", "--config_file", scratch / "effects.json", lines=[])
refuses("IPUs of a pipeline", "E5209", *pipelined, "--num_ipus", "2", "--pipeline_cfg", '{"converter": "auto"}', text="'pipeline_cfg' says how many IPUs there are")
refuses("no compiler", "E5209", "--compiler", "c++", text="--compiler has no effect")
for option in "--march=x86-64-v3", "--flag=-O0":
    if (code := convert(option)[1]) != 2:
        failures.append(f"{option} and --no_compile: {code}")

# Nodes that are in no layer's name are told.
gelu_warning = "is in the name of no layer"
warns("no GELU", "--gelu_replacement", '{"nodes": ["erf"], "node_as_gelu_input": ["a", "inner/dense"], "node_use_gelu_output": ["z"]}', source="gelu",
      lines=[f"'erf' of gelu_replacement {gelu_warning}", f"'z' of gelu_replacement's 'node_use_gelu_output' {gelu_warning}"])

# Weights that half precision does not have.
write_bundle(scratch / "large", [layer("x", "InputLayer", [], batch_input_shape=[None, 2], dtype="float32"), dense("first", "x", 1)], "first", {})
data = struct.pack("<3f", 65504, -65536, 0)
text = json.dumps({"first/kernel:0": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}, "first/bias:0": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}})
write_files(scratch / "large", (scratch / "large/model.json").read_bytes(), struct.pack("<Q", len(text)) + text.encode() + data)
refuses("a weight beyond float16", "E5205", "--precision_mode", "FP16", source="large", text="layer 'first': kernel[1, 0] is -65536, which is no number of type float16")
gives("a layer that stays as it is", "--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "first", source="large")

# Stages by names: layers without a match are on IPU 0, and stages follow each other, as manual_sharding's do.
order = "layers of manual_pipeline_config's stages do not follow each other in the stages' order; the pipeline has"
for what, lists, devices, more, mapping, stages, lines in (
        ("no match", [["first", "middle"], ["last"]], [0, 1], {}, [0, 1], [0, 0, 0, 1], ["no expression of manual_pipeline_config matches 'drop': on IPU 0"]),
        ("no match at the end", [["first"], ["drop", "middle"]], [0, 1], {}, [0, 1, 0], [0, 1, 1, 2],
         ["no expression of manual_pipeline_config matches 'last': on IPU 0", f"{order} 3 stages, on the IPUs 0, 1, 0"]),
        ("IPU 0 in another stage", [["first", "drop"], ["middle"]], [1, 0], {}, [1, 0], [0, 0, 1, 1], ["no expression of manual_pipeline_config matches 'last': on IPU 0"]),
        ("IPU 0 in no stage", [["first", "drop"], ["middle"]], [1, 2], {}, [1, 2, 0], [0, 0, 1, 2],
         ["no expression of manual_pipeline_config matches 'last': on IPU 0", f"{order} 3 stages, on the IPUs 1, 2, 0"]),
        ("a stage of one's own", [["first"], ["middle"]], [0, 1], {"unmatched_in_stage": 1}, [0, 1], [0, 1, 1, 1], []),
        ("an earlier stage", [["first", "middle"], ["drop", "last"]], [0, 1], {}, [0, 1, 0, 1], [0, 1, 2, 3], [f"{order} 4 stages, on the IPUs 0, 1, 0, 1"]),
        ("an input", [["x", "first", "drop", "middle"], ["last"]], [0, 1], {}, [0, 1], [0, 0, 0, 1], []),
        ("keys of others", [["first", "drop", "middle"], ["last"]], [0, 1], {"solution_path": 1, "fine_tune_iter": 5, "priority": "cycle"}, [0, 1], [0, 0, 0, 1],
         [f"stagecraft convert: 'pipeline_cfg': the converter \"manual\" has no key '{key}', which is left out" for key in ("fine_tune_iter", "priority", "solution_path")])):
    kept, compiler = compiler_that_answers(stages_found)
    warns(what, *pipelined, "--compiler", compiler, "--pipeline_cfg", json.dumps({"converter": "manual", "manual_pipeline_config": lists, "device_info": devices, **more}), lines=lines)
    source = (kept / "source_0").read_text() if (kept / "source_0").exists() else ""
    begin = source.find("{", source.find("R\"json"))
    solution = json.loads(source[begin:source.rfind(")json")]) if begin > 0 else {}
    if solution != {"device_mapping": mapping, "pipeline_mapping": dict(zip(("first", "drop", "middle", "last"), stages))}:
        failures.append(f"{what}: {solution}\n{source}")

# A file with all options that fit together is one of the documents; one with the keys of all converters, the last of which counts.
write_bundle(scratch / "documented", [
    layer("x", "InputLayer", [], batch_input_shape=[None, 6], dtype="float32"), layer("dropout", "Dropout", ["x"], rate=0.5), dense("intermediate/dense", "dropout", 6),
    layer("intermediate/scaled", "Rescaling", ["intermediate/dense"], scale=0.5, offset=0.0), layer("intermediate/tanh", "Activation", ["intermediate/scaled"], activation="tanh"),
    layer("intermediate/mul", "Multiply", ["intermediate/dense", "intermediate/tanh"]), dense("output/dense", "intermediate/mul", 3), layer("softmax", "Softmax", ["output/dense"])],
             "softmax", weights_of(**{"intermediate/dense": (6, 6), "output/dense": (6, 3)}))
documented = pathlib.Path(__file__).parents[2] / "docs/convert_config.json"
kept, compiler = compiler_that_answers({**stages_found, "config": {"pipeline_stages": {"intermediate/dense": 0, "intermediate/mul": 0, "output/dense": 1, "softmax": 1},
                                                            "pipelining_device_mapping": [0, 1]},
                                        "solution": json.dumps({"device_mapping": [0, 1], "pipeline_mapping": {"intermediate/dense": 0, "intermediate/mul": 0, "output/dense": 1, "softmax": 1}})})
to = warns("the document", "--config_file", documented, "--compiler", compiler, source="documented", lines=[])
model, program = (to / "model.hpp").read_text(), (to / "application.cpp").read_text()
for where, parts in (model, ["sc::gelu", half]), (program, [".batch_size = 4", ".steps_per_execution = 4", "sc::stages<0, 0, 1, 1>", "0.4F", "sc::dtype::float16"]):
    for part in parts:
        if part not in where:
            failures.append(f"the document: expected {part} in\n{where}")
written = json.loads((to / "conversion_params.json").read_text())["options"]
names = subprocess.run([TOOL, "convert", "ipu", "--help"], stdout=subprocess.PIPE, text=True).stdout
options = {word.strip(",") for word in names.replace("--", " --").split() if word.startswith("--")}
options = {option[2:].split("{")[0] for option in options} - {"help", "ipu_placement", "config_file", "no_compile", "march", "compiler", "include", "flag", "manual_sharding"}
if set(written) != options:
    failures.append(f"the document has {sorted(written)}, the options are {sorted(options)}")
(scratch / "guide.json").write_text("""{ "merge_subgraphs": true, "int64_to_int32_conversion": true, "gelu_replacement": { "nodes": ["Erf$"] },
  "pipeline_cfg": {
    // auto pipeline configuration.
    "converter": "auto", "fine_tune_iter": 5, "ipu_model": true, "max_ipu_quantity": 64, "min_ipu_quantity": 2, "priority": "cycle",
    "profiling_root_dir": "/path", "solution_dir": "/path",
    // pipeline configuration loader configuration.
    "converter": "load", "ipu_model": true, "profiling_root_dir": "profiling", "solution_path": "solution/greedy_search.pipeconfig", "profiling_enable": false,
    // manual pipeline configuration.
    "converter": "manual", "ipu_model": true, "profiling_root_dir": "profiling", "solution_dir": "by",
    "manual_pipeline_config": [["x", "^first"], ["drop", "middle", "last"]], "device_info": [0, 1], "profiling_enable": false
  },
  "embedded_runtime_save_config": {"runtime_api_timeout_us": 5000, "embedded_runtime_exec_cachedir": "kept"} }""")
kept, compiler = compiler_that_answers(stages_found)
warns("keys of all converters", "--config_file", scratch / "guide.json", "--compiler", compiler,
      lines=[merged, "'Erf$' of gelu_replacement is in the name of no layer",
             *(f"{scratch}/guide.json: 'pipeline_cfg': the converter \"manual\" has no key '{key}', which is left out"
               for key in ("fine_tune_iter", "max_ipu_quantity", "min_ipu_quantity", "priority", "solution_path"))])

for name, source in ("nowhere", "chain"), ("inner", "sequence"):
    _, code, said = convert("--excluded_nodes", name, source=source)
    if code != 0 or f"WARNING: '{name}' of excluded_nodes is in the name of no layer" not in said:
        failures.append(f"an expression that is nowhere: {code} {said}")

# One that is compiled: the host, IPUs in halves, and two IPUs one after the other.
if not failures:
    to, code, said = convert("--precision_mode", "FP16", "--precision_conversion_excluded_nodes", "first", "--excluded_nodes", "first",
                             "drop", "--num_ipus", "2", "--manual_sharding", '[["middle"], ["last"]]', "--batch_size", "2",
                             "--int64_to_int32_conversion", "--embedded_runtime_save_config", runtime, "--flag=-O0", name="compiled")
    if code != 0 or not (scratch / "kept/application.so").exists():
        failures.append(f"compiled: {said}")
    else:
        inputs = [[(i * 7 + k) % 5 / 4 - 0.5 for k in range(6)] for i in range(2)]
        result = subprocess.run([TOOL, "run", "--dir", to, "--tag_set", "serve", "--signature_def", "serving_default",
                                 "--input_exprs", f"x={inputs}", "--outdir", scratch / "out"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        data = (scratch / "chain/weights.safetensors").read_bytes()
        length = struct.unpack_from("<Q", data)[0]
        header, values = json.loads(data[8:8 + length]), data[8 + length:]
        row = inputs
        for name in ("first", "middle", "last"):
            kernel, bias = (struct.unpack(f"<{(e - b) // 4}f", values[b:e])
                            for b, e in (header[f"{name}/{each}:0"]["data_offsets"] for each in ("kernel", "bias")))
            row = [[sum(x * kernel[k * len(bias) + u] for k, x in enumerate(each)) + bias[u] for u in range(len(bias))]
                   for each in row]
            if name == "first":
                row = [[max(x, 0) for x in each] for each in row]
        saved = next((scratch / "out").glob("*.npy"), None) if result.returncode == 0 else None
        if saved is None:
            failures.append(f"run: {result.stderr}")
        else:
            content = saved.read_bytes()
            found = struct.unpack("<6f", content[-24:])
            expected = [x for each in row for x in each]
            if max(abs(a - b) for a, b in zip(found, expected)) > 1e-2 or found == tuple(expected):
                failures.append(f"run: {found}, expected {expected}")

print("\n\n".join(failures) or "all options convert")
sys.exit(1 if failures else 0)
