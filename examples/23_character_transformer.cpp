// SPDX-License-Identifier: BSD-3-Clause
// A small language model: four blocks of attention learn to continue a text, character by character, and write some of
// their own in the end, on two threads. With --data FILE the text is a file, such as Shakespeare's plays; without it,
// numbers in words. The learning rate falls from epoch to epoch, as half of a cosine does.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <string>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int context = 64, width = 128, heads = 4, blocks = 4, samples = 32, alphabet = 96;

/// Adds a vector that is learnt to each place: attention itself does not know an order.
struct position_embedding : sc::layer<position_embedding> {
  static constexpr std::string_view class_name = "PositionEmbedding";

  constexpr auto call(auto& ops, auto x) const {
    return x + ops.weight({.name = "embeddings",
                           .shape = {x.length(1), x.length(2)},
                           .initializer = sc::initializers::random_uniform{}});
  }
};

struct transformer : sc::functional<transformer> {
  static constexpr auto build(auto& model) {
    auto x = position_embedding()(embedding(alphabet, width)(model.input(context)));
    for (int block = 0; block < blocks; ++block) {
      auto const seen = layer_normalization()(x);
      x = x + multi_head_attention(heads, width / heads, {.use_causal_mask = true})(seen, seen);
      x = x + dense(width)(dense(4 * width, sc::gelu)(layer_normalization()(x)));
    }
    return dense(alphabet)(layer_normalization()(x));
  }
};

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 2e-3F, .beta_2 = 0.99F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = samples};

/// Printable characters and the end of a line; all others are spaces.
int token_of(char c) { return c == '\n' ? alphabet - 1 : c > ' ' && c <= '~' ? c - ' ' : 0; }
char character_of(int token) { return token == alphabet - 1 ? '\n' : static_cast<char>(token + ' '); }

struct lines {
  xt::xtensor<std::uint8_t, 2> x;
  xt::xtensor<std::int32_t, 2> y;  ///< the characters that follow
};

/// Pieces of a text that begin anywhere.
lines draw(std::string const& text, std::size_t count, std::mt19937& engine) {
  lines drawn{xt::zeros<std::uint8_t>({count, std::size_t{context}}),
              xt::zeros<std::int32_t>({count, std::size_t{context}})};
  for (std::size_t row = 0; row < count; ++row) {
    std::size_t const begin = engine() % (text.size() - context - 1);
    for (std::size_t i = 0; i < context; ++i) {
      drawn.x(row, i) = static_cast<std::uint8_t>(token_of(text[begin + i]));
      drawn.y(row, i) = token_of(text[begin + i + 1]);
    }
  }
  return drawn;
}

/// One of the characters, as likely as the model thinks.
int sample(float const* logits, std::mt19937& engine) {
  std::array<double, alphabet> weights{};
  float const largest = *std::max_element(logits, logits + alphabet);
  for (std::size_t i = 0; i < alphabet; ++i) weights[i] = std::exp(static_cast<double>(logits[i] - largest) / 0.8);
  return std::discrete_distribution<int>(weights.begin(), weights.end())(engine);
}

/// Continues `text` by `count` characters.
std::string continued(auto& model, std::string text, int count, std::mt19937& engine) {
  for (int i = 0; i < count; ++i) {
    xt::xtensor<std::uint8_t, 2> x = xt::zeros<std::uint8_t>({std::size_t{1}, std::size_t{context}});
    std::size_t const known = std::min<std::size_t>(text.size(), context);
    for (std::size_t k = 0; k < known; ++k)
      x(0, k) = static_cast<std::uint8_t>(token_of(text[text.size() - known + k]));
    xt::xtensor<float, 3> const logits = model.predict(x);
    text += character_of(sample(&logits(0, known - 1, 0), engine));
  }
  return text;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a character transformer, which writes a text in the end.", 40,
                                    "a text; without it, numbers in words");
  std::string const text = load_text(given);
  std::size_t const split = text.size() / 10 * 9;
  std::string const learnt = text.substr(0, split), unseen = text.substr(split);
  std::mt19937 engine(1);
  auto const test = draw(unseen, given.data.empty() ? 256 : 1024, engine);
  std::size_t const steps = given.data.empty() ? 8 : 200;

  sc::trainer<transformer, training, sc::host<2>> model;
  sc::callbacks::learning_rate_scheduler falling(
      [&given](int epoch) { return 1e-3 * (1.02 + std::cos(std::numbers::pi * epoch / given.epochs)); });
  auto const begin = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < given.epochs; ++epoch) {
    auto const train = draw(learnt, steps * samples, engine);
    auto const history = model.fit(
        train.x, train.y, {.epochs = epoch + 1, .verbose = 0, .callbacks = {&falling}, .initial_epoch = epoch});
    auto const [loss] = model.evaluate(test.x, test.y, {.verbose = 0});
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    std::printf("epoch %d: %.3f nats per character, of text that it has not seen %.3f, after %.1f minutes\n", epoch + 1,
                history.history.at("loss").back(), loss, taken.count() / 60);
    std::fflush(stdout);
  }
  std::printf("it writes: %s\n", continued(model, learnt.substr(0, 20), given.data.empty() ? 20 : 300, engine).c_str());
}
