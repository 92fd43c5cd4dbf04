// SPDX-License-Identifier: BSD-3-Clause
// Computations that move, repeat, scale and sum elements: what is found of them, and their steps against the reference
// on doubles, for any number of threads.
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/layers/layers.hpp>
#include <deque>
#include <doctest/doctest.h>
#include <tuple>
#include <utility>
#include <vector>

#include "../../kernels/share_check.hpp"
#include "../../operations/reference.hpp"

namespace {

namespace sc = stagecraft;
namespace operations = stagecraft::operations;
using namespace share_check;
using sc::shape;
using namespace sc::layers;

/// A layer of one line, as a value that a plan knows.
template <class Call>
struct moves : sc::layer<moves<Call>>, Call {
  static constexpr std::string_view class_name = "Moves";
};
template <auto Layer>
using of = sc::detail::layer_of_calls<Layer>;

struct turned {
  constexpr auto call(auto& ops, auto x) const { return ops.transpose(x, {0, 2, 3, 1}); }
};
struct twice {  // elements that are read twice, and some that are not
  constexpr auto call(auto& ops, auto x) const {
    return ops.concatenate({ops.slice(x, 1, 0, 3), ops.slice(x, 1, 1, 3)}, 2) * 0.5F;
  }
};
struct in_the_middle {  // padding inside of units
  constexpr auto call(auto& ops, auto x) const { return ops.pad(ops.pad(x, 2, 1, 2), 3, 2, 1); }
};
struct across {  // a part of what was one axis
  constexpr auto call(auto& ops, auto x) const {
    return ops.reshape(ops.slice(ops.reshape(x, {x.length(0), 4, 6}), 1, 1, 2), {x.length(0), 3, 4});
  }
};
struct squared {
  constexpr auto call(auto&, auto x) const { return x * x; }
};
struct flipped {
  constexpr auto call(auto& ops, auto x) const { return ops.flip(x, 1); }
};
struct batch_of_sums {
  constexpr auto call(auto& ops, auto x) const { return ops.sum(ops.concatenate({x, x}, 1), 1); }
};

/// The walks of a layer, as functions whose types say nothing of it.
struct tested {
  operations::trace traced;
  int batch, lanes;
  std::vector<std::int64_t> inputs;  // floats of a sample
  std::int64_t output;
  void (*forward)(std::deque<buffer>& x, float* y, kernels::share part);
  void (*backward)(bool adds, int input, float const* dy, float* dx, kernels::share part);
};

template <class Layer, int Batch, class Arch, shape... Inputs>
tested walks_of() {
  using found = sc::detail::transfers_of_layer<Layer, Batch, true, true, Inputs...>;
  static_assert(found::holds);
  using forward = typename found::forward;
  shape const shapes[]{Inputs...};
  tested result{sc::detail::trace_layer(Layer::value, shapes, Batch, true),
                Batch,
                kernels::lanes<Arch>,
                {Inputs.size()...},
                sc::detail::frozen_draft<forward>.sample,
                [](std::deque<buffer>& x, float* y, kernels::share part) {
                  static constexpr std::int64_t floats[]{Inputs.size()...};
                  auto const& all = sc::detail::frozen_draft<forward>;
                  kernels::transfer_elements<sc::detail::frozen_draft<forward>, Batch, false, Arch>(
                      [&](std::size_t walk) {
                        auto const input = static_cast<std::size_t>(all.parts[walk].input);
                        return std::pair{static_cast<float const*>(x[input].data()), floats[input]};
                      },
                      y, part);
                },
                [](bool adds, int input, float const* dy, float* dx, kernels::share part) {
                  constexpr auto floats = sc::detail::frozen_draft<forward>.sample;
                  auto const from = [&](std::size_t) { return std::pair{dy, floats}; };
                  [&]<std::size_t... Input>(std::index_sequence<Input...>) {
                    auto const run = [&]<std::size_t I>() {
                      using back = typename found::template backward<static_cast<int>(I)>;
                      if (static_cast<int>(I) != input) return;
                      if (adds)
                        kernels::transfer_elements<sc::detail::frozen_draft<back>, Batch, true, Arch>(from, dx, part);
                      else
                        kernels::transfer_elements<sc::detail::frozen_draft<back>, Batch, false, Arch>(from, dx, part);
                    };
                    (run.template operator()<Input>(), ...);
                  }(std::make_index_sequence<sizeof...(Inputs)>{});
                }};
  operations::differentiate(result.traced);
  return result;
}

void check(tested const& of) {
  CAPTURE(of.lanes);
  CAPTURE(of.output);
  std::deque<buffer> x;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    x.emplace_back(static_cast<int>(of.inputs[i] * of.batch));
    shuffled(x.back(), static_cast<unsigned>(i + 1));
  }
  buffer y(static_cast<int>(of.output * of.batch)), dy(y.size());
  shuffled(dy, 9);
  auto const doubles = [](buffer& from) { return std::vector<double>(from.data(), from.data() + from.size()); };
  operations::reference::interpreter expected(of.traced.list.nodes, of.traced.list.operands);
  for (std::size_t i = 0; i < x.size(); ++i) expected[of.traced.inputs[i]] = doubles(x[i]);
  expected[of.traced.seeds[0]] = doubles(dy);
  expected.run(of.traced.list.size());
  check_shares(y, [&](kernels::share part) { of.forward(x, y.data(), part); });
  CHECK(deviation(y.data(), expected[of.traced.outputs[0]]) < 1e-6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    buffer dx(x[i].size());
    check_gradient(dx, expected[of.traced.gradients[i]], 1e-6, [&](bool adds, kernels::share part) {
      of.backward(adds, static_cast<int>(i), dy.data(), dx.data(), part);
    });
  }
}

template <auto Layer, int Batch, shape... Inputs>
void check_layer() {
  [&]<class... Arch>(std::tuple<Arch...>*) {
    (check(walks_of<of<Layer>, Batch, Arch, Inputs...>()), ...);
  }(static_cast<std::tuple<MATMUL_ARCHITECTURES>*>(nullptr));
}
template <auto Layer, shape... Inputs>
constexpr bool holds = sc::detail::transfers_of_layer<of<Layer>, 2, true, true, Inputs...>::holds;

}  // namespace

// Other computations are none, and long sums of elements that lie apart are those of other loops.
static_assert(!holds<moves<squared>{}, shape(4, 5)>);
static_assert(!holds<moves<flipped>{}, shape(4, 5)>);
static_assert(!holds<moves<batch_of_sums>{}, shape(4, 5)>);
static_assert(!holds<global_average_pooling2d{}, shape(9, 8, 1)>);
static_assert(holds<global_average_pooling2d{}, shape(9, 8, 2)>);

// Two walks and no zeros; a walk and what is around it; rows that are the same.
static_assert([] {
  shape const shapes[]{shape(3, 4, 5), shape(3, 4, 2)};
  auto const traced = sc::detail::trace_layer(concatenate{}, shapes, 2, true);
  operations::transfers const found(traced);
  auto const forward = found.forward(28), backward = found.backward(1, 8);
  return found.holds && forward.parts.size() == 2 && forward.parts[1].input == 1 && forward.parts[1].to == 5 &&
         forward.parts[1].count == 2 && forward.parts[1].axes[0].to == 7 && forward.parts[1].axes[0].length == 12 &&
         backward.parts.size() == 1 && backward.parts[0].from == 5 && backward.sample == 24;
}());

TEST_CASE("zero padding and cropping") {
  check_layer<zero_padding2d(1), 2, shape(3, 4, 5)>();
  check_layer<zero_padding2d({{2, 3}, {0, 5}}), 1, shape(20, 30, 33)>();
  check_layer<zero_padding1d({2, 0}), 3, shape(7, 17)>();
  check_layer<cropping2d({{1, 0}, {2, 1}}), 2, shape(5, 6, 3)>();
  check_layer<cropping1d(1), 2, shape(40, 16)>();
}

TEST_CASE("concatenation, slices and other movement") {
  check_layer<concatenate{}, 3, shape(10), shape(3)>();
  check_layer<concatenate(1), 2, shape(3, 4, 9), shape(2, 4, 9)>();
  check_layer<concatenate(2), 2, shape(40, 20, 20), shape(40, 2, 20)>();
  check_layer<moves<turned>{}, 2, shape(3, 4, 5)>();
  check_layer<moves<twice>{}, 2, shape(5, 6)>();
  check_layer<moves<in_the_middle>{}, 2, shape(3, 4, 5)>();
  check_layer<moves<across>{}, 2, shape(24)>();
}

TEST_CASE("repetition and means") {
  check_layer<up_sampling2d(2), 2, shape(3, 4, 16)>();
  check_layer<up_sampling2d({3, 1}), 2, shape(3, 5, 7)>();
  check_layer<up_sampling2d(2), 1, shape(20, 20, 3)>();
  check_layer<up_sampling2d(2), 2, shape(3, 2, 1)>();
  check_layer<up_sampling1d(4), 1, shape(5, 33)>();
  check_layer<global_average_pooling2d{}, 2, shape(5, 7, 70)>();
  check_layer<global_average_pooling2d{}, 3, shape(1, 1, 16)>();
  check_layer<global_average_pooling1d{{.keepdims = true}}, 2, shape(11, 3)>();
}
