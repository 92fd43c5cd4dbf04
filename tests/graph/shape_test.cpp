// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/shape.hpp>
#include <doctest/doctest.h>
#include <span>
#include <vector>

namespace sc = stagecraft;

constexpr auto spelled(sc::shape const& shape, bool batch) {
  sc::fixed_text<60> text;
  if (batch)
    shape.append_with_batch_to(text);
  else
    shape.append_to(text);
  return text;
}

// Views of what goes away are for arguments, which are read: as std::span has it.
using sc::tracing::array_view;
static_assert(std::is_constructible_v<array_view<int>, std::vector<int>&> &&
              !std::is_constructible_v<array_view<int>, std::vector<int>> &&
              std::is_constructible_v<array_view<int const>, std::vector<int>> &&
              std::is_constructible_v<array_view<int>, std::span<int>> &&
              std::is_constructible_v<array_view<int const>, array_view<int>>);
template <class View>
concept IsOfNumbers = requires { View{0, 1}; } || requires { View{0, 0}; };
static_assert(!IsOfNumbers<array_view<int const>>, "the 0 would be a null pointer");

// What was removed from an array does not come back: a new element has the default value.
static_assert([] {
  sc::tracing::growing_array<int> list{1, 2, 3};
  list.pop_back();
  bool const is_new = list.emplace_back() == 0 && list.size() == 3;
  list.clear();
  return is_new && list.emplace_back() == 0;
}());

static_assert(sc::shape{}.rank() == 0 && sc::shape{}.size() == 1 && sc::shape{}.back() == 1);
static_assert(sc::shape(28, 28, 3).rank() == 3);
static_assert(sc::shape(28, 28, 3).size() == 28 * 28 * 3);
static_assert(sc::shape(28, 14, 3)[1] == 14 && sc::shape(28, 14, 3).back() == 3);
static_assert(sc::shape(2, 3, 4, 5).size(1, 3) == 12);
static_assert(sc::shape(2, 3) == sc::shape(2, 3) && !(sc::shape(2, 3) == sc::shape(3, 2)));
static_assert(!(sc::shape(2, 3) == sc::shape(2, 3, 1)));

// Python's spelling of tuples.
static_assert(spelled({28, 28}, false) == "(28, 28)");
static_assert(spelled({10}, false) == "(10,)");
static_assert(spelled({10}, true) == "(None, 10)");
static_assert(spelled({}, true) == "(None,)");
static_assert(spelled({2, 3, 4}, true) == "(None, 2, 3, 4)");

static_assert(sc::name(sc::dtype::boolean) == "bool" && sc::name(sc::dtype::float32) == "float32");
static_assert(sc::size_of(sc::dtype::float16) == 2 && sc::size_of(sc::dtype::uint8) == 1);

TEST_CASE("a shape is iterable and grows up to its greatest rank") {
  sc::shape shape(1, 2);
  for (int i = 3; i < 10; ++i) shape.push_back(i);
  CHECK(shape.rank() == sc::shape::max_rank);
  int sum = 0;
  for (int const dimension : shape) sum += dimension;
  CHECK(sum == 1 + 2 + 3 + 4 + 5 + 6);
}
