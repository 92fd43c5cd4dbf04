// SPDX-License-Identifier: BSD-3-Clause
// pad_sequences, split_dataset and timeseries_dataset_from_array: what keras.utils of Keras 3.15 gives for the same
// arguments, which was printed by it.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace data = stagecraft::data;

namespace {

using lists = std::vector<std::vector<int>>;

template <class Data>
lists windows_of(Data const& dataset, std::uint64_t pass = 0) {
  lists result;
  auto const from = dataset.begin_pass(pass);
  while (auto const window = from->next()) result.emplace_back(window->begin(), window->end());
  CHECK(dataset.cardinality() == static_cast<std::int64_t>(result.size()));
  return result;
}
template <class Data>
std::vector<std::int64_t> numbers_of(Data const& dataset) {
  std::vector<std::int64_t> result;
  for (auto const number : dataset) result.push_back(number);
  return result;
}
template <class Call>
void fails(char const* text, Call const& call) {
  CHECK_THROWS_WITH_AS(call(), doctest::Contains(text), stagecraft::data_error);
}
std::vector<int> counted(int first, int last) {
  std::vector<int> result(static_cast<std::size_t>(last - first));
  std::iota(result.begin(), result.end(), first);
  return result;
}

}  // namespace

TEST_CASE("pad_sequences") {
  lists const sequences{{1}, {2, 3}, {4, 5, 6}};
  using rows = xt::xtensor<int, 2>;
  using enum data::pad_side;
  CHECK(data::pad_sequences(sequences) == rows{{0, 0, 1}, {0, 2, 3}, {4, 5, 6}});
  CHECK(data::pad_sequences(sequences, {.maxlen = 2, .value = -1}) == rows{{-1, 1}, {2, 3}, {5, 6}});
  CHECK(data::pad_sequences(sequences, {.maxlen = 2, .truncating = post}) == rows{{0, 1}, {2, 3}, {4, 5}});
  CHECK(data::pad_sequences(sequences, {.maxlen = 2, .padding = post, .truncating = post}) ==
        rows{{1, 0}, {2, 3}, {4, 5}});
  CHECK(data::pad_sequences(sequences, {.padding = post}) == rows{{1, 0, 0}, {2, 3, 0}, {4, 5, 6}});
  std::vector<xt::xtensor<float, 2>> const steps{{{1, 2}}, {{3, 4}, {5, 6}}};  // of two features each
  CHECK(data::pad_sequences(steps) == xt::xtensor<float, 3>{{{0, 0}, {1, 2}}, {{3, 4}, {5, 6}}});
  std::vector<xt::xtensor<float, 2>> const unequal{{{1, 2}}, {{3, 4, 5}}};
  fails(
      "pad_sequences: expected sequences of shape (1, 2) but for their lengths, as the first one is, found (1, 3) at "
      "sequence 1 [E4118]",
      [&] { static_cast<void>(data::pad_sequences(unequal)); });
  fails("E4003", [] { static_cast<void>(data::pad_sequences(lists{})); });
  fails("E4011", [&] { static_cast<void>(data::pad_sequences(sequences, {.maxlen = -1})); });
  for (double const wrong : {0.5, 2147483648.0, -2147483649.0, std::nan("")})
    fails("E4121", [&] { static_cast<void>(data::pad_sequences(sequences, {.value = wrong})); });
  CHECK(data::pad_sequences(sequences, {.value = -2147483648.0})(0, 0) == std::numeric_limits<int>::min());
}

TEST_CASE("split_dataset") {
  auto const ten = data::range(10);
  auto const sizes = [&ten](data::split_options const& options) {
    auto const [left, right] = data::split_dataset(ten, options);
    CHECK(left.cardinality() == static_cast<std::int64_t>(numbers_of(left).size()));
    CHECK(numbers_of(left.repeat(2)).size() == 2 * numbers_of(left).size());
    return std::pair(left.cardinality(), numbers_of(right).front());
  };
  using found = std::pair<std::int64_t, std::int64_t>;  // how many are left, which is the first on the right
  CHECK(sizes({.left_size = 0.25}) == found{2, 2});
  CHECK(sizes({.left_size = 0.35}) == found{4, 4});
  CHECK(sizes({.left_size = 3, .right_size = 0.5}) == found{3, 5});
  CHECK(sizes({.right_size = 2}) == found{8, 8});
  for (data::split_options const& wrong : {data::split_options{.left_size = 0.9, .right_size = 0.5},
                                           {.left_size = 11},
                                           {.left_size = 0},
                                           {.left_size = 10},
                                           {.left_size = 0.01},
                                           {.left_size = -0.5},
                                           {}})
    fails("E4123", [&] { static_cast<void>(data::split_dataset(ten, wrong)); });
  fails("E4122", [&] { static_cast<void>(data::split_dataset(ten.repeat(), {.left_size = 3})); });
  // What is drawn at random is drawn once: no pass has a sample on both sides.
  auto const [left, right] = data::split_dataset(ten.shuffle(10), {.left_size = 6, .shuffle = true, .seed = 3});
  auto all = numbers_of(left);
  CHECK(numbers_of(left) == all);
  for (auto const number : numbers_of(right)) all.push_back(number);
  CHECK(!std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  CHECK(all == numbers_of(ten));
  // Batches are split by samples.
  auto const [few, many] = data::split_dataset(ten.batch(3), {.left_size = 4});
  CHECK(few.cardinality() == 2);
  CHECK(numbers_of(many.unbatch()) == std::vector<std::int64_t>{4, 5, 6, 7, 8, 9});
}

TEST_CASE("timeseries_dataset_from_array") {
  auto const steps = counted(0, 20), targets = counted(100, 116);
  CHECK(windows_of(data::timeseries_dataset_from_array(steps, 5)).size() == 16);
  CHECK(windows_of(data::timeseries_dataset_from_array(steps, 5, {.sequence_stride = 3})) ==
        lists{{0, 1, 2, 3, 4},
              {3, 4, 5, 6, 7},
              {6, 7, 8, 9, 10},
              {9, 10, 11, 12, 13},
              {12, 13, 14, 15, 16},
              {15, 16, 17, 18, 19}});
  CHECK(windows_of(data::timeseries_dataset_from_array(steps, 4, {.sequence_stride = 2, .sampling_rate = 3})) ==
        lists{{0, 3, 6, 9}, {2, 5, 8, 11}, {4, 7, 10, 13}, {6, 9, 12, 15}, {8, 11, 14, 17}, {10, 13, 16, 19}});
  CHECK(windows_of(data::timeseries_dataset_from_array(steps, 3, {.start_index = 4, .end_index = 12})) ==
        lists{{4, 5, 6}, {5, 6, 7}, {6, 7, 8}, {7, 8, 9}, {8, 9, 10}, {9, 10, 11}});
  // With targets, which belong to the first steps of windows, and which may be fewer than the windows.
  data::timeseries_options const part{.sequence_stride = 2, .sampling_rate = 2, .start_index = 4, .end_index = 12};
  auto const pairs = data::timeseries_dataset_from_array(steps, targets, 3, part);
  std::vector<std::pair<int, int>> found;
  for (auto const& [window, target] : pairs) found.emplace_back(window(2), target);
  CHECK(found == std::vector<std::pair<int, int>>{{8, 104}, {10, 106}});
  CHECK(data::timeseries_dataset_from_array(steps, counted(0, 7), 5).cardinality() == 7);
  // Series of several features: windows are views of the array.
  auto const series = xt::xtensor<float, 2>(xt::arange<float>(12).reshape({6, 2}));
  auto const views = data::timeseries_dataset_from_array(series, 2, {.sampling_rate = 3});
  auto const [first, last] = std::pair((*views.begin()), *views.skip(2).begin());
  CHECK(xt::xtensor<float, 2>(first) == xt::xtensor<float, 2>{{0, 1}, {6, 7}});
  CHECK(xt::xtensor<float, 2>(last) == xt::xtensor<float, 2>{{4, 5}, {10, 11}});
  CHECK(&first(0, 0) == &series(0, 0));
  // In another order in each pass, and the same in the same one.
  auto const shuffled = data::timeseries_dataset_from_array(steps, 5, {.shuffle = true});
  CHECK(windows_of(shuffled, 1) == windows_of(shuffled, 1));
  CHECK(windows_of(shuffled, 1) != windows_of(shuffled, 2));
  auto sorted = windows_of(shuffled, 2);
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == windows_of(data::timeseries_dataset_from_array(steps, 5)));
  auto const windows = [&](std::int64_t length, data::timeseries_options const& options) {
    return
        [&steps, length, options] { static_cast<void>(data::timeseries_dataset_from_array(steps, length, options)); };
  };
  fails("timeseries_dataset_from_array: sequence_length: expected at most 20, found 21 [E4124]", windows(21, {}));
  fails("E4124", windows(8, {.sampling_rate = 3}));
  fails("E4124", windows(2, {.start_index = 20}));
  fails("E4124", windows(2, {.end_index = 21}));
  fails("E4011", windows(0, {}));
  fails("E4011", windows(2, {.sequence_stride = 0}));
  fails("timeseries_dataset_from_array: targets: expected more than start_index, 16, found 16 [E4124]",
        [&] { static_cast<void>(data::timeseries_dataset_from_array(steps, targets, 2, {.start_index = 16})); });
}
