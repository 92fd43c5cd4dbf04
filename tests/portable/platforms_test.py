# SPDX-License-Identifier: BSD-3-Clause
"""Tests which outputs platforms.py takes for the same as this machine's, and that the module reads all standard headers before it
begins."""
import math
import re
import sys

import platforms

sys.path.insert(0, str(platforms.ROOT / "tools"))
import amalgamate  # noqa: E402

EXPECTED = "start\nloss 1.5\nlogit -0.25\n"


def same_as_expected(text):
    return platforms.same(platforms.numbers(text), platforms.numbers(EXPECTED))


assert same_as_expected(EXPECTED)
assert same_as_expected("start\nloss 1.5005\nlogit -0.2505\n"), "a small difference is allowed"
assert not same_as_expected("start\nloss 1.6\nlogit -0.25\n"), "a large difference"
assert not same_as_expected("start\nloss nan\nlogit -0.25\n"), "a number that is NaN here alone"
assert not same_as_expected("start\nloss 1.5\nlogit inf\n"), "a number that is infinite here alone"
assert not same_as_expected("start\nlogit -0.25\nloss 1.5\n"), "other words"
assert not same_as_expected("start\nloss 1.5\n"), "a line is missing"
assert not same_as_expected(""), "nothing is printed"
NAMES = [each.name for each in platforms.PLATFORMS]
TABLE = f"# Title\n\n| platform | compiler |\n|---|---|\n| {NAMES[2]} | old |\n| {NAMES[0]} | old |\n\nText.\n"
assert platforms.with_rows(TABLE, []) == TABLE.replace(f"| {NAMES[2]} | old |\n| {NAMES[0]} | old |", f"| {NAMES[0]} | old |\n| {NAMES[2]} | old |")
assert platforms.with_rows(TABLE, [f"| {NAMES[1]} | new |", f"| {NAMES[2]} | new |"]).splitlines()[4:8] == [
    f"| {NAMES[0]} | old |", f"| {NAMES[1]} | new |", f"| {NAMES[2]} | new |", ""]
for number in (math.nan, math.inf):
    assert not platforms.same([("loss", number)], [("loss", number)]), "a number that is not finite in both"
READ = amalgamate.Amalgamation()
for header in ("stagecraft/diagnostics/compiler.hpp", "stagecraft/ipu.hpp", "stagecraft/steps.hpp"):
    READ.add(header, "the module")
BEFORE = (platforms.ROOT / "cmake/stagecraft.cppm").read_text(encoding="utf-8").partition("export module")[0]
MISSING = READ.standard_headers - set(re.findall(r"#include <([^>]+)>", BEFORE))
assert not MISSING, f"cmake/stagecraft.cppm does not read {sorted(MISSING)} before the module begins"
