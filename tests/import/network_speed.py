# SPDX-License-Identifier: BSD-3-Clause
"""How long an imported network takes to compile, and beside onnxruntime and OpenVINO to predict: one thread each, pinned to one
core, in turns, so that what else the machine does hits all of them. Seconds are those of the processor."""
import os
import re
import statistics
import subprocess
import time

import onnxruntime

try:
    import openvino
except ImportError:
    openvino = None

PEERS = ["onnxruntime", "OpenVINO"]
BURST = 0.03  # seconds that a peer's calls take before it is the next one's turn
TURNS = 9
CORE = max(os.sched_getaffinity(0))

# After its comparison, the test that the tool writes makes the calls that it reads a number of, and says what they took.
BURSTS = r"""
  for (int calls = 0; std::fflush(stdout) == 0 && std::scanf("%d", &calls) == 1;) {
    auto const begin = std::clock();
    for (int i = 0; i < calls; ++i) static_cast<void>(CALL);
    std::printf("took %.9f\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
"""


def add_bursts(source):
    text = source.read_text()
    call = re.search(r"net\.predict\(.*\)(?=;)", text)[0]
    text = text.replace("#include <cstdio>", "#include <cstdio>\n#include <ctime>", 1)
    before, after = text.rsplit("  return is_right", 1)
    source.write_text(before + BURSTS.replace("CALL", call) + "  return is_right" + after)


def run_for(command, log):
    """The exit code, what was said, seconds of the processor, and GB of the largest process."""
    with open(log, "w") as to:
        process = subprocess.Popen([str(part) for part in command], stdout=to, stderr=to)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, log.read_text(), used.ru_utime + used.ru_stime, used.ru_maxrss / (1 << 20)


def compile_with(compiler, include, source, optimize="-O2"):
    """What went wrong or None, seconds of the processor, and GB of the largest process."""
    code, said, seconds, memory = run_for([*compiler.split(), "-std=c++20", optimize, "-march=native", "-I", include, source, "-o",
                                           source.with_suffix(""), "-pthread", "-lzip"], source.with_suffix(".log"))
    found = re.search(r"error: (.*)", said)
    return None if code == 0 else found[1] if found else said[:200], seconds, memory


def be_first():
    os.sched_setaffinity(0, {CORE})
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        pass  # then others may come between more often


class Program:
    """A program with bursts."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen([program], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=be_first)

    def seconds_of(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("took "):
                return float(line.split()[1])
        raise RuntimeError("the program has ended")

    def end(self):
        self.process.communicate()


class Peer:
    """A function that predicts, in this process."""

    def __init__(self, predict):
        self.predict = predict

    def seconds_of(self, calls):
        begin = time.process_time()
        for _ in range(calls):
            self.predict()
        return time.process_time() - begin

    def end(self):
        pass


def onnxruntime_peer(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()  # so that a call copies nothing
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    for output, value in zip(session.get_outputs(), binding.get_outputs()):
        binding.bind_ortvalue_output(output.name, value)
    return Peer(lambda: session.run_with_iobinding(binding))


def openvino_peer(path, inputs):
    """None if OpenVINO cannot carry the network out."""
    if openvino is None:
        return None
    try:
        core = openvino.Core()
        model = core.read_model(str(path))
        model.reshape({name: list(array.shape) for name, array in inputs.items()})
        hints = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = core.compile_model(model, "CPU", hints).create_infer_request()
        request.infer(inputs)
        return Peer(lambda: request.infer(inputs))
    except (RuntimeError, TypeError):
        return None


def compare(program, folder, path, inputs):
    """Seconds of a call, and for each peer the median ratio of its time to ours in the same turn."""
    cores, priority = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
    be_first()
    try:
        made = {"own": Program(program, folder), "onnxruntime": onnxruntime_peer(path, inputs), "OpenVINO": openvino_peer(path, inputs)}
        made = {name: peer for name, peer in made.items() if peer is not None}
        calls, seconds = {}, {name: [] for name in made}
        for name, peer in made.items():
            peer.seconds_of(2)
            calls[name] = max(1, int(BURST / max(peer.seconds_of(3) / 3, 1e-6)))
        for _ in range(TURNS):
            for name, peer in made.items():
                seconds[name].append(peer.seconds_of(calls[name]) / calls[name])
        made["own"].end()
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, priority)
        os.sched_setaffinity(0, cores)
    ratios = {name: statistics.median(peer / own for peer, own in zip(seconds[name], seconds["own"])) for name in made if name != "own"}
    return min(seconds["own"]), ratios
