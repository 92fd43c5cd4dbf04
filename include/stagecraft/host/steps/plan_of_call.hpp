// SPDX-License-Identifier: BSD-3-Clause
// The plan of the steps of a layer that is written as a `call`, once for all calls that are alike.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <cstdint>
#include <iterator>
#include <utility>

namespace stagecraft::cpu {

/// The plan of a layer's steps on inputs of these shapes, once for all calls that are alike. Bit i of `Wanted`: the
/// gradient of input i is wanted, and of `Written`, that it may be written where it belongs; then come those of the
/// weights. `FindsLosses`: not for predictions alone.
template <class Layer, int Batch, bool FindsLosses, bool TrainsModel, bool Trains, std::uint64_t Wanted,
          std::uint64_t Written, shape... Inputs>
class plan_of_layer {
  struct make {
    constexpr operations::traced_plan operator()() const {
      shape const shapes[]{Inputs...};
      auto traced = trace_layer(Layer::value, shapes, Batch, TrainsModel, FindsLosses);
      bool wanted[64]{}, written[64]{};
      for (std::size_t i = 0; i < std::size(wanted); ++i) {
        wanted[i] = (Wanted >> i & 1U) != 0;
        written[i] = (Written >> i & 1U) != 0;
      }
      // Some layers are carried out for the whole batch at once: their plan takes compilers less.
      constexpr bool is_divided = !requires { Layer::value.sees_whole_batches; };
      return operations::traced_plan(std::move(traced), Trains, wanted, is_divided ? Batch : 1, written, true);
    }
  };

 public:
  static constexpr auto const& value = frozen_draft<make>;
};

/// A bit for each gradient of a call for which `is(index)`, of inputs and then of weights.
template <class Call, class Is>
constexpr std::uint64_t gradient_bits(Is const& is) {
  std::uint64_t bits = 0;
  for (int i = 0; i < Call::input_count + Call::parameter_count && i < 64; ++i)
    if (is(i)) bits |= std::uint64_t{1} << i;
  return bits;
}
template <class Call>
constexpr bool wants_gradient(int index) {
  return index < Call::input_count ? Call::wants_input_gradient(index)
                                   : Call::wants_parameter_gradient(index - Call::input_count);
}
template <class Call>
constexpr bool writes_gradient(int index) {
  if (!wants_gradient<Call>(index)) return false;
  if (index >= Call::input_count) return !Call::adds_parameter_gradient;
  // A tensor may stand twice among the inputs: then the second gradient is added to the first.
  for (int i = 0; i < Call::input_count; ++i)
    if (i != index && Call::input_call(i) == Call::input_call(index)) return false;
  return !Call::adds_input_gradient(index);
}

/// True if the gradient of an input has been written already, since the same tensor stands twice among the inputs: then
/// the second gradient is added to the first.
template <class Call>
bool is_written_before(Call const& call, int index) {
  for (int i = 0; i < index; ++i)
    if (Call::wants_input_gradient(i) && call.input_gradient(i) == call.input_gradient(index)) return true;
  return false;
}
/// A layer, which is the same for calls that are alike.
template <class Call>
struct layer_of_call {
  static constexpr auto const& value = Call::layer;
};
template <auto Layer>
struct layer_of_calls {
  static constexpr auto value = Layer;
};
template <class Call>
layer_of_call<Call> layer_of_plan(Call const*);
template <LayerIsArgument Call>
layer_of_calls<anonymous(Call::layer)> layer_of_plan(Call const*);

template <class Call, std::size_t... Input>
plan_of_layer<decltype(layer_of_plan(static_cast<Call const*>(nullptr))), Call::batch,
              !leaves_out_penalties<typename Call::plan::job>, Call::plan::trains, Call::trains,
              gradient_bits<Call>(wants_gradient<Call>), gradient_bits<Call>(writes_gradient<Call>),
              Call::input_shape(Input)...>
    plan_type_of_call(std::index_sequence<Input...>);

/// The plan of a call's steps. `Call` is a host_call.
template <class Call>
class plan_of_call : public decltype(plan_type_of_call<Call>(std::make_index_sequence<Call::input_count>{})) {};
/// A call on a tile has the plan of the call on the host.
template <class Call>
  requires requires { typename Call::constants; }
class plan_of_call<Call> : public plan_of_call<typename Call::constants> {};

}  // namespace stagecraft::cpu
