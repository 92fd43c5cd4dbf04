// SPDX-License-Identifier: BSD-3-Clause
// E4106: a loss for each row, and a penalty on weights.
// expect-error: a loss of the training has losses::reduction::none, but model 'sequential' adds penalties to the loss
// expect-error: [E4106]
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{4}, dense{2, {.kernel_regularizer = sc::regularizers::l2{0.1F}}}>;
#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::mean_squared_error{.reduction = sc::losses::reduction::none}};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::mean_squared_error{.reduction = sc::losses::reduction::sum}};
#endif

sc::trainer<net, training>* learn();  // <- here
