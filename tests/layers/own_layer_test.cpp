// SPDX-License-Identifier: BSD-3-Clause
// A layer of the user's own, defined here, in all three kinds of model, nested, shared and staged.
#include "layer_rules.hpp"

#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/pipeline.hpp>
#include <concepts>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;

namespace mine {

/// y = factor * x + offset, per channel.
struct scale : sc::layer<scale> {
  static constexpr std::string_view class_name = "Scale";
  bool center = true;

  constexpr scale() = default;
  constexpr explicit scale(bool center_) : center(center_) {}

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (in[0].rank() < 1) return in.error(1002, "expects an input of at least one axis, but got ", in[0]);
    return in[0];
  }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "factor", .shape = {in[0].back()}, .initializer = sc::initializers::ones{}});
    if (center) weights.add({.name = "offset", .shape = {in[0].back()}});
  }
  [[nodiscard]] constexpr long long flops(sc::layer_inputs const& in) const {
    return (center ? 2LL : 1LL) * in[0].size();
  }
};

/// The least that a layer says.
struct twice : sc::layer<twice> {
  static constexpr std::string_view class_name = "Twice";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
};

struct adds_loss : sc::layer<adds_loss> {
  static constexpr std::string_view class_name = "AddsLoss";
  constexpr auto call(auto& ops, auto x) const {
    ops.add_loss(sqrt(ops.sum(square(x), -1)));
    return x;
  }
};

/// Two inputs, options without a constructor.
struct outer_product : sc::layer<outer_product> {
  static constexpr std::string_view class_name = "OuterProduct";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    if (!in.expect_count(2, 2)) return in[0];
    return {in[0].size(), in[1].size()};
  }
};

using in_sequential = sc::sequential<input{4, 3}, scale{}, twice{}, scale{false}, flatten{}, dense{2}>;

struct in_functional : sc::functional<in_functional> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4, 3);
    scale shared{true};
    x = shared(shared(x));
    return outer_product{}(x, twice{}(x));
  }
};

struct in_subclass : sc::model<in_subclass> {
  scale first;
  scale second{false};
  outer_product join;

  constexpr auto call(auto&, auto x) { return join(second(first(x)), first(x)); }
};
using built = sc::build<in_subclass, input{5}>;

struct nesting : sc::functional<nesting> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    x = sc::models::sequential_model<scale{}, twice{}>{}(x);
    return in_subclass{}(x);
  }
};

}  // namespace mine

static_assert(sc::Layer<mine::scale> && sc::Layer<mine::twice> && sc::Layer<mine::outer_product>);
static_assert(rules_of(mine::scale{}, sc::shape(4, 3)).weights.count == 2);
static_assert(rules_of(mine::scale{}, sc::shape{}).problem.code == 1002);

static_assert(sc::count_parameters<mine::in_sequential>() == 6 + 3 + 12 * 2 + 2);
static_assert(sc::graph_of<mine::in_sequential>.layers[1].name == "scale");
static_assert(sc::graph_of<mine::in_sequential>.layers[3].name == "scale_1");
static_assert(std::same_as<sc::layer_t<mine::in_sequential, 3>, mine::scale>);
static_assert(sc::layer_of<mine::in_sequential, 1>.center && !sc::layer_of<mine::in_sequential, 3>.center);
static_assert(sc::graph_of<mine::in_sequential>.call(1).flops == 24);
static_assert(sc::graph_of<mine::in_sequential>.call(2).flops == 0);

static_assert(sc::count_parameters<mine::in_functional>() == 6);  // shared
static_assert(sc::output_shape_of<mine::in_functional, 4> == sc::shape(12, 12));

static_assert(sc::count_parameters<mine::built>() == 10 + 5);
static_assert(std::same_as<sc::layer_t<mine::built, 1>, mine::scale>);
static_assert(sc::graph_of<mine::built>.layers[1].call_count == 2);

static_assert(sc::count_parameters<mine::nesting>() == 8 + 8 + 4);
static_assert(sc::output_shape_of<mine::nesting, sc::outputs_of<mine::nesting>[0]> == sc::shape(4, 4));

static_assert(sc::pipeline_stages<sc::pipelined<mine::in_sequential, sc::stages<0, 0, 1, 1, 1>>> == 2);
static_assert(sc::pipeline_stages<sc::pipelined<mine::in_functional, sc::stages<0, 0, 1, 1>>> == 2);

// Predictions find nothing of what is added to the loss.
static_assert([] {
  sc::shape const in[]{{6}};
  auto const steps = [&](bool finds_losses) {
    auto traced = sc::detail::trace_layer(mine::adds_loss{}, in, 2, false, finds_losses);
    int count = 0;
    for (int const id : sc::operations::traced_plan(std::move(traced), false).forward) count += id >= 0 ? 1 : 0;
    return count;
  };
  return steps(true) > steps(false);
}());

TEST_CASE("rows of an own layer") {
  CHECK(sc::models::summary_rows<mine::in_functional>[1].class_name == "Scale");
  CHECK(sc::models::summary_rows<mine::in_functional>[1].connected_to.size() == 2);
}
