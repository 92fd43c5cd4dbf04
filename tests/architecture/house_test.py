# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house must find what breaks them."""
import pathlib
import tempfile
import unittest
import unittest.mock

import house
import pages
from house import LEVELS

TOP = "// SPDX-License-Identifier: BSD-3-Clause\n// What this is.\n#pragma once\n"


class House(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return house.problems(folder)

    def header(self, name, *lines):
        return self.problems({f"include/stagecraft/{name}": TOP + "\n".join(lines) + "\n"})

    def assert_finds(self, found, *texts):
        self.assertEqual(len(found), 1, found)
        for text in texts:
            self.assertIn(text, found[0])

    def test_smaller_levels_are_fine(self):
        self.assertEqual(self.header("training/trainer.hpp", "#include <stagecraft/graph/shape.hpp>",
                                     "#include <stagecraft/training/callbacks/history.hpp>", "#include <string>"), [])
        self.assertEqual(self.header("pipeline/stages.hpp", "#include <stagecraft/models/model.hpp>"), [])

    def test_engines_do_not_ask_which_machine_they_have(self):
        asks = "constexpr bool holds = tiles::is_ipu<Machine>;"
        self.assert_finds(self.header("engine/policy/execution_policy.hpp", asks), ":4:", "policy")
        self.assertEqual(self.header("ipu/profile/profile.hpp", asks), [])

    def test_the_engine_knows_policies_alone(self):
        for other in ("host/lists/plan_runner.hpp", "ipu/steps/tile_work.hpp"):
            self.assert_finds(self.header("engine/pipeline_pass.hpp", f"#include <stagecraft/{other}>"), ":4:", "policy alone")
        self.assert_finds(self.header("engine/pipeline_pass.hpp", "#include <stagecraft/host/host_policy.hpp>"), ":4:", "INSIDE")
        self.assert_finds(self.header("host/host_policy.hpp", "#include <stagecraft/engine/session.hpp>"), ":4:", "INSIDE")
        self.assertEqual(self.header("host/host_policy.hpp", "#include <stagecraft/engine/policy/pass_memory.hpp>"), [])

    def test_machines_do_not_know_each_other(self):
        steps = "#include <stagecraft/host/lists/plan_runner.hpp>"
        self.assert_finds(self.header("ipu/profile/profile.hpp", steps), ":4:", "policy alone")
        self.assertEqual(self.header("ipu/emulation/ipu_policy.hpp", steps), [])
        self.assert_finds(self.header("host/host_policy.hpp", "#include <stagecraft/ipu/steps/tile_work.hpp>"), ":4:", "policy alone")
        self.assert_finds(self.header("description/job.hpp", "#include <stagecraft/ipu/steps/tile_work.hpp>"), ":4:", "policy alone")

    def test_machines_are_not_included_through_others_either(self):
        found = self.problems({
            "include/stagecraft/engine/session.hpp": TOP + "#include <stagecraft/kernels/update/steps.hpp>\n",
            "include/stagecraft/kernels/update/steps.hpp": TOP + "#include <stagecraft/ipu/steps/tile_work.hpp>\n",
            "include/stagecraft/ipu/steps/tile_work.hpp": TOP})
        self.assert_finds(found, "engine/session.hpp:1:", "not directly, <stagecraft/ipu/steps/tile_work.hpp>")

    def test_the_house_has_at_most_so_many_headers(self):
        headers = {f"include/stagecraft/graph/part_{i}.hpp": TOP for i in range(3)}
        with unittest.mock.patch.object(house, "MOST_HEADERS_IN_ALL", 2):
            self.assert_finds(self.problems(headers), "has 3 headers, more than 2")

    def test_a_kind_of_task_stands_in_three_headers(self):
        listed = ("#define STAGECRAFT_FAMILIES(EACH) \\", "  EACH(row_task)", "", "struct row_task {", "};")
        files = {"steps/task_work.hpp": listed,
                 "tasks/rows.hpp": ("operation_cost cost_of(lowered_step const& step, task const& of, row_task const& what,",),
                 "tiles/codelets/rows.hpp": ("void run(tile_machine& machine, task const& of, row_task const& what) {",)}

        def found(files):
            return self.problems({f"include/stagecraft/ipu/{name}": TOP + "\n".join(lines) + "\n" for name, lines in files.items()})

        self.assertEqual(found(files), [])
        self.assert_finds(found({**files, "tiles/codelets/rows.hpp": ()}), "run of row_task", "none")
        self.assert_finds(found({**files, "vertices/rows.hpp": files["tasks/rows.hpp"]}), "cost_of of row_task", "vertices/rows.hpp")

    def test_the_way_of_a_batch_is_as_told(self):
        header = "include/stagecraft/training/trainer.hpp"
        told = "## The way of a batch\n\n1. `training/trainer.hpp`: begins.\n2. `engine/session.hpp`: goes on.\n\n## Next\n"
        self.assert_finds(self.problems({"CONTRIBUTING.md": told, header: TOP}), "engine/session.hpp is on the way")
        both = {header: TOP + "#include <stagecraft/engine/session.hpp>\n", "include/stagecraft/engine/session.hpp": TOP}
        self.assertEqual(self.problems({"CONTRIBUTING.md": told, **both}), [])
        long = told.replace("\n\n## Next", "".join(f"\n{i}. `engine/session.hpp`: again." for i in range(3, 12)) + "\n\n## Next")
        self.assert_finds(self.problems({"CONTRIBUTING.md": long, **both}), "has 11 files")

    def test_plans_name_no_layer(self):
        for line in ("constexpr bool holds = same_type(type, tag_of<layers::dense>);", "#include <stagecraft/layers/core/dense.hpp>",
                     "#include <stagecraft/layers/layers.hpp>"):
            self.assert_finds(self.header("plan/call_needs.hpp", line), ":4:", "names a layer")
            self.assertEqual(self.header("host/host.hpp", line), [])
        for line in ("// not layers::dense alone", "#include <stagecraft/layers/traced_call.hpp>"):
            self.assertEqual(self.header("plan/call_needs.hpp", line), [])

    def test_documented_headers_put_macros_aside(self):
        header = "include/stagecraft/io/npz.hpp"
        around = "diagnostics/begin_headers.hpp", "diagnostics/end_headers.hpp"
        pages = {"docs/saving.md": "```cpp\n#include <stagecraft/io/npz.hpp>\n```\n"}
        lines = "".join(f"#include <stagecraft/{each}>\n" for each in around)
        self.assert_finds(self.problems({header: TOP, **pages}), header, "documents include it")
        self.assertEqual(self.problems({header: TOP + lines, **pages}), [])
        self.assertEqual(self.problems({header: TOP}), [])

    def test_numbers_follow_no_locale(self):
        for line in ('std::snprintf(text, sizeof text, "%.4f", x);', 'throw_data_error("E4007", "found %.15g of %d", x, n);',
                     "double const x = std::strtod(text, nullptr);", "auto const x = std::stof(text);",
                     "letter = std::toupper(letter);", "#include <sstream>"):
            self.assert_finds(self.header("io/npz.hpp", line), ":4:", "locale")
        for line in ('std::snprintf(text, sizeof text, "Epoch %05d: %s%%", n, s);', "// as printf's %.4f",
                     'text += "100 % faster";'):
            self.assertEqual(self.header("io/npz.hpp", line), [])

    def test_folders_are_not_too_full(self):
        headers = {f"include/stagecraft/layers/core/layer_{i}.hpp": TOP for i in range(house.MOST_HEADERS + 1)}
        self.assert_finds(self.problems(headers), "include/stagecraft/layers/core:1:", f"more than {house.MOST_HEADERS}")
        headers.popitem()
        self.assertEqual(self.problems({**headers, "include/stagecraft/layers/rnn/lstm.hpp": TOP}), [])

    def test_levels(self):
        self.assert_finds(self.header("graph/shape.hpp", "#include <stagecraft/layers/core/dense.hpp>"),
                          "include/stagecraft/graph/shape.hpp:4:", f"of layers, floor {LEVELS['layers']},",
                          f"of graph, floor {LEVELS['graph']};")
        self.assert_finds(self.header("models/model.hpp", "#include <stagecraft/pipeline/stages.hpp>"), ":4:",
                          f"floor {LEVELS['pipeline']}")
        self.assert_finds(self.header("pipeline.hpp", "#include <stagecraft/plan/model_plan.hpp>"), ":4:",
                          f"floor {LEVELS['plan']}")
        self.assert_finds(self.header("graph/shape.hpp", "#include <stagecraft/stagecraft.hpp>"), ":4:",
                          f"floor {len(house.FLOORS)}")

    def test_longest_path_wins(self):
        self.assertEqual(self.header("pipeline/stages.hpp", "#include <stagecraft/pipeline/schedule/timetable.hpp>"), [])
        self.assert_finds(self.header("pipeline/schedule/timetable.hpp", "#include <stagecraft/pipeline/stages.hpp>"), ":4:",
                          f"floor {LEVELS['pipeline']}")
        self.assertEqual(self.header("report/detail/chart.hpp", "#include <stagecraft/report/profile_data.hpp>"), [])
        self.assert_finds(self.header("ipu/anything.hpp"), "in no room")

    def test_order_inside_a_floor(self):
        self.assertEqual(self.header("kernels/loss/loss.hpp", "#include <stagecraft/kernels/pooling/max_pooling.hpp>"), [])
        self.assertEqual(self.header("ipu/profile/profile.hpp", "#include <stagecraft/ipu/lowering/dense.hpp>"), [])
        for name, other in (("pooling/max_pooling", "product/matmul"), ("pooling/max_pooling", "loss/loss")):
            self.assert_finds(self.header(f"kernels/{name}.hpp", f"#include <stagecraft/kernels/{other}.hpp>"), ":4:",
                              "of kernels/pooling", "INSIDE")
        self.assert_finds(self.header("losses/hinge.hpp", "#include <stagecraft/ipu/cycles/relu.hpp>"), ":4:", "INSIDE")

    def test_floors(self):
        self.assertLessEqual(len(house.FLOORS), house.MOST_FLOORS)
        rooms = [room for floor in house.FLOORS for room in floor.split()]
        self.assertEqual(len(rooms), len(set(rooms)))
        for number, row in enumerate(house.INSIDE):
            names = [room for rooms in row.split("<") for room in rooms.split()]
            self.assertEqual({house.PLACES[name][0] for name in names}, {number}, "a room stands in two rows")
            self.assertEqual(len({house.level_of(f"{name}/a.hpp") for name in names}), 1, f"{row}: on several floors")

    def test_rooms(self):
        self.assert_finds(self.header("utils/helper.hpp"), "in no room")
        self.assert_finds(self.header("graph/shape.hpp", "#include <stagecraft/utils/helper.hpp>"), ":4:", "in no room")

    def test_libraries(self):
        self.assert_finds(self.header("kernels/product/matmul.hpp", "#include <xsimd/xsimd.hpp>"), ":4:", "kernels/simd/simd.hpp")
        self.assert_finds(self.header("training/data/data.hpp", "  #  include <xtensor/xtensor.hpp>"), ":4:", "xtensor.hpp")
        self.assertEqual(self.header("kernels/simd/simd.hpp", "#include <xsimd/xsimd.hpp>"), [])

    def test_expensive_headers(self):
        self.assert_finds(self.header("layers/core/dense.hpp", "#include <string>"), ":4:", "too expensive")
        self.assertEqual(self.header("diagnostics/exceptions.hpp", "#include <string>"), [])
        self.assert_finds(
            self.problems({
                "include/stagecraft/diagnostics/exceptions.hpp": TOP + "#include <string>\n",
                "include/stagecraft/graph/shape.hpp": TOP + "#include <stagecraft/diagnostics/exceptions.hpp>\n",
                "include/stagecraft/pipeline.hpp": TOP + "#include <stagecraft/graph/shape.hpp>\n",
            }), "pipeline.hpp:1:", "exceptions.hpp")

    def test_files(self):
        self.assert_finds(self.header("graph/shape.hpp", *["int x;"] * 400), ":401:", "403 lines")
        self.assert_finds(self.header("graph/shape.hpp", "// " + "x" * 118), ":4:", "121 characters")
        self.assert_finds(self.problems({"tests/graph/shape_test.cpp": "int x;\n"}), ":1:", "licence")
        self.assert_finds(self.problems({"tools/a.py": "x = 1\n"}), ":1:", "licence")
        self.assert_finds(self.problems({"include/stagecraft/graph/a.hpp": TOP.replace("#pragma once\n", "int x;\n")}),
                          "#pragma once")
        self.assert_finds(self.problems({"include/stagecraft/graph/a.hpp": TOP.replace("is.", "is. Level 1.")}), "its level")

    def test_keep_dims(self):
        self.assert_finds(self.header("training/x.hpp", "auto s = x / xt::sum(x, {1}, xt::keep_dims);"), ":4:", "keep_dims")
        self.assertEqual(self.header("training/x.hpp", "auto s = xt::sum(x, {1},",
                                     "    xt::keep_dims | xt::evaluation_strategy::immediate);"), [])


class Pages(unittest.TestCase):
    HEADERS = {"vgg16.hpp": "/// Keras's VGG16: 23 layers, the input included, and 138,357,544 parameters for 1000\n"
                            "struct vgg16 : functional<vgg16<Options>> {\n};\n",
               "application_options.hpp": "struct application_options {\n  int height = 224, width = 224;\n};\n"}
    ROWS = ["| `VGG16` | `sc::applications::vgg16` | `<stagecraft/applications/vgg16.hpp>` | 23 | 138,357,544 |",
            "| `height`, `width` | 224 |"]

    def problems(self, *rows):
        return list(pages.problems_of_applications(self.HEADERS, "\n".join(rows)))

    def test_documented_applications_are_fine(self):
        self.assertEqual(self.problems(*self.ROWS), [])

    def test_an_application_that_no_row_has_is_found(self):
        self.assertEqual(len(self.problems(self.ROWS[1])), 1)
        self.assertEqual(len(self.problems(self.ROWS[0].replace("138", "139"), self.ROWS[1])), 1)

    def test_an_option_that_no_row_has_is_found(self):
        self.assertEqual(self.problems(self.ROWS[0], "| `height` | 224 |"),
                         ["docs/keras.md: its section Applications has no row for the option width"])


if __name__ == "__main__":
    unittest.main()
