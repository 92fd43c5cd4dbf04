// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call` against real Keras: their formulas on doubles, and the runner on floats.
#include "../../golden/golden.hpp"
#include "../../larger_deviation.hpp"
#include "run_plan.hpp"

#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;            // NOLINT: as a program writes it
using namespace sc::operations::runs;  // NOLINT: the tests' own

namespace {

golden::file const& file() {
  static auto const read = golden::read("traced_layers.txt");
  return read;
}

double deviation(floats const& found, floats const& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const value = static_cast<double>(expected[i]);
    double const here = std::abs(static_cast<double>(found[i]) - value) / (1 + std::abs(value));
    worst = larger_deviation(worst, here);
  }
  return worst;
}

void compare(numbers const& found, std::string const& name, sc::operations::trace const& traced, double tolerance) {
  CHECK(deviation(found.output, file()[name + "/output"].values) < tolerance);
  for (std::size_t i = 0; i < found.gradients.size(); ++i) {
    std::string const leaf = i < found.inputs.size() ? "input_" + std::to_string(i)
                                                     : std::string(traced.weights[i - found.inputs.size()].name.view());
    CAPTURE(leaf);
    auto const& expected = file()[name + "/" + leaf + "_gradient"].values;
    if (found.gradients[i].empty())
      for (float const gradient : expected) CHECK(gradient == 0);
    else
      CHECK(deviation(found.gradients[i], expected) < tolerance);
  }
}

/// The layer of case `name` on inputs of these shapes, without the batch of three.
template <class Layer>
void check(std::string const& name, Layer const& layer, std::initializer_list<sc::shape> shapes,
           double tolerance = 3e-6) {
  CAPTURE(name);
  constexpr int batch = 3;
  auto const trace = [&] { return sc::detail::trace_layer(layer, {shapes.begin(), shapes.size()}, batch, true); };
  sc::operations::traced_plan const plan(trace(), true), by_sample(trace(), true, {}, batch);
  REQUIRE_MESSAGE(!plan.traced.list.problem.failed(), plan.traced.list.problem.text.view());
  numbers with;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    with.inputs.push_back(file()[name + "/input_" + std::to_string(i)].values);
  std::vector<std::string> weights;
  for (auto const& weight : plan.traced.weights) weights.emplace_back(weight.name.view());
  std::vector<std::string> in_file;  // between the inputs and the output
  for (auto const& each : file().names(name + "/")) {
    if (each == "output") break;
    if (!each.starts_with("input_")) in_file.push_back(each);
  }
  REQUIRE(weights == in_file);  // Keras's names, in its order
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const& value = file()[name + "/" + weights[i]];
    auto const& shape = plan.traced.weights[i].shape;
    REQUIRE(std::vector<std::size_t>(shape.begin(), shape.end()) == value.shape);
    with.weights.push_back(value.values);
  }
  with.output_gradient = file()[name + "/output_gradient"].values;
  auto on_doubles = with, of_samples = with;
  reference_run(plan, on_doubles);
  compare(on_doubles, name, plan.traced, tolerance);
  float_run const on_floats(plan, with);
  compare(with, name, plan.traced, tolerance);
  float_run const two_by_two(by_sample, of_samples, batch, 2);
  CHECK(two_by_two.divided() > 0);
  CHECK(of_samples.output == with.output);
  CHECK(of_samples.gradients == with.gradients);
}

constexpr sc::shape sequence{5, 3}, places{5, 6};

/// The variants that recurrent layers have in common.
template <class Layer>
void check_recurrent(std::string const& name, Layer layer) {
  check(name, layer, {sequence});
  layer.options.return_sequences = true;
  check(name + "_sequences", layer, {sequence});
  layer.options.go_backwards = true;
  check(name + "_sequences_backwards", layer, {sequence});
  layer.options.return_sequences = false;
  check(name + "_backwards", layer, {sequence});
  layer.options.go_backwards = false;
  layer.options.use_bias = false;
  check(name + "_no_bias", layer, {sequence});
}

}  // namespace

TEST_CASE("group_normalization") {
  sc::shape const image{4, 4, 6};
  check("group_normalization", group_normalization{3}, {image}, 5e-6);
  check("group_normalization_instance", group_normalization{-1}, {image}, 5e-6);
  check("group_normalization_one_group", group_normalization{1}, {image}, 5e-6);
  check("group_normalization_no_scale", group_normalization{{.groups = 3, .scale = false}}, {image}, 5e-6);
  check("group_normalization_no_center", group_normalization{{.groups = 3, .center = false}}, {image}, 5e-6);
  check("group_normalization_rank3", group_normalization{3}, {{5, 6}}, 5e-6);
  check("group_normalization_rank3_epsilon", group_normalization{{.groups = 2, .epsilon = 0.1F}}, {{5, 6}}, 5e-6);
}

TEST_CASE("embedding") { check("embedding", embedding{7, 4}, {{5}}); }

TEST_CASE("simple_rnn") {
  check_recurrent("simple_rnn", simple_rnn{4});
  check("simple_rnn_relu", simple_rnn{4, {.activation = sc::relu}}, {sequence});
}
TEST_CASE("lstm") {
  check_recurrent("lstm", lstm{4});
  check("lstm_hard_sigmoid", lstm{4, {.recurrent_activation = sc::hard_sigmoid}}, {sequence});
}
TEST_CASE("gru") {
  check_recurrent("gru", gru{4});
  check_recurrent("gru_reset_before", gru{4, {.reset_after = false}});
}
TEST_CASE("bidirectional") {
  check("bidirectional_lstm", bidirectional{lstm{4}}, {sequence});
  lstm const sequences{4, {.return_sequences = true}};
  check("bidirectional_lstm_sequences", bidirectional{sequences}, {sequence});
  check("bidirectional_lstm_sequences_sum", bidirectional{sequences, {.merge_mode = merge_mode::sum}}, {sequence});
}

TEST_CASE("multi_head_attention") {
  double const tolerance = 5e-6;
  sc::shape const values{4, 6};
  check("multi_head_attention", multi_head_attention{2, 3}, {places}, tolerance);
  check("multi_head_attention_causal", multi_head_attention{2, 3, {.use_causal_mask = true}}, {places}, tolerance);
  check("multi_head_attention_value_dim", multi_head_attention{2, 3, {.value_dim = 4}}, {places}, tolerance);
  check("multi_head_attention_no_bias", multi_head_attention{2, 3, {.use_bias = false}}, {places}, tolerance);
  check("multi_head_attention_two_inputs", multi_head_attention{2, 3}, {places, values}, tolerance);
  check("multi_head_attention_two_inputs_causal", multi_head_attention{2, 3, {.use_causal_mask = true}},
        {places, values}, tolerance);
  check("multi_head_attention_mask", multi_head_attention{2, 3, {.attention_mask = true}}, {places, {5, 5}}, tolerance);
  check("multi_head_attention_mask_causal",
        multi_head_attention{2, 3, {.use_causal_mask = true, .attention_mask = true}}, {places, {5, 5}}, tolerance);
  check("multi_head_attention_mask_two_inputs", multi_head_attention{2, 3, {.attention_mask = true}},
        {places, values, {5, 4}}, tolerance);
}
