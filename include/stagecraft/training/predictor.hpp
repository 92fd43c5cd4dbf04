// SPDX-License-Identifier: BSD-3-Clause
// Runs a model without training it: Keras's `predict` and the call of a model, with a plan and memory of their own.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/description/inference.hpp>
#include <stagecraft/models/summary.hpp>
#include <stagecraft/training/invalid_trainer.hpp>
#include <stagecraft/training/run_prediction.hpp>
#include <stagecraft/training/run_problem.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The type of a predictor on a machine: `type<Predictor>`. A specialisation for several processes says what they agree
/// on.
template <class Machine>
struct predictor_on {
  template <class Predictor>
  using type = Predictor;
};

/// Reports E4095 for a function that a predictor cannot have, since it needs a loss.
template <fixed_name Function>
struct no_loss {
  static constexpr diagnostic problem = [] {
    diagnostic problem;
    problem.report(4095, Function,
                   " is called on a predictor, which has neither a loss nor an optimizer; name a trainer ",
                   "of the model, and give the predictor its weights: predictor.set_weights(trainer.get_weights())");
    return problem;
  }();
};

/// Reports E4151 for a model whose call is more than the steps of one thread from one input to one output.
template <class Session>
inline constexpr diagnostic lone_call_problem = [] {
  diagnostic problem;
  if (!Session::calls_alone)
    problem.report(4151, "call(x, y) runs models with one input and one output on one thread of the host, in float32, ",
                   "without stages and weights in remote memory; call this predictor with tensors: model(x)");
  return problem;
}();

struct numbers_of_call {
  std::size_t inputs = 0, outputs = 0;
};
/// The number of floats in a batch of the first input and of the first output.
template <class Session>
constexpr numbers_of_call call_floats() {
  constexpr auto batch = static_cast<std::size_t>(Session::batch);
  return {batch * static_cast<std::size_t>(Session::input_shape(0).size()),
          batch * static_cast<std::size_t>(Session::graph.call(Session::outputs[0]).shape.size())};
}

/// The type behind `predictor<...>`.
template <Model M, class Settings, class Machine>
class model_predictor : trained_model<session_of_run<M, Settings::value, Machine>> {
  using base = trained_model<session_of_run<M, Settings::value, Machine>>;

 public:
  using typename base::session_type;
  /// The inference description of the model.
  static constexpr auto inference = Settings::value;
  static constexpr int replicas = session_type::replicas;  ///< copies of the model, which share the batches

  /// Initializes the weights and allocates all memory.
  explicit model_predictor(std::uint64_t seed = inference.seed) : base(seed) {}
  model_predictor(model_predictor&&) noexcept = default;
  model_predictor& operator=(model_predictor&&) noexcept = default;

  /// Another predictor of the same weights, for another thread: it has memory of its own for runs, but shares the
  /// weights. From then on nobody may change them (E4108), until all predictors but one are gone; that one may be any
  /// of them. States between batches are not shared, so that the weights of a stateful model are copied. Allocates as
  /// the constructor does. Errors: E4107.
  [[nodiscard]] model_predictor sharing_weights() {
    auto const calling = this->begin_call("sharing_weights");
    model_predictor other;
    other.session().share_weights_of(this->session());
    return other;
  }

  /// The name of the model, and its weights, which may be those of a trainer of the same model.
  using base::adapt, base::get_weights, base::name, base::session, base::set_weights;
  /// The states that stateful layers keep from batch to batch.
  using base::get_states, base::reset_states;
  /// Weights from and to files: <stagecraft/io/weights.hpp>; bundles: <stagecraft/io/bundle.hpp>.
  using base::load, base::load_weights, base::save, base::save_weights;
  /// Applications: <stagecraft/serving/export.hpp>.
  using base::export_for_ipu_serving;
  /// A weight as an xtensor expression over the model's own memory, to be read: `model.weight<"dense/kernel">()`.
  /// E4032 for an unknown name.
  template <fixed_name Name>
  [[nodiscard]] auto weight() {
    return view_weight<typename traced_model<M>::type, Name>(std::as_const(this->session()));
  }

  /// Prints the table of the model's layers: `sc::summary<model>(options)`. Definition: tf.keras.Model.summary.
  void summary(summary_options const& options = {}) const { stagecraft::summary<M>(options); }

  /// The model's outputs for all samples, in their order: a tensor (samples, shape...), or a std::tuple of tensors if
  /// there are several outputs. Allocates the result. `steps_per_execution` steps are run at once, the last execution
  /// may be shorter. Replicas that have no batch in the last step repeat the last batch, and their outputs are dropped.
  /// Everything is checked before anything runs: data_error E4001 to E4003, E4008, E4010, E4011, E4019. Definition:
  /// tf.keras.Model.predict.
  auto predict(sample_set const& x, predict_options const& options = {}) {
    auto const calling = this->begin_call("predict");
    return run_prediction<base>(*this, x, options);
  }
  /// Predictions for a dataset, <stagecraft/data/data.hpp>; it takes x of elements (x, y). Errors: E4063 to E4066, too.
  template <class Data>
    requires requires { typename Data::predict_options; }
  auto predict(Data const& dataset, typename Data::predict_options const& options = {}) {
    auto const calling = this->begin_call("predict");
    return run_streamed_prediction<base>(*this, dataset, options);
  }

  /// The outputs for at most `batch_size` samples, computed immediately on the caller's thread: Keras's `model(x)`. The
  /// stages of a pipelined model follow each other, whatever its schedule and steps_per_execution. Nothing is
  /// allocated, locked or handed to another thread, except for a model without stages on several threads, which divide
  /// its steps. The result is an xtensor adaptor (samples, shape...) of the model's own memory, or a std::tuple of
  /// them, valid until the model runs again. Errors as `predict`. Definition: tf.keras.Model.__call__.
  auto operator()(sample_set const& x) {
    auto const calling = this->begin_call("a call of the model");
    return call_model(this->session(), x);
  }

  /// Number of floats that `call` takes: those of a whole batch of `batch_size` samples.
  static constexpr std::size_t call_inputs = call_floats<session_type>().inputs;
  /// Number of floats that `call` returns.
  static constexpr std::size_t call_outputs = call_floats<session_type>().outputs;

  /// Computes the outputs of one whole batch on the caller's thread, and does nothing but the model's steps: for
  /// control, audio and other loops of small models. `x` has `batch_size` samples, row by row, and so has `y`; arrays
  /// and spans of that length convert. Nothing is checked at run time, allocated or locked: not even a call during
  /// another thread's call, which is E4107 elsewhere, is noticed. The weights that steps read are packed by the first
  /// call after they have changed, or by any other run. Denormal numbers are not flushed: construct a
  /// `sc::kernels::flush_denormals` in the thread that calls. Errors: E4151, at compile time, for a model with several
  /// inputs, outputs, stages or threads, or of 16 bits.
  void call(std::span<float const, call_inputs> x, std::span<float, call_outputs> y) noexcept {
    static_assert(report<lone_call_problem<session_type>>());
    if constexpr (session_type::calls_alone) this->session().call(x.data(), y.data());
  }
  /// Returns the outputs that the other `call` writes.
  [[nodiscard]] std::array<float, call_outputs> call(std::span<float const, call_inputs> x) noexcept {
    std::array<float, call_outputs> y;
    call(x, y);
    return y;
  }

  /// Calls the model for each batch in `x`, one after the other: of a stateful model whose input has one step, a block
  /// of any number of steps. Batches follow each other in `x`, and their outputs in `y`. Nothing is allocated or
  /// locked. Errors: data_error E4001 if `x` is no multiple of `call_inputs`, or `y` does not have as many batches;
  /// E4151.
  void call_block(std::span<float const> x, std::span<float> y) {
    std::size_t const batches = x.size() / call_inputs;
    if (x.size() % call_inputs != 0 || y.size() != batches * call_outputs)
      throw_data_error("E4001",
                       "call_block: expected a multiple of %zu numbers in x and %zu for each in y, found %zu and %zu",
                       call_inputs, call_outputs, x.size(), y.size());
    for (std::size_t i = 0; i < batches; ++i)
      call(std::span<float const, call_inputs>(x.data() + i * call_inputs, call_inputs),
           std::span<float, call_outputs>(y.data() + i * call_outputs, call_outputs));
  }

  /// Predictions for one batch, copied to a tensor, or a std::tuple of tensors. Definition:
  /// tf.keras.Model.predict_on_batch.
  auto predict_on_batch(sample_set const& x) {
    auto const copy = [](auto const& view) {
      using view_type = std::remove_cvref_t<decltype(view)>;
      return xt::xtensor<float, xt::get_rank<view_type>::value>(view);
    };
    auto const calling = this->begin_call("predict_on_batch");
    if constexpr (session_type::output_count == 1)
      return copy((*this)(x));
    else
      return std::apply([&](auto const&... views) { return std::tuple(copy(views)...); }, (*this)(x));
  }

  /// Options that do not exist are E4084.
  template <class Options = predict_options, std::size_t Size>
  auto predict(refusing<wrong_run_options<Options>>, any_options<Size>) {
    return predict(sample_set{});
  }
  template <class Options = predict_options>
  auto predict(refusing<wrong_run_options<Options>>, ...) {
    return predict(sample_set{});
  }

  // These need a loss: E4095.
  template <fixed_name Function = "fit">
  std::array<double, 2> fit(refusing<no_loss<Function>>, any_argument, ...) {
    return {};
  }
  template <fixed_name Function = "fit", std::size_t Size>
  std::array<double, 2> fit(refusing<no_loss<Function>>, any_argument, any_options<Size>) {
    return {};
  }
  template <fixed_name Function = "evaluate">
  std::array<double, 2> evaluate(refusing<no_loss<Function>>, any_argument, ...) {
    return {};
  }
  template <fixed_name Function = "evaluate", std::size_t Size>
  std::array<double, 2> evaluate(refusing<no_loss<Function>>, any_argument, any_options<Size>) {
    return {};
  }
};

template <class M, auto Inference, class Machine>
using predictor_or_stand_in = std::conditional_t<
    run_problem<M, Inference, Machine, false>().failed(), invalid_predictor<>,
    typename predictor_on<Machine>::template type<model_predictor<M, settings_of<Inference>, Machine>>>;

}  // namespace stagecraft::trainers

namespace stagecraft {

/// A model that is run and not trained, its inference description, and its machine, which are checked together when
/// they are named:
///
///     inline constexpr auto single = sc::inference{.batch_size = 1};
///     sc::predictor<mlp, single> model;                     // on the host
///     model.set_weights(trained.get_weights());
///     xt::xtensor<float, 2> logits = model.predict(test.x);
///     auto const one = model(digit);                        // at once, without allocation
///
/// A predictor is one thread's: a call during a call of another thread is E4107. `model.sharing_weights()` makes one
/// for another thread, and <stagecraft/serving/serving.hpp> has predictors that any number of threads may call.
///
/// It has no gradients, no optimizer's state and no losses, in memory or anywhere else: `evaluate` is a trainer's.
///
/// Errors: those of the model's layers and stages, and those of the description, alone and with the machine: E4020,
/// E4021, E4029, E4092, E4094, E2025, E2039, E2041 to E2047, E2049, E2061.
template <Model M, auto Inference, class Machine = host<>,
          class Verdict = typename detail::early_verdict<detail::run_problem<M, Inference, Machine, false>()>::checked,
          bool = decltype(detail::find_loops_to_check<M, Inference, Machine, false>())::are_used>
using predictor = typename Verdict::template model<detail::predictor_or_stand_in<M, Inference, Machine>>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
