# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft plan`: pages for a header and for an exported model, and what is refused.

    check_plan.py <the program> <the C++ compiler>
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL, COMPILER = sys.argv[1:]
failures = []

HEADER = """#pragma once
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

namespace mine {
namespace sc = stagecraft;
using namespace sc::layers;
using mlp = sc::sequential<input{16}, dense{64, sc::relu}, dense{32, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 8};
inline constexpr auto no_samples = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 0};
}  // namespace mine
"""


def run(*arguments):
    result = subprocess.run([TOOL, "plan", *arguments, "--compiler", COMPILER], capture_output=True, text=True, cwd=scratch)
    return result.returncode, result.stdout, result.stderr


def check(holds, what):
    if not holds:
        failures.append(what)


def refused(arguments, *parts, code=1):
    found, out, err = run(*arguments)
    check(found == code, f"{arguments}: exit code {found}, and\n{out}{err}")
    for part in parts:
        check(part in err + out, f"{arguments}: expected '{part}' in\n{out}{err}")


def made(arguments, page, numbers):
    code, out, err = run(*arguments, "--output", page, "--json", numbers)
    check(code == 0, f"{arguments}: exit code {code}, and\n{err}")
    if code != 0:
        return {"entries": []}, ""
    check(f"wrote {page}\n" in out, f"{arguments}: does not say what it wrote:\n{out}")
    text = (scratch / page).read_text()
    check((scratch / numbers).read_text().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") in text,
          f"{arguments}: the page has other numbers than the file")
    return json.loads((scratch / numbers).read_text()), out


with tempfile.TemporaryDirectory() as folder:
    scratch = pathlib.Path(folder)
    (scratch / "model.hpp").write_text(HEADER)
    model = scratch / "exported"
    model.mkdir()
    layers = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 16], "dtype": "float32", "name": "input_1"}}]
    layers += [{"class_name": "Dense", "config": {"name": name, "units": units, "activation": "relu"}}
               for name, units in (("</script><b>", 64), ("second", 10))]
    (model / "model.json").write_text(json.dumps({"class_name": "Sequential", "config": {"name": "</title><b>", "layers": layers}}))
    (model / "application.json").write_text(json.dumps({"batch_size": 4, "iterations": 1, "output_names": []}))

    # Nothing is compiled.
    refused(["none.hpp", "--model", "mlp"], "none.hpp: is no header that can be read", "[E5001]")
    refused(["model.hpp"], "--model is missing", "[E5264]")
    for name in ("mlp; }", "mlp\n#include \"/etc/passwd\"", "(system(0))", "mine::", "a, b", "decltype(x)"):
        refused(["model.hpp", "--model", name], "is no name of the header", "[E5264]")
        refused(["model.hpp", "--model", "mine::mlp", "--training", name], "--training", "[E5264]")
    refused(["model.hpp", "--model", "mine::mlp", "--training", "mine::training", "--batch_size", "2"], "[E5209]")
    refused(["exported", "--model", "mine::mlp"], "--model and --training are for headers", "[E5209]")
    refused(["model.hpp", "--model", "mine::mlp", "--ipus", "0"], "--ipus", code=2)
    refused(["model.hpp", "--model", "mine::mlp", "--schedules", "fast"], "--schedules", code=2)

    # What the compiler finds is said in the library's words.
    few = ["--ipus", "1", "--schedules", "grouped"]
    refused(["model.hpp", "--model", "mine::none", *few], "the compiler has failed", "none", "[E5094]")
    refused(["model.hpp", "--model", "mine::mlp", "--ipus", "1,1"], "plan_choices.ipus has a value twice", "[E5263]")

    plans, said = made(["model.hpp", "--model", "mine::mlp", "--training", "mine::training", "--ipus", "1,2", "--schedules",
                        "grouped,interleaved", "--micro_batches", "8,16", "--replicas", "1"], "plan.html", "plan.json")
    entries = plans["entries"]
    check(len(entries) == 2 + 8, f"{len(entries)} entries")
    check("16 combinations; the fastest that fits: 2 IPUs, 2 stages, " in said, said)
    check([entry["micro_batches"] for entry in entries[:2]] == [8, 16], "other micro-batches")
    check(all(entry["cycles_per_update"] == sum(entry["cycles_decided_by_ipu"]) + entry["cycles_of_transfers"] +
              entry["cycles_of_syncs"] + entry["cycles_of_the_update"] for entry in entries if "problem" not in entry),
          "the parts of the time do not add up")
    check(entries and entries[0]["first_layers"] == ["dense"], str(entries[:1]))

    # Ranks of a cluster.
    plans, said = made(["model.hpp", "--model", "mine::mlp", "--training", "mine::training", *few, "--ranks", "1,4",
                        "--gigabits", "10", "--latency_us", "5"], "ranks.html", "ranks.json")
    one, four = [entry["samples_per_second"] for entry in plans["entries"]] or (1, 0)
    check(one < four < 4 * one, f"{four} samples per second on four ranks, {one} on one")
    check("on each of 4 ranks" in said, said)
    refused(["model.hpp", "--model", "mine::mlp", "--gigabits", "10"], "--ranks", code=2)

    # A description that breaks a rule is no page without a reason.
    plans, said = made(["model.hpp", "--model", "mine::mlp", "--training", "mine::no_samples", *few], "bad.html", "bad.json")
    check(all("[E4020]" in entry.get("problem", "") for entry in plans["entries"]), str(plans))

    # An exported model, whose names are markup.
    plans, said = made(["exported", *few], "exported.html", "exported.json")
    check(plans["entries"] and not plans["trains"], str(plans))
    page = (scratch / "exported.html").read_text() if (scratch / "exported.html").exists() else ""
    check(page and "<b>" not in page.replace("<div class=\"figure\"><b>", ""), "a name became markup")

for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(1 if failures else 0)
