// SPDX-License-Identifier: BSD-3-Clause
// Layers with a type of their own, and layers that the host carries out beside IPUs: what is stored and priced, and
// that the host, emulated IPUs and their tiles compute the same.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it
using sc::dtype;

using in_float = sc::sequential<input{24}, dense{16, sc::tanh}, dense{16, sc::tanh}, dense{6}>;
using mixed = sc::sequential<input{24}, dense{16, sc::tanh}, dense{16, sc::tanh, {.dtype = dtype::float16}}, dense{6}>;
/// The other way round: float32 where the policy is float16.
using float_ends = sc::sequential<input{24}, dense{16, sc::tanh, {.dtype = dtype::float32}}, dense{16, sc::tanh},
                                  dense{6, {.dtype = dtype::float32}}>;
/// Both types read what one layer gives; a view has the type of what it shows, and add has no options.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto x = dense{16, sc::tanh}(model.input(24));
    auto y = dense{16, sc::tanh, {.dtype = dtype::float16}}(reshape{16}(x));
    auto z = dense{16}(x);
    return dense{6}(add{}.in_dtype(dtype::float16)(y, z));
  }
};
/// Keras's recipe for mixed precision: the probabilities are floats.
using probabilities = sc::sequential<input{24}, dense{16, sc::tanh}, dense{6, sc::softmax, {.dtype = dtype::float32}}>;
/// Numbers of words are exact, whatever the type of the table.
using words = sc::sequential<input{24}, embedding{4000, 3}>;
using words_in_half = sc::sequential<input{24}, embedding{4000, 3, {.dtype = dtype::float16}}>;
using on_host = sc::sequential<input{24}, dense{16, sc::tanh}.on_host(), dense{16, sc::tanh}, dense{6}.on_host()>;
using on_host_in_stages = sc::pipelined<
    sc::sequential<input{24}, dense{16, sc::tanh}.on_host(), dense{16, sc::tanh}, dense{12}, dense{6}.on_host()>,
    sc::stages<0, 0, 1, 1>>;

/// With layers in the middle that are frozen, or trained.
template <bool Trained>
using middle = sc::sequential<input{6, 6, 3}, conv2d{4, 3, sc::tanh}, conv2d{4, 3, sc::tanh, {.trainable = Trained}},
                              flatten{}, dense{6, sc::tanh, {.trainable = Trained}}, dense{5}>;
template <bool Trained>
using normalized = sc::sequential<input{24}, batch_normalization{{.trainable = Trained}}, dense{6}>;

using fast = sc::ipu<>;
template <int Ipus = 1>
using tiles = sc::ipu<sc::ipu_config{.auto_select_ipus = Ipus, .ipu_model = {.tiles_per_ipu = 16, .checked = true}}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = 8};
inline constexpr auto in_half = [] {
  auto result = training;
  result.dtype_policy = sc::dtype_policies::mixed_float16;
  return result;
}();
inline constexpr auto of_classes = sc::training{.optimizer = sc::optimizers::sgd{},
                                                .loss = sc::losses::sparse_categorical_crossentropy{},
                                                .batch_size = 8,
                                                .dtype_policy = sc::dtype_policies::mixed_float16};
inline constexpr auto inference = sc::inference{.batch_size = 8};
inline constexpr auto inference_in_half =
    sc::inference{.batch_size = 8, .dtype_policy = sc::dtype_policies::mixed_float16};

xt::xtensor<float, 2> samples(std::size_t width, float phase) {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({16, width});
  float at = phase;
  for (float& value : x) value = std::sin(at += 1.37F);
  return x;
}

/// What is not a number of float16.
std::ptrdiff_t count_floats(auto const& values) {
  return std::count_if(values.begin(), values.end(), [](float x) {
    int exponent = 0;
    float const fraction = std::ldexp(std::frexp(x, &exponent), 11);
    return fraction != std::nearbyint(fraction);
  });
}

struct result {
  xt::xtensor<float, 2> before, outputs;
  decltype(std::declval<sc::trainer<in_float, training>&>().get_weights()) weights;
};

/// Predictions, three epochs, weights and predictions after them, from the same weights for each machine.
template <class M, auto Training, class Machine>
result train() {
  sc::trainer<M, Training, Machine> model;
  auto weights = model.get_weights();
  float at = 0.3F;
  for (auto& weight : weights)
    for (float& value : weight.values) value = 0.4F * std::sin(at += 0.71F);
  model.set_weights(weights);
  auto const x = samples(24, 0), y = samples(6, 0.5F);
  result found;
  found.before = model.predict(x);
  model.fit(x, y, {.epochs = 3, .verbose = 0, .shuffle = false});
  found.outputs = model.predict(x);
  found.weights = model.get_weights();
  return found;
}

float deviation(auto const& a, auto const& b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  auto other = b.begin();
  for (float const x : a) most = std::max(most, std::abs(x - *other++));
  return most;
}

template <class M, auto Training>
result check_machines(float tolerance) {
  auto const host = train<M, Training, sc::host<>>(), floats = train<in_float, training, sc::host<>>();
  for (auto const& other : {train<M, Training, fast>(), train<M, Training, tiles<>>()}) {
    CHECK(deviation(host.before, other.before) < tolerance);
    CHECK(deviation(host.outputs, other.outputs) < tolerance);
    for (std::size_t i = 0; i < host.weights.size(); ++i)
      CHECK(deviation(host.weights[i].values, other.weights[i].values) < tolerance);
  }
  if constexpr (!std::is_same_v<M, branches>) {
    CHECK(deviation(host.outputs, floats.outputs) < 4 * tolerance);
    CHECK(deviation(host.outputs, floats.outputs) > 0);
  }
  return host;
}

/// The host, emulated IPUs and their tiles predict the same.
template <class M, auto Inference, int Ipus>
void check_predictors(xt::xtensor<float, 2> const& x) {
  sc::predictor<M, Inference> host;
  sc::predictor<M, Inference, sc::ipu<sc::ipu_config{.auto_select_ipus = Ipus}>> ipus;
  sc::predictor<M, Inference, tiles<Ipus>> checked;
  ipus.set_weights(host.get_weights());
  checked.set_weights(host.get_weights());
  auto const expected = host.predict(x);
  CHECK(deviation(ipus.predict(x), expected) < 1e-6F);
  CHECK(deviation(checked.predict(x), expected) < 1e-6F);
}

/// What a step of training makes of the first layer, and before it predictions, are the same if others are frozen.
template <sc::dtype_policy Policy, class Machine>
void check_frozen() {
  constexpr auto trained_so = [] {
    auto result = training;
    result.dtype_policy = Policy;
    return result;
  }();
  sc::trainer<middle<false>, trained_so, Machine> frozen;
  sc::trainer<middle<true>, trained_so, Machine> trained;
  auto const weights = trained.get_weights();
  frozen.set_weights(weights);
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({8, 6, 6, 3});
  xt::xtensor<float, 2> y = xt::xtensor<float, 2>::from_shape({8, 5});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 700 - 0.7F;
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = static_cast<float>(i * 131 % 100) / 50 - 1;
  CHECK(frozen.predict(x) == trained.predict(x));
  frozen.train_on_batch(x, y);
  trained.train_on_batch(x, y);
  auto const of_frozen = frozen.get_weights(), of_trained = trained.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(i);
    bool const is_frozen = i >= 2 && i < 6;
    CHECK((of_frozen[i].values == of_trained[i].values) == !is_frozen);
    CHECK((of_frozen[i].values == weights[i].values) == is_frozen);
  }
}

/// A normalization predicts the same if it is frozen.
template <auto Inference>
void check_statistics() {
  sc::predictor<normalized<true>, Inference> trained;
  sc::predictor<normalized<false>, Inference> frozen;
  auto weights = trained.get_weights();
  for (auto& weight : weights)
    for (std::size_t i = 0; i < weight.values.size(); ++i) weight.values[i] += 0.3F + 0.01F * static_cast<float>(i);
  trained.set_weights(weights);
  frozen.set_weights(weights);
  CHECK(trained.predict(samples(24, 0)) == frozen.predict(samples(24, 0)));
}

}  // namespace

static_assert(sc::graph_of<mixed>.layer_of(2).type_of_values == dtype::float16);
static_assert(sc::plan::model_plan_for<sc::jobs::job_on<mixed, training, sc::host<>>>.calls[2].stored ==
              dtype::float16);
static_assert(sc::plan::model_plan_for<sc::jobs::job_on<mixed, training, sc::host<>>>.calls[1].stored ==
              dtype::float32);

TEST_CASE("a layer in float16 keeps its weights so, and casts at its borders") {
  auto const host = check_machines<mixed, training>(2e-3F);
  CHECK(count_floats(host.weights[0].values) > 0);
  CHECK(count_floats(host.weights[2].values) == 0);
  CHECK(count_floats(host.weights[3].values) == 0);
  CHECK(count_floats(host.weights[4].values) > 0);
  CHECK(count_floats(host.outputs) > 0);
  // Only the inputs of the layer are halves: not what others read of them.
  check_machines<branches, training>(4e-3F);
}

TEST_CASE("a layer in float32 under a policy of float16") {
  auto const host = check_machines<float_ends, in_half>(2e-3F);
  CHECK(count_floats(host.outputs) > 0);
  CHECK(count_floats(train<in_float, in_half, sc::host<>>().outputs) == 0);
}

TEST_CASE("probabilities in float32 that a loss takes as logits, under a policy of float16") {
  sc::trainer<probabilities, of_classes> model;
  xt::xtensor<float, 2> const found = model.predict(samples(24, 0));
  for (std::size_t i = 0; i < 16; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 6; ++k) sum += found(i, k);
    CHECK(std::abs(sum - 1) < 1e-6F);
  }
}

TEST_CASE("casts and halves are priced") {
  constexpr auto all = sc::profile<in_float, inference, fast>;
  constexpr auto some = sc::profile<mixed, inference, fast>;
  static_assert(some.memory(0).weights < all.memory(0).weights);
  static_assert(some.compute_cycles() != all.compute_cycles());
  constexpr auto const& step = sc::tiles::lowered_step_of<sc::jobs::job_on<mixed, inference, fast>, 0, 2, false>;
  static_assert(step.tensors[0].role == sc::tiles::tensor_role::input && step.tensors[0].type == dtype::float32 &&
                step.tensors[1].type == dtype::float16);
}

TEST_CASE("the host carries out layers beside IPUs") {
  constexpr auto all = sc::profile<in_float, inference, fast>;
  constexpr auto some = sc::profile<on_host, inference, fast>;
  static_assert(some.cycles() < all.cycles() && some.memory(0).weights < all.memory(0).weights);
  static_assert(some.steps(0).size() == all.steps(0).size());
  check_predictors<on_host, inference, 1>(samples(24, 0));
  check_predictors<on_host_in_stages, sc::inference{.batch_size = 8, .steps_per_execution = 2}, 2>(samples(24, 0));
}

TEST_CASE("numbers of words are not rounded") {
  xt::xtensor<float, 2> const numbers = xt::round(1999.5F * (samples(24, 0) + 1));
  check_predictors<words_in_half, inference, 1>(numbers);
  check_predictors<words, inference_in_half, 1>(numbers);
}

TEST_CASE("weights of frozen layers are rounded for each step as others are, states are not") {
  check_frozen<sc::dtype_policies::mixed_bfloat16, sc::host<>>();
  check_frozen<sc::dtype_policies::mixed_float16, sc::host<>>();
  check_frozen<sc::dtype_policies::mixed_float16, fast>();
  check_frozen<sc::dtype_policies::mixed_float16, tiles<>>();
  check_statistics<inference_in_half>();
}

TEST_CASE("statistics of a frozen normalization are floats where weights are rounded") {
  check_statistics<sc::inference{.batch_size = 8, .dtype_policy = sc::dtype_policies::float16}>();
}
