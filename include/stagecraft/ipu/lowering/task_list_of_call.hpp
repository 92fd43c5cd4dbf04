// SPDX-License-Identifier: BSD-3-Clause
// The task lists of a traced layer's steps as constants: one evaluation for the tasks, one for each plan of a product,
// some for their costs.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/lowering/traced/traced_steps.hpp>
#include <stagecraft/ipu/lowering/traced/traced_weight.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// The call, whatever its gradients are added to: its steps have the same task lists.
template <class Call>
struct call_without_variant {
  using type = Call;
};
template <class Job, step_variant Variant, int Call, class WeightMachine>
struct call_without_variant<lowered_call_variant<Job, Variant, Call, WeightMachine>> {
  using type = lowered_call_variant<Job, step_variant{}, Call, WeightMachine>;
};

template <class Call>
inline constexpr auto wanted_gradients = [] {
  std::array<bool, Call::input_count + Call::parameter_count> wanted{};
  for (int i = 0; i < Call::input_count; ++i) wanted[i] = Call::wants_input_gradient(i);
  for (int i = 0; i < Call::parameter_count; ++i) wanted[Call::input_count + i] = Call::parameter_info(i).trainable;
  return wanted;
}();

/// The plan whose steps are lowered: that of the host, in another order.
template <class Call>
struct make_lowered_plan {
  constexpr operations::traced_plan operator()() const {
    growing_array<shape> shapes;
    for (int i = 0; i < Call::input_count; ++i) shapes.push_back(Call::input_shape(i));
    auto traced = trace_layer(Call::layer, shapes, Call::batch, Call::trains, Call::finds_losses);
    return operations::traced_plan(std::move(traced), Call::trains, wanted_gradients<Call>);
  }
};
template <class Call>
inline constexpr auto const& lowered_plan = frozen_draft<make_lowered_plan<Call>>;

/// The options for planning the products of a call's step: those of the machine or stage, the layer, or its inner
/// layer.
template <bool Backward>
constexpr poplar_options options_of_products(poplar_options const& given, [[maybe_unused]] auto const& layer) {
  if constexpr (requires { layer.options.options_bwd; })
    return with_options_of_stage(given, Backward ? layer.options.options_bwd : layer.options.options);
  else if constexpr (requires { layer.wrapped(); })
    return options_of_products<Backward>(given, layer.wrapped());
  else
    return given;
}
template <class Call, bool Backward>
inline constexpr poplar_options matmuls_of_call = options_of_products<Backward>(Call::config.matmuls, Call::layer);

template <class Call, bool Backward>
inline constexpr traced_options options_of_call{
    .type = Call::type,
    .variable_type = Call::variable_type,
    .loads_128_bits_for_matmuls = matmuls_of_call<Call, Backward>.use_128bit_conv_unit_load,
    .loads_128_bits_for_convolutions = Call::config.convolutions.use_128bit_conv_unit_load,
    .draws_in_loop = elementwise_call_of<Call, Call::trains>::facts.draws,
    .exact_inputs =
        [] {
          std::uint64_t bits = 0;
          for (int i = 0; i < Call::input_count && i < 64; ++i)
            if (Call::has_exact_input(i)) bits |= std::uint64_t{1} << i;
          return bits;
        }(),
    .target = Call::target};

template <class Call, bool Backward>
constexpr traced_steps<> lower_traced_step() {
  return {operations::plan_view(lowered_plan<Call>),
          options_of_call<Call, Backward>,
          Backward,
          lowered_plan<Call>.updates,
          wanted_gradients<Call>,
          Call::input_count};
}

/// The number of tasks of a traced operation that needs neither plans nor loops and that tiles know; else -1.
constexpr int simple_tasks(operations::node const& of) {
  operations::operation const& what = of.what;
  if (of.shape.rank > box_axes::count) return -1;
  if (is_alias(what) || what.is_any<operations::input, operations::weight, operations::constant>()) return 0;
  if (what.is<operations::concatenate>()) return of.operand_count;
  auto const* part = what.if_is<operations::pad>();
  bool const is_simple = what.is_any<operations::map, operations::reduce, operations::random, operations::slice,
                                     operations::broadcast>() ||
                         (part != nullptr && (part->step == 1 || part->step == -1));
  return is_simple ? 1 : -1;
}
/// True if both steps of a call are a few such tasks, which are appended to the step around them directly.
template <class Call>
inline constexpr bool is_appended = [] {
  auto const& plan = lowered_plan<Call>;
  auto const are_few = [&](tracing::array_view<int const> order) {
    int count = 0;
    for (int const id : order) {
      int const more = simple_tasks(plan.nodes[id]);
      if (more < 0) return false;
      count += more;
    }
    return count <= 24;
  };
  return are_few(plan.forward) && are_few(plan.backward);
}();

/// The lengths of the arrays of a frozen task list.
struct task_list_sizes {
  std::size_t tensors = 0, tasks = 0, loops = 0, shapes = 0;
};

template <task_list_sizes Sizes>
struct frozen_task_list {
  std::array<task_list_tensor, Sizes.tensors> tensors;
  std::array<task, Sizes.tasks> tasks;
  std::array<tile_loop, Sizes.loops> loops;
  std::array<convolution_shape, Sizes.shapes> shapes;
  std::array<char, Sizes.shapes> is_matmul;
  std::array<std::int64_t, Sizes.tasks> copies{};  ///< filled by the layout
  bool failed;

  constexpr explicit frozen_task_list(auto const& from)
      : tensors(array_of<Sizes.tensors>(from.tensors)),
        tasks(array_of<Sizes.tasks>(from.tasks)),
        loops(array_of<Sizes.loops>(from.loops)),
        shapes(array_of<Sizes.shapes>(from.shapes)),
        is_matmul(array_of<Sizes.shapes>(from.is_matmul)),
        failed(from.failed) {}
};

/// The task list of a call's step while it is made; empty if tiles do not know one of its operations.
struct task_list_draft {
  static constexpr task_list_sizes usual_sizes{128, 128, 8, 16};
  template <task_list_sizes Sizes>
  using frozen = frozen_task_list<Sizes>;

  growing_array<task_list_tensor> tensors;
  growing_array<task> tasks;
  growing_array<tile_loop> loops;
  growing_array<convolution_shape> shapes;
  growing_array<char> is_matmul;
  bool failed = false;

  [[nodiscard]] constexpr task_list_sizes sizes() const {
    return {tensors.size(), tasks.size(), loops.size(), shapes.size()};
  }
};

template <class Call, bool Backward>
struct make_task_list {
  constexpr task_list_draft operator()() const {
    auto steps = lower_traced_step<Call, Backward>();
    auto& made = steps.builder;
    int saved = 0, given = 0;
    for (auto const& each : made.tensors) {
      saved += each.given >= 0 && each.tensor.role == tensor_role::saved ? 1 : 0;
      given += each.given >= 0 ? 1 : 0;
    }
    // Leaves some room for the step around it.
    bool const has_too_many = saved > lowered_step::most_saved ||
                              given + 2 * Call::parameter_count + 2 * Call::input_count > lowered_step::most_tensors;
    task_list_draft result;
    result.failed = made.failed || has_too_many;
    if (result.failed) return result;
    result.tensors = std::move(made.tensors);
    result.tasks = std::move(made.tasks);
    result.loops = std::move(made.loops);
    result.shapes = std::move(made.shapes);
    result.is_matmul = std::move(made.is_matmul);
    return result;
  }
};

/// The task list before its weights are mapped as products need them.
template <class Call, bool Backward>
inline constexpr auto const& unplaced_task_list = frozen_draft<make_task_list<Call, Backward>>;

template <class Call, bool Backward, std::size_t Index>
constexpr convolution_plan const& plan_of_product() {
  constexpr auto const& list = unplaced_task_list<Call, Backward>;
  if constexpr (list.is_matmul[Index] != 0)
    return plan_of<list.shapes[Index], Call::target, matmuls_of_call<Call, Backward>>;
  else
    return plan_of<list.shapes[Index], Call::target, Call::config.convolutions>;
}
template <class Call, bool Backward>
inline constexpr auto plans_of_task_list = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array<convolution_plan, sizeof...(Index)>{plan_of_product<Call, Backward, Index>()...};
}(std::make_index_sequence<unplaced_task_list<Call, Backward>.shapes.size()>{});

/// The task of the forward step that multiplies a weight first. Its plan maps the weight to tiles if nothing else reads
/// the weight, and if the weight's gradient is a product. -1: the weight is mapped linearly.
template <class Call>
constexpr int find_product_of_weight(int index) {
  traced_weight const weight{index, Call::parameter_info(index).size()};
  int const found = weight.product_in(unplaced_task_list<Call, false>);
  if constexpr (Call::trains)
    if (weight.product_in(unplaced_task_list<Call, true>) == traced_weight::is_read_otherwise) return -1;
  return found < 0 ? -1 : found;
}
/// find_product_of_weight as a constant: Clang evaluates a call that is a condition of `if constexpr` three times.
template <class Call, int Index>
inline constexpr int product_of_weight = find_product_of_weight<Call>(Index);

template <class Call, int Index>
inline constexpr weight_mapping mapping_of_traced_weight = [] {
  auto const& task = unplaced_task_list<Call, false>.tasks[product_of_weight<Call, Index>];
  auto const product = static_cast<std::size_t>(task.plan);
  return weight_mapping(unplaced_task_list<Call, false>.shapes[product], plans_of_task_list<Call, false>[product],
                        task.what.template as<planned_product>().strides, Call::target);
}();
template <class Call, int Index>
constexpr weight_mapping const* find_traced_mapping() {
  if constexpr (product_of_weight<Call, Index> >= 0)
    return &mapping_of_traced_weight<Call, Index>;
  else
    return nullptr;
}
template <class Call>
inline constexpr auto traced_mappings = []<int... Index>(std::integer_sequence<int, Index...>) {
  return std::array<weight_mapping const*, sizeof...(Index)>{find_traced_mapping<Call, Index>()...};
}(std::make_integer_sequence<int, Call::parameter_count>{});

/// The task list with weights, their conversions and their gradients mapped, and with temporary tensors laid out.
template <class Call, bool Backward>
inline constexpr auto placed_task_list = [] {
  auto list = unplaced_task_list<Call, Backward>;
  for (auto& each : list.tensors)
    if (each.given >= 0 && (each.tensor.role == tensor_role::weight || each.tensor.role == tensor_role::accumulator))
      each.tensor.planned = Call::planned_weight(each.tensor.index);
  for (auto& task : list.tasks) {
    auto const tensor = [&](int number) -> tile_tensor& { return list.tensors[number].tensor; };
    if (is_copy(task)) {
      if (tensor(task.outputs[0]).role == tensor_role::temporary)
        tensor(task.outputs[0]).planned = tensor(task.inputs[0]).planned;
    } else if (task.what.template is<planned_product>()) {
      auto const* const mapping = tensor(task.inputs[1]).planned;
      auto const product = static_cast<std::size_t>(task.plan);
      auto& what = task.what.template as<planned_product>();
      bool const serves =
          mapping != nullptr &&
          mapping->serves(list.shapes[product], plans_of_task_list<Call, Backward>[product], what.strides);
      what.kernel_is_there = serves ? 1 : 0;
    }
  }
  task_list_layout<> const layout(list.tensors, list.tasks, list.loops, Call::target);
  for (std::size_t i = 0; i < list.copies.size(); ++i) list.copies[i] = layout.copies[i];
  return list;
}();

/// A view of the task list before its cost is set.
template <class Call, bool Backward>
inline constexpr task_list_view unpriced_task_list = [] {
  auto const& from = placed_task_list<Call, Backward>;
  task_list_view list;
  list.tensors = from.tensors;
  list.tasks = from.tasks;
  list.loops = from.loops;
  list.shapes = from.shapes;
  list.plans = plans_of_task_list<Call, Backward>;
  list.copies = from.copies;
  return list;
}();

/// The cost of tasks that follow each other, and the part of it that trips of loops repeat.
struct task_list_cost {
  operation_cost cost;
  std::int64_t repeated_compute_sets = 0, repeated_exchanges = 0;

  constexpr task_list_cost& operator+=(task_list_cost const& other) noexcept {
    cost += other.cost;
    repeated_compute_sets += other.repeated_compute_sets;
    repeated_exchanges += other.repeated_exchanges;
    return *this;
  }
};

/// The cost of tasks [begin, end) of a list. A task whose box moves in its result has another cost in each trip.
constexpr task_list_cost cost_of_task_list(task_list_view const& list, ipu_target const& target, std::size_t begin,
                                           std::size_t end) {
  task_list_cost sum;
  step_of_task one;
  for (std::size_t k = begin; k < end; ++k) {
    std::int64_t trips = 1;
    int depth = 0, trips_of_loop[operations::loop::most_nested]{};
    for (auto const& loop : list.loops)
      if (loop.contains(static_cast<int>(k))) {
        trips *= loop.trips;
        trips_of_loop[depth++] = loop.trips;
      }
    auto const& task = list.tasks[k];
    auto const* moving = task.what.template if_is<rearrangement>();
    task_list_cost own;
    if (moving == nullptr || moving->step == 0 || moving->moves_in_result == 0) {
      own.cost = cost_of(one.step, one.set(list, task), target);
      own.repeated_compute_sets = (trips - 1) * own.cost.compute_sets;
      own.repeated_exchanges = (trips - 1) * own.cost.exchanges;
      own.cost = times(own.cost, trips);
    } else {
      int const of_loop = trips_of_loop[moving->loop];
      for (int trip = 0; trip < of_loop; ++trip) {
        auto moved = task;
        moved.what = moving->moved(trip);
        own.cost += times(cost_of(one.step, one.set(list, moved), target), trips / of_loop);
      }
      own.repeated_compute_sets = own.cost.compute_sets - own.cost.compute_sets / trips;
      own.repeated_exchanges = own.cost.exchanges - own.cost.exchanges / trips;
    }
    own.cost.temporary_bytes += list.copies[k];
    sum += own;
  }
  return sum;
}

/// Sets the cost of a task list from the sum over its tasks, and the memory of its tensors.
constexpr void set_cost(task_list_view& list, ipu_target const& target, task_list_cost const& sum) {
  list.cost = sum.cost;
  for (auto const& each : list.tensors)
    if (each.given < 0 && each.offset >= 0)
      list.cost.temporary_bytes = larger(list.cost.temporary_bytes, each.offset + bytes_on_tile(each.tensor, target));
  list.repeated_compute_sets = sum.repeated_compute_sets;
  list.repeated_exchanges = sum.repeated_exchanges;
}

/// Tasks that one evaluation prices: compilers limit the steps of an evaluation.
inline constexpr std::size_t tasks_priced_at_once = 24;

template <class Call, bool Backward, std::size_t Part>
inline constexpr task_list_cost cost_of_part = [] {
  auto const count = unpriced_task_list<Call, Backward>.tasks.size();
  constexpr auto first = Part * tasks_priced_at_once;
  auto const end = count < first + tasks_priced_at_once ? count : first + tasks_priced_at_once;
  return cost_of_task_list(unpriced_task_list<Call, Backward>, Call::target, first, end);
}();

template <class Call, bool Backward>
inline constexpr task_list_view task_list_of_call = [] {
  auto list = unpriced_task_list<Call, Backward>;
  constexpr auto count = unplaced_task_list<Call, Backward>.tasks.size();
  auto const sum = []<std::size_t... Part>(std::index_sequence<Part...>) {
    task_list_cost all;
    static_cast<void>(((all += cost_of_part<Call, Backward, Part>), ...));
    return all;
  }(std::make_index_sequence<(count + tasks_priced_at_once - 1) / tasks_priced_at_once>{});
  set_cost(list, Call::target, sum);
  return list;
}();

/// True if tiles know all operations of a call's steps. Otherwise neither step becomes a task list, since both must
/// name saved tensors alike.
template <class Call>
inline constexpr bool has_task_list = [] {
  if (unplaced_task_list<Call, false>.failed) return false;
  if constexpr (Call::trains) return !unplaced_task_list<Call, true>.failed;
  return true;
}();

}  // namespace stagecraft::tiles
