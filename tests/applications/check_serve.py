# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve`: both APIs, limits, tokens, TLS, versions that come while there is load, and an end under load.

    check_serve.py <the program> <folder with scores/ and exported/1/>
"""
import contextlib
import gzip
import http.client
import json
import math
import os
import pathlib
import resource
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import zlib

from running_server import FOLDER, MOST_SECONDS, TOOL, Server, check, join, make_version, serve, together, until, whole_test

ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}
PREDICT = "/v1/models/scores:predict"
BOMB = gzip.compress(bytes(50000000), 9)


def until_closed(connection):
    """What comes until the other end closes the connection."""
    found = b""
    connection.settimeout(MOST_SECONDS)
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def check_apis(server):
    status, by_rows = server.ask("POST", PREDICT, {"signature_name": "serving_default", "instances": [ROW, ROW, ROW, ROW]})
    check("rows", status == 200 and len(by_rows["predictions"]) == 4 and set(by_rows["predictions"][0]) == {"class", "scores"}, by_rows)
    first = by_rows["predictions"][0]
    check("row", isinstance(first["class"], float) and len(first["scores"]) == 2 and 0 < first["scores"][0] < 1, first)
    columns = {key: [value] * 4 for key, value in ROW.items()}
    status, by_columns = server.ask("POST", "/v1/models/scores/versions/1:predict", {"inputs": columns})
    check("columns", status == 200 and by_columns["outputs"]["scores"] == [row["scores"] for row in by_rows["predictions"]], by_columns)

    status, found = server.ask("GET", "/v1/models/scores")
    check("status", found == {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}]}, found)
    status, found = server.ask("GET", "/v1/models/scores/versions/1/metadata")
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    check("metadata", found["model_spec"] == {"name": "scores", "signature_name": "", "version": "1"} and
          signature["method_name"] == "tensorflow/serving/predict" and signature["inputs"]["pixels"]["dtype"] == "DT_FLOAT" and
          [d["size"] for d in signature["inputs"]["pixels"]["tensor_shape"]["dim"]] == ["-1", "2", "3"], found)

    for what, expected, text, method, path, body in (
            ("model", 404, "Servable not found for request: Latest(none)", "POST", "/v1/models/none:predict", {"instances": [ROW]}),
            ("version", 404, "Servable not found for request: Specific(scores, 7)", "POST", "/v1/models/scores/versions/7:predict", {"instances": [ROW]}),
            ("status of none", 404, "Could not find any versions of model none", "GET", "/v1/models/none", None),
            ("no JSON", 400, "JSON Parse error", "POST", PREDICT, "{\"instances\": [1,"),
            ("deep JSON", 400, "nested too deeply", "POST", PREDICT, "[" * 100000),
            ("many keys", 400, "an object has more than 1000 keys", "POST", PREDICT, {str(i): i for i in range(200000)}),
            ("ends", 400, "JSON Parse error: the text ends at byte", "POST", PREDICT, "{\"instances\": "),
            ("more", 400, "JSON Parse error: expected the end", "POST", PREDICT, json.dumps({"instances": [ROW]}) + " 1"),
            ("a number", 400, "JSON Parse error: expected ','", "POST", PREDICT, "{\"instances\": [{\"size\": [01, 2]}]}"),
            ("a word", 400, "JSON Parse error: expected a value", "POST", PREDICT, "{\"instances\": [nul]}"),
            ("a large number", 400, "input 'size' of sample 0: the number at [0] is 1e999, which is no number of type float32", "POST", PREDICT, "{\"instances\": [{\"size\": [1e999, 2]}]}"),
            ("a control character", 400, "a text has a control character", "POST", PREDICT, "{\"inst\nances\": 1}"),
            ("half a character", 400, "half a character", "POST", PREDICT, "{\"\\ud800\": 1}"),
            ("twice", 400, "input 'size' is given twice", "POST", PREDICT, "{\"instances\": [{\"size\": [1, 2], \"size\": [1, 2]}]}"),
            ("no object", 400, "expected a JSON object", "POST", PREDICT, [1]),
            ("neither", 400, "either 'instances' or 'inputs'", "POST", PREDICT, {}),
            ("both", 400, "either 'instances' or 'inputs'", "POST", PREDICT, {"instances": [ROW], "inputs": {}}),
            ("signature", 400, "Serving signature name: \"x\" not found in signature def", "POST", PREDICT, {"signature_name": "x", "instances": [ROW]}),
            ("empty", 400, "'instances' is no list, or an empty one", "POST", PREDICT, {"instances": []}),
            ("one of two", 400, "the model has 2 inputs", "POST", PREDICT, {"instances": [[1, 2]]}),
            ("missing", 400, "input 'size' is missing", "POST", PREDICT, {"instances": [{"pixels": ROW["pixels"]}]}),
            ("unknown", 400, "there is no input 'other'", "POST", PREDICT, {"instances": [{**ROW, "other": 1}]}),
            ("shape", 400, "input 'pixels': expected numbers of shape (2, 3), found something of shape (3)", "POST", PREDICT, {"instances": [{**ROW, "pixels": [1, 2, 3]}]}),
            ("ragged", 400, "input 'pixels': expected numbers", "POST", PREDICT, {"instances": [{**ROW, "pixels": [[1, 2, 3], [1]]}]}),
            ("text", 400, "input 'size' of sample 0: the number at [0] is the text \"a\", expected a number", "POST", PREDICT, {"instances": [{**ROW, "size": ["a", 1]}]}),
            ("lengths", 400, "input 'size' has 1 samples, the ones before 2", "POST", PREDICT, {"inputs": {"pixels": [ROW["pixels"]] * 2, "size": [ROW["size"]]}}),
            ("classify", 400, "Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/predict",
             "POST", "/v1/models/scores:classify", {}),
            ("regress", 404, "Servable not found for request: Latest(none)", "POST", "/v1/models/none:regress", {}),
            ("label", 400, "Unrecognized servable version label: x", "POST", "/v1/models/scores/labels/x:predict", {"instances": [ROW]}),
            ("status of a version", 404, "Could not find version 7 of model scores", "GET", "/v1/models/scores/versions/7", None),
            ("method", 400, "Malformed request: GET", "GET", PREDICT, None),
            ("path", 404, "Not found: /other", "GET", "/other", None),
            ("method", 404, "Not found", "DELETE", "/v1/models/scores", None)):
        status, found = server.ask(method, path, body)
        check(what, status == expected and text in found.get("error", ""), status, found)

    # Numbers that JSON does not have.
    status, found = server.ask("POST", PREDICT, '{"instances": [{"pixels": [[NaN, 0, 0], [0, 0, 0]], "size": [Infinity, -Infinity]}]}')
    check("NaN", status == 200 and math.isnan(found["predictions"][0]["scores"][0]), status, found)

    # KServe.
    check("live", server.ask("GET", "/v2/health/live") == (200, {"live": True}))
    check("ready", server.ask("GET", "/v2/health/ready") == (200, {"ready": True}))
    check("model ready", server.ask("GET", "/v2/models/scores/ready") == (200, {"name": "scores", "ready": True}))
    check("server", {"binary_tensor_data", "classification", "statistics"} <= set(server.ask("GET", "/v2")[1]["extensions"]))
    status, found = server.ask("GET", "/v2/models/scores")
    check("KServe's metadata", found == {"name": "scores", "versions": ["1"], "platform": "stagecraft",
                                         "inputs": [{"name": "pixels", "datatype": "FP32", "shape": [-1, 2, 3]}, {"name": "size", "datatype": "FP32", "shape": [-1, 2]}],
                                         "outputs": [{"name": "class", "datatype": "FP32", "shape": [-1]}, {"name": "scores", "datatype": "FP32", "shape": [-1, 2]}]}, found)
    flat = [x for row in ROW["pixels"] for x in row]
    pixels = {"name": "pixels", "shape": [1, 2, 3], "datatype": "UINT8", "data": flat}
    size = {"name": "size", "shape": [1, 2], "datatype": "FP64", "data": [ROW["size"]]}
    status, found = server.ask("POST", "/v2/models/scores/infer", {"id": "7", "inputs": [size, pixels], "outputs": [{"name": "scores"}]})
    check("infer", status == 200 and found["id"] == "7" and found["model_version"] == "1" and
          found["outputs"] == [{"name": "scores", "datatype": "FP32", "shape": [1, 2], "data": first["scores"]}], found)
    header = json.dumps({"inputs": [{**pixels, "data": None, "parameters": {"binary_data_size": 6}}, size],
                         "outputs": [{"name": "scores", "parameters": {"binary_data": True}}, {"name": "class"}]}).replace('"data": null, ', "")
    status, found = server.ask("POST", "/v2/models/scores/versions/1/infer", header.encode() + bytes(flat), {"Inference-Header-Content-Length": str(len(header))})
    length = int(server.headers["Inference-Header-Content-Length"])
    check("binary", status == 200 and list(struct.unpack("<2f", found[length:])) == [struct.unpack("<f", struct.pack("<f", x))[0] for x in first["scores"]] and
          json.loads(found[:length])["outputs"][0]["parameters"] == {"binary_data_size": 8}, status, found)
    status, found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [pixels, size], "parameters": {"binary_data_output": True}})
    length = int(server.headers["Inference-Header-Content-Length"])
    check("all outputs in binary", status == 200 and len(found) == length + 12 and [each["parameters"]["binary_data_size"] for each in
          json.loads(found[:length])["outputs"]] == [4, 8] and struct.unpack_from("<f", found, length)[0] == first["class"], status, found)
    for what, body, text in (("type", {"inputs": [{**pixels, "datatype": "BYTES"}]}, "'data' of BYTES is no list of texts"),
                             ("name", {"inputs": [{**pixels, "name": "x"}]}, "there is no input 'x'"),
                             ("size", {"inputs": [{**pixels, "data": [1]}]}, "has 1 numbers, expected 6"),
                             ("shape", {"inputs": [{**pixels, "shape": [6]}]}, "has shape (6,), expected a batch of (2, 3)"),
                             ("huge", {"inputs": [{**pixels, "shape": [1 << 62, 1 << 62]}]}, "a shape that cannot be"),
                             ("missing", {"inputs": [pixels]}, "input 'size' is missing"),
                             ("bytes", {"inputs": [{**pixels, "parameters": {"binary_data_size": 6}}]}, "binary_data_size is 6"),
                             ("output", {"inputs": [pixels, size], "outputs": [{"name": "x"}]}, "there is no output 'x'"),
                             ("outputs", {"inputs": [pixels, size], "outputs": [{"name": "scores"}] * 2}, "output 'scores' is asked for twice")):
        status, found = server.ask("POST", "/v2/models/scores/infer", body)
        check("KServe: " + what, status == 400 and text in found["error"], status, found)

    header = json.dumps({"inputs": [pixels, size]})
    status, found = server.ask("POST", "/v2/models/scores/infer", header + "more", {"Inference-Header-Content-Length": str(len(header))})
    check("KServe: more bytes", status == 400 and "4 bytes behind the JSON belong to no input" in found["error"], status, found)

    # curl, and what is counted.
    out = subprocess.run(["curl", "-s", "-d", json.dumps({"instances": [ROW]}), f"http://127.0.0.1:{server.port}{PREDICT}"], stdout=subprocess.PIPE, timeout=60).stdout
    check("curl", json.loads(out)["predictions"][0] == first, out)
    check_clients(server, first)
    for path in "/monitoring/prometheus/metrics", "/metrics":
        status, text = server.ask("GET", path)
        for line in 'stagecraft_requests_total{code="200"} ', 'stagecraft_model_samples_total{model="scores",version="1"} ', \
                'stagecraft_request_duration_seconds_bucket{le="+Inf"} ', "# TYPE stagecraft_request_duration_seconds histogram":
            check("metrics", status == 200 and line.encode() in text, line, text)


def check_values(base):
    """What numbers and shapes a request has is what its header says, and no finite number becomes an infinity."""
    with serve("--model_name", "scores", "--model_base_path", base) as server:
        pixels = {"name": "pixels", "shape": [1, 2, 3], "datatype": "FP32", "data": [0] * 6}
        size = {"name": "size", "shape": [1, 2], "datatype": "FP32", "data": [0.5, -1]}

        def rest(value, **more):
            return server.ask("POST", PREDICT, {"instances": [ROW, {**ROW, "size": value}], **more})

        def kserve(datatype, data, **more):
            return server.ask("POST", "/v2/models/scores/infer", {"inputs": [pixels, {**size, "datatype": datatype, "data": data, **more}]})

        for value, text in (("[1, 1e39]", "of sample 1: the number at [1] is 1e39, which is no number of type float32"), ("[-3.5e38, 1]", "at [0] is -3.5e38"),
                            ("[1e400, 1]", "at [0] is 1e400"), ("[true, 1]", "of sample 1: the number at [0] is true, expected a number"),
                            ("[1, false]", "at [1] is false"), ("[null, 1]", "is null, expected a number"), ('["b", 1]', 'is the text \\"b\\", expected'),
                            ("[{}, 1]", "is an object, expected"), ("[[1], 1]", "found something of shape (2, 1), of sample 1"),
                            ("[1, [1]]", "expected numbers of shape (2), found a list too deep at [1], of sample 1"), ("[1]", "found something of shape (1), of sample 1"),
                            ("[1, 2, 3]", "found something of shape (3)"), ("1", "found something of shape ()")):
            body = json.dumps({"instances": [ROW, {**ROW, "size": "HERE"}]}).replace('"HERE"', value)
            status, found = server.ask("POST", PREDICT, body)
            check("REST: " + value, status == 400 and f"input 'size'" in found["error"] and text.replace('\\"', '"') in found["error"], status, found)
        for value in [1e-400, 3.4028235e38], [1e-50, -3.4028235677973362e38], ["NaN", "-Infinity"]:
            check("REST takes", rest(value)[0] == 200, value)
        check("too small", server.ask("POST", PREDICT, json.dumps({"instances": [{**ROW, "size": 7}]}).replace("7}", "[1e-400, -1e-400]}"))[0] == 200)

        for datatype, data, text in (
                ("INT8", [300, 1], "input 'size': the number of 'data' at [0] is 300, which is no number of type int8"), ("INT8", [1, -129], "at [1] is -129"),
                ("INT32", [[1.5, 1]], "at [0, 0] is 1.5, which is no number of type int32"), ("UINT8", [-1, 1], "is -1, which is no number of type uint8"),
                ("INT16", [1, 32768], "at [1] is 32768"), ("UINT16", [65536, 0], "uint16"), ("INT32", [1 << 31, 0], "int32"), ("UINT32", [1 << 32, 0], "uint32"),
                ("INT64", [1 << 63, 1], "is 9223372036854775808, which is no number of type int64"), ("UINT64", [1 << 64, 1], "uint64"),
                ("UINT64", [-1, 1], "uint64"), ("BOOL", [2, 1], "is 2, which is no number of type bool"), ("FP16", [1, 1e6], "at [1] is 1000000.0, which is no number of type float16"),
                ("BF16", [3.4e38, 1], "bfloat16"), ("FP32", [1e39, 1], "is 1e+39, which is no number of type float32"), ("FP64", [1, 1e39], "is 1e+39, which is beyond float32, in which models compute"),
                ("INT32", [True, 1], "is true, expected a number"), ("FP32", [True, 1], "is true, expected a number"), ("INT8", ["NaN", 1], "is the text"),
                ("FP32", 1, "expected 'data' of shape (1, 2), found something of shape ()"), ("FP32", [[1], [2]], "found something of shape (2, 1)"),
                ("FP32", [[1, 2], [3, 4]], "found something of shape (2, 2)"), ("FP32", [[[1, 2]]], "found something of shape (1, 1, 2)"),
                ("FP32", [1, [2]], "expected 'data' of shape (1, 2), found a list too deep at [1]"), ("FP32", [[1, 2], 3], "of shape (2, 2)"), ("FP32", [1, 2, 3], "has 3 numbers, expected 2"), ("FP32", [], "has 0 numbers")):
            for order in (lambda each: each, lambda each: dict(reversed(each.items()))):  # the header may stand after the data
                body = {"inputs": [pixels, order({**size, "datatype": datatype, "data": data})]}
                status, found = server.ask("POST", "/v2/models/scores/infer", body)
                check("KServe: " + datatype, status == 400 and "input 'size'" in found["error"] and text in found["error"], data, status, found)
        for shape, data in ([2, 3], [[1, 2], [3, 4], [5, 6]]), ([2, 2, 3], [[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5]]]), ([1, 2, 3], [[[1, 2, 3], 4]]):
            status, found = server.ask("POST", "/v2/models/scores/infer", {"inputs": [{**pixels, "shape": shape, "data": data}, size]})
            check("KServe: a shape", status == 400 and "input 'pixels': expected 'data' of shape" in found["error"], status, found)
        for datatype, data in (("INT8", [-128, 127.0]), ("UINT8", [255, 0]), ("INT64", [(1 << 63) - 1, -1 << 63]), ("UINT64", [(1 << 64) - 1, 0]), ("BOOL", [True, 0]),
                               ("FP16", [65504, "NaN"]), ("FP64", [1e-300, [0][0]]), ("INT32", [[1e2, 1]])):
            check("KServe takes " + datatype, kserve(datatype, data)[0] == 200, data)
        for datatype, data, text in ("FP64", struct.pack("<2d", 1, -1e39), "element[0, 1] is -1e+39, which is no number of type float32"), ("BOOL", b"\1\2", "element[0, 1] is 2, which is no number of type bool"):
            header = json.dumps({"inputs": [pixels, {key: value for key, value in {**size, "datatype": datatype, "parameters": {"binary_data_size": len(data)}}.items() if key != "data"}]})
            status, found = server.ask("POST", "/v2/models/scores/infer", header.encode() + data, {"Inference-Header-Content-Length": str(len(header))})
            check("KServe: binary " + datatype, status == 400 and text in found["error"], status, found)

        # Answers with numbers that JSON does not have.
        nan = {"instances": [{**ROW, "pixels": [["NaN", 0, 0], [0, 0, 0]]}]}
        infer = {"inputs": [{**pixels, "data": ["NaN", 0, 0, 0, 0, 0]}, size], "outputs": [{"name": "scores"}]}
        for how, expected in ("literal", "[NaN"), ("text", '["NaN"'), ("null", "[null"), ("error", "output 'scores' holds NaN, which JSON does not have"), \
                ("other", "'non_finite' is \\\"other\\\", expected literal, text, null or error"):
            for path, body in (PREDICT, {**nan, "non_finite": how}), ("/v2/models/scores/infer", {**infer, "parameters": {"non_finite": how}}):
                with contextlib.closing(http.client.HTTPConnection(server.host, server.port, timeout=MOST_SECONDS)) as connection:
                    connection.request("POST", path, json.dumps(body))
                    response = connection.getresponse()
                    text = response.read().decode()
                check("non_finite", response.status == {"error": 500, "other": 400}.get(how, 200) and expected in text, how, path, response.status, text)


def check_version_names(base):
    """Folders keep their names, which may begin with zeros; two of one number are an error, and others are served."""
    make_version(base, 1)
    (base / "1").rename(base / "00000001")
    with serve("--model_name", "scores", "--model_base_path", base, "--file_system_poll_wait_seconds", 0.05) as server:
        def wait_for(versions):
            deadline, found = time.time() + 60, None
            while time.time() < deadline:
                status, found = server.ask("GET", "/v1/models/scores")
                found = [(each["version"], each["state"]) for each in found["model_version_status"]] if status == 200 else status
                if found == versions:
                    return
                time.sleep(0.02)
            check("versions", False, found, "instead of", versions)

        wait_for([("1", "AVAILABLE")])
        check("a name with zeros", server.ask("POST", "/v1/models/scores/versions/1:predict", {"instances": [ROW]})[0] == 200 and
              server.ask("POST", "/v1/models/scores/versions/001:predict", {"instances": [ROW]})[0] == 200)
        make_version(base, 7)  # with the number that it has below, in a folder of another name
        (base / "7").rename(base / "003")
        wait_for([("3", "AVAILABLE"), ("1", "END")])
        shutil.copytree(base / "003", base / "new")
        shutil.copytree(base / "003", base / "newer")
        (base / "new").rename(base / "0")  # no version
        (base / "newer").rename(base / "3")
        time.sleep(0.3)
        wait_for([("3", "AVAILABLE"), ("1", "END")])
        err = server.end()
        check("said once", err.count("version 3 cannot be told: ") == 1, err)
    with serve("--model_name", "scores", "--model_base_path", base) as server:
        status, found = server.ask("GET", "/v1/models/scores")
        found = {each["version"]: each for each in found["model_version_status"]}
        check("two of one number", found["1"]["state"] == "AVAILABLE" and found["3"]["state"] == "END" and
              f"{base}: the folders '003' and '3' are both version 3; rename or remove one [E5207]" in found["3"]["status"]["error_message"], found)
        check("another one answers", server.ask("POST", PREDICT, {"instances": [ROW]})[0] == 200)


def check_clients(server, first):
    """Clients of Python's, where they are installed."""
    with contextlib.suppress(ImportError):
        import requests
        with requests.Session() as session:
            for _ in range(2):
                answer = session.post(f"http://127.0.0.1:{server.port}{PREDICT}", json={"instances": [ROW]}, timeout=10)
                check("requests", answer.status_code == 200 and answer.json()["predictions"][0] == first, answer.text)
            answer = session.post(f"http://127.0.0.1:{server.port}{PREDICT}", json={"instances": []}, timeout=10)
            check("requests", answer.status_code == 400 and "empty" in answer.json()["error"], answer.text)
    with contextlib.suppress(ImportError):
        import numpy as np
        import tritonclient.http as triton
        from tritonclient.utils import InferenceServerException
        with triton.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
            check("tritonclient", client.is_server_live() and client.is_server_ready() and client.is_model_ready("scores", "1") and
                  not client.is_model_ready("none") and client.get_server_metadata()["name"] == "stagecraft" and
                  client.get_model_metadata("scores")["inputs"][0] == {"name": "pixels", "datatype": "FP32", "shape": [-1, 2, 3]})
            rows = np.array([ROW["pixels"]] * 3, dtype=np.uint8), np.array([ROW["size"]] * 3, dtype=np.float32)
            for is_binary in True, False:
                inputs = [triton.InferInput(name, values.shape, datatype).set_data_from_numpy(values, binary_data=is_binary)
                          for name, values, datatype in zip(("pixels", "size"), rows, ("UINT8", "FP32"))]
                for outputs in None, [triton.InferRequestedOutput("scores", binary_data=not is_binary), triton.InferRequestedOutput("class", binary_data=is_binary)]:
                    found = client.infer("scores", inputs, outputs=outputs, request_id="8")
                    check("tritonclient", found.get_response()["id"] == "8" and found.as_numpy("scores").shape == (3, 2) and
                          np.allclose(found.as_numpy("scores"), [first["scores"]] * 3, rtol=1e-6) and list(found.as_numpy("class")) == [first["class"]] * 3,
                          is_binary, outputs, found.get_response())
            try:
                client.infer("scores", inputs[:1])
                check("tritonclient's error", False)
            except InferenceServerException as why:
                check("tritonclient's error", "input 'size' is missing" in str(why) and "400" in str(why), why)


def check_limits(base):
    with serve("--model_name", "scores", "--model_base_path", base, "--max_body_bytes", 5000, "--read_timeout_in_ms", 300,
               "--batch_timeout_micros", 4000000, "--max_enqueued_calls", 1, "--rest_api_timeout_in_ms", 2000) as server:
        status, found = server.ask("POST", PREDICT, "[" + "1, " * 5000 + "1]")
        check("large", status == 413 and "error" in found, status, found)
        with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as slow:
            slow.sendall(b"POST /v1/models/scores:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
            check("slow", until_closed(slow).startswith(b"HTTP/1.1 408"))
        # A byte now and then is no progress: the time is the whole request's, headers and all.
        for what, sent in ("slow headers", b"POST /v1/models/scores:predict HTTP/1.1\r\nHost: a\r\n"), \
                ("a slow body", b"POST /v1/models/scores:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as slow:
                slow.sendall(sent)
                sent_bytes = 0  # six in those 300 ms
                with contextlib.suppress(OSError):
                    while sent_bytes < 90 and not select.select([slow], [], [], 0.05)[0]:
                        slow.sendall(b"a")
                        sent_bytes += 1
                found = until_closed(slow)
                check(what, found.startswith(b"HTTP/1.1 408") and found.count(b"HTTP/1.1") == 1 and b"did not come in 300 ms" in found and
                      sent_bytes < 90, found, sent_bytes)
        # What is not read is not taken for the next request: the connection is closed.
        body = b"GET /v2 HTTP/1.1\r\nHost: a\r\n\r\n"
        for what, expected, head in (("endless", 413, b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999\r\n\r\n" + bytes(2 << 20)),
                                     ("negative", 400, b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n" + bytes(2 << 20)),
                                     ("chunked", 404, b"PUT /v2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
                                     ("a body of GET", 400, b"GET /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)),
                                     ("a form", 415, b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n" % len(body)),
                                     ("ranges", 400, b"GET /v2 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9,0-9\r\n\r\n"),
                                     ("packed", 400, b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body))):
            with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as connection:
                with contextlib.suppress(OSError):
                    connection.sendall(head + body)
                found = until_closed(connection)
                check(what, found.startswith(b"HTTP/1.1 %d" % expected) and found.count(b"HTTP/1.1") == 1, found)
        with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as cut:
            cut.sendall(b"POST /v1/models/scores:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        # The first sample waits longer for others than its call may take, and no other call may wait meanwhile.
        answers = []
        together(2, lambda _: answers.append(server.ask("POST", PREDICT, {"instances": [ROW]})[0]))()
        check("queue and time", sorted(answers) == [503, 504], answers)
        check("afterwards", server.ask("POST", PREDICT, {"instances": [ROW, ROW, ROW]})[0] == 200)


def check_framing(base):
    """A request whose end is not sure ends the connection: what follows may be what somebody else hid in it."""
    hidden = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"
    post, host = b"POST /v2/models/scores/infer HTTP/1.1\r\n", b"Host: a\r\n"
    chunked, chunks = b"Transfer-Encoding: chunked\r\n", b"\r\n0\r\n\r\n"
    refused = (
        ("two lengths", 400, post + host + b"Content-Length: 2\r\nContent-Length: %d\r\n\r\n{}" % (len(hidden) + 2)),
        ("one length twice", 400, post + host + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
        ("a list of lengths", 400, post + host + b"Content-Length: 2, 2\r\n\r\n{}"),
        ("a length with a sign", 400, post + host + b"Content-Length: +2\r\n\r\n{}"),
        ("a length that is too large", 400, post + host + b"Content-Length: 99999999999999999999\r\n\r\n{}"),
        ("length, then encoding", 400, post + host + b"Content-Length: %d\r\n" % len(hidden) + chunked + chunks),
        ("encoding, then length", 400, post + host + chunked + b"Content-Length: %d\r\n" % len(hidden) + chunks),
        ("an encoding", 400, post + host + b"Transfer-Encoding: gzip\r\n\r\n"),
        ("another encoding", 400, post + host + b"Transfer-Encoding: gzip, chunked\r\n" + chunks),
        ("identity", 400, post + host + b"Transfer-Encoding: identity\r\n\r\n"),
        ("chunked twice", 400, post + host + chunked + chunked + chunks),
        ("chunked with a tail", 400, post + host + b"Transfer-Encoding: chunked\x0b\r\n" + chunks),
        ("chunked in HTTP/1.0", 400, post.replace(b"1.1", b"1.0") + host + chunked + chunks),
        ("a chunk's size", 400, post + host + chunked + b"\r\n-1\r\nab\r\n0\r\n\r\n"),
        ("a chunk's end", 400, post + host + chunked + b"\r\n2\r\n{}x\r\n0\r\n\r\n"),
        ("a chunk's line", 400, post + host + chunked + b"\r\n2;a=b\nc\r\n{}\r\n0\r\n\r\n"),
        ("a space before a colon", 400, post + host + b"Content-Length : 2\r\n\r\n{}"),
        ("no name", 400, post + host + b": 2\r\n\r\n"),
        ("no colon", 400, post + host + b"Content-Length\r\n\r\n"),
        ("NUL", 400, post + host + b"A: b\0c\r\nContent-Length: 0\r\n\r\n"),
        ("a control character", 400, post + host + b"A: b\x01c\r\nContent-Length: 0\r\n\r\n"),
        ("DEL", 400, post + host + b"A: b\x7fc\r\nContent-Length: 0\r\n\r\n"),
        ("LF alone", 400, post + host + b"A: b\nContent-Length: 0\r\n\r\n"),
        ("LFs alone", 400, b"GET /v2 HTTP/1.1\nHost: a\n\n"),
        ("CR alone", 400, post + host + b"A: b\rContent-Length: 0\r\n\r\n"),
        ("a fold", 400, post + host + b"A: b\r\n c\r\nContent-Length: 0\r\n\r\n"),
        ("a fold of the first line", 400, post + b" Host: a\r\nContent-Length: 0\r\n\r\n"),
        ("no Host", 400, post + b"Content-Length: 0\r\n\r\n"),
        ("two Hosts", 400, post + host + host + b"Content-Length: 0\r\n\r\n"),
        ("a Host that is none", 400, post + b"Host: a b\r\nContent-Length: 0\r\n\r\n"),
        ("two tokens", 400, post + host + b"Authorization: a\r\nAuthorization: b\r\nContent-Length: 0\r\n\r\n"),
        ("no version", 400, b"GET /v2\r\n\r\n"),
        ("a later version", 505, b"GET /v2 HTTP/2.0\r\nHost: a\r\n\r\n"),
        ("spaces", 400, b"GET  /v2 HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a tab", 400, b"GET\t/v2 HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target", 400, b"GET /v2/%zz HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("TLS", 400, b"\x16\x03\x01\x02\x00\x01\x00"),
        ("a large head", 431, b"GET /v2 HTTP/1.1\r\nHost: a\r\nA: " + bytes(20000).replace(b"\0", b"b") + b"\r\n\r\n"),
        ("a long target", 414, b"GET /" + bytes(20000).replace(b"\0", b"b") + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("an expectation", 417, post + host + b"Expect: more\r\nContent-Length: 0\r\n\r\n"),
        ("an unknown content encoding", 415, post + host + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}"),
        ("two content encodings", 415, post + host + b"Content-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\n{}"),
        ("gzip cut short", 400, post + host + b"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n" + gzip.compress(b"{}" * 100)[:20]),
        ("damaged gzip", 400, post + host + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + gzip.compress(b"{}")[:-3] + b"abc" * 2),
        ("a gzip bomb", 413, post + host + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB))
    row = json.dumps({"instances": [ROW]}).encode()
    head = b"POST %s HTTP/1.1\r\n" % PREDICT.encode() + host
    taken = (  # and how many answers there are, the hidden one among them
        ("chunks", 200, 2, head + chunked + b"\r\n" + b"".join(b"%x;a=\"b\"\r\n%c\r\n" % (1, c) for c in row) + b"0\r\nTrailer: a\r\n\r\n"),
        ("Chunked", 200, 2, head + chunked.replace(b"chunked", b"Chunked") + b"\r\n%x\r\n%s\r\n000\r\n\r\n" % (len(row), row)),
        ("gzip", 200, 2, head + b"Content-Encoding: GZip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(row)) + gzip.compress(row)),
        ("two gzips", 200, 2, head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(row[:9]) + gzip.compress(row[9:])) +
         gzip.compress(row[:9]) + gzip.compress(row[9:])),
        ("deflate", 200, 2, head + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(zlib.compress(row)) + zlib.compress(row)),
        ("raw deflate", 200, 2, head + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(zlib.compress(row)[2:-4]) + zlib.compress(row)[2:-4]),
        ("an empty line before", 200, 2, b"\r\n" + hidden),
        ("an address", 200, 2, b"GET http://a:1/v2/health/live?x HTTP/1.1\r\n" + host + b"\r\n"),
        ("expected", 100, 3, head + b"Expect: 100-Continue\r\nContent-Length: %d\r\n\r\n" % len(row)),
        ("HTTP/1.0", 200, 1, b"GET /v2/health/live HTTP/1.0\r\n\r\n"),
        ("HTTP/1.0 that goes on", 200, 2, b"GET /v2/health/live HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
        ("the last one", 200, 1, b"GET /v2/health/live HTTP/1.1\r\nConnection: close\r\n" + host + b"\r\n"))
    with serve("--model_name", "scores", "--model_base_path", base, "--max_body_bytes", 100000, "--read_timeout_in_ms", 5000,
               "--idle_timeout_in_ms", 200) as server:
        for piece in 1 << 20, 7:
            for what, status, request in refused:
                if piece == 7 and len(request) > 1000:
                    continue
                with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    with contextlib.suppress(OSError):
                        for i in range(0, len(request) + len(hidden), piece):
                            connection.sendall((request + hidden)[i:i + piece])
                    found = until_closed(connection)
                    check(what, found.startswith(b"HTTP/1.1 %d " % status) and found.count(b"HTTP/1.1 ") == 1 and b"Connection: close\r\n" in found,
                          piece, found)
        for what, status, count, request in taken:
            with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as connection:
                connection.sendall(request)
                found = b""
                if status == 100:
                    found = connection.recv(1000)
                    check(what, found == b"HTTP/1.1 100 Continue\r\n\r\n", found)
                    connection.sendall(row)
                connection.sendall(hidden)
                found += until_closed(connection)  # as nothing follows
                check(what, found.startswith(b"HTTP/1.1 %d " % status) and found.count(b"HTTP/1.1 ") == count, found)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=MOST_SECONDS)) as connection:
            for _ in range(2):
                connection.request("HEAD", "/v2/health/live")
                answer = connection.getresponse()
                check("HEAD", answer.status == 200 and answer.headers["Content-Length"] == "13" and answer.read() == b"", answer.headers.items())
            connection.request("POST", PREDICT, json.dumps({"instances": [ROW] * 500}), {"Accept-Encoding": "deflate, gzip;q=0.5"})
            answer = connection.getresponse()
            check("a packed answer", answer.headers["Content-Encoding"] == "gzip" and len(json.loads(gzip.decompress(answer.read()))["predictions"]) == 500)
        # Half of a connection may be closed before the answer comes.
        with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as connection:
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(row) + row)
            connection.shutdown(socket.SHUT_WR)
            check("half", until_closed(connection).startswith(b"HTTP/1.1 200"))


def check_idle(base, context=None, arguments=(), count=1000, senders=100):
    """Connections that say nothing, or hardly anything, cost others nothing, and health is answered while all threads are busy."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    count = min(count, limits[1] - senders - 100)
    with serve("--model_name", "scores", "--model_base_path", base, *arguments) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS)) for _ in range(count + senders)]
        stopped = threading.Event()

        def send():
            for i in range(200):
                for each in idle[count:]:
                    with contextlib.suppress(OSError):
                        each.sendall(b"POST /v2 HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n"[i:i + 1] or b" ")
                if stopped.wait(0.05):
                    return

        sender = threading.Thread(target=send, daemon=True)
        if senders:
            sender.start()
        times = []
        for i in range(100):
            begin = time.perf_counter()
            status, found = server.ask(*(("POST", PREDICT, {"instances": [ROW]}) if i % 2 else ("GET", "/v2/health/ready")), context=context)
            times.append(time.perf_counter() - begin)
            check("among idle ones", status == 200, found)
        stopped.set()
        if senders:
            join([sender])
        check("idle connections", sorted(times)[98] < (1 if context else 0.1), sorted(times)[-5:])
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def check_room(base):
    """One more connection than may be open closes the one that has said nothing for longest, and none that waits for its answer."""
    with serve("--model_name", "scores", "--model_base_path", base, "--max_connections", 3, "--rest_api_num_threads", 1,
               "--batch_timeout_micros", 1500000, "--max_enqueued_calls", 1) as server, contextlib.ExitStack() as stack:
        answers = []
        caller = together(1, lambda _: answers.append(server.ask("POST", PREDICT, {"instances": [ROW]})[0]))
        time.sleep(0.3)
        begin = time.time()
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS)) for _ in range(4)]
        for path in "/v2/health/live", "/v2/health/ready", "/v1/models/scores", "/metrics":
            check("health while all are busy", server.ask("GET", path)[0] == 200 and time.time() - begin < 1, path, time.time() - begin)
        check("the oldest is closed", idle[0].recv(1) == b"")
        waiting = together(1, lambda _: answers.append(server.ask("POST", PREDICT, {"instances": [ROW]})[0]))
        time.sleep(0.3)
        status, found = server.ask("POST", PREDICT, {"instances": [ROW]})
        check("more than may wait", status == 503 and "as many requests wait as may wait" in found["error"] and server.headers["Retry-After"] == "1", status, found)
        caller()
        waiting()
        check("those that wait", answers == [200, 200], answers)
    # The end waits for answers, unless it is asked for twice.
    for count, code in (1, 0), (2, 1):
        server = Server("--model_name", "scores", "--model_base_path", base, "--batch_timeout_micros", 1500000)
        with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as connection:
            body = json.dumps({"instances": [ROW]}).encode()
            connection.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (PREDICT.encode(), len(body)) + body)
            time.sleep(0.3)
            begin = time.time()
            for _ in range(count):
                server.process.terminate()
                time.sleep(0.2)
            found = until_closed(connection)
            found_code = server.wait()[0]
            check("the end", found_code == code and found.startswith(b"HTTP/1.1 200") == (count == 1) and
                  (count == 1 or time.time() - begin < 1), count, found_code, found, time.time() - begin)


def check_files(base, scratch):
    """Files that hang or change, signals, and little memory."""
    def state(server, name):
        found = server.ask("GET", f"/v1/models/{name}")[1]["model_version_status"][0]
        return found["state"], found["status"]["error_message"]

    models = scratch / "files"
    for name in "pipe", "weights", "options", "large", "good", "link":
        make_version(models / name, 1)
    for name, file in ("pipe", "application.so"), ("weights", "weights.safetensors"), ("options", "application.json"):
        (models / name / "1" / file).unlink(missing_ok=True)
        os.mkfifo(models / name / "1" / file)
    with open(models / "large" / "1" / "application.so", "ab") as file:
        file.truncate((1 << 30) + 1)
    (models / "link" / "1" / "application.so").unlink()
    (models / "link" / "1" / "application.so").symlink_to(models / "good" / "1" / "application.so")
    with serve(*(f"--model={each.name}={each}" for each in models.iterdir()), "--file_system_poll_wait_seconds", 3600) as server:
        for name in "pipe", "weights", "options":
            found = state(server, name)
            check("a pipe", found[0] == "END" and "is not a regular file [E5200]" in found[1], name, found)
        found = state(server, "large")
        check("a large file", found[0] == "END" and "[E5201]" in found[1], found)
        # What runs is a copy.
        expected = server.ask("POST", "/v1/models/good:predict", {"instances": [ROW]})
        size = (models / "good" / "1" / "application.so").stat().st_size
        (models / "good" / "1" / "application.so").write_bytes(bytes(size))
        for name in "good", "link":
            check("an overwritten file", expected[0] == 200 and server.ask("POST", f"/v1/models/{name}:predict", {"instances": [ROW]}) == expected)
        (models / "good" / "1" / "application.so").write_bytes(b"")
        check("an empty file", server.ask("POST", "/v1/models/good:predict", {"instances": [ROW]}) == expected)
        # SIGHUP looks for versions at once.
        make_version(models / "good", 2)
        server.process.send_signal(signal.SIGHUP)
        deadline, found = time.time() + 60, 404
        while found != 200 and time.time() < deadline:
            found = server.ask("GET", "/v1/models/good/versions/2/metadata")[0]
            time.sleep(0.02)
        check("SIGHUP", found == 200, found)
    # An application that never ends to load: SIGTERM ends the server, before it listens and afterwards.
    (scratch / "hangs.c").write_text('char const marker[] = "\\177stagecraft application marker\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0";\n#include <unistd.h>\n'
                                     "__attribute__((constructor)) void hang(void) { for (;;) pause(); }\n")
    make_version(models / "hangs", 1)
    subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-fPIC", "-shared", "-o", models / "hangs" / "1" / "application.so", scratch / "hangs.c"], check=True)
    process = subprocess.Popen([TOOL, "serve", "--rest_api_port", "0", f"--model=hangs={models}/hangs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    check("it hangs", process.poll() is None)
    process.terminate()
    out, err = process.communicate(timeout=60)
    check("SIGTERM before it listens", process.returncode == 0 and "while a model was being loaded" in err, process.returncode, out, err)
    (models / "hangs").rename(models / "beside")
    (models / "hangs").mkdir()
    server = Server(f"--model=hangs={models}/hangs", "--file_system_poll_wait_seconds", 0.05)
    (models / "beside" / "1").rename(models / "hangs" / "1")
    time.sleep(0.5)
    check("health while a model is loaded", server.ask("GET", "/v2/health/live")[0] == 200)
    check("SIGTERM while a model is loaded", "while a model was being loaded" in server.end())


def check_few_allocations(scratch):
    """With no memory from some allocation on, also before `main` and for exceptions, it says so and ends with a code."""
    (scratch / "few_allocations.c").write_text("""#include <stddef.h>
#include <stdlib.h>
extern void* __libc_malloc(size_t);
void* malloc(size_t size) {
  static long count, most = -1;
  if (most < 0) most = atol(getenv("MOST_ALLOCATIONS"));
  return __sync_fetch_and_add(&count, 1) < most ? __libc_malloc(size) : NULL;
}
""")
    library = scratch / "few_allocations.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-fPIC", "-shared", "-o", library, scratch / "few_allocations.c"], check=True)
    said = 0
    for most in (0, 1, 10, 100, 500, *range(1000, 6000, 250)):
        environment = os.environ | {"LD_PRELOAD": str(library), "MOST_ALLOCATIONS": str(most)}
        found = subprocess.run([TOOL, "--version"], capture_output=True, text=True, env=environment, timeout=60)
        check("few allocations", found.returncode in (0, 1, 127) and "terminate" not in found.stderr and (found.returncode == 0 or found.stderr.strip()),
              most, found.returncode, found.stdout, found.stderr)
        said += "[E5226]" in found.stderr
    check("what says that memory lacks", said > 3, said)


def check_little_memory(base, scratch):
    """With little memory or few threads it serves, or says why not and ends; it neither hangs nor crashes."""
    # Fails like a system that has no more threads, from the given call on.
    (scratch / "few_threads.c").write_text("""#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
int pthread_create(pthread_t* made, pthread_attr_t const* how, void* (*begin)(void*), void* with) {
  static int count;
  int (*next)(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  return __sync_fetch_and_add(&count, 1) < atoi(getenv("MOST_THREADS")) ? next(made, how, begin, with) : EAGAIN;
}
""")
    few_threads = scratch / "few_threads.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-fPIC", "-shared", "-o", few_threads, scratch / "few_threads.c", "-ldl"], check=True)
    megabytes = [(1000, None), (400, None), *((most, None) for most in (193, 191, 190, 189, 172, 170, 110, 104, 100, 95, 90, 85, 80, 76, 50)), *((None, count) for count in range(9))]
    for most, threads in megabytes:
        what = f"{most} MB, {threads} threads"
        environment = {"LD_PRELOAD": str(few_threads), "MOST_THREADS": str(threads)} if threads is not None else {}
        server = Server(f"--model=scores={base}", "--file_system_poll_wait_seconds", "0.05", megabytes=most, environment=environment)
        serves = server.port != 0
        if serves:
            statuses = []

            def call(_):
                try:
                    statuses.append(server.ask("POST", PREDICT, {"instances": [ROW] * 100})[0])
                except (ConnectionError, http.client.HTTPException):  # no memory even for an error
                    statuses.append(503)

            together(60, call)()  # more calls at a time than there may be threads
            check("many calls", len(statuses) == 60 and set(statuses) <= {200, 404, 503}, what, statuses)
            found = None
            for _ in range(20):  # memory that the calls have had is given back soon
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    found = server.ask("GET", "/v2/health/live")[0]
                if found == 200:
                    break
                time.sleep(0.05)
            check("health after many calls", found == 200, what, found)
            server.process.terminate()
        code, out, err = server.wait()
        check("little memory", code == 0 if serves else code in (1, 127) and err.strip() and "terminate" not in err, what, code, out, err)
        if most == 1000 or threads == 8:
            check("enough memory and threads", serves, what, err)


def check_no_memory(base, scratch):
    """While no allocation succeeds, connections are closed or answered, and none waits for memory that others hold; then all is as before."""
    (scratch / "no_memory.c").write_text("""#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
extern void* __libc_malloc(size_t);
static volatile char* fails;
__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("NO_MEMORY"), O_RDWR);
  void* shared = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) fails = shared;
  close(file);
}
void* malloc(size_t size) {
  if (fails == NULL || *fails == 0) return __libc_malloc(size);
  errno = ENOMEM;
  return NULL;
}
""")
    library, switch = scratch / "no_memory.so", scratch / "switch"
    subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-fPIC", "-shared", "-o", library, scratch / "no_memory.c"], check=True)
    switch.write_bytes(b"\0")
    body = json.dumps({"instances": [ROW]}).encode()
    request = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (PREDICT.encode(), len(body)) + body
    with serve(f"--model=scores={base}", "--read_timeout_in_ms", 100000, "--file_system_poll_wait_seconds", 0.05,
               environment={"LD_PRELOAD": str(library), "NO_MEMORY": str(switch)}) as server, switch.open("r+b", buffering=0) as file:

        def set_failing(fails):
            file.seek(0)
            file.write(b"\1" if fails else b"\0")

        for sent in len(request) - 1, 10, 0, len(request):
            with contextlib.ExitStack() as stack:
                waiting = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10)) for _ in range(20)]
                for each in waiting:
                    each.sendall(request[:sent])
                check("before", server.ask("GET", "/v2/health/live")[0] == 200)
                set_failing(True)
                late = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                late.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                time.sleep(0.1)
                answers = []
                for each in waiting:
                    try:
                        each.sendall(request[sent:])
                        answers.append(each.recv(100)[9:12])
                    except ConnectionError:
                        answers.append(b"")
                    except TimeoutError:
                        answers.append(None)
                check("without memory", set(answers) <= {b"", b"200", b"503"}, sent, answers)
                set_failing(False)
                if None in answers:
                    server.report("it waits for memory")
                check("a late one", until_closed(late)[9:12] in (b"", b"200", b"503"), sent)
            check("afterwards", [server.ask("POST", PREDICT, {"instances": [ROW]})[0] for _ in range(3)] == [200] * 3 and
                  server.ask("GET", "/v2/health/ready")[0] == 200, sent)


def memory(server, what):
    """VmRSS or VmHWM, in bytes."""
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024


def check_memory(base):
    row = {"pixels": [[i % 10 for i in range(3)]] * 2, "size": [1, 2]}
    body = json.dumps({"instances": [row] * 80000}, separators=(",", ":"))
    with serve("--model_name", "scores", "--model_base_path", base, "--max_bytes_in_flight", len(body) + 100) as server:
        server.ask("POST", PREDICT, {"instances": [ROW]})
        before = memory(server, "VmHWM")
        status, found = server.ask("POST", PREDICT, body)
        grown = (memory(server, "VmHWM") - before) / len(body)
        # The text, its numbers, and an answer that is as long again; as a tree of values it would be thirty times the text.
        check("memory", status == 200 and len(found["predictions"]) == 80000 and grown < 8, status, grown)
        # Bytes become numbers of four, of which an answer has three for eight bytes.
        n = (len(body) + 100) // 10
        header = json.dumps({"inputs": [{"name": name, "shape": [n, *shape], "datatype": "UINT8", "parameters": {"binary_data_size": size * n}}
                                        for name, shape, size in (("pixels", [2, 3], 6), ("size", [2], 2))]})
        status, found = server.ask("POST", "/v2/models/scores/infer", header.encode() + bytes(8 * n), {"Inference-Header-Content-Length": str(len(header))})
        check("a large answer", status == 413 and "the answer would have more" in found["error"], status)
        # As long as one request is coming, another one may find too little room. Which is first is seen by the answer.
        for wait in 0.2, 1, 5, 20:
            with socket.create_connection(("127.0.0.1", server.port), timeout=MOST_SECONDS) as first:
                first.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (PREDICT.encode(), len(body)) + body[:-1].encode())
                time.sleep(wait)  # the server has read it by then, or the time after
                status, found = server.ask("POST", PREDICT, {"instances": [ROW] * 10})
                if status == 503:
                    first.sendall(body[-1:].encode())
                    check("the first one", first.recv(100).startswith(b"HTTP/1.1 200"))
                    break
        check("bytes in flight", status == 503 and "as many as they may have" in found["error"] and server.headers["Retry-After"] == "1", status, found)
        check("room again", server.ask("POST", PREDICT, {"instances": [ROW] * 10})[0] == 200)


def check_security(base, scratch):
    (scratch / "token").write_text("a secret\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", scratch / "key.pem", "-out", scratch / "cert.pem",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    with serve("--model_name", "scores", "--model_base_path", base, "--token_file", scratch / "token", "--ssl_cert", scratch / "cert.pem",
               "--ssl_key", scratch / "key.pem") as server:
        context = ssl.create_default_context(cafile=scratch / "cert.pem")
        for token in None, "Bearer another", "Bearer a secre", "a secret":
            status, found = server.ask("POST", PREDICT, {"instances": [ROW]}, {"Authorization": token} if token else {}, context)
            check("no token", status == 401 and server.headers["WWW-Authenticate"] == "Bearer", token, status, found)
        check("token", server.ask("POST", PREDICT, {"instances": [ROW]}, {"Authorization": "Bearer a secret"}, context)[0] == 200)
        check("health", server.ask("GET", "/v2/health/ready", context=context)[0] == 200)
        check("metrics", server.ask("GET", "/metrics", context=context)[0] == 401)
        check("any letters", server.ask("POST", PREDICT, {"instances": [ROW]}, {"Authorization": "bEARER  a secret"}, context)[0] == 200)
        check("posted health", server.ask("POST", "/v2/health/ready", {}, context=context)[0] == 401)
    check_idle(base, context, ("--ssl_cert", scratch / "cert.pem", "--ssl_key", scratch / "key.pem"), 200, 0)
    for what, arguments, text in (("no model", [], "there is no model"), ("key", ["--model", f"a={base}", "--ssl_cert", "x"], "go together"),
                                  ("file", ["--model", f"a={base}", "--token_file", scratch / "none"], "has no token"),
                                  ("twice", ["--model", f"a={base}", "--model", f"a={base}"], "two models have the name 'a'"),
                                  ("a name of nothing", ["--model_name", "b", "--model", f"a={base}"], "--model_name b has no effect")):
        result = subprocess.run([TOOL, "serve", "--rest_api_port", "0", *map(str, arguments)], capture_output=True, text=True, timeout=120)
        check(what, result.returncode == 1 and text in result.stderr and ("[E5209]" if "effect" in text else "[E5096]") in result.stderr, result)


def check_own_time(base):
    """An application says how long its pipeline waits, unless the command line does."""
    make_version(base, 1)
    for time_of_own, arguments, state in (-1, (), "END"), ("1", (), "END"), (700, (), "AVAILABLE"), (-1, ("--runtime_api_timeout_us", 5), "AVAILABLE"):
        (base / "1" / "application.json").write_text(json.dumps({"runtime_api_timeout_us": time_of_own}))
        with serve("--model_name", "own", "--model_base_path", base, *arguments) as server:
            status, found = server.ask("GET", "/v1/models/own")
            found = found["model_version_status"][0]
            check("a time of its own", found["state"] == state and ("[E5030]" in found["status"]["error_message"]) == (state == "END"), found)


def check_address(base):
    """Nobody else's calls come in unless it is said."""
    with serve("--model", f"scores={base}", "--host", "127.0.0.2") as server:
        check("host", server.host == "127.0.0.2" and server.ask("GET", "/v2/health/live")[0] == 200)
        with contextlib.suppress(ConnectionError):
            socket.create_connection(("127.0.0.1", server.port), timeout=10).close()
            check("another address", False)
        check("no token", "127.0.0.2 is open to others, and asks for no token" in server.end())


def check_option_files(base, scratch):
    """TensorFlow Serving's files of options: models, batches, metrics; what they must not have is refused with its line."""
    def write(name, text):
        (scratch / name).write_text(text)
        return scratch / name

    models = write("models.config", f"""# two models
model_config_list {{
  config {{ name: "first" base_path: '{base}' model_platform: "tensorflow" model_version_policy {{ latest {{ num_versions: 1 }} }} }}
  config: < name: "sec" "ond", base_path: "{base}"; >
}}
""")
    batching = write("batching.config", "max_batch_size { value: 128 }\nbatch_timeout_micros { value: 300000 }\nmax_enqueued_batches { value: 3 }\n")
    monitoring = write("monitoring.config", 'prometheus_config { enable: true, path: "/here" }')
    with serve("--model_config_file", models, "--batching_parameters_file", batching, "--monitoring_config_file", monitoring) as server:
        begin = time.time()
        for name in "first", "second":
            check("a model of a file", server.ask("POST", f"/v1/models/{name}:predict", {"instances": [ROW]})[0] == 200, name)
        check("batch_timeout_micros", time.time() - begin > 0.6, time.time() - begin)
        found = server.ask("GET", "/v2/models/first/stats")[1]["model_stats"][0]["inference_stats"]["queue"]
        check("what a call has waited", found["count"] == 1 and found["ns"] > 290000000, found)
        check("metrics of a file", server.ask("GET", "/here")[0] == 200 and server.ask("GET", "/metrics")[0] == 404)
        check("no effect", "batching.config, line 1: 'max_batch_size' has no effect" in server.end())
    with serve("--model_config_file", models, "--monitoring_config_file", write("none.config", "prometheus_config: { enable: false }")) as server:
        check("no metrics", server.ask("GET", "/monitoring/prometheus/metrics")[0] == 404)
    config = 'model_config_list { config { name: "a" base_path: "/b" %s } }'
    for what, text, reason in (("a policy", config % "model_version_policy { some {} }", "'some' is no policy, expected latest, all or specific"),
                               ("two policies", config % "model_version_policy { all {} latest {} }", "'latest' is a second policy"),
                               ("no version", config % "model_version_policy { latest { num_versions: 0 } }", "'num_versions' is less than 1"),
                               ("a label", config % '\nversion_labels { key: "x" value: 0 }', "line 2: 'version_labels' has no key, or no value"),
                               ("two labels", config % 'version_labels { key: "x" value: 1 } version_labels { key: "x" value: 1 }', "the label 'x' twice"),
                               ("custom", "custom_model_config {}", "expected model_config_list"), ("no name", "model_config_list { config {} }", "has no name"),
                               ("no end", "model_config_list { config {", "a message does not end"), ("no text", 'model_config_list { config { name: "a', "a text does not end"),
                               ("no colon", "model_config_list 5", "expected ':' after"), ("deep", "a {" * 100, "nested too deeply"),
                               ("a character", "model_config_list { $ }", "expected a word"), ("a list", "a: [1 2]", "expected ',' or ']'"),
                               ("option", config % "other: 1", "'other' is no option of a model")):
        done = subprocess.run([TOOL, "serve", "--model_config_file", write("wrong.config", text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check("option file: " + what, done.returncode == 1 and reason in done.stderr and "[E5283]" in done.stderr, done.stderr)
    for option, text in (("--batching_parameters_file", "max_enqueued_batches { value: 0 }"), ("--batching_parameters_file", "batch_timeout_micros: 5"),
                         ("--monitoring_config_file", 'prometheus_config { enable: 1 }'), ("--monitoring_config_file", 'prometheus_config { enable: true path: "x" }')):
        done = subprocess.run([TOOL, "serve", "--model", f"a={base}", option, write("wrong.config", text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check("option file: " + text, done.returncode == 1 and "[E5283]" in done.stderr, done.stderr)


def check_load(base):
    """Versions come and go, and the server is ended and begun again: with retries, no call is lost."""
    base.mkdir()
    make_version(base, 1)
    arguments = ("--model_name", "scores", "--model_base_path", base, "--file_system_poll_wait_seconds", 0.05)
    servers = [Server(*arguments)]
    expected = servers[0].ask("POST", PREDICT, {"instances": [ROW]})[1]["predictions"][0]
    done, wrong, refused, others = [], [], [], []
    goes_on = threading.Event()
    goes_on.set()

    def call(number):
        connection = None
        while goes_on.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", servers[-1].port, timeout=60)
                connection.request("POST", PREDICT, json.dumps({"instances": [ROW] * (number + 1)}))
                response = connection.getresponse()
                body = response.read()
                if response.status != 200:
                    wrong.append((response.status, body))
                    continue
                found = json.loads(body)["predictions"]
                if len(found) != number + 1 or any(one != found[0] for one in found):
                    wrong.append(found)
                (done if found[0] == expected else others).append(found[0])
            except (OSError, http.client.HTTPException):
                refused.append(number)
                connection = None
                time.sleep(0.02)

    callers = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(4)]
    for caller in callers:
        caller.start()
    time.sleep(0.3)
    make_version(base, 2, [1.2, 0.9, 0.6, 0.3])
    deadline = time.time() + 60
    while not others and time.time() < deadline:
        time.sleep(0.02)
    check("a new version", others and not wrong and not refused, len(done), wrong[:2], refused[:2])
    # The first version may have its last calls still.
    until("states", lambda: [(v["version"], v["state"]) for v in servers[-1].ask("GET", "/v1/models/scores")[1]["model_version_status"]] ==
          [("2", "AVAILABLE"), ("1", "END")])
    (base / "new-3").mkdir()
    (base / "new-3" / "application.so").write_text("nothing")
    (base / "new-3").rename(base / "3")
    deadline, status = time.time() + 60, 404
    while status == 404 and time.time() < deadline:
        time.sleep(0.02)
        status, found = servers[-1].ask("GET", "/v1/models/scores/versions/3")
    check("a version that cannot be loaded", "is not an application" in found["model_version_status"][0]["status"]["error_message"], found)
    shutil.rmtree(base / "3")
    # Without its folder a version goes, once another one is there, and comes back with it: no call is lost.
    for name, other, state in ("2", "gone", ["END", "AVAILABLE"]), ("gone", "2", ["AVAILABLE", "END"]):
        (base / name).rename(base / other)
        deadline, found = time.time() + 60, []
        while found != state and time.time() < deadline:
            time.sleep(0.02)
            found = servers[-1].ask("GET", "/v1/models/scores")[1]["model_version_status"]
            found = [v["state"] for v in found if v["version"] in ("1", "2")]
        check("versions go back", found == state and not wrong and not refused, state, found, wrong[:2])
    err = servers[-1].end()
    check("said once", err.count("version 3 cannot be served") == 1, err)
    count = len(done) + len(others)
    servers.append(Server(*arguments))
    deadline = time.time() + 60
    while len(done) + len(others) < count + 20 and time.time() < deadline:
        time.sleep(0.02)
    goes_on.clear()
    join(callers)
    servers[-1].end()
    check("after the end", len(done) + len(others) >= count + 20 and not wrong, wrong[:2])


with whole_test(540), tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    with serve("--model_name", "scores", "--model_base_path", FOLDER / "scores", "--model", f"exported={FOLDER}/exported") as server:
        check_apis(server)
        image = {"image": [[0, 0.1, 0.2], [0.3, 0.4, 0.5]], "size": [1, 2]}
        status, found = server.ask("POST", "/v1/models/exported:predict", {"instances": [image]})
        check("two models", status == 200 and set(found["predictions"][0]) == {"scores", "other"}, found)
    check_values(FOLDER / "scores")
    check_version_names(scratch / "zeros")
    check_limits(FOLDER / "scores")
    check_framing(FOLDER / "scores")
    check_idle(FOLDER / "scores")
    check_room(FOLDER / "scores")
    check_files(FOLDER / "scores", scratch)
    check_few_allocations(scratch)
    check_little_memory(FOLDER / "scores", scratch)
    check_no_memory(FOLDER / "scores", scratch)
    check_memory(FOLDER / "scores")
    check_security(FOLDER / "scores", scratch)
    check_own_time(scratch / "own")
    check_address(FOLDER / "scores")
    check_option_files(FOLDER / "scores", scratch)
    check_load(scratch / "models")
