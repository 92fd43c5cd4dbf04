// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for trainers and predictors whose model or description had its compile error, so that the rest of the
// program adds no further errors.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/engine/training_progress.hpp>
#include <stagecraft/training/callbacks/history.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/export_options.hpp>
#include <stagecraft/training/weight_files.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stagecraft::trainers {

struct no_base {};

/// Has the members of model_predictor; none of them is ever run. `Base`: its base class.
template <class Base = no_base>
struct invalid_predictor : Base {
  // The type depends on a parameter, so that programs without such errors do not instantiate it.
  using tensor = std::conditional_t<std::is_void_v<Base>, Base, xt::xarray<float>>;

  explicit invalid_predictor(std::uint64_t = 0) {}

  tensor predict(sample_set const&, predict_options const& = {}) { return {}; }
  template <class Data>
    requires requires { typename Data::predict_options; }
  tensor predict(Data const&, typename Data::predict_options const& = {}) {
    return {};
  }
  tensor predict_on_batch(sample_set const&) { return {}; }
  tensor operator()(sample_set const&) { return {}; }

  [[nodiscard]] invalid_predictor sharing_weights() { return invalid_predictor(); }
  [[nodiscard]] std::string_view name() const { return {}; }
  [[nodiscard]] std::vector<weight_array> get_weights() const { return {}; }
  void set_weights(std::vector<weight_array> const&) {}
  void save(std::string const&) const {}
  void load(std::string const&) {}
  void save_weights(std::string const&) const {}
  loaded_weights load_weights(std::string const&, load_weights_options const& = {}) { return {}; }
  void export_for_ipu_serving(std::string const&, export_options const& = {}, int = 0) const {}
  template <fixed_name Name>
  [[nodiscard]] std::vector<weight_array> get_weights() const {
    return {};
  }
  template <fixed_name Name>
  void set_weights(std::vector<weight_array> const&) {}
  template <fixed_name Name>
  void adapt(sample_set const&) {}
  template <fixed_name Name, class Data>
    requires requires { typename Data::adapt_options; }
  void adapt(Data const&, typename Data::adapt_options const& = {}) {}
  void reset_states() {}
  template <fixed_name Name>
  void reset_states(std::vector<weight_array> const& = {}) {}
  template <fixed_name Name>
  [[nodiscard]] std::vector<weight_array> get_states() const {
    return {};
  }
  template <fixed_name Name>
  [[nodiscard]] weight_array captured_gradients() const {
    return {};
  }
  template <fixed_name Name>
  [[nodiscard]] tensor weight() const {
    return {};
  }
};

/// The results of an evaluation with this description: its loss and metrics.
template <auto Training>
constexpr std::size_t result_count() {
  if constexpr (requires { Training.metrics; })
    return 1 + static_cast<std::size_t>(Training.metrics.size() + Training.weighted_metrics.size());
  else
    return 2;
}

/// Has the members of model_trainer; none of them is ever run.
template <std::size_t Results>
struct invalid_trainer : invalid_predictor<trainable> {
  using evaluation = std::array<double, Results>;

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
  struct no_gradients {
    double loss = 0;
    std::vector<weight_array> gradients;
  };
  no_gradients gradients(sample_set const&, sample_set const&, sample_source const& = {},
                         std::vector<class_weight_entry> const& = {}) {
    return {};
  }
  void apply_gradients(std::vector<weight_array> const&) {}

  [[nodiscard]] training_progress progress() const { return {}; }
  void set_progress(training_progress const&) {}
  [[nodiscard]] std::vector<weight_array> get_optimizer_weights() const { return {}; }
  void set_optimizer_weights(std::vector<weight_array> const&) {}

  [[nodiscard]] float learning_rate() const override { return 0; }
  void set_learning_rate(float) override {}
};

}  // namespace stagecraft::trainers
