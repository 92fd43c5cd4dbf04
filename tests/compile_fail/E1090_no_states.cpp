// SPDX-License-Identifier: BSD-3-Clause
// E1090: states are reset of a layer that keeps none.
// expect-error: layer 'gru' of model 'sequential' keeps no states from batch to batch; recurrent layers do that with
// expect-error: .stateful = true
// expect-error: [E1090]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{9, 4}.of_batch_size(2), lstm{8, {.return_sequences = true, .stateful = true}}, gru{8}>;
inline constexpr auto pairs = sc::inference{.batch_size = 2};

void begin_anew() {
  sc::predictor<net, pairs> model;
#ifdef STAGECRAFT_BAD
  model.reset_states<"gru">();  // <- here
#else
  model.reset_states<"lstm">();
#endif
}
