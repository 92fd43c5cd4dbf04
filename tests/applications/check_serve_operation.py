# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve` as an operator of TensorFlow Serving or Triton runs it: policies and labels of versions in a file that is
read again, models that clients load and unload, sequences of requests, and what else Triton's parameters say.

    check_serve_operation.py <the program> <folder with scores/> <the source's folder>
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

from running_server import FOLDER, MOST_SECONDS, SIGNATURES, TOOL, check, serve, together, until, whole_test
from running_server import make_version as make_version_with

SOURCE = pathlib.Path(sys.argv[3])
ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}


def predict(server, where):
    status, found = server.ask("POST", f"/v1/models/{where}:predict", {"instances": [ROW]})
    return found["predictions"][0]["scores"][1] if status == 200 else (status, found["error"])


def states(server, model):
    found = server.ask("GET", f"/v1/models/{model}")[1]
    return {int(v["version"]): v["state"] for v in found.get("model_version_status", [])}


def make_version(base, number):
    """A version whose second score is another one for each number."""
    make_version_with(base, number, [number])


def config(base, policy="", labels=()):
    labels = "".join(f'version_labels {{ key: "{name}" value: {number} }} ' for name, number in labels)
    return f'model_config_list {{ config {{ name: "scores" base_path: "{base}" model_version_policy {{ {policy} }} {labels}}} }}'


def write(path, text):
    """In one step, since the server may read it at any time."""
    beside = path.with_name("beside")
    beside.write_text(text)
    beside.rename(path)


def check_versions(scratch):
    base, file = scratch / "versions", scratch / "models.config"
    for number in 1, 2, 3:
        make_version(base, number)
    wrong, goes_on = [], threading.Event()
    write(file, config(base, "specific { versions: 1 versions: 3 }", [("stable", 1), ("canary", 3)]))
    with serve("--model_config_file", file, "--model_config_file_poll_wait_seconds", 0.05, "--file_system_poll_wait_seconds", 0.05) as server:
        by_number = {number: predict(server, f"scores/versions/{number}") for number in (1, 3)}
        check("two versions", states(server, "scores") == {1: "AVAILABLE", 3: "AVAILABLE"} and by_number[1] != by_number[3], by_number)
        check("labels", predict(server, "scores/labels/stable") == by_number[1] and predict(server, "scores/labels/canary") == by_number[3])
        check("the highest", predict(server, "scores") == by_number[3])
        check("another version", predict(server, "scores/versions/2") == (404, "Servable not found for request: Specific(scores, 2)"))
        check("another label", predict(server, "scores/labels/x") == (400, "Unrecognized servable version label: x"))
        status, found = server.ask("GET", "/v1/models/scores/labels/stable/metadata")
        check("a label's metadata", found["model_spec"]["version"] == "1", found)
        check("KServe's versions", server.ask("GET", "/v2/models/scores")[1]["versions"] == ["1", "3"])

        def call(_):
            while not goes_on.is_set():
                found = predict(server, "scores/labels/stable")
                if not isinstance(found, float):
                    wrong.append(found)

        callers = together(4, call)
        # A canary becomes the stable version, and the former one goes, under load.
        write(file, config(base, "specific { versions: 1 versions: 3 }", [("stable", 3)]))
        until("a label moves", lambda: predict(server, "scores/labels/stable") == by_number[3])
        write(file, config(base, "latest { num_versions: 2 }", [("stable", 3)]))
        until("the highest two", lambda: states(server, "scores") == {1: "END", 2: "AVAILABLE", 3: "AVAILABLE"})
        write(file, config(base, "all {}", [("stable", 3)]))
        until("all", lambda: set(states(server, "scores").values()) == {"AVAILABLE"})
        make_version(base, 4)
        until("one more", lambda: states(server, "scores").get(4) == "AVAILABLE")
        # A label of a version that is not served, and a file that is none: everything stays.
        write(file, config(base, "all {}", [("stable", 9)]))
        time.sleep(0.3)
        write(file, "model_config_list {")
        time.sleep(0.3)
        check("the label stays", predict(server, "scores/labels/stable") == by_number[3])
        write(file, config(base, "latest {}"))
        until("one", lambda: states(server, "scores") == {1: "END", 2: "END", 3: "END", 4: "AVAILABLE"})
        goes_on.set()
        callers()
        check("no call is lost, but those with a label that is gone", all(each[1] == "Unrecognized servable version label: stable" for each in wrong), wrong[:3])
        # Without any folder the last version stays.
        base.rename(scratch / "gone")
        time.sleep(0.3)
        check("the last one stays", isinstance(predict(server, "scores"), float))
        (scratch / "gone").rename(base)
        write(file, "model_config_list {}")
        until("no model", lambda: predict(server, "scores") == (404, "Servable not found for request: Latest(scores)"))
        err = server.end()
        check("said once", err.count("Request to assign label to version 9 of model scores, which is not currently available for inference [E5300]") == 1 and
              err.count("a message does not end [E5283]") == 1, err)
    write(file, config(base, "latest {}", [("stable", 9)]))
    done = subprocess.run([TOOL, "serve", "--rest_api_port", "0", "--model_config_file", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    check("a wrong label at the beginning", done.returncode == 1 and "[E5300]" in done.stderr, done)
    with serve("--model_config_file", file, "--allow_version_labels_for_unavailable_models", "--file_system_poll_wait_seconds", 0.05) as server:
        check("a label's version that is not there yet", predict(server, "scores/labels/stable") == (404, "Servable not found for request: Specific(scores, 9)"))
        make_version(base, 9)
        until("it comes", lambda: isinstance(predict(server, "scores/labels/stable"), float))


def check_control(scratch):
    base = scratch / "control"
    make_version(base, 1)

    def index(server, **request):
        return [(each["name"], each.get("version"), each["state"], each["reason"]) for each in server.ask("POST", "/v2/repository/index", request)[1]]

    with serve("--model", f"scores={base}", "--model_control_mode", "explicit") as server:
        check("index", index(server) == [("scores", "1", "READY", "")], index(server))
        first = predict(server, "scores")
        check("unload", server.ask("POST", "/v2/repository/models/scores/unload", {"parameters": {"unload_dependents": True}}) == (200, None))
        check("unloaded", index(server) == [("scores", "1", "UNAVAILABLE", "unloaded")] and index(server, ready=True) == [], index(server))
        check("no model", predict(server, "scores")[0] == 404 and server.ask("GET", "/v2/health/ready")[0] == 503)
        make_version(base, 2)
        check("load", server.ask("POST", "/v2/repository/models/scores/load") == (200, None))
        check("loaded", index(server, ready=True) == [("scores", "2", "READY", "")] and predict(server, "scores") != first)
        for what, status, text, path, body in (("another", 404, "failed to load 'none', failed to poll from model repository", "none/load", {}),
                                               ("files", 400, "'file:1/x' is not taken", "scores/load", {"parameters": {"file:1/x": "a"}})):
            found = server.ask("POST", f"/v2/repository/models/{path}", body)
            check(what, found[0] == status and text in found[1]["error"], found)
        found = server.ask("GET", "/v2/models/scores/stats")[1]["model_stats"]
        check("statistics", len(found) == 1 and found[0]["version"] == "2" and found[0]["inference_count"] == 1 and found[0]["last_inference"] > 1.7e12 and
              found[0]["inference_stats"]["success"]["count"] == 1 and found[0]["inference_stats"]["success"]["ns"] > 1000, found)
        check("all statistics", server.ask("GET", "/v2/models/stats")[1]["model_stats"] == found)
        check("no statistics", server.ask("GET", "/v2/models/none/stats")[0] == 404)
        found = server.ask("GET", "/v2/models/scores/config")[1]
        check("configuration", found["name"] == "scores" and found["max_batch_size"] == 3 and found["input"][0] == {"name": "pixels", "data_type": "TYPE_FP32", "dims": [2, 3]} and
              found["output"][1] == {"name": "scores", "data_type": "TYPE_FP32", "dims": [2]} and "dynamic_batching" in found, found)
        check("what is not there is unloaded", server.ask("POST", "/v2/repository/models/none/unload") == (200, None))
    with serve("--model", f"scores={base}") as server:
        found = server.ask("POST", "/v2/repository/models/scores/unload")
        check("while it polls", found == (503, {"error": "explicit model load / unload is not allowed if polling is enabled"}), found)


def infer(server, inputs, outputs=None, **parameters):
    body = {"inputs": [{"name": name, "shape": [1] + shape, "datatype": "FP32", "data": data} for name, shape, data in inputs]}
    if outputs:
        body["outputs"] = outputs
    if parameters:
        body["parameters"] = parameters
    status, found = server.ask("POST", "/v2/models/scores/infer", body)
    return {each["name"]: each["data"] for each in found["outputs"]} if status == 200 else (status, found["error"])


def check_sequences(scratch):
    """The state that the server keeps is the one that a client would send: size is scores of the call before."""
    base, stateless = scratch / "sequences", scratch / "stateless"
    base.mkdir()
    stateless.mkdir()
    for folder in base, stateless:
        make_version(folder, 3)
    (base / "config.pbtxt").write_text("""name: "scores"
sequence_batching {
  max_sequence_idle_microseconds: 1500000
  state [ { input_name: "size" output_name: "scores" data_type: TYPE_FP32 dims: [ 2 ] initial_state: { data_type: TYPE_FP32 zero_data: true dims: [ 2 ] name: "zeros" } } ]
  oldest { max_candidate_sequences: 40 }
}
""")
    streams, steps = 24, 6
    numbers = random.Random(5)
    pixels = [[[numbers.uniform(-600, 600) for _ in range(6)] for _ in range(steps)] for _ in range(streams)]
    expected, fresh = [], []
    with serve("--model", f"scores={stateless}") as server:
        for stream in pixels:
            state, own = [0, 0], []
            for step in stream:
                found = infer(server, [("pixels", [2, 3], step), ("size", [2], state)])
                state = found["scores"]
                own.append(found["class"][0])
                fresh.append(infer(server, [("pixels", [2, 3], step), ("size", [2], [0, 0])])["class"][0])
            expected.append(own)
        check("no sequences", infer(server, [("pixels", [2, 3], [0] * 6), ("size", [2], [0, 0])], sequence_id=4)[1].startswith("the request has the parameter 'sequence_id'"))
        check("0 is no sequence", "class" in infer(server, [("pixels", [2, 3], [0] * 6), ("size", [2], [0, 0])], sequence_id=0))
        # The numbers of one row, best first, as texts; and how long and how urgent a call is.
        row = [("pixels", [2, 3], [0] * 6), ("size", [2], [0.5, -1])]
        first = infer(server, row)["scores"]
        order = sorted(range(2), key=lambda i: -first[i])
        singles = struct.unpack("<2f", struct.pack("<2f", *first))  # the texts of JSON are shorter than the numbers
        wanted = [f"{singles[i]:.6f}:{i}" for i in order]
        for count in 1, 2, 9:
            check("classification", infer(server, row, [{"name": "scores", "parameters": {"classification": count}}]) == {"scores": wanted[:count]}, wanted)
        found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [{"name": name, "shape": [1] + shape, "datatype": "FP32", "data": data} for name, shape, data in row],
                                                               "outputs": [{"name": "scores", "parameters": {"classification": 1}}]})[1]["outputs"][0]
        check("a classification's type", found["datatype"] == "BYTES" and found["shape"] == [1, 1], found)
        check("priority", infer(server, row, priority=1, timeout=30000000)["scores"] == first)
        for name, value in ("priority", -1), ("timeout", "a"), ("sequence_start", 1), ("sequence_id", -1):
            check("a wrong parameter", infer(server, row, **{name: value}) == (400, f"'{name}' is not as it should be"), name)
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        server.ask("GET", "/v2/health/live", headers={"traceparent": trace})
        check("trace", server.headers["traceparent"] == trace)
        server.ask("GET", "/v2/health/live", headers={"traceparent": "no trace"})
        check("no trace", server.headers["traceparent"] is None)
        text = http_text(server, "/metrics")
        check("quantiles", all(f'stagecraft_model_call_duration_seconds{{model="scores",version="3",quantile="{part}"}} 0.' in text for part in ("0.5", "0.99", "0.999")), text)
    check("the state matters", [x for own in expected for x in own] != fresh)

    with serve("--model", f"scores={base}", "--file_system_poll_wait_seconds", 0.05) as server:
        found = server.ask("GET", "/v2/models/scores")[1]
        check("what is visible", [each["name"] for each in found["inputs"] + found["outputs"]] == ["pixels", "class"], found)
        check("extensions", "sequence" in server.ask("GET", "/v2")[1]["extensions"])
        check("a configuration with sequences", server.ask("GET", "/v2/models/scores/config")[1]["sequence_batching"] == {"max_sequence_idle_microseconds": 1500000})

        def call(stream, step, **more):
            return infer(server, [("pixels", [2, 3], pixels[stream][step])], sequence_id=f"s{stream}" if stream % 2 else stream + 1, **more)

        wrong = []

        def follow(stream):
            own = [call(stream, step, sequence_start=step == 0, sequence_end=step + 1 == steps) for step in range(steps)]
            if own != [{"class": [x]} for x in expected[stream]]:
                wrong.append((own, expected[stream]))

        callers = together(streams, follow)
        time.sleep(0.02)
        make_version(base, 4)  # sequences go on with the version that they began with
        callers()
        check("streams", not wrong, wrong[:1])
        until("a new version", lambda: states(server, "scores").get(3) == "END")
        for what, text, more in (("an ended one", "must specify the START flag on the first request of the sequence", {"sequence_id": 1}),
                                 ("none", "must specify a non-zero or non-empty correlation ID", {}), ("the number of a text", "must specify the START flag", {"sequence_id": "1"})):
            found = infer(server, [("pixels", [2, 3], [0] * 6)], **more)
            check("sequence: " + what, found[0] == 400 and text in found[1], found)
        found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [{"name": "pixels", "shape": [2, 2, 3], "datatype": "FP32", "data": [0] * 12}], "parameters": {"sequence_id": 5, "sequence_start": True}})
        check("two samples", found[0] == 400 and "must specify batch-size 1" in found[1]["error"], found)
        check("TensorFlow's API has no sequences", server.ask("POST", "/v1/models/scores:predict", {"instances": [[[0] * 3] * 2]})[0] == 400)
        for number in range(1, 41):
            check("begun", "class" in call(0, 0, sequence_start=True) if number == 1 else "class" in infer(server, [("pixels", [2, 3], [0] * 6)], sequence_id=number, sequence_start=True))
        found = infer(server, [("pixels", [2, 3], [0] * 6)], sequence_id=99, sequence_start=True)
        check("too many", found[0] == 503 and "as many sequences of model 'scores' are open as may be: 40" in found[1], found)
        time.sleep(1.8)
        check("an idle one is forgotten", infer(server, [("pixels", [2, 3], [0] * 6)], sequence_id=2)[0] == 400)
        check("there is room again", "class" in infer(server, [("pixels", [2, 3], [0] * 6)], sequence_id=99, sequence_start=True))
    for text, code, reason in (('sequence_batching { }', "E5301", "without a state"), ('sequence_batching { state { input_name: "x" output_name: "scores" } }', "E5301", "the input 'x', which"),
                               ('sequence_batching { state { input_name: "pixels" output_name: "scores" } }', "E5301", "has shape (2, 3) and whose output"),
                               ('sequence_batching { state { input_name: "size" output_name: "scores" dims: 3 } }', "E5301", "has shape (3,), but it has (2,)"),
                               ('sequence_batching { control_input { } }', "E5283", "line 1: 'control_input' is not taken"),
                               ('sequence_batching { state { input_name: "size" output_name: "scores" initial_state { data_file: "a" } } }', "E5283", "begin with zeros")):
        (stateless / "config.pbtxt").write_text(text)
        with serve("--model", f"scores={stateless}") as server:
            found = server.ask("GET", "/v1/models/scores")[1]["model_version_status"][0]
            check("config.pbtxt", found["state"] == "END" and reason in found["status"]["error_message"] and code in found["status"]["error_message"], text, found)


def field(number, value):
    """A field of protobuf: bytes, or a number."""
    def varint(rest):
        made = b""
        while rest > 127:
            made += bytes([rest % 128 + 128])
            rest //= 128
        return made + bytes([rest])
    return varint(number * 8) + varint(value) if isinstance(value, int) else varint(number * 8 + 2) + varint(len(value)) + value


def masked_checksum(data):
    """CRC-32C, turned and shifted as TensorFlow's records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF)


def check_warm_up(scratch):
    base = scratch / "warm"
    make_version(base, 1)
    (base / "1" / "assets.extra").mkdir()
    (base / "1" / "application.json").write_text(json.dumps({"signatures": SIGNATURES["examples"]}))

    def tensor(shape, values):
        return field(1, 1) + field(2, b"".join(field(2, field(1, length)) for length in shape)) + field(5, struct.pack(f"<{len(values)}f", *values))

    def record(log):
        length = struct.pack("<Q", len(log))
        return length + masked_checksum(length) + log + masked_checksum(log)

    def predict(**inputs):
        entries = b"".join(field(2, field(1, name.encode()) + field(2, value)) for name, value in inputs.items())
        return field(6, field(1, field(1, field(1, b"scores")) + entries))

    def spec(signature):
        return field(1, field(1, b"scores") + field(3, signature))

    def feature(name, values):
        return field(1, field(1, name) + field(2, field(2, field(1, struct.pack(f"<{len(values)}f", *values)))))

    # The context, size, stands before what it belongs to.
    both = field(2, field(2, field(2, field(1, feature(b"size", [0.5, -1]))) + field(1, field(1, feature(b"pixels", [1] * 6)))))

    def asked(signature):
        return field(1, spec(signature) + both)

    several = field(4, field(1, b"".join(field(1, spec(name) + field(2, b"tensorflow/serving/" + name)) for name in (b"classify", b"regress")) + both))
    good = record(predict(pixels=tensor([2, 2, 3], [1] * 12), size=tensor([2, 2], [0.5])))
    for what, data, reason in (("three", good * 3, None), ("cut off", good[:-1], "it is cut off [E5302]"), ("damaged", good[:30] + b"x" + good[31:], "a checksum is another one [E5302]"),
                               ("another input", record(predict(x=tensor([1], [1]))), "request 0: there is no input 'x' [E5302]"),
                               ("a missing one", good + record(predict(size=tensor([1, 2], [1]))), "request 1: input 'pixels' is missing [E5302]"),
                               ("another kind", record(field(5, b"")), "is neither Predict, Classify, Regress nor MultiInference [E5302]"), ("an empty one", record(field(2, b"")), "is empty [E5302]"),
                               ("examples", record(field(2, asked(b"classify"))) + record(field(3, asked(b"regress"))) + record(several) + good, None),
                               ("no such signature", record(field(2, asked(b"x"))), "request 0: No signature was found with the name: x [E5302]"),
                               ("no examples", record(field(2, field(1, spec(b"classify")))), "request 0: Input is empty. [E5302]"), ("too many", good * 1001, "more than 1000 requests [E5302]")):
        (base / "1" / "assets.extra" / "tf_serving_warmup_requests").write_bytes(data)
        with serve("--model", f"scores={base}") as server:
            found = server.ask("GET", "/v1/models/scores")[1]["model_version_status"][0]
            check("warm-up: " + what, found["state"] == ("END" if reason else "AVAILABLE") and (reason or "") in found["status"]["error_message"], found)
            if not reason:
                check("warm-up's samples", server.ask("GET", "/v2/models/stats")[1]["model_stats"][0]["inference_count"] == 6)


def check_shared_memory(scratch):
    base = scratch / "memory"
    make_version(base, 1)
    name = f"stagecraft_check_{os.getpid()}"
    memory = pathlib.Path("/dev/shm") / name
    values = struct.pack("<6B", 0, 51, 102, 153, 204, 255) + struct.pack("<2f", 0.5, -1)
    memory.write_bytes(values + bytes(16))

    def inputs(**more):
        where = {"shared_memory_region": "all"}
        return [{"name": "pixels", "shape": [1, 2, 3], "datatype": "UINT8", "parameters": {**where, "shared_memory_byte_size": 6, **more}},
                {"name": "size", "shape": [1, 2], "datatype": "FP32", "parameters": {**where, "shared_memory_offset": 6, "shared_memory_byte_size": 8}}]

    try:
        with serve("--model", f"scores={base}") as server:
            found = server.ask("GET", "/v2/systemsharedmemory/status")
            check("memory is not shared", found[0] == 400 and "begun without --allow_shared_memory" in found[1]["error"], found)
            found = server.ask("POST", "/v2/models/scores/infer", {"inputs": inputs()})
            check("nor read", found[0] == 400 and "begun without --allow_shared_memory" in found[1]["error"], found)
        with serve("--model", f"scores={base}", "--allow_shared_memory") as server:
            first = infer(server, [("pixels", [2, 3], list(values[:6])), ("size", [2], [0.5, -1])])
            region = {"key": f"/{name}", "offset": 0, "byte_size": 30}
            check("register", server.ask("POST", "/v2/systemsharedmemory/region/all/register", region) == (200, None))
            check("status", server.ask("GET", "/v2/systemsharedmemory/region/all/status")[1] == [{"name": "all", **region}])
            status, found = server.ask("POST", "/v2/models/scores/infer", {"inputs": inputs(), "outputs": [{"name": "class"}, {"name": "scores", "parameters": {
                "shared_memory_region": "all", "shared_memory_offset": 14, "shared_memory_byte_size": 16}}]})
            check("shared memory", status == 200 and found["outputs"][0]["data"] == first["class"] and "data" not in found["outputs"][1] and
                  found["outputs"][1]["parameters"] == {"shared_memory_region": "all", "shared_memory_offset": 14, "shared_memory_byte_size": 8}, found)
            check("what was written", memory.read_bytes()[14:22] == struct.pack("<2f", *first["scores"]) and len(memory.read_bytes()) == 30)
            for what, path, body, text in (("twice", "systemsharedmemory/region/all/register", region, "already in manager"),
                                           ("no object", "systemsharedmemory/region/b/register", {**region, "key": "/none"}, "Unable to open shared memory region: '/none'"),
                                           ("too long", "systemsharedmemory/region/b/register", {**region, "byte_size": 31}, "invalid args"),
                                           ("no region", "models/scores/infer", {"inputs": inputs(shared_memory_region="b")}, "Unable to find shared memory region: 'b'"),
                                           ("another size", "models/scores/infer", {"inputs": inputs(shared_memory_byte_size=7)}, "has 7 bytes of shared memory, expected 6"),
                                           ("beyond its end", "models/scores/infer", {"inputs": inputs(shared_memory_offset=25)}, "Invalid offset + byte size"),
                                           ("a small place", "models/scores/infer", {"inputs": inputs(), "outputs": [{"name": "scores", "parameters": {
                                               "shared_memory_region": "all", "shared_memory_byte_size": 4}}]}, "should be at least 8 bytes")):
                found = server.ask("POST", f"/v2/{path}", body)
                check("memory: " + what, found[0] == 400 and text in found[1]["error"], found)
            with memory.open("r+b") as file:
                file.truncate(3)  # a client's fault is its own
            found = server.ask("POST", "/v2/models/scores/infer", {"inputs": inputs()})
            check("it has become shorter", found[0] == 400 and "has become shorter" in found[1]["error"], found)
            check("unregister", server.ask("POST", "/v2/systemsharedmemory/unregister") == (200, None) and server.ask("GET", "/v2/systemsharedmemory/status")[1] == [])
    finally:
        memory.unlink()


# The options of tensorflow_model_server and tritonserver.
TENSORFLOW_OPTIONS = """
port grpc_socket_path rest_api_port rest_api_num_threads rest_api_timeout_in_ms rest_api_enable_cors_support enable_batching
allow_version_labels_for_unavailable_models batching_parameters_file enable_per_model_batching_parameters model_config_file
model_config_file_poll_wait_seconds model_name model_base_path num_load_threads num_unload_threads max_num_load_retries load_retry_interval_micros
file_system_poll_wait_seconds flush_filesystem_caches tensorflow_session_parallelism tensorflow_intra_op_parallelism tensorflow_inter_op_parallelism
use_alts_credentials ssl_config_file platform_config_file per_process_gpu_memory_fraction saved_model_tags grpc_channel_arguments grpc_max_threads
enable_model_warmup num_request_iterations_for_warmup version monitoring_config_file remove_unused_fields_from_bundle_metagraph prefer_tflite_model
num_tflite_pools num_tflite_interpreters_per_pool enable_signature_method_name_check xla_cpu_compilation_enabled enable_profiler
thread_pool_factory_config_file mixed_precision skip_initialize_tpu enable_grpc_healthcheck_service enable_serialization_as_tensor_content
"""
TRITON_OPTIONS = """
model-repository model-control-mode repository-poll-secs load-model http-port http-address http-thread-count grpc-port grpc-address allow-http
allow-grpc allow-metrics metrics-port metrics-address metrics-interval-ms grpc-use-ssl grpc-use-ssl-mutual grpc-server-cert grpc-server-key
grpc-root-cert host-policy trace-config log-verbose log-info log-warning log-error log-format log-file exit-timeout-secs exit-on-error
strict-readiness model-load-thread-count model-load-retry-count http-restricted-api grpc-restricted-protocol http-header-forward-pattern
grpc-header-forward-pattern grpc-keepalive-time grpc-keepalive-timeout grpc-infer-allocation-pool-size grpc-infer-response-compression-level
cache-config rate-limit rate-limit-resource backend-directory backend-config repoagent-directory buffer-manager-thread-count
pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size min-supported-compute-capability model-namespacing
disable-auto-complete-config model-config-name
"""


def check_page():
    """The tables of docs/serving.md and docs/cli.md are what there is: paths, options and gRPC's methods, all of them."""
    page = (SOURCE / "docs" / "serving.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    # Parts in brackets may be left out.
    with serve("--model", f"scores={FOLDER}/scores", "--model_control_mode", "explicit", "--allow_shared_memory") as server:
        walked = 0
        for row in rows:
            cell = row.split(" | ")[0]
            method = re.match(r"\| `(GET|POST) /", cell)
            for path in re.findall(r"`(?:GET |POST )?(/[^`]+)`", cell) if method else []:
                for part in r"\1", "":
                    one = re.sub(r"\[([^]]*?)(?: or [^]]*)?\]", part, path).replace("NAME", "scores").replace("/V", "/1").replace("/R/", "/r/")
                    status, found = server.ask(method[1], one, {} if method[1] == "POST" else None)
                    walked += 1
                    check("a path of the page", "Not found" not in str(found) and "Malformed request: " + method[1] not in str(found), method[1], one, status, found)
        check("paths are walked", walked > 30, walked)
    options = set(re.findall(r"--[a-z_]+", subprocess.run([TOOL, "serve", "--help"], stdout=subprocess.PIPE, text=True).stdout)) - {"--help"}
    table = (SOURCE / "docs" / "cli.md").read_text().split("\n## serve\n")[1].split("\n## ")[0]
    named = {name for line in table.splitlines() if line.startswith("| `--") for name in re.findall(r"--[a-z_]+", line.split(" | ")[0])}
    check("options of the page", named == options, named ^ options)
    # Each option of the two servers, by their own help, has its row; those that are said to be here are.
    cells = [row.split(" | ") for row in rows]
    for option in TENSORFLOW_OPTIONS.split() + TRITON_OPTIONS.split():
        named = [cell for cell in cells if f"`--{option}`" in cell[0]]
        check("an option of the page", len(named) == 1, option, named)
        if named and named[0][1].startswith("here"):
            check("an option that is here", f"--{option}" in options | {"--version", "--host-policy"}, option)
    methods = {name for file in (SOURCE / "tools" / "stagecraft" / "serve" / "grpc" / "protocol").glob("*.proto") for name in re.findall(r"rpc (\w+)", file.read_text())}
    words = {word.split(".")[-1] for row in rows for word in re.findall(r"`([\w.]+)`", row.split(" | ")[0])}
    check("gRPC's methods are on the page", methods <= words, methods - words)


def http_text(server, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=MOST_SECONDS)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read().decode()


with whole_test(500), tempfile.TemporaryDirectory() as folder:
    check_versions(pathlib.Path(folder))
    check_control(pathlib.Path(folder))
    check_sequences(pathlib.Path(folder))
    check_warm_up(pathlib.Path(folder))
    check_shared_memory(pathlib.Path(folder))
    check_page()
