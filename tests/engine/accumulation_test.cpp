// SPDX-License-Identifier: BSD-3-Clause
#include "../session_steps.hpp"
#include "session_data.hpp"

namespace {

using enum sc::gradient_accumulation_reduction_method;

/// A shared layer, whose weights' gradients come from two calls.
struct model : sc::functional<model> {
  static constexpr auto build(auto& builder) {
    auto x = builder.input(5);
    dense shared(5, sc::tanh);
    return dense(3, {.kernel_regularizer = sc::regularizers::l2{0.1F}})(shared(shared(x)));
  }
};

inline constexpr float rate = 0.1F;

template <int Batch, int Steps = 0, sc::gradient_accumulation_reduction_method Method = sum>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = rate},
                 .batch_size = Batch,
                 .pipeline = {.gradient_accumulation_steps_per_replica = Steps, .reduction_method = Method}};

template <auto Training>
using session = session_steps<model, Training, sc::host<>>;

/// The change of the weights by one plain step on samples [first, first + 4).
std::vector<float> change(int first) {
  session<training<4>> s(3);
  auto result = data::weights(s);
  data::step(s, first);
  auto const after = data::weights(s);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = after[i] - result[i];
  return result;
}

/// What three micro-batches of four samples make of the weights, by hand.
std::vector<float> by_hand(float factor) {
  auto result = data::weights(session<training<4>>(3));
  for (int k = 0; k < 3; ++k) {
    auto const step = change(4 * k);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += factor * step[i];
  }
  return result;
}

template <sc::gradient_accumulation_reduction_method Method>
std::vector<float> accumulated() {
  session<training<4, 3, Method>> s(3);
  auto const before = data::weights(s);
  data::step(s, 0);
  data::step(s, 4);
  CHECK(data::weights(s) == before);
  data::step(s, 8);
  return data::weights(s);
}

}  // namespace

TEST_CASE("sum") { CHECK(data::deviation(accumulated<sum>(), by_hand(1)) < 1e-6); }
TEST_CASE("mean") { CHECK(data::deviation(accumulated<mean>(), by_hand(1.0F / 3)) < 1e-6); }
TEST_CASE("running mean") { CHECK(data::deviation(accumulated<running_mean>(), by_hand(1.0F / 3)) < 1e-6); }

TEST_CASE("the mean of micro-batches is one batch as large as all") {
  session<training<12>> s(3);
  data::step(s, 0);
  CHECK(data::deviation(accumulated<mean>(), data::weights(s)) < 1e-6);
}

TEST_CASE("the next accumulation begins anew") {
  session<training<4, 2, sum>> s(3);
  session<training<4>> first(3), second(3);
  for (int k = 0; k < 2; ++k) data::step(s, 4 * k);
  auto const between = data::weights(s);
  for (int k = 2; k < 4; ++k) data::step(s, 4 * k);
  auto const after = data::weights(s);
  auto const from = [&](session<training<4>>& plain, int sample) {
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      std::size_t at = 0;
      ((plain.write_weight<Weight>(between.data() + at),
        at += static_cast<std::size_t>(plain.graph.parameters[Weight].size())),
       ...);
    }(std::make_index_sequence<session<training<4>>::graph.parameters.size()>{});
    data::step(plain, sample);
    return data::weights(plain);
  };
  auto expected = between;
  auto const one = from(first, 8), two = from(second, 12);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += one[i] - between[i] + two[i] - between[i];
  CHECK(data::deviation(after, expected) < 1e-6);
}
