// SPDX-License-Identifier: BSD-3-Clause
// The weight of each row of a batch in the loss. Keras counterpart: sample_weight times class_weight, as
// data_adapter multiplies them.
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// One entry of `.class_weight = {{0, 1.0f}, {1, 5.0f}}`.
struct class_weight_entry {
  int label = 0;     ///< the class
  float weight = 1;  ///< the factor of its samples' losses
};

/// The weights of the rows of a batch: sample weight times class weight. Check both first (data_checks.hpp).
class row_weights {
 public:
  /// Makes weights that are all 1.
  row_weights() = default;
  /// \param sample_weight one number per sample, or nothing given
  /// \param by_class one weight per class, or empty
  /// \param targets the samples' classes: a number itself, or the place of the first largest of several
  [[gnu::cold]] row_weights(sample_source sample_weight, std::vector<class_weight_entry> const& by_class,
                            sample_source targets)
      : sample_weight_(std::move(sample_weight)), targets_(std::move(targets)), by_class_(by_class.size()) {
    for (class_weight_entry const& entry : by_class) by_class_[entry.label] = entry.weight;
  }

  /// True if a weight can differ from 1.
  [[nodiscard]] bool given() const noexcept { return sample_weight_.given() || !by_class_.empty(); }

  /// The array of one number per sample, or nothing given.
  [[nodiscard]] sample_source const& of_samples() const noexcept { return sample_weight_; }

  /// Writes one weight per row.
  [[gnu::noinline]] void gather(tracing::array_view<std::int32_t const> rows, float* destination) const {
    if (sample_weight_.given()) {
      sample_weight_.gather(rows, destination);
    } else {
      for (std::size_t i = 0; i < rows.size(); ++i) destination[i] = 1;
    }
    if (by_class_.empty()) return;
    int const classes = static_cast<int>(by_class_.size());
    for (std::size_t i = 0; i < rows.size(); ++i) destination[i] *= by_class_[class_of(targets_, rows[i], classes)];
  }

  /// The class of a sample, one of `classes`: Keras rounds a single number, and takes the largest of several. E4006.
  [[nodiscard, gnu::noinline]] static std::size_t class_of(sample_source const& targets, std::ptrdiff_t row,
                                                           int classes) {
    int const size = targets.sample_size();
    double target = 0;
    if (size > 1) {
      int best = 0;
      for (int i = 1; i < size; ++i)
        if (targets.at(row, i) > targets.at(row, best)) best = i;
      target = best;
    } else {
      target = targets.at(row);
    }
    if (!(target >= -0.5 && target < classes - 0.5))
      throw_data_error("E4006", "class_weight: expected targets from 0 to %d, found %s at sample %td", classes - 1,
                       diagnostics::general_digits(target, 15).c_str(), row);
    return static_cast<std::size_t>(target + 0.5);
  }

 private:
  sample_source sample_weight_;
  sample_source targets_;
  std::vector<float> by_class_;
};

}  // namespace stagecraft::trainers
