// SPDX-License-Identifier: BSD-3-Clause
// A third policy, which computes nothing and only counts what the engine asks of it. It includes the engine alone,
// neither the host's room nor the IPUs'.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

enum asked { forward_steps, backward_steps, losses, outputs, calls_summed, updates, inputs_brought, transfers, kinds };
using counts = std::array<int, kinds>;
using memory = sc::engine::pass_memory;

struct counting_policy {
  static constexpr bool devices_have_teams = false;
  static constexpr bool joins_passes = false;
  static constexpr bool joins_epilogues = false;
  template <class Machine>
  static constexpr bool joins_updates = false;
  template <class Plan>
  static constexpr bool clears_accumulators = false;

  // Passes and updates run one at a time here: the machine has one thread.
  static inline counts done{};

  // Memory.
  template <class Sizes>
  struct replica_memory {
    std::array<int, Sizes::passes> counted{};
  };
  template <class Job>
  static constexpr sc::diagnostics::diagnostic const& memory_problem() {
    return sc::engine::no_memory_problem;
  }
  template <class Plan, int Call>
  static constexpr sc::engine::workspace_size workspace() {
    return {};
  }
  template <class Plan>
  static constexpr long long update_workspace() {
    return 0;
  }
  template <class Plan>
  static constexpr long long widened_floats() {
    return 0;
  }
  template <class Sizes>
  static void begin_pass(replica_memory<Sizes>& own, bool, int pass, int, memory&) {
    ++own.counted[static_cast<std::size_t>(pass)];
  }
  template <class Sizes>
  static void begin_update(replica_memory<Sizes>&, int, memory&, bool) {}

  // Weights.
  template <class Plan, std::size_t Parameter>
  static void initial_values(std::uint64_t, float*) {}
  template <class Plan, template <int> class PlanOfCall>
  using step_weights = sc::engine::stored_weights;
  template <class Plan, std::size_t Parameter>
  static void copy_weight(memory const&, float const*, float*) {}
  template <class Plan>
  static void given_weights(float*) {}

  // Steps.
  template <class Plan>
  static float* input(memory const& own, int call) {
    return Plan::address(own, Plan::value(call));
  }
  template <class Plan>
  static void inputs(memory const&) {
    ++done[inputs_brought];
  }
  template <class Plan, int Call, bool Backward>
  static void step(memory const&) {
    ++done[Backward ? backward_steps : forward_steps];
  }
  template <class Plan>
  static void addition(memory const&, sc::plan::pass_addition const&, int) {}
  template <class Plan, int Call, std::size_t Parameter>
  static void begin_gradient(memory const&) {}

  // Losses.
  template <class Plan, std::size_t Output>
  static float loss(memory const&, float const*, void const*, float const*, sc::engine::loss_gradient const&) {
    ++done[losses];
    return 3;
  }
  template <class Plan, std::size_t Output>
  static void output(memory const&, float*) {
    ++done[outputs];
  }
  template <class Plan, std::size_t Output>
  static float const* prediction(memory const&, float const* value) {
    return value;
  }

  // Updates.
  template <class Plan, std::size_t Parameter>
  static void sum_of_calls(memory const&) {
    ++done[calls_summed];
  }
  template <class Plan, std::size_t Parameter, class Gradients, class Range>
  static void sum_of_replicas(memory const&, Gradients const&, int, Range const&) {}
  template <class Plan, std::size_t Parameter>
  static void penalty_gradient(memory const&, float, bool) {}
  template <class Plan, std::size_t Parameter, unsigned Norms, class Range>
  static void add_squares(memory const&, sc::engine::optimizer_state const&, Range const&, double*) {}
  template <class Plan, std::size_t Parameter, int Round>
  static void squares(memory const&, sc::engine::optimizer_state const&, bool, double*) {}
  template <class Plan, std::size_t Parameter, class Range>
  static void update(memory const&, sc::engine::optimizer_state const&, Range const&) {
    ++done[updates];
  }
  template <class Plan, std::size_t Parameter>
  static void constraint(memory const&, bool) {}
  template <class Plan, std::size_t Parameter>
  static float penalty(float const*, float*) {
    return 0;
  }

  // Transfers.
  static void transfer(float const*, float*, std::size_t) { ++done[transfers]; }
};

/// Needs nothing but the architecture in whose layout weights are kept.
struct counter {
  using architecture = sc::kernels::default_architecture;
  static constexpr int threads = 1;
  static constexpr int devices = 0;
};

}  // namespace

template <>
struct stagecraft::engine::policy_of_machine<counter> {
  using type = counting_policy;
};

namespace {

using network = sc::sequential<input{6}, dense{5, sc::relu}, dense{4, sc::tanh}, dense{3, sc::softmax}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1>>;
inline constexpr sc::training training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                       .batch_size = 4,
                                       .steps_per_execution = 8,
                                       .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

TEST_CASE("a policy of one's own is asked for each step, loss, update and transfer of a pipeline") {
  static_assert(sc::engine::is_carried_out<counter>);
  sc::engine::session_of<two_stages, training, counter> session;
  int fed = 0;
  float loss = 0;
  counting_policy::done = {};
  session.train(
      8, [&](auto const& to, int, int) { to.set_valid_samples(4), ++fed; },
      [&](auto const& view) { loss += view.total_loss(); });
  CHECK(fed == 8);
  CHECK(loss == 8 * 3);
  auto const& done = counting_policy::done;
  CHECK(done[forward_steps] == 8 * 3);
  CHECK(done[backward_steps] == 8 * 3);
  CHECK(done[losses] == 8);
  CHECK(done[outputs] == 8);
  CHECK(done[calls_summed] == 2 * 6);  // kernels and biases
  CHECK(done[updates] == 2 * 6);
  CHECK(done[inputs_brought] == 8);
  CHECK(done[transfers] == 8 * 2);  // a value there, its gradient back
}

TEST_CASE("the same without training") {
  sc::engine::session_of<two_stages, training, counter> session;
  counting_policy::done = {};
  session.predict(3, [](auto const& to, int, int) { to.set_valid_samples(4); }, [](auto const&) {});
  CHECK(counting_policy::done == counts{3 * 3, 0, 0, 3, 0, 0, 3, 3});
}

}  // namespace
