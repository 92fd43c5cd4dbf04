// SPDX-License-Identifier: BSD-3-Clause
// A model is the same object in each translation unit.
#include "two_units.hpp"

#include <doctest/doctest.h>

TEST_CASE("two translation units share one model") {
  CHECK(two_units::graph_in_other_unit() == &stagecraft::graph_of<two_units::model>);
  CHECK(two_units::dense_tag_in_other_unit() == stagecraft::tracing::tag_of<stagecraft::layers::dense>);
  CHECK(two_units::dense_tag_in_other_unit() == stagecraft::graph_of<two_units::model>.layers[1].type);
  CHECK(two_units::stages_in_other_unit() == stagecraft::pipeline_stages<two_units::staged>);
}
