// SPDX-License-Identifier: BSD-3-Clause
// Where tensors lie in a device's memory: buffers with known lifetimes in one block, and rings of buffers between
// passes.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>

namespace stagecraft::plan {

/// A ring of places, one for each micro-batch that is alive at once. Offsets are floats from the device's block.
struct buffer_place {
  long long offset = -1;
  int depth = 1;
  long long stride = 0;

  [[nodiscard]] constexpr bool exists() const noexcept { return offset >= 0; }
  /// Floats of all places.
  [[nodiscard]] constexpr long long floats() const noexcept { return exists() ? depth * stride : 0; }
  /// The place of a micro-batch.
  [[nodiscard]] constexpr long long at(long long micro_batch) const noexcept {
    return depth == 1 ? offset : offset + micro_batch % depth * stride;
  }
};

/// Puts rings one after the other.
class ring_allocator {
 public:
  constexpr buffer_place place(int depth, long long floats) {
    long long const stride = (floats + 15) / 16 * 16;
    buffer_place const result{floats_, depth, stride};
    floats_ += depth * stride;
    return result;
  }
  [[nodiscard]] constexpr long long floats() const { return floats_; }

 private:
  long long floats_ = 0;
};

/// A buffer that is alive from step `first` to step `last`, both included.
struct buffer_request {
  int first = 0;
  int last = 0;
  long long size = 0;     // floats
  long long offset = -1;  // given by `place`
};

/// First fit in the order of the first steps; memory is free again after a buffer's last step. Offsets are multiples of
/// `alignment`, 16 floats if nothing else is asked for. Returns the floats needed in all.
constexpr long long place(tracing::array_view<buffer_request> requests, long long alignment = 16) {
  // Plain pointers: this is a constant evaluation for hundreds of buffers, in which each call of a function counts.
  buffer_request* const buffers = requests.data();
  int const count = static_cast<int>(requests.size());
  int least = 0, most = 0;
  for (int i = 0; i < count; ++i) {
    if (buffers[i].first < least) least = buffers[i].first;
    if (buffers[i].first > most) most = buffers[i].first;
  }
  growing_array<int> indices(2 * count + most - least + 2, 0);
  growing_array<long long> ends(count, 0);
  int* const order = indices.data();  // buffers by their first steps
  int* const next = order + count;    // those alive, linked by their offsets
  int* const starts = next + count;
  long long* const end = ends.data();
  for (int i = 0; i < count; ++i) ++starts[buffers[i].first - least + 1];
  for (int step = 0; step < most - least; ++step) starts[step + 1] += starts[step];
  for (int i = 0; i < count; ++i) order[starts[buffers[i].first - least]++] = i;

  int head = -1;
  long long floats = 0;
  for (int k = 0; k < count; ++k) {
    int const index = order[k];
    int const first = buffers[index].first;
    long long const size = (buffers[index].size + alignment - 1) / alignment * alignment;
    long long offset = 0;
    int before = -1;
    for (int at = head; at >= 0; at = next[at]) {
      if (buffers[at].last < first) {  // not alive any more
        (before < 0 ? head : next[before]) = next[at];
        continue;
      }
      if (buffers[at].offset - offset >= size) break;
      offset = end[at];
      before = at;
    }
    buffers[index].offset = offset;
    end[index] = offset + size;
    next[index] = before < 0 ? head : next[before];
    (before < 0 ? head : next[before]) = index;
    if (end[index] > floats) floats = end[index];
  }
  return floats;
}

/// Buffers that live as long as something uses them. A slot is the number of one; -1 where there is none.
class buffer_lifetimes {
 public:
  /// Step of a new buffer, or of one that is alive already.
  constexpr void use(int& slot, int step, long long floats) {
    if (slot >= 0) return extend(slot, step);
    slot = static_cast<int>(requests_.size());
    requests_.push_back({step, step, floats});
  }
  constexpr void extend(int slot, int step) {
    if (slot < 0) return;
    auto& request = requests_[slot];
    if (request.first > step) request.first = step;
    if (request.last < step) request.last = step;
  }
  /// Places them all; returns the floats that they take.
  constexpr long long place_all() { return place(requests_); }
  [[nodiscard]] constexpr buffer_request const& request(int slot) const { return requests_[slot]; }
  [[nodiscard]] constexpr long long offset(int slot) const { return slot < 0 ? -1 : requests_[slot].offset; }

 private:
  growing_array<buffer_request> requests_;
};

}  // namespace stagecraft::plan
