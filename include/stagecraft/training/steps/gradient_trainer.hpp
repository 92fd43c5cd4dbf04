// SPDX-License-Identifier: BSD-3-Clause
// Gradients as arrays, for training loops of one's own in C++. Keras counterpart: a loop with tf.GradientTape and
// `optimizer.apply_gradients`.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/engine/gradient_run.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/training/trainer.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

/// The result of a trainer's `gradients`: `auto [loss, gradients] = model.gradients(x, y);`
struct loss_and_gradients {
  double loss = 0;  ///< the loss of the batch, as train_on_batch returns it
  /// The gradient of each weight that is trained, in the order of get_weights, with its name and shape; zeros for a
  /// weight on which no loss depends. The arrays belong to the trainer: its next call of `gradients` overwrites them,
  /// and until then the caller may change them.
  std::vector<weight_array>& gradients;
};

}  // namespace stagecraft

namespace stagecraft::trainers {

template <class Machine>
inline constexpr bool is_one_host = false;
template <int Threads, class Arch, int Devices>
inline constexpr bool is_one_host<host_machine<Threads, Arch, Devices>> = true;

/// Reports E2093 for a machine.
template <class Machine>
inline constexpr diagnostic gradient_machine_problem = [] {
  diagnostic problem;
  if (!is_one_host<Machine>)
    problem.report(2093, "with_gradients<> is given a machine that is no host; gradients as arrays are found on a ",
                   "sc::host<threads>");
  return problem;
}();

/// Reports E2093 for a training.
template <class Job>
inline constexpr diagnostic gradient_problem = [] {
  diagnostic problem;
  if constexpr (!Job::trains) {
    problem.report(2093, "a predictor is named on with_gradients<>, which is the machine of a trainer");
  } else {
    char const* has = nullptr;
    auto const& options = Job::options;
    if (is_pipelined<typename Job::model>)
      has = "pipeline stages";
    else if (Job::replicas > 1)
      has = "replicas";
    else if (options.accumulation_steps() > 1)
      has = "gradient accumulation";
    else if (options.offload_gradient_accumulation_buffers == offload::remote)
      has = "gradients in remote memory";
    else if (loss_scale_of(Job::training.optimizer) != 1 ||
             loss_scale_rule_of(Job::training.optimizer).growth_steps > 0)
      has = "a loss scale";
    for (auto const& weight : Job::graph.parameters)
      if (has == nullptr && weight.trainable && !weight.regularizer.empty())
        has = "regularizers, whose gradients only the update adds";
    if (has != nullptr)
      problem.report(2093, "gradients as arrays are asked of a training with ", has,
                     "; with_gradients<> takes one batch for each weight update of one model without these");
  }
  return problem;
}();

/// The type that `with_gradients<...>` names: a host whose backward steps keep the gradients.
template <class Machine>
struct gradient_machine : Machine {};

struct gradient_policy : cpu::host_policy {
  template <class Machine>
  static constexpr bool joins_updates = false;
  template <class Job>
  static constexpr diagnostic const& memory_problem() {
    return gradient_problem<Job>;
  }
};

/// A trainer on `with_gradients<...>`.
template <class Trainer>
class gradient_trainer : public Trainer {
 public:
  using typename Trainer::session_type;

 private:
  using M = typename Trainer::model_type;
  using run = engine::gradient_run<session_type>;
  static constexpr int batch_size = Trainer::training.batch_size;

 public:
  /// Initializes the weights and allocates all memory, that of the gradients included.
  [[gnu::cold]] explicit gradient_trainer(std::uint64_t seed = Trainer::training.seed)
      : Trainer(seed), gradients_(trained_weight_order<M>.size()) {
    for (std::size_t i = 0; i < gradients_.size(); ++i)
      make_room(gradients_[i], weight_name<M>(trained_weight_order<M>[i]),
                graph_of<M>.parameters[trained_weight_order<M>[i]].shape);
  }

  /// Returns the loss of at most `batch_size` samples, and its gradients. No weight changes, except the moving means of
  /// batch normalizations and other states. The call counts as a training step: the next one drops other values.
  /// Options of the optimizer, such as clipnorm, apply later, in apply_gradients. Allocates nothing. Errors as
  /// train_on_batch.
  loss_and_gradients gradients(sample_set const& x, sample_set const& y, sample_source const& sample_weight = {},
                               std::vector<class_weight_entry> const& class_weight = {}) {
    auto const calling = this->begin_call("gradients");
    batch_loader<session_type> const data(x, y, sample_weight, class_weight);
    check_one_batch(data.count(), batch_size);
    if constexpr (session_type::graph.is_stateful()) check_full_batches("x", data.count(), batch_size, batch_size);
    for (auto& each : gradients_) std::fill(each.values.begin(), each.values.end(), 0.0F);
    auto const rows = tracing::array_view<std::int32_t const>(samples_of_batch<batch_size>).first(data.count());
    typename replica_results<session_type, run_kind::training>::results_of_one means;
    means.begin_execution(1);
    this->session().begin_run();
    run half(this->session());
    half.find([&](auto& to, int, int) { data.load(to, rows); }, [&](auto const& step) { means.add(step); });
    for_each_gradient(
        [&]<std::size_t Weight>(std::size_t index) { half.template read<Weight>(gradients_[index].values.data()); });
    return {means.values()[0], gradients_};
  }

  /// Takes one step of the optimizer with these gradients: those of `gradients`, changed or not, or those of any other
  /// source, one for each trained weight and in their order; gradients of layers on which no loss depends are not
  /// applied. After `gradients(x, y)` the weights get the bits that `train_on_batch(x, y)` would leave. Allocates
  /// nothing. Errors: data_error E4009 another number, names or shapes.
  void apply_gradients(std::vector<weight_array> const& gradients) {
    auto const calling = this->begin_call("apply_gradients");
    check(gradients);
    this->session().begin_run();
    run half(this->session());
    for_each_gradient(
        [&]<std::size_t Weight>(std::size_t index) { half.template write<Weight>(gradients[index].values.data()); });
    half.apply();
  }

 private:
  template <class Each>
  static void for_each_gradient(Each const& each) {
    using plan = typename session_type::first_plan;
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      auto const visit = [&]<std::size_t At>() {
        constexpr auto weight = static_cast<std::size_t>(trained_weight_order<M>[At]);
        if constexpr (engine::weight_facts<plan, weight>::has_gradient) each.template operator()<weight>(At);
      };
      (visit.template operator()<Index>(), ...);
    }(std::make_index_sequence<trained_weight_order<M>.size()>{});
  }
  /// Compares names and shapes, and makes texts only if something differs.
  void check(std::vector<weight_array> const& given) const {
    if (given.size() != gradients_.size())
      throw_data_error("E4009", "apply_gradients: expected %zu gradients, found %zu", gradients_.size(), given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      if ((!given[i].name.empty() && given[i].name != gradients_[i].name) || given[i].shape != gradients_[i].shape ||
          given[i].values.size() != gradients_[i].values.size())
        throw_data_error("E4009", "apply_gradients: expected '%s' of shape %s, found '%s' of shape %s, %zu values",
                         gradients_[i].name.c_str(), text_of_dimensions(gradients_[i].shape).c_str(),
                         given[i].name.c_str(), text_of_dimensions(given[i].shape).c_str(), given[i].values.size());
  }

  std::vector<weight_array> gradients_;
};

template <class Machine>
struct trainer_on<gradient_machine<Machine>> {
  template <class Trainer>
  using type = gradient_trainer<Trainer>;
};

}  // namespace stagecraft::trainers

namespace stagecraft::engine {

template <class Machine>
struct policy_of_machine<trainers::gradient_machine<Machine>> {
  using type = trainers::gradient_policy;
};

}  // namespace stagecraft::engine

namespace stagecraft {

/// A host whose trainers have gradients as arrays, for loops of one's own:
///
///     sc::trainer<mlp, training, sc::with_gradients<>> model;
///     auto [loss, gradients] = model.gradients(x, y);       // gradients[0].values ...
///     model.apply_gradients(gradients);                     // or others
///
/// Everything else that the trainer has is as on the host, with the same bits; gradients are stored before weights are
/// updated, which costs some time. Errors: E2093 for a machine that is no host; and, where a trainer is named, for
/// stages, replicas, accumulation, a loss scale or regularizers.
template <class Machine = host<1>,
          class Verdict = typename detail::early_verdict<detail::gradient_machine_problem<Machine>>::checked>
using with_gradients = typename Verdict::template model<trainers::gradient_machine<Machine>>;

}  // namespace stagecraft
