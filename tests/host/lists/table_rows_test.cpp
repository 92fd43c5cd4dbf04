// SPDX-License-Identifier: BSD-3-Clause
// Tables whose rows are updated one by one have the bits of those whose gradient is made as a whole, on any number of
// threads, and with accumulation.
#include "../../engine/session_data.hpp"

namespace {

/// The optimizer's formula, of which nothing tells that it leaves weights without a gradient alone.
struct divided : sc::optimizer<divided> {
  float learning_rate = 0.1F;
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    ops.update(weight, weight - ops.learning_rate() * (gradient / 1.0F));
  }
};

struct two_tables : sc::functional<two_tables> {
  static constexpr auto build(auto& builder) {
    auto tokens = lambda([](auto x) { return floor(abs(x) * 25.0F); })(builder.input(9));
    auto each = time_distributed(embedding(30, 8))(reshape(9, 1)(tokens));
    auto x = embedding(23, 8, {.name = "first"})(tokens) + reshape(9, 8)(each);
    auto y = embedding(23, 20, {.embeddings_constraint = sc::constraints::unit_norm{}, .name = "second"})(tokens);
    return dense(2)(global_average_pooling1d()(concatenate()(x, y)));
  }
};

template <class Optimizer, int Accumulation = 1>
inline constexpr sc::training training{
    .optimizer = Optimizer{.learning_rate = 0.1F},
    .loss = sc::losses::mean_squared_error{},
    .batch_size = 11,
    .gradient_accumulation = {.gradient_accumulation_steps_per_replica = Accumulation}};

template <auto const& Training, int Threads>
std::vector<float> train() {
  session_steps<two_tables, Training, sc::host<Threads>> s(5);
  for (int k = 0; k < 4; ++k) data::step(s, 7 * k, k == 2 ? 6 : 11);
  auto result = data::weights(s);
  result.push_back(s.total_loss());
  return result;
}

using plan = session_steps<two_tables, training<sc::optimizers::sgd>>::first_plan;
static_assert(plan::updates_rows(sc::find_call<two_tables>("first"), 0));
static_assert(plan::updates_rows(sc::find_call<two_tables>("second"), 0));
static_assert(!plan::updates_rows(sc::find_call<two_tables>("time_distributed"), 0));

}  // namespace

TEST_CASE("rows that are updated one by one") {
  auto const expected = train<training<divided>, 1>();
  for (float const value : expected) REQUIRE(value == value);
  CHECK(train<training<sc::optimizers::sgd>, 1>() == expected);
  CHECK(train<training<sc::optimizers::sgd>, 2>() == expected);
  CHECK(train<training<sc::optimizers::sgd>, 3>() == expected);
  CHECK(train<training<sc::optimizers::sgd, 2>, 1>() == train<training<divided, 2>, 1>());
}
