// SPDX-License-Identifier: BSD-3-Clause
// Carries out elementwise tasks, tile by tile.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tiles/codelets/formula.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/kernels/elementwise/whole.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft::tiles {

/// The function of a task, element by element.
class map_values {
 public:
  map_values(task const& task, step_values const& values)
      : what_(task.what.as<map_task>()),
        key_(key_of(what_, values)),
        first_micro_batch_(values.accumulated == 0),
        kept_(static_cast<float>(values.accumulated) / (static_cast<float>(values.accumulated) + 1.0F)) {}

  /// The random number that a formula draws for an element.
  [[nodiscard]] float drawn(std::int64_t element) const { return kernels::random_uniform(key_, counter(element)); }

  /// `in` has an element of each operand; `element` is the number of the result's.
  [[nodiscard]] float operator()(float const* in, std::int64_t element) const {
    auto const s = static_cast<float>(what_.scalars[0]);
    if (is_operation(what_.function)) return value_of_operation(in);
    switch (what_.function) {
      case map_function::fill: return s;
      case map_function::scaled_add: return in[0] + s * in[1];
      case map_function::multiply_add: return in[0] * in[1] + in[2];
      case map_function::rsqrt: return 1.0F / std::sqrt(in[0] + s);
      case map_function::accumulate: return accumulated(in[0], in[1]);
      case map_function::dropout:
      case map_function::dropout_gradient: return drawn(element) >= s ? in[0] * (1.0F / (1.0F - s)) : 0.0F;
      case map_function::iota: return static_cast<float>(element / what_.iota_inner % what_.iota_count);
      case map_function::random_uniform: return kernels::random_uniform(key_, random_number(element));
      case map_function::whole: return whole_number(in);
      case map_function::random_normal: return kernels::box_muller(key_, random_number(2 * element));
      default: return in[0];
    }
  }

 private:
  // Each call of each step draws from a sequence of its own, as on the host.
  static kernels::random_key key_of(map_task const& what, step_values const& values) {
    return {what.seed != 0 ? what.seed : values.seed,
            ~((values.step << 16U) + static_cast<std::uint64_t>(values.call))};
  }
  [[nodiscard]] std::uint64_t counter(std::int64_t element) const {
    std::int64_t const channels = what_.channels;
    if (channels == 0) return static_cast<std::uint64_t>(element);
    std::int64_t const sample = element / (channels * what_.positions);
    return static_cast<std::uint64_t>(sample * channels + element % channels);
  }
  [[nodiscard]] std::uint64_t random_number(std::int64_t element) const {
    return what_.first_random + static_cast<std::uint64_t>(element);
  }
  [[nodiscard]] float whole_number(float const* in) const {
    auto const apply = static_cast<operations::whole_function>(static_cast<int>(what_.scalars[0]));
    if (apply == operations::whole_function::constant)
      return std::bit_cast<float>(static_cast<std::int32_t>(what_.scalars[1]));
    return kernels::whole_value(apply, in[0], in[1]);
  }
  /// Tensors and numbers in the order of the function's operands.
  [[nodiscard]] float value_of_operation(float const* in) const {
    double operands[3]{};
    int next = 0;
    auto const apply = function_in(what_.function);
    for (int i = 0; i < operations::arity(apply); ++i)
      operands[i] = (what_.numbers >> i & 1) != 0 ? what_.scalars[i] : static_cast<double>(in[next++]);
    return static_cast<float>(kernels::function_value(apply, operands[0], operands[1], operands[2]));
  }
  /// The product is rounded before it is added to.
  [[nodiscard]] float accumulated(float sum, float gradient) const {
    if (first_micro_batch_) return 0.0F + gradient;
    if (what_.scalars[0] == 0) return sum + gradient;
    // Rounded as the host rounds it, which scales and adds in two steps: no compiler makes one of them of this.
    return std::fma(sum, kept_, 0.0F) + gradient;
  }
  map_task const& what_;
  kernels::random_key key_;
  bool first_micro_batch_;
  float kept_;  ///< factor of an accumulator in a running mean
};

/// An activation, or its gradient from that of its result and what is known, in the words of a layer's `call`.
inline operations::formula activation_formula_of(map_task const& what) {
  operations::operation_list list;
  growing_array<parameter> no_weights;
  operations::tracer ops(list, no_weights);
  activation const function = activation_of(what);
  auto const first = ops.append(operations::input{0}, {});
  if (what.function == map_function::activation) return {list, {activation_value(function, first).id}};
  return {list, {activation_gradient(function, ops.append(operations::input{1}, {}), first).id}};
}

/// Operands that lie elsewhere are received, in the order in which the tile's elements read them; then each tile has a
/// vertex.
inline void run(tile_machine& machine, task const& task, map_task const& what) {
  auto const& step = machine.step();
  auto const mapping = machine.mapping(task.outputs[0]);
  constexpr auto most = static_cast<std::size_t>(task::most_inputs);
  struct operand {
    map_read read;
    tile_view view;
    std::int64_t begin = 0;  ///< run of the tile's first element
  };
  auto const inputs = static_cast<std::size_t>(task.input_count);
  std::vector<operand> operands(inputs * mapping.tiles_used());
  for (int tile = 0; tile < mapping.tiles_used(); ++tile)
    for (std::size_t i = 0; i < inputs; ++i) {
      operand& here = operands[static_cast<std::size_t>(tile) * inputs + i];
      int const tensor = task.inputs[i];
      here.read = read_of(step, task, static_cast<int>(i), machine.target());
      if (here.read.is_local) {
        here.view = machine.home(tensor, tile);
        continue;
      }
      std::int64_t const elements = here.read.received(mapping.elements_of(tile));
      here.view = machine.allocate(tile, elements, here.read.type);
      if (here.read.count == 0) {
        machine.receive(here.view, 0, tensor, mapping.first(tile), elements);
        continue;
      }
      here.begin = mapping.first(tile) / here.read.inner;
      std::int64_t const first = here.begin % here.read.count;
      std::int64_t const before_end = smaller(elements, here.read.count - first);
      machine.receive(here.view, 0, tensor, first, before_end);
      machine.receive(here.view, before_end, tensor, 0, elements - before_end);
    }
  machine.end_exchange();

  map_values const function(task, machine.values());
  auto const* formula = task.formula;
  std::optional<operations::formula> traced;
  std::optional<operations::formula_view> of_activation;
  if (formula == nullptr &&
      (what.function == map_function::activation || what.function == map_function::activation_gradient)) {
    traced = activation_formula_of(what);
    formula = &of_activation.emplace(traced->steps, traced->results);
  }
  bool const draws = what.draws != 0;
  machine.compute_set(
      "map", mapping.tiles_used(),
      [&](int tile) {
        auto const work = map_work_of(step, task, machine.target(), mapping.elements_of(tile));
        return vertex_work{work.cycles, work.flops};
      },
      [&](int tile) {
        auto const result = machine.home(task.outputs[0], tile);
        operand const* const own = operands.data() + static_cast<std::size_t>(tile) * inputs;
        auto const read = [&](std::size_t i, std::int64_t e) {
          if (i == inputs) return function.drawn(mapping.first(tile) + e);
          auto const& from = own[i].read;
          std::int64_t const element = mapping.first(tile) + e;
          return own[i].view[from.count == 0 ? e : (element / from.inner - own[i].begin) % from.count];
        };
        if (formula != nullptr) return formula_codelet(*formula, {}).run(inputs + (draws ? 1 : 0), read, {&result, 1});
        for (std::int64_t e = 0; e < mapping.elements_of(tile); ++e) {
          float in[most]{};
          for (std::size_t i = 0; i < inputs; ++i) in[i] = read(i, e);
          result.set(e, function(in, mapping.first(tile) + e));
        }
      });
}

}  // namespace stagecraft::tiles
