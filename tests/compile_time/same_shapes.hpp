// SPDX-License-Identifier: BSD-3-Clause
// A network with more or fewer layers of the same shapes; kernels_per_shape.py compiles it with BLOCKS defined.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = conv2d(24, 3, sc::relu, {.padding = sc::padding::same})(model.input(9, 9, 24));
    for (int block = 0; block < BLOCKS; ++block) {
      x = conv2d(24, 3, sc::relu, {.padding = sc::padding::same})(x);
      x = batch_normalization()(x);
    }
    x = dense(24, sc::gelu)(flatten()(x));
    for (int block = 0; block < BLOCKS; ++block) x = dense(24, sc::gelu)(x);
    return dense(10)(x);
  }
};

inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 4};

using session = sc::engine::session_of<network, training, sc::host<2>>;

/// All that a session does; not inline, so that it is compiled.
float run(session& of) {
  float loss = 0;
  auto const feed = [](auto const& to, int, int) { *to.input(0) = 0; };
  auto const look = [&](auto const& view) { loss += view.total_loss(); };
  of.train(1, feed, look);
  of.test(1, feed, look);
  of.predict(1, feed, look);
  return loss;
}
