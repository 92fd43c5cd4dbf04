// SPDX-License-Identifier: BSD-3-Clause
// The law that a layer's kernels compute what its `call` says: the predictions of a model, and what forward steps of
// training make of weights, against the operations of all calls, carried out on doubles. And their gradients are the
// derivatives, which gradient_check.hpp says of the kernels.
#pragma once

#include "../larger_deviation.hpp"
#include "../operations/gradient_check.hpp"
#include "gradient_check.hpp"

#include <stagecraft/operations/differentiation.hpp>

#include <span>
#include <utility>

namespace laws {

template <class M>
class call_check {
  using check = gradient_check<M, by_gradient<>>;
  using session = typename check::session;
  using numbers = sc::operations::reference::values;

 public:
  static void run() {
    session s;
    auto const weights = check::initial(s);
    for (bool const trains : {false, true}) {
      CAPTURE(trains);
      check::write(s, weights);
      check::fill(s);
      call_check expected(s, weights, trains);
      if (trains)
        s.train_step([&] { expected.compare_outputs(s); });
      else
        s.predict_step();
      if (!trains) expected.compare_outputs(s);
      if (trains) expected.compare_states(check::read(s));
    }
  }

 private:
  static constexpr auto const& graph = session::graph;

  call_check(session& s, values const& weights, bool trains) : trains_(trains), values_(graph.calls.size()) {
    for (auto const& weight : weights) weights_.emplace_back(weight.begin(), weight.end());
    int input = 0;
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      if (graph.calls[i].is_input) {
        values_[i].assign(s.input(input), s.input(input) + session::batch * session::input_shape(input).size());
        ++input;
      }
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      (carry_out<static_cast<int>(Call)>(), ...);
    }(std::make_index_sequence<graph.calls.size()>{});
  }

  template <int Call>
  void carry_out() {
    if constexpr (!graph.calls[Call].is_input) {
      auto const& layer = sc::layer_of<M, Call>;
      std::vector<sc::shape> shapes;
      for (int const from : graph.inputs_of(Call)) shapes.push_back(graph.call(from).shape);
      auto const traced = sc::detail::trace_layer(layer, shapes, session::batch, trains_);
      run_call(traced, Call);
      if (trains_ && layer.trainable) check_gradients_of(traced);
    }
  }
  void run_call(sc::operations::trace const& traced, int call) {
    REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
    sc::operations::reference::interpreter run(traced.list.nodes, traced.list.operands);
    int const first = graph.layers[static_cast<std::size_t>(graph.call(call).layer)].first_parameter;
    auto const weight_of = [&](int id) -> numbers& {
      return weights_[static_cast<std::size_t>(
          first + traced.list.node_of(id).what.template as<sc::operations::weight>().index)];
    };
    for (int id = 0; id < traced.list.size(); ++id)
      if (traced.list.node_of(id).what.template is<sc::operations::weight>()) run[id] = weight_of(id);
    auto const from = graph.inputs_of(call);
    for (std::size_t i = 0; i < traced.inputs.size(); ++i)
      run[traced.inputs[i]] = values_[static_cast<std::size_t>(from[i])];
    run.run(traced.forward_count);
    values_[static_cast<std::size_t>(call)] = run[traced.outputs[0]];
    for (int id = 0; id < traced.list.size(); ++id)
      if (traced.list.node_of(id).what.template is<sc::operations::update>())
        weight_of(traced.list.operand(id, 0)) = run[traced.list.operand(id, 1)];
  }
  static void check_gradients_of(sc::operations::trace traced) {
    sc::operations::differentiate(traced);
    sc::operations::reference::gradient_check(traced).check(1e-6);
  }

  void compare_outputs(session const& s) const {
    for (std::size_t output = 0; output < session::output_count; ++output)
      compare_values(s.prediction(output), values_[static_cast<std::size_t>(session::outputs[output])]);
  }
  /// Of weights that forward steps change.
  void compare_states(values const& found) const {
    for (std::size_t i = 0; i < found.size(); ++i)
      if (graph.parameters[i].is_state()) compare_values(found[i].data(), weights_[i]);
  }
  static void compare_values(float const* found, numbers const& expected) {
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double const here = std::abs(static_cast<double>(found[i]) - expected[i]) / (1 + std::abs(expected[i]));
      worst = larger_deviation(worst, here);
    }
    CHECK(expected.size() > 0);
    CHECK(worst < 2e-5);
  }

  bool trains_;
  std::vector<numbers> values_, weights_;
};

/// Both laws.
template <class M>
void check_calls() {
  check_gradients<M>();
  call_check<M>::run();
}

}  // namespace laws
