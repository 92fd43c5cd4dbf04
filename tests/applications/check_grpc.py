# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve --grpc_port`: both services by a client in C++, tokens, TLS, limits, the end under load, and a program
without gRPC.

    check_grpc.py <the program> <folder with scores/> <the client>
"""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOOL, FOLDER, CLIENT = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}
failures = []


def check(what, condition, *details):
    if not condition:
        failures.append(f"{what}: {details}")


def command(tool, *arguments):
    return [tool, "serve", "--rest_api_port", "0", "--model_name", "scores", "--model_base_path", str(FOLDER / "scores"),
            *map(str, arguments)]


class Server:
    """A server; `rest` and `grpc` are its ports."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(command(TOOL, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.rest = self.grpc = 0
        for line in self.process.stdout:
            if line.startswith("Exporting HTTP/REST API at:"):
                self.rest = int(line.split(" ")[3].rsplit(":", 1)[1])
                if "--grpc_port" not in arguments:
                    return
            if line.startswith("Running gRPC ModelServer at "):
                self.grpc = int(line.split(" ")[4].rsplit(":", 1)[1])
                return
        raise RuntimeError(f"the server has ended: {self.process.stderr.read()}")

    def client(self, what, *arguments, **environment):
        return subprocess.run([CLIENT, f"localhost:{self.grpc}", what, *map(str, arguments)], text=True, timeout=120,
                              env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self):
        self.process.terminate()
        out, err = self.process.communicate(timeout=120)
        check("end", self.process.returncode == 0 and "all requests are answered" in out, self.process.returncode, out, err)


@contextlib.contextmanager
def serve(*arguments):
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


def maps_of(server):
    return pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()


def check_calls():
    with serve("--grpc_port", 0) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=60)
        connection.request("POST", "/v1/models/scores:predict", json.dumps({"instances": [ROW]}))
        first = json.loads(connection.getresponse().read())["predictions"][0]
        done = server.client("calls", first["class"], *first["scores"], GRPC_CLIENT_FOLDER=str(FOLDER / "scores"))
        check("calls", done.returncode == 0, done.stdout)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        check("metrics", 'stagecraft_requests_total{code="404"}' in metrics, metrics)
        check("the module", "stagecraft_grpc.so" in maps_of(server))
        taken = subprocess.run(command(TOOL, "--grpc_port", server.grpc), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check("a port that is taken", taken.returncode == 1 and "[E5282]" in taken.stderr, taken)
    with serve() as server:
        check("no library of gRPC without its port", "libgrpc" not in maps_of(server) and "libprotobuf" not in maps_of(server))


def check_limits():
    with serve("--grpc_port", 0, "--max_body_bytes", 60) as server:
        done = server.client("refused", 8)
        check("a large message", done.returncode == 0, done.stdout)
    with serve("--grpc_port", 0, "--max_bytes_in_flight", 50) as server:
        done = server.client("refused", 14)
        check("many bytes", done.returncode == 0, done.stdout)


def check_security(scratch):
    token, key, certificate = (scratch / name for name in ("token", "key.pem", "cert.pem"))
    token.write_text("a secret\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
    with serve("--grpc_port", 0, "--token_file", token, "--ssl_cert", certificate, "--ssl_key", key) as server:
        tls = {"GRPC_CLIENT_CA": str(certificate)}
        for what, status, environment in (("token", 0, {**tls, "GRPC_CLIENT_TOKEN": "a secret"}),
                                          ("another token", 16, {**tls, "GRPC_CLIENT_TOKEN": "a secreT"}), ("no token", 16, tls),
                                          ("no TLS", 14, {})):
            done = server.client("refused", status, **environment)
            check(what, done.returncode == 0, done.stdout)


def check_end():
    server = Server("--grpc_port", 0)
    with subprocess.Popen([CLIENT, f"localhost:{server.grpc}", "load"], stdout=subprocess.PIPE, text=True) as client:
        check("begun", client.stdout.readline() == "begun\n")
        time.sleep(0.3)
        server.end()
        out = client.communicate(timeout=120)[0]
        check("load", client.returncode == 0, out)
    # A call that waits for others in its batch when the end comes is answered.
    server = Server("--grpc_port", 0, "--batch_timeout_micros", 1500000)
    with subprocess.Popen([CLIENT, f"localhost:{server.grpc}", "refused", "0"], stdout=subprocess.PIPE, text=True) as client:
        time.sleep(0.5)
        server.end()
        out = client.communicate(timeout=120)[0]
        check("a call that waits at the end", client.returncode == 0, out)


def check_without(scratch):
    tool = scratch / "stagecraft"
    shutil.copy(TOOL, tool)
    for code in "E5280", "E5281":
        done = subprocess.run(command(tool, "--grpc_port", 0), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check("a program without its module", done.returncode == 1 and f"[{code}]" in done.stderr, done)
        (scratch / "stagecraft_grpc.so").write_text("no module")


with tempfile.TemporaryDirectory() as folder:
    check_calls()
    check_limits()
    check_security(pathlib.Path(folder))
    check_end()
    check_without(pathlib.Path(folder))

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
