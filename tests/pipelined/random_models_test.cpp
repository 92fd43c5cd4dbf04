// SPDX-License-Identifier: BSD-3-Clause
// The random models and stages have what makes pipelines hard.
#include <doctest/doctest.h>

#include <utility>

#include "random_models.hpp"
#include "random_stages.hpp"

using namespace random_runs;  // NOLINT: the tests' own

namespace {

/// How many of the models have a property.
struct properties {
  int images = 0, nested = 0, several_inputs = 0, several_outputs = 0, calls = 0;
  int view_from_another_stage = 0, not_in_order = 0, layer_in_several_stages = 0, several_stages_on_a_device = 0;
  int late_input = 0, early_output = 0, skipped_stage = 0;
};

template <class M, int Stages, unsigned Seed>
constexpr void count(properties& found) {
  using staged = typename with_random_stages<M, Stages, Seed, devices_drawn::anyhow>::type;
  static_assert(sc::pipeline_stages<staged> == Stages);
  auto const& graph = sc::graph_of<staged>;
  auto const& stages = sc::detail::staged_calls<staged>.of_call;
  auto const stage = [&](int call) { return stages[static_cast<std::size_t>(call)]; };
  properties has;
  int before = 0, inputs = 0;
  for (auto const& call : graph.calls) {
    inputs += call.is_input ? 1 : 0;
    if (call.is_input && call.shape.rank() == 3) has.images = 1;
  }
  for (int const call : graph.order) {
    auto const& layer = graph.layer_of(call);
    if (stage(call) < before) has.not_in_order = 1;
    before = stage(call);
    if (layer.parameter_count > 0 && stage(layer.first_call) != stage(call)) has.layer_in_several_stages = 1;
    bool const is_view = layer.class_name == "Reshape" || layer.class_name == "Flatten";
    for (int const input : graph.inputs_of(call)) {
      bool const is_input = graph.call(input).is_input;
      if (is_input && stage(call) > 0) has.late_input = 1;
      if (!is_input && stage(call) > stage(input) + 1) has.skipped_stage = 1;
      if (!is_input && is_view && stage(call) > stage(input)) has.view_from_another_stage = 1;
    }
  }
  for (int const output : graph.outputs_of(0))
    if (stage(output) < Stages - 1) has.early_output = 1;
  auto const& devices = sc::detail::staging<staged>::devices;
  for (int a = 0; a < Stages; ++a)
    for (int b = 0; b < a; ++b)
      if (devices[static_cast<std::size_t>(a)] == devices[static_cast<std::size_t>(b)])
        has.several_stages_on_a_device = 1;

  found.images += has.images;
  found.nested += graph.nested_models.size() > 1 ? 1 : 0;
  found.several_inputs += inputs > 1 ? 1 : 0;
  found.several_outputs += graph.outputs_of(0).size() > 1 ? 1 : 0;
  found.calls += static_cast<int>(graph.order.size());
  found.view_from_another_stage += has.view_from_another_stage;
  found.not_in_order += has.not_in_order;
  found.layer_in_several_stages += has.layer_in_several_stages;
  found.several_stages_on_a_device += has.several_stages_on_a_device;
  found.late_input += has.late_input;
  found.early_output += has.early_output;
  found.skipped_stage += has.skipped_stage;
}

template <int... Seed>
constexpr properties count_all(std::integer_sequence<int, Seed...>) {
  properties found;
  (count<random_model<Seed>, 2 + Seed % 4, Seed>(found), ...);
  return found;
}

/// Every call is used, or is an output: nothing is computed in vain.
template <int... Seed>
constexpr bool all_are_used(std::integer_sequence<int, Seed...>) {
  auto const used = [](sc::tracing::graph_view const& graph) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < graph.calls.size(); ++i) {
      bool found = false;
      for (int const input : graph.inputs) found = found || input == static_cast<int>(i);
      for (int const output : graph.outputs_of(0)) found = found || output == static_cast<int>(i);
      count += found ? 1 : 0;
    }
    return count == graph.calls.size();
  };
  return (used(sc::graph_of<random_model<Seed>>) && ...);
}

constexpr auto seeds = std::make_integer_sequence<int, 16>{};

}  // namespace

TEST_CASE("random models have branches, images, nested models, several inputs and outputs") {
  static_assert(all_are_used(seeds));
  constexpr auto found = count_all(seeds);
  CHECK(found.images == 4);
  CHECK(found.nested >= 5);
  CHECK(found.several_inputs >= 4);
  CHECK(found.several_outputs >= 4);
  CHECK(found.calls >= 16 * 12);
}

TEST_CASE("random stages are out of order, share layers and devices, and cut views") {
  constexpr auto found = count_all(seeds);
  CHECK(found.not_in_order >= 5);
  CHECK(found.layer_in_several_stages >= 5);
  CHECK(found.several_stages_on_a_device >= 5);
  CHECK(found.view_from_another_stage >= 3);
  CHECK(found.late_input >= 3);
  CHECK(found.early_output >= 3);
  CHECK(found.skipped_stage >= 5);
}

TEST_CASE("stages on devices of their own do not take a shared layer apart") {
  using staged = typename with_random_stages<random_model<10>, 4, 1, devices_drawn::one_each>::type;
  static_assert(sc::device_of<staged, 3> == 3);
  using far = typename with_random_stages<random_model<11>, 2, 1, devices_drawn::one_each>::type;
  static_assert(sc::device_of<far, 1> == 1);
}
