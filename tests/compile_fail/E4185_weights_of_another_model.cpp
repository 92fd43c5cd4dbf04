// SPDX-License-Identifier: BSD-3-Clause
// expect-error: weight 'kernel' of layer 'dense' has 12 numbers in 3 columns, but its array has 8 [E4185]
#include <stagecraft/predict.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
inline constexpr float kernel[8]{};
#else
inline constexpr float kernel[12]{};
#endif
inline constexpr float bias[3]{};

using net = sc::sequential<input{4}, dense{3}>;
inline constexpr sc::constant_weight weights[]{kernel, bias};

sc::static_predictor<net, weights> predictor;  // <- here
