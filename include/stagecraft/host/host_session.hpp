// SPDX-License-Identifier: BSD-3-Clause
// Runs the steps of a program on the host: forward, losses, backward, weight update. All memory is taken when a session
// is made; no step allocates.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/step_view.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/host/host_threads.hpp>
#include <stagecraft/host/host_update.hpp>
#include <stagecraft/host/loss_step.hpp>
#include <stagecraft/host/operations/operations.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/host/steps/weight_layout.hpp>
#include <stagecraft/host/weight_functions.hpp>
#include <stagecraft/kernels/update/regularization.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// Weights, optimizer state and steps of one model. Batches are always whole: rows of a partial one that hold no sample
/// come after `set_valid_samples`, which tells the losses and the layers that gather statistics of the batch.
template <Model M, auto Training, class Machine>
class host_session : public session_shape<M, Training> {
  using shape_type = session_shape<M, Training>;

 public:
  using shape_type::batch, shape_type::graph, shape_type::outputs, shape_type::output_count, shape_type::input_shape,
      shape_type::output_shape;
  using architecture = typename Machine::architecture;
  using training_plan = host_plan<M, Training, execution_mode::training, Machine>;
  using inference_plan = host_plan<M, Training, execution_mode::inference, Machine>;

  static constexpr int threads = Machine::threads;
  static constexpr int replicas = 1;

  explicit host_session(std::uint64_t seed = training_plan::training.seed)
      : block_(std::max(training_plan::program.floats, inference_plan::program.floats)),
        weights_(storage.floats),
        gradients_(training_plan::gradients.floats),
        halves_(training_plan::accumulates_halves ? (training_plan::gradients.floats + 1) / 2 : 0),
        slots_(storage.floats * slot_count),
        workspace_(threads * workspace_floats()),
        targets_(target_offset(output_count)),
        scales_(2LL * scale_offset(output_count)) {
    memory_ = {.block = block_.data(),
               .weights = weights_.data(),
               .gradients = gradients_.data(),
               .halves = reinterpret_cast<std::uint16_t*>(halves_.data()),
               .slots = slots_.data(),
               .workspace = workspace_.data(),
               .seed = seed,
               .learning_rate = training_plan::training.optimizer.learning_rate,
               .valid_samples = batch};
    // Gradients are not in use yet: their memory takes the values before they are packed.
    layout::initialize(seed, memory_.weights, memory_.gradients);
  }

  /// Where the samples of an input go: (batch, shape...).
  [[nodiscard]] float* input(int index) {
    return memory_.block + inference_plan::program.calls[input_call(index)].value;
  }
  /// Says how many samples the batch of the next steps has, from the first row on; the other rows only fill it.
  void set_valid_samples(int count) { memory_.valid_samples = count; }
  /// Where the targets of an output go: class numbers (batch, rows per sample) if its loss is sparse, else floats.
  template <std::size_t Output>
  [[nodiscard]] auto* target() {
    return reinterpret_cast<typename shape_type::template target_type<Output>*>(targets_.data() +
                                                                                target_offset(Output));
  }
  /// The weight of each row of an output in the loss: sample weight / valid rows, 0 for rows without a sample.
  [[nodiscard]] float* scale(std::size_t output) { return scales_.data() + scale_offset(output); }
  /// What the last forward step gave, before a later step overwrites it.
  [[nodiscard]] float const* prediction(std::size_t output, bool training) const {
    return memory_.block + (training ? training_plan::program.calls[at(outputs[output])].value
                                     : inference_plan::program.calls[at(outputs[output])].value);
  }
  /// The losses of the last step, one per output and not weighted; and their weighted sum with the regularizers'.
  [[nodiscard]] float loss(std::size_t output) const { return losses_[output]; }
  [[nodiscard]] float total_loss() const { return total_loss_; }

  /// Forward step and losses with dropout and the like; `look` sees the predictions before the backward steps run.
  /// The weights are updated once per accumulation. What a layer's `forward` or `look` throws comes out, and no trained
  /// weight has changed.
  template <class Look>
  void train_step(Look&& look) {
    auto const find_losses = [this, &look] {
      run_losses<training_plan>(std::make_index_sequence<output_count>{});
      look();
    };
    threads_.run(
        memory_, workspace_floats(), [&find_losses](host_memory const& memory) { run_training(memory, find_losses); },
        [](host_memory const& memory) { run_training(memory, [] {}); });
    ++memory_.step;
    if (++memory_.accumulated == accumulation_steps) {
      ++memory_.update;
      memory_.accumulated = 0;
    }
  }

  /// One execution: `steps` micro-batches. `feed(session, 0, step)` fills inputs, targets and scales of each;
  /// `results(view)` sees its losses and predictions, before the backward steps of training. What one of them throws
  /// comes out.
  template <class Feed, class Results>
  void train(int steps, Feed const& feed, Results const& results) {
    for (int step = 0; step < steps; ++step) {
      feed(*this, 0, step);
      train_step([&] { results(view(step, true)); });
    }
  }
  /// The same without training.
  template <class Feed, class Results>
  void test(int steps, Feed const& feed, Results const& results) {
    for (int step = 0; step < steps; ++step) {
      feed(*this, 0, step);
      test_step();
      results(view(step, false));
    }
  }
  /// Forward steps alone.
  template <class Feed, class Results>
  void predict(int steps, Feed const& feed, Results const& results) {
    for (int step = 0; step < steps; ++step) {
      feed(*this, 0, step);
      predict_step();
      total_loss_ = 0;
      losses_.fill(0);
      results(view(step, false));
    }
  }
  /// One step of `predict`, at once.
  template <class Feed, class Results>
  void call(Feed const& feed, Results const& results) {
    predict(1, feed, results);
  }
  /// Called before the first execution of a run; a session of several replicas makes their weights the same.
  void begin_run() {}

  /// Forgets micro-batches whose weights have not been updated yet.
  void begin_accumulation() { memory_.accumulated = 0; }

  /// Forward step and losses, as in evaluation.
  void test_step() {
    constexpr auto run = [](host_memory const& memory) { run_forward<inference_plan>(memory); };
    threads_.run(memory_, workspace_floats(), run, run);
    run_losses<inference_plan>(std::make_index_sequence<output_count>{});
  }

  /// Forward step alone.
  void predict_step() {
    constexpr auto run = [](host_memory const& memory) {
      if (!run_forward<inference_plan>(memory)) return;
      if constexpr (outputs_are_finished(std::make_index_sequence<output_count>{}))
        team::divide(memory, finish_predictions);
    };
    threads_.run(memory_, workspace_floats(), run, run);
  }

  [[nodiscard]] float learning_rate() const { return memory_.learning_rate; }
  void set_learning_rate(float rate) { memory_.learning_rate = rate; }

  /// The stored weights of one parameter (see host_plan.hpp for the layout).
  [[nodiscard]] float* weight(std::size_t parameter) { return memory_.weights + storage.offset[parameter]; }
  [[nodiscard]] float const* weight(std::size_t parameter) const { return memory_.weights + storage.offset[parameter]; }

  /// Copies a parameter from or to its own, row-major shape.
  template <std::size_t Parameter>
  void read_weight(float* row_major) const {
    layout::template read<Parameter>(memory_.weights, row_major);
  }
  template <std::size_t Parameter>
  void write_weight(float const* row_major) {
    layout::template write<Parameter>(row_major, memory_.weights);
  }
  template <std::size_t Parameter>
  static constexpr bool is_packed = weight_layout<M, architecture>::template is_packed<Parameter>;
  template <std::size_t Parameter>
  using packed = typename weight_layout<M, architecture>::template packed<Parameter>;

 private:
  static constexpr auto const& storage = weight_storage_of<M, architecture>;
  static constexpr int slot_count = detail::slots_of<Training.optimizer>;
  static constexpr int accumulation_steps = training_plan::options.accumulation_steps();
  using layout = weight_layout<M, architecture>;
  using shape_type::input_call, shape_type::target_offset, shape_type::scale_offset;

  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  using step_function = void (*)(host_memory const&);
  using team = host_threads<threads>;
  using update = detail::host_update<training_plan>;
  using functions = detail::weight_functions<training_plan>;

  [[nodiscard]] step_view<host_session> view(int step, bool training) {
    return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      return step_view<host_session>(
          {.step = step, .valid_samples = memory_.valid_samples, .training = training, .total_loss = total_loss_},
          losses_, {prediction(Output, training)...}, {target<Output>()...}, {scale(Output)...});
    }(std::make_index_sequence<output_count>{});
  }

  template <class Plan, std::size_t Call>
  static void forward_step(host_memory const& memory) {
    if constexpr (Plan::is_epilogue(Call)) return;  // the step of another call does it
    using call = host_call<Plan, static_cast<int>(Call)>;
    using steps = operation_of<call>;
    team::template step<steps>(memory, [](host_memory const& own) { steps::forward(call{own}); });
  }
  template <std::size_t Call>
  static void backward_step(host_memory const& memory) {
    using call = host_call<training_plan, static_cast<int>(Call)>;
    using steps = operation_of<call>;
    if constexpr (training_plan::program.calls[Call].needs_gradient) {
      team::template step<steps>(memory, [](host_memory const& own) { steps::backward(call{own}); });
      if constexpr (adds_own_gradients(Call))
        team::divide(memory, [](host_memory const& own) {
          add_own_gradients(call{own}, std::make_index_sequence<static_cast<std::size_t>(call::input_count)>{});
        });
      if constexpr (training_plan::accumulates_halves && call::parameter_count > 0)
        team::divide(memory, update::template accumulate_halves<Call>);
    }
  }
  /// Whether gradients of a call have been written to places of their own.
  static constexpr bool adds_own_gradients(std::size_t call) {
    auto const& node = graph.calls[call];
    bool result = !training_plan::accumulates_steps && !training_plan::program.calls[call].writes_parameter_gradient &&
                  graph.layer_of(static_cast<int>(call)).parameter_count > 0;
    for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge)
      result = result || training_plan::program.own_gradient[at(edge)] >= 0;
    return result;
  }
  template <class Call, std::size_t... Input>
  static void add_own_gradients(Call const& call, std::index_sequence<Input...>) {
    [[maybe_unused]] int const done[]{0, (add_own_gradient<static_cast<int>(Input)>(call), 0)...};
    if constexpr (!training_plan::accumulates_steps && !Call::planned.writes_parameter_gradient)
      for (int i = 0; i < Call::parameter_count; ++i) {
        auto const [first, last] = call.elements(storage.size[at(Call::first_parameter + i)]);
        kernels::scaled_add<true, architecture>(1.0F, call.parameter_gradient(i) + first,
                                                call.memory.gradients + Call::weight_offset(i) + first, last - first);
      }
  }
  template <int Input, class Call>
  static void add_own_gradient(Call const& call) {
    if constexpr (training_plan::program.own_gradient[at(graph.call(Call::call).first_input + Input)] >= 0) {
      auto const [first, last] = call.elements(static_cast<long long>(batch) * Call::input_shape(Input).size());
      auto const root = training_plan::program.calls[at(Call::input_call(Input))].gradient;
      kernels::scaled_add<true, architecture>(1.0F, call.input_gradient(Input) + first,
                                              call.memory.block + root + first, last - first);
    }
  }

  // Steps stand in tables: an expression over all calls would meet the compilers' limits for large models.
  template <class Plan, std::size_t... Call>
  static constexpr auto forward_table(std::index_sequence<Call...>) {
    return std::array<step_function, sizeof...(Call)>{&forward_step<Plan, Call>...};
  }
  template <std::size_t... Call>
  static constexpr auto backward_table(std::index_sequence<Call...>) {
    return std::array<step_function, sizeof...(Call)>{&backward_step<Call>...};
  }
  using call_indices = std::make_index_sequence<graph.calls.size()>;

  // What each thread does; `alone` on the first one only, for all.
  template <class Alone>
  static void run_training(host_memory const& memory, Alone const& find_losses) {
    if (!run_forward<training_plan>(memory)) return;
    if constexpr (accumulation_steps > 1) team::divide(memory, update::begin_micro_batch);
    team::alone(memory, find_losses);
    if (!run_backward(memory) || memory.accumulated + 1 != accumulation_steps) return;
    if constexpr (functions::have_penalty_gradients()) {
      if constexpr (accumulation_steps > 1) team::divide(memory, update::sum_calls_of_own_penalties);
      team::alone(memory, [&] {
        functions::add_all_penalty_gradients(memory.weights, memory.gradients,
                                             detail::penalties_in_gradient<M, Training, 1>, memory.workspace);
      });
    }
    if constexpr (update::has_work()) team::divide(memory, update::run);
    if constexpr (functions::have_constraints())
      team::alone(memory, [&] { functions::constrain_all(memory.weights, memory.workspace); });
  }

  // False if a thread has failed: then the others have nothing more to do.
  template <class Plan>
  static bool run_forward(host_memory const& memory) {
    static constexpr auto steps = forward_table<Plan>(call_indices{});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (Plan::program.calls[i].needs.view || Plan::is_epilogue(static_cast<int>(i)) || graph.calls[i].is_input)
        continue;
      steps[i](memory);
      if (!team::goes_on(memory)) return false;
    }
    return true;
  }

  static bool run_backward(host_memory const& memory) {
    static constexpr auto steps = backward_table(call_indices{});
    for (std::size_t i = steps.size(); i-- > 0;) {
      auto const& planned = training_plan::program.calls[i];
      if (!planned.needs_gradient || planned.needs.view) continue;
      steps[i](memory);
      if (!team::goes_on(memory)) return false;
    }
    return true;
  }

  template <class Plan, std::size_t... Output>
  void run_losses(std::index_sequence<Output...>) {
    total_loss_ = 0;
    (run_loss<Plan, Output>(), ...);
    finish_outputs<Plan>(memory_, std::index_sequence<Output...>{});
    add_regularization(std::make_index_sequence<storage.count>{});
  }

  template <class Plan, std::size_t... Output>
  static void finish_outputs(host_memory const& memory, std::index_sequence<Output...>) {
    (detail::output_step<shape_type, Training, Output, architecture>(memory.block + Plan::value(outputs[Output]),
                                                                     memory.share),
     ...);
  }
  template <std::size_t... Output>
  [[nodiscard]] static constexpr bool outputs_are_finished(std::index_sequence<Output...>) {
    return (takes_logits<typename shape_type::shaped_model, Training, Output> || ...);
  }
  static void finish_predictions(host_memory const& memory) {
    finish_outputs<inference_plan>(memory, std::make_index_sequence<output_count>{});
  }

  template <class Plan, std::size_t Output>
  void run_loss() {
    constexpr int call = outputs[Output];
    constexpr float output_weight = Training.loss_weights.of(Output);
    constexpr bool wants_gradient = Plan::trains && Plan::program.calls[at(call)].needs_gradient;
    detail::loss_gradient gradient;
    float factor = output_weight;
    if constexpr (wants_gradient) {
      gradient.to = memory_.block + Plan::gradient(call);
      if constexpr (Plan::program.loss_adds_gradient[Output])
        gradient.scratch = memory_.block + Plan::program.loss_gradient;
      factor *= detail::gradient_factor<Plan>(memory_.accumulated);
    }
    losses_[Output] = detail::loss_step<shape_type, Training, Output, architecture>(
        memory_.block + Plan::value(call), target<Output>(), scale(Output), gradient, factor, memory_.valid_samples);
    total_loss_ += output_weight * losses_[Output];
  }

  template <std::size_t... Parameter>
  void add_regularization(std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (add_regularization_of<Parameter>(), 0)...};
  }
  template <std::size_t Parameter>
  void add_regularization_of() {
    constexpr auto const& penalty = graph.parameters[Parameter].regularizer;
    if constexpr (penalty.is_own())
      total_loss_ += functions::template penalty<Parameter>(memory_.weights, memory_.workspace);
    else if constexpr (!penalty.empty())
      total_loss_ += kernels::regularization_loss<architecture>(penalty, weight(Parameter), storage.size[Parameter]);
  }

  // Whole cache lines: each thread has its own part.
  static constexpr long long workspace_floats() {
    auto const of_layers = detail::largest_workspace<training_plan, inference_plan>();
    return (std::max(of_layers, functions::workspace_floats()) + 15) / 16 * 16;
  }

  aligned_block block_, weights_, gradients_, halves_, slots_, workspace_, targets_, scales_;
  host_memory memory_;
  host_threads<threads> threads_;
  std::array<float, output_count> losses_{};
  float total_loss_ = 0;
};

}  // namespace stagecraft
