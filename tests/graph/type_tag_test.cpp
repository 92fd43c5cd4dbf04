// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/graph/type_tag.hpp>
#include <stagecraft/layers/dense.hpp>
#include <concepts>
#include <doctest/doctest.h>

namespace sc = stagecraft;

namespace {
struct own {};
template <class T>
struct wrapped {};
constexpr sc::type_tag const* chosen(bool first) { return first ? sc::tag_of<own> : sc::tag_of<int>; }
}  // namespace

static_assert(sc::tag_of<int> != sc::tag_of<long>);
static_assert(std::same_as<sc::type_of_tag<sc::tag_of<own>>, own>);
static_assert(std::same_as<sc::type_of_tag<sc::tag_of<wrapped<own>>>, wrapped<own>>);
static_assert(std::same_as<sc::type_of_tag<sc::tag_of<sc::layers::dense>>, sc::layers::dense>);
// The way back starts from a value that constant evaluation has made.
static_assert(std::same_as<sc::type_of_tag<chosen(true)>, own>);
static_assert(std::same_as<sc::type_of_tag<chosen(false)>, int>);

TEST_CASE("a tag is one address per type") { CHECK(sc::tag_of<own> != sc::tag_of<wrapped<own>>); }
