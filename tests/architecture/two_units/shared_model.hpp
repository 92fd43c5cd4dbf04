// SPDX-License-Identifier: BSD-3-Clause
// A model, its stages and its training in a header, as a user would share them between translation units.
#pragma once

#include <stagecraft/stagecraft.hpp>
#include <cstdint>
#include <vector>

namespace shared {

namespace sc = stagecraft;
using namespace sc::layers;

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(6);
    auto const y = dense(8, sc::tanh)(x);
    return dense(3)(add()(y, dense(8)(x)));
  }
};

struct in_two_stages {
  constexpr void operator()(auto& assignment) const {
    for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "dense" ? 0 : 1;
  }
};
using staged = sc::pipelined<network, in_two_stages{}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 4};

/// What a translation unit finds out about the model: addresses that are the same in every unit, and trained weights.
struct findings {
  void const* graph;
  void const* stages;
  void const* training;
  std::vector<sc::weight_array> weights;
};

inline findings find_out() {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({8, 6});
  for (int i = 0; i < 48; ++i) x.data()[i] = static_cast<float>(i % 7) / 7;
  std::vector<std::int32_t> const y{0, 1, 2, 0, 1, 2, 0, 1};
  sc::trainer<network, training> trainer(1);
  trainer.fit(x, y, {.epochs = 2, .verbose = 0});
  return {&sc::graph_of<network>, &sc::stage_of<staged, 1>, &training, trainer.get_weights()};
}

}  // namespace shared

shared::findings findings_of_one();
shared::findings findings_of_two();
