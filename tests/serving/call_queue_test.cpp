// SPDX-License-Identifier: BSD-3-Clause
// The order in which calls come into batches: by their priority, then by their arrival.
#include <stagecraft/serving/detail/call_queue.hpp>
#include <doctest/doctest.h>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

using namespace stagecraft::serving::detail;

call_pointer call_of(int priority, std::int64_t samples = 1) {
  auto call = std::make_shared<call_pointer::element_type>();
  call->priority = priority;
  call->samples = samples;
  return call;
}

std::vector<int> taken(call_queue& queue, std::int64_t room) {
  call_batch batch;
  std::int64_t left = 0;
  queue.take(batch, room, left);
  CHECK(left == 0);
  std::vector<int> priorities;
  for (auto const& each : batch) priorities.push_back(each.call->priority);
  return priorities;
}

TEST_CASE("urgent calls come first, those without a priority last") {
  call_queue queue;
  for (int const priority : {0, 2, 0, 1, 2, 1}) queue.push(call_of(priority));
  CHECK(queue.samples() == 6);
  CHECK(taken(queue, 4) == std::vector{1, 1, 2, 2});
  queue.push(call_of(3));
  CHECK(taken(queue, 9) == std::vector{3, 0, 0});
  CHECK(queue.empty());
}

TEST_CASE("calls of one priority come in their order, and a large one lets them go first after each batch") {
  call_queue queue;
  auto const large = call_of(1, 5), first = call_of(1), without = call_of(0);
  queue.push(large);
  queue.push(without);
  queue.push(first);
  CHECK(&queue.front() == large.get());
  CHECK(taken(queue, 2) == std::vector{1});
  CHECK(queue.has_begun());
  CHECK(&queue.front() == first.get());  // of its priority; the one without waits for both
  CHECK(taken(queue, 4) == std::vector{1, 1});
  CHECK(taken(queue, 4) == std::vector{0});
  CHECK(!queue.has_begun());
}

}  // namespace
