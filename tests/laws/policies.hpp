// SPDX-License-Identifier: BSD-3-Clause
// The law of policies: a model does on emulated IPUs what it does on the host. With the host's kernels and float32 that
// is the same bits; where tiles add in an order of their own, it is close; in half precision it is what halves allow.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../pipelined/made_data.hpp"

namespace laws {

namespace sc = stagecraft;

/// The machines of the laws. Eight tiles: few enough that most have several rows, and some have nothing.
using fast = sc::ipu<>;
using tiles = sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 8, .checked = true}}>;

/// Numbers that belong together, such as a prediction or a weight: what is small among them need not be exact.
struct number_group {
  std::string name;
  std::vector<float> numbers;
};

/// All that a session tells of some executions: losses, predictions, and in the end the weights.
template <class Session>
class history {
 public:
  explicit history(std::uint64_t seed, int rounds = 2) : session_(seed) {
    session_.begin_run();
    session_.begin_accumulation();
    int const update = accumulation;
    auto const see = [&](char const* what, int steps, auto const& execute) {
      // Results may come from several threads, but replica by replica: each has room of its own.
      std::vector<std::vector<number_group>> seen(static_cast<std::size_t>(Session::replicas));
      execute(steps, random_runs::made_data<Session>(first_),
              [&](auto const& view) { add_results(seen[static_cast<std::size_t>(view.replica())], what, view); });
      for (auto& replica : seen) groups_.insert(groups_.end(), replica.begin(), replica.end());
      first_ += steps;
    };
    for (int round = 0; round < rounds; ++round) {
      see("training", update * 2, [&](auto... arguments) { session_.train(arguments...); });
      see("evaluation", 2, [&](auto... arguments) { session_.test(arguments...); });
      see("prediction", 2, [&](auto... arguments) { session_.predict(arguments...); });
    }
    add_weights();
  }

  [[nodiscard]] std::vector<number_group> const& groups() const { return groups_; }
  [[nodiscard]] Session& session() { return session_; }

 private:
  static constexpr int accumulation = Session::micro_batches_of_update;

  static void add_results(std::vector<number_group>& to, std::string const& what, auto const& view) {
    auto const name = what + " " + std::to_string(view.step());
    if (what != "prediction") to.push_back({name + ", total loss", {view.total_loss()}});
    for (std::size_t output = 0; output < Session::output_count; ++output) {
      auto const of_output = ", output " + std::to_string(output);
      if (what != "prediction") to.push_back({name + of_output + ", loss", {view.loss(output)}});
      float const* const first = view.prediction(output);
      to.push_back({name + of_output, {first, first + Session::batch * Session::output_shape(output).size()}});
    }
  }
  void add_weights() {
    auto const add = [&]<std::size_t Weight>() {
      number_group group{"weight " + std::to_string(Weight), {}};
      group.numbers.resize(static_cast<std::size_t>(Session::graph.parameters[Weight].size()));
      session_.template read_weight<Weight>(group.numbers.data());
      groups_.push_back(group);
    };
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (add.template operator()<Weight>(), ...);
    }(std::make_index_sequence<Session::graph.parameters.size()>{});
  }

  Session session_;
  int first_ = 0;
  std::vector<number_group> groups_;
};

/// A session that says how many micro-batches a weight update takes.
template <class M, auto Training, class Machine>
struct session_for : sc::engine::session_of<M, Training, Machine> {
  using sc::engine::session_of<M, Training, Machine>::session_of;
  static constexpr int micro_batches_of_update = sc::jobs::options_of<M, Training>.accumulation_steps();
};

template <class M, auto Training, class Machine>
[[nodiscard]] std::vector<number_group> groups_of(std::uint64_t seed = 5, int rounds = 2) {
  return history<session_for<M, Training, Machine>>(seed, rounds).groups();
}

/// The first group that differs in a bit; empty if there is none.
inline std::string different_bits(std::vector<number_group> const& a, std::vector<number_group> const& b) {
  if (a.size() != b.size()) return "numbers of groups";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (random_runs::first_difference(a[i].numbers, b[i].numbers) != -1) return a[i].name;
  return {};
}

[[nodiscard]] inline double largest_number(std::vector<float> const& numbers) {
  double result = 0;
  for (float const number : numbers) result = std::max(result, std::abs(static_cast<double>(number)));
  return result;
}

/// The largest difference of two numbers, relative to the largest number of their group, and where it is. A weight
/// counts as no smaller than a tenth of the largest one: a bias before a normalization is nothing but rounding errors.
struct deviation {
  double relative = 0;
  std::string where;
};
inline deviation largest_deviation(std::vector<number_group> const& a, std::vector<number_group> const& b,
                                   std::string const& kind = "") {
  deviation result;
  double weights = 1e-30;
  for (auto const& group : a)
    if (group.name.starts_with("weight")) weights = std::max(weights, 0.1 * largest_number(group.numbers));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name.find(kind) == std::string::npos) continue;
    double const size = std::max(largest_number(a[i].numbers), a[i].name.starts_with("weight") ? weights : 1e-30);
    double difference = 0;
    for (std::size_t k = 0; k < a[i].numbers.size(); ++k) {
      double const between = std::abs(static_cast<double>(a[i].numbers[k]) - static_cast<double>(b[i].numbers[k]));
      if (!(between <= difference)) difference = between;  // NaN, too
    }
    if (!(difference / size <= result.relative)) result = {difference / size, a[i].name};
  }
  return result;
}

/// Numbers that no half can be, outside of losses.
inline std::string not_in_half(std::vector<number_group> const& groups, std::string const& kind) {
  for (auto const& group : groups) {
    if (group.name.find(kind) == std::string::npos || group.name.ends_with("loss")) continue;
    for (float const number : group.numbers)
      if (!(std::abs(number) <= 65504.0F) || sc::half_number::value(sc::half_number::nearest(number)) != number)
        return group.name;
  }
  return {};
}

inline void check_close(std::vector<number_group> const& expected, std::vector<number_group> const& found,
                        std::string const& policy, double predictions, double weights) {
  CAPTURE(policy);
  auto const of_predictions = largest_deviation(expected, found, "output");
  CAPTURE(of_predictions.where);
  CHECK(of_predictions.relative <= predictions);
  auto const of_weights = largest_deviation(expected, found, "weight");
  CAPTURE(of_weights.where);
  CHECK(of_weights.relative <= weights);
}

/// On the emulated IPU, against the host.
template <class M, auto Training>
void check_fast() {
  auto const expected = groups_of<M, Training, sc::host<>>();
  CHECK(different_bits(expected, groups_of<M, Training, fast>()) == "");
}

/// 1e-5 of the largest number of each prediction, loss and weight.
template <class M, auto Training>
void check_tiles() {
  auto const found = largest_deviation(groups_of<M, Training, sc::host<>>(), groups_of<M, Training, tiles>());
  CAPTURE(found.where);
  CHECK(found.relative <= 1e-5);
}

/// A training description with another policy.
template <auto Training, sc::dtype_policy Policy>
inline constexpr auto with_dtypes = [] {
  auto result = Training;
  result.dtype_policy = Policy;
  return result;
}();

/// In half precision: predictions, and in float16 weights, too, are halves; they are close to those in float32, and the
/// same in each run.
template <class M, auto Training, class Machine = fast>
void check_half(double predictions, double weights) {
  constexpr auto mixed = with_dtypes<Training, sc::dtype_policies::mixed_float16>;
  constexpr auto pure = with_dtypes<Training, sc::dtype_policies::float16>;
  auto const expected = groups_of<M, Training, sc::host<>>();
  auto const of_mixed = groups_of<M, mixed, Machine>(), of_pure = groups_of<M, pure, Machine>();
  CHECK(different_bits(of_mixed, groups_of<M, mixed, Machine>()) == "");
  CHECK(different_bits(of_pure, groups_of<M, pure, Machine>()) == "");
  CHECK(not_in_half(of_mixed, "output") == "");
  CHECK(not_in_half(of_mixed, "weight") != "");
  CHECK(not_in_half(of_pure, "") == "");
  check_close(expected, of_mixed, "mixed_float16", predictions, weights);
  check_close(expected, of_pure, "float16", predictions, weights);
}

}  // namespace laws
