// SPDX-License-Identifier: BSD-3-Clause
// The memory that the host's steps work on.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/share.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace stagecraft::cpu {

/// A block of zeros, aligned for every architecture, with room to read (not to write) one register beyond its end.
class aligned_block {
 public:
  /// No memory at all.
  aligned_block() = default;
  explicit aligned_block(long long floats) : size_(static_cast<std::size_t>(floats)) {
    auto const bytes = (size_ + slack) * sizeof(float);
    data_ = static_cast<float*>(::operator new(bytes, alignment));
    std::memset(data_, 0, bytes);
  }
  /// The memory keeps its place.
  aligned_block(aligned_block&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)),
        owners_(std::exchange(other.owners_, nullptr)) {}
  aligned_block& operator=(aligned_block&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(owners_, other.owners_);
    return *this;
  }
  ~aligned_block() {
    if (owners_ != nullptr) {
      if (owners_->fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      delete owners_;
    }
    ::operator delete(data_, alignment);
  }

  /// The same memory, which lasts as long as one of its blocks. By one thread at a time for each of them.
  [[nodiscard]] aligned_block share() {
    if (owners_ == nullptr) owners_ = new std::atomic<int>(1);
    aligned_block other;
    owners_->fetch_add(1, std::memory_order_relaxed);
    other.size_ = size_;
    other.data_ = data_;
    other.owners_ = owners_;
    return other;
  }
  /// Whether another block has this memory, too. What it has done there is seen when it has none of it any more.
  [[nodiscard]] bool is_shared() const noexcept {
    return owners_ != nullptr && owners_->load(std::memory_order_acquire) > 1;
  }

  [[nodiscard]] float* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool holds(float const* element) const noexcept {
    return reinterpret_cast<std::uintptr_t>(element) - reinterpret_cast<std::uintptr_t>(data_) < size_ * sizeof(float);
  }

 private:
  static constexpr std::size_t slack = 64;
  static constexpr std::align_val_t alignment{64};

  std::size_t size_ = 0;
  float* data_ = nullptr;
  std::atomic<int>* owners_ = nullptr;  // of memory that has been shared
};

}  // namespace stagecraft::cpu

namespace stagecraft::tiles {

struct operation_cost;
class tile_machine;

}  // namespace stagecraft::tiles

namespace stagecraft::cpu {

/// What a step finds at run time, on one thread. All else is constant.
struct host_memory {
  float* block = nullptr;  ///< the program's tensors
  float* weights = nullptr;
  float* gradients = nullptr;
  std::uint16_t* halves = nullptr;   ///< gradients that are accumulated in half precision, in their layout
  float* widened = nullptr;          ///< room for a step's tensors as floats, where they are stored in 16 bits
  float* slots = nullptr;            ///< the optimizer's state: one copy of the weights' layout after the other
  float* workspace = nullptr;        ///< of this thread alone, behind what threads share
  float* first_workspace = nullptr;  ///< of the first thread; null if there is one thread only
  std::uint64_t seed = 1;
  std::uint64_t step = 0;        ///< training steps so far: tells the dropout masks of two steps apart
  std::int64_t micro_batch = 0;  ///< of an execution: tells the places of a ring apart
  int accumulated = 0;           ///< micro-batches of this weight update before this one
  std::int64_t update = 1;       ///< number of the weight update that this step belongs to, from 1
  float learning_rate = 0;
  double const* norms = nullptr;           ///< of the weight that is updated, as its optimizer reads them
  float loss_scale = 1;                    ///< by which the loss is multiplied, if that changes
  float const* prepared = nullptr;         ///< what steps have made of the weights once (prepared_weights)
  float const* samples = nullptr;          ///< of an input that may stay where the caller has it
  int valid_samples = 0;                   ///< samples of this step; the rest of the batch only fills it
  kernels::share share = {};               ///< which part of the work this is
  sharing_team::member* member = nullptr;  ///< null if there is one thread only
  // Of emulated IPUs.
  tiles::operation_cost* counted = nullptr;  ///< of the pass or the weight update
  tiles::tile_machine* tiles = nullptr;      ///< of the device, if steps run tile by tile
  float* held_gradients = nullptr;           ///< room of the device, where gradients are rounded before they are added

  /// A workspace that all threads of a step see.
  [[nodiscard]] float* shared_workspace() const { return first_workspace != nullptr ? first_workspace : workspace; }
};

/// Floats that a step needs: on a thread, and those of them that no other thread sees, which are the last ones.
struct workspace_size {
  long long all = 0, own = 0;

  [[nodiscard]] constexpr workspace_size or_more(workspace_size const& other) const {
    return {all < other.all ? other.all : all, own < other.own ? other.own : own};
  }
};

/// Where a loss's gradient goes: `to`, or, if something is there already, `scratch`, from where it is added.
struct loss_gradient {
  float* to = nullptr;  ///< null: nobody wants it
  float* scratch = nullptr;
};

/// Where the optimizer's state of a range of a weight lies.
struct optimizer_state {
  float* slots = nullptr;
  long long stride = 0;  ///< from one number of a weight's state to the next
};

/// Calls `part(memory)` for the shares of the work that fall to this thread, and waits until all are done: for all of
/// it where there is one thread only.
template <class Part>
void divide(host_memory const& memory, Part const& part) {
  if (memory.member == nullptr) return part(memory);
  memory.member->divide([&](int number) {
    host_memory own = memory;
    own.share = {number, memory.member->pieces()};
    part(own);
  });
}

}  // namespace stagecraft::cpu
