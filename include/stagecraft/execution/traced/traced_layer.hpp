// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is written as a `call`: its operations, one after the other. Level 5.
#pragma once

#include <stagecraft/execution/traced/list_runner.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/traced_plan.hpp>

namespace stagecraft::detail {

/// The plan of a call's steps. `Call` is a host_call.
template <class Call>
class plan_of_call {
  struct make {
    constexpr operations::traced_plan operator()() const {
      std::vector<shape> shapes;
      bool wanted[Call::input_count + Call::parameter_count]{};
      for (int i = 0; i < Call::input_count; ++i) {
        shapes.push_back(Call::input_shape(i));
        wanted[i] = Call::wants_input_gradient(i);
      }
      for (int i = 0; i < Call::parameter_count; ++i) wanted[Call::input_count + i] = Call::wants_parameter_gradient(i);
      auto traced = trace_layer(Call::layer, shapes, Call::batch, Call::plan::trains);
      return operations::traced_plan(std::move(traced), Call::trains, wanted);
    }
  };

 public:
  static constexpr auto value = operations::freeze_plan(make{});
};
/// A call on a tile has the plan of the call on the host.
template <class Call>
  requires requires { typename Call::constants; }
class plan_of_call<Call> : public plan_of_call<typename Call::constants> {};

/// `Call` is a host_call, or has its interface.
template <class Call>
class traced_layer {
  static constexpr bool trains = Call::trains;
  static constexpr auto const& plan = plan_of_call<Call>::value;
  using runner = list_runner<typename Call::architecture>;

 public:
  static constexpr long long workspace() { return runner::workspace_of_steps(plan); }

  static void forward(Call const& call) {
    auto const memory = run(call, plan.forward, plan.forward_places, plan.forward_workspace);
    auto const floats = static_cast<std::size_t>(Call::batch) * Call::size;
    if (float const* const result = memory[at(plan.output)]; result != call.output())
      std::memcpy(call.output(), result, floats * sizeof(float));
    if constexpr (Call::plan::trains)
      for (auto const& [weight, value] : plan.updates)
        std::memcpy(call.mutable_weight(weight), memory[at(value)], bytes_of(value));
  }

  static void backward(Call const& call) {
    auto const memory = run(call, plan.backward, plan.backward_places, plan.backward_workspace);
    for (int i = 0; i < Call::input_count; ++i)
      if (Call::wants_input_gradient(i))
        give(memory, i, Call::adds_input_gradient(i) || written_before(call, i), call.input_gradient(i));
    for (int i = 0; i < Call::parameter_count; ++i)
      if (Call::wants_parameter_gradient(i))
        give(memory, Call::input_count + i, Call::adds_parameter_gradient, call.parameter_gradient(i));
  }

 private:
  using memory_type = std::array<float*, plan.nodes.size()>;

  static constexpr std::size_t at(int id) { return static_cast<std::size_t>(id); }
  static constexpr std::size_t bytes_of(int id) {
    return static_cast<std::size_t>(plan.nodes[at(id)].shape.size()) * sizeof(float);
  }

  template <class Order, class Places>
  static memory_type run(Call const& call, Order const& order, Places const& places, std::int64_t workspace) {
    memory_type memory{};
    for (std::size_t id = 0; id < memory.size(); ++id) memory[id] = address(call, places[id]);
    runner(plan.nodes, plan.operands, memory, call.memory.workspace + workspace, call.memory.seed,
           ~((call.memory.step << 16U) + static_cast<std::uint64_t>(Call::call)))
        .run(order);
    return memory;
  }
  /// Nothing writes to inputs and weights through it.
  static float* address(Call const& call, operations::place const& where) {
    using operations::storage;
    switch (where.in) {
      case storage::input: return const_cast<float*>(call.input(where.index));
      case storage::weight: return Call::parameter_count > 0 ? const_cast<float*>(call.weight(where.index)) : nullptr;
      case storage::output: return call.output();
      case storage::output_gradient:
        if constexpr (trains) return call.output_gradient();
        return nullptr;
      case storage::kept:
        if constexpr (trains) return call.saved() + where.offset;
        return nullptr;
      case storage::workspace: return call.memory.workspace + where.offset;
      default: return nullptr;
    }
  }
  /// The gradient of leaf `index`, or zeros.
  static void give(memory_type const& memory, int index, bool adds, float* to) {
    int const id = plan.gradients[at(index)];
    std::size_t const floats = at(leaf_floats(index));
    if (id >= 0 && adds)
      kernels::scaled_add<true, typename Call::architecture>(1.0F, memory[at(id)], to,
                                                             static_cast<std::int64_t>(floats));
    else if (id >= 0)
      std::memcpy(to, memory[at(id)], floats * sizeof(float));
    else if (!adds)
      std::memset(to, 0, floats * sizeof(float));
  }
  static int leaf_floats(int index) {
    return index < Call::input_count ? Call::batch * Call::input_shape(index).size()
                                     : Call::parameter_info(index - Call::input_count).size();
  }
  // The same tensor may stand twice among the inputs: then the second gradient is added to the first.
  static bool written_before(Call const& call, int index) {
    for (int i = 0; i < index; ++i)
      if (Call::wants_input_gradient(i) && call.input_gradient(i) == call.input_gradient(index)) return true;
    return false;
  }
};

}  // namespace stagecraft::detail
