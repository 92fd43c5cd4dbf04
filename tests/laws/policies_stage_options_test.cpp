// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar for single stages on tiles: partial sums in half precision change the numbers of their stages, as
// if the machine had them; other plans are as exact as before.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/pipeline.hpp>

#include "policies.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network =
    sc::sequential<input{24}, dense{32, sc::tanh}, dense{40, sc::relu}, dense{24, sc::tanh}, dense{3, sc::softmax}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1, 1>>;

constexpr sc::training plain{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F},
                             .loss = sc::losses::sparse_categorical_crossentropy{},
                             .batch_size = 4,
                             .steps_per_execution = 4,
                             .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                             .num_replicas = 1};
constexpr auto with(sc::dtype_policy policy, sc::pipeline::stage_options_list forward,
                    sc::pipeline::stage_options_list backward) {
  auto result = plain;
  result.dtype_policy = policy;
  result.pipeline.forward_propagation_stages_poplar_options = forward;
  result.pipeline.backward_propagation_stages_poplar_options = backward;
  return result;
}

constexpr sc::pipeline_stage_options as_the_machine{};
constexpr sc::pipeline_stage_options half_partials{.matmul_options = {.partials_type = sc::dtype::float16}};
constexpr sc::pipeline_stage_options little_memory{.matmul_options = {.available_memory_proportion = 0.0F}};

constexpr sc::ipu_config few_tiles{.auto_select_ipus = 2, .ipu_model = {.tiles_per_ipu = 8, .checked = true}};
constexpr sc::ipu_config half_everywhere = [] {
  auto config = few_tiles;
  config.matmuls.partials_type = sc::dtype::float16;
  return config;
}();
using tiles = sc::ipu<few_tiles>;
using half_tiles = sc::ipu<half_everywhere>;

constexpr auto half = sc::dtype_policies::mixed_float16;
constexpr auto none = with(half, {}, {});
constexpr auto in_stage_1 =
    with(half, sc::stage_options<as_the_machine, half_partials>, sc::stage_options<as_the_machine, half_partials>);
constexpr auto in_all =
    with(half, sc::stage_options<half_partials, half_partials>, sc::stage_options<half_partials, half_partials>);
// The kernels of stage 0 lie as other plans want them than those of the backward pass.
constexpr auto frugal = with(sc::dtype_policies::float32, sc::stage_options<little_memory, as_the_machine>,
                             sc::stage_options<as_the_machine, little_memory>);

}  // namespace

TEST_CASE("partial sums in half precision are those of their stages") {
  auto const exact = laws::groups_of<two_stages, none, tiles>();
  auto const half_of_stage_1 = laws::groups_of<two_stages, in_stage_1, tiles>();
  auto const half_of_all = laws::groups_of<two_stages, in_all, tiles>();
  CHECK(laws::different_bits(half_of_all, laws::groups_of<two_stages, none, half_tiles>()) == "");
  CHECK(laws::different_bits(exact, half_of_stage_1) != "");
  CHECK(laws::different_bits(half_of_all, half_of_stage_1) != "");
  laws::check_close(exact, half_of_stage_1, "half partial sums in stage 1", 1e-2, 1e-2);
}

TEST_CASE("kernels are found where they lie") {
  auto const found = laws::largest_deviation(laws::groups_of<network, frugal, sc::host<>>(),
                                             laws::groups_of<two_stages, frugal, tiles>());
  CAPTURE(found.where);
  CHECK(found.relative <= 1e-5);
}
