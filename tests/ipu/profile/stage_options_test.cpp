// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar for single stages change the plans of these stages, and nothing else.
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <type_traits>

namespace sc = stagecraft;
using namespace sc::layers;
using sc::execution_mode;

namespace {

using network = sc::sequential<input{512}, dense{512, sc::relu}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1, 1>>;

constexpr sc::training plain{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                             .batch_size = 64,
                             .steps_per_execution = 8,
                             .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                             .num_replicas = 1,
                             .dtype_policy = sc::dtype_policies::float16};
constexpr auto with(auto change) {
  auto result = plain;
  change(result.pipeline);
  return result;
}
using four_ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;

constexpr sc::pipeline_stage_options as_the_machine{};
constexpr sc::pipeline_stage_options half_partials{.matmul_options = {.partials_type = sc::dtype::float16}};
constexpr sc::pipeline_stage_options little_memory{.matmul_options = {.available_memory_proportion = 0.0F}};
static_assert(!as_the_machine.given() && half_partials.given() && little_memory.given());
static_assert(sc::stage_options<as_the_machine, half_partials>.count == 2);
static_assert(sc::stage_options<as_the_machine, half_partials>.of(1).matmul_options.partials_type ==
              sc::dtype::float16);
static_assert(!sc::stage_options<half_partials>.of(1).given());

constexpr auto base = sc::profile<two_stages, plain, four_ipus>;
/// Whether a pass takes as many cycles as without options, and lies in memory alike.
template <auto const& Profile>
constexpr bool is_as_before(int pass) {
  return Profile.pass(pass).work() == base.pass(pass).work() &&
         Profile.pass(pass).peak_bytes == base.pass(pass).peak_bytes;
}

// Half partial sums in the forward pass of stage 1: pass 1. Passes 2 and 3 are backward.
constexpr auto half_in_1 = with(
    [](auto& p) { p.forward_propagation_stages_poplar_options = sc::stage_options<as_the_machine, half_partials>; });
constexpr auto faster = sc::profile<two_stages, half_in_1, four_ipus>;
static_assert(faster.pass(1).work().cycles() < base.pass(1).work().cycles());
static_assert(is_as_before<faster>(0) && is_as_before<faster>(3));
static_assert(faster.memory(0) == base.memory(0));
static_assert(faster.peak_flops_per_second() > base.peak_flops_per_second());

// In the backward pass of stage 0: pass 3.
constexpr auto half_behind_0 = with(
    [](auto& p) { p.backward_propagation_stages_poplar_options = sc::stage_options<half_partials, as_the_machine>; });
constexpr auto faster_back = sc::profile<two_stages, half_behind_0, four_ipus>;
static_assert(faster_back.pass(3).work().cycles() < base.pass(3).work().cycles());
static_assert(is_as_before<faster_back>(0) && is_as_before<faster_back>(1) && is_as_before<faster_back>(2));
static_assert(faster_back.memory(0).weights == base.memory(0).weights && faster_back.memory(1) == base.memory(1),
              "weights lie as the forward pass wants them");

// What a stage carries out again is its forward steps, with their options.
constexpr auto half_again = with([](auto& p) {
  p.recomputation_mode = sc::recomputation_mode::automatic;
  p.forward_propagation_stages_poplar_options = sc::stage_options<half_partials, as_the_machine>;
});
constexpr auto again = sc::profile<two_stages, half_again, four_ipus>;
constexpr auto just_again = with([](auto& p) { p.recomputation_mode = sc::recomputation_mode::automatic; });
static_assert(again.stage(0).recompute_cycles() <
              sc::profile<two_stages, just_again, four_ipus>.stage(0).recompute_cycles());
static_assert(again.stage(0).forward_cycles() < base.stage(0).forward_cycles());

// Less memory and more cycles, in one stage; a weight update multiplies nothing.
constexpr auto frugal_in_0 = with([](auto& p) {
  p.forward_propagation_stages_poplar_options = sc::stage_options<little_memory, as_the_machine>;
  p.backward_propagation_stages_poplar_options = sc::stage_options<little_memory, as_the_machine>;
  p.weight_update_poplar_options = little_memory;
});
constexpr auto frugal = sc::profile<two_stages, frugal_in_0, four_ipus>;
static_assert(frugal.memory(0).not_always_live < base.memory(0).not_always_live);
static_assert(frugal.pass(0).work().cycles() > base.pass(0).work().cycles());
static_assert(frugal.pass(1).work() == base.pass(1).work() && frugal.memory(1) == base.memory(1));
static_assert(frugal.update(0).cost.compute_cycles > 0 && frugal.update(1).cost == base.update(1).cost);

// All stages with an option are a machine with it; what the machine has already is no other machine.
constexpr auto half_everywhere = with([](auto& p) {
  p.forward_propagation_stages_poplar_options = sc::stage_options<half_partials, half_partials>;
  p.backward_propagation_stages_poplar_options = sc::stage_options<half_partials, half_partials>;
});
constexpr sc::ipu_config half_machine{.auto_select_ipus = 2, .matmuls = {.partials_type = sc::dtype::float16}};
using half_ipus = sc::ipu_devices<half_machine>;
constexpr auto everywhere = sc::profile<two_stages, half_everywhere, four_ipus>;
constexpr auto by_machine = sc::profile<two_stages, plain, half_ipus>;
static_assert(everywhere.cycles() == by_machine.cycles() && everywhere.memory(0) == by_machine.memory(0) &&
              everywhere.peak_flops_per_second() == by_machine.peak_flops_per_second());
static_assert(
    std::is_same_v<sc::tiles::lowered_call<
                       sc::jobs::job<two_stages, half_everywhere, execution_mode::training, half_ipus>, 0, 1>::machine,
                   half_ipus::one_ipu>);

// A predictor's description has those of forward steps; a model without stages has none.
constexpr sc::inference predicting{
    .batch_size = 64,
    .steps_per_execution = 4,
    .pipeline = {.forward_propagation_stages_poplar_options = sc::stage_options<as_the_machine, half_partials>},
    .dtype_policy = sc::dtype_policies::float16};
constexpr auto predictions = sc::profile<two_stages, predicting, four_ipus>;
static_assert(predictions.pass(0).steps == base.pass(0).steps && predictions.pass(1).steps == faster.pass(1).steps);
static_assert(sc::profile<network, half_everywhere, four_ipus>.cycles() ==
              sc::profile<network, plain, four_ipus>.cycles());

// Those of a recurrent layer change its products alone: forward, backward, and where it stands inside another one.
template <lstm_options Options>
using reader = sc::sequential<input{6, 64}, bidirectional{lstm{64, Options}}, dense{10}>;
constexpr sc::training reading{.loss = plain.loss, .batch_size = 64, .dtype_policy = sc::dtype_policies::float16};
using one_ipu = sc::ipu_devices<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 32}}>;
constexpr lstm_options half_forward{.options = {.partials_type = sc::dtype::float16}};
constexpr lstm_options half_backward{.options_bwd = {.partials_type = sc::dtype::float16}};
template <lstm_options Options>
constexpr auto read = sc::profile<reader<Options>, reading, one_ipu>;
static_assert(read<half_forward>.pass(0).work().cycles() < read<lstm_options{}>.pass(0).work().cycles());
static_assert(read<half_backward>.pass(0).work() == read<lstm_options{}>.pass(0).work());
static_assert(read<half_backward>.pass(1).work().cycles() < read<lstm_options{}>.pass(1).work().cycles());

}  // namespace

TEST_CASE("options of Poplar for single stages change what these take") {
  for (int ipu = 0; ipu < 2; ++ipu) {
    CHECK(faster.cycles_of(ipu).total() == faster.cycles());
    CHECK(frugal.cycles_of(ipu).total() == frugal.cycles());
  }
  CHECK(faster.cycles() < base.cycles());
}
