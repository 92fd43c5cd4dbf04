// SPDX-License-Identifier: BSD-3-Clause
// A model in sixteen stages and its timetable of 256 micro-batches: to compile in less time than twice the budget of
// five_layers.cpp.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp =
    sc::sequential<input{64}, dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu},
                   dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu},
                   dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu},
                   dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu}, dense{10}>;
using sixteen_stages = sc::pipelined<mlp, sc::stages<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>>;

inline constexpr auto grouped =
    sc::training{.steps_per_execution = 256, .pipeline = {.gradient_accumulation_steps_per_replica = 256}};
inline constexpr auto interleaved =
    sc::training{.steps_per_execution = 256,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 256, .schedule = sc::interleaved}};

constexpr int count_passes(sc::timetable const& table) {
  int count = 0;
  for (int pass = 0; pass < table.passes(); ++pass)
    for (int slot = 0; slot < table.slots(); ++slot) count += table.micro_batch_at(pass, slot) >= 0 ? 1 : 0;
  return count;
}

static_assert(sc::pipeline_stages<sixteen_stages> == 16);
static_assert(sc::pipeline_slots<sixteen_stages, grouped> == 287);
static_assert(sc::pipeline_slots<sixteen_stages, interleaved> == 542);
static_assert(count_passes(sc::timetable_of<sixteen_stages, grouped>) == 2 * 16 * 256);
static_assert(sc::pipeline_bubble<sixteen_stages, grouped> == 31.0 / 287);
static_assert(sc::pipeline_bubble<sixteen_stages, interleaved> == 15.0 / 271);
static_assert(sc::pipeline_bubble<sixteen_stages, grouped, sc::execution_mode::inference> == 15.0 / 271);
static_assert(sc::pipeline_activations_alive<sixteen_stages, grouped, 0> == 31);
static_assert(sc::pipeline_activations_alive<sixteen_stages, interleaved, 0> == 16);
