# SPDX-License-Identifier: BSD-3-Clause
"""A GAN with gradient penalty by PyTorch beside that of steps_benchmark, on one thread, both in turns:

    pip install torch
    python3 pytorch_wgan.py build/benchmark/benchmarks/steps_benchmark [--repetitions=7] [--normalized]

PyTorch's step is measured as it is written, and with losses that torch.compile has compiled, if it can. Times are those
of the processor, so that other programs matter less. Packages that are missing end the program with status 77.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import torch
except ImportError as missing:
    print(f"pytorch_wgan.py: {missing}; pip install torch")
    sys.exit(77)

BATCH, FEATURES, UNITS, CRITIC_STEPS = 64, 64, 256, 5
nn = torch.nn


class Step:
    """The step of steps_benchmark.cpp; `compiled`: losses and updates are compiled."""

    def __init__(self, compiled, normalized):
        between = (lambda: [nn.LayerNorm(UNITS, eps=1e-3)]) if normalized else list
        self.generator = nn.Sequential(nn.Linear(FEATURES, UNITS), nn.ReLU(), nn.Linear(UNITS, UNITS), nn.ReLU(),
                                       nn.Linear(UNITS, FEATURES))
        self.critic = nn.Sequential(nn.Linear(FEATURES, UNITS), *between(), nn.Tanh(), nn.Linear(UNITS, UNITS),
                                    *between(), nn.Tanh(), nn.Linear(UNITS, 1))
        options = {"lr": 1e-4, "betas": (0.5, 0.999), "eps": 1e-7, "foreach": True}
        self.of_generator = torch.optim.Adam(self.generator.parameters(), **options)
        self.of_critic = torch.optim.Adam(self.critic.parameters(), **options)
        self.critic_loss = self.functional_critic_loss if compiled else self.eager_critic_loss
        if compiled:
            self.critic_loss, self.generator_loss = torch.compile(self.critic_loss), torch.compile(self.generator_loss)

    def mixed(self, real, fake):
        mix = torch.rand(BATCH, 1)
        return real * mix + fake * (1 - mix)

    def total(self, real, fake, slope):
        norm = torch.sqrt((slope**2).sum(-1) + 1e-12)
        return (self.critic(fake) - self.critic(real)).mean() + 10 * ((norm - 1) ** 2).mean()

    def eager_critic_loss(self, real):
        with torch.no_grad():
            fake = self.generator(torch.randn(BATCH, FEATURES))
        mixed = self.mixed(real, fake).requires_grad_(True)
        slope, = torch.autograd.grad(self.critic(mixed).sum(), mixed, create_graph=True)
        return self.total(real, fake, slope)

    def functional_critic_loss(self, real):
        with torch.no_grad():
            fake = self.generator(torch.randn(BATCH, FEATURES))
        slope = torch.func.grad(lambda x: self.critic(x).sum())(self.mixed(real, fake))
        return self.total(real, fake, slope)

    def generator_loss(self):
        return -self.critic(self.generator(torch.randn(BATCH, FEATURES))).mean()

    def __call__(self, real):
        for _ in range(CRITIC_STEPS):
            self.of_critic.zero_grad(set_to_none=True)
            loss = self.critic_loss(real)
            loss.backward()
            self.of_critic.step()
        self.of_generator.zero_grad(set_to_none=True)
        loss = self.generator_loss()
        loss.backward()
        self.of_generator.step()
        return loss


def seconds_of_pytorch(step, real, count):
    begin = time.process_time()
    for _ in range(count):
        step(real)
    return (time.process_time() - begin) / count


def seconds_of_stagecraft(program, name):
    run = subprocess.run([program, f"--benchmark_filter=steps/{name}/", "--benchmark_min_time=0.3", "--benchmark_format=json"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    times = {each["name"]: each["cpu_time"] for each in json.loads(run.stdout)["benchmarks"]}
    return next(time for name, time in times.items() if name.endswith("stagecraft")) * 1e-9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="steps_benchmark")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--normalized", action="store_true", help="layer normalizations in the critic")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    real = torch.rand(BATCH, FEATURES)
    peers = {"PyTorch": Step(False, given.normalized)}
    try:
        compiled = Step(True, given.normalized)
        compiled(real)
        peers["PyTorch, compiled"] = compiled
    except Exception as problem:  # pylint: disable=broad-except
        print(f"torch.compile: {str(problem).splitlines()[0]}")
    for step in peers.values():
        seconds_of_pytorch(step, real, 5)
    own, others = [], {name: [] for name in peers}
    for _ in range(given.repetitions):
        own.append(seconds_of_stagecraft(given.program, "wgan_gp_normalized" if given.normalized else "wgan_gp"))
        for name, step in peers.items():
            others[name].append(seconds_of_pytorch(step, real, 20))
    print(f"{'stagecraft':20} {statistics.median(own) * 1e3:8.3f} ms a step")
    for name, times in others.items():
        ratios = sorted(theirs / ours for ours, theirs in zip(own, times))
        print(f"{name:20} {statistics.median(times) * 1e3:8.3f} ms a step; {statistics.median(ratios):.2f} of stagecraft's "
              f"time ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
