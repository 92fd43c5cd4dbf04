// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call` give the same bits on any number of threads, however the batch is divided.
#include "../../engine/session_data.hpp"

namespace {

/// Sees the whole batch in the middle of its steps, and changes a weight.
struct centre_batch : sc::layer<centre_batch> {
  static constexpr std::string_view class_name = "CentreBatch";
  constexpr auto call(auto& ops, auto x) const {
    auto const mean = ops.weight({.name = "mean", .shape = {x.length(1), x.length(2)}, .trainable = false});
    auto const now = ops.mean(x, 0);
    ops.update(mean, ops.reshape(now, {x.length(1), x.length(2)}) * 0.5F + mean * 0.5F);
    auto const noise = ops.normal(x.shape());  // drawn by sample, too
    return tanh(x - now) * 2.0F + noise * 0.1F;
  }
};

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& builder) {
    auto tokens = lambda([](auto x) { return floor(abs(x) * 20.0F); })(builder.input(9));
    auto x = centre_batch()(embedding(7, 8)(tokens));
    x = x + multi_head_attention(2, 20, {.dropout = 0.25F, .use_causal_mask = true})(x, x);
    x = group_normalization(4)(bidirectional(gru(6, {.return_sequences = true}))(x));
    x = lstm(18, {.dropout = 0.25F, .recurrent_dropout = 0.25F})(x);
    return dense(2)(x);
  }
};

/// So wide that several operations are carried out for some rows together, but not by three threads.
struct wide_sequences : sc::functional<wide_sequences> {
  static constexpr auto build(auto& builder) {
    auto x = lstm(190, {.return_sequences = true})(builder.input(5, 20));
    x = gru(190, {.return_sequences = true})(x);
    x = multi_head_attention(2, 40)(x, x);
    return dense(2)(lstm(190)(x));
  }
};

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::mean_squared_error{}, .batch_size = 11};

template <int Threads, class M = sequences>
std::vector<float> train() {
  session_steps<M, training, sc::host<Threads>> s(5);
  for (int k = 0; k < 4; ++k) data::step(s, 7 * k);
  auto result = data::weights(s);
  result.push_back(s.total_loss());
  data::fill(s, 3);
  s.test_step();
  result.push_back(s.total_loss());
  return result;
}

}  // namespace

TEST_CASE("any number of threads") {
  auto const expected = train<1>();
  for (float const value : expected) REQUIRE(value == value);
#ifndef STAGECRAFT_TEST_FEWER_MACHINES  // each number of threads is 5 s of compiling
  CHECK(train<2>() == expected);
#endif
  CHECK(train<3>() == expected);
}

TEST_CASE("rows together") {
  auto const expected = train<1, wide_sequences>();
  for (float const value : expected) REQUIRE(value == value);
  CHECK(train<3, wide_sequences>() == expected);
}
