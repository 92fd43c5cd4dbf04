// SPDX-License-Identifier: BSD-3-Clause
// The weights that the programs of one benchmark have in common before their first step.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <vector>

namespace stagecraft::benchmarks {

/// A kernel, drawn as Keras's glorot_uniform draws it. Its last two extents are inputs and units, what stands before
/// them is the window of a convolution.
struct first_weights {
  std::vector<float> kernel;
  std::vector<float> bias;

  first_weights(std::initializer_list<int> shape, unsigned seed) {
    auto const* extent = shape.end();
    auto const units = static_cast<std::size_t>(*--extent);
    auto const inputs = static_cast<std::size_t>(*--extent);
    std::size_t window = 1;
    while (extent != shape.begin()) window *= static_cast<std::size_t>(*--extent);
    std::mt19937 generator(seed);
    float const limit = std::sqrt(6.0F / static_cast<float>(window * (inputs + units)));
    std::uniform_real_distribution<float> uniform(-limit, limit);
    kernel.resize(window * inputs * units);
    for (float& weight : kernel) weight = uniform(generator);
    bias.resize(units);
  }
};

/// Those of a network, from the first layer to the last.
using network_weights = std::vector<first_weights>;

}  // namespace stagecraft::benchmarks
