// SPDX-License-Identifier: BSD-3-Clause
// E5093: an application has more names than there is room for.
// expect-error: output_names has 65 names, of which there may be
// expect-error: [E5093]
#include <stagecraft/serving/application.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{4}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = 1};
#ifdef STAGECRAFT_BAD
inline constexpr auto around = sc::serving::application_options{
    .output_names = {"a0", "b0", "c0", "d0", "e0", "f0", "g0", "h0", "i0", "j0", "k0", "l0", "m0",
                     "a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1", "k1", "l1", "m1",
                     "a2", "b2", "c2", "d2", "e2", "f2", "g2", "h2", "i2", "j2", "k2", "l2", "m2",
                     "a3", "b3", "c3", "d3", "e3", "f3", "g3", "h3", "i3", "j3", "k3", "l3", "m3",
                     "a4", "b4", "c4", "d4", "e4", "f4", "g4", "h4", "i4", "j4", "k4", "l4", "m4"}};
#else
inline constexpr auto around = sc::serving::application_options{.output_names = {"a0"}};
#endif

stagecraft_application const* get_application() {
  return sc::serving::application<network, inference, around>::table();  // <- here
}
