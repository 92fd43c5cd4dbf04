// SPDX-License-Identifier: BSD-3-Clause
// E2056: a model with a device mapping is called inside another one.
// expect-error: model 'sequential' has a device mapping of its own, but is called inside another model
// expect-error: give the devices of all stages with the outermost one
// expect-error: [E2056] (E2056_nested_device_mapping.cpp:20)
// user-line: 34 (Clang: the stages ask for the model's graph)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using stack = sc::sequential<input{8}, dense{8}, dense{8}>;
#ifdef STAGECRAFT_BAD
using inner = sc::pipelined<stack, sc::stages<0, 1>, sc::device_mapping<0, 0>>;
#else
using inner = sc::pipelined<stack, sc::stages<0, 1>>;
#endif

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) { return inner{}(model.input(8)); }
};

#ifdef STAGECRAFT_BAD
static_assert(sc::pipeline_stages<net> == 2);
#else
using staged = sc::pipelined<net, [](auto&) {}, sc::device_mapping<0, 0>>;
static_assert(sc::pipeline_stages<staged> == 2 && sc::device_of<staged, 1> == 0);
#endif
