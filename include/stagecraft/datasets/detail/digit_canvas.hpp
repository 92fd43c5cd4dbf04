// SPDX-License-Identifier: BSD-3-Clause
// A 28 x 28 sheet on which a round pen draws smooth strokes with soft edges. Integers only: lengths are in 1/64 of a
// pixel, darkness goes from 0 to 255.
#pragma once

#include <stagecraft/datasets/detail/random_stream.hpp>

#include <cstdint>

namespace stagecraft::datasets::detail {

struct canvas_point {
  int x;
  int y;
};

class digit_canvas {
 public:
  static constexpr int side = 28;
  static constexpr int pixel = 64;

  /// Draws a smooth curve through `count` points (Catmull-Rom), with a pen of this radius.
  void stroke(canvas_point const* points, int count, int radius, int darkness) {
    for (int& distance : distance_) distance = far;
    for (int i = 0; i + 1 < count; ++i) {
      canvas_point const before = points[i > 0 ? i - 1 : 0];
      canvas_point const after = points[i + 2 < count ? i + 2 : i + 1];
      canvas_point from = points[i];
      // Weights of the four points, in 1/128, at 1/4, 1/2, 3/4 and 1 of the way.
      constexpr int weights[4][4] = {{-9, 111, 29, -3}, {-8, 72, 72, -8}, {-3, 29, 111, -9}, {0, 0, 128, 0}};
      for (auto const& w : weights) {
        canvas_point const to{(w[0] * before.x + w[1] * points[i].x + w[2] * points[i + 1].x + w[3] * after.x) / 128,
                              (w[0] * before.y + w[1] * points[i].y + w[2] * points[i + 1].y + w[3] * after.y) / 128};
        approach(kept_near(from), kept_near(to), radius + pixel / 2);
        from = to;
      }
    }
    // Near the pen's edge, distance - radius is (distance^2 - radius^2) / (2 radius); the edge is one pixel wide.
    int const slope = 2 * radius;
    for (int i = 0; i < side * side; ++i) {
      if (distance_[i] == far) continue;
      int const inside = (radius * radius - distance_[i]) / slope + pixel / 2;
      int const cover = inside < 0 ? 0 : inside > pixel ? pixel : inside;
      int const ink = cover * darkness / pixel;
      if (ink > ink_[i]) ink_[i] = ink;
    }
  }

  /// Spreads this share (of 256) of each pixel's ink to either side, first along rows, then along columns.
  void blur(int share) {
    for (int row = 0; row < side; ++row) blur_line(ink_ + row * side, 1, share);
    for (int column = 0; column < side; ++column) blur_line(ink_ + column, side, share);
  }

  /// Shakes every pixel's darkness by up to `amount` either way; the shade of blank paper stays where it was.
  void add_noise(random_stream& random, int amount) {
    for (int i = 0; i < side * side; i += 8) {
      std::uint64_t word = random.bits();
      for (int k = i; k < i + 8; ++k, word >>= 8) {
        int const shaken = ink_[k] + (static_cast<int>(word & 0xff) - 128) * amount / 128;
        ink_[k] = shaken < 0 ? 0 : shaken > 255 ? 255 : shaken;
      }
    }
  }

  /// The darkness of pixel `row * side + column`, from 0 to 255.
  int operator[](int index) const { return ink_[index]; }

 private:
  static constexpr int far = 1 << 28;

  /// Points far off the sheet would overflow, and draw nothing that matters.
  static canvas_point kept_near(canvas_point point) {
    constexpr int low = -2 * pixel;
    constexpr int high = (side + 2) * pixel;
    return {point.x < low    ? low
            : point.x > high ? high
                             : point.x,
            point.y < low    ? low
            : point.y > high ? high
                             : point.y};
  }

  /// Notes, for the pixels within `reach` of a line, the square of their distance to it.
  void approach(canvas_point from, canvas_point to, int reach) {
    int const along_x = to.x - from.x;
    int const along_y = to.y - from.y;
    int const length2 = along_x * along_x + along_y * along_y;
    auto const first = [&](int a, int b) {
      int const low = ((a < b ? a : b) - reach) / pixel;
      return low < 0 ? 0 : low;
    };
    auto const last = [&](int a, int b) {
      int const high = ((a > b ? a : b) + reach) / pixel;
      return high > side - 1 ? side - 1 : high;
    };
    for (int row = first(from.y, to.y), end = last(from.y, to.y); row <= end; ++row) {
      for (int column = first(from.x, to.x), stop = last(from.x, to.x); column <= stop; ++column) {
        int x = column * pixel + pixel / 2 - from.x;
        int y = row * pixel + pixel / 2 - from.y;
        int const projection = x * along_x + y * along_y;
        if (projection >= length2) {
          x -= along_x;
          y -= along_y;
        } else if (projection > 0) {
          int const share = projection * 128 / length2;
          x -= share * along_x / 128;
          y -= share * along_y / 128;
        }
        int const distance = x * x + y * y;
        int& nearest = distance_[row * side + column];
        if (distance < nearest) nearest = distance;
      }
    }
  }

  static void blur_line(int* line, int stride, int share) {
    int before = 0;
    for (int i = 0; i < side; ++i) {
      int const here = line[i * stride];
      int const after = i + 1 < side ? line[(i + 1) * stride] : 0;
      line[i * stride] = (here * (256 - 2 * share) + (before + after) * share) / 256;
      before = here;
    }
  }

  int ink_[side * side] = {};
  int distance_[side * side];
};

}  // namespace stagecraft::datasets::detail
