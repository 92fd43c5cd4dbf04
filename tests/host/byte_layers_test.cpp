// SPDX-License-Identifier: BSD-3-Clause
// Layers whose input and kernel are whole numbers of 8 bits: their sums are exact, also above 2^24, on any number of
// threads; where floats have the sums, too, they give the same; and a normalization after them is not in their kernel.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

constexpr int inputs = 3000, units = 18;

struct large_sums : sc::functional<large_sums> {
  static constexpr auto build(auto& model) {
    return dense(units, {.input_bytes = sc::bytes_from(-120)})(model.input(inputs));
  }
};
template <bool OfBytes>
struct pictures : sc::functional<pictures<OfBytes>> {
  static constexpr auto build(auto& model) {
    constexpr auto bytes = OfBytes ? sc::bytes_from(-3) : sc::bytes_from{};
    auto x = model.input(9, 8, 6);
    auto a = conv2d(10, 3, sc::relu, {.strides = 2, .padding = sc::padding::same, .input_bytes = bytes})(x);
    auto b = batch_normalization()(conv2d(9, 1, {.use_bias = false, .input_bytes = bytes})(x));
    return concatenate()(flatten()(a), flatten()(b));
  }
};

/// A dense layer of 8 bits as a program writes it: the words round what floats say.
struct bytes_of : sc::layer<bytes_of> {
  static constexpr std::string_view class_name = "bytes_of";

  constexpr auto call(auto& ops, auto x) const { return ops.quantize(x, 0.25F, sc::bytes_from(-120)); }
};
struct rounded_numbers : sc::functional<rounded_numbers> {
  static constexpr auto build(auto& model) { return bytes_of()(model.input(7)); }
};

float number(unsigned& state, int least, int count) {
  state = state * 1664525U + 1013904223U;
  return static_cast<float>(least + static_cast<int>((state >> 8U) % static_cast<unsigned>(count)));
}

/// Whole numbers as kernels; biases of some digits.
template <class Predictor>
auto fill_weights(Predictor& model, int least, int count) {
  auto weights = model.get_weights();
  unsigned state = 7;
  for (auto& weight : weights)
    for (float& value : weight.values)
      value = weight.shape.size() > 1 ? number(state, least, count) : number(state, 100, 30000);
  model.set_weights(weights);
  return weights;
}

template <int Batch, int Threads>
void check_large_sums() {
  CAPTURE(Batch);
  CAPTURE(Threads);
  sc::predictor<large_sums, sc::inference{.batch_size = Batch}, sc::host<Threads>> model;
  auto const weights = fill_weights(model, 20, 108);
  xt::xtensor<float, 2> x({Batch, inputs});
  unsigned state = 1;
  for (float& value : x) value = number(state, 100, 36);
  auto const y = model.predict(x);
  bool is_large = false;
  for (std::size_t row = 0; row < Batch; ++row)
    for (std::size_t unit = 0; unit < units; ++unit) {
      auto sum = static_cast<std::int64_t>(weights[1].values[unit]);
      for (std::size_t i = 0; i < inputs; ++i)
        sum += static_cast<std::int64_t>(x(row, i)) * static_cast<int>(weights[0].values[i * units + unit]);
      is_large = is_large || sum > (1 << 24) || sum < -(1 << 24);
      CHECK(y(row, unit) == static_cast<float>(sum));
    }
  CHECK(is_large);
}

}  // namespace

TEST_CASE("sums of bytes are exact above 2^24") {
  check_large_sums<1, 1>();
  check_large_sums<5, 3>();
}

TEST_CASE("layers of bytes give what layers of floats give") {
  constexpr auto inference = sc::inference{.batch_size = 2};
  sc::predictor<pictures<true>, inference, sc::host<2>> bytes;
  sc::predictor<pictures<false>, sc::inference{.batch_size = 2, .fold_batch_normalization = false}> floats;
  auto const weights = fill_weights(bytes, -128, 256);
  floats.set_weights(weights);
  xt::xtensor<float, 4> x({2, 9, 8, 6});
  unsigned state = 3;
  for (float& value : x) value = number(state, -3, 256);
  CHECK(bytes.predict(x) == floats.predict(x));
}

TEST_CASE("quantize rounds to the even one of two, and to the ends of the range") {
  sc::predictor<rounded_numbers, sc::inference{.batch_size = 1}> model;
  xt::xtensor<float, 2> const x{{0.125F, 0.375F, -0.375F, 33.6F, 33.9F, -30.1F, 1e9F}};
  CHECK(model.predict(x) == xt::xtensor<float, 2>{{0, 2, -2, 134, 135, -120, 135}});
}
