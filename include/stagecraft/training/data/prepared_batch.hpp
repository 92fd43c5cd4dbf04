// SPDX-License-Identifier: BSD-3-Clause
// A batch that waits for its step.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace stagecraft::trainers {

/// Memory for one batch as a session takes it: samples, targets, the rows' weights in the losses.
template <class Session>
class prepared_batch {
 public:
  prepared_batch() : memory_(offsets.back()) {}

  [[nodiscard]] float* input(int index) { return place(static_cast<std::size_t>(index)); }
  template <std::size_t Output>
  [[nodiscard]] auto* target() {
    return reinterpret_cast<typename Session::template target_type<Output>*>(place(inputs + Output));
  }
  [[nodiscard]] float* scale(std::size_t output) { return place(inputs + outputs + output); }
  void set_valid_samples(int count) { valid_samples_ = count; }

  /// Copies all of it to where a step finds it.
  template <class Destination>
  void copy_inputs(Destination& to) {
    for (int i = 0; i < Session::input_count(); ++i) copy(static_cast<std::size_t>(i), to.input(i));
    to.set_valid_samples(valid_samples_);
  }
  template <class Destination>
  void copy_all(Destination& to) {
    copy_inputs(to);
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (copy(inputs + Output, to.template target<Output>()), ...);
    }(std::make_index_sequence<outputs>{});
    for (std::size_t output = 0; output < outputs; ++output) copy(inputs + outputs + output, to.scale(output));
  }

 private:
  static constexpr auto inputs = static_cast<std::size_t>(Session::input_count());
  static constexpr std::size_t outputs = Session::output_count;
  static constexpr std::size_t parts = inputs + (Session::has_losses ? 2 * outputs : 0);

  // Class numbers take as many bytes as floats.
  static constexpr long long floats(std::size_t part) {
    long long size = 0;
    if (part < inputs)
      size = Session::input_shape(static_cast<int>(part)).size();
    else if (part < inputs + outputs && Session::sparse_targets(part - inputs))
      size = Session::class_numbers(part - inputs);
    else if (part < inputs + outputs)
      size = Session::output_shape(part - inputs).size();
    else
      size = Session::scales_per_sample((part - inputs) % outputs);
    return size * Session::batch;
  }
  // Each part begins a cache line.
  static constexpr std::array<long long, parts + 1> offsets = [] {
    std::array<long long, parts + 1> result{};
    for (std::size_t part = 0; part < parts; ++part) result[part + 1] = result[part] + (floats(part) + 15) / 16 * 16;
    return result;
  }();

  [[nodiscard]] float* place(std::size_t part) { return memory_.data() + offsets[part]; }
  void copy(std::size_t part, void* to) {
    std::memcpy(to, place(part), static_cast<std::size_t>(floats(part)) * sizeof(float));
  }

  aligned_block memory_;
  int valid_samples_ = 0;
};

}  // namespace stagecraft::trainers
