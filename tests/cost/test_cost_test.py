# SPDX-License-Identifier: BSD-3-Clause
"""The tool that tells what tests cost, on logs that stand here: python3 test_cost_test.py"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import test_cost  # noqa: E402

NINJA = """\
# ninja log v5
0\t9000\t1\ttests/CMakeFiles/laws_tests.dir/laws/dense_test.cpp.o\tabc
0\t2500\t2\ttests/CMakeFiles/laws_tests.dir/laws/dense_test.cpp.o\tabc
2500\t14500\t3\ttests/CMakeFiles/stagecraft_doctest_main.dir/cmake_pch.hxx.gch\tabc
14500\t15000\t4\ttests/laws_tests\tabc
15000\t15250\t5\texamples/01_mnist\tabc
"""
CTEST = """\
1/2 Testing: laws.dense
1/2 Test: laws.dense
Command: "laws_tests"
Test time =   0.75 sec
----------------------------------------------------------
2/2 Test: soak
Test time =  12.00 sec
"""


class TestCost(unittest.TestCase):
    def test_reads_ninja_and_ctest(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder) / "test"
            (build / "Testing" / "Temporary").mkdir(parents=True)
            (build / ".ninja_log").write_text(NINJA, encoding="utf-8")
            (build / "Testing" / "Temporary" / "LastTest.log").write_text(CTEST, encoding="utf-8")
            self.assertEqual(test_cost.costs_of(build), {
                "test: compile tests/laws/dense_test.cpp": 2.5,
                "test: compile tests/stagecraft_doctest_main, all headers": 12.0,
                "test: link": 0.75, "test: run laws.dense": 0.75, "test: run soak": 12.0})

    def test_names_what_grew_on_a_slower_machine(self):
        table = {"a": 4.0, "b": 10.0, "c": 20.0, "d": 1.0, "gone": 3.0}
        costs = {"a": 8.0, "b": 26.0, "c": 40.0, "d": 2.9, "new": 9.0}
        speed, grown = test_cost.compare(costs, table)
        self.assertAlmostEqual(speed, 2.3)
        self.assertEqual(grown, [])  # 26 is less than a quarter more than 23; d grew by less than a second
        costs["b"] = 60.0
        speed, grown = test_cost.compare(costs, table)
        self.assertEqual([name for name, _, _ in grown], ["b"])

    def test_leaves_out_what_a_cache_gave(self):
        speed, grown = test_cost.compare({"a": 0.1, "b": 0.1, "c": 10.0}, {"a": 9.0, "b": 9.0, "c": 10.0})
        self.assertEqual((speed, grown), (1.0, []))

    def test_table_round_trip(self):
        costs = {"test: run soak": 12.0, "test: link": 0.5}
        self.assertEqual(test_cost.read_table(test_cost.write_table(costs)), {"test: run soak": 12.0})


if __name__ == "__main__":
    unittest.main()
