// SPDX-License-Identifier: BSD-3-Clause
// Recognizes a digit on a microcontroller, without an operating system. docs/bare_metal.md says how to build it, and
// how QEMU runs it.
#include <stagecraft/predict.hpp>

#include "digits.hpp"

#include "start.hpp"

namespace sc = stagecraft;

static constinit sc::static_predictor<models::digits, models::digits_weights> net;

using predictor = decltype(net);
static_assert(predictor::memory_bytes < 8'192 && predictor::weight_bytes < 120'000);

static constinit float pixels[predictor::inputs];
static constinit float scores[predictor::outputs];

int main() {
  // A one: a bright bar in the middle. A camera or a touch screen would be read here.
  for (int row = 5; row < 23; ++row) pixels[row * 28 + 13] = pixels[row * 28 + 14] = 1;

  net(pixels, scores);

  int best = 0;
  for (int i = 1; i < static_cast<int>(predictor::outputs); ++i)
    if (scores[i] > scores[best]) best = i;
  char const text[] = {'i', 't', ' ', 'i', 's', ' ', static_cast<char>('0' + best), '\n', '\0'};
  print(text);
  return 0;
}
