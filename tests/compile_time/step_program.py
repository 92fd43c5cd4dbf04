# SPDX-License-Identifier: BSD-3-Clause
"""Compile time of the perceptron's program by a training step of one's own (own_step.cpp): at most 1.15 of that by a
trainer (trainer.cpp).

    step_program.py g++ clang++-19

User time as against_xtensor.py measures it: the smallest of runs that alternate, which end as soon as the budget is met."""
import sys

import against_xtensor

BUDGET = 1.15
ROUNDS = 5


def ratio_of(compiler):
    smallest = {}
    for _ in range(ROUNDS):
        for name in ("own_step", "trainer"):
            source = against_xtensor.HERE / f"{name}.cpp"
            smallest[name] = min(smallest.get(name, float("inf")), against_xtensor.user_time(compiler, source, []))
        if smallest["own_step"] <= BUDGET * smallest["trainer"]:
            break
    ratio = smallest["own_step"] / smallest["trainer"]
    print(f"{compiler}: by a step {smallest['own_step']:.2f} s, by a trainer {smallest['trainer']:.2f} s, {ratio:.3f} of it")
    return ratio


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(1 if any([ratio_of(each) > BUDGET for each in sys.argv[1:]]) else 0)
