// SPDX-License-Identifier: BSD-3-Clause
// Normalization of each channel over all rows: statistics, output and gradients, for rows of channels (channels last).
// Keras counterpart: tf.keras.layers.BatchNormalization.
#pragma once

#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/normalization/channel_rows.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// Mean and sum of squared deviations of several sets of numbers, one pair per channel, joined one set after the other
/// (Chan's formula). Means are held as differences from the first set's base, so that joining many does not round them
/// away.
template <int Channels, class Arch = default_architecture>
class joined_statistics {
 public:
  using layout = channel_rows<Channels, Arch>;
  static constexpr int floats = 3 * layout::channel_floats;

  /// `memory`: this->floats floats.
  explicit joined_statistics(float* memory) : memory_(memory) {}

  /// Joins `count` numbers per channel, whose means are base + offset.
  void join(std::int64_t count, float const* base, float const* offset, float const* deviations) {
    float *const first = memory_, *const mean = first + layout::channel_floats,
                 *const squares = mean + layout::channel_floats;
    if (count_ == 0) {
      std::memcpy(first, base, sizeof(float) * Channels);
      std::memcpy(mean, offset, sizeof(float) * Channels);
      std::memcpy(squares, deviations, sizeof(float) * Channels);
      count_ = count;
      return;
    }
    auto const before = static_cast<double>(count_), added = static_cast<double>(count);
    value const part(static_cast<float>(added / (before + added)));
    value const weight(static_cast<float>(before * added / (before + added)));
    auto const constant = [](float const* p) { return p; };
    auto const difference = [](value const& b, value const& o, value const& f, value const& m) {
      return ((b - f) + o) - m;
    };
    transform<Arch>(
        Channels,
        [&](value const& b, value const& o, value const& f, value const& m, value const& s, value const& d) {
          value const delta = difference(b, o, f, m);
          return fused_multiply_add(delta * delta, weight, s + d);
        },
        squares, base, offset, constant(first), constant(mean), constant(squares), deviations);
    transform<Arch>(
        Channels,
        [&](value const& b, value const& o, value const& f, value const& m) {
          return fused_multiply_add(difference(b, o, f, m), part, m);
        },
        mean, base, offset, constant(first), constant(mean));
    count_ += count;
  }

  /// Writes the mean's difference from other numbers.
  void write_mean(float const* from, float* difference) const {
    transform<Arch>(
        Channels, [](value const& f, value const& m, value const& other) { return (f - other) + m; }, difference,
        static_cast<float const*>(memory_), static_cast<float const*>(memory_ + layout::channel_floats), from);
  }
  [[nodiscard]] float const* deviations() const { return memory_ + 2 * layout::channel_floats; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  using value = batch<Arch>;
  float* memory_;
  std::int64_t count_ = 0;
};

/// Floats of workspace, on each thread, that the functions of this header need for rows of `Channels` channels.
template <int Channels, class Arch = default_architecture>
inline constexpr long long batch_normalization_workspace =
    4LL * channel_rows<Channels, Arch>::column_floats + 5LL * channel_rows<Channels, Arch>::channel_floats;

/// Mean, less the first row, and sum of squared deviations of each item of `rows` (at most Rows) rows x, into
/// `partial`: channel_items<Rows, Channels, Arch>::partial_floats floats. Each chunk of rows is read from memory once,
/// and twice from the cache: for its mean, and for the deviations from that.
template <int Rows, int Channels, class Arch = default_architecture>
inline void batch_statistics(float const* x, std::int64_t rows, float* workspace, float* partial, share part = {}) {
  using items = channel_items<Rows, Channels, Arch>;
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  float* const sums = workspace;  // two arrays
  float* const spread = sums + 2 * layout::column_floats;
  float* const mean = spread + layout::column_floats;
  float* const folded = mean + layout::channel_floats;  // one array
  auto const [first_item, last_item] = part.of(items::of_rows(rows));
  for (std::int64_t item = first_item; item < last_item; ++item) {
    float* const result = partial + 2 * item * layout::channel_floats;
    float const* from = x + item * items::item_rows * Channels;
    joined_statistics<Channels, Arch> joined(folded + layout::channel_floats);
    std::int64_t const item_rows = items::rows_of(item, rows);
    for (std::int64_t row = 0; row < item_rows; row += items::chunk_rows) {
      std::int64_t const count = item_rows - row < items::chunk_rows ? item_rows - row : items::chunk_rows;
      value const reciprocal(1.0F / static_cast<float>(count));
      auto const per_row = [&](value const& sum) { return sum * reciprocal; };
      std::memset(sums, 0, sizeof(float) * layout::column_floats);
      layout::template add_sums<1>(count, [](value* sum, int, value const& v) { sum[0] = sum[0] + v; }, sums, from);
      transform<Arch>(Channels, per_row, mean, layout::fold(sums, folded));
      float const* const means = layout::spread(mean, spread);
      std::memset(sums, 0, sizeof(float) * 2 * layout::column_floats);
      layout::template add_sums<2>(
          count,
          [means](value* sum, int column, value const& v) {
            value const deviation = v - value::load_unaligned(means + column);
            sum[0] = sum[0] + deviation;
            sum[1] = fused_multiply_add(deviation, deviation, sum[1]);
          },
          sums, from);
      // The rounding error of the mean, and its effect on the squares.
      transform<Arch>(Channels, per_row, folded, layout::fold(sums, folded));
      float const* const squares = layout::fold(sums + layout::column_floats, sums);
      value const n(static_cast<float>(count));
      transform<Arch>(
          Channels, [&](value const& s, value const& rest) { return fused_negative_multiply_add(rest * rest, n, s); },
          sums, squares, static_cast<float const*>(folded));
      joined.join(count, mean, folded, sums);
      from += count * Channels;
    }
    joined.write_mean(x, result);
    std::memcpy(result + layout::channel_floats, joined.deviations(), sizeof(float) * Channels);
  }
}

/// Mean and variance (that of n of n numbers) of `rows` rows x, from the items' statistics. Each thread may do it for
/// itself: the work is small.
template <int Rows, int Channels, class Arch = default_architecture>
inline void join_batch_statistics(float const* x, float const* partial, std::int64_t rows, float* workspace,
                                  float* mean, float* variance) {
  using items = channel_items<Rows, Channels, Arch>;
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  float* const zeros = workspace;
  std::memset(zeros, 0, sizeof(float) * layout::channel_floats);
  joined_statistics<Channels, Arch> joined(zeros + layout::channel_floats);
  for (std::int64_t item = 0; item < items::of_rows(rows); ++item, partial += 2 * layout::channel_floats)
    joined.join(items::rows_of(item, rows), zeros, partial, partial + layout::channel_floats);
  joined.write_mean(zeros, mean);
  transform<Arch>(
      Channels, [](value const& m, value const& first) { return m + first; }, mean, static_cast<float const*>(mean), x);
  value const reciprocal(1.0F / static_cast<float>(rows));
  transform<Arch>(Channels, [&](value const& s) { return s * reciprocal; }, variance, joined.deviations());
}

/// y = 1 / sqrt(variance + epsilon), for n channels.
template <class Arch = default_architecture>
inline void reciprocal_deviation(float const* variance, float epsilon, float* y, std::int64_t n) {
  using value = batch<Arch>;
  value const one(1.0F), e(epsilon);
  transform<Arch>(n, [&](value const& v) { return one / xsimd::sqrt(v + e); }, y, variance);
}

/// moving = moving * momentum + factor * value * (1 - momentum), for n channels. The difference is one of doubles.
template <class Arch = default_architecture>
inline void move_statistic(double momentum, float factor, float const* x, float* moving, std::int64_t n) {
  using value = batch<Arch>;
  value const keep(static_cast<float>(momentum)), take(static_cast<float>(1 - momentum) * factor);
  transform<Arch>(
      n, [&](value const& m, value const& v) { return fused_multiply_add(v, take, m * keep); }, moving,
      static_cast<float const*>(moving), x);
}

/// reciprocal * gamma and beta of each channel, into two arrays at `scale`. gamma or beta may be null.
template <int Channels, class Arch = default_architecture>
inline void normalization_scale(float const* reciprocal, float const* gamma, float const* beta, float* scale) {
  using value = batch<Arch>;
  if (gamma != nullptr)
    transform<Arch>(Channels, [](value const& r, value const& g) { return r * g; }, scale, reciprocal, gamma);
  else
    std::memcpy(scale, reciprocal, sizeof(float) * Channels);
  float* const offset = scale + channel_rows<Channels, Arch>::channel_floats;
  if (beta != nullptr)
    std::memcpy(offset, beta, sizeof(float) * Channels);
  else
    std::memset(offset, 0, sizeof(float) * Channels);
}

/// y = (x - mean) * reciprocal * gamma + beta for `rows` rows, through an epilogue that takes elements. gamma or beta
/// may be null. Arrays per channel are padded to whole registers.
template <int Channels, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void batch_normalize(float const* x, std::int64_t rows, float const* mean, float const* reciprocal,
                            float const* gamma, float const* beta, float* workspace, float* y, share part = {},
                            Epilogue const& epilogue = {}) {
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  float* const scale = workspace;
  normalization_scale<Channels, Arch>(reciprocal, gamma, beta, scale);
  float* const offset = scale + layout::channel_floats;
  float* const columns = offset + layout::channel_floats;
  float const* const m = layout::spread(mean, columns);
  float const* const s = layout::spread(scale, columns + layout::column_floats);
  float const* const o = layout::spread(offset, columns + 2 * layout::column_floats);
  layout::transform_rows(
      rows,
      [normalize = normalization_epilogue{m, s, o}, epilogue](int column, std::int64_t element, value const& v) {
        return join_epilogues(normalize, epilogue)(v, column, element);
      },
      y, part, x);
}

/// The sums of dy and of dy * (x - mean) of each item of `rows` (at most Rows) rows, into `partial` as in
/// `batch_statistics`.
template <int Rows, int Channels, class Arch = default_architecture>
inline void batch_normalization_sums(float const* x, float const* dy, std::int64_t rows, float const* mean,
                                     float* workspace, float* partial, share part = {}) {
  using items = channel_items<Rows, Channels, Arch>;
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  float* const sums = workspace;                             // two arrays
  float* const of_chunk = sums + 2 * layout::column_floats;  // unused where a chunk's sums are the channels'
  float const* const means = layout::spread(mean, of_chunk);
  auto const [first_item, last_item] = part.of(items::of_rows(rows));
  for (std::int64_t item = first_item; item < last_item; ++item) {
    float* const result = partial + 2 * item * layout::channel_floats;
    std::memset(result, 0, sizeof(float) * 2 * layout::channel_floats);
    std::int64_t const item_rows = items::rows_of(item, rows);
    for (std::int64_t row = 0; row < item_rows; row += items::chunk_rows) {
      std::int64_t const at = (item * items::item_rows + row) * Channels;
      std::memset(sums, 0, sizeof(float) * 2 * layout::column_floats);
      layout::template add_sums<2>(
          item_rows - row < items::chunk_rows ? item_rows - row : items::chunk_rows,
          [means](value* sum, int column, value const& v, value const& g) {
            sum[0] = sum[0] + g;
            sum[1] = fused_multiply_add(g, v - value::load_unaligned(means + column), sum[1]);
          },
          sums, x + at, dy + at);
      float* const folded = sums + 3 * layout::column_floats;
      for (int s = 0; s < 2; ++s) {
        float* const to = result + s * layout::channel_floats;
        transform<Arch>(
            Channels, [](value const& a, value const& b) { return a + b; }, to, static_cast<float const*>(to),
            layout::fold(sums + s * layout::column_floats, folded));
      }
    }
  }
}

/// dx (or dx +=, if Accumulate) = gamma * reciprocal * (dy - sum dy / rows - (x - mean) * reciprocal^2 *
/// sum (dy * (x - mean)) / rows) for `rows` rows. `sums`: the two sums; gamma may be null.
template <int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void batch_normalization_gradient(float const* x, float const* dy, std::int64_t rows, float const* mean,
                                         float const* reciprocal, float const* gamma, float const* sums,
                                         float* workspace, float* dx, share part = {}) {
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  value const per_row(1.0F / static_cast<float>(rows));
  float* const scale = workspace;
  float* const mean_gradient = scale + layout::channel_floats;
  float* const slope = mean_gradient + layout::channel_floats;
  if (gamma != nullptr)
    transform<Arch>(Channels, [](value const& r, value const& g) { return r * g; }, scale, reciprocal, gamma);
  else
    std::memcpy(scale, reciprocal, sizeof(float) * Channels);
  transform<Arch>(Channels, [&](value const& s) { return s * per_row; }, mean_gradient, sums);
  transform<Arch>(
      Channels, [&](value const& s, value const& r) { return s * per_row * r * r; }, slope,
      sums + layout::channel_floats, reciprocal);
  float* const columns = slope + layout::channel_floats;
  float const* const m = layout::spread(mean, columns);
  float const* const s = layout::spread(scale, columns + layout::column_floats);
  float const* const d = layout::spread(mean_gradient, columns + 2 * layout::column_floats);
  float const* const e = layout::spread(slope, columns + 3 * layout::column_floats);
  auto const without_scale = [=](int column, value const& v, value const& g) {
    return fused_negative_multiply_add(v - value::load_unaligned(m + column), value::load_unaligned(e + column),
                                       g - value::load_unaligned(d + column));
  };
  if constexpr (Accumulate)
    layout::transform_rows(
        rows,
        [=](int column, value const& v, value const& g, value const& before) {
          return fused_multiply_add(value::load_unaligned(s + column), without_scale(column, v, g), before);
        },
        dx, part, x, dy, static_cast<float const*>(dx));
  else
    layout::transform_rows(
        rows,
        [=](int column, value const& v, value const& g) {
          return value::load_unaligned(s + column) * without_scale(column, v, g);
        },
        dx, part, x, dy);
}

/// dgamma (or dgamma +=, if Accumulate) = sums * reciprocal, channel by channel, where `sums` holds each channel's sum
/// of dy * (x - mean) and `reciprocal` the reciprocal deviations.
template <bool Accumulate = false, class Arch = default_architecture>
inline void batch_normalization_scale_gradient(float const* sums, float const* reciprocal, float* dgamma,
                                               std::int64_t channels) {
  using value = batch<Arch>;
  transform<Arch>(
      channels,
      [](value const& sum, value const& r, value const& before) {
        return Accumulate ? fused_multiply_add(sum, r, before) : sum * r;
      },
      dgamma, sums, reciprocal, static_cast<float const*>(dgamma));
}

}  // namespace stagecraft::kernels
