// SPDX-License-Identifier: BSD-3-Clause
// Checks of data and options before anything runs. Each function throws a data_error whose text names the argument, the
// expected value and the found one. Keras counterpart: the ValueErrors of data_adapter and Model.fit.
//
//   E4001  samples of another shape than the model's input or output
//   E4002  arrays of unequal length
//   E4003  no samples, or fewer than are needed
//   E4004  a label that is no class number, or out of range
//   E4005  sample_weight of another length or shape than one number per sample
//   E4006  class_weight that leaves a class out or names one twice
//   E4007  validation_split outside of [0, 1), or leaving no samples on one side
//   E4008  batch_size that the compiled program cannot run
//   E4009  weights of other names, shapes or number than the model's (trainer)
//   E4010  number of arrays other than the number of the model's inputs or outputs
//   E4011  epochs, initial_epoch, steps, validation_freq or verbose out of range
//   E4012  a callback monitors a value that is not reported (callbacks)
//   E4013  logs or history asked for a name they do not have (logs, history)
//   E4014  a learning rate that is not finite (learning_rate_scheduler)
//   E4015  a factor of 1 or more (reduce_lr_on_plateau)
//   E4016  an array without samples' axis, or of too many dimensions (sample_source)
//   E4017  steps_per_execution that does not divide the epoch's batches (trainer)
//   E4018  gradient accumulation that does not divide the batches of an execution (trainer)
//   E4019  batches of a stateful model that are not full
//   E4041  fewer batches than replicas (trainer)
//   E4042  weights asked for while steps run (trainer)
//   E5225  a finite number of an array that is beyond float32
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/row_weights.hpp>
#include <stagecraft/training/data/sample_set.hpp>

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

namespace stagecraft::trainers {

/// The text of a shape, as Python prints a tuple.
struct shape_text {
  fixed_text<96> text;

  [[gnu::cold]] explicit shape_text(shape const& of) { of.append_to(text); }
  [[nodiscard]] char const* c_str() const noexcept { return text.characters; }
};

/// The name of an array: "x", or "x[1]" if there are several.
struct array_name {
  char text[64];

  [[gnu::cold]] array_name(char const* argument, int index, int count) {
    if (count > 1)
      std::snprintf(text, sizeof(text), "%s[%d]", argument, index);
    else
      std::snprintf(text, sizeof(text), "%s", argument);
  }
};

/// True if the shapes differ at most by a last axis of extent 1, which Keras adds or drops.
[[nodiscard]] inline bool same_but_for_a_last_one(shape const& found, shape const& expected) {
  bool const more = found.rank() > expected.rank();
  shape const& longer = more ? found : expected;
  shape const& shorter = more ? expected : found;
  if (longer.rank() - shorter.rank() > 1) return false;
  for (int axis = 0; axis < longer.rank(); ++axis)
    if (longer[axis] != (axis < shorter.rank() ? shorter[axis] : 1)) return false;
  return true;
}

/// E4010, E4001: one array per input or output, samples of the model's shapes; a last axis of extent 1 may be missing
/// or too many, as in Keras.
/// \param argument the argument's name, for example "x", "y" or "validation_data.y"
[[gnu::cold]] inline void check_shapes(char const* argument, sample_set const& found,
                                       tracing::array_view<shape const> expected) {
  int const count = static_cast<int>(expected.size());
  if (found.size() != count) {
    throw_data_error("E4010", "%s: expected %d %s, found %d", argument, count, count == 1 ? "array" : "arrays",
                     found.size());
  }
  for (int i = 0; i < count; ++i) {
    shape const& wanted = expected[i];
    shape const& came = found[i].sample_shape();
    if (same_but_for_a_last_one(came, wanted)) continue;
    char const* hint = "";
    if (std::string_view(argument).ends_with('y')) {
      if (came.size() == 1 && wanted.rank() > 1)
        hint = "; a flatten or a global pooling before the last layers may be missing";
      else if (came.size() == 1 && wanted.size() > 1)
        hint = "; class numbers need the loss sparse_categorical_crossentropy";
      if (wanted.size() == 1 && came.size() > 1) hint = "; one value per class needs the loss categorical_crossentropy";
    }
    throw_data_error("E4001", "%s: expected samples of shape %s, found %s%s", array_name(argument, i, count).text,
                     shape_text(wanted).c_str(), shape_text(came).c_str(), hint);
  }
}

/// E4003: at least `needed` samples; `reason` says why, in brackets, with a blank before.
[[gnu::cold]] inline void check_count(char const* argument, std::ptrdiff_t found, std::ptrdiff_t needed = 1,
                                      char const* reason = "") {
  if (found >= needed) return;
  throw_data_error("E4003", "%s: expected at least %td %s%s, found %td", argument, needed,
                   needed == 1 ? "sample" : "samples", reason, found);
}

/// E4002: all arrays of both sets have the same number of samples.
[[gnu::cold]] inline void check_lengths(char const* first_argument, sample_set const& first,
                                        char const* second_argument, sample_set const& second) {
  for (int i = 0; i < first.size() + second.size(); ++i) {
    bool const in_first = i < first.size();
    sample_set const& set = in_first ? first : second;
    int const index = in_first ? i : i - first.size();
    if (set[index].count() == first.count()) continue;
    throw_data_error("E4002", "%s: expected %td samples, as many as %s has, found %td",
                     array_name(in_first ? first_argument : second_argument, index, set.size()).text, first.count(),
                     array_name(first_argument, 0, first.size()).text, set[index].count());
  }
}

/// E5225: every finite number stays finite in float32. Costs a pass over arrays of double, nothing for other types.
[[gnu::cold]] inline void check_array_numbers(char const* argument, sample_source const& data) {
  auto const place = data.first_beyond_float();
  if (place < 0) return;
  auto const sample = place / data.sample_size();
  auto const number = static_cast<int>(place % data.sample_size());
  throw_data_error("E5225",
                   "%s: expected numbers that float32 holds, of which the largest is 3.4028235e+38, found %s at sample "
                   "%td, number %d",
                   argument, diagnostics::general_digits(data.at(sample, number), 15).c_str(), sample, number);
}
[[gnu::cold]] inline void check_numbers(char const* argument, sample_set const& data) {
  for (int i = 0; i < data.size(); ++i) check_array_numbers(array_name(argument, i, data.size()).text, data[i]);
}

/// The class numbers that are valid targets of an output.
struct label_rule {
  int classes = 0;
  /// Steps of a sequence whose loss finds the places of the labels, where 0 is no label; 0 for other losses.
  int steps = 0;
};

/// E4132, E4133: the labels of one sequence.
inline void check_sequence(char const* argument, sample_source const& labels, std::ptrdiff_t row, int steps,
                           std::ptrdiff_t sample) {
  int const width = labels.sample_size();
  int count = 0;
  while (count < width && labels.at(row, count) != 0) ++count;
  int needed = count;
  for (int i = 1; i < count; ++i) needed += labels.at(row, i) == labels.at(row, i - 1);
  for (int i = count; i < width; ++i)
    if (labels.at(row, i) != 0)
      throw_data_error("E4132", "%s: expected 0 only after the last label, found label %s after a 0 at sample %td",
                       argument, diagnostics::general_digits(labels.at(row, i), 15).c_str(), sample);
  if (needed > steps)
    throw_data_error("E4133",
                     "%s: expected labels that fit the output's %d steps, found %d labels at sample %td, which "
                     "need %d, as equal neighbours have a blank between them",
                     argument, steps, count, sample, needed);
}

/// E4004: every number is a class, a whole number from 0 to classes - 1. E4132, E4133: sequences that are none.
/// `first`: the number of the first sample. The process that has an array checks it.
inline void check_labels(char const* argument, sample_source const& labels, label_rule const& rule,
                         std::ptrdiff_t first = 0) {
  if (!labels.is_here()) return;
  int const width = labels.sample_size();
  for (std::ptrdiff_t row = 0; row < labels.count(); ++row) {
    for (int i = 0; i < width; ++i) {
      double const label = labels.at(row, i);
      if (label >= 0 && label < rule.classes && label == static_cast<double>(static_cast<int>(label))) continue;
      throw_data_error("E4004", "%s: expected class numbers from 0 to %d, found %s at sample %td", argument,
                       rule.classes - 1, diagnostics::general_digits(label, 15).c_str(), first + row);
    }
    if (rule.steps > 0) check_sequence(argument, labels, row, rule.steps, first + row);
  }
}

/// E4005: one weight per sample, shape (samples) or (samples, 1). Nothing given is fine.
[[gnu::cold]] inline void check_sample_weight(char const* argument, sample_source const& weights,
                                              std::ptrdiff_t samples) {
  if (!weights.given()) return;
  if (weights.sample_size() != 1) {
    throw_data_error("E4005", "%s: expected one number per sample, found samples of shape %s", argument,
                     shape_text(weights.sample_shape()).c_str());
  }
  if (weights.count() != samples) {
    throw_data_error("E4005", "%s: expected %td numbers, one per sample, found %td", argument, samples,
                     weights.count());
  }
}

/// E4006: as in Keras, classes from 0 on, each one once, whether or not the model or the data know them all; and no
/// sample without a class: one whose target, rounded if it is a single number, is past the last class. An empty list
/// is fine.
/// \param targets the array that `row_weights` takes the classes from
[[gnu::cold]] inline void check_class_weight(std::vector<class_weight_entry> const& weights,
                                             sample_source const& targets = {}) {
  if (weights.empty()) return;
  int const classes = static_cast<int>(weights.size());
  for (class_weight_entry const& entry : weights) {
    int seen = 0;
    for (class_weight_entry const& other : weights) seen += other.label == entry.label;
    if (seen > 1)
      throw_data_error("E4006", "class_weight: expected one weight for each class, found %d for class %d", seen,
                       entry.label);
    if (entry.label < 0 || entry.label >= classes)
      throw_data_error("E4006", "class_weight: expected the classes from 0 to %d, as there are %d, found %d",
                       classes - 1, classes, entry.label);
  }
  for (std::ptrdiff_t row = 0; targets.is_here() && row < targets.count(); ++row)
    static_cast<void>(row_weights::class_of(targets, row, classes));
}

/// E4007: checks `validation_split` and returns the number of samples that are left to train with: the first
/// floor(samples * (1 - split)), as in Keras.
[[nodiscard]] inline std::ptrdiff_t training_count(std::ptrdiff_t samples, double split) {
  if (split == 0) return samples;
  if (!(split > 0 && split < 1))
    throw_data_error("E4007", "validation_split: expected a number from 0 to below 1, found %s",
                     diagnostics::general_digits(split, 15).c_str());
  auto const left = static_cast<std::ptrdiff_t>(static_cast<double>(samples) * (1.0 - split));
  if (left == 0 || left == samples) {
    throw_data_error("E4007", "validation_split: %s of %td samples leaves none to %s with",
                     diagnostics::general_digits(split, 15).c_str(), samples, left == 0 ? "train" : "validate");
  }
  return left;
}

/// E4008: checks `batch_size` and returns the one to use. A program is compiled for one batch size; it runs smaller
/// batches by padding them.
/// \param asked 0: the compiled one
[[nodiscard]] inline int batch_size_to_use(int asked, int compiled) {
  if (asked == 0) return compiled;
  if (asked < 0 || asked > compiled) {
    throw_data_error("E4008", "batch_size: expected 1 to %d, the description's batch_size, found %d", compiled, asked);
  }
  return asked;
}

/// E4019: all batches of a stateful model must be full, since a state belongs to a place in the batch. There may be
/// more batches than are asked for.
/// \param batch_size the result of `batch_size_to_use`
[[gnu::cold]] inline void check_full_batches(char const* argument, std::ptrdiff_t samples, int batch_size,
                                             int compiled) {
  if (batch_size == compiled && samples % compiled == 0) return;
  throw_data_error("E4019",
                   "%s: expected full batches of %d samples for a stateful model, found %td samples in batches of %d",
                   argument, compiled, samples, batch_size);
}

/// E4011: an option that counts is at least `least`.
[[gnu::cold]] inline void check_at_least(char const* option, int found, int least) {
  if (found < least) throw_data_error("E4011", "%s: expected at least %d, found %d", option, least, found);
}

/// E4011: checks the options of `fit` that are numbers. Fewer epochs than `initial_epoch` train nothing, as in Keras.
inline void check_options(fit_options const& options) {
  check_at_least("epochs", options.epochs, 0);
  check_at_least("initial_epoch", options.initial_epoch, 0);
  check_at_least("steps_per_epoch", options.steps_per_epoch, 0);
  check_at_least("validation_steps", options.validation_steps, 0);
  check_at_least("validation_freq", options.validation_freq, 1);
  check_at_least("verbose", options.verbose, 0);
}

/// E4003: `steps` batches (0: any number) need that many samples. Keras's IPU data handler refuses such data before
/// the run, and so does this.
inline void check_steps(char const* option, int steps, int batches) {
  if (steps > batches) throw_data_error("E4003", "%s: expected data for %d batches, found %d", option, steps, batches);
}

}  // namespace stagecraft::trainers
