// SPDX-License-Identifier: BSD-3-Clause
// The sliding products of convolutions and their input's gradients: every pixel of a result is the sum, over the
// taps that meet the source, of a row of channels times a packed matrix. The part of the kernel that each output sees
// is found at compile time, so that no zeros are copied around an input, and none are multiplied. Private to the
// kernels.
#pragma once

#include <stagecraft/kernels/convolution/gathered_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels::detail {

/// One axis of a convolution: output o and tap t meet the source at `o * stride + origin + t * dilation`, where it is
/// within [0, extent).
struct convolution_axis {
  int outputs = 1;
  int extent = 1;
  int taps = 1;
  int stride = 1;
  int origin = 0;
  int dilation = 1;
};

/// Neighbouring outputs [first, first + count) that see the same taps [tap, tap + taps), and no others.
struct tap_class {
  int first = 0;
  int count = 0;
  int tap = 0;
  int taps = 0;
};

/// The taps that output o sees.
[[nodiscard]] constexpr tap_class taps_of_output(convolution_axis const& axis, int o) {
  int const at = o * axis.stride + axis.origin;
  int const begin = at >= 0 ? 0 : (-at + axis.dilation - 1) / axis.dilation;
  int const behind = axis.extent - 1 - at;
  int const last = behind < 0 ? -1 : behind / axis.dilation;
  int const end = last + 1 < axis.taps ? last + 1 : axis.taps;
  return begin < end ? tap_class{o, 1, begin, end - begin} : tap_class{o, 1, 0, 0};
}

/// All classes of an axis. There are at most twice as many as taps, and one.
template <int Most>
struct tap_classes {
  tap_class item[Most] = {};
  int count = 0;
};

[[nodiscard]] constexpr int most_classes(int taps) { return 2 * taps + 1; }

template <int Most>
[[nodiscard]] constexpr tap_classes<Most> classify(convolution_axis const& axis) {
  tap_classes<Most> found;
  for (int o = 0; o < axis.outputs; ++o) {
    tap_class const next = taps_of_output(axis, o);
    if (found.count > 0) {
      tap_class& before = found.item[found.count - 1];
      if (before.tap == next.tap && before.taps == next.taps) {
        ++before.count;
        continue;
      }
    }
    found.item[found.count++] = next;
  }
  return found;
}

/// The distances between the floats of a tensor of pixels.
struct pixel_grid {
  std::int64_t sample = 0;
  std::int64_t row = 0;
  std::int64_t pixel = 0;
};

/// One correlation of `samples` samples: the axes and their classes, and the distances in the source and the result.
/// The filter's rows count (tap row, tap column, channel).
struct correlation {
  int samples = 1;
  convolution_axis rows = {};
  convolution_axis columns = {};
  tap_class const* row_classes = nullptr;
  int row_class_count = 0;
  tap_class const* column_classes = nullptr;
  int column_class_count = 0;
  int channels = 1;
  pixel_grid source = {};
  pixel_grid result = {};
  /// The element of the result that belongs to the first pixel.
  std::int64_t result_first = 0;

  /// Calls visit(row class, column class, pixels).
  template <class Visit>
  constexpr void for_each_class(Visit const& visit) const {
    for (int r = 0; r < row_class_count; ++r)
      for (int c = 0; c < column_class_count; ++c)
        visit(row_classes[r], column_classes[c],
              static_cast<std::int64_t>(samples) * row_classes[r].count * column_classes[c].count);
  }

  /// Tiles of `height` pixels; a class's last one may have fewer.
  [[nodiscard]] constexpr std::int64_t tiles(int height) const {
    std::int64_t sum = 0;
    for_each_class(
        [&](tap_class const&, tap_class const&, std::int64_t pixels) { sum += (pixels + height - 1) / height; });
    return sum;
  }

  /// An estimate of the half cycles that all tiles of a panel take.
  [[nodiscard]] constexpr double cost(int height, int vectors) const {
    double const products = height * vectors;
    double const loads = height + vectors;
    // Two multiply-adds in a cycle, each of which waits for one of four cycles before: eight sums just hide that, if
    // nothing else delays them.
    double const least = 9;
    double const work = products > loads ? products : loads;
    double const step = work > least ? work : least;
    // Each tile reads the panel anew, mostly from the second-level cache: half a cycle for each register, which higher
    // tiles need less often. Measured: 3 to 8 % less time for 3 x 3 on 14 x 14 and 28 x 28 pixels.
    double const stream = vectors;
    double sum = 0;
    for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
      double const steps = static_cast<double>(row.taps) * column.taps * channels;
      sum += static_cast<double>((pixels + height - 1) / height) * ((step + stream) * steps + 2 * products + 40);
    });
    return sum;
  }
};

/// The height of tiles with the least work, lost rows and the constant cost of each tile included.
template <class Arch, int Count>
[[nodiscard]] consteval int tile_height(correlation const (&parts)[Count], int vectors) {
  if (vectors == 0) return 1;
  int best = 1;
  double least = 0;
  for (int height = 1; height <= most_gathered_rows<Arch>(vectors); ++height) {
    double cost = 0;
    for (correlation const& part : parts) cost += part.cost(height, vectors);
    if (height > 1 && cost > least) continue;
    best = height;
    least = cost;
  }
  return best;
}

/// Tiles of all parts.
template <int Count>
[[nodiscard]] constexpr std::int64_t all_tiles(correlation const (&parts)[Count], int height) {
  std::int64_t sum = 0;
  for (correlation const& part : parts) sum += part.tiles(height);
  return sum;
}

/// The most steps whose products are summed before the sums are stored, so that a panel of the filter stays in the
/// second-level cache.
inline constexpr int most_correlation_steps = 2048;

/// The pixels of one class, one after the other: where the first tap, which may lie outside, would meet the source, and
/// the result's element.
class pixel_cursor {
 public:
  pixel_cursor(correlation const& shape, tap_class const& row, tap_class const& column, std::int64_t pixel)
      : rows_(row.count),
        columns_(column.count),
        r_(static_cast<int>(pixel / column.count % row.count)),
        c_(static_cast<int>(pixel % column.count)),
        source_column_(shape.columns.stride * shape.source.pixel),
        source_row_(shape.rows.stride * shape.source.row - columns_ * source_column_),
        source_sample_(shape.source.sample - rows_ * shape.rows.stride * shape.source.row),
        result_column_(shape.result.pixel),
        result_row_(shape.result.row - columns_ * result_column_),
        result_sample_(shape.result.sample - rows_ * shape.result.row) {
    std::int64_t const sample = pixel / column.count / row.count;
    int const r = row.first + r_;
    int const c = column.first + c_;
    source = sample * shape.source.sample + (r * shape.rows.stride + shape.rows.origin) * shape.source.row +
             (c * shape.columns.stride + shape.columns.origin) * shape.source.pixel;
    result = shape.result_first + sample * shape.result.sample + r * shape.result.row + c * shape.result.pixel;
  }

  std::int64_t source;
  std::int64_t result;

  void advance() {
    source += source_column_;
    result += result_column_;
    if (++c_ < columns_) return;
    c_ = 0;
    source += source_row_;
    result += result_row_;
    if (++r_ < rows_) return;
    r_ = 0;
    source += source_sample_;
    result += result_sample_;
  }

 private:
  int rows_;
  int columns_;
  int r_;
  int c_;
  /// The distance from a pixel to the next, and those added to it at the end of a row and of a sample.
  std::int64_t source_column_;
  std::int64_t source_row_;
  std::int64_t source_sample_;
  std::int64_t result_column_;
  std::int64_t result_row_;
  std::int64_t result_sample_;
};

/// The plan for the tiles of a panel.
struct tile_plan {
  int height = 1;
  int vectors = 1;
  /// Floats between rows of the panel, and the number of its valid columns.
  int panel = 1;
  int columns = 1;
  /// True: complete sums of a whole tile go from the registers through the epilogue to the result. False: they go by
  /// way of the first-level cache, which costs some cycles per tile, but little code.
  bool direct = false;
  /// Runs of all taps, if they are short enough to be done without loops; else no rows.
  step_runs short_runs = {};
  /// `panels` panels, which follow one another, are computed for a number of tiles before the next ones: then the
  /// tiles' part of the source is in the first-level cache for all panels, and its addresses are computed once.
  int panels = 1;
  int tiles_at_once = 1;
  std::ptrdiff_t panel_stride = 0;
  /// Floats that each step fetches of the part of the filter that is read after the tap rows of this panel; 0: none.
  int fetched = 0;
};

/// The most steps of a tile that is worth the code of `direct`, and of `short_runs`.
inline constexpr int most_direct_steps = 1024;
inline constexpr int most_short_steps = 27;

/// The destination of a tile's sums.
template <class Epilogue>
struct correlation_output {
  float* result;
  int first_column;
  /// True if the sums are added to the result.
  bool add;
  /// True if the sums are complete, so that the epilogue is applied.
  bool last;
  Epilogue const& epilogue;

  /// Stores `rows` rows of a tile that are kept in memory; the result's row of row i begins at element[i].
  template <tile_plan Plan, class Arch, class Terms>
  void store(float const* sums, std::int64_t const* element, int rows) const {
    constexpr int width = lanes<Arch>;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < Plan.vectors; ++j, sums += width) {
        int const count = Plan.columns - j * width;
        std::int64_t const at = element[i] + first_column + j * width;
        batch<Arch> sum = batch<Arch>::load_aligned(sums);
        if (count >= width) {
          if (add) sum = Terms::join(sum, batch<Arch>::load_unaligned(result + at));
          if (last) sum = epilogue(sum, first_column + j * width, at);
          sum.store_unaligned(result + at);
        } else {
          if (add) sum = Terms::join(sum, load_first<Arch>(result + at, count));
          if (last) sum = epilogue(sum, first_column + j * width, at);
          store_first(sum, result + at, count);
        }
      }
  }
};

/// Keeps the sums of a tile in memory.
template <int Vectors, class Arch>
struct keep_sums {
  float* sums;

  [[gnu::always_inline]] void operator()(int i, int j, batch<Arch> const& sum) const {
    sum.store_aligned(sums + (i * Vectors + j) * lanes<Arch>);
  }
};

/// Stores complete sums; only the first Columns columns are valid.
template <int Columns, class Arch, class Epilogue>
struct store_sums {
  float* result;
  int first_column;
  std::int64_t const* element;
  Epilogue epilogue;

  template <class Row, class Vector>
  [[gnu::always_inline]] void operator()(Row i, Vector j, batch<Arch> const& sum) const {
    constexpr int count = Columns - Vector::value * lanes<Arch>;
    std::int64_t const at = element[i] + first_column + j * lanes<Arch>;
    store_lanes<(count < lanes<Arch> ? count : lanes<Arch>)>(epilogue(sum, first_column + j * lanes<Arch>, at),
                                                             result + at);
  }
};

/// Tiles [first, last) of a class; only tap rows [from_row, to_row) are summed. `ahead` is fetched meanwhile, and
/// moved.
template <tile_plan Plan, class Arch, class Terms, class Epilogue>
void correlate_class(correlation const& shape, tap_class const& row, tap_class const& column, int from_row, int to_row,
                     float const* source, float const* filter, std::int64_t first, std::int64_t last,
                     correlation_output<Epilogue> const& output, [[maybe_unused]] float const*& ahead) {
  int const tap_row = row.tap > from_row ? row.tap : from_row;
  int const tap_end = row.tap + row.taps < to_row ? row.tap + row.taps : to_row;
  bool const merged = shape.columns.dilation == 1 && shape.source.pixel == shape.channels;
  bool const direct = Plan.direct && output.last && !output.add;
  bool const short_runs =
      direct && Plan.short_runs.rows > 0 && row.taps == shape.rows.taps && column.taps == shape.columns.taps;
  step_runs runs;
  runs.rows = tap_row < tap_end ? tap_end - tap_row : 0;
  runs.columns = merged ? 1 : column.taps;
  runs.steps = merged ? column.taps * shape.channels : shape.channels;
  runs.left_row = shape.rows.dilation * shape.source.row;
  runs.left_column = shape.columns.dilation * shape.source.pixel;
  runs.right_column = static_cast<std::ptrdiff_t>(shape.channels) * Plan.panel;
  runs.right_row = shape.columns.taps * runs.right_column;
  source += tap_row * runs.left_row + column.tap * runs.left_column;
  filter += tap_row * runs.right_row + column.tap * runs.right_column;

  std::int64_t const pixels = static_cast<std::int64_t>(shape.samples) * row.count * column.count;
  pixel_cursor cursor(shape, row, column, first * Plan.height);
  for (std::int64_t tile = first; tile < last; tile += Plan.tiles_at_once) {
    int const tiles = last - tile < Plan.tiles_at_once ? static_cast<int>(last - tile) : Plan.tiles_at_once;
    std::int64_t const pixels_left = pixels - tile * Plan.height;
    int const rows = pixels_left < tiles * Plan.height ? static_cast<int>(pixels_left) : tiles * Plan.height;
    float const* left[Plan.tiles_at_once * Plan.height];
    std::int64_t element[Plan.tiles_at_once * Plan.height];
    for (int i = 0; i < rows; ++i) {
      left[i] = source + cursor.source;
      element[i] = cursor.result;
      cursor.advance();
    }
    for (int i = rows; i < tiles * Plan.height; ++i) left[i] = left[rows - 1];
    if constexpr (Plan.fetched > 0) {
      runs.ahead = ahead;
      ahead += static_cast<std::ptrdiff_t>(Plan.fetched) * runs.rows * runs.columns * runs.steps;
    }
    correlation_output<Epilogue> to = output;
    float const* right = filter;
    for (int panel = 0; panel < Plan.panels; ++panel, right += Plan.panel_stride, to.first_column += Plan.panel)
      for (int first_row = 0; first_row < rows; first_row += Plan.height) {
        int const height = rows - first_row < Plan.height ? rows - first_row : Plan.height;
        if constexpr (Plan.direct) {
          if (direct && height == Plan.height) {
            store_sums<Plan.columns, Arch, Epilogue> const store{to.result, to.first_column, element + first_row,
                                                                 to.epilogue};
            if constexpr (Plan.short_runs.rows > 0) {
              if (short_runs) {
                short_gathered_tile<Plan.height, Plan.vectors, Plan.short_runs, Arch, Terms>(left + first_row, right,
                                                                                             store);
                continue;
              }
            }
            gathered_tile<Plan.height, Plan.vectors, 1, Plan.panel, Arch, Terms, Plan.fetched>(left + first_row, right,
                                                                                               runs, store);
            continue;
          }
        }
        alignas(64) float sums[Plan.height * Plan.vectors * lanes<Arch>];
        gathered_tile<Plan.height, Plan.vectors, 1, Plan.panel, Arch, Terms, Plan.fetched>(
            left + first_row, right, runs, keep_sums<Plan.vectors, Arch>{sums});
        to.template store<Plan, Arch, Terms>(sums, element + first_row, height);
      }
  }
}

/// Tiles [first, last) of a panel, or of the plan's panels; `filter` is the first.
template <tile_plan Plan, class Arch, class Terms = float_terms, class Epilogue>
void correlate(correlation const& shape, float const* source, float const* filter, std::int64_t first,
               std::int64_t last, correlation_output<Epilogue> output) {
  int const row_steps = shape.columns.taps * shape.channels;
  int const rows_at_once = row_steps * shape.rows.taps <= most_correlation_steps ? shape.rows.taps
                           : row_steps >= most_correlation_steps                 ? 1
                                                                                 : most_correlation_steps / row_steps;
  bool const add = output.add;
  int from_row = 0;
  do {
    int const to_row = from_row + rows_at_once;
    output.add = add || from_row > 0;
    output.last = to_row >= shape.rows.taps;
    std::int64_t begin = 0;
    // The next tap rows of the panel, or those of the next panel, follow these in memory.
    float const* ahead = filter + static_cast<std::int64_t>(to_row < shape.rows.taps ? to_row : shape.rows.taps) *
                                      row_steps * Plan.panel;
    shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
      std::int64_t const tiles = (pixels + Plan.height - 1) / Plan.height;
      std::int64_t const from = first > begin ? first - begin : 0;
      std::int64_t const to = last - begin < tiles ? last - begin : tiles;
      if (from < to)
        correlate_class<Plan, Arch, Terms>(shape, row, column, from_row, to_row, source, filter, from, to, output,
                                           ahead);
      begin += tiles;
    });
    from_row = to_row;
  } while (from_row < shape.rows.taps);
}

}  // namespace stagecraft::kernels::detail
