// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/plan/arena.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sc = stagecraft;
using sc::detail::buffer_request;

namespace {

constexpr bool overlap_in_time(buffer_request const& a, buffer_request const& b) {
  return a.first <= b.last && b.first <= a.last;
}
constexpr bool overlap_in_memory(buffer_request const& a, buffer_request const& b) {
  return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

constexpr long long place_two(buffer_request a, buffer_request b) {
  std::vector<buffer_request> buffers{a, b};
  return sc::detail::place(buffers);
}

}  // namespace

static_assert(place_two({0, 1, 16}, {2, 3, 16}) == 16);  // one after the other in time, in one place
static_assert(place_two({0, 2, 16}, {2, 3, 16}) == 32);  // a step that reads the one and writes the other
static_assert(place_two({0, 2, 1}, {1, 3, 1}) == 32);    // offsets are multiples of 16
static_assert(place_two({2, 3, 100}, {0, 1, 50}) == 112);

TEST_CASE("no two buffers that are alive at once share memory, whatever their lifetimes") {
  std::uint32_t state = 1;
  auto const below = [&](std::uint32_t bound) {
    state = state * 1664525U + 1013904223U;
    return static_cast<int>((state >> 8U) % bound);
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<buffer_request> buffers(static_cast<std::size_t>(1 + below(40)));
    int const steps = 1 + below(30);
    for (auto& buffer : buffers) {
      buffer.first = below(static_cast<std::uint32_t>(steps)) - 1;
      buffer.last = buffer.first + below(static_cast<std::uint32_t>(1 + below(12)));
      buffer.size = below(8) == 0 ? 0 : 1 + below(200);
    }
    auto const floats = sc::detail::place(buffers);
    long long most_alive = 0, all = 0;
    int wrong = 0;
    for (int step = -1; step < steps + 12; ++step) {
      long long alive = 0;
      for (auto const& buffer : buffers)
        if (buffer.first <= step && step <= buffer.last) alive += (buffer.size + 15) / 16 * 16;
      most_alive = std::max(most_alive, alive);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      all += (buffers[i].size + 15) / 16 * 16;
      wrong +=
          buffers[i].offset < 0 || buffers[i].offset % 16 != 0 || buffers[i].offset + buffers[i].size > floats ? 1 : 0;
      for (std::size_t k = 0; k < i; ++k)
        wrong += overlap_in_time(buffers[i], buffers[k]) && overlap_in_memory(buffers[i], buffers[k]) ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(floats >= most_alive);
    CHECK(floats <= all);
  }
}
