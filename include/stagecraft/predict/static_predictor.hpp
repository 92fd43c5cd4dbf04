// SPDX-License-Identifier: BSD-3-Clause
// A predictor for processors without an operating system: weights in constant arrays, all memory in the object, no
// exceptions, heap, threads or streams.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/predict/list_steps.hpp>
#include <stagecraft/predict/weights_of_model.hpp>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace stagecraft::predictors {

/// The plan of one call, for one sample.
template <class M, int Call>
struct plan_of_call {
  struct make {
    constexpr operations::traced_plan operator()() const {
      growing_array<shape> shapes;
      for (int const input : graph_of<M>.inputs_of(Call)) shapes.push_back(graph_of<M>.call(input).shape);
      return operations::traced_plan(layers::detail::trace_layer(layer_of<M, Call>, shapes, 1, false, false), false);
    }
  };
  static constexpr auto const& value = frozen_draft<make>;
};

/// True if `list_steps` carries out this kind of operation.
[[nodiscard]] constexpr bool is_carried_out(operations::operation const& what) {
  return !(what.is<operations::random>() || what.is<operations::whole_map>() || what.is<operations::scatter_add>() ||
           what.is<operations::pooling_gradient>() || what.is<operations::convolution_filter_gradient>());
}

/// Reports E1230 for a call that is not carried out, and E4186 for a weight that must not be bytes.
template <class M, int Call, class Weights>
constexpr diagnostic find_problem_of_call() {
  diagnostic problem;
  constexpr auto const& graph = graph_of<M>;
  auto const& layer = graph.layer_of(Call);
  if constexpr (graph.call(Call).is_input) {
    return problem;
  } else if constexpr (graph.call(Call).is_part() || graph.call(Call).output_count > 1 ||
                       graph.layer_of(Call).loops != own_loops::unneeded) {
    problem.report(1230, "layer '", layer.name, "' has several outputs, or loops of its own and no call, which a ",
                   "static_predictor does not carry out; use sc::predictor");
  } else {
    constexpr auto const& plan = plan_of_call<M, Call>::value;
    for (int const id : plan.forward)
      if (!is_carried_out(plan.nodes[id].what) || plan.nodes[id].type == dtype::int32) {
        problem.report(1230, "layer '", layer.name, "' draws random numbers or computes with int32, which a ",
                       "static_predictor does not do; use sc::predictor");
        return problem;
      }
    constexpr int misread = list_steps<plan_of_call<M, Call>::value, Weights>::misread_bytes;
    if constexpr (misread >= 0)
      problem.report(4186, "weight '", graph.parameters[layer.first_parameter + misread].name, "' of layer '",
                     layer.name, "' is stored as bytes, but is not read by products and convolutions alone; store ",
                     "it as floats");
  }
  return problem;
}

/// Where a call's output lies: in the memory of the predictor, in the caller's input or output, or where the output of
/// another call lies, which it is.
struct tensor_place {
  int root = 0;  ///< the call whose output it is
  long long offset = -1;
};

/// The memory of a model whose calls can be carried out.
template <class M, auto const& Weights, bool WithWholeNumbers>
class model_memory {
 public:
  using all_weights = weights_of_model<M, Weights>;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr int calls = static_cast<int>(graph.calls.size());

  template <int Call>
  using steps = list_steps<plan_of_call<M, Call>::value,
                           weights_of_layer<all_weights, Weights, graph.call(Call).layer, WithWholeNumbers>>;

  static constexpr int input = [] {
    for (int i = 0; i < calls; ++i)
      if (graph.call(i).is_input) return i;
    return 0;
  }();
  static constexpr int output = graph.outputs_of(0)[0];
  static constexpr int input_floats = graph.call(input).shape.size(), output_floats = graph.call(output).shape.size();

  /// The output of a call, an input as it is or a tensor of its own, and the floats that it needs beside.
  struct call_record {
    bool is_input = false;
    int workspace = 0, image = 0;
  };
  template <int Call>
  static constexpr call_record record() {
    if constexpr (graph.call(Call).is_input)
      return {};
    else
      return {steps<Call>::is_input, steps<Call>::workspace, steps<Call>::image};
  }
  struct layout {
    std::array<tensor_place, graph.calls.size()> places{};
    long long workspace = 0, states = 0, floats = 0, image = 0;
  };
  static constexpr layout memory = [] {
    layout result;
    auto const records = array_of_each<calls>([]<int Call>() { return record<Call>(); });
    growing_array<plan::buffer_request> requests(graph.calls.size());
    long long most = 0;
    for (int i = 0; i < calls; ++i) {
      auto const& node = graph.call(i);
      int const source = records[i].is_input ? result.places[graph.inputs_of(i)[0]].root : i;
      result.places[i].root = source;
      requests[i] = {i, i, source == i && !node.is_input && i != output ? node.shape.size() : 0};
      for (int const from : graph.inputs_of(i)) requests[result.places[from].root].last = i;
      if (records[i].workspace > most) most = records[i].workspace;
      if (records[i].image > result.image) result.image = records[i].image;
    }
    long long const tensors = plan::place(requests, 4);
    for (int i = 0; i < calls; ++i) result.places[i].offset = requests[i].offset;
    result.workspace = tensors;
    result.states = tensors + most;
    result.floats = result.states;
    for (parameter const& each : graph.parameters)
      if (each.between_batches) result.floats += (each.size() + 3) / 4 * 4;
    if (result.floats == 0) result.floats = 1;
    return result;
  }();
  /// The index at which a state begins.
  static constexpr long long state_offset(int parameter) {
    long long offset = memory.states;
    for (int i = 0; i < parameter; ++i)
      if (graph.parameters[i].between_batches) offset += (graph.parameters[i].size() + 3) / 4 * 4;
    return offset;
  }

  static void run(float* all, rounded_number* image, float const* x, float* y) {
    run_from<0>(all, image, x, y);
    if constexpr (constexpr int root = memory.places[output].root; root != output)
      copy(address<root>(all, x, y), y, output_floats);
  }

 private:
  template <int Call>
  static float const* address(float* all, float const* x, float* y) {
    constexpr auto place = memory.places[Call];
    if constexpr (place.root != Call)
      return address<place.root>(all, x, y);
    else if constexpr (graph.call(Call).is_input)
      return x;
    else if constexpr (Call == output)
      return y;
    else
      return all + place.offset;
  }
  template <int Call>
  static inline void run_from(float* all, rounded_number* image, float const* x, float* y) {
    if constexpr (Call < calls) {
      run_call<Call>(all, image, x, y);
      run_from<Call + 1>(all, image, x, y);
    }
  }
  template <int Call>
  static inline void run_call(float* all, rounded_number* image, float const* x, float* y) {
    if constexpr (!graph.call(Call).is_input)
      run_layer<Call>(all, image, x, y, std::make_index_sequence<graph.call(Call).input_count>{},
                      std::make_index_sequence<graph.layer_of(Call).parameter_count>{});
  }
  template <int Call, std::size_t Input>
  static constexpr int input_call = graph.inputs_of(Call)[Input];
  template <int Call, std::size_t Weight>
  static constexpr int parameter_of = graph.layer_of(Call).first_parameter + static_cast<int>(Weight);
  /// A function of its own, so that its variables are on the stack only while it runs.
  template <int Call, std::size_t... Input, std::size_t... Weight>
  [[gnu::noinline]] static void run_layer(float* all, rounded_number* image, float const* x, float* y,
                                          std::index_sequence<Input...>, std::index_sequence<Weight...>) {
    float const* const in[]{address<input_call<Call, Input>>(all, x, y)...};
    float* const states[]{state<parameter_of<Call, Weight>>(all)..., nullptr};
    step_memory of{in, const_cast<float*>(address<Call>(all, x, y)), all + memory.workspace, image, states, {}};
    steps<Call>::forward(of);
  }
  template <int Parameter>
  static float* state(float* all) {
    if constexpr (graph.parameters[Parameter].between_batches)
      return all + state_offset(Parameter);
    else
      return nullptr;
  }
};

/// The first problem of a model and its weights: E1230, E4185, E4186.
template <class M, auto const& Weights>
constexpr diagnostic find_problem() {
  diagnostic problem;
  if constexpr (is_invalid<M>) {
    problem.already_reported();
    return problem;
  }
  constexpr auto const& graph = graph_of<M>;
  int inputs = 0;
  for (auto const& each : graph.calls) inputs += each.is_input ? 1 : 0;
  if (inputs != 1 || graph.outputs_of(0).size() != 1 || graph.batch_size() > 1) {
    problem.report(1230, "model '", graph.name(), "' has several inputs or outputs, or a batch size beyond 1, which a ",
                   "static_predictor does not have; use sc::predictor");
    return problem;
  }
  if constexpr (weights_of_model<M, Weights>::find_problem().failed()) {
    return weights_of_model<M, Weights>::find_problem();
  } else {
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      auto const take = [&](diagnostic const& of_call) {
        if (!problem.failed()) problem = of_call;
      };
      (take(find_problem_of_call<M, static_cast<int>(Call),
                                 weights_of_layer<weights_of_model<M, Weights>, Weights, graph.calls[Call].layer>>()),
       ...);
    }(std::make_index_sequence<graph.calls.size()>{});
    return problem;
  }
}
template <class M, auto const& Weights>
inline constexpr diagnostic problem_of_predictor = find_problem<M, Weights>();

/// Stands for a predictor of a model or of weights that have had their error.
class refused_predictor {
 public:
  static constexpr std::size_t inputs = 1, outputs = 1, weight_bytes = 0, memory_bytes = 0, stack_bytes = 0;
  static constexpr long long flops = 0;

  template <class... Any>
  std::array<float, 1> operator()(Any const&...) noexcept {
    return {};
  }
  void reset_states() noexcept {}
};

/// The rounded input of a product or convolution; nothing in a predictor that computes with floats.
template <long long Count>
struct image_memory {
  alignas(4) rounded_number numbers[Count]{};
  rounded_number* begin() { return numbers; }
};
template <>
struct image_memory<0> {
  static rounded_number* begin() { return nullptr; }
};

/// The type that `static_predictor` and `int8_predictor` name.
template <class M, auto const& Weights, bool WithWholeNumbers>
class predictor_of_arrays {
  using memory = model_memory<M, Weights, WithWholeNumbers>;

 public:
  /// Numbers of one sample of the model's input and output, row by row.
  static constexpr std::size_t inputs = memory::input_floats, outputs = memory::output_floats;
  /// Bytes of the arrays of the weights, which a linker puts into flash.
  static constexpr std::size_t weight_bytes = memory::all_weights::bytes();
  /// Bytes that the object takes: tensors between layers, what layers need, and states.
  static constexpr std::size_t memory_bytes =
      sizeof(float) * memory::memory.floats + (sizeof(rounded_number) * memory::memory.image + 15) / 16 * 16;
  /// Bytes of the stack that a call takes at most in an optimized program (-O2, -Os) for a 32-bit Arm processor.
  static constexpr std::size_t stack_bytes = [] {
    std::size_t most = 0;  // pointers to the tensors of a layer
    for (auto const& call : memory::graph.calls) {
      std::size_t const pointers = call.input_count + memory::graph.layer(call.layer).parameter_count;
      if (pointers > most) most = pointers;
    }
    return 1024 + 2 * sizeof(void*) * most;
  }();
  /// Floating-point operations of a call; a multiply-add counts as two, a function of a number as one.
  static constexpr long long flops = [] {
    long long sum = 0;
    for (auto const& each : memory::graph.calls) sum += each.flops;
    return sum;
  }();

  /// All states are zeros.
  constexpr predictor_of_arrays() = default;

  /// Computes the output of one sample. It allocates nothing and cannot fail. `x` and `y` do not overlap.
  void operator()(std::span<float const, inputs> x, std::span<float, outputs> y) noexcept {
    memory::run(floats_, image_.begin(), x.data(), y.data());
  }
  /// Returns the outputs that the other one writes.
  [[nodiscard]] std::array<float, outputs> operator()(std::span<float const, inputs> x) noexcept {
    std::array<float, outputs> y;
    (*this)(x, y);
    return y;
  }
  /// Sets the states of stateful layers to zeros.
  void reset_states() noexcept {
    for (long long i = memory::memory.states; i < memory::memory.floats; ++i) floats_[i] = 0;
  }

 private:
  alignas(16) float floats_[memory::memory.floats]{};
  [[no_unique_address]] image_memory<memory::memory.image> image_;
};

template <class M, auto const& Weights, bool WithWholeNumbers, bool Failed = problem_of_predictor<M, Weights>.failed()>
struct choose_predictor {
  using type = predictor_of_arrays<M, Weights, WithWholeNumbers>;
};
template <class M, auto const& Weights, bool WithWholeNumbers>
struct choose_predictor<M, Weights, WithWholeNumbers, true> {
  using type = refused_predictor;
};

}  // namespace stagecraft::predictors

namespace stagecraft {

/// A predictor of one sample whose weights are constant arrays, for processors without an operating system. It is a
/// constant-initialized object, so that its memory is a part of the program's, and uses no exceptions, RTTI, heap,
/// threads or streams. `Weights`: an array of constant_weight, as `stagecraft export digits --to digits.hpp` writes it;
/// without names, in the order of the layers' first calls.
///
///     #include <stagecraft/predict.hpp>
///     #include "digits.hpp"
///     static constinit sc::static_predictor<models::digits, models::digits_weights> net;
///     net(pixels, scores);
///
/// Results are those of sc::predictor up to rounding. Errors, by the compiler: E1230 a model that it does not carry
/// out, E4185 weights of another model, E4186 a weight that must be floats.
template <Model M, auto const& Weights,
          class Verdict = typename detail::early_verdict<predictors::problem_of_predictor<M, Weights>>::checked>
using static_predictor =
    typename Verdict::template model<typename predictors::choose_predictor<M, Weights, false>::type>;

/// A static_predictor that computes products and convolutions with weights of bytes in whole numbers: the input of each
/// is rounded to steps of its largest absolute value / 127, 8-bit numbers are multiplied, sums have 32 bits, and
/// results are floats, as everything else. No samples are needed to find ranges. On a Cortex-M4 it takes a fifth to two
/// fifths of static_predictor's instructions; `memory_bytes` grows by the rounded input of the largest layer. Where an
/// input is infinite or NaN, all results of the layer are NaN. Groups of a convolution are computed with floats.
///
///     static constinit sc::int8_predictor<models::digits, models::digits_weights> net;
///     net(pixels, scores);
///
/// Errors, by the compiler: those of static_predictor.
template <Model M, auto const& Weights,
          class Verdict = typename detail::early_verdict<predictors::problem_of_predictor<M, Weights>>::checked>
using int8_predictor = typename Verdict::template model<typename predictors::choose_predictor<M, Weights, true>::type>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
