// SPDX-License-Identifier: BSD-3-Clause
// Half precision: what is stored is a half, it is close to float32, and rounding at random keeps small weight updates
// alive. The host is close to emulated IPUs, and its bits depend neither on threads nor on stages.
#include <stagecraft/plan/device_memory.hpp>
#include "../pipelined/random_stages.hpp"
#include "policies.hpp"
#include "policies_models.hpp"

namespace {

using namespace laws;  // NOLINT: the tests' own

/// One weight, whose gradient is the same in each step, and less than a half's last place.
template <sc::stochastic_rounding_behaviour Behaviour>
using rounding = sc::ipu<sc::ipu_config{.floating_point_behaviour = {.esr = Behaviour}}>;

struct one_weight : sc::functional<one_weight> {
  static constexpr auto build(auto& model) {
    return dense(1, {.use_bias = false, .kernel_initializer = sc::initializers::ones{}})(model.input(1));
  }
};
inline constexpr auto slow_training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0x1p-13F},
                                                   .loss = sc::losses::mean_absolute_error{},
                                                   .batch_size = 1,
                                                   .dtype_policy = sc::dtype_policies::float16};

/// The weight after so many steps down a constant slope.
template <class Machine, auto Training = slow_training>
float weight_after(int steps, std::uint64_t seed) {
  sc::engine::session_of<one_weight, Training, Machine> session(seed);
  session.begin_run();
  session.begin_accumulation();
  session.train(
      steps,
      [](auto& to, int, int) {
        *to.input(0) = 1;
        *to.template target<0>() = -10;
        *to.scale(0) = 1;
        to.set_valid_samples(1);
      },
      [](auto const&) {});
  float weight = 0;
  session.template read_weight<0>(&weight);
  return weight;
}

/// The sum of the output's gradient comes from several layers, which stand in several stages.
struct branches_model : sc::functional<branches_model> {
  static constexpr auto build(auto& model) {
    auto x = dense(8, sc::tanh)(model.input(6));
    auto a = batch_normalization()(dense(6, sc::relu)(x)), b = dense(6, sc::sigmoid)(x);
    auto c = add()(a, multiply()(b, b), dense(6)(concatenate()(x, a)));
    return dense(3)(dropout(0.25F)(c));
  }
};
inline constexpr auto pipelined_training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.02F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 6,
                 .steps_per_execution = 12,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 6, .schedule = sc::interleaved}};

/// On the host with a policy, in stages and on threads, too.
template <class M, auto Training, sc::dtype_policy Policy>
[[nodiscard]] std::vector<number_group> groups_on_host() {
  using staged = typename random_runs::with_random_stages<M, 3, 7, random_runs::devices_drawn::one_each>::type;
  static constexpr auto training = with_dtypes<Training, Policy>;
  auto const groups = groups_of<M, training, sc::host<>>();
  CHECK(different_bits(groups, groups_of<M, training, sc::host<3>>()) == "");
  CHECK(different_bits(groups, groups_of<staged, training, sc::host<2>>()) == "");
  return groups;
}

}  // namespace

TEST_CASE("on the host") {
  using namespace sc::dtype_policies;
  auto const expected = groups_of<branches_model, pipelined_training, sc::host<>>();
  auto const half = groups_on_host<branches_model, pipelined_training, mixed_float16>();
  CHECK(not_in_half(half, "output") == "");
  CHECK(not_in_half(half, "weight") != "");
  check_close(expected, half, "float32", 0.02, 0.01);
  check_close(groups_of<branches_model, with_dtypes<pipelined_training, mixed_float16>, fast>(), half, "IPU", 0.02,
              0.01);
  check_close(expected, groups_on_host<branches_model, pipelined_training, mixed_bfloat16>(), "bfloat16", 0.1, 0.05);
  auto const pure = groups_of<branches_model, with_dtypes<pipelined_training, float16>, sc::host<>>();
  CHECK(not_in_half(pure, "output") == "");
  check_close(expected, pure, "float16", 0.02, 0.01);
  // Two replicas, on one thread or two.
  static constexpr auto replicated = [] {
    auto result = pipelined_training;
    result.num_replicas = 2;
    result.cross_replica_reduction = sc::cross_replica_reduction::mean;  // steps as long as without replicas
    return result;
  }();
  auto const of_both = groups_of<branches_model, replicated, sc::host<>>();
  auto const check_replicas = [&]<sc::dtype_policy Policy>(double outputs, double weights) {
    static constexpr auto training = with_dtypes<replicated, Policy>;
    auto const found = groups_of<branches_model, training, sc::host<2>>();
    CHECK(different_bits(found, groups_of<branches_model, training, sc::host<>>()) == "");
    check_close(of_both, found, "replicas", outputs, weights);
  };
  check_replicas.template operator()<mixed_float16>(0.02, 0.01);
  check_replicas.template operator()<mixed_bfloat16>(0.2, 0.05);
  // Values and their gradients take half of the memory.
  using staged = sc::pipelined<sc::sequential<input{64}, dense{64}, dense{64}>, sc::stages<0, 1>>;
  constexpr auto bytes = []<sc::dtype_policy Policy>() {
    constexpr auto training = sc::training_on<with_dtypes<pipelined_training, Policy>, sc::host<>>;
    return sc::device_memory_of<staged, training, 0>.activations.on_device;
  };
  static_assert(2 * bytes.template operator()<mixed_float16>() == bytes.template operator()<float32>());
}

TEST_CASE("networks in half precision") { check_half<network_model, plain_training>(0.02, 0.01); }
TEST_CASE("gradients are added up in float32, or in half") {
  constexpr auto accumulating = [](sc::dtype dtype) {
    auto result = plain_training;
    result.gradient_accumulation = {.gradient_accumulation_steps_per_replica = 3, .gradient_accumulation_dtype = dtype};
    return result;
  };
  static constexpr auto in_float = accumulating(sc::dtype::float32), in_half = accumulating(sc::dtype::float16);
  check_half<network_model, in_float>(0.02, 0.01);
  check_half<network_model, in_half>(0.02, 0.01);
  CHECK(different_bits(groups_of<network_model, with_dtypes<in_float, sc::dtype_policies::mixed_float16>, fast>(),
                       groups_of<network_model, with_dtypes<in_half, sc::dtype_policies::mixed_float16>, fast>()) !=
        "");
}

TEST_CASE("small updates of weights in half precision are lost, unless they are rounded at random") {
  using enum sc::stochastic_rounding_behaviour;
  // A quarter of the distance from 1 to the half below, each step.
  CHECK(weight_after<rounding<off>>(400, 1) == 1.0F);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    auto const weight = weight_after<rounding<on>>(400, seed);
    CHECK(weight == weight_after<rounding<on>>(400, seed));
    CHECK(weight < 0.98F);
    CHECK(weight == weight_after<rounding<replica_identical_only>>(400, seed));
    sum += static_cast<double>(weight);
  }
  // 400 steps of 2^-13, each rounded with a deviation of at most 2^-12: five of the mean's.
  CHECK(std::abs(sum / 32 - (1 - 400 * 0x1p-13)) < 5 * 20 * 0x1p-12 / std::sqrt(32.0));
}
