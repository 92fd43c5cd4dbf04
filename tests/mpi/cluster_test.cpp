// SPDX-License-Identifier: BSD-3-Clause
// Replicas on the ranks of MPI: losses, metrics, weights and predictions have the bits of one process, whatever the
// number of ranks. Each rank runs all of it: mpirun -n 1, 2 or 4.
#include <stagecraft/data/data.hpp>
#include <stagecraft/mpi.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;

// What a program on a cluster can be is known when it is compiled.
using four = sc::cluster<sc::host<2>, sc::ranks{4}>;
static_assert(four::threads == 2 && four::processes.count == 4);
static_assert(sc::engine::processes_of<four>::most == 4 && !sc::engine::processes_of<four>::is_alone);
static_assert(sc::engine::processes_of<sc::host<2>>::is_alone);

std::uint64_t next_number(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33U;
}
struct samples {
  xt::xtensor<float, 2> x;
  xt::xtensor<std::int32_t, 1> y;

  explicit samples(std::size_t count)
      : x(xt::zeros<float>({count, std::size_t{12}})), y(xt::zeros<std::int32_t>({count})) {
    std::uint64_t state = count;
    for (float& value : x) value = static_cast<float>(next_number(state) % 20001) / 10000.0F - 1;
    for (std::int32_t& label : y) label = static_cast<std::int32_t>(next_number(state) % 3);
  }
};

template <class Model>
std::vector<std::uint32_t> bits_of(Model& model) {
  std::vector<std::uint32_t> bits;
  for (auto const& weight : model.get_weights())
    for (float const value : weight.values) {
      bits.push_back(0);
      std::memcpy(&bits.back(), &value, sizeof value);
    }
  return bits;
}

/// What a training and its runs return.
struct outcome {
  std::vector<double> losses;
  std::vector<std::uint32_t> weights;
  std::vector<float> predictions;

  bool operator==(outcome const&) const = default;
};

struct stops_after_second : sc::callback {
  int calls = 0;
  void on_epoch_end(int epoch, sc::logs&) override {
    ++calls;
    model().set_learning_rate(0.5F * model().learning_rate());
    if (epoch == 1) model().stop_training = true;
  }
};

/// The array as the first rank of a cluster gives it to all; itself in one process.
template <class Trainer, class Array>
auto of_first(Trainer& model, Array const& array) {
  if constexpr (Trainer::session_type::sizes::processes::is_alone)
    return sc::trainers::sample_source(array);
  else if (Trainer::rank() == 0)
    return model.scattered(array);
  else
    return model.scattered(Array());
}

template <class Trainer>
outcome train(samples const& of) {
  Trainer model;
  outcome result;
  stops_after_second stop;
  auto history = model.fit(of.x, of.y, {.epochs = 4, .verbose = 0, .callbacks = {&stop}, .validation_split = 0.25});
  REQUIRE(history.history["loss"].size() == 2);
  for (auto const& [name, values] : history.history)
    for (double const value : values) result.losses.push_back(value);
  for (double const value : model.evaluate(of.x, of.y, {.verbose = 0})) result.losses.push_back(value);
  // The optimizer's state goes on, with samples that the first rank alone has.
  std::vector<double> weights(of.y.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + static_cast<double>(i % 5);
  auto const x = of_first(model, of.x), y = of_first(model, of.y), weight = of_first(model, weights);
  history = model.fit(x, y, {.epochs = 2, .verbose = 0, .validation_split = 0.25, .sample_weight = weight});
  for (auto const& [name, values] : history.history)
    for (double const value : values) result.losses.push_back(value);
  for (double const value : model.evaluate(x, y, {.verbose = 0})) result.losses.push_back(value);
  auto const predicted = model.predict(x);
  result.predictions.assign(predicted.begin(), predicted.end());
  result.weights = bits_of(model);
  REQUIRE(result.weights.size() > 50);
  for (double const value : result.losses) REQUIRE(value > 0);
  return result;
}

using network = sc::sequential<input{12}, dense{300, sc::relu}, batch_normalization{}, dropout{0.2F},
                               dense{300, sc::relu}, dense{3, sc::softmax}>;  // its gradients are summed in two parts
constexpr sc::training described{.optimizer = sc::optimizers::adam{},
                                 .loss = sc::losses::sparse_categorical_crossentropy{},
                                 .metrics = sc::metrics::accuracy{},
                                 .batch_size = 8,
                                 .steps_per_execution = 2,
                                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2},
                                 .num_replicas = 4,
                                 .cross_replica_reduction = sc::cross_replica_reduction::mean,
                                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};

}  // namespace

namespace {

constexpr sc::training sharded{.optimizer = sc::optimizers::adam{.global_clipnorm = 0.5F},
                               .loss = sc::losses::sparse_categorical_crossentropy{},
                               .batch_size = 8,
                               .steps_per_execution = 2,
                               .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2,
                                                         .replicated_optimizer_state_sharding = true},
                               .num_replicas = 4,
                               .cross_replica_reduction = sc::cross_replica_reduction::mean};

/// The weights after two trainings, and the optimizer's state where it is whole.
template <class Trainer>
std::pair<std::vector<sc::weight_array>, std::vector<sc::weight_array>> train_twice(samples const& of) {
  Trainer model(5);
  for (int i = 0; i < 2; ++i) model.fit(of.x, of.y, {.verbose = 0});
  std::vector<sc::weight_array> state;
  if (sc::mpi::rank_group::get().leads())
    state = model.get_optimizer_weights();
  else if constexpr (!Trainer::session_type::sizes::processes::is_alone)
    CHECK_THROWS_WITH(static_cast<void>(model.get_optimizer_weights()), doctest::Contains("[E4180]"));
  return {model.get_weights(), state};
}

}  // namespace

TEST_CASE("the optimizer's state stays divided among the replicas of all ranks") {
  using trainer = sc::trainer<network, sharded, four>;
  using sizes = trainer::session_type::sizes;
  static_assert(sizes::shards_state && sizes::state_floats(4) <= (sizes::weights.size[4] + 3) / 4 + 15);
  samples const of(8 * 4 * 4);
  auto const expected = train_twice<sc::trainer<network, sharded, sc::host<1>>>(of);
  auto const before = sc::mpi::rank_group::get().bytes_sent();
  auto const found = train_twice<trainer>(of);
  CHECK(found.first == expected.first);
  CHECK(found.second == expected.second);
  CHECK(found.first.size() == 10);
  CHECK(found.second.size() == (sc::mpi::rank_group::get().leads() ? 16 : 0));
  CHECK((sc::mpi::rank_group::get().bytes_sent() > before) == (trainer::ranks_here() > 1));
}

TEST_CASE("four replicas on one, two or four ranks have the bits of one process") {
  samples const of(8 * 4 * 3 + 5);  // the last batches are left out
  auto const expected = train<sc::trainer<network, described, sc::host<1>>>(of);
  CHECK(train<sc::trainer<network, described, four>>(of) == expected);
}

namespace {

using staged = sc::pipelined<sc::sequential<input{12}, dense{16, sc::relu}, dense{16, sc::tanh}, dense{3, sc::softmax}>,
                             sc::stages<0, 1, 1>>;
// Twelve replicas are six or three on a rank, which can add up pairs alone, or none.
constexpr sc::training in_stages{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F},
                                 .loss = sc::losses::sparse_categorical_crossentropy{},
                                 .batch_size = 2,
                                 .steps_per_execution = 4,
                                 .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                                 .num_replicas = 12,
                                 .cross_replica_reduction = sc::cross_replica_reduction::sum};

}  // namespace

TEST_CASE("twelve replicas of two stages, whose gradients are summed") {
  samples const of(2 * 12 * 16);
  auto const expected = train<sc::trainer<staged, in_stages, sc::host<1>>>(of);
  CHECK(train<sc::trainer<staged, in_stages, four>>(of) == expected);
}

TEST_CASE("datasets are read by all ranks, each of which takes the batches of its replicas") {
  samples const of(8 * 4 * 2);
  auto const data = sc::data::from(of.x, of.y).batch(8);
  auto const run = [&]<class Trainer>() {
    Trainer model;
    model.fit(data, {.epochs = 2, .verbose = 0});
    outcome result;
    for (double const value : model.evaluate(data, {.verbose = 0})) result.losses.push_back(value);
    auto const predicted = model.predict(data);
    result.predictions.assign(predicted.begin(), predicted.end());
    result.weights = bits_of(model);
    return result;
  };
  auto const expected = run.operator()<sc::trainer<network, described, sc::host<1>>>();
  CHECK(run.operator()<sc::trainer<network, described, four>>() == expected);
}

TEST_CASE("ranks get the samples of their own replicas alone, of arrays that the first one has") {
  using trainer = sc::trainer<network, described, four>;
  samples const of(8 * 4 * 2 + 5);
  trainer model;
  auto& group = sc::mpi::rank_group::get();
  auto const received = [&](auto const& run) {
    auto const before = group.bytes_received();
    run();
    return group.bytes_received() - before;
  };
  auto const x = of_first(model, of.x), y = of_first(model, of.y);
  auto const others = [&](std::int64_t bytes) { return trainer::rank() == 0 ? std::int64_t{0} : bytes; };
  constexpr std::int64_t bytes_of_x = 12 * sizeof(float), bytes_of_y = sizeof(std::int32_t);
  std::int64_t const here = 8 * 2 * 4 / trainer::ranks_here();  // an epoch of two steps without the last samples
  auto const fit = [&](auto const& x_of, auto const& y_of, bool shuffle) {
    return received([&] { model.fit(x_of, y_of, {.epochs = 2, .verbose = 0, .shuffle = shuffle}); });
  };
  CHECK(fit(x, y, true) - fit(of.x, of.y, true) == others(2 * here * (bytes_of_x + bytes_of_y)));
  CHECK(fit(x, y, false) - fit(of.x, of.y, false) == others(here * (bytes_of_x + bytes_of_y)));
  // Predictions have all samples; ranks without a batch in the last step repeat the last one.
  std::int64_t seen = 0;
  for (int step = 0; step < 3; ++step)
    for (int replica = trainer::rank() * 4 / trainer::ranks_here();
         replica < (trainer::rank() + 1) * 4 / trainer::ranks_here(); ++replica)
      seen += step * 4 + replica < 8 ? 8 : 5;
  auto const expected = received([&] { model.predict(of.x); });
  CHECK(received([&] { model.predict(x); }) - expected == others(seen * bytes_of_x));
  CHECK(received([&] { model.predict(x); }) == expected);  // they are here
  if (trainer::rank() == 0) return;
  CHECK(x.part()->numbers.size() == static_cast<std::size_t>(seen * bytes_of_x));
  int missing = 0;
  for (auto const place : x.part()->place) missing += place < 0 ? 1 : 0;
  CHECK(missing >= static_cast<int>(of.y.size() - of.y.size() / trainer::ranks_here()) - 8);
  auto const first_missing = std::find(x.part()->place.begin(), x.part()->place.end(), -1) - x.part()->place.begin();
  CHECK_THROWS_WITH(static_cast<void>(x.at(first_missing)), doctest::Contains("[E2130]"));
}

TEST_CASE("what the first rank sets or has learned is what all go on with") {
  using trainer = sc::trainer<network, described, four>;
  samples const of(8 * 4 * 4);
  trainer model(7), other(7);
  stops_after_second counts, counts_everywhere;
  sc::callbacks::on_all_ranks everywhere(counts_everywhere);
  model.fit(of.x, of.y, {.verbose = 0, .callbacks = {&counts, &everywhere}});
  CHECK(counts.calls == (trainer::rank() == 0 ? 1 : 0));
  CHECK(counts_everywhere.calls == 1);
  auto const of_first = [](auto const& array) {
    return trainer::rank() == 0 ? array : std::decay_t<decltype(array)>{};
  };
  auto const x = model.from_first_rank(of_first(of.x));
  auto const y = model.from_first_rank(of_first(std::vector<std::int32_t>(of.y.begin(), of.y.end())));
  CHECK(x == of.x);
  CHECK(std::equal(y.begin(), y.end(), of.y.begin(), of.y.end()));
  if (trainer::rank() == 0) {
    other.set_weights(model.get_weights());
    other.set_learning_rate(model.learning_rate());
  }
  other.fit(of.x, of.y, {.epochs = 0, .verbose = 0});
  CHECK(bits_of(other) == bits_of(model));
  CHECK(other.learning_rate() == model.learning_rate());
}
