// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/profile_html.hpp>
#include <stagecraft/report/profile_json.hpp>
#include <stagecraft/report/profile_text.hpp>

#include <doctest/doctest.h>
#include <limits>
#include <string>

#include "../each_locale.hpp"
#include "files.hpp"
#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace profile_example;

namespace {

/// The error of a profile in which one text is replaced.
std::string error_with(std::string const& what, std::string const& by) {
  auto text = sc::profile_json(small());
  auto const at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), by);
  return error_of([&] { static_cast<void>(sc::profile_from_json(text)); });
}

}  // namespace

TEST_CASE("a profile comes back from JSON as it was") {
  for (auto const& data : {small(), sc::profile_data{}, large(1, 12, 1), large(3, 30, 12, sc::interleaved, true),
                           large(2, 20, 6, sc::schedule::sequential)})
    CHECK((sc::profile_from_json(sc::profile_json(data)) == data));
}

TEST_CASE("numbers come back exactly") {
  auto data = small();
  data.totals.bubble = 1.0 / 3;
  data.totals.seconds_per_update = 5e-324;
  data.totals.cycles_per_update = std::int64_t{1} << 53;
  data.time_line.left_out = {-1, std::int64_t{1} << 53};
  CHECK((sc::profile_from_json(sc::profile_json(data)) == data));
}

TEST_CASE("reports and their pictures are the same bytes in every locale") {
  auto data = small();
  data.totals.bubble = 1.0 / 3;
  data.totals.seconds_per_update = 1234.5;
  auto const json = sc::profile_json(data), text = sc::profile_text(data), page = sc::profile_html(data);
  tests::for_each_locale([&](char const* which) {
    CAPTURE(which);
    CHECK((sc::profile_from_json(json) == data));
    CHECK(sc::profile_json(data) == json);
    CHECK(sc::profile_text(data) == text);
    CHECK(sc::profile_html(data) == page);
  });
}

TEST_CASE("what JSON cannot have becomes what it can") {
  auto data = small();
  data.totals.utilisation = std::numeric_limits<double>::quiet_NaN();
  CHECK(sc::profile_from_json(sc::profile_json(data)).totals.utilisation == 0);
  auto const odd = sc::profile_from_json(sc::profile_json(with_odd_names()));
  CHECK(odd.layers[0].name == with_odd_names().layers[0].name);
  CHECK(odd.layers[1].name == "cut \xef\xbf\xbd");
}

TEST_CASE("tiles with the same memory are one entry") {
  auto const text = sc::profile_json(large(1, 12, 1));
  CHECK(count_of(text, "\"tiles\": 736") == 1);
  CHECK(count_of(text, "\"weights\": ") == 3);
  CHECK(count_of(sc::profile_json(small()), "\"batches\": 8") == 2);  // not where there are none
}

TEST_CASE("a page has the JSON in it") {
  auto const json = sc::profile_json(with_odd_names());
  auto const page = sc::profile_html(with_odd_names(), {.json = json});
  CHECK(xml_problem::of(page) == "");
  std::string const begin = "id=\"profile\">", end = "</script>";
  auto const from = page.find(begin) + begin.size();
  auto const embedded = page.substr(from, page.find(end, from) - from);
  CHECK((sc::profile_from_json(embedded) == sc::profile_from_json(json)));
}

TEST_CASE("E5052: what is no profile is told from one") {
  auto const error = [](std::string const& text) {
    return error_of([&] { static_cast<void>(sc::profile_from_json(text)); });
  };
  for (auto const* text : {"", "{", "[]", "3", "null", "{}", "\xff"}) CHECK(count_of(error(text), "E5052") == 1);
  CHECK(count_of(error("[]"), "an object was expected, not array") == 1);
  CHECK(count_of(error("{}"), "there is no member \"format\"") == 1);
  CHECK(count_of(error_with("stagecraft profile", "other"), "\"format\" is \"other\"") == 1);
  CHECK(count_of(error_with("\"version\": 1", "\"version\": 2"), "its version is 2, not 1") == 1);
  CHECK(count_of(error_with("grouped", "grupped"), "\"schedule\" is \"grupped\", which is none of its values") == 1);
  CHECK(count_of(error_with("\"batch_size\": 8", "\"batch_size\": 8.5"), "\"batch_size\" is not an integer") == 1);
  CHECK(count_of(error_with("\"batch_size\": 8", "\"batch_size\": 3000000000"),
                 "\"batch_size\" is 3000000000, not from -1 to 2147483647") == 1);
  CHECK(count_of(error_with("\"trains\": true", "\"trains\": \"no\""), "E5052") == 1);
  CHECK(count_of(error_with("\"bubble\": 0.25", "\"bubble\": []"), "E5052") == 1);
  CHECK(count_of(error_with("\"micro_batches\": 4", "\"micro_batches\": 0"), "is 0, not from 1 to 1000000") == 1);
  CHECK(count_of(error_with("\"tiles\": 1,", "\"tiles\": 2000000,"), "stands for 2000000 tiles") == 1);
  CHECK(count_of(error_with("\"weights\": 100", "\"weights\": 18446744073709551615"), "not from 0 to 1000000000000") ==
        1);
  CHECK(count_of(error_with("\"device_of_stage\": [\n  0", "\"device_of_stage\": [\n  -1"), "\"device_of_stage\"") ==
        1);
}

TEST_CASE("a profile is written to a file, and read") {
  temporary_file const file("profile.json");
  sc::write_profile_json(small(), file.path());
  CHECK(file.text() == sc::profile_json(small()));
  CHECK((sc::read_profile_json(file.path()) == small()));
  CHECK(count_of(error_of([] { sc::write_profile_json(small(), "/nonexistent/profile.json"); }), "E5050") == 1);
  auto const read = [](std::string const& path) {
    return error_of([&] { static_cast<void>(sc::read_profile_json(path)); });
  };
  CHECK(count_of(read("/nonexistent/profile.json"), "E5053") == 1);
  CHECK(count_of(read("/"), "E5053") == 1);  // a folder
  CHECK(count_of(read("/dev/null"), "E5052") == 1);
}
