// SPDX-License-Identifier: BSD-3-Clause
// expect-error: call(x, y) runs models with one input and one output on one thread of the host, in float32, without stages and weights in remote memory; call this predictor with tensors: model(x) [E4151]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/description/inference.hpp>
#include <stagecraft/training/predictor.hpp>
#include <array>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{4}, dense{3}>;

inline constexpr auto single = sc::inference{.batch_size = 1};

#ifdef STAGECRAFT_BAD
using machine = sc::host<2>;
#else
using machine = sc::host<>;
#endif

std::array<float, 3> predict(sc::predictor<net, single, machine>& model, std::array<float, 4> const& x) {
  return model.call(x);  // <- here
}
