// SPDX-License-Identifier: BSD-3-Clause
// Recurrent layers, attention, embeddings and groups in models: shapes, names, gradients with dropout.
#include "../session_steps.hpp"
#include "model_laws.hpp"

namespace {

using recurrent =
    sc::sequential<input{4, 3}, lstm{3, {.dropout = 0.25F, .recurrent_dropout = 0.25F, .return_sequences = true}},
                   bidirectional{gru{2, {.return_sequences = true, .reset_after = false}}},
                   simple_rnn{3, {.activation = sc::swish, .recurrent_dropout = 0.5F}}, dense{2}>;

struct attending : sc::functional<attending> {
  static constexpr auto build(auto& model) {
    auto const tokens = model.input(sc::shape(5), "tokens");
    auto x = embedding(7, 4)(tokens);
    multi_head_attention attention(2, 3, {.dropout = 0.25F, .use_causal_mask = true});
    x = x + attention(group_normalization(2)(x), x);
    return dense(2)(lambda([](auto& ops, auto in) { return ops.mean(in, 1); })(x));
  }
};

}  // namespace

// Keras 2.15 counts the same: (3 + 3 + 1) * 12, 2 * (3 + 2 + 1) * 6, (4 + 3 + 1) * 3, 8.
static_assert(sc::count_parameters<recurrent>() == 84 + 72 + 24 + 8);
static_assert(sc::find_call<recurrent>("lstm") == 1 && sc::find_call<recurrent>("bidirectional") == 2);
static_assert(sc::graph_of<recurrent>.calls[1].shape == sc::shape(4, 3));
static_assert(sc::graph_of<recurrent>.calls[2].shape == sc::shape(4, 4));
static_assert(sc::graph_of<recurrent>.calls[3].shape == sc::shape(3));
static_assert(sc::graph_of<recurrent>.parameters[3].name == "forward_gru/kernel");
static_assert(sc::graph_of<recurrent>.parameters[8].name == "backward_gru/bias");
static_assert(sc::count_parameters<attending>() == 28 + 8 + 3 * (4 * 6 + 6) + 6 * 4 + 4 + 10);

TEST_CASE("recurrent layers with dropout") { laws::check_gradients<recurrent>(); }
TEST_CASE("embedding, attention with dropout, groups, a function") { laws::check_gradients<attending>(); }

TEST_CASE("the forget gate's bias begins with ones") {
  using model = sc::sequential<input{2, 3}, lstm{2}, dense{1}>;
  static constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 2};
  session_steps<model, training, sc::host<>> session;
  float const expected[]{0, 0, 1, 1, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) CHECK(session.weight(2)[i] == expected[i]);
}
