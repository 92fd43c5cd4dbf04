// SPDX-License-Identifier: BSD-3-Clause
// Copies of dense, embedding and batch_normalization under other names have the plans and the bits of the originals.
#include "own_copies.hpp"

#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it
using namespace own_copies;  // NOLINT: the same

namespace {

using words = sc::sequential<input{6}, embedding{50, 8}, flatten{}, dense{24, {.use_bias = false}},
                             batch_normalization{}, activation{sc::relu}, dense{20, sc::gelu}, dense{5, sc::softmax}>;
using own_words = sc::sequential<input{6}, word_vectors{50, 8}, flatten{},
                                 fully_connected{24, sc::linear, {.use_bias = false}}, channel_normalization{},
                                 activation{sc::relu}, fully_connected{20, sc::gelu}, fully_connected{5, sc::softmax}>;
inline constexpr auto sgd = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F},
                                         .loss = sc::losses::sparse_categorical_crossentropy{},
                                         .batch_size = 4};
inline constexpr auto halves = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                            .batch_size = 4,
                                            .dtype_policy = sc::dtype_policies::mixed_bfloat16};
using rows = sc::sequential<input{12}, dense{24}, batch_normalization{}, dense{5, sc::softmax}>;
using own_rows =
    sc::sequential<input{12}, fully_connected{24}, channel_normalization{}, fully_connected{5, sc::softmax}>;
inline constexpr auto predicts = sc::inference{.batch_size = 4};

template <class M, auto const& Training>
constexpr auto const& plan = sc::plan::model_plan_for<typename sc::jobs::job<M, Training>>;
template <class M, auto const& Training>
constexpr auto const& inference_plan = sc::plan::model_plan_for<typename sc::jobs::job<M, Training>::in_inference>;

static_assert(plan<words, sgd> == plan<own_words, sgd>);
static_assert(plan<words, halves> == plan<own_words, halves>);
static_assert(inference_plan<words, sgd> == inference_plan<own_words, sgd>);
static_assert(inference_plan<rows, predicts> == inference_plan<own_rows, predicts>);

// What the copies get.
static_assert(plan<own_words, halves>.calls[0].is_exact, "words are not rounded");
static_assert(plan<own_words, sgd>.calls[1].needs.row_gradients == 1, "rows of the table are updated");
static_assert(plan<own_words, sgd>.calls.back().activation_in_loss, "the loss takes the logits");
static_assert(inference_plan<own_rows, predicts>.calls[0].stays_in_place, "a product reads the caller's samples");
static_assert(inference_plan<own_rows, predicts>.calls[1].epilogue == 2);
static_assert(sc::predictor<own_rows, predicts>::session_type::step_weights::folded_type::count == 1);

// Indices of parts of a table are numbers of the input less a constant.
using table_in_parts =
    sc::sequential<input{6}, embedding{50, 8, {.serialization_factor = 5}}, flatten{}, dense{5, sc::softmax}>;
static_assert(plan<table_in_parts, halves>.calls[0].is_exact);

template <class M>
using trained_steps = sc::engine::step_plan<sc::jobs::job_on<M, sgd, sc::host<>>, 1>;
static_assert(trained_steps<words>::fuses_update(3, 0) && trained_steps<own_words>::fuses_update(3, 0));

using own_end = sc::sequential<input{12}, scaled_sums{5, sc::softmax}>;
using own_middle = sc::sequential<input{12}, dense{5, sc::softmax}, scaled_sums{5, sc::softmax}, flatten{}>;
static_assert(plan<own_end, sgd>.calls[1].activation_in_loss, "of a layer without a kernel, too");
static_assert(!plan<own_middle, sgd>.calls[2].activation_in_loss);

template <class Model>
std::vector<std::vector<float>> values_of(Model const& model) {
  std::vector<std::vector<float>> result;
  for (auto const& weight : model.get_weights()) result.push_back(weight.values);
  return result;
}

auto samples(std::size_t columns) {
  auto x = xt::xtensor<float, 2>::from_shape({12, columns});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 50);
  return x;
}

}  // namespace

TEST_CASE("copies of layers train with the bits of the originals") {
  auto const x = samples(6);
  auto y = xt::xtensor<int, 1>::from_shape({12});
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i % 5);
  sc::trainer<words, sgd> model;
  sc::trainer<own_words, sgd> own;
  CHECK(values_of(own) == values_of(model));
  model.fit(x, y, {.epochs = 3, .shuffle = false});
  own.fit(x, y, {.epochs = 3, .shuffle = false});
  CHECK(values_of(own) == values_of(model));
  CHECK(own.predict(x) == model.predict(x));
}

TEST_CASE("copies of layers predict with the bits of the originals") {
  sc::predictor<rows, predicts> model;
  sc::predictor<own_rows, predicts> own;
  auto weights = model.get_weights();
  auto own_weights = own.get_weights();
  REQUIRE(weights.size() == own_weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      weights[i].values[k] = static_cast<float>((i + 3) * (k + 7) * 7919 % 1000) / 1000 + 0.1F;
    own_weights[i].values = weights[i].values;
  }
  model.set_weights(weights);
  own.set_weights(own_weights);
  CHECK(own.predict(samples(12)) == model.predict(samples(12)));
}
