// SPDX-License-Identifier: BSD-3-Clause
// A model's weights and learning rate, as users and callbacks see them. One thread at a time may call it, since it
// works in memory of its own; a call during another thread's call throws E4107.
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/training_progress.hpp>
#include <stagecraft/threads/owned.hpp>
#include <stagecraft/training/adaptation.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/export_options.hpp>
#include <stagecraft/training/layer_states.hpp>
#include <stagecraft/training/optimizer_weights.hpp>
#include <stagecraft/training/weight_files.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::trainers {

/// Knows the thread that a call runs on. Callbacks may call the model that calls them: they are on its thread. Costs an
/// exchange of one number for a call, and allocates nothing. A call sees what the one before it has done.
class one_caller {
 public:
  one_caller() = default;
  // A move leaves calls with the object that they were made of.
  one_caller(one_caller&&) noexcept {}
  one_caller& operator=(one_caller&&) noexcept { return *this; }

  /// Marks a call as running as long as it lives.
  class [[nodiscard]] call {
   public:
    explicit call(std::atomic<void const*>* ends) noexcept : ends_(ends) {}
    call(call const&) = delete;
    call& operator=(call const&) = delete;
    ~call() {
      if (ends_ != nullptr) ends_->store(nullptr, std::memory_order_release);
    }

   private:
    std::atomic<void const*>* ends_;  // null for a call within another call of the same thread
  };

  /// Begins a call. Errors: E4107 another thread's call is running.
  call begin(char const* what) {
    void const* running = nullptr;
    if (caller_.compare_exchange_strong(running, &mark_, std::memory_order_acquire, std::memory_order_relaxed))
      return call(&caller_);
    if (running != &mark_) refuse(what);
    return call(nullptr);
  }
  /// Checks for functions that only read, which several threads may call at once.
  void check(char const* what) const {
    void const* const running = caller_.load(std::memory_order_relaxed);
    if (running != nullptr && running != &mark_) refuse(what);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(char const* what) {
    throw_data_error("E4107",
                     "%s: expected that no other thread is in a call of this model, found one that is; give "
                     "each thread a predictor of its own: predictor.sharing_weights()",
                     what);
  }

  // Its address identifies the thread.
  static inline constinit thread_local char mark_ = 0;

  std::atomic<void const*> caller_ = nullptr;
};

/// The model without its stages that a session trains or runs.
template <class Session>
using trained_type = typename traced_model<typename Session::model>::type;

/// Why a part of a model cannot be adapted: E1067, E1086.
template <class M, fixed_name Name>
constexpr diagnostic const& adapt_problem() {
  if constexpr (constexpr int call{find_call<M>(Name)}; call >= 0 && !part_name_problem<M, Name>.failed())
    return adapted_layer_problem<M, call>;
  else
    return part_name_problem<M, Name>;
}

/// Owns the session that carries out a model's steps, in memory of its own: a call of one thread while another's runs
/// is E4107, and changes nothing. Functions that only read may be called by several threads at once, as long as no
/// thread runs or changes the model. Can be moved, and views of weights stay valid then; what was moved from can only
/// be assigned to or destroyed.
template <class Session>
class trained_model : public trainable {
  using M = trained_type<Session>;

 public:
  using model_type = M;
  using session_type = Session;

  [[gnu::cold]] explicit trained_model(std::uint64_t seed) : session_(new session_type(seed)) {}

  /// The model's name, as in its summary.
  [[nodiscard]] std::string_view name() const override { return graph_of<M>.name(); }
  /// Distinguishes models of one type and session from all others, without RTTI.
  [[nodiscard]] void const* kind() const noexcept override { return &kind_of_this; }
  /// Casts a model to this class; nullptr if it is of another class.
  [[nodiscard]] static trained_model* from(trainable& model) noexcept {
    return model.kind() == &kind_of_this ? static_cast<trained_model*>(&model) : nullptr;
  }

  /// The optimizer's current learning rate.
  [[nodiscard]] float learning_rate() const override {
    return beside_steps_ ? std::atomic_ref(next_rate_).load() : session_->learning_rate();
  }
  /// Sets the rate of the following steps; in asynchronous batch callbacks, that of the following executions. Errors:
  /// E4109 a rate that is negative or not finite, E4107 from another thread while a call runs.
  void set_learning_rate(float rate) override {
    check_rate("set_learning_rate", rate);
    if (beside_steps_)
      std::atomic_ref(next_rate_).store(rate);
    else {
      caller_.check("set_learning_rate");
      session_->set_learning_rate(rate);
    }
  }

  /// The factor of losses in the computation of gradients, which optimizers::loss_scale_optimizer and als_optimizer
  /// set; otherwise 1. Keras's `model.optimizer.loss_scale`. Errors: E4042 from asynchronous batch callbacks.
  [[nodiscard]] float loss_scale() const {
    check_at_rest("loss_scale");
    return session_->loss_scale();
  }

  /// Copies of all weights, in the order of the model's layers; those of a subclass in the order of their first calls,
  /// where Keras takes the order of its attributes. Definition: tf.keras.Model.get_weights.
  /// Errors: E4042 from asynchronous batch callbacks: the weights are in use.
  [[nodiscard]] std::vector<weight_array> get_weights() const override {
    check_at_rest("get_weights");
    return copy_weights<M, weight_order<M>>(*session_);
  }
  /// Sets the weights of all replicas. Throws data_error E4009 if number, names or shapes differ from the model's;
  /// E5206 a finite value that would be infinite in the half precision in which its weight is kept; E4042 as
  /// get_weights.
  void set_weights(std::vector<weight_array> const& weights) override {
    auto const calling = begin_call("set_weights");
    assign_weights<M, weight_order<M>>(*session_, weights);
    session_->begin_run();
  }

  /// The weights of a layer or of a nested model, by its name: Keras's `model.get_layer("encoder").get_weights()`. They
  /// have no names, so that a trainer of that model takes them: `encoder.set_weights(both.get_weights<"encoder">());`
  /// Errors: E1067 a name that nothing has, E4042 as above.
  template <fixed_name Name>
  [[nodiscard]] result_or_verdict<part_name_problem<M, Name>, std::vector<weight_array>> get_weights() const {
    check_at_rest("get_weights");
    auto weights = copy_weights<M, weights_of_part<M, Name>>(*session_);
    for (auto& weight : weights) weight.name.clear();
    return {std::move(weights)};
  }
  /// Sets the weights of a layer or of a nested model: `both.set_weights<"encoder">(encoder.get_weights());`. Shapes
  /// must agree, names need not.
  template <fixed_name Name>
  result_or_verdict<part_name_problem<M, Name>> set_weights(std::vector<weight_array> const& weights) {
    auto const calling = begin_call("set_weights");
    assign_weights<M, weights_of_part<M, Name>>(*session_, weights, false);
    session_->begin_run();
    return result_or_verdict<part_name_problem<M, Name>>();
  }

  /// Sets weights that follow from data without training: mean and variance of a normalization, boundaries of a
  /// discretization with num_bins. The data are that layer's inputs, not the model's:
  /// `model.adapt<"normalization">(train.x)`. Definition: tf.keras.layers.Normalization.adapt. Errors: E1067 a name
  /// that nothing has, E1086 a layer of another kind; E4001, E4003, E4010 data that do not fit.
  template <fixed_name Name>
  result_or_verdict<adapt_problem<M, Name>()> adapt(sample_set const& data) {
    if constexpr (constexpr int call{find_call<M>(Name)}; call >= 0) set_weights<Name>(adapted_weights<M, call>(data));
    return result_or_verdict<adapt_problem<M, Name>()>();
  }
  /// Adapts layers to a dataset, <stagecraft/data/data.hpp>, which is read batch by batch, or in groups of 32 samples;
  /// it takes x of elements (x, y). Options: `.steps`, the number of batches or groups, needed if the dataset has no
  /// end (E4063).
  template <fixed_name Name, class Data>
    requires requires { typename Data::adapt_options; }
  result_or_verdict<adapt_problem<M, Name>()> adapt(Data const& dataset,
                                                    typename Data::adapt_options const& options = {}) {
    if constexpr (constexpr int call{find_call<M>(Name)}; call >= 0)
      set_weights<Name>(weights_adapted_to_stream<M, call>(dataset, options));
    return result_or_verdict<adapt_problem<M, Name>()>();
  }

  /// Sets the states of stateful layers to zeros; does nothing if there are none. Definition:
  /// tf.keras.Model.reset_states. Errors: E4042 as get_weights.
  void reset_states() override {
    auto const calling = begin_call("reset_states");
    clear_states<M, all_states<M>>(*session_);
  }
  /// Resets the states of one layer, by its name: Keras's `model.get_layer("lstm").reset_states()`.
  /// Errors: E1067 a name that no layer has, E1090 a layer without states, E4042 as above.
  template <fixed_name Name>
  result_or_verdict<layer_states_problem<M, Name>> reset_states() {
    auto const calling = begin_call("reset_states");
    clear_states<M, states_of_layer<M, Name>>(*session_);
    return result_or_verdict<layer_states_problem<M, Name>>();
  }
  /// Sets the states of a layer, (batch, units) each, in the order of `get_states`: Keras's `reset_states(states)`.
  /// Errors: as above, E4009 another number or shapes.
  template <fixed_name Name>
  result_or_verdict<layer_states_problem<M, Name>> reset_states(std::vector<weight_array> const& states) {
    auto const calling = begin_call("reset_states");
    assign_weights<M, states_of_layer<M, Name>>(*session_, states, false);
    return result_or_verdict<layer_states_problem<M, Name>>();
  }
  /// Copies of the states of a stateful layer, such as h and c of an lstm: Keras's `layer.states`. Errors: as above.
  template <fixed_name Name>
  [[nodiscard]] result_or_verdict<layer_states_problem<M, Name>, std::vector<weight_array>> get_states() const {
    check_at_rest("get_states");
    return {copy_weights<M, states_of_layer<M, Name>>(*session_)};
  }

  /// The gradient that a layers::capture_upstream_gradients of this name has kept: (batch, ...), that of the last
  /// weight update, with the factor of the loss, added up over micro-batches and replicas as gradients of weights are.
  /// Zeros before the first update. Errors: as above.
  template <fixed_name Name>
  [[nodiscard]] result_or_verdict<layer_states_problem<M, Name>, weight_array> captured_gradients() const {
    return {get_states<Name>().front()};
  }

  /// A weight as an xtensor expression over the model's own memory, without a copy: `model.template
  /// weight<"dense/kernel">()`, shape (inputs, units). It reads and writes; with several replicas the first one's
  /// weight, which the others take over when the next run begins. E4032 for an unknown name.
  template <fixed_name Name>
  [[nodiscard]] auto weight() {
    static_assert(report<weight_name_problem<M, Name>>());
    return view_weight<M, Name>(*session_);
  }

  /// The progress of the training. With it, the weights and the optimizer's numbers, the training can be continued.
  /// Errors: E4042 as get_weights.
  [[nodiscard]] training_progress progress() const {
    check_at_rest("progress");
    auto result = session_->progress();
    result.fits = fits_;
    result.epochs = epochs_;
    return result;
  }
  /// Continues from a `progress`; weights and the optimizer's numbers are set separately.
  void set_progress(training_progress const& from) {
    auto const calling = begin_call("set_progress");
    check_rate("set_progress", from.learning_rate);
    session_->set_progress(from);
    fits_ = from.fits;
    epochs_ = from.epochs;
  }

  /// Copies of the numbers that the optimizer keeps with each weight, such as "dense/kernel/m:0", in the order of the
  /// weights that are trained: Keras's `model.optimizer.get_weights()` without the counter, which is
  /// `progress().updates`. Errors: E4042 as get_weights.
  [[nodiscard]] std::vector<weight_array> get_optimizer_weights() const {
    check_at_rest("get_optimizer_weights");
    return copy_optimizer_weights<M, trained_weight_order<M>>(*session_);
  }
  /// Sets the optimizer's weights of all replicas. Throws data_error E4009 if number, names or shapes differ from the
  /// model's; E4042 as get_weights.
  void set_optimizer_weights(std::vector<weight_array> const& weights) {
    auto const calling = begin_call("set_optimizer_weights");
    assign_optimizer_weights<M, trained_weight_order<M>>(*session_, weights);
  }

  /// Writes all weights under Keras's names to a file: `model.save_weights("w.safetensors")`, or .npz. Needs
  /// <stagecraft/io/weights.hpp>, which says more: E5020 without. Definition: tf.keras.Model.save_weights.
  void save_weights(std::string const& path) const {
    if constexpr (requires { save_weights_of(file_functions{}, *this, path); })
      save_weights_of(file_functions{}, *this, path);
    else
      refuse_files<std::is_void_v<Session>, "save_weights", "stagecraft/io/weights.hpp">();
  }
  /// Reads the weights of a file of save_weights, or of a bundle: all of them or, if a name or shape differs, none
  /// (E5021). Needs <stagecraft/io/weights.hpp>. Definition: tf.keras.Model.load_weights.
  loaded_weights load_weights(std::string const& path, load_weights_options const& options = {}) {
    if constexpr (requires { load_weights_of(file_functions{}, *this, path, options); }) {
      auto const calling = begin_call("load_weights");
      return load_weights_of(file_functions{}, *this, path, options);
    } else {
      refuse_files<std::is_void_v<Session>, "load_weights", "stagecraft/io/weights.hpp">();
      return {};
    }
  }

  /// Writes the model's description and everything that training needs to continue to a folder: `model.save("digits")`,
  /// which equals `sc::save_model(model, "digits")`. Needs <stagecraft/io/bundle.hpp>, which says more: E5020 without.
  /// Definition: tf.keras.Model.save.
  void save(std::string const& path) const {
    if constexpr (requires { save_bundle_of(file_functions{}, *this, path); })
      save_bundle_of(file_functions{}, *this, path);
    else
      refuse_files<std::is_void_v<Session>, "save", "stagecraft/io/bundle.hpp">();
  }
  /// Reads the folder that `save` wrote. Training continues from there, bit for bit; if anything differs from the
  /// model's type or its training description, nothing is read (E5032). Needs <stagecraft/io/bundle.hpp>. Definition:
  /// tf.keras.models.load_model.
  void load(std::string const& path) {
    if constexpr (requires { load_bundle_of(file_functions{}, *this, path); }) {
      auto const calling = begin_call("load");
      load_bundle_of(file_functions{}, *this, path);
    } else {
      refuse_files<std::is_void_v<Session>, "load", "stagecraft/io/bundle.hpp">();
    }
  }

  /// Compiles the model with its weights as an application in a folder, which needs no compiler to run and can be
  /// served, and returns it as a serving::embedded_runtime, which is called like a predictor. Iterations are the
  /// steps_per_execution, unless they are given. Takes as long as the compiler: some ten seconds. Needs
  /// <stagecraft/serving/export.hpp>: E5020 without. Throws file_error: E5091 the folder is not empty, E5092 the batch
  /// size is not known, E5093 names of other outputs, E5041 files cannot be written, E5094 the compiler has failed;
  /// E5148 the model has no such batch sizes; link_error E5087 to E5089. Definition:
  /// keras.Model.export_for_ipu_serving.
  auto export_for_ipu_serving(std::string const& export_dir, export_options const& options = {},
                              int iterations = 0) const {
    if constexpr (requires { export_application_of(file_functions{}, *this, export_dir, options, iterations); })
      return export_application_of(file_functions{}, *this, export_dir, options, iterations);
    else
      refuse_files<std::is_void_v<Session>, "export_for_ipu_serving", "stagecraft/serving/export.hpp">();
  }

  /// The session that carries out the steps.
  [[nodiscard]] session_type& session() noexcept { return *session_; }

  /// Marks that callbacks are called at the same time as steps, as long as it lives.
  class callbacks_beside_steps {
   public:
    explicit callbacks_beside_steps(trained_model& model) : model_(model) {
      model_.next_rate_ = model_.session_->learning_rate();
      model_.beside_steps_ = true;
    }
    callbacks_beside_steps(callbacks_beside_steps const&) = delete;
    callbacks_beside_steps& operator=(callbacks_beside_steps const&) = delete;
    ~callbacks_beside_steps() {
      model_.beside_steps_ = false;
      model_.session_->set_learning_rate(model_.next_rate_);
    }

   private:
    trained_model& model_;
  };
  /// Takes over the learning rate that callbacks asked for meanwhile; called between executions.
  void begin_execution() {
    if (beside_steps_) session_->set_learning_rate(std::atomic_ref(next_rate_).load());
  }

 protected:
  trained_model(trained_model&&) noexcept = default;
  trained_model& operator=(trained_model&&) noexcept = default;

  /// Called at the beginning of each call that runs or changes the model; the call lasts as long as the returned
  /// object. Errors: E4042 from asynchronous batch callbacks, E4107 from another thread than that of a call that runs.
  [[nodiscard]] one_caller::call begin_call(char const* what) {
    if (beside_steps_) check_at_rest(what);
    return caller_.begin(what);
  }

  /// Called when a `fit` begins; returns the seed of its orders of samples. A training that is continued with
  /// initial_epoch keeps its seed, another one gets a new one.
  [[nodiscard]] std::uint64_t begin_fit(int initial_epoch) {
    if (initial_epoch == 0) ++fits_;
    epochs_ = initial_epoch;
    return session_->progress().seed + fits_;
  }
  /// Called when an epoch has ended, before its callbacks.
  void end_epoch(int epoch) { epochs_ = epoch + 1; }

 private:
  static constexpr char kind_of_this = 0;
  static void check_rate(char const* what, float rate) {
    if (!(rate >= 0 && rate - rate == 0))
      throw_data_error("E4109", "%s: expected a finite learning rate of at least 0, found %s", what,
                       diagnostics::general_digits(static_cast<double>(rate), 6).c_str());
  }
  void check_at_rest(char const* what) const {
    if (beside_steps_)
      throw_data_error("E4042",
                       "%s: expected a call while no step runs, found one in a batch's callback, which "
                       "asynchronous_callbacks calls beside the steps",
                       what);
    caller_.check(what);
  }

  one_caller caller_;
  std::uint64_t fits_ = 0;
  std::int64_t epochs_ = 0;
  owned<session_type> session_;  // its address is fixed: threads and weight views refer to it
  mutable float next_rate_ = 0;  // atomic_ref takes no const float
  bool beside_steps_ = false;
};

}  // namespace stagecraft::trainers
