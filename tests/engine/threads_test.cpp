// SPDX-License-Identifier: BSD-3-Clause
// A step gives the same bits on any number of threads, and what its first thread throws comes out.
#include "../session_steps.hpp"
#include "session_data.hpp"

#include <stdexcept>

namespace {

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& builder) {
    auto x = builder.input(13);
    dense shared(37, sc::gelu);
    auto a = shared(x), b = dense(37, sc::tanh)(x);
    auto c = dropout(0.25F)(concatenate()(multiply()(a, b), a, dense(5, sc::softmax)(b)));
    auto d = shared(dense(13)(activation(sc::elu)(c)));
    return dense(21)(average()(d, maximum()(a, b), subtract()(b, a)));
  }
};

struct images : sc::functional<images> {
  static constexpr auto build(auto& builder) {
    auto const same = sc::padding::same;
    auto x = builder.input(7, 6, 4);
    conv2d shared(6, 3, sc::swish, {.padding = same, .groups = 2});
    auto a = conv2d(6, {2, 3}, sc::relu, {.strides = {1, 2}, .padding = same})(x);
    auto b = conv2d(18, 1, sc::softmax)(shared(shared(a)));
    auto c = depthwise_conv2d({3, 1}, sc::gelu, {.strides = {2, 1}, .depth_multiplier = 2})(b);
    auto d = conv2d_transpose(17, {2, 1}, sc::tanh, {.strides = {2, 1}})(separable_conv2d(5, 1, sc::gelu)(c));
    return conv1d(3, 3, sc::elu, {.padding = sc::padding::causal})(concatenate(1)(d, conv2d_transpose(17, 1)(a)));
  }
};

/// Layers whose convolutions are operations: products of several parts of the batch's windows, and plain loops.
struct volumes : sc::functional<volumes> {
  static constexpr auto build(auto& builder) {
    auto const same = sc::padding::same;
    auto x = builder.input(3, 9, 8, 5);
    auto a = conv3d(33, {2, 3, 3}, sc::tanh, {.padding = same})(x);
    a = conv3d(6, 2, sc::tanh, {.strides = {1, 4, 4}, .groups = 3})(a);
    a = conv3d_transpose(4, {1, 3, 3}, sc::tanh, {.strides = 2})(a);
    auto b = conv_lstm2d(7, {2, 3}, {.padding = same})(x);
    return conv1d_transpose(3, 3, {.strides = 2})(concatenate(1)(reshape(100, 4)(a), reshape(126, 4)(b)));
  }
};

using narrow = sc::sequential<input{5}, dense{1}>;

template <int AccumulationSteps, class Loss = sc::losses::sparse_categorical_crossentropy>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = Loss{},
                 .batch_size = 7,
                 .pipeline = {.gradient_accumulation_steps_per_replica = AccumulationSteps}};

template <class Model, auto Training, int Threads>
std::vector<float> train() {
  session_steps<Model, Training, sc::host<Threads>> s(5);
  for (int k = 0; k < 12; ++k) data::step(s, 7 * k);
  auto result = data::weights(s);
  result.push_back(s.total_loss());
  data::fill(s, 3);
  s.test_step();
  result.push_back(s.total_loss());
  return result;
}

template <class Model, auto Training>
void check_bits() {
  auto const expected = train<Model, Training, 1>();
  CHECK(train<Model, Training, 2>() == expected);
  CHECK(train<Model, Training, 3>() == expected);
}

}  // namespace

TEST_CASE("two and three threads give the bits of one") {
  check_bits<branches, training<1>>();
  check_bits<branches, training<3>>();
  check_bits<narrow, training<1, sc::losses::mean_squared_error>>();
  check_bits<images, training<1, sc::losses::mean_squared_error>>();
  check_bits<volumes, training<1, sc::losses::mean_squared_error>>();
}

namespace {

/// Throws in its n-th forward step.
struct thrower : sc::layer<thrower> {
  static constexpr std::string_view class_name = "Thrower";
  static inline int left = 0;

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    if (--left == 0) throw std::runtime_error("thrown by a layer");
    std::copy_n(call.input().data(), call.input().size(), call.output().data());
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.input_gradient().size(); ++i)
      call.input_gradient()[i] += call.output_gradient()[i];
  }
};

using throwing = sc::sequential<input{5}, dense{80, sc::relu}, thrower{}, dense{8, sc::relu}, dense{3}>;

}  // namespace

TEST_CASE("an exception of a layer or of who looks leaves the threads ready and the weights as they are") {
  constexpr auto losses = training<1>;
  session_steps<throwing, losses, sc::host<2>> s(5);
  data::fill(s, 0);
  for (int round = 0; round < 20; ++round) {
    thrower::left = 2;
    s.train_step([] {});
    auto const before = data::weights(s);
    CHECK_THROWS_WITH_AS(s.train_step([] {}), "thrown by a layer", std::runtime_error);
    thrower::left = 0;
    CHECK_THROWS_WITH_AS(s.train_step([] { throw std::runtime_error("thrown by a look"); }), "thrown by a look",
                         std::runtime_error);
    CHECK(data::weights(s) == before);  // no thread has gone on to the update
    s.predict_step();
  }
}
