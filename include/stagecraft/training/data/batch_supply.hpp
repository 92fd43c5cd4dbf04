// SPDX-License-Identifier: BSD-3-Clause
// Batches of samples that are not in memory as a whole, as an epoch asks for them: what datasets of
// <stagecraft/data/...> are to a run.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::trainers {

/// Arrays for one batch, which are filled again for each one. One thread at a time asks.
class batch_supply {
 public:
  batch_supply() = default;
  batch_supply(batch_supply const&) = delete;
  batch_supply& operator=(batch_supply const&) = delete;
  virtual ~batch_supply() = default;

  /// The samples of this epoch follow, from the first one on.
  virtual void begin_epoch(int epoch) = 0;
  /// Begins an epoch if each takes `batches` batches and goes on where the one before has ended.
  virtual void continue_epoch(int epoch, int batches) = 0;
  /// Fills the arrays with the batch of this number in its epoch, and tells which rows it has: numbers go up, and the
  /// last one may be asked for again.
  [[nodiscard]] virtual tracing::array_view<std::int32_t const> batch(int number) = 0;
  /// How many samples the epoch's batches before this one had, which has been filled.
  [[nodiscard]] virtual std::ptrdiff_t first_sample(int number) const = 0;
};

}  // namespace stagecraft::trainers
