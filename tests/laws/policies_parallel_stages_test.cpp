// SPDX-License-Identifier: BSD-3-Clause
// Stages that work at the same time on devices of their own: the bits of the host without stages, in each schedule, for
// any number of threads, on the host and on emulated IPUs.
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/pipeline.hpp>

#include "policies.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

// Two branches, of which both want a gradient of what is before them; a shortcut over both of them.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense{8, sc::tanh}(model.input(6));
    auto const left = dropout{0.25F}(dense{9, sc::relu}(x));
    auto const right = dense{7, sc::tanh}(dense{5, sc::gelu}(x));
    return dense{3}(concatenate{}(left, x, right));
  }
};
// dense, dense_1 (left), dense_2 (right), dropout, dense_3 (right), concatenate, dense_4.
template <auto Devices>
using staged = sc::pipelined<branches,
                             [](auto& assignment) {
                               for (auto& call : assignment) {
                                 auto const name = call.layer_name();
                                 call.pipeline_stage = name == "dense"                          ? 0
                                                       : name == "dense_1" || name == "dropout" ? 1
                                                       : name == "dense_2" || name == "dense_3" ? 2
                                                                                                : 3;
                               }
                             },
                             Devices>;
using four_devices = staged<sc::device_mapping<0, sc::parallel<1, 2>, 3>>;
using three_devices = staged<sc::device_mapping<0, sc::parallel<0, 1>, 2>>;
using one_by_one = staged<sc::device_mapping<0, 1, 2, 3>>;

constexpr auto training_in(sc::schedule order, sc::recomputation_mode again = sc::recomputation_mode::none) {
  return sc::training{
      .optimizer = sc::optimizers::adam{},
      .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
      .batch_size = 4,
      .steps_per_execution = 24,
      .pipeline = {.gradient_accumulation_steps_per_replica = 24, .schedule = order, .recomputation_mode = again},
      .num_replicas = 1};
}
constexpr auto grouped = training_in(sc::grouped), interleaved = training_in(sc::interleaved),
               sequential = training_in(sc::schedule::sequential),
               recomputing = training_in(sc::grouped, sc::recomputation_mode::automatic);

constexpr auto offloading = [] {
  auto result = grouped;
  result.pipeline.offload_activations = sc::offload::remote;
  result.pipeline.offload_weights = sc::offload::remote;
  return result;
}();
constexpr auto replicated = [] {
  auto result = interleaved;
  result.pipeline.reduction_method = sc::gradient_accumulation_reduction_method::running_mean;
  result.num_replicas = 2;
  return result;
}();

// [s0, [s1, s2], s3] takes the slots of three stages, and no more micro-batches are in flight.
static_assert(sc::pipeline_stages<four_devices> == 4 && sc::device_of<four_devices, 2> == 2);
static_assert(sc::pipeline_slots<four_devices, grouped> == 24 + 2 * 3 - 1 &&
              sc::pipeline_slots<one_by_one, grouped> == 24 + 2 * 4 - 1);
static_assert(sc::pipeline_overlap_length<four_devices, interleaved> == 3);
static_assert(sc::timetable_of<four_devices, grouped>.slot(1, 0) == sc::timetable_of<four_devices, grouped>.slot(2, 0));
static_assert(sc::pipeline_activations_alive<four_devices, grouped, 0> == 5 &&
              sc::pipeline_activations_alive<one_by_one, grouped, 0> == 7);

constexpr sc::ipu_config four{.auto_select_ipus = 4};
template <int Threads>
using ipus = sc::ipu<four, Threads>;
constexpr auto in_parallel = sc::profile<four_devices, grouped, ipus<1>>;
constexpr auto in_turn = sc::profile<one_by_one, grouped, ipus<1>>;
static_assert(in_parallel.cycles() < in_turn.cycles() && in_parallel.latency_cycles() < in_turn.latency_cycles());
static_assert(in_parallel.cycles_of(2).total() == in_parallel.cycles());

template <class M, auto Training, class Machine>
void check(std::vector<laws::number_group> const& expected) {
  CHECK(laws::different_bits(expected, laws::groups_of<M, Training, Machine>()) == "");
}

}  // namespace

TEST_CASE("parallel stages change no bit") {
  auto const expected = laws::groups_of<branches, grouped, sc::host<>>();
  check<four_devices, grouped, sc::host<1>>(expected);
  check<four_devices, grouped, sc::host<3>>(expected);
  check<three_devices, grouped, sc::host<2>>(expected);
  check<four_devices, interleaved, sc::host<4>>(expected);
  check<four_devices, sequential, sc::host<2>>(expected);
  check<four_devices, recomputing, sc::host<2>>(expected);
  check<four_devices, offloading, sc::host<3>>(expected);
  check<four_devices, grouped, ipus<2>>(expected);
}

TEST_CASE("parallel stages of two replicas, with running means") {
  check<four_devices, replicated, sc::host<3>>(laws::groups_of<branches, replicated, sc::host<1>>());
}
