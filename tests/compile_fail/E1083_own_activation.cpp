// SPDX-License-Identifier: BSD-3-Clause
// E1083: an activation of one's own that takes too many operations.
// expect-error: operations with its gradient; there are at most 128
// expect-error: [E1083]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct iterated : sc::own_activation<iterated> {
  static constexpr std::string_view name = "iterated";
#ifdef STAGECRAFT_BAD
  int times = 30;
#else
  int times = 5;
#endif
  constexpr auto call(auto x) const {
    for (int i = 0; i < times; ++i) x = sin(x) * 1.5F;
    return x;
  }
};

using model = sc::sequential<input{3}, dense{2, iterated{}}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

using trainer = sc::trainer<model, training>;  // <- here
[[maybe_unused]] auto const fit = [](trainer& model) { model.train_on_batch({}, {}); };
