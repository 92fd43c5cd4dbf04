// SPDX-License-Identifier: BSD-3-Clause
// A sample that is predicted alone has the bits that it has in a batch of two, whether its layers are inlined or not;
// but for rounding where a dense layer multiplies several rows of a sample, which kernels for few rows add in another
// order; with 16 registers, also where it multiplies one. tools/test_inlined_lists.sh compiles it with every list
// inlined that can be.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/training/predictor.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <string_view>

#include "../larger_deviation.hpp"
#include "models.hpp"

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

template <int Batch>
inline constexpr auto inference = sc::inference{.batch_size = Batch};

template <std::size_t Count>
std::array<float, Count> numbers(unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::array<float, Count> result{};
  for (auto& each : result) each = scale * (static_cast<float>(random()) / 2147483648.0F - 1.0F);
  return result;
}

/// The largest difference between samples alone and as the first and the second of two.
template <class Model>
double difference() {
  sc::predictor<Model, inference<1>> single;
  sc::predictor<Model, inference<2>> pair;
  auto weights = single.get_weights();
  unsigned seed = 1;
  for (auto& weight : weights)
    for (float& value : weight.values) value += numbers<1>(seed++, 0.25F)[0];
  single.set_weights(weights);
  pair.set_weights(weights);
  constexpr std::size_t in = single.call_inputs, out = single.call_outputs;
  double most = 0;
  for (unsigned i = 0; i < 4; ++i) {
    auto const two = numbers<2 * in>(100 + i, 1);
    auto const expected = pair.call(two);
    for (std::size_t k = 0; k < 2; ++k) {
      std::array<float, in> one{};
      std::copy_n(two.begin() + static_cast<std::ptrdiff_t>(k * in), in, one.begin());
      auto const y = single.call(one);
      for (std::size_t j = 0; j < out; ++j)
        most = larger_deviation(most, std::fabs(double{y[j]} - double{expected[k * out + j]}));
    }
  }
  return most;
}

struct recurrent_layers : sc::functional<recurrent_layers> {
  static constexpr auto build(auto& model) {
    auto x = layer_normalization()(lstm(6, {.return_sequences = true})(model.input(5, 8)));
    auto a = gru(7, {.return_sequences = true, .go_backwards = true, .reset_after = false})(x);
    auto b = bidirectional(simple_rnn(3, {.activation = sc::relu, .return_sequences = true}))(a);
    rnn cells(stacked_rnn_cells(lstm_cell(3), gru_cell(5)), {.return_sequences = true});
    auto c = time_distributed(layer_normalization())(cells(b));
    auto steps = masking()(b);
    auto [last, h, memory] = lstm(4, {.return_state = true})(steps);
    auto decoded = lstm(4, {.return_sequences = true})(a, h, memory);
    return concatenate()(last, h, memory, flatten()(decoded), flatten()(c),
                         flatten()(conv_lstm1d(2, 2)(reshape(5, 6, 1)(b))));
  }
};

/// Rows that are sliced, shifted by constants and weights, compared, chosen, multiplied by parts of weights.
struct rows : sc::layer<rows> {
  static constexpr std::string_view class_name = "Rows";

  constexpr auto call(auto& ops, auto x) const {
    auto const kernel = ops.weight({.name = "kernel", .shape = {x.length(-1), 24}});
    auto const bias = ops.weight({.name = "bias", .shape = {24}});
    auto const scale = ops.weight({.name = "scale", .shape = {1}});
    auto const y = ops.matmul(x, kernel) + bias;
    auto const a = ops.slice(y, -1, 0, 8), b = ops.slice(y, -1, 8, 8), c = ops.slice(y, -1, 16, 8);
    auto const part = ops.matmul(a, ops.slice(kernel, 0, 0, 8));
    auto const z = sigmoid(a) * tanh(b) + exp(c * 0.125F) * scale - ops.slice(part, -1, 3, 8);
    return ops.concatenate({z, ops.slice(y, -1, 5, 3), square(b)}, -1);
  }
};

using convolutions =
    sc::sequential<input{12, 6}, conv1d{8, 3, sc::tanh, {.padding = sc::padding::causal}}, separable_conv1d{6, 2},
                   average_pooling1d{2, {.strides = 1}}, prelu{}, group_normalization{{.groups = 2}}, permute{2, 1},
                   locally_connected1d{3, 2}, activation{sc::selu}, flatten{}, dense{5, sc::softmax}>;

/// The difference of models with dense layers, whose kernels have as many sums for one row as for two if there are 32
/// registers.
constexpr double of_dense_layers =
    sc::kernels::detail::vector_registers<sc::kernels::default_architecture>() == 32 ? 0 : 1e-5;

}  // namespace

TEST_CASE("merging and attention") { CHECK(difference<words::merging_model>() < 1e-5); }
TEST_CASE("regularization and scales") { CHECK(difference<words::regularization_model>() <= of_dense_layers); }
TEST_CASE("preprocessing") { CHECK(difference<words::preprocessing_model>() <= of_dense_layers); }
TEST_CASE("windows") { CHECK(difference<words::window_model>() <= of_dense_layers); }
TEST_CASE("convolutions of sequences") { CHECK(difference<convolutions>() <= of_dense_layers); }
TEST_CASE("recurrent layers") { CHECK(difference<recurrent_layers>() == 0); }
TEST_CASE("rows") {
  CHECK(difference<sc::sequential<input{9}, rows{}>>() == 0);
  CHECK(difference<sc::sequential<input{4, 9}, rows{}>>() == 0);
}
