// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

#include "call_check.hpp"

namespace {

template <sc::layers::dense Layer>
using behind_dense = sc::sequential<input{5}, dense{4}, Layer>;

}  // namespace

TEST_CASE("dense") {
  laws::check_calls<behind_dense<dense{3}>>();
  laws::check_calls<behind_dense<dense{19}>>();
  laws::check_calls<behind_dense<dense{1}>>();
}

TEST_CASE("dense without bias") {
  laws::check_calls<behind_dense<dense{3, {.use_bias = false}}>>();
  laws::check_calls<behind_dense<dense{3, sc::swish, {.use_bias = false}}>>();
}

TEST_CASE("dense on inputs of higher rank") {
  laws::check_calls<sc::sequential<input{2, 5}, dense{3, sc::tanh}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3, 2}, dense{3, sc::softmax}, dense{2, sc::gelu}>>();
}
