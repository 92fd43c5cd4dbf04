// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/whole_pass.hpp>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

template <class M>
constexpr auto const& training = sc::plan::model_plan_of<M, 4, sc::execution_mode::training>;
template <class M>
constexpr auto const& inference = sc::plan::model_plan_of<M, 4, sc::execution_mode::inference>;

// Where tensors lie, without stages.
template <class M>
using training_job = sc::jobs::job<M, sc::training{.batch_size = 4}>;
template <class M>
constexpr auto const& places = sc::plan::whole_places_of<training_job<M>>;
template <class M>
constexpr auto const& inference_places = sc::plan::whole_places_of<typename training_job<M>::in_inference>;

using chain =
    sc::sequential<input{2, 3}, flatten{}, dense{5, sc::relu}, dropout{0.5F}, dense{7, sc::gelu}, reshape{7, 1}>;

/// x is used by three calls; one of them uses it twice.
struct fan : sc::functional<fan> {
  static constexpr auto build(auto& model) {
    auto x = dense(4)(model.input(4));
    dense shared(4);
    auto a = shared(x), b = shared(a);
    return add()(multiply()(x, x), b);
  }
};

struct frozen_start : sc::functional<frozen_start> {
  static constexpr auto build(auto& model) {
    auto x = activation(sc::relu)(model.input(4));
    return sc::outputs(dense(3)(x), activation(sc::tanh)(x));
  }
};

struct twice : sc::functional<twice> {
  static constexpr auto build(auto& model) {
    auto x = dense(4)(model.input(4));
    return sc::outputs(x, reshape(2, 2)(x));
  }
};

// calls of chain: input, flatten, dense, dropout, dense, reshape
static_assert(training<chain>.batch == 4);
static_assert(training<chain>.calls[1].root == 0, "flatten is its input's memory");
static_assert(places<chain>.value[1].offset == places<chain>.value[0].offset);
static_assert(training<chain>.calls[3].root == 3, "dropout writes while training");
static_assert(inference<chain>.calls[3].root == 2, "and is its input at inference");
static_assert(training<chain>.calls[5].root == 4);
static_assert(places<chain>.gradient[5].offset == places<chain>.gradient[4].offset);

static_assert(!training<chain>.calls[0].needs_gradient && !training<chain>.calls[1].needs_gradient);
static_assert(!places<chain>.gradient[0].exists(), "nobody wants the gradient of an input");
static_assert(training<chain>.calls[2].needs_gradient && training<chain>.calls[5].needs_gradient);
static_assert(!inference<chain>.calls[2].needs_gradient && !inference_places<chain>.gradient[2].exists());

static_assert(!places<chain>.saved[2].exists(), "relu needs its output alone");
static_assert(places<chain>.saved[4].exists(), "gelu needs what was before it");
static_assert(!inference_places<chain>.saved[4].exists());
static_assert(inference_places<chain>.scratch_floats < places<chain>.scratch_floats);

// calls of fan: input, dense, shared, shared, multiply, add. Backward steps run from the last to the first.
constexpr auto edge = [](int call, int index) {
  return static_cast<std::size_t>(sc::graph_of<fan>.call(call).first_input + index);
};
static_assert(!training<fan>.adds_gradient[edge(5, 0)] && !training<fan>.adds_gradient[edge(5, 1)]);
static_assert(!training<fan>.adds_gradient[edge(4, 0)], "multiply is the first that writes the gradient of x");
static_assert(training<fan>.writes_own_gradient[edge(4, 1)], "its second input is x again: written, then added");
static_assert(training<fan>.writes_own_gradient[edge(2, 0)], "the same for shared");
static_assert(!training<fan>.adds_gradient[edge(4, 1)] && !training<fan>.adds_gradient[edge(2, 0)]);
static_assert(!training<fan>.writes_own_gradient[edge(5, 0)] && !inference<fan>.writes_own_gradient[edge(2, 0)]);
static_assert(sc::plan::whole_pass_of<training_job<fan>, true>.additions.size() == 2);
static_assert(training<fan>.calls[3].writes_parameter_gradient && !training<fan>.calls[2].writes_parameter_gradient,
              "the last call of a layer writes its weights' gradients; those of the others are added");

static_assert(!training<frozen_start>.calls[1].needs_gradient, "nothing before it is trained");
static_assert(!training<frozen_start>.calls[3].needs_gradient);
static_assert(training<frozen_start>.calls[2].needs_gradient);

static_assert(training<twice>.loss_adds_gradient == std::array{false, true}, "two outputs in one place");
static_assert(places<twice>.loss_scratch.exists());
static_assert(!places<fan>.loss_scratch.exists());

// The gradient of an activation is applied by the only reader of its output, if that can.
using relus = sc::sequential<input{6}, dense{5, sc::relu}, dense{5, sc::tanh}, dense{5, sc::gelu}, dense{5, sc::relu},
                             flatten{}, dense{5, sc::sigmoid}, dropout{0.5F}, dense{5, sc::relu}>;
struct two_readers : sc::functional<two_readers> {
  static constexpr auto build(auto& model) {
    auto x = dense(4, sc::relu)(model.input(4));
    auto y = dense(4, sc::relu)(x);
    return add()(dense(4)(x), dense(4)(y));
  }
};
template <class M>
constexpr bool left_to_reader(std::size_t call) {
  return training<M>.calls[call].activation_in_consumer;
}
static_assert(left_to_reader<relus>(1) && left_to_reader<relus>(2));
static_assert(!training<relus>.calls[1].needs.output, "then the layer itself does not look at its output");
static_assert(!left_to_reader<relus>(3), "gelu's gradient needs what was before it");
static_assert(!left_to_reader<relus>(4), "its reader is a view");
static_assert(!left_to_reader<relus>(6), "dropout leaves it to the layer");
static_assert(!left_to_reader<relus>(8), "the loss reads it");
static_assert(!left_to_reader<two_readers>(1) && left_to_reader<two_readers>(2));
static_assert(!inference<relus>.calls[1].activation_in_consumer);

// Both modes find the inputs in one place, since a session fills them before it knows which one runs.
template <class M>
constexpr bool same_inputs() {
  for (std::size_t i = 0; i < sc::graph_of<M>.calls.size(); ++i)
    if (sc::graph_of<M>.calls[i].is_input && places<M>.value[i].offset != inference_places<M>.value[i].offset)
      return false;
  return true;
}
struct many_inputs : sc::functional<many_inputs> {
  static constexpr auto build(auto& model) {
    auto a = model.input(3);
    auto x = dense(9, sc::gelu)(a);
    auto b = model.input(20), unused = model.input(33);
    (void)unused;
    return concatenate()(dense(2)(dropout(0.5F)(dense(30)(b))), x, model.input(5));
  }
};
static_assert(same_inputs<chain>() && same_inputs<fan>() && same_inputs<many_inputs>());

// Samples that dense layers alone read may lie anywhere.
static_assert(inference<chain>.calls[0].stays_in_place && !training<chain>.calls[0].stays_in_place);
static_assert(inference<fan>.calls[0].stays_in_place && !inference<frozen_start>.calls[0].stays_in_place);
struct added_input : sc::functional<added_input> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    return add()(dense(4)(x), x);
  }
};
static_assert(!inference<added_input>.calls[0].stays_in_place, "the addition, an epilogue of dense, reads it as well");
static_assert(!inference<sc::sequential<input{6}, flatten{}>>.calls[0].stays_in_place, "it is the output");
static_assert(!inference<sc::sequential<input{6, 5}, conv1d{4, 3}>>.calls[0].stays_in_place);
/// Marks steps, and changes nothing.
struct marks : sc::layer<marks> {
  static constexpr std::string_view class_name = "Marks";
  static constexpr bool supports_masking = true;
  [[nodiscard]] constexpr sc::tracing::mask_rule compute_mask() const { return {0, true, false}; }
  constexpr auto call(auto&, auto x) const { return x; }
};
using marked = sc::sequential<input{4, 3}, marks{}, dense{2}>;
static_assert(inference<marked>.calls[1].root == 0 && !inference<marked>.calls[0].stays_in_place,
              "an evaluation leaves out the rows that it finds marked there");
template <class M>
constexpr bool none_in_place = [] {
  for (auto const& call : inference<M>.calls)
    if (call.stays_in_place) return false;
  return true;
}();
static_assert(none_in_place<many_inputs>);

}  // namespace

TEST_CASE("memory is used again: a deep model needs less than its tensors together at inference") {
  using deep = sc::sequential<input{64}, dense{64}, dense{64}, dense{64}, dense{64}, dense{64}, dense{64}>;
  CHECK(inference_places<deep>.scratch_floats == 2 * 4 * 64);
  CHECK(places<deep>.scratch_floats < 2 * 7 * 4 * 64);
}
