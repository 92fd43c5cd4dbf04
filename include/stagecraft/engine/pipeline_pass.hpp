// SPDX-License-Identifier: BSD-3-Clause
// Carries out one pass of one stage, on any machine: waits for what it needs, runs the calls' steps, and hands on what
// other passes wait for.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pass_messages.hpp>
#include <stagecraft/engine/pass_weights.hpp>
#include <stagecraft/engine/pipeline_execution.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/policy/device_threads.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/plan/logits.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::engine {

/// The pass number `Pass` in training or inference.
template <class Session, execution_mode Mode, int Pass>
class pipeline_pass {
  using sizes = typename Session::sizes;
  using memory_type = pipeline_memory<sizes>;
  // Calls see the same plan in both passes of a model that is whole.
  using plan = typename Session::template plan<Mode, sizes::is_whole ? 0 : Pass>;
  using policy = typename plan::policy;
  using execution = pipeline_execution<Session>;
  using team = device_threads<plan::threads>;
  using weights = pass_weights<sizes, plan, Pass>;
  using step_function = void (*)(pass_memory const&);
  using early = early_gradients<sizes, typename Session::template plan<Mode, Pass>, Pass>;

  static constexpr auto const& graph = plan::graph;
  static constexpr auto const& pass = pass_on<typename plan::job, Pass>;
  static constexpr timetable const& table = sizes::template table<Mode>();
  static constexpr int stage = table.stage_of_pass(Pass);
  static constexpr int device = table.device_of_pass(Pass);
  static constexpr bool backward = table.is_backward(Pass);
  static constexpr bool trains = plan::trains;
  static constexpr bool is_last_forward = !backward && stage + 1 == sizes::stages;
  static constexpr int accumulation_steps = sizes::options.accumulation_steps();
  static constexpr bool reads_in_place = Pass == 0 && plan::stays_in_place(static_cast<int>(sizes::input_call(0)));
  static constexpr bool waits = sizes::workers > 1 && pass.waits.size() > 0;
  using output_indices = std::make_index_sequence<Session::output_count>;
  using end_indices = std::make_index_sequence<Session::end_count>;

 public:
  /// True if every pass that this one waits for has finished `micro_batch`.
  static bool is_ready(memory_type const& own, std::int64_t micro_batch) {
    for (auto const& wait : pass.waits)
      if (own.done[wait.pass].value() < micro_batch + 1 - wait.lag) return false;
    return true;
  }

  /// One thread's part. False if another thread has failed.
  static bool run(execution const& all, memory_type& own, std::int64_t micro_batch, device_thread const& self) {
    pass_memory memory = memory_of(own, all, micro_batch, self);
    trace_event const what{own.replica, device, self.worker, {}, stage, static_cast<int>(micro_batch)};
    pass_recorder const record(all.record, what);
    auto& samples = own.samples[micro_batch % sizes::template samples_alive<Mode>];
    std::int64_t begin = 0;
    if constexpr (waits || sizes::splits || Pass == 0 || pass.fetches.size() > 0 || sizes::fetches_weights ||
                  (backward && sizes::fetches_gradients)) {
      if (!team::alone(memory, [&] { return begin_pass(all, own, memory, samples, record, begin); })) return false;
    } else if (self.leads()) {
      begin = record.now();
    }
    memory.valid_samples = samples.load(std::memory_order_relaxed);
    if constexpr (reads_in_place) memory.samples = own.samples_in_place.load(std::memory_order_relaxed);
    if constexpr (backward && weights::begins_gradients) team::divide(memory, weights::begin_gradients);
    if constexpr (recomputed_first > 0) {
      if (!run_steps<0, recomputed_first>(memory)) return false;
      if (self.leads()) begin = record.add(pass_kind::recompute, begin);
    }
    if (!run_steps<recomputed_first, pass.steps.size()>(memory)) return false;
    if (self.leads()) begin = record.add(backward ? pass_kind::backward : pass_kind::forward, begin);
    auto const end = [&] { end_pass(all, own, memory, record, begin); };
    if constexpr (is_last_forward || pass.transfers.size() > 0 || sizes::fetches_weights ||
                  (backward && sizes::fetches_gradients)) {
      if (!team::alone(memory, end)) return false;
    } else if (self.leads()) {
      end();
    }
    return true;
  }

  /// True if `call` can run this pass: forward steps on floats, on one thread, of weights that lie where they are.
  static constexpr bool runs_alone = sizes::is_whole && !trains && plan::threads == 1 && !is_half(plan::stored) &&
                                     Session::input_count() == 1 && Session::output_count == 1 &&
                                     !sizes::fetches_weights && !sizes::keeps_copies;

  /// One batch and nothing beside its steps: no feed, results, trace or counts. `x` and `y` hold the whole batch.
  [[gnu::always_inline]] static inline void call(memory_type& own, pass_memory& memory, float const* x, float* y) {
    if constexpr (is_tiny)
      call_inlined(own, memory, x, y);
    else
      call_steps(own, memory, x, y);
  }

  /// The workspace that the steps of this pass need, one after the other.
  static constexpr workspace_size workspace_floats() {
    return [&]<std::size_t... Step>(std::index_sequence<Step...>) {
      workspace_size largest;
      for (auto const& floats : {largest, policy::template workspace<plan, pass.steps[Step].call>()...})
        largest = largest.or_more(floats);
      return largest;
    }(std::make_index_sequence<pass.steps.size()>{});
  }

 private:
  /// True if a call takes some nanoseconds, of which the calls of functions would be a large part.
  static constexpr bool is_tiny = [] {
    long long flops = 0;
    for (auto const& each : graph.calls) flops += each.flops;
    return Session::batch * flops <= 4096;
  }();
  static constexpr bool writes_in_place =
      !takes_logits<typename plan::job, 0> && policy::template writes_result<plan>();
  /// call_steps as one function: a dense layer of 8 units is 36 instructions instead of 75.
  [[gnu::flatten]] static void call_inlined(memory_type& own, pass_memory const& memory, float const* x, float* y) {
    pass_memory copy = memory;  // of which compilers keep what is read in registers, since nothing else writes to it
    call_steps(own, copy, x, y);
  }
  static void call_steps(memory_type& own, pass_memory& memory, float const* x, float* y) {
    policy::template begin_pass<sizes>(own.of_policy, trains, Pass, device, memory);
    if (x == nullptr || y == nullptr) __builtin_unreachable();  // steps need not ask where to read and to write
    constexpr int input = static_cast<int>(sizes::input_call(0));
    if constexpr (reads_in_place || policy::template reads_sample<plan>())
      memory.samples = x;
    else
      std::copy_n(x, 1LL * Session::batch * Session::input_shape(0).size(), plan::address(memory, plan::value(input)));
    if constexpr (writes_in_place) memory.result = y;
    policy::template inputs<plan>(memory);
    [&]<std::size_t... Step>(std::index_sequence<Step...>) {
      (step<pass.steps[Step].call, false>(memory), ...);
    }(std::make_index_sequence<pass.steps.size()>{});
    if constexpr (!writes_in_place) {
      finish_output<0>(memory);
      kernels::copy_stored<typename plan::architecture,
                           1LL * Session::batch * graph.call(Session::outputs[0]).shape.size()>(prediction<0>(memory),
                                                                                                y);
    }
  }

  /// Waits, on the first thread, until the inputs of the steps are there. False if another device has failed.
  static bool begin_pass(execution const& all, memory_type& own, pass_memory& memory, std::atomic<int>& samples,
                         pass_recorder const& record, std::int64_t& begin) {
    if constexpr (sizes::splits) sizes::processes::template messages<sizes, Mode, Pass>::await(own, memory.micro_batch);
    if constexpr (waits)
      if (all.team != nullptr)
        for (auto const& wait : pass.waits)
          if (!all.team->await(own.done[wait.pass], memory.micro_batch + 1 - wait.lag)) return false;
    begin = record.now();
    if constexpr (Pass == 0) {
      feed(all, own, memory, samples);
      policy::template inputs<plan>(memory);
      begin = record.add(pass_kind::infeed, begin);
    }
    for (auto const& fetch : pass.fetches)
      copy(own.remote[stage].data(), fetch.from, memory.block, fetch.to, fetch.floats, memory.micro_batch);
    if constexpr (sizes::keeps_copies) {
      // The values of the last weight update hold, unless a program has changed the weights.
      auto const update = trains ? memory.update : all.updates + 1;
      if (std::exchange(own.copied[stage], update) != update) weights::fetch(all.shared_weights, own, memory);
    } else if constexpr (sizes::fetches_weights) {
      weights::fetch(all.shared_weights, own, memory);
    }
    if constexpr (backward && sizes::fetches_gradients)
      if (memory.accumulated > 0) weights::template move_gradients<true>(own);
    return true;
  }

  /// Hands on, on the first thread, what others wait for, after the steps.
  static void end_pass(execution const& all, memory_type& own, pass_memory const& memory, pass_recorder const& record,
                       std::int64_t begin) {
    if constexpr (is_last_forward) {
      finish_forward(all, own, memory);
      begin = record.add(pass_kind::outfeed, begin);
    }
    for (auto const& transfer : pass.transfers) {
      if (transfer.device >= 0 && !sizes::is_here(own.replica, transfer.device)) continue;
      copy(memory.block, transfer.from,
           transfer.device < 0 ? own.remote[stage].data() : own.blocks[transfer.device].data(), transfer.to,
           transfer.floats, memory.micro_batch);
    }
    if constexpr (sizes::splits) sizes::processes::template messages<sizes, Mode, Pass>::send(own, memory.micro_batch);
    if constexpr (pass.transfers.size() > 0) record.add(pass_kind::send, begin);
    if constexpr (sizes::fetches_weights && !backward && weights::has_state) weights::store_state(own);
    if constexpr (backward && sizes::fetches_gradients) weights::template move_gradients<false>(own);
    own.done[Pass].publish(memory.micro_batch + 1);
  }

  static pass_memory memory_of(memory_type& own, execution const& all, std::int64_t micro_batch,
                               device_thread const& self) {
    auto const before = all.accumulated + micro_batch;
    float* const workspace = own.workspaces[device].data();
    pass_memory memory{
        device_memory{.block = own.blocks[device].data(),
                      .weights = (sizes::fetches_weights ? own.local_weights : own.weights).data(),
                      .gradients = (sizes::fetches_gradients ? own.local_gradients : own.gradients).data(),
                      .halves = reinterpret_cast<std::uint16_t*>(
                          (sizes::fetches_gradients ? own.local_halves : own.halves).data()),
                      .widened = own.widened[device].data(),
                      .slots = own.state.data(),
                      .first_workspace = workspace},
        pass_numbers{.seed = all.seed,
                     .step = all.first_step + static_cast<std::uint64_t>(micro_batch * sizes::replicas + own.replica),
                     .micro_batch = micro_batch,
                     .accumulated = static_cast<int>(before % accumulation_steps),
                     .update = all.updates + 1 + before / accumulation_steps,
                     .learning_rate = all.learning_rate},
        weight_numbers{},
        thread_part{.workspace = workspace + self.number() * Session::own_workspace_floats, .member = self.member}};
    if constexpr (Session::step_weights::replaces_weights) memory.weights = all.step_weights;
    if constexpr (Session::step_weights::prepares_weights) memory.prepared = all.prepared_weights;
    if (self.leads()) policy::template begin_pass<sizes>(own.of_policy, trains, Pass, device, memory);
    return memory;
  }

  static void copy(float const* from_block, buffer_place const& from, float* to_block, buffer_place const& to,
                   long long floats, std::int64_t micro_batch) {
    policy::transfer(from_block + from.at(micro_batch), to_block + to.at(micro_batch),
                     static_cast<std::size_t>(floats));
  }

  // Infeed.
  static auto targets_of(memory_type& own, std::int64_t micro_batch) {
    std::array<float*, Session::end_count> result{};
    auto const slot = micro_batch % sizes::template targets_alive<Mode>;
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = own.targets.data() + slot * sizes::all_targets + sizes::target_offset(i);
    return result;
  }
  static auto scales_of(memory_type& own, std::int64_t micro_batch) {
    std::array<float*, Session::end_count> result{};
    auto const slot = micro_batch % sizes::template targets_alive<Mode>;
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = own.scales.data() + slot * sizes::all_scales + sizes::scale_offset(i);
    return result;
  }
  template <class To>
  static auto as_const(std::array<float*, Session::end_count> const& places) {
    std::array<To*, Session::end_count> result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = places[i];
    return result;
  }
  static void feed(execution const& all, memory_type& own, pass_memory& memory, std::atomic<int>& samples) {
    std::array<float*, static_cast<std::size_t>(Session::input_count())> inputs{};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto const call = static_cast<int>(sizes::input_call(static_cast<int>(i)));
      inputs[i] = policy::template input<plan>(memory, call);
    }
    int valid = Session::batch;
    float const* lent = nullptr;
    all.call_feed(all.feed,
                  pipeline_feed<Session>(inputs, targets_of(own, memory.micro_batch),
                                         scales_of(own, memory.micro_batch), valid, reads_in_place ? &lent : nullptr),
                  own.replica, static_cast<int>(memory.micro_batch));
    samples.store(valid, std::memory_order_relaxed);
    if constexpr (reads_in_place)
      own.place_samples(lent, inputs[0], 1LL * Session::batch * Session::input_shape(0).size());
    if constexpr (Session::has_losses && Session::end_count > Session::output_count) {
      auto const scales = scales_of(own, memory.micro_batch);
      for (std::size_t end = Session::output_count; end < Session::end_count; ++end)
        for (int i = 0; i < Session::batch; ++i) scales[end][i] = i < valid ? 1.0F / static_cast<float>(valid) : 0.0F;
    }
  }

  // Steps.
  template <int Call, bool Backward>
  static void step(pass_memory const& memory) {
    if constexpr (!Backward && plan::is_epilogue(Call)) return;  // the step of another call does it
    policy::template step<plan, Call, Backward>(memory);
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
  /// False if a thread has failed: then the others have nothing more to do.
  template <std::size_t First, std::size_t Last>
  static bool run_steps(pass_memory const& memory) {
    static constexpr auto steps = step_table(std::make_index_sequence<pass.steps.size()>{});
    std::size_t added = 0;  // additions to gradients done so far; they precede or follow backward steps
    auto const add_before = [&](int step) {
      for (; added < pass.additions.size() && pass.additions[added].step <= step; ++added) {
        auto const& addition = pass.additions[added];
        policy::template addition<plan>(memory, addition, static_cast<int>(added));
      }
    };
    for (std::size_t i = First; i < Last; ++i) {
      if constexpr (pass.additions.size() > 0) add_before(static_cast<int>(i));
      steps[i](memory);
      if (!team::goes_on(memory)) return false;
      if constexpr (early::exist)
        if (memory.accumulated + 1 == accumulation_steps && (memory.member == nullptr || memory.member->thread() == 0))
          early::send(memory.gradients, static_cast<int>(i));
    }
    if (Last == steps.size()) add_before(static_cast<int>(Last));
    return true;
  }

  // Losses and outfeed.
  static void finish_forward(execution const& all, memory_type& own, pass_memory memory) {
    if constexpr (sizes::scales_losses && trains) memory.loss_scale = own.loss_scales.of_device[device].scale;
    std::array<float, Session::end_count> losses{};
    float total = 0;
    auto const targets = targets_of(own, memory.micro_batch);
    auto const scales = scales_of(own, memory.micro_batch);
    if constexpr (Session::has_losses)
      if (all.has_targets) {
        [&]<std::size_t... Output>(std::index_sequence<Output...>) {
          ((losses[Output] = loss<Output>(memory, targets[Output], scales[Output]) /
                             static_cast<float>(Session::template loss_divisor<Output>(memory.valid_samples)),
            total += loss_weight_of<typename plan::job>(Output) * losses[Output]),
           ...);
        }(end_indices{});
        for (std::size_t i = 0; i < plan::weights.count; ++i)
          if (!graph.parameters[i].regularizer.empty()) total += own.penalties[i];
      }
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (finish_output<Output>(memory), ...);
      all.call_results(all.results, step_view<Session>({.replica = own.replica,
                                                        .step = static_cast<int>(memory.micro_batch),
                                                        .valid_samples = memory.valid_samples,
                                                        .training = trains,
                                                        .total_loss = total},
                                                       losses, {prediction<Output>(memory)...},
                                                       as_const<void const>(targets), as_const<float const>(scales)));
    }(output_indices{});
  }
  template <std::size_t Output>
  static void finish_output([[maybe_unused]] pass_memory const& memory) {
    if constexpr (takes_logits<typename plan::job, Output>) {
      float* const value = plan::address(memory, plan::value(Session::outputs[Output]));
      policy::template output<plan, Output>(memory, value);
    }
  }
  template <std::size_t Output>
  static float const* prediction(pass_memory const& memory) {
    float const* const value = plan::address(memory, plan::value(Session::outputs[Output]));
    return policy::template prediction<plan, Output>(memory, value);
  }
  template <std::size_t Output>
  static float loss(pass_memory const& memory, float const* targets, float const* scales) {
    constexpr int call = Session::ends[Output];
    loss_gradient gradient;
    if constexpr (trains) {
      constexpr auto const& places = pass.places;
      if constexpr (plan::model_plan.calls[call].needs_gradient) {
        gradient.to = plan::address(memory, places.loss_gradient[Output]);
        if constexpr (plan::model_plan.loss_adds_gradient[Output])
          gradient.scratch = plan::address(memory, places.loss_scratch);
      }
    }
    float const* const logits = plan::address(memory, plan::value(call));
    return policy::template loss<plan, Output>(memory, logits, targets, scales, gradient);
  }
};

}  // namespace stagecraft::engine
