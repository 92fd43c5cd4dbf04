# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmarks one at a time, prints their table, and writes table.json and the pictures.

    run.py --output build/benchmark --compiler g++ --flags="-O3 -march=native" program...

Each program runs on one core that it does not leave; those in TWO_THREADS run once more on two. Repetitions of a
program's benchmarks are interleaved at random. What the programs wrote stays in <output>/results.
"""
import argparse
import datetime
import os
import pathlib
import platform
import subprocess
import sys
import time

import compile_cost
import pictures
import table

HERE = pathlib.Path(__file__).resolve().parent
TWO_THREADS = ("mlp_training_benchmark", "mlp_inference_benchmark", "cnn_benchmark", "pipeline_benchmark",
               "queue_benchmark", "neighbour_benchmark", "sequence_benchmark")
# Variables that choose other kernels or other numbers of threads than the peers would choose by themselves.
CHOICES = ("OPENBLAS_CORETYPE", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND")


# What keeps peers that choose at run time to the registers that the programs are compiled for.
OF_ARCHITECTURE = {"-march=x86-64-v3": {"DNNL_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}}


def environment(threads, flags):
    variables = {name: value for name, value in os.environ.items() if name not in CHOICES}
    for flag in flags.split():
        variables |= OF_ARCHITECTURE.get(flag, {})
    return variables | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def run_program(program, threads, cores, output, given):
    """Runs one program on the cores; ends this script if it fails."""
    arguments = [str(program), f"--benchmark_out={output}", "--benchmark_out_format=json",
                 f"--benchmark_repetitions={given.repetitions}", f"--benchmark_min_time={given.seconds}",
                 "--benchmark_enable_random_interleaving=true", "--benchmark_display_aggregates_only=true"]
    begin = time.monotonic()
    pin = (lambda: os.sched_setaffinity(0, cores)) if hasattr(os, "sched_setaffinity") else None
    with open(output.with_suffix(".log"), "w", encoding="utf-8") as log:
        run = subprocess.run(arguments, env=environment(threads, given.flags), stdout=log, stderr=subprocess.STDOUT,
                             check=False, preexec_fn=pin)
    print(f"{program.name}, {threads} thread(s): {time.monotonic() - begin:.0f} s", flush=True)
    if run.returncode != 0:
        print(output.with_suffix(".log").read_text(encoding="utf-8", errors="replace"))
        sys.exit(f"{program} ended with {run.returncode}")


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        fields = {name.strip(): value.strip() for name, value in fields.items()}
        return f"{fields['model name']} (family {fields['cpu family']}, model {fields['model']})"
    except (OSError, KeyError):
        return platform.processor() or platform.machine()


def note(given, cores):
    return (f"{processor()}, {cores} cores; {compile_cost.version(given.compiler)} {given.flags}; "
            f"{datetime.date.today().isoformat()}; medians of {given.repetitions} interleaved repetitions; "
            f"load before the run {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder of table.json and the pictures")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.04, help="least time of one repetition")
    given = parser.parse_args()

    begin = time.monotonic()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    context = note(given, len(cores))
    results = given.output / "results"
    results.mkdir(parents=True, exist_ok=True)
    for old in results.glob("*.json"):  # of programs that are no more
        old.unlink()
    (given.output / "note.txt").write_text(context + "\n", encoding="utf-8")
    runs = [(program, 1, cores[-1:]) for program in given.programs]
    if len(cores) >= 2:
        runs += [(program, 2, cores[-2:]) for program in given.programs if program.name in TWO_THREADS]
    files = []
    for program, threads, own in runs:
        files.append(results / f"{program.name}_{threads}.json")
        run_program(program, threads, own, files[-1], given)
    files.append(results / "compile_cost.json")
    step = time.monotonic()
    compile_cost.write(files[-1], given.compiler, given.flags)
    print(f"compile_cost: {time.monotonic() - step:.0f} s", flush=True)

    table.main([*map(str, files), "--output", str(given.output / "table.json"), "--note", context])
    pictures.main([*map(str, files), "--output", str(given.output), "--note", context])
    print(f"table.json, speed.svg and roofline.svg are in {given.output}; all took {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
