// SPDX-License-Identifier: BSD-3-Clause
// Words of datasets that choose, number, group and nest elements, and functions that several threads call. Expected
// elements and numbers of elements are what tf.data of TensorFlow 2.21 printed for the same words.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace data = stagecraft::data;

namespace {

using numbers = std::vector<std::int64_t>;

template <class Data>
auto elements_of(Data const& dataset, std::uint64_t pass = 0) {
  std::vector<typename Data::element_type> result;
  auto const from = dataset.begin_pass(pass);
  while (auto element = from->next()) result.push_back(std::move(*element));
  CHECK(!from->next());
  return result;
}

std::vector<numbers> windows_of(data::dataset<data::dataset<std::int64_t>> const& windows) {
  std::vector<numbers> result;
  for (auto const& window : windows) {
    result.push_back(elements_of(window));
    CHECK(window.cardinality() == static_cast<std::int64_t>(result.back().size()));
  }
  return result;
}

template <class Call>
void fails(char const* text, Call const& call) {
  CHECK_THROWS_WITH_AS(call(), doctest::Contains(text), stagecraft::data_error);
}

auto copies_of(std::int64_t number) {
  return data::range(number + 1).map([number](std::int64_t) { return number; });
}
auto is_even(std::int64_t number) { return number % 2 == 0; }

}  // namespace

TEST_CASE("filter, take_while, shard, enumerate and concatenate give the elements that tf.data gives") {
  using data::infinite_cardinality, data::unknown_cardinality;
  auto const seven = data::range(7);
  CHECK(elements_of(seven.filter(is_even)) == numbers{0, 2, 4, 6});
  CHECK(seven.filter(is_even).cardinality() == unknown_cardinality);
  CHECK(elements_of(seven.take_while([](std::int64_t x) { return x != 3; })) == numbers{0, 1, 2});
  CHECK(elements_of(seven.repeat().filter(is_even).take(5)) == numbers{0, 2, 4, 6, 0});
  CHECK(elements_of(seven.shard(3, 0)) == numbers{0, 3, 6});
  CHECK(elements_of(seven.shard(3, 2)) == numbers{2, 5});
  CHECK(elements_of(data::range(2).shard(3, 2)).empty());
  for (std::int64_t index = 0; index < 3; ++index)
    CHECK(seven.shard(3, index).cardinality() == static_cast<std::int64_t>(elements_of(seven.shard(3, index)).size()));
  CHECK(elements_of(data::range(3).enumerate(5)).back() == std::tuple(std::int64_t{7}, std::int64_t{2}));
  CHECK(elements_of(data::range(3).concatenate(data::range(2))) == numbers{0, 1, 2, 0, 1});
  CHECK(data::range(3).concatenate(data::range(2)).cardinality() == 5);
  CHECK(data::range(3).concatenate(seven.repeat()).cardinality() == infinite_cardinality);
  fails("shard: num_shards: expected at least 1, found 0 [E4011]", [&] { static_cast<void>(seven.shard(0, 0)); });
  fails("shard: index: expected a number from 0 to 2, found 3 [E4125]", [&] { static_cast<void>(seven.shard(3, 3)); });
  fails("E4125", [&] { static_cast<void>(seven.shard(3, -1)); });
}

TEST_CASE("window, interleave and flat_map nest and order elements as tf.data does") {
  auto const seven = data::range(7);
  using lists = std::vector<numbers>;
  CHECK(windows_of(seven.window(3)) == lists{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(windows_of(seven.window(3, {.shift = 1})) ==
        lists{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}, {5, 6}, {6}});
  CHECK(windows_of(seven.window(3, {.shift = 1, .stride = 2})) ==
        lists{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5}, {4, 6}, {5}, {6}});
  CHECK(windows_of(seven.window(3, {.shift = 1, .stride = 2, .drop_remainder = true})) ==
        lists{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}});
  CHECK(windows_of(seven.window(2, {.shift = 3})) == lists{{0, 1}, {3, 4}, {6}});
  CHECK(windows_of(seven.window(2, {.shift = 3, .drop_remainder = true})) == lists{{0, 1}, {3, 4}});
  CHECK(windows_of(seven.window(3, {.shift = 2, .stride = 2})) == lists{{0, 2, 4}, {2, 4, 6}, {4, 6}, {6}});
  for (std::int64_t size : {1, 2, 3, 8})
    for (std::int64_t shift : {1, 2, 9})
      for (std::int64_t stride : {1, 3})
        for (bool drops : {false, true}) {
          auto const windows = seven.window(size, {shift, stride, drops});
          CHECK(windows.cardinality() == static_cast<std::int64_t>(windows_of(windows).size()));
        }
  CHECK(seven.repeat().window(2).cardinality() == data::infinite_cardinality);
  CHECK(elements_of(seven.window(3).flat_map([](auto const& window) { return window.take(2); })) ==
        numbers{0, 1, 3, 4, 6});

  numbers const expected{0, 1, 1, 2, 2, 3, 3, 2, 3, 3, 4, 4, 4, 4, 4};  // cycle_length 3, block_length 2
  for (int calls : {1, 2, 7, data::autotune})
    CHECK(elements_of(data::range(5).interleave(
              copies_of, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = calls})) == expected);
  CHECK(elements_of(data::range(3).interleave(copies_of, {.cycle_length = 2})) == numbers{0, 1, 1, 2, 2, 2});
  CHECK(data::range(3).flat_map(copies_of).cardinality() == data::unknown_cardinality);
  fails("interleave: cycle_length: expected at least 1, found 0 [E4011]",
        [] { static_cast<void>(data::range(3).interleave(copies_of, {})); });
  fails("window: stride", [&] { static_cast<void>(seven.window(2, {.stride = -1})); });
  // Elements that are random are drawn anew in each pass, and the same ones in the same pass.
  auto const shuffled = data::range(3).flat_map([](std::int64_t) { return data::range(9).shuffle(9); });
  CHECK(elements_of(shuffled, 1) == elements_of(shuffled, 1));
  CHECK(elements_of(shuffled, 1) != elements_of(shuffled, 2));
}

TEST_CASE("cache reads once, whatever passes follow") {
  int calls = 0;
  auto const counted = data::range(4).map([&calls](std::int64_t x) { return ++calls, x; }).shuffle(4).cache();
  CHECK(counted.cardinality() == 4);
  static_cast<void>(elements_of(counted.take(2)));  // does not come to the end: nothing is kept
  CHECK(calls == 4);                                // shuffle had to see all
  // A training that goes on at a later epoch sees what it would have seen.
  auto const fresh = elements_of(counted, 5);
  CHECK(calls == 8);
  CHECK(elements_of(counted, 0) == fresh);
  CHECK(elements_of(counted.repeat(2)).size() == 8);
  CHECK(elements_of(counted.shuffle(4), 1) != elements_of(counted.shuffle(4), 2));
  CHECK(calls == 8);
  fails("cache: expected a dataset with an end, found one without; repeat() comes after cache() [E4122]",
        [] { static_cast<void>(data::range(3).repeat().cache()); });
  // Two passes at once, one of them on a thread.
  auto const both = data::range(100).cache();
  auto const first = both.prefetch().begin_pass(0), second = both.begin_pass(0);
  for (std::int64_t i = 0; i < 100; ++i) {
    CHECK(first->next() == i);
    CHECK(second->next() == i);
  }
}

TEST_CASE("After batch, functions get arrays") {
  auto const x = xt::xtensor<float, 2>(xt::arange<float>(10).reshape({5, 2}));
  std::vector<int> const y{1, 2, 3, 4, 5};
  auto const halves = data::from(x, y).batch(2).map(
      [](auto const& images, auto const& labels) { return std::pair(images / 2.0F, labels + 1); });
  using arrays = std::tuple<xt::xtensor<float, 2>, xt::xtensor<int, 1>>;
  static_assert(std::is_same_v<decltype(halves)::element_type, data::array_batch<arrays>>);
  CHECK(halves.cardinality() == 3);
  std::size_t rows = 0;
  for (auto const& [images, labels] : halves) {
    CHECK(images.shape()[1] == 2);
    CHECK(images(0, 1) == x(rows, 1) / 2);
    CHECK(labels(0) == y[rows] + 1);
    rows += labels.size();
  }
  CHECK(rows == 5);
  // Functions after them get arrays again, on several threads as well; unbatch and to_arrays undo it.
  auto const again = halves.map([](auto const& both) { return std::get<1>(both) * 10; }, {.num_parallel_calls = 2});
  CHECK(elements_of(again.unbatch()) == std::vector<int>{20, 30, 40, 50, 60});
  CHECK(again.unbatch().cardinality() == data::unknown_cardinality);
  auto const [images, labels] = halves.to_arrays();
  CHECK(images == x / 2.0F);
  CHECK(labels(4) == 6);
  CHECK(elements_of(data::range(5).batch(2).unbatch()) == numbers{0, 1, 2, 3, 4});
  // One array of a batch; a number made of one is no batch; a function that names the batch gets it as it is.
  auto const pairs = data::range(5).batch(2);
  CHECK(elements_of(pairs.map([](auto const& batch) { return batch * 2; }).unbatch()) == numbers{0, 2, 4, 6, 8});
  CHECK(elements_of(pairs.map([](auto const& batch) { return xt::sum(batch)(); })) == numbers{1, 5, 4});
  CHECK(elements_of(pairs.map([](data::batch_of<std::int64_t> const& batch) { return batch.size(); })) ==
        std::vector<std::size_t>{2, 2, 1});
  CHECK(elements_of(pairs.filter([](auto const& batch) { return batch.size() == 2; })).size() == 2);
  // Samples are arrays of any kind, and tuples of them.
  auto const rows_of_floats = data::range(3).map([](std::int64_t i) {
    return std::tuple(std::vector<float>{float(i), 7}, std::tuple(i == 1, xt::xarray<double>({{1.0, double(i)}})));
  });
  auto const [floats, others] = rows_of_floats.to_arrays();
  CHECK(floats(2, 0) == 2);
  CHECK(std::get<0>(others)(1));
  CHECK(std::get<1>(others).shape() == xt::dynamic_shape<std::size_t>{3, 1, 2});
  CHECK(std::get<1>(others)(2, 0, 1) == 2);
  CHECK(
      elements_of(rows_of_floats.batch(2).map([](auto const& a, auto const& b) { return std::tuple(a, b); }).unbatch())
          .size() == 3);
  // Windows that become samples: the guide's own way from a series to inputs and targets.
  auto const forecasts = data::range(6)
                             .window(4, {.shift = 1, .drop_remainder = true})
                             .flat_map([](auto const& window) { return window.batch(4); })
                             .map([](auto const& steps) {
                               return std::tuple(xt::view(steps, xt::range(0, 3)), xt::view(steps, xt::range(3, 4)));
                             });
  CHECK(std::get<1>(elements_of(forecasts).at(2))(0) == 5);

  auto const ragged = data::range(3).map([](std::int64_t i) { return std::vector<float>(i < 2 ? 2 : 3); });
  fails(
      "batch: expected samples of shape (2,), as the first one is, found (3,) at sample 2 of the batch; padded_batch "
      "pads them [E4118]",
      [&] { static_cast<void>(ragged.to_arrays()); });
  fails("E4118", [&] { elements_of(ragged.batch(3).map([](auto const& batch) { return batch * 1.0F; })); });
  fails("expected arrays of 2 samples in a batch, as many as its first one has, found 1 [E4117]", [&] {
    elements_of(
        pairs.map([](auto const& batch) { return std::tuple(batch, xt::view(batch, xt::range(0, 1))); }).unbatch());
  });
  fails("to_arrays: expected a dataset with an end, found one without; take(n) ends it [E4122]",
        [] { static_cast<void>(data::range(3).repeat().to_arrays()); });
  fails("E4003", [] { static_cast<void>(data::range(0).to_arrays()); });
}

TEST_CASE("padded_batch pads as tf.data does") {
  auto const lists = data::range(5).map(
      [](std::int64_t i) { return std::vector<std::int64_t>(static_cast<std::size_t>(i) + 1, i + 1); });
  auto const batches = elements_of(lists.padded_batch(2));
  REQUIRE(batches.size() == 3);
  CHECK(batches[0] == xt::xtensor<std::int64_t, 2>{{1, 0}, {2, 2}});
  CHECK(batches[1] == xt::xtensor<std::int64_t, 2>{{3, 3, 3, 0}, {4, 4, 4, 4}});
  auto const five = elements_of(
      lists.take(3).padded_batch(2, {.padded_shapes = {{5}}, .padding_values = {-1}, .drop_remainder = true}));
  REQUIRE(five.size() == 1);
  CHECK(five[0] == xt::xtensor<std::int64_t, 2>{{1, -1, -1, -1, -1}, {2, 2, -1, -1, -1}});
  // Several arrays, of several axes, each padded in its own way.
  auto const both = lists.take(2).map([](std::vector<std::int64_t> const& list) {
    auto const length = list.size();
    return std::tuple(xt::xtensor<float, 2>(xt::ones<float>({length, 3 - length})), list);
  });
  auto const [images, sizes] =
      elements_of(both.padded_batch(2, {.padded_shapes = {{-1, 3}, {-1}}, .padding_values = {9, 0}})).at(0);
  CHECK(images == xt::xtensor<float, 3>{{{1, 1, 9}, {9, 9, 9}}, {{1, 9, 9}, {1, 9, 9}}});
  CHECK(sizes == xt::xtensor<std::int64_t, 2>{{1, 0}, {2, 2}});
  auto const pad = [&lists](data::padded_batch_options const& options) {
    return [&lists, options] { elements_of(lists.padded_batch(2, options)); };
  };
  fails("padded_batch: padded_shapes[0]: expected axes at least as long as those of the samples, 2, found 1 [E4121]",
        pad({.padded_shapes = {{1}}}));
  fails("E4121", pad({.padded_shapes = {{5, 5}}}));
  fails("E4121", pad({.padded_shapes = {{5}, {5}}}));
  fails("E4121", pad({.padding_values = {1, 2}}));
  fails("padded_batch: padding_values: expected a whole number that the arrays' type has, found 0.5 [E4121]",
        pad({.padding_values = {0.5}}));
  fails("E4121", pad({.padding_values = {9.3e18}}));
  fails("E4011", [&] { static_cast<void>(lists.padded_batch(0)); });
}

TEST_CASE("map on several threads gives the same elements in the same order") {
  auto const hundred = data::range(100);
  numbers squares;
  for (std::int64_t i = 0; i < 100; ++i) squares.push_back(i * i);
  auto const square = [](std::int64_t x) {
    for (int volatile spin = 0; spin < (x % 7) * 300;) spin = spin + 1;  // some take longer than others
    return x * x;
  };
  for (int calls : {1, 2, 3, 8, data::autotune}) {
    auto const mapped = hundred.map(square, {.num_parallel_calls = calls});
    CHECK(mapped.cardinality() == 100);
    CHECK(elements_of(mapped) == squares);
    CHECK(elements_of(mapped.prefetch(2).shuffle(9).repeat(2)) ==
          elements_of(hundred.map(square).shuffle(9).repeat(2)));
  }
  // A function whose results may depend on the calls before is called in order.
  auto const counting = [calls = std::int64_t{0}](std::int64_t x) mutable { return x + calls++; };
  CHECK(elements_of(hundred.map(counting, {.num_parallel_calls = data::autotune})) ==
        elements_of(hundred.map(counting)));
  fails(
      "map: num_parallel_calls: expected 1 for a function that changes itself, such as a mutable lambda, found 4 "
      "[E4126]",
      [&] { static_cast<void>(hundred.map(counting, {.num_parallel_calls = 4})); });
  // What is thrown comes where its element would come, also from the dataset itself; then the pass is over.
  auto const failing = [](std::int64_t x) {
    if (x == 30 || x == 33) throw std::runtime_error("no " + std::to_string(x));
    return x;
  };
  auto const in_function = hundred.map(failing, {.num_parallel_calls = 3});
  auto const in_source = hundred.map(failing).map([](std::int64_t x) { return x; }, {.num_parallel_calls = 3});
  for (auto const& each : {in_function, in_source}) {
    auto const from = each.begin_pass(0);
    for (std::int64_t i = 0; i < 30; ++i) CHECK(from->next() == i);
    CHECK_THROWS_WITH_AS(static_cast<void>(from->next()), "no 30", std::runtime_error);
    CHECK(!from->next());
  }
  // A pass that is left early ends its threads, and no more is read than they had begun.
  std::atomic<int> given = 0;
  auto const watched = hundred.map([&given](std::int64_t x) { return ++given, x; });
  for (int i = 0; i < 10; ++i)
    static_cast<void>(watched.map([](std::int64_t x) { return x; }, {.num_parallel_calls = 2}).begin_pass(0)->next());
  CHECK(given <= 30);
  CHECK(elements_of(data::range(0).map(square, {.num_parallel_calls = 4})).empty());
  fails("map: num_parallel_calls: expected at least 1, found 0 [E4011]",
        [&] { static_cast<void>(hundred.map(square, {.num_parallel_calls = 0})); });
}
