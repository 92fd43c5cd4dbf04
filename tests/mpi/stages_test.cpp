// SPDX-License-Identifier: BSD-3-Clause
// The stages of replicas on several ranks of MPI have the bits of one process.
#include <stagecraft/data/data.hpp>
#include <stagecraft/mpi.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int micro_batches = 8, batch_size = 4;

xt::xtensor<float, 2> samples(std::size_t count) {
  xt::xtensor<float, 2> x = xt::zeros<float>({count, std::size_t{12}});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 2003) / 1000.0F - 1;
  return x;
}
xt::xtensor<std::int32_t, 1> labels(std::size_t count) {
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({count});
  for (std::size_t i = 0; i < count; ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 7 % 3);
  return y;
}

/// What a training and its runs return.
struct outcome {
  std::vector<double> losses;
  std::vector<sc::weight_array> weights, state;
  std::vector<float> predictions;

  bool operator==(outcome const&) const = default;
};

/// Trains for one more epoch, on ranks with samples that the first one alone has.
template <class Trainer>
void fit_scattered(Trainer& model, xt::xtensor<float, 2> const& x, xt::xtensor<std::int32_t, 1> const& y) {
  sc::fit_options const options{.epochs = 3, .verbose = 0, .initial_epoch = 2};
  if constexpr (Trainer::session_type::sizes::processes::is_alone) {
    model.fit(x, y, options);
  } else {
    bool const leads = Trainer::rank() == 0;
    auto const own_x = model.scattered(leads ? x : xt::xtensor<float, 2>());
    auto const own_y = model.scattered(leads ? y : xt::xtensor<std::int32_t, 1>());
    model.fit(own_x, own_y, options);
    if (leads) return;
    // The ranks with first stages alone read samples, those of as many replicas.
    auto const fed = static_cast<std::size_t>(Trainer::session_type::sizes::fed_here().count);
    CHECK(own_x.part()->numbers.size() == fed * batch_size * 80 * 12 * sizeof(float));
    CHECK(own_y.part()->numbers.size() == fed * batch_size * 80 * sizeof(std::int32_t));
  }
}

template <class Trainer>
outcome train() {
  auto const x = samples(batch_size * 80 * Trainer::session_type::replicas), last = samples(37);
  auto const y = labels(x.shape(0)), last_y = labels(37);
  Trainer model(5);
  outcome result;
  auto const history = model.fit(x, y, {.epochs = 2, .verbose = 0});
  for (auto const& [name, values] : history.history)
    for (double const value : values) result.losses.push_back(value);
  for (double const value : model.evaluate(last, last_y, {.verbose = 0})) result.losses.push_back(value);
  fit_scattered(model, x, y);
  auto const predicted = model.predict(last);
  result.predictions.assign(predicted.begin(), predicted.end());
  result.weights = model.get_weights();
  result.state = model.get_optimizer_weights();
  REQUIRE(result.losses.size() == 6);
  for (double const value : result.losses) REQUIRE(value > 0);
  return result;
}

/// The output of the first stage is read by the fourth, too. The penalties of all stages are part of the loss.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(12);
    auto const first = batch_normalization()(dense(16, sc::relu)(x));
    auto const second = dropout(0.2F)(dense(20, sc::tanh)(first));
    auto const third = dense(16, sc::relu, {.kernel_regularizer = sc::regularizers::l2{0.01F}})(second);
    return dense(3)(dense(8, sc::relu)(add()(third, first)));
  }
};
template <sc::pipelining_options Options, int Replicas = 1>
constexpr sc::training described{.optimizer = sc::optimizers::adam{.global_clipnorm = 0.5F},
                                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                 .metrics = sc::metrics::accuracy{},
                                 .batch_size = batch_size,
                                 .steps_per_execution = 2 * Options.gradient_accumulation_steps_per_replica,
                                 .pipeline = Options,
                                 .num_replicas = Replicas};
using staged = sc::pipelined<network, sc::stages<0, 0, 1, 1, 2, 3, 3, 3>>;
/// The fourth stage is on the first one's device, so that there are four devices.
using mapped = sc::pipelined<network, sc::stages<0, 0, 1, 1, 2, 3, 4, 4>, sc::device_mapping<0, 1, 2, 0, 3>>;
template <int Count, int Threads = 1>
using cluster = sc::cluster<sc::host<Threads>, sc::ranks{.count = Count, .timeout_s = 30}>;

template <sc::pipelining_options Options, class Model = staged, int Replicas = 1, int Threads = 1>
void compare() {
  CHECK(train<sc::trainer<Model, described<Options, Replicas>, cluster<4 * Replicas, Threads>>>() ==
        train<sc::trainer<Model, described<Options, Replicas>, sc::host<1>>>());
}

}  // namespace

TEST_CASE("grouped stages on ranks") {
  constexpr sc::pipelining_options grouped{.gradient_accumulation_steps_per_replica = micro_batches};
  compare<grouped>();
}
TEST_CASE("two replicas of stages on mapped devices on ranks") {
  compare<sc::pipelining_options{.gradient_accumulation_steps_per_replica = 10}, mapped, 2>();
}
TEST_CASE("interleaved stages on ranks, whose activations are recomputed") {
  compare<sc::pipelining_options{.gradient_accumulation_steps_per_replica = micro_batches,
                                 .schedule = sc::interleaved,
                                 .recomputation_mode = sc::recomputation_mode::automatic}>();
}
TEST_CASE("three replicas of sequential stages, of which four ranks of two threads have parts") {
  compare<sc::pipelining_options{.gradient_accumulation_steps_per_replica = micro_batches,
                                 .schedule = sc::schedule::sequential},
          staged, 3, 2>();
}
TEST_CASE("ranks have the memory of their own stages") {
  constexpr auto training = described<sc::pipelining_options{.gradient_accumulation_steps_per_replica = micro_batches}>;
  using trainer = sc::trainer<staged, training, cluster<4>>;
  using sizes = trainer::session_type::sizes;
  trainer model;
  auto& group = sc::mpi::rank_group::get();
  int here = 0;
  for (int device = 0; device < sizes::devices; ++device) here += sizes::is_here(0, device) ? 1 : 0;
  CHECK(here >= 4 / group.count());
  CHECK(here <= (4 + group.count() - 1) / group.count());
  // A block for each of the devices here.
  sc::engine::pipeline_memory<sizes> const own(0, 16, 0);
  for (int device = 0; device < sizes::devices; ++device) {
    CHECK((own.blocks[device].size() > 0) == sizes::is_here(0, device));
    CHECK((own.workspaces[device].size() > 0) == sizes::is_here(0, device));
  }
  auto const many = samples(37);  // the rank of the predictions reads no samples
  CHECK(model.predict(sc::data::from(many, labels(37)).batch(batch_size)) == model.predict(many));
  auto const of_batch = model.test_on_batch(samples(batch_size), labels(batch_size));
  CHECK(of_batch[0] > 0);
  xt::xtensor<float, 2> const x = samples(batch_size);
  if (group.count() > 1)
    CHECK_THROWS_WITH(model(x), doctest::Contains("[E4180]"));
  else
    CHECK(model(x).shape()[0] == batch_size);
}

namespace {

constexpr sc::pipelining_options grouped{.gradient_accumulation_steps_per_replica = micro_batches};
template <int Count, sc::stage_placement By, sc::whole_model End = sc::whole_model::on_all_ranks>
using placed = sc::cluster<sc::host<1>, sc::ranks{.count = Count, .timeout_s = 30, .placement = By, .at_end = End}>;
constexpr sc::inference infers{.batch_size = batch_size, .steps_per_execution = 4};

}  // namespace

TEST_CASE("two replicas whose stages are on ranks by stage, and a predictor whose stages are on ranks") {
  using by_stage = placed<8, sc::stage_placement::by_stage>;
  using trainer = sc::trainer<staged, described<grouped, 2>, by_stage>;
  static_assert(trainer::session_type::sizes::splits);
  auto const expected = train<sc::trainer<staged, described<grouped, 2>, sc::host<1>>>();
  auto const found = train<trainer>();
  CHECK(found == expected);
  // Where ranks are as many as stages, each has one stage of both replicas.
  auto& group = sc::mpi::rank_group::get();
  if (group.count() == 4) {
    for (int device = 0; device < 4; ++device) {
      CHECK(trainer::session_type::sizes::process_of(0, device) == device);
      CHECK(trainer::session_type::sizes::process_of(1, device) == device);
    }
  }

  using predictor = sc::predictor<staged, infers, cluster<4>>;
  predictor model(9);
  if (predictor::rank() == 0) model.set_weights(found.weights);
  auto const predicted = model.predict(samples(37));
  CHECK(std::vector<float>(predicted.begin(), predicted.end()) == found.predictions);
  CHECK(model.predict(model.scattered(predictor::rank() == 0 ? samples(37) : samples(0))) == predicted);
  xt::xtensor<float, 2> const x = samples(batch_size);
  if (group.count() > 1)
    CHECK_THROWS_WITH(model(x), doctest::Contains("[E4180]"));
  else
    CHECK(model(x).shape()[0] == batch_size);
}

namespace {

using wide = sc::pipelined<sc::sequential<input{12}, dense{256}, dense{256}, dense{256}, dense{256}, dense{3}>,
                           sc::stages<0, 0, 1, 2, 3>>;
constexpr sc::training of_wide{.optimizer = sc::optimizers::adam{},
                               .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                               .batch_size = 2,
                               .steps_per_execution = 8,
                               .pipeline = grouped};

/// The part of the floats whose pages are in memory.
double part_in_memory(float const* floats, long long count) {
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const first = (reinterpret_cast<std::uintptr_t>(floats) + page - 1) / page * page;
  auto const last = reinterpret_cast<std::uintptr_t>(floats + count) / page * page;
  std::vector<unsigned char> pages((last - first) / page);
  REQUIRE(::mincore(reinterpret_cast<void*>(first), last - first, pages.data()) == 0);
  double there = 0;
  for (unsigned char const each : pages) there += each & 1U;
  return there / static_cast<double>(pages.size());
}

}  // namespace

TEST_CASE("ranks other than the first have the weights, gradients and state of their own stages alone") {
  using trainer =
      sc::trainer<wide, of_wide, placed<4, sc::stage_placement::by_replica, sc::whole_model::on_first_rank>>;
  using sizes = trainer::session_type::sizes;
  trainer model(3);
  auto const x = samples(2 * 8);
  auto const y = labels(2 * 8);
  for (int i = 0; i < 2; ++i) model.fit(x, y, {.verbose = 0});
  CHECK(model.evaluate(x, y, {.verbose = 0})[0] > 0);
  auto const& own = model.session().memory_of_replica(0);
  int large = 0;
  for (std::size_t i = 0; i < sizes::weights.count; ++i) {
    if (sizes::weights.size[i] < 60'000) continue;
    ++large;
    bool const here = sizes::is_here(0, sizes::device_of_weight(i)), sees = here || trainer::rank() == 0;
    auto const has = [&](float const* floats, bool expected) {
      CHECK(part_in_memory(floats, sizes::weights.size[i]) >= (expected ? 0.9 : 0.0));
      CHECK(part_in_memory(floats, sizes::weights.size[i]) <= (expected ? 1.0 : 0.1));
    };
    has(own.weights.data() + sizes::weights.offset[i], sees);
    has(own.gradients.data() + sizes::weights.offset[i], here);
    for (int slot = 0; slot < sizes::slots; ++slot)
      has(own.state.data() + sizes::state_offset(i) + slot * sizes::all_state_floats, sees);
  }
  CHECK(large == 3);
  if (trainer::rank() > 0) CHECK_THROWS_WITH(static_cast<void>(model.get_weights()), doctest::Contains("[E4180]"));
}
