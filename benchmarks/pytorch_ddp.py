# SPDX-License-Identifier: BSD-3-Clause
"""The perceptron of two_ranks by PyTorch's DistributedDataParallel (gloo), with as many processes of one thread, in turns:

    pip install torch
    python3 pytorch_ddp.py <mpirun> build/benchmark/benchmarks/two_ranks [--repetitions=3]

Both train 784-512-512-10 with 128 samples on each of two processes and Adam. Packages that are missing end the program
with status 77.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import torch
    import torch.distributed
    import torch.multiprocessing
except ImportError as missing:
    print(f"pytorch_ddp.py: {missing}; pip install torch")
    sys.exit(77)

BATCH, STEPS, RANKS = 128, 32, 2
nn = torch.nn


def train(rank, place, result):
    """Writes the seconds of a step of the second of two epochs."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
    torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    network = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7, foreach=True)
    loss_of = nn.CrossEntropyLoss()
    x, y = torch.rand(STEPS * BATCH, 784), torch.randint(10, (STEPS * BATCH,))
    for _ in range(2):
        torch.distributed.barrier()
        begin = time.perf_counter()
        for step in range(STEPS):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            optimizer.zero_grad(set_to_none=True)
            loss_of(network(x[rows]), y[rows]).backward()
            optimizer.step()
        torch.distributed.barrier()
        if rank == 0:
            result.value = (time.perf_counter() - begin) / STEPS
    torch.distributed.destroy_process_group()


def seconds_of_pytorch():
    with tempfile.TemporaryDirectory() as folder:
        result = torch.multiprocessing.get_context("spawn").Value("d", 0.0)
        torch.multiprocessing.spawn(train, (os.path.join(folder, "place"), result), nprocs=RANKS)
        return result.value


def seconds_of_ranks(mpirun, program):
    text = subprocess.run([mpirun, "-n", str(RANKS), "--bind-to", "core", program], capture_output=True, text=True,
                          check=True).stdout
    return float(re.search(r"two ranks ([0-9.]+) ms a step", text).group(1)) / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpirun")
    parser.add_argument("program")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    ours, theirs = [], []
    for _ in range(options.repetitions):
        ours.append(seconds_of_ranks(options.mpirun, options.program))
        theirs.append(seconds_of_pytorch())
        print(f"two ranks {1e3 * ours[-1]:.2f} ms a step, PyTorch {torch.__version__} {1e3 * theirs[-1]:.2f} ms, "
              f"{theirs[-1] / ours[-1]:.2f} times as long", flush=True)
    print(f"medians: {1e3 * statistics.median(ours):.2f} and {1e3 * statistics.median(theirs):.2f} ms")


if __name__ == "__main__":
    main()
