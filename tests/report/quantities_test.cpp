// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/detail/text_writer.hpp>

#include <cstdint>
#include <doctest/doctest.h>
#include <limits>

namespace detail = stagecraft::reports;

static_assert(detail::tick_distance(7, 8, false) == 1 && detail::tick_distance(10, 4, false) == 5);
static_assert(detail::tick_distance(std::int64_t{1} << 62, 8, false) > 0);

TEST_CASE("digits stand in groups of three") {
  CHECK(detail::grouped_digits(0) == "0");
  CHECK(detail::grouped_digits(999) == "999");
  CHECK(detail::grouped_digits(1'000) == "1,000");
  CHECK(detail::grouped_digits(-1'234'567) == "-1,234,567");
  CHECK(detail::grouped_digits(-123) == "-123");
}

TEST_CASE("what is counted is one or several") {
  CHECK(detail::counted(1, "tile") == "1 tile");
  CHECK(detail::counted(1'472, "tile") == "1,472 tiles");
  CHECK(detail::counted(0, "micro-batch", "es") == "0 micro-batches");
}

TEST_CASE("numbers have three digits, and no zeros at the end of a fraction") {
  CHECK(detail::three_digits(0) == "0");
  CHECK(detail::three_digits(-0.001) == "0");
  CHECK(detail::three_digits(0.05) == "0.05");
  CHECK(detail::three_digits(1.5) == "1.5");
  CHECK(detail::three_digits(9.994) == "9.99");
  CHECK(detail::three_digits(9.996) == "10");
  CHECK(detail::three_digits(46.66) == "46.7");
  CHECK(detail::three_digits(99.96) == "100");
  CHECK(detail::three_digits(-1234.5) == "-1235");
  CHECK(detail::three_digits(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(detail::three_digits(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("quantities have the largest unit of which there is one") {
  CHECK(detail::bytes_text(0) == "0 B");
  CHECK(detail::bytes_text(1'023) == "1023 B");
  CHECK(detail::bytes_text(1'024) == "1 KiB");
  CHECK(detail::bytes_text(624 * 1024) == "624 KiB");
  CHECK(detail::bytes_text(1'048'575) == "1 MiB");
  CHECK(detail::bytes_text(1'610'612'736) == "1.5 GiB");
  CHECK(detail::count_text(950) == "950");
  CHECK(detail::count_text(999.7) == "1 k");
  CHECK(detail::count_text(4.1e9) == "4.1 G");
  CHECK(detail::count_text(1.33e9, "Hz") == "1.33 GHz");
  CHECK(detail::count_text(0, "Hz") == "0 Hz");
  CHECK(detail::rate_text(5.24) == "5.24");
  CHECK(detail::rate_text(1'802.3) == "1,802");
  CHECK(detail::rate_text(2.5e6) == "2.5 M");
  CHECK(detail::seconds_text(0) == "0 ns");
  CHECK(detail::seconds_text(5.28e-3) == "5.28 ms");
  CHECK(detail::seconds_text(999.7e-6) == "1 ms");
  CHECK(detail::seconds_text(1e-6) == "1 \xc2\xb5s");
  CHECK(detail::seconds_text(75.2) == "75.2 s");
}

TEST_CASE("shares are in percent, with a tenth") {
  CHECK(detail::percent_text(0) == "0 %");
  CHECK(detail::percent_text(0.0001) == "<0.1 %");
  CHECK(detail::percent_text(0.4666) == "46.7 %");
  CHECK(detail::percent_text(1) == "100 %");
  CHECK(detail::percent_text(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(detail::share_of(1, 0) == 0);
  CHECK(detail::share_of(1, 4) == 0.25);
}
