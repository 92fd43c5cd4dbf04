// SPDX-License-Identifier: BSD-3-Clause
// The words of datasets: what they make of elements, and how many they say there are.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace data = stagecraft::data;

namespace {

template <class Data>
auto elements_of(Data const& dataset, std::uint64_t pass = 0) {
  std::vector<typename Data::element_type> result;
  auto const from = dataset.begin_pass(pass);
  while (auto element = from->next()) result.push_back(std::move(*element));
  CHECK(!from->next());
  return result;
}

using numbers = std::vector<std::int64_t>;

/// A dataset of one's own: 10, 20, 30.
struct tens {
  using element_type = int;
  struct pass final : data::stream<int> {
    int at = 0;
    std::optional<int> next() override { return at < 30 ? std::optional(at += 10) : std::nullopt; }
  };
  [[nodiscard]] std::int64_t cardinality() const { return 3; }
  [[nodiscard]] std::unique_ptr<data::stream<int>> begin_pass(std::uint64_t) const { return std::make_unique<pass>(); }
};
static_assert(data::Dataset<tens> && data::Dataset<data::dataset<float>>);

}  // namespace

TEST_CASE("take, skip, repeat, batch and zip give the elements that tf.data gives") {
  auto const five = data::range(5);
  CHECK(elements_of(five) == numbers{0, 1, 2, 3, 4});
  CHECK(elements_of(five.take(2)) == numbers{0, 1});
  CHECK(elements_of(five.take(-1)).size() == 5);
  CHECK(elements_of(five.skip(3)) == numbers{3, 4});
  CHECK(elements_of(five.skip(9)).empty());
  CHECK(elements_of(five.skip(-1)).empty());
  CHECK(elements_of(five.take(2).repeat(2)) == numbers{0, 1, 0, 1});
  CHECK(elements_of(five.repeat().skip(4).take(3)) == numbers{4, 0, 1});
  CHECK(elements_of(five.repeat(0)).empty());
  CHECK(elements_of(data::range(0).repeat()).empty());
  CHECK(elements_of(five.prefetch(2)) == numbers{0, 1, 2, 3, 4});
  auto const pairs = elements_of(five.batch(2));
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[1] == data::batch_of<std::int64_t>{2, 3});
  CHECK(pairs[2].size() == 1);
  CHECK(elements_of(five.batch(2, true)).size() == 2);
  CHECK(elements_of(data::zip(five, five.skip(1))).back() == std::tuple(std::int64_t{3}, std::int64_t{4}));
  CHECK(elements_of(data::dataset(tens{}).map([](int x) { return x / 10; })) == std::vector<int>{1, 2, 3});
  int seen = 0;
  for (auto const number : five.take(3)) seen += static_cast<int>(number);
  CHECK(seen == 3);
}

TEST_CASE("The number of elements is known where it can be") {
  using data::infinite_cardinality, data::unknown_cardinality;
  auto const unknown = data::from_generator([] { return [] { return std::optional<int>(); }; });
  auto const seven = data::range(7);
  CHECK(seven.cardinality() == 7);
  CHECK(seven.map([](std::int64_t x) { return x; }).shuffle(3).prefetch().cardinality() == 7);
  CHECK(seven.batch(2).cardinality() == 4);
  CHECK(seven.batch(2, true).cardinality() == 3);
  CHECK(seven.take(3).cardinality() == 3);
  CHECK(seven.take(9).cardinality() == 7);
  CHECK(seven.skip(3).cardinality() == 4);
  CHECK(seven.skip(9).cardinality() == 0);
  CHECK(seven.repeat(3).cardinality() == 21);
  CHECK(seven.repeat().cardinality() == infinite_cardinality);
  CHECK(seven.repeat().take(5).cardinality() == 5);
  CHECK(seven.repeat().batch(5).cardinality() == infinite_cardinality);
  CHECK(data::range(0).repeat().cardinality() == 0);
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  CHECK(seven.repeat(largest).cardinality() == largest);
  CHECK(seven.batch(largest).cardinality() == 1);
  CHECK(elements_of(seven.batch(largest)).at(0).size() == 7);
  CHECK(elements_of(seven.shuffle(largest).prefetch(largest)).size() == 7);
  CHECK(unknown.cardinality() == unknown_cardinality);
  CHECK(unknown.take(5).cardinality() == unknown_cardinality);
  CHECK(unknown.repeat(2).batch(2).cardinality() == unknown_cardinality);
  CHECK(unknown.assert_cardinality(4).cardinality() == 4);
  CHECK(data::zip(seven, seven.repeat()).cardinality() == 7);
  CHECK(data::zip(seven, unknown).cardinality() == unknown_cardinality);
}

TEST_CASE("shuffle draws from its buffer, in another order in each pass, and the same in the same one") {
  auto const hundred = data::range(100), shuffled = hundred.shuffle(10);
  auto const first = elements_of(shuffled, 0), second = elements_of(shuffled, 1);
  CHECK(first != second);
  CHECK(first == elements_of(shuffled, 0));
  CHECK(first != elements_of(hundred.shuffle(10, {.seed = 2}), 0));
  CHECK(elements_of(hundred.shuffle(10, {.reshuffle_each_iteration = false}), 1) == first);
  for (std::size_t i = 0; i < 100; ++i) CHECK(first[i] < static_cast<std::int64_t>(i) + 10);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == elements_of(hundred));
  CHECK(elements_of(hundred.shuffle(1)) == elements_of(hundred));
  // Repetitions are passes: what fit(shuffled, {.epochs = 2}) reads.
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  CHECK(elements_of(shuffled.repeat(2)) == both);
  CHECK(elements_of(shuffled.repeat().take(200)) == both);
}

TEST_CASE("from gives numbers and views of samples; map computes what it is given") {
  xt::xtensor<float, 3> const images = xt::arange<float>(12).reshape({3, 2, 2});
  std::vector<int> const labels{7, 8, 9};
  auto const both = data::from(images, labels);
  CHECK(both.cardinality() == 3);
  auto const elements = elements_of(both);
  CHECK(std::get<0>(elements[1])(1, 0) == 6);
  CHECK(std::get<1>(elements[1]) == 8);
  auto const half =
      elements_of(both.map([](auto const& image, int label) { return std::pair(image / 2.0F, label + 1); }));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(half[0]))>, xt::xtensor<float, 2>>);
  CHECK(std::get<0>(half[2])(0, 1) == 4.5F);
  CHECK(std::get<1>(half[2]) == 10);
  // A view becomes a tensor, an array in another order is copied, rvalues are kept.
  auto const columns = data::from(xt::transpose(images)).map([](auto const& image) { return xt::view(image, 0); });
  CHECK(elements_of(columns).at(1)(2) == 9);
  auto const several = data::from(std::tie(images, images), labels);
  CHECK(std::get<1>(std::get<0>(elements_of(several).at(2)))(0, 0) == 8);
  CHECK_THROWS_WITH_AS(static_cast<void>(data::from(images, std::vector<int>{1, 2})), doctest::Contains("E4002"),
                       stagecraft::data_error);
}

TEST_CASE("What a function throws comes through threads") {
  auto const failing = data::range(5).map([](std::int64_t x) {
    if (x == 3) throw std::runtime_error("no three");
    return x;
  });
  auto const from = failing.prefetch(2).begin_pass(0);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(from->next() == i);
  CHECK_THROWS_WITH_AS(static_cast<void>(from->next()), "no three", std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(data::range(3).shuffle(0)), doctest::Contains("E4011"),
                       stagecraft::data_error);
  // A pass that is left early ends its thread.
  for (int i = 0; i < 20; ++i) static_cast<void>(data::range(1000).prefetch(4).begin_pass(0)->next());
}
