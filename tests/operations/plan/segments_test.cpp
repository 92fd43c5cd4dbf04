// SPDX-License-Identifier: BSD-3-Clause
// Which operations of a layer's steps are carried out sample by sample. That it changes no bit is shown in
// host/lists/random_operations_test.cpp.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <doctest/doctest.h>
#include <initializer_list>
#include <span>
#include <vector>

namespace stagecraft::operations {

namespace {

using kinds = tracing::growing_array<segment_kind>;
constexpr auto whole = segment_kind::whole, by_sample = segment_kind::by_sample, large = segment_kind::product;

constexpr kinds kinds_of(tracing::growing_array<segment> const& segments) {
  kinds result;
  for (auto const& each : segments) result.push_back(each.kind);
  return result;
}
template <class Layer>
constexpr traced_plan plan_of(Layer const& layer, int batch, std::initializer_list<shape> inputs) {
  return {
      stagecraft::detail::trace_layer(layer, std::span(inputs.begin(), inputs.size()), batch, true), true, {}, batch};
}
template <class Layer>
constexpr bool has_forward(Layer const& layer, int batch, std::initializer_list<shape> inputs, kinds const& expected) {
  return kinds_of(plan_of(layer, batch, inputs).forward_segments) == expected;
}
template <class Layer>
constexpr bool has_backward(Layer const& layer, int batch, std::initializer_list<shape> inputs, kinds const& expected) {
  return kinds_of(plan_of(layer, batch, inputs).backward_segments) == expected;
}

constexpr shape sequence{64, 32};

}  // namespace

// Nothing is divided where there is one sample only.
static_assert(has_forward(layers::lstm{8}, 1, {sequence}, {whole}));

// A layer's forward step does not mix samples. What needs nothing of them comes first.
static_assert(has_forward(layers::group_normalization{4}, 4, {sequence}, {by_sample}));
static_assert(has_forward(layers::lstm{8}, 4, {sequence}, {by_sample}));
static_assert(has_forward(layers::multi_head_attention{2, 16}, 4, {sequence, sequence}, {whole, by_sample}));

// The gradients of weights do, and come last, or first if all that they read is there; those of large products are
// divided along their columns.
static_assert(has_backward(layers::lstm{32}, 8, {sequence}, {by_sample, large, whole, large}));
static_assert(has_backward(layers::multi_head_attention{2, 16, {.use_bias = false}}, 8, {sequence, sequence},
                           {whole, large, by_sample, large, large, large}));
// A loop's trips do not wait for them.
static_assert([] {
  auto const plan = plan_of(layers::gru{8}, 4, {sequence});
  auto const& list = plan.traced.list;
  for (auto const& each : plan.backward_segments)
    for (int i = each.begin; i < each.end; ++i)
      if (list.node_of(plan.backward[static_cast<std::size_t>(i)]).what.is<loop_end>())
        return each.kind == segment_kind::by_sample;
  return false;
}());

// A trip's product has what is added to it, read where it lies, and is stacked for the gradient, which does not compute
// it again: beside the recurrent product's gradient there are those of two kernels and of the input.
static_assert([] {
  auto const plan = plan_of(layers::lstm{32}, 8, {sequence});
  int products = 0;
  for (int const id : plan.backward) products += plan.traced.list.node_of(id).what.is<product>() ? 1 : 0;
  if (plan.forward_joins.size() != 2 || products != 4) return false;
  auto const &of_inputs = plan.forward_joins[0], &of_trip = plan.forward_joins[1];
  return of_inputs.sum >= 0 && of_inputs.read_from < 0 && of_inputs.stack < 0 && of_trip.sum >= 0 &&
         of_trip.read_from >= 0 && of_trip.stack >= 0;
}());

struct centre : layer<centre> {
  static constexpr std::string_view class_name = "Centre";
  constexpr auto call(auto& ops, auto x) const { return square(square(x) - ops.mean(square(x), 0)); }
};

// What sees all samples waits for them, and is waited for.
static_assert(has_forward(centre{}, 4, {shape(3)}, {by_sample, whole, by_sample}));

TEST_CASE("values of few samples take the memory of few samples") {
  constexpr int batch = 16;
  layers::multi_head_attention const attention{2, 16};
  std::vector<shape> const inputs{sequence, sequence};
  auto const trace = [&] { return stagecraft::detail::trace_layer(attention, inputs, batch, true); };
  traced_plan const undivided(trace(), true), divided(trace(), true, {}, batch);
  CHECK(divided.forward_workspace < 100);
  CHECK(divided.forward_sample_floats * batch < undivided.forward_workspace * 5 / 4);
  CHECK(divided.backward_workspace < undivided.backward_workspace);
}

}  // namespace stagecraft::operations
