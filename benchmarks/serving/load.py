# SPDX-License-Identifier: BSD-3-Clause
"""Load for `stagecraft serve`: 64 connections, throughput, latencies and memory; the same with every tenth request wrong,
too large, slow or cut off; and a server that is killed and begun again meanwhile, whose clients lose nothing.

    load.py --tool stagecraft [--client load_client] [--seconds 60] [--connections 64] [NAME=FOLDER...]

A folder has versions of an application, `FOLDER/1/application.so`; without any, those of export_models.cpp are made, a
perceptron and a small convolutional network. What is not given is compiled by the environment's CXX, or c++. The exit code is 1 if a request is lost or answered
otherwise than it should be, or if memory grows.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

MOST_BYTES = 1 << 20
HERE = pathlib.Path(__file__).resolve().parent


def compiled(name, scratch, *options):
    program = f"{scratch}/{name}"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", HERE / f"{name}.cpp", "-o", program, *options], check=True)
    return program


class Server:
    def __init__(self, tool, name, folder, port=0):
        self.process = subprocess.Popen(
            [tool, "serve", "--model_name", name, "--model_base_path", folder, "--rest_api_port", str(port),
             "--max_body_bytes", str(MOST_BYTES)], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("Exporting HTTP/REST API at:"):
                self.port = int(line.split(":")[-1].split()[0])
                return
        raise SystemExit(f"{name}: the server has ended")

    def kilobytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


def body_of(server, name):
    """One sample of random numbers."""
    signature = server.ask(f"/v1/models/{name}/metadata")["metadata"]["signature_def"]["signature_def"]["serving_default"]
    numbers = random.Random(1)

    def values(shape):
        return [values(shape[1:]) for _ in range(shape[0])] if shape else round(numbers.random(), 3)

    sample = {key: values([int(d["size"]) for d in spec["tensor_shape"]["dim"]][1:]) for key, spec in signature["inputs"].items()}
    return json.dumps({"instances": [sample]})


def load(options, server, name, body, *mode):
    """What the client prints, and the server's memory after a tenth of the time and in the end."""
    client = subprocess.Popen([options.client, str(server.port), f"/v1/models/{name}:predict", body, str(options.seconds),
                               str(options.connections), *map(str, mode)], stdout=subprocess.PIPE, text=True)
    time.sleep(max(0.3, options.seconds / 10))
    before = server.kilobytes()
    out, _ = client.communicate(timeout=options.seconds + 90)
    if client.returncode != 0:
        raise SystemExit(f"{name}: the client has failed")
    return {**json.loads(out), "before": before, "after": server.kilobytes()}


def killed(options, name, folder, body):
    """A server is killed twice while there is load, and begun again at the same port."""
    server = Server(options.tool, name, folder)
    client = subprocess.Popen([options.client, str(server.port), f"/v1/models/{name}:predict", body, str(options.seconds), "16", "retry"],
                              stdout=subprocess.PIPE, text=True)
    for part in range(2):
        time.sleep(options.seconds / 4)
        server.process.kill()
        server.process.wait()
        server = Server(options.tool, name, folder, server.port)
    out, _ = client.communicate(timeout=options.seconds + 90)
    server.end()
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--client")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("models", nargs="*", metavar="NAME=FOLDER")
    options = parser.parse_args()
    wrong = []
    print(f"{'model':24} {'requests':10} {'per second':>11} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>9} {'errors':>7} {'memory MiB':>14}")
    with tempfile.TemporaryDirectory() as scratch:
        options.client = options.client or compiled("load_client", scratch, "-O2")
        if not options.models:
            program = compiled("export_models", scratch, "-O1", "-march=native", "-I", HERE.parents[1] / "include", "-pthread", "-lzip", "-lz")
            subprocess.run([program, scratch], check=True, env={**os.environ, "STAGECRAFT_TOOL": options.tool})
        for each in options.models or [f"{name}={scratch}/{name}" for name in ("perceptron", "cnn")]:
            name, folder = each.split("=", 1)
            body = pathlib.Path(scratch) / "body.json"
            server = Server(options.tool, name, folder)
            body.write_text(body_of(server, name))
            for what, mode in ("good", ()), ("disturbed", ("disturb", MOST_BYTES)):
                found = load(options, server, name, body, *mode)
                print(f"{name:24} {what:10} {found['per_second']:11.0f} {found['p50']:8.2f} {found['p99']:8.2f} {found['p999']:9.2f} "
                      f"{found['errors']:7} {found['before'] / 1024:6.1f}-{found['after'] / 1024:.1f}", flush=True)
                if found["errors"] or found["lost"] or found["different"] or not found["answers"] or found["disturbed_otherwise"]:
                    wrong.append((name, what, found))
                if mode and not found["disturbed"]:
                    wrong.append((name, "nothing was disturbed", found))
                if found["after"] > found["before"] * 1.2 + 16384:
                    wrong.append((name, "memory grows", found))
            server.end()
            found = killed(options, name, folder, body)
            print(f"{name:24} {'killed':10} {found['per_second']:11.0f} {found['p50']:8.2f} {found['p99']:8.2f} {found['p999']:9.2f} "
                  f"{found['errors']:7} {found['resent']:6} sent again", flush=True)
            if found["errors"] or found["lost"] or found["different"] or not found["answers"] or not found["resent"]:
                wrong.append((name, "killed", found))
    for each in wrong:
        print("wrong:", *each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
