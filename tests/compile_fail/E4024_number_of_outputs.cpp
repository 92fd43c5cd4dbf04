// SPDX-License-Identifier: BSD-3-Clause
// E4024: a model that is trained has too many outputs.
// expect-error: model 'model' has 65 outputs; a model that is trained has at most 64
// expect-error: [E4024]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <cstddef>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

template <std::size_t Outputs>
struct net : sc::functional<net<Outputs>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    auto const head = [&](std::size_t) { return dense(1)(x); };
    return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      return sc::outputs(head(Output)...);
    }(std::make_index_sequence<Outputs>{});
  }
};

inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};
#ifdef STAGECRAFT_BAD
using trainer = sc::trainer<net<65>, training>;
#else
using trainer = sc::trainer<net<9>, training>;
#endif
static_assert(sizeof(trainer) > 0);
