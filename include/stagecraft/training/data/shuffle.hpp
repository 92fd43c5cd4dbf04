// SPDX-License-Identifier: BSD-3-Clause
// The order in which an epoch visits the samples.
// Keras counterpart: the shuffle of fit; the order itself is this library's own, the same on every platform.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/training/data/batch_supply.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::trainers {

/// SplitMix64: one 64-bit number per call, from a counter.
class order_generator {
 public:
  constexpr order_generator(std::uint64_t seed, std::uint64_t stream) noexcept : state_(mix(seed) ^ mix(~stream)) {}

  /// A random number in [0, bound), all equally likely (Lemire's multiplication with rejection).
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    std::uint32_t const threshold = (0u - bound) % bound;
    for (;;) {
      std::uint64_t const product = (next() >> 32) * bound;
      if (static_cast<std::uint32_t>(product) >= threshold) return static_cast<std::uint32_t>(product >> 32);
    }
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }

  std::uint64_t state_;
};

/// Fills `order` with a permutation of 0, 1, ..., size - 1, which depends on size, seed and epoch only (Fisher-Yates).
[[gnu::cold]] constexpr void shuffle_order(tracing::array_view<std::int32_t> order, std::uint64_t seed,
                                           std::uint64_t epoch) noexcept {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  order_generator generator(seed, epoch);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::size_t const j = generator.below(static_cast<std::uint32_t>(i));
    std::int32_t const last = order[i - 1];
    order[i - 1] = order[j];
    order[j] = last;
  }
}

/// The batches of an epoch, of samples in memory or from a supply. Allocates once, in the constructor.
class epoch_order {
 public:
  /// \param count number of samples
  /// \param shuffle false: the order of the data, in every epoch
  [[gnu::cold]] epoch_order(std::ptrdiff_t count, bool shuffle, std::uint64_t seed)
      : order_(static_cast<std::size_t>(count)), shuffle_(shuffle), seed_(seed) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::int32_t>(i);
  }

  /// Takes samples in the order in which the supply returns them.
  explicit epoch_order(batch_supply& supply) : shuffle_(false), seed_(0), supply_(&supply) {}

  /// Sets the order of epoch `epoch`; it does not depend on the epochs before, so a training that is continued with
  /// `initial_epoch` sees the samples that an uninterrupted one would have seen.
  [[gnu::cold]] void begin_epoch(int epoch) {
    if (supply_ != nullptr) supply_->begin_epoch(epoch);
    if (shuffle_) shuffle_order(order_, seed_, static_cast<std::uint64_t>(epoch));
  }

  /// Sets the batches of epoch `epoch`, if each epoch takes `steps` of the data's `batches` and goes on where the one
  /// before has ended; each pass over the data has another order.
  void continue_epoch(int epoch, int steps, int batches) {
    if (supply_ != nullptr) return supply_->continue_epoch(epoch, steps);
    std::int64_t const first = std::int64_t{epoch} * steps;
    first_ = static_cast<int>(first % batches);
    begin_epoch(static_cast<int>(first / batches));
    if (!shuffle_ || first_ + steps <= batches) return;
    next_.resize(order_.size());
    shuffle_order(next_, seed_, static_cast<std::uint64_t>(first / batches + 1));
  }

  /// Number of batches; a last one that is not full counts, unless `drop_remainder`.
  [[nodiscard]] int batches(int batch_size, bool drop_remainder = false) const noexcept {
    std::size_t const size = static_cast<std::size_t>(batch_size);
    return static_cast<int>((order_.size() + (drop_remainder ? 0 : size - 1)) / size);
  }

  /// The samples of one of the epoch's batches, of which the data have `batches`; fewer than `batch_size` in a last one
  /// that is not full.
  [[nodiscard]] tracing::array_view<std::int32_t const> batch(int index, int batch_size, int batches) const {
    if (supply_ != nullptr) return supply_->batch(index);
    index += first_;
    auto const& order = index < batches || next_.empty() ? order_ : next_;
    std::size_t const first = static_cast<std::size_t>(index % batches) * static_cast<std::size_t>(batch_size);
    std::size_t const left = order.size() - first;
    return tracing::array_view<std::int32_t const>(order).subspan(
        first, left < static_cast<std::size_t>(batch_size) ? left : batch_size);
  }
  /// The number of the batch's first sample among those that the epoch visits.
  [[nodiscard]] std::ptrdiff_t first_sample(int index, int batch_size) const {
    return supply_ != nullptr ? supply_->first_sample(index) : std::ptrdiff_t{index} * batch_size;
  }

 private:
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> next_;  // the order of the next pass, if the data end within an epoch
  int first_ = 0;
  bool shuffle_;
  std::uint64_t seed_;
  batch_supply* supply_ = nullptr;
};

}  // namespace stagecraft::trainers
