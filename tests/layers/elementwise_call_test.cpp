// SPDX-License-Identifier: BSD-3-Clause
// Which layers are elementwise, and what their formulas are: those of activations are what kernels compute.
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/layers/layers.hpp>
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <span>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::shape, sc::detail::anonymous, sc::detail::elementwise_call, sc::detail::formula_of_layer,
    sc::detail::gradient_of_layer;

template <auto Layer>
using of_one = elementwise_call<anonymous(Layer), 4, true, shape(3, 5)>;
template <auto Layer>
using of_two = elementwise_call<anonymous(Layer), 4, true, shape(3, 5), shape(3, 5)>;
template <auto Layer, shape Second>
using of_other = elementwise_call<anonymous(Layer), 4, true, shape(3, 5), Second>;

// Names make no difference.
static_assert(std::same_as<of_one<activation{sc::relu}>, of_one<activation{sc::relu}.named("first")>>);

// Activations: what is known is the output where that tells enough.
static_assert(of_one<activation{sc::relu}>::facts.holds && !of_one<activation{sc::relu}>::facts.repeats);
static_assert(of_one<activation{sc::relu}>::facts.function == sc::relu);
static_assert(of_one<activation{sc::relu}>::facts.gradient_reads[0] == 0);
static_assert(of_one<activation{sc::relu}>::facts.gradient_reads_output[0]);
static_assert(of_one<activation{sc::gelu}>::facts.gradient_reads[0] == 1);
static_assert(!of_one<activation{sc::gelu}>::facts.gradient_reads_output[0]);
static_assert(of_one<re_lu{6}>::facts.function == sc::activations::relu(0, 6));
static_assert(of_one<activation{sc::linear}>::facts.holds);

// Merging layers.
static_assert(of_two<add{}>::facts.holds && of_two<add{}>::facts.function == sc::linear);
static_assert(of_two<add{}>::facts.gradient_reads[1] == 0 && !of_two<add{}>::facts.gradient_reads_output[1]);
static_assert(formula_of_layer<of_two<add{}>>.steps.size() == 3 &&
              gradient_of_layer<of_two<add{}>, 1>.steps.size() == 1);
static_assert(of_two<multiply{}>::facts.gradient_reads[0] == 2 && of_two<maximum{}>::facts.gradient_reads[1] == 3);
static_assert(of_two<average{}>::facts.holds && of_two<subtract{}>::facts.holds);
// Inputs that are repeated.
static_assert(of_other<multiply{}, shape(5)>::facts.holds && of_other<multiply{}, shape(5)>::facts.repeats);
static_assert(of_other<multiply{}, shape(5)>::facts.aligned[1] == sc::operations::extents(4, 1, 5));
static_assert(of_other<add{}, shape(3, 1)>::facts.aligned[1] == sc::operations::extents(4, 3, 1));
static_assert(of_other<add{}, shape(3, 1)>::facts.aligned[0] == sc::operations::extents(4, 3, 5));

// Layers of one's own: elements stay where they are, whatever the shape is in between.
using doubled = lambda<decltype([](auto& ops, auto x) {
  return ops.reshape(ops.reshape(x, {x.length(0), 15}) * 2.0F, x.shape());
})>;
static_assert(of_one<doubled({})>::facts.holds && !of_one<doubled({})>::facts.repeats);
using turned = lambda<decltype([](auto& ops, auto x) { return ops.transpose(x, {0, 2, 1}); })>;
using centred = lambda<decltype([](auto& ops, auto x) { return x - ops.mean(x, -1); })>;
static_assert(!of_one<turned({})>::facts.holds && !of_one<centred({})>::facts.holds);

// Nor formulas that are too long for registers.
using long_one = lambda<decltype([](auto x) {
  auto y = x;
  for (int i = 0; i < 40; ++i) y = y * x + 1.0F;
  return y;
})>;
static_assert(!of_one<long_one({})>::facts.holds);

// What is not elementwise, has weights, or no `call`.
static_assert(!of_one<activation{sc::softmax}>::facts.holds && !of_one<group_normalization{1}>::facts.holds);
static_assert(!of_one<softmax_layer{}>::facts.holds);

/// The largest difference from the kernels' value and gradient on [-8, 8], relative to 1 and more.
template <sc::activation Act>
float difference() {
  using call = of_one<activation{Act}>;
  using arch = sc::kernels::default_architecture;
  using batch = sc::kernels::batch<arch>;
  using kernel = sc::kernels::activation_function<Act, arch>;
  sc::kernels::formula_function<formula_of_layer<call>, arch> const value(std::span<double const>{});
  sc::kernels::formula_function<gradient_of_layer<call, 0>, arch> const gradient(std::span<double const>{});
  float largest = 0;
  auto const compare = [&](batch const& a, batch const& b) {
    float const x = a.get(0), y = b.get(0);
    largest = std::max(largest, std::fabs(x - y) / std::max(1.0F, std::fabs(y)));
  };
  for (float x = -8; x <= 8; x += 0.03125F) {
    batch const given(x), y = kernel::forward(given), dy(1.5F);
    batch found;
    value(&given, &found);
    compare(found, y);
    batch const numbers[]{given, y, dy};
    gradient(numbers, &found);
    compare(found, kernel::gradient(Act.gradient_needs_input() ? given : y, dy));
  }
  return largest;
}

TEST_CASE("formulas of activations are what kernels compute") {
  using namespace sc::activations;
  CHECK(difference<sc::relu>() == 0);
  CHECK(difference<relu(0.25F)>() == 0);
  CHECK(difference<relu(0, 6)>() == 0);
  CHECK(difference<relu(0.25F, 3, 1)>() == 0);
  CHECK(difference<sc::sigmoid>() < 1e-6F);
  CHECK(difference<sc::tanh>() < 1e-6F);
  CHECK(difference<sc::gelu>() < 1e-6F);
  CHECK(difference<gelu(true)>() < 1e-6F);
  CHECK(difference<sc::swish>() < 1e-6F);
  CHECK(difference<sc::selu>() < 1e-6F);
  CHECK(difference<sc::elu>() < 1e-6F);
  CHECK(difference<elu(-0.5F)>() < 1e-6F);
  CHECK(difference<sc::exponential>() < 1e-6F);
  CHECK(difference<sc::softplus>() < 1e-6F);
  CHECK(difference<sc::softsign>() < 1e-6F);
  CHECK(difference<sc::hard_sigmoid>() < 1e-6F);
}

}  // namespace
