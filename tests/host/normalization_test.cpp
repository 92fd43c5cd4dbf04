// SPDX-License-Identifier: BSD-3-Clause
// What batch_normalization does in a session: moving statistics, partial batches, accumulation, threads.
#include "../engine/session_data.hpp"
#include "../session_steps.hpp"

#include <array>

namespace {

struct model : sc::functional<model> {
  static constexpr auto build(auto& builder) {
    auto x = builder.input(3, 5);
    auto a = batch_normalization{{.momentum = 0.9}}(dense(6)(x));
    auto b = layer_normalization{{.axis = {1, 2}}}(sc::layers::activation(sc::tanh)(a));
    auto c = batch_normalization{{.axis = 1, .momentum = 0.5}}(layer_normalization{}(b));
    return dense(2)(batch_normalization{{.momentum = 0}}(flatten()(c)));
  }
};

/// Enough numbers for several items of work.
struct large : sc::functional<large> {
  static constexpr auto build(auto& builder) {
    auto x = builder.input(40, 30, 2);
    auto a = batch_normalization{}(dense(17)(x));
    auto b = layer_normalization{}(a);
    auto c = batch_normalization{1}(add()(a, batch_normalization{2}(b)));
    return dense(2)(layer_normalization{{.axis = {2, 3}}}(c));
  }
};

template <int Batch, int Accumulation = 0>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = Batch,
                 .pipeline = {.gradient_accumulation_steps_per_replica = Accumulation,
                              .reduction_method = sc::gradient_accumulation_reduction_method::mean}};

template <class Model, int Batch, int Accumulation = 0, int Threads = 1>
using session = session_steps<Model, training<Batch, Accumulation>, sc::host<Threads>>;

/// Of all weights, those that are trained, or the others.
template <class Session>
std::vector<float> part(Session const& s, bool trained) {
  auto const all = data::weights(s);
  std::vector<float> result;
  std::size_t at = 0;
  for (auto const& weight : Session::graph.parameters) {
    auto const size = static_cast<std::size_t>(weight.size());
    if (weight.trainable == trained)
      for (std::size_t i = 0; i < size; ++i) result.push_back(all[at + i]);
    at += size;
  }
  return result;
}

template <int Threads>
std::vector<float> train_large() {
  session<large, 3, 0, Threads> s(5);
  for (int k = 0; k < 3; ++k) {
    s.set_valid_samples(3 - k);
    data::step(s, 3 * k, 3 - k);
  }
  auto result = data::weights(s);
  s.predict_step();
  result.insert(result.end(), s.prediction(0), s.prediction(0) + 3 * s.output_shape(0).size());
  return result;
}

}  // namespace

TEST_CASE("evaluation and prediction use the moving statistics, and leave them") {
  session<model, 4> s(3);
  for (int k = 0; k < 3; ++k) data::step(s, 4 * k);
  auto const before = data::weights(s);
  data::fill(s, 20);
  s.test_step();
  std::vector<float> const first(s.prediction(0), s.prediction(0) + 8);
  s.predict_step();
  CHECK(data::weights(s) == before);
  // A sample's output does not depend on the others of its batch.
  data::fill(s, 20, 1);
  s.predict_step();
  CHECK(s.prediction(0)[0] == first[0]);
  CHECK(s.prediction(0)[1] == first[1]);
}

TEST_CASE("statistics and gradients of a partial batch are those of its samples") {
  session<model, 2> whole(3);
  session<model, 5> partial(3);
  for (int k = 0; k < 3; ++k) {
    data::step(whole, 2 * k);
    data::fill(partial, 2 * k, 2);
    // What fills the batch may be anything; statistics of two samples make much of roundings.
    for (int i = 2 * 15; i < 5 * 15; ++i) partial.input(0)[i] = 1000.0F * data::number(i, k);
    partial.set_valid_samples(2);
    partial.train_step([] {});
    CHECK(std::abs(static_cast<double>(whole.total_loss() - partial.total_loss())) < 2e-5);
  }
  CHECK(data::deviation(data::weights(whole), data::weights(partial)) < 1e-4);
}

TEST_CASE("statistics move with each micro-batch, trained weights with the last") {
  session<model, 4, 3> s(3);
  auto const trained = part(s, true);
  auto moving = part(s, false);
  for (int k = 0; k < 2; ++k) {
    data::step(s, 4 * k);
    CHECK(part(s, true) == trained);
    CHECK(part(s, false) != moving);
    moving = part(s, false);
  }
  data::step(s, 8);
  CHECK(part(s, true) != trained);
}

TEST_CASE("a momentum close to 1 is taken from 1 in double, as in Keras") {
  using patient = sc::sequential<input{2}, batch_normalization{{.momentum = 0.99999}}>;
  session<patient, 2> s(1);
  data::fill(s, 0);
  std::copy_n(std::array{100000.0F, -300000.0F, 300000.0F, 100000.0F}.data(), 4, s.input(0));
  s.train_step([] {});
  // Means 200000 and -100000, times 1e-5F; a difference of floats would be 1.0014e-5.
  CHECK(s.weight(2)[0] == doctest::Approx(2).epsilon(1e-6));
  CHECK(s.weight(2)[1] == doctest::Approx(-1).epsilon(1e-6));
}

TEST_CASE("normalizations give the same bits on any number of threads") {
  auto const expected = train_large<1>();
#ifndef STAGECRAFT_TEST_FEWER_MACHINES  // each number of threads is 5 s of compiling
  CHECK(train_large<2>() == expected);
#endif
  CHECK(train_large<3>() == expected);
}
