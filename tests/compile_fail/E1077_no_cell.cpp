// SPDX-License-Identifier: BSD-3-Clause
// E1077: a layer in place of a cell.
// expect-error: layer 'rnn' is given 'lstm', which is no cell, as lstm_cell is one
// expect-error: [E1077]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{5, 3}, rnn{lstm{4}}, dense{4}>;  // <- here
#else
using net = sc::sequential<input{5, 3}, rnn{lstm_cell{4}}, dense{4}>;
#endif
static_assert(sc::call_count<net> == 3);
