# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve`: what a model's config.pbtxt makes of it (ensembles, inputs of bytes, instances), and Triton's settings of logs
and traces.

    check_serve_models.py <the program> <folder with scores/>
"""
import base64
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile

from running_server import FOLDER, TOOL, check, serve, together, until, whole_test

PIXELS, SIZE = [[0, 51, 102], [153, 204, 255]], [0.5, -1]
BYTES = bytes(x for row in PIXELS for x in row)


def predict(server, model, **inputs):
    status, found = server.ask("POST", f"/v1/models/{model}:predict", {"inputs": inputs})
    return found["outputs"] if status == 200 else (status, found["error"])


def refused(*arguments):
    found = subprocess.run([TOOL, "serve", "--rest_api_port", "0", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return (found.returncode, found.stderr)


STEPS = """
platform: "ensemble"
input [ { name: "image" data_type: %s dims: [ %s ] }, { name: "size" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "best" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "again" data_type: TYPE_FP32 dims: [ 2 ] } ]
ensemble_scheduling {
  step [
    { model_name: "second" model_version: -1 input_map { key: "pixels" value: "image" } input_map { key: "size" value: "between" }
      output_map { key: "scores" value: "again" } },
    { model_name: "scores" model_version: 1 input_map [ { key: "pixels" value: "image" }, { key: "size" value: "size" } ]
      output_map { key: "class" value: "best" } output_map { key: "scores" value: "between" } }
  ]
}
"""


def make_ensemble(folder, text):
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(text)


def check_ensembles(scratch):
    """The outputs are those of the models, called one after the other, bit by bit."""
    make_ensemble(scratch / "both", STEPS % ("TYPE_FP32", "2, 3"))
    second = scratch / "second"
    for number in 1, 2:
        shutil.copytree(FOLDER / "scores", second / str(number))
    models = ("--model", f"scores={FOLDER / 'scores'}", "--model", f"second={second}", "--model", f"a_both={scratch / 'both'}")
    with serve(*models, "--model_control_mode", "explicit") as server:
        check("ready", server.ask("GET", "/v2/health/ready")[0] == 200)
        rows = [PIXELS, [[9, 8, 7], [6, 5, 4]]]
        first = predict(server, "scores", pixels=rows, size=[SIZE, SIZE])
        expected = predict(server, "second", pixels=rows, size=first["scores"])
        found = predict(server, "a_both", image=rows, size=[SIZE, SIZE])
        check("an ensemble", found == {"best": first["class"], "again": expected["scores"]}, found, first, expected)
        kserve = {"inputs": [{"name": "image", "shape": [2, 2, 3], "datatype": "FP32", "data": rows}, {"name": "size", "shape": [2, 2], "datatype": "FP32", "data": [SIZE, SIZE]}]}
        found = server.ask("POST", "/v2/models/a_both/versions/1/infer", {**kserve, "outputs": [{"name": "again"}]})[1]
        check("by KServe", found["outputs"][0]["data"] == [x for row in expected["scores"] for x in row], found)
        check("no sequences", server.ask("POST", "/v2/models/a_both/infer", {**kserve, "parameters": {"sequence_id": 1}})[0] == 400)
        found = server.ask("POST", "/v2/models/a_both/infer", {**kserve, "parameters": {"timeout": 1}})
        check("a time", found[0] == 504, found)
        status, found = server.ask("GET", "/v2/models/a_both")
        check("metadata", found == {"name": "a_both", "versions": ["1"], "platform": "ensemble",
                                    "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 2, 3]}, {"name": "size", "datatype": "FP32", "shape": [-1, 2]}],
                                    "outputs": [{"name": "best", "datatype": "FP32", "shape": [-1]}, {"name": "again", "datatype": "FP32", "shape": [-1, 2]}]}, found)
        status, found = server.ask("GET", "/v2/models/a_both/config")
        check("configuration", found["platform"] == "ensemble" and [step["model_name"] for step in found["ensemble_scheduling"]["step"]] == ["scores", "second"] and
              found["ensemble_scheduling"]["step"][0] == {"model_name": "scores", "model_version": 1, "input_map": {"pixels": "image", "size": "size"},
                                                          "output_map": {"class": "best", "scores": "between"}}, found)
        found = server.ask("GET", "/v2/models/a_both/stats")[1]["model_stats"][0]
        check("statistics", found["inference_count"] == 4 and found["inference_stats"]["success"]["count"] == 2 and found["inference_stats"]["fail"]["count"] == 1, found)
        found = server.ask("GET", "/v2/models/scores/stats")[1]["model_stats"][0]
        check("statistics of a model", found["inference_count"] >= 6, found)
        check("a wrong shape", predict(server, "a_both", image=[[[1]]], size=[SIZE])[0] == 400)
        check("unload", server.ask("POST", "/v2/repository/models/second/unload")[0] == 200)
        check("not ready", server.ask("GET", "/v2/models/a_both/ready") == (503, {"name": "a_both", "ready": False}))
        found = predict(server, "a_both", image=rows, size=[SIZE, SIZE])
        check("a model is missing", found == (503, "ensemble 'a_both': model 'second' has no version that is served"), found)
        check("load", server.ask("POST", "/v2/repository/models/second/load")[0] == 200)
        check("again", predict(server, "a_both", image=rows, size=[SIZE, SIZE])["again"] == expected["scores"])
        check("unload all", server.ask("POST", "/v2/repository/models/a_both/unload", {"parameters": {"unload_dependents": True}})[0] == 200)
        index = {(each["name"], each["state"]) for each in server.ask("POST", "/v2/repository/index", {})[1]}
        check("all are unloaded", {state for name, state in index} == {"UNAVAILABLE"}, index)
        found = server.ask("POST", "/v2/repository/models/a_both/load")
        check("load without its models", found[0] == 400 and "model 'second' has no version that is served [E5303]" in found[1]["error"], found)

    # An ensemble comes when its models are there; an ensemble in an ensemble; one that contains itself.
    make_ensemble(scratch / "outer", """
input { name: "image" data_type: TYPE_FP32 dims: [ 2, 3 ] } input { name: "size" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "again" data_type: TYPE_FP32 dims: [ 2 ] }
ensemble_scheduling { step { model_name: "b_both" input_map { key: "image" value: "image" } input_map { key: "size" value: "size" } output_map { key: "again" value: "again" } } }
""")
    with serve("--model", f"scores={FOLDER / 'scores'}", "--model", f"second={scratch / 'late'}", "--model", f"b_both={scratch / 'both'}",
               "--model", f"a_outer={scratch / 'outer'}", "--file_system_poll_wait_seconds", 0.05) as server:
        check("not yet", server.ask("GET", "/v2/health/ready")[0] == 503)
        found = server.ask("GET", "/v1/models/b_both")[1]["model_version_status"][0]
        check("why", found["state"] == "END" and "[E5303]" in found["status"]["error_message"], found)
        shutil.copytree(second / "1", scratch / "beside")
        (scratch / "late").mkdir()
        (scratch / "beside").rename(scratch / "late" / "1")
        until("an ensemble of an ensemble", lambda: server.ask("GET", "/v2/health/ready")[0] == 200)
        check("the same", predict(server, "a_outer", image=rows, size=[SIZE, SIZE]) == expected["scores"])
        # A later version of the inner one names the outer one.
        (scratch / "both" / "config.pbtxt").write_text((scratch / "outer" / "config.pbtxt").read_text().replace("b_both", "a_outer"))
        (scratch / "both" / "2").mkdir()
        until("a later version", lambda: len(server.ask("GET", "/v2/models/b_both")[1]["versions"]) == 1 and server.ask("GET", "/v2/models/b_both")[1]["versions"] == ["2"])
        found = predict(server, "a_outer", image=rows, size=[SIZE, SIZE])
        check("it contains itself", found[0] == 500 and "contains itself" in found[1], found)
        check("it is not ready", server.ask("GET", "/v2/health/ready")[0] == 503)

    for change, code, text in ((("between", "between", "betwixt"), "E5303", "the step of model 'second' reads 'betwixt', which is neither an input nor made by a step before it"),
                               (("value: \"best\"", "value: \"best\"", "value: \"image\""), "E5303", "'image' is made twice"),
                               (("dims: [ 1 ]", "dims: [ 1 ]", "dims: [ 7 ]"), "E5303", "output 'best' has dims (7,), but shape ()"),
                               (("value: \"again\"", "value: \"again\"", "value: \"x\""), "E5303", "no step makes the output 'again'"),
                               (("key: \"class\"", "key: \"class\"", "key: \"clas\""), "E5303", "model 'scores' has no output 'clas'"),
                               (("input_map { key: \"size\" value: \"between\" }", "input_map { key: \"size\" value: \"between\" }", ""), "E5303", "has no input_map for its input 'size'"),
                               (("model_version: 1", "model_version: 1", "model_version: 0"), "E5283", "'model_version' is neither -1"),
                               (("TYPE_FP32 dims: [ 2, 3 ]", "TYPE_FP32 dims: [ 2, 3 ]", "TYPE_INT32 dims: [ 2, 3 ]"), "E5283", "'data_type' is 'TYPE_INT32'"),
                               (("TYPE_FP32 dims: [ 2, 3 ]", "TYPE_FP32 dims: [ 2, 3 ]", "TYPE_STRING dims: [ 1 ]"), "E5303", "are not both of TYPE_STRING"),
                               (("platform", "platform: \"ensemble\"", "instance_group { }"), "E5283", "is of an ensemble")):
        broken = scratch / "broken"
        whole = STEPS % ("TYPE_FP32", "2, 3")
        check("the text is changed", change[1] in whole, change)
        shutil.rmtree(broken, ignore_errors=True)
        make_ensemble(broken, whole.replace(change[1], change[2], 1) if change[0] != "between" else whole.replace("size\" value: \"between", "size\" value: \"betwixt"))
        with serve("--model", f"scores={FOLDER / 'scores'}", "--model", f"second={second}", "--model", f"broken={broken}") as server:
            found = server.ask("GET", "/v1/models/broken")[1]["model_version_status"][0]
            check("a broken one", found["state"] == "END" and f"[{code}]" in found["status"]["error_message"] and text in found["status"]["error_message"], text, found)


def check_bytes(scratch):
    """Bytes are numbers from 0 to 255, with zeros behind them, in each form that a request may have them in."""
    base = scratch / "bytes"
    shutil.copytree(FOLDER / "scores", base / "1")
    (base / "config.pbtxt").write_text('input { name: "pixels" data_type: TYPE_STRING dims: [ 1 ] }')
    make_ensemble(scratch / "bytes_both", STEPS % ("TYPE_STRING", "1"))
    with serve("--model", f"scores={base}", "--model", f"numbers={FOLDER / 'scores'}", "--model", f"second={base}", "--model", f"both={scratch / 'bytes_both'}") as server:
        short = [[ord("a"), ord("b"), 0], [0, 0, 0]]
        expected = predict(server, "numbers", pixels=[PIXELS, short], size=[SIZE, SIZE])
        encoded = base64.b64encode(BYTES).decode()
        found = predict(server, "scores", pixels=[{"b64": encoded}, "ab"], size=[SIZE, SIZE])
        check("b64 and a text", found == expected, found, expected)
        check("without padding", predict(server, "scores", pixels=[{"b64": encoded.rstrip("=")}, {"b64": "YWI"}], size=[SIZE, SIZE]) == expected)
        found = server.ask("POST", "/v1/models/scores:predict", {"instances": [{"pixels": {"b64": encoded}, "size": SIZE}]})[1]["predictions"][0]
        check("in a row", found["scores"] == expected["scores"][0], found)
        packed = b"".join(struct.pack("<I", len(each)) + each for each in (BYTES, b"ab"))
        size = {"name": "size", "shape": [2, 2], "datatype": "FP32", "data": [SIZE, SIZE]}
        header = json.dumps({"inputs": [{"name": "pixels", "shape": [2, 1], "datatype": "BYTES", "parameters": {"binary_data_size": len(packed)}}, size], "outputs": [{"name": "scores"}]})
        scores = [x for row in expected["scores"] for x in row]
        found = server.ask("POST", "/v2/models/scores/infer", header.encode() + packed, {"Inference-Header-Content-Length": str(len(header))})
        check("BYTES, binary", found[0] == 200 and found[1]["outputs"][0]["data"] == scores, found)
        for shape, data in (([2], ["\u0000abc", "ab"]), ([2, 1], [["\u0000abc"], ["ab"]])):
            found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [{"name": "pixels", "datatype": "BYTES", "shape": shape, "data": data}, size], "outputs": [{"name": "scores"}]})
            check("BYTES, JSON", found[0] == 200 and found[1]["outputs"][0]["data"][2:] == scores[2:], found)
        check("metadata", server.ask("GET", "/v2/models/scores")[1]["inputs"][0] == {"name": "pixels", "datatype": "BYTES", "shape": [-1, 1]})
        check("configuration", server.ask("GET", "/v2/models/scores/config")[1]["input"][0] == {"name": "pixels", "data_type": "TYPE_STRING", "dims": [1]})
        found = server.ask("GET", "/v1/models/scores/metadata")[1]["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]["pixels"]
        check("TensorFlow's metadata", found["dtype"] == "DT_STRING" and [d["size"] for d in found["tensor_shape"]["dim"]] == ["-1"], found)
        found = predict(server, "both", image=[{"b64": encoded}, "ab"], size=[SIZE, SIZE])
        check("an ensemble", found["best"] == expected["class"], found)
        for what, text, pixels in (("long", "has a text of 7 bytes, expected at most 6", "abcdefg"), ("b64", "unable to base64 decode", {"b64": "a*"}),
                                   ("half", "unable to base64 decode", {"b64": "YWI=YWI="}), ("key", "expected {\"b64\": \"...\"}", {"b46": ""}),
                                   ("numbers", "expected a text, or {\"b64\": \"...\"}", PIXELS)):
            found = predict(server, "scores", pixels=[pixels], size=[SIZE])
            check("refused: " + what, found[0] == 400 and text in found[1], found)
        one = {"name": "size", "shape": [1, 2], "datatype": "FP32", "data": SIZE}
        for text, given in (("has datatype 'FP32', which is not taken: expected BYTES", {"shape": [1, 2, 3], "datatype": "FP32", "data": [PIXELS]}),
                            ("expected one text a sample, (n, 1)", {"shape": [1, 2], "datatype": "BYTES", "data": ["a", "b"]}),
                            ("has 2 texts, expected 1", {"shape": [1, 1], "datatype": "BYTES", "data": ["a", "b"]}), ("is no list of texts", {"shape": [1], "datatype": "BYTES", "data": [1]})):
            found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [{"name": "pixels", **given}, one]})
            check("refused", found[0] == 400 and text in found[1]["error"], text, found)
        header = json.dumps({"inputs": [{"name": "pixels", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(packed) - 1}}, size]})
        found = server.ask("POST", "/v2/models/scores/infer", header.encode() + packed[:-1], {"Inference-Header-Content-Length": str(len(header))})
        check("cut off", found[0] == 400 and "its bytes are not 2 texts" in found[1]["error"], found)
        found = server.ask("POST", "/v2/models/numbers/infer", {"inputs": [{"name": "pixels", "datatype": "BYTES", "shape": [1], "data": ["a"]}, one]})
        check("of numbers", found[0] == 400 and "has datatype 'BYTES', which is not taken" in found[1]["error"], found)
    (base / "config.pbtxt").write_text('input { name: "x" data_type: TYPE_STRING dims: [ 1 ] }')
    with serve("--model", f"scores={base}") as server:
        found = server.ask("GET", "/v1/models/scores")[1]["model_version_status"][0]
        check("no such input", "[E5301]" in found["status"]["error_message"], found)


def check_instances(scratch):
    """Instances of a model, on processors of their own; a model that has all threads does not keep others waiting."""
    base = scratch / "instances"
    shutil.copytree(FOLDER / "scores", base / "1")
    (base / "config.pbtxt").write_text('instance_group [ { count: 2 kind: KIND_CPU host_policy: "one" }, { } ]')
    cpu = min(pathlib.os.sched_getaffinity(0))
    with serve("--model", f"scores={base}", "--host_policy", f"one,cpu-cores={cpu}") as server:
        expected = predict(server, "scores", pixels=[PIXELS], size=[SIZE])
        wrong = []

        def call(_):
            for _ in range(30):
                if predict(server, "scores", pixels=[PIXELS], size=[SIZE]) != expected:
                    wrong.append(1)

        together(8, call)()
        check("instances", not wrong, len(wrong))
        found = server.ask("GET", "/v2/models/scores/stats")[1]["model_stats"][0]
        check("statistics of all", found["inference_count"] == 241, found)
        pinned = 0
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
            allowed = next(line for line in (task / "status").read_text().splitlines() if line.startswith("Cpus_allowed_list"))
            pinned += allowed.split()[1] == str(cpu)
        check("pinned threads", pinned >= 2 or len(pathlib.os.sched_getaffinity(0)) == 1, pinned)
    with serve("--model", f"scores={FOLDER / 'scores'}", "--numa") as server:  # as many instances as there are nodes
        check("an instance for each node", predict(server, "scores", pixels=[PIXELS], size=[SIZE]) == expected)
    (base / "config.pbtxt").write_text('instance_group { host_policy: "none" }')
    with serve("--model", f"scores={base}") as server:
        found = server.ask("GET", "/v1/models/scores")[1]["model_version_status"][0]
        check("no such policy", "which no --host_policy describes [E5304]" in found["status"]["error_message"], found)
    for text, why in (("a", "expected a name"), ("a,cpu-cores=x", "'x' is no number"), ("a,cpu-cores=3-1", "has no processor"), ("a,cpu-cores=1023", "may not run on processor 1023"),
                      ("a,numa-node=999", "no such node"), ("a,cpu-cores=", "it has no processor")):
        code, err = refused("--model", f"scores={base}", "--host_policy", text)
        check("a policy", code == 1 and why in err and "[E5304]" in err, text, code, err)


def check_settings(scratch):
    """Triton's settings of logs and traces."""
    trace = scratch / "trace.json"
    with serve("--model", f"scores={FOLDER / 'scores'}", "--model", f"other={FOLDER / 'scores'}", "--trace_file", trace) as server:
        logs = {"log_file": "", "log_info": True, "log_warning": True, "log_error": True, "log_verbose_level": 0, "log_format": "default"}
        check("logs", server.ask("GET", "/v2/logging") == (200, logs))
        changed = {"log_info": False, "log_verbose_level": 1}
        check("changed logs", server.ask("POST", "/v2/logging", changed) == (200, {**logs, **changed}))
        for text, body in (("log file location can not be updated", {"log_file": "a"}), ("unknown log setting", {"log_x": True}), ("another type", {"log_info": 1}),
                           ("'default' alone", {"log_format": "ISO8601"})):
            found = server.ask("POST", "/v2/logging", {**body, "log_error": False})
            check("a log setting", found[0] == 400 and text in found[1]["error"], found)
        check("all or none", server.ask("GET", "/v2/logging")[1]["log_error"])
        traces = {"trace_level": ["OFF"], "trace_rate": "1000", "trace_count": "-1", "log_frequency": "0", "trace_file": str(trace), "trace_mode": "triton"}
        check("traces", server.ask("GET", "/v2/trace/setting") == (200, traces))
        changed = {**traces, "trace_level": ["TIMESTAMPS"], "trace_rate": "2", "trace_count": "3"}
        found = server.ask("POST", "/v2/models/scores/trace/setting", {"trace_level": ["TIMESTAMPS"], "trace_rate": "2", "trace_count": 3})
        check("traces of a model", found == (200, changed), found)
        check("of others", server.ask("GET", "/v2/models/other/trace/setting") == (200, traces))
        for _ in range(20):
            for model in "scores", "other":
                predict(server, model, pixels=[PIXELS], size=[SIZE])
        server.ask("POST", "/v2/models/scores/trace/setting", {"trace_rate": 1, "trace_count": 1})
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        server.ask("POST", "/v1/models/scores:predict", {"instances": [{"pixels": PIXELS, "size": SIZE}]}, {"traceparent": parent})
        check("back to that of all", server.ask("POST", "/v2/models/scores/trace/setting", {"trace_rate": None})[1]["trace_rate"] == "1000")
        for text, body in (("trace file location can not be updated", {"trace_file": "a"}), ("unknown trace setting", {"trace_x": "1"}), ("Expect only one trace level", {"trace_level": ["OFF", "TIMESTAMPS"]}),
                           ("is not here", {"trace_level": ["TENSORS"]}), ("expected a number from 1 on", {"trace_rate": "0"})):
            found = server.ask("POST", "/v2/trace/setting", body)
            check("a trace setting", found[0] == 400 and text in found[1]["error"], found)
        check("no such model", server.ask("GET", "/v2/models/none/trace/setting")[0] == 404)
        check("extensions", {"trace", "logging"} <= set(server.ask("GET", "/v2")[1]["extensions"]))
        err = server.end()
        check("each call is logged", err.count("model 'scores': version 1: a call of 1 samples has succeeded in ") == 21, err)
    found = json.loads(trace.read_text())
    check("a trace of another's trace", found[-2].get("traceparent") == parent and "traceparent" not in found[0], found)
    check("a trace", len(found) == 8 and all(each["model_name"] == "scores" and each["model_version"] == 1 for each in found[::2]) and
          all(a["id"] == b["id"] and [t["name"] for t in b["timestamps"]] == ["REQUEST_START", "REQUEST_END"] and b["timestamps"][0]["ns"] < b["timestamps"][1]["ns"]
              for a, b in zip(found[::2], found[1::2])), found)
    with serve("--model", f"scores={FOLDER / 'scores'}") as server:
        found = server.ask("POST", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"]})
        check("no file", found[0] == 400 and "trace file is not set" in found[1]["error"], found)


with whole_test(500), tempfile.TemporaryDirectory() as folder:
    check_ensembles(pathlib.Path(folder))
    check_bytes(pathlib.Path(folder))
    check_instances(pathlib.Path(folder))
    check_settings(pathlib.Path(folder))
