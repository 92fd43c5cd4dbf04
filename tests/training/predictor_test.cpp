// SPDX-License-Identifier: BSD-3-Clause
// Predictors: models that are run and not trained, on the host and on emulated IPUs, with the outputs of a trainer.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/device_memory.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

// Memory, latency and throughput are constants.

using large_mlp = sc::sequential<input{256}, dense{1536, sc::relu}, dense{512, sc::relu}, dense{10}>;
inline constexpr auto large_training = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 16};
inline constexpr auto large_inference = sc::inference{.batch_size = 16, .steps_per_execution = 4};
template <int Ipus>
inline constexpr auto small_ipus = sc::ipu_config{.auto_select_ipus = Ipus, .ipu_model = {.tiles_per_ipu = 16}};
using one_ipu = sc::ipu<small_ipus<1>>;

inline constexpr auto while_training = sc::profile<large_mlp, large_training, one_ipu>;
inline constexpr auto while_predicting = sc::profile<large_mlp, large_inference, one_ipu>;
constexpr double tiles_of(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(one_ipu::target.bytes_per_tile);
}

// What is refused by a trainer, since it takes 1.5 times the memory that there is, is accepted by a predictor.
static_assert(tiles_of(while_training.memory(0).peak()) > 1.5 && tiles_of(while_predicting.memory(0).peak()) < 0.6);
static_assert(sc::detail::run_problem<large_mlp, large_training, one_ipu, true>().code == 3010);
static_assert(!sc::detail::run_problem<large_mlp, large_inference, one_ipu, false>().failed());
static_assert(while_predicting.fits() && while_predicting.memory(0).optimizer_state == 0 &&
              while_predicting.memory(0).gradient_accumulators == 0 && while_predicting.memory(0).batches == 0);
static_assert(while_predicting.latency() < while_predicting.seconds() && while_predicting.update_cycles() == 0 &&
              while_predicting.samples_per_second() * while_predicting.seconds() > 63.99);
static_assert(sc::pipeline_stages<sc::auto_pipeline<large_mlp, large_inference, sc::ipu<small_ipus<2>>>> == 2);
static_assert(sc::device_memory_of<large_mlp, large_inference, 0>.on_device() * 3 <
              sc::device_memory_of<large_mlp, sc::training{.optimizer = sc::optimizers::adam{}}, 0>.on_device());

// Penalties are of a loss: predictions leave them out, and what stands between an output and its penalty is fused.
template <bool IsPenalized>
struct penalized : sc::functional<penalized<IsPenalized>> {
  static constexpr auto build(auto& model) {
    constexpr auto rule = IsPenalized ? sc::regularizers::l1_l2{0.02F, 0.01F} : sc::regularizer{};
    auto x = dense(24, {.activity_regularizer = rule})(model.input(16));
    x = activation(sc::relu)(x);
    if constexpr (IsPenalized) x = activity_regularization({.l2 = 0.1F})(x);
    return dense(6, sc::tanh, {.activity_regularizer = rule})(x);
  }
};
using with_penalties = penalized<true>;
using without_penalties = penalized<false>;
using penalties_in_stages = sc::pipelined<with_penalties, sc::stages<0, 0, 1, 1>>;
using no_penalties_in_stages = sc::pipelined<without_penalties, sc::stages<0, 0, 1>>;

template <class With, class Without, class Machine>
constexpr bool costs_the_same() {
  constexpr auto with = sc::profile<With, large_inference, Machine>;
  constexpr auto without = sc::profile<Without, large_inference, Machine>;
  bool same = with.cycles() == without.cycles() && with.flops() == without.flops();
  for (int i = 0; i < with.ipus(); ++i) same = same && with.memory(i).peak() == without.memory(i).peak();
  return same;
}
static_assert(costs_the_same<with_penalties, without_penalties, one_ipu>());
static_assert(costs_the_same<penalties_in_stages, no_penalties_in_stages, sc::ipu<small_ipus<2>>>());
template <class M>
constexpr auto const& places_on_host =
    sc::plan::whole_places_of<typename sc::jobs::job_on<M, large_inference, sc::host<>>::planned>;
static_assert(places_on_host<with_penalties>.scratch_floats == places_on_host<without_penalties>.scratch_floats);
static_assert(places_on_host<with_penalties>.epilogue[1] > 0);

// Two inputs, two outputs, a normalization that nothing can take in, since another layer reads the sums, too.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto image = conv2d(4, 3)(model.input(6, 5, 2));
    auto x = flatten()(add()(image, batch_normalization()(image)));
    auto y = dense(7, sc::relu)(model.input(3));
    x = dropout(0.5F)(dense(8, sc::gelu)(concatenate()(x, y)));
    return sc::outputs(dense(5, sc::softmax)(x), dense(1)(x));
  }
};
using staged = sc::pipelined<network, [](auto& assignment) {
  for (auto& call : assignment)
    call.pipeline_stage = call.layer_name() == "dense_2" || call.layer_name() == "dense_3"   ? 2
                          : call.layer_name() == "dense_1" || call.layer_name() == "dropout" ? 1
                                                                                             : 0;
}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 4};
template <sc::schedule Schedule = sc::grouped, sc::dtype_policy Policy = sc::dtype_policies::float32>
inline constexpr auto run = sc::inference{
    .batch_size = 4, .steps_per_execution = 3, .pipeline = {.schedule = Schedule}, .dtype_policy = Policy};

// Three micro-batches in three stages; sequentially, one after the other.
static_assert(sc::pipeline_slots<staged, run<>> == 5 && sc::pipeline_slots<staged, run<sc::schedule::sequential>> == 9);
static_assert(sc::pipeline_overlap_length<staged, run<>> == 3);
static_assert(sc::detail::training_problem<sc::jobs::job<staged, sc::inference{.steps_per_execution = 2}>>.code ==
              2025);
static_assert(!sc::detail::training_problem<sc::jobs::job<network, sc::inference{.steps_per_execution = 2}>>.failed());

struct samples {
  xt::xtensor<float, 4> image;
  xt::xtensor<float, 2> other, first, second;

  explicit samples(std::size_t count)
      : image(xt::xtensor<float, 4>::from_shape({count, 6, 5, 2})),
        other(xt::xtensor<float, 2>::from_shape({count, 3})),
        first(xt::xtensor<float, 2>::from_shape({count, 5})),
        second(xt::xtensor<float, 2>::from_shape({count, 1})) {
    fill(image, 7919);
    fill(other, 5021);
    fill(first, 6007);
    fill(second, 6007);
  }

 private:
  template <class Tensor>
  static void fill(Tensor& tensor, std::size_t factor) {
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<float>(i * factor % 1000) / 500 - 1;
  }
};

/// A trainer's weights after two epochs, and its outputs for 21 samples: five batches and a bit.
struct trained {
  samples const data{21};
  std::vector<sc::weight_array> weights;
  std::tuple<xt::xtensor<float, 2>, xt::xtensor<float, 2>> outputs;

  trained() {
    sc::trainer<network, training> model;
    model.fit(sc::inputs(data.image, data.other), sc::targets(data.first, data.second), {.epochs = 2, .verbose = 0});
    weights = model.get_weights();
    outputs = model.predict(sc::inputs(data.image, data.other));
    // Keras's model(x).
    auto const [first, second] = model(sc::inputs(data.image, data.other).slice(4, 3));
    CHECK(first == xt::view(std::get<0>(outputs), xt::range(4, 7)));
    CHECK(second == xt::view(std::get<1>(outputs), xt::range(4, 7)));
  }
};
trained const& reference() {
  static trained const result;
  return result;
}

template <class Predictor>
void check_against_trainer() {
  auto const& [data, weights, outputs] = reference();
  auto const x = sc::inputs(data.image, data.other);
  Predictor model;
  model.set_weights(weights);
  CHECK(model.get_weights() == weights);
  CHECK(model.predict(x) == outputs);
  CHECK(model.predict(x, {.batch_size = 3}) == outputs);
  auto const [first, second] = model(x.slice(17, 4));
  CHECK(first == xt::view(std::get<0>(outputs), xt::range(17, 21)));
  CHECK(second == xt::view(std::get<1>(outputs), xt::range(17, 21)));
  auto const [some, others] = model.predict_on_batch(x.slice(2, 1));
  CHECK(some == xt::view(std::get<0>(outputs), xt::range(2, 3)));
  CHECK(others == xt::view(std::get<1>(outputs), xt::range(2, 3)));
  CHECK(model.predict(x) == outputs);
}

}  // namespace

TEST_CASE("a predictor has the outputs of a trainer, for whole and partial batches") {
  check_against_trainer<sc::predictor<network, run<>>>();
}

TEST_CASE("a predictor prints the summary of its model") {
  std::string of_model, of_predictor;
  sc::summary<network>({.print_fn = [&](std::string_view line) { of_model.append(line) += '\n'; }});
  sc::predictor<network, run<>> const model;
  model.summary({.print_fn = [&](std::string_view line) { of_predictor.append(line) += '\n'; }});
  CHECK(of_predictor == of_model);
  CHECK(of_model.find("Total params: ") != std::string::npos);
}

TEST_CASE("penalties make no difference to predictions") {
  sc::predictor<without_penalties, large_inference> without;
  sc::predictor<with_penalties, large_inference> model;
  sc::predictor<penalties_in_stages, large_inference, sc::ipu<small_ipus<2>>> in_stages;
  model.set_weights(without.get_weights());
  in_stages.set_weights(without.get_weights());
  xt::xtensor<float, 2> const x = xt::view(samples(64).image, xt::all(), 0, xt::range(0, 5), 0);
  xt::xtensor<float, 2> inputs = xt::zeros<float>({64, 16});
  xt::view(inputs, xt::all(), xt::range(3, 8)) = x;
  auto const expected = without.predict(inputs);
  CHECK(model.predict(inputs) == expected);
  CHECK(in_stages.predict(inputs) == expected);
}

TEST_CASE("samples that stay where the caller has them give the bits of those that are copied") {
  using mlp = sc::sequential<input{5, 4}, flatten{}, dense{12, sc::relu}, dense{20}, reshape{5, 4}>;
  static constexpr auto eight = sc::inference{.batch_size = 8, .steps_per_execution = 2};
  auto const check = [](auto& model) {
    xt::xtensor<float, 3> x = xt::zeros<float>({22, 5, 4});
    for (std::size_t i = 0; i < x.size(); ++i) x.flat(i) = static_cast<float>(i * 7919 % 97) / 97.0F - 0.5F;
    xt::xtensor<double, 3> const copied = x;
    auto const expected = model.predict(copied);
    CHECK(model.predict(x) == expected);
    auto const part = [](auto const& all, std::size_t first) -> xt::xtensor<float, 3> {
      return xt::view(all, xt::range(first, first + 8));
    };
    CHECK(model.predict_on_batch(xt::view(x, xt::range(9, 17))) == part(expected, 9));
    // Outputs that are given back lie in the model's own memory.
    xt::xtensor<double, 3> const once = part(expected, 0);
    auto const twice = model.predict_on_batch(once);
    CHECK(model.predict_on_batch(model(part(x, 0))) == twice);
    CHECK(x == copied);
  };
  sc::predictor<mlp, eight> alone;
  check(alone);
  sc::predictor<mlp, eight, sc::host<2>> together;
  check(together);
}

TEST_CASE("initial weights follow from the seed, as a trainer's do") {
  CHECK(sc::predictor<network, run<>>(7).get_weights() == sc::trainer<network, training>(7).get_weights());
  CHECK(sc::predictor<network, run<>>(7).get_weights() != sc::predictor<network, run<>>(8).get_weights());
}

TEST_CASE("the stages of a predictor follow each schedule, on the host and on emulated IPUs") {
  check_against_trainer<sc::predictor<staged, run<sc::grouped>, sc::host<2>>>();
  check_against_trainer<sc::predictor<staged, run<sc::interleaved>, sc::host<3>>>();
  check_against_trainer<sc::predictor<staged, run<sc::schedule::sequential>>>();
  using four_ipus = sc::ipu<sc::ipu_config{.auto_select_ipus = 4, .ipu_model = {.tiles_per_ipu = 8}}, 2>;
  check_against_trainer<sc::predictor<staged, run<sc::grouped>, four_ipus>>();
  check_against_trainer<sc::predictor<staged, run<sc::interleaved>, four_ipus>>();
  check_against_trainer<sc::predictor<network, run<>, four_ipus>>();  // as four replicas
}

TEST_CASE("tiles that are checked predict, and what they do is what the profile says") {
  using checked = sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 4, .checked = true}}>;
  auto const& [data, weights, outputs] = reference();
  sc::predictor<network, run<>, checked> model;
  model.set_weights(weights);
  auto const [first, second] = model.predict(sc::inputs(data.image, data.other));
  CHECK(xt::allclose(first, std::get<0>(outputs), 1e-4, 1e-5));
  CHECK(xt::allclose(second, std::get<1>(outputs), 1e-4, 1e-5));
  auto const& pass = model.session().counted().inference[0];
  CHECK(pass.runs == 6);
  CHECK(pass.cost.cycles() == 6 * sc::profile<network, run<>, checked>.pass(0).work().cycles());
}

TEST_CASE("half precision") {
  using machine_type = sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 8}}>;
  constexpr auto policy = sc::dtype_policies::mixed_float16;
  constexpr auto half_training =
      sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 4, .dtype_policy = policy};
  auto const& [data, weights, outputs] = reference();
  sc::trainer<network, half_training, machine_type> trainer;
  trainer.set_weights(weights);
  sc::predictor<network, run<sc::grouped, policy>, machine_type> model;
  model.set_weights(weights);
  auto const predicted = model.predict(sc::inputs(data.image, data.other));
  CHECK(predicted == trainer.predict(sc::inputs(data.image, data.other)));
  CHECK(predicted != outputs);
}

TEST_CASE("callbacks see each execution, or each step from another thread") {
  struct counter : sc::callback {
    int batches = 0;
    void on_predict_batch_end(int, sc::logs&) override { ++batches; }
  };
  auto const& [data, weights, outputs] = reference();
  counter executions, steps;
  sc::predictor<network, run<>> model;
  model.predict(sc::inputs(data.image, data.other), {.callbacks = {&executions}});
  CHECK(executions.batches == 2);
  constexpr auto queued = sc::inference{
      .batch_size = 4, .num_replicas = 2, .infeed_queue = {.prefetch_depth = 2}, .asynchronous_callbacks = true};
  sc::predictor<network, queued, sc::host<2>> with_queues;
  with_queues.set_weights(weights);
  CHECK(with_queues.predict(sc::inputs(data.image, data.other), {.callbacks = {&steps}}) == outputs);
  CHECK(steps.batches == 6);
}

TEST_CASE("weights can be read by their names, and wrong data are refused") {
  auto const& [data, weights, outputs] = reference();
  sc::predictor<network, run<>> model;
  model.set_weights(weights);
  auto const kernel = model.weight<"dense/kernel">();
  auto const given =
      std::find_if(weights.begin(), weights.end(), [](auto const& w) { return w.name == "dense/kernel:0"; });
  CHECK(kernel(2, 6) == given->values[2 * 7 + 6]);
  static_assert(std::is_const_v<std::remove_reference_t<decltype(kernel(0, 0))>>);
  CHECK_THROWS_WITH_AS(model(sc::inputs(data.image, data.other)),
                       "x: expected at most 4 samples, the description's batch_size, found 21 [E4008]", sc::data_error);
  CHECK_THROWS_AS(model.predict(data.image), sc::data_error);
  CHECK_THROWS_AS(model.set_weights({}), sc::data_error);
}

namespace {

// Convolutions without and with a bias, a grouped one, and a dense layer, each with a normalization behind it.
using normalized =
    sc::sequential<input{7, 6, 4}, conv2d{8, 3, {.use_bias = false}}, batch_normalization{}, activation{sc::relu},
                   conv2d{6, 2, {.groups = 2}}, batch_normalization{{.scale = false}}, flatten{}, dense{20},
                   batch_normalization{{.center = false}}, activation{sc::tanh}, dense{12, sc::relu},
                   batch_normalization{}, dense{3}>;
using normalized_in_stages = sc::pipelined<normalized, sc::stages<0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2>>;
inline constexpr auto folded = sc::inference{.batch_size = 4, .steps_per_execution = 3};
inline constexpr auto unfolded = sc::inference{.batch_size = 4, .fold_batch_normalization = false};

template <class Model>
constexpr int folds() {
  return Model::session_type::step_weights::folded_type::count;
}
// The normalization behind an activation stays, and so does that in another stage than the sums.
static_assert(folds<sc::predictor<normalized, folded>>() == 3 && folds<sc::predictor<normalized, unfolded>>() == 0);
static_assert(folds<sc::predictor<normalized_in_stages, folded, sc::host<2>>>() == 2);
static_assert(folds<sc::predictor<normalized, folded, sc::ipu<small_ipus<1>>>>() == 0);

}  // namespace

TEST_CASE("normalizations become part of the weights before them") {
  auto x = xt::xtensor<float, 4>::from_shape({9, 7, 6, 4});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  auto weights = sc::predictor<normalized, unfolded>().get_weights();
  std::size_t number = 1;
  for (auto& weight : weights)
    for (float& value : weight.values) {
      number = number * 7919 % 10007;
      if (weight.name.find("batch_normalization") != std::string::npos || weight.name.find("bias") != std::string::npos)
        value = static_cast<float>(number % 1000) / 1000 + 0.3F;
    }
  sc::predictor<normalized, unfolded> plain;
  plain.set_weights(weights);
  auto const expected = plain.predict(x);
  float const largest = xt::amax(xt::abs(expected))();
  auto const check = [&](auto& model) {
    model.set_weights(weights);
    CHECK(model.get_weights() == weights);
    CHECK(xt::amax(xt::abs(model.predict(x) - expected))() < 1e-5F * largest);
    // Weights that are set again are folded again, and so are those that are written in place.
    auto changed = weights;
    for (auto& weight : changed)
      if (weight.name == "batch_normalization/gamma:0")
        for (float& value : weight.values) value *= 2;
    model.set_weights(changed);
    plain.set_weights(changed);
    CHECK(xt::amax(xt::abs(model.predict(x) - plain.predict(x)))() < 1e-5F * largest * 4);
    auto const first = xt::xtensor<float, 4>(xt::view(x, xt::range(0, 4)));
    std::fill_n(model.session().weight(1), 8, 0.5F);  // gamma
    std::fill_n(plain.session().weight(1), 8, 0.5F);
    CHECK(xt::amax(xt::abs(model(first) - plain(first)))() < 1e-5F * largest * 4);
    model.set_weights(changed);
    plain.set_weights(changed);
    CHECK(xt::amax(xt::abs(model.predict(x) - expected))() > 1e-2F * largest);
  };
  sc::predictor<normalized, folded> model;
  check(model);
  sc::predictor<normalized_in_stages, folded, sc::host<2>> in_stages;
  check(in_stages);
}
