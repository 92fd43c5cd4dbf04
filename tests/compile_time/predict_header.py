# SPDX-License-Identifier: BSD-3-Clause
"""Compile time of `#include <stagecraft/predict.hpp>` alone: less than a third of that of `<stagecraft/stagecraft.hpp>`.

    predict_header.py g++ clang++-19

User time as against_xtensor.py measures it: the smallest of runs that alternate, which end as soon as the budget is met."""
import pathlib
import sys
import tempfile

import against_xtensor

BUDGET = 1 / 3
ROUNDS = 5


def ratio_of(compiler, folder):
    smallest = {}
    for _ in range(ROUNDS):
        for name in ("predict", "stagecraft"):
            source = pathlib.Path(folder, f"{name}.cpp")
            source.write_text(f"#include <stagecraft/{name}.hpp>\n", encoding="utf-8")
            smallest[name] = min(smallest.get(name, float("inf")), against_xtensor.user_time(compiler, source, []))
        if smallest["predict"] <= BUDGET * smallest["stagecraft"]:
            break
    print(f"{compiler}: predict.hpp {smallest['predict']:.2f} s, stagecraft.hpp {smallest['stagecraft']:.2f} s, {smallest['predict'] / smallest['stagecraft']:.2f} of it")
    return smallest["predict"] / smallest["stagecraft"]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(1 if any([ratio_of(each, scratch) > BUDGET for each in sys.argv[1:]]) else 0)
