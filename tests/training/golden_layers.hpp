// SPDX-License-Identifier: BSD-3-Clause
// Compares a layer's outputs and gradients with those of layers.txt, through a session's training step.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

#include "../golden/golden.hpp"
#include "../larger_deviation.hpp"
#include "../session_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace golden {

/// A loss of one's own: the sum of prediction * target, so that targets are the gradient.
struct projection {
  static constexpr std::string_view name = "projection";
  static constexpr bool sparse_targets = false;
  friend constexpr bool operator==(projection const&, projection const&) = default;
};

/// A layer that adds one weight to each number of a whole batch: these weights' gradients are those of its input.
struct probe : sc::layer<probe> {
  static constexpr std::string_view class_name = "Probe";
  int batch;
  constexpr explicit probe(int batch_) : batch(batch_) {}

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "values", .shape = {batch, in[0].size()}, .initializer = sc::initializers::zeros{}});
  }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) call.output()[i] = call.input()[i] + call.weight()[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      call.input_gradient()[i] += call.output_gradient()[i];
      call.weight_gradient()[i] += call.output_gradient()[i];
    }
  }
};

/// One layer on one input.
template <int Batch, sc::layers::input Input, auto Layer>
using one = sc::sequential<Input, probe{Batch}, Layer>;

inline void check_close(std::string const& what, float const* found, std::vector<float> const& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const value = static_cast<double>(expected[i]);
    double const deviation = std::abs(static_cast<double>(found[i]) - value) / (1 + std::abs(value));
    worst = larger_deviation(worst, deviation);
  }
  CAPTURE(what);
  CHECK(worst < 2e-6);
}

template <int Batch>
inline constexpr auto by_gradient =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1}, .loss = projection{}, .batch_size = Batch};

/// The weights of the layers called first, ... are "first/kernel", ...; those of any other layer "kernel", ...
template <class M, int Batch>
void check_layer(file const& from, std::string const& name) {
  CAPTURE(name);
  using session = session_steps<M, by_gradient<Batch>, sc::host<>>;
  static_assert(session::output_count == 1);
  session s;
  auto const& expected_output = from[name + "/output"];
  REQUIRE(static_cast<int>(expected_output.size()) == Batch * session::output_shape(0).size());
  for (int i = 0; i < session::input_count(); ++i) {
    auto const& values = from[name + "/input_" + std::to_string(i)].values;
    REQUIRE(static_cast<int>(values.size()) == Batch * session::input_shape(i).size());
    std::copy(values.begin(), values.end(), s.input(i));
  }
  auto const& gradient = from[name + "/output_gradient"].values;
  std::copy(gradient.begin(), gradient.end(), s.template target<0>());
  std::fill_n(s.scale(0), Batch * session::rows_per_sample(0), 1.0F);

  std::vector<std::string> names;
  int probes = 0;
  for (auto const& layer : session::graph.layers)
    for (int i = 0; i < layer.parameter_count; ++i) {
      std::string const layer_name(layer.name.view());
      std::string const weight(
          session::graph.parameters[static_cast<std::size_t>(layer.first_parameter + i)].name.view());
      bool const is_probe = layer_name.starts_with("probe");
      bool const named = from.contains(name + "/" + layer_name + "/" + weight);
      names.push_back(is_probe ? name + "/input_" + std::to_string(probes++)
                               : name + "/" + (named ? layer_name + "/" : "") + weight);
    }
  auto const for_each_weight = [&](auto const& visit) {
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (visit.template operator()<Weight>(names[Weight], names[Weight].find("/input_") != std::string::npos), ...);
    }(std::make_index_sequence<session::graph.parameters.size()>{});
  };
  for_each_weight([&]<std::size_t Weight>(std::string const& weight, bool is_probe) {
    if (!is_probe) s.template write_weight<Weight>(from[weight].values.data());
  });

  s.train_step([&] { check_close("output", s.prediction(0), expected_output.values); });
  for_each_weight([&]<std::size_t Weight>(std::string const& weight, bool is_probe) {
    std::vector<float> after(from[weight].size());
    s.template read_weight<Weight>(after.data());
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = (is_probe ? 0 : from[weight].values[i]) - after[i];
    check_close(weight, after.data(), from[weight + "_gradient"].values);
  });
}

}  // namespace golden

/// How a user's own loss is computed.
template <auto Loss, int Columns, class Arch>
struct stagecraft::kernels::loss_row<Loss, Columns, Arch, golden::projection> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    float sum = 0;
    for (int i = 0; i < Columns; ++i) {
      sum += target[i] * prediction[i];
      if (gradient != nullptr) gradient[i] = scale * target[i];
    }
    return sum;
  }
};
