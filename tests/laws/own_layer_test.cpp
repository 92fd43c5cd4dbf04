// SPDX-License-Identifier: BSD-3-Clause
// Layers of a user's own: as defined here, outside of the library, in all three kinds of model.
#include "../session_steps.hpp"
#include "model_laws.hpp"

#include <algorithm>

namespace {

/// y = factor * x^2 + shift, with weights as long as the last axis; keeps x^2.
struct square : sc::layer<square> {
  static constexpr std::string_view class_name = "Square";
  static constexpr bool backward_uses_output = false;

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr int saved_size(sc::layer_inputs const& in) const { return in[0].size(); }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "factor", .shape = {in[0].back()}, .initializer = sc::initializers::ones{}});
    weights.add({.name = "shift", .shape = {in[0].back()}, .initializer = sc::initializers::zeros{}});
  }

  void forward(auto const& call) const {
    auto const width = static_cast<std::size_t>(call.input_shape().back());
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      float const x = call.input()[i];
      if (call.training) call.saved()[i] = x * x;
      call.output()[i] = call.weight(0)[i % width] * x * x + call.weight(1)[i % width];
    }
  }
  void backward(auto const& call) const {
    auto const width = static_cast<std::size_t>(call.input_shape().back());
    for (std::size_t i = 0; i < call.output_gradient().size(); ++i) {
      float const dy = call.output_gradient()[i];
      call.input_gradient()[i] += 2 * dy * call.weight(0)[i % width] * call.input()[i];
      call.weight_gradient(0)[i % width] += dy * call.saved()[i];
      call.weight_gradient(1)[i % width] += dy;
    }
  }
};

/// y = a * b + a, of another shape than its inputs: (n) and (n) to (n, 1). Has no weights, and an option.
struct gate : sc::layer<gate> {
  static constexpr std::string_view class_name = "Gate";
  float strength;
  constexpr explicit gate(float strength_ = 1) : strength(strength_) {}

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return {in[0].size(), 1}; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i)
      call.output()[i] = strength * call.input(0)[i] * call.input(1)[i] + call.input(0)[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      call.input_gradient(0)[i] += call.output_gradient()[i] * (strength * call.input(1)[i] + 1);
      call.input_gradient(1)[i] += call.output_gradient()[i] * strength * call.input(0)[i];
    }
  }
};

/// Keeps values and has no weights: as a first layer, it has no backward step, but still room to keep them.
struct keeps : sc::layer<keeps> {
  static constexpr std::string_view class_name = "Keeps";

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr int saved_size(sc::layer_inputs const& in) const { return in[0].size(); }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      if (call.training) call.saved()[i] = 3;
      call.output()[i] = 3 * call.input()[i];
    }
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i)
      call.input_gradient()[i] += call.saved()[i] * call.output_gradient()[i];
  }
};

/// A weight that is not trained beside one that is.
struct offset : sc::layer<offset> {
  static constexpr std::string_view class_name = "Offset";

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "fixed", .shape = in[0], .initializer = sc::initializers::ones{}, .trainable = false});
    weights.add({.name = "free", .shape = in[0], .initializer = sc::initializers::zeros{}});
  }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      auto const at = i % call.weight(0).size();
      call.output()[i] = call.input()[i] + call.weight(0)[at] + call.weight(1)[at];
    }
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      call.input_gradient()[i] += call.output_gradient()[i];
      call.weight_gradient(1)[i % call.weight(0).size()] += call.output_gradient()[i];
    }
  }
};

/// A product with a weight in the kernels' own layout.
struct project : sc::layer<project> {
  static constexpr std::string_view class_name = "Project";
  int units;
  constexpr explicit project(int units_) : units(units_) {}

  constexpr sc::shape output_shape(sc::layer_inputs const&) const { return units; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "matrix",
                 .shape = {in[0].back(), units},
                 .initializer = sc::initializers::zeros{},
                 .layout = sc::tracing::parameter_layout::matrix});
  }
  template <class Call>
  static constexpr int index(int row, int column) {
    return sc::kernels::packed_matrix<Call::input_shape().back(), Call::output_shape().back()>::index(row, column);
  }
  template <class Call>
  void forward(Call const& call) const {
    int const inputs = call.input_shape().back();
    for (int row = 0; row < call.batch; ++row)
      for (int unit = 0; unit < units; ++unit) {
        float sum = 0;
        for (int i = 0; i < inputs; ++i)
          sum += call.input()[static_cast<std::size_t>(row * inputs + i)] *
                 call.weight()[static_cast<std::size_t>(index<Call>(i, unit))];
        call.output()[static_cast<std::size_t>(row * units + unit)] = sum;
      }
  }
  template <class Call>
  void backward(Call const& call) const {
    int const inputs = call.input_shape().back();
    for (int row = 0; row < call.batch; ++row)
      for (int unit = 0; unit < units; ++unit)
        for (int i = 0; i < inputs; ++i) {
          auto const in = static_cast<std::size_t>(row * inputs + i);
          auto const at = static_cast<std::size_t>(index<Call>(i, unit));
          float const dy = call.output_gradient()[static_cast<std::size_t>(row * units + unit)];
          call.input_gradient()[in] += dy * call.weight()[at];
          call.weight_gradient()[at] += dy * call.input()[in];
        }
  }
};

using in_sequence = sc::sequential<input{4}, square{}, dense{3}, square{}, dense{2}>;

struct in_functional : sc::functional<in_functional> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    square shared;
    auto a = shared(x), b = shared(dense(4, sc::tanh)(a));
    return dense(2)(flatten()(gate(0.5F)(b, b)));
  }
};

struct in_subclass : sc::model<in_subclass> {
  square first, second;
  gate join{2};
  dense head{2};
  constexpr auto call(auto&, auto x) { return head(join(second(first(x)), x)); }
};

using first_keeps = sc::sequential<input{4}, keeps{}, dense{3}, keeps{}, dense{2}>;
struct projected_twice : sc::functional<projected_twice> {
  static constexpr auto build(auto& model) {
    project shared(5);
    return dense(2)(shared(shared(model.input(5))));
  }
};
using partly_trained = sc::sequential<input{4}, dense{3}, offset{}>;

}  // namespace

static_assert(sc::Layer<square> && sc::Layer<gate> && sc::Layer<keeps>);
static_assert(sc::count_parameters<in_sequence>() == 8 + 15 + 6 + 8);
static_assert(sc::plan::model_plan_of<in_sequence, 2, sc::execution_mode::training>.calls[1].needs.saved == 2 * 4);

TEST_CASE("a sequential model") { laws::check_gradients<in_sequence>(); }
TEST_CASE("a functional model, called twice and with one tensor twice") { laws::check_gradients<in_functional>(); }
TEST_CASE("a subclass") { laws::check_gradients<sc::build<in_subclass, input{4}>>(); }
TEST_CASE("values kept without a backward step") { laws::check_gradients<first_keeps>(); }

TEST_CASE("a weight that is packed") { laws::check_gradients<projected_twice>(); }

TEST_CASE("a weight that is not trained stays") {
  static constexpr auto training = laws::by_gradient<>;
  using session = session_steps<partly_trained, training, sc::host<>>;
  session s;
  std::fill_n(s.input(0), 3 * 4, 0.5F);
  std::fill_n(s.scale(0), 3, 1.0F / 3);
  s.train_step([] {});
  constexpr std::size_t fixed = 2, free = 3;
  for (int i = 0; i < 3; ++i) {
    CHECK(s.weight(fixed)[i] == 1);
    CHECK(s.weight(free)[i] != 0);
  }
}

TEST_CASE("training with own layers lowers the loss") {
  static constexpr auto training =
      sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.02F}, .batch_size = 8};
  using session = session_steps<in_sequence, training, sc::host<>>;
  session s(3);
  laws::numbers draw(5);
  float first = 0;
  for (int step = 0; step < 300; ++step) {
    for (int row = 0; row < 8; ++row) {
      float sum = 0;
      for (int i = 0; i < 4; ++i) sum += s.input(0)[row * 4 + i] = draw.next();
      s.target<0>()[row * 2] = sum;
      s.target<0>()[row * 2 + 1] = s.input(0)[row * 4] * s.input(0)[row * 4];
      s.scale(0)[row] = 1.0F / 8;
    }
    s.train_step([] {});
    if (step == 0) first = s.total_loss();
  }
  CHECK(s.total_loss() < first);
}
