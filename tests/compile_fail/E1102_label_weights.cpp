// SPDX-License-Identifier: BSD-3-Clause
// E1102: a metric's weights of labels are not those of the output.
// expect-error: metric 'auc' has 2 label_weights for the 3 values of output 'dense'
// expect-error: [E1102]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using labels = sc::sequential<input{4}, dense{3, sc::sigmoid}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto metric = sc::metrics::auc{.multi_label = true, .label_weights = {1, 2}};
#else
inline constexpr auto metric = sc::metrics::auc{.multi_label = true, .label_weights = {1, 2, 1}};
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::binary_crossentropy{}, .metrics = metric};
using trainer = sc::trainer<labels, training>;  // <- here
static_assert(sizeof(trainer) > 0);
