// SPDX-License-Identifier: BSD-3-Clause
// A predictor as a servable, which hides its type.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/kernels/elementwise/whole.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/serving/servable.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::serving {

namespace detail {

[[nodiscard]] inline tensor_spec spec_of(std::string name, shape const& of) {
  return {std::move(name), {of.begin(), of.end()}};
}

/// Throws E5093 for a name that occurs twice, since callers find outputs by their names.
inline void check_output_names(std::string const& owner, std::vector<std::string> const& names) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      throw file_error("E5093", owner + ": output_names has '" + *name + "' twice");
}

/// Describes the servable of a session. Inputs have the names of their layers; outputs have `output_names` or, as in
/// Graphcore's export, "output_0", "output_1".
template <class Session>
[[nodiscard]] servable_description describe_session(std::string name,
                                                    std::vector<std::string> const& output_names = {}) {
  check_output_names(name, output_names);
  servable_description result{.name = std::move(name),
                              .batch_size = Session::batch,
                              .iterations = Session::described::training.steps_per_execution,
                              .stages = Session::sizes::stages,
                              .replicas = Session::replicas,
                              .inputs = {},
                              .outputs = {}};
  for (int i = 0; i < Session::input_count(); ++i) {
    auto const& call = Session::graph.calls[Session::input_call(i)];
    result.inputs.push_back(spec_of(std::string(Session::graph.layer(call.layer).name.view()), call.shape));
  }
  for (std::size_t i = 0; i < Session::output_count; ++i)
    result.outputs.push_back(
        spec_of(i < output_names.size() ? output_names[i] : "output_" + std::to_string(i), Session::output_shape(i)));
  return result;
}

/// Reports E5097 for a stateful model: samples of all callers share batches, and a state belongs to one caller's
/// samples.
template <class Session>
inline constexpr diagnostics::diagnostic states_between_callers = [] {
  diagnostics::diagnostic problem;
  if (Session::graph.is_stateful())
    problem.report(5097,
                   "the model is stateful, and calls share its batches, so that one caller's samples would go on ",
                   "where another's ended; give the states as inputs and outputs of the model");
  return problem;
}();

}  // namespace detail

/// Owns a predictor whose weights are given, of a model that is not stateful (E5097). `output_names`: names of the
/// outputs in the model's order; missing ones are "output_0" and so on. `iterations`: batches of an execution; 0: the
/// predictor's steps_per_execution.
template <class Predictor>
class predictor_servable final : public servable {
  using session_type = typename Predictor::session_type;
  static_assert(stagecraft::detail::report<detail::states_between_callers<session_type>>());

 public:
  explicit predictor_servable(Predictor&& model, std::vector<std::string> const& output_names = {}, int iterations = 0)
      : model_(std::move(model)),
        description_(detail::describe_session<session_type>(std::string(model_.name()), output_names)) {
    if (iterations > 0) description_.iterations = iterations;
    model_.session().begin_run();
  }

  [[nodiscard]] servable_description const& description() const noexcept override { return description_; }

  void run(servable_feed& feed) override {
    model_.session().predict(description_.iterations, bring_batch{feed}, take_outputs{feed});
  }

 private:
  struct bring_batch {
    servable_feed& from;
    template <class Destination>
    void operator()(Destination& to, int replica, int) const {
      std::array<float*, static_cast<std::size_t>(session_type::input_count())> inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = to.input(static_cast<int>(i));
      int const samples = from.feed(replica, inputs.data());
      if (samples < 0) throw detail::no_more_batches{};
      for (int i = 0; i < session_type::input_count(); ++i)
        if (auto const& shape = session_type::input_shape(i); shape.is_whole)
          for (int k = 0; k < samples * shape.size(); ++k)
            to.input(i)[k] = kernels::whole_value(operations::whole_function::from_float, to.input(i)[k], 0);
      to.set_valid_samples(std::max(samples, 1));
    }
    void cancel() const noexcept { from.cancel(); }
  };
  struct take_outputs {
    servable_feed& to;
    template <class View>
    void operator()(View const& step) const {
      std::array<float const*, session_type::output_count> outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = step.prediction(i);
      to.take(step.replica(), outputs.data());
    }
  };

  Predictor model_;
  servable_description description_;
};

}  // namespace stagecraft::serving
