// SPDX-License-Identifier: BSD-3-Clause
// A classifier of sentences: an LSTM reads each one in both directions, and with what it knows in the end, attention
// goes over all its states again. Sentences are shorter or longer; what fills them up is masked. They are drawn: people
// praise things, blame them, or do both, and "not" turns a word round. Fails if fewer than 97 % of the sentences that
// it has not seen are understood.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int longest = 20, vocabulary = 48, state_size = 16;

struct reader : sc::functional<reader> {
  static constexpr auto build(auto& model) {
    auto const words = embedding(vocabulary, 16, {.mask_zero = true})(model.input(longest));  // 0: no word
    auto const [states, forward, forward_cell, backward, backward_cell] =
        bidirectional(lstm(state_size, {.return_sequences = true, .return_state = true}))(words);
    auto const whole = concatenate()(forward, backward);
    auto const seen = attention({.use_scale = true})(reshape(1, 2 * state_size)(whole), states);
    return dense(3)(concatenate()(whole, flatten()(seen)));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.005F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32};

constexpr std::array verdicts{"praise", "blame", "both"};

/// A sentence of one to three parts, and its class.
std::pair<std::string, int> draw_sentence(std::mt19937& engine) {
  auto const one_of = [&](auto const& words) { return std::string(words[engine() % std::size(words)]); };
  static constexpr std::array things{"film", "story", "music", "food", "hotel", "room", "view", "staff"};
  static constexpr std::array good{"good", "lovely", "great", "fresh", "friendly"};
  static constexpr std::array bad{"bad", "dull", "awful", "stale", "rude"};
  static constexpr std::array more{"really", "very", "quite"};
  std::string sentence;
  bool praises = false, blames = false;
  for (auto parts = 1 + engine() % 3; parts > 0; --parts) {
    bool const is_good = engine() % 2 == 0, is_turned = engine() % 3 == 0;
    if (!sentence.empty()) sentence += one_of(std::array{" and ", " but "});
    sentence += "the " + one_of(things) + " was ";
    if (is_turned) sentence += "not ";
    if (engine() % 3 == 0) sentence += one_of(more) + " ";
    sentence += is_good ? one_of(good) : one_of(bad);
    (is_good != is_turned ? praises : blames) = true;
  }
  return {sentence, praises && blames ? 2 : blames ? 1 : 0};
}

/// Numbers of words in the order in which they came up; longer sentences lose their end, and words for which no number
/// is left are left out.
class numbered_words {
 public:
  std::array<std::uint8_t, longest> operator()(std::string const& sentence) {
    std::array<std::uint8_t, longest> numbers{};
    std::istringstream words(sentence);
    std::string word;
    for (std::size_t at = 0; at < longest && words >> word;) {
      auto place = std::find(known_.begin(), known_.end(), word);
      if (place == known_.end()) {
        if (known_.size() == vocabulary - 1) continue;
        place = known_.insert(place, word);
      }
      numbers[at++] = static_cast<std::uint8_t>(place - known_.begin() + 1);
    }
    return numbers;
  }

 private:
  std::vector<std::string> known_;
};

struct sentences {
  xt::xtensor<std::uint8_t, 2> words;
  xt::xtensor<std::uint8_t, 1> verdicts;
};

sentences draw(std::size_t count, std::mt19937& engine, numbered_words& numbers) {
  sentences drawn{xt::zeros<std::uint8_t>({count, std::size_t{longest}}), xt::zeros<std::uint8_t>({count})};
  for (std::size_t row = 0; row < count; ++row) {
    auto const [sentence, verdict] = draw_sentence(engine);
    auto const words = numbers(sentence);
    std::copy(words.begin(), words.end(), &drawn.words(row, 0));
    drawn.verdicts(row) = static_cast<std::uint8_t>(verdict);
  }
  return drawn;
}

int main(int argc, char** argv) {
  auto const given =
      read_arguments(argc, argv, "Trains a reader of sentences that it draws.", 4, "not used: the sentences are drawn");
  std::mt19937 engine(1);
  numbered_words numbers;
  auto const train = draw(4096, engine, numbers), test = draw(1024, engine, numbers);
  sc::trainer<reader, training> model;
  model.fit(train.words, train.verdicts, {.epochs = given.epochs, .validation_data = {test.words, test.verdicts}});
  auto const [loss, accuracy] = model.evaluate(test.words, test.verdicts, {.verbose = 0});

  for (char const* const sentence :
       {"the music was not bad", "the room was dull", "the staff was friendly but the food was not very fresh"}) {
    auto const words = numbers(sentence);
    xt::xtensor<float, 2> const logits =
        model.predict(xt::adapt(words.data(), std::array{std::size_t{1}, words.size()}));
    std::printf("%s: %s\n", sentence,
                verdicts[static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin())]);
  }
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
  return accuracy >= 0.97 ? 0 : 1;
}
