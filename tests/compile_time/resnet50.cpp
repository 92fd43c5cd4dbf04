// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50 traced, assigned by the edit of the guide, and its stages checked: to compile in at most twice the time of
// `#include <xtensor/xtensor.hpp>` alone.
#include "../../examples/models/resnet50.hpp"

namespace sc = stagecraft;

static_assert(sc::graph_of<resnet::resnet50>.order.size() == 176);
static_assert(sc::count_parameters<resnet::resnet50>() == 25'636'712);
static_assert(sc::pipeline_stages<resnet::two_stages> == 2);
static_assert(sc::stage_of<resnet::two_stages, sc::find_call<resnet::resnet50>("conv4_block2_add")> == 0);
static_assert(sc::stage_of<resnet::two_stages, sc::find_call<resnet::resnet50>("conv4_block2_out")> == 1);
