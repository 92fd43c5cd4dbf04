// SPDX-License-Identifier: BSD-3-Clause
// The search for the most probable labels of one sequence of logits, by beams of prefixes.
// TensorFlow counterpart: tf.nn.ctc_beam_search_decoder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace stagecraft::data::detail {

/// Prefixes of labels as a tree, and the best of them, the beam, after each step. A prefix's probability is that of all
/// paths that give it and of which no beginning has left the beam: TensorFlow's definition, in float as there.
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

  /// One step, of logits for each class: numbers, or some -infinity.
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

  /// Logarithms of the probabilities of paths that end with a blank, with the last label, and of both.
  struct probability {
    float blank = none, label = none, total = none;
  };
  struct prefix {
    prefix* parent = nullptr;
    prefix *first_child = nullptr, *next = nullptr;
    int label = -1;
    std::size_t number = 0;  // of two with the same probability the older one is the better
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
  /// The beam is a heap whose front is the worst.
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
  std::deque<prefix> prefixes_;  // they keep their places
  std::vector<prefix*> beam_;
};

}  // namespace stagecraft::data::detail
