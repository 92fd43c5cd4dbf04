// SPDX-License-Identifier: BSD-3-Clause
// A layer's plan carried out at run time: by the runner that the host and tiles use, and by the reference on doubles.
#pragma once

#include <stagecraft/host/lists/list_runner.hpp>
#include <stagecraft/kernels/convolution/products_of_windows.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include "../../operations/reference.hpp"

namespace stagecraft::operations::runs {
using floats = std::vector<float>;

/// Inputs, weights and the gradient of the output; then the output, the gradients of inputs and weights, and the
/// weights as updated.
struct numbers {
  std::vector<floats> inputs, weights;
  floats output_gradient;
  floats output;
  std::vector<floats> gradients;  ///< empty where there is none
  /// If there is one: makes the gradient of the output from the output, between the two steps.
  std::function<void(numbers&)> at_output{};
};

/// What random numbers are drawn from, on the host and on tiles: as call 0 of step 0 with the seed 1 does.
inline constexpr std::uint64_t drawn_seed = 1, drawn_stream = ~std::uint64_t{0};

inline std::size_t size_of(traced_plan const& plan, int id) {
  return static_cast<std::size_t>(plan.traced.list.node_of(id).shape.size());
}

/// With the memory that the plan says: what a step leaves in it is not a number. Segments of a plan that divides its
/// batch are carried out for so many samples at once, the last ones first, and products in three parts.
class float_run {
 public:
  float_run(traced_plan const& plan, numbers& with, int batch = 1, int samples_at_once = 1)
      : plan_(plan), with_(with), batch_(batch), samples_at_once_(samples_at_once) {
    kept_ = garbage(plan.kept_floats);
    with.output = garbage(static_cast<std::int64_t>(size_of(plan, plan.traced.outputs[0])));
    run(plan.forward, plan.forward_segments, plan.forward_places, plan.forward_joins, plan.forward_workspace,
        plan.forward_sample_floats);
    if (auto const* result = memory_[index(plan.traced.outputs[0])]; result != with.output.data())
      std::copy_n(result, with.output.size(), with.output.data());
    for (auto const& [weight, value] : plan.updates)
      std::copy_n(memory_[index(value)], size_of(plan, value), with.weights[index(weight)].data());
    if (with.at_output) with.at_output(with);
    run(plan.backward, plan.backward_segments, plan.backward_places, plan.backward_joins, plan.backward_workspace,
        plan.backward_sample_floats);
    with.gradients.clear();
    for (int const id : plan.traced.gradients) {
      with.gradients.emplace_back();
      if (id >= 0) with.gradients.back().assign(memory_[index(id)], memory_[index(id)] + size_of(plan, id));
    }
  }

 private:
  using runner = cpu::list_runner<kernels::default_architecture>;
  static constexpr auto const& windows = kernels::windows_of_floats<kernels::default_architecture>;
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  static floats garbage(std::int64_t count) { return floats(static_cast<std::size_t>(count), std::nanf("")); }

  void run(tracing::growing_array<int> const& order, tracing::growing_array<segment> const& segments,
           tracing::growing_array<place> const& places, tracing::growing_array<product_join> const& joins,
           std::int64_t workspace, std::int64_t sample_floats) {
    auto const& nodes = plan_.traced.list.nodes;
    workspace_ = garbage(workspace + runner::floats::of(nodes, plan_.traced.list.operands, order, false, &windows));
    memory_.assign(nodes.size(), nullptr);
    for (std::size_t id = 0; id < nodes.size(); ++id) memory_[id] = address(places[id]);
    runner whole(nodes, plan_.traced.list.operands, memory_, workspace_.data() + workspace, drawn_seed, drawn_stream,
                 joins);
    whole.convolve_by(windows);
    std::span<int const> const all(order);
    for (segment const& each : segments) {
      auto const part = all.subspan(index(each.begin), index(each.end - each.begin));
      if (each.kind == segment_kind::whole) whole.run(part);
      if (each.kind == segment_kind::product)
        for (int share : {2, 0, 1}) whole.run_product(part, {share, 3});
      if (each.kind != segment_kind::by_sample) continue;
      for (int last = batch_; last > 0; last -= samples_at_once_) {
        int const first = std::max(last - samples_at_once_, 0), count = last - first;
        floats samples = garbage(sample_floats * count);
        auto memory = memory_;
        for (std::size_t id = 0; id < nodes.size(); ++id)
          if (places[id].in == storage::samples) memory[id] = samples.data() + places[id].offset * count;
        runner some(nodes, plan_.traced.list.operands, memory, workspace_.data() + workspace, drawn_seed, drawn_stream,
                    joins);
        some.convolve_by(windows);
        some.run(part, places, {first, count, batch_});
        divided_ += each.end - each.begin;
      }
    }
  }
  float* address(place const& where) {
    switch (where.in) {
      case storage::constant:
        return const_cast<float*>(&plan_.traced.list.node_of(where.index).what.as<constant>().value);
      case storage::input: return with_.inputs[index(where.index)].data();
      case storage::weight: return with_.weights[index(where.index)].data();
      case storage::output: return with_.output.data();
      case storage::output_gradient: return with_.output_gradient.data();
      case storage::kept: return kept_.data() + where.offset;
      case storage::workspace: return workspace_.data() + where.offset;
      default: return nullptr;
    }
  }

 public:
  /// How many operations were carried out for a part of the batch.
  [[nodiscard]] int divided() const { return divided_; }

 private:
  traced_plan const& plan_;
  numbers& with_;
  int batch_, samples_at_once_, divided_ = 0;
  floats kept_, workspace_;
  std::vector<float*> memory_;
};

/// The numbers that operation `id` draws.
inline floats drawn(random const& from, int id, std::size_t count) {
  kernels::random_key const key(from.seed != 0 ? from.seed : drawn_seed, drawn_stream);
  floats result(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const place = (static_cast<std::uint64_t>(id + 1) << 36U) + i;
    bool const is_uniform = from.distribution == random_distribution::uniform;
    result[i] = is_uniform ? kernels::random_uniform(key, place) : kernels::box_muller(key, place + i);
  }
  return result;
}

/// The same on doubles.
inline void reference_run(traced_plan const& plan, numbers& with) {
  reference::interpreter run(plan.traced.list.nodes, plan.traced.list.operands);
  auto const fill = [&](int id, floats const& values) { run[id].assign(values.begin(), values.end()); };
  for (int id = 0; id < plan.traced.list.size(); ++id) {
    auto const& what = plan.traced.list.node_of(id).what;
    if (auto const* read = what.if_is<weight>()) fill(id, with.weights[static_cast<std::size_t>(read->index)]);
    if (auto const* from = what.if_is<random>()) fill(id, drawn(*from, id, size_of(plan, id)));
  }
  for (std::size_t i = 0; i < with.inputs.size(); ++i) fill(plan.traced.inputs[i], with.inputs[i]);
  fill(plan.traced.seeds[0], with.output_gradient);
  run.run(plan.traced.list.size());
  auto const take = [&](int id) { return id < 0 ? floats{} : floats(run[id].begin(), run[id].end()); };
  with.output = take(plan.traced.outputs[0]);
  with.gradients.clear();
  for (int const id : plan.traced.gradients) with.gradients.push_back(take(id));
  for (auto const& [weight, value] : plan.updates) with.weights[static_cast<std::size_t>(weight)] = take(value);
}

}  // namespace stagecraft::operations::runs
