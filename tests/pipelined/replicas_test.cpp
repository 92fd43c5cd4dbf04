// SPDX-License-Identifier: BSD-3-Clause
// What replicas do, compared with one: with the same batches, with all batches, and whatever the threads.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <concepts>

#include "made_data.hpp"

namespace sc = stagecraft;
using namespace sc::layers;   // NOLINT: as a program writes it
using namespace random_runs;  // NOLINT: the tests' own

namespace {

/// Of a weight as a whole.
struct hoyer : sc::own_regularizer<hoyer> {
  constexpr auto call(auto& ops, auto weight) const {
    return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * 0.125F;
  }
};

/// Without dropout, which differs from replica to replica.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = model.input(7);
    dense shared(7, sc::tanh,
                 {.kernel_regularizer = hoyer{}, .kernel_constraint = sc::constraints::max_norm{0.75F, 1}});
    auto a = shared(layer_normalization()(x));
    auto b = shared(add()(a, dense(7, sc::swish)(x)));
    return dense(5)(concatenate()(a, b));
  }
};
constexpr int stage_of_layer(std::string_view name, int node) {
  if (name == "layer_normalization" || name == "dense_1") return 0;
  return name == "dense" && node == 0 ? 1 : 2;
}
inline constexpr auto three = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = stage_of_layer(call.layer_name(), call.node_index());
};
using staged = sc::pipelined<network, three, sc::device_mapping<0, 1, 1>>;

using enum sc::gradient_accumulation_reduction_method;
using sc::cross_replica_reduction;

template <int Replicas, int Steps, sc::gradient_accumulation_reduction_method Method, cross_replica_reduction Cross,
          int Divisor = 1>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.125F / Divisor},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 3,
                 .steps_per_execution = 12 * Steps,
                 .pipeline = {.gradient_accumulation_steps_per_replica = Steps, .reduction_method = Method},
                 .num_replicas = Replicas,
                 .cross_replica_reduction = Cross};

constexpr int updates = 4;

/// Weights after some updates. `feed(to, replica, step)` as sessions call it.
template <class Session, int Steps>
std::vector<float> train(auto const& feed) {
  Session session(11);
  session.begin_run();
  session.begin_accumulation();
  for (int update = 0; update < updates; ++update)
    session.train(
        Steps, [&](auto& to, int replica, int step) { feed(to, replica, update * Steps + step); }, [](auto const&) {});
  return weights_of(session);
}

template <class M, auto Training, int Threads = 1>
using pipeline = sc::engine::session_of<M, Training, sc::host<Threads>>;
template <auto Training>
using single = sc::engine::session_of<network, Training, sc::host<>>;

constexpr int steps = 6;  // a round of the grouped schedule of three stages

template <auto One, auto Two>
void check_alike() {
  auto const expected = train<single<One>, steps>(made_data<single<One>>(0));
  made_data<single<One>> const alike(0, true);
  CHECK(first_difference(train<pipeline<network, Two>, steps>(alike), expected) == -1);
  CHECK(first_difference(train<pipeline<network, Two, 2>, steps>(alike), expected) == -1);
  CHECK(first_difference(train<pipeline<staged, Two, 4>, steps>(alike), expected) == -1);
}

double deviation(std::vector<float> const& a, std::vector<float> const& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    largest = std::fmax(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

}  // namespace

TEST_CASE("two replicas with the same batches do what one does: the mean, or the sum with half the learning rate") {
  constexpr auto mean_of_two = cross_replica_reduction::mean, sum_of_two = cross_replica_reduction::sum;
  check_alike<training<1, steps, sum, sum_of_two>, training<2, steps, sum, mean_of_two>>();
  check_alike<training<1, steps, sum, sum_of_two>, training<2, steps, sum, sum_of_two, 2>>();
  check_alike<training<1, steps, running_mean, sum_of_two>, training<2, steps, running_mean, mean_of_two>>();
}

// Penalties and constraints of weights as a whole wait until all replicas have their parts.
TEST_CASE("replicas that share weights or the optimizer's state do what others do") {
  constexpr auto whole = training<2, steps, sum, cross_replica_reduction::sum>;
  constexpr auto of_state = [] {
    auto result = training<2, steps, sum, cross_replica_reduction::sum>;
    result.pipeline.replicated_optimizer_state_sharding = true;
    return result;
  }();
  made_data<single<whole>> const data(0);
  auto const expected = train<pipeline<network, whole>, steps>(data);
  CHECK(first_difference(train<pipeline<network, of_state, 2>, steps>(data), expected) == -1);
  CHECK(first_difference(train<pipeline<staged, of_state, 4>, steps>(data), expected) == -1);
}

TEST_CASE("three replicas see as many samples as one with three times the micro-batches") {
  constexpr auto one = training<1, 3 * steps, sum, cross_replica_reduction::sum>;
  constexpr auto three_replicas = training<3, steps, sum, cross_replica_reduction::sum>;
  constexpr auto one_by_mean = training<1, 3 * steps, mean, cross_replica_reduction::sum>;
  constexpr auto three_by_mean = training<3, steps, mean, cross_replica_reduction::mean>;
  made_data<single<one>> const data(0);
  auto const in_turn = [&](auto& to, int, int step) { data(to, step % 3, step / 3); };
  auto const expected = train<single<one>, 3 * steps>(in_turn);
  auto const expected_by_mean = train<single<one_by_mean>, 3 * steps>(in_turn);
  CHECK(deviation(expected, expected_by_mean) > 1e-3);
  CHECK(deviation(train<pipeline<network, three_replicas, 3>, steps>(data), expected) < 2e-6);
  CHECK(deviation(train<pipeline<staged, three_replicas, 2>, steps>(data), expected) < 2e-6);
  CHECK(deviation(train<pipeline<network, three_by_mean>, steps>(data), expected_by_mean) < 2e-6);
}

TEST_CASE("a model without stages whose weights, gradients and state stand in remote memory") {
  constexpr auto plain = training<1, steps, mean, cross_replica_reduction::sum>;
  constexpr auto remote = [] {
    auto result = training<1, steps, mean, cross_replica_reduction::sum>;
    result.pipeline.offload_weights = sc::offload::remote;
    result.pipeline.offload_gradient_accumulation_buffers = sc::offload::remote;
    result.pipeline.offload_weight_update_variables = sc::offload::remote;
    return result;
  }();
  made_data<single<plain>> const data(0);
  auto const expected = train<single<plain>, steps>(data);
  CHECK(first_difference(train<single<remote>, steps>(data), expected) == -1);
  CHECK(first_difference(train<pipeline<network, remote, 3>, steps>(data), expected) == -1);
}

TEST_CASE("all replicas have the same weights, and take over those that are written") {
  using session_type = pipeline<staged, training<2, steps, sum, cross_replica_reduction::sum>, 2>;
  session_type session(3);
  made_data<session_type> const different(0), alike(0, true);
  session.begin_run();
  session.train(2 * steps, different, [](auto const&) {});
  std::vector<float> values(static_cast<std::size_t>(session_type::graph.parameters[0].size()), 0.25F);
  auto const compare = [&] {
    seen_results<session_type> seen(3);
    session.predict(3, alike, [&](auto const& view) { seen.add(view); });
    auto const& floats = seen.floats();
    std::vector<float> const first(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(floats.size() / 2)),
        second(floats.begin() + static_cast<std::ptrdiff_t>(floats.size() / 2), floats.end());
    CHECK(first_difference(first, second) == -1);
  };
  compare();
  session.template write_weight<0>(values.data());
  session.begin_run();
  compare();
}
