// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/shape.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;

constexpr sc::diagnostics::diagnostic found = [] {
  sc::diagnostics::diagnostic problem;
  problem.report(1002, "layer '", sc::fixed_name("dense"), "' got ", sc::shape(28, 28));
  problem.report(1003, "a later problem says nothing");
  return problem;
}();

static_assert(!sc::diagnostics::diagnostic{}.failed());
static_assert(found.failed() && found.code == 1002);
static_assert(found.text == "layer 'dense' got (28, 28) [E1002]");

TEST_CASE("the first problem is kept, with its code at the end") { CHECK(found.text.view().ends_with("[E1002]")); }
