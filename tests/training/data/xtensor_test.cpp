// SPDX-License-Identifier: BSD-3-Clause
// What the library uses of xtensor compiles and computes with each supported release and compiler.
#include <stagecraft/training/data/xtensor.hpp>

#include <array>
#include <vector>

#include <doctest/doctest.h>

static_assert(std::is_same_v<xt::rebind_container_t<std::ptrdiff_t, xt::svector<std::size_t, 4>>,
                             xt::svector<std::ptrdiff_t, 4>>);
static_assert(std::is_same_v<xt::rebind_container_t<int, xt::svector<std::size_t, 4>>, xt::svector<int, 4>>);

TEST_CASE("containers of static and dynamic rank convert into each other") {
  xt::xtensor<float, 3> const fixed({2, 3, 4}, 1.0f);
  xt::xarray<float> dynamic = fixed * 2.0f;
  dynamic.reshape({6, 4});
  CHECK(dynamic(5, 3) == 2.0f);
  dynamic.reshape({2, 3, 4});
  xt::xtensor<float, 3> const back = dynamic;
  CHECK(back == fixed + fixed);
}

TEST_CASE("a view selects rows of a container and of another view") {
  xt::xarray<float> dynamic = xt::xtensor<float, 2>({{1, 2}, {3, 4}, {5, 6}});
  xt::xtensor<float, 2> const rows = xt::view(dynamic, xt::range(1, 3));
  CHECK(rows(0, 0) == 3.0f);
  xt::xtensor<float, 2> const kept = xt::view(xt::view(dynamic, xt::keep(2, 0)), xt::all(), xt::range(1, 2));
  CHECK(kept(0, 0) == 6.0f);
  CHECK(kept(1, 0) == 2.0f);
}

TEST_CASE("an adaptor writes through to memory that it does not own") {
  std::vector<float> values(6, 3.0f);
  std::array<std::size_t, 2> const shape{2, 3};
  auto adaptor = xt::adapt(values.data(), values.size(), xt::no_ownership(), shape);
  xt::noalias(adaptor) = adaptor * 2.0f + 1.0f;
  CHECK(values[5] == 7.0f);
}
