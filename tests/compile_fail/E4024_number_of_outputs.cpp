// SPDX-License-Identifier: BSD-3-Clause
// E4024: a model that is trained has too many outputs.
// expect-error: model 'model' has 9 outputs; a model that is trained has at most 8
// expect-error: [E4024]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(64);
    auto head = [&] { return dense(1)(x); };
    return sc::outputs(head(), head(), head(), head(), head(), head(), head(), head(), head());
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(64);
    auto head = [&] { return dense(1)(x); };
    return sc::outputs(head(), head(), head(), head(), head(), head(), head(), head());
  }
};
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};
using trainer = sc::trainer<net, training>;
static_assert(sizeof(trainer) > 0);
