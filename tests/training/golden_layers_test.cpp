// SPDX-License-Identifier: BSD-3-Clause
// Layers of one input against real Keras.
#include "golden_layers.hpp"

namespace {

using golden::check_layer, golden::one;

golden::file const& layers_file() {
  static auto const file = golden::read("layers.txt");
  return file;
}

}  // namespace

TEST_CASE("dense") {
  auto const& file = layers_file();
  check_layer<one<4, input{6}, dense{5}>, 4>(file, "dense");
  check_layer<one<4, input{6}, dense{5, {.use_bias = false}}>, 4>(file, "dense_no_bias");
  check_layer<one<4, input{6}, dense{5, sc::relu}>, 4>(file, "dense_relu");
  check_layer<one<3, input{7}, dense{3, sc::tanh}>, 3>(file, "dense_tanh");
  check_layer<one<3, input{7}, dense{3, sc::gelu}>, 3>(file, "dense_gelu");
  check_layer<one<4, input{6}, dense{5, sc::softmax}>, 4>(file, "dense_softmax");
  check_layer<one<3, input{5}, dense{4, sc::swish, {.use_bias = false}}>, 3>(file, "dense_swish_no_bias");
  check_layer<one<2, input{3, 5}, dense{4, sc::relu}>, 2>(file, "dense_rank3");
  check_layer<one<2, input{2, 3, 4}, dense{3, {.use_bias = false}}>, 2>(file, "dense_rank4_no_bias");
  check_layer<one<3, input{4}, dense{1, sc::sigmoid}>, 3>(file, "dense_one_unit");
  check_layer<one<3, input{19}, dense{37}>, 3>(file, "dense_wide");
}

TEST_CASE("flatten and reshape") {
  auto const& file = layers_file();
  check_layer<one<2, input{3, 4}, flatten{}>, 2>(file, "flatten");
  check_layer<one<2, input{2, 3, 2}, flatten{}>, 2>(file, "flatten_rank4");
  check_layer<one<2, input{3, 4}, reshape{6, 2}>, 2>(file, "reshape");
  check_layer<one<2, input{12}, reshape{-1, 2, 3}>, 2>(file, "reshape_inferred");
}

TEST_CASE("activation") {
  auto const& file = layers_file();
  check_layer<one<3, input{5}, activation{sc::relu}>, 3>(file, "activation_relu");
  check_layer<one<3, input{5}, activation{sc::softmax}>, 3>(file, "activation_softmax");
  check_layer<one<3, input{5}, activation{sc::elu}>, 3>(file, "activation_elu");
  check_layer<one<3, input{5}, activation{sc::selu}>, 3>(file, "activation_selu");
  check_layer<one<2, input{3, 4}, activation{sc::softmax}>, 2>(file, "activation_softmax_rank3");
}
