// SPDX-License-Identifier: BSD-3-Clause
// expect-error: layer 'lstm' of model 'sequential' is not compiled to inlined code, so that its states stand among the weights; give each voice a predictor of its own: model.sharing_weights() [E1162]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/description/inference.hpp>
#include <stagecraft/training/voices.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
inline constexpr int batch = 2;
#else
inline constexpr int batch = 1;
#endif

using net = sc::sequential<input{1, 1}.of_batch_size(batch), lstm{4, {.stateful = true}}, dense{1}>;
inline constexpr auto single = sc::inference{.batch_size = batch};
using predictor = sc::predictor<net, single>;

std::size_t voices(predictor& model) {
  sc::voices<predictor> eight(model, 8);  // <- here
  return eight.size();
}
