// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "arrays_of_model.hpp"

#include <stagecraft/stagecraft.hpp>

#include <cmath>
#include <cstring>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

inline constexpr auto single = sc::inference{.batch_size = 1};

float drawn() {
  static unsigned state = 7;
  state = state * 1664525U + 1013904223U;
  return static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
}

/// The largest difference between a static predictor and the host's, over some samples one after the other.
template <class M>
double largest_difference(int samples = 3) {
  sc::predictor<M, single> host;
  auto weights = host.get_weights();
  for (auto& each : weights)
    for (float& number : each.values) number = 0.1F + 0.4F * std::fabs(drawn()) * (drawn() < 0 ? -0.9F : 1.0F);
  host.set_weights(weights);
  arrays_of_model<M>::take(host);
  static constinit sc::static_predictor<M, arrays_of_model<M>::value> net;
  net.reset_states();
  double largest = 0;
  for (int i = 0; i < samples; ++i) {
    std::array<float, decltype(net)::inputs> x;
    for (float& each : x) each = drawn();
    auto const expected = host.call(x);
    auto const found = net(x);
    for (std::size_t k = 0; k < found.size(); ++k)
      largest = std::max(
          largest, std::fabs(double{found[k]} - double{expected[k]}) / std::max(1.0, std::fabs(double{expected[k]})));
  }
  return largest;
}

using perceptron = sc::sequential<input{4, 5}, flatten{}, dense{17, sc::relu}, dropout{0.5F}, dense{10, sc::softmax}>;
using pictures = sc::sequential<input{8, 8, 2}, conv2d{12, 3, {.padding = sc::padding::same}}, batch_normalization{},
                                activation{sc::relu}, max_pooling2d{2}, depthwise_conv2d{3}, conv2d_transpose{3, 2},
                                average_pooling2d{2, {.padding = sc::padding::same}}, flatten{}, dense{3, sc::tanh}>;
using sequences = sc::sequential<input{6, 3}, lstm{5, {.return_sequences = true}}, gru{4, {.return_sequences = true}},
                                 conv1d{3, 2, {.dilation_rate = 2}}, simple_rnn{4}, dense{2, sc::sigmoid}>;
using amplifier = sc::sequential<input{1, 2}.of_batch_size(1), lstm{6, {.stateful = true}}, dense{1}>;
using tables = sc::sequential<input{5}, embedding{7, 4}, layer_normalization{}, global_average_pooling1d{}, dense{2}>;

}  // namespace

TEST_CASE("a static predictor has the numbers of the host's") {
  CHECK(largest_difference<perceptron>() < 2e-6);
  CHECK(largest_difference<pictures>() < 2e-5);
  CHECK(largest_difference<sequences>() < 2e-6);
  CHECK(largest_difference<tables>() < 2e-6);
}

TEST_CASE("states stay from call to call") { CHECK(largest_difference<amplifier>(20) < 2e-6); }
