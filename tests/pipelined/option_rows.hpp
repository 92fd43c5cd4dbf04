// SPDX-License-Identifier: BSD-3-Clause
// Combinations of options: rows drawn at random and made legal. The rows of the tests are chosen so that together they
// have every pair of choices that any row can have, which covering_test.cpp checks.
#pragma once

#include <stagecraft/description/replication.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <array>
#include <cstddef>

#include "random_numbers.hpp"
#include "random_stages.hpp"

namespace random_runs {

/// One choice of everything that must not change a bit of the results, or changes them in the same way without stages.
struct option_row {
  /// The choices as numbers, in the order below.
  static constexpr std::array choices{3, 4, 2, 2, 3, 3, 2, 2, 3, 2, 3, 2, 2, 3, 3, 3, 4};
  static constexpr std::size_t count = choices.size();
  std::array<int, count> drawn{};

  template <class Choice>
  [[nodiscard]] constexpr Choice as(std::size_t index) const {
    return static_cast<Choice>(drawn[index]);
  }
  [[nodiscard]] constexpr sc::schedule schedule() const {
    constexpr sc::schedule all[]{sc::schedule::grouped, sc::schedule::interleaved, sc::schedule::sequential};
    return all[drawn[0]];
  }
  [[nodiscard]] constexpr auto recomputation_mode() const { return as<sc::recomputation_mode>(1); }
  [[nodiscard]] constexpr auto activations() const {
    return drawn[2] == 0 ? sc::offload::automatic : sc::offload::remote;
  }
  [[nodiscard]] constexpr auto gradients() const {
    return drawn[3] == 0 ? sc::offload::automatic : sc::offload::remote;
  }
  [[nodiscard]] constexpr auto optimizer_state() const { return as<sc::offload>(4); }
  [[nodiscard]] constexpr auto weights() const { return as<sc::offload>(5); }
  [[nodiscard]] constexpr bool shards_optimizer_state() const { return drawn[6] == 1; }
  [[nodiscard]] constexpr bool shards_weights() const { return drawn[7] == 1; }
  [[nodiscard]] constexpr int replicas() const { return drawn[8] + 1; }
  [[nodiscard]] constexpr auto cross_replica_reduction() const { return as<sc::cross_replica_reduction>(9); }
  [[nodiscard]] constexpr auto reduction_method() const { return as<sc::gradient_accumulation_reduction_method>(10); }
  [[nodiscard]] constexpr auto accumulation_dtype() const {
    return drawn[11] == 0 ? sc::dtype::float32 : sc::dtype::float16;
  }
  [[nodiscard]] constexpr int batch_serialization() const { return drawn[12] == 0 ? 1 : 2; }
  /// One; few, so that a thread has devices of two replicas and a replica devices on two threads; or one for each
  /// device.
  [[nodiscard]] constexpr int threads() const {
    int const few = replicas() == 3 ? 2 : 3;
    return drawn[13] == 0 ? 1 : drawn[13] == 1 ? few : 64;
  }
  [[nodiscard]] constexpr int optimizer() const { return drawn[14]; }
  [[nodiscard]] constexpr auto devices() const { return as<devices_drawn>(15); }
  [[nodiscard]] constexpr int stages() const { return drawn[16] + 2; }

  constexpr explicit option_row(unsigned seed) {
    random_numbers random(seed);
    for (std::size_t i = 0; i < count; ++i) drawn[i] = random.below(choices[i]);
    make_legal(random);
  }

 private:
  // Which side of an illegal pair gives way is drawn, so that no choice becomes rare.
  constexpr void make_legal(random_numbers& random) {
    if (batch_serialization() > 1) {
      if (random.one_of(2)) {
        drawn[12] = 0;
      } else {
        drawn[0] = 2;
        drawn[10] = 0;
        drawn[15] = static_cast<int>(devices_drawn::one_for_all);
      }
    }
    if (schedule() == sc::schedule::interleaved) drawn[15] = static_cast<int>(devices_drawn::one_each);
    using enum sc::recomputation_mode;
    if ((schedule() == sc::schedule::sequential && recomputation_mode() == recompute_then_backpropagate) ||
        (schedule() == sc::schedule::interleaved && recomputation_mode() == recompute_and_backpropagate_interleaved))
      drawn[1] = random.below(2);
    if (shards_optimizer_state() && optimizer_state() == sc::offload::on_device) drawn[4] = random.one_of(2) ? 0 : 2;
    if (shards_weights() && weights() == sc::offload::on_device) drawn[5] = random.one_of(2) ? 0 : 2;
  }
};

/// The rows that are tested, by their seeds. The first of each schedule hand micro-batches from thread to thread with
/// recomputation: the sanitizers see those.
inline constexpr unsigned grouped_rows[]{1463, 136, 3890, 6, 599, 933, 518, 2003, 3175};
inline constexpr unsigned interleaved_rows[]{2622, 1451, 2679, 3561, 1063, 3375};
inline constexpr unsigned sequential_rows[]{953, 3457, 3836, 219, 488, 1097, 2047};

}  // namespace random_runs
