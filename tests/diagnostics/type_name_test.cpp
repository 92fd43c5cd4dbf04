// SPDX-License-Identifier: BSD-3-Clause
// Types as messages name them: without namespaces and template arguments.
#include <doctest/doctest.h>

#include <stagecraft/diagnostics/type_name.hpp>
#include <type_traits>

namespace some::room {

struct window {};
template <class T, int N>
struct shelf {};

}  // namespace some::room

using stagecraft::detail::type_name;

static_assert(type_name<int>() == "int");
static_assert(type_name<some::room::window>() == "window");
static_assert(type_name<some::room::shelf<some::room::window, 3>>() == "shelf");

TEST_CASE("a lambda has no name") {
  auto const lambda = [](int x) { return x; };
  CHECK(type_name<std::remove_const_t<decltype(lambda)>>() == "a lambda");
  CHECK(lambda(1) == 1);
}
