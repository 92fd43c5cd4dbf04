// SPDX-License-Identifier: BSD-3-Clause
// Drawn digits: the strokes of each digit, the random numbers that vary them, and a 28 x 28 sheet on which a round
// pen draws them with soft edges. All in integers, so that every compiler and machine draws the same: lengths are in
// 1/64 of a pixel, darkness goes from 0 to 255.
#pragma once

#include <cstdint>

namespace stagecraft::datasets::detail {

/// x from -50 (left) to 50, y from -70 (top) to 70. A point given twice is a corner; all others are passed smoothly.
struct glyph_point {
  signed char x = 127;
  signed char y = 127;

  constexpr bool is_end() const { return x == 127; }
  constexpr bool is_lift() const { return x == 126; }
};

/// The pen leaves the paper.
inline constexpr glyph_point lift{126, 126};

struct glyph {
  int digit;
  glyph_point path[20];
};

inline constexpr glyph glyphs[] = {
    // 0: round, egg-shaped with a tail inside, square-shouldered
    {0, {{8, -68}, {-25, -52}, {-39, 0}, {-26, 50}, {4, 68}, {31, 46}, {39, -4}, {28, -52}, {4, -68}}},
    {0, {{22, -58}, {-8, -67}, {-34, -24}, {-33, 32}, {-4, 67}, {32, 34}, {34, -30}, {14, -62}, {-12, -52}}},
    {0, {{-6, -66}, {-32, -40}, {-36, 30}, {-14, 66}, {22, 60}, {36, 20}, {30, -46}, {-2, -67}}},
    // 1: a line, with a flag, with a flag and a base
    {1, {{2, -68}, {1, 0}, {0, 68}}},
    {1, {{-24, -38}, {2, -66}, {2, -66}, {2, 0}, {2, 68}}},
    {1, {{-22, -42}, {0, -66}, {0, -66}, {0, 0}, {0, 66}, lift, {-28, 66}, {0, 67}, {30, 65}}},
    // 2: with a straight base, with a loop, like a z
    {2, {{-34, -38}, {-14, -66}, {20, -60}, {31, -30}, {10, 10}, {-36, 66}, {-36, 66}, {0, 63}, {38, 64}}},
    {2, {{-34, -40}, {-8, -68}, {27, -48}, {18, -2}, {-18, 44}, {-38, 56}, {-32, 36}, {-8, 46}, {18, 64}, {42, 52}}},
    {2, {{-32, -60}, {6, -66}, {32, -50}, {4, 0}, {-36, 60}, {-36, 60}, {4, 58}, {40, 62}}},
    // 3: round, with a flat top, with a small upper bow
    {3, {{-32, -54}, {0, -70}, {29, -46}, {16, -14}, {-10, -4}, {-10, -4}, {22, 6}, {34, 36}, {8, 68}, {-34, 54}}},
    {3, {{-32, -64}, {0, -64}, {30, -64}, {30, -64}, {-6, -10}, {-6, -10}, {28, 8}, {32, 44}, {2, 69}, {-34, 54}}},
    {3, {{-24, -60}, {4, -69}, {22, -48}, {8, -24}, {-16, -18}, {-16, -18}, {24, -4}, {36, 30}, {14, 66}, {-32, 62}}},
    // 4: open, closed, in one stroke
    {4, {{-24, -66}, {-30, -28}, {-36, 10}, {-36, 10}, {0, 9}, {40, 6}, lift, {20, -42}, {18, 14}, {14, 70}}},
    {4, {{14, -68}, {-14, -22}, {-40, 22}, {-40, 22}, {0, 21}, {42, 20}, lift, {14, -68}, {14, 0}, {14, 70}}},
    {4, {{-26, -64}, {-34, -14}, {-12, 4}, {26, -10}, {32, -62}, {32, -62}, {28, 4}, {22, 70}}},
    // 5: in one stroke, with the bar added last, like an s
    {5,
     {{34, -64},
      {4, -64},
      {-24, -64},
      {-24, -64},
      {-28, -12},
      {-28, -12},
      {8, -18},
      {36, 14},
      {24, 56},
      {-8, 69},
      {-36, 54}}},
    {5,
     {{-24, -60},
      {-28, -12},
      {-28, -12},
      {6, -20},
      {35, 12},
      {20, 58},
      {-32, 62},
      lift,
      {-24, -61},
      {6, -62},
      {38, -66}}},
    {5, {{32, -60}, {-6, -66}, {-28, -42}, {-10, -12}, {24, 8}, {29, 44}, {0, 68}, {-34, 54}}},
    // 6: with a bent stem, with a straight stem, curled
    {6, {{26, -66}, {-12, -42}, {-35, 12}, {-22, 58}, {12, 67}, {33, 38}, {16, 8}, {-14, 14}, {-31, 40}}},
    {6, {{-2, -70}, {-22, -12}, {-30, 38}, {-2, 68}, {28, 48}, {22, 16}, {-6, 10}, {-28, 34}}},
    {6, {{30, -52}, {8, -68}, {-22, -44}, {-34, 16}, {-14, 64}, {24, 58}, {32, 26}, {6, 6}, {-26, 24}}},
    // 7: plain, with a bar, with a serif
    {7, {{-36, -62}, {0, -62}, {36, -62}, {36, -62}, {6, 0}, {-12, 70}}},
    {7, {{-36, -60}, {0, -62}, {36, -62}, {36, -62}, {8, 0}, {-8, 70}, lift, {-20, 2}, {4, 0}, {30, -3}}},
    {7, {{-35, -40}, {-34, -64}, {-34, -64}, {0, -60}, {36, -62}, {36, -62}, {14, -6}, {4, 70}}},
    // 8: in one stroke, of two circles, begun at the waist
    {8, {{24, -50}, {-4, -68}, {-27, -42}, {0, -6}, {30, 34}, {2, 68}, {-30, 38}, {2, -6}, {27, -42}, {14, -62}}},
    {8, {{0, -68}, {-26, -40}, {-2, -8}, {26, -38}, {2, -68}, lift, {0, -8}, {-32, 32}, {0, 68}, {32, 32}, {2, -8}}},
    {8, {{0, -4}, {-26, -38}, {2, -68}, {26, -40}, {-2, -4}, {-32, 36}, {2, 68}, {31, 34}, {4, -2}}},
    // 9: with a bent leg, with a straight leg, with a curled leg
    {9, {{29, -42}, {6, -67}, {-27, -44}, {-20, -8}, {10, -8}, {29, -44}, {28, 10}, {16, 70}}},
    {9, {{28, -58}, {-4, -66}, {-30, -36}, {-10, -4}, {18, -18}, {30, -62}, {30, -62}, {30, 0}, {29, 70}}},
    {9, {{30, -46}, {2, -67}, {-30, -36}, {-12, -2}, {20, -18}, {32, -50}, {33, 4}, {16, 56}, {-24, 64}}},
};

inline constexpr int styles_per_digit = 3;
static_assert(sizeof(glyphs) / sizeof(glyphs[0]) == 10 * styles_per_digit);

/// Scrambles 64 bits (the finalizer of SplitMix64; Steele, Lea and Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

class random_stream {
 public:
  /// The stream of sample `sample` in part `part` of a data set with seed `seed`.
  constexpr random_stream(std::uint64_t seed, std::uint64_t part, std::uint64_t sample)
      : state_(scramble(scramble(scramble(seed + step) ^ (part + step)) ^ (sample + step))) {}

  constexpr std::uint64_t bits() { return scramble(state_ += step); }

  /// A random number from `low` to `high`, both included.
  constexpr int between(int low, int high) {
    auto const count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(((bits() >> 32) * count) >> 32);
  }

  /// A bell-shaped random number around 0 with this standard deviation, at most 3.5 deviations out: a sum of four
  /// uniform ones.
  constexpr int around_zero(int deviation) {
    std::uint64_t const word = bits();
    auto const sum = static_cast<int>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
    return static_cast<int>(static_cast<std::int64_t>(sum - 131070) * deviation / 37837);
  }

  constexpr bool happens(int percent) { return between(1, 100) <= percent; }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
};

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

  /// A point near the sheet in place of one far off, whose coordinates would overflow and which would draw nothing
  /// visible.
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
