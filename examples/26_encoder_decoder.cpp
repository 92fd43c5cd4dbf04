// SPDX-License-Identifier: BSD-3-Clause
// Sequence to sequence, as in Keras's guide: an LSTM reads a word, its states are what another LSTM begins with, which
// writes the word backwards, letter by letter. In training the second one is given what it should have written; then
// two models of their own, with the trained weights, read a word once and write one letter after the other.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <tuple>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int letters = 8, length = 4, state_size = 64;
constexpr int begin = letters, vocabulary = letters + 1;  // what a word begins with, before its first letter

struct reader : sc::functional<reader> {
  static constexpr auto build(auto& model) {
    auto x = embedding(vocabulary, 16, {.name = "read_letters"})(model.input(length));
    auto [all, h, c] = lstm(state_size, {.return_state = true, .name = "read"})(x);
    return sc::outputs(h, c);
  }
};

/// Writes `steps` letters, each after the one that it is given.
template <int steps>
struct writer : sc::functional<writer<steps>> {
  static constexpr auto build(auto& model) {
    auto h = model.input(state_size), c = model.input(state_size);
    auto x = embedding(vocabulary, 16, {.name = "write_letters"})(model.input(steps));
    auto [y, next_h, next_c] =
        lstm(state_size, {.return_sequences = true, .return_state = true, .name = "write"})(x, h, c);
    return sc::outputs(dense(letters, {.name = "letters"})(y), next_h, next_c);
  }
};

struct translator : sc::functional<translator> {
  static constexpr auto build(auto& model) {
    auto word = model.input(length);
    auto [h, c] = reader{}(word);
    auto [logits, last_h, last_c] = writer<length>{}(h, c, model.input(length));
    return logits;
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.005F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32};
inline constexpr auto single = sc::inference{.batch_size = 1};

using matrix = xt::xtensor<float, 2>;

int main(int argc, char** argv) {
  auto const given =
      read_arguments(argc, argv, "Trains two LSTMs to write words backwards.", 6, "not used: the words are drawn");
  constexpr std::size_t count = 8192;
  matrix words = xt::zeros<float>({count, std::size_t{length}}), before = words;
  xt::xtensor<std::uint8_t, 2> written = xt::zeros<std::uint8_t>({count, std::size_t{length}});
  std::mt19937 engine(1);
  for (std::size_t row = 0; row < count; ++row) {
    before(row, 0) = begin;
    for (std::size_t i = 0; i < length; ++i) {
      auto const letter = engine() % letters;
      words(row, i) = static_cast<float>(letter);
      written(row, length - 1 - i) = static_cast<std::uint8_t>(letter);
      if (i > 0) before(row, length - i) = static_cast<float>(letter);
    }
  }
  sc::trainer<translator, training> trained;
  trained.fit(std::tie(words, before), written, {.epochs = given.epochs});

  // The weights have the order of the models: first those of the reader.
  auto const weights = trained.get_weights();
  sc::predictor<reader, single> reads;
  sc::predictor<writer<1>, single> writes;
  auto const of_reader = static_cast<std::ptrdiff_t>(reads.get_weights().size());
  reads.set_weights({weights.begin(), weights.begin() + of_reader});
  writes.set_weights({weights.begin() + of_reader, weights.end()});

  int right = 0;
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    std::string word, answer;
    matrix read({1, length});
    for (std::size_t k = 0; k < length; ++k) {
      auto const letter = engine() % letters;
      read(0, k) = static_cast<float>(letter);
      word += static_cast<char>('a' + letter);
    }
    auto [h, c] = reads.predict_on_batch(read);
    matrix letter{{static_cast<float>(begin)}};
    for (int k = 0; k < length; ++k) {
      auto const [logits, next_h, next_c] = writes.predict_on_batch(std::tie(h, c, letter));
      letter(0, 0) = static_cast<float>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      answer += static_cast<char>('a' + static_cast<int>(letter(0, 0)));
      h = next_h;
      c = next_c;
    }
    right += std::string(word.rbegin(), word.rend()) == answer ? 1 : 0;
    if (i < 3) std::printf("%s backwards: %s\n", word.c_str(), answer.c_str());
  }
  std::printf("%d of %d words are right\n", right, tries);
}
