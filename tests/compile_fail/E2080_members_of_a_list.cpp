// SPDX-License-Identifier: BSD-3-Clause
// E2080: the members of a model are asked for that is not a subclass.
// expect-error: members_of is asked of a sequential model, whose layers are not members of it
// expect-error: [E2080]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct subclass : sc::model<subclass> {
  dense hidden{8}, decide{2};
  constexpr auto call(auto&, auto x) { return decide(hidden(x)); }
};

#ifdef STAGECRAFT_BAD
using network = sc::sequential<input{4}, dense{8}, dense{2}>;
#else
using network = sc::build<subclass, input{4}>;
#endif

constexpr auto const& members = sc::members_of<network>;  // <- here
static_assert(sc::call_count<network> == 3);
