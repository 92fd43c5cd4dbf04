// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

#include "call_check.hpp"

namespace {

/// One layer twice: its moving statistics move twice, its weights have the sum of two gradients.
struct twice : sc::functional<twice> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    batch_normalization shared;
    auto a = shared(dense(4)(x));
    return dense(2)(add()(a, shared(dense(4, sc::tanh)(a))));
  }
};

}  // namespace

TEST_CASE("batch normalization") {
  laws::check_calls<sc::sequential<input{3}, dense{5}, batch_normalization{}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3}, dense{1}, batch_normalization{{.epsilon = 0.1}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{3}, dense{19}, batch_normalization{}, dense{2, sc::tanh}>>();
  laws::check_calls<sc::sequential<input{3, 2, 4}, dense{3}, batch_normalization{}, dense{2}>>();
  laws::check_calls<sc::sequential<input{3}, dense{67}, batch_normalization{{.epsilon = 0.1}}>>();
}

TEST_CASE("batch normalization along another axis") {
  laws::check_calls<sc::sequential<input{4, 3}, dense{2}, batch_normalization{1}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3, 17}, dense{18}, batch_normalization{2}, dense{2}>>();
}

TEST_CASE("batch normalization without gamma, beta or both") {
  laws::check_calls<sc::sequential<input{3}, dense{5}, batch_normalization{{.center = false}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{3}, dense{5}, batch_normalization{{.scale = false}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{3}, batch_normalization{{.center = false, .scale = false}}, dense{2}>>();
}

TEST_CASE("batch normalization twice") { laws::check_calls<twice>(); }

TEST_CASE("layer normalization") {
  laws::check_calls<sc::sequential<input{3}, dense{5}, layer_normalization{}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3}, dense{19}, layer_normalization{}, dense{2, sc::tanh}>>();
  laws::check_calls<sc::sequential<input{3}, dense{67}, layer_normalization{{.center = false}}>>();
  laws::check_calls<sc::sequential<input{3}, dense{300}, layer_normalization{{.scale = false}}>>();
  laws::check_calls<
      sc::sequential<input{3}, dense{4}, layer_normalization{{.center = false, .scale = false}}, dense{2}>>();
}

TEST_CASE("layer normalization over several axes") {
  laws::check_calls<sc::sequential<input{2, 3}, dense{4}, layer_normalization{{.axis = {1, 2}}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 2, 3}, dense{4}, layer_normalization{{.axis = {-2, -1}}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3}, dense{4}, layer_normalization{{.axis = {-1, 1}}}, dense{2}>>();
}

TEST_CASE("layer normalization along axes in front") {
  laws::check_calls<sc::sequential<input{4, 3}, dense{2}, layer_normalization{1}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3, 3}, dense{4}, layer_normalization{{.axis = {3, 1}}}, dense{2}>>();
}

// Gradients pass through layers that are not trained; batch normalization is that of prediction then.
TEST_CASE("frozen layers") {
  laws::check_calls<
      sc::sequential<input{3}, dense{4, {.trainable = false}}, dense{5}, dense{19, sc::tanh, {.trainable = false}},
                     batch_normalization{{.trainable = false}}, layer_normalization{{.trainable = false}}, dense{2}>>();
  laws::check_calls<
      sc::sequential<input{2, 3}, dense{4}, batch_normalization{{.axis = 1, .trainable = false}}, dense{2}>>();
  laws::check_calls<sc::sequential<input{4, 4, 2}, conv2d{3, 1}, conv2d{3, 2, {.trainable = false}},
                                   depthwise_conv2d{2, {.trainable = false}}, prelu{{.trainable = false}},
                                   separable_conv2d{3, 1, {.trainable = false}},
                                   conv2d_transpose{2, 2, {.trainable = false}}, flatten{}, dense{2}>>();
}

TEST_CASE("a normalization of the input, and one behind another") {
  laws::check_calls<sc::sequential<input{4}, layer_normalization{}, batch_normalization{}, dense{2}>>();
}
