// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

TEST_CASE("activation") {
  laws::check_gradients<sc::sequential<input{3}, dense{5}, activation{sc::relu}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{2, 3}, dense{5}, activation{sc::softmax}>>();
  laws::check_gradients<sc::sequential<input{3}, dense{5}, activation{sc::gelu}, activation{sc::linear}, dense{2}>>();
}

TEST_CASE("dropout with one mask") {
  laws::check_gradients<sc::sequential<input{3}, dense{20}, dropout{0.3F}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{3}, dropout{0.5F, 9}, dense{7}, dropout{0.5F}>>();
  laws::check_gradients<sc::sequential<input{3}, dense{4}, dropout{0.0F}, dense{2}>>();
}

TEST_CASE("flatten and reshape") {
  laws::check_gradients<sc::sequential<input{2, 3}, dense{4}, flatten{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{6}, dense{12}, reshape{3, -1}, dense{2}, flatten{}>>();
  laws::check_gradients<sc::sequential<input{6}, reshape{2, 3}, dense{2}, reshape{4}, flatten{}, dense{1}>>();
}

TEST_CASE("recomputation checkpoints") {
  laws::check_gradients<sc::sequential<input{3}, dense{4, sc::tanh}, recomputation_checkpoint{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{3}, recomputation_checkpoint{}, dense{2}, recomputation_checkpoint{}>>();
}
