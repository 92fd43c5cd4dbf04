// SPDX-License-Identifier: BSD-3-Clause
// The three schedules of a pipeline, before anything runs: what they cost is known to the compiler, and they are shown
// as text and as pictures, with the model and its stages. Needs neither xtensor nor xsimd.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <stagecraft/report/report.hpp>
#include <cstdio>
#include <cstring>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{64, sc::relu},
                           dense{10}>;
using four_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 2, 3>>;

/// Eight micro-batches per weight update.
template <sc::schedule Schedule>
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .schedule = Schedule}};

inline constexpr auto grouped = training<sc::schedule::grouped>;
inline constexpr auto interleaved = training<sc::schedule::interleaved>;
inline constexpr auto sequential = training<sc::schedule::sequential>;

// Grouped: each device alternates between a forward and a backward pass. (2 S - 1) / (N + 2 S - 1) of the time is lost
// at the ends, and the first stage keeps the activations of seven micro-batches.
static_assert(sc::pipeline_slots<four_stages, grouped> == 8 + 2 * 4 - 1);
static_assert(sc::pipeline_bubble<four_stages, grouped> == 7.0 / 15);
static_assert(sc::pipeline_activations_alive<four_stages, grouped, 0> == 7);
// Interleaved: half of the devices work forward, the others backward. Four micro-batches are in flight.
static_assert(sc::pipeline_bubble<four_stages, interleaved> == 3.0 / 11);
static_assert(sc::pipeline_activations_alive<four_stages, interleaved, 0> == 4);
// Sequential: one device works, the others wait.
static_assert(sc::pipeline_bubble<four_stages, sequential> == 3.0 / 4);
static_assert(sc::pipeline_activations_alive<four_stages, sequential, 0> == 1);

// If an update has 64 micro-batches, little of the ends is left.
inline constexpr auto patient = sc::training{.pipeline = {.gradient_accumulation_steps_per_replica = 64}};
static_assert(sc::pipeline_bubble<four_stages, patient> < 0.1);

// Branches that do not need each other work at the same time: of four stages, two in parallel, which take the slots of
// three.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense{128, sc::relu}(flatten{}(model.input(28, 28)));
    return dense{10}(concatenate{}(dense{64, sc::relu}(x), dense{64, sc::tanh}(x)));
  }
};
using in_parallel = sc::pipelined<branches, sc::stages<0, 0, 1, 2, 3, 3>, sc::device_mapping<0, sc::parallel<1, 2>, 3>>;
inline constexpr auto twelve =
    sc::training{.steps_per_execution = 12, .pipeline = {.gradient_accumulation_steps_per_replica = 12}};
static_assert(sc::pipeline_slots<in_parallel, twelve> == 12 + 2 * 3 - 1);

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::puts("Prints the three schedules of a pipeline, and draws them. Takes the folder for its pictures.");
    return 0;
  }
  std::string const folder = argc > 1 ? argv[1] : ".";
  for (auto const& table : {sc::timetable_of<four_stages, grouped>, sc::timetable_of<four_stages, interleaved>,
                            sc::timetable_of<four_stages, sequential>}) {
    std::printf("%s\n", sc::timetable_text(table, {.max_slots = 24}).c_str());
    sc::plot_timetable(table, folder + "/schedule_" + std::string(name(table.schedule())) + ".svg", {.max_slots = 24});
  }
  std::printf("%s", sc::timetable_text(sc::timetable_of<in_parallel, twelve>, {.title = "In parallel"}).c_str());
  sc::plot_model<four_stages>(folder + "/four_stages.svg", {.show_shapes = true});
}
