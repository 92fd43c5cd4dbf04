# SPDX-License-Identifier: BSD-3-Clause
"""The runner of the cases must itself fail where it should: python3 runner_test.py g++ clang++-19"""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

import bad_variants
import compile_case
import precompiled
import run_case

COMPILERS = sys.argv[1:]

HEADER = """\
// expect-error: layer 'dense_3' expects an input of rank 2, but 'conv2d_1' gives shape (28, 28, 32) [E1999]
#include <stagecraft/diagnostics/compile_error.hpp>
constexpr stagecraft::diagnostics::diagnostic problem = [] {
  stagecraft::diagnostics::diagnostic result;
#ifdef STAGECRAFT_BAD
  result.report(1999, "layer 'dense_3' expects an input of rank ", 2, ", but 'conv2d_1' gives shape (28, 28, 32)");
#endif
  return result;
}();
"""
GOOD = HEADER + "static_assert(stagecraft::detail::report<problem>());  // <- here\n"
MANY_ERRORS = GOOD + "#ifdef STAGECRAFT_BAD\nint a = nothing;\nint b = nothing_else;\n#endif\n"


class Runner(unittest.TestCase):
    def problems(self, text, name="E1999_sample.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text, encoding="utf-8")
            case = compile_case.read_case(path)
            return {compiler: compile_case.problems_of_good_variants([case], compiler) +
                    self.problems_of_bad(case, compiler) for compiler in COMPILERS}

    @staticmethod
    def problems_of_bad(case, compiler):
        compiled, output = compile_case.compile_bad_variant(case, compiler)
        return compile_case.problems_of_bad_variant(case, compiled, output) or \
            (compile_case.length_problems(case, compiler, output) if not compiled else [])

    def assert_each(self, found, text):
        for compiler, texts in found.items():
            self.assertTrue(any(text in each for each in texts), f"{compiler}: no '{text}' in {texts}")

    def test_takes_several_cases(self):
        files = sorted(str(path) for path in compile_case.ROOT.glob("tests/compile_fail/E102*_*.cpp"))
        self.assertGreater(len(files), 1)
        cases, compilers = run_case.cases_and_compilers([*files, "g++", "clang++-19"])
        self.assertEqual([case.path.name for case in cases], [pathlib.Path(each).name for each in files])
        self.assertEqual(compilers, ["g++", "clang++-19"])
        for wrong in (files, ["g++"], ["g++", *files]):
            with self.assertRaises(SystemExit):
                run_case.cases_and_compilers(wrong)

    def test_passes_a_good_case(self):
        for compiler, texts in self.problems(GOOD).items():
            self.assertEqual(texts, [], compiler)

    def test_bad_variant_must_not_compile(self):
        self.assert_each(self.problems("// expect-error: [E1999]\nint x = 0;\n"), "the bad variant compiles")

    def test_good_variant_must_compile(self):
        self.assert_each(self.problems(GOOD + "int x = nothing;\n"), "a good variant does not compile")

    def test_good_variant_must_not_warn(self):
        self.assert_each(self.problems(GOOD + "bool warned(int a, unsigned b) { return a < b; }\n"), "compiles with warnings")

    def test_text_must_be_there(self):
        self.assert_each(self.problems(GOOD.replace("rank 2", "rank 3", 1)), "output lacks")

    def test_text_in_repeated_source_does_not_count(self):
        source = "// expect-error: [E1999]\n#ifdef STAGECRAFT_BAD\nint x = nothing;  /* [E1999] */\n#endif\n"
        self.assert_each(self.problems(source), "output lacks")

    def test_warning_is_of_what_compiles(self):
        text = ("// expect-warning: comparison\n// expect-warning: [E1999]\n#ifdef STAGECRAFT_BAD\n"
                "[[deprecated(\"comparison [E1999]\")]] void old();\nvoid now() { old(); }  // <- here\n#endif\n")
        for compiler, texts in self.problems(text).items():
            self.assertEqual(texts, [], compiler)
        self.assert_each(self.problems(text.replace("old(); }", "}")), "output lacks: comparison")

    def test_good_variants_together(self):
        one, other = "#include <array>\nint x = 0;\n", "int x = 0;\n"
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / "E1998_one.cpp", pathlib.Path(folder) / "E1999_other.cpp"]
            for path, text in zip(paths, (one, other)):
                path.write_text(text, encoding="utf-8")
            text = compile_case.together([compile_case.read_case(path) for path in paths])
        self.assertEqual(text, '#include <array>\nnamespace E1998_one {\n#line 2 "E1998_one.cpp"\nint x = 0;\n}\n'
                               'namespace E1999_other {\n#line 1 "E1999_other.cpp"\nint x = 0;\n}\n')

    def test_bad_variants_together(self):
        other = "// expect-error: [E1998]\n" + GOOD.replace(" [E1999]", "").replace("1999, \"layer 'dense_3' expects", "1998, \"it has")
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / "E1998_other.cpp", pathlib.Path(folder) / "E1999_sample.cpp"]
            for path, text in zip(paths, (other, GOOD)):
                path.write_text(text, encoding="utf-8")
            cases = [compile_case.read_case(path) for path in paths]
        for compiler in COMPILERS:
            wanting, good = bad_variants.problems_of_text(cases, compiler, "gnu++20", None)
            self.assertEqual(good[1:], ([], False), compiler)
            # What it expects is said, but of another case.
            self.assertTrue(wanting[2] and "output lacks: layer 'dense_3'" in wanting[1][0], f"{compiler}: {wanting}")
        own = "E1999_sample/example.cpp:3:1: error: one\n"
        for text, stems in (own, set(paths)), (own + "all.cpp:1:1: error: of none\n", set()), \
                (own + "E1998_other/example.cpp:1:1: error: two\nE1999_sample/example.cpp:1:1: note: of both\n", set()):
            self.assertEqual(bad_variants.outputs_by_case(cases, text, True)[0].keys(), {path.stem for path in stems})

    def test_at_most_two_errors(self):
        self.assert_each(self.problems(MANY_ERRORS), "prints 3 lines with `error:`")

    def test_length(self):
        limits = "// most-characters: 100 (GCC: a sample)\n// most-characters: 100 (Clang: a sample)\n"
        self.assert_each(self.problems(limits + GOOD), "characters, more than 100")
        self.assert_each(self.problems(limits.replace("most-characters: 100", "text-line: 0") + GOOD), "more than 0")
        for compiler, texts in self.problems(MANY_ERRORS + limits.replace("characters: 100", "error-lines: 3")).items():
            self.assertEqual(texts, [], compiler)
        self.assert_each(self.problems(limits.replace("most-characters: 100", "user-line: 1") + GOOD), "more than 1")
        self.assert_each(self.problems(limits.replace("most-characters: 100", "text-line: 9") + GOOD), "needs no `// text-line:`")
        self.assert_each(self.problems(limits.replace("100 (GCC: a sample", "9000 (GCC: designator") + GOOD), "has no designator")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "E1999_sample.cpp"
            path.write_text(GOOD, encoding="utf-8")
            case = compile_case.read_case(path)
        line = next(number for number, each in enumerate(case.marked_variant(True), 1) if each[2])
        rest = f"a.hpp:1: error: 'text [E1999]'\n  1 | x\nexample.cpp:{line}:1: note: here\n"
        output = (f"In file included from {compile_case.INCLUDE}/stagecraft/a.hpp:1,\n                 from b.hpp:1:\n"
                  f"{compile_case.INCLUDE}/{rest}")
        self.assertEqual(compile_case.printed(case, output), compile_case.Printed(len(rest), 1, 1, 3))

    def test_line_must_be_named(self):
        elsewhere = GOOD.replace("  // <- here", "") + "int y = 0;  // <- here\n"
        self.assert_each(self.problems(elsewhere), "does not name line")

    def test_code_must_be_expected(self):
        self.assert_each(self.problems(GOOD, "E1998_sample.cpp"), "names [E1998]")

    def test_variants(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "E1999_sample.cpp"
            path.write_text("// top\n\n#include <a>\n#ifdef STAGECRAFT_BAD\nbad;  // <- here\n#else\ngood;\n#endif\n"
                            "#if X\nx;\n#else\ny;\n#endif\n", encoding="utf-8")
            case = compile_case.read_case(path)
            rest = ["#if X", "x;", "#else", "y;", "#endif"]
            self.assertEqual(case.variant(True), ["#include <a>", "bad;", *rest])
            self.assertEqual(case.variant(False), ["#include <a>", "good;", *rest])

    def test_precompiles_what_a_case_includes_at_its_top(self):
        two, one = precompiled.PREFIXES
        texts = {
            "// top\n#include <stagecraft/pipeline.hpp>\n\n#include <stagecraft/training/trainer.hpp>\nint x;\n": two,
            "#include <stagecraft/pipeline.hpp>\n#include <array>\n#include <stagecraft/training/trainer.hpp>\n": two,
            "#include <stagecraft/stagecraft.hpp>\n": two,
            "#include <stagecraft/training/predictor.hpp>\n": (),
            "#include <stagecraft/pipeline.hpp>\nint x;\n#include <stagecraft/training/trainer.hpp>\n": one,
            "#define X\n#include <stagecraft/pipeline.hpp>\n": (),
            "#include <array>\n#include <stagecraft/pipeline.hpp>\n": one,
            "#ifdef STAGECRAFT_BAD\n#include <stagecraft/pipeline.hpp>\n#endif\n": ()}
        for text, prefix in texts.items():
            self.assertEqual(precompiled.prefix_of(text), prefix, text)

    def test_precompiles_again_what_is_newer(self):
        with tempfile.TemporaryDirectory() as folder:
            header, description = pathlib.Path(folder, "header.hpp"), pathlib.Path(folder, "headers.json")
            self.assertFalse(precompiled.is_current(description))
            header.write_text("", encoding="utf-8")
            os.utime(header, (time.time() - 9, time.time() - 9))
            description.write_text(json.dumps({"begin": time.time_ns(), "files": [str(header)]}), encoding="utf-8")
            self.assertTrue(precompiled.is_current(description))
            os.utime(header, (time.time() + 9, time.time() + 9))
            self.assertFalse(precompiled.is_current(description))
            header.unlink()
            self.assertFalse(precompiled.is_current(description))

    def test_joins_pieces(self):
        for text in ('m<piece<3>{"a \\\'b"}, piece<2>{"c\\\' d"}>', 'm<ns::piece<3>{{"a \\\'b"}}, ns::piece<2>{{"c\\\' d"}}>',
                     'm<{{"a \\\'b"}, {"c\\\' d"}}>'):
            self.assertIn("a 'bc' d", compile_case.readable(text))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
