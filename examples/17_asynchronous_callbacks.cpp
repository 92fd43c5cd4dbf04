// SPDX-License-Identifier: BSD-3-Clause
// With many steps per execution, callbacks are called once per execution: late. Asynchronous ones are called for every
// step, by a thread of their own, as soon as its results are there.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

template <bool Asynchronous>
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32,
                                              .steps_per_execution = 128,
                                              .asynchronous_callbacks = Asynchronous};

/// The first batch after which nine of ten digits were right.
class find_90_percent : public sc::callback {
 public:
  int calls = 0, found = -1;

  void on_train_batch_end(int batch, sc::logs& logs) override {
    ++calls;
    if (found < 0 && logs.at("accuracy") >= 0.9) found = batch;
  }
};

template <bool Asynchronous>
void train(char const* name, sc::datasets::labelled_split const& data, int epochs) {
  constexpr auto const& description = training<Asynchronous>;
  find_90_percent finder;
  sc::trainer<mlp, description> model;
  int const executions =
      static_cast<int>(data.train.y.size()) / (description.batch_size * description.steps_per_execution);
  model.fit(data.train.x, data.train.y,
            {.epochs = epochs,
             .verbose = 0,
             .callbacks = {&finder},
             .steps_per_epoch = executions * description.steps_per_execution});
  std::printf("%s: %d calls in %d executions, 90 %% of the digits right after batch %d\n", name, finder.calls,
              epochs * executions, finder.found);
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains with synchronous and with asynchronous callbacks.", 1);
  auto const data = load_data(given);
  train<false>("synchronous", data, given.epochs);
  train<true>("asynchronous", data, given.epochs);
}
