// SPDX-License-Identifier: BSD-3-Clause
// What it costs to hand something over from one thread to another: the queues of batches and of results, and one count
// that a thread publishes for another, each beside the same with std::mutex and std::condition_variable. Names:
// queue/<what>/threads:2/<whose>; nothing in a run on one core. With `busy` the consumer of batches, or the producer of
// results, works for that long on each: what is above it is what the hand-over adds.
#include <stagecraft/threads/background_thread.hpp>
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "machine_benchmark.hpp"

namespace {

using namespace stagecraft::benchmarks;

constexpr int depth = 3;
constexpr std::int64_t items_of_a_run = 2000;

struct item {
  std::array<std::int64_t, 8> values{};
};

void write(item& to, std::int64_t number) { to.values.fill(number); }
void read(item const& from) { benchmark::DoNotOptimize(from.values[7]); }

void work_for(int microseconds) {
  if (microseconds == 0) return;
  auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// The usual bounded queue of one producer and one consumer; items stay in place here too.
class mutex_queue {
 public:
  template <class Write>
  void push(Write&& write_item) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return written_ - read_ < depth; });
    lock.unlock();
    write_item(ring_[static_cast<std::size_t>(written_ % depth)]);
    lock.lock();
    ++written_;
    lock.unlock();
    not_empty_.notify_one();
  }
  template <class Read>
  void pop(Read&& read_item) {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return read_ < written_; });
    lock.unlock();
    read_item(ring_[static_cast<std::size_t>(read_ % depth)]);
    lock.lock();
    ++read_;
    lock.unlock();
    not_full_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::int64_t written_ = 0, read_ = 0;
  std::array<item, depth> ring_;
};

/// Batches: this thread takes them. One call is one run.
struct stagecraft_infeed {
  stagecraft::threads::infeed_queue<item> queue{1, depth, [] { return item(); }};
  void operator()(int busy) {
    auto const fill = [](item& to, std::int64_t number) { write(to, number); };
    auto const filling = queue.start(items_of_a_run, fill);
    for (std::int64_t number = 0; number < items_of_a_run; ++number) {
      read(queue.take(number));
      queue.release(number);
      work_for(busy);
    }
  }
};

struct mutex_infeed {
  mutex_queue queue;
  stagecraft::threads::background_thread thread;
  void operator()(int busy) {
    auto produce = [this] {
      for (std::int64_t number = 0; number < items_of_a_run; ++number) queue.push([&](item& to) { write(to, number); });
    };
    thread.start(produce);
    for (std::int64_t number = 0; number < items_of_a_run; ++number) {
      queue.pop(read);
      work_for(busy);
    }
    thread.wait();
  }
};

/// Results: this thread gives them.
struct stagecraft_outfeed {
  stagecraft::threads::outfeed_queue<item> queue{1, depth, stagecraft::outfeed_mode::all, [] { return item(); }};
  stagecraft::threads::polling_thread<item> thread{queue};
  void operator()(int busy) {
    auto const handler = [](std::int64_t, std::span<item> results) { read(results[0]); };
    auto const handling = thread.start(handler);
    for (std::int64_t number = 0; number < items_of_a_run; ++number) {
      work_for(busy);
      queue.push(0, [&](item& to) { write(to, number); });
    }
    thread.finish();
  }
};

struct mutex_outfeed {
  mutex_queue queue;
  stagecraft::threads::background_thread thread;
  void operator()(int busy) {
    auto consume = [this] {
      for (std::int64_t number = 0; number < items_of_a_run; ++number) queue.pop(read);
    };
    thread.start(consume);
    for (std::int64_t number = 0; number < items_of_a_run; ++number) {
      work_for(busy);
      queue.push([&](item& to) { write(to, number); });
    }
    thread.wait();
  }
};

/// Two threads that wait for each other by turns: an item is there and back.
struct stagecraft_count {
  stagecraft::threads::thread_team team{2};
  std::array<stagecraft::threads::progress, 2> counts;
  void operator()(int) {
    for (auto& count : counts) count.reset();
    auto turns = [this](int thread) {
      auto const own = static_cast<std::size_t>(thread);
      for (std::int64_t number = 1; number <= items_of_a_run; ++number) {
        if (thread == 1) team.await(counts[0], number);
        counts[own].publish(number);
        if (thread == 0) team.await(counts[1], number);
      }
    };
    team.run(turns);
  }
};

struct mutex_count {
  stagecraft::threads::thread_team team{2};
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::int64_t, 2> counts{};
  void publish(std::size_t own, std::int64_t number) {
    {
      std::scoped_lock const lock(mutex);
      counts[own] = number;
    }
    changed.notify_all();
  }
  void await(std::size_t other, std::int64_t number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return counts[other] >= number; });
  }
  void operator()(int) {
    counts = {};
    auto turns = [this](int thread) {
      auto const own = static_cast<std::size_t>(thread);
      for (std::int64_t number = 1; number <= items_of_a_run; ++number) {
        if (thread == 1) await(0, number);
        publish(own, number);
        if (thread == 0) await(1, number);
      }
    };
    team.run(turns);
  }
};

template <class Runner>
void add(std::string const& what, char const* whose, int busy = 0) {
  auto const name = "queue/" + what + "/threads:" + std::to_string(threads_of_this_run()) + "/" + whose;
  benchmark::RegisterBenchmark(name.c_str(), [busy](benchmark::State& state) {
    Runner runner;
    for (auto _ : state) runner(busy);
    // One counter for the whole run, since a benchmark's own time is that of a whole run of items.
    state.counters["items/s"] =
        benchmark::Counter(static_cast<double>(items_of_a_run), benchmark::Counter::kIsIterationInvariantRate);
  })->UseRealTime();
}

void add_all() {
  add<stagecraft_infeed>("infeed", "stagecraft");
  add<mutex_infeed>("infeed", "mutex");
  add<stagecraft_infeed>("infeed_busy_20us", "stagecraft", 20);
  add<mutex_infeed>("infeed_busy_20us", "mutex", 20);
  add<stagecraft_outfeed>("outfeed", "stagecraft");
  add<mutex_outfeed>("outfeed", "mutex");
  add<stagecraft_outfeed>("outfeed_busy_20us", "stagecraft", 20);
  add<mutex_outfeed>("outfeed_busy_20us", "mutex", 20);
  add<stagecraft_count>("there_and_back", "stagecraft");
  add<mutex_count>("there_and_back", "mutex");
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  if (threads_of_this_run() >= 2) add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
