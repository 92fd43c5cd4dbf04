// SPDX-License-Identifier: BSD-3-Clause
// ipu_config::floating_point_behaviour: the layer, weight or loss in whose step a number becomes infinite or NaN stops
// the program, where it is asked to; other steps, and lanes that nobody reads, do not.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

/// y = function(x), with a gradient that may be infinite where y is not.
template <char Function>
struct risky : sc::layer<risky<Function>> {
  static constexpr std::string_view class_name = "Risky";
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i) call.output()[i] = value(call.input()[i]);
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i)
      call.input_gradient()[i] += call.output_gradient()[i] * (Function == 's' ? 0.5F / value(call.input()[i]) : 1.0F);
  }

 private:
  static float value(float x) {
    if constexpr (Function == 's') return std::sqrt(x);
    if constexpr (Function == 'r') return 1 / x;
    if constexpr (Function == 'q') return x * x * x * x;
    return x;
  }
};

template <sc::floating_point_behaviour_options Behaviour>
using ipu = sc::ipu<sc::ipu_config{.floating_point_behaviour = Behaviour}>;
inline constexpr sc::floating_point_behaviour_options all{.inv = true, .div0 = true, .oflo = true};

template <char Function>
using model_of = sc::sequential<input{3}, dense{3, {.kernel_initializer = sc::initializers::identity{}}},
                                risky<Function>{}, dense{3, {.kernel_initializer = sc::initializers::identity{}}}>;
inline constexpr auto plain = sc::training{
    .optimizer = sc::optimizers::sgd{.learning_rate = 0}, .loss = sc::losses::mean_squared_error{}, .batch_size = 2};
inline constexpr auto in_half = [] {
  auto result = plain;
  result.dtype_policy = sc::dtype_policies::mixed_float16;
  return result;
}();
inline constexpr auto in_large_steps = [] {
  auto result = plain;
  result.optimizer.learning_rate = 1e38F;
  return result;
}();

/// Trains or evaluates with micro-batches of ones, but for one number of the third; gives the error's text, or "".
template <class M, class Machine, auto Training = plain, bool Trains = true>
std::string error_of(float number, float others = 1, float target = 0) {
  sc::engine::session_of<M, Training, Machine> session(1);
  session.begin_run();
  session.begin_accumulation();
  auto const feed = [&](auto& to, int, int step) {
    for (int i = 0; i < 6; ++i) {
      to.input(0)[i] = step == 2 && i == 4 ? number : others;
      to.template target<0>()[i] = target;
    }
    to.scale(0)[0] = to.scale(0)[1] = 0.5F;
    to.set_valid_samples(2);
  };
  try {
    if (Trains)
      session.train(4, feed, [](auto const&) {});
    else
      session.test(4, feed, [](auto const&) {});
  } catch (sc::floating_point_error const& error) {
    return error.what();
  }
  return {};
}

bool says(std::string const& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("invalid operations") {
  auto const text = error_of<model_of<'s'>, ipu<all>>(-1.0F);
  CHECK(says(text, "layer 'risky': an invalid operation in the forward step of micro-batch 2"));
  CHECK(says(text, "[E4103]"));
  CHECK(says(error_of<model_of<'s'>, ipu<{.inv = true}>>(-1.0F), "E4103"));
  CHECK(error_of<model_of<'s'>, ipu<{.div0 = true, .oflo = true}>>(-1.0F) == "");
  CHECK(error_of<model_of<'s'>, ipu<{}>>(-1.0F) == "");
  CHECK(error_of<model_of<'s'>, sc::host<>>(-1.0F) == "");
}

TEST_CASE("divisions by zero") {
  auto const text = error_of<model_of<'r'>, ipu<all>>(0.0F);
  CHECK(says(text, "layer 'risky': a division by zero in the forward step of micro-batch 2"));
  CHECK(says(text, "[E4104]"));
  CHECK(says(error_of<model_of<'r'>, ipu<{.div0 = true}>>(0.0F), "E4104"));
  CHECK(error_of<model_of<'r'>, ipu<{.oflo = true}>>(0.0F) == "");
}

TEST_CASE("overflows") {
  auto const text = error_of<model_of<'q'>, ipu<all>>(1e10F);
  CHECK(says(text, "layer 'risky': an overflow in the forward step of micro-batch 2"));
  CHECK(says(text, "[E4105]"));
  CHECK(says(error_of<model_of<'q'>, ipu<{.oflo = true}>>(1e10F), "E4105"));
  CHECK(error_of<model_of<'q'>, ipu<{.div0 = true}>>(1e10F) == "");
}

TEST_CASE("backward steps") {
  // The root of 0 is 0, its slope is infinite.
  CHECK(says(error_of<model_of<'s'>, ipu<{.div0 = true}>>(0.0F, 1.0F, 3.0F),
             "layer 'risky': a division by zero in the backward step of micro-batch 2"));
}

TEST_CASE("losses") {
  auto const text = error_of<model_of<'x'>, ipu<all>>(1e30F);
  CHECK(says(text, "loss of output 'dense_1': an overflow in the forward step of micro-batch 2"));
}

TEST_CASE("weight updates") {
  auto const text = error_of<model_of<'x'>, ipu<all>, in_large_steps>(1.0F, 1.0F, 1e6F);
  CHECK(says(text, "an overflow in weight update 1"));
  CHECK(says(text, "weight 'dense"));
  CHECK(says(text, "/kernel'"));
}

TEST_CASE("a result that is too large for half precision is an overflow") {
  CHECK(error_of<model_of<'q'>, ipu<all>, in_half, false>(15.0F) == "");
  CHECK(says(error_of<model_of<'q'>, ipu<all>, in_half, false>(17.0F),
             "layer 'risky': an overflow in the forward step of micro-batch 2"));
  CHECK(says(error_of<model_of<'q'>, ipu<all>, in_half>(15.0F), "layer 'dense_1': an overflow in the backward step"));
  CHECK(error_of<model_of<'q'>, ipu<{.inv = true}>, in_half>(17.0F) == "");
}

TEST_CASE("data's own infinities and NaN are not the steps' fault") {
  CHECK(error_of<model_of<'x'>, ipu<{.inv = true, .div0 = true}>>(std::numeric_limits<float>::quiet_NaN()) == "");
  CHECK(error_of<sc::sequential<input{3}, risky<'x'>{}, dense{3}>, ipu<{.div0 = true, .oflo = true}>>(
            std::numeric_limits<float>::infinity()) == "");
}

TEST_CASE("an ordinary training raises no alarm") {
  using network = sc::sequential<input{8, 7, 2}, conv2d{5, 3, sc::relu}, max_pooling2d{}, batch_normalization{},
                                 flatten{}, dense{9, sc::gelu}, layer_normalization{}, dropout{0.5F},
                                 dense{11, sc::swish}, dense{3, sc::softmax}>;
  static constexpr auto training = sc::training{
      .optimizer = sc::optimizers::adam{}, .loss = sc::losses::sparse_categorical_crossentropy{}, .batch_size = 3};
  static constexpr auto half = [] {
    auto result = training;
    result.dtype_policy = sc::dtype_policies::mixed_float16;
    return result;
  }();
  auto const train = []<auto Training>() {
    sc::engine::session_of<network, Training, ipu<all>> session(1);
    session.begin_run();
    session.begin_accumulation();
    session.train(
        20,
        [&](auto& to, int, int step) {
          for (int i = 0; i < 3 * 8 * 7 * 2; ++i) to.input(0)[i] = static_cast<float>((i * 7 + step) % 5) - 2;
          for (int i = 0; i < 3; ++i) {
            to.template target<0>()[i] = i;
            to.scale(0)[i] = 1.0F / 3;
          }
          to.set_valid_samples(3);
        },
        [](auto const&) {});
  };
  CHECK_NOTHROW(train.template operator()<training>());
  CHECK_NOTHROW(train.template operator()<half>());
}

namespace {

using staged = sc::pipelined<sc::sequential<input{4}, dense{8, sc::relu}, dense{3}>, sc::stages<0, 1>>;
inline constexpr auto scaled =
    sc::training{.optimizer =
                     sc::optimizers::loss_scale_optimizer{
                         .optimizer = sc::optimizers::adam{}, .initial_scale = 0x1p20F, .dynamic_growth_steps = 4},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                 .dtype_policy = sc::dtype_policies::mixed_float16};

}  // namespace

// What does not fit into a half is NaN, wherever in the pipeline it is.
TEST_CASE("a loss scale that is too large for halves falls, and weights keep what they are") {
  using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .floating_point_behaviour = {.nanoo = true}}>;
  sc::engine::session_of<staged, scaled, machine> session(1);
  session.begin_run();
  session.begin_accumulation();
  float const first = *session.weight(0);
  auto const update = [&] {
    session.train(
        4,
        [](auto& to, int, int) {
          for (int i = 0; i < 32; ++i) to.input(0)[i] = 0.5F;
          for (int i = 0; i < 24; ++i) to.template target<0>()[i] = 1;
          for (int i = 0; i < 8; ++i) to.scale(0)[i] = 0.125F;
          to.set_valid_samples(8);
        },
        [](auto const&) {});
    return session.loss_scale();
  };
  float scale = 0x1p20F;
  int updates = 0;
  for (; *session.weight(0) == first && updates < 20; ++updates) {
    float const next = update();
    if (*session.weight(0) == first) CHECK(next == scale / 2);
    scale = next;
  }
  CHECK(updates > 1);
  CHECK(updates < 20);
  CHECK(std::isfinite(*session.weight(0)));
}
