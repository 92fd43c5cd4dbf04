// SPDX-License-Identifier: BSD-3-Clause
// Learning rates that differ from layer to layer. Counterparts: two optimizers over disjoint weights in TensorFlow,
// tfa.optimizers.MultiOptimizer. No header of users' words includes it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace stagecraft::optimizers {

/// The learning rate of some layers, as a factor of the optimizer's.
struct layer_rate {
  fixed_text<95> layers;  ///< a pattern of names, as that of `frozen`: it matches a name's beginning
  float rate = 1;         ///< their learning rate is this times the optimizer's; above 0

  friend constexpr bool operator==(layer_rate const&, layer_rate const&) = default;
};

/// Up to eight rates of layers: `{{"conv[1-4]_.*", 0.1F}, {"conv5_.*", 0.3F}}`.
struct layer_rate_list {
  static constexpr std::size_t most = 8;
  layer_rate entries[most]{};  ///< the first `count` are used
  std::size_t count = 0;       ///< more than `most` is E2103
  float of_weight = 1;         ///< the factor of one weight, once it is known which weight is updated
  bool in_step = false;        ///< true if weights are those of a training step of the user's own

  constexpr layer_rate_list() = default;
  constexpr layer_rate_list(std::initializer_list<layer_rate> rates) {
    for (auto const& each : rates)
      if (count++ < most) entries[count - 1] = each;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count < most ? count : most; }

  friend constexpr bool operator==(layer_rate_list const&, layer_rate_list const&) = default;
};

namespace detail {

/// The name of the layer that has a weight. In a training step of the user's own, which is one layer, the weight's name
/// begins with those of the model and the layer: "critic/dense/kernel".
constexpr std::string_view layer_of_weight(std::string_view layer, std::string_view weight, bool in_step) {
  if (!in_step) return layer;
  auto const after_model = weight.substr(weight.find('/') + 1);
  return after_model.substr(0, after_model.find('/'));
}

/// The argument of the wrapped optimizer's `update`: its learning rate is multiplied.
template <class Ops>
struct rated {
  Ops* ops;    ///< the argument of layer_rates's `update`
  float rate;  ///< the factor

  constexpr auto slot(std::string_view name) { return ops->slot(name); }
  constexpr auto learning_rate() { return ops->learning_rate() * rate; }
  constexpr auto step() { return ops->step(); }
  constexpr auto norm(operations::tensor x) { return ops->norm(x); }
  constexpr auto global_norm(operations::tensor x) { return ops->global_norm(x); }
  constexpr auto loss_scale() { return ops->loss_scale(); }
  constexpr void expect_finite(operations::tensor x) { ops->expect_finite(x); }
  constexpr void count_overflows(operations::tensor x, float limit) { ops->count_overflows(x, limit); }
  constexpr void update(operations::tensor variable, operations::tensor value) { ops->update(variable, value); }
};

}  // namespace detail

/// An optimizer with learning rates that differ from layer to layer (discriminative rates):
///
///     .optimizer = sc::optimizers::layer_rates{.optimizer = sc::optimizers::adam{.learning_rate = 1e-3F},
///                                              .rates = {{"conv[1-4]_.*", 0.1F}, {"conv5_.*", 0.3F}}}
///
/// Weights of a layer whose name one of the patterns matches have that factor of the optimizer's rate; the first
/// pattern that matches counts, and layers that none matches keep the rate. Names are those that the trained model's
/// summary shows; in a training step of your own, those in the model that is minimized. Schedules, `decay` and
/// callbacks change all rates together. Norms over all weights (`global_clipnorm`) stay those of all weights;
/// `weight_decay` of sgdw and adamw, which does not depend on the rate, is the same for all layers. Slots are those of
/// the wrapped optimizer. Errors: E2103 more than eight patterns, one that cannot be read or that names no trained
/// layer, a factor that is not above 0 (`sc::frozen` is for layers that are not trained).
template <class Optimizer>
struct layer_rates {
  /// The optimizer that updates the weights.
  Optimizer optimizer = {};
  /// Patterns of layers' names, and the factors of their rates; at most eight.
  layer_rate_list rates = {};
  /// The wrapped optimizer's learning rate, which callbacks change; programs do not set it.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  using listed_options = layer_rates;
  static constexpr std::string_view name = "layer_rates";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    if (rates.of_weight == 1) return update_by(ops, weight, gradient);
    detail::rated own{&ops, rates.of_weight};
    update_by(own, weight, gradient);
  }
  /// The update of a captured gradient (optimizers/captured_gradient.hpp).
  constexpr void update_captured(auto& ops, auto kept, auto gradient) const
    requires requires { optimizer.update_captured(ops, kept, gradient); }
  {
    optimizer.update_captured(ops, kept, gradient);
  }

  /// Keeps of the rates only the factor of one weight.
  constexpr void choose_rate(std::string_view layer, std::string_view weight) {
    auto const of = detail::layer_of_weight(layer, weight, rates.in_step);
    float chosen = 1;
    for (std::size_t i = rates.size(); i-- > 0;)
      if (models::name_pattern(rates.entries[i].layers.view()).matches(of)) chosen = rates.entries[i].rate;
    rates = {};
    rates.of_weight = chosen;
  }
  /// Checks the rates beside a model's weights: E2103.
  constexpr void check_rates(tracing::graph_view const& graph, diagnostics::diagnostic& problem) const {
    if (rates.count > layer_rate_list::most)
      problem.report(2103, "the training's layer_rates have ", static_cast<int>(rates.count),
                     " patterns; there are at most ", static_cast<int>(layer_rate_list::most));
    for (std::size_t i = 0; i < rates.size(); ++i) check_rate(rates.entries[i], graph, problem);
  }

  friend constexpr bool operator==(layer_rates const&, layer_rates const&) = default;

 private:
  constexpr void update_by(auto& ops, auto weight, auto gradient) const {
    optimizer.update(ops, weight, stagecraft::detail::prepared_gradient(optimizer, ops, gradient));
  }
  constexpr void check_rate(layer_rate const& each, tracing::graph_view const& graph,
                            diagnostics::diagnostic& problem) const {
    models::name_pattern const pattern(each.layers.view());
    bool const is_number = each.rate > 0 && each.rate <= std::numeric_limits<float>::max();
    if (each.layers.is_cut()) {
      problem.report(2103, "the training's layer_rates have a pattern of more than ",
                     static_cast<int>(decltype(each.layers)::capacity), " characters, '", each.layers, "...'");
    } else if (pattern.failed()) {
      problem.report(2103, "the training's layer_rates have the pattern '", each.layers,
                     "', which cannot be read at character ", pattern.problem_at(), ": ", pattern.problem());
    } else if (!is_number) {
      problem.report(
          2103, "the training's layer_rates give layers '", each.layers,
          "' a factor that is not above 0 and finite; sc::frozen makes a model whose layers are not trained");
    } else {
      bool found = false;
      for (int i = 0; i < static_cast<int>(graph.parameters.size()) && !found; ++i)
        found = graph.parameters[i].trainable &&
                pattern.matches(detail::layer_of_weight(graph.layer(graph.layer_of_parameter(i)).name.view(),
                                                        graph.parameters[i].name.view(), rates.in_step));
      if (!found)
        problem.report(2103, "the training's layer_rates have the pattern '", each.layers,
                       "', but no trained layer of model '", graph.name(), "' has a name that begins so");
    }
  }
};

}  // namespace stagecraft::optimizers

#include <stagecraft/diagnostics/end_headers.hpp>
