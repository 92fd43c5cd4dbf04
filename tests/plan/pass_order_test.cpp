// SPDX-License-Identifier: BSD-3-Clause
// In which order a pass carries out its steps, and what it sends behind them.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/passes.hpp>
#include <array>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using plain = sc::sequential<input{20}, dense{64, sc::gelu}, dense{48, sc::gelu}, recomputation_checkpoint{},
                             dense{32, sc::gelu}, dense{16, sc::gelu}, dense{4}>;
using staged = sc::pipelined<plain, sc::stages<0, 0, 0, 0, 0, 1>>;

struct step {
  bool backward;
  int call;
  bool operator==(step const&) const = default;
};

template <auto Training, int Pass>
constexpr auto steps_of() {
  constexpr auto& plan = sc::plan::pass_plan_of<sc::jobs::job<staged, Training>, Pass>;
  std::array<step, plan.steps.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = {plan.steps[i].backward, plan.steps[i].call};
  return result;
}

template <auto Training, int Pass>
constexpr auto receivers() {
  constexpr auto& plan = sc::plan::pass_plan_of<sc::jobs::job<staged, Training>, Pass>;
  std::array<int, plan.transfers.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = plan.transfers[i].device;
  return result;
}

// What the next stage waits for is sent before what is offloaded (device -1).
constexpr sc::training offloading{
    .batch_size = 8,
    .steps_per_execution = 12,
    .pipeline = {.gradient_accumulation_steps_per_replica = 12, .offload_activations = sc::offload::remote}};
constexpr auto sent = receivers<offloading, 0>();
static_assert(sent.size() > 1 && sent[0] == 1);
static_assert([] {
  for (std::size_t i = 1; i < sent.size(); ++i) {
    if (sent[i] != -1) return false;
  }
  return true;
}());

// With recomputation that alternates with backward steps, the segment behind the checkpoint (call 3) is computed again
// and done before the one in front of it, whose last output (call 2) is what the checkpoint keeps.
constexpr sc::training alternating{
    .batch_size = 8,
    .steps_per_execution = 12,
    .pipeline = {.gradient_accumulation_steps_per_replica = 12,
                 .schedule = sc::schedule::sequential,
                 .recomputation_mode = sc::recomputation_mode::recompute_and_backpropagate_interleaved}};
constexpr bool again = false, back = true;
static_assert(steps_of<alternating, 3>() ==
              std::array<step, 7>{{{again, 4}, {again, 5}, {back, 5}, {back, 4}, {again, 1}, {back, 2}, {back, 1}}});

}  // namespace
