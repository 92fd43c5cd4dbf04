// SPDX-License-Identifier: BSD-3-Clause
// Models drawn at random: branches, shared layers, views, tensors used often, several outputs.
#include <array>

#include "model_laws.hpp"

namespace {

template <unsigned Seed>
struct random_model : sc::functional<random_model<Seed>> {
  static constexpr auto build(auto& model) {
    unsigned state = Seed * 2654435761U + 1;
    auto const draw = [&](unsigned bound) {
      state = state * 1664525U + 1013904223U;
      return static_cast<std::size_t>((state >> 16U) % bound);
    };
    std::array<sc::symbolic_tensor, 16> made{};
    std::size_t count = 0;
    made[count++] = model.input(4);
    if (draw(2) == 0) made[count++] = model.input(4);
    dense shared(4, sc::tanh);
    while (count < made.size()) {
      // The latest tensors most often, so that models get deep.
      auto const any = [&] { return made[draw(2) == 0 ? count - 1 : draw(static_cast<unsigned>(count))]; };
      auto const a = any(), b = any();
      auto& next = made[count++];
      switch (draw(12)) {
        case 0: next = dense(4)(a); break;
        case 1: next = dense(4, sc::sigmoid)(a); break;
        case 2: next = dense(4, sc::swish)(a); break;
        case 3: next = shared(a); break;
        case 4: next = activation(sc::tanh)(multiply()(a, b)); break;
        case 5: next = activation(sc::tanh)(add()(a, b, a)); break;
        case 6: next = activation(sc::tanh)(subtract()(a, b)); break;
        case 7: next = average()(a, b); break;
        case 8: next = dense(4)(concatenate()(a, b, a)); break;
        case 9: next = flatten()(reshape(2, 2)(a)); break;
        case 10: next = activation(draw(2) == 0 ? sc::linear : sc::softmax)(a); break;
        default: next = dropout(draw(2) == 0 ? 0.0F : 0.2F)(a); break;
      }
    }
    // Losses of about 1: their differences would lose too many digits.
    auto const small = [](auto tensor) { return activation(sc::tanh)(tensor); };
    auto const last = small(made[count - 1]);
    return sc::outputs(last, dense(3)(small(made[count / 2])), reshape(2, 2)(last));
  }
};

template <unsigned... Seed>
void check(std::integer_sequence<unsigned, Seed...>) {
  static constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1},
                                                .loss = sc::losses::mean_squared_error{},
                                                .loss_weights = {1, 0.5, 2},
                                                .batch_size = 3};
  (laws::gradient_check<random_model<Seed>, training>::run(), ...);
}

}  // namespace

TEST_CASE("models drawn at random") { check(std::make_integer_sequence<unsigned, 12>{}); }
