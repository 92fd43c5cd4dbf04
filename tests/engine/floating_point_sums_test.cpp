// SPDX-License-Identifier: BSD-3-Clause
// ipu_config::floating_point_behaviour where no layer computes: sums of gradients, copies in half precision, and
// accumulators in half precision that are rounded at random.
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

/// y = x, with a gradient that is `Slope` times as large.
template <float Slope>
struct steep : sc::layer<steep<Slope>> {
  static constexpr std::string_view class_name = "Steep";
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i) call.output()[i] = call.input()[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i) call.input_gradient()[i] += call.output_gradient()[i] * Slope;
  }
};

constexpr dense one(char const* name) {
  return dense(1, {.use_bias = false, .kernel_initializer = sc::initializers::ones{}, .name = name});
}
/// The sum's gradient arrives twice.
template <float Slope>
struct residual : sc::functional<residual<Slope>> {
  static constexpr auto build(auto& model) {
    auto x = one("first")(model.input(1));
    return add()(steep<Slope>()(x), steep<Slope>()(x));
  }
};
template <float Slope>
struct twice : sc::functional<twice<Slope>> {
  static constexpr auto build(auto& model) {
    dense shared = one("shared");
    return steep<Slope>()(shared(shared(model.input(1))));
  }
};
template <float Slope>
struct once : sc::functional<once<Slope>> {
  static constexpr auto build(auto& model) { return steep<Slope>()(one("first")(model.input(1))); }
};

template <sc::floating_point_behaviour_options Behaviour, int Devices = 1, int Threads = 1>
using ipu = sc::ipu<sc::ipu_config{.auto_select_ipus = Devices, .floating_point_behaviour = Behaviour}, Threads>;
inline constexpr sc::floating_point_behaviour_options all{.inv = true, .div0 = true, .oflo = true};
inline constexpr sc::floating_point_behaviour_options overflows{.oflo = true};
inline constexpr sc::floating_point_behaviour_options infinities{.div0 = true, .oflo = true};

/// The gradient of the prediction is 1 where the target is less.
inline constexpr auto plain = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0x1p-126F},
                                           .loss = sc::losses::mean_absolute_error{},
                                           .batch_size = 1};
constexpr auto with(sc::dtype_policy policy) {
  auto result = plain;
  result.dtype_policy = policy;
  return result;
}
inline constexpr auto mixed = with(sc::dtype_policies::mixed_float16), half = with(sc::dtype_policies::float16);
constexpr auto with(sc::cross_replica_reduction reduction) {
  auto result = plain;
  result.num_replicas = 2;
  result.cross_replica_reduction = reduction;
  return result;
}

struct sample {
  float number = 1;  ///< of the third micro-batch; the others' is 1
  float target = -10;
  float weight = 1;
};

/// Trains eight micro-batches; gives the error's text, or "".
template <class M, class Machine, auto Training = plain>
std::string error_of(sample const& data = {}) {
  sc::engine::session_of<M, Training, Machine> session(1);
  session.template write_weight<0>(&data.weight);
  try {
    session.begin_run();
    session.begin_accumulation();
    session.train(
        8,
        [&](auto& to, int, int step) {
          *to.input(0) = step == 2 ? data.number : 1;
          *to.template target<0>() = step == 2 ? data.target : -10;
          *to.scale(0) = 1;
          to.set_valid_samples(1);
        },
        [](auto const&) {});
  } catch (sc::floating_point_error const& error) {
    return error.what();
  }
  return {};
}

void expect(std::string const& text, std::string_view part) {
  CAPTURE(part);
  CHECK_MESSAGE(text.find("[E4105]") != std::string::npos, text);
  CHECK_MESSAGE(text.find(part) != std::string::npos, text);
}

}  // namespace

TEST_CASE("a gradient that comes from two layers") {
  constexpr std::string_view text = "layer 'first': an overflow in the sum of gradients of micro-batch 0";
  expect(error_of<residual<2e38F>, ipu<all>>(), text);
  expect(error_of<residual<2e38F>, ipu<overflows>>(), text);
  CHECK(error_of<residual<2e38F>, ipu<{.div0 = true}>>() == "");
  CHECK(error_of<residual<2e38F>, ipu<{}>>() == "");
  CHECK(error_of<residual<1e38F>, ipu<all>>() == "");
  static constexpr auto in_pipeline = [] {
    auto result = plain;
    result.steps_per_execution = 8;
    result.pipeline.gradient_accumulation_steps_per_replica = 8;
    return result;
  }();
  using staged = sc::pipelined<residual<2e38F>, sc::stages<0, 0, 1, 1>>;
  expect(error_of<staged, ipu<all, 2>, in_pipeline>(), text);
  expect(error_of<staged, ipu<all, 2, 2>, in_pipeline>(), text);
  using tiles =
      sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 4, .checked = true}, .floating_point_behaviour = all}>;
  expect(error_of<residual<2e38F>, tiles>(), text);
  // In half precision.
  expect(error_of<residual<4e4F>, ipu<all>, mixed>(), text);
  CHECK(error_of<residual<4e4F>, ipu<{.inv = true}>, mixed>() == "");
  CHECK(error_of<residual<3e4F>, ipu<all>, mixed>() == "");
}

TEST_CASE("gradients of a layer with two calls") {
  expect(error_of<twice<2e38F>, ipu<all>>(),
         "weight 'shared/kernel': an overflow in the sum of its layer's gradients behind micro-batch 0");
  CHECK(error_of<twice<2e38F>, ipu<{}>>() == "");
}

TEST_CASE("gradients of two replicas") {
  using enum sc::cross_replica_reduction;
  constexpr std::string_view text =
      "weight 'first/kernel': an overflow in the replicas' sum of gradients behind micro-batch 0";
  expect(error_of<once<2e38F>, ipu<all, 2>, with(sum)>(), text);
  expect(error_of<once<2e38F>, ipu<all, 2, 2>, with(mean)>(), text);
  CHECK(error_of<once<1e38F>, ipu<overflows, 2>, with(sum)>() == "");
  CHECK(error_of<once<2e38F>, ipu<{}, 2>, with(sum)>() == "");
}

TEST_CASE("copies in half precision") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expect(error_of<once<1.0F>, ipu<all>, mixed>({.weight = 7e4F}),
         "weight 'first/kernel': an overflow in the copy of the weight in float16 of micro-batch 0");
  expect(error_of<once<1.0F>, ipu<all>, half>({.weight = 7e4F}),
         "weight 'first/kernel': an overflow in the given weight in float16 before micro-batch 0");
  expect(error_of<once<1.0F>, ipu<all>, mixed>({.number = -7e4F}),
         "layer 'input_1': an overflow in the input of micro-batch 2");
  CHECK(error_of<once<1.0F>, ipu<{.inv = true}>, mixed>({.number = 7e4F, .weight = 7e4F}) == "");
  CHECK(error_of<once<1.0F>, ipu<all>, mixed>({.number = 6e4F}) == "");
  CHECK(error_of<once<1.0F>, ipu<all>>({.number = 7e4F, .weight = 7e4F}) == "");
  // 65504 stands for infinity then.
  CHECK(error_of<once<1.0F>, ipu<all>, mixed>({.number = infinity}) == "");
  CHECK(error_of<once<1.0F>, ipu<all>, mixed>({.weight = -infinity}) == "");
  CHECK(error_of<once<1.0F>, ipu<all>, half>({.weight = -infinity}) == "");
}

TEST_CASE("what becomes of infinities that data bring along stops nothing") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr auto accumulating = [] {
    auto result = plain;
    result.gradient_accumulation.gradient_accumulation_steps_per_replica = 4;
    return result;
  }();
  static constexpr auto squares = [](sc::dtype_policy policy) {
    auto result = with(policy);
    result.optimizer.learning_rate = 0x1p-20F;
    return sc::training{.optimizer = result.optimizer,
                        .loss = sc::losses::mean_squared_error{},
                        .batch_size = 1,
                        .dtype_policy = policy};
  };
  // The accumulator stays infinite, and then the weight.
  CHECK(error_of<once<1.0F>, ipu<infinities>, accumulating>({.number = infinity}) == "");
  CHECK(error_of<residual<1.0F>, ipu<infinities>, accumulating>({.number = infinity}) == "");
  CHECK(error_of<twice<1.0F>, ipu<infinities>, accumulating>({.number = infinity}) == "");
  CHECK(error_of<once<1.0F>, ipu<infinities>>({.weight = infinity}) == "");
  CHECK(error_of<residual<1.0F>, ipu<infinities>, squares({})>({.target = infinity}) == "");
  CHECK(error_of<once<1.0F>, ipu<infinities>, squares(sc::dtype_policies::mixed_float16)>({.target = infinity}) == "");
}

// A gradient of 1, and 255 of 2^-13: an eighth of a half's last place behind 1.

namespace {

inline constexpr int steps = 256;
inline constexpr auto accumulating_halves = [] {
  auto result = mixed;
  result.optimizer.learning_rate = 1;
  result.steps_per_execution = steps;
  result.pipeline = {.gradient_accumulation_steps_per_replica = steps,
                     .reduction_method = sc::gradient_accumulation_reduction_method::sum,
                     .gradient_accumulation_dtype = sc::dtype::float16};
  return result;
}();
using two_weights = sc::pipelined<
    sc::sequential<input{1}, dense{37, {.use_bias = false, .kernel_initializer = sc::initializers::zeros{}}},
                   dense{1, {.use_bias = false, .kernel_initializer = sc::initializers::ones{}}}>,
    sc::stages<0, 1>>;

struct sums {
  float of[37];
  friend bool operator==(sums const&, sums const&) = default;
};
template <class Machine>
sums sums_of_gradients(std::uint64_t seed) {
  sc::engine::session_of<two_weights, accumulating_halves, Machine> session(seed);
  session.begin_run();
  session.begin_accumulation();
  session.train(
      steps,
      [](auto& to, int, int step) {
        *to.input(0) = step == 0 ? 1 : 0x1p-13F;
        *to.template target<0>() = -10;
        *to.scale(0) = 1;
        to.set_valid_samples(1);
      },
      [](auto const&) {});
  sums result;
  session.template read_weight<0>(result.of);
  for (float& x : result.of) x = -x;
  return result;
}

}  // namespace

TEST_CASE("accumulators in half precision are rounded at random") {
  constexpr sc::floating_point_behaviour_options at_random{.oflo = true, .esr = sc::stochastic_rounding_behaviour::on};
  for (float const x : sums_of_gradients<ipu<{}, 2>>(1).of) CHECK(x == 1.0F);

  double sum = 0;
  int const runs = 8;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    auto const found = sums_of_gradients<ipu<at_random, 2>>(seed);
    CHECK(found == sums_of_gradients<ipu<at_random, 2, 2>>(seed));
    CHECK(found != sums_of_gradients<ipu<at_random, 2>>(seed + runs));
    for (float const x : found.of) sum += static_cast<double>(x);
  }
  // Each sum is 1 + n * 2^-10, where n has the binomial distribution of 255 trials with probability 1/8.
  double const mean = sum / (runs * 37), deviation = std::sqrt(255 / 8.0 * 7 / 8) * 0x1p-10 / std::sqrt(runs * 37.0);
  CHECK(std::abs(mean - (1 + 255 * 0x1p-13)) < 5 * deviation);
}
