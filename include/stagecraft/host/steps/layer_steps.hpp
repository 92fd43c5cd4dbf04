// SPDX-License-Identifier: BSD-3-Clause
// How the host carries out the steps of a layer: by the operations of its `call`, by the kernel that it names
// (host/layer_steps/), or by loops of its own, `forward` and `backward`. A `call` that only moves, repeats, scales and
// sums elements of its inputs is one pass over what it writes.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/host/steps/elementwise_layer.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/host/steps/traced_layer.hpp>
#include <stagecraft/kernels/elementwise/transfers.hpp>
#include <stagecraft/operations/plan/transfers.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace stagecraft::cpu {

/// The walks of a layer's calls that are alike.
template <class Layer, int Batch, bool FindsLosses, bool TrainsModel, shape... Inputs>
class transfers_of_layer {
  static constexpr shape shapes[]{Inputs...};
  static constexpr operations::trace trace_it() {
    return trace_layer(Layer::value, shapes, Batch, TrainsModel, FindsLosses);
  }
  /// Elements of all places along a sample's first axis.
  static constexpr std::int64_t row_of(operations::extents const& of) {
    return of.rank > 2 ? of.size() / of[0] / of[1] : 0;
  }

 public:
  static constexpr bool holds = [] {
    auto const traced = trace_it();
    operations::transfers const found(traced);
    bool result = found.holds && kernels::can_transfer(found.forward(0));
    for (int i = 0; result && i < static_cast<int>(sizeof...(Inputs)); ++i)
      result = kernels::can_transfer(found.backward(i, 0));
    return result;
  }();
  /// The functions that make the walks of the result, and of the gradient of an input.
  struct forward {
    constexpr operations::transfer_list operator()() const {
      auto const traced = trace_it();
      operations::transfers const found(traced);
      return found.forward(row_of(traced.list.node_of(traced.outputs[0]).shape));
    }
  };
  template <int Input>
  struct backward {
    constexpr operations::transfer_list operator()() const {
      auto const traced = trace_it();
      operations::transfers const found(traced);
      return found.backward(Input, row_of(traced.list.node_of(traced.inputs[Input]).shape));
    }
  };
};

template <class Call, std::size_t... Input>
transfers_of_layer<decltype(layer_of_plan(static_cast<Call const*>(nullptr))), Call::batch,
                   !leaves_out_penalties<typename Call::plan::job>, Call::plan::trains, Call::input_shape(Input)...>
    transfers_type(std::index_sequence<Input...>);
/// The walks of a host_call, or of a type with its interface.
template <class Call>
using transfers_of_call = decltype(transfers_type<Call>(std::make_index_sequence<Call::input_count>{}));

template <class Call>
class transfer_layer {
  using walks = transfers_of_call<Call>;
  using arch = typename Call::architecture;

 public:
  static void forward(Call const& call) {
    call.divide([](Call const& share) {
      kernels::transfer_elements<frozen_draft<typename walks::forward>, Call::batch, false, arch>(
          [&](std::size_t part) {
            int const input = frozen_draft<typename walks::forward>.parts[part].input;
            return std::pair{share.input(input), std::int64_t{Call::input_shape(input).size()}};
          },
          share.output(), share.share());
    });
  }
  static void backward(Call const& call) {
    [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      (input_backward<static_cast<int>(Input)>(call), ...);
    }(std::make_index_sequence<Call::input_count>{});
  }

 private:
  template <int Input>
  static void input_backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(Input)) {
      if constexpr (Call::adds_input_gradient(Input))
        write<Input, true>(call);
      else if (is_written_before(call, Input))
        write<Input, true>(call);
      else
        write<Input, false>(call);
    }
  }
  template <int Input, bool Adds>
  static void write(Call const& call) {
    call.divide([](Call const& share) {
      kernels::transfer_elements<frozen_draft<typename walks::template backward<Input>>, Call::batch, Adds, arch>(
          [&](std::size_t) {
            return std::pair{static_cast<float const*>(share.output_gradient()), std::int64_t{Call::size}};
          },
          share.input_gradient(Input), share.share());
    });
  }
};

/// The argument of a user's `forward(auto const& call) const` and `backward(auto const& call) const`. Tensors are
/// spans of float, (batch, shape...) row by row. In `backward`, gradients are added to: they hold zeros or what other
/// calls have added before.
/// Errors: E4034 for an input or a weight that the layer does not have.
template <class Call>
class layer_call {
 public:
  explicit layer_call(Call const& call) : call_(call) {}

  static constexpr int batch = Call::batch;
  [[nodiscard]] static constexpr shape const& input_shape(int index = 0) { return Call::input_shape(index); }
  [[nodiscard]] static constexpr shape const& output_shape() { return Call::output_shape(); }

  [[nodiscard]] std::span<float const> input(int index = 0) const {
    check("an input", index, Call::input_count);
    return {call_.input(index), input_floats(index)};
  }
  /// The output, which `forward` writes and `backward` reads.
  [[nodiscard]] std::span<float> output() const { return {call_.output(), output_floats}; }
  /// A weight, in the order of `parameters`; one whose layout is `matrix` as a kernels::packed_matrix.
  [[nodiscard]] std::span<float const> weight(int index = 0) const {
    static_assert(report<no_weight_problem>());
    check("a weight", index, Call::parameter_count);
    return {call_.weight(index), static_cast<std::size_t>(Call::stored_floats(index))};
  }
  /// `saved_size` floats per sample that `forward` keeps for `backward`; only while training.
  [[nodiscard]] std::span<float> saved() const {
    return {call_.saved(), !Call::has_saved ? 0 : static_cast<std::size_t>(Call::planned.needs.saved)};
  }
  /// True if the model is being trained.
  static constexpr bool training = Call::plan::trains;

  [[nodiscard]] std::span<float const> output_gradient() const { return {call_.output_gradient(), output_floats}; }
  /// The gradient of an input, to add to. Where nobody wants the gradient, this is memory without a use.
  [[nodiscard]] std::span<float> input_gradient(int index = 0) const {
    check("an input", index, Call::input_count);
    return {Call::wants_input_gradient(index) ? call_.input_gradient(index) : call_.memory.workspace,
            input_floats(index)};
  }
  [[nodiscard]] std::span<float> weight_gradient(int index = 0) const {
    static_assert(report<no_weight_problem>());
    check("a weight", index, Call::parameter_count);
    return {call_.parameter_gradient(index), static_cast<std::size_t>(Call::stored_floats(index))};
  }

 private:
  [[nodiscard]] static constexpr fixed_name const& name() {
    if constexpr (requires { Call::layer_name; })
      return Call::layer_name;
    else
      return Call::plan::graph.layer_of(Call::call).name;
  }
  static constexpr diagnostic no_weight_problem = [] {
    diagnostic problem;
    if (Call::parameter_count == 0)
      problem.report(4034, "layer '", name(), "' uses a weight, but its `parameters` declares none");
    return problem;
  }();
  // The index is a constant nearly always, and then this is nothing.
  static void check(char const* what, int index, int count) {
    if (index < 0 || index >= count)
      throw_data_error("E4034", "layer '%s': asked for %s with number %d, but it has %d", name().characters, what,
                       index, count);
  }
  static constexpr std::size_t output_floats = static_cast<std::size_t>(Call::batch) * Call::size;
  [[nodiscard]] static constexpr std::size_t input_floats(int index) {
    return static_cast<std::size_t>(Call::batch) * static_cast<std::size_t>(Call::input_shape(index).size());
  }

  Call const& call_;
};

/// The steps of a layer on the host: `forward`, `backward` and the floats of workspace that they need on each thread.
/// Where `shared_workspace` is, the first of these are not used, but in `call.memory.shared_workspace()`.
/// Where `divides` is declared and true, a step is called once for each share of its work (`call.share()`), by any
/// thread. Where `has_phases` is, every thread calls it, and `call.divide` inside does that: one after the other, what
/// reads what all shares have written. Else the first thread does all of it. This one serves layers that bring loops of
/// their own.
template <class L>
struct layer_steps {
  template <class Call>
  static constexpr long long workspace() {
    long long largest = 0;
    for (int i = 0; i < Call::input_count; ++i) {
      long long const floats = static_cast<long long>(Call::batch) * Call::input_shape(i).size();
      if (!Call::wants_input_gradient(i) && floats > largest) largest = floats;
    }
    return largest;
  }

  template <class Call>
  static void forward(Call const& call) {
    static_assert(
        requires { Call::layer.forward(layer_call<Call>(call)); },
        "stagecraft: a layer that is run needs `void forward(auto const& call) const`, see "
        "host/steps/layer_steps.hpp [E4030]");
    if constexpr (requires { Call::layer.forward(layer_call<Call>(call)); })
      Call::layer.forward(layer_call<Call>(call));
  }

  template <class Call>
  static void backward(Call const& call) {
    static_assert(
        requires { Call::layer.backward(layer_call<Call>(call)); },
        "stagecraft: a layer that is trained needs `void backward(auto const& call) const`, see "
        "host/steps/layer_steps.hpp [E4031]");
    for (int i = 0; i < Call::input_count; ++i)
      if (Call::wants_input_gradient(i) && !Call::adds_input_gradient(i) && !is_written_before(call, i))
        clear(call.input_gradient(i), static_cast<long long>(Call::batch) * Call::input_shape(i).size());
    if (!Call::adds_parameter_gradient)
      for (int i = 0; i < Call::parameter_count; ++i) clear(call.parameter_gradient(i), Call::stored_floats(i));
    if constexpr (requires { Call::layer.backward(layer_call<Call>(call)); })
      Call::layer.backward(layer_call<Call>(call));
  }

 private:
  static void clear(float* x, long long floats) { std::memset(x, 0, static_cast<std::size_t>(floats) * sizeof(float)); }
};

/// Floats of an operation's workspace that threads share.
template <class Operation, class Call>
inline constexpr long long shared_floats = [] {
  if constexpr (requires { Operation::template shared_workspace<Call>(); })
    return Operation::template shared_workspace<Call>();
  else
    return 0LL;
}();

/// The steps of a layer that is written as a `call`.
struct call_steps {
  static constexpr bool has_phases = true;

  template <class Call>
  static constexpr long long workspace() {
    if constexpr (is_elementwise<Call>)
      return 0;
    else if constexpr (transfers_of_call<Call>::holds)
      return 0;
    else
      return traced_layer<Call>::workspace();
  }
  /// See prepared_weights.
  template <class Call>
  static constexpr long long prepared_floats() {
    if constexpr (is_elementwise<Call> || transfers_of_call<Call>::holds)
      return 0;
    else
      return traced_layer<Call>::prepared_floats();
  }
  /// Bytes of a forward step's large local variables.
  template <class Call>
  static constexpr long long local_bytes() {
    if constexpr (is_elementwise<Call> || transfers_of_call<Call>::holds)
      return 0;
    else
      return traced_layer<Call>::local_bytes();
  }
  template <class Call>
  static void prepare(Call const& call, float* to) {
    traced_layer<Call>::prepare(call, to);
  }
  template <class Call>
  static constexpr long long kept_floats() {
    if constexpr (is_elementwise<Call> || transfers_of_call<Call>::holds)
      return 0;
    else
      return traced_layer<Call>::kept_floats();
  }
  /// True if the forward step reads its inputs and writes its output no further than they are.
  template <class Call>
  static constexpr bool stays_in_bounds() {
    if constexpr (is_elementwise<Call> || transfers_of_call<Call>::holds)
      return false;
    else
      return traced_layer<Call>::stays_in_bounds();
  }
  /// True if it writes its output after it has read its inputs.
  template <class Call>
  static constexpr bool writes_last() {
    return traced_layer<Call>::writes_last();
  }
  template <class Call, class StateOf>
  static void take_states(float* kept, StateOf const& state_of) {
    traced_layer<Call>::take_states(kept, state_of);
  }
  template <class Call, class StateOf>
  static void give_states(float* kept, StateOf const& state_of) {
    traced_layer<Call>::give_states(kept, state_of);
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    if constexpr (is_elementwise<Call> || transfers_of_call<Call>::holds)
      return 0;
    else
      return traced_layer<Call>::shared_workspace();
  }
  template <class Call>
  static void forward(Call const& call) {
    if constexpr (is_elementwise<Call>)
      call.divide([](Call const& part) { elementwise_layer<Call>::forward(part); });
    else if constexpr (transfers_of_call<Call>::holds)
      transfer_layer<Call>::forward(call);
    else
      traced_layer<Call>::forward(call);
  }
  template <class Call>
  static void backward(Call const& call) {
    if constexpr (is_elementwise<Call>)
      call.divide([](Call const& part) { elementwise_layer<Call>::backward(part); });
    else if constexpr (transfers_of_call<Call>::holds)
      transfer_layer<Call>::backward(call);
    else
      traced_layer<Call>::backward(call);
  }
  template <int Input, class Call>
  [[nodiscard]] static auto epilogue(Call const& call, float* /*workspace*/) {
    return elementwise_layer<Call>::template epilogue<Input>(call);
  }

 private:
  template <class Call>
  static constexpr bool is_elementwise = elementwise_call_of<Call, Call::plan::trains>::facts.holds ||
                                         elementwise_call_of<Call, Call::plan::trains>::facts.function != linear;
};

/// The steps of a layer by the kernel that it names in `steps_by`; host/layer_steps/ has one for each.
template <layer_kernel Kernel, class L>
struct kernel_steps;
template <class L>
struct kernel_steps<layer_kernel::none, L> : call_steps {};

template <class L>
  requires HasCall<L>
struct layer_steps<L> : kernel_steps<kernel_of<L>, L> {};

/// True if threads divide the steps of an operation among them.
template <class Operation>
inline constexpr bool divides_steps = [] {
  if constexpr (requires { Operation::divides; })
    return Operation::divides;
  else
    return false;
}();
template <class Operation>
inline constexpr bool has_phases = [] {
  if constexpr (requires { Operation::has_phases; })
    return Operation::has_phases;
  else
    return false;
}();

/// The steps of a layer whose output is its input's memory: there are none.
struct view_steps {
  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }
  template <class Call>
  static void forward(Call const&) {}
  template <class Call>
  static void backward(Call const&) {}
};

}  // namespace stagecraft::cpu
