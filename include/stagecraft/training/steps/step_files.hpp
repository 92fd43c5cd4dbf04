// SPDX-License-Identifier: BSD-3-Clause
// The part of a step's trainer that files are written of: what its models and optimizers are, `save` and `load`.
#pragma once

#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/steps/sub_step.hpp>
#include <stagecraft/training/weight_files.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The base of a step's trainer. `Derived` has get_weights, get_optimizer_weights, progress_of_step, and their setters.
template <class Derived, class Step>
class step_files {
  static constexpr auto const& facts = facts_of_step<Step>;

 public:
  /// True if the models have their weights where trainers of them have theirs: see sc::shares.
  static constexpr bool has_models_to_share = has_graphs<Step>;
  static constexpr auto const& models_of_step = facts_of_step<Step>;
  /// E2091 a name that no model of the step has.
  template <fixed_name Name>
  static constexpr diagnostic const& problem_of_name() {
    return member_problem<Step, Name>;
  }
  template <fixed_name Name>
  static constexpr std::size_t number_of_model() {
    return member_named<Step, Name>();
  }

  /// Writes models, optimizers and progress to a folder, from which `load` of a trainer of the same step goes on, bit
  /// for bit. Needs <stagecraft/io/step_bundle.hpp>: E5020 without. Throws file_error as sc::save_model.
  void save(std::string const& path) const {
    if constexpr (requires { save_bundle_of(file_functions{}, derived(), path); })
      save_bundle_of(file_functions{}, derived(), path);
    else
      refuse_files<std::is_void_v<Step>, "save", "stagecraft/io/step_bundle.hpp">();
  }
  /// Reads the folder that `save` wrote; if anything differs from the step, nothing is read (E5032).
  void load(std::string const& path) {
    if constexpr (requires { load_bundle_of(file_functions{}, derived(), path); })
      load_bundle_of(file_functions{}, derived(), path);
    else
      refuse_files<std::is_void_v<Step>, "load", "stagecraft/io/step_bundle.hpp">();
  }
  /// Writes the weights of all models to a file, "w.safetensors" or "w.npz", with the names of get_weights. Needs
  /// <stagecraft/io/step_bundle.hpp>: E5020 without.
  void save_weights(std::string const& path) const {
    if constexpr (requires { save_weights_of(file_functions{}, derived(), path); })
      save_weights_of(file_functions{}, derived(), path);
    else
      refuse_files<std::is_void_v<Step>, "save_weights", "stagecraft/io/step_bundle.hpp">();
  }
  /// Reads the weights of a file of save_weights: all of them or, if a name or shape differs, none (E5021).
  loaded_weights load_weights(std::string const& path, load_weights_options const& options = {}) {
    if constexpr (requires { load_weights_of(file_functions{}, derived(), path, options); }) {
      return load_weights_of(file_functions{}, derived(), path, options);
    } else {
      refuse_files<std::is_void_v<Step>, "load_weights", "stagecraft/io/step_bundle.hpp">();
      return {};
    }
  }
  /// Calls `visit(std::type_identity<M>(), name)` for each model of the step.
  template <class Visit>
  static void for_each_model(Visit const& visit) {
    for_each_member([&]<std::size_t Member>() {
      visit(std::type_identity<model_of_member<Member>>(), facts.members[Member].name.view());
    });
  }
  /// Calls `visit(optimizer, names of the models that it moves, times, every)` for each sub-step.
  template <class Visit>
  static void for_each_optimizer(Visit const& visit) {
    for_each_sub_step([&]<std::size_t Number>() {
      std::vector<std::string> moved;
      for (int i = 0; i < facts.member_count; ++i)
        if (facts.sub_steps[Number].moves[i]) moved.emplace_back(facts.members[i].name.view());
      operations::traced_step::block of;
      for (auto const& block : facts.blocks)
        if (static_cast<int>(Number) >= block.first && static_cast<int>(Number) < block.end) of = block;
      static constexpr auto optimizer = optimizer_of_sub_step<Step, static_cast<int>(Number)>;
      visit(optimizer, moved, of.times, of.every);
    });
  }

 protected:
  template <std::size_t Member>
  using model_of_member = type_of_tag<facts.members[Member].type>;

  template <class Each>
  static void for_each_sub_step(Each const& each) {
    [&]<std::size_t... Number>(std::index_sequence<Number...>) {
      (each.template operator()<Number>(), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(facts.sub_step_count)>{});
  }
  template <class Each>
  static void for_each_member(Each const& each) {
    [&]<std::size_t... Member>(std::index_sequence<Member...>) {
      (each.template operator()<Member>(), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(facts.member_count)>{});
  }
  static void check_names(char const* what, std::vector<weight_array> const& known,
                          std::vector<weight_array> const& given) {
    if (known.size() != given.size())
      throw_data_error("E4009", "%s: expected %zu weights, found %zu", what, known.size(), given.size());
    for (std::size_t i = 0; i < known.size(); ++i)
      if (!given[i].name.empty() && given[i].name != known[i].name)
        throw_data_error("E4009", "%s: expected weight '%s', found '%s'", what, known[i].name.c_str(),
                         given[i].name.c_str());
  }
  /// The name in get_weights of a weight by its number in the step.
  [[nodiscard]] static std::string name_of_weight(int weight) {
    std::string name;
    for_each_member([&]<std::size_t Member>() {
      using M = model_of_member<Member>;
      constexpr int first = facts.members[Member].first_weight;
      if (weight >= first && weight < first + static_cast<int>(graph_of<M>.parameters.size()))
        name = std::string(facts.members[Member].name.view()).append("/").append(weight_name<M>(weight - first));
    });
    return name;
  }

 private:
  [[nodiscard]] Derived& derived() { return static_cast<Derived&>(*this); }
  [[nodiscard]] Derived const& derived() const { return static_cast<Derived const&>(*this); }
};

}  // namespace stagecraft::trainers
