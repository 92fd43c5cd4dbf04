// SPDX-License-Identifier: BSD-3-Clause
// What is checked of data and options before anything runs. Each function throws a data_error whose text names the
// argument, what was expected and what came. Keras counterpart: the ValueErrors of data_adapter and Model.fit. Level 6.
//
//   E4001  samples of another shape than the model's input or output
//   E4002  arrays of unequal length
//   E4003  no samples, or fewer than are needed
//   E4004  a label that is no class number, or out of range
//   E4005  sample_weight of another length or shape than one number per sample
//   E4006  class_weight for a class that does not exist, twice, or not for every class
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
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/class_weight.hpp>
#include <stagecraft/training/fit_options.hpp>
#include <stagecraft/training/python_number.hpp>
#include <stagecraft/training/sample_set.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

namespace detail {

[[nodiscard]] inline std::string shape_text(shape const& of) {
  message text;
  of.append_to(text);
  return std::string(text.view());
}

/// "x", or "x[1]" when there are several.
[[nodiscard]] inline std::string array_name(std::string_view argument, int index, int count) {
  std::string name(argument);
  if (count > 1) name += "[" + std::to_string(index) + "]";
  return name;
}

/// Keras adds or drops a last axis of extent 1.
[[nodiscard]] inline bool same_but_for_a_last_one(shape const& found, shape const& expected) {
  if (found == expected) return true;
  shape longer = found.rank() > expected.rank() ? found : expected;
  shape const& shorter = found.rank() > expected.rank() ? expected : found;
  if (longer.rank() != shorter.rank() + 1 || longer.back() != 1) return false;
  --longer.dimension_count;
  longer.dimensions[longer.dimension_count] = 0;
  return longer == shorter;
}

}  // namespace detail

/// E4010, E4001: one array per input or output, samples of the model's shapes; a last axis of extent 1 may be missing or
/// too many, as in Keras.
/// \param argument the argument's name, "x" or "y"
inline void check_shapes(std::string_view argument, sample_set const& found, std::span<shape const> expected) {
  if (found.size() != static_cast<int>(expected.size())) {
    throw data_error("E4010", std::string(argument) + ": expected " + std::to_string(expected.size()) +
                                  (expected.size() == 1 ? " array" : " arrays") + ", found " +
                                  std::to_string(found.size()));
  }
  for (int i = 0; i < found.size(); ++i) {
    shape const& wanted = expected[static_cast<std::size_t>(i)];
    shape const& came = found[i].sample_shape();
    if (detail::same_but_for_a_last_one(came, wanted)) continue;
    std::string text = detail::array_name(argument, i, found.size()) + ": expected samples of shape " +
                       detail::shape_text(wanted) + ", found " + detail::shape_text(came);
    if (argument == "y" && came.size() == 1 && wanted.size() > 1)
      text += "; class numbers need the loss sparse_categorical_crossentropy";
    if (argument == "y" && wanted.size() == 1 && came.size() > 1)
      text += "; one value per class needs the loss categorical_crossentropy";
    throw data_error("E4001", text);
  }
}

/// E4003: at least `needed` samples, `reason` says why.
inline void check_count(std::string_view argument, std::ptrdiff_t found, std::ptrdiff_t needed = 1,
                        std::string_view reason = "") {
  if (found >= needed) return;
  std::string text = std::string(argument) + ": expected at least " + std::to_string(needed) +
                     (needed == 1 ? " sample" : " samples");
  if (!reason.empty()) text += " (" + std::string(reason) + ")";
  throw data_error("E4003", text + ", found " + (found == 0 ? "none" : std::to_string(found)));
}

/// E4002: all arrays of both sets have the same number of samples.
inline void check_lengths(std::string_view first_argument, sample_set const& first, std::string_view second_argument,
                          sample_set const& second) {
  std::ptrdiff_t const expected = first.count();
  auto const check = [&](std::string_view argument, sample_set const& set) {
    for (int i = 0; i < set.size(); ++i) {
      if (set[i].count() == expected) continue;
      throw data_error("E4002", detail::array_name(argument, i, set.size()) + ": expected " + std::to_string(expected) +
                                    " samples, as many as " + detail::array_name(first_argument, 0, first.size()) +
                                    " has, found " + std::to_string(set[i].count()));
    }
  };
  check(first_argument, first);
  check(second_argument, second);
}

/// E4004: every number is a class, a whole number from 0 to classes - 1.
inline void check_labels(std::string_view argument, sample_source const& labels, int classes) {
  int const width = labels.sample_size();
  for (std::ptrdiff_t row = 0; row < labels.count(); ++row) {
    for (int i = 0; i < width; ++i) {
      double const label = labels.at(row, i);
      if (label >= 0 && label < classes && label == static_cast<double>(static_cast<int>(label))) continue;
      std::string number = detail::python_repr(label);
      if (number.ends_with(".0")) number.resize(number.size() - 2);
      throw data_error("E4004", std::string(argument) + ": expected class numbers from 0 to " +
                                    std::to_string(classes - 1) + ", found " + number + " at sample " +
                                    std::to_string(row));
    }
  }
}

/// E4005: one weight per sample, shape (samples) or (samples, 1). Nothing given is fine.
inline void check_sample_weight(std::string_view argument, sample_source const& weights, std::ptrdiff_t samples) {
  if (!weights.given()) return;
  if (weights.sample_size() != 1) {
    throw data_error("E4005", std::string(argument) + ": expected one number per sample, found samples of shape " +
                                  detail::shape_text(weights.sample_shape()));
  }
  if (weights.count() != samples) {
    throw data_error("E4005", std::string(argument) + ": expected " + std::to_string(samples) +
                                  " numbers, one per sample, found " + std::to_string(weights.count()));
  }
}

/// E4006: each class from 0 to classes - 1 exactly once. An empty list is fine.
inline void check_class_weight(std::vector<class_weight_entry> const& weights, int classes) {
  if (weights.empty()) return;
  std::vector<int> seen(static_cast<std::size_t>(classes));
  for (class_weight_entry const& entry : weights) {
    std::string const label = std::to_string(entry.label);
    if (entry.label < 0 || entry.label >= classes) {
      throw data_error("E4006", "class_weight: expected classes from 0 to " + std::to_string(classes - 1) + ", found " +
                                    label);
    }
    if (++seen[static_cast<std::size_t>(entry.label)] > 1)
      throw data_error("E4006", "class_weight: expected one weight for class " + label + ", found several");
  }
  for (int label = 0; label < classes; ++label) {
    if (seen[static_cast<std::size_t>(label)] == 0) {
      throw data_error("E4006", "class_weight: expected a weight for each of the " + std::to_string(classes) +
                                    " classes, found none for class " + std::to_string(label));
    }
  }
}

/// E4007: checks `validation_split` and returns the number of samples that are left to train with: the first
/// floor(samples * (1 - split)), as in Keras.
[[nodiscard]] inline std::ptrdiff_t training_count(std::ptrdiff_t samples, double split) {
  if (split == 0) return samples;
  if (!(split > 0 && split < 1)) {
    throw data_error("E4007", "validation_split: expected a number from 0 to below 1, found " +
                                  detail::python_repr(split));
  }
  auto const left = static_cast<std::ptrdiff_t>(static_cast<double>(samples) * (1.0 - split));
  if (left == 0 || left == samples) {
    throw data_error("E4007", "validation_split: " + detail::python_repr(split) + " of " + std::to_string(samples) +
                                  " samples leaves none to " + (left == 0 ? "train" : "validate") + " with");
  }
  return left;
}

/// E4008: checks `batch_size` and returns the one to use. A program is compiled for one batch size; it runs smaller
/// batches by padding them.
/// \param asked 0: the compiled one
[[nodiscard]] inline int batch_size_to_use(int asked, int compiled) {
  if (asked == 0) return compiled;
  if (asked > 0 && asked <= compiled) return asked;
  throw data_error("E4008", "batch_size: expected 1 to " + std::to_string(compiled) +
                                ", the training description's batch_size, found " + std::to_string(asked));
}

/// E4011: an option that counts is at least `least`.
inline void check_at_least(std::string_view option, int found, int least) {
  if (found >= least) return;
  throw data_error("E4011", std::string(option) + ": expected at least " + std::to_string(least) + ", found " +
                                std::to_string(found));
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
inline void check_steps(std::string_view option, int steps, int batches) {
  if (steps <= batches) return;
  throw data_error("E4003", std::string(option) + ": expected data for " + std::to_string(steps) +
                                " batches, found " + std::to_string(batches));
}

}  // namespace stagecraft
