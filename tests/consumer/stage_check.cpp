// SPDX-License-Identifier: BSD-3-Clause
// A consumer that only checks stages.
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using perceptron = sc::sequential<input{28, 28}, flatten{}, dense{16, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<perceptron, sc::stages<0, 0, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);

int main() {}
