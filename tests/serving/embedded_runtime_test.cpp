// SPDX-License-Identifier: BSD-3-Clause
// Engines and embedded runtimes: any number of callers, batches of a fixed size, pipelines that starve, callers that
// leave, programs that fail, stops and restarts.
#include <stagecraft/host/host.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/serving/batch_sizes_servable.hpp>
#include <stagecraft/serving/embedded_runtime.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace sc = stagecraft;
namespace serving = stagecraft::serving;
using namespace sc::layers;
using namespace std::chrono_literals;

namespace {

/// y = 2 x for pairs of numbers, through a pipeline of some stages on one thread: results come `stages - 1` batches
/// after their inputs. -1 fails; -2 and -3 in other ways. `gate`: batches wait until it is open.
class doubling_servable final : public serving::servable {
 public:
  doubling_servable(int batch_size, int iterations, int stages) {
    known_ = {.name = "doubling",
              .batch_size = batch_size,
              .iterations = iterations,
              .stages = stages,
              .replicas = 1,
              .inputs = {{"x", {2}}},
              .outputs = {{"y", {2}}}};
  }
  [[nodiscard]] serving::servable_description const& description() const noexcept override { return known_; }
  void run(serving::servable_feed& feed) override {
    if (++runs > working_runs && runs <= working_runs + failing_runs) throw std::bad_alloc();
    std::deque<std::vector<float>> inside;
    for (int step = 0; step < known_.iterations; ++step) {
      std::vector<float> values(static_cast<std::size_t>(known_.batch_size) * 2);
      float* inputs[]{values.data()};
      if (feed.feed(0, inputs) < 0) throw 1;
      if (values[0] == -1) throw sc::floating_point_error("E4104", "a division by zero");
      if (values[0] == -2) throw std::bad_alloc();
      if (values[0] == -3) throw std::logic_error("an error of a library");
      if (values[0] == 0 && refuses_zeros) throw sc::floating_point_error("E4104", "a division by zero");
      for (auto& value : values) value *= 2;
      inside.push_back(values);
      if (inside.size() == static_cast<std::size_t>(known_.stages)) give(feed, inside);
    }
    while (!inside.empty()) give(feed, inside);
  }

  bool refuses_zeros = false;
  int working_runs = 0, failing_runs = 0;  // after those, these have no memory for their first batch
  int runs = 0;                            // read when nothing runs

 private:
  static void give(serving::servable_feed& feed, std::deque<std::vector<float>>& inside) {
    float const* outputs[]{inside.front().data()};
    feed.take(0, outputs);
    inside.pop_front();
  }
  serving::servable_description known_;
};

serving::embedded_runtime make_engine(int batch_size, int iterations, int stages,
                                      serving::runtime_options const& options = {}) {
  return serving::embedded_runtime(std::make_unique<doubling_servable>(batch_size, iterations, stages), options);
}

std::vector<std::vector<float>> numbers(std::int64_t first, std::int64_t samples) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < samples; ++i) {
    values.push_back(static_cast<float>(first + i));
    values.push_back(static_cast<float>(first + i) + 0.5F);
  }
  return {values};
}
void check_doubled(std::vector<std::vector<float>> const& outputs, std::int64_t first, std::int64_t samples) {
  auto expected = numbers(first, samples);
  for (auto& value : expected[0]) value *= 2;
  CHECK(outputs == expected);
}

}  // namespace

TEST_CASE("calls of any number of samples are answered in order, whatever the batch and the pipeline are") {
  for (int const stages : {1, 3})
    for (int const iterations : {3, 4}) {
      auto engine = make_engine(4, iterations, stages, {.runtime_api_timeout_us = 200});
      std::vector<serving::reply> replies;
      for (int i = 0; i < 30; ++i) replies.push_back(engine.submit(numbers(100 * i, i % 11 + 1), i % 11 + 1));
      for (int i = 0; i < 30; ++i) check_doubled(replies[static_cast<std::size_t>(i)].get(), 100 * i, i % 11 + 1);
      auto const counts = engine.statistics();
      CHECK(counts.calls == 30);
      CHECK(counts.failed_calls == 0);
      CHECK(counts.waiting == 0);
      CHECK(counts.batches >= (counts.samples + 3) / 4);
    }
}

TEST_CASE("a starved pipeline is fed with dummy batches, and an idle one is not") {
  auto engine = make_engine(2, 1000, 4, {.runtime_api_timeout_us = 3000});
  auto const begin = std::chrono::steady_clock::now();
  check_doubled(engine.call(numbers(7, 1), 1), 7, 1);
  CHECK(std::chrono::steady_clock::now() - begin >= 9ms);  // three dummy batches
  CHECK(engine.statistics().dummy_batches == 3);
  CHECK(engine.statistics().executions == 1);
  std::this_thread::sleep_for(20ms);
  CHECK(engine.statistics().dummy_batches == 3);
  check_doubled(engine.call(numbers(9, 1), 1), 9, 1);  // in the same execution
  CHECK(engine.statistics().executions == 1);
  engine.stop();
  CHECK(engine.statistics().failures == 0);

  // A dummy batch repeats a sample, also behind a batch that was full.
  auto strict = std::make_unique<doubling_servable>(2, 4, 2);
  strict->refuses_zeros = true;
  serving::embedded_runtime second(std::move(strict), {.runtime_api_timeout_us = 200});
  check_doubled(second.call(numbers(7, 2), 2), 7, 2);
}

TEST_CASE("the first sample waits for others as long as it may, and not when the batch is full") {
  auto patient = make_engine(4, 8, 1, {.batch_timeout_us = 60'000'000});
  auto first = patient.submit(numbers(0, 1), 1), second = patient.submit(numbers(1, 1), 1);
  CHECK_FALSE(first.wait_for(5ms));
  auto third = patient.submit(numbers(2, 2), 2);
  check_doubled(first.get(), 0, 1);
  check_doubled(second.get(), 1, 1);
  check_doubled(third.get(), 2, 2);
  CHECK(patient.statistics().batches == 1);
  auto engine = make_engine(4, 8, 1, {.batch_timeout_us = 50'000});
  auto const begin = std::chrono::steady_clock::now();
  check_doubled(engine.call(numbers(3, 1), 1), 3, 1);
  CHECK(std::chrono::steady_clock::now() - begin >= 50ms);
  CHECK(engine.statistics().begun_calls == 1);
  CHECK(engine.statistics().queue_us >= 50'000);
}

TEST_CASE("a call with many samples lets others go first after each batch that it fills") {
  auto const make_call = [](std::int64_t samples) {
    auto call = std::make_shared<serving::detail::call_record>();
    call->samples = samples;
    return call;
  };
  auto const large = make_call(9), small = make_call(1), second = make_call(5);
  serving::detail::call_queue queue;
  for (auto const& call : {large, small, second}) queue.push(call);
  std::int64_t left = 0;
  auto const batch = [&] {
    serving::detail::call_batch taken;
    queue.take(taken, 4, left);
    std::vector<std::vector<std::int64_t>> parts;
    for (auto const& each : taken) parts.push_back({each.call->samples, each.first, each.count});
    return parts;
  };
  using parts = std::vector<std::vector<std::int64_t>>;
  CHECK_FALSE(queue.has_begun());
  CHECK(batch() == parts{{9, 0, 4}});
  CHECK(batch() == parts{{1, 0, 1}, {5, 0, 3}});
  CHECK(queue.has_begun());
  CHECK(queue.samples() == 7);
  auto const two = make_call(2);
  queue.push(two);
  using failure = serving::detail::call_failure;
  CHECK(queue.fail_waiting(failure::of_stop()) == 1);  // as stop does: of those two something is in a batch
  CHECK(two->failure().what == failure::kind::stopped);
  CHECK(batch() == parts{{9, 4, 4}});
  CHECK(batch() == parts{{5, 3, 2}, {9, 8, 1}});
  CHECK((queue.empty() && queue.samples() == 0 && !queue.has_begun()));
  auto const nine = make_call(9);
  queue.push(nine);
  auto const three = make_call(3), seven = make_call(7);
  for (auto const& call : {three, seven}) queue.push(call);
  (void)batch();
  (void)batch();
  nine->done = 4;  // in an execution before
  failure const none(failure::kind::recoverable);
  CHECK(queue.fail_in_servable(none) == 1);  // as a failure does
  CHECK((seven->failure().what == none.what && nine->failure().what == failure::kind::none));
  CHECK(queue.fail_all(none) == 1);
  CHECK((nine->failure().what == none.what && queue.empty() && queue.samples() == 0 && !queue.has_begun()));

  auto engine = make_engine(2, 4, 1, {.runtime_api_timeout_us = 200, .batch_timeout_us = 200000});
  auto reply = engine.submit(numbers(0, 20001), 20001);
  for (int i = 0; i < 20; ++i) check_doubled(engine.call(numbers(7 * i, 3), 3), 7 * i, 3);
  check_doubled(reply.get(), 0, 20001);
}

TEST_CASE("an execution that fails before its first batch is an error of the calls that wait, not tried for ever") {
  auto own = std::make_unique<doubling_servable>(2, 4, 1);
  own->failing_runs = 2;
  serving::embedded_runtime runtime(std::move(own), {.runtime_api_timeout_us = 200});
  int failed = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      (void)runtime.call(numbers(1, 1), 1);
    } catch (serving::recoverable_runtime_error const& why) {
      CHECK(std::string(why.what()) == "the machine has no more memory [E5085]");
      ++failed;
    }
  }
  CHECK(failed == 2);
  check_doubled(runtime.call(numbers(7, 3), 3), 7, 3);
  auto const counts = runtime.statistics();
  CHECK((counts.failed_calls == 2 && counts.failures == 2 && counts.executions == 3));
}

TEST_CASE("a call that waits with some of its outputs shares the error of an execution that does not begin") {
  auto own = std::make_unique<doubling_servable>(2, 1, 1);
  own->working_runs = 1;
  own->failing_runs = 1000000;
  serving::embedded_runtime runtime(std::move(own));
  CHECK_THROWS_AS((void)runtime.call(numbers(1, 5), 5, 20s), serving::recoverable_runtime_error);
  auto const counts = runtime.statistics();
  CHECK((counts.failed_calls == 1 && counts.failures == 1 && counts.executions == 2 && counts.waiting == 0));
}

TEST_CASE("a batch has the least of several sizes that holds its samples") {
  auto const problem = [](std::vector<int> const& sizes, serving::detail::batch_facts const& facts) {
    return serving::detail::check_batch_sizes(sizes, facts).code;
  };
  CHECK(problem({}, {.batch_size = 4, .stages = 2, .replicas = 2}) == 0);
  CHECK(problem({1, 4}, {.batch_size = 4}) == 0);
  CHECK(problem({0, 4}, {.batch_size = 4}) == 5148);
  CHECK(problem({2, 2, 4}, {.batch_size = 4}) == 5148);
  CHECK(problem({1, 8}, {.batch_size = 4}) == 5148);
  CHECK(problem({1, 4}, {.batch_size = 4, .stages = 2}) == 5148);
  CHECK(problem({1, 4}, {.batch_size = 4, .replicas = 2}) == 5148);
  CHECK(problem({1, 4}, {.batch_size = 4, .of_inputs = 4}) == 5148);
  CHECK(problem({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, {.batch_size = 17}) == 5148);
  constexpr serving::batch_size_list many{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  static_assert(many.count == 17 && many.kept().back() == 16);
  CHECK(serving::detail::check_batch_sizes(many.kept(), {.batch_size = 17}, 1).text.view() ==
        "allowed_batch_sizes has 17 sizes, of which there may be 16 [E5148]");
  constexpr auto names = []<std::size_t... Name>(std::index_sequence<Name...>) {
    return serving::output_name_list{(static_cast<void>(Name), "score")...};
  }(std::make_index_sequence<65>{});
  static_assert(names.count == 65 && names.kept().size() == 64);  // E5093

  std::vector<std::unique_ptr<serving::servable>> programs;
  std::vector<doubling_servable*> sizes;
  for (int const size : {1, 3, 8}) {
    auto own = std::make_unique<doubling_servable>(size, 1, 1);
    sizes.push_back(own.get());
    programs.push_back(std::move(own));
  }
  serving::embedded_runtime engine(std::make_unique<serving::batch_sizes_servable>(std::move(programs), 5));
  CHECK(engine.description().batch_size == 8);
  CHECK(engine.description().batch_sizes == std::vector{1, 3, 8});
  CHECK(engine.description().iterations == 5);
  for (int const samples : {1, 2, 3, 4, 8, 9, 17, 10})
    check_doubled(engine.call(numbers(7, samples), samples), 7, samples);
  CHECK_THROWS_AS((void)engine.call(numbers(-1, 2), 2), serving::application_runtime_error);
  check_doubled(engine.call(numbers(7, 1), 1), 7, 1);
  engine.stop();
  CHECK(engine.statistics().batches == 14);
  CHECK(sizes[0]->runs == 4);  // of 1, 9, 17 and 1
  CHECK(sizes[1]->runs == 4);  // of 2, 3, 10 and the one that failed
  CHECK(sizes[2]->runs == 6);  // of 4, 8, 9, 17 twice and 10
}

TEST_CASE("errors reach the calls that were in the execution, and no others") {
  auto engine = make_engine(1, 100, 1);
  CHECK_THROWS_WITH_AS((void)engine.call(numbers(-1, 1), 1), "a division by zero [E4104] [E5084]",
                       serving::application_runtime_error);
  check_doubled(engine.call(numbers(5, 2), 2), 5, 2);
  CHECK_THROWS_AS((void)engine.call(numbers(-2, 1), 1), serving::recoverable_runtime_error);
  check_doubled(engine.call(numbers(5, 2), 2), 5, 2);
  CHECK(engine.accepts_calls());
  CHECK_THROWS_WITH_AS((void)engine.call(numbers(-3, 1), 1), "an error of a library [E5086]",
                       serving::unrecoverable_runtime_error);
  CHECK_FALSE(engine.accepts_calls());
  CHECK_THROWS_AS((void)engine.call(numbers(5, 2), 2), serving::runtime_stopped);
  engine.restart();
  check_doubled(engine.call(numbers(5, 2), 2), 5, 2);
  auto const counts = engine.statistics();
  CHECK(counts.failures == 3);
  CHECK(counts.failed_calls == 3);
  CHECK(counts.refused_calls == 1);

  auto single = make_engine(1, 1, 1);  // each batch is an execution
  auto large = single.submit(numbers(0, 5000), 5000);
  CHECK_THROWS_AS((void)single.call(numbers(-1, 1), 1), serving::application_runtime_error);
  check_doubled(large.get(), 0, 5000);

  CHECK_THROWS_WITH((void)engine.call(numbers(1, 2), 3),
                    "input 'x': expected 3 samples of 2 numbers, found 4 numbers [E4001]");
  CHECK_THROWS_WITH((void)engine.call({}, 1), "x: expected 1 arrays, found 0 [E4010]");
  CHECK_THROWS_WITH((void)engine.call({{}}, 0), "x: expected at least 1 sample, found 0 [E4003]");
}

TEST_CASE("a queue has a length, a call a time, and who leaves is not waited for") {
  auto engine = make_engine(64, 8, 1, {.batch_timeout_us = 60'000'000, .max_enqueued_calls = 2});
  {
    auto const left = engine.submit(numbers(0, 1), 1);
    CHECK_THROWS_AS((void)engine.call(numbers(1, 1), 1, 1ms), serving::deadline_exceeded);
    CHECK_THROWS_WITH_AS((void)engine.submit(numbers(2, 1), 1), "2 calls wait, as many as may wait [E5082]",
                         serving::queue_full);
  }
  engine.drain();
  CHECK(engine.statistics().left_calls == 2);
  CHECK(engine.statistics().batches == 0);
  CHECK_THROWS_AS((void)engine.submit(numbers(2, 1), 1), serving::runtime_stopped);
  engine.restart();
  auto last = engine.submit(numbers(2, 3), 3);
  engine.drain();
  check_doubled(last.get(), 2, 3);
}

TEST_CASE("what waits is answered by drain, and refused by stop") {
  auto drained = make_engine(4, 5, 3, {.runtime_api_timeout_us = 60'000'000, .batch_timeout_us = 60'000'000});
  auto first = drained.submit(numbers(3, 9), 9), second = drained.submit(numbers(1, 1), 1);
  drained.drain();
  check_doubled(first.get(), 3, 9);
  check_doubled(second.get(), 1, 1);
  CHECK(drained.statistics().failures == 0);

  auto stopped = make_engine(4, 5, 3, {.runtime_api_timeout_us = 60'000'000, .batch_timeout_us = 60'000'000});
  auto third = stopped.submit(numbers(3, 1), 1);
  stopped.stop();
  CHECK_THROWS_AS((void)third.get(), serving::runtime_stopped);
  stopped.restart();
  stopped.restart();
  std::optional<serving::reply> last;
  {
    auto engine = make_engine(4, 5, 3, {.batch_timeout_us = 60'000'000});
    last = engine.submit(numbers(3, 1), 1);
  }
  CHECK_THROWS_AS((void)last->get(), serving::runtime_stopped);
}

TEST_CASE("many threads, some of which leave, fail or stop the engine: each answer once, and none lost") {
  auto engine = make_engine(3, 7, 3, {.runtime_api_timeout_us = 100, .batch_timeout_us = 20, .max_enqueued_calls = 40});
  std::atomic<std::int64_t> answered = 0, failed = 0, refused = 0, left = 0;
  std::vector<std::thread> callers;
  for (int number = 0; number < 6; ++number)
    callers.emplace_back([&, number] {
      std::minstd_rand random(static_cast<unsigned>(number) + 1);
      for (int i = 0; i < 200; ++i) {
        auto const samples = static_cast<std::int64_t>(random() % 8 + 1);
        auto const first = static_cast<std::int64_t>(number * 100000 + i * 10);
        auto const kind = random() % 20;
        try {
          auto reply = engine.submit(kind == 0 ? numbers(-1, 1) : numbers(first, samples), kind == 0 ? 1 : samples);
          if (kind == 1) {
            ++left;
            continue;
          }
          auto const outputs = reply.get();
          auto expected = numbers(first, samples);
          for (auto& value : expected[0]) value *= 2;
          if (kind == 0 || outputs == expected) ++answered;
        } catch (serving::application_runtime_error const&) {
          ++failed;
        } catch (serving::serving_error const&) {
          ++refused;
          while (!engine.accepts_calls()) std::this_thread::sleep_for(50us);
        }
      }
    });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(500us);
    i % 2 == 0 ? engine.stop() : engine.drain();
    engine.restart();
  }
  for (auto& caller : callers) caller.join();
  CHECK(answered + failed + refused + left == 6 * 200);
  CHECK(answered > 100);
  engine.drain();
  auto const counts = engine.statistics();
  CHECK(counts.waiting == 0);
  CHECK(counts.in_flight == 0);
  CHECK(counts.begun_calls >= answered);
  CHECK(counts.begun_calls <= counts.calls);
}

namespace {

using network = sc::sequential<input{5}, dense{7, sc::relu}, dense{6, sc::tanh}, dense{3}>;
using staged = sc::pipelined<network, sc::stages<0, 1, 2>>;
inline constexpr auto four = sc::inference{.batch_size = 4};
inline constexpr auto inference = sc::inference{.batch_size = 4, .steps_per_execution = 6};

}  // namespace

TEST_CASE("a predictor in stages, called by many threads, has the outputs that it predicts") {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({60, 5});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  xt::xtensor<float, 2> const expected = sc::predictor<staged, inference, sc::host<2>>(3).predict(x);
  serving::embedded_runtime runtime(sc::predictor<staged, inference, sc::host<2>>(3), {.runtime_api_timeout_us = 300},
                                    {"logits"});
  auto const& known = runtime.description();
  CHECK(known.name == "sequential");
  CHECK(known.batch_size == 4);
  CHECK(known.iterations == 6);
  CHECK(known.stages == 3);
  CHECK(known.inputs == std::vector<serving::tensor_spec>{{"input_1", {5}}});
  CHECK(known.outputs == std::vector<serving::tensor_spec>{{"logits", {3}}});
  CHECK(xt::xtensor<float, 2>(runtime(x)[0]) == expected);
  CHECK_THROWS_AS((void)runtime(xt::view(x, xt::all(), xt::range(0, 4))), sc::data_error);
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (std::size_t number = 0; number < 4; ++number)
    callers.emplace_back([&, number] {
      for (std::size_t i = 0; i < 25; ++i) {
        auto const first = (number * 13 + i * 5) % 50, last = first + 1 + i % 9;
        xt::xtensor<float, 2> const part = xt::view(x, xt::range(first, last));
        xt::xtensor<float, 2> const logits = runtime(part)[0];
        if (logits == xt::xtensor<float, 2>(xt::view(expected, xt::range(first, last)))) ++right;
      }
    });
  for (auto& caller : callers) caller.join();
  CHECK(right == 100);
}

TEST_CASE("a predictor of several sizes has the outputs that it predicts, up to rounding") {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({7, 5});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
  sc::predictor<network, four> model(3);
  xt::xtensor<float, 2> const expected = model.predict(x);
  serving::embedded_runtime runtime(serving::allow_batch_sizes<1, 4>(std::move(model), {"logits"}));
  CHECK(runtime.description().batch_sizes == std::vector{1, 4});
  CHECK(runtime.description().outputs == std::vector<serving::tensor_spec>{{"logits", {3}}});
  for (std::size_t samples = 1; samples <= 7; ++samples) {
    xt::xtensor<float, 2> const part = xt::view(x, xt::range(0, samples));
    xt::xtensor<float, 2> const logits = runtime(part)[0];
    for (std::size_t i = 0; i < logits.size(); ++i)
      CHECK(logits.data()[i] == doctest::Approx(expected.data()[i]).epsilon(1e-5));
  }
}
