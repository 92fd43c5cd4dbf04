// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints take no memory and change no bit of what is trained.
#include "../session_steps.hpp"
#include "session_data.hpp"

namespace {

template <bool Checkpoints>
struct model : sc::functional<model<Checkpoints>> {
  static constexpr auto build(auto& builder) {
    recomputation_checkpoint kept;
    auto const checkpoint = [&](auto x) {
      if constexpr (Checkpoints)
        return kept(x);
      else
        return x;
    };
    auto const x = checkpoint(dense(7, sc::relu)(builder.input(5)));
    auto const a = checkpoint(dense(6, sc::gelu)(x)), b = dense(6)(x);
    return checkpoint(dense(3)(add{}(a, checkpoint(checkpoint(b)))));
  }
};

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F}, .batch_size = 4};

template <bool Checkpoints>
std::vector<float> trained() {
  session_steps<model<Checkpoints>, training, sc::host<>> session(3);
  for (int step = 0; step < 5; ++step) data::step(session, 4 * step);
  return data::weights(session);
}

}  // namespace

TEST_CASE("a model with checkpoints trains to the same bits as without") { CHECK(trained<true>() == trained<false>()); }
