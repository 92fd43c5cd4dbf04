// SPDX-License-Identifier: BSD-3-Clause
// A network that recognizes digits, and its parts, of which a page shows the outputs.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace models {
namespace sc = stagecraft;
using namespace sc::layers;

using digits = sc::sequential<input{28, 28, 1}, conv2d{8, 5, sc::relu, {.strides = 2}},
                              conv2d{16, 3, sc::relu, {.strides = 2}}, flatten{}, dense{10, sc::softmax}>;

using edges = sc::sequential<input{28, 28, 1}, conv2d{8, 5, sc::relu, {.strides = 2}}>;
using shapes = sc::sequential<input{12, 12, 8}, conv2d{16, 3, sc::relu, {.strides = 2}}>;
using scores = sc::sequential<input{5, 5, 16}, flatten{}, dense{10, sc::softmax}>;
}  // namespace models
