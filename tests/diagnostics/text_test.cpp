// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/diagnostics/text.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;

static_assert(sc::fixed_text<8>("abc").append("de").append('f').view() == "abcdef");
static_assert(sc::fixed_text<4>("abcdef").view() == "abcd");  // what does not fit is cut off
static_assert(sc::fixed_text<4>("abc").append("defg").append('h') == "abcd");
static_assert(sc::fixed_text<24>().append(0).append(' ').append(-17).append(' ').append(1234567890123LL) ==
              "0 -17 1234567890123");
static_assert(sc::fixed_text<24>().append(-9223372036854775807LL - 1) == "-9223372036854775808");
static_assert(sc::fixed_text<8>().empty() && !sc::fixed_text<8>("a").empty());
static_assert(sc::fixed_name("dense") == sc::fixed_name("dense"));
static_assert(!(sc::fixed_name("dense") == "dense_1"));

template <sc::fixed_name Name>
struct named {};
static_assert(sizeof(named<"conv2d">) == 1);

TEST_CASE("texts hold what was appended") {
  sc::diagnostics::message text("layer '");
  text.append(sc::fixed_name("dense")).append("' has ").append(3).append(" inputs");
  CHECK(text.view() == "layer 'dense' has 3 inputs");
}
