// SPDX-License-Identifier: BSD-3-Clause
// Carries out a plan of few numbers, on memory of the caller's: a row of a loss, or what becomes of a weight.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/list_runner.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <cstdint>
#include <cstring>

namespace stagecraft::cpu {

template <class Arch = kernels::default_architecture>
class plan_runner {
 public:
  using plan_view = operations::plan_view;

  /// Floats of memory for a plan.
  [[nodiscard]] static constexpr std::int64_t floats(plan_view const& plan) {
    return plan.kept_floats + list_workspace<Arch>::of_steps(plan);
  }
  /// `memory`: `floats(plan)`, aligned to 64 bytes; `addresses`: one for each operation. Random numbers follow from
  /// `seed` and `stream`.
  plan_runner(plan_view const& plan, float* memory, tracing::array_view<float*> addresses, std::uint64_t seed = 0,
              std::uint64_t stream = 0)
      : plan_(plan),
        kept_(memory),
        workspace_(memory + plan.kept_floats),
        addresses_(addresses),
        seed_(seed),
        stream_(stream) {}

  /// The addresses of a step's tensors.
  struct tensors {
    tracing::array_view<float const* const> inputs;
    float* output = nullptr;
    float const* output_gradient = nullptr;
  };
  /// The output may lie elsewhere than in `output` afterwards: at `address(plan.output)`.
  void forward(tensors const& where) { run(plan_.forward, plan_.forward_places, plan_.forward_workspace, where); }
  void backward(tensors const& where) { run(plan_.backward, plan_.backward_places, plan_.backward_workspace, where); }

  /// The address of an operation's value after its step.
  [[nodiscard]] float const* address(int id) const { return addresses_[id]; }

 private:
  void run(tracing::array_view<int const> order, tracing::array_view<operations::place const> places,
           std::int64_t of_values, tensors const& where) {
    for (std::size_t id = 0; id < places.size(); ++id) addresses_[id] = find(places[id], where);
    list_runner<Arch>(plan_.nodes, plan_.operands, addresses_, workspace_ + of_values, seed_, stream_).run(order);
  }
  // Nothing writes to constants, inputs and gradients of outputs through it.
  float* find(operations::place const& place, tensors const& where) const {
    switch (place.in) {
      case operations::storage::constant:
        return const_cast<float*>(&plan_.nodes[place.index].what.as<operations::constant>().value);
      case operations::storage::input: return const_cast<float*>(where.inputs[place.index]);
      case operations::storage::output: return where.output;
      case operations::storage::output_gradient: return const_cast<float*>(where.output_gradient);
      case operations::storage::kept: return kept_ + place.offset;
      case operations::storage::workspace: return workspace_ + place.offset;
      default: return nullptr;
    }
  }

  plan_view const& plan_;
  float *kept_, *workspace_;
  tracing::array_view<float*> addresses_;
  std::uint64_t seed_, stream_;
};

}  // namespace stagecraft::cpu
