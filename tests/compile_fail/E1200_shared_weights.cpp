// SPDX-License-Identifier: BSD-3-Clause
// E1200: a trainer is to have the weights of another model.
// expect-error: weight 'dense/kernel' of model 'critic', of shape (4, 5), is to be shared with 'dense/kernel'
// expect-error: of shape (4, 6); both models have the same layers, in the same order [E1200]
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/shares.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

template <int Units>
struct critic : sc::functional<critic<Units>> {
  static constexpr std::string_view name = "critic";
  static constexpr auto build(auto& model) { return dense(1)(dense(Units)(model.input(4))); }
};
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};

void share(sc::trainer<critic<6>, training>& model) {
#ifdef STAGECRAFT_BAD
  sc::trainer<critic<5>, training> judge{sc::shares(model)};  // <- here
#else
  sc::trainer<critic<6>, training> judge{sc::shares(model)};
#endif
  judge.reset_states();
}
