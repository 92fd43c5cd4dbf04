// SPDX-License-Identifier: BSD-3-Clause
// Stages drawn at random for the calls of a model, and devices for the stages, so that all rules are kept.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <array>
#include <cstddef>

#include "random_numbers.hpp"

namespace random_runs {

namespace sc = stagecraft;

/// Which devices the stages are on: each on its own, anyhow, or all on one.
enum class devices_drawn { one_each, anyhow, one_for_all };

/// Stages in the order of a model's calls, and devices in that of the stages.
template <std::size_t Calls, std::size_t Stages>
struct drawn_stages {
  std::array<int, Calls> stages{};
  std::array<int, Stages> devices{};
  bool found = false;
};

/// What stages depend on, as numbers in the order of a model's calls.
template <class M>
struct order_rules {
  static constexpr std::size_t count = sc::graph_of<M>.order.size();
  std::array<std::array<bool, count>, count> needs{};
  /// The first call of the same layer, if that has weights.
  std::array<std::size_t, count> shares_with{};

  constexpr order_rules() {
    auto const& graph = sc::graph_of<M>;
    std::array<std::size_t, graph.calls.size()> position{};
    for (std::size_t i = 0; i < count; ++i) position[static_cast<std::size_t>(graph.order[i])] = i;
    for (std::size_t i = 0; i < count; ++i) {
      for (int const input : graph.inputs_of(graph.order[i]))
        if (!graph.call(input).is_input) needs[i][position[static_cast<std::size_t>(graph.producer(input))]] = true;
      auto const& layer = graph.layer_of(graph.order[i]);
      shares_with[i] = layer.parameter_count > 0 ? position[static_cast<std::size_t>(layer.first_call)] : i;
    }
  }

  /// The calls so that each stands behind what it needs, in one of all possible orders: branches take turns.
  [[nodiscard]] constexpr std::array<std::size_t, count> draw(random_numbers& random) const {
    std::array<bool, count> done{};
    std::array<std::size_t, count> result{};
    for (auto& next : result) {
      std::array<std::size_t, count> ready{};
      int choices = 0;
      for (std::size_t i = 0; i < count; ++i)
        if (!done[i] && is_ready(i, done)) ready[static_cast<std::size_t>(choices++)] = i;
      next = ready[static_cast<std::size_t>(random.below(choices))];
      done[next] = true;
    }
    return result;
  }

 private:
  [[nodiscard]] constexpr bool is_ready(std::size_t call, std::array<bool, count> const& done) const {
    for (std::size_t i = 0; i < count; ++i)
      if (needs[call][i] && !done[i]) return false;
    return true;
  }
};

template <class M>
inline constexpr order_rules<M> rules_of;

/// Not found after some attempts: a layer's calls are too far apart for devices of their own.
template <class M, int Stages>
constexpr auto draw_stages(unsigned seed, devices_drawn devices) {
  constexpr auto const& rules = rules_of<M>;
  constexpr std::size_t count = rules.count;
  random_numbers random(seed);
  drawn_stages<count, Stages> result;
  for (int attempt = 0; attempt < 20 && !result.found; ++attempt) {
    // The order is cut into stages; for devices of their own, not between calls that share weights.
    auto const order = rules.draw(random);
    std::array<std::size_t, count> place{};
    for (std::size_t i = 0; i < count; ++i) place[order[i]] = i;
    std::array<bool, count> can_cut{};
    int choices = 0;
    for (std::size_t cut = 1; cut < count; ++cut) {
      can_cut[cut] = true;
      for (std::size_t i = 0; i < count && devices == devices_drawn::one_each; ++i)
        if ((place[i] < cut) != (place[rules.shares_with[i]] < cut)) can_cut[cut] = false;
      choices += can_cut[cut] ? 1 : 0;
    }
    if (choices < Stages - 1) continue;
    result.found = true;
    int missing = Stages - 1, stage = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (can_cut[i]) {
        if (random.below(choices) < missing) {
          --missing;
          ++stage;
        }
        --choices;
      }
      result.stages[order[i]] = stage;
    }
  }

  // Stages that have weights in common form a group, and each group has a device.
  for (std::size_t i = 0; i < Stages; ++i) {
    if (devices == devices_drawn::one_each) result.devices[i] = static_cast<int>(i);
    if (devices == devices_drawn::anyhow) result.devices[i] = random.below(Stages);
  }
  for (int round = 0; round < Stages; ++round)
    for (std::size_t i = 0; i < count; ++i) {
      auto& a = result.devices[static_cast<std::size_t>(result.stages[i])];
      auto& b = result.devices[static_cast<std::size_t>(result.stages[rules.shares_with[i]])];
      a = b = a < b ? a : b;
    }
  return result;
}

namespace detail {

template <auto Drawn, class Index>
struct device_list_of;
template <auto Drawn, std::size_t... Index>
struct device_list_of<Drawn, std::index_sequence<Index...>> {
  static constexpr auto value = sc::device_mapping<Drawn.devices[Index]...>;
};

}  // namespace detail

/// The model with stages and devices drawn. A wrong one is a compile error.
template <class M, int Stages, unsigned Seed, devices_drawn Devices>
struct with_random_stages {
  static constexpr auto drawn = draw_stages<M, Stages>(Seed, Devices);
  static_assert(drawn.found);
  using type = sc::pipelined<M, drawn.stages, detail::device_list_of<drawn, std::make_index_sequence<Stages>>::value>;
};

}  // namespace random_runs
