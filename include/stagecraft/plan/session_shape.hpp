// SPDX-License-Identifier: BSD-3-Clause
// What the host's sessions have in common, whatever they run: shapes of inputs, outputs and targets. Constants only.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/plan/logits.hpp>
#include <cstddef>

namespace stagecraft::plan {

/// Base of sessions: what callers ask them at compile time. `Job` is a described one.
template <class Job>
struct session_shape {
  using described = Job;
  static constexpr int batch = Job::training.batch_size;
  /// False in an inference, which has neither targets nor losses.
  static constexpr bool has_losses = !only_infers<Job::training>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& outputs = outputs_of<typename Job::model>;
  static constexpr std::size_t output_count = outputs.size();
  /// The calls that losses read: the outputs, then what layers add to the loss. Both are numbered alike.
  static constexpr auto const& ends = graph.ends;
  static constexpr std::size_t end_count = graph.ends.size();

  [[nodiscard]] static constexpr int input_count() {
    int count = 0;
    for (auto const& call : graph.calls) count += call.is_input ? 1 : 0;
    return count;
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index) { return graph.calls[input_call(index)].shape; }
  [[nodiscard]] static constexpr shape const& output_shape(std::size_t output) {
    return graph.call(ends[output]).shape;
  }
  /// Rows of the last axis that one sample of an output has.
  [[nodiscard]] static constexpr int rows_per_sample(std::size_t output) {
    return output_shape(output).size() / output_shape(output).back();
  }
  /// Rows of the loss, and so scales, that one sample of an output has: as rows_per_sample, unless the loss takes whole
  /// samples.
  [[nodiscard]] static constexpr int scales_per_sample(std::size_t output) {
    if constexpr (!has_losses)
      return rows_per_sample(output);
    else
      return array_of_each<end_count>(
          []<int End>() { return loss_takes_samples<Job, End> ? 1 : rows_per_sample(End); })[output];
  }
  /// The axis of a sample of an output along which it has a number for each class: the last one, or its loss's.
  [[nodiscard]] static constexpr int class_axis(std::size_t output) {
    if constexpr (!has_losses)
      return output_shape(output).rank() - 1;
    else
      return array_of_each<end_count>([]<int End>() { return class_axis_of<Job, End>; })[output];
  }
  /// Class numbers of a sample of an output.
  [[nodiscard]] static constexpr int class_numbers(std::size_t output) { return class_shape(output).size(); }
  /// The shape of the class numbers: that of a sample without the axis of the classes, or the labels of a sequence.
  [[nodiscard]] static constexpr shape class_shape(std::size_t output) {
    if (label_steps(output) > 0) return {labels_of_sequence(output)};
    shape result;
    for (int axis = 0; axis < output_shape(output).rank(); ++axis)
      if (axis != class_axis(output)) result.push_back(output_shape(output)[axis]);
    return result;
  }
  /// The steps of an output among which its loss places labels itself; 0 for other losses.
  [[nodiscard]] static constexpr int label_steps(std::size_t output) {
    if constexpr (!has_losses)
      return 0;
    else
      return array_of_each<end_count>([]<int End>() { return label_steps_of<Job, End>; })[output];
  }
  /// True if the targets of an output are class numbers.
  [[nodiscard]] static constexpr bool sparse_targets(std::size_t output) {
    if constexpr (!has_losses)
      return false;
    else
      return array_of_each<end_count>(
          []<int End>() { return bool{computed_loss_of<Job, End>.sparse_targets}; })[output];
  }
  /// A target of an output: a class number if its loss is sparse, else a float. A function and no lambda within
  /// decltype, which modules cannot export.
  template <std::size_t Output>
  [[nodiscard]] static constexpr auto example_target() {
    if constexpr (!has_losses)
      return float{};
    else
      return kernels::target_type<computed_loss_of<Job, Output>>{};
  }
  /// Targets of an output: class numbers (batch, class_numbers) if its loss is sparse, else floats.
  template <std::size_t Output>
  using target_type = decltype(example_target<Output>());

  /// Losses that are not reduced are reported as their mean.
  template <std::size_t End>
  [[nodiscard]] static constexpr int loss_divisor(int samples) {
    constexpr auto reduction = losses::detail::reduction_of(computed_loss_of<Job, End>);
    if constexpr (reduction != losses::reduction::none)
      return 1;
    else if constexpr (loss_takes_samples<Job, End>)
      return samples * (output_shape(End).size() / computed_loss_of<Job, End>.length);
    else
      return samples * rows_per_sample(End);
  }

  /// The labels of a sample in the targets of such an output.
  [[nodiscard]] static constexpr int labels_of_sequence(std::size_t output) {
    return array_of_each<end_count>([]<int End>() { return labels_of<End>(); })[output];
  }
  template <std::size_t End>
  [[nodiscard]] static constexpr int labels_of() {
    if constexpr (label_steps_of<Job, End> > 0)
      return computed_loss_of<Job, End>.labels;
    else
      return 0;
  }
  /// The call of the graph that stands for an input.
  [[nodiscard]] static constexpr std::size_t input_call(int index) {
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      if (graph.calls[i].is_input && index-- == 0) return i;
    return 0;
  }
  /// The number of the input that a call of the graph stands for.
  [[nodiscard]] static constexpr int input_number(int call) {
    int number = 0;
    for (int i = 0; i < call; ++i) number += graph.call(i).is_input ? 1 : 0;
    return number;
  }
  /// True if steps of an output may be masked.
  [[nodiscard]] static constexpr bool is_masked(std::size_t output) {
    return graph.mask_of(outputs[output]) != nullptr;
  }
  /// The offsets of targets and scales of the outputs, which stand one after the other in whole cache lines.
  [[nodiscard]] static constexpr long long target_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i) {
      long long const size = sparse_targets(i) ? class_numbers(i) : output_shape(i).size();
      offset += (batch * size + 15) / 16 * 16;
    }
    return offset;
  }
  [[nodiscard]] static constexpr long long scale_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += (static_cast<long long>(batch) * scales_per_sample(i) + 15) / 16 * 16;
    return offset;
  }
};

}  // namespace stagecraft::plan
