// SPDX-License-Identifier: BSD-3-Clause
// The part of a tile's memory that is not data: code of vertices, their state, and the code of exchanges.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/operations/formula.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// Assumptions: Graphcore publishes no sizes, and the emulation has no instructions that could be counted.
struct tile_code_assumptions {
  std::int64_t bytes_per_codelet = 1024;  ///< one copy for each kind and function of tasks
  /// A vertex has some pointers, lengths and factors, of 32 bits each.
  std::int64_t bytes_per_vertex = 32;
  /// The executable's entry for a compute set: what to run, and a sync.
  std::int64_t bytes_per_compute_set = 16;
  /// An exchange's code: sync, addresses, sending, and receiving in some pieces, at four bytes per instruction.
  std::int64_t bytes_per_exchange = 64;
};

inline constexpr tile_code_assumptions assumed_tile_code{};

/// Code and vertices of a step on a tile that takes part in all of its compute sets and exchanges, with a vertex each.
struct step_code {
  std::uint64_t identity = 0;                  ///< steps with the same number differ only in the places of their data
  std::uint64_t codelets[task_work::kinds]{};  ///< a bit for each function of each family
  std::int64_t compute_sets = 0;
  std::int64_t exchanges = 0;

  constexpr step_code() = default;
  constexpr step_code(lowered_step const& step, operation_cost const& cost)
      : compute_sets(cost.compute_sets), exchanges(cost.exchanges) {
    identity = 14695981039346656037U;  // FNV-1a, by words
    auto const mix = [this](auto value) { identity = (identity ^ static_cast<std::uint64_t>(value)) * 1099511628211U; };
    for (int i = 0; i < step.tensor_count; ++i) {
      mix(step.tensors[i].role);
      mix(step.tensors[i].type);
      mix(step.tensors[i].elements);
      if (step.tensors[i].planned != nullptr) mix(step.tensors[i].planned->elements_per_tile);
    }
    auto const add = [&](task const& task) {
      mix(task.what.index());
      task.what.visit([&](auto const& what) {
        int function = 0;
        if constexpr (requires { what.function; }) function = static_cast<int>(what.function);
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(what)>, tensor_names>)  // which run nothing
          codelets[task.what.index()] |= std::uint64_t{1} << (function % 64);
        for (auto const word : std::bit_cast<std::array<std::uint64_t, sizeof(what) / sizeof(std::uint64_t)>>(what))
          mix(word);
      });
      for (int k = 0; k < task.input_count; ++k) mix(task.inputs[k]);
      for (int k = 0; k < task.output_count; ++k) mix(task.outputs[k]);
      if (task.formula != nullptr)
        for (auto const& formula_step : task.formula->steps) mix(formula_step.apply);
    };
    for (int i = 0; i < step.task_count; ++i) {
      task const& task = step.tasks[i];
      if (task.list == nullptr) {
        add(task);
        continue;
      }
      for (auto const& part : task.list->tasks) add(part);
      // Code that runs several times is there once.
      compute_sets -= task.list->repeated_compute_sets;
      exchanges -= task.list->repeated_exchanges;
    }
    // Convolutions differ in their plans, too, which are seen here.
    mix(cost.compute_cycles);
    mix(cost.bytes_exchanged);
    mix(cost.flops);
  }

  /// Adds the code of the next step.
  constexpr step_code& operator+=(step_code const& next) {
    identity = (identity ^ next.identity) * 1099511628211U;
    for (int i = 0; i < task_work::kinds; ++i) codelets[i] |= next.codelets[i];
    compute_sets += next.compute_sets;
    exchanges += next.exchanges;
    return *this;
  }
};

/// All steps of an IPU.
class tile_code {
 public:
  /// `outlines` is IPUConfig's enable_graph_outlining: steps that are alike share their code.
  constexpr tile_code(std::size_t most_steps, bool outlines) : outlines_(outlines) {
    std::size_t size = 16;
    while (size < 2 * most_steps) size *= 2;
    known_.resize(size, 0);
  }

  constexpr void add(step_code const& step) {
    for (int i = 0; i < task_work::kinds; ++i) codelets_[i] |= step.codelets[i];
    if (outlines_ && !is_new(step.identity)) return;
    compute_sets_ += step.compute_sets;
    exchanges_ += step.exchanges;
  }

  [[nodiscard]] constexpr std::int64_t code_bytes() const {
    std::int64_t count = 0;
    for (auto bits : codelets_)
      for (; bits != 0; bits &= bits - 1) ++count;
    return count * assumed_tile_code.bytes_per_codelet + compute_sets_ * assumed_tile_code.bytes_per_compute_set;
  }
  [[nodiscard]] constexpr std::int64_t vertex_state_bytes() const {
    return compute_sets_ * assumed_tile_code.bytes_per_vertex;
  }
  [[nodiscard]] constexpr std::int64_t exchange_code_bytes() const {
    return exchanges_ * assumed_tile_code.bytes_per_exchange;
  }

 private:
  constexpr bool is_new(std::uint64_t identity) {
    auto place = static_cast<std::size_t>(identity >> 20) & (known_.size() - 1);
    for (; known_[place] != 0; place = (place + 1) & (known_.size() - 1))
      if (known_[place] == identity) return false;
    known_[place] = identity;
    return true;
  }

  bool outlines_;
  std::uint64_t codelets_[task_work::kinds]{};
  std::int64_t compute_sets_ = 0;
  std::int64_t exchanges_ = 0;
  growing_array<std::uint64_t> known_;
};

}  // namespace stagecraft::tiles
