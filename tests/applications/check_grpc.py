# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve --grpc_port`: both services by a client in C++, tokens, TLS, limits, the end under load, and a program
without gRPC.

    check_grpc.py <the program> <folder with scores/> <the client>
"""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from running_server import FOLDER, MOST_SECONDS, SIGNATURES, TOOL, Server, check, whole_test
from running_server import serve as serve_with

CLIENT = sys.argv[3]
MODEL = ("--model_name", "scores", "--model_base_path", FOLDER / "scores")
ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}


def serve(*arguments):
    return serve_with(*MODEL, *arguments, grpc="--grpc_port" in arguments)


def command(tool, *arguments):
    return [tool, "serve", "--rest_api_port", "0", *map(str, MODEL), *map(str, arguments)]


def call(server, what, *arguments, **environment):
    return subprocess.run([CLIENT, f"localhost:{server.grpc}", what, *map(str, arguments)], text=True, timeout=120,
                          env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def maps_of(server):
    return pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()


def check_calls():
    with serve("--grpc_port", 0) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=MOST_SECONDS)
        connection.request("POST", "/v1/models/scores:predict", json.dumps({"instances": [ROW]}))
        first = json.loads(connection.getresponse().read())["predictions"][0]
        done = call(server, "calls", first["class"], *first["scores"], GRPC_CLIENT_FOLDER=str(FOLDER / "scores"))
        check("calls", done.returncode == 0, done.stdout)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        check("metrics", 'stagecraft_requests_total{code="404"}' in metrics, metrics)
        check("the module", "stagecraft_grpc.so" in maps_of(server))
        taken = subprocess.run(command(TOOL, "--grpc_port", server.grpc), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        check("a port that is taken", taken.returncode == 1 and "[E5282]" in taken.stderr, taken)
    with tempfile.TemporaryDirectory() as scratch:
        base = pathlib.Path(scratch)
        shutil.copytree(FOLDER / "scores", base / "1")
        (base / "1" / "application.json").write_text(json.dumps({"signatures": SIGNATURES["examples"]}))
        with serve_with("--model_name", "scores", "--model_base_path", base, "--grpc_port", 0, grpc=True) as server:
            done = call(server, "examples", first["class"], *first["scores"])
            check("examples", done.returncode == 0, done.stdout)
    with serve() as server:
        check("no library of gRPC without its port", "libgrpc" not in maps_of(server) and "libprotobuf" not in maps_of(server))


def check_limits():
    with serve("--grpc_port", 0, "--max_body_bytes", 60) as server:
        done = call(server, "refused", 8)
        check("a large message", done.returncode == 0, done.stdout)
    with serve("--grpc_port", 0, "--max_bytes_in_flight", 50) as server:
        done = call(server, "refused", 14)
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
            done = call(server, "refused", status, **environment)
            check(what, done.returncode == 0, done.stdout)


def check_end():
    server = Server(*MODEL, "--grpc_port", 0, grpc=True)
    with subprocess.Popen([CLIENT, f"localhost:{server.grpc}", "load"], stdout=subprocess.PIPE, text=True) as client:
        check("begun", client.stdout.readline() == "begun\n")
        time.sleep(0.3)
        server.end()
        out = client.communicate(timeout=120)[0]
        check("load", client.returncode == 0, out)
    # A call that waits for others in its batch when the end comes is answered.
    server = Server(*MODEL, "--grpc_port", 0, "--batch_timeout_micros", 1500000, grpc=True)
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


with whole_test(500), tempfile.TemporaryDirectory() as folder:
    check_calls()
    check_limits()
    check_security(pathlib.Path(folder))
    check_end()
    check_without(pathlib.Path(folder))
