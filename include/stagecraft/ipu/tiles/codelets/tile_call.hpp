// SPDX-License-Identifier: BSD-3-Clause
// A call of a user's own layer on one tile: the constants of the host's call, with tensors in the memory of the tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::tiles {

/// Where the tensors of a call lie; null for what its step does not need.
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

  /// `workspace`: of the size that operation<layer>::workspace says.
  tile_call(Call const& on_host, tensors_type const& tensors, float* workspace)
      : Call(on_host), memory(on_host.memory), tensors_(tensors) {
    memory.workspace = workspace;
    memory.first_workspace = nullptr;
  }

  /// What has the same constants: what follows from them is made once.
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

}  // namespace stagecraft::tiles
