// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call` on all tiles: the values that the host computes, and the costs foretold.
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <array>
#include <string_view>

#include "../../laws/traced_layers.hpp"
#include "call_on_tiles.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it
using enum sc::execution_mode;

namespace {

using own_layers =
    sc::sequential<input{4, 3}, dense{4}, laws::recur{true}, laws::windowed{}, flatten{}, laws::centre{}, dense{2}>;
using known_layers = sc::sequential<input{4}, activation{sc::relu}, embedding{5, 4},
                                    lstm{3, {.dropout = 0.25F, .return_sequences = true}},
                                    multi_head_attention{2, 2, {.use_causal_mask = true}}, group_normalization{3},
                                    gru{2, {.go_backwards = true}}, dense{2}>;

constexpr auto in_float32 = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 3};
constexpr auto in_float16 =
    sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 3, .dtype_policy = sc::dtype_policies::float16};

template <class M, auto Training, sc::execution_mode Mode, int Tiles, int Call, bool Backward>
constexpr bool is_on_all_tiles() {
  using call =
      sc::tiles::lowered_call<sc::jobs::job<M, Training, Mode, tests::few_tiles<Tiles>>, Backward ? 1 : 0, Call>;
  constexpr auto const& step = sc::detail::step_of_call<call, Backward>;
  for (int i = 0; i < step.task_count; ++i)
    if (step.tasks[i].what.template is<sc::tiles::own_layer_step>()) return false;
  return true;
}

template <class M, auto Training, int Tiles, int... Calls>
void check_steps(float tolerance) {
  static_assert((is_on_all_tiles<M, Training, training, Tiles, Calls, false>() && ...));
  static_assert((is_on_all_tiles<M, Training, training, Tiles, Calls, true>() && ...));
  (tests::call_on_tiles<M, Training, training, Tiles, Calls>(tolerance).check_forward(), ...);
  (tests::call_on_tiles<M, Training, training, Tiles, Calls>(tolerance).check_backward(), ...);
}
template <class M, int Tiles, int... Calls>
void check_predictions() {
  static_assert((is_on_all_tiles<M, in_float32, inference, Tiles, Calls, false>() && ...));
  (tests::call_on_tiles<M, in_float32, inference, Tiles, Calls>(1e-5F).check_forward(), ...);
}

/// Sums up to each place.
struct running_sum : sc::layer<running_sum> {
  static constexpr std::string_view class_name = "RunningSum";
  constexpr auto call(auto& ops, auto x) const {
    auto const step = [](auto at, auto state) { return std::array{state[0] + at}; };
    return ops.scan(x, 1, std::array{ops.full({x.length(0), x.length(2)}, 0)}, step).all[0];
  }
};
constexpr auto one_sample = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 1};
template <int Trips>
constexpr sc::tiles::step_cost const& cost_of_sum =
    sc::tiles::step_cost_of<sc::jobs::job<sc::sequential<input{Trips, 2}, running_sum{}, flatten{}, dense{1}>,
                                          one_sample, inference, tests::few_tiles<1>>,
                            0, 1, false>;

// The state is filled with zeros. In each trip, a place of x comes, is added to, becomes the state and goes to its
// place of the result: 8 bytes are copied in a cycle each, and received twice, in 2 cycles behind a sync.
constexpr auto const& one_tile = tests::few_tiles<1>::target;
constexpr std::int64_t of_trip =
    sc::vertices::binary_op{sc::vertices::binary_operation::add, sc::dtype::float32, 2, false}.cycles(one_tile) + 3;
static_assert(cost_of_sum<3>.cost ==
              sc::tiles::operation_cost{
                  .compute_cycles = 6 * sc::vertices::fill{sc::dtype::float32, 1}.worker_cycles(one_tile) + 3 * of_trip,
                  .exchange_cycles = 3 * 4,
                  .sync_cycles = 3 * 2 * 126,
                  .flops = 3 * 2,
                  .bytes_exchanged = 3 * 16,
                  .exchanges = 6,
                  .compute_sets = 1 + 3 * 4,
                  .temporary_bytes = cost_of_sum<3>.cost.temporary_bytes});
// A trip takes no vertices and no memory of its own.
static_assert(cost_of_sum<3>.vertices == 5 && cost_of_sum<7>.vertices == 5);
static_assert(cost_of_sum<7>.cost.compute_cycles - cost_of_sum<3>.cost.compute_cycles == 4 * of_trip);
static_assert(cost_of_sum<3>.temporary_bytes == cost_of_sum<7>.temporary_bytes);

// An LSTM of 128 units uses all that an IPU has, and takes far less time than on one tile.
struct whole_ipu {
  static constexpr sc::ipu_config config{};
  static constexpr sc::ipu_target target = sc::ipu_targets::ipu2;
};
using large_call = sc::tiles::lowered_call<
    sc::jobs::job<sc::sequential<input{8, 32}, lstm{128}, dense{2}>,
                  sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 16}, inference, whole_ipu>,
    0, 1>;
constexpr std::int64_t cycles_on_tile_0 = [] {
  sc::tiles::lowered_step step;
  append_custom_forward<large_call>(step);
  return cost_of(step, step.tasks[step.task_count - 1], whole_ipu::target).cycles();
}();
static_assert(sc::detail::cost_of_call<large_call, false>.cost.cycles() * 1000 < cycles_on_tile_0);

// Kernels lie where they are multiplied; biases, and a table whose rows are read, do not.
template <int Call, int Weight>
constexpr bool is_planned =
    sc::tiles::lowered_call<sc::jobs::job<known_layers, in_float32, training, whole_ipu>, 0, Call>::planned_weight(
        Weight) != nullptr;
static_assert(is_planned<3, 0> && is_planned<3, 1> && !is_planned<3, 2> && !is_planned<2, 0> && is_planned<4, 0>);

}  // namespace

// What the layers have in common is random_operations_test.cpp's.
TEST_CASE("layers of a user's own") { check_steps<own_layers, in_float32, 5, 2, 3, 5>(1e-5F); }
TEST_CASE("layers of the library") {
  check_steps<known_layers, in_float32, 7, 2, 3, 4, 6>(5e-5F);
  check_predictions<known_layers, 7, 4>();
}
TEST_CASE("in half precision") { check_steps<known_layers, in_float16, 7, 2, 3>(2e-2F); }
