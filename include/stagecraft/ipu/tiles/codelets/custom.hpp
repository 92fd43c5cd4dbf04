// SPDX-License-Identifier: BSD-3-Clause
// A step of a user's own layer on tile 0 of an emulated IPU (ipu/tasks/custom.hpp): it sees the constants of the host's
// call, with tensors in the memory of the tile.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace stagecraft::tiles {

/// The addresses of a call's tensors; null for those that its step does not need.
template <std::size_t Inputs, std::size_t Weights>
struct tile_call_tensors {
  std::array<float*, Inputs> input{}, input_gradient{};
  std::array<float*, Weights> weight{}, weight_gradient{};
  float* output = nullptr;
  float* output_gradient = nullptr;
  float* saved = nullptr;
};

/// `Call` is a host_call. Gradients are written, since the tile's step adds them to others itself (lowering.hpp).
template <class Call>
struct tile_call : Call {
  using tensors_type =
      tile_call_tensors<static_cast<std::size_t>(Call::input_count), static_cast<std::size_t>(Call::parameter_count)>;

  /// `workspace`: of the size that layer_steps<layer>::workspace says.
  tile_call(Call const& on_host, tensors_type const& tensors, float* workspace)
      : Call(on_host), memory(on_host.memory), tensors_(tensors) {
    memory.workspace = workspace;
    memory.first_workspace = nullptr;
  }

  /// The type with the same constants; functions of constants are compiled once for it.
  using constants = Call;

  static constexpr bool adds_parameter_gradient = false;
  [[nodiscard]] static constexpr bool adds_input_gradient(int) { return false; }

  [[nodiscard]] float const* input(int index) const { return tensors_.input[index]; }
  [[nodiscard]] float* input_gradient(int index) const { return tensors_.input_gradient[index]; }
  [[nodiscard]] float* output() const { return tensors_.output; }
  [[nodiscard]] float* output_gradient() const { return tensors_.output_gradient; }
  [[nodiscard]] float* saved() const { return tensors_.saved; }
  [[nodiscard]] float const* weight(int index) const { return tensors_.weight[index]; }
  [[nodiscard]] float* mutable_weight(int index) const { return tensors_.weight[index]; }
  [[nodiscard]] float* parameter_gradient(int index) const { return tensors_.weight_gradient[index]; }

  /// A tile shares its work with nobody.
  [[nodiscard]] static constexpr kernels::share share() { return {}; }
  [[nodiscard]] static constexpr kernels::share::range elements(long long floats) { return share().of(floats, 16); }
  template <class Work>
  void divide(Work const& work) const {
    work(*this);
  }

  pass_memory memory;

 private:
  tensors_type tensors_;
};

/// A whole tensor on tile 0: as it is stored, and as the user's code takes it.
struct custom_copy {
  int tensor = 0;
  tile_view stored;
  tile_view floats;

  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(floats.data()); }
  void convert() const {
    if (stored.data() == floats.data()) return;
    for (std::int64_t i = 0; i < stored.size(); ++i) floats.set(i, stored[i]);
  }
  void convert_back() const {
    if (stored.data() == floats.data()) return;
    for (std::int64_t i = 0; i < stored.size(); ++i) stored.set(i, floats[i]);
  }
};

/// The call's view of the copies. Weights whose layout is `matrix` stand beside the tile's memory, in the panels that
/// the host's kernels want: such panels are no matter of a tile. So do gradients that nobody wants.
template <class Call>
class custom_run {
  using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
  using call_type = tile_call<Call>;
  using layout = weight_layout<typename Call::model, typename Call::architecture>;
  static constexpr auto weights = static_cast<std::size_t>(Call::parameter_count);

 public:
  custom_run(lowered_step const& step, Call const& call) : step_(step), call_(call) {}

  void add(custom_copy const& copy) {
    auto const& tensor = step_.tensors[copy.tensor];
    auto const index = static_cast<std::size_t>(tensor.index);
    switch (tensor.role) {
      case tensor_role::input: tensors_.input[index] = copy.data(); break;
      case tensor_role::output: tensors_.output = copy.data(); break;
      case tensor_role::weight: tensors_.weight[index] = copy.data(); break;
      case tensor_role::saved: tensors_.saved = copy.data(); break;
      case tensor_role::output_gradient: tensors_.output_gradient = copy.data(); break;
      case tensor_role::input_gradient: tensors_.input_gradient[index] = copy.data(); break;
      default:
        if (index >= first_input_gradient)
          tensors_.input_gradient[index - first_input_gradient] = copy.data();
        else
          tensors_.weight_gradient[index - first_weight_gradient] = copy.data();
    }
  }

  void run(custom_function function) {
    for_each_weight([this]<std::size_t Index>() { this->template pack<Index>(); });
    aligned_block workspace(layer_steps<layer_type>::template workspace<call_type>());
    call_type const call(call_, tensors_, workspace.data());
    if (function == custom_function::forward) {
      layer_steps<layer_type>::forward(call);
    } else {
      if constexpr (Call::trains) layer_steps<layer_type>::backward(call);
      for_each_weight([this]<std::size_t Index>() { this->template unpack<Index>(); });
    }
  }

 private:
  static constexpr std::size_t first_weight_gradient = lowered_step::first_weight_gradient,
                               first_input_gradient = lowered_step::first_input_gradient;
  template <std::size_t Index>
  static constexpr std::size_t parameter = static_cast<std::size_t>(Call::first_parameter) + Index;
  template <std::size_t Index>
  static constexpr bool is_matrix = layout::template is_packed<parameter<Index>>;

  template <class Each>
  static void for_each_weight(Each const& each) {
    for_each_index<weights>(each);
  }
  float* beside(std::size_t floats) {
    beside_.emplace_back(static_cast<long long>(floats));
    return beside_.back().data();
  }
  template <std::size_t Index>
  void pack() {
    constexpr auto floats = static_cast<std::size_t>(Call::stored_floats(static_cast<int>(Index)));
    auto& weight = tensors_.weight[Index];
    auto& gradient = tensors_.weight_gradient[Index];
    row_major_gradient_[Index] = gradient;
    if constexpr (is_matrix<Index>) {
      float* const packed = beside(floats);
      layout::template pack<parameter<Index>>(weight, packed);
      weight = packed;
    }
    if (is_matrix<Index> || gradient == nullptr) gradient = beside(floats);
  }
  template <std::size_t Index>
  void unpack() {
    if constexpr (is_matrix<Index>)
      if (row_major_gradient_[Index] != nullptr)
        layout::template unpack<parameter<Index>>(tensors_.weight_gradient[Index], row_major_gradient_[Index]);
  }

  lowered_step const& step_;
  Call const& call_;
  typename call_type::tensors_type tensors_;
  std::array<float*, weights> row_major_gradient_{};
  std::vector<aligned_block> beside_;
};

/// `Call` is the layer's host_call, whose constants the layer sees; its tensors are those of the step.
template <class Call>
void run_custom(tile_machine& machine, task const& task, Call const& call) {
  auto const& what = task.what.as<own_layer_step>();
  auto const& step = machine.step();
  named_tensors const tensors(step, task);
  std::vector<custom_copy> inputs, outputs;
  custom_run<Call> run(step, call);
  auto const allocate = [&](int tensor) {
    auto const& info = step.tensors[tensor];
    auto const stored = machine.allocate(0, info.elements, info.type);
    custom_copy const copy{tensor, stored,
                           info.type == dtype::float16 ? machine.allocate(0, info.elements, dtype::float32) : stored};
    run.add(copy);
    return copy;
  };
  for (int i = 0; i < tensors.input_count; ++i) {
    inputs.push_back(allocate(tensors.inputs[i]));
    machine.receive(inputs.back().stored, 0, inputs.back().tensor, 0, inputs.back().stored.size());
  }
  for (int i = 0; i < tensors.output_count; ++i) {
    auto const is_this = [&](auto const& input) { return input.tensor == tensors.outputs[i]; };
    auto const read = std::find_if(inputs.begin(), inputs.end(), is_this);
    outputs.push_back(read != inputs.end() ? *read : allocate(tensors.outputs[i]));
  }
  machine.end_exchange();

  machine.count_flops(what.flops);
  machine.vertex("OwnLayer", 0, custom_tile_cycles(step, task, machine.target()), [&] {
    for (auto const& input : inputs) input.convert();
    run.run(what.function);
    for (auto const& output : outputs) output.convert_back();
  });
  machine.end_compute_set();

  for (auto const& output : outputs) machine.send(output.stored, 0, output.tensor, 0, output.stored.size());
  machine.end_exchange();
}

}  // namespace stagecraft::tiles
