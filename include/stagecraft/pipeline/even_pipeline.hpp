// SPDX-License-Identifier: BSD-3-Clause
// Stages of equal work: what a user does by hand where a pipeline is to be balanced, done by the compiler. PopTorch's
// users ask for it as "layers split evenly".
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/linear_order.hpp>
#include <stagecraft/pipeline/partition.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::pipeline {

/// The partition of a model into stages of equal work. Work counts first, then the bytes that cross the worst cut: the
/// unit of cycles is made larger than all bytes together.
template <class M, int Stages>
constexpr partition find_even_partition() {
  constexpr auto const& order = linear_order_of<M>;
  constexpr std::size_t count = graph_of<M>.order.size();
  std::array<long long, count> cycles{}, bytes = order.bytes_across;
  long long sum = 1, highest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cycles[i] = graph_of<M>.call(graph_of<M>.order[i]).flops;
    sum += cycles[i];
    if (bytes[i] > highest) highest = bytes[i];
  }
  // Bytes of giant models are scaled down, so that products do not overflow.
  int shift = 0;
  while ((highest >> shift) >= 0x3fffffffffffffff / sum) ++shift;
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] >>= shift;
    cycles[i] *= (highest >> shift) + 1;
  }
  return find_partition({.cycles = cycles, .transfer = bytes, .joined = order.joined, .capacity = -1},
                        {.min_stages = Stages, .max_stages = Stages});
}

template <class M, int Stages>
inline constexpr partition even_partition = find_even_partition<M, Stages>();

/// The assignment that even_pipeline makes.
template <int Stages>
struct even_stages {
  template <class M>
  static constexpr void assign_stages(tracing::array_view<int> of_call, diagnostic& problem) {
    if constexpr (Stages < 2 || Stages > partition::capacity) {
      problem.report(2054, "even_pipeline is to divide model '", graph_of<M>.name(), "' into ", Stages,
                     Stages == 1 ? " stage" : " stages", "; a pipeline has 2 to ", partition::capacity);
    } else if constexpr (!even_partition<M, Stages>.found()) {
      int pieces = 1;
      for (std::size_t i = 1; i < graph_of<M>.order.size(); ++i) pieces += linear_order_of<M>.joined[i] ? 0 : 1;
      problem.report(2054, "even_pipeline is to divide model '", graph_of<M>.name(), "' into ", Stages,
                     " stages, but it has ", pieces, pieces == 1 ? " part" : " parts",
                     " that can be apart (each call of a layer is one; calls that share weights, and what is between "
                     "them, stay together)");
    } else {
      for (std::size_t i = 0; i < graph_of<M>.order.size(); ++i)
        of_call[graph_of<M>.order[i]] = even_partition<M, Stages>.stage_of(static_cast<int>(i));
    }
  }
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// A model cut into stages whose work is as equal as it can be: in Keras's order, so that the highest number of flops
/// of a stage is the lowest possible, and among those cuts, the most bytes that cross one of them.
///
///     using four_stages = sc::even_pipeline<resnet50, 4>;
///
/// Flops are those of `call_info`: of one sample, forward. They stand for time as far as layers use a machine equally
/// well. Calls that share weights stay in one stage; stages of the model itself are replaced. The result is a pipelined
/// model like any other, to be printed and edited.
///
/// Errors: those of `pipelined`, and E2054 a number of stages into which the model cannot be divided.
template <class M, int Stages, auto Devices = device_mapping<>>
using even_pipeline = pipelined<M, detail::even_stages<Stages>{}, Devices>;

}  // namespace stagecraft
