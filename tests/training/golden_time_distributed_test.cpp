// SPDX-License-Identifier: BSD-3-Clause
// Layers in time_distributed against real Keras.
#include "golden_layers.hpp"

namespace {

template <sc::layers::input Input, auto Each>
void check(std::string const& name) {
  static auto const file = golden::read("time_distributed.txt");
  golden::check_layer<golden::one<2, Input, time_distributed{Each}>, 2>(file, name);
}

}  // namespace

TEST_CASE("rows") {
  check<input{3, 4}, dense{5, sc::tanh}>("dense");
  check<input{3, 2, 4}, dense{2, sc::relu}>("dense_rank4");
  check<input{3, 4}, layer_normalization{}>("layer_normalization");
  check<input{3, 4}, activation{sc::softmax}>("softmax");
}

TEST_CASE("images") {
  check<input{3, 4, 4, 2}, conv2d{3, 2, sc::relu}>("conv2d");
  check<input{3, 4, 4, 2}, max_pooling2d{2}>("max_pooling2d");
  check<input{3, 2, 4}, flatten{}>("flatten");
}

TEST_CASE("sequences of sequences") {
  check<input{3, 4, 2}, lstm{3}>("lstm");
  check<input{2, 3, 4, 2}, time_distributed{conv1d{2, 2}}>("nested");
}
