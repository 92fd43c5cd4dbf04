// SPDX-License-Identifier: BSD-3-Clause
// Options of a pipeline are visible in its plan: where data stand, what is computed again, what is sent.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/device_memory.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network = sc::sequential<input{20}, dense{64, sc::relu}, dense{48, sc::tanh}, dropout{0.5F}, dense{32, sc::gelu},
                               dense{16, sc::relu}, dense{4}>;
using staged = sc::pipelined<network, sc::stages<0, 0, 1, 1, 2, 2>>;

constexpr sc::training plain{.optimizer = sc::optimizers::adam{},
                             .batch_size = 8,
                             .steps_per_execution = 12,
                             .pipeline = {.gradient_accumulation_steps_per_replica = 12}};

template <auto Training, int Device = 0>
constexpr auto memory = sc::device_memory_of<staged, Training, Device>;

constexpr auto with(auto change) {
  auto result = plain;
  change(result);
  return result;
}

constexpr long long weights_of_first = (20 * 64 + 64 + 64 * 48 + 48) * 4;

static_assert(memory<plain>.weights.on_device == weights_of_first);
static_assert(memory<plain>.optimizer_state.on_device == 2 * weights_of_first, "adam has two numbers per weight");
static_assert(memory<plain>.gradient_accumulators.on_device == weights_of_first);
static_assert(memory<plain>.remote() == 0);
static_assert(memory<plain, 0>.activations.on_device > memory<plain, 2>.activations.on_device,
              "a stage before holds more micro-batches");

constexpr auto recomputing = with([](auto& t) { t.pipeline.recomputation_mode = sc::recomputation_mode::automatic; });
static_assert(memory<recomputing>.activations.on_device < memory<plain>.activations.on_device);
static_assert(memory<recomputing>.working.on_device >= memory<plain>.working.on_device);
static_assert(sc::recomputed_steps<staged, plain, 0> == 0);
static_assert(sc::recomputed_steps<staged, recomputing, 0> == 2);
static_assert(sc::recomputed_steps<staged, recomputing, 1> == 2);
static_assert(sc::recomputed_steps<staged, recomputing, 2> == 0, "the last stage's follows at once");

constexpr auto offloading = with([](auto& t) { t.pipeline.offload_activations = sc::offload::remote; });
static_assert(memory<offloading>.activations.remote > 0);
static_assert(memory<offloading>.activations.on_device < memory<plain>.activations.on_device);
static_assert(memory<offloading, 2>.activations.remote == 0, "the last stage needs them at once");

constexpr auto remote_state = with([](auto& t) { t.pipeline.offload_weight_update_variables = sc::offload::remote; });
static_assert(memory<remote_state>.optimizer_state.remote == 2 * weights_of_first);
static_assert(memory<remote_state>.optimizer_state.on_device == 2 * 64 * 48 * 4, "one weight at a time");

constexpr auto remote_accumulators =
    with([](auto& t) { t.pipeline.offload_gradient_accumulation_buffers = sc::offload::remote; });
static_assert(memory<remote_accumulators>.gradient_accumulators.remote == weights_of_first);

constexpr auto remote_weights = with([](auto& t) { t.pipeline.offload_weights = sc::offload::remote; });
static_assert(memory<remote_weights>.weights.remote == weights_of_first);

constexpr auto halves = with([](auto& t) { t.pipeline.gradient_accumulation_dtype = sc::dtype::float16; });
static_assert(memory<halves>.gradient_accumulators.on_device == weights_of_first / 2);

constexpr auto sharded = with([](auto& t) {
  t.num_replicas = 2;
  t.pipeline.replicated_optimizer_state_sharding = true;
});
static_assert(memory<sharded>.optimizer_state.remote == weights_of_first, "each replica has one half");
constexpr auto sharded_weights = with([](auto& t) {
  t.num_replicas = 4;
  t.pipeline.replicated_weight_sharding = true;
});
static_assert(memory<sharded_weights>.weights.remote == weights_of_first / 4);

static_assert(sc::bytes_sent<staged, plain, 0> == 8 * 48 * 4, "the output of the first stage");
static_assert(sc::bytes_sent<staged, plain, 1> == 8 * 32 * 4);
static_assert(sc::bytes_sent<staged, plain, 2> == 0, "losses stay");
static_assert(sc::bytes_sent<staged, plain, 3> == 8 * 32 * 4, "the gradient of the second stage's output");
static_assert(sc::bytes_sent<staged, plain, 5> == 0);

// The same tensors, with one buffer for each where there are no stages.
static_assert(sc::device_memory_of<network, plain, 0>.activations.remote == 0);

constexpr auto sequential = with([](auto& t) { t.pipeline.schedule = sc::schedule::sequential; });
static_assert(memory<sequential>.activations.on_device < memory<plain>.activations.on_device,
              "one micro-batch at a time");

}  // namespace

TEST_CASE("static") { CHECK(memory<plain>.on_device() > 0); }
