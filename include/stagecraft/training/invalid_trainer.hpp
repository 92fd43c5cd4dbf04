// SPDX-License-Identifier: BSD-3-Clause
// What stands in for a trainer whose model or training description has had its compile error, so that the rest of the
// program adds no more of them.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/engine/training_progress.hpp>
#include <stagecraft/training/callbacks/history.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/invalid_predictor.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::trainers {

/// Has the members of model_trainer; none of them is ever run.
template <auto Training>
struct invalid_trainer : invalid_predictor<trainable> {
  using evaluation = std::array<double, [] {
    if constexpr (requires { Training.metrics; })
      return 1 + static_cast<std::size_t>(Training.metrics.size() + Training.weighted_metrics.size());
    else
      return std::size_t{2};
  }()>;

  explicit invalid_trainer(std::uint64_t = 0) {}

  training_history fit(sample_set const&, sample_set const&, fit_options const& = {}) { return {}; }
  evaluation evaluate(sample_set const&, sample_set const&, evaluate_options const& = {}) { return {}; }
  template <class Data>
    requires requires { typename Data::fit_options; }
  training_history fit(Data const&, typename Data::fit_options const& = {}) {
    return {};
  }
  template <class Data>
    requires requires { typename Data::fit_options; }
  evaluation evaluate(Data const&, typename Data::evaluate_options const& = {}) {
    return {};
  }
  evaluation train_on_batch(sample_set const&, sample_set const&, sample_source const& = {},
                            std::vector<class_weight_entry> const& = {}) {
    return {};
  }
  evaluation test_on_batch(sample_set const&, sample_set const&, sample_source const& = {}) { return {}; }

  [[nodiscard]] training_progress progress() const { return {}; }
  void set_progress(training_progress const&) {}
  [[nodiscard]] std::vector<weight_array> get_optimizer_weights() const { return {}; }
  void set_optimizer_weights(std::vector<weight_array> const&) {}

  [[nodiscard]] float learning_rate() const override { return 0; }
  void set_learning_rate(float) override {}
};

}  // namespace stagecraft::trainers
