// SPDX-License-Identifier: BSD-3-Clause
// The steps of time_distributed on the host: those of its layer, to which all steps of the batch are samples.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>

namespace stagecraft::cpu {

/// `Call` is a host_call of time_distributed, or has its interface.
template <class Call>
struct steps_as_samples : Call {
  static constexpr auto const& layer = Call::layer.each;
  static constexpr int steps = Call::input_shape(0)[0];
  static constexpr int batch = Call::batch * steps;
  static constexpr int size = Call::size / steps;

  [[nodiscard]] static constexpr shape const& input_shape(int) { return shape_of_input; }
  [[nodiscard]] static constexpr shape const& output_shape() { return shape_of_output; }
  [[nodiscard]] int valid_samples() const { return Call::valid_samples() * steps; }

 private:
  using outer = std::remove_cvref_t<decltype(Call::layer)>;
  static constexpr shape shape_of_input = outer::of_step(Call::input_shape(0));
  static constexpr shape shape_of_output = outer::of_step(Call::output_shape());
};

/// The call as the layer inside sees it.
template <class Call>
struct call_of_steps : steps_as_samples<Call> {
  template <class Work>
  void divide(Work const& work) const {
    Call::divide([&](Call const& part) { work(call_of_steps{{part}}); });
  }
};
/// On a tile, the functions of the constants are compiled once.
template <class Call>
  requires requires { typename Call::constants; }
struct call_of_steps<Call> : steps_as_samples<Call> {
  using constants = call_of_steps<typename Call::constants>;

  template <class Work>
  void divide(Work const& work) const {
    work(*this);
  }
};

template <class L>
  requires(kernel_of<L> == layer_kernel::each_step)
struct layer_steps<L> {
  using Each = decltype(L::each);
  static constexpr bool divides = divides_steps<layer_steps<Each>>;
  static constexpr bool has_phases = detail::has_phases<layer_steps<Each>>;

  template <class Call>
  static constexpr long long workspace() {
    return layer_steps<Each>::template workspace<call_of_steps<Call>>();
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    return shared_floats<layer_steps<Each>, call_of_steps<Call>>;
  }
  template <class Call>
  static void forward(Call const& call) {
    layer_steps<Each>::forward(call_of_steps<Call>{{call}});
  }
  template <class Call>
  static void backward(Call const& call) {
    layer_steps<Each>::backward(call_of_steps<Call>{{call}});
  }
};

}  // namespace stagecraft::cpu
