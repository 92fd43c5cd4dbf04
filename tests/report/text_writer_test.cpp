// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/detail/text_writer.hpp>

#include <doctest/doctest.h>
#include <string>

using namespace stagecraft::reports;

static_assert(character_length("a") == 1 && character_length("") == 0);
static_assert(character_length("\xc3\xa4") == 2);          // a umlaut
static_assert(character_length("\xe2\x86\x92") == 3);      // an arrow
static_assert(character_length("\xf0\x9f\x90\x8d") == 4);  // a snake
// Cut off, a continuation alone, too long a spelling, a surrogate, beyond Unicode.
static_assert(character_length("\xe2\x86") == 0 && character_length("\x86") == 0);
static_assert(character_length("\xc0\x80") == 0 && character_length("\xe0\x80\x80") == 0);
static_assert(character_length("\xed\xa0\x80") == 0 && character_length("\xf4\x90\x80\x80") == 0);

namespace {

std::string xml(std::string_view text) {
  text_writer writer;
  return writer.xml(text).take();
}
std::string quoted(std::string_view text) {
  text_writer writer;
  return writer.quoted(text).take();
}
std::string number(double value) {
  text_writer writer;
  return (writer << value).take();
}

}  // namespace

TEST_CASE("XML's own characters are escaped, and what it cannot have is replaced") {
  CHECK(xml("a<b> & \"c\"") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(xml("\xe2\x86\x92 \xc3\xa4") == "\xe2\x86\x92 \xc3\xa4");
  CHECK(xml(std::string_view("a\0b\x01", 4)) ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd");
  CHECK(xml("cut \xe2\x86") == "cut \xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("texts in quotes are those of JSON") {
  CHECK(quoted("a \"b\" \\ c") == R"("a \"b\" \\ c")");
  CHECK(quoted("line\nline") == "\"line\xef\xbf\xbdline\"");
  CHECK(quoted("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("coordinates have one digit behind the point, if any") {
  CHECK(number(0) == "0");
  CHECK(number(12) == "12");
  CHECK(number(12.34) == "12.3");
  CHECK(number(12.96) == "13");
  CHECK(number(-0.04) == "0");
  CHECK(number(-0.5) == "-0.5");
  CHECK(number(-12.26) == "-12.3");
}

TEST_CASE("a drawing defines the colours that it uses, for light and dark pages") {
  svg_drawing drawing("A & B");
  drawing.box(1, 2, 3, 4, "t3 s3-edge", 2);
  drawing.text(0, 0, "grid");
  auto const text = drawing.document(10, 20);
  CHECK(text.find("<title>A &amp; B</title>") != std::string::npos);
  CHECK(text.find(".stagecraft .t3{fill:#e4d9fb}") < text.find("@media"));
  CHECK(text.find(".stagecraft .t3{fill:#372a63}") > text.find("@media"));
  CHECK(text.find(".stagecraft .s3-edge{stroke:#7a4fd0}") != std::string::npos);
  CHECK(text.find(".stagecraft .s3{") == std::string::npos);
  CHECK(text.find(".stagecraft .grid{") == std::string::npos);
}
