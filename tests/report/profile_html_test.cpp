// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/profile_html.hpp>

#include <doctest/doctest.h>
#include <limits>
#include <string>

#include "files.hpp"
#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace profile_example;

TEST_CASE("a page is well-formed") {
  for (auto const& data : {small(), with_odd_names(), sc::profile_data{}, large(1, 12, 1), large(4, 60, 40),
                           large(2, 30, 300, sc::interleaved, true), large(3, 20, 6, sc::schedule::sequential)})
    CHECK(xml_problem::of(sc::profile_html(data)) == "");
}

TEST_CASE("a page has the sections that there is something for") {
  auto const text = sc::profile_html(small());
  for (auto const* id : {"memory", "liveness", "time", "pipeline", "layers"}) {
    CHECK(count_of(text, std::string("<h2 id=\"") + id + "\">") == 1);
    CHECK(count_of(text, std::string("<a href=\"#") + id + "\">") == 1);
  }
  CHECK(count_of(text, "<svg ") == 5);
  auto const empty = sc::profile_html({});
  CHECK(count_of(empty, "<h2") == 0);
  CHECK(count_of(empty, "<svg ") == 0);
  CHECK(count_of(empty, "<title>Profile</title>") == 1);
  auto const one = sc::profile_html(large(1, 4, 1));
  CHECK(count_of(one, "id=\"pipeline\"") == 0);
  CHECK(count_of(one, ">bubble<") == 1);  // of the facts; the figure is for pipelines
}

TEST_CASE("a page needs nothing besides itself") {
  auto const text = sc::profile_html(large(2, 30, 30));
  CHECK(count_of(text, "http") == count_of(text, "xmlns=\"http://www.w3.org/"));
  for (auto const* outside : {"src=", "url(", "@import", "<link", "<img", "<iframe"})
    CHECK(count_of(text, outside) == 0);
}

TEST_CASE("names are text, whatever is in them") {
  auto const text = sc::profile_html(with_odd_names());
  for (auto const* tag : {"<script>alert", "<b>\\", "<i> ", "<ipu>", "\x1b"}) CHECK(count_of(text, tag) == 0);
  CHECK(count_of(text,
                 "<h1>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; ]]&gt;</h1>") == 1);
  CHECK(count_of(text, ">cut \xef\xbf\xbd") == 1);
  CHECK(count_of(text, "title=\"&lt;/td&gt;&lt;b&gt;\\&quot;\xc3\xa4\xe2\x86\x92\xef\xbf\xbd\"") == 1);
}

TEST_CASE("the table of layers has a row for each, with numbers to sort by") {
  auto const text = sc::profile_html(small());
  CHECK(count_of(text, "<tr><td class=\"text name\"") == 2);
  CHECK(count_of(text, "<th scope=\"col\"") == 15);
  CHECK(count_of(text, "<td data-value=\"130\" class=\"share\" style=\"--part: 50%\">130</td>") == 1);
  CHECK(count_of(text, "<td data-value=\"50000\">5 %</td>") == 1);
}

TEST_CASE("a page shows numbers that are none as -") {
  auto data = small();
  data.totals.utilisation = data.layers[0].utilisation = std::numeric_limits<double>::quiet_NaN();
  data.totals.samples_per_second = data.totals.seconds_per_update = std::numeric_limits<double>::infinity();
  auto const text = sc::profile_html(data);
  CHECK(xml_problem::of(text) == "");
  for (auto const* wrong : {">nan", ">inf", "NaN", "\"nan"}) CHECK(count_of(text, wrong) == 0);
}

TEST_CASE("a page says whether the model fits") {
  auto data = small();
  CHECK(count_of(sc::profile_html(data), "<b class=\"good\">35.3 %</b>") == 1);
  data.machine.bytes_per_tile = 100;
  CHECK(count_of(sc::profile_html(data), "<b class=\"bad\">361 %</b>") == 1);
  CHECK(count_of(sc::profile_html(data), "DOES NOT FIT") == 1);
}

TEST_CASE("a page has the options' title, and their JSON for programs") {
  auto const text = sc::profile_html(small(), {.title = "a & b", .json = "{\"name\": \"</script>&\"}"});
  CHECK(xml_problem::of(text) == "");
  CHECK(count_of(text, "<title>a &amp; b</title>") == 1);
  CHECK(count_of(text,
                 "<script type=\"application/json\" id=\"profile\">"
                 "{\"name\": \"\\u003c/script\\u003e\\u0026\"}</script>") == 1);
  CHECK(count_of(sc::profile_html(small()), "application/json") == 0);
}

TEST_CASE("a page is written to a file") {
  temporary_file const file("profile.html");
  sc::write_profile_html(small(), file.path(), {.title = "title"});
  CHECK(file.text() == sc::profile_html(small(), {.title = "title"}));
  auto const problem = error_of([] { sc::write_profile_html(small(), "/nonexistent/profile.html"); });
  CHECK(count_of(problem, "E5050") == 1);
  CHECK(count_of(problem, "write_profile_html: cannot open '/nonexistent/profile.html'") == 1);
}
