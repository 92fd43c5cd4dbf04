// SPDX-License-Identifier: BSD-3-Clause
// A model of five layers and its stages, checked: to compile in less time than `#include <xtensor/xtensor.hpp>` alone.
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp =
    sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dropout{0.2}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 0, 1, 1>>;

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::count_parameters<mlp>() == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
