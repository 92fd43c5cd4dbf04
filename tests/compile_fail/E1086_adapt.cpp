// SPDX-License-Identifier: BSD-3-Clause
// E1086: a layer is to be adapted that learns by training alone.
// expect-error: layer 'dense' (Dense) has nothing to adapt to data; a normalization without mean has
// expect-error: , and a discretization with num_bins
// expect-error: [E1086]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{4}, normalization{}, dense{2}>;
inline constexpr auto training = sc::training{.batch_size = 8};

void learn(xt::xtensor<float, 2> const& data) {
  sc::trainer<net, training> model;
#ifdef STAGECRAFT_BAD
  model.adapt<"dense">(data);  // <- here
#else
  model.adapt<"normalization">(data);
#endif
}
