// SPDX-License-Identifier: BSD-3-Clause
// Regular expressions for names: in constant evaluation; as Python's re.match; what is wrong, and where.
#include <stagecraft/models/name_pattern.hpp>
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <string_view>

namespace {

using stagecraft::models::name_pattern;

constexpr bool matches(std::string_view pattern, std::string_view name) { return name_pattern(pattern).matches(name); }

static_assert(matches("^conv[1-3]_", "conv2_block1_out") && !matches("^conv[1-3]_", "conv4_block1_out"));
static_assert(matches("conv", "conv4_block1_out") && !matches("block", "conv4_block1_out"));
static_assert(matches(".*_(conv|bn)$", "conv4_block1_2_bn") && !matches(".*_(conv|bn)$", "conv4_block1_2_relu"));
static_assert(matches("dense_\\d{1,2}$", "dense_12") && !matches("dense_\\d{1,2}$", "dense_123"));
static_assert(matches("[^_]*$", "flatten") && !matches("[^_]*$", "dense_1"));
static_assert(matches("a+?b", "aaab") && matches("(?:ab|c)*d", "abcabd"));
static_assert(matches("", "dense") && matches("^$", "") && !matches("^$", "dense"));
static_assert(matches(".", "\xc3\xa4") && matches("[^a]", "\xc3\xa4") && !matches("\\w", "\xc3\xa4"));

// Patterns for which other matchers take ages: here all ways are followed at once.
static_assert(!matches("(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"));
static_assert(!matches("(a|aa)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));

// What is wrong, and with which character.
constexpr bool fails(std::string_view pattern, std::string_view problem, int at) {
  name_pattern const read(pattern);
  return read.failed() && read.problem() == problem && read.problem_at() == at && !read.matches("");
}
static_assert(fails("^conv[1-3_", "a '[' has no ']'", 5));
static_assert(fails("a(b|(c)", "a '(' has no ')'", 1));
static_assert(fails("ab)c", "a ')' has no '('", 2));
static_assert(fails("a|*", "there is nothing to repeat", 2));
static_assert(fails("a^+", "there is nothing to repeat", 2));
static_assert(fails("ab{2}*", "a repetition is repeated", 5));
static_assert(fails("a{3,2}", "it repeats at least more than at most", 1));
static_assert(fails("[ab-a]", "a range of characters ends before it begins", 2));
static_assert(fails("[\\d-z]", "a range of characters ends before it begins", 1));
static_assert(fails("a\\", "it ends with a '\\'", 1));
static_assert(fails("a\\q", "this letter or digit has no meaning behind a '\\'", 1));
static_assert(fails("(a)\\1", "this letter or digit has no meaning behind a '\\'", 3));
static_assert(fails("a(?=b)", "groups that begin with '(?' are not supported", 1));
static_assert(fails("a{1000}", "it is too long", 7));
static_assert(!name_pattern("a{200}").failed() && name_pattern("(a{20}){20}").failed());
static_assert(name_pattern("((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))").failed());

}  // namespace

TEST_CASE("patterns match what Python's re.match says") {
  std::ifstream file(STAGECRAFT_GOLDEN_DIR "/name_patterns.txt");
  int matched = 0, others = 0, errors = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) continue;
    auto const name_at = line.find('\t'), result_at = line.rfind('\t');
    REQUIRE(name_at < result_at);
    std::string_view const text(line);
    auto const pattern = text.substr(0, name_at), name = text.substr(name_at + 1, result_at - name_at - 1);
    auto const expected = text.substr(result_at + 1);
    name_pattern const read(pattern);
    CAPTURE(line);
    CHECK(read.failed() == (expected == "error"));
    CHECK(read.matches(name) == (expected == "1"));
    ++(expected == "1" ? matched : expected == "0" ? others : errors);
  }
  CHECK(matched > 300);
  CHECK(others > 300);
  CHECK(errors > 300);
}
