# SPDX-License-Identifier: BSD-3-Clause
"""Tests of benchmarks/table.py, pictures.py and performance.py on results that stand here."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import pictures  # noqa: E402
import performance  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402


def repetitions(name, **counters):
    """One benchmark as Google Benchmark writes it; each counter is a list of its repetitions."""
    count = len(next(iter(counters.values())))
    return [{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": 10,
             "real_time": counters.get("real_time", [2.0] * count)[i],
             "cpu_time": counters.get("cpu_time", [1.0] * count)[i], "time_unit": "us",
             **{counter: values[i] for counter, values in counters.items()}} for i in range(count)]


def results(*benchmarks):
    caches = [{"type": "Data", "level": 1, "size": 49152}, {"type": "Instruction", "level": 1, "size": 1 << 20},
              {"type": "Unified", "level": 2, "size": 1 << 20}]
    return {"context": {"date": "2000-01-01", "caches": caches},
            "benchmarks": [entry for entries in benchmarks for entry in entries]}


TRAINING = "mlp/rmsprop/batch:32/threads:1"
CANNED = results(
    repetitions("fma_peak", **{"FLOP/s": [100e9, 90e9, 110e9]}),
    # The median, 150, is 1.5 times the better peer's, 100; its own kernels and an aggregate do not count.
    repetitions(f"{TRAINING}/stagecraft", **{"samples/s": [150.0, 10.0, 900.0], "FLOP/s": [50e9] * 3,
                                             "allocations/step": [0.0] * 3}),
    repetitions(f"{TRAINING}/onednn", **{"samples/s": [90.0] * 3}),
    repetitions(f"{TRAINING}/eigen", **{"samples/s": [100.0] * 3}),
    repetitions(f"{TRAINING}/kernels", **{"samples/s": [1000.0] * 3}),
    [{"name": f"{TRAINING}/stagecraft_mean", "run_name": f"{TRAINING}/stagecraft", "run_type": "aggregate",
      "aggregate_name": "mean", "samples/s": 353.0}],
    # Latency: less is better, and a failed repetition does not count.
    repetitions("mlp/predict/batch:1/threads:1/stagecraft", cpu_time=[9.5, 9.5], **{"samples/s": [1.0, 1.0]}),
    repetitions("mlp/predict/batch:1/threads:1/openblas", cpu_time=[10.0, 10.0], **{"samples/s": [1.0, 1.0]}),
    repetitions("mlp/predict/batch:1/threads:1/eigen", cpu_time=[30.0, 30.0], **{"samples/s": [1.0, 1.0]}),
    # The clock counts for two threads; one thread is the peer of the scaling.
    repetitions("mlp/rmsprop/batch:128/threads:2/stagecraft/real_time", **{"samples/s": [190.0], "FLOP/s": [50e9]}),
    repetitions("mlp/rmsprop/batch:128/threads:2/one_thread/real_time", **{"samples/s": [100.0]}),
    # Fractions of the peak; OpenBLAS is the peer of one row, the best of all that of another.
    repetitions("forward/64x64x64/stagecraft", **{"FLOP/s": [80e9], "FLOP/byte": [10.7]}),
    repetitions("forward/64x64x64/openblas", **{"FLOP/s": [60e9], "FLOP/byte": [10.7]}),
    repetitions("forward/64x64x64/onednn", **{"FLOP/s": [70e9], "FLOP/byte": [10.7]}),
    # 0.996 is printed, and held against the budget, as 1.00.
    # Its bytes lie in the second cache: 100 ns to read and 150 ns to write, of a microsecond.
    repetitions("relu/16K/stagecraft", **{"bytes/s": [99.6e9], "bytes read": [40e3], "bytes written": [40e3]}),
    repetitions("relu/16K/eigen", **{"bytes/s": [100e9]}),
    # More is read and written than lies there, so that the second cache is the limit.
    repetitions("adamw/1M/stagecraft", **{"bytes/s": [1e9], "bytes read": [4e6], "bytes written": [0.0],
                                          "bytes held": [200e3]}),
    repetitions("adamw/1M/eigen", **{"bytes/s": [1e9]}),
    # Read in 100 ns; written where it was read, which adds 50 ns, of a microsecond.
    repetitions("sgdw/16K/stagecraft", **{"bytes/s": [1e9], "bytes read": [40e3], "bytes written": [40e3],
                                          "bytes written in place": [40e3]}),
    repetitions("sgdw/16K/eigen", **{"bytes/s": [1e9]}),
    repetitions("something new/stagecraft", **{"bytes/s": [3e9]}),
    repetitions("something new/eigen", **{"bytes/s": [1e9]}),
    repetitions("cnn/rmsprop/batch:32/threads:1/onednn", **{"samples/s": [1.0]}),
    [{"name": f"compile/01_mnist/gcc/{whose}", "run_name": f"compile/01_mnist/gcc/{whose}", "run_type": "iteration",
      "repetition_index": 0, "seconds": seconds, "MB": 500.0}
     for whose, seconds in (("stagecraft", 6.0), ("eigen", 5.0))],
    repetitions("read/L1", **{"bytes/s": [800e9]}),
    repetitions("copy/L1", **{"bytes/s": [800e9]}),
    repetitions("read/L2", **{"bytes/s": [400e9]}),
    repetitions("copy/L2", **{"bytes/s": [320e9]}),
    repetitions("change/L2", **{"bytes/s": [80e3 / 150e-9]}),
)


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "results.json")
        self.path.write_text(json.dumps(CANNED), encoding="utf-8")

    def make(self, *options):
        """Exit code, printed text, and table.json by row."""
        output = pathlib.Path(self.folder.name, "table.json")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            code = table.main([str(self.path), "--output", str(output), *options])
        content = json.loads(output.read_text(encoding="utf-8"))
        return code, text.getvalue(), content

    def row(self, *parts):
        """The one row whose name, unit and peer hold all the parts."""
        found = [row for row in self.make()[2]
                 if all(part in f"{row['row']} {row['unit']} {row['peer']}" for part in parts)]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_keys(self):
        for row in self.make()[2]:
            self.assertEqual(set(row), {"row", "value", "unit", "peer", "budget", "met", "of_limit", "limit"})

    def test_median_over_the_best_peer(self):
        self.assertEqual(self.row("Training: ", "RMSprop, batch 32"),
                         {"row": "Training: MLP 784-256-128-10, RMSprop, batch 32, 1 thread", "value": 1.5,
                          "unit": "x the peer's samples/s", "peer": "Eigen", "budget": ">= 1.4", "met": True,
                          "of_limit": 0.5, "limit": "FMA"})

    def test_a_missed_budget_is_a_no(self):
        row = self.row("Inference: ", "batch 1,")
        self.assertEqual((row["value"], row["peer"], row["budget"], row["met"]), (0.95, "OpenBLAS", "<= 0.9", False))
        code, text, _ = self.make()
        self.assertEqual(code, 0)
        line = next(line for line in text.splitlines() if "batch 1, 1 thread" in line)
        self.assertRegex(line, r"9\.5 us +10\.0 us +OpenBLAS +0\.95 +<= 0\.9 +no\b")
        self.assertIn("missed: Inference: MLP 784-256-128-10, batch 1, 1 thread: 0.95, budget <= 0.9", text)

    def test_check_fails_if_a_budget_is_missed(self):
        self.assertEqual(self.make("--check")[0], 1)
        kept = results(*(([entry] for entry in CANNED["benchmarks"] if TRAINING in entry["name"])))
        self.path.write_text(json.dumps(kept), encoding="utf-8")
        self.assertEqual(self.make("--check")[0], 0)

    def test_two_threads(self):
        row = self.row("Two threads over one", "batch 128")
        self.assertEqual((row["value"], row["peer"], row["met"]), (1.9, "one thread", True))
        text = self.make()[1]
        # 50 of twice 100 GFLOP/s
        self.assertRegex(text, r"training, RMSprop, batch 128 .* yes +25%")

    def test_fraction_of_the_peak(self):
        row = self.row("matmul 64x64x64", "FMA peak")
        self.assertEqual((row["value"], row["budget"], row["met"]), (0.8, ">= 0.83", False))
        self.assertEqual(self.row("matmul 64x64x64", "OpenBLAS")["value"], 1.33)
        self.assertEqual(self.row("matmul 64x64x64, all peers")["peer"], "oneDNN")
        self.assertIn("100 GFLOP/s", self.make()[1])

    def test_fraction_of_the_limit(self):
        row = self.row("relu, 16K floats")
        self.assertEqual((row["of_limit"], row["limit"]), (0.25, "L2"))
        self.assertEqual(self.row("update of weights with adamw")["limit"], "L2")
        row = self.row("update of weights with sgdw")
        self.assertEqual((row["of_limit"], row["limit"]), (0.15, "L2"))
        self.assertEqual(self.row("something new")["of_limit"], None)
        text = self.make()[1]
        self.assertRegex(text, r"relu, 16K floats .* yes +25% L2\n")
        self.assertIn("reads, copies and changes in place: L1 800, 800, L2 400, 320, 533", text)
        self.assertIn("below: Elementwise: relu, 16K floats: 25% of L2", text)
        self.assertIn("below: Matrix products: matmul 64x64x64, all peers: 80% of FMA", text)

    def test_rounding_comes_before_the_budget(self):
        row = self.row("relu, 16K floats")
        self.assertEqual((row["value"], row["met"]), (1.0, True))

    def test_rows_without_a_budget(self):
        row = self.row("something new")
        self.assertEqual((row["value"], row["budget"], row["met"]), (3.0, None, None))

    def test_allocations_and_compiling(self):
        self.assertTrue(self.row("Allocations", "MLP")["met"])
        self.assertFalse(self.row("MNIST training program, time")["met"])
        self.assertTrue(self.row("MNIST training program, memory")["met"])

    def test_nothing_is_said_of_what_was_not_measured(self):
        self.assertFalse([row for row in self.make()[2] if "CNN" in row["row"]])

    def test_budgets_can_be_read(self):
        for row in rows.ROWS:
            if row.budget:
                self.assertIn(table.meets(1.0, row.budget), (True, False))

    def test_pictures(self):
        folder = pathlib.Path(self.folder.name)
        pictures.main([str(self.path), "--output", str(folder), "--note", "a <machine>"])
        for name, text in (("speed.svg", "1.50"), ("roofline.svg", "matmul 64x64x64")):
            root = xml.etree.ElementTree.parse(folder / name).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            self.assertIn(text, "".join(root.itertext()))

    def test_performance_page(self):
        folder = pathlib.Path(self.folder.name, "run")
        (folder / "results").mkdir(parents=True)
        (folder / "results" / "all.json").write_text(json.dumps(CANNED), encoding="utf-8")
        (folder / "note.txt").write_text("a machine\n", encoding="utf-8")
        page = pathlib.Path(self.folder.name, "performance.md")
        page.write_text(f"before\n{performance.BEGIN}\nan older table\n{performance.END}\nafter\n", encoding="utf-8")
        for _ in range(2):  # what is written twice is the same
            performance.write(page, performance.section(folder, folder))
        text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertNotIn("an older table", text)
        self.assertIn("a machine. The peak of multiply-adds is 100 GFLOP/s", text)
        self.assertIn("| training: MLP 784-256-128-10, RMSprop, batch 32 | 150/s | 100/s (Eigen) | 1.50 | 1.50 | "
                      "50% of FMA |", text)
        # Less time is better, and the ratio says how many times as fast.
        self.assertIn("| 9.5 us | 10.0 us (OpenBLAS) | 1.05 | 1.05 |", text)
        self.assertIn("| relu, 16K floats | 1.00 | 1.00 | Eigen | 25% of L2 |", text)
        self.assertIn("| MNIST training program, time, gcc | 0.83 |", text)
        self.assertIn("relu, 16K floats 25%", text)


if __name__ == "__main__":
    unittest.main()
