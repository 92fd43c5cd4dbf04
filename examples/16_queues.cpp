// SPDX-License-Identifier: BSD-3-Clause
// The queues between a model and its host: a thread makes batches ready before they are needed, another one takes
// results, so that the model need not wait for either.
#include <stagecraft/stagecraft.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto plain = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                           .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                           .metrics = sc::metrics::accuracy{},
                                           .batch_size = 32,
                                           .steps_per_execution = 64};

/// Two batches at most are ready, two results at most wait for callbacks.
inline constexpr auto queued = [] {
  auto result = plain;
  result.infeed_queue = {.prefetch_depth = 2};
  result.outfeed_queue = {.buffer_depth = 2};
  result.asynchronous_callbacks = true;
  return result;
}();

/// Takes its time with each result that it gets, as one does that writes them somewhere.
class slow_callback : public sc::callback {
 public:
  int calls = 0;

  void on_train_batch_end(int, sc::logs&) override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ++calls;
  }
};

template <auto const& Training>
auto train(sc::datasets::labelled_split const& data, int epochs) {
  slow_callback slow;
  sc::trainer<mlp, Training> model;
  int const executions = static_cast<int>(data.train.y.size()) / (Training.batch_size * Training.steps_per_execution);
  model.fit(data.train.x, data.train.y,
            {.epochs = epochs, .callbacks = {&slow}, .steps_per_epoch = executions * Training.steps_per_execution});
  auto const [loss, accuracy] = model.evaluate(data.test.x, data.test.y, {.verbose = 0});
  std::printf("%d calls of the callback, test loss %.4f, test accuracy %.4f\n", slow.calls, loss, accuracy);
  return model.get_weights();
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains with queues of batches and results, and without.", 2);
  auto const data = load_data(given);
  bool const same = train<queued>(data, given.epochs) == train<plain>(data, given.epochs);
  std::printf("the weights are %s\n", same ? "the same" : "different");
}
