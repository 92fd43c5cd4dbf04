// SPDX-License-Identifier: BSD-3-Clause
// A call with arrays reads its input and writes its output where the caller has them: no further than they are, and
// with the same bits if both are one array.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <memory>
#include <span>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

inline constexpr auto single = sc::inference{.batch_size = 1}, pair = sc::inference{.batch_size = 2};

/// Numbers that end where the heap's block does, so that the address sanitizer sees what is read after them.
template <std::size_t Count>
class exact_array {
 public:
  explicit exact_array(float first) {
    for (std::size_t i = 0; i < Count; ++i) values_[i] = first + 0.125F * static_cast<float>(i % 13);
  }
  [[nodiscard]] std::span<float, Count> span() const { return std::span<float, Count>(values_.get(), Count); }

 private:
  std::unique_ptr<float[]> values_{new float[Count]};
};

/// A model whose input and output are equally long.
template <class Model>
void check_calls() {
  sc::predictor<Model, single> model;
  sc::predictor<Model, single> same_memory;
  same_memory.set_weights(model.get_weights());
  constexpr std::size_t in = model.call_inputs, out = model.call_outputs;
  static_assert(in == out);
  for (int step = 0; step < 6; ++step) {
    exact_array<in> const x(static_cast<float>(step) - 2), both(static_cast<float>(step) - 2);
    exact_array<out> const y(0);
    model.call(x.span(), y.span());
    same_memory.call(both.span(), both.span());
    CHECK(std::ranges::equal(y.span(), both.span()));
    CHECK(std::ranges::equal(x.span(), exact_array<in>(static_cast<float>(step) - 2).span()));
  }
}

/// One unit: the sum of a register's lanes has the bits of the sums of a batch.
template <int Inputs>
void check_one_unit() {
  using model_type = sc::sequential<input{Inputs}, dense{1, sc::tanh}>;
  sc::predictor<model_type, single> model;
  sc::predictor<model_type, pair> of_two;
  auto weights = model.get_weights();
  for (std::size_t i = 0; auto& weight : weights)
    for (float& value : weight.values) value = 0.37F * static_cast<float>(++i % 11) - 1.5F;
  model.set_weights(weights);
  of_two.set_weights(weights);
  constexpr std::size_t n = Inputs;
  exact_array<n> const x(-0.7F);
  exact_array<1> const y(0);
  model.call(x.span(), y.span());
  CHECK(y.span()[0] == model.call(x.span())[0]);
  std::array<float, 2 * n> two{};
  std::ranges::copy(x.span(), two.begin());
  CHECK(y.span()[0] == doctest::Approx(of_two.call(two)[0]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("input and output may be the same array") {
  check_calls<sc::sequential<input{5}, dense{5, sc::relu}>>();
  check_calls<sc::sequential<input{70}, dense{70}>>();
  check_calls<sc::sequential<input{3}, dense{9}, dense{3, sc::softmax}>>();
  check_calls<
      sc::sequential<input{1, 3}.of_batch_size(1), conv1d{3, 2, {.padding = sc::padding::causal, .stateful = true}}>>();
  check_calls<
      sc::sequential<input{2, 3}.of_batch_size(1), conv1d{3, 2, {.padding = sc::padding::causal, .stateful = true}}>>();
  check_calls<sc::sequential<input{2, 3}.of_batch_size(1), lstm{3, {.return_sequences = true, .stateful = true}}>>();
  check_calls<sc::sequential<input{1, 1}.of_batch_size(1), gru{16, {.stateful = true}}, dense{1}>>();
  check_calls<sc::sequential<input{4}, reshape{2, 2}, flatten{}>>();
}

TEST_CASE("one unit") {
  check_one_unit<40>();
  check_one_unit<16>();
  check_one_unit<24>();
  check_one_unit<41>();
}
