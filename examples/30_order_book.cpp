// SPDX-License-Identifier: BSD-3-Clause
// Where does a price go? A network in the manner of DeepLOB (Zhang, Zohren and Roberts, 2019) looks at an order book:
// convolutions join prices with volumes, then sides, then levels, an inception module looks at several lengths of time,
// and an LSTM reads what they have found. Three pipeline stages, as in Graphcore's examples, on two threads. The book
// is drawn: buyers and sellers come in waves, which move the price, and which the volumes show, but not clearly. Fails
// if fewer than 73 % of the movements are foreseen; by chance it would be little more than a third.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int ticks = 32, levels = 4, features = 4 * levels;  // of each level price and volume, of both sides

struct deep_lob : sc::functional<deep_lob> {
  static constexpr std::string_view name = "deep_lob";

  /// Along the features, then twice along time.
  static constexpr auto block(auto x, int columns) {
    x = leaky_re_lu(0.01F)(conv2d(16, {1, columns}, {.strides = {1, columns}})(x));
    x = leaky_re_lu(0.01F)(conv2d(16, {4, 1})(x));
    return leaky_re_lu(0.01F)(conv2d(16, {4, 1}, {.padding = sc::padding::same})(x));
  }
  static constexpr auto along_time(auto x, int length) {
    return leaky_re_lu(0.01F)(conv2d(16, {length, 1}, {.padding = sc::padding::same})(x));
  }

  static constexpr auto build(auto& model) {
    auto x = model.input(ticks, features, 1);
    {
      sc::pipeline_stage stage(model, 0);
      x = block(block(block(x, 2), 2), levels);
    }
    {
      sc::pipeline_stage stage(model, 1);
      auto const pooled = max_pooling2d({3, 1}, {.strides = 1, .padding = sc::padding::same})(x);
      x = concatenate()(along_time(along_time(x, 1), 3), along_time(along_time(x, 1), 5), along_time(pooled, 1));
      x = reshape(ticks - 9, 48)(x);
    }
    sc::pipeline_stage stage(model, 2);
    return dense(3)(lstm(32)(x));
  }
};
static_assert(sc::pipeline_stages<deep_lob> == 3);

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.005F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 8,
                 .steps_per_execution = 96,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 6, .schedule = sc::grouped}};

struct movements {
  xt::xtensor<float, 3> books;           ///< (windows, ticks, features)
  xt::xtensor<std::uint8_t, 1> changes;  ///< 0: the price falls, 1: it stays about the same, 2: it rises
};

/// Windows of one day, one after the other.
movements draw(std::size_t windows, unsigned seed) {
  constexpr std::size_t step = 4, ahead = 10;
  std::mt19937 engine(seed);
  auto const normal = [&engine] {  // as good as normal, and the same everywhere
    float sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<float>(engine() % 65536) / 65536;
    return sum;
  };
  std::size_t const length = windows * step + ticks + ahead;
  std::vector<float> prices;
  std::vector<std::array<float, features>> book(length);
  float price = 0, pressure = 0;
  for (auto& now : book) {
    pressure = 0.98F * pressure + 0.2F * normal();
    price += 0.1F * pressure + 0.03F * normal();
    prices.push_back(price);
    for (std::size_t level = 0; level < levels; ++level) {
      float const distance = 0.1F + 0.1F * static_cast<float>(level);
      float* const of_level = &now[4 * level];
      of_level[0] = price + distance;
      of_level[1] = std::max(0.0F, 1 - 0.4F * pressure + 0.5F * normal());  // what sellers offer
      of_level[2] = price - distance;
      of_level[3] = std::max(0.0F, 1 + 0.4F * pressure + 0.5F * normal());  // what buyers ask for
    }
  }
  movements drawn{xt::zeros<float>({windows, std::size_t{ticks}, std::size_t{features}}),
                  xt::zeros<std::uint8_t>({windows})};
  for (std::size_t window = 0; window < windows; ++window) {
    std::size_t const first = window * step, last = first + ticks - 1;
    for (std::size_t tick = 0; tick < ticks; ++tick)
      for (std::size_t i = 0; i < features; ++i)
        drawn.books(window, tick, i) = book[first + tick][i] - (i % 2 == 0 ? prices[last] : 1.0F);
    float change = -prices[last];
    for (std::size_t later = 1; later <= ahead; ++later) change += prices[last + later] / ahead;
    drawn.changes(window) = change < -0.2F ? 0 : change > 0.2F ? 2 : 1;
  }
  return drawn;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a network to foresee prices from an order book that it draws.",
                                    4, "not used: the order book is drawn");
  auto const train = draw(4608, 1), test = draw(1536, 2);
  sc::print_pipeline_stage_assignment_summary<deep_lob>();
  sc::trainer<deep_lob, training, sc::host<2>> model;
  model.fit(train.books, train.changes, {.epochs = given.epochs, .validation_data = {test.books, test.changes}});
  auto const [loss, accuracy] = model.evaluate(test.books, test.changes, {.verbose = 0});
  std::array<int, 3> counts{};
  for (auto const change : test.changes) ++counts[change];
  std::printf("test loss %.4f, test accuracy %.4f of %d falls, %d times without much change, %d rises\n", loss,
              accuracy, counts[0], counts[1], counts[2]);
  return accuracy >= 0.73 ? 0 : 1;
}
