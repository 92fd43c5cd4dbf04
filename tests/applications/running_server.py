# SPDX-License-Identifier: BSD-3-Clause
"""A `stagecraft serve` that tests call, for the scripts of this folder: each wait has an end, what the server prints is read all the
time, and a server that does not answer shows its threads.
"""
import contextlib
import faulthandler
import http.client
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading
import time

TOOL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])  # the program, and the folder with scores/
MOST_SECONDS = 30  # the longest wait for a server's beginning, answer or end, on a busy machine
failures = []
running = []


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


def threads_of(pid):
    """What each thread of a process does: by gdb, or as the system tells it."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        found = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all backtrace 20"], stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, errors="replace", timeout=20)
        if "#0" in found.stdout:
            return found.stdout
    text = ""
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        text += f"{task.name}:"
        for name in "comm", "wchan", "syscall", "stat":
            with contextlib.suppress(OSError):
                text += f" {name} {(task / name).read_text().strip()}"
        text += "\n"
    return text


class Server:
    """Serves until `end`, or until it is killed as `with` is left by an exception."""

    def __init__(self, *arguments, grpc=False, megabytes=None, environment=None):
        """`grpc`: waits for gRPC's port, too. `megabytes`: its address space. `environment`: what differs from ours."""
        options = [] if "--rest_api_port" in arguments else ["--rest_api_port", "0"]
        # By a shell, since Python code in a new process may wait for ever for a lock of another thread of ours.
        limited = [] if megabytes is None else ["sh", "-c", f'ulimit -v {megabytes << 10} && exec "$0" "$@"']
        self.process = subprocess.Popen([*limited, TOOL, "serve", *options, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, **(environment or {})})
        running.append(self)
        self.host, self.port, self.grpc, self.headers = "", 0, 0, {}
        self.texts = {"stdout": "", "stderr": ""}
        self.begun, self.waits_for_grpc, self.is_reported = threading.Event(), grpc, False
        self.readers = [threading.Thread(target=self.read, args=(name,), daemon=True) for name in self.texts]
        for each in self.readers:
            each.start()
        if not self.begun.wait(MOST_SECONDS):
            self.report("it has neither begun nor ended")
            self.kill()

    def read(self, name):
        """Reads one of the pipes to its end: a full one would stop the server."""
        for line in getattr(self.process, name):
            self.texts[name] += line
            if line.startswith("Exporting HTTP/REST API at:"):
                self.host, port = line.split(" ")[3].removeprefix("at:").rsplit(":", 1)
                self.port = int(port)
            if line.startswith("Running gRPC ModelServer at "):
                self.grpc = int(line.split(" ")[4].rsplit(":", 1)[1])
            if self.port and (self.grpc or not self.waits_for_grpc):
                self.begun.set()
        if name == "stdout":
            self.begun.set()

    def report(self, why):
        """A failure with what the server does, once: more would be of the same cause, and a debugger takes long."""
        if self.is_reported:
            return check("a server", False, why)
        self.is_reported = True
        check("a server", False, why, f"exit code {self.process.poll()}", self.texts["stdout"][-2000:], self.texts["stderr"][-2000:],
              "\n" + threads_of(self.process.pid) if self.process.poll() is None else "")

    def ask(self, method, path, body=None, headers=None, context=None, seconds=MOST_SECONDS):
        """The status and the body of an answer, which is read as JSON if it is some. `body`: bytes, a text, or what becomes JSON."""
        make = http.client.HTTPConnection if context is None else http.client.HTTPSConnection
        try:
            with contextlib.closing(make(self.host, self.port, timeout=seconds, **({} if context is None else {"context": context}))) as connection:
                connection.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), headers or {})
                response = connection.getresponse()
                data = response.read()
                self.headers = response.headers
        except TimeoutError:
            self.report(f"no answer to {method} {path} in {seconds} s")
            raise
        try:
            return response.status, json.loads(data) if data else None
        except ValueError:
            return response.status, data

    def wait(self, seconds=MOST_SECONDS):
        """The exit code, and what it has printed, when it has ended."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.report(f"it has not ended in {seconds} s")
            self.kill()
        for each in self.readers:
            each.join(MOST_SECONDS)
        if self in running:
            running.remove(self)
        return self.process.returncode, self.texts["stdout"], self.texts["stderr"]

    def kill(self):
        self.process.kill()
        self.process.wait(MOST_SECONDS)

    def end(self):
        """Ends it, which must be in order, and returns what it has printed to stderr."""
        self.process.terminate()
        code, out, err = self.wait()
        check("end", code == 0 and "all requests are answered" in out, code, out, err)
        return err


@contextlib.contextmanager
def serve(*arguments, **more):
    server = Server(*arguments, **more)
    try:
        if not server.port or server.process.poll() is not None:
            raise RuntimeError(f"the server has ended: {server.wait()}")
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        elif server in running:
            server.wait()


def together(count, call, seconds=4 * MOST_SECONDS):
    """`call(0)` and so on at the same time, each on a thread of its own."""
    callers = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(count)]
    for each in callers:
        each.start()
    return lambda: join(callers, seconds)


def join(callers, seconds=4 * MOST_SECONDS):
    end = time.time() + seconds
    for each in callers:
        each.join(max(0.0, end - time.time()))
    left = sum(each.is_alive() for each in callers)
    check("callers", left == 0, f"{left} of {len(callers)} have not come back in {seconds} s")
    if left:
        for server in list(running):
            server.report("while callers wait")


def make_version(base, number, last_weights=()):
    """A version of scores/, whose last weights are other ones; it appears at once."""
    beside = base / f"new-{number}"
    beside.mkdir(parents=True)
    shutil.copy(FOLDER / "scores" / "application.so", beside)
    weights = (FOLDER / "scores" / "weights.safetensors").read_bytes()
    changed = struct.pack(f"<{len(last_weights)}f", *last_weights)
    (beside / "weights.safetensors").write_bytes(weights[:len(weights) - len(changed)] + changed)
    beside.rename(base / str(number))


CLASSIFY, REGRESS = ({"method_name": f"tensorflow/serving/{method}"} for method in ("classify", "regress"))
TWO_FEATURES = [{"name": "a"}, {"name": "b", "dtype": "DT_INT64", "default_value": 7}]
SIGNATURES = {
    "examples": {"classify": {**CLASSIFY, "scores": "scores", "labels": ["no", "yes"]}, "regress": {**REGRESS, "output": "class"},
                 "other": {**REGRESS, "output": "class", "features": [{"name": "pixels", "dtype": "DT_INT64"}, {"name": "size"}]}},
    "rows": {"all": CLASSIFY, "best": {**CLASSIFY, "labels": ["low", "high"], "top": 1, "features": TWO_FEATURES},
             "pairs": {**CLASSIFY, "labels": ["low", "high"], "features": TWO_FEATURES},
             "whole": {**CLASSIFY, "features": [{"name": "x", "dtype": "DT_INT64", "default_value": [1, 2]}]}},
    "chosen": {"serving_default": {**CLASSIFY, "labels": ["low", "high"]}},
    "texts": {"classify": {**CLASSIFY, "features": [{"name": "text", "default_value": [65]}]}},
    "wrong": {"classify": {**CLASSIFY, "labels": ["one"]}},
}


def make_plain_models(scratch):
    """A configuration file of models for the tables of rules: `plain`, whose y is twice its x, two numbers a sample (plain_application.c),
    versions 1 and 2, the label stable for 1; `texts`, the same with bytes; `scores`; `broken`, which cannot be loaded. With signatures of
    examples: `examples`, which is scores; `rows` and `chosen`, which are plain; texts; and `wrong`, whose signature does not fit."""
    here, application = pathlib.Path(__file__).resolve(), scratch / "application.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-x", "c", "-std=c11", "-O1", "-fPIC", "-shared", "-I", here.parents[2] / "include", "-o", application,
                    here.with_name("plain_application.c")], check=True, timeout=60)
    for version in "plain/1", "plain/2", "texts/1", "broken/1", "rows/1", "chosen/1", "wrong/1", "examples/1":
        folder = scratch / version
        folder.mkdir(parents=True)
        shutil.copy(application, folder)
        shutil.copy(FOLDER / "scores" / "weights.safetensors", folder)
    (scratch / "broken" / "1" / "application.so").write_text("nothing")
    shutil.copy(FOLDER / "scores" / "application.so", scratch / "examples" / "1")
    for name, signatures in SIGNATURES.items():
        (scratch / name / "1" / "application.json").write_text(json.dumps({"signatures": signatures}))
    (scratch / "texts" / "config.pbtxt").write_text('input { name: "x" data_type: TYPE_STRING dims: [ 1 ] }')
    config = scratch / "models.config"
    config.write_text("model_config_list {\n" + "".join(f'  config {{ name: "{name}" base_path: "{folder}" {more} }}\n' for name, folder, more in (
        ("plain", scratch / "plain", 'model_version_policy { all {} } version_labels { key: "stable" value: 1 }'), ("texts", scratch / "texts", ""),
        ("scores", FOLDER / "scores", ""), *((name, scratch / name, "") for name in ("broken", "rows", "chosen", "wrong", "examples")))) + "}\n")
    return config


@contextlib.contextmanager
def whole_test(seconds):
    """Prints all failures at the end. If it has not come after so many seconds, prints what this program and its servers do, and
    ends: before CTest ends it without a word."""

    def give_up():
        for server in list(running):
            server.report(f"the test has not ended in {seconds} s")
            server.process.kill()
        print(*failures, sep="\n", flush=True)
        faulthandler.dump_traceback(sys.stdout, all_threads=True)
        sys.stdout.flush()
        os._exit(1)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        print(*failures, sep="\n", flush=True)
        raise
    finally:
        timer.cancel()
        for server in list(running):
            server.process.kill()
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
