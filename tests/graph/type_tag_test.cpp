// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/graph/type_tag.hpp>
#include <stagecraft/pipeline.hpp>
#include <concepts>
#include <doctest/doctest.h>

namespace sc = stagecraft;

namespace {
struct own {};
template <class T>
struct wrapped {};
constexpr sc::tracing::type_tag const* chosen(bool first) {
  return first ? sc::tracing::tag_of<own> : sc::tracing::tag_of<int>;
}

// Types that GCC gives one name.
constexpr auto plus_one = [](int x) { return x + 1; };
constexpr auto plus_two = [](int x) { return x + 2; };
template <auto Function>
struct lambda_layer : sc::layer<lambda_layer<Function>> {
  static constexpr std::string_view class_name = "Lambda";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return {Function(in[0][0])}; }
};
}  // namespace

// (Under its undefined-behaviour sanitizer, GCC cannot compare the addresses that tell them apart.)
#if defined(__clang__) || !defined(__SANITIZE_ADDRESS__)
using of_lambdas = sc::sequential<sc::layers::input{2}, lambda_layer<plus_one>{}, lambda_layer<plus_two>{}>;
static_assert(!sc::tracing::same_type(sc::tracing::tag_of<lambda_layer<plus_one>>,
                                      sc::tracing::tag_of<lambda_layer<plus_two>>));
static_assert(std::same_as<sc::layer_t<of_lambdas, 1>, lambda_layer<plus_one>>);
static_assert(std::same_as<sc::layer_t<of_lambdas, 2>, lambda_layer<plus_two>>);
static_assert(sc::output_shape_of<of_lambdas, 2> == sc::shape(5));
static_assert(sc::tracing::tag_of<int> != sc::tracing::tag_of<long>);
static_assert(std::same_as<sc::tracing::type_of_tag<sc::tracing::tag_of<own>>, own>);
static_assert(std::same_as<sc::tracing::type_of_tag<sc::tracing::tag_of<wrapped<own>>>, wrapped<own>>);
static_assert(std::same_as<sc::tracing::type_of_tag<sc::tracing::tag_of<sc::layers::dense>>, sc::layers::dense>);
// The way back starts from a value that constant evaluation has made.
static_assert(std::same_as<sc::tracing::type_of_tag<chosen(true)>, own>);
static_assert(std::same_as<sc::tracing::type_of_tag<chosen(false)>, int>);
#endif

TEST_CASE("a tag is one address per type") { CHECK(sc::tracing::tag_of<own> != sc::tracing::tag_of<wrapped<own>>); }
