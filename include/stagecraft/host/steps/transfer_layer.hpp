// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that only moves, repeats, scales and sums elements of its inputs: one pass over what is written.
#pragma once

#include <stagecraft/host/steps/traced_layer.hpp>
#include <stagecraft/kernels/elementwise/transfers.hpp>
#include <stagecraft/operations/plan/transfers.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
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
  /// What makes the walks of the result, and of the gradient of an input.
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
/// The walks of a host_call, or of what has its interface.
template <class Call>
using transfers_of_call = decltype(transfers_type<Call>(std::make_index_sequence<Call::input_count>{}));

template <class Call>
class transfer_layer {
  using walks = transfers_of_call<Call>;
  using arch = typename Call::architecture;

 public:
  static void forward(Call const& call) {
    call.divide([](Call const& share) {
      kernels::transfer_elements<frozen<typename walks::forward>, Call::batch, false, arch>(
          [&](std::size_t part) {
            int const input = frozen<typename walks::forward>.parts[part].input;
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
      kernels::transfer_elements<frozen<typename walks::template backward<Input>>, Call::batch, Adds, arch>(
          [&](std::size_t) {
            return std::pair{static_cast<float const*>(share.output_gradient()), std::int64_t{Call::size}};
          },
          share.input_gradient(Input), share.share());
    });
  }
};

}  // namespace stagecraft::cpu
