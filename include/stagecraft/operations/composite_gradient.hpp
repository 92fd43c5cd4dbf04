// SPDX-License-Identifier: BSD-3-Clause
// The tensors that a composite's own gradient rule reads and writes; normalizations in a training step, as groups that
// a machine may have kernels for: of rows, and of channels by the statistics of the batch.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

/// The data of a composite's gradient rule: the operands, the result and the result's gradient; it collects the
/// gradients of the operands.
class composite_gradient {
 public:
  constexpr composite_gradient(tracer& ops, int composite, tensor of_result)
      : ops_(&ops),
        composite_(composite),
        of_result_(of_result),
        count_(ops.list().node_of(composite).operand_count - 1) {
    if (count_ > most_operands) ops.list().fail("a group reads more than ", most_operands, " tensors");
  }

  [[nodiscard]] constexpr tracer& ops() const noexcept { return *ops_; }
  /// Operand `index` of `reads`.
  [[nodiscard]] constexpr tensor read(int index) const {
    return {&ops_->list(), ops_->list().operand(composite_, index + 1)};
  }
  [[nodiscard]] constexpr tensor result() const { return {&ops_->list(), composite_}; }
  /// A copy of the composite: the list moves when it grows.
  [[nodiscard]] constexpr composite what() const { return ops_->list().node_of(composite_).what.as<composite>(); }
  [[nodiscard]] constexpr tensor gradient() const noexcept { return of_result_; }
  /// True if the gradient of operand `index` is wanted; others need not be given.
  [[nodiscard]] constexpr bool wants(int index) const noexcept { return wanted_[index]; }
  constexpr void want(int index, bool is_wanted) noexcept {
    if (index < most_operands) wanted_[index] = is_wanted;
  }
  /// Says that gradients which the rule gives read what is inside the group, so that a gradient of them reaches it.
  constexpr void read_inside() noexcept { has_inner_readers_ = true; }
  [[nodiscard]] constexpr bool has_inner_readers() const noexcept { return has_inner_readers_; }
  /// Sets the gradient of operand `index`. Operands without such a call have no gradient.
  constexpr void give(int index, tensor gradient) { given_[index] = gradient; }
  [[nodiscard]] constexpr tracing::array_view<tensor const> given() const noexcept {
    return {given_, static_cast<std::size_t>(count_ < most_operands ? count_ : most_operands)};
  }

 private:
  tracer* ops_;
  int composite_;
  tensor of_result_;
  int count_;
  static constexpr int most_operands = 8;
  tensor given_[most_operands]{};
  bool wanted_[most_operands]{}, has_inner_readers_ = false;
};

/// The gradient of softmax: y (dy - sum(y dy)) along its axis.
constexpr void softmax_rule(composite_gradient& of) {
  tensor const y = of.result(), dy = of.gradient();
  float const axis = of.what().numbers[0];
  auto const inside = [&] { return y * (dy - of.ops().sum(y * dy, static_cast<int>(axis))); };
  of.give(0, of.ops().composite("softmax", {y, dy}, inside, nullptr, {axis}, true));
}
/// The gradient of dropout drops the elements that were dropped.
constexpr void dropout_rule(composite_gradient& of) {
  of.give(1, of.ops().dropout(of.gradient(), of.read(0), of.what().numbers[0], true));
}

/// The group that normalizes rows: (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axes of x.
struct row_normalization {
  static constexpr std::string_view name = "normalized rows";
  float epsilon = 0;
  float columns = 2;                     ///< numbers of the axes together
  bool scales = false, centers = false;  ///< there is a gamma, a beta

  [[nodiscard]] static constexpr row_normalization of(composite const& group) {
    auto const flags = static_cast<int>(group.numbers[1]);
    return {group.numbers[0], group.numbers[2], (flags & 1) != 0, (flags & 2) != 0};
  }
  [[nodiscard]] constexpr axis_list axes(extents const& shape) const {
    axis_list result = axis_list::none();
    std::int64_t elements = 1;
    for (int axis = shape.rank; axis-- > 1 && static_cast<float>(elements) < columns;) {
      elements *= shape[axis];
      result.axes[result.count++] = axis;
    }
    return result;
  }
  template <class Inside>
  constexpr tensor group(tracer& ops, std::initializer_list<tensor> reads, Inside const& inside,
                         gradient_rule rule = nullptr, bool is_gradient = false) const {
    return ops.composite(name, reads, inside, rule,
                         {epsilon, (scales ? 1.0F : 0.0F) + (centers ? 2.0F : 0.0F), columns}, is_gradient);
  }
};
/// The gradients of a normalization of rows. They read what is computed inside the group: x - mean, and the reciprocal
/// of the deviation.
constexpr void row_normalization_rule(composite_gradient& of) {
  of.read_inside();
  tracer& ops = of.ops();
  auto const what = row_normalization::of(of.what());
  auto const operand = [&](tensor each, int index) { return tensor{&ops.list(), ops.list().operand(each.id, index)}; };
  tensor normalized = operand(of.result(), 0);
  if (what.centers) normalized = operand(normalized, 0);
  if (what.scales) normalized = operand(normalized, 0);
  tensor const centred = operand(normalized, 0), reciprocal = operand(normalized, 1);
  tensor const x = of.read(0), dy = of.gradient();
  if (of.wants(0)) {
    axis_list const axes = what.axes(x.shape());
    auto const inside = [&] {
      tensor const g = what.scales ? dy * of.read(1) : dy;
      tensor const slope = ops.mean(g * centred, axes) * square(reciprocal);
      return (g - ops.mean(g, axes) - centred * slope) * reciprocal;
    };
    row_normalization const own{what.epsilon, what.columns, what.scales, false};
    of.give(0, what.scales ? own.group(ops, {x, dy, of.read(1)}, inside, nullptr, true)
                           : own.group(ops, {x, dy}, inside, nullptr, true));
  }
  if (what.scales && of.wants(1)) {
    row_normalization const plain{what.epsilon, what.columns};
    of.give(1, dy * plain.group(ops, {x}, [&] { return normalized; }));
  }
  if (what.centers) of.give(what.scales ? 2 : 1, dy);
}
/// The normalization of rows in a training step. A gamma or beta without a list is left out. The host has kernels
/// for it and its gradient, also where the step takes a gradient of it.
constexpr tensor normalize_rows(tracer& ops, tensor x, tensor gamma, tensor beta, float epsilon, int columns) {
  row_normalization const what{epsilon, static_cast<float>(columns), gamma.list != nullptr, beta.list != nullptr};
  auto const inside = [&] {
    axis_list const axes = what.axes(x.shape());
    tensor const centred = x - ops.mean(x, axes);
    tensor y = centred * rsqrt(ops.mean(square(centred), axes) + epsilon);
    if (what.scales) y = y * gamma;
    if (what.centers) y = y + beta;
    return y;
  };
  auto const rule = row_normalization_rule;
  if (what.scales && what.centers) return what.group(ops, {x, gamma, beta}, inside, rule);
  if (what.scales || what.centers) return what.group(ops, {x, what.scales ? gamma : beta}, inside, rule);
  return what.group(ops, {x}, inside, rule);
}

/// The groups of a normalization of channels, the last axis of x, over all other axes.
struct channel_normalization {
  /// The group that makes the mean and the variance of each channel of x, (2, channels).
  static constexpr std::string_view statistics = "statistics of channels";
  /// The group that makes (x - mean) / sqrt(variance + epsilon) * gamma + beta of x, the statistics, gamma and beta.
  /// Its gradient makes the gradient by x, also by way of the statistics, of x, the statistics, the result's gradient,
  /// the sums below and gamma.
  static constexpr std::string_view name = "normalized channels";
  /// The group that makes of x, the statistics and the result's gradient the sums of this gradient and of its product
  /// with x - mean, (2, channels).
  static constexpr std::string_view sums = "sums of channels";

  float epsilon = 0;
  bool scales = false, centers = false;  ///< there is a gamma, a beta

  [[nodiscard]] static constexpr channel_normalization of(composite const& group) {
    auto const flags = static_cast<int>(group.numbers[1]);
    return {group.numbers[0], (flags & 1) != 0, (flags & 2) != 0};
  }
  [[nodiscard]] static constexpr bool has(composite const& group) {
    return group.name == statistics || group.name == name || group.name == sums;
  }
  template <class Inside>
  constexpr tensor group(tracer& ops, std::string_view called, std::initializer_list<tensor> reads,
                         Inside const& inside, gradient_rule rule = nullptr, bool is_gradient = false) const {
    return ops.composite(called, reads, inside, rule, {epsilon, (scales ? 1.0F : 0.0F) + (centers ? 2.0F : 0.0F)},
                         is_gradient);
  }
  /// Row 0 or 1 of two numbers of each channel, (1, channels).
  static constexpr tensor row(tracer& ops, tensor two, int index) { return ops.slice(two, 0, index, 1); }
  /// The sums over all axes but the last, (1, channels).
  static constexpr tensor sum(tracer& ops, tensor x) {
    axis_list axes = axis_list::none();
    for (int axis = 0; axis + 1 < x.rank(); ++axis) axes.axes[axes.count++] = axis;
    return ops.reshape(ops.sum(x, axes), {1, x.length(-1)});
  }
  /// 1 / the number of values of a channel.
  static constexpr float part(tensor x) {
    return static_cast<float>(x.length(-1)) / static_cast<float>(x.shape().size());
  }
};
/// True if the host has kernels for a group.
[[nodiscard]] constexpr bool has_host_kernel(composite const& group) {
  return group.name == row_normalization::name || channel_normalization::has(group);
}

/// The gradient of means and variances by x.
constexpr void channel_statistics_rule(composite_gradient& of) {
  using channels = channel_normalization;
  tracer& ops = of.ops();
  tensor const x = of.read(0), by_mean = channels::row(ops, of.gradient(), 0),
               by_variance = channels::row(ops, of.gradient(), 1);
  float const part = channels::part(x);
  of.give(0, (x - channels::row(ops, of.result(), 0)) * (by_variance * (2 * part)) + by_mean * part);
}
/// The gradients of a normalization of channels. That by x has the statistics' part in it, so that these get none.
constexpr void channel_normalization_rule(composite_gradient& of) {
  using channels = channel_normalization;
  tracer& ops = of.ops();
  auto const what = channels::of(of.what());
  tensor const x = of.read(0), statistics = of.read(1), dy = of.gradient(), mean = channels::row(ops, statistics, 0);
  auto const reciprocal = [&] { return rsqrt(channels::row(ops, statistics, 1) + what.epsilon); };
  tensor const sums = what.group(
      ops, channels::sums, {x, statistics, dy},
      [&] { return ops.concatenate({channels::sum(ops, dy), channels::sum(ops, dy * (x - mean))}, 0); }, nullptr, true);
  if (of.wants(0)) {
    float const part = channels::part(x);
    auto const inside = [&] {
      tensor const slope = reciprocal();
      tensor const all =
          (dy - channels::row(ops, sums, 0) * part) - (x - mean) * (square(slope) * channels::row(ops, sums, 1) * part);
      return all * (what.scales ? slope * of.read(2) : slope);
    };
    channels const own{what.epsilon, what.scales, false};
    of.give(0, what.scales
                   ? own.group(ops, channels::name, {x, statistics, dy, sums, of.read(2)}, inside, nullptr, true)
                   : own.group(ops, channels::name, {x, statistics, dy, sums}, inside, nullptr, true));
  }
  auto const of_channel = [&](tensor each) { return ops.reshape(each, {x.length(-1)}); };
  if (what.scales && of.wants(2)) of.give(2, of_channel(channels::row(ops, sums, 1) * reciprocal()));
  if (what.centers) of.give(what.scales ? 3 : 2, of_channel(channels::row(ops, sums, 0)));
}
/// Mean and variance of each channel of x, (2, channels), in a training step.
constexpr tensor channel_statistics(tracer& ops, tensor x) {
  using channels = channel_normalization;
  float const part = channels::part(x);
  auto const inside = [&] {
    tensor const mean = channels::sum(ops, x) * part;
    return ops.concatenate({mean, channels::sum(ops, square(x - mean)) * part}, 0);
  };
  return channels{}.group(ops, channels::statistics, {x}, inside, channel_statistics_rule);
}
/// The normalization of channels by the statistics of x in a training step. A gamma or beta without a list is left out.
/// The host has kernels for it and its gradient, as for normalize_rows.
constexpr tensor normalize_channels(tracer& ops, tensor x, tensor statistics, tensor gamma, tensor beta,
                                    float epsilon) {
  using channels = channel_normalization;
  channels const what{epsilon, gamma.list != nullptr, beta.list != nullptr};
  auto const inside = [&] {
    tensor factor = rsqrt(channels::row(ops, statistics, 1) + epsilon);
    if (what.scales) factor = factor * gamma;
    tensor y = (x - channels::row(ops, statistics, 0)) * factor;
    if (what.centers) y = y + beta;
    return y;
  };
  auto const rule = channel_normalization_rule;
  if (what.scales && what.centers) return what.group(ops, channels::name, {x, statistics, gamma, beta}, inside, rule);
  if (what.scales || what.centers)
    return what.group(ops, channels::name, {x, statistics, what.scales ? gamma : beta}, inside, rule);
  return what.group(ops, channels::name, {x, statistics}, inside, rule);
}

constexpr tensor tracer::softmax(tensor x, int axis) {
  if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
  auto const along = static_cast<float>(x.shape().from_front(axis));
  auto const inside = [&] {
    tensor const e = exp(x - stop_gradient(max(x, axis)));
    return e / sum(e, axis);
  };
  return composite("softmax", {x}, inside, softmax_rule, {along});
}
constexpr tensor tracer::dropout(tensor x, extents const& drawn, float rate, std::uint64_t seed) {
  return dropout(x, uniform(drawn, seed), rate);
}
constexpr tensor tracer::dropout(tensor x, tensor drawn, float rate, bool is_gradient) {
  auto const inside = [&] { return where(drawn >= rate, x * (1.0F / (1.0F - rate)), 0.0F); };
  return composite("dropout", {drawn, x}, inside, dropout_rule, {rate}, is_gradient);
}

}  // namespace stagecraft::operations
