// SPDX-License-Identifier: BSD-3-Clause
// Carries out one pass of a pipeline on the host: waits for what it needs, runs the layers' steps, and hands on what
// other passes wait for.
#pragma once

#include <stagecraft/engine/pipeline_execution.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/step_view.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/host/loss_step.hpp>
#include <stagecraft/host/operations/operations.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// The pass number `Pass` in training or inference.
template <class Session, execution_mode Mode, int Pass>
class pipeline_pass {
  using sizes = typename Session::sizes;
  using memory_type = pipeline_memory<sizes>;
  using plan = typename Session::template plan<Mode, Pass>;
  using architecture = typename plan::architecture;
  using policy = typename plan::policy;
  using execution = pipeline_execution<Session>;
  using step_function = void (*)(host_memory const&);

  static constexpr auto const& graph = plan::graph;
  static constexpr auto const& pass = plan::pass;
  static constexpr timetable const& table = sizes::template table<Mode>();
  static constexpr int stage = table.stage_of_pass(Pass);
  static constexpr int device = table.device_of_pass(Pass);
  static constexpr bool backward = table.is_backward(Pass);
  static constexpr bool trains = Mode == execution_mode::training;
  static constexpr bool is_last_forward = !backward && stage + 1 == sizes::stages;
  static constexpr int accumulation_steps = sizes::options.accumulation_steps();
  using output_indices = std::make_index_sequence<Session::output_count>;

 public:
  /// Whether it need not wait for another pass.
  static bool is_ready(memory_type const& own, std::int64_t micro_batch) {
    for (auto const& wait : pass.waits)
      if (own.done[at(wait.pass)].value() < micro_batch + 1 - wait.lag) return false;
    return true;
  }

  /// On thread number `worker`. False if another thread has failed.
  static bool run(execution const& all, memory_type& own, std::int64_t micro_batch, int worker) {
    if (all.team != nullptr)
      for (auto const& wait : pass.waits)
        if (!all.team->await(own.done[at(wait.pass)], micro_batch + 1 - wait.lag)) return false;
    auto& samples = own.samples[static_cast<std::size_t>(micro_batch % sizes::template samples_alive<Mode>)];
    host_memory memory = memory_of(own, all, micro_batch);
    recorder const record(all.record, own.replica, worker, micro_batch);
    auto begin = record.now();
    if constexpr (Pass == 0) {
      feed(all, own, memory, samples);
      policy::template inputs<plan>(memory);
      begin = record.add(pass_kind::infeed, begin);
    }
    memory.valid_samples = samples;
    for (auto const& fetch : pass.fetches)
      copy(own.remote[stage].data(), fetch.from, memory.block, fetch.to, fetch.floats, micro_batch);
    if constexpr (sizes::fetches_weights)
      fetch_weights(all, own, memory, std::make_index_sequence<plan::weights.count>{});
    if constexpr (backward) begin_gradients(own, memory);
    if constexpr (recomputed_first > 0) {
      run_steps<0, recomputed_first>(memory);
      begin = record.add(pass_kind::recompute, begin);
    }
    run_steps<recomputed_first, pass.steps.size()>(memory);
    begin = record.add(backward ? pass_kind::backward : pass_kind::forward, begin);
    if constexpr (is_last_forward) {
      finish_forward(all, own, memory);
      begin = record.add(pass_kind::outfeed, begin);
    }
    for (auto const& transfer : pass.transfers)
      copy(memory.block, transfer.from,
           transfer.device < 0 ? own.remote[stage].data() : own.blocks[at(transfer.device)].data(), transfer.to,
           transfer.floats, micro_batch);
    if constexpr (pass.transfers.size() > 0) record.add(pass_kind::send, begin);
    if constexpr (sizes::fetches_weights && trains && !backward)
      store_state_of_layers(own, std::make_index_sequence<plan::weights.count>{});
    if constexpr (backward && sizes::fetches_gradients) move_gradients<false>(own);
    own.done[Pass].publish(micro_batch + 1);
    return true;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// Says what this pass did when, if somebody wants to know.
  class recorder {
   public:
    recorder(trace* to, int replica, int worker, std::int64_t micro_batch)
        : to_(to), replica_(replica), worker_(worker), micro_batch_(static_cast<int>(micro_batch)) {}
    [[nodiscard]] std::int64_t now() const { return to_ == nullptr ? 0 : trace::now(); }
    /// Ends something that began then; gives when the next thing begins.
    std::int64_t add(pass_kind kind, std::int64_t begin) const {
      if (to_ == nullptr) return 0;
      auto const end = trace::now();
      to_->record({.replica = replica_,
                   .device = device,
                   .worker = worker_,
                   .kind = kind,
                   .stage = stage,
                   .micro_batch = micro_batch_,
                   .begin_ns = begin,
                   .end_ns = end});
      return end;
    }

   private:
    trace* to_;
    int replica_, worker_, micro_batch_;
  };

  static host_memory memory_of(memory_type& own, execution const& all, std::int64_t micro_batch) {
    host_memory memory{
        .block = own.blocks[device].data(),
        .weights = (sizes::fetches_weights ? own.local_weights : own.weights).data(),
        .gradients = (sizes::fetches_gradients ? own.local_gradients : own.gradients).data(),
        .halves = reinterpret_cast<std::uint16_t*>((sizes::fetches_gradients ? own.local_halves : own.halves).data()),
        .workspace = own.workspaces[device].data(),
        .seed = all.seed,
        .step = all.first_step + static_cast<std::uint64_t>(micro_batch * sizes::replicas + own.replica),
        .micro_batch = micro_batch,
        .accumulated = static_cast<int>(micro_batch % accumulation_steps)};
    if constexpr (Session::folds) memory.weights = all.folded_weights;
    policy::template begin_pass<sizes>(own.of_policy, trains, Pass, device, memory);
    return memory;
  }

  static void copy(float const* from_block, buffer_place const& from, float* to_block, buffer_place const& to,
                   long long floats, std::int64_t micro_batch) {
    policy::transfer(from_block + from.at(micro_batch), to_block + to.at(micro_batch),
                     static_cast<std::size_t>(floats));
  }

  // Infeed.
  static auto targets_of(memory_type& own, std::int64_t micro_batch) {
    std::array<float*, Session::output_count> result{};
    auto const slot = micro_batch % sizes::template targets_alive<Mode>;
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = own.targets.data() + slot * sizes::all_targets + sizes::target_offset(i);
    return result;
  }
  static auto scales_of(memory_type& own, std::int64_t micro_batch) {
    std::array<float*, Session::output_count> result{};
    auto const slot = micro_batch % sizes::template targets_alive<Mode>;
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = own.scales.data() + slot * sizes::all_scales + sizes::scale_offset(i);
    return result;
  }
  static void feed(execution const& all, memory_type& own, host_memory const& memory, int& samples) {
    std::array<float*, static_cast<std::size_t>(Session::input_count())> inputs{};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = plan::address(memory, plan::value(static_cast<int>(sizes::input_call(static_cast<int>(i)))));
    samples = Session::batch;
    all.call_feed(all.feed,
                  pipeline_feed<Session>(inputs, targets_of(own, memory.micro_batch),
                                         scales_of(own, memory.micro_batch), samples),
                  own.replica, static_cast<int>(memory.micro_batch));
  }

  // Steps.
  template <int Call, bool Backward>
  static void step(host_memory const& memory) {
    if constexpr (!Backward && plan::is_epilogue(Call)) return;  // the step of another call does it
    // A generic one, so that policies that compute for themselves do without the host's kernels.
    policy::template step<plan, Call, Backward>(memory, [](auto const& own) { host_step<Call, Backward>(own); });
  }
  template <int Call, bool Backward>
  static void host_step(host_memory const& memory) {
    using call = host_call<plan, Call>;
    using steps = operation_of<call>;
    if constexpr (!Backward) {
      steps::forward(call{memory});
    } else {
      steps::backward(call{memory});
      if constexpr (policy::template accumulates_halves<plan>)
        for_each_parameter<Call>([&]<std::size_t Parameter>() {
          detail::parameter_update<plan, Parameter>::accumulate(memory, plan::gradients.shift[Call],
                                                                {0, plan::weights.size[Parameter]});
        });
    }
  }
  template <std::size_t... Index>
  static constexpr auto step_table(std::index_sequence<Index...>) {
    return std::array<step_function, sizeof...(Index)>{&step<pass.steps[Index].call, pass.steps[Index].backward>...};
  }
  /// Forward steps before the first backward step of a backward pass.
  static constexpr std::size_t recomputed_first = [] {
    std::size_t count = 0;
    while (backward && count < pass.steps.size() && !pass.steps[count].backward) ++count;
    return count;
  }();
  template <std::size_t First, std::size_t Last>
  static void run_steps(host_memory const& memory) {
    static constexpr auto steps = step_table(std::make_index_sequence<pass.steps.size()>{});
    std::size_t added = 0;  // what is added to gradients stands before backward steps, or behind them
    auto const add_before = [&](int step) {
      for (; added < pass.additions.size() && pass.additions[added].step <= step; ++added) {
        auto const& addition = pass.additions[added];
        policy::template addition<plan>(memory, addition, static_cast<int>(added), [&] {
          kernels::scaled_add<true, architecture>(1.0F, plan::address(memory, addition.from),
                                                  plan::address(memory, addition.to), addition.floats);
        });
      }
    };
    for (std::size_t i = First; i < Last; ++i) {
      add_before(static_cast<int>(i));
      steps[i](memory);
    }
    if (Last == steps.size()) add_before(static_cast<int>(Last));
  }

  // Losses and outfeed.
  static void finish_forward(execution const& all, memory_type& own, host_memory const& memory) {
    std::array<float, Session::output_count> losses{};
    float total = 0;
    auto const targets = targets_of(own, memory.micro_batch);
    auto const scales = scales_of(own, memory.micro_batch);
    if constexpr (Session::has_losses)
      if (all.has_targets) {
        [&]<std::size_t... Output>(std::index_sequence<Output...>) {
          ((losses[Output] = loss<Output>(memory, targets[Output], scales[Output]),
            total += plan::training.loss_weights.of(Output) * losses[Output]),
           ...);
        }(output_indices{});
        for (std::size_t i = 0; i < plan::weights.count; ++i)
          if (!graph.parameters[i].regularizer.empty()) total += own.penalties[i];
      }
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (finish_output<Output>(memory), ...);
      all.call_results(all.results,
                       step_view<Session>({.replica = own.replica,
                                           .step = static_cast<int>(memory.micro_batch),
                                           .valid_samples = memory.valid_samples,
                                           .training = trains,
                                           .total_loss = total},
                                          losses, {plan::address(memory, plan::value(Session::outputs[Output]))...},
                                          {static_cast<void const*>(targets[Output])...}, {scales[Output]...}));
    }(output_indices{});
  }
  template <std::size_t Output>
  static void finish_output([[maybe_unused]] host_memory const& memory) {
    if constexpr (takes_logits<typename plan::model, plan::training, Output>) {
      float* const value = plan::address(memory, plan::value(Session::outputs[Output]));
      policy::template output<plan, Output>(memory, value, [&] {
        detail::output_step<typename sizes::shape, plan::training, Output, architecture>(value);
      });
    }
  }
  template <std::size_t Output>
  static float loss(host_memory const& memory, float const* targets, float const* scales) {
    constexpr int call = Session::outputs[Output];
    float factor = plan::training.loss_weights.of(Output);
    detail::loss_gradient gradient;
    if constexpr (trains) {
      constexpr auto const& places = pass.places;
      constexpr auto role = detail::flow_of<typename plan::model, plan::training>.loss_role[Output];
      if constexpr (role != detail::gradient_role::none)
        gradient.to = plan::address(memory, places.loss_gradient[Output]);
      if constexpr (role == detail::gradient_role::add) gradient.scratch = plan::address(memory, places.loss_scratch);
      factor *= detail::gradient_factor<plan>(memory.accumulated);
    }
    float const* const prediction = plan::address(memory, plan::value(call));
    return policy::template loss<plan, Output>(memory, prediction, targets, scales, gradient, [&] {
      return detail::loss_step<typename sizes::shape, plan::training, Output, architecture>(
          prediction, targets, scales, gradient, factor, memory.valid_samples);
    });
  }

  // Weights and gradients.
  template <int Call, class Each>
  static void for_each_parameter(Each const& each) {
    constexpr auto const& layer = graph.layer_of(Call);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (each.template operator()<static_cast<std::size_t>(layer.first_parameter) + Index>(), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(layer.parameter_count)>{});
  }
  /// each<Call, Parameter>() for the accumulators of this pass.
  template <class Each>
  static void for_each_accumulator(Each const& each) {
    [&]<std::size_t... Step>(std::index_sequence<Step...>) {
      [[maybe_unused]] int const done[]{0, (visit_accumulators<Step>(each), 0)...};
    }(std::make_index_sequence<pass.steps.size()>{});
  }
  template <std::size_t Step, class Each>
  static void visit_accumulators(Each const& each) {
    constexpr int call = pass.steps[Step].call;
    if constexpr (pass.steps[Step].backward)
      for_each_parameter<call>([&]<std::size_t Parameter>() { each.template operator()<call, Parameter>(); });
  }
  static void begin_gradients(memory_type& own, host_memory const& memory) {
    if constexpr (sizes::fetches_gradients)
      if (memory.accumulated > 0) move_gradients<true>(own);
    if constexpr (!policy::template clears_accumulators<plan>) return;
    for_each_accumulator([&]<int Call, std::size_t Parameter>() {
      detail::parameter_update<plan, Parameter>::begin(memory, plan::gradients.shift[Call],
                                                       {0, plan::weights.size[Parameter]});
    });
  }
  template <bool Fetch>
  static void move_gradients(memory_type& own) {
    for_each_accumulator([&]<int Call, std::size_t Parameter>() {
      detail::move_accumulator<sizes, Fetch>(own, plan::weights.offset[Parameter] + plan::gradients.shift[Call],
                                             plan::weights.size[Parameter]);
    });
  }

  /// Whether a layer of this stage has a weight.
  [[nodiscard]] static constexpr bool uses_weight(std::size_t parameter) {
    for (auto const& step : pass.steps) {
      auto const& layer = graph.layer_of(step.call);
      auto const index = static_cast<int>(parameter) - layer.first_parameter;
      if (index >= 0 && index < layer.parameter_count) return true;
    }
    return false;
  }
  template <std::size_t... Parameter>
  static void fetch_weights(execution const& all, memory_type& own, host_memory const& memory,
                            std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (fetch_weight<Parameter>(all, own, memory), 0)...};
  }
  // From the parts of all replicas, if they share their weights.
  template <std::size_t Parameter>
  static void fetch_weight([[maybe_unused]] execution const& all, memory_type& own,
                           [[maybe_unused]] host_memory const& memory) {
    if constexpr (uses_weight(Parameter)) {
      constexpr auto offset = plan::weights.offset[Parameter];
      float const* from = own.weights.data();
      if constexpr (sizes::shards_weights && graph.parameters[Parameter].trainable) from = all.shared_weights;
      policy::transfer(from + offset, own.local_weights.data() + offset,
                       static_cast<std::size_t>(plan::weights.size[Parameter]));
      policy::template copied_weight<plan, Parameter>(memory, own.local_weights.data() + offset);
    }
  }
  // What forward steps change: moving means and the like.
  template <std::size_t... Parameter>
  static void store_state_of_layers(memory_type& own, std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (store_state<Parameter>(own), 0)...};
  }
  template <std::size_t Parameter>
  static void store_state(memory_type& own) {
    if constexpr (uses_weight(Parameter) && graph.parameters[Parameter].is_state())
      policy::transfer(own.local_weights.data() + plan::weights.offset[Parameter],
                       own.weights.data() + plan::weights.offset[Parameter],
                       static_cast<std::size_t>(plan::weights.size[Parameter]));
  }
};

}  // namespace stagecraft
