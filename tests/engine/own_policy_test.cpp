// SPDX-License-Identifier: BSD-3-Clause
// A third policy, which computes nothing and only counts what an engine asks of it.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/host_pipeline.hpp>
#include <stagecraft/engine/session_of.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

enum asked { forward_steps, backward_steps, losses, outputs, calls_summed, updates, inputs_brought, transfers, kinds };
using counts = std::array<int, kinds>;

struct counting_policy {
  static constexpr bool devices_have_teams = false;
  static constexpr bool joins_passes = false;
  static constexpr bool joins_epilogues = false;
  template <class Machine>
  static constexpr bool joins_updates = false;
  template <class Plan>
  static constexpr bool clears_accumulators = false;
  template <class Plan>
  static constexpr bool accumulates_halves = false;

  // Passes and updates run one at a time here: the machine has one thread.
  static inline counts done{};

  template <class Sizes>
  struct replica_memory {
    std::array<int, Sizes::passes> counted{};
  };
  template <class Job>
  static constexpr sc::diagnostics::diagnostic const& memory_problem() {
    return sc::detail::no_memory_problem;
  }
  template <class Sizes>
  static void begin_pass(replica_memory<Sizes>& own, bool, int pass, int, sc::cpu::host_memory&) {
    ++own.counted[static_cast<std::size_t>(pass)];
  }
  template <class Sizes>
  static void begin_update(replica_memory<Sizes>&, int, sc::cpu::host_memory&, bool) {}

  template <class Plan, int Call, bool Backward, class OnHost>
  static void step(sc::cpu::host_memory const&, OnHost const&) {
    ++done[Backward ? backward_steps : forward_steps];
  }
  template <class Plan, std::size_t Output, class OnHost>
  static float loss(sc::cpu::host_memory const&, float const*, void const*, float const*,
                    sc::detail::loss_gradient const&, OnHost const&) {
    ++done[losses];
    return 3;
  }
  template <class Plan, std::size_t Output, class OnHost>
  static void output(sc::cpu::host_memory const&, float*, OnHost const&) {
    ++done[outputs];
  }
  template <class Plan, std::size_t Parameter, class OnHost>
  static void sum_of_calls(sc::cpu::host_memory const&, OnHost const&) {
    ++done[calls_summed];
  }
  template <class Plan, std::size_t Parameter, class Gradients, class Range, class OnHost>
  static void sum_of_replicas(sc::cpu::host_memory const&, Gradients const&, int, Range const&, OnHost const&) {}
  template <class Plan, std::size_t Parameter, class OnHost>
  static void penalty_gradient(sc::cpu::host_memory const&, bool, OnHost const&) {}
  template <class Plan, std::size_t Parameter, int Round, class OnHost>
  static void squares(sc::cpu::host_memory const&, sc::detail::optimizer_state const&, bool, double*, OnHost const&) {}
  template <class Plan, std::size_t Parameter, class Range, class OnHost>
  static void update(sc::cpu::host_memory const&, sc::detail::optimizer_state const&, Range const&, OnHost const&) {
    ++done[updates];
  }
  template <class Plan, std::size_t Parameter, class OnHost>
  static void constraint(sc::cpu::host_memory const&, bool, OnHost const&) {}
  template <class Plan>
  static void inputs(sc::cpu::host_memory const&) {
    ++done[inputs_brought];
  }
  static void transfer(float const*, float*, std::size_t) { ++done[transfers]; }
  template <class Plan, class OnHost>
  static void addition(sc::cpu::host_memory const&, sc::plan::pass_addition const&, int, OnHost const&) {}
  template <class Plan, std::size_t Parameter>
  static void copied_weight(sc::cpu::host_memory const&, float*) {}
  template <class Plan>
  static void given_weights(float*) {}
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
