// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/plan_html.hpp>
#include <stagecraft/report/plan_json.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files.hpp"
#include "plan_example.hpp"
#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;

namespace {

/// Plan 0 is on one IPU, 1 and 2 have the best split, 3 and 4 the next best one.
constexpr int plans = 5;

std::string reasons_of(sc::plan_data const& data, int entry) {
  std::string text;
  for (auto const& sentence : sc::reports::plan_reasons(data, entry).sentences()) text += sentence + "\n";
  return text;
}

/// What a browser without a window makes of a page, in which a script of the test has run at the end; empty: there is
/// no browser.
std::string seen_in_browser(std::string page, std::string const& script) {
  page.insert(page.rfind("</body>"), "<script>" + script + "</script>\n");
  temporary_file const file("plan_in_browser.html"), profile("plan_browser_profile");
  std::ofstream(file.path(), std::ios::binary) << page;
  auto const command =
      "timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 "
      "--user-data-dir='" +
      profile.path() + "' --dump-dom 'file://" + file.path() + "' 2>/dev/null </dev/null";
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) return {};
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (auto const count = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), count);
  CHECK(::pclose(pipe) == 0);
  std::filesystem::remove_all(profile.path());
  return text;
}

/// The numbers of the plans that are shown, as the test's script writes them: "shown:1;".
constexpr auto* note_shown = R"(
var note = function () {
  var shown = [];
  document.querySelectorAll('.plan').forEach(function (each, i) { if (!each.hidden) { shown.push(i); } });
  var last = document.createElement('p');
  last.textContent = 'shown:' + shown.join() + ';' + location.hash + ';';
  document.body.appendChild(last);
};
var choose = function (which, index) {
  var select = document.querySelectorAll('#choices select')[which];
  select.selectedIndex = index;
  select.dispatchEvent(new Event('change'));
};
)";

}  // namespace

TEST_CASE("a page of plans is well-formed") {
  for (auto const& data : {plan_example::small(), plan_example::with_hostile_names(), sc::plan_data{}})
    CHECK(xml_problem::of(sc::plan_html(data)) == "");
}

TEST_CASE("a page of plans has a section for each plan, and shows the fastest that fits") {
  auto const data = plan_example::small();
  auto const text = sc::plan_html(data);
  REQUIRE(data.entries.size() == plans);
  CHECK(data.entry_of == std::vector<int>{0, 0, 0, 0, 1, 2, 3, 4});
  CHECK(data.best() == 1);
  CHECK(count_of(text, "<section class=\"plan\"") == plans);
  CHECK(count_of(text, " hidden=\"hidden\"") == plans - 1);
  CHECK(count_of(text, "<section class=\"plan\" id=\"plan1\">\n<h2>2 IPUs, 2 stages, best split, grouped schedule") ==
        1);
  CHECK(count_of(text, "<tr data-plan=") == plans);
  CHECK(count_of(text, "<select") == sc::plan_choices::dimensions);
  CHECK(count_of(text, "disabled=\"disabled\"") == 4);
  CHECK(count_of(text, "<option selected=\"selected\">2</option>") == 1);
  CHECK(count_of(text, "<svg ") == 2 * (plans - 1));  // none for the plan that there is not
  CHECK(count_of(text, "does not fit</td>") == 6);    // twice in the table of all, and as changes of others
}

TEST_CASE("the sentences say what decides the time, and what a change would give") {
  auto const data = plan_example::small();
  auto const text = reasons_of(data, 1);
  CHECK(count_of(text, "The bottleneck is IPU 0, stage 0 (dense): in 60 % of the time") == 1);
  CHECK(count_of(text,
                 "Of the layers there, dense takes most: 100 % of their cycles, of which exchange and sync are "
                 "23.1 %.") == 1);
  CHECK(count_of(text, "Another one is the slowest at other times: IPU 1 in 15 %.") == 1);
  CHECK(count_of(text, "syncs take 15 % of the time. The largest follows the forward pass of stage 0 (dense): 2 KiB") ==
        1);
  CHECK(count_of(text, "The weight update after the micro-batches takes 10 % of the time.") == 1);
  CHECK(count_of(text,
                 "In the next best split, stage 1 begins with dense_2 instead of dense_1, which gives 1.4 times "
                 "the samples per second, but it does not fit.") == 1);
  CHECK(count_of(text, "One IPU more, 3 in all, is not among the choices.") == 1);
  CHECK(count_of(text, "No other value of one choice gives more samples per second.") == 1);
  auto const one = reasons_of(data, 0);
  CHECK(count_of(one, "One IPU does everything") == 1);
  CHECK(count_of(one, "One IPU more, 2 in all, gives 5 times the samples per second.") == 1);
  CHECK(count_of(one, "If one choice changes, 2 IPUs would give most: 5 times the samples per second.") == 1);
  CHECK(reasons_of(data, 2) == "There is no such plan: dense: a rule is broken [E2024].\n");
  CHECK(count_of(reasons_of(data, 3), "It does not fit: 261 B are missing.") == 1);
}

TEST_CASE("the names of a model are text on a page of plans, whatever is in them") {
  auto const data = plan_example::with_hostile_names();
  auto const text = sc::plan_html(data);
  for (auto const* wrong : {"<img", "<script>document", "</title></script>", "onerror=\""})
    CHECK(count_of(text, wrong) == 0);
  CHECK(count_of(text, "</script>") == 2);  // of the JSON, and of the page's script
  CHECK(count_of(text, "<h1>Plans of &lt;/title&gt;&lt;/script&gt;&lt;script&gt;") == 1);
  auto const begin = text.find("id=\"plan\">") + 10;
  auto const json = nlohmann::json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  CHECK(json.at("model").get<std::string>() == data.model);
  CHECK(json.at("entries").at(1).at("first_layers").at(0).get<std::string>() ==
        data.entries[1].layers_of_stage[0].first);
}

TEST_CASE("a page of plans needs nothing besides itself, and computes nothing") {
  auto const text = sc::plan_html(plan_example::small());
  CHECK(count_of(text, "http") == count_of(text, "xmlns=\"http://www.w3.org/"));
  for (auto const* outside : {"src=", "url(", "@import", "<link", "<img", "<iframe", "innerHTML", "eval("})
    CHECK(count_of(text, outside) == 0);
}

TEST_CASE("numbers that are none are null in JSON, and - on the page") {
  auto data = plan_example::small();
  data.entries[1].profile.totals.samples_per_second = std::numeric_limits<double>::quiet_NaN();
  data.entries[1].profile.totals.bubble = std::numeric_limits<double>::infinity();
  auto const json = nlohmann::json::parse(sc::plan_json(data));
  CHECK(json.at("entries").at(1).at("samples_per_second").is_null());
  CHECK(json.at("entries").at(1).at("bubble").is_null());
  CHECK(xml_problem::of(sc::plan_html(data)) == "");
}

TEST_CASE("plans are written to files") {
  temporary_file const page("plan.html"), json("plan.json");
  auto const data = plan_example::small();
  sc::write_plan_html(data, page.path(), {.title = "a & b"});
  CHECK(page.text() == sc::plan_html(data, {.title = "a & b"}));
  CHECK(count_of(page.text(), "<title>a &amp; b</title>") == 1);
  sc::write_plan_json(data, json.path());
  CHECK(json.text() == sc::plan_json(data));
  CHECK(count_of(error_of([&] { sc::write_plan_html(data, "/nonexistent/plan.html"); }), "E5050") == 1);
  CHECK(count_of(error_of([&] { sc::write_plan_json(data, "/nonexistent/plan.json"); }), "write_plan_json") == 1);
}

TEST_CASE("a browser shows the plan that is chosen") {
  auto const script = std::string(note_shown) + R"(
note();                // the fastest
choose(3, 1); note();  // interleaved: there is no such plan
choose(2, 1); note();  // the next best split
choose(0, 0); note();  // one IPU
location.hash = '#plan3';
setTimeout(note, 200);
)";
  auto const text = seen_in_browser(sc::plan_html(plan_example::small()), script);
  if (text.empty()) {
    MESSAGE("skipped: there is no chromium");
    return;
  }
  for (auto const* note : {"shown:1;;", "shown:2;#plan2;", "shown:4;#plan4;", "shown:0;#plan0;", "shown:3;#plan3;"})
    CHECK(count_of(text, note) == 1);
}

TEST_CASE("a browser takes no name of a model for markup or script") {
  auto const text = seen_in_browser(sc::plan_html(plan_example::with_hostile_names()), std::string(note_shown) + R"(
choose(3, 1);
note();
var last = document.createElement('p');
last.textContent = 'images:' + document.images.length + ';scripts:' + document.scripts.length + ';title:' +
    document.title.slice(0, 8) + ';';
document.body.appendChild(last);
)");
  if (text.empty()) {
    MESSAGE("skipped: there is no chromium");
    return;
  }
  CHECK(count_of(text, "shown:2;") == 1);
  CHECK(count_of(text, "images:0;scripts:3;title:Plans of;") == 1);
}
