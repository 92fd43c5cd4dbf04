# SPDX-License-Identifier: BSD-3-Clause
"""Load for `stagecraft serve`: 64 connections, throughput, latencies and memory; the same with every tenth request wrong,
too large, slow or cut off; good requests at a fixed rate with and without clients that disturb; and a server that is
killed and begun again meanwhile, whose clients lose nothing.

    load.py --tool stagecraft [--client load_client] [--seconds 60] [--rounds 3] [--connections 64] [--rate N]
            [--onnxruntime PYTHON] [--mixed | --protocols --grpc-client grpc_load_client] [NAME=FOLDER...]

A folder has versions of an application, `FOLDER/1/application.so`; without any, those of export_models.cpp are made, a
perceptron and a small convolutional network. What is not given is compiled by the environment's CXX, or c++.

With --onnxruntime, a Python that has the package onnxruntime, the same server serves the same models, as `stagecraft export`
writes them, by ONNX Runtime, too (onnx_runtime_application.cpp), with one thread, as applications have by default; outputs
must agree to 1e-5 first.

With --mixed, good requests at --rate, 200 a second, come for all of the time beside clients that send nothing but wrong, too
large, slow and cut ones, and nothing else is measured: `--mixed --seconds 600 --rounds 1` are ten minutes of it.

With --protocols, good requests alone come as fast as they are answered, by REST and by gRPC, from 64 connections and from 1,000, to
each server in turn: what p99 is beside ONNX Runtime's behind the same server.

Each row is the medians of its rounds, which take turns with those of the rows beside it, so that neighbours on the machine
disturb all of them alike. The rows `paced` have one rate: a quarter of the throughput of `good`, of the slower server, unless
--rate says it. Latencies begin when a request is due. Those that disturb are a program of their own with half as many connections,
a ninth of the rate, and only such requests; in the last row they disturb another server, which is what the machine has to
do with it. The exit code is 1 if a request is lost or answered otherwise than it should be, if memory grows, or if good
requests notice those that disturb: if the p99 of each round is more than 1.5 times, and a millisecond more than, the
best round's while another server is disturbed. Rounds of less than ten seconds don't judge this: a neighbour on the machine
may have been there in some only.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

MOST_BYTES = 1 << 20
SHORTEST_TO_JUDGE = 10.0  # seconds
HERE = pathlib.Path(__file__).resolve().parent


def compiled(name, scratch, *options):
    program = f"{scratch}/{name}"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", HERE / f"{name}.cpp", "-o", program, *options], check=True)
    return program


class Server:
    def __init__(self, options, name, folder, by="stagecraft", port=0, **environment):
        self.name, self.by = name, by
        self.process = subprocess.Popen(
            [options.tool, "serve", "--model_name", name, "--model_base_path", folder, "--rest_api_port", str(port),
             "--max_body_bytes", str(MOST_BYTES), *(["--grpc_port", "0"] if options.protocols else [])], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.grpc = 0
        for line in self.process.stdout:
            if line.startswith("Exporting HTTP/REST API at:"):
                self.port = int(line.split(":")[-1].split()[0])
                if not options.protocols:
                    return
            if line.startswith("Running gRPC ModelServer at"):
                self.grpc = int(line.split(":")[-1].split()[0])
                return
        raise SystemExit(f"{name}: the server has ended")

    def kilobytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def ask(self, path, body=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", body) as answer:
            return json.load(answer)

    def shapes(self):
        metadata = self.ask(f"/v1/models/{self.name}/metadata")["metadata"]
        inputs = metadata["signature_def"]["signature_def"]["serving_default"]["inputs"]
        return {key: [int(d["size"]) for d in spec["tensor_shape"]["dim"]][1:] for key, spec in inputs.items()}

    def request(self, samples=1):
        """Samples of random numbers, the same for each server of a model."""
        numbers = random.Random(1)

        def values(shape):
            return [values(shape[1:]) for _ in range(shape[0])] if shape else round(numbers.random(), 3)

        shapes = self.shapes()
        return json.dumps({"instances": [{key: values(shape) for key, shape in shapes.items()} for _ in range(samples)]})

    def outputs(self, samples):
        def flat(values):
            if isinstance(values, (dict, list)):
                return [number for each in (values.values() if isinstance(values, dict) else values) for number in flat(each)]
            return [values]

        return flat(self.ask(f"/v1/models/{self.name}:predict", self.request(samples).encode())["predictions"])

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


class OnnxRuntime:
    """Puts ONNX Runtime behind the server."""

    def __init__(self, options, scratch):
        facts = ("import json, sysconfig as s, onnxruntime as o; v = s.get_config_var; "
                 "print(json.dumps([o.__version__, v('INCLUDEPY'), v('LIBDIR'), 'python' + v('LDVERSION')]))")
        self.options, self.scratch = options, scratch
        version, include, libraries, library = json.loads(
            subprocess.run([options.onnxruntime, "-c", facts], check=True, capture_output=True, text=True).stdout)
        self.by = f"ONNX Runtime {version}"
        self.application = compiled("onnx_runtime_application", scratch, "-O2", "-fPIC", "-shared", "-I", HERE.parents[1] / "include",
                                    "-I", include, "-L", libraries, f"-l{library}", f"-Wl,-rpath,{libraries}", "-Wl,-z,nodelete")

    def serve(self, name, folder):
        """The newest version of the folder's."""
        version = max((each for each in pathlib.Path(folder).iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
        place = pathlib.Path(self.scratch) / "onnx_runtime" / name / "1"
        place.mkdir(parents=True)
        subprocess.run([self.options.tool, "export", version, "--to", place / "model.onnx"], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(self.application, place / "application.so")
        return Server(self.options, name, place.parent, self.by, ONNX_RUNTIME_PYTHON=self.options.onnxruntime, ONNX_RUNTIME_MODEL=str(place / "model.onnx"),
                      ONNX_RUNTIME_BATCH_SIZE=str(json.loads((version / "application.json").read_text())["batch_size"]))


class Row:
    """What a client finds out about a server, in several rounds."""

    def __init__(self, options, server, body, what, *mode, disturbs=None):
        self.options, self.server, self.body, self.what, self.mode, self.disturbs = options, server, body, what, mode, disturbs
        self.found, self.before, self.after = [], 0, 0

    def client(self, port, connections, *mode):
        return subprocess.Popen([self.options.client, str(port), f"/v1/models/{self.server.name}:predict", self.body,
                                 str(self.seconds), str(connections), *map(str, mode)], stdout=subprocess.PIPE, text=True)

    def answer(self, client):
        out, _ = client.communicate(timeout=self.seconds + 90)
        if client.returncode != 0:
            raise SystemExit(f"{self.server.name}: the client has failed")
        return json.loads(out)

    def run(self):
        self.seconds = self.options.seconds / self.options.rounds
        client = self.client(self.server.port, self.options.connections, *self.mode)
        if self.disturbs:
            bad = self.client(self.disturbs.port, max(1, self.options.connections // 2), "paced", self.mode[1] / 9, MOST_BYTES)
        time.sleep(max(0.3, self.seconds / 10))
        self.before = self.before or self.server.kilobytes()
        found = self.answer(client)
        if self.disturbs:
            disturbed = self.answer(bad)
            found.update((key, disturbed[key]) for key in ("disturbed", "disturbed_otherwise"))
        self.after = self.server.kilobytes()
        self.found.append(found)

    def __getitem__(self, key):
        values = [each[key] for each in self.found]
        return statistics.median(values) if key == "per_second" or key.startswith("p") else sum(values)

    def show(self):
        print_row(self.server.name, self.server.by, self.what, self, f"{self.before / 1024:6.1f}-{self.after / 1024:.1f}")

    def problems(self):
        if self["errors"] or self["lost"] or self["different"] or not self["answers"] or self["disturbed_otherwise"]:
            yield self.what, self.found
        if (self.disturbs or "disturb" in self.mode) and not self["disturbed"]:
            yield self.what, "nothing was disturbed", self.found
        if self.after > self.before * 1.2 + 16384:
            yield self.what, "memory grows", self.before, self.after


class GrpcRow(Row):
    """Calls by gRPC, of one sample of zeros."""

    def client(self, port, connections, *mode):
        shapes = [f"{name}={'x'.join(map(str, shape))}" for name, shape in self.server.shapes().items()]
        return subprocess.Popen([self.options.grpc_client, f"127.0.0.1:{self.server.grpc}", str(connections), str(max(1, round(self.seconds))),
                                 self.server.name, *shapes], stdout=subprocess.PIPE, text=True)

    def answer(self, client):
        out, _ = client.communicate(timeout=self.seconds + 90)
        per_second, p50, p99, p999, answers = (float(each) for each in re.search(
            r": (\d+) calls/s, p50 ([\d.]+) ms, p99 ([\d.]+) ms, p99.9 ([\d.]+) ms, (\d+) answered", out).groups())
        return {"per_second": per_second, "p50": p50, "p99": p99, "p999": p999, "answers": answers, "errors": out.count("times: "), "lost": 0,
                "different": 0, "disturbed_otherwise": 0}


def measure(rows, wrong):
    for first in range(rows[0].options.rounds):
        for i in range(len(rows)):
            rows[(first + i) % len(rows)].run()
    for row in rows:
        row.show()
        wrong.extend((row.server.name, row.server.by, *problem) for problem in row.problems())


def print_row(name, by, what, found, last):
    print(f"{name:12} {by:20} {what:24} {found['per_second']:11.0f} {found['p50']:8.2f} {found['p99']:8.2f} {found['p999']:9.2f} "
          f"{found['errors']:7} {last}", flush=True)


def killed(options, name, folder, body):
    """A server is killed twice while there is load, and begun again at the same port."""
    server = Server(options, name, folder)
    client = subprocess.Popen([options.client, str(server.port), f"/v1/models/{name}:predict", body, str(options.seconds), "16", "retry"],
                              stdout=subprocess.PIPE, text=True)
    for part in range(2):
        time.sleep(options.seconds / 4)
        server.process.kill()
        server.process.wait()
        server = Server(options, name, folder, port=server.port)
    out, _ = client.communicate(timeout=options.seconds + 90)
    server.end()
    return json.loads(out)


def measure_mixed(options, scratch, name, folder, wrong):
    server, body = Server(options, name, folder), pathlib.Path(scratch) / f"{name}.json"
    body.write_text(server.request())
    rate = options.rate or 200
    measure([Row(options, server, body, f"{rate} a second, mixed", "paced", rate, disturbs=server)], wrong)
    server.end()


def measure_protocols(options, scratch, peer, name, folder, wrong):
    servers = [Server(options, name, folder), *([peer.serve(name, folder)] if peer else [])]
    body = pathlib.Path(scratch) / f"{name}.json"
    body.write_text(servers[0].request())
    for connections in 64, 1000:
        own = argparse.Namespace(**{**vars(options), "connections": connections})
        for kind, what in (Row, "REST"), (GrpcRow, "gRPC"):
            rows = [kind(own, each, body, f"{connections} by {what}") for each in servers]
            measure(rows, wrong)
            if len(rows) > 1:
                print(f"{name}: p99 of {rows[0].server.by} over {rows[1].server.by}'s, by rounds: " +
                      ", ".join(f"{ours['p99'] / theirs['p99']:.2f}" for ours, theirs in zip(rows[0].found, rows[1].found)), flush=True)
    for each in servers:
        each.end()


def measure_model(options, scratch, peer, name, folder, wrong):
    server, other = Server(options, name, folder), Server(options, name, folder)
    servers = [server, *([peer.serve(name, folder)] if peer else [])]
    bodies = {}
    for each in servers:
        bodies[each] = pathlib.Path(scratch) / f"{len(bodies)}.json"
        bodies[each].write_text(each.request())
        farthest = max(abs(a - b) for a, b in zip(server.outputs(19), each.outputs(19), strict=True))
        if farthest > 1e-5:
            raise SystemExit(f"{name}: outputs of {each.by} differ by {farthest}")
    good = [Row(options, each, bodies[each], "good") for each in servers]
    measure(good, wrong)
    measure([Row(options, server, bodies[server], "disturbed", "disturb", MOST_BYTES)], wrong)
    rate = options.rate or int(min(row["per_second"] for row in good) / 4)
    what = f"paced, {rate} a second"
    paced = [Row(options, each, bodies[each], what, "paced", rate) for each in servers]
    beside = [Row(options, server, bodies[server], f"  {text}", "paced", rate, disturbs=disturbs)
              for text, disturbs in (("others disturb", server), ("another is disturbed", other))]
    measure([*paced, *beside], wrong)
    disturbed, elsewhere = (min(each["p99"] for each in row.found) for row in beside)
    if options.seconds / options.rounds >= SHORTEST_TO_JUDGE and disturbed > max(1.5 * elsewhere, elsewhere + 1):
        wrong.append((name, "good requests notice those that disturb", elsewhere, disturbed))
    for each in (*servers, other):
        each.end()
    found = killed(options, name, folder, bodies[server])
    print_row(name, server.by, "killed", found, f"{found['resent']:6} sent again")
    if found["errors"] or found["lost"] or found["different"] or not found["answers"] or not found["resent"]:
        wrong.append((name, "killed", found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--client")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rate", type=int)
    parser.add_argument("--onnxruntime", metavar="PYTHON")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--protocols", action="store_true")
    parser.add_argument("--grpc-client")
    parser.add_argument("models", nargs="*", metavar="NAME=FOLDER")
    options = parser.parse_args()
    wrong, peer = [], None
    with tempfile.TemporaryDirectory() as scratch:
        options.client = options.client or compiled("load_client", scratch, "-O2")
        if options.onnxruntime:
            try:
                peer = OnnxRuntime(options, scratch)
            except (OSError, subprocess.CalledProcessError) as why:
                print("no rows of ONNX Runtime:", (getattr(why, "stderr", None) or str(why)).strip().splitlines()[-1])
        if not options.models:
            program = compiled("export_models", scratch, "-O1", "-march=native", "-I", HERE.parents[1] / "include", "-pthread", "-lzip", "-lz")
            subprocess.run([program, scratch], check=True, env={**os.environ, "STAGECRAFT_TOOL": options.tool})
        print(f"{os.cpu_count()} processors, the load of which was {os.getloadavg()[0]:.1f} before")
        print(f"{'model':12} {'by':20} {'requests':24} {'per second':>11} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>9} {'errors':>7} "
              f"{'memory MiB':>14}")
        for each in options.models or [f"{name}={scratch}/{name}" for name in ("perceptron", "cnn")]:
            if options.mixed:
                measure_mixed(options, scratch, *each.split("=", 1), wrong)
            elif options.protocols:
                measure_protocols(options, scratch, peer, *each.split("=", 1), wrong)
            else:
                measure_model(options, scratch, peer, *each.split("=", 1), wrong)
    for each in wrong:
        print("wrong:", *each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
