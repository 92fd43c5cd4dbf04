// SPDX-License-Identifier: BSD-3-Clause
// The networks that processors without an operating system compute in tests, with drawn weights as constants.
#pragma once

#include <stagecraft/predict.hpp>
#include <cstddef>
#include <cstdint>

namespace sc = stagecraft;

/// The same numbers from -1 to 1 everywhere.
struct drawn_numbers {
  std::uint32_t state;

  constexpr float next() {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
  }
};

template <std::size_t Count>
struct drawn_floats {
  float at[Count]{};

  constexpr explicit drawn_floats(std::uint32_t seed, float largest) {
    drawn_numbers numbers{seed};
    for (float& each : at) each = largest * numbers.next();
  }
};
template <std::size_t Count>
struct drawn_bytes {
  std::int8_t at[Count]{};

  constexpr explicit drawn_bytes(std::uint32_t seed) {
    drawn_numbers numbers{seed};
    for (auto& each : at) each = static_cast<std::int8_t>(127.0F * numbers.next());
  }
};
/// Scales with which bytes are numbers up to 1.5 times the largest.
template <std::size_t Columns>
struct drawn_scales {
  float at[Columns]{};

  constexpr explicit drawn_scales(std::uint32_t seed, float largest) {
    drawn_numbers numbers{seed};
    for (float& each : at) each = largest / 127.0F * (1.0F + 0.5F * numbers.next());
  }
};

namespace models {
using namespace stagecraft::layers;

using perceptron = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10, sc::softmax}>;
using keywords =
    sc::sequential<input{49, 10, 1}, conv2d{8, {10, 8}, sc::relu, {.strides = 2, .padding = sc::padding::same}},
                   flatten{}, dense{12, sc::softmax}>;
using amplifier = sc::sequential<input{1, 1}.of_batch_size(1), lstm{20, {.stateful = true}}, dense{1}>;

inline constexpr drawn_floats<128> perceptron_bias(2, 0.1F);
inline constexpr drawn_floats<1280> perceptron_kernel_1(3, 0.2F);
inline constexpr drawn_floats<10> perceptron_bias_1(4, 0.1F);
#if defined(FLOATS)
inline constexpr drawn_floats<100352> perceptron_kernel(1, 0.1F);
inline constexpr sc::constant_weight perceptron_weights[]{perceptron_kernel.at, perceptron_bias.at,
                                                          perceptron_kernel_1.at, perceptron_bias_1.at};
#else
inline constexpr drawn_bytes<100352> perceptron_kernel(1);
inline constexpr drawn_scales<128> perceptron_kernel_scales(21, 0.1F);
inline constexpr sc::constant_weight perceptron_weights[]{{perceptron_kernel.at, perceptron_kernel_scales.at},
                                                          perceptron_bias.at,
                                                          perceptron_kernel_1.at,
                                                          perceptron_bias_1.at};
#endif

inline constexpr drawn_bytes<640> keywords_kernel(5);
inline constexpr drawn_scales<8> keywords_kernel_scales(25, 0.2F);
inline constexpr drawn_floats<8> keywords_bias(6, 0.1F);
inline constexpr drawn_bytes<12000> keywords_kernel_1(7);
inline constexpr drawn_scales<12> keywords_kernel_1_scales(27, 0.2F);
inline constexpr drawn_floats<12> keywords_bias_1(8, 0.1F);
inline constexpr sc::constant_weight keywords_weights[]{{keywords_kernel.at, keywords_kernel_scales.at},
                                                        keywords_bias.at,
                                                        {keywords_kernel_1.at, keywords_kernel_1_scales.at},
                                                        keywords_bias_1.at};

inline constexpr drawn_floats<80> amplifier_kernel(9, 0.5F);
inline constexpr drawn_floats<1600> amplifier_recurrent(10, 0.4F);
inline constexpr drawn_floats<80> amplifier_bias(11, 0.1F);
inline constexpr drawn_floats<20> amplifier_kernel_1(12, 0.5F);
inline constexpr drawn_floats<1> amplifier_bias_1(13, 0.1F);
inline constexpr sc::constant_weight amplifier_weights[]{amplifier_kernel.at, amplifier_recurrent.at, amplifier_bias.at,
                                                         amplifier_kernel_1.at, amplifier_bias_1.at};
}  // namespace models
