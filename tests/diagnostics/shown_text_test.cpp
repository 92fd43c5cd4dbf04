// SPDX-License-Identifier: BSD-3-Clause
// What files call something is shown, whatever it is, and never hides a message or its code.
#include <stagecraft/diagnostics/exceptions.hpp>
#include <doctest/doctest.h>
#include <string>
#include <string_view>

namespace sc = stagecraft;
using sc::diagnostics::shown_text, sc::diagnostics::shown_name;
using namespace std::string_view_literals;

static_assert(sc::diagnostics::character_length("\xed\xa0\x80") == 0);
static_assert(sc::diagnostics::character_length("\xf0\x9f\x98\x80") == 4);
static_assert(sc::diagnostics::character_length("\xc3") == 0);

TEST_CASE("control characters are shown, not carried out") {
  CHECK(shown_text("a\0b\x1b[2J\r\x7f"sv) == "a\\x00b\\x1b[2J\\x0d\\x7f");
  CHECK(shown_text("two\n  lines\tand a tab") == "two\n  lines\tand a tab");
  CHECK(shown_name("two\n  lines\t") == "two\\x0a  lines\\x09");
  CHECK(shown_text("Gr\xc3\xbc\xc3\x9f"
                   "e \xe6\x97\xa5 \xf0\x9f\x98\x80") ==
        "Gr\xc3\xbc\xc3\x9f"
        "e \xe6\x97\xa5 \xf0\x9f\x98\x80");
  CHECK(shown_text("\xff \xc0\x80 \xc2\x85 \xe2\x80\xae \xe2\x81\xa6") ==
        "\\xff \\xc0\\x80 \\xc2\\x85 \\xe2\\x80\\xae \\xe2\\x81\\xa6");
}

TEST_CASE("of long lines, the middle is left out, and no character is cut") {
  CHECK(shown_text(std::string(100000, 'x')).size() < 4100);
  CHECK(shown_name("abcdefghij", 4) == "ab... (6 bytes) ...ij");
  CHECK(shown_name("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 6) == "\xc3\xbc... (4 bytes) ...\xc3\xbc");
  CHECK(shown_text("1\n" + std::string(10, '2') + "\n3", 4) == "1\n22... (6 bytes) ...22\n3");
}

TEST_CASE("a message has its code, whatever is in it") {
  sc::file_error const why("E5001", std::string("name '\0' ", 9) + std::string(100000, 'y'));
  std::string_view const what = why.what();
  CHECK(what.starts_with("name '\\x00' yyy"));
  CHECK(what.ends_with("yyy [E5001]"));
  CHECK(what.size() < 4200);
}
