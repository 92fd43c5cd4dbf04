// SPDX-License-Identifier: BSD-3-Clause
// Scopes of pipeline stages: by call and by layer, precedence, all or nothing, never nested.
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

template <class M>
constexpr auto const& layer_problem = sc::detail::frozen_graph<M>.problem;
template <class M>
constexpr auto const& stage_problem = sc::detail::stage_problem<M>;

// By call, as in the guide: a layer that is called in two stages.
struct by_call : sc::functional<by_call> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    dense twice{8};
    {
      sc::pipeline_stage stage(model, 0);
      x = dense{8}(x);
    }
    auto a = x, b = x;
    {
      sc::pipeline_stage stage(model, 1);
      a = twice(a);
      b = twice(b);
    }
    {
      sc::pipeline_stage stage(model, 2);
      x = concatenate{}(a, b);
    }
    sc::pipeline_stage stage(model, 3);
    return dense{1}(x);
  }
};
static_assert(sc::is_pipelined<by_call> && sc::pipeline_stages<by_call> == 4);
static_assert(sc::stage_of<by_call, sc::find_call<by_call>("dense")> == 0);
static_assert(sc::stage_of<by_call, sc::find_call<by_call>("dense_1", 1)> == 1);
static_assert(sc::stage_of<by_call, sc::find_call<by_call>("concatenate")> == 2);
static_assert(sc::stage_of<by_call, 0> == sc::tracing::unassigned);  // an input has no stage
static_assert(sc::calls_of_stage<by_call, 1>.size() == 2);
static_assert(sc::device_of<by_call, 3> == 3);

// By layer: made in a scope, called outside. The scope of a call goes before.
struct by_layer : sc::functional<by_layer> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    dense first{8}, second{8};
    {
      sc::pipeline_stage stage(model, 0);
      first = model.layer(dense{8});
    }
    {
      sc::pipeline_stage stage(model, 1);
      second = model.layer(dense{8});
    }
    x = first(x);
    {
      sc::pipeline_stage stage(model, 1);
      x = activation{sc::relu}(first(x));
    }
    return second(x);
  }
};
static_assert(sc::stage_of<sc::pipelined<by_layer, [](auto&) {}, sc::device_mapping<0, 0>>,
                           sc::find_call<by_layer>("dense", 0)> == 0);
static_assert(sc::stage_of<sc::pipelined<by_layer, [](auto&) {}, sc::device_mapping<0, 0>>,
                           sc::find_call<by_layer>("dense", 1)> == 1);
// Without a mapping, the shared layer would need two devices.
static_assert(stage_problem<by_layer>.code == 2010);

struct of_members : sc::model<of_members> {
  dense first = dense{4}.in_pipeline_stage(0);
  dense second = dense{4}.in_pipeline_stage(1);
  constexpr auto call(auto&, auto x) { return second(first(x)); }
};
static_assert(sc::pipeline_stages<sc::build<of_members, input{4}>> == 2);

// A scope around a nested model's call holds all of its calls.
struct around_nested : sc::functional<around_nested> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    {
      sc::pipeline_stage stage(model, 0);
      x = sc::sequential<dense{4}, dense{4}>{}(x);
    }
    sc::pipeline_stage stage(model, 1);
    return dense{1}(x);
  }
};
static_assert(sc::calls_of_stage<around_nested, 0>.size() == 2);

// All or nothing.
struct one_without : sc::functional<one_without> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense{4}(x);
    }
    x = dropout{0.5}(x);
    sc::pipeline_stage stage(model, 1);
    return dense{1}(x);
  }
};
static_assert(stage_problem<one_without>.code == 2003);
static_assert(stage_problem<one_without>.text ==
              "layer 'dropout' (node index 0) has no pipeline stage; all layers of a pipelined model need one [E2003]");

struct nested_scopes : sc::functional<nested_scopes> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    sc::pipeline_stage outer(model, 0);
    x = dense{4}(x);
    sc::pipeline_stage inner(model, 1);
    return dense{4}(x);
  }
};
static_assert(layer_problem<nested_scopes>.code == 2011);
static_assert(layer_problem<nested_scopes>.text ==
              "the scope of pipeline stage 1 is opened inside the scope of stage 0; scopes are never nested, close the "
              "first one before [E2011]");

struct negative : sc::functional<negative> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    sc::pipeline_stage stage(model, -2);
    return dense{4}(x);
  }
};
static_assert(layer_problem<negative>.code == 2012);

// A layer that is made in a scope as any other value knows nothing of it: never is a model without stages in silence.
struct made_in_vain : sc::functional<made_in_vain> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    dense first{4}, second{4};
    {
      sc::pipeline_stage stage(model, 0);
      first = dense{8};
    }
    {
      sc::pipeline_stage stage(model, 1);
      second = dense{8};
    }
    return second(first(x));
  }
};
static_assert(layer_problem<made_in_vain>.text ==
              "nothing is called in the scope of pipeline stage 0, so that it assigns nothing; call layers in it, or "
              "make them in it with model.layer(dense{8}), to be called later [E2055]");
static_assert(layer_problem<made_in_vain>.where.line > 0);
// What no output needs, an input, and a layer that is never called are not stages of a model, but it says that it has
// some.
template <int Part>
struct staged_apart : sc::functional<staged_apart<Part>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    {
      sc::pipeline_stage stage(model, 0);
      if (Part == 0) dense{4}(x);
      if (Part == 1) model.input(4);
      if (Part == 2) model.layer(dense{4});
    }
    return dense{1}(x);
  }
};
static_assert(stage_problem<staged_apart<0>>.code == 2003 && stage_problem<staged_apart<1>>.code == 2003);
static_assert(stage_problem<staged_apart<2>>.code == 2003 && layer_problem<staged_apart<3>>.code == 2055);
// A stage of a number below 0 is no missing stage.
struct below_0 : sc::model<below_0> {
  dense first = dense{4}.in_pipeline_stage(-1);
  constexpr auto call(auto&, auto x) { return first(x); }
};
static_assert(stage_problem<sc::build<below_0, input{4}>>.code == 2012);
// Inputs alone may be in stage 0.
struct only_inputs_first : sc::functional<only_inputs_first> {
  static constexpr auto build(auto& model) {
    auto x = [&] {
      sc::pipeline_stage stage(model, 0);
      return model.input(4);
    }();
    sc::pipeline_stage stage(model, 1);
    return dense{1}(x);
  }
};
static_assert(sc::pipeline_stages<only_inputs_first> == 2 && sc::calls_of_stage<only_inputs_first, 0>.size() == 0);

// Models with stages inside others keep them, each time they are called.
struct two_branches : sc::functional<two_branches> {
  static constexpr std::string_view name = "branches";
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    dense{8}(x);  // needed by nothing
    auto a = dense{8}(x), b = dense{8}(x);
    return sc::outputs(add{}(a, b), a);
  }
};
using staged_branches = sc::pipelined<two_branches, sc::stages<0, 0, 1>>;
struct around_staged : sc::functional<around_staged> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    staged_branches inner;
    auto [sum, a] = inner(x);
    sc::pipeline_stage stage(model, 2);
    return concatenate{}(sum, dense{4}(a));
  }
};
static_assert(sc::pipeline_stages<around_staged> == 3 && sc::calls_of_stage<around_staged, 0>.size() == 2);
static_assert(sc::stage_of<around_staged, sc::find_call<around_staged>("add")> == 1);
static_assert(sc::graph_of<around_staged>.nested_models[1].name == "branches");
struct shares_staged : sc::functional<shares_staged> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    staged_branches inner;
    auto [sum, a] = inner(x);
    auto [again, b] = inner(a);
    sc::pipeline_stage stage(model, 1);
    return add{}(sum, again);
  }
};
static_assert(sc::pipeline_stages<shares_staged> == 2 && sc::graph_of<shares_staged>.layers.size() == 5);
static_assert(sc::stage_of<shares_staged, sc::find_call<shares_staged>("add", 1)> == 1);
using staged_stack = sc::pipelined<sc::sequential<input{8}, dense{4}, dense{8}>, sc::stages<0, 1>>;
static_assert(sc::pipeline_stages<sc::sequential<input{8}, staged_stack{}>> == 2);

// Their stages and scopes are taken away together, and are not mixed with others.
template <class Inner, bool InScope>
struct calls_one : sc::functional<calls_one<Inner, InScope>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    if (!InScope) return Inner{}(x);
    auto y = [&] {
      sc::pipeline_stage stage(model, 0);
      return Inner{}(x);
    }();
    sc::pipeline_stage stage(model, 1);
    return dense{8}(y);
  }
};
static_assert(!sc::is_pipelined<calls_one<sc::unpipelined<staged_stack>, false>>);
static_assert(!sc::is_pipelined<calls_one<sc::unpipelined<by_call>, false>>);
static_assert(sc::calls_of_stage<calls_one<sc::unpipelined<by_call>, true>, 0>.size() == 5);
static_assert(sc::pipeline_stages<calls_one<staged_stack, false>> == 2);
static_assert(layer_problem<calls_one<staged_stack, true>>.text ==
              "model 'sequential' has pipeline stages of its own, but is called inside the scope of pipeline stage 0; "
              "call it outside, or without its stages [E2011]");
using mapped_stack =
    sc::pipelined<sc::sequential<input{8}, dense{4}, dense{8}>, sc::stages<0, 1>, sc::device_mapping<0, 0>>;
static_assert(layer_problem<calls_one<mapped_stack, false>>.code == 2056);

// GCC 12 takes a `>` in a lambda that stands in a template argument for the argument's end; not so in a variable.
constexpr auto merge_last = [](auto& assignment) {
  for (auto& call : assignment)
    if (call.pipeline_stage > 1) call.pipeline_stage -= 1;
};

}  // namespace

TEST_CASE("stages of scopes can be edited and taken away") {
  using merged = sc::pipelined<by_call, merge_last, sc::device_mapping<0, 1, 2>>;
  CHECK(sc::pipeline_stages<merged> == 3);
  CHECK(sc::pipeline_stages<sc::unpipelined<by_call>> == 0);
  CHECK_FALSE(sc::is_pipelined<sc::unpipelined<merged>>);
}
