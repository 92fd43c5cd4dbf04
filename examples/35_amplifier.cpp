// SPDX-License-Identifier: BSD-3-Clause
// An audio effect: an LSTM of 40 units that sounds like an amplifier, one sample a call. It trains on a circuit that it
// draws, and writes the model as RTNeural's JSON, from which `stagecraft import` makes weights; or it takes such a file
// (--model). It plays a WAV file (--data), or plucked strings that it draws, into amplifier.wav, with a picture of both
// in amplifier.svg. Fails if it is slower than real time, or far from the circuit.
#include <stagecraft/io/weights.hpp>
#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "audio/wav_file.hpp"
#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int units = 40, steps = 128;  // steps: how long a piece of the training is

/// As `stagecraft import` writes it: one sample a call, with states that are kept.
using amplifier =
    sc::sequential<input{1, 1}.of_batch_size(1), lstm{units, {.return_sequences = true, .stateful = true}}, dense{1}>;
using learner = sc::sequential<input{steps, 1}, lstm{units, {.return_sequences = true}}, dense{1}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.004F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = 16};
inline constexpr auto single = sc::inference{.batch_size = 1};

/// Strings, each plucked a fifth of a second after the one before it: noise in a loop that damps it.
sound plucked_strings(int notes, unsigned seed) {
  sound result;
  std::mt19937 engine(seed);
  auto const apart = static_cast<std::size_t>(result.rate / 5);
  result.samples.resize(apart * static_cast<std::size_t>(notes));
  for (std::size_t begin = 0; begin < result.samples.size(); begin += apart) {
    std::vector<float> string(160 + engine() % 320);
    for (float& each : string) each = static_cast<float>(engine()) / 2147483648.0F - 1.0F;
    for (std::size_t i = begin; i < result.samples.size(); ++i) {
      float &now = string[(i - begin) % string.size()], next = string[(i - begin + 1) % string.size()];
      result.samples[i] += 0.3F * now;
      now = 0.498F * (now + next);
    }
  }
  return result;
}

/// The amplifier to be learned: a stage that saturates, more on one side, before a filter that leaves out high tones.
std::vector<float> circuit(std::vector<float> const& x) {
  std::vector<float> y;
  float low = 0;
  for (float const sample : x) {
    low += 0.5F * (std::tanh(4.0F * sample + 0.4F) - std::tanh(0.4F) - low);
    y.push_back(0.7F * low);
  }
  return y;
}

/// Writes weights as the nested lists of RTNeural's JSON.
std::string nested(auto const& weight) {
  std::string text = "[";
  std::size_t const row = weight.shape.size() == 1 ? weight.values.size() : static_cast<std::size_t>(weight.shape[1]);
  for (std::size_t i = 0; i < weight.values.size(); ++i) {
    if (weight.shape.size() > 1 && i % row == 0) text += i == 0 ? "[" : "], [";
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%s%.9g", i % row == 0 ? "" : ", ",
                  static_cast<double>(weight.values[i]));
    text += number.data();
  }
  return text + (weight.shape.size() > 1 ? "]]" : "]");
}

void write_rtneural(std::string const& path, auto const& weights) {
  std::string text = "{\"in_shape\": [null, null, 1], \"layers\": [\n";
  text += R"({"type": "lstm", "activation": "tanh", "shape": [null, null, )" + std::to_string(units) + "], ";
  text += "\"weights\": [" + nested(weights[0]) + ", " + nested(weights[1]) + ", " + nested(weights[2]) + "]},\n";
  text += R"({"type": "dense", "activation": "", "shape": [null, null, 1], "weights": [)";
  sc::reports::write_text_file(path, text + nested(weights[3]) + ", " + nested(weights[4]) + "]}]}\n",
                               "write_rtneural");
}

void train(std::string const& to, int epochs) {
  auto const x = plucked_strings(30, 7).samples, y = circuit(x);
  std::size_t const pieces = x.size() / steps;
  xt::xtensor<float, 3> const inputs = xt::adapt(x.data(), pieces * steps, xt::no_ownership(),
                                                 std::array<std::size_t, 3>{pieces, steps, 1}),
                              targets = xt::adapt(y.data(), pieces * steps, xt::no_ownership(),
                                                  std::array<std::size_t, 3>{pieces, steps, 1});
  sc::trainer<learner, training> model;
  model.fit(inputs, targets, {.epochs = epochs, .verbose = 2});
  write_rtneural(to, model.get_weights());
}

/// Makes weights of the model's file, with the program `stagecraft`.
std::string import_model(std::string const& json) {
  char const* const tool = std::getenv("STAGECRAFT_TOOL");
  auto const command = std::string(tool == nullptr ? "stagecraft" : tool) + " import '" + json + "' --output amplifier";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "'%s' has failed; STAGECRAFT_TOOL may name the program\n", command.c_str());
    std::exit(1);
  }
  return "amplifier.safetensors";
}

/// The effect, as an audio callback has it: blocks of samples that are overwritten.
void process(sc::predictor<amplifier, single>& model, std::span<float> block) {
  sc::kernels::flush_denormals const flush;
  for (float& sample : block) sample = model.call(std::array{sample})[0];
}

/// The area between the lowest and the highest sample of each pixel of 1000, over the middle line `y`.
std::string outline(std::vector<float> const& samples, double y) {
  std::string above = "M0 " + std::to_string(y), below;
  for (std::size_t pixel = 0; pixel < 1000; ++pixel) {
    auto const first = samples.begin() + static_cast<std::ptrdiff_t>(pixel * samples.size() / 1000),
               last = samples.begin() + static_cast<std::ptrdiff_t>((pixel + 1) * samples.size() / 1000);
    if (first == last) continue;
    auto const [low, high] = std::minmax_element(first, last);
    auto const x = std::to_string(pixel) + " ";
    above += "L" + x + std::to_string(y - 90.0 * static_cast<double>(*high));
    below.insert(0, "L" + x + std::to_string(y - 90.0 * static_cast<double>(*low)));
  }
  return above + below + "Z";
}

void draw(std::string const& path, sound const& dry, sound const& wet) {
  sc::reports::svg_drawing picture("What goes into the amplifier, and what comes out");
  picture.area(outline(dry.samples, 110), "s0");
  picture.area(outline(wet.samples, 310), "s1");
  picture.text(8, 20, "in", {.bold = true});
  picture.text(8, 220, "out", {.bold = true});
  sc::reports::write_text_file(path, picture.document(1000, 410), "draw");
}

int main(int argc, char** argv) try {
  auto const given =
      read_arguments(argc, argv, "Plays a sound through an LSTM that was trained as an amplifier.", 6,
                     "a WAV file; without it, plucked strings are drawn",
                     "RTNeural's JSON of an LSTM of 40 units and a dense layer; without it, one is trained");
  auto const json = given.model.empty() ? "amplifier.json" : given.model;
  if (given.model.empty()) train(json, given.epochs);

  auto source = given.data;
  if (source.empty()) write_wav(source = "strings.wav", plucked_strings(15, 3));
  auto const dry = read_wav(source);

  sc::predictor<amplifier, single> model;
  model.load_weights(import_model(json));
  auto wet = dry;
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < wet.samples.size(); at += 64)
    process(model, std::span(wet.samples).subspan(at, std::min<std::size_t>(64, wet.samples.size() - at)));
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  write_wav("amplifier.wav", wet);
  draw("amplifier.svg", dry, wet);

  double const length = static_cast<double>(dry.samples.size()) / dry.rate, speed = length / seconds;
  std::printf("%.1f s of sound at %d samples a second: %.1f times as fast as real time, %.0f ns a sample\n", length,
              dry.rate, speed, 1e9 * seconds / static_cast<double>(dry.samples.size()));
  bool is_right = speed > 1;
  if (given.model.empty()) {  // then it is known how it should sound
    auto const expected = circuit(dry.samples);
    double error = 0, signal = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error += std::pow(static_cast<double>(wet.samples[i] - expected[i]), 2);
      signal += std::pow(static_cast<double>(expected[i]), 2);
    }
    std::printf("it differs from the circuit by %.1f %% of its sound\n", 100 * std::sqrt(error / signal));
    is_right = is_right && error < 0.01 * signal;
  }
  return is_right ? 0 : 1;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
