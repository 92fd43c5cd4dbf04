// SPDX-License-Identifier: BSD-3-Clause
// An application in plain C, by its interface alone, for tests that need a model but no compiler of models: y is twice
// x, two numbers of each sample, in batches of four. It fails if the first number of a batch is -500.
#include <stagecraft/serving/application_interface.h>
#include <stdio.h>

enum { samples = 4, numbers = 2 };

struct stagecraft_program {
  float x[samples * numbers], y[samples * numbers];
};

// What the tool looks for in the file before it loads it; any processor will do.
__attribute__((used)) static struct {
  char text[32];
  uint32_t interface_version;
  uint64_t instruction_sets;
} const marker = {"\177stagecraft application marker", stagecraft_interface_version, 0};

static struct stagecraft_description const* describe(void) {
  static int64_t const shape[] = {numbers};
  static struct stagecraft_tensor const input = {"x", 1, shape}, output = {"y", 1, shape};
  static struct stagecraft_description const all = {"plain", samples, 1, 1, 1, 1, &input, 1, &output, "0.0.0", 0, 0};
  return &all;
}

static int create(char const* weights, struct stagecraft_program** made, struct stagecraft_message* message) {
  static struct stagecraft_program only[16];
  static int count;
  (void)weights;
  if (count < 16) {
    *made = &only[count++];
    return stagecraft_ok;
  }
  snprintf(message->text, sizeof message->text, "there are 16 programs");
  return stagecraft_failed;
}

static int run(struct stagecraft_program* own, struct stagecraft_feed const* feed, struct stagecraft_message* message) {
  float* const inputs[] = {own->x};
  float const* const outputs[] = {own->y};
  if (feed->feed(feed->context, 0, inputs) < 0) return stagecraft_ended;
  if (own->x[0] == -500.0F) {
    snprintf(message->text, sizeof message->text, "the first number is -500");
    return stagecraft_failed;
  }
  for (int i = 0; i < samples * numbers; ++i) own->y[i] = 2 * own->x[i];
  feed->take(feed->context, 0, outputs);
  return stagecraft_ok;
}

static void destroy(struct stagecraft_program* own) { (void)own; }

struct stagecraft_application const* stagecraft_get_application(void) {
  static struct stagecraft_application const own = {stagecraft_interface_version, describe, create, run, destroy};
  return &own;
}
