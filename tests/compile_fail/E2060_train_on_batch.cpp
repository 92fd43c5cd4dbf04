// SPDX-License-Identifier: BSD-3-Clause
// E2060: a single batch on a cluster.
// expect-error: train_on_batch is called on a cluster; fit divides the same samples among its ranks
// expect-error: [E2060]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .num_replicas = 2};

double train(sc::sample_set const& x, sc::sample_set const& y) {
#ifdef STAGECRAFT_BAD
  sc::trainer<mlp, training, sc::cluster<sc::host<1>, sc::ranks{2}>> model;
  return model.train_on_batch(x, y)[0];  // <- here
#else
  sc::trainer<mlp, training, sc::host<1>> model;
  return model.train_on_batch(x, y)[0];
#endif
}
