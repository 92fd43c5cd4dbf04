// SPDX-License-Identifier: BSD-3-Clause
// What a feed, a user's layer or who looks at results throws, on any thread and at any micro-batch, reaches the caller;
// weights are those of the last complete update, and the session goes on.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <string>

#include "failing_parts.hpp"
#include "made_data.hpp"
#include "random_numbers.hpp"

using namespace random_runs;  // NOLINT: the tests' own
using namespace sc::layers;   // NOLINT: as a program writes it

namespace {

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = model.input(6);
    dense shared(6, sc::tanh);
    sc::symbolic_tensor a, b;
    {
      sc::pipeline_stage stage(model, 0);
      a = fused()(shared(x));
    }
    {
      sc::pipeline_stage stage(model, 1);
      b = fused()(dense(6, sc::relu)(a));
    }
    sc::pipeline_stage stage(model, 2);
    auto c = fused()(add()(shared(b), a));
    return dense(5)(fused()(multiply()(c, dense(6)(b))));
  }
};

inline constexpr auto as_in_scopes = [](auto&) {};
using stages_on_devices = sc::pipelined<network, as_in_scopes, sc::device_mapping<0, 1, 0>>;
using stages_on_one = sc::pipelined<network, as_in_scopes, sc::device_mapping<0, 0, 0>>;

/// Without state but the weights, so that a failed execution can be compared with one that was never begun.
template <sc::schedule Schedule, int Accumulation, int Replicas>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 3,
                 .steps_per_execution = 60,
                 .pipeline = {.gradient_accumulation_steps_per_replica = Accumulation, .schedule = Schedule},
                 .num_replicas = Replicas};

enum class mode { train, test, predict };

template <class Session>
struct failures {
  static constexpr int update = Session::training.pipeline.gradient_accumulation_steps_per_replica;
  static constexpr int steps = 2 * update;

  Session session{3};
  Session undisturbed{3};
  random_numbers random{20260};
  int first = 0, thrown = 0;

  template <class S>
  void execute(S& to, mode how, int count, int first_step) {
    failing_feed<made_data<Session>> const feed{made_data<Session>(first_step)};
    auto const results = [](auto const& view) {
      if (view.step() >= 0) results_fuse.burn("thrown by results");
    };
    if (how == mode::train) to.train(count, feed, results);
    if (how == mode::test) to.test(count, feed, results);
    if (how == mode::predict) to.predict(count, feed, results);
  }

  /// Lets one part fail somewhere in an execution. Gives the text of what came out.
  std::string fail(fuse& part, int after, mode how) {
    part.set(after);
    std::string text;
    try {
      execute(session, how, steps, first);
    } catch (std::runtime_error const& error) {
      text = error.what();
    }
    return text;
  }

  void check_round(int round) {
    struct source {
      fuse& part;
      int times;  // that it is asked in an execution
      std::string_view text;
    } const sources[]{{forward_fuse, 4 * steps, "thrown by forward"},
                      {backward_fuse, 4 * steps, "thrown by backward"},
                      {feed_fuse, steps, "thrown by feed"},
                      {results_fuse, steps, "thrown by results"}};
    auto const& [part, times, expected] = sources[round % 4];
    auto const how = round % 4 == 1 ? mode::train : static_cast<mode>(random.below(3));
    CAPTURE(round);
    CAPTURE(expected);
    auto const before = weights_of(session);
    CHECK(first_difference(before, weights_of(undisturbed)) == -1);
    // Often at the end of an update, when other devices have nothing left to do but to update.
    int const all = times * Session::replicas;
    int const moment = random.one_of(2) ? random.from_to(1, all) : all / random.from_to(1, 2) - random.below(3);
    auto const text = fail(part, moment, how);
    CHECK(text == (part.has_blown() ? expected : ""));
    part.set(0);
    thrown += text.empty() ? 0 : 1;

    auto const after = weights_of(session);
    if (first_difference(before, after) != -1) {
      // The first of the two updates was complete.
      CHECK(how == mode::train);
      execute(undisturbed, how, update, first);
      CHECK(first_difference(weights_of(undisturbed), after) == -1);
    }
    session.begin_accumulation();
    first += steps;
    // Works as if nothing had happened.
    for (auto const next : {mode::predict, mode::train, mode::test}) {
      execute(session, next, update, first);
      execute(undisturbed, next, update, first);
    }
    CHECK(first_difference(weights_of(session), weights_of(undisturbed)) == -1);
    first += update;
  }

  void run(int rounds) {
    session.begin_run();
    undisturbed.begin_run();
    for (int round = 0; round < rounds; ++round) check_round(round);
    CHECK(thrown == rounds);
  }
};

template <class M, auto Training, int Threads>
struct session_with : sc::engine::session_of<M, Training, sc::host<Threads>> {
  using base = sc::engine::session_of<M, Training, sc::host<Threads>>;
  using base::base;
  static constexpr auto training = Training;
};

template <class M, auto Training, int Threads>
void check_failures(int rounds = 48) {
  failures<session_with<M, Training, Threads>>().run(rounds);
}

}  // namespace

TEST_CASE("failures in a grouped pipeline") {
  check_failures<stages_on_devices, training<sc::schedule::grouped, 6, 1>, 1>();
  check_failures<stages_on_devices, training<sc::schedule::grouped, 6, 1>, 2>();
}

TEST_CASE("failures with replicas") {
  check_failures<stages_on_devices, training<sc::schedule::grouped, 6, 2>, 4>();
  check_failures<sc::unpipelined<network>, training<sc::schedule::sequential, 2, 3>, 3>();
}

TEST_CASE("failures in a sequential pipeline") {
  check_failures<stages_on_one, training<sc::schedule::sequential, 3, 1>, 1>();
  check_failures<stages_on_devices, training<sc::schedule::sequential, 3, 3>, 2>();
}

TEST_CASE("failures where all is in remote memory, in parts, and computed again") {
  constexpr auto remote = [] {
    auto result = training<sc::schedule::grouped, 6, 2>;
    result.pipeline.recomputation_mode = sc::recomputation_mode::automatic;
    result.pipeline.offload_activations = sc::offload::remote;
    result.pipeline.offload_gradient_accumulation_buffers = sc::offload::remote;
    result.pipeline.replicated_optimizer_state_sharding = true;
    result.pipeline.replicated_weight_sharding = true;
    return result;
  }();
  check_failures<stages_on_devices, remote, 3>();
}

TEST_CASE("of failures in several places at once, one comes out") {
  using session = session_with<stages_on_devices, training<sc::schedule::grouped, 6, 2>, 4>;
  failures<session> here;
  here.session.begin_run();
  for (int round = 0; round < 60; ++round) {
    forward_fuse.set(here.random.from_to(1, 20));
    backward_fuse.set(here.random.from_to(1, 20));
    results_fuse.set(here.random.from_to(1, 6));
    auto const before = weights_of(here.session);
    auto const text = here.fail(feed_fuse, here.random.from_to(1, 6), mode::train);
    CHECK(text.substr(0, 10) == "thrown by ");
    for (fuse* each : {&forward_fuse, &backward_fuse, &feed_fuse, &results_fuse}) each->set(0);
    CHECK(first_difference(before, weights_of(here.session)) == -1);
    here.session.begin_accumulation();
    here.execute(here.session, mode::train, here.update, 0);
  }
}
