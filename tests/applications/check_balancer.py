# SPDX-License-Identifier: BSD-3-Clause
"""Two servers behind nginx, with the configuration of packaging: each is ended and begun again with a later version, and a version comes
while they run, under load. No request is lost.

    check_balancer.py <the program> <folder with scores/> <nginx> <packaging/serving/nginx.conf>
"""
import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from running_server import Server, check, join, make_version, whole_test

NGINX, CONFIG = sys.argv[3], pathlib.Path(sys.argv[4])
ROW = {"pixels": [[0, 51, 102], [153, 204, 255]], "size": [0.5, -1]}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def begin_server(base, port):
    server = Server("--rest_api_port", port, "--model", f"scores={base}", "--file_system_poll_wait_seconds", "0.05")
    check("a server begins", server.port == port)
    return server


def run(scratch):
    bases, ports, front = [scratch / "a", scratch / "b"], [free_port(), free_port()], free_port()
    for base in bases:
        make_version(base, 1, [1])
    servers = [begin_server(*each) for each in zip(bases, ports)]
    text = CONFIG.read_text()
    for name, port in ("8501", ports[0]), ("8511", ports[1]), ("8080", front):
        text = text.replace(f"127.0.0.1:{name}", f"127.0.0.1:{port}")
    config = scratch / "nginx.conf"
    config.write_text(f"pid {scratch}/pid;\nerror_log {scratch}/error.log;\n" + text.replace(
        "http {", "http {\n" + "".join(f"  {kind}_temp_path {scratch}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) + "  access_log off;"))
    balancer = subprocess.Popen([NGINX, "-p", scratch, "-c", config, "-g", "daemon off;"])
    wrong, versions, goes_on = [], [], threading.Event()

    def call():
        connection = None
        while not goes_on.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", front, timeout=30)
                connection.request("POST", "/v1/models/scores:predict", json.dumps({"instances": [ROW]}))
                response = connection.getresponse()
                found = json.loads(response.read())
                if response.status == 200:
                    versions.append(found["predictions"][0]["scores"][1])
                else:
                    wrong.append((response.status, found))
            except (OSError, http.client.HTTPException, ValueError) as why:
                wrong.append(repr(why))
                connection = None

    try:
        deadline = time.time() + 30
        while time.time() < deadline:
            try:
                socket.create_connection(("127.0.0.1", front), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        callers = [threading.Thread(target=call, daemon=True) for _ in range(8)]
        for each in callers:
            each.start()
        time.sleep(1)
        for i, base in enumerate(bases):
            make_version(base, 2, [2])
            time.sleep(0.7)
            shutil.rmtree(base / "1")
            servers[i].end()
            servers[i] = begin_server(base, ports[i])
            time.sleep(1.5)
        count = len(versions)
        time.sleep(0.5)
        goes_on.set()
        join(callers)
        check("no request is lost", not wrong, len(wrong), wrong[:3])
        check("both versions, and then the later one", len(set(versions)) == 2 and len(set(versions[count:])) == 1 and len(versions) > 100, len(versions), set(versions))
        print(f"{len(versions)} answers")
    finally:
        goes_on.set()
        balancer.terminate()
        balancer.wait(timeout=60)
        for server in servers:
            server.end()


with whole_test(250), tempfile.TemporaryDirectory() as folder:
    run(pathlib.Path(folder))
