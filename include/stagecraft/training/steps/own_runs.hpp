// SPDX-License-Identifier: BSD-3-Clause
// `test` and `predict` of a training step of one's own, as models that share the step's weights. Keras counterparts: a
// model's `test_step` and `predict_step`.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <stagecraft/training/data/batch_loader.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <stagecraft/training/run_prediction.hpp>
#include <stagecraft/training/run_problem.hpp>
#include <stagecraft/training/steps/step_values.hpp>
#include <stagecraft/training/steps/sub_step.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// Functions that a training step may have beside `train`.
enum class own_run : unsigned char { test, predict };

/// True if the step has `test` or `predict` with this number of inputs.
template <class Step, own_run Run, std::size_t... Input>
constexpr bool takes_inputs(std::index_sequence<Input...>) {
  if constexpr (Run == own_run::test)
    return requires(Step const& step, step_words<>& words, array_view<operations::tensor const> in) {
      step.test(words, in[Input]...);
    };
  else
    return requires(Step const& step, step_words<>& words, array_view<operations::tensor const> in) {
      step.predict(words, in[Input]...);
    };
}
/// Number of the step's inputs that its `test` or `predict` takes, from the first one on; 0: the step has none.
template <class Step, own_run Run>
inline constexpr std::size_t inputs_of_run = []<std::size_t... Less>(std::index_sequence<Less...>) {
  std::size_t count = 0;
  ((count = takes_inputs<Step, Run>(std::make_index_sequence<Less + 1>{}) ? Less + 1 : count), ...);
  return count;
}(std::make_index_sequence<Step::step_inputs::count>{});

/// Traces `test` or `predict` after the step's `train`, which makes the weights in their order. Operations that only
/// `train` needs are dropped. Returns the prediction or, for `test`, an empty tensor: its metrics are then those of the
/// step.
template <class Step, own_run Run, std::size_t... Train, std::size_t... Input>
constexpr operations::tensor trace_run(operations::tracer& ops, operations::traced_step& step,
                                       array_view<operations::tensor const> in, std::index_sequence<Train...>,
                                       std::index_sequence<Input...>) {
  int const batch = in[0].length(0);
  auto& list = ops.list();
  growing_array<operations::tensor> all;
  for (shape const& each : Step::step_inputs::shapes)
    all.push_back(all.size() < in.size() ? in[all.size()] : ops.full(operations::extents::of_batch(batch, each), 0));
  Step own{};
  step_words<> words(ops, step, batch);
  own.train(words, all[Train]...);
  std::size_t const members = step.members.size(), sub_steps = step.sub_steps.size();
  step.metrics.clear();
  operations::tensor result{};
  if constexpr (Run == own_run::test)
    own.test(words, in[Input]...);
  else
    result = own.predict(words, in[Input]...);
  constexpr auto name = Run == own_run::test ? "test" : "predict";
  if (step.sub_steps.size() != sub_steps)
    list.problem.report(2094, "`", name, "` of a training step calls minimize; only `train` moves weights");
  if (step.members.size() != members)
    list.problem.report(2095, "`", name, "` of a training step calls a model that `train` does not call: '",
                        step.members.back().name, "'");
  if (Run == own_run::test && (step.metrics.empty() || step.metrics.size() > operations::traced_step::most))
    list.problem.report(2096, "`test` of a training step reports ", static_cast<int>(step.metrics.size()),
                        " metrics; it reports at least one, with step.metric(\"loss\", loss), and at most ",
                        operations::traced_step::most);
  return result;
}
template <class Step, own_run Run>
constexpr operations::tensor trace_run(operations::tracer& ops, operations::traced_step& step,
                                       array_view<operations::tensor const> in) {
  return trace_run<Step, Run>(ops, step, in, std::make_index_sequence<Step::step_inputs::count>{},
                              std::make_index_sequence<inputs_of_run<Step, Run>>{});
}

/// Facts about a `test` or `predict` that are known before it is planned.
struct own_run_facts {
  diagnostic problem;
  int metric_count = 0;
  operations::traced_step::metric metrics[operations::traced_step::most];
};
template <class Step, own_run Run>
inline constexpr own_run_facts facts_of_run = [] {
  own_run_facts facts;
  if constexpr (inputs_of_run<Step, Run> > 0) {
    operations::operation_list list;
    growing_array<parameter> weights;
    operations::tracer ops(list, weights, true);
    step_being_traced being(ops, nullptr);
    list.kind = "step";
    list.layer_name = Run == own_run::test ? "test" : "predict";
    growing_array<operations::tensor> inputs;
    for (std::size_t i = 0; i < inputs_of_run<Step, Run>; ++i)
      inputs.push_back(ops.append(operations::input{static_cast<int>(i)},
                                  operations::extents::of_batch(2, Step::step_inputs::shapes[i])));
    trace_run<Step, Run>(ops, being.step, inputs);
    facts.problem = list.problem;
    if (!list.problem.failed())
      for (auto const& each : being.step.metrics) facts.metrics[facts.metric_count++] = each;
  }
  return facts;
}();

/// `test` or `predict` as a layer: returns the predictions, or the metrics, which are the same for each sample.
template <class Step, own_run Run>
struct own_run_layer : layer<own_run_layer<Step, Run>> {
  static constexpr std::string_view class_name = "SubStep";
  static constexpr bool sees_whole_batches = true;

  constexpr operations::tensor call(operations::tracer& ops, tensor_list in) const {
    constexpr bool none[operations::traced_step::most]{};
    auto& list = ops.list();
    step_being_traced being(ops, none);
    auto const predicted = trace_run<Step, Run>(ops, being.step, in);
    if (list.problem.failed()) return in[0];
    list.losses.clear();  // nothing is minimized
    if constexpr (Run == own_run::predict) {
      return predicted;
    } else {
      growing_array<operations::tensor> reported;
      for (auto const& each : being.step.metrics) reported.push_back(reported_rows(ops, each, in[0].length(0)));
      return ops.concatenate(reported);
    }
  }
};

template <class Step, own_run Run>
struct own_run_model : functional<own_run_model<Step, Run>> {
  static constexpr std::string_view name = "training_step";

  static constexpr auto build(auto& model) {
    return [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      symbolic_tensor const in[]{model.input(Step::step_inputs::shapes[Input])...};
      own_run_layer<Step, Run> run;
      run.layer_name = "step";
      return run(in[Input]...);
    }(std::make_index_sequence<inputs_of_run<Step, Run>>{});
  }
};

/// A session of `test` or `predict` that shares the weights of a step's trainer; empty if the step has none.
template <class Step, own_run Run, step_options Options, class Machine, bool Exists = (inputs_of_run<Step, Run> > 0)>
struct own_run_session {
  static constexpr auto description =
      inference{.batch_size = Options.batch_size, .num_replicas = 1, .seed = Options.seed};
  using session_type = session_of_run<own_run_model<Step, Run>, description, Machine>;

  owned<session_type> session;
  void const* source = nullptr;  // the session whose weights are copied before each run
  void (*copy)(void const*, session_type&) = nullptr;

  /// Has the weights of the step's first session: in its memory or, if layers keep them there as their kernels want
  /// them, as copies.
  template <class Session>
  [[gnu::cold]] void share(Session& from) {
    session = owned<session_type>(new session_type());
    if constexpr (has_graphs<Step>) {
      source = &from;
      copy = copy_weights_of<Session>;
    } else {
      auto& weights = from.memory_of_weights();
      static_cast<void>(session->weight(0));  // what was made of the first weights is made anew
      session->memory_of_weights() = weights.share_part(0, static_cast<long long>(weights.size()));
    }
  }
  template <class Session>
  static void copy_weights_of(void const* from, session_type& to) {
    std::vector<float> values;
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (
          [&] {
            values.resize(static_cast<std::size_t>(session_type::graph.parameters[Weight].size()));
            static_cast<Session const*>(from)->template read_weight<Weight>(values.data());
            to.template write_weight<Weight>(values.data());
          }(),
          ...);
    }(std::make_index_sequence<session_type::graph.parameters.size()>{});
  }
  /// Runs the batches of `order`; `take(view, batch)` sees the output of each.
  template <class Take>
  void run(sample_set const& x, bool drop_remainder, Take const& take) {
    check_inputs<session_type>(x);
    epoch_order order(x.count(), false, 1);
    order.begin_epoch(0);
    int const batches = order.batches(Options.batch_size, drop_remainder);
    if (copy != nullptr) copy(source, *session);
    session->begin_run();
    for (int batch = 0; batch < batches; ++batch) {
      auto const rows = order.batch(batch, Options.batch_size, batches);
      session->predict(
          1, [&](auto& to, int, int) { load_inputs<session_type>(x, to, rows); },
          [&](auto const& view) { take(view, batch); });
    }
  }
};
template <class Step, own_run Run, step_options Options, class Machine>
struct own_run_session<Step, Run, Options, Machine, false> {
  static void share(auto&) {}
};

/// Reports E2097 for `Run` of a step that does not have it.
template <class Step, own_run Run>
inline constexpr diagnostic missing_run_problem = [] {
  diagnostic problem;
  constexpr bool tests = Run == own_run::test;
  if (inputs_of_run<Step, Run> == 0)
    problem.report(2097, tests ? "evaluate" : "predict", " is called of a training step without `",
                   tests ? "test" : "predict", "`; give it `constexpr ", tests ? "void test" : "auto predict",
                   "(auto& step, auto x) const`");
  return problem;
}();

/// `evaluate` and `predict` of a step's trainer.
template <class Step, step_options Options, class Machine>
class step_runs {
 public:
  /// Returns the metrics that the step's `test` reports, of all batches; a last batch that is not full is
  /// left out. `x` has an array for each input of `test`. Errors: E2097 the step has no `test`; data_error E4001 to
  /// E4003.
  template <own_run Run = own_run::test>
  [[gnu::cold]] auto evaluate(sample_set const& x) {
    static_assert(report<missing_run_problem<Step, Run>>());
    constexpr auto const& facts = facts_of_run<Step, Run>;
    std::array<double, static_cast<std::size_t>(facts.metric_count)> result{};
    if constexpr (inputs_of_run<Step, Run> > 0) {
      if (x.count() < Options.batch_size)
        throw_data_error("E4003", "x: expected at least %d samples, one batch, found %td", Options.batch_size,
                         x.count());
      reported_metrics_of<facts> totals;
      test_.run(x, true, [&](auto const& view, int) {
        totals.template add<all_metrics_of<facts>>(view.prediction(0), Options.batch_size);
      });
      totals.write(result);
    }
    return result;
  }
  /// Returns the predictions of the step's `predict` for all samples: a tensor (samples, shape...). `x` has an array
  /// for each input of `predict`. Errors: E2097 the step has no `predict`; data_error E4001 to E4003.
  template <own_run Run = own_run::predict>
  [[gnu::cold]] auto predict(sample_set const& x) {
    static_assert(report<missing_run_problem<Step, Run>>());
    if constexpr (inputs_of_run<Step, Run> > 0) {
      prediction<typename decltype(predict_)::session_type> result(x.count());
      predict_.run(x, false, [&](auto const& view, int batch) {
        result.copy(view, static_cast<std::ptrdiff_t>(batch) * Options.batch_size);
      });
      return result.take();
    } else {
      return xt::xtensor<float, 2>();
    }
  }
  /// `test` and `predict` have the weights of the step's first session.
  void share_weights(auto& first_session) {
    test_.share(first_session);
    predict_.share(first_session);
  }

 protected:
  static constexpr bool has_test = inputs_of_run<Step, own_run::test> > 0;
  /// Adds the metrics of validation data to an epoch's values, as "val_" and their names.
  void validate(sample_set const& x, logs& values) {
    if constexpr (has_test) {
      auto const found = evaluate(x);
      for (std::size_t i = 0; i < found.size(); ++i)
        values[std::string("val_").append(facts_of_run<Step, own_run::test>.metrics[i].name.view())] = found[i];
    }
  }
  /// Throws E4195 for validation data that the step has no `test` for.
  static void check_validation(sample_set const& x) {
    if (!has_test && x.size() > 0)
      throw_data_error("E4195",
                       "validation_data: the training step has no `test`, which would report its metrics; "
                       "give it `constexpr void test(auto& step, auto x) const`");
  }

 private:
  own_run_session<Step, own_run::test, Options, Machine> test_;
  own_run_session<Step, own_run::predict, Options, Machine> predict_;
};

}  // namespace stagecraft::trainers
