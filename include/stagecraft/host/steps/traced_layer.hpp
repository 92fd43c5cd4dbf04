// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is written as a `call`: its operations, for some samples after the other.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/list_runner.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/host/steps/inlined_list.hpp>
#include <stagecraft/host/steps/plan_of_call.hpp>
#include <stagecraft/host/steps/step_weights.hpp>
#include <stagecraft/kernels/convolution/products_of_windows.hpp>
#include <stagecraft/kernels/product/bfloat16_product.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace stagecraft::cpu {

/// `Call` is a host_call, or has its interface. Threads share each segment of a step: parts of the batch, of the
/// columns of a product, or, where an operation sees all samples, the work is that of one thread.
template <class Call>
class traced_layer {
  static constexpr bool trains = Call::trains;
  static constexpr auto const& plan = plan_of_call<Call>::value;
  using arch = typename Call::architecture;
  using runner = list_runner<arch>;

  /// A step of the plan.
  struct step {
    tracing::array_view<int const> order;
    tracing::array_view<operations::segment const> segments;
    tracing::array_view<operations::place const> places;
    tracing::array_view<operations::product_join const> joins;
  };
  static constexpr step forward_step{plan.forward, plan.forward_segments, plan.forward_places, plan.forward_joins};
  static constexpr step backward_step{plan.backward, plan.backward_segments, plan.backward_places, plan.backward_joins};

  static constexpr int operand(int id, int index) { return plan.operands[plan.nodes[id].first_operand + index]; }
  static constexpr operations::extents const& shape_of(int id, int index) {
    return plan.nodes[operand(id, index)].shape;
  }

  /// True if the backward step updates a table's rows, so that the table's gradient is not made.
  static constexpr bool updates_rows(int parameter) {
    if constexpr (trains)
      return Call::wants_parameter_gradient(parameter) && Call::plan::updates_rows(Call::call, parameter);
    else
      return false;
  }
  /// The gradients that are not made: sums of rows.
  static constexpr auto rows_updates = [] {
    constexpr std::size_t count = [] {
      std::size_t updates = 0;
      for (int i = 0; i < Call::parameter_count; ++i) updates += updates_rows(i) ? 1 : 0;
      return updates;
    }();
    std::array<int, count> ids{};
    std::size_t next = 0;
    for (int i = 0; i < Call::parameter_count; ++i)
      if (updates_rows(i)) ids[next++] = plan.gradients[Call::input_count + i];
    return ids;
  }();

  /// The kinds of operations in the plan.
  struct finding {
    bool large_maps = false, convolutions = false;
  };
  static constexpr finding has = [] {
    finding result;
    for (auto const& each : plan.nodes) {
      if (each.what.template is<operations::map>() && kernels::row_groups<arch>::is_large(each.shape.size()))
        result.large_maps = true;
      if (each.what.template is<operations::convolution>() ||
          each.what.template is<operations::convolution_input_gradient>() ||
          each.what.template is<operations::convolution_filter_gradient>())
        result.convolutions = true;
    }
    return result;
  }();
  /// The functions that carry out its convolutions, compiled where there are any.
  static constexpr kernels::window_functions<arch> const* windows() {
    if constexpr (!has.convolutions)
      return nullptr;
    else if constexpr (multiplies_bfloat16<Call>)
      return &kernels::windows_of_pairs<arch>;
    else
      return &kernels::windows_of_floats<arch>;
  }
  /// Rows of the left operand of a product whose right one all samples share, or of a convolution that is such a
  /// product; else 0.
  static constexpr std::int64_t rows_of_product(int id) {
    auto const& of = plan.nodes[id];
    if (auto const* what = of.what.template if_is<operations::product>())
      return what->transpose_a || of.shape.rank != 2 ? 0 : of.shape[0];
    if constexpr (has.convolutions) {
      if (auto const* what = of.what.template if_is<operations::convolution>())
        return what->groups != 1 ? 0 : of.shape.size() / of.shape[-1];
      if (auto const* what = of.what.template if_is<operations::convolution_input_gradient>())
        return what->groups != 1 ? 0 : shape_of(id, 0).size() / shape_of(id, 0)[-1];
    }
    return 0;
  }
  /// So many that their rows are worth reading the right operand of each product.
  static constexpr int least_samples = [] {
    constexpr int least_rows = 32;
    int least = 1;
    for (int id = 0; id < static_cast<int>(plan.nodes.size()); ++id)
      if (auto const rows = rows_of_product(id); rows > 0 && rows % Call::batch == 0)
        least = std::max(least, static_cast<int>(least_rows * Call::batch / rows));
    return std::min(least, Call::batch);
  }();
  /// Few enough that what is computed of them stays near the processor, and that each thread has some.
  static constexpr int samples_at_once = [] {
    constexpr std::int64_t near_floats = 1 << 16;
    constexpr std::int64_t floats =
        std::max({plan.forward_sample_floats, plan.backward_sample_floats, std::int64_t{1}});
    int const fit = static_cast<int>(std::clamp<std::int64_t>(near_floats / floats, least_samples, Call::batch));
    constexpr int threads = Call::plan::threads, pieces = threads * sharing_team::pieces_per_thread;
    if (threads == 1) return fit;
    int const parts = least_samples * pieces > Call::batch ? threads : pieces;
    return std::min(fit, (Call::batch + parts - 1) / parts);
  }();
  static constexpr std::int64_t floats_of_samples =
      samples_at_once * std::max(plan.forward_sample_floats, plan.backward_sample_floats);

  /// Values of whole tensors, which threads share. Behind them, a thread has values of the samples that it works on,
  /// and what an operation needs.
  static constexpr std::int64_t shared_floats = [] {
    std::int64_t floats = std::max(plan.forward_workspace, plan.backward_workspace);
    for (int const id : rows_updates)
      floats = std::max(floats, kernels::row_chains<arch>::floats(plan.nodes[id].shape[0], shape_of(id, 1).size()));
    return floats;
  }();

 public:
  static constexpr long long workspace() {
    if constexpr (is_inlined<Call>)
      return inlined_list<Call>::workspace;
    else
      return interpreter_workspace();
  }
  /// Floats of it that threads share.
  static constexpr long long shared_workspace() { return is_inlined<Call> ? 0 : shared_floats; }
  /// Floats that the forward step reads in place of weights.
  static constexpr long long prepared_floats() {
    if constexpr (is_inlined<Call>)
      return inlined_list<Call>::packed_floats;
    else
      return 0;
  }
  /// Bytes of the forward step's large local variables.
  static constexpr long long local_bytes() {
    if constexpr (is_inlined<Call>)
      return inlined_list<Call>::local_bytes();
    else
      return static_cast<long long>(sizeof(runner) + sizeof(std::array<float*, plan.nodes.size()>));
  }
  /// What call_steps says of the forward step.
  static constexpr bool stays_in_bounds() {
    if constexpr (is_inlined<Call>)
      return inlined_list<Call>::workspace == 0;
    else
      return false;
  }
  static constexpr bool writes_last() {
    if constexpr (is_inlined<Call>)
      return inlined_plan<Call>::writes_last;
    else
      return false;
  }
  static void prepare([[maybe_unused]] Call const& call, [[maybe_unused]] float* to) {
    if constexpr (is_inlined<Call>) inlined_list<Call>::pack(call, to);
  }

  /// Floats in which the forward step keeps the states instead of where weights are stored.
  static constexpr long long kept_floats() {
    if constexpr (is_inlined<Call>)
      return inlined_list<Call>::kept_floats;
    else
      return 0;
  }
  /// Fills these floats from where `state_of(index)` says, or copies the states there.
  template <class StateOf>
  static void take_states(float* kept, StateOf const& state_of) {
    inlined_list<Call>::take_states(kept, state_of);
  }
  template <class StateOf>
  static void give_states(float* kept, StateOf const& state_of) {
    inlined_list<Call>::give_states(kept, state_of);
  }

  static void forward(Call const& call) {
    if constexpr (is_inlined<Call>)
      inlined_list<Call>::forward(call, call.memory.prepared + prepared_place<typename Call::plan, Call::call>,
                                  kept_states_of(call));
    else
      interpret(call);
  }

  static void backward(Call const& call) {
    // Memory for kept values is that of a plan without kernels for groups, which keeps what these read, or more.
    if constexpr (requires { Call::planned.needs.saved; }) static_assert(plan.kept_floats <= Call::planned.needs.saved);
    run(call, backward_step);
    call.divide([](Call const& part) {
      for (int i = 0; i < Call::input_count; ++i)
        if (Call::wants_input_gradient(i))
          give(part, i, Call::adds_input_gradient(i) || is_written_before(part, i), part.input_gradient(i));
      for (int i = 0; i < Call::parameter_count; ++i)
        if (Call::wants_parameter_gradient(i) && !updates_rows(i))
          give(part, Call::input_count + i, Call::adds_parameter_gradient, part.parameter_gradient(i));
    });
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      (update_rows<static_cast<int>(Parameter)>(call), ...);
    }(std::make_index_sequence<Call::parameter_count>{});
  }

 private:
  static float* kept_states_of(Call const& call) {
    using plan_type = typename Call::plan;
    if constexpr (inlined_list<Call>::kept_floats == 0)
      return nullptr;
    else
      return prepared_weights<plan_type>::kept_states(call.memory) + kept_place<plan_type, Call::call>;
  }
  static constexpr long long interpreter_workspace() {
    return shared_floats + floats_of_samples +
           std::max(runner::floats::of(plan.nodes, plan.operands, plan.forward, parts > 1, windows()),
                    runner::floats::of(plan.nodes, plan.operands, plan.backward, parts > 1, windows()));
  }
  static void interpret(Call const& call) {
    run(call, forward_step);
    constexpr auto floats = static_cast<long long>(Call::batch) * Call::size;
    call.divide([](Call const& part) {
      if (float const* const result = shared_address(part, forward_step.places[plan.output]); result != part.output()) {
        auto const [first, last] = part.elements(floats);
        std::copy(result + first, result + last, part.output() + first);
      }
      if constexpr (plan.updates.size() > 0)
        for (auto const& [weight, value] : plan.updates) {
          auto const [first, last] = part.elements(plan.nodes[value].shape.size());
          float const* const from = shared_address(part, forward_step.places[value]);
          std::copy(from + first, from + last, part.mutable_weight(weight) + first);
        }
    });
  }

  /// The update of a table, whose gradient is a sum of rows of the output's.
  template <int Parameter>
  static void update_rows([[maybe_unused]] Call const& call) {
    if constexpr (updates_rows(Parameter)) {
      call.divide([](Call const& part) {
        if (part.share().is_first()) chains_of<Parameter>(part).link();
      });
      call.divide([](Call const& part) {
        constexpr auto optimizer = Call::template optimizer<Parameter>;
        constexpr int rows = operand(plan.gradients[Call::input_count + Parameter], 0);
        auto const offset = Call::weight_offset(Parameter);
        kernels::update_function<optimizer, arch> const function(part.memory.learning_rate, part.memory.update);
        kernels::updated_weights<optimizer, arch> const weights{part.memory.weights + offset,
                                                                part.memory.slots + offset, Call::plan::weights.floats};
        chains_of<Parameter>(part).update(function, weights, shared_address(part, backward_step.places[rows]),
                                          part.share());
      });
    }
  }
  template <int Parameter>
  static kernels::row_chains<arch> chains_of(Call const& part) {
    constexpr int id = plan.gradients[Call::input_count + Parameter];
    constexpr auto const& table = plan.nodes[id].shape;
    return {{.indices = shared_address(part, backward_step.places[operand(id, 1)]),
             .count = shape_of(id, 1).size(),
             .rows = table[0],
             .width = table.size() / table[0]},
            part.memory.shared_workspace()};
  }

  static void run(Call const& call, step const& what) {
    for (auto const& segment : what.segments) {
      auto const order = what.order.subspan(segment.begin, segment.end - segment.begin);
      call.divide([&](Call const& part) {
        switch (segment.kind) {
          case operations::segment_kind::by_sample: return run_samples(part, what, order);
          case operations::segment_kind::product:
            return on_all(part, what, [&](runner& all) { all.run_product(order, part.share()); });
          default:
            if (part.share().is_first()) on_all(part, what, [&](runner& all) { all.run(order); });
        }
      });
    }
  }
  template <class Run>
  static void on_all(Call const& part, step const& what, Run const& run) {
    with_runner(part, what, [&](auto& memory, runner& all) {
      for (std::size_t id = 0; id < memory.size(); ++id) memory[id] = shared_address(part, what.places[id]);
      run(all);
    });
  }
  static constexpr int parts = (Call::batch + samples_at_once - 1) / samples_at_once;
  static void run_samples(Call const& part, step const& what, tracing::array_view<int const> order) {
    float* const samples = part.memory.workspace + shared_floats;
    auto const [begin, end] = part.share().of(parts);
    with_runner(part, what, [&](auto& memory, runner& some) {
      if constexpr (parts > 1) some.keep_packed_weights();
      for (auto i = begin; i < end; ++i) {
        // The parts are as equal as they can be.
        int const first = static_cast<int>(Call::batch * i / parts),
                  last = static_cast<int>(Call::batch * (i + 1) / parts);
        for (std::size_t id = 0; id < memory.size(); ++id) {
          auto const& where = what.places[id];
          memory[id] = where.in == operations::storage::samples ? samples + where.offset * (last - first)
                                                                : shared_address(part, where);
        }
        some.run(order, what.places, {first, last - first, Call::batch});
      }
    });
  }
  template <class Use>
  static void with_runner(Call const& part, step const& what, Use const& use) {
    std::array<float*, plan.nodes.size()> memory;
    runner one(plan.nodes, plan.operands, memory, part.memory.workspace + shared_floats + floats_of_samples,
               part.memory.seed, stream_of_call(part), what.joins);
    one.use(pooling_kernels<plan_of_call<Call>::value, arch>, group_kernels<plan_of_call<Call>::value, arch>);
    one.leave_out(rows_updates);
    if constexpr (multiplies_bfloat16<Call>)
      one.multiply_by(kernels::products_of_pairs<arch>, &kernels::gains_by_pairs);
    if constexpr (has.convolutions) one.convolve_by(*windows());
    if constexpr (has.large_maps) one.take_rows_together();
    use(memory, one);
  }

  /// The address of a value of the whole batch. Nothing writes to constants, inputs and weights through it.
  static float* shared_address(Call const& call, operations::place const& where) {
    using operations::storage;
    switch (where.in) {
      case storage::constant:
        return const_cast<float*>(&plan.nodes[where.index].what.template as<operations::constant>().value);
      case storage::input: return const_cast<float*>(call.input(where.index));
      case storage::weight: return Call::parameter_count > 0 ? const_cast<float*>(call.weight(where.index)) : nullptr;
      case storage::output: return call.output();
      case storage::output_gradient:
        if constexpr (trains) return call.output_gradient();
        return nullptr;
      case storage::gradient:
        if constexpr (trains) {
          if (where.index < Call::input_count) return call.input_gradient(where.index);
          if constexpr (Call::parameter_count > 0) return call.parameter_gradient(where.index - Call::input_count);
        }
        return nullptr;
      case storage::kept:
        if constexpr (trains) return call.saved() + where.offset;
        return nullptr;
      case storage::workspace: return call.memory.shared_workspace() + where.offset;
      default: return nullptr;
    }
  }
  /// This part of the gradient of leaf `index`, or zeros.
  static void give(Call const& part, int index, bool adds, float* to) {
    int const id = plan.gradients[index];
    auto const [first, last] = part.elements(leaf_floats(index));
    if (id < 0) {
      if (!adds) std::fill(to + first, to + last, 0.0F);
      return;
    }
    float const* const from = shared_address(part, backward_step.places[id]);
    if (from == to) return;
    if (adds)
      kernels::scaled_add<true, arch>(1.0F, from + first, to + first, last - first);
    else
      std::copy(from + first, from + last, to + first);
  }
  static int leaf_floats(int index) {
    return index < Call::input_count ? Call::batch * Call::input_shape(index).size()
                                     : Call::parameter_info(index - Call::input_count).size();
  }
};

}  // namespace stagecraft::cpu
