// SPDX-License-Identifier: BSD-3-Clause
// A mistake is found with its code by an importing file, too.
import stagecraft;

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0>>;
two_stages const stages;
