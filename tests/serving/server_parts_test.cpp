// SPDX-License-Identifier: BSD-3-Clause
// Parts of `stagecraft serve` that threads share: sequences, instances of a model, and the threads that models share.
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/detail/example_signatures.hpp>
#include "serve/http/http_message.hpp"
#include "serve/http/worker_pool.hpp"
#include "serve/models/host_policies.hpp"
#include "serve/models/sequence_batcher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool = stagecraft::tool;
namespace serving = stagecraft::serving;
using namespace std::chrono_literals;

namespace {

/// Adds each x to a state, which its caller keeps: y = next = x + state. A batch with an x below 0 fails.
class adding_servable final : public serving::servable {
 public:
  [[nodiscard]] serving::servable_description const& description() const noexcept override { return known_; }
  void run(serving::servable_feed& feed) override {
    for (int step = 0; step < known_.iterations; ++step) {
      std::vector<float> x(static_cast<std::size_t>(known_.batch_size)), state(x), y(x);
      float* inputs[]{x.data(), state.data()};
      if (feed.feed(0, inputs) < 0) throw 1;
      if (*std::min_element(x.begin(), x.end()) < 0) throw stagecraft::floating_point_error("E4104", "below 0");
      for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + state[i];
      float const* outputs[]{y.data(), y.data()};
      feed.take(0, outputs);
    }
  }

 private:
  serving::servable_description known_{.name = "adding",
                                       .batch_size = 4,
                                       .iterations = 2,
                                       .inputs = {{"x", {}}, {"state", {}}},
                                       .outputs = {{"y", {}}, {"next", {}}}};
};

std::unique_ptr<tool::model_engines> make_engines(int count) {
  std::vector<std::unique_ptr<serving::embedded_runtime>> runtimes;
  for (int i = 0; i < count; ++i)
    runtimes.push_back(std::make_unique<serving::embedded_runtime>(std::make_unique<adding_servable>()));
  return std::make_unique<tool::model_engines>(std::move(runtimes));
}

/// A task that does what it is told.
struct told_task {
  std::function<void()> work;
};

}  // namespace

TEST_CASE("sequences on many threads and several instances have the sums of their own requests") {
  auto const engines = make_engines(2);
  tool::sequence_batcher sequences("adding", {.states = {{"state", "next", {}}}, .idle = 20s, .most = 1000},
                                   engines->description());
  constexpr int threads = 8, streams = 6, steps = 20;
  std::atomic<int> wrong = 0, failed = 0;
  std::vector<std::thread> callers;
  for (int thread = 0; thread < threads; ++thread)
    callers.emplace_back([&, thread] {
      std::mt19937 numbers(static_cast<unsigned>(thread));
      std::vector<float> sums(streams);
      for (int step = 0; step < steps; ++step)
        for (int stream = 0; stream < streams; ++stream) {
          auto& sum = sums[static_cast<std::size_t>(stream)];
          auto const x = static_cast<float>(numbers() % 100);
          tool::sequence_request const request{
              .id = std::to_string(thread * streams + stream + 1), .starts = step == 0, .ends = step + 1 == steps};
          for (;;) {  // a call that shares a batch with a wrong one fails, and leaves the state as it was
            try {
              sum = step == 0 ? x : sum + x;
              auto const y = sequences.call(*engines, {{x}}, 1, request, 20s, 0);
              wrong += y.size() != 1 || y[0] != std::vector<float>{sum};
              break;
            } catch (serving::application_runtime_error const&) {
              sum -= x;
              ++failed;
            } catch (tool::http_error const&) {  // the sequence was idle for too long, on a busy machine
              return;
            }
          }
        }
    });
  callers.emplace_back([&] {  // others look, fail, and leave
    for (int i = 0; i < 100; ++i) {
      (void)sequences.count();
      (void)sequences.has({.id = "1"});
      (void)engines->statistics();
      tool::sequence_request const request{.id = "wrong", .is_text = true, .starts = true};
      try {
        (void)sequences.call(*engines, {{i % 10 == 0 ? -1.0F : 1.0F}}, 1, request, 20s, 1);
      } catch (serving::application_runtime_error const&) {
        ++failed;
      }
    }
  });
  for (auto& each : callers) each.join();
  CHECK(wrong == 0);
  CHECK(failed >= 10);
  auto const counts = engines->statistics();
  CHECK(counts.calls == counts.samples + counts.failed_calls);
}

TEST_CASE("a model with many calls leaves threads, and places of the queue, for those of others") {
  std::mutex mutex;
  std::condition_variable opens;
  bool is_open = false;
  std::atomic<int> blocked = 0, done = 0;
  tool::worker_pool<told_task> pool(4, 8, [](auto task) { task->work(); });
  auto const take = [&](std::string const& lane, std::function<void()> work) {
    auto task = std::make_unique<told_task>(told_task{std::move(work)});
    return pool.take(task, lane, true);
  };
  auto const block = [&] {
    ++blocked;
    std::unique_lock lock(mutex);
    opens.wait(lock, [&] { return is_open; });
    ++done;
  };
  int taken = 0;
  for (int i = 0; i < 30; ++i) taken += take("busy", block);
  CHECK((taken >= 8 && taken < 30));  // the queue, and what the threads took from it meanwhile
  std::atomic<int> others = 0;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(take("other", [&] { ++others; }));
    for (int wait = 0; wait < 2000 && others <= i; ++wait) std::this_thread::sleep_for(10ms);
  }
  CHECK(others == 3);
  CHECK(blocked == 3);
  {
    std::scoped_lock const lock(mutex);
    is_open = true;
  }
  opens.notify_all();
  for (int wait = 0; wait < 2000 && done < taken; ++wait) std::this_thread::sleep_for(10ms);
  CHECK(done == taken);
}

TEST_CASE("nodes of memory and their processors are what the system's files say, as far as this process may use them") {
  namespace files = std::filesystem;
  auto const root = files::temp_directory_path() / ("stagecraft_nodes_" + std::to_string(::getpid()));
  auto const write = [&](std::string const& name, std::string const& text) {
    auto const path = root / "devices/system/node" / name;
    files::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  CHECK(tool::numa_nodes(root.string()).empty());  // a system that does not say
  cpu_set_t own;
  REQUIRE(::sched_getaffinity(0, sizeof own, &own) == 0);
  std::vector<std::size_t> usable;
  std::size_t other = CPU_SETSIZE;  // one on which this process may not run
  for (std::size_t each = CPU_SETSIZE; each-- > 0;)
    (CPU_ISSET(each, &own) ? usable.push_back(each), other : other = each);
  auto const first = std::to_string(usable.back()), last = std::to_string(usable.front()), none = std::to_string(other);

  // Four nodes: two with processors, one whose processor is not this process's, one with memory alone; the number 1 is
  // free.
  write("online", "0,2-4\n");
  write("node0/cpulist", first + "-" + first + "," + none + "\n");
  write("node2/cpulist", last + "\n");
  write("node3/cpulist", none + "\n");
  write("node4/cpulist", "\n");
  auto const nodes = tool::numa_nodes(root.string());
  REQUIRE(nodes.size() == 2);
  CHECK((CPU_COUNT(&nodes[0]) == 1 && CPU_ISSET(usable.back(), &nodes[0])));
  CHECK((CPU_COUNT(&nodes[1]) == 1 && CPU_ISSET(usable.front(), &nodes[1])));

  tool::host_policies const policies({"a,numa-node=0", "b,numa-node=2", "b,numa-node=0", "c,cpu-cores=" + last},
                                     root.string());
  CHECK((CPU_COUNT(policies.find("a")) == 1 && CPU_ISSET(usable.back(), policies.find("a"))));
  CHECK(CPU_COUNT(policies.find("b")) == (usable.size() > 1 ? 2 : 1));
  CHECK(CPU_ISSET(usable.front(), policies.find("c")));
  CHECK(policies.find("d") == nullptr);
  for (auto const& [text, why] :
       {std::pair{"a,numa-node=1", "this machine has no such node"}, std::pair{"a,numa-node=3", "it has no processor"},
        std::pair{"a,numa-node=4", "it has no processor"}, std::pair{"a,numa-node=x", "'x' is no number"}}) {
    try {
      (void)tool::host_policies({text}, root.string());
      CHECK_MESSAGE(false, text);
    } catch (stagecraft::file_error const& problem) {
      CHECK_MESSAGE(std::string(problem.what()).find(why) != std::string::npos, problem.what());
    }
  }
  write("online", "0-x\n");
  CHECK_THROWS_AS((void)tool::numa_nodes(root.string()), stagecraft::file_error);

  {  // a thread, and one that begins in it, run there alone while it is pinned
    tool::pinned_thread const pins(&nodes[1]);
    cpu_set_t found;
    std::thread([&] { (void)::sched_getaffinity(0, sizeof found, &found); }).join();
    CHECK(CPU_EQUAL(&found, &nodes[1]));
  }
  cpu_set_t after;
  REQUIRE(::sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&after, &own));
  files::remove_all(root);
}

namespace {

/// What is said of signatures; empty: they fit.
std::string problem_of(std::vector<stagecraft::example_signature> const& signatures) {
  serving::servable_description const known{.name = "known",
                                            .inputs = {{"x", {2}}, {.name = "t", .shape = {4}, .is_bytes = true}},
                                            .outputs = {{"y", {3}}, {"z", {}}}};
  try {
    (void)serving::detail::bound_signatures(signatures, known, "here");
  } catch (stagecraft::file_error const& why) {
    return why.what();
  }
  return "";
}

}  // namespace

TEST_CASE("signatures of examples fit the application, or are refused with what it has") {
  using stagecraft::classification;
  using stagecraft::regression;
  CHECK(problem_of({{"a", classification{.scores = "y"}}, {"b", regression{.output = "z"}}}).empty());
  CHECK(problem_of({{"a", classification{.scores = "y", .labels = {"p", "q", "r"}, .top = 3}}}).empty());
  CHECK(problem_of({{"a", regression{.output = "z",
                                     .features = {{.name = "u", .input = "x", .dtype = "DT_INT64"},
                                                  {.name = "t", .default_value = {65}},
                                                  {.name = "v", .input = "x", .default_value = {1}}}}}})
            .empty());
  auto const refused = [](std::vector<stagecraft::example_signature> const& signatures, std::string const& text) {
    auto const found = problem_of(signatures);
    CHECK_MESSAGE((found.find(text) != std::string::npos && found.find("[E4187]") != std::string::npos), found);
  };
  refused({{"a", regression{}}}, "the signature 'a' names no output, and there are 'y', 'z'");
  refused({{"a", regression{.output = "w"}}}, "names the output 'w', and there are 'y', 'z'");
  refused({{"a", regression{.output = "y"}}}, "has one number a sample, but 'y' has 3");
  refused({{"a", classification{.scores = "z"}}}, "is a row of scores a sample, but 'z' has the rank 0");
  refused({{"a", classification{.scores = "y", .labels = {"p"}}}}, "has 1 labels for the 3 scores of 'y'");
  refused({{"a", classification{.scores = "y", .top = 1}}}, "has top, but no labels");
  refused({{"a", classification{.scores = "y", .labels = {"p", "q", "r"}, .top = 4}}},
          "has top 4, and there are 3 scores");
  refused({{"", regression{.output = "z"}}}, "a signature has no name");
  refused({{"predict", regression{.output = "z"}}}, "has the name 'predict'");
  refused({{"a", regression{.output = "z"}}, {"a", regression{.output = "z"}}}, "there are two signatures 'a'");
  auto const of_features = [&](std::vector<stagecraft::example_feature> const& features, std::string const& text) {
    refused({{"a", regression{.output = "z", .features = features}}}, text);
  };
  of_features({{.name = "x"}}, "fills 0 of the 4 numbers of input 't'");
  of_features({{.name = "t"}, {.name = "u", .input = "x", .shape = {1}}}, "fills 1 of the 2 numbers of input 'x'");
  of_features({{.name = "t"}, {.name = "u", .input = "x", .shape = {3}}}, "larger than what is left of input 'x'");
  of_features({{.name = "x"}, {.name = "w"}}, "names the input 'w', and there are 'x', 't'");
  of_features({{.name = "x"}, {.name = "x", .input = "t"}}, "has the feature 'x' twice");
  of_features({{.name = ""}}, "has a feature without a name");
  of_features({{.name = "x", .dtype = "DT_HALF"}}, "whose dtype 'DT_HALF' is not");
  of_features({{.name = "x", .dtype = "DT_STRING"}}, "which is DT_STRING for an input that is none of TYPE_STRING");
  of_features({{.name = "t", .dtype = "DT_FLOAT"}}, "which is no DT_STRING for an input of TYPE_STRING");
  of_features({{.name = "x", .default_value = {1, 2, 3}}}, "whose default_value has 3 numbers, and its shape 2");
  of_features({{.name = "x", .shape = {-2}}}, "whose shape has the length -2");
  of_features({{.name = "x", .shape = {1LL << 40, 1LL << 40}}}, "whose shape has the length");
}
