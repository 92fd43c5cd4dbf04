// SPDX-License-Identifier: BSD-3-Clause
// From the layout in which the host keeps weights to row-major arrays and back.
#pragma once

#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/plan_runner.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/host/steps/weight_storage.hpp>
#include <stagecraft/kernels/random/initial_values.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::cpu {

/// The weights of a model in one block, each where weight_storage_of says.
template <Model M, class Arch>
struct weight_layout {
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& storage = weight_storage_of<M, Arch>;

  /// Whether a weight stands in panels of columns, for matrix products; else row by row.
  template <std::size_t Parameter>
  static constexpr bool is_packed = graph.parameters[Parameter].layout == parameter_layout::matrix;
  template <std::size_t Parameter>
  using packed = kernels::packed_groups<graph.parameters[Parameter].rows(), graph.parameters[Parameter].columns(),
                                        graph.parameters[Parameter].groups, Arch>;

  /// One parameter from and to its own, row-major shape.
  template <std::size_t Parameter>
  static void unpack(float const* stored, float* row_major) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::unpack(stored, row_major);
    else
      std::copy_n(stored, graph.parameters[Parameter].size(), row_major);
  }
  template <std::size_t Parameter>
  static void pack(float const* row_major, float* stored) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::pack(row_major, stored);
    else
      std::copy_n(row_major, graph.parameters[Parameter].size(), stored);
  }
  template <std::size_t Parameter>
  static void read(float const* weights, float* row_major) {
    unpack<Parameter>(weights + storage.offset[Parameter], row_major);
  }
  template <std::size_t Parameter>
  static void write(float const* row_major, float* weights) {
    pack<Parameter>(row_major, weights + storage.offset[Parameter]);
  }

  /// Initial values for all weights. `scratch` has the size of `weights`, and is left with zeros.
  static void initialize(std::uint64_t seed, float* weights, float* scratch) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (initialize_one<Parameter>(seed, weights, scratch), 0)...};
    }(std::make_index_sequence<storage.count>{});
  }

 private:
  template <std::size_t Parameter>
  static void initialize_one(std::uint64_t seed, float* weights, float* scratch) {
    constexpr auto const& info = graph.parameters[Parameter];
    if constexpr (info.initializer.rules != nullptr) draw<Parameter>(seed, scratch);
    kernels::initialize<info.initializer.kind>(
        info.initializer, array_view<int const>(info.shape.begin(), info.shape.end()), seed, Parameter, scratch);
    write<Parameter>(scratch, weights);
    std::fill_n(scratch, info.size(), 0.0F);
  }
  /// What an initializer of the user's own says.
  template <std::size_t Parameter>
  static void draw(std::uint64_t seed, float* to) {
    constexpr auto const& info = graph.parameters[Parameter];
    constexpr auto const& plan = plan_of_initializer<info.initializer, info.shape>::value;
    constexpr bool has_seed = info.initializer.seed != 0;
    aligned_block const memory(plan_runner<Arch>::floats(plan)), result(info.size());
    std::array<float*, plan.nodes.size()> addresses;
    plan_runner<Arch> runner(plan, memory.data(), addresses, has_seed ? info.initializer.seed : seed,
                             has_seed ? 0 : Parameter);
    runner.forward({{}, result.data()});
    std::copy_n(runner.address(plan.output), info.size(), to);
  }
};

}  // namespace stagecraft::cpu
