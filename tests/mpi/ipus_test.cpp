// SPDX-License-Identifier: BSD-3-Clause
// Emulated IPUs on the ranks of MPI have the bits of those of one process. A sum over ranks that overflows is found on
// all.
#include <string>
#include <string_view>

#include "ipu_ranks.hpp"

using namespace on_ipus;  // NOLINT: the tests' own

namespace {

using staged = sc::pipelined<perceptron, sc::stages<0, 1, 1>>;
constexpr sc::training in_stages{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                 .batch_size = 4,
                                 .steps_per_execution = 4,
                                 .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                                 .num_replicas = 2};

/// y = x, with a gradient that is 1e38 times as large.
struct steep : sc::layer<steep> {
  static constexpr std::string_view class_name = "Steep";
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i) call.output()[i] = call.input()[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i) call.input_gradient()[i] += call.output_gradient()[i] * 1e38F;
  }
};
struct steep_network : sc::functional<steep_network> {
  static constexpr auto build(auto& model) {
    return steep()(dense(1, {.use_bias = false, .kernel_initializer = sc::initializers::ones{}})(model.input(1)));
  }
};
constexpr sc::training of_four{.optimizer = sc::optimizers::sgd{.learning_rate = 0x1p-126F},
                               .loss = sc::losses::mean_absolute_error{},
                               .batch_size = 1,
                               .num_replicas = 4};

template <class Machine>
std::string error_of_sum() {
  sc::engine::session_of<steep_network, of_four, Machine> session(1);
  try {
    session.begin_run();
    session.train(
        1,
        [](auto& to, int, int) {
          *to.input(0) = *to.scale(0) = 1;
          *to.template target<0>() = -10;
          to.set_valid_samples(1);
        },
        [](auto const&) {});
  } catch (sc::floating_point_error const& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("stages of emulated IPUs are on several ranks") {
  using network = staged;
  constexpr auto training = in_stages;

  using hosts_with_ipus = sc::cluster<sc::ipu<>, sc::ranks{4}>;  // an IPU each
  sc::trainer<network, training, hosts_with_ipus> on_ipus;       // mpirun -n 4 ./program

  sc::trainer<network, training, sc::ipu<sc::ipu_config{.auto_select_ipus = 4}>> alone;
  CHECK(train(on_ipus) == train(alone));
}

TEST_CASE("a sum of gradients over ranks of IPUs that overflows") {
  constexpr std::string_view text = "an overflow in the replicas' sum of gradients behind micro-batch 0";
  auto const alone = error_of_sum<four_ipus>(), together = error_of_sum<four_ranks>();
  CHECK_MESSAGE(alone.find(text) != std::string::npos, alone);
  CHECK(together == alone);
}
