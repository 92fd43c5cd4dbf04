// SPDX-License-Identifier: BSD-3-Clause
// Executions of pipelines allocate nothing after the first, whatever is recomputed, sent to remote memory or sharded.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>

#include "../pipelined/made_data.hpp"
#include "counted_memory.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(12);
    dense shared(12, sc::tanh, {.kernel_regularizer = sc::regularizers::l2{0.01F}});
    auto const a = dropout(0.25F)(shared(x));
    auto const b = batch_normalization()(shared(recomputation_checkpoint()(a)));
    auto const c = dense(12, sc::relu)(add()(a, b));
    return dense(5)(concatenate()(c, x));
  }
};
using staged = sc::pipelined<network, [](auto& assignment) {
  for (auto& call : assignment) {
    auto const name = call.layer_name();
    call.pipeline_stage = name == "dense_2" || name == "concatenate" ? 2 : name == "add" || name == "dense_1" ? 1 : 0;
  }
}>;

template <sc::pipelining_options Options, int Replicas = 1>
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 4,
                                              .steps_per_execution = 6,
                                              .pipeline = Options,
                                              .num_replicas = Replicas};
template <sc::pipelining_options Options, int Threads, int Replicas = 1>
using session = sc::engine::session_of<staged, training<Options, Replicas>, sc::host<Threads>>;

constexpr sc::pipelining_options grouped{.gradient_accumulation_steps_per_replica = 6};
constexpr sc::pipelining_options interleaved{.gradient_accumulation_steps_per_replica = 6,
                                             .schedule = sc::schedule::interleaved};
constexpr sc::pipelining_options remote{
    .gradient_accumulation_steps_per_replica = 6,
    .reduction_method = sc::gradient_accumulation_reduction_method::running_mean,
    .recomputation_mode = sc::recomputation_mode::recompute_and_backpropagate_interleaved,
    .gradient_accumulation_dtype = sc::dtype::float16,
    .offload_activations = sc::offload::remote,
    .offload_gradient_accumulation_buffers = sc::offload::remote,
    .offload_weight_update_variables = sc::offload::remote,
    .offload_weights = sc::offload::remote};
constexpr sc::pipelining_options recomputing{
    .gradient_accumulation_steps_per_replica = 3,
    .schedule = sc::schedule::sequential,
    .recomputation_mode = sc::recomputation_mode::recompute_then_backpropagate};
constexpr sc::pipelining_options sharded{.gradient_accumulation_steps_per_replica = 6,
                                         .replicated_optimizer_state_sharding = true,
                                         .replicated_weight_sharding = true};

template <class Run>
long allocations_of(Run const& run) {
  long const before = allocations();
  run();
  return allocations() - before;
}

}  // namespace

TEST_CASE_TEMPLATE("executions of pipelines", Session, session<grouped, 1>, session<grouped, 2>,
                   session<interleaved, 1>, session<interleaved, 2>, session<recomputing, 2>, session<remote, 1>,
                   session<remote, 2>, session<sharded, 1, 2>, session<sharded, 2, 2>) {
  Session pipeline(1);
  sc::trace record;
  pipeline.record(&record);
  random_runs::made_data<Session> const data(0);
  auto const execute = [&] {
    pipeline.begin_run();
    pipeline.train(12, data, [](auto const&) {});
    pipeline.test(6, data, [](auto const&) {});
    pipeline.predict(18, data, [](auto const&) {});
  };
  execute();
  CHECK(allocations_of([&] {
          for (int i = 0; i < 5; ++i) execute();
        }) == 0);
  CHECK(record.dropped() == 0);
}

TEST_CASE("an execution that fails gives back what it took for its exception") {
  session<grouped, 2> pipeline(1);
  random_runs::made_data<session<grouped, 2>> const data(0);
  auto const fail = [&] {
    auto const results = [](auto const& view) {
      if (view.step() == 3) throw std::runtime_error("no");
    };
    CHECK_THROWS_AS(pipeline.train(6, data, results), std::runtime_error);
  };
  fail();
  long const before = live_allocations();
  for (int i = 0; i < 20; ++i) fail();
  CHECK(live_allocations() == before);
  CHECK(allocations_of([&] { pipeline.train(6, data, [](auto const&) {}); }) == 0);
}
