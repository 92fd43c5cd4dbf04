// SPDX-License-Identifier: BSD-3-Clause
// E4025: there are not as many loss weights as outputs.
// expect-error: the training has 1 loss weight, but model 'model' has 2 outputs
// expect-error: give one weight for each output, or none
// expect-error: [E4025]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <array>

namespace sc = stagecraft;
using namespace sc::layers;

struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    return std::array{dense{1}(x), dense{4}(x)};
  }
};

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss_weights = {0.5F}};
#else
inline constexpr auto training = sc::training{.loss_weights = {0.5F, 1.0F}};
#endif

using trainer = sc::trainer<two_heads, training>;  // <- here
static_assert(sizeof(trainer) > 0);
