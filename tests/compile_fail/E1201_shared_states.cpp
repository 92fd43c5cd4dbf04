// SPDX-License-Identifier: BSD-3-Clause
// E1201: weights of a model that keeps states between batches.
// expect-error: weights are shared with a model with states between batches, which are among its weights
// expect-error: copy them with set_weights [E1201]
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/shares.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
#ifdef STAGECRAFT_BAD
    constexpr bool stateful = true;
#else
    constexpr bool stateful = false;
#endif
    return lstm(3, {.stateful = stateful})(model.input(input{4, 2}.of_batch_size(8)));
  }
};
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

void share(sc::trainer<network, training>& model) {
  sc::predictor<network, sc::inference{.batch_size = 8}> other{sc::shares(model)};  // <- here
  other.reset_states();
}
