// SPDX-License-Identifier: BSD-3-Clause
// Runs the steps of a program on the host: forward, losses, backward, weight update. All memory is taken when a session
// is made; no step allocates. Level 5.
#pragma once

#include <stagecraft/execution/host.hpp>
#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/execution/host_threads.hpp>
#include <stagecraft/execution/operations/operations.hpp>
#include <stagecraft/execution/step_view.hpp>
#include <stagecraft/kernels/initial_values.hpp>
#include <stagecraft/kernels/loss.hpp>
#include <stagecraft/kernels/regularization.hpp>
#include <stagecraft/kernels/update.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/program/training.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// Weights, optimizer state and steps of one model. Batches are always whole: rows of a partial one that hold no sample
/// have the scale 0, and `set_valid_samples` tells the layers that gather statistics of the batch.
template <Model M, auto Training, class Machine>
class host_session {
 public:
  using architecture = typename Machine::architecture;
  using training_plan = host_plan<M, Training, execution_mode::training, Machine>;
  using inference_plan = host_plan<M, Training, execution_mode::inference, Machine>;

  static constexpr int threads = Machine::threads;
  static constexpr int batch = Training.batch_size;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& outputs = outputs_of<M>;
  static constexpr std::size_t output_count = outputs.size();
  static constexpr int replicas = 1;

  explicit host_session(std::uint64_t seed = training_plan::training.seed)
      : block_(std::max(training_plan::program.floats, inference_plan::program.floats)),
        weights_(storage.floats),
        gradients_(training_plan::gradients.floats),
        slots_(storage.floats * slot_count),
        workspace_(threads * workspace_floats()),
        targets_(target_offset(output_count)),
        scales_(2LL * scale_offset(output_count)) {
    memory_ = {.block = block_.data(),
               .weights = weights_.data(),
               .gradients = gradients_.data(),
               .slots = slots_.data(),
               .workspace = workspace_.data(),
               .seed = seed,
               .learning_rate = training_plan::training.optimizer.learning_rate,
               .valid_samples = batch};
    initialize(seed);
  }

  /// Where the samples of an input go: (batch, shape...).
  [[nodiscard]] float* input(int index) {
    return memory_.block + inference_plan::program.calls[input_call(index)].value;
  }
  /// Says how many samples the batch of the next steps has, from the first row on; the other rows only fill it.
  void set_valid_samples(int count) { memory_.valid_samples = count; }
  [[nodiscard]] static constexpr int input_count() {
    int count = 0;
    for (auto const& call : graph.calls) count += call.is_input ? 1 : 0;
    return count;
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index) { return graph.calls[input_call(index)].shape; }
  [[nodiscard]] static constexpr shape const& output_shape(std::size_t output) {
    return graph.call(outputs[output]).shape;
  }

  /// Where the targets of an output go: class numbers (batch, rows per sample) if its loss is sparse, else floats.
  template <std::size_t Output>
  using target_type = kernels::target_type<losses::loss_of_output<Output>(Training.loss)>;
  template <std::size_t Output>
  [[nodiscard]] target_type<Output>* target() {
    return reinterpret_cast<target_type<Output>*>(targets_.data() + target_offset(Output));
  }
  /// The weight of each row of an output in the loss: sample weight / valid rows, 0 for rows without a sample.
  [[nodiscard]] float* scale(std::size_t output) { return scales_.data() + scale_offset(output); }
  /// Rows of the last axis that one sample of an output has.
  [[nodiscard]] static constexpr int rows_per_sample(std::size_t output) {
    return output_shape(output).size() / output_shape(output).back();
  }
  /// Whether the targets of an output are class numbers.
  [[nodiscard]] static constexpr bool sparse_targets(std::size_t output) {
    return [output]<std::size_t... Output>(std::index_sequence<Output...>) {
      bool const sparse[]{loss_of<Output>.sparse_targets...};
      return sparse[output];
    }(std::make_index_sequence<output_count>{});
  }
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
    threads_.run(memory_, workspace_floats(), [this, &look](host_memory const& memory) {
      if (!run_forward<training_plan>(memory)) return;
      if constexpr (accumulation_steps > 1) begin_micro_batch(memory);
      if (memory.share.is_first()) {
        run_losses<training_plan>(std::make_index_sequence<output_count>{});
        look();
      }
      if (!host_threads<threads>::synchronize(memory) || !run_backward(memory)) return;
      if (micro_batch_ + 1 == accumulation_steps) run_updates(memory, std::make_index_sequence<storage.count>{});
    });
    ++memory_.step;
    if (++micro_batch_ == accumulation_steps) {
      ++memory_.update;
      micro_batch_ = 0;
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
      results(view(step, false));
    }
  }
  /// Called before the first execution of a run; a session of several replicas makes their weights the same.
  void begin_run() {}

  /// Forgets micro-batches whose weights have not been updated yet.
  void begin_accumulation() { micro_batch_ = 0; }

  /// Forward step and losses, as in evaluation.
  void test_step() {
    predict_step();
    run_losses<inference_plan>(std::make_index_sequence<output_count>{});
  }

  /// Forward step alone.
  void predict_step() {
    threads_.run(memory_, workspace_floats(), [](host_memory const& memory) { run_forward<inference_plan>(memory); });
  }

  [[nodiscard]] float learning_rate() const { return memory_.learning_rate; }
  void set_learning_rate(float rate) { memory_.learning_rate = rate; }

  /// The stored weights of one parameter (see host_plan.hpp for the layout).
  [[nodiscard]] float* weight(std::size_t parameter) { return memory_.weights + storage.offset[parameter]; }
  [[nodiscard]] float const* weight(std::size_t parameter) const { return memory_.weights + storage.offset[parameter]; }

  /// Copies a parameter from or to its own, row-major shape.
  template <std::size_t Parameter>
  void read_weight(float* row_major) const {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::unpack(weight(Parameter), row_major);
    else
      std::copy_n(weight(Parameter), graph.parameters[Parameter].size(), row_major);
  }
  template <std::size_t Parameter>
  void write_weight(float const* row_major) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::pack(row_major, weight(Parameter));
    else
      std::copy_n(row_major, graph.parameters[Parameter].size(), weight(Parameter));
  }

  template <std::size_t Parameter>
  static constexpr bool is_packed = graph.parameters[Parameter].layout == parameter_layout::matrix;
  template <std::size_t Parameter>
  using packed = kernels::packed_groups<graph.parameters[Parameter].rows(), graph.parameters[Parameter].columns(),
                                        graph.parameters[Parameter].groups, architecture>;

 private:
  static constexpr auto const& storage = weight_storage_of<M, architecture>;
  static constexpr int slot_count = Training.optimizer.slots();
  static constexpr int accumulation_steps = Training.pipeline.accumulation_steps();
  template <std::size_t Output>
  static constexpr auto loss_of = losses::loss_of_output<Output>(Training.loss);

  using step_function = void (*)(host_memory const&);

  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  [[nodiscard]] step_view<host_session> view(int step, bool training) {
    return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      return step_view<host_session>(
          {.step = step, .valid_samples = memory_.valid_samples, .training = training, .total_loss = total_loss_},
          losses_, {prediction(Output, training)...}, {target<Output>()...});
    }(std::make_index_sequence<output_count>{});
  }

  [[nodiscard]] static constexpr std::size_t input_call(int index) {
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      if (graph.calls[i].is_input && index-- == 0) return i;
    return 0;
  }
  [[nodiscard]] static constexpr long long target_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += (static_cast<long long>(batch) * output_shape(i).size() + 15) / 16 * 16;
    return offset;
  }
  [[nodiscard]] static constexpr long long scale_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += (static_cast<long long>(batch) * rows_per_sample(i) + 15) / 16 * 16;
    return offset;
  }

  template <class Plan, std::size_t Call>
  static void forward_step(host_memory const& memory) {
    using steps = operation<layer_t<M, static_cast<int>(Call)>>;
    if (detail::takes_part<steps>(memory)) steps::forward(host_call<Plan, static_cast<int>(Call)>{memory});
  }
  template <std::size_t Call>
  static void backward_step(host_memory const& memory) {
    using steps = operation<layer_t<M, static_cast<int>(Call)>>;
    if constexpr (training_plan::program.calls[Call].needs_gradient) {
      using call = host_call<training_plan, static_cast<int>(Call)>;
      if (detail::takes_part<steps>(memory)) steps::backward(call{memory});
      if constexpr (adds_own_gradients(Call)) {
        if (!host_threads<threads>::synchronize(memory)) return;
        add_own_gradients(call{memory}, std::make_index_sequence<static_cast<std::size_t>(call::input_count)>{});
      }
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

  // False if the first thread has failed: then the others have nothing more to do.
  template <class Plan>
  static bool run_forward(host_memory const& memory) {
    static constexpr auto steps = forward_table<Plan>(call_indices{});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (Plan::program.calls[i].needs.view || graph.calls[i].is_input) continue;
      steps[i](memory);
      if (!host_threads<threads>::synchronize(memory)) return false;
    }
    return true;
  }

  static bool run_backward(host_memory const& memory) {
    static constexpr auto steps = backward_table(call_indices{});
    for (std::size_t i = steps.size(); i-- > 0;) {
      auto const& planned = training_plan::program.calls[i];
      if (!planned.needs_gradient || planned.needs.view) continue;
      steps[i](memory);
      if (!host_threads<threads>::synchronize(memory)) return false;
    }
    return true;
  }

  template <class Plan, std::size_t... Output>
  void run_losses(std::index_sequence<Output...>) {
    total_loss_ = 0;
    (run_loss<Plan, Output>(), ...);
    add_regularization(std::make_index_sequence<storage.count>{});
  }

  template <class Plan, std::size_t Output>
  void run_loss() {
    constexpr int call = outputs[Output];
    constexpr int columns = output_shape(Output).back();
    constexpr int rows = batch * rows_per_sample(Output);
    constexpr float output_weight = Training.loss_weights.values[Output];
    constexpr auto const& planned = Plan::program.calls[at(call)];
    constexpr bool wants_gradient = Plan::trains && planned.needs_gradient;
    constexpr bool adds = wants_gradient && Plan::program.loss_adds_gradient[Output];
    float* gradient = nullptr;
    if constexpr (adds)
      gradient = memory_.block + Plan::program.loss_gradient;
    else if constexpr (wants_gradient)
      gradient = memory_.block + planned.gradient;

    losses_[Output] = kernels::loss<loss_of<Output>, rows, columns, architecture>(
        target<Output>(), memory_.block + planned.value, scale(Output), gradient);
    total_loss_ += output_weight * losses_[Output];
    if constexpr (wants_gradient) {
      float const factor = output_weight * gradient_factor_;
      if (factor != 1.0F)
        kernels::scaled_add<false, architecture>(factor, gradient, gradient, static_cast<std::int64_t>(rows) * columns);
      if constexpr (adds)
        kernels::scaled_add<true, architecture>(1.0F, gradient, memory_.block + planned.gradient,
                                                static_cast<std::int64_t>(rows) * columns);
    }
  }

  // Sum: gradients are added. Mean: each is divided by their number first. Running mean: what has been gathered is
  // scaled down before each one is added (keras.ipu GradientAccumulationReductionMethod).
  void begin_micro_batch(host_memory const& memory) {
    using enum gradient_accumulation_reduction_method;
    constexpr auto method = Training.pipeline.reduction_method;
    auto const n = static_cast<float>(micro_batch_);
    if (memory.share.is_first()) {
      if (method == mean) gradient_factor_ = 1.0F / static_cast<float>(accumulation_steps);
      if (method == running_mean) gradient_factor_ = 1.0F / (n + 1.0F);
    }
    auto const [first, last] = memory.share.of(training_plan::gradients.floats, 16);
    float* const gradients = memory.gradients + first;
    if (micro_batch_ == 0)
      kernels::fill<architecture>(gradients, 0.0F, last - first);
    else if (method == running_mean)
      kernels::scaled_add<false, architecture>(n / (n + 1.0F), gradients, gradients, last - first);
  }

  template <std::size_t... Parameter>
  void add_regularization(std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (add_regularization_of<Parameter>(), 0)...};
  }
  template <std::size_t Parameter>
  void add_regularization_of() {
    constexpr auto const& penalty = graph.parameters[Parameter].regularizer;
    if constexpr (!penalty.empty())
      total_loss_ += kernels::regularization_loss<architecture>(penalty, weight(Parameter), storage.size[Parameter]);
  }

  template <std::size_t... Parameter>
  static void run_updates(host_memory const& memory, std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (run_update<Parameter>(memory), 0)...};
  }
  template <std::size_t Parameter>
  static void run_update(host_memory const& memory) {
    constexpr auto const& info = graph.parameters[Parameter];
    if constexpr (info.trainable && !updated_in_backward(Parameter)) {
      auto const [first, last] = memory.share.of(storage.size[Parameter], 16);
      auto const size = last - first;
      auto const offset = storage.offset[Parameter] + first;
      float* const gradient = memory.gradients + offset;
      float* const values = memory.weights + offset;
      if constexpr (training_plan::accumulates_steps)
        for (int call = static_cast<int>(graph.calls.size()); call-- > 0;)
          if (auto const shift = training_plan::gradients.shift[at(call)]; shift != 0 && has_parameter(call, Parameter))
            kernels::scaled_add<true, architecture>(1.0F, gradient + shift, gradient, size);
      if constexpr (!info.regularizer.empty()) {
        // Each micro-batch's loss contains the penalty: a sum of gradients contains it as often.
        constexpr bool sum = Training.pipeline.reduction_method == gradient_accumulation_reduction_method::sum;
        constexpr auto times = static_cast<float>(sum ? accumulation_steps : 1);
        constexpr regularizer penalty{info.regularizer.l1 * times, info.regularizer.l2 * times};
        kernels::add_regularization_gradient<architecture>(penalty, values, gradient, size);
      }
      kernels::update<Training.optimizer, architecture>(memory.learning_rate, memory.update, values, gradient,
                                                        memory.slots + offset, storage.floats, size);
    }
  }
  [[nodiscard]] static constexpr bool has_parameter(int call, std::size_t parameter) {
    auto const& layer = graph.layer_of(call);
    auto const index = static_cast<int>(parameter) - layer.first_parameter;
    return index >= 0 && index < layer.parameter_count;
  }
  [[nodiscard]] static constexpr bool updated_in_backward(std::size_t parameter) {
    for (std::size_t i = 0; i < graph.calls.size(); ++i) {
      auto const& layer = graph.layer_of(static_cast<int>(i));
      auto const index = static_cast<int>(parameter) - layer.first_parameter;
      if (has_parameter(static_cast<int>(i), parameter))
        return training_plan::fuses_update(static_cast<int>(i), index) && same_type(layer.type, tag_of<layers::dense>);
    }
    return false;
  }

  template <class Plan, std::size_t... Call>
  static constexpr long long largest_workspace(std::index_sequence<Call...>) {
    long long largest = 0;
    for (long long const floats : {0LL, operation<layer_t<M, static_cast<int>(Call)>>::template workspace<
                                            host_call<Plan, static_cast<int>(Call)>>()...})
      largest = std::max(largest, floats);
    return largest;
  }
  // Whole cache lines: each thread has its own part.
  static constexpr long long workspace_floats() {
    return (largest_workspace<training_plan>(call_indices{}) + 15) / 16 * 16;
  }

  void initialize(std::uint64_t seed) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (initialize_weight<Parameter>(seed), 0)...};
    }(std::make_index_sequence<storage.count>{});
  }
  // Gradients are not in use yet: their memory takes the values before they are packed.
  template <std::size_t Parameter>
  void initialize_weight(std::uint64_t seed) {
    constexpr auto const& info = graph.parameters[Parameter];
    kernels::initialize(info.initializer, std::span<int const>(info.shape.begin(), info.shape.end()), seed, Parameter,
                        memory_.gradients);
    write_weight<Parameter>(memory_.gradients);
    std::fill_n(memory_.gradients, info.size(), 0.0F);
  }

  aligned_block block_, weights_, gradients_, slots_, workspace_, targets_, scales_;
  host_memory memory_;
  host_threads<threads> threads_;
  std::array<float, output_count> losses_{};
  float total_loss_ = 0;
  float gradient_factor_ = 1;
  int micro_batch_ = 0;
};

}  // namespace stagecraft
