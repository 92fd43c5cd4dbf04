# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft pipeline`: every key of its configuration, and what is wrong with each.

    check_pipeline.py <the program> <the C++ compiler>
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL, COMPILER = sys.argv[1:]
failures = []


def run(folder, configuration, *arguments):
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    result = subprocess.run([TOOL, "pipeline", folder, "--compiler", COMPILER, "--pipeline_cfg", text, *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent)
    return result.returncode, result.stdout, result.stderr


def expect(what, found, *parts):
    for part in parts:
        if part not in found:
            failures.append(f"{what}: expected '{part}' in\n{found}")


def refused(configuration, *parts):
    code, out, err = run(model, configuration)
    expect(configuration, err, *parts)
    if code != 1:
        failures.append(f"{configuration}: exit code {code}, and\n{out}")


def names(count):
    return ["dense" + (f"_{i}" if i else "") for i in range(count)]


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    model = scratch / "model"
    model.mkdir()
    layers = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 16], "dtype": "float32", "name": "input_1"}}]
    layers += [{"class_name": "Dense", "config": {"name": name, "units": units, "activation": "relu"}}
               for name, units in zip(names(4), (64, 64, 32, 10))]
    description = {"class_name": "Sequential", "config": {"name": "mlp", "layers": layers}}
    (model / "model.json").write_text(json.dumps(description))
    (model / "application.json").write_text(json.dumps({"batch_size": 4, "iterations": 1, "output_names": []}))

    # Configurations that are wrong: nothing is compiled.
    refused("none.json", "'none.json' is neither JSON, which begins with '{', nor a file", "[E5170]")
    refused("{", "--pipeline_cfg: is no JSON", "[E5170]")
    refused({}, "has no key 'converter', which is \"auto\", \"manual\" or \"load\"", "[E5171]")
    refused("[1]", "[E5170]")
    refused({"converter": "automatic"}, "has the converter \"automatic\"", "[E5171]")
    refused({"converter": "auto", "solution_file": "a"}, "has the key \"solution_file\", which no converter has; \"auto\" has "
            "'ipu_model', 'profiling_root_dir', 'fine_tune_iter', 'max_ipu_quantity', 'min_ipu_quantity', 'solution_dir', 'priority'", "[E5172]")
    refused({"converter": "load", "solution_path": "a", "batch_per_step": 1}, "[E5172]")
    refused({"converter": "load", "solution_path": "none", "solution_dir": "a"}, "WARNING: --pipeline_cfg: the converter \"load\" has no key 'solution_dir', which is left out",
            "[E5001]")
    for key, value, expected in (("fine_tune_iter", -1, "a whole number from 0 to 1000"), ("fine_tune_iter", "5", "a whole number"),
                                 ("min_ipu_quantity", 65, "from 1 to 64"), ("max_ipu_quantity", 2.5, "from 1 to 64"), ("priority", "cycles", "\"cycle\" or \"memory\""),
                                 ("ipu_model", 1, "true or false"), ("profiling_root_dir", "", "the name of a file or folder"),
                                 ("solution_dir", None, "the name of a file or folder")):
        refused({"converter": "auto", key: value}, f"has '{key}': {json.dumps(value)}; it is", expected, "[E5173]")
    refused({"converter": "auto", "min_ipu_quantity": 5, "max_ipu_quantity": 7}, "at least 5 IPUs (min_ipu_quantity), and at most 7", "[E5173]")
    refused({"converter": "auto", "ipu_model": False}, "[E5180]")
    refused({"converter": "load"}, "has no key 'solution_path', which the converter \"load\" needs", "[E5174]")
    refused({"converter": "load", "solution_path": "none"}, "[E5001]")
    manual = {"converter": "manual", "manual_pipeline_config": [["dense$", "dense_1"], ["dense_[23]$"]], "device_info": [1, 0], "profiling_enable": False}
    for key in ("manual_pipeline_config", "device_info"):
        refused({k: v for k, v in manual.items() if k != key}, f"has no key '{key}'", "[E5174]")
    refused({**manual, "manual_pipeline_config": ["dense"]}, "for each stage, a list of regular expressions", "[E5173]")
    refused({**manual, "device_info": [0, "1"]}, "has 'device_info': \"1\"", "[E5173]")
    refused({**manual, "device_info": [0, 1, 0]}, "has 2 lists of expressions (manual_pipeline_config) and 3 devices (device_info)", "[E5175]")
    refused({**manual, "manual_pipeline_config": [["dense"]], "device_info": [0]}, "at least two stages", "[E5175]")
    refused({**manual, "manual_pipeline_config": [["dense("], []]}, "\"dense(\" for stage 0, which cannot be read: a '(' has no ')' (character 6)", "[E5176]")
    refused({**manual, "manual_pipeline_config": [["dense"], ["dense_[23]$"]]}, "layer 'dense_2' is in two stages: in 0 by the expression \"dense\", and "
            "in 1 by \"dense_[23]$\"", "[E5177]")
    refused({**manual, "manual_pipeline_config": [["dense", "conv"], ["input"]]}, "the expression \"conv\" of stage 0 matches no layer", "[E5178]")
    refused({**manual, "manual_pipeline_config": [["dense"], []]}, "stage 1 has no layers", "[E5178]")
    refused({**manual, "unmatched_in_stage": 2}, "one of the stages", "[E5173]")

    # Stages by names, two of them on the second IPU; their solution file, loaded, changed and broken.
    (scratch / "cfg.json").write_text("// one file for all\n" + json.dumps({**manual, "manual_pipeline_config": [[], ["dense_[23]$"]], "unmatched_in_stage": 0}))
    code, out, err = run(model, "cfg.json", "--batch_per_step", "3")
    expect("manual", out + err, "wrote solution/manual.pipeconfig")
    solution = json.loads((scratch / "solution/manual.pipeconfig").read_text())
    if solution != {"device_mapping": [1, 0], "pipeline_mapping": dict(zip(names(4), (0, 0, 1, 1)))}:
        failures.append(f"manual.pipeconfig has {solution}")
    written = json.loads((model / "model.json").read_text())["config"]
    how = json.loads((model / "application.json").read_text())
    if written["pipeline_stages"] != solution["pipeline_mapping"] or written["pipelining_device_mapping"] != [1, 0] or \
            written["layers"] != layers or how != {"batch_size": 4, "iterations": 6, "output_names": []}:
        failures.append(f"the model has {written}, and is run as {how}")
    if (scratch / "solution/manual.pipeconfig.inc").read_text() != 'R"json(' + (scratch / "solution/manual.pipeconfig").read_text() + ')json"\n':
        failures.append("manual.pipeconfig.inc is another text")
    if (scratch / "pipeline-profiling").exists():
        failures.append("manual has written a profile")
    changed = scratch / "changed.pipeconfig"
    load = {"converter": "load", "solution_path": str(changed)}
    for text, expected in (("{", "is expected in line 1, character 2 [E3040]"), ('{"pipeline_mapping": {"dense": 0}}', "has 1 stages; a pipeline has from 2 to 64"),
                           ('{"pipeline_mapping": {"dense": 0, "dense_1": 1}, "device_mapping": [0, 64]}', "has the device 64")):
        changed.write_text(text)
        refused(load, expected, "[E5179]")
    changed.write_text(json.dumps({"pipeline_mapping": dict(zip(names(4), (0, 1, 0, 1)))}))
    refused(load, "layer 'dense_2' is assigned to pipeline stage 0, but layer 'dense_1' before it to stage 1", "[E2007] [E5179]")

    # The search, which is the compiler's.
    code, out, err = run(model, {"converter": "auto", "priority": "memory", "fine_tune_iter": 1, "max_ipu_quantity": 3, "solution_dir": "found/by",
                                 "profiling_root_dir": "profiles"})
    expect("auto", out + err, "2 stages on 2 IPUs: ", " samples/s, latency ", "wrote profiles/auto_2_ipus/profile.html", "wrote found/by/greedy_search.pipeconfig")
    profile = json.loads((scratch / "profiles/auto_2_ipus/profile.json").read_text())
    if profile["format"] != "stagecraft profile" or not (scratch / "profiles/auto_2_ipus/profile.html").exists():
        failures.append("there is no profile")
    found = json.loads((scratch / "found/by/greedy_search.pipeconfig").read_text())
    if found["device_mapping"] != [0, 1] or sorted(found["pipeline_mapping"]) != names(4) or found["pipeline_mapping"]["dense_3"] != 1:
        failures.append(f"the search has found {found}")
    refused({"converter": "auto", "min_ipu_quantity": 8}, "no number of IPUs was found that the model can be divided among, from 8 to 64: auto_pipeline is to divide "
            "model 'mlp' among at least 8 IPUs, but it does not have as many parts that can be apart [E3021]", "[E5181]")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
