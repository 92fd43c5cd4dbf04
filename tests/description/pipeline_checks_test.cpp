// SPDX-License-Identifier: BSD-3-Clause
// The rules of options, beyond the one broken example that each has in tests/compile_fail: what is allowed, and each
// other way to break one; what losses and metrics are measured along.
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::jobs::job;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using plain = sc::sequential<input{4}, dense{4}, dense{4}, dense{2}>;
using two = sc::pipelined<plain, sc::stages<0, 0, 1>>;
using three = sc::pipelined<plain, sc::stages<0, 1, 2>>;
using three_on_two = sc::pipelined<plain, sc::stages<0, 1, 2>, sc::device_mapping<0, 1, 0>>;
using three_on_one = sc::pipelined<plain, sc::stages<0, 1, 2>, sc::device_mapping<1, 1, 1>>;

constexpr auto sequential = sc::schedule::sequential;
using enum sc::recomputation_mode;
using enum sc::gradient_accumulation_reduction_method;

/// The code of the first rule that options break in any trainer, 0 if they break none.
template <class M, sc::pipelining_options Options, int StepsPerExecution = 720, int Replicas = 0>
constexpr int code = sc::detail::training_problem<job<M, sc::training{.steps_per_execution = StepsPerExecution,
                                                                  .pipeline = Options,
                                                                  .num_replicas = Replicas}>>.code;
/// The same where the model is trained, and not only evaluated.
template <class M, sc::pipelining_options Options>
constexpr int fit_code =
    sc::detail::fit_problem<job<M, sc::training{.steps_per_execution = 720, .pipeline = Options}>>.code;
template <class M, sc::pipelining_options Options, int StepsPerExecution>
constexpr int inference_code = [] {
  constexpr sc::training evaluated{.steps_per_execution = StepsPerExecution, .pipeline = Options};
  return sc::detail::schedule_problem<typename job<M, evaluated>::in_inference>.code;
}();

template <int Steps, sc::schedule Schedule>
constexpr sc::pipelining_options accumulated{.gradient_accumulation_steps_per_replica = Steps, .schedule = Schedule};

// The number of micro-batches per weight update.
static_assert(code<three, accumulated<6, sc::grouped>> == 0 && code<three, accumulated<12, sc::grouped>> == 0);
static_assert(code<three, accumulated<3, sc::grouped>> == 2024 && code<three, accumulated<9, sc::grouped>> == 2024);
static_assert(code<three_on_two, accumulated<6, sc::grouped>> == 0, "the grouped schedule does not look at devices");
static_assert(code<three, accumulated<3, sc::interleaved>> == 0 && code<three, accumulated<9, sc::interleaved>> == 0);
static_assert(code<three, accumulated<4, sc::interleaved>> == 2024 &&
              code<three, accumulated<2, sc::interleaved>> != 0);
static_assert(code<three, accumulated<1, sequential>> == 0 && code<three, accumulated<5, sequential>> == 0);
static_assert(code<three, accumulated<0, sequential>> == 0 && fit_code<three, accumulated<0, sequential>> == 0);
static_assert(code<three, accumulated<0, sc::grouped>> == 0 && fit_code<three, accumulated<0, sc::grouped>> == 2022);
static_assert(code<three, accumulated<0, sc::grouped>, 1> == 0, "an evaluation may be of any length");
static_assert(fit_code<plain, accumulated<0, sc::grouped>> == 0);
static_assert(code<three, accumulated<-6, sequential>> == 2020 && code<plain, accumulated<-1, sc::grouped>> == 2020);
static_assert(code<plain, accumulated<5, sc::grouped>> == 0, "without stages any number will do");
static_assert(code<three_on_two, accumulated<6, sc::interleaved>> == 2027);
static_assert(code<three_on_two, accumulated<0, sc::interleaved>> == 0, "there, evaluations are legal");

// Executions.
static_assert(code<three, accumulated<6, sc::grouped>, 9> == 2021 &&
              code<plain, accumulated<6, sc::grouped>, 9> == 2021);
static_assert(code<three, accumulated<6, sc::grouped>, 0> == 4021);
static_assert(inference_code<three, accumulated<6, sc::grouped>, 6> == 0);
static_assert(inference_code<three, accumulated<0, sc::grouped>, 3> == 0, "evaluation needs no accumulation");
static_assert(inference_code<three, accumulated<0, sc::grouped>, 1> == 2025);
static_assert(inference_code<three, accumulated<0, sc::interleaved>, 4> == 2025);
static_assert(inference_code<three_on_two, accumulated<0, sc::interleaved>, 1> == 0, "devices 0 1 0 never overlap");
static_assert(inference_code<three_on_two, accumulated<0, sc::grouped>, 1> == 2025);
static_assert(inference_code<three, accumulated<0, sequential>, 1> == 0);
static_assert(inference_code<plain, accumulated<0, sc::grouped>, 1> == 0);
static_assert(inference_code<plain, accumulated<0, sc::grouped>, 0> == 4021);

// Batch serialization.
template <int Iterations, sc::schedule Schedule = sequential, sc::gradient_accumulation_reduction_method Method = sum>
constexpr sc::pipelining_options serialized{.gradient_accumulation_steps_per_replica = 6,
                                            .reduction_method = Method,
                                            .schedule = Schedule,
                                            .batch_serialization_iterations = Iterations};
static_assert(code<three_on_one, serialized<4>> == 0 && code<three, serialized<1, sequential, mean>> == 0);
static_assert(code<three_on_one, serialized<-1>> == 2028 && code<plain, serialized<0>> == 2028);
static_assert(code<three_on_one, serialized<2, sc::interleaved>> == 2029);
static_assert(code<three, serialized<2>> == 2030 && code<three_on_two, serialized<2>> == 2030);
static_assert(code<three_on_one, serialized<2, sequential, running_mean>> == 2031);
static_assert(code<three_on_one, serialized<4>, 12> == 2021, "a weight update takes 24 micro-batches");
static_assert(code<plain, serialized<4, sc::grouped>> == 0, "the schedule has no meaning without stages");

// Recomputation.
template <sc::recomputation_mode Mode, sc::schedule Schedule>
constexpr sc::pipelining_options recomputed{
    .gradient_accumulation_steps_per_replica = 12, .schedule = Schedule, .recomputation_mode = Mode};
static_assert(code<three, recomputed<automatic, sc::grouped>> == 0);
static_assert(code<three, recomputed<automatic, sc::interleaved>> == 0);
static_assert(code<three, recomputed<automatic, sequential>> == 0);
static_assert(code<three, recomputed<recompute_then_backpropagate, sc::grouped>> == 0);
static_assert(code<three, recomputed<recompute_then_backpropagate, sc::interleaved>> == 0);
static_assert(code<three, recomputed<recompute_then_backpropagate, sequential>> == 2032);
static_assert(code<three, recomputed<recompute_and_backpropagate_interleaved, sc::grouped>> == 0);
static_assert(code<three, recomputed<recompute_and_backpropagate_interleaved, sc::interleaved>> == 2032);
static_assert(code<three, recomputed<recompute_and_backpropagate_interleaved, sequential>> == 0);
static_assert(code<plain, recomputed<automatic, sc::grouped>> == 0, "nothing is recomputed without stages");

// What is divided among replicas may be so with one of them.
constexpr sc::pipelining_options divided{.gradient_accumulation_steps_per_replica = 12,
                                         .replicated_optimizer_state_sharding = true,
                                         .replicated_weight_sharding = true};
static_assert(code<three, divided> == 0 && code<three, divided, 720, 1> == 0 && code<three, divided, 720, 3> == 0);
static_assert(code<three, divided, 720, -1> == 2044);

// Both kinds of accumulation in one description.
constexpr auto both = sc::training{.steps_per_execution = 24,
                                   .pipeline = {.gradient_accumulation_steps_per_replica = 12,
                                                .recomputation_mode = sc::recomputation_mode::automatic},
                                   .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 8}};
static_assert(!sc::detail::training_problem<job<three, both>>.failed());
static_assert(!sc::detail::training_problem<job<plain, both>>.failed(), "there, nothing of pipeline holds");
constexpr auto one_kind =
    sc::training{.pipeline = {.schedule = sequential},
                 .gradient_accumulation = {.reduction_method = sc::gradient_accumulation_reduction_method::mean}};
static_assert(!sc::detail::training_problem<job<three, one_kind>>.failed());
static_assert(sc::detail::fit_problem<job<three, one_kind>>.code == 2026);
static_assert(!sc::detail::training_problem<job<plain, one_kind>>.failed());

// Machines.
template <int Devices>
struct machine {
  static constexpr int devices = Devices;
};
template <int Replicas>
constexpr auto replicated = sc::training{.num_replicas = Replicas};
template <class M, int Replicas, int Devices>
constexpr int machine_code =
    sc::detail::machine_problem<sc::jobs::job_on<M, replicated<Replicas>, machine<Devices>>>.code;
static_assert(machine_code<three, 0, 0> == 0 && machine_code<three, 100, 0> == 0, "a machine without an end");
static_assert(machine_code<three, 0, 3> == 0 && machine_code<three, 1, 3> == 0, "one replica need not fill it");
static_assert(machine_code<three, 0, 2> == 2045 && machine_code<three, 2, 2> == 2045);
static_assert(machine_code<three, 2, 8> == 0 && machine_code<three, 2, 7> == 2046 && machine_code<three, 3, 8> == 2046);
static_assert(machine_code<two, 4, 8> == 0 && machine_code<two, 5, 8> == 2046);
static_assert(machine_code<plain, 8, 8> == 0 && machine_code<plain, 9, 8> == 2046);
static_assert(machine_code<three_on_one, 0, 1> == 2045, "devices count from 0 up to the highest");
static_assert(machine_code<plain, 2'000'000'000, 8> == 2046 && machine_code<plain, 0, -1> == 2049);

// A layer that changes a weight in forward steps.
struct normalized_twice : sc::functional<normalized_twice> {
  static constexpr auto build(auto& model) {
    batch_normalization shared;
    auto x = shared(model.input(4));
    return dense(2)(shared(dense(4)(x)));
  }
};
using in_two_stages = sc::pipelined<normalized_twice, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 0>>;
using in_one_stage = sc::pipelined<normalized_twice, sc::stages<0, 0, 0, 1>>;
static_assert(code<in_two_stages, accumulated<4, sc::grouped>> == 2048);
static_assert(code<in_two_stages, accumulated<4, sequential>> == 0, "it keeps the order of a model without stages");
static_assert(code<in_two_stages, serialized<2>> == 2048, "and serialized batches do not");
static_assert(code<in_one_stage, accumulated<4, sc::grouped>> == 0);

// What losses and metrics are measured along, and with which numbers.
using rows = sc::sequential<input{4}, dense{12}, reshape{3, 4}>;
template <auto Loss, auto Metric>
constexpr int measured_code =
    sc::detail::training_problem<job<rows, sc::training{.loss = Loss, .metrics = Metric}>>.code;
constexpr sc::losses::sparse_categorical_crossentropy along_last{.from_logits = true},
    along_first{.from_logits = true, .axis = 1};
using sparse_metric = sc::metrics::sparse_categorical_crossentropy;
static_assert(measured_code<along_first, sparse_metric{.axis = 1}> == 0 &&
              measured_code<along_last, sc::metrics::accuracy{}> == 0);
static_assert(measured_code<along_first, sc::metrics::accuracy{}> == 1103 &&
              measured_code<along_last, sparse_metric{.axis = 1}> == 1103);
static_assert(measured_code<along_first, sparse_metric{.axis = 3}> == 1103);
template <sc::number_list Normalizer>
constexpr int normalized_code =
    measured_code<sc::losses::mean_squared_error{}, sc::metrics::mean_relative_error{.normalizer = Normalizer}>;
static_assert(normalized_code<2.5F> == 0 && normalized_code<{1, 2, 3, 4}> == 0 && normalized_code<{1, 2, 3}> == 1102 &&
              normalized_code<{}> == 1102);
// More entries than a list has room for are told by the one who takes it.
template <class List, int Count, class Entry = float>
constexpr List list_of = []<int... I>(std::integer_sequence<int, I...>) {
  return List{Entry{I >= 0}...};
}(std::make_integer_sequence<int, Count>{});
template <int Count>
constexpr auto numbers = list_of<sc::number_list, Count>;
static_assert(normalized_code<numbers<33>> == 1102 && normalized_code<numbers<32>> == 1102);
static_assert(measured_code<sc::losses::mean_squared_error{}, sc::metrics::precision{.thresholds = numbers<32>}> == 0 &&
              measured_code<sc::losses::mean_squared_error{}, sc::metrics::precision{.thresholds = numbers<33>}> ==
                  1102 &&
              measured_code<sc::losses::mean_squared_error{}, sc::metrics::auc{.thresholds = numbers<40>}> == 1102);
static_assert(sc::metrics::metric(sc::metrics::auc{.label_weights = numbers<40>}).numbers.count == 40);
static_assert(
    sc::detail::training_problem<job<rows, sc::training{.loss_weights = list_of<sc::jobs::output_weights, 65>}>>.code ==
    4025);
static_assert(code<plain, {.outfeed_mask = list_of<sc::outfeed_mask, 33, bool>}> == 2035);
// They are counted, and no one reads them.
static_assert([] {
  sc::number_list numbers;
  for (int i = 0; i < 40; ++i) numbers.append(static_cast<float>(40 - i));
  numbers.sort();
  return numbers.count == 40 && numbers.end() - numbers.begin() == 32 && numbers.numbers[0] == 9;
}());

}  // namespace

TEST_CASE("the number of steps is explained with batch serialization") {
  constexpr auto training = sc::training{.steps_per_execution = 12, .pipeline = serialized<4>};
  constexpr auto const& problem = sc::detail::training_problem<job<three_on_one, training>>;
  CHECK(
      problem.text.view() ==
      "the training has steps_per_execution 12, which is not a multiple of 24, gradient_accumulation_steps_per_replica "
      "6 times batch_serialization_iterations 4 [E2021]");
}
