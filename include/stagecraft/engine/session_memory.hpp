// SPDX-License-Identifier: BSD-3-Clause
// The memory of a session's replicas, and the weights and the optimizer's state in it as users and other processes see
// them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/threads/owned.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::engine {

/// The memory of the replicas of this process, a base of session.
template <class Sizes>
class session_memory {
  using memory_type = pipeline_memory<Sizes>;
  using layout = weight_layout<typename Sizes::model, typename Sizes::architecture>;

 public:
  /// The memory of one of this process's replicas.
  [[nodiscard]] memory_type const& memory_of_replica(int number) const { return *replicas_[number]; }
  [[nodiscard]] aligned_block& memory_of_weights(int replica = 0) { return replicas_[replica]->weights; }
  /// Has copies of weights that another session keeps in a layout of its own, made before a run or a look at them once
  /// they have changed, from now on: call session::weight first. What training or set_weights changes is given back; a
  /// predictor's cannot be set (E4108).
  void copy_weights_from(copied_weights from) {
    copied_ = std::move(from);
    replicas_[0]->weights.expect_changes();
  }
  /// True if there are such copies.
  [[nodiscard]] bool copies_weights() const noexcept { return copied_.exist(); }

  /// Copies one of the numbers that the optimizer keeps with each element of a parameter, from or to its row-major
  /// shape; of all replicas if each holds a part, or else from the first one. Where other processes hold parts, it is
  /// what `keep_state` has been given.
  template <std::size_t Parameter>
  void read_optimizer_slot(int slot, float* row_major) const {
    aligned_block const stored(Sizes::weights.size[Parameter]);
    if (keeps_state() && kept_state_.size() > 0)
      std::copy_n(kept_state<Parameter>(slot), Sizes::weights.size[Parameter], stored.data());
    else
      read_stored_slot<Parameter>(slot, stored.data());
    layout::template unpack<Parameter>(stored.data(), row_major);
  }
  template <std::size_t Parameter>
  void write_optimizer_slot(int slot, float const* row_major) {
    aligned_block const stored(Sizes::weights.size[Parameter]);
    layout::template pack<Parameter>(row_major, stored.data());
    write_stored_slot<Parameter>(slot, stored.data());
    if constexpr (keeps_state()) keep_state<Parameter>(slot, stored.data());
  }
  /// As write_optimizer_slot, for the parts of this process's replicas alone.
  template <std::size_t Parameter>
  void write_own_slot(int slot, float const* row_major) {
    aligned_block const stored(Sizes::weights.size[Parameter]);
    layout::template pack<Parameter>(row_major, stored.data());
    write_stored_slot<Parameter>(slot, stored.data());
  }
  /// Copies the parts of such a number that replicas of this process hold, from or to the order in which the weight is
  /// stored.
  template <std::size_t Parameter>
  void read_stored_slot(int slot, float* stored) const {
    for_each_state_part<Parameter>(slot, [&](float const* part, auto elements) {
      std::copy_n(part, elements.last - elements.first, stored + elements.first);
    });
  }
  template <std::size_t Parameter>
  void write_stored_slot(int slot, float const* stored) {
    for_each_state_part<Parameter>(slot, [&](float* part, auto elements) {
      std::copy_n(stored + elements.first, elements.last - elements.first, part);
    });
  }
  /// True if processes hold parts of the optimizer's state, of which one may keep all.
  [[nodiscard]] static constexpr bool keeps_state() { return Sizes::shards_state && !Sizes::processes::is_alone; }
  [[nodiscard]] bool has_kept_state() const noexcept { return kept_state_.size() > 0; }
  /// Keeps all of such a number, of which processes hold parts, for files and views.
  template <std::size_t Parameter>
  void keep_state(int slot, float const* stored) {
    if (kept_state_.size() == 0) kept_state_ = aligned_block(Sizes::weights.floats * Sizes::slots);
    std::copy_n(stored, Sizes::weights.size[Parameter], kept_state<Parameter>(slot));
  }

 protected:
  /// True if this process has a weight: those of its devices, and the first process all, which users see.
  [[nodiscard]] static bool is_used_here([[maybe_unused]] std::size_t parameter) {
    if constexpr (Sizes::splits) {
      if (Sizes::processes::number() == 0) return true;
      for (int i = 0; i < Sizes::replicas_here(); ++i)
        if (Sizes::is_here(Sizes::first_replica() + i, Sizes::device_of_weight(parameter))) return true;
      return false;
    }
    return true;
  }
  /// Copies the weights that a replica of this process uses.
  static void copy_weights(memory_type const& from, memory_type& to) {
    if constexpr (Sizes::splits) {
      for (std::size_t i = 0; i < layout::storage.count; ++i)
        if (Sizes::is_here(to.replica, Sizes::device_of_weight(i)))
          std::copy_n(from.weights.data() + layout::storage.offset[i], layout::storage.size[i],
                      to.weights.data() + layout::storage.offset[i]);
    } else {
      std::copy_n(from.weights.data(), layout::storage.floats, to.weights.data());
    }
  }

  copied_weights copied_;
  owned<memory_type> replicas_[Sizes::replicas];
  std::array<memory_type*, static_cast<std::size_t>(Sizes::replicas)> pointers_{};

 private:
  /// each(part, elements) for each replica's part of one of a parameter's numbers, that of the first one last.
  template <std::size_t Parameter, class Each>
  void for_each_state_part(int slot, Each const& each) const {
    constexpr auto offset = Sizes::state_offset(Parameter);
    for (int i = Sizes::replicas_here(); i-- > 0;) {
      auto elements = kernels::share::range{0, Sizes::weights.size[Parameter]};
      if constexpr (Sizes::shards_state)
        elements = kernels::shard_of(elements.last, replicas_[i]->replica, Sizes::replicas);
      // The first one has what users see, wherever its devices are.
      if (i > 0 && !Sizes::is_here(replicas_[i]->replica, Sizes::device_of_weight(Parameter))) continue;
      each(replicas_[i]->state.data() + offset + slot * Sizes::all_state_floats, elements);
    }
  }

  template <std::size_t Parameter>
  [[nodiscard]] float* kept_state(int slot) const {
    return kept_state_.data() + Sizes::weights.floats * slot + Sizes::weights.offset[Parameter];
  }

  aligned_block kept_state_;  // the optimizer's state of all processes, where one keeps it
};

}  // namespace stagecraft::engine
