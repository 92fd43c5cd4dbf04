// SPDX-License-Identifier: BSD-3-Clause
// Timetables of models: which options decide, and what can be asked.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using plain = sc::sequential<input{4}, dense{4}, dense{4}, dense{4}, dense{2}>;
using four = sc::pipelined<plain, sc::stages<0, 1, 2, 3>>;
using shared = sc::pipelined<plain, sc::stages<0, 1, 2, 2>, sc::device_mapping<0, 1, 0>>;
using one_device = sc::pipelined<plain, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 0>>;

constexpr auto infer = sc::execution_mode::inference;

constexpr sc::training eight{.steps_per_execution = 24, .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
constexpr auto grouped = sc::timetable_of<four, eight>;
static_assert(grouped.schedule() == sc::schedule::grouped && grouped.trains() && grouped.stages() == 4);
static_assert(grouped.devices() == 4 && grouped.micro_batches() == 8 && grouped.slots() == 15);
static_assert(sc::pipeline_slots<four, eight> == 15 && sc::pipeline_overlap_length<four, eight> == 8);
static_assert(sc::pipeline_bubble<four, eight> == 7.0 / 15 && sc::pipeline_bubble<four, eight, infer> == 3.0 / 27);
static_assert(sc::pipeline_fifo_depth<four, eight, 0> == 6 && sc::pipeline_fifo_depth<four, eight, 3> == 0);
static_assert(sc::pipeline_activations_alive<four, eight, 0> == 7);
static_assert(sc::pipeline_activations_alive<four, eight, 3> == 1);

// An execution of inference has its own number of micro-batches, and no backward passes.
static_assert(!sc::timetable_of<four, eight, infer>.trains());
static_assert(sc::timetable_of<four, eight, infer>.micro_batches() == 24);
static_assert(sc::pipeline_slots<four, eight, infer> == 27 && sc::pipeline_overlap_length<four, eight, infer> == 4);

// The schedule and the devices decide.
constexpr sc::training interleaved{.steps_per_execution = 8,
                                   .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                .schedule = sc::interleaved,
                                                .recomputation_mode = sc::recomputation_mode::automatic}};
static_assert(sc::pipeline_overlap_length<four, interleaved> == 4);
static_assert(sc::pipeline_bubble<four, interleaved> == 3.0 / 11);
static_assert(sc::pipeline_overlap_length<shared, interleaved, infer> == 1);
static_assert(sc::timetable_of<four, interleaved>.recomputes(0) && !sc::timetable_of<four, interleaved>.recomputes(3));
static_assert(!sc::timetable_of<four, interleaved, infer>.recomputes(0) && !grouped.recomputes(0));

// Batch serialization multiplies the micro-batches of a weight update, and is of training only.
constexpr sc::training serialized{.steps_per_execution = 5,
                                  .pipeline = {.gradient_accumulation_steps_per_replica = 2,
                                               .schedule = sc::schedule::sequential,
                                               .batch_serialization_iterations = 4}};
static_assert(sc::timetable_of<one_device, serialized>.micro_batches() == 8);
static_assert(sc::timetable_of<one_device, serialized>.batch_serialization() == 4);
static_assert(sc::pipeline_bubble<one_device, serialized> == 0 && sc::pipeline_slots<one_device, serialized> == 32);
static_assert(sc::pipeline_activations_alive<one_device, serialized, 0> == 4);
static_assert(sc::timetable_of<one_device, serialized, infer>.micro_batches() == 5);
static_assert(sc::timetable_of<one_device, serialized, infer>.batch_serialization() == 1);

// Without stages: one stage, on one device, that never waits, whatever the schedule says.
static_assert(sc::timetable_of<plain, eight>.stages() == 1 && sc::timetable_of<plain, eight>.devices() == 1);
static_assert(sc::timetable_of<plain, eight>.micro_batches() == 8 && sc::pipeline_slots<plain, eight> == 16);
static_assert(sc::pipeline_bubble<plain, eight> == 0 && sc::pipeline_activations_alive<plain, eight, 0> == 1);
constexpr sc::training accumulating{.gradient_accumulation = {.gradient_accumulation_steps_per_replica = 6}};
static_assert(sc::timetable_of<plain, accumulating>.micro_batches() == 6);

TEST_CASE("The timetable of a model is there at run time, too") {
  auto const& table = sc::timetable_of<four, eight>;
  int forward = 0;
  for (int slot = 0; slot < table.slots(); ++slot)
    for (int device = 0; device < table.devices(); ++device)
      for (auto const& step : table.steps(slot, device)) forward += step.kind == sc::pass_kind::forward ? 1 : 0;
  CHECK(forward == 32);
}

}  // namespace
