// SPDX-License-Identifier: BSD-3-Clause
// Labels from the logits of a model that was trained with losses::ctc, and the beam search for the most probable
// ones. Keras counterpart: keras.ops.ctc_decode; in Keras 2, tf.keras.backend.ctc_decode.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace stagecraft::data::detail {

/// Prefixes of labels as a tree, and the best of them, the beam, after each step. The probability of a prefix is the
/// sum over all paths that lead to it and of which no beginning has left the beam: TensorFlow's definition, in float as
/// there.
class ctc_beams {
 public:
  struct path {
    std::vector<int> labels;
    float log_probability;
  };

  ctc_beams(std::size_t width, int blank) : width_(width), blank_(blank) {
    auto& root = prefixes_.emplace_back();
    root.now = {0, none, 0};
    beam_.push_back(&root);
  }

  /// Takes the next step's logits, one for each class: finite numbers, some of which may be -infinity.
  void step(std::span<float const> logits) {
    float const most = *std::max_element(logits.begin(), logits.end());
    float sum = 0;
    for (float const each : logits) sum += std::exp(each - most);
    float const offset = most + std::log(sum);
    auto const log_of = [&](int label) { return logits[static_cast<std::size_t>(label)] - offset; };

    std::vector<prefix*> const before = best_first(beam_);
    beam_.clear();
    for (prefix* each : before) each->old = each->now;
    for (prefix* each : before) {
      if (each->parent != nullptr) {
        if (each->parent->is_in_beam())
          each->now.label = log_sum(
              each->now.label, each->label == each->parent->label ? each->parent->old.blank : each->parent->old.total);
        each->now.label += log_of(each->label);
      }
      each->now.blank = each->old.total + log_of(blank_);
      each->now.total = log_sum(each->now.blank, each->now.label);
      push(each);
    }
    for (prefix* each : before) {
      if (!is_candidate(each->old.total)) continue;
      if (each->first_child == nullptr) add_children(*each, static_cast<int>(logits.size()));
      for (prefix* child = each->first_child; child != nullptr; child = child->next) {
        if (child->is_in_beam()) continue;
        float const label = log_of(child->label) + (child->label == each->label ? each->old.blank : each->old.total);
        if (is_candidate(label)) {
          child->now = {none, label, label};
          push(child);
        } else {
          child->old = child->now = {};
        }
      }
    }
  }

  /// The best `count` prefixes, or fewer if the beam has no more.
  [[nodiscard]] std::vector<path> best(std::size_t count) const {
    std::vector<path> result;
    for (prefix const* each : best_first(beam_)) {
      if (result.size() == count) break;
      path& added = result.emplace_back();
      added.log_probability = each->now.total;
      for (; each->parent != nullptr; each = each->parent) added.labels.push_back(each->label);
      std::reverse(added.labels.begin(), added.labels.end());
    }
    return result;
  }

 private:
  static constexpr float none = -std::numeric_limits<float>::infinity();  // the logarithm of 0

  /// Logarithms of probabilities: of the paths that end with a blank, of those that end with the last label, and of
  /// both.
  struct probability {
    float blank = none, label = none, total = none;
  };
  struct prefix {
    prefix* parent = nullptr;
    prefix *first_child = nullptr, *next = nullptr;
    int label = -1;
    std::size_t number = 0;  // of two prefixes with the same probability, the one with the smaller number ranks higher
    probability old, now;    // after the step before, and after this one

    [[nodiscard]] bool is_in_beam() const noexcept { return now.total != none; }
  };

  static float log_sum(float a, float b) {
    if (a == none && b == none) return none;
    return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
  }
  static bool is_better(prefix const* a, prefix const* b) {
    return a->now.total > b->now.total || (a->now.total == b->now.total && a->number < b->number);
  }
  [[nodiscard]] static std::vector<prefix*> best_first(std::vector<prefix*> beam) {
    std::sort(beam.begin(), beam.end(), is_better);
    return beam;
  }
  [[nodiscard]] bool is_candidate(float total) const {
    return total > none && (beam_.size() < width_ || total > beam_.front()->now.total);
  }
  /// The beam is a heap whose front is the least probable prefix.
  void push(prefix* added) {
    if (beam_.size() == width_) {
      std::pop_heap(beam_.begin(), beam_.end(), is_better);
      beam_.back()->now = {};
      beam_.pop_back();
    }
    beam_.push_back(added);
    std::push_heap(beam_.begin(), beam_.end(), is_better);
  }
  void add_children(prefix& of, int classes) {
    for (int label = classes - 1; label >= 0; --label) {
      if (label == blank_) continue;
      auto& child = prefixes_.emplace_back();
      child.parent = &of;
      child.label = label;
      child.number = prefixes_.size();
      child.next = of.first_child;
      of.first_child = &child;
    }
  }

  std::size_t width_;
  int blank_;
  std::deque<prefix> prefixes_;  // a deque, so that addresses of prefixes stay valid
  std::vector<prefix*> beam_;
};

}  // namespace stagecraft::data::detail

namespace stagecraft {

/// The options of `ctc_decode`.
enum class ctc_strategy : unsigned char {
  greedy,      ///< the most probable class of each step
  beam_search  ///< the most probable labels, whatever steps they stand at, among `beam_width` beginnings
};

/// Options of `ctc_decode`, with Keras's names and defaults.
struct ctc_decode_options {
  ctc_strategy strategy = ctc_strategy::greedy;  ///< greedy, or beam_search
  int beam_width = 100;                          ///< beginnings that beam_search keeps after each step. E4135
  int top_paths = 1;           ///< number of the best labels that beam_search returns, at most beam_width. E4135, E4136
  bool merge_repeated = true;  ///< true: greedy counts equal neighbouring steps as one label
  int mask_index = 0;          ///< the class of the blank; negative numbers count from the end: Keras's None is -1
  std::vector<int> sequence_lengths = {};  ///< number of valid steps of each sample; empty: all are valid. E4135
};

/// The result of `ctc_decode`.
struct ctc_decoded {
  xt::xtensor<std::int32_t, 3> labels;  ///< (top_paths, samples, steps), the best first, with -1 after the last label
  /// (samples, top_paths). beam_search: the logarithm of the labels' probability. greedy, whose only path has index 0:
  /// minus the sum of each step's largest logit, as in TensorFlow
  xt::xtensor<float, 2> scores;
};

}  // namespace stagecraft

namespace stagecraft::data::detail {

/// True if the logits of a step have a largest one: they are no NaN, and not all are -infinity, the logit of impossible
/// classes.
[[nodiscard]] inline bool are_logits(std::span<float const> logits) {
  bool has_number = false;
  for (float const each : logits) {
    if (std::isnan(each) || each == std::numeric_limits<float>::infinity()) return false;
    has_number = has_number || std::isfinite(each);
  }
  return has_number;
}

/// \param logits (samples, steps, classes)
[[nodiscard, gnu::cold]] inline ctc_decoded decode_ctc(std::span<float const> logits, std::size_t samples,
                                                       std::size_t steps, std::size_t classes,
                                                       ctc_decode_options const& options) {
  int const count = static_cast<int>(classes);
  int const blank = options.mask_index < 0 ? options.mask_index + count : options.mask_index;
  bool const is_greedy = options.strategy == ctc_strategy::greedy;
  if (blank < 0 || blank >= count)
    diagnostics::throw_data_error("E4135", "ctc_decode: expected mask_index from %d to %d, found %d", -count, count - 1,
                                  options.mask_index);
  if (!is_greedy && (options.top_paths < 1 || options.beam_width < options.top_paths))
    diagnostics::throw_data_error("E4135", "ctc_decode: expected top_paths from 1 to beam_width, found %d of %d",
                                  options.top_paths, options.beam_width);
  auto const& lengths = options.sequence_lengths;
  if (!lengths.empty() && lengths.size() != samples)
    diagnostics::throw_data_error("E4135", "ctc_decode: expected %zu sequence_lengths, one per sample, found %zu",
                                  samples, lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || static_cast<std::size_t>(lengths[i]) > steps)
      diagnostics::throw_data_error(
          "E4135", "ctc_decode: expected sequence_lengths from 0 to %zu, found %d at sample %zu", steps, lengths[i], i);

  std::size_t const paths = is_greedy ? 1 : static_cast<std::size_t>(options.top_paths);
  ctc_decoded result{xt::xtensor<std::int32_t, 3>::from_shape({paths, samples, steps}),
                     xt::xtensor<float, 2>::from_shape({samples, paths})};
  result.labels.fill(-1);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::size_t const length = lengths.empty() ? steps : static_cast<std::size_t>(lengths[sample]);
    auto const row = [&](std::size_t step) { return logits.subspan((sample * steps + step) * classes, classes); };
    for (std::size_t step = 0; step < length; ++step)
      if (!are_logits(row(step)))
        diagnostics::throw_data_error(
            "E4134", "ctc_decode: expected logits that are numbers, found others at sample %zu, step %zu", sample,
            step);
    if (is_greedy) {
      float sum = 0;
      int last = -1;
      for (std::size_t step = 0, to = 0; step < length; ++step) {
        auto const best = std::max_element(row(step).begin(), row(step).end());
        int const label = static_cast<int>(best - row(step).begin());
        sum -= *best;
        if (label != blank && !(options.merge_repeated && label == last)) result.labels(0, sample, to++) = label;
        last = label;
      }
      result.scores(sample, 0) = sum;
      continue;
    }
    data::detail::ctc_beams beams(static_cast<std::size_t>(options.beam_width), blank);
    for (std::size_t step = 0; step < length; ++step) beams.step(row(step));
    auto const best = beams.best(paths);
    if (best.size() < paths)
      diagnostics::throw_data_error(
          "E4136", "ctc_decode: expected at most %zu top_paths for the %zu steps of sample %zu, found %zu", best.size(),
          length, sample, paths);
    for (std::size_t path = 0; path < paths; ++path) {
      for (std::size_t i = 0; i < best[path].labels.size(); ++i) result.labels(path, sample, i) = best[path].labels[i];
      result.scores(sample, path) = best[path].log_probability;
    }
  }
  return result;
}

}  // namespace stagecraft::data::detail

namespace stagecraft {

/// The labels that logits (samples, steps, classes) stand for, as `predict` returns them of a model that was trained
/// with `losses::ctc`:
///
///     auto const [labels, scores] = sc::ctc_decode(predictor.predict(x), {.strategy = sc::ctc_strategy::beam_search});
///
/// It allocates. Throws data_error E4134 for an array that has not three axes, or for logits that are NaN or infinite
/// (-infinity, for an impossible class, is allowed); E4135 for options that do not fit the array, E4136 for more
/// top_paths than there are paths. Definition: Keras API, ops/ctc_decode, and TensorFlow's two decoders, which it
/// calls.
template <class E>
[[nodiscard]] ctc_decoded ctc_decode(xt::xexpression<E> const& logits, ctc_decode_options const& options = {}) {
  auto const& given = logits.derived_cast();
  if (given.dimension() != 3)
    diagnostics::throw_data_error(
        "E4134", "ctc_decode: expected logits of shape (samples, steps, classes), found %zu axes", given.dimension());
  xt::xtensor<float, 3> const values = given;
  auto const& lengths = values.shape();
  return data::detail::decode_ctc({values.data(), values.size()}, static_cast<std::size_t>(lengths[0]),
                                  static_cast<std::size_t>(lengths[1]), static_cast<std::size_t>(lengths[2]), options);
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
