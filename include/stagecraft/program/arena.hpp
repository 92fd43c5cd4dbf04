// SPDX-License-Identifier: BSD-3-Clause
// Places buffers with known lifetimes in one block of memory. Level 4.
#pragma once

#include <cstddef>
#include <vector>

namespace stagecraft::detail {

/// A buffer that is alive from step `first` to step `last`, both included.
struct buffer_request {
  int first = 0;
  int last = 0;
  long long size = 0;     // floats
  long long offset = -1;  // given by `place`
};

/// First fit in the order of the first steps; memory is free again after a buffer's last step. Offsets are multiples of
/// 16 floats. Returns the floats needed in all.
constexpr long long place(std::vector<buffer_request>& buffers) {
  constexpr long long alignment = 16;
  std::vector<std::size_t> order;
  order.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::size_t position = order.size();
    while (position > 0 && buffers[order[position - 1]].first > buffers[i].first) --position;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(position), i);
  }
  std::vector<std::size_t> alive;  // by offset
  long long end = 0;
  for (std::size_t const index : order) {
    auto& buffer = buffers[index];
    std::size_t kept = 0;
    for (std::size_t const other : alive)
      if (buffers[other].last >= buffer.first) alive[kept++] = other;
    alive.resize(kept);
    long long const size = (buffer.size + alignment - 1) / alignment * alignment;
    long long offset = 0;
    std::size_t position = 0;
    while (position < alive.size() && buffers[alive[position]].offset - offset < size) {
      auto const& other = buffers[alive[position++]];
      offset = other.offset + (other.size + alignment - 1) / alignment * alignment;
    }
    buffer.offset = offset;
    alive.insert(alive.begin() + static_cast<std::ptrdiff_t>(position), index);
    if (offset + size > end) end = offset + size;
  }
  return end;
}

}  // namespace stagecraft::detail
