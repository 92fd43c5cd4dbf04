// SPDX-License-Identifier: BSD-3-Clause
// What examples/01_mnist.cpp does, by hand with Eigen: trains the perceptron for some epochs in a new order each time,
// prints losses, evaluates it, and looks at one prediction. Compiled for its cost alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "../mlp_eigen.hpp"
#include "../training_data.hpp"

using namespace stagecraft::benchmarks;

int main(int argc, char** argv) {
  constexpr int batch = 64;
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  training_data<batch> data;
  constexpr int batches = training_data<batch>::batches;

  mlp_eigen<batch, optimizer_kind::rmsprop> model(mlp_weights());
  std::mt19937 generator(1);
  std::vector<int> order(batches);
  std::iota(order.begin(), order.end(), 0);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), generator);
    float loss = 0;
    for (int const index : order) loss += model.train_on_batch(data.x(index), data.labels(index));
    std::printf("epoch %d/%d: loss %.4f\n", epoch + 1, epochs, static_cast<double>(loss) / batches);
  }

  int right = 0, first = 0;
  for (int index = 0; index < batches; ++index) {
    float const* const logits = model.predict_on_batch(data.x(index));
    for (int sample = 0; sample < batch; ++sample) {
      float const* const row = logits + sample * mlp_classes;
      auto const digit = static_cast<int>(std::max_element(row, row + mlp_classes) - row);
      right += digit == data.labels(index)[sample] ? 1 : 0;
      if (index == 0 && sample == 0) first = digit;
    }
  }
  std::printf("accuracy %.4f\n", static_cast<double>(right) / (batch * batches));
  std::printf("the first image shows a %d, predicted is a %d\n", data.labels(0)[0], first);
}
