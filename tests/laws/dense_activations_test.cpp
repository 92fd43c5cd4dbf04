// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"
#include "own_training.hpp"

namespace {

template <sc::activation Function>
void check_activation() {
  CAPTURE(Function.name());
  laws::check_gradients<sc::sequential<input{5}, dense{4}, dense{3, Function}>>();
}

}  // namespace

TEST_CASE("dense with activations whose gradient comes from the output") {
  check_activation<sc::relu>();
  check_activation<sc::activations::relu(0.2F)>();
  check_activation<sc::softmax>();
  check_activation<sc::sigmoid>();
  check_activation<sc::tanh>();
  check_activation<sc::selu>();
  check_activation<sc::elu>();
  check_activation<sc::exponential>();
  check_activation<sc::softplus>();
  check_activation<sc::softsign>();
}

TEST_CASE("dense with activations whose gradient needs the sum") {
  check_activation<sc::gelu>();
  check_activation<sc::activations::gelu(true)>();
  check_activation<sc::swish>();
  check_activation<sc::hard_sigmoid>();
  check_activation<sc::activations::relu(0.1F, 0.8F, 0.1F)>();
}

TEST_CASE("dense and lstm with activations of one's own") {
  check_activation<laws::mish{}>();
  check_activation<laws::bent{0.5F, 3}>();
  laws::check_gradients<sc::sequential<input{3, 2}, lstm{2, {.activation = laws::mish{}}}>>();
}
