// SPDX-License-Identifier: BSD-3-Clause
// Weights that shrink with each update, apart from their gradients, and texts by which an optimizer tells weights
// apart. Counterpart: tfa.optimizers.DecoupledWeightDecayExtension.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace stagecraft::optimizers {

/// Up to four texts, each a part of a weight's name, such as "bias" of "dense_1/bias".
struct weight_names {
  static constexpr int most = 4;
  fixed_name texts[most]{};  ///< the texts, then empty ones

  constexpr weight_names() = default;
  /// An empty type is no text: the count of a struct's members uses one (graph/fields.hpp).
  template <class... Texts>
    requires(sizeof...(Texts) >= 1 && sizeof...(Texts) <= most &&
             ((std::convertible_to<Texts const&, std::string_view> && !std::is_empty_v<Texts>) && ...))
  constexpr weight_names(Texts const&... text) : texts{fixed_name(text)...} {}

  [[nodiscard]] constexpr bool empty() const { return *this == weight_names{}; }
  /// True if any of the texts is a part of this name.
  [[nodiscard]] constexpr bool match(std::string_view name) const {
    for (auto const& text : texts)
      if (!text.empty() && name.find(text.view()) != std::string_view::npos) return true;
    return false;
  }

  friend constexpr bool operator==(weight_names const&, weight_names const&) = default;
};

}  // namespace stagecraft::optimizers

namespace stagecraft::optimizers::detail {

/// The argument of a wrapped optimizer's `update`: the weight gets that optimizer's value, less a share of itself.
template <class Ops>
class decaying {
 public:
  constexpr decaying(Ops& ops, operations::tensor weight, float share) : ops_(&ops), weight_(weight), share_(share) {}

  constexpr auto slot(std::string_view name) { return ops_->slot(name); }
  constexpr auto learning_rate() { return ops_->learning_rate(); }
  constexpr auto step() { return ops_->step(); }
  constexpr auto norm(operations::tensor x) { return ops_->norm(x); }
  constexpr auto global_norm(operations::tensor x) { return ops_->global_norm(x); }
  constexpr auto loss_scale() { return ops_->loss_scale(); }
  constexpr void expect_finite(operations::tensor x) { ops_->expect_finite(x); }
  constexpr void update(operations::tensor variable, operations::tensor value) {
    ops_->update(variable, variable.id == weight_.id && share_ != 0 ? value - weight_ * share_ : value);
  }

 private:
  Ops* ops_;
  operations::tensor weight_;
  float share_;
};

/// The optimizer for a weight of this name, "dense/kernel", which begins with its layer's: options that exclude the
/// weight are off, and of rates that differ from layer to layer only its own is left.
template <class Optimizer>
constexpr Optimizer optimizer_of(Optimizer optimizer, std::string_view weight_name, std::string_view layer_name) {
  if constexpr (requires { optimizer.choose_rate(layer_name, weight_name); })
    optimizer.choose_rate(layer_name, weight_name.substr(layer_name.size() + 1));
  if constexpr (requires { optimizer.exclude_from_layer_adaptation; }) {
    auto const& names = optimizer.exclude_from_layer_adaptation.empty() ? optimizer.exclude_from_weight_decay
                                                                        : optimizer.exclude_from_layer_adaptation;
    if (names.match(weight_name)) optimizer.layer_adaptation = false;
    optimizer.exclude_from_layer_adaptation = {};
  }
  if constexpr (requires { optimizer.exclude_from_weight_decay; }) {
    if (optimizer.exclude_from_weight_decay.match(weight_name)) {
      if constexpr (requires { optimizer.weight_decay_rate; })
        optimizer.weight_decay_rate = 0;
      else
        optimizer.weight_decay = 0;
    }
    optimizer.exclude_from_weight_decay = {};
  }
  if constexpr (requires { optimizer.optimizer.learning_rate; })
    optimizer.optimizer = optimizer_of(optimizer.optimizer, weight_name, layer_name);
  return optimizer;
}

/// True if an optimizer, or one that it wraps, excludes weights from an option, or has rates of layers.
template <class Optimizer>
constexpr bool excludes_weights() {
  if constexpr (requires(Optimizer const& optimizer) { optimizer.rates.of_weight; })
    return true;
  else if constexpr (requires(Optimizer const& optimizer) { optimizer.optimizer.learning_rate; })
    return excludes_weights<decltype(Optimizer::optimizer)>();
  else
    return requires(Optimizer const& optimizer) { optimizer.exclude_from_weight_decay; };
}

}  // namespace stagecraft::optimizers::detail
