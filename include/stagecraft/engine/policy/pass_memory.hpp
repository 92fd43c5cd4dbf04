// SPDX-License-Identifier: BSD-3-Clause
// The memory of a pass: what its steps find at run time, by how long it lasts.
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

namespace stagecraft::engine {

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
  /// Pages of zeros from the system, which provides each when it is first written, and takes all back.
  struct page_source {
    void* (*take)(std::size_t bytes);
    void (*give_back)(void* pages, std::size_t bytes) noexcept;
  };
  /// A block of zeros of which a process uses parts: the rest takes addresses alone.
  [[nodiscard]] static aligned_block of_pages(long long floats, page_source const& from) {
    aligned_block result;
    auto const size = static_cast<std::size_t>(floats), bytes = (size + slack) * sizeof(float);
    result.owners_ = new owners{1, nullptr, from.give_back, bytes};
    result.owners_->all = result.data_ = static_cast<float*>(from.take(bytes));
    result.size_ = size;
    return result;
  }
  /// The memory keeps its place.
  aligned_block(aligned_block&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)),
        owners_(std::exchange(other.owners_, nullptr)),
        changes_elsewhere_(std::exchange(other.changes_elsewhere_, false)) {}
  aligned_block& operator=(aligned_block&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(owners_, other.owners_);
    std::swap(changes_elsewhere_, other.changes_elsewhere_);
    return *this;
  }
  ~aligned_block() {
    float* all = data_;
    if (owners_ != nullptr) {
      if (owners_->count.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      all = owners_->all;
      if (owners_->give_back != nullptr) {
        if (all != nullptr) owners_->give_back(all, owners_->bytes);
        all = nullptr;
      }
      delete owners_;
    }
    ::operator delete(all, alignment);
  }

  /// Another block on the same memory, which lasts as long as one of its blocks. Only one thread at a time calls it.
  [[nodiscard]] aligned_block share() {
    if (owners_ == nullptr) owners_ = new owners{1, data_};
    aligned_block other;
    owners_->count.fetch_add(1, std::memory_order_relaxed);
    other.size_ = size_;
    other.data_ = data_;
    other.owners_ = owners_;
    other.changes_elsewhere_ = changes_elsewhere_;
    return other;
  }
  /// Another block on a part of the memory. What either writes, the other finds changed.
  [[nodiscard]] aligned_block share_part(long long first, long long floats) {
    changes_elsewhere_ = true;
    aligned_block other = share();
    other.data_ += first;
    other.size_ = static_cast<std::size_t>(floats);
    return other;
  }
  /// True if the numbers may change without a call of this block's owner.
  [[nodiscard]] bool changes_elsewhere() const noexcept { return changes_elsewhere_; }
  /// Says that the numbers may change without a call of this block's owner.
  void expect_changes() noexcept { changes_elsewhere_ = true; }
  /// Counts a change of the numbers, for those who copy them. Others than the thread that owns the blocks do not ask.
  void count_change() noexcept {
    if (owners_ != nullptr) ++owners_->changes;
  }
  [[nodiscard]] std::uint64_t changes() const noexcept { return owners_ != nullptr ? owners_->changes : 0; }
  /// True if another block has this memory, too. Once the last other block is gone, this thread sees all that was
  /// written through it.
  [[nodiscard]] bool is_shared() const noexcept {
    return owners_ != nullptr && owners_->count.load(std::memory_order_acquire) > 1;
  }

  /// Floats that a block takes beside those that it is asked for.
  [[nodiscard]] static constexpr long long slack_floats() noexcept { return slack; }

  [[nodiscard]] float* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool holds(float const* element) const noexcept {
    return reinterpret_cast<std::uintptr_t>(element) - reinterpret_cast<std::uintptr_t>(data_) < size_ * sizeof(float);
  }

 private:
  static constexpr std::size_t slack = 64;
  static constexpr std::align_val_t alignment{64};

  struct owners {
    std::atomic<int> count;
    float* all;  // the memory, which begins before a part of it
    void (*give_back)(void* pages, std::size_t bytes) noexcept = nullptr;
    std::size_t bytes = 0;
    std::uint64_t changes = 0;  // since the memory is shared
  };

  std::size_t size_ = 0;
  float* data_ = nullptr;
  owners* owners_ = nullptr;  // null until the memory is shared
  bool changes_elsewhere_ = false;
};

/// Weights that another session keeps in a layout of its own. They are copied when they have changed, and given back
/// when this session has changed them.
class copied_weights {
 public:
  using copy_function = void (*)(float const* from, float* to);

  /// None.
  copied_weights() = default;
  /// `copy` writes what stands in `from` to the block of this session's weights, `give_back` writes it back.
  copied_weights(aligned_block from, copy_function copy, copy_function give_back)
      : from_(std::move(from)), copy_(copy), give_(give_back) {}
  [[nodiscard]] copied_weights share() {
    return exist() ? copied_weights(from_.share(), copy_, give_) : copied_weights();
  }

  [[nodiscard]] bool exist() const noexcept { return copy_ != nullptr; }
  /// Copies the weights, if they have changed since they were copied.
  void bring(float* to) const {
    if (!exist() || from_.changes() + 1 == seen_) return;
    copy_(from_.data(), to);
    seen_ = from_.changes() + 1;
    are_new_ = true;
  }
  /// Gives weights that have changed back.
  void give(float const* own) {
    if (!exist()) return;
    give_(own, from_.data());
    from_.count_change();
    seen_ = from_.changes() + 1;
  }
  /// Gives weights back when it ends, whatever happens before.
  struct giving {
    copied_weights& to;
    float const* own;

    giving(copied_weights& to_, float const* own_) : to(to_), own(own_) {}
    giving(giving const&) = delete;
    giving& operator=(giving const&) = delete;
    ~giving() { to.give(own); }
  };
  /// True once after each copy.
  [[nodiscard]] bool are_new() noexcept { return std::exchange(are_new_, false); }

 private:
  aligned_block from_;
  copy_function copy_ = nullptr, give_ = nullptr;
  mutable std::uint64_t seen_ = 0;  // 1 + the changes that the copies have
  mutable bool are_new_ = false;
};

/// Base of what a policy keeps for the steps of a device (ExecutionPolicy::begin_pass).
struct machine_memory {};

/// Addresses of a device's tensors. They last as long as the session.
struct device_memory {
  float* block = nullptr;  ///< the plan's tensors
  float* weights = nullptr;
  float* gradients = nullptr;
  std::uint16_t* halves = nullptr;   ///< gradients that are accumulated in half precision, in their layout
  float* widened = nullptr;          ///< room for a step's tensors as floats, where they are stored in 16 bits
  float* slots = nullptr;            ///< the optimizer's state: one copy of the weights' layout after the other
  float* prepared = nullptr;         ///< the weights as the policy has prepared them once (step_weights)
  float* result = nullptr;           ///< where the caller wants the output; null: in the block
  float* kept_states = nullptr;      ///< states that the caller has in place of those of `prepared`; null: none
  float* first_workspace = nullptr;  ///< the first thread's workspace; null if there is one thread only
  machine_memory* machine = nullptr;
};

/// The numbers of one micro-batch or weight update. Lasts as long as its pass, or as the update.
struct pass_numbers {
  std::uint64_t seed = 1;
  std::uint64_t step = 0;        ///< training steps before this one: tells the dropout masks of two steps apart
  std::int64_t micro_batch = 0;  ///< counts from the beginning of an execution: tells the places of a ring apart
  int accumulated = 0;           ///< micro-batches of this weight update before this one
  std::int64_t update = 1;       ///< number of the weight update that this step belongs to, from 1
  float learning_rate = 0;
  float loss_scale = 1;            ///< the factor of the losses, if it changes
  float const* samples = nullptr;  ///< an input that may stay where the caller has it
  int valid_samples = 0;           ///< samples of this step; the rest of the batch only fills it
};

/// Further numbers that the update of one weight reads. They last as long as the update.
struct weight_numbers {
  double const* norms = nullptr;  ///< as the optimizer reads them
};

/// One thread's part of a step. Its share lasts as long as one call of `divide`.
struct thread_part {
  float* workspace = nullptr;              ///< workspace of this thread alone, after the memory that threads share
  sharing_team::member* member = nullptr;  ///< null if there is one thread only
  kernels::share share = {};               ///< the part of the work
};

/// The memory of a step at run time, on one thread. All else is constant.
struct pass_memory : device_memory, pass_numbers, weight_numbers, thread_part {
  /// A workspace that all threads of a step see.
  [[nodiscard]] float* shared_workspace() const { return first_workspace != nullptr ? first_workspace : workspace; }
};

/// Floats of workspace that a step needs on a thread. The last `own` of `all` are seen by no other thread.
struct workspace_size {
  long long all = 0, own = 0;

  [[nodiscard]] constexpr workspace_size or_more(workspace_size const& other) const {
    return {all < other.all ? other.all : all, own < other.own ? other.own : own};
  }
};

/// The destination of a loss's gradient: `to`, or, if something is there already, `scratch`, from where it is added.
struct loss_gradient {
  float* to = nullptr;  ///< null: nobody wants it
  float* scratch = nullptr;
};

/// The place of the optimizer's state of a range of a weight.
struct optimizer_state {
  float* slots = nullptr;
  long long stride = 0;  ///< distance from one number of a weight's state to the next
};

/// Calls `part(memory)` for the shares of the work that fall to this thread, and waits until all are done. With one
/// thread only, the share is all of the work.
template <class Part>
void divide_work(pass_memory const& memory, Part const& part) {
  if (memory.member == nullptr) return part(memory);
  memory.member->divide([&](int number) {
    pass_memory own = memory;
    own.share = {number, memory.member->pieces()};
    part(own);
  });
}

}  // namespace stagecraft::engine
