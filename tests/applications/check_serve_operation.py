# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve` as an operator of TensorFlow Serving or Triton runs it: policies and labels of versions in a file that is
read again, and models that clients load and unload.

    check_serve_operation.py <the program> <folder with scores/>
"""
import contextlib
import http.client
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOOL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}
failures = []


def check(what, condition, *details):
    if not condition:
        failures.append(f"{what}: {details}")


def until(what, condition, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return
        time.sleep(0.02)
    check(what, False, "not in time")


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([TOOL, "serve", "--rest_api_port", "0", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("Exporting HTTP/REST API at:"):
                self.port = int(line.split(" ")[3].rsplit(":", 1)[1])
                return
        raise RuntimeError(f"the server has ended: {self.process.stderr.read()}")

    def ask(self, method, path, body=None, headers=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            response = connection.getresponse()
            data = response.read()
            self.headers = response.headers
        return response.status, json.loads(data) if data else None

    def predict(self, where):
        status, found = self.ask("POST", f"/v1/models/{where}:predict", {"instances": [ROW]})
        return found["predictions"][0]["scores"][1] if status == 200 else (status, found["error"])

    def states(self, model):
        found = self.ask("GET", f"/v1/models/{model}")[1]
        return {int(v["version"]): v["state"] for v in found.get("model_version_status", [])}

    def end(self):
        self.process.terminate()
        out, err = self.process.communicate(timeout=120)
        check("end", self.process.returncode == 0 and "all requests are answered" in out, self.process.returncode, out, err)
        return err


@contextlib.contextmanager
def serve(*arguments):
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


def make_version(base, number):
    """A version whose second score is another one for each number."""
    beside = base / f"new-{number}"
    beside.mkdir(parents=True)
    shutil.copy(FOLDER / "scores" / "application.so", beside)
    weights = bytearray((FOLDER / "scores" / "weights.safetensors").read_bytes())
    weights[-4:] = struct.pack("<f", number)
    (beside / "weights.safetensors").write_bytes(weights)
    beside.rename(base / str(number))


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
        by_number = {number: server.predict(f"scores/versions/{number}") for number in (1, 3)}
        check("two versions", server.states("scores") == {1: "AVAILABLE", 3: "AVAILABLE"} and by_number[1] != by_number[3], by_number)
        check("labels", server.predict("scores/labels/stable") == by_number[1] and server.predict("scores/labels/canary") == by_number[3])
        check("the highest", server.predict("scores") == by_number[3])
        check("another version", server.predict("scores/versions/2") == (404, "Servable not found for request: Specific(scores, 2)"))
        check("another label", server.predict("scores/labels/x") == (400, "Unrecognized servable version label: x"))
        status, found = server.ask("GET", "/v1/models/scores/labels/stable/metadata")
        check("a label's metadata", found["model_spec"]["version"] == "1", found)
        check("KServe's versions", server.ask("GET", "/v2/models/scores")[1]["versions"] == ["1", "3"])

        def call():
            while not goes_on.is_set():
                found = server.predict("scores/labels/stable")
                if not isinstance(found, float):
                    wrong.append(found)

        callers = [threading.Thread(target=call) for _ in range(4)]
        for each in callers:
            each.start()
        # A canary becomes the stable version, and the former one goes, under load.
        write(file, config(base, "specific { versions: 1 versions: 3 }", [("stable", 3)]))
        until("a label moves", lambda: server.predict("scores/labels/stable") == by_number[3])
        write(file, config(base, "latest { num_versions: 2 }", [("stable", 3)]))
        until("the highest two", lambda: server.states("scores") == {1: "END", 2: "AVAILABLE", 3: "AVAILABLE"})
        write(file, config(base, "all {}", [("stable", 3)]))
        until("all", lambda: set(server.states("scores").values()) == {"AVAILABLE"})
        make_version(base, 4)
        until("one more", lambda: server.states("scores").get(4) == "AVAILABLE")
        # A label of a version that is not served, and a file that is none: everything stays.
        write(file, config(base, "all {}", [("stable", 9)]))
        time.sleep(0.3)
        write(file, "model_config_list {")
        time.sleep(0.3)
        check("the label stays", server.predict("scores/labels/stable") == by_number[3])
        write(file, config(base, "latest {}"))
        until("one", lambda: server.states("scores") == {1: "END", 2: "END", 3: "END", 4: "AVAILABLE"})
        goes_on.set()
        for each in callers:
            each.join()
        check("no call is lost, but those with a label that is gone", all(each[1] == "Unrecognized servable version label: stable" for each in wrong), wrong[:3])
        # Without any folder the last version stays.
        base.rename(scratch / "gone")
        time.sleep(0.3)
        check("the last one stays", isinstance(server.predict("scores"), float))
        (scratch / "gone").rename(base)
        write(file, "model_config_list {}")
        until("no model", lambda: server.predict("scores") == (404, "Servable not found for request: Latest(scores)"))
        err = server.end()
        check("said once", err.count("Request to assign label to version 9 of model scores, which is not currently available for inference [E5300]") == 1 and
              err.count("a message does not end [E5283]") == 1, err)
    write(file, config(base, "latest {}", [("stable", 9)]))
    done = subprocess.run([TOOL, "serve", "--rest_api_port", "0", "--model_config_file", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    check("a wrong label at the beginning", done.returncode == 1 and "[E5300]" in done.stderr, done)
    with serve("--model_config_file", file, "--allow_version_labels_for_unavailable_models", "--file_system_poll_wait_seconds", 0.05) as server:
        check("a label's version that is not there yet", server.predict("scores/labels/stable") == (404, "Servable not found for request: Specific(scores, 9)"))
        make_version(base, 9)
        until("it comes", lambda: isinstance(server.predict("scores/labels/stable"), float))


def check_control(scratch):
    base = scratch / "control"
    make_version(base, 1)

    def index(server, **request):
        return [(each["name"], each.get("version"), each["state"], each["reason"]) for each in server.ask("POST", "/v2/repository/index", request)[1]]

    with serve("--model", f"scores={base}", "--model_control_mode", "explicit") as server:
        check("index", index(server) == [("scores", "1", "READY", "")], index(server))
        first = server.predict("scores")
        check("unload", server.ask("POST", "/v2/repository/models/scores/unload", {"parameters": {"unload_dependents": True}}) == (200, None))
        check("unloaded", index(server) == [("scores", "1", "UNAVAILABLE", "unloaded")] and index(server, ready=True) == [], index(server))
        check("no model", server.predict("scores")[0] == 404 and server.ask("GET", "/v2/health/ready")[0] == 503)
        make_version(base, 2)
        check("load", server.ask("POST", "/v2/repository/models/scores/load") == (200, None))
        check("loaded", index(server, ready=True) == [("scores", "2", "READY", "")] and server.predict("scores") != first)
        for what, status, text, path, body in (("another", 404, "failed to load 'none', no such model", "none/load", {}),
                                               ("files", 400, "'file:1/x' is not taken", "scores/load", {"parameters": {"file:1/x": "a"}})):
            found = server.ask("POST", f"/v2/repository/models/{path}", body)
            check(what, found[0] == status and text in found[1]["error"], found)
        found = server.ask("GET", "/v2/models/scores/stats")[1]["model_stats"]
        check("statistics", len(found) == 1 and found[0]["version"] == "2" and found[0]["inference_count"] == 1 and found[0]["last_inference"] > 1.7e12 and
              found[0]["inference_stats"]["success"]["count"] == 1 and found[0]["inference_stats"]["success"]["ns"] > 1000, found)
        check("all statistics", server.ask("GET", "/v2/models/stats")[1]["model_stats"] == found)
        check("no statistics", server.ask("GET", "/v2/models/none/stats")[0] == 404)
    with serve("--model", f"scores={base}") as server:
        found = server.ask("POST", "/v2/repository/models/scores/unload")
        check("while it polls", found == (503, {"error": "explicit model load / unload is not allowed if polling is enabled"}), found)


with tempfile.TemporaryDirectory() as folder:
    check_versions(pathlib.Path(folder))
    check_control(pathlib.Path(folder))

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
