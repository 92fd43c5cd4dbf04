// SPDX-License-Identifier: BSD-3-Clause
// Attention that keeps the keys and values of earlier steps: step by step, it computes what causal attention computes
// of the whole sequence.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include "../../laws/policies.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

constexpr int features = 6, batch = 2, all = 12;

template <int Steps, int Kept>
struct decoder : sc::functional<decoder<Steps, Kept>> {
  static constexpr auto build(auto& model) {
    auto x = input{Steps, features}.of_batch_size(batch)(model);
    auto a = sc::layers::add()(
        x, multi_head_attention(2, 4, {.use_causal_mask = true, .kept_steps = Kept, .name = "first"})(x));
    return multi_head_attention(3, 2,
                                {.value_dim = 5, .use_causal_mask = true, .kept_steps = Kept, .name = "second"})(a);
  }
};

xt::xtensor<float, 3> numbers() {
  xt::xtensor<float, 3> result = xt::zeros<float>({batch, all, features});
  unsigned state = 7;
  for (float& each : result)
    each = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  return result;
}
template <class Predictor>
xt::xtensor<float, 3> in_blocks(Predictor& model, int steps) {
  auto const x = numbers();
  xt::xtensor<float, 3> result = xt::zeros<float>({batch, all, features});
  for (int first = 0; first < all; first += steps) {
    xt::xtensor<float, 3> const block = xt::view(x, xt::all(), xt::range(first, first + steps), xt::all());
    xt::view(result, xt::all(), xt::range(first, first + steps), xt::all()) = model.predict(block);
  }
  return result;
}
float difference(xt::xtensor<float, 3> const& a, xt::xtensor<float, 3> const& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::fmax(most, std::fabs(a.data()[i] - b.data()[i]));
  return most;
}

constexpr auto inference = sc::inference{.batch_size = batch};

template <class Machine>
void check_steps() {
  sc::predictor<decoder<all, 0>, inference> whole(3);
  sc::predictor<decoder<1, 11>, inference, Machine> step;
  step.set_weights(whole.get_weights());
  auto const expected = in_blocks(whole, all);
  CHECK(difference(in_blocks(step, 1), expected) < 1e-5F);
  step.reset_states();
  CHECK(difference(in_blocks(step, 1), expected) < 1e-5F);
  CHECK(step.template get_states<"first">().size() == 3);
}

}  // namespace

TEST_CASE("the host") { check_steps<sc::host<>>(); }
TEST_CASE("tiles") { check_steps<laws::tiles>(); }

TEST_CASE("a step sees the last steps only, whatever the blocks are") {
  sc::predictor<decoder<1, 4>, inference> step(3);
  sc::predictor<decoder<3, 4>, inference> block;
  block.set_weights(step.get_weights());
  auto const one = in_blocks(step, 1);
  CHECK(difference(in_blocks(block, 3), one) < 1e-5F);
  sc::predictor<decoder<all, 0>, inference> whole(3);
  CHECK(difference(in_blocks(whole, all), one) > 1e-3F);
}
