// SPDX-License-Identifier: BSD-3-Clause
// The snippet of docs/machines.md: it compiles as it stands there (tests/architecture/snippets.py compares them).
#include <stagecraft/mpi.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using network = sc::sequential<input{4}, dense{8, sc::relu}, dense{3}>;
xt::xtensor<float, 2> const x = xt::zeros<float>({64, 4});
xt::xtensor<int, 1> const y = xt::zeros<int>({64});

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16,
                                              .num_replicas = 4};
using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;  // up to four processes of two threads each

int main() {
  sc::trainer<network, training, machine> model;
  model.fit(x, y, {.epochs = 2});
}
