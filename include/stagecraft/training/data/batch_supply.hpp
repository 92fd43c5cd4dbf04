// SPDX-License-Identifier: BSD-3-Clause
// The interface by which an epoch asks for batches of samples that are not in memory as a whole; the datasets of
// <stagecraft/data/...> implement it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::trainers {

/// Arrays for one batch, which are refilled for each batch. One thread at a time calls its functions.
class batch_supply {
 public:
  batch_supply() = default;
  batch_supply(batch_supply const&) = delete;
  batch_supply& operator=(batch_supply const&) = delete;
  virtual ~batch_supply() = default;

  /// Begins an epoch with the first sample.
  virtual void begin_epoch(int epoch) = 0;
  /// Begins an epoch of `batches` batches, which goes on where the one before has ended.
  virtual void continue_epoch(int epoch, int batches) = 0;
  /// Fills the arrays with the batch of this number in its epoch, and returns its rows. Numbers increase; the last
  /// batch may be asked for again.
  [[nodiscard]] virtual tracing::array_view<std::int32_t const> batch(int number) = 0;
  /// The number of samples in the epoch's batches before this one, which has been filled.
  [[nodiscard]] virtual std::ptrdiff_t first_sample(int number) const = 0;
};

}  // namespace stagecraft::trainers
