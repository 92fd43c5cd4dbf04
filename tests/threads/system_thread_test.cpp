// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/mutex.hpp>
#include <stagecraft/threads/system_thread.hpp>

#include <doctest/doctest.h>

namespace {

using namespace stagecraft::threads;

struct counter {
  mutex door;
  condition changed;
  int sum = 0;
  int ended = 0;

  static void add(void* self, int number) noexcept {
    auto& counted = *static_cast<counter*>(self);
    for (int i = 0; i < 1000; ++i) {
      scoped_lock const lock(counted.door);
      counted.sum += number;
    }
    scoped_lock lock(counted.door);
    ++counted.ended;
    lock.unlock();
    counted.changed.wake_all();
  }
};

TEST_CASE("threads get their number, and one at a time has a mutex") {
  counter counted;
  system_thread threads[4];
  for (int i = 0; i < 4; ++i) threads[i].start(&counter::add, &counted, i + 1);
  {
    scoped_lock lock(counted.door);
    while (counted.ended < 4) counted.changed.wait(lock);
    CHECK(counted.sum == 10'000);
  }
  for (auto& thread : threads) thread.join();
}

TEST_CASE("a mutex that another thread has is not waited for") {
  mutex door;
  scoped_lock const lock(door);
  CHECK(lock.owns_lock());
  struct attempt {
    mutex* door;
    bool got = true;
  } tried{&door};
  system_thread other;
  other.start(
      [](void* what, int) noexcept {
        auto& own = *static_cast<attempt*>(what);
        scoped_lock const second(*own.door, scoped_lock::if_free{});
        own.got = second.owns_lock();
      },
      &tried);
  other.join();
  CHECK_FALSE(tried.got);
}

TEST_CASE("a thread that was not started, or has been joined, is not waited for") {
  system_thread thread;
  thread.join();
  int calls = 0;
  thread.start([](void* what, int) noexcept { ++*static_cast<int*>(what); }, &calls);
  thread.join();
  thread.join();
  CHECK(calls == 1);
}

}  // namespace
