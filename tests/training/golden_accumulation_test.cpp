// SPDX-License-Identifier: BSD-3-Clause
// Two weight updates of four micro-batches each, against gradients that were accumulated by hand with real Keras.
#include "golden_trainer.hpp"

namespace {

using method = sc::gradient_accumulation_reduction_method;
using across = sc::cross_replica_reduction;

/// Keras's l2 as a user writes it: its gradient is added as often as the library's.
struct own_l2 : sc::own_regularizer<own_l2> {
  float factor;
  constexpr explicit own_l2(float factor_ = 0.01F) : factor(factor_) {}
  constexpr auto call(auto& ops, auto weight) const { return ops.sum(square(weight), {0, 1}) * factor; }
};

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    dense shared(4, sc::tanh, {.name = "shared"});
    dense hidden(6, sc::relu, {.kernel_regularizer = own_l2{0.02F}, .name = "hidden"});
    return dense(3, {.name = "out"})(hidden(shared(shared(model.input(4)))));
  }
};

constexpr int micro_batches = 4, updates = 2, samples = 4;

/// What a run is called in the golden file, and its options.
struct run {
  method how = method::sum;
  int replicas = 1;
  across between = across::sum;
  int updates_per_execution = 1;

  [[nodiscard]] std::string name(std::string const& optimizer) const {
    char const* const methods[]{"sum", "mean", "running_mean"};
    std::string result = methods[static_cast<int>(how)];
    if (replicas > 1) result = "replicas/" + result + (between == across::sum ? "/sum" : "/mean");
    return result + "/" + optimizer;
  }
};

template <auto Optimizer, run Run>
inline constexpr auto compiled =
    sc::training{.optimizer = Optimizer,
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = samples,
                 .steps_per_execution = micro_batches * Run.updates_per_execution,
                 .pipeline = {.gradient_accumulation_steps_per_replica = micro_batches, .reduction_method = Run.how},
                 .num_replicas = Run.replicas,
                 .cross_replica_reduction = Run.between,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};

/// The mean loss of some of Keras's batches.
double mean_loss(golden::tensor const& losses, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t batch = first; batch < first + count; ++batch) sum += static_cast<double>(losses[batch]);
  return sum / static_cast<double>(count);
}

/// Trains as often as there are executions, so that the weights can be looked at after each.
template <class M, auto Optimizer, run Run>
void check(std::string const& optimizer) {
  auto const name = Run.name(optimizer);
  CAPTURE(name);
  CAPTURE(Run.updates_per_execution);
  auto const file = golden::read("accumulation.txt");
  sc::trainer<M, compiled<Optimizer, Run>> model;
  golden::set_weights(model, file, "initial");
  constexpr std::size_t batches = micro_batches * Run.updates_per_execution * Run.replicas;
  for (int update = Run.updates_per_execution; update <= updates; update += Run.updates_per_execution) {
    CAPTURE(update);
    auto const first = static_cast<std::size_t>(update - Run.updates_per_execution) * micro_batches * Run.replicas;
    auto const history =
        model.fit(golden::rows(file["x"], first * samples, batches * samples),
                  golden::labels(file["y"], first * samples, batches * samples), {.verbose = 0, .shuffle = false});
    auto const expected = mean_loss(file[name + "/losses"], first, batches);
    CHECK(std::abs(history.history["loss"].back() - expected) < golden::loss_tolerance);
    double const of_weights = golden::weight_deviation(model, file, name + "/update_" + std::to_string(update));
    CHECK(of_weights < golden::loss_tolerance);
  }
}

template <class M, run Run>
void check_optimizers() {
  check<M, sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F}, Run>("sgd_momentum");
  check<M, sc::optimizers::rmsprop{.learning_rate = 0.05F, .epsilon = 0.1F}, Run>("rmsprop");
  check<M, sc::optimizers::adam{.learning_rate = 0.05F, .epsilon = 0.1F}, Run>("adam");
}

/// All methods on one replica, with one weight update per execution and with two.
template <class M>
void check_methods() {
  check_optimizers<M, run{.how = method::sum}>();
  check_optimizers<M, run{.how = method::mean}>();
  check_optimizers<M, run{.how = method::running_mean}>();
  check<M, sc::optimizers::adam{.learning_rate = 0.05F, .epsilon = 0.1F},
        run{.how = method::sum, .updates_per_execution = 2}>("adam");
}

}  // namespace

TEST_CASE("accumulated gradients of a model without stages") { check_methods<network>(); }
TEST_CASE("of one with stages") {
  using staged = sc::pipelined<network, sc::stages<0, 0, 1, 1>>;
  check_optimizers<staged, run{.how = method::sum}>();
  check_optimizers<staged, run{.how = method::mean}>();
}
TEST_CASE("of two replicas") {
  check_optimizers<network, run{.how = method::sum, .replicas = 2}>();
  check_optimizers<network, run{.how = method::running_mean, .replicas = 2, .between = across::mean}>();
}
