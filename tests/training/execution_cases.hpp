// SPDX-License-Identifier: BSD-3-Clause
// What the tests of executions share: ways to run one small model, and a callback that writes down all values.
#pragma once

#include "trainer_cases.hpp"

#include <string>
#include <vector>

namespace cases {

/// What all these tests train with.
constexpr auto base_description() {
  return sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                      .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                      .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{.k = 2}},
                      .batch_size = 8,
                      .steps_per_execution = 4,
                      .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
}

/// One model on one machine.
template <class Model, class Machine = sc::host<>, int Replicas = 1>
struct way {
  static constexpr int replicas = Replicas;

  // A class, since GCC 12 takes the same call of a function for the same value in all ways.
  template <auto Change>
  struct changed {
    static constexpr auto training = [] {
      auto result = base_description();
      result.num_replicas = Replicas;
      Change(result);
      return result;
    }();
    using trainer = sc::trainer<Model, training, Machine>;
  };
  template <auto Change>
  using trainer = typename changed<Change>::trainer;
};
using staged = sc::pipelined<classifier, sc::stages<0, 1>>;
using unstaged_way = way<classifier>;
using staged_way = way<staged>;
using threaded_way = way<staged, sc::host<2>>;
using replicated_way = way<classifier, sc::host<2>, 2>;
using replicated_stages = way<staged, sc::host<4>, 2>;

/// Writes down each batch of training, evaluation and prediction with its values.
class log_recorder : public sc::callback {
 public:
  struct entry {
    char kind;
    int batch;
    std::vector<double> values;
    bool operator==(entry const&) const = default;
  };
  std::vector<entry> ends;
  int begins = 0;

  void on_train_batch_begin(int, sc::logs&) override { ++begins; }
  void on_test_batch_begin(int, sc::logs&) override { ++begins; }
  void on_predict_batch_begin(int, sc::logs&) override { ++begins; }
  void on_train_batch_end(int batch, sc::logs& values) override { add('t', batch, values); }
  void on_test_batch_end(int batch, sc::logs& values) override { add('v', batch, values); }
  void on_predict_batch_end(int batch, sc::logs& values) override { add('p', batch, values); }

  /// Those of the last steps of executions.
  [[nodiscard]] std::vector<entry> last_of(int execution) const {
    std::vector<entry> result;
    for (entry const& each : ends)
      if ((each.batch + 1) % execution == 0) result.push_back(each);
    return result;
  }

 private:
  void add(char kind, int batch, sc::logs const& values) {
    entry added{kind, batch, {}};
    for (auto const& value : values) added.values.push_back(value.value);
    ends.push_back(added);
  }
};

}  // namespace cases
