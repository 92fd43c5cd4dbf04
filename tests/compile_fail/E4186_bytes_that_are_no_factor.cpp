// SPDX-License-Identifier: BSD-3-Clause
// expect-error: weight 'bias' of layer 'dense' is stored as bytes, but is not read by products and convolutions alone; store it as floats [E4186]
#include <stagecraft/predict.hpp>
#include <cstdint>

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr float kernel[12]{};
#ifdef STAGECRAFT_BAD
inline constexpr std::int8_t bias_bytes[3]{};
inline constexpr float bias_scales[3]{};
inline constexpr sc::constant_weight bias{bias_bytes, bias_scales};
#else
inline constexpr float bias[3]{};
#endif

using net = sc::sequential<input{4}, dense{3}>;
inline constexpr sc::constant_weight weights[]{kernel, bias};

sc::static_predictor<net, weights> predictor;  // <- here
