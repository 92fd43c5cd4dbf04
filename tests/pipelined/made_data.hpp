// SPDX-License-Identifier: BSD-3-Clause
// Made-up micro-batches for sessions of any model, and all that a session tells of what it did with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace random_runs {

/// A number in (-1, 1) for each pair.
inline float number(int sample, int index) {
  std::uint32_t z = static_cast<std::uint32_t>(sample * 7919 + index * 104729 + 12345) * 2654435761U;
  z ^= z >> 15U;
  z *= 2246822519U;
  z ^= z >> 13U;
  return static_cast<float>(static_cast<std::int32_t>(z >> 8U) - (1 << 23)) / static_cast<float>(1 << 23);
}

/// Feeds replicas with micro-batches of their own; every fifth one lacks samples. With `alike`, all replicas get those
/// of the first.
template <class Session>
class made_data {
 public:
  explicit made_data(int first_step, bool alike = false) : first_step_(first_step), alike_(alike) {}

  void operator()(auto& to, int replica, int step) const {
    int const micro_batch = (first_step_ + step) * 8 + (alike_ ? 0 : replica);
    int const count = micro_batch % 5 == 3 && Session::batch > 1 ? Session::batch - 1 : Session::batch;
    for (int i = 0; i < Session::input_count(); ++i) {
      int const size = Session::input_shape(i).size();
      for (int row = 0; row < Session::batch; ++row)
        for (int k = 0; k < size; ++k)
          to.input(i)[row * size + k] = number(micro_batch * 16 + (row < count ? row : 0), 1000 * i + k);
    }
    to.set_valid_samples(count);
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (fill_targets<Output>(to, micro_batch, count), ...);
    }(std::make_index_sequence<Session::output_count>{});
  }

 private:
  template <std::size_t Output>
  static void fill_targets(auto& to, int micro_batch, int count) {
    constexpr bool sparse = Session::sparse_targets(Output);
    constexpr int size = Session::output_shape(Output).size(), scales = Session::scales_per_sample(Output);
    constexpr int targets = sparse ? Session::class_numbers(Output) : size, classes = size / targets;
    constexpr int columns = sparse ? 1 : Session::output_shape(Output).back();
    auto* const target = to.template target<Output>();
    for (int i = 0; i < Session::batch * scales; ++i) {
      float const sample_weight = i % 3 == 1 ? 0.5F : 1.0F;
      to.scale(Output)[i] = i / scales < count ? sample_weight / static_cast<float>(count * scales) : 0;
    }
    for (int i = 0; i < Session::batch * targets; ++i) {
      bool const valid = i / targets < count;
      float const value = number(micro_batch * 16 + i / targets, 5000 + 50 * (i / columns) + i % columns);
      if constexpr (sparse)
        target[i] = static_cast<std::remove_cvref_t<decltype(*target)>>(
            valid ? static_cast<int>(value * 1000 + 1000) % classes : 0);
      else
        target[i] = valid ? value : 0;
    }
  }

  int first_step_;
  bool alike_;
};

/// What `results` saw of each micro-batch, replica by replica, as numbers that can be compared bit by bit.
template <class Session>
class seen_results {
 public:
  explicit seen_results(int steps) : steps_(steps), floats_(at(Session::replicas, 0), 0) {}

  /// Called by several threads, each for a replica of its own.
  void add(auto const& view) {
    auto next = floats_.begin() + static_cast<std::ptrdiff_t>(at(view.replica(), view.step()));
    *next++ += 1;  // seen once
    *next++ = view.total_loss();
    *next++ = static_cast<float>(view.valid_samples());
    *next++ = view.training() ? 1.0F : 0.0F;
    for (std::size_t output = 0; output < Session::output_count; ++output) {
      *next++ = view.loss(output);
      int const size = Session::batch * Session::output_shape(output).size();
      next = std::copy_n(view.prediction(output), size, next);
    }
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      ((*next++ = static_cast<float>(view.template target<Output>()[0])), ...);
    }(std::make_index_sequence<Session::output_count>{});
  }
  [[nodiscard]] std::vector<float> const& floats() const { return floats_; }
  [[nodiscard]] bool saw_each_once() const {
    for (int replica = 0; replica < Session::replicas; ++replica)
      for (int step = 0; step < steps_; ++step)
        if (floats_[at(replica, step)] != 1.0F) return false;
    return true;
  }

 private:
  static constexpr std::size_t width = [] {
    std::size_t floats = 4;
    for (std::size_t output = 0; output < Session::output_count; ++output)
      floats += 2 + static_cast<std::size_t>(Session::batch * Session::output_shape(output).size());
    return floats;
  }();
  [[nodiscard]] std::size_t at(int replica, int step) const {
    return static_cast<std::size_t>(replica * steps_ + step) * width;
  }

  int steps_;
  std::vector<float> floats_;
};

/// All weights, one after the other.
template <class Session>
std::vector<float> weights_of(Session const& session) {
  std::vector<float> result;
  [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
    auto const read = [&]<std::size_t Index>() {
      auto const size = static_cast<std::size_t>(Session::graph.parameters[Index].size());
      result.resize(result.size() + size);
      session.template read_weight<Index>(result.data() + result.size() - size);
    };
    (read.template operator()<Weight>(), ...);
  }(std::make_index_sequence<Session::graph.parameters.size()>{});
  return result;
}

/// The first place where two lists differ in a bit; -1 if there is none.
inline std::ptrdiff_t first_difference(std::vector<float> const& a, std::vector<float> const& b) {
  if (a.size() != b.size()) return static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

}  // namespace random_runs
