// SPDX-License-Identifier: BSD-3-Clause
// The other translation unit of two_units_test.cpp.
#include "two_units.hpp"

#include <doctest/doctest.h>

namespace two_units {

stagecraft::tracing::graph_view const* graph_in_other_unit() { return &stagecraft::graph_of<model>; }
stagecraft::tracing::type_tag const* dense_tag_in_other_unit() {
  return stagecraft::tracing::tag_of<stagecraft::layers::dense>;
}
int stages_in_other_unit() { return stagecraft::pipeline_stages<staged>; }

}  // namespace two_units

TEST_CASE("the other unit prints the model, too") {
  int lines = 0;
  stagecraft::summary<two_units::model>({.print_fn = [&](std::string_view) { ++lines; }});
  CHECK(lines > 10);
}
