// SPDX-License-Identifier: BSD-3-Clause
// A program as the host carries it out: adds where each weight, its gradient and the optimizer's state lie, in the
// layout of one architecture's kernels. Constants only.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/kernels/product/packed_groups.hpp>
#include <stagecraft/optimizers/rests_without_gradient.hpp>
#include <stagecraft/plan/program.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft {

namespace detail {

template <class M, std::size_t Parameter, class Arch>
constexpr long long stored_floats() {
  constexpr auto const& weight = graph_of<M>.parameters[Parameter];
  if constexpr (weight.layout == parameter_layout::matrix)
    return kernels::packed_groups<weight.rows(), weight.columns(), weight.groups, Arch>::size;
  else
    return (weight.size() + 63LL) / 64 * 64;
}

}  // namespace detail

/// Where a model's weights lie in one block, in floats. Gradients and each slot of the optimizer's state have the same
/// layout.
template <class M, class Arch>
struct weight_storage {
  static constexpr std::size_t count = graph_of<M>.parameters.size();

  std::array<long long, count> offset{};
  std::array<long long, count> size{};
  long long floats = 0;

  template <std::size_t... Parameter>
  constexpr explicit weight_storage(std::index_sequence<Parameter...>)
      : size{detail::stored_floats<M, Parameter, Arch>()...} {
    for (std::size_t i = 0; i < count; ++i) {
      offset[i] = floats;
      floats += size[i];
    }
  }
};

template <class M, class Arch>
inline constexpr weight_storage<M, Arch> weight_storage_of{std::make_index_sequence<weight_storage<M, Arch>::count>{}};

/// Where the gradients of the weights lie, in floats. Each call of a layer has its own, so that the sum over
/// micro-batches does not depend on the order of calls; that of the last call stands where the weights do. Where
/// nothing is accumulated, the other calls of a layer take turns in one place.
template <class M, class Arch>
struct gradient_storage {
  std::array<long long, graph_of<M>.calls.size()> shift{};  ///< from a weight's offset to that of its gradient
  long long floats = weight_storage_of<M, Arch>.floats;

  template <class Program>
  constexpr gradient_storage(Program const& program, bool accumulates) {
    constexpr auto const& graph = graph_of<M>;
    constexpr auto const& weights = weight_storage_of<M, Arch>;
    std::array<long long, graph_of<M>.layers.size()> shared{};
    for (std::size_t i = shift.size(); i-- > 0;) {
      auto const& planned = program.calls[i];
      auto const& layer = graph.layer_of(static_cast<int>(i));
      if (!planned.needs_gradient || planned.writes_parameter_gradient || layer.parameter_count == 0) continue;
      auto const first = static_cast<std::size_t>(layer.first_parameter);
      auto& place = shared[static_cast<std::size_t>(graph.calls[i].layer)];
      if (accumulates || place == 0) {
        place = floats;
        for (int k = 0; k < layer.parameter_count; ++k) floats += weights.size[first + static_cast<std::size_t>(k)];
      }
      shift[i] = place - weights.offset[first];
    }
  }
};

/// What the plans of all sessions have in common.
template <class M, auto Training, execution_mode Mode, class Arch>
struct host_plan_base {
  using model = M;
  using architecture = Arch;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& program = program_for<M, Training, Mode>;
  static constexpr auto const& weights = weight_storage_of<M, architecture>;
  /// Copies, for what is read at run time: Clang 19 finds members of class type of a template argument at wrong places.
  static constexpr auto training = Training;
  static constexpr pipelining_options options = options_of<M, Training>;
  static constexpr bool trains = Mode == execution_mode::training;
  /// Whether gradients are accumulated in halves: then backward steps write them, and they are added afterwards.
  static constexpr bool accumulates_halves =
      options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
};

/// Everything about a step that is known at compile time.
template <class M, auto Training, execution_mode Mode, class Machine>
struct host_plan : host_plan_base<M, Training, Mode, typename Machine::architecture> {
  using base = host_plan_base<M, Training, Mode, typename Machine::architecture>;
  using base::graph, base::program;
  static constexpr int threads = Machine::threads;
  static constexpr bool accumulates_steps = base::options.accumulation_steps() > 1;
  static constexpr bool adds_parameter_gradients = accumulates_steps && !base::accumulates_halves;
  static constexpr gradient_storage<M, typename Machine::architecture> gradients{
      program_for<M, Training, execution_mode::training>, accumulates_steps};

  /// Whether the update of a weight is carried out while its gradient is in registers, so that the gradient is never
  /// stored: nothing else may need it.
  [[nodiscard]] static constexpr bool fuses_update(int call, int parameter) {
    return is_updated_at_once(call, parameter, parameter_layout::matrix);
  }
  /// Whether the backward step updates a table's rows, those alone that an input names: the optimizer leaves the others
  /// as they are.
  [[nodiscard]] static constexpr bool updates_rows(int call, int parameter) {
    bool const has_rows = parameter < 32 && (at(call).needs.row_gradients >> parameter & 1U) != 0;
    if (!has_rows || !is_updated_at_once(call, parameter, parameter_layout::plain)) return false;
    return detail::rests_without_gradient<Training.optimizer>;
  }

  // Where the tensors of the calls lie; a negative place is none.
  [[nodiscard]] static constexpr long long value(int call) { return at(call).value; }
  [[nodiscard]] static constexpr long long gradient(int call) { return at(call).gradient; }
  [[nodiscard]] static constexpr long long saved(int call) { return at(call).saved; }
  /// Where a backward step writes or adds the gradient of an input, by edges of the graph.
  [[nodiscard]] static constexpr long long input_gradient(int edge) {
    auto const own = program.own_gradient[static_cast<std::size_t>(edge)];
    return own >= 0 ? own : gradient(graph.inputs[static_cast<std::size_t>(edge)]);
  }
  [[nodiscard]] static constexpr bool adds_input_gradient(int edge) {
    return program.adds_gradient[static_cast<std::size_t>(edge)];
  }
  /// The call whose forward step is the epilogue of this one's; -1: none.
  [[nodiscard]] static constexpr int epilogue(int call) { return at(call).epilogue; }
  [[nodiscard]] static constexpr bool is_epilogue(int call) { return at(call).epilogue_of >= 0; }
  [[nodiscard]] static constexpr bool exists(long long place) { return place >= 0; }
  [[nodiscard]] static float* address(host_memory const& memory, long long place) { return memory.block + place; }

 private:
  static constexpr bool is_updated_at_once(int call, int parameter, parameter_layout layout) {
    auto const& layer = graph.layer_of(call);
    auto const& weight = graph.parameters[static_cast<std::size_t>(layer.first_parameter + parameter)];
    return !accumulates_steps && layer.call_count == 1 && weight.trainable && weight.regularizer.empty() &&
           weight.layout == layout;
  }
  static constexpr auto const& at(int call) { return program.calls[static_cast<std::size_t>(call)]; }
};

}  // namespace stagecraft
