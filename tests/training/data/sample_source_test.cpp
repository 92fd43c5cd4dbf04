// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/training/data/batch_loader.hpp>

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace sc = stagecraft;

static_assert(sc::trainers::SampleData<xt::xtensor<float, 2>>);
static_assert(sc::trainers::SampleData<xt::xarray<std::uint8_t> const&>);
static_assert(sc::trainers::SampleData<std::vector<int>>);
static_assert(sc::trainers::SampleData<std::span<double const>>);
static_assert(!sc::trainers::SampleData<std::string>);
static_assert(!sc::trainers::SampleData<std::vector<std::string>>);
static_assert(!sc::trainers::SampleData<int>);

namespace {

std::vector<float> numbers_of(sc::trainers::sample_source const& source) {
  std::vector<float> numbers(static_cast<std::size_t>(source.count() * source.sample_size()));
  source.gather(0, source.count(), numbers.data());
  return numbers;
}

std::vector<float> gathered(sc::trainers::sample_source const& source, std::vector<std::int32_t> const& rows) {
  std::vector<float> numbers(rows.size() * static_cast<std::size_t>(source.sample_size()));
  source.gather(rows, numbers.data());
  return numbers;
}

struct labelled {
  xt::xtensor<float, 2> x;
  std::vector<int> y;
};

}  // namespace

TEST_CASE("containers are used in place, whatever their numbers") {
  xt::xtensor<float, 2> x{{1, 2}, {3, 4}, {5, 6}};
  sc::trainers::sample_source source(x);
  CHECK(source.given());
  CHECK(source.count() == 3);
  CHECK(source.sample_shape() == sc::shape(2));
  x(1, 0) = 7;
  CHECK(numbers_of(source) == std::vector<float>{1, 2, 7, 4, 5, 6});
  CHECK(gathered(source, {2, 0, 2}) == std::vector<float>{5, 6, 1, 2, 5, 6});
  CHECK(source.at(1, 1) == 4);

  xt::xarray<std::uint8_t> const bytes{{0, 255}, {128, 1}};
  sc::trainers::sample_source const from_bytes(bytes);
  CHECK(numbers_of(from_bytes) == std::vector<float>{0, 255, 128, 1});
  xt::xtensor<double, 1> const numbers{0.5, 1.5};
  sc::trainers::sample_source const from_doubles(numbers);
  CHECK(from_doubles.sample_shape().rank() == 0);
  CHECK(from_doubles.sample_size() == 1);
  CHECK(numbers_of(from_doubles) == std::vector<float>{0.5f, 1.5f});
  xt::xtensor<bool, 2> const flags{{true}, {false}};
  CHECK(numbers_of(flags) == std::vector<float>{1, 0});
}

TEST_CASE("other orders and views give the same samples") {
  xt::xtensor<float, 2> const x{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  xt::xtensor<float, 2, xt::layout_type::column_major> const columns = x;
  CHECK(numbers_of(columns) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto const rows = xt::view(x, xt::range(1, 3));
  CHECK(numbers_of(rows) == std::vector<float>{4, 5, 6, 7, 8, 9});
  CHECK(numbers_of(xt::view(x, xt::range(0, 2))) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(numbers_of(xt::view(x, xt::all(), xt::range(1, 3))) == std::vector<float>{2, 3, 5, 6, 8, 9});
  CHECK(numbers_of(xt::view(x, xt::range(0, 3, 2))) == std::vector<float>{1, 2, 3, 7, 8, 9});
  CHECK(numbers_of(xt::view(x, xt::all(), 1)) == std::vector<float>{2, 5, 8});

  xt::xtensor<int, 3> const deep{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
  CHECK(numbers_of(xt::view(deep, xt::all(), xt::all(), xt::range(0, 2))) ==
        std::vector<float>{1, 2, 4, 5, 7, 8, 10, 11});
  CHECK(numbers_of(xt::view(deep, xt::all(), 1)) == std::vector<float>{4, 5, 6, 10, 11, 12});
  CHECK(numbers_of(xt::view(deep, xt::all(), xt::newaxis(), 1)) == std::vector<float>{4, 5, 6, 10, 11, 12});
  CHECK(numbers_of(xt::view(deep, xt::range(1, 2), xt::range(1, 2))) == std::vector<float>{10, 11, 12});
  CHECK(numbers_of(xt::view(deep, xt::all(), xt::range(1, 2))) == std::vector<float>{4, 5, 6, 10, 11, 12});
  CHECK(numbers_of(xt::view(xt::view(deep, xt::range(1, 2)), xt::all(), 0)) == std::vector<float>{7, 8, 9});

  // A view of the first axis is not copied.
  xt::xtensor<float, 2> changing = x;
  sc::trainers::sample_source const last(xt::view(changing, xt::range(1, 3)));
  changing(2, 2) = 10;
  CHECK(last.at(1, 2) == 10);
}

TEST_CASE("lazy expressions are evaluated once") {
  xt::xtensor<float, 2> x{{2, 4}, {6, 8}};
  auto const half = x / 2.f;
  sc::trainers::sample_source const source(half);
  sc::trainers::sample_source const temporary(x + 1.f);
  x(0, 0) = 100;
  CHECK(numbers_of(source) == std::vector<float>{1, 2, 3, 4});
  CHECK(numbers_of(temporary) == std::vector<float>{3, 5, 7, 9});
}

TEST_CASE("temporaries are kept, also by copies and slices") {
  auto const make = [] {
    sc::trainers::sample_source source(xt::xtensor<int, 2>{{1, 2}, {3, 4}, {5, 6}});
    return source.slice(1, 2);
  };
  sc::trainers::sample_source const source = make();
  CHECK(source.count() == 2);
  CHECK(numbers_of(source) == std::vector<float>{3, 4, 5, 6});
  CHECK(gathered(source, {1}) == std::vector<float>{5, 6});
  CHECK(numbers_of(sc::trainers::sample_source(std::vector<double>{1, 2})) == std::vector<float>{1, 2});
}

TEST_CASE("sequences are one number per sample, also as class numbers") {
  std::vector<std::int64_t> const labels{3, 1, 2};
  sc::trainers::sample_source const source(labels);
  std::int32_t whole[3];
  source.gather(0, 3, whole);
  CHECK(whole[0] == 3);
  std::int32_t const rows[] = {2, 0};
  source.gather(rows, whole);
  CHECK(whole[0] == 2);
  CHECK(whole[1] == 3);
  std::array<float, 2> const two{1, 2};
  CHECK(numbers_of(two) == std::vector<float>{1, 2});
  CHECK(numbers_of(std::span(labels)) == std::vector<float>{3, 1, 2});
  float storage[] = {1, 2, 3, 4};
  float* const raw = storage;
  auto const adapted = xt::adapt(raw, 4, xt::no_ownership(), std::vector<std::size_t>{2, 2});
  CHECK(sc::trainers::sample_source(adapted).sample_shape() == sc::shape(2));
}

TEST_CASE("too many dimensions are refused") {
  xt::xarray<float> const number(1.f);
  CHECK_THROWS_AS(sc::trainers::sample_source{number}, sc::data_error);
  xt::xarray<float> const deep = xt::xarray<float>::from_shape({1, 1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_WITH_AS(
      sc::trainers::sample_source{deep},
      "data: expected an array of samples with at most 6 dimensions each, found an array of 8 dimensions "
      "[E4016]",
      sc::data_error);
}

TEST_CASE("sets of arrays, however they are given") {
  xt::xtensor<float, 2> const a{{1, 2}, {3, 4}};
  std::vector<float> const b{5, 6};
  sc::sample_set const one = a;
  CHECK(one.size() == 1);
  CHECK(one.count() == 2);
  for (sc::sample_set const& two :
       {sc::inputs(a, b), sc::targets(a, std::vector<float>{5, 6}), sc::sample_set(std::tie(a, b)),
        sc::sample_set(std::tuple(a, b)), sc::sample_set(std::pair(a, b))}) {
    CHECK(two.size() == 2);
    CHECK(numbers_of(two[0]) == std::vector<float>{1, 2, 3, 4});
    CHECK(numbers_of(two[1]) == std::vector<float>{5, 6});
    CHECK(numbers_of(two.slice(1, 1)[1]) == std::vector<float>{6});
  }
  CHECK_FALSE(sc::sample_set().given());
  CHECK(sc::sample_set().count() == 0);
}

TEST_CASE("options take data of every kind") {
  labelled const test{{{1, 2}, {3, 4}}, {0, 1}};
  sc::fit_options const by_name{.epochs = 2, .validation_data = test};
  CHECK(by_name.validation_data.given());
  CHECK(numbers_of(by_name.validation_data.y[0]) == std::vector<float>{0, 1});

  sc::fit_options const kept{.validation_data = labelled{{{1, 2}}, {1}}};
  CHECK(numbers_of(kept.validation_data.x[0]) == std::vector<float>{1, 2});
  CHECK(numbers_of(kept.validation_data.y[0]) == std::vector<float>{1});

  sc::fit_options const pair{.validation_data = {test.x, test.y}};
  CHECK(pair.validation_data.x.count() == 2);
  CHECK_FALSE(pair.validation_data.sample_weight.given());
  sc::fit_options const triple{.validation_data = {test.x, test.y, std::vector<float>{1, 2}},
                               .class_weight = {{0, 1.0f}, {1, 5.0f}},
                               .sample_weight = std::vector<float>{1, 2}};
  CHECK(triple.validation_data.sample_weight.count() == 2);
  CHECK(triple.class_weight.size() == 2);
  CHECK_FALSE(sc::fit_options{}.validation_data.given());
}

TEST_CASE("weights of rows are sample weight times class weight") {
  std::vector<float> const by_sample{1, 2, 3, 4};
  std::vector<int> const labels{0, 1, 1, 0};
  xt::xtensor<float, 2> const one_hot{{1, 0}, {0, 1}, {0, 1}, {1, 0}};
  std::int32_t const rows[] = {3, 1};
  float weights[2];
  sc::trainers::row_weights const none;
  CHECK_FALSE(none.given());
  none.gather(rows, weights);
  CHECK(weights[0] == 1);
  for (sc::trainers::sample_source const& targets :
       {sc::trainers::sample_source(labels), sc::trainers::sample_source(one_hot)}) {
    sc::trainers::row_weights const both(by_sample, {{1, 10.0f}, {0, 0.5f}}, targets);
    CHECK(both.given());
    both.gather(rows, weights);
    CHECK(weights[0] == 2);
    CHECK(weights[1] == 20);
  }
  sc::trainers::row_weights const classes({}, {{0, 0.5f}, {1, 3}}, labels);
  classes.gather(rows, weights);
  CHECK(weights[0] == 0.5f);
  CHECK(weights[1] == 3);
}
