// SPDX-License-Identifier: BSD-3-Clause
// Every weight of every layer can have a constraint, under Keras's names.
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

inline constexpr sc::constraint n = sc::constraints::non_neg{};
using images = sc::sequential<
    input{8, 8, 3},
    conv2d{4, 3, {.kernel_constraint = sc::constraints::max_norm{.axis = {0, 1, 2}}, .bias_constraint = n}},
    conv2d_transpose{4, 3, {.kernel_constraint = n, .bias_constraint = n}},
    depthwise_conv2d{3, {.depthwise_constraint = n, .bias_constraint = n}},
    separable_conv2d{4, 3, {.depthwise_constraint = n, .pointwise_constraint = n, .bias_constraint = n}},
    batch_normalization{{.beta_constraint = n, .gamma_constraint = n}},
    layer_normalization{{.beta_constraint = n, .gamma_constraint = n}},
    group_normalization{{.groups = 2, .beta_constraint = n, .gamma_constraint = n}}, prelu{{.alpha_constraint = n}}>;
using sequences = sc::sequential<
    input{8}, embedding{5, 4, {.embeddings_constraint = n}},
    lstm{3, {.kernel_constraint = n, .recurrent_constraint = n, .bias_constraint = n, .return_sequences = true}},
    gru{3, {.kernel_constraint = n, .recurrent_constraint = n, .bias_constraint = n, .return_sequences = true}},
    simple_rnn{3, {.kernel_constraint = n, .recurrent_constraint = n, .bias_constraint = n}}>;
struct attention : sc::functional<attention> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4, 6);
    return multi_head_attention(2, 3, {.kernel_constraint = n, .bias_constraint = n})(x, x);
  }
};
template <class M>
constexpr int unconstrained() {
  int c = 0;
  for (auto const& p : sc::graph_of<M>.parameters) c += p.trainable && p.constraint.empty() ? 1 : 0;
  return c;
}
static_assert(unconstrained<images>() == 0 && unconstrained<sequences>() == 0 && unconstrained<attention>() == 0);

}  // namespace

TEST_CASE("compile-time facts only") { CHECK(unconstrained<sequences>() == 0); }
