// SPDX-License-Identifier: BSD-3-Clause
// stagecraft 0.1.0 in one file, made by tools/amalgamate.py. Use it instead of the folder include/stagecraft, not with it.
//
// BSD 3-Clause License
//
// Copyright (c) 2026, The stagecraft authors
// All rights reserved.
//
// Redistribution and use in source and binary forms, with or without
// modification, are permitted provided that the following conditions are met:
//
// 1. Redistributions of source code must retain the above copyright notice, this
//    list of conditions and the following disclaimer.
//
// 2. Redistributions in binary form must reproduce the above copyright notice,
//    this list of conditions and the following disclaimer in the documentation
//    and/or other materials provided with the distribution.
//
// 3. Neither the name of the copyright holder nor the names of its
//    contributors may be used to endorse or promote products derived from
//    this software without specific prior written permission.
//
// THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
// AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
// IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
// DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
// FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
// DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
// SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
// CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
// OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
// OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

// ---- stagecraft/datasets/detail/random_stream.hpp
// Random integers for the drawn data sets: the k-th number of a stream is a function of its key and k, in integers
// only, so that it is the same number with every compiler, on every machine. Level 7.

namespace stagecraft::datasets::detail {

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

  /// From `low` to `high`, both included.
  constexpr int between(int low, int high) {
    auto const count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(((bits() >> 32) * count) >> 32);
  }

  /// Bell-shaped around 0 with this standard deviation, never more than 3.5 deviations out: the sum of four uniforms.
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

}  // namespace stagecraft::datasets::detail

// ---- stagecraft/datasets/detail/digit_canvas.hpp
// A 28 x 28 sheet on which a round pen draws smooth strokes with soft edges. Integers only: lengths are in 1/64 of a
// pixel, darkness goes from 0 to 255. Level 7.

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

// ---- stagecraft/datasets/detail/glyphs.hpp
// The ways in which people write the ten digits: the points through which the pen goes. Level 7.

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

}  // namespace stagecraft::datasets::detail

// ---- stagecraft/training/xtensor.hpp
// The library's only include of xtensor: containers, adaptors, views and noalias, for xtensor 0.24 to 0.27 (0.26 moved
// its headers to folders), and with what Clang 19 needs to compile xtensor before 0.26. Include it (or any header of
// the library that does) before xtensor's own headers. Reductions, random numbers and printing are left to the
// programs that want them: they would double the compile time. Level 6.

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xtensor_config.hpp>
// Clang 19 finds two partial specialisations of rebind_container equally good for xtensor's small vector; this third
// one is more specialised than both, and says what xtensor's own specialisation for svector says.
#if defined(__clang_major__) && __clang_major__ >= 19
#include <xtensor/xstorage.hpp>
namespace xt {
template <class X, class T, std::size_t N>
struct rebind_container<X, svector<T, N, std::allocator<T>, true>> {
  using type = svector<X, N, std::allocator<X>, true>;
};
}  // namespace xt
#endif
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

// ---- stagecraft/datasets/labelled_data.hpp
// Images and their labels: what a data set hands to fit, evaluate and predict. Level 7.

namespace stagecraft::datasets {

/// Images and their classes, sample by sample.
struct labelled_data {
  /// Shape (samples, rows, columns), values from 0 (background) to 1 (ink).
  xt::xtensor<float, 3> x;
  /// Shape (samples), class of each image, from 0.
  xt::xtensor<std::int32_t, 1> y;
};

}  // namespace stagecraft::datasets

// ---- stagecraft/datasets/labelled_split.hpp
// A data set in two parts, as Keras's datasets load: `auto [train, test] = sc::datasets::digits();`. Level 7.

namespace stagecraft::datasets {

/// What to train with, and what to judge the trained model with.
struct labelled_split {
  labelled_data train;
  labelled_data test;
};

}  // namespace stagecraft::datasets

// ---- stagecraft/datasets/digits.hpp
// The built-in data set: handwritten-like digits, drawn by the library, with no file. It takes the place of
// `keras.datasets.mnist.load_data()` where there is nothing to download. Level 7.

namespace stagecraft::datasets {

/// How many digits, and which. The defaults are whole numbers of 32 x 128 samples: 128 steps of 32.
struct digits_options {
  std::size_t train = 24576;
  std::size_t test = 4096;
  std::uint64_t seed = 1;
};

namespace detail {

/// How one person, in one moment, writes: a bent and shaken map from glyph units to the canvas.
class handwriting {
 public:
  explicit handwriting(random_stream& random) {
    // Rotation from t = tan(angle / 2): cos = (1 - t^2) / (1 + t^2), sin = 2 t / (1 + t^2); all in 1/4096.
    std::int64_t const t = random.around_zero(rotation);
    std::int64_t const norm = one * one + t * t;
    cosine_ = static_cast<int>((one * one - t * t) * one / norm);
    sine_ = static_cast<int>(2 * t * one * one / norm);
    scale_y_ = scale + random.around_zero(scale / 10);
    scale_x_ = scale_y_ + random.around_zero(scale / 7);
    slant_ = one / 8 + random.around_zero(one / 6);
    shift_x_ = centre + random.around_zero(shift);
    shift_y_ = centre + random.around_zero(shift);
    for (auto& row : bend_)
      for (canvas_point& corner : row) corner = {random.around_zero(bend), random.around_zero(bend)};
    shake_ = random.between(shake / 3, shake);
  }

  canvas_point place(glyph_point point, random_stream& random) const {
    int x = point.x * unit + random.around_zero(shake_);
    int y = point.y * unit + random.around_zero(shake_);
    // The bend is given at nine points and linear in between; u and v go from 0 to 2 * 64.
    int const u = within(point.x * 64 / 50 + 64);
    int const v = within(point.y * 64 / 70 + 64);
    int const right = u % 64;
    int const down = v % 64;
    int const weights[4] = {(64 - right) * (64 - down), right * (64 - down), (64 - right) * down, right * down};
    for (int k = 0; k < 4; ++k) {
      canvas_point const& corner = bend_[v / 64 + k / 2][u / 64 + k % 2];
      x += weights[k] * corner.x / 4096;
      y += weights[k] * corner.y / 4096;
    }
    x = x * scale_x_ / one - y * slant_ / one * scale_x_ / one;
    y = y * scale_y_ / one;
    return {shift_x_ + (x * cosine_ - y * sine_) / one, shift_y_ + (x * sine_ + y * cosine_) / one};
  }

 private:
  static constexpr int one = 4096;
  static constexpr int unit = 16;                                              // what a glyph's unit is cut into
  static constexpr int scale = 20 * digit_canvas::pixel * one / (140 * unit);  // a glyph is 20 pixels high
  static constexpr int centre = digit_canvas::side * digit_canvas::pixel / 2;
  static constexpr int shift = 75;  // standard deviations, each in its own unit
  static constexpr int rotation = 190;
  static constexpr int bend = 5 * unit;
  static constexpr int shake = 4 * unit;

  static int within(int position) { return position < 0 ? 0 : position > 127 ? 127 : position; }

  int cosine_, sine_, scale_x_, scale_y_, slant_, shift_x_, shift_y_, shake_;
  canvas_point bend_[3][3];
};

/// Draws one digit, and now and then a stroke that does not belong there.
inline void draw_digit(digit_canvas& canvas, int digit, random_stream& random) {
  glyph const& style = glyphs[digit * styles_per_digit + random.between(0, styles_per_digit - 1)];
  handwriting const hand(random);
  int const radius = random.between(46, 110);
  int const darkness = random.between(200, 255);
  canvas_point points[20];
  int count = 0;
  for (glyph_point const& point : style.path) {
    if (!point.is_end() && !point.is_lift()) {
      points[count] = count > 0 && point.x == (&point)[-1].x && point.y == (&point)[-1].y ? points[count - 1]
                                                                                          : hand.place(point, random);
      ++count;
      continue;
    }
    canvas.stroke(points, count, radius, darkness);
    count = 0;
    if (point.is_end()) break;
  }
  if (random.happens(15)) {
    int const edge = digit_canvas::side * digit_canvas::pixel;
    points[0] = {random.between(0, edge), random.between(0, edge)};
    points[1] = {points[0].x + random.around_zero(200), points[0].y + random.around_zero(200)};
    points[2] = {points[1].x + random.around_zero(200), points[1].y + random.around_zero(200)};
    int const stray_radius = random.between(32, 64);
    canvas.stroke(points, 3, stray_radius, random.between(100, 220));
  }
  canvas.blur(random.between(0, 56));
  canvas.add_noise(random, random.between(4, 24));
}

inline labelled_data draw_digits(std::size_t count, std::uint64_t seed, std::uint64_t part) {
  constexpr std::size_t side = digit_canvas::side;
  labelled_data drawn{xt::xtensor<float, 3>::from_shape({count, side, side}),
                      xt::xtensor<std::int32_t, 1>::from_shape({count})};
  float* pixel = drawn.x.data();
  for (std::size_t sample = 0; sample < count; ++sample) {
    random_stream random(seed, part, sample);
    int const digit = random.between(0, 9);
    drawn.y.data()[sample] = digit;
    digit_canvas canvas;
    draw_digit(canvas, digit, random);
    for (int i = 0; i < digit_canvas::side * digit_canvas::side; ++i) {
      *pixel++ = static_cast<float>(canvas[i]) / 255.0f;
    }
  }
  return drawn;
}

}  // namespace detail

/// Draws handwritten-like digits: `options.train` samples to train with and `options.test` others to judge with.
///
/// x has shape (samples, 28, 28) with values k / 255, y has shape (samples) with the digits 0 to 9, about equally
/// often, in no order. Each digit comes in three styles of writing, in many sizes, slants, widths of pen and shades,
/// shifted, rotated and bent, with noise and now and then a stray stroke.
/// Each sample depends on the seed, its part and its index only: a larger data set begins with the smaller one, and
/// the pixels are the same with every compiler and on every machine.
inline labelled_split digits(digits_options const& options = {}) {
  return {detail::draw_digits(options.train, options.seed, 0), detail::draw_digits(options.test, options.seed, 1)};
}

}  // namespace stagecraft::datasets

// ---- stagecraft/diagnostics/exceptions.hpp
// The library's run-time errors. Everything that a compiler can know is a compile error instead; what is left (data,
// files, weights given at run time) throws one of these few types. Level 0.

namespace stagecraft {

/// Base of all exceptions of this library. `what()` says what was expected and what came, and ends with the code,
/// for example "[E4001]", which has a section in docs/errors.md.
class error : public std::runtime_error {
 public:
  error(std::string_view code, std::string const& text)
      : std::runtime_error(text + " [" + std::string(code) + "]"), code_(code) {}

  /// The stable code, for example "E4001".
  [[nodiscard]] std::string_view code() const noexcept { return code_; }

 private:
  std::string code_;
};

/// Data, labels, weights or options that do not fit the model (codes E4xxx).
class data_error : public error {
 public:
  using error::error;
};

/// A file that is missing, truncated or of another format than expected (codes E5xxx).
class file_error : public error {
 public:
  using error::error;
};

}  // namespace stagecraft

// ---- stagecraft/datasets/detail/complaint.hpp
// The text of a file_error, put together piece by piece: "<file>: expected ..., found ...". Kept out of line, since
// strings added up in place cost more compile time than all that is done with the data. Level 7.

namespace stagecraft::datasets::detail {

class complaint {
 public:
  [[gnu::noinline]] explicit complaint(std::string_view file) : text_(file) { text_ += ": expected "; }

  [[gnu::noinline]] complaint& operator<<(std::string_view piece) {
    text_ += piece;
    return *this;
  }

  [[gnu::noinline]] complaint& operator<<(std::size_t number) {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this << std::string_view(digits + first, sizeof digits - first);
  }

  [[noreturn, gnu::noinline]] void raise(std::string_view code) const { throw file_error(code, text_); }

 private:
  std::string text_;
};

}  // namespace stagecraft::datasets::detail

// ---- stagecraft/datasets/idx.hpp
// The IDX format, in which MNIST and its relatives are published: a magic number (0, 0, type of the elements, number
// of dimensions), the dimensions as big-endian 32-bit numbers, then the elements, row-major. Level 7.

namespace stagecraft::datasets {

/// The element types of IDX, numbered as in the file. Elements of more than one byte are big-endian.
enum class idx_type : unsigned char {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0b,
  int32 = 0x0c,
  float32 = 0x0d,
  float64 = 0x0e,
};

/// "uint8", "int8", ...
constexpr char const* name_of(idx_type type) {
  switch (type) {
    case idx_type::uint8: return "uint8";
    case idx_type::int8: return "int8";
    case idx_type::int16: return "int16";
    case idx_type::int32: return "int32";
    case idx_type::float32: return "float32";
    case idx_type::float64: return "float64";
  }
  return "unknown";
}

/// Bytes of one element; 0 where the byte names no type of IDX.
constexpr std::size_t size_of(idx_type type) {
  switch (type) {
    case idx_type::uint8:
    case idx_type::int8: return 1;
    case idx_type::int16: return 2;
    case idx_type::int32:
    case idx_type::float32: return 4;
    case idx_type::float64: return 8;
  }
  return 0;
}

/// What the first bytes of an IDX file say of the rest.
struct idx_header {
  idx_type type = idx_type::uint8;
  std::vector<std::size_t> shape;
  std::size_t header_bytes = 0;
  std::size_t data_bytes = 0;

  /// As in "uint8 of shape (10000, 28, 28)".
  friend detail::complaint& operator<<(detail::complaint& text, idx_header const& header) {
    text << name_of(header.type) << " of shape (";
    for (std::size_t i = 0; i < header.shape.size(); ++i) text << (i > 0 ? ", " : "") << header.shape[i];
    return text << ")";
  }
};

/// A whole IDX file in memory. `data` points into the bytes it was parsed from.
struct idx_view {
  idx_header header;
  std::span<unsigned char const> data;
};

/// IDX allows 255 dimensions; no data set has more than this.
inline constexpr std::size_t idx_max_dimensions = 8;
inline constexpr std::size_t idx_max_header_bytes = 4 + 4 * idx_max_dimensions;

/// Reads the header of an IDX file from the file's first bytes, `idx_max_header_bytes` of them or the whole file.
/// `name` is what errors call the file. Throws file_error: E5002 if this is no IDX, E5003 if it ends too early.
inline idx_header parse_idx_header(std::span<unsigned char const> bytes, std::string const& name) {
  detail::complaint text(name);
  if (bytes.empty()) (text << "an IDX file, found an empty file").raise("E5003");
  for (std::size_t i = 0; i < bytes.size() && i < 2; ++i) {
    if (bytes[i] == 0) continue;
    text << "an IDX file, which begins with two zero bytes, found byte " << bytes[i] << " at position " << i;
    text.raise("E5002");
  }
  if (bytes.size() < 4) {
    text << "the 4 bytes with which an IDX file begins, found a file of " << bytes.size() << " bytes";
    text.raise("E5003");
  }
  idx_header header;
  header.type = static_cast<idx_type>(bytes[2]);
  std::size_t const dimensions = bytes[3];
  if (size_of(header.type) == 0) {
    text << "an IDX file, whose third byte is its element type (8, 9, 11, 12, 13 or 14), found " << bytes[2];
    text.raise("E5002");
  }
  if (dimensions == 0 || dimensions > idx_max_dimensions) {
    text << "an IDX file of 1 to " << idx_max_dimensions << " dimensions, found " << dimensions;
    text.raise("E5002");
  }
  header.header_bytes = 4 + 4 * dimensions;
  if (bytes.size() < header.header_bytes) {
    text << "an IDX header of " << header.header_bytes << " bytes, found a file of " << bytes.size();
    text.raise("E5003");
  }
  constexpr std::uint64_t limit = std::uint64_t{1} << 48;  // no file is as large as that
  std::uint64_t size = size_of(header.type);
  bool too_large = false;
  for (std::size_t i = 0; i < dimensions; ++i) {
    unsigned char const* const at = bytes.data() + 4 + 4 * i;
    std::uint64_t const extent =
        std::uint64_t{at[0]} << 24 | std::uint64_t{at[1]} << 16 | std::uint64_t{at[2]} << 8 | std::uint64_t{at[3]};
    header.shape.push_back(static_cast<std::size_t>(extent));
    too_large = too_large || (extent > 0 && size > limit / extent);
    size = too_large ? limit : size * extent;
  }
  // A dimension of zero makes the array empty, however large the others are.
  bool is_empty = false;
  for (std::size_t const extent : header.shape) is_empty = is_empty || extent == 0;
  if (is_empty) size = 0;
  if ((too_large && !is_empty) || size > static_cast<std::size_t>(-1) / 2) {
    text << "an IDX file, found a header that promises " << header << ", more than any file can hold";
    text.raise("E5002");
  }
  header.data_bytes = static_cast<std::size_t>(size);
  return header;
}

/// Reads a whole IDX file from memory; copies no data. `name` is what errors call the file. Throws file_error: E5002 if
/// this is no IDX, E5003 if bytes are missing, E5004 if there are too many.
inline idx_view parse_idx(std::span<unsigned char const> bytes, std::string const& name) {
  idx_header header = parse_idx_header(bytes, name);
  std::span<unsigned char const> const data = bytes.subspan(header.header_bytes);
  if (data.size() != header.data_bytes) {
    bool const is_short = data.size() < header.data_bytes;
    detail::complaint text(name);
    text << header.data_bytes << " bytes of data (" << header << "), found " << (is_short ? "" : "at least ")
         << data.size() << (is_short ? ": the file is truncated" : ": more than the header says");
    text.raise(is_short ? "E5003" : "E5004");
  }
  return {static_cast<idx_header&&>(header), data};
}

}  // namespace stagecraft::datasets

// ---- stagecraft/datasets/idx_file.hpp
// Brings an IDX file, plain or gzipped, into memory. The header of the file is read first, and no more memory is asked
// for than the file itself can fill, whatever its header claims. Level 7.

namespace stagecraft::datasets {

/// Replaces `bytes` by the first `limit` bytes, or all there are, of what `compressed` holds; asks for memory only as
/// it fills. `name` is what errors call the file. Returns whether that was all.
using decompressor = bool (*)(std::span<unsigned char const> compressed, std::vector<unsigned char>& bytes,
                              std::size_t limit, std::string const& name);

namespace detail {

/// Set by <stagecraft/datasets/gzip.hpp>, before main; the library itself needs no zlib.
inline constinit decompressor gzip_decompressor = nullptr;

[[noreturn]] inline void refuse_unreadable(std::string const& path) {
  char const* const reason = std::strerror(errno);
  (complaint(path) << "a readable file, found: " << reason).raise("E5001");
}

/// Closes the file that it holds.
class open_file {
 public:
  explicit open_file(std::string const& path) : file_(std::fopen(path.c_str(), "rb")) {}
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;
  ~open_file() {
    if (file_ != nullptr) std::fclose(file_);
  }

  explicit operator bool() const { return file_ != nullptr; }

  /// Appends up to `count` bytes to `bytes`, in pieces, so that memory grows with what has really been read.
  void read(std::vector<unsigned char>& bytes, std::size_t count, std::string const& path) {
    constexpr std::size_t piece = std::size_t{1} << 20;
    while (count > 0) {
      std::size_t const begin = bytes.size();
      std::size_t const wanted = count < piece ? count : piece;
      bytes.resize(begin + wanted);
      std::size_t const got = std::fread(bytes.data() + begin, 1, wanted, file_);
      bytes.resize(begin + got);
      count -= got;
      if (got < wanted) {
        if (std::ferror(file_) != 0) refuse_unreadable(path);
        return;
      }
    }
  }

 private:
  std::FILE* file_;
};

inline bool is_gzip(std::span<unsigned char const> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/// The whole of an IDX file and one byte more, to notice a file that is too long.
inline std::size_t bytes_to_read(idx_header const& header) { return header.header_bytes + header.data_bytes + 1; }

/// The IDX file inside a gzip file.
inline std::vector<unsigned char> gunzip_idx(std::span<unsigned char const> compressed, std::string const& name) {
  if (gzip_decompressor == nullptr) {
    complaint text(name);
    text << "a plain IDX file, found a gzip file: include <stagecraft/datasets/gzip.hpp> in the program and link zlib "
            "(CMake: stagecraft::zlib), or decompress the file with gunzip";
    text.raise("E5008");
  }
  std::vector<unsigned char> bytes;
  bool const is_whole = gzip_decompressor(compressed, bytes, idx_max_header_bytes, name);
  if (!is_whole) gzip_decompressor(compressed, bytes, bytes_to_read(parse_idx_header(bytes, name)), name);
  return bytes;
}

/// The bytes of an IDX file, decompressed if need be, and not many more than its header promises.
inline std::vector<unsigned char> read_idx_bytes(std::string const& path) {
  open_file file(path);
  if (!file) refuse_unreadable(path);
  std::vector<unsigned char> bytes;
  file.read(bytes, idx_max_header_bytes, path);
  if (is_gzip(bytes)) {
    file.read(bytes, static_cast<std::size_t>(-1), path);
    return gunzip_idx(bytes, path);
  }
  idx_header const header = parse_idx_header(bytes, path);
  if (bytes_to_read(header) > bytes.size()) file.read(bytes, bytes_to_read(header) - bytes.size(), path);
  return bytes;
}

}  // namespace detail

}  // namespace stagecraft::datasets

// ---- stagecraft/datasets/mnist.hpp
// MNIST from its IDX files, as `keras.datasets.mnist.load_data()`, and other pairs of IDX files. Level 7.

namespace stagecraft::datasets {

namespace detail {

inline labelled_data make_labelled_data(idx_view const& images, std::string const& images_name, idx_view const& labels,
                                        std::string const& labels_name, int classes) {
  if (images.header.type != idx_type::uint8 || images.header.shape.size() != 3) {
    complaint text(images_name);
    text << "images, uint8 of shape (samples, rows, columns), found " << images.header;
    if (images.header.shape.size() == 1) text << ": is this the file of the labels?";
    text.raise("E5005");
  }
  if (labels.header.type != idx_type::uint8 || labels.header.shape.size() != 1) {
    complaint text(labels_name);
    text << "labels, uint8 of shape (samples), found " << labels.header;
    if (labels.header.shape.size() == 3) text << ": is this the file of the images?";
    text.raise("E5005");
  }
  std::size_t const samples = labels.header.shape[0];
  std::size_t const rows = images.header.shape[1];
  std::size_t const columns = images.header.shape[2];
  if (images.header.shape[0] != samples) {
    complaint text(labels_name);
    text << "as many labels as " << images_name << " has images, " << images.header.shape[0] << ", found " << samples;
    text.raise("E5006");
  }
  if (images.data.empty()) {
    (complaint(images_name) << "at least one image of at least one pixel, found " << images.header).raise("E5005");
  }
  for (std::size_t i = 0; i < samples; ++i) {
    if (labels.data[i] < classes) continue;
    complaint text(labels_name);
    text << "labels from 0 to " << static_cast<std::size_t>(classes > 0 ? classes - 1 : 0) << ", found "
         << labels.data[i] << " for sample " << i;
    text.raise("E5007");
  }
  labelled_data result{xt::xtensor<float, 3>::from_shape({samples, rows, columns}),
                       xt::xtensor<std::int32_t, 1>::from_shape({samples})};
  float shades[256];
  for (int i = 0; i < 256; ++i) shades[i] = static_cast<float>(i) / 255.0f;
  float* pixel = result.x.data();
  for (unsigned char const shade : images.data) *pixel++ = shades[shade];
  for (std::size_t i = 0; i < samples; ++i) result.y.data()[i] = labels.data[i];
  return result;
}

/// The samples from `begin` up to `end`, as a data set of their own.
inline labelled_data copy_samples(labelled_data const& from, std::size_t begin, std::size_t end) {
  std::size_t const rows = from.x.shape()[1];
  std::size_t const columns = from.x.shape()[2];
  labelled_data part{xt::xtensor<float, 3>::from_shape({end - begin, rows, columns}),
                     xt::xtensor<std::int32_t, 1>::from_shape({end - begin})};
  for (std::size_t i = begin * rows * columns, k = 0; i < end * rows * columns; ++i, ++k) {
    part.x.data()[k] = from.x.data()[i];
  }
  for (std::size_t i = begin, k = 0; i < end; ++i, ++k) part.y.data()[k] = from.y.data()[i];
  return part;
}

/// The first of a file's usual names that is there, "" if none is: with '-' or '.' before "idx", plain before gzipped.
/// `kind` is "images" or "labels".
inline std::string find_mnist_file(std::string const& folder, char const* part, char const* kind) {
  char const* const idx = kind[0] == 'i' ? "idx3-ubyte" : "idx1-ubyte";
  for (char const* const ending : {"", ".gz"}) {
    for (char const* const mark : {"-", "."}) {
      std::string path = folder;
      for (char const* const piece : {"/", part, "-", kind, mark, idx, ending}) path += piece;
      if (open_file(path)) return path;
    }
  }
  return "";
}

}  // namespace detail

/// Reads one pair of IDX files, plain or gzipped (for which include <stagecraft/datasets/gzip.hpp>).
///
/// `images` holds uint8 of shape (samples, rows, columns), `labels` uint8 of shape (samples), each below `classes`.
/// x has shape (samples, rows, columns) with values k / 255, y has shape (samples).
/// Throws file_error, which names the file, what was expected and what was found: E5001 not readable, E5002 not IDX,
/// E5003 truncated, E5004 too long, E5005 not images or not labels, E5006 counts differ, E5007 label out of range,
/// E5008 gzipped but gzip.hpp is not included, E5009 damaged gzip file.
inline labelled_data read_idx_pair(std::string const& images, std::string const& labels, int classes = 10) {
  // The small file first, so that a wrong one is noticed before the large one is read.
  std::vector<unsigned char> const label_bytes = detail::read_idx_bytes(labels);
  idx_view const label_view = parse_idx(label_bytes, labels);
  std::vector<unsigned char> const image_bytes = detail::read_idx_bytes(images);
  return detail::make_labelled_data(parse_idx(image_bytes, images), images, label_view, labels, classes);
}

namespace detail {

/// The samples of `part`, "train" or "t10k".
inline labelled_data read_mnist_part(std::string const& folder, char const* part) {
  std::string const images = find_mnist_file(folder, part, "images");
  std::string const labels = find_mnist_file(folder, part, "labels");
  if (images.empty() || labels.empty()) {
    complaint text(folder);
    text << "a folder with " << part << "-images-idx3-ubyte and " << part << "-labels-idx1-ubyte (or .gz), found "
         << (!images.empty()   ? "no file of labels"
             : !labels.empty() ? "no file of images"
                               : "neither");
    text.raise("E5010");
  }
  labelled_data data = read_idx_pair(images, labels);
  if (data.x.shape()[1] != 28 || data.x.shape()[2] != 28) {
    complaint text(images);
    text << "images of 28 x 28 pixels, found " << data.x.shape()[1] << " x " << data.x.shape()[2];
    text.raise("E5005");
  }
  return data;
}

}  // namespace detail

/// Reads MNIST, or another data set in the same files (such as Fashion-MNIST), from `folder`.
///
/// The folder holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
/// t10k-labels-idx1-ubyte; '.' in place of '-' before "idx" and ".gz" at the end are accepted (for gzipped files
/// include <stagecraft/datasets/gzip.hpp>). x has shape (samples, 28, 28) with values k / 255, y has shape
/// (samples), 0 to 9.
///
/// Where the folder has no train files, the t10k files are split: the first 85 % of their samples (8,500 of 10,000) are
/// `train`, the rest (the last 1,500) is `test`.
/// Throws file_error as read_idx_pair does, and E5010 if files are missing.
inline labelled_split mnist(std::string const& folder) {
  bool const has_train_files = !detail::find_mnist_file(folder, "train", "images").empty() ||
                               !detail::find_mnist_file(folder, "train", "labels").empty();
  if (has_train_files) return {detail::read_mnist_part(folder, "train"), detail::read_mnist_part(folder, "t10k")};
  labelled_data const all = detail::read_mnist_part(folder, "t10k");
  std::size_t const samples = all.y.size();
  std::size_t const cut = samples - samples * 15 / 100;
  return {detail::copy_samples(all, 0, cut), detail::copy_samples(all, cut, samples)};
}

}  // namespace stagecraft::datasets

// ---- stagecraft/diagnostics/text.hpp
// Text that is put together by the compiler: messages of errors, names of layers, rows of tables. Level 0.

namespace stagecraft {

/// A string of at most `Capacity` characters, usable in constant evaluation and as a template argument.
/// What does not fit is cut off, and `is_cut` says so; nothing allocates.
template <std::size_t Capacity>
struct fixed_text {
  static constexpr std::size_t capacity = Capacity;

  char characters[Capacity + 1]{};
  std::size_t length = 0;
  bool is_cut = false;  ///< whether characters are missing

  constexpr fixed_text() = default;
  constexpr fixed_text(char const* text) { append(std::string_view(text)); }
  constexpr fixed_text(std::string_view text) { append(text); }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters, length}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return length == 0; }
  constexpr operator std::string_view() const noexcept { return view(); }

  constexpr fixed_text& append(std::string_view text) {
    // One plain loop: constant evaluation counts its steps.
    std::size_t const count = text.size() < Capacity - length ? text.size() : Capacity - length;
    char const* const from = text.data();
    for (std::size_t i = 0; i < count; ++i) characters[length + i] = from[i];
    length += count;
    if (count < text.size()) is_cut = true;
    return *this;
  }
  constexpr fixed_text& append(char c) {
    if (length < Capacity)
      characters[length++] = c;
    else
      is_cut = true;
    return *this;
  }
  constexpr fixed_text& append(long long number) {
    if (number < 0) append('-');
    char digits[20]{};
    int count = 0;
    do {
      auto const digit = number % 10;
      digits[count++] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
      number /= 10;
    } while (number != 0);
    while (count > 0) append(digits[--count]);
    return *this;
  }
  constexpr fixed_text& append(int number) { return append(static_cast<long long>(number)); }

  friend constexpr bool operator==(fixed_text const& a, fixed_text const& b) { return a.view() == b.view(); }
  friend constexpr bool operator==(fixed_text const& a, std::string_view b) { return a.view() == b; }
  friend constexpr bool operator==(fixed_text const& a, char const* b) { return a.view() == b; }
};

/// A layer's, model's or parameter's name. Keras's own names stay well below this length.
inline constexpr std::size_t max_name_length = 47;
using fixed_name = fixed_text<max_name_length>;

/// The text of an error.
using message = fixed_text<400>;

}  // namespace stagecraft

// ---- stagecraft/diagnostics/diagnostic.hpp
// The first broken rule of a model, found in constant evaluation: a stable code and a text with the layer's name and
// the values. Level 0.

namespace stagecraft {

/// A line of the user's source; 0 if it is not known.
struct source_line {
  char const* file = "";
  int line = 0;

  /// The file's name without its folders.
  [[nodiscard]] constexpr std::string_view file_name() const {
    std::string_view const path = file;
    auto const slash = path.find_last_of("/\\");
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  }
};

/// What is wrong with a model, an assignment or training options; `code` 0 means that nothing is. Codes are stable:
/// 1xxx shapes and layers, 2xxx stages and pipelines, 3xxx tiles and memory, 4xxx training and execution, 5xxx files.
/// Each has a section in docs/errors.md.
struct diagnostic {
  int code = 0;
  source_line where = {};  ///< the call in the user's source, if it is known
  message text;

  [[nodiscard]] constexpr bool failed() const noexcept { return code != 0; }
  [[nodiscard]] constexpr bool has_text() const noexcept { return code > 0; }

  /// The text as the compiler prints it: followed by "(model.cpp:17)" if the line is known.
  [[nodiscard]] constexpr fixed_text<message::capacity + 90> text_with_line() const {
    fixed_text<message::capacity + 90> result(text.view());
    if (where.line > 0)
      result.append(" (").append(where.file_name().substr(0, 64)).append(':').append(where.line).append(')');
    return result;
  }

  /// Records a mistake that has had its own compile error: the model is invalid, but nothing more is said of it.
  constexpr void already_reported() {
    if (!failed()) code = -1;
  }

  /// Says where the problem is, unless that is known better.
  constexpr void locate(source_line const& call) {
    if (failed() && where.line == 0) where = call;
  }

  /// Records the problem if it is the first one: `report(1002, "layer '", name, "' expects ...")`.
  template <class... Parts>
  constexpr void report(int error_code, Parts const&... parts) {
    if (failed()) return;
    code = error_code;
    (append(parts), ...);
    text.append(" [E").append(error_code).append(']');
  }

  /// One part of a message: text, a number, or anything with `append_to(message&)`, such as a shape.
  template <class Part>
  constexpr void append(Part const& part) {
    if constexpr (requires { part.append_to(text); })
      part.append_to(text);
    else
      text.append(part);
  }
};

}  // namespace stagecraft

// ---- stagecraft/diagnostics/compile_error.hpp
// How a diagnostic reaches the compiler's output: as string template arguments of a class that cannot be constructed,
// so that both compilers print the text in the line that says `error:`. GCC prints such a string whole, Clang at most
// 31 characters of it, so that it gets the text in pieces; a C++26 compiler prints the text itself. Level 0.

namespace stagecraft {

/// A piece of an error's text.
template <std::size_t Length>
struct piece {
  char text[Length + 1]{};
};

/// The error itself. Its template arguments say what is wrong and what would be right.
template <piece... Text>
struct model_error {
  model_error() = delete;  // the text in quotes is the reason; docs/errors.md explains the code at its end
};

namespace detail {

#if defined(__clang__)
inline constexpr std::size_t longest_piece = 31;
#else
inline constexpr std::size_t longest_piece = 500;
#endif

/// Where piece `index` begins: pieces end behind a space where there is one.
constexpr std::size_t piece_begin(std::string_view text, std::size_t index) {
  std::size_t begin = 0;
  for (; index > 0 && begin < text.size(); --index) {
    std::size_t end = begin + longest_piece;
    if (end >= text.size()) return text.size();
    while (end > begin && text[end - 1] != ' ') --end;
    begin = end > begin ? end : begin + longest_piece;
  }
  return begin;
}

constexpr std::size_t piece_count(std::string_view text) {
  std::size_t count = 0;
  while (piece_begin(text, count) < text.size()) ++count;
  return count;
}

/// The whole text: the diagnostic's, and the line of the user's source where it is known.
template <auto const& Problem>
inline constexpr auto error_text = Problem.text_with_line();

template <auto const& Problem, std::size_t Index>
constexpr auto cut_piece() {
  constexpr std::size_t begin = piece_begin(error_text<Problem>, Index);
  constexpr std::size_t end = piece_begin(error_text<Problem>, Index + 1);
  piece<end - begin> result;
  for (std::size_t i = begin; i < end; ++i) result.text[i - begin] = error_text<Problem>.characters[i];
  result.text[end - begin] = 0;  // Clang prints characters as text only if it has seen the end being written
  return result;
}

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
template <piece... Text>
consteval bool fail() {
  constexpr auto whole = [] {
    fixed_text<500> result;
    (result.append(std::string_view(Text.text)), ...);
    return result;
  }();
  static_assert(sizeof...(Text) == 0, whole.view());
  return true;
}
#endif

/// What a check says of a model. This class is known by the text alone: GCC prints the arguments of all templates on
/// the way to an error, and a model's are long.
template <piece... Text>
struct verdict {
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
  static_assert(fail<Text...>());
#else
  static_assert(model_error<Text...>{});
#endif
  static constexpr bool reported = true;
  template <class Model>
  using model = Model;
};
template <>
struct verdict<> {
  static constexpr bool reported = true;
  template <class Model>
  using model = Model;
};

template <class T>
struct verdict_box {
  using type = T;
};

template <auto const& Problem>
constexpr auto box_verdict() {
  if constexpr (Problem.has_text())
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return verdict_box<verdict<cut_piece<Problem, Index>()...>>{};
    }(std::make_index_sequence<piece_count(error_text<Problem>)>{});
  else
    return verdict_box<verdict<>>{};
}

/// The verdict on a diagnostic; the error comes where a member of it is named.
template <auto const& Problem>
using verdict_on = typename decltype(box_verdict<Problem>())::type;

/// Instantiates the error, if there is one. Always true, so that the caller's own static_assert adds no second error.
template <auto const& Problem>
constexpr bool report() {
  return verdict_on<Problem>::reported;
}

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/kernels/simd.hpp
// The only include of xsimd: vectors of floats, and what xsimd's releases 8.1 to 14 lack or spell differently.
// Level 4 of the house. Kernels take the instruction set as their last template parameter, `class Arch`, so that two
// translation units with different compiler flags never share a kernel's symbol.

// GCC 12 warns that the undefined pass-through operand inside its own AVX-512 intrinsics is uninitialised, wherever
// they are inlined; this region covers the intrinsics, xsimd and this header's own uses of them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <xsimd/xsimd.hpp>

namespace stagecraft::kernels {

/// The best instruction set that the compiler's flags allow.
using default_architecture = xsimd::default_arch;

/// A register full of floats.
template <class Arch = default_architecture>
using batch = xsimd::batch<float, Arch>;

/// A register full of 32-bit unsigned integers: as many as `batch` has floats.
template <class Arch = default_architecture>
using integer_batch = xsimd::batch<std::uint32_t, Arch>;

/// What comparing batches gives. Do not write `x != x` for NaN: xsimd 8.1 gives false for it on AVX; `xsimd::isnan`
/// works.
template <class Arch = default_architecture>
using batch_mask = xsimd::batch_bool<float, Arch>;

/// Floats in a batch.
template <class Arch = default_architecture>
inline constexpr int lanes = static_cast<int>(batch<Arch>::size);

#if defined(__AVX512F__)
template <class Arch>
inline constexpr bool has_avx512 = std::is_base_of_v<xsimd::avx512f, Arch>;
#else
template <class Arch>
inline constexpr bool has_avx512 = false;
#endif

#if defined(__AVX2__)
template <class Arch>
inline constexpr bool has_avx2 = std::is_base_of_v<xsimd::avx2, Arch> && !has_avx512<Arch>;
#else
template <class Arch>
inline constexpr bool has_avx2 = false;
#endif

/// a * b + c, rounded once where the instruction set can: FMA3, FMA4, NEON64 and AVX-512, for which xsimd 8.1 itself
/// has no fused operation. SSE2 to AVX without FMA round twice.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> fused_multiply_add(xsimd::batch<float, Arch> const& a,
                                                                  xsimd::batch<float, Arch> const& b,
                                                                  xsimd::batch<float, Arch> const& c) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_fmadd_ps(a, b, c);
  else
#endif
    return xsimd::fma(a, b, c);
}

/// c - a * b, rounded like `fused_multiply_add`.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> fused_negative_multiply_add(xsimd::batch<float, Arch> const& a,
                                                                           xsimd::batch<float, Arch> const& b,
                                                                           xsimd::batch<float, Arch> const& c) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_fnmadd_ps(a, b, c);
  else
#endif
    return xsimd::fnma(a, b, c);
}

/// The sum of all lanes.
template <class Arch>
[[nodiscard]] inline float horizontal_sum(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_reduce_add_ps(x);
  else
#endif
#if XSIMD_VERSION_MAJOR >= 9
    return xsimd::reduce_add(x);
#else
  return xsimd::hadd(x);
#endif
}

/// The largest lane. Unspecified which if a lane is NaN.
template <class Arch>
[[nodiscard]] inline float horizontal_max(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_reduce_max_ps(x);
  else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    float largest = values[0];
    for (int lane = 1; lane < lanes<Arch>; ++lane) largest = values[lane] > largest ? values[lane] : largest;
    return largest;
  }
}

/// The larger of x and the limit, NaN where x is NaN. (xsimd's max follows the processor before release 14, std::max
/// from then on; the order of the operands decides what becomes of NaN.)
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> at_least(xsimd::batch<float, Arch> const& x,
                                                        xsimd::batch<float, Arch> const& limit) {
#if XSIMD_VERSION_MAJOR >= 14
  return xsimd::max(x, limit);
#else
  return xsimd::max(limit, x);
#endif
}

/// The smaller of x and the limit, NaN where x is NaN.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> at_most(xsimd::batch<float, Arch> const& x,
                                                       xsimd::batch<float, Arch> const& limit) {
#if XSIMD_VERSION_MAJOR >= 14
  return xsimd::min(x, limit);
#else
  return xsimd::min(limit, x);
#endif
}

/// The bits of a register as another element type of the same width.
template <class To, class From, class Arch>
[[nodiscard]] inline xsimd::batch<To, Arch> bit_cast(xsimd::batch<From, Arch> const& x) {
#if XSIMD_VERSION_MAJOR >= 12
  return xsimd::bitwise_cast<To>(x);
#else
  return xsimd::bitwise_cast<xsimd::batch<To, Arch>>(x);
#endif
}

namespace detail {

/// -1 (all bits set) `lanes` times, then 0 as often: a load at `lanes - count` gives a mask of the first `count`.
alignas(64) inline constexpr std::int32_t first_lanes[32] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace detail

/// The first `count` floats at p, 0 in the other lanes; reads nothing behind them. 0 <= count <= lanes.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_first(float const* p, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1U), p);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    return _mm256_maskload_ps(p,
                              _mm256_loadu_si256(reinterpret_cast<__m256i const*>(detail::first_lanes + 16 - count)));
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>] = {};
    std::memcpy(values, p, static_cast<std::size_t>(count) * sizeof(float));
    return batch<Arch>::load_aligned(values);
  }
}

/// Writes the first `count` lanes of x to p and nothing behind them. 0 <= count <= lanes.
template <class Arch>
inline void store_first(xsimd::batch<float, Arch> const& x, float* p, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1U), x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    _mm256_maskstore_ps(p, _mm256_loadu_si256(reinterpret_cast<__m256i const*>(detail::first_lanes + 16 - count)), x);
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    std::memcpy(p, values, static_cast<std::size_t>(count) * sizeof(float));
  }
}

/// `load_first` for a number of lanes that is known at compile time: a plain load if it is all of them.
template <int Count, class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_lanes(float const* p) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>)
    return batch<Arch>::load_unaligned(p);
  else
    return load_first<Arch>(p, Count);
}

/// x with 0 in all but the first `count` lanes. 0 <= count <= lanes.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> keep_first(xsimd::batch<float, Arch> const& x, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_maskz_mov_ps(static_cast<__mmask16>((1U << count) - 1U), x);
  else
#endif
    return x & bit_cast<float>(xsimd::batch<std::int32_t, Arch>::load_unaligned(detail::first_lanes + 16 - count));
}

/// The first Count floats at p, `fill` in the other lanes; reads nothing behind them.
template <int Count, class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_lanes_or(float const* p, float fill) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>) {
    return batch<Arch>::load_unaligned(p);
  } else {
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>)
      return _mm512_mask_loadu_ps(batch<Arch>(fill), static_cast<__mmask16>((1U << Count) - 1U), p);
    else
#endif
    {
      alignas(64) float values[lanes<Arch>];
      for (int lane = 0; lane < lanes<Arch>; ++lane) values[lane] = lane < Count ? p[lane] : fill;
      return batch<Arch>::load_aligned(values);
    }
  }
}

/// `store_first` for a number of lanes that is known at compile time: a plain store if it is all of them.
template <int Count, class Arch>
inline void store_lanes(xsimd::batch<float, Arch> const& x, float* p) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>)
    x.store_unaligned(p);
  else
    store_first(x, p, Count);
}

/// y[i] = function(batch of x[0][i]...) for i in [0, n). Any y may be one of the x: each batch is read before it is
/// written. Nothing behind n is read or written; the function sees 0 in the unused lanes of the last batch.
template <class Arch, class Function, std::same_as<float const*>... Inputs>
inline void transform(std::int64_t n, Function const& function, float* y, Inputs... x) {
  constexpr int width = lanes<Arch>;
  std::int64_t i = 0;
  for (; i + width <= n; i += width) function(batch<Arch>::load_unaligned(x + i)...).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first<Arch>(function(load_first<Arch>(x + i, rest)...), y + i, rest);
}

/// The sum of function(batch of x[0][i]...) over i in [0, n), in four partial sums. The function must give 0 where
/// all its arguments are 0: that is what the unused lanes of the last batch hold.
template <class Arch, class Function, std::same_as<float const*>... Inputs>
[[nodiscard]] inline float transform_sum(std::int64_t n, Function const& function, Inputs... x) {
  constexpr int width = lanes<Arch>;
  batch<Arch> sum[4] = {batch<Arch>(0.0F), batch<Arch>(0.0F), batch<Arch>(0.0F), batch<Arch>(0.0F)};
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    for (int part = 0; part < 4; ++part)
      sum[part] = sum[part] + function(batch<Arch>::load_unaligned(x + i + part * width)...);
  for (; i + width <= n; i += width) sum[0] = sum[0] + function(batch<Arch>::load_unaligned(x + i)...);
  if (int const rest = static_cast<int>(n - i); rest > 0) sum[1] = sum[1] + function(load_first<Arch>(x + i, rest)...);
  return horizontal_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// ---- stagecraft/execution/host.hpp
// The host CPU as the machine that runs a program. Level 5.

namespace stagecraft {

namespace detail {

/// E4033: more threads than a step is divided among.
template <int Threads>
inline constexpr diagnostic thread_problem = [] {
  diagnostic problem;
  if (Threads != 1)
    problem.report(4033, "host<", Threads, "> asks for ", Threads, " threads; a step runs on one, host<>");
  return problem;
}();

}  // namespace detail

/// The type behind `host<>`. The architecture is part of it, so that one program can hold translation units that are
/// compiled for different ones.
template <int Threads, class Arch>
struct host_machine {
  static_assert(detail::report<detail::thread_problem<Threads>>());
  using architecture = Arch;
};

/// The host CPU, with the kernels of the architecture that the program is compiled for.
template <int Threads = 1>
using host = host_machine<Threads, kernels::default_architecture>;

}  // namespace stagecraft

// ---- stagecraft/activations/activation.hpp
// An activation function as a compile-time value: which function, and its parameters.
// Keras counterpart: tf.keras.activations. Level 2 of the house: options only, the loops are in kernels/activation.hpp.

namespace stagecraft {

enum class activation_kind : unsigned char {
  linear,
  relu,
  softmax,
  sigmoid,
  tanh,
  gelu,
  gelu_tanh,
  swish,
  selu,
  elu,
  exponential,
  softplus,
  softsign,
  hard_sigmoid,
};

/// An activation function. Prefer the ready-made values (`relu`, `softmax`, ...) and the functions of `activations`,
/// which carry Keras's default parameters, to an aggregate written by hand.
///
/// - `relu`: f(x) = min(x, max_value) for x > threshold, alpha * (x - threshold) below it.
/// - `elu`: f(x) = x for x > 0, alpha * (exp(x) - 1) below.
/// - the others have no parameters.
struct activation {
  activation_kind kind = activation_kind::linear;
  float alpha = 0;       ///< relu: slope below the threshold; elu: scale of the negative part
  float max_value = -1;  ///< relu: the largest output; negative = unlimited (Keras's None)
  float threshold = 0;   ///< relu: values up to it count as negative

  friend constexpr bool operator==(activation const&, activation const&) = default;

  /// Keras's name of the function (`tf.keras.activations.serialize`).
  [[nodiscard]] constexpr std::string_view name() const {
    switch (kind) {
      case activation_kind::linear: return "linear";
      case activation_kind::relu: return "relu";
      case activation_kind::softmax: return "softmax";
      case activation_kind::sigmoid: return "sigmoid";
      case activation_kind::tanh: return "tanh";
      case activation_kind::gelu:
      case activation_kind::gelu_tanh: return "gelu";
      case activation_kind::swish: return "swish";
      case activation_kind::selu: return "selu";
      case activation_kind::elu: return "elu";
      case activation_kind::exponential: return "exponential";
      case activation_kind::softplus: return "softplus";
      case activation_kind::softsign: return "softsign";
      case activation_kind::hard_sigmoid: return "hard_sigmoid";
    }
    return "unknown";
  }

  /// True if the backward pass needs x; otherwise it needs y = f(x) only, and f can be applied in place.
  [[nodiscard]] constexpr bool gradient_needs_input() const {
    switch (kind) {
      case activation_kind::gelu:
      case activation_kind::gelu_tanh:
      case activation_kind::swish:
      case activation_kind::hard_sigmoid: return true;
      // The output tells on which side x was only for a non-negative slope and no threshold. At x == max_value,
      // TensorFlow's gradient is 0 for relu6 and 1 for every other limit, which the output does not tell either.
      case activation_kind::relu: return threshold != 0 || alpha < 0 || (max_value >= 0 && max_value != 6);
      case activation_kind::elu: return alpha < 0;
      default: return false;
    }
  }

  /// True if every output element depends on one input element only.
  [[nodiscard]] constexpr bool elementwise() const { return kind != activation_kind::softmax; }
};

inline constexpr activation linear{};
inline constexpr activation relu{activation_kind::relu};
inline constexpr activation softmax{activation_kind::softmax};
inline constexpr activation sigmoid{activation_kind::sigmoid};
inline constexpr activation tanh{activation_kind::tanh};
inline constexpr activation gelu{activation_kind::gelu};
inline constexpr activation swish{activation_kind::swish};
inline constexpr activation selu{activation_kind::selu};
inline constexpr activation elu{activation_kind::elu, 1.0F};
inline constexpr activation exponential{activation_kind::exponential};
inline constexpr activation softplus{activation_kind::softplus};
inline constexpr activation softsign{activation_kind::softsign};
inline constexpr activation hard_sigmoid{activation_kind::hard_sigmoid};

namespace activations {

/// `tf.keras.activations.relu(x, alpha, max_value, threshold)`; a negative `max_value` means unlimited.
[[nodiscard]] constexpr activation relu(float alpha = 0, float max_value = -1, float threshold = 0) {
  return {activation_kind::relu, alpha, max_value, threshold};
}

/// `tf.keras.activations.elu(x, alpha)`.
[[nodiscard]] constexpr activation elu(float alpha = 1) { return {activation_kind::elu, alpha}; }

/// `tf.keras.activations.gelu(x, approximate)`: exact with erf, approximate with tanh.
[[nodiscard]] constexpr activation gelu(bool approximate = false) {
  return {approximate ? activation_kind::gelu_tanh : activation_kind::gelu};
}

}  // namespace activations
}  // namespace stagecraft

// ---- stagecraft/activations/activations.hpp
// All activation functions.
// Keras counterpart: tf.keras.activations. Level 2 of the house.

// ---- stagecraft/initializers/initializer.hpp
// A weight initializer as a compile-time value; the factories beside this file convert to it.
// Keras counterpart: tf.keras.initializers.Initializer. Level 0 of the house; filling is kernels/initial_values.hpp.

namespace stagecraft {

enum class initializer_kind : unsigned char {
  zeros,
  ones,
  constant,
  random_normal,
  random_uniform,
  truncated_normal,
  variance_scaling,
  glorot_normal,
  glorot_uniform,
  he_normal,
  he_uniform,
  lecun_normal,
  lecun_uniform,
  orthogonal,
  identity,
};

/// By what variance_scaling divides its scale.
enum class fan_mode : unsigned char { fan_in, fan_out, fan_avg };

/// From which distribution variance_scaling draws.
enum class initializer_distribution : unsigned char { truncated_normal, untruncated_normal, uniform };

/// How a weight tensor gets its first values. Written through the factories: `initializers::he_normal{.seed = 1}`.
struct initializer {
  initializer_kind kind = initializer_kind::zeros;
  float a = 0;  ///< constant: value; normal: mean; uniform: minval; variance scaling: scale; orthogonal, identity: gain
  float b = 0;  ///< normal: stddev; uniform: maxval
  fan_mode mode = fan_mode::fan_in;                                                    ///< variance scaling
  initializer_distribution distribution = initializer_distribution::truncated_normal;  ///< variance scaling
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  friend constexpr bool operator==(initializer const&, initializer const&) = default;

  /// Keras's class name, as in a model's configuration.
  [[nodiscard]] constexpr std::string_view name() const {
    switch (kind) {
      case initializer_kind::zeros: return "Zeros";
      case initializer_kind::ones: return "Ones";
      case initializer_kind::constant: return "Constant";
      case initializer_kind::random_normal: return "RandomNormal";
      case initializer_kind::random_uniform: return "RandomUniform";
      case initializer_kind::truncated_normal: return "TruncatedNormal";
      case initializer_kind::variance_scaling: return "VarianceScaling";
      case initializer_kind::glorot_normal: return "GlorotNormal";
      case initializer_kind::glorot_uniform: return "GlorotUniform";
      case initializer_kind::he_normal: return "HeNormal";
      case initializer_kind::he_uniform: return "HeUniform";
      case initializer_kind::lecun_normal: return "LecunNormal";
      case initializer_kind::lecun_uniform: return "LecunUniform";
      case initializer_kind::orthogonal: return "Orthogonal";
      case initializer_kind::identity: return "Identity";
    }
    return "Unknown";
  }

  /// True if the values are drawn, false if they are the same for every seed.
  [[nodiscard]] constexpr bool is_random() const {
    return kind != initializer_kind::zeros && kind != initializer_kind::ones && kind != initializer_kind::constant &&
           kind != initializer_kind::identity;
  }
};

}  // namespace stagecraft

// ---- stagecraft/initializers/constant.hpp
// All weights the same value.
// Keras counterpart: tf.keras.initializers.Constant. Level 0 of the house.

namespace stagecraft::initializers {

/// All `value`.
struct constant {
  float value = 0;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::constant, .a = value};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/glorot_normal.hpp
// Truncated normal weights with variance 1 / fan, fan = (fan_in + fan_out) / 2.
// Keras counterpart: tf.keras.initializers.GlorotNormal. Level 0 of the house.

namespace stagecraft::initializers {

/// Truncated normal, variance 1 / fan with fan = (fan_in + fan_out) / 2.
struct glorot_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::glorot_normal,
            .a = 1.0F,
            .mode = fan_mode::fan_avg,
            .distribution = initializer_distribution::truncated_normal,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/glorot_uniform.hpp
// Uniform weights with variance 1 / fan, fan = (fan_in + fan_out) / 2.
// Keras counterpart: tf.keras.initializers.GlorotUniform. Level 0 of the house.

namespace stagecraft::initializers {

/// Uniform in +-sqrt(3 / fan) with fan = (fan_in + fan_out) / 2. Keras's default for kernels.
struct glorot_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::glorot_uniform,
            .a = 1.0F,
            .mode = fan_mode::fan_avg,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/he_normal.hpp
// Truncated normal weights with variance 2 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.HeNormal. Level 0 of the house.

namespace stagecraft::initializers {

/// Truncated normal, variance 2 / fan with fan = fan_in.
struct he_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::he_normal,
            .a = 2.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::truncated_normal,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/he_uniform.hpp
// Uniform weights with variance 2 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.HeUniform. Level 0 of the house.

namespace stagecraft::initializers {

/// Uniform in +-sqrt(6 / fan) with fan = fan_in.
struct he_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::he_uniform,
            .a = 2.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/identity.hpp
// The identity matrix.
// Keras counterpart: tf.keras.initializers.Identity. Level 0 of the house.

namespace stagecraft::initializers {

/// `gain` on the main diagonal, 0 elsewhere. Rank 2 only.
struct identity {
  float gain = 1;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::identity, .a = gain};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/lecun_normal.hpp
// Truncated normal weights with variance 1 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.LecunNormal. Level 0 of the house.

namespace stagecraft::initializers {

/// Truncated normal, variance 1 / fan with fan = fan_in.
struct lecun_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::lecun_normal,
            .a = 1.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::truncated_normal,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/lecun_uniform.hpp
// Uniform weights with variance 1 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.LecunUniform. Level 0 of the house.

namespace stagecraft::initializers {

/// Uniform in +-sqrt(3 / fan) with fan = fan_in.
struct lecun_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::lecun_uniform,
            .a = 1.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/ones.hpp
// All weights 1.
// Keras counterpart: tf.keras.initializers.Ones. Level 0 of the house.

namespace stagecraft::initializers {

/// All 1. The default of normalisation scales.
struct ones {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::ones, .a = 1.0F};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/orthogonal.hpp
// Orthogonal rows or columns.
// Keras counterpart: tf.keras.initializers.Orthogonal. Level 0 of the house.

namespace stagecraft::initializers {

/// A matrix (all but the last axis are rows) with orthonormal rows or columns, times `gain`. Rank 2 or more.
struct orthogonal {
  float gain = 1;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::orthogonal, .a = gain, .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/random_normal.hpp
// Normally distributed weights.
// Keras counterpart: tf.keras.initializers.RandomNormal. Level 0 of the house.

namespace stagecraft::initializers {

/// Normal distribution.
struct random_normal {
  float mean = 0;
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/random_uniform.hpp
// Uniformly distributed weights.
// Keras counterpart: tf.keras.initializers.RandomUniform. Level 0 of the house.

namespace stagecraft::initializers {

/// Uniform in [minval, maxval).
struct random_uniform {
  float minval = -0.05F;
  float maxval = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_uniform, .a = minval, .b = maxval, .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/truncated_normal.hpp
// Normally distributed weights, redrawn outside of two standard deviations.
// Keras counterpart: tf.keras.initializers.TruncatedNormal. Level 0 of the house.

namespace stagecraft::initializers {

/// Normal distribution; values further than two `stddev` from `mean` are drawn again.
struct truncated_normal {
  float mean = 0;
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::truncated_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/variance_scaling.hpp
// Weights whose variance is scale / fan.
// Keras counterpart: tf.keras.initializers.VarianceScaling. Level 0 of the house.

namespace stagecraft::initializers {

/// Variance `scale / fan`; the fan is chosen by `mode`.
struct variance_scaling {
  float scale = 1;
  fan_mode mode = fan_mode::fan_in;
  initializer_distribution distribution = initializer_distribution::truncated_normal;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::variance_scaling,
            .a = scale,
            .mode = mode,
            .distribution = distribution,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/zeros.hpp
// All weights 0.
// Keras counterpart: tf.keras.initializers.Zeros. Level 0 of the house.

namespace stagecraft::initializers {

/// All 0. The default of biases.
struct zeros {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::zeros};
  }
};

}  // namespace stagecraft::initializers

// ---- stagecraft/initializers/initializers.hpp
// All weight initializers.
// Keras counterpart: tf.keras.initializers. Level 0 of the house.

// ---- stagecraft/diagnostics/type_name.hpp
// The name of a type as a text, for messages and for the default name of a model subclass. Level 0.

namespace stagecraft::detail {

/// The name of a type as it stands in the source, without its namespaces and template arguments.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  auto const begin = text.find("T = ") + 4;
  text = text.substr(begin, text.find_first_of(";]", begin) - begin);
  if (text.find("lambda") != std::string_view::npos) return "a lambda";
  text = text.substr(0, text.find('<', 1));
  if (auto const scope = text.find_last_of(":)"); scope != std::string_view::npos && scope + 1 < text.size())
    text = text.substr(scope + 1);
  return text;
}

}  // namespace stagecraft::detail

// ---- stagecraft/graph/dtype.hpp
// Element types of symbolic tensors. Level 1.

namespace stagecraft {

/// Keras's `dtype` argument. The host computes in float32; data of the other types are converted on their way in.
enum class dtype : unsigned char { float32, float16, int32, uint8, boolean };

/// Keras's name of the type.
[[nodiscard]] constexpr std::string_view name(dtype type) noexcept {
  switch (type) {
    case dtype::float16: return "float16";
    case dtype::int32: return "int32";
    case dtype::uint8: return "uint8";
    case dtype::boolean: return "bool";
    default: return "float32";
  }
}

/// Bytes of one element.
[[nodiscard]] constexpr int size_of(dtype type) noexcept {
  switch (type) {
    case dtype::float16: return 2;
    case dtype::uint8:
    case dtype::boolean: return 1;
    default: return 4;
  }
}

}  // namespace stagecraft

// ---- stagecraft/graph/shape.hpp
// The shape of a tensor without its batch dimension, as Keras's `input_shape` arguments give it. Level 1.

namespace stagecraft {

/// Up to six dimensions; the batch dimension is not part of it and is printed as `None`.
struct shape {
  static constexpr int max_rank = 6;

  int dimensions[max_rank]{};
  int dimension_count = 0;

  constexpr shape() = default;
  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1 && sizeof...(Dimensions) <= max_rank)
  constexpr explicit(false) shape(Dimensions... dimension)
      : dimensions{static_cast<int>(dimension)...}, dimension_count(sizeof...(Dimensions)) {}

  /// Number of dimensions without the batch.
  [[nodiscard]] constexpr int rank() const noexcept { return dimension_count; }
  /// Number of elements of one sample.
  [[nodiscard]] constexpr int size() const noexcept {
    int product = 1;
    for (int i = 0; i < dimension_count; ++i) product *= dimensions[i];
    return product;
  }
  constexpr int& operator[](int axis) { return dimensions[axis]; }
  constexpr int operator[](int axis) const { return dimensions[axis]; }
  [[nodiscard]] constexpr int back() const { return dimension_count > 0 ? dimensions[dimension_count - 1] : 1; }
  [[nodiscard]] constexpr int const* begin() const noexcept { return dimensions; }
  [[nodiscard]] constexpr int const* end() const noexcept { return dimensions + dimension_count; }

  constexpr void push_back(int dimension) {
    if (dimension_count < max_rank) dimensions[dimension_count++] = dimension;
  }

  /// Elements of the axes [first, last).
  [[nodiscard]] constexpr int size(int first, int last) const {
    int product = 1;
    for (int i = first; i < last; ++i) product *= dimensions[i];
    return product;
  }

  /// Appends "(28, 28)", in Python's spelling of tuples.
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(');
    append_dimensions(text);
    if (dimension_count == 1) text.append(',');
    text.append(')');
  }
  /// Appends "(None, 28, 28)", as Keras prints a shape with its batch.
  template <class Text>
  constexpr void append_with_batch_to(Text& text) const {
    text.append("(None");
    if (dimension_count > 0)
      text.append(", ");
    else
      text.append(',');
    append_dimensions(text);
    text.append(')');
  }

  friend constexpr bool operator==(shape const& a, shape const& b) {
    if (a.dimension_count != b.dimension_count) return false;
    for (int i = 0; i < a.dimension_count; ++i)
      if (a.dimensions[i] != b.dimensions[i]) return false;
    return true;
  }

 private:
  template <class Text>
  constexpr void append_dimensions(Text& text) const {
    for (int i = 0; i < dimension_count; ++i) {
      if (i > 0) text.append(", ");
      text.append(dimensions[i]);
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/regularizers/regularizer.hpp
// A weight penalty as a compile-time value: l1 * sum|w| + l2 * sum w^2.
// Keras counterpart: tf.keras.regularizers.L1L2. Level 0 of the house; the loops are in kernels/regularization.hpp.

namespace stagecraft {

/// The penalty l1 * sum|w| + l2 * sum w^2 that is added to the loss. Both 0: none.
struct regularizer {
  float l1 = 0;
  float l2 = 0;

  friend constexpr bool operator==(regularizer const&, regularizer const&) = default;

  /// True if there is nothing to add to the loss.
  [[nodiscard]] constexpr bool empty() const { return l1 == 0 && l2 == 0; }
};

}  // namespace stagecraft

// ---- stagecraft/graph/parameter.hpp
// What a layer says of each of its weights. Level 1.

namespace stagecraft {

/// How a policy may store a weight.
enum class parameter_layout : unsigned char {
  plain,   ///< row-major, as in its shape
  matrix,  ///< the right factor of a matrix product, (rows, columns): kept packed in SIMD panels
};

/// One weight: Keras's `add_weight`.
struct parameter {
  fixed_name name;          ///< Keras's name of it, such as "kernel"
  stagecraft::shape shape;  ///< without a batch dimension
  stagecraft::initializer initializer = {};
  stagecraft::regularizer regularizer = {};
  bool trainable = true;
  parameter_layout layout = parameter_layout::plain;

  [[nodiscard]] constexpr int size() const noexcept { return shape.size(); }
};

/// The weights of one layer, in Keras's order. At most eight.
struct parameter_list {
  static constexpr int capacity = 8;
  parameter entries[capacity]{};
  int count = 0;

  /// E1028 for a ninth.
  constexpr void add(parameter const& weight) {
    if (count < capacity) entries[count] = weight;
    ++count;
  }
};

}  // namespace stagecraft

// ---- stagecraft/graph/type_tag.hpp
// A value that stands for a type and leads back to it. A traced graph is one flat constexpr value whose nodes may be
// calls of any layer, also of one that the library has never seen; with its tag, each node's type is found again.
// Level 1.

namespace stagecraft {

/// The address of one of these leads back to a type; `id` tells types of different names apart. (Addresses of different
/// objects cannot be compared in constant evaluation under GCC's undefined-behaviour sanitizer.)
struct type_tag {
  std::uint64_t id = 0;
};

namespace detail {

/// A hash (FNV-1a) of the type's name.
template <class T>
constexpr std::uint64_t id_of_type() {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const c : std::string_view(__PRETTY_FUNCTION__))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class T>
struct type_box {
  using type = T;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
// The way back from an address to a type: this declares a function per address, tag_holder defines it.
template <type_tag const* Tag>
struct tag_key {
  friend constexpr auto type_behind(tag_key<Tag>);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class T>
struct tag_holder {
  static constexpr type_tag tag{id_of_type<T>()};
  friend constexpr auto type_behind(tag_key<&tag>) { return type_box<T>{}; }
};

}  // namespace detail

/// The tag of a type: the same address in each translation unit.
template <class T>
inline constexpr type_tag const* tag_of = &detail::tag_holder<T>::tag;

/// The tag of no type.
inline constexpr type_tag const* no_type = tag_of<void>;

/// Whether two tags stand for one type. Types of one name (GCC gives all lambdas of a signature the same) differ by
/// address; other types are told apart before their addresses are looked at.
[[nodiscard]] constexpr bool same_type(type_tag const* a, type_tag const* b) noexcept {
  return a->id == b->id && a == b;
}

/// The type of a tag.
template <type_tag const* Tag>
using type_of_tag = typename decltype(type_behind(detail::tag_key<Tag>{}))::type;

}  // namespace stagecraft

// ---- stagecraft/graph/node.hpp
// The records of a traced model: layers, calls of layers, nested models. Edges are indices. Level 1.

namespace stagecraft {

/// The stage of a call or layer that has none. Printed as `None`.
inline constexpr int unassigned = -1;

/// Keras's three kinds of model.
enum class model_kind : unsigned char { sequential, functional, subclass };

/// A layer of a model: what its calls share.
struct layer_info {
  fixed_name name;
  std::string_view class_name;     ///< Keras's class name, such as "Dense"
  type_tag const* type = no_type;  ///< leads to the C++ type; no_type for inputs
  int index_in_type = 0;           ///< which of the model's layers of that type, in the order of their first calls
  int first_parameter = 0;         ///< its weights are [first_parameter, first_parameter + parameter_count)
  int parameter_count = 0;
  int pipeline_stage = unassigned;  ///< of a layer constructed in a stage's scope
  int call_count = 0;
  int first_call = 0;
};

/// One call of a layer: a node of the graph, in the order in which calls were made, so that inputs come first.
struct call_info {
  int layer = 0;
  int node_index = 0;   ///< which call of its layer, from 0
  int first_input = 0;  ///< its inputs are the calls inputs[first_input, first_input + input_count)
  int input_count = 0;
  int pipeline_stage = unassigned;
  int nested_model = 0;  ///< the model whose call made it: 0 is the outermost
  bool is_input = false;
  dtype type = dtype::float32;
  stagecraft::shape shape;  ///< of its output, without the batch
  long long flops = 0;      ///< of one sample, forward; a multiply-add counts as two
};

/// A call of a model inside another one; number 0 is the outermost model itself.
struct nested_model_info {
  fixed_name name;
  std::string_view class_name;  ///< as Keras prints it: "Sequential", "Functional" or the name of the subclass
  model_kind kind = model_kind::functional;
  int parent = -1;
  int instance = 0;  ///< calls of one instance share its weights
  int node_index = 0;
  int first_input = 0;  ///< it takes nested_inputs[first_input, first_input + input_count)
  int input_count = 0;
  int first_output = 0;  ///< its outputs are the calls model_outputs[first_output, first_output + output_count)
  int output_count = 0;
};

/// One input of one call of a nested model.
struct nested_input_info {
  fixed_name name;  ///< of the nested model's own InputLayer; empty if it has none
  int call = 0;     ///< the call whose output it is
};

/// The class name that Keras prints for a model of a kind; a subclass has its own.
[[nodiscard]] constexpr std::string_view class_name(model_kind kind) noexcept {
  switch (kind) {
    case model_kind::sequential: return "Sequential";
    case model_kind::functional: return "Functional";
    default: return "Model";
  }
}

}  // namespace stagecraft

// ---- stagecraft/graph/layer_base.hpp
// The part of a layer that does not depend on its type. Level 1.

namespace stagecraft {

/// What all layers carry: a name (empty: made from the class name) and the stage of the scope they were made in.
/// `layer_id` is given at the first call; copies made later share the weights, as Python's references do.
struct layer_base {
  fixed_name layer_name;
  int pipeline_stage = unassigned;
  int layer_id = -1;
};

}  // namespace stagecraft

// ---- stagecraft/graph/layer_inputs.hpp
// What a layer's rules see of one of its calls: the shapes that come in, and where to say that they do not fit.
// Level 1.

namespace stagecraft {

/// The inputs of one call of a layer, given to `output_shape`, `parameters` and `flops`.
class layer_inputs {
 public:
  constexpr layer_inputs(shape const* shapes, int count, std::string_view layer_name, diagnostic& problem)
      : shapes_(shapes), count_(count), layer_name_(layer_name), problem_(&problem) {}

  [[nodiscard]] constexpr int size() const noexcept { return count_; }
  constexpr shape const& operator[](int index) const { return shapes_[index]; }

  /// Says that the call is not valid: `return in.error(1002, "expects ..., but got ", in[0]);`. The text begins with
  /// the layer's name by itself. Returns a shape that stands in for the missing one.
  template <class... Parts>
  constexpr shape error(int code, Parts const&... parts) const {
    problem_->report(code, "layer '", layer_name_, "' ", parts...);
    return count_ > 0 ? shapes_[0] : shape(1);
  }

  /// E1001 unless there are at least `least` and at most `most` inputs.
  constexpr bool expect_count(int least, int most) const {
    if (count_ >= least && count_ <= most) return true;
    if (least == most)
      error(1001, "takes ", least, least == 1 ? " input" : " inputs", ", but is called with ", count_);
    else
      error(1001, "takes at least ", least, " inputs, but is called with ", count_);
    return false;
  }

 private:
  shape const* shapes_;
  int count_;
  std::string_view layer_name_;
  diagnostic* problem_;
};

}  // namespace stagecraft

// ---- stagecraft/graph/symbolic_tensor.hpp
// A tensor that exists only while a model is traced: what a layer's call gives, and the next one takes. Level 1.

namespace stagecraft {

class model_builder;

/// Keras's symbolic tensor: the output of one call, known by its index. Copies stand for the same tensor. Without a
/// model it is what an invalid call gave, which has had its compile error.
struct symbolic_tensor {
  model_builder* model = nullptr;
  int call = 0;

  /// Its shape, without the batch.
  [[nodiscard]] constexpr stagecraft::shape const& shape() const;
  [[nodiscard]] constexpr dtype type() const;
};

/// Several tensors as a model's outputs: `return sc::outputs(a, b);`.
template <class... Tensors>
[[nodiscard]] constexpr auto outputs(Tensors... tensor) {
  return std::array<symbolic_tensor, sizeof...(Tensors)>{tensor...};
}

namespace detail {

/// The first tensor that a layer or model is called with. Converting to it, the compiler fills in the line of the call.
struct first_tensor {
  symbolic_tensor tensor;
  source_line where;

  constexpr first_tensor(symbolic_tensor given, char const* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor(given), where{file, line} {}
};

/// Whether a call's arguments are one or more symbolic tensors.
template <class... Arguments>
inline constexpr bool are_tensors = sizeof...(Arguments) > 0 && ((std::same_as<Arguments, symbolic_tensor> ||
                                                                  std::same_as<Arguments, first_tensor>) &&
                                                                 ...);

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/graph/model_builder.hpp
// Records a model while its `build` or `call` runs in constant evaluation: each call of a layer appends a node. This is
// what a functional model's `build(auto& model)` gets. Level 1.

namespace stagecraft {

namespace detail {

/// Collects the layers of one type while a model is traced once more.
struct layer_collector {
  type_tag const* wanted = no_type;
  constexpr virtual void take(layer_base const& layer) = 0;

 protected:
  constexpr ~layer_collector() = default;
};

/// What a layer says of a call, gathered by layer<Derived>.
struct call_record {
  layer_base* layer;
  std::string_view class_name;
  type_tag const* type;
  std::span<symbolic_tensor const> inputs;
  stagecraft::shape shape;
  dtype type_of_output = dtype::float32;
  long long flops = 0;
  parameter_list const* parameters;
};

/// What is known of a model before it is traced.
struct model_description {
  model_kind kind;
  std::string_view class_name;
  std::string_view name;  // empty: made from the class name
};

/// A nested model while its layers are being traced.
struct nested_frame {
  int model = 0;                           // index of nested_models
  std::span<symbolic_tensor const> bound;  // what its inputs are given
  std::size_t next_bound = 0;
  int instance = 0;
  bool replay = false;  // a further call of the same instance: layers are taken in their first order
  std::size_t next_layer = 0;
};

}  // namespace detail

/// A model under construction.
class model_builder {
 public:
  constexpr explicit model_builder(detail::layer_collector* collector = nullptr) : collector_(collector) {}
  model_builder(model_builder const&) = delete;
  model_builder& operator=(model_builder const&) = delete;

  /// A new input of the model: Keras's `Input`, without the batch dimension.
  template <std::integral... Dimensions>
  constexpr symbolic_tensor input(Dimensions... dimension) {
    return input(shape(dimension...));
  }
  constexpr symbolic_tensor input(shape const& dimensions, std::string_view name = {}, dtype type = dtype::float32) {
    for (int const dimension : dimensions)
      if (dimension < 1)
        problem.report(1003, "input ", name, name.empty() ? "" : " ", "has shape ", dimensions,
                       ", but each dimension must be at least 1");
    if (auto* frame = bound_frame()) return next_bound_input(*frame, dimensions, name);
    auto const index = add_layer(name.empty() ? unique_name("input") : fixed_name(name), "InputLayer", no_type);
    call_info call;
    call.layer = index;
    call.is_input = true;
    call.type = type;
    call.shape = dimensions;
    call.nested_model = current_model();
    return append(call);
  }

  /// A layer constructed here: it remembers the stage of the scope that is open, for all its calls.
  template <class Layer>
  constexpr Layer layer(Layer value) const {
    if (open_stage != unassigned) value.pipeline_stage = open_stage;
    return value;
  }

  // What layers, models and scopes call while they are traced.
  constexpr int layer_of(detail::call_record const& record);
  constexpr symbolic_tensor add_call(detail::call_record const& record);
  constexpr int enter(detail::model_description const& model, int instance, std::span<symbolic_tensor const> bound);
  constexpr void leave(std::span<symbolic_tensor const> outputs);
  /// The next tensor that the model being traced is called with.
  constexpr symbolic_tensor take_input() {
    auto& frame = frames_.back();
    if (frame.next_bound < frame.bound.size()) return frame.bound[frame.next_bound++];
    problem.report(1001, "model '", nested_models[static_cast<std::size_t>(frame.model)].name,
                   "' has more inputs than the ", static_cast<int>(frame.bound.size()), " that it is called with");
    return frame.bound.empty() ? symbolic_tensor{this, 0} : frame.bound[0];
  }
  [[nodiscard]] constexpr std::string_view name_of(int layer) const {
    return layers[static_cast<std::size_t>(layer)].name;
  }
  [[nodiscard]] constexpr int current_model() const { return frames_.empty() ? 0 : frames_.back().model; }

  diagnostic problem;
  int open_stage = unassigned;
  bool uses_stages = false;

  std::vector<layer_info> layers;
  std::vector<parameter> parameters;
  std::vector<call_info> calls;
  std::vector<int> inputs;                       // of the calls
  std::vector<nested_model_info> nested_models;  // [0] is the model itself
  std::vector<nested_input_info> nested_inputs;  // of the nested models
  std::vector<int> model_outputs;                // of the nested models

 private:
  struct name_counter {
    fixed_name base;
    int used;
  };

  struct type_counter {
    type_tag const* type;
    int layers;
    int name;  // its class's place in name_counters_, or -1
  };
  struct known_name {
    unsigned hash;
    int layer;
  };

  constexpr int add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type);
  constexpr type_counter& counter_of(type_tag const* type);
  constexpr int name_counter_of(std::string_view class_name);
  constexpr fixed_name next_name(int counter);
  constexpr fixed_name unique_name(std::string_view class_name) { return next_name(name_counter_of(class_name)); }
  constexpr void check_name_is_new(fixed_name const& name);
  constexpr void check_shared_weights(int layer, parameter_list const& weights);

  constexpr detail::nested_frame* bound_frame() {
    return frames_.empty() || frames_.back().model == 0 ? nullptr : &frames_.back();
  }

  constexpr symbolic_tensor next_bound_input(detail::nested_frame& frame, shape const& dimensions,
                                             std::string_view name) {
    auto const position = frame.next_bound;
    auto const given = take_input();
    auto const& model = nested_models[static_cast<std::size_t>(frame.model)];
    if (!(given.shape() == dimensions))
      problem.report(1004, "model '", model.name, "' has an input of shape ", dimensions, ", but is called with ",
                     given.shape());
    auto& names = instance_inputs_[static_cast<std::size_t>(frame.instance)];
    if (position >= names.size()) names.push_back(name.empty() ? unique_name("input") : fixed_name(name));
    if (position < static_cast<std::size_t>(model.input_count) && position < names.size())
      nested_inputs[static_cast<std::size_t>(model.first_input) + position].name = names[position];
    return given;
  }

  constexpr symbolic_tensor append(call_info const& call) {
    auto& layer = layers[static_cast<std::size_t>(call.layer)];
    if (layer.call_count++ == 0) layer.first_call = static_cast<int>(calls.size());
    calls.push_back(call);
    return {this, static_cast<int>(calls.size()) - 1};
  }

  detail::layer_collector* collector_;
  std::vector<detail::nested_frame> frames_;
  std::vector<std::vector<int>> instance_layers_;
  std::vector<int> instance_calls_;
  std::vector<fixed_name> instance_names_;
  std::vector<std::vector<fixed_name>> instance_inputs_;
  std::vector<name_counter> name_counters_;
  std::vector<type_counter> type_counters_;
  std::vector<std::vector<known_name>> layers_by_name_;  // by a hash of their names
};

namespace detail {

inline constexpr shape no_shape{};

}  // namespace detail

constexpr shape const& symbolic_tensor::shape() const {
  return model == nullptr ? detail::no_shape : model->calls[static_cast<std::size_t>(call)].shape;
}
constexpr dtype symbolic_tensor::type() const {
  return model == nullptr ? dtype::float32 : model->calls[static_cast<std::size_t>(call)].type;
}

namespace detail {

/// Keras's `to_snake_case`, its two substitutions in turn: "(.)([A-Z][a-z0-9]+)", then "([a-z])([A-Z])".
constexpr fixed_name snake_case(std::string_view class_name) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
  auto const tail = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  fixed_name words;
  std::size_t const size = class_name.size();
  for (std::size_t i = 0; i < size;) {
    words.append(class_name[i++]);
    if (i + 1 >= size || !upper(class_name[i]) || !tail(class_name[i + 1])) continue;
    words.append('_').append(class_name[i++]);
    while (i < size && tail(class_name[i])) words.append(class_name[i++]);
  }
  fixed_name name(words.length > 0 && words.characters[0] == '_' ? "private" : "");
  for (std::size_t i = 0; i < words.length; ++i) {
    char const c = words.characters[i];
    if (i > 0 && upper(c) && lower(words.characters[i - 1])) name.append('_');
    name.append(upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return name;
}

}  // namespace detail

constexpr int model_builder::name_counter_of(std::string_view class_name) {
  auto const base = detail::snake_case(class_name);
  for (std::size_t i = 0; i < name_counters_.size(); ++i)
    if (name_counters_[i].base == base) return static_cast<int>(i);
  // The first input of Keras is input_1, the first of any other class has no number.
  name_counters_.push_back({base, base == "input" ? 1 : 0});
  return static_cast<int>(name_counters_.size()) - 1;
}

/// Keras's rule: the class name in snake case, with a number from its second use on.
constexpr fixed_name model_builder::next_name(int index) {
  auto& counter = name_counters_[static_cast<std::size_t>(index)];
  auto name = counter.base;
  if (counter.used > 0) name.append('_').append(counter.used);
  ++counter.used;
  return name;
}

constexpr model_builder::type_counter& model_builder::counter_of(type_tag const* type) {
  for (auto& counter : type_counters_)
    if (same_type(counter.type, type)) return counter;
  type_counters_.push_back({type, 0, -1});
  return type_counters_.back();
}

// By hash, since every pair of layers compared would cost large models most of the compilers' limits of steps.
constexpr void model_builder::check_name_is_new(fixed_name const& name) {
  if (name.is_cut)
    problem.report(1026, "layer name '", name, "...' has more than ", static_cast<int>(max_name_length),
                   " characters; give the layer a shorter name");
  constexpr std::size_t buckets = 64;
  if (layers_by_name_.empty()) layers_by_name_.resize(buckets);
  unsigned hash = 0;
  for (std::size_t i = 0; i < name.length; ++i) hash = hash * 31 + static_cast<unsigned char>(name.characters[i]);
  auto& bucket = layers_by_name_[hash % buckets];
  for (auto const& other : bucket)
    if (other.hash == hash && layers[static_cast<std::size_t>(other.layer)].name == name)
      problem.report(1005, "layer name '", name, "' is used twice; each layer of a model needs a name of its own");
  bucket.push_back({hash, static_cast<int>(layers.size())});
}

constexpr int model_builder::add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type) {
  check_name_is_new(name);
  layer_info info;
  info.name = name;
  info.class_name = class_name;
  info.type = type;
  info.index_in_type = counter_of(type).layers++;
  layers.push_back(info);
  return static_cast<int>(layers.size()) - 1;
}

/// The layer that is called: the one it was at its first call, or a new one.
constexpr int model_builder::layer_of(detail::call_record const& record) {
  auto& layer = *record.layer;
  if (layer.layer_id >= 0) return layer.layer_id;
  auto* frame = bound_frame();
  if (frame != nullptr && frame->replay) {
    auto const& known = instance_layers_[static_cast<std::size_t>(frame->instance)];
    if (frame->next_layer < known.size()) return layer.layer_id = known[frame->next_layer++];
  }
  if (layer.layer_name.empty()) {
    auto& counter = counter_of(record.type);
    if (counter.name < 0) counter.name = name_counter_of(record.class_name);
    layer.layer_id = add_layer(next_name(counter.name), record.class_name, record.type);
  } else {
    layer.layer_id = add_layer(layer.layer_name, record.class_name, record.type);
  }
  layers.back().pipeline_stage = layer.pipeline_stage;
  if (collector_ != nullptr && same_type(collector_->wanted, record.type)) collector_->take(layer);
  if (frame != nullptr) instance_layers_[static_cast<std::size_t>(frame->instance)].push_back(layer.layer_id);
  return layer.layer_id;
}

constexpr symbolic_tensor model_builder::add_call(detail::call_record const& record) {
  auto const index = record.layer->layer_id;
  auto& layer = layers[static_cast<std::size_t>(index)];
  if (layer.call_count == 0) {
    layer.first_parameter = static_cast<int>(parameters.size());
    layer.parameter_count = record.parameters->count;
    for (int i = 0; i < record.parameters->count; ++i) parameters.push_back(record.parameters->entries[i]);
  } else {
    check_shared_weights(index, *record.parameters);
  }
  call_info call;
  call.layer = index;
  call.node_index = layer.call_count;
  call.first_input = static_cast<int>(inputs.size());
  call.input_count = static_cast<int>(record.inputs.size());
  for (auto const& input : record.inputs) inputs.push_back(input.call);
  call.pipeline_stage = open_stage != unassigned ? open_stage : layer.pipeline_stage;
  if (call.pipeline_stage != unassigned) uses_stages = true;
  call.nested_model = current_model();
  call.type = record.type_of_output;
  call.shape = record.shape;
  call.flops = record.flops;
  return append(call);
}

constexpr void model_builder::check_shared_weights(int index, parameter_list const& weights) {
  auto const& layer = layers[static_cast<std::size_t>(index)];
  for (int i = 0; i < layer.parameter_count && i < weights.count; ++i) {
    auto const& known = parameters[static_cast<std::size_t>(layer.first_parameter + i)];
    if (!(known.shape == weights.entries[i].shape))
      problem.report(1008, "layer '", layer.name, "' is called again with inputs for which its weight '", known.name,
                     "' would have shape ", weights.entries[i].shape, ", but it was made with ", known.shape);
  }
}

/// Begins a call of a nested model (or, with no model open yet, of the outermost one).
/// Gives the instance, which the model object keeps for its next call.
constexpr int model_builder::enter(detail::model_description const& model, int instance,
                                   std::span<symbolic_tensor const> bound) {
  detail::nested_frame frame;
  frame.model = static_cast<int>(nested_models.size());
  frame.bound = bound;
  frame.replay = instance >= 0;
  if (!frame.replay) {
    instance = static_cast<int>(instance_layers_.size());
    instance_layers_.emplace_back();
    instance_inputs_.emplace_back();
    instance_calls_.push_back(0);
    auto const default_name = model.kind == model_kind::functional ? std::string_view("Model") : model.class_name;
    instance_names_.push_back(model.name.empty() ? unique_name(default_name) : fixed_name(model.name));
  }
  frame.instance = instance;
  nested_model_info info;
  info.name = instance_names_[static_cast<std::size_t>(instance)];
  info.class_name = model.class_name;
  info.kind = model.kind;
  info.parent = frames_.empty() ? -1 : frames_.back().model;
  info.instance = instance;
  info.node_index = instance_calls_[static_cast<std::size_t>(instance)]++;
  info.first_input = static_cast<int>(nested_inputs.size());
  info.input_count = static_cast<int>(bound.size());
  for (auto const& tensor : bound) nested_inputs.push_back({{}, tensor.call});
  nested_models.push_back(info);
  frames_.push_back(frame);
  return instance;
}

constexpr void model_builder::leave(std::span<symbolic_tensor const> outputs) {
  auto const frame = frames_.back();
  auto& model = nested_models[static_cast<std::size_t>(frame.model)];
  if (frame.model != 0 && frame.next_bound < frame.bound.size())
    problem.report(1001, "model '", model.name, "' takes ", static_cast<int>(frame.next_bound),
                   frame.next_bound == 1 ? " input" : " inputs", ", but is called with ",
                   static_cast<int>(frame.bound.size()));
  model.first_output = static_cast<int>(model_outputs.size());
  model.output_count = static_cast<int>(outputs.size());
  for (auto const& output : outputs) {
    if (output.model == nullptr) problem.already_reported();
    model_outputs.push_back(output.model == nullptr ? 0 : output.call);
  }
  frames_.pop_back();
}

}  // namespace stagecraft

// ---- stagecraft/graph/layer.hpp
// What makes a struct a layer: the base that lets it be called on symbolic tensors, and the concept that says what its
// rules are. Keras counterpart: tf.keras.layers.Layer. Level 1.

namespace stagecraft {

/// A layer says its class name and the shape of its output; the other rules have defaults.
template <class L>
concept Layer = std::derived_from<L, layer_base> && requires(L const& layer, layer_inputs const& in) {
  { L::class_name } -> std::convertible_to<std::string_view>;
  { layer.output_shape(in) } -> std::convertible_to<shape>;
};

namespace detail {

/// The class name of a layer, or what to say in its place.
template <class L>
constexpr std::string_view name_of_layer() {
  if constexpr (requires {
                  { L::class_name } -> std::convertible_to<std::string_view>;
                })
    return L::class_name;
  else
    return type_name<L>();
}

/// E1007: what a struct lacks to be a layer.
template <class L>
constexpr diagnostic check_layer() {
  diagnostic problem;
  if constexpr (!requires {
                  { L::class_name } -> std::convertible_to<std::string_view>;
                })
    problem.report(1007, "layer type '", type_name<L>(),
                   "' has no class name; give it `static constexpr std::string_view "
                   "class_name = \"...\";`");
  else if constexpr (!requires(L const& layer, layer_inputs const& in) {
                       { layer.output_shape(in) } -> std::convertible_to<shape>;
                     })
    problem.report(1007, "layer type '", type_name<L>(),
                   "' does not say the shape of its output; give it `constexpr shape "
                   "output_shape(layer_inputs const& in) const`");
  return problem;
}

}  // namespace detail

/// Base of every layer. A layer of your own:
///
///     struct scale : sc::layer<scale> {
///       static constexpr std::string_view class_name = "Scale";
///       constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
///       constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
///         weights.add({.name = "factor", .shape = {in[0].back()}, .initializer = sc::initializers::ones{}});
///       }
///       // what it computes: `forward` and `backward`, see execution/operation.hpp
///     };
///
/// Options are public members, so that a layer can be a template argument of `sequential`. Called as a named variable,
/// a layer keeps its weights from call to call; called as a temporary, it is a new one each time.
template <class Derived>
struct layer : layer_base {
  /// Calls the layer. E1001 and the codes of its own rules.
  template <std::same_as<symbolic_tensor>... More>
  constexpr symbolic_tensor operator()(detail::first_tensor first, More... more) & {
    symbolic_tensor const given[]{first.tensor, more...};
    return trace(static_cast<Derived&>(*this), given, first.where);
  }
  template <std::same_as<symbolic_tensor>... More>
  constexpr symbolic_tensor operator()(detail::first_tensor first, More... more) && {
    symbolic_tensor const given[]{first.tensor, more...};
    return trace(static_cast<Derived&>(*this), given, first.where);
  }
  /// A const layer cannot remember which weights are its own from one call to the next.
  template <std::same_as<symbolic_tensor>... More>
  constexpr symbolic_tensor operator()(detail::first_tensor, More...) const& {
    static_assert(detail::report<const_call_problem<Derived>>());
    return {};
  }
  /// Keras's spelling with a list: `add{}({a, b})`.
  constexpr symbolic_tensor operator()(std::initializer_list<symbolic_tensor> tensors,
                                       char const* file = __builtin_FILE(), int line = __builtin_LINE()) & {
    return trace(static_cast<Derived&>(*this), {tensors.begin(), tensors.size()}, {file, line});
  }
  constexpr symbolic_tensor operator()(std::initializer_list<symbolic_tensor> tensors,
                                       char const* file = __builtin_FILE(), int line = __builtin_LINE()) && {
    return trace(static_cast<Derived&>(*this), {tensors.begin(), tensors.size()}, {file, line});
  }
  /// Called with anything else: E1018.
  template <class... Arguments>
    requires(!detail::are_tensors<Arguments...>)
  constexpr symbolic_tensor operator()(Arguments const&...) const {
    static_assert(detail::report<wrong_call_problem<Derived, sizeof...(Arguments)>>());
    return {};
  }

  /// The same layer with Keras's `name` argument.
  [[nodiscard]] constexpr Derived named(std::string_view name) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.layer_name = name;
    return copy;
  }
  /// The same layer as if it were constructed in the scope of a pipeline stage.
  [[nodiscard]] constexpr Derived in_pipeline_stage(int stage) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.pipeline_stage = stage;
    return copy;
  }

 private:
  template <class L>
  static constexpr diagnostic const_call_problem = [] {
    diagnostic problem;
    problem.report(1006, "a layer that is const (", detail::name_of_layer<L>(),
                   ") cannot be called, since a call gives it "
                   "its weights; make the variable, or the model's `call`, non-const");
    return problem;
  }();
  template <class L, std::size_t Arguments>
  static constexpr diagnostic wrong_call_problem = [] {
    diagnostic problem;
    problem.report(1018, "a layer (", detail::name_of_layer<L>(), ") is called with ",
                   Arguments == 0 ? "nothing" : "something that is not a tensor of this model",
                   "; call it with the output of model.input(...) or of another layer");
    return problem;
  }();
  template <class L>
  static constexpr diagnostic incomplete_problem = detail::check_layer<L>();

  static constexpr symbolic_tensor trace(Derived& self, std::span<symbolic_tensor const> given,
                                         source_line const& where) {
    if constexpr (Layer<Derived>) {
      for (auto const& tensor : given)
        if (tensor.model == nullptr) return {};
      if (given.empty()) return {};
      auto& model = *given[0].model;
      auto const output = trace_call(self, model, given);
      model.problem.locate(where);
      return output;
    } else {
      static_assert(detail::report<incomplete_problem<Derived>>());
      return {};
    }
  }

  static constexpr symbolic_tensor trace_call(Derived& self, model_builder& model,
                                              std::span<symbolic_tensor const> given) {
    std::vector<shape> shapes;
    if (given.size() > 1) {
      shapes.reserve(given.size());
      for (auto const& tensor : given) shapes.push_back(tensor.shape());
    }

    detail::call_record record{};
    record.layer = &self;
    record.class_name = Derived::class_name;
    record.type = tag_of<Derived>;
    record.inputs = given;
    record.shape = given[0].shape();
    record.type_of_output = given[0].type();
    auto const layer_id = model.layer_of(record);
    layer_inputs const in(given.size() > 1 ? shapes.data() : &given[0].shape(), static_cast<int>(given.size()),
                          model.name_of(layer_id), model.problem);
    parameter_list weights;
    // After a broken rule shapes may be anything: no further rule is asked.
    if (!model.problem.failed()) record.shape = self.output_shape(in);
    if (!model.problem.failed()) {
      if constexpr (requires { self.flops(in); }) record.flops = self.flops(in);
      if constexpr (requires { self.parameters(in, weights); }) self.parameters(in, weights);
      if (weights.count > parameter_list::capacity)
        in.error(1028, "has ", weights.count, " weights; a layer has at most ", parameter_list::capacity);
      if constexpr (requires { Derived::is_view; }) {
        if (Derived::is_view &&
            (given.size() != 1 || record.shape.size() != given[0].shape().size() || weights.count > 0))
          in.error(1027,
                   "says that it is a view, but a view takes one tensor, keeps its number of elements and has no "
                   "weights");
      }
      if (model.problem.failed()) weights.count = 0;
    }
    record.parameters = &weights;
    return model.add_call(record);
  }
};

}  // namespace stagecraft

// ---- stagecraft/graph/wrong_options.hpp
// What a layer says when it is made from other options than it has: one error, and a layer that stands in. Level 1.

namespace stagecraft::detail {

/// E1025. A layer's last constructor takes anything, `layer(...)`, and reports this; `L::usage` is how to write it.
template <class L>
inline constexpr diagnostic wrong_options_problem = [] {
  diagnostic problem;
  problem.report(1025, "layer ", L::class_name, " is made from options that it does not have; write ", L::usage);
  return problem;
}();

}  // namespace stagecraft::detail

// ---- stagecraft/layers/activation.hpp
// An activation function as a layer of its own: tf.keras.layers.Activation. Level 2.

namespace stagecraft::layers {

/// Applies an activation: `activation{sc::relu}`. Shape unchanged, no weights, about one FLOP per element.
/// Definition: Keras API, layers/core_layers/activation.
struct activation : layer<activation> {
  static constexpr std::string_view class_name = "Activation";
  static constexpr std::string_view usage = "activation{sc::relu}";

  stagecraft::activation function;

  constexpr explicit activation(stagecraft::activation function_) : function(function_) {}

  /// Anything else: E1025.
  template <class L = activation>
  constexpr explicit activation(...) : activation(linear) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/merge.hpp
// What the layers that combine tensors of one shape element by element have in common. Level 2.

namespace stagecraft::layers {

/// Base of add, subtract, multiply, average and maximum: all inputs have one shape, which is the output's.
/// Errors: E1001 number of inputs, E1014 different shapes.
template <class Derived, int MostInputs = 16>
struct merge : layer<Derived> {
  static constexpr int most_inputs = MostInputs;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(2, MostInputs)) return in[0];
    for (int i = 1; i < in.size(); ++i)
      if (!(in[i] == in[0]))
        return in.error(1014, "expects inputs of one shape, but input 0 has ", in[0], " and input ", i, " has ", in[i]);
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return static_cast<long long>(in.size() - 1) * in[0].size();
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/add.hpp
// The sum of its inputs: tf.keras.layers.Add. Level 2.

namespace stagecraft::layers {

/// Adds two or more inputs of one shape, element by element.
/// Called as `add{}(a, b)` or `add{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/add.
struct add : merge<add> {
  static constexpr std::string_view class_name = "Add";
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/average.hpp
// The mean of its inputs: tf.keras.layers.Average. Level 2.

namespace stagecraft::layers {

/// The mean of two or more inputs of one shape, element by element.
/// Called as `average{}(a, b)` or `average{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/average.
struct average : merge<average> {
  static constexpr std::string_view class_name = "Average";
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/concatenate.hpp
// Joins its inputs along one axis: tf.keras.layers.Concatenate. Level 2.

namespace stagecraft::layers {

/// Joins two or more inputs whose shapes agree in all other axes. `axis` counts as in Keras: the batch is axis 0, -1 is
/// the last. No weights.
/// Errors: E1001; E1015 axis out of range or the batch; E1016 shapes that differ elsewhere.
/// Definition: Keras API, layers/merging_layers/concatenate.
struct concatenate : layer<concatenate> {
  static constexpr std::string_view class_name = "Concatenate";
  static constexpr std::string_view usage = "concatenate{} or concatenate{axis}";
  static constexpr int most_inputs = 16;

  int axis;

  constexpr explicit(false) concatenate(int axis_ = -1) : axis(axis_) {}

  /// Anything else: E1025.
  template <class L = concatenate>
  constexpr explicit concatenate(...) : concatenate(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis among those of a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(2, most_inputs)) return in[0];
    auto const along = shape_axis(in[0]);
    if (along < 0 || along >= in[0].rank())
      return in.error(1015, "joins along axis ", axis, ", which is not an axis of an input of shape ", in[0],
                      "; axis 0 is the batch, the last is ", in[0].rank());
    auto result = in[0];
    for (int i = 1; i < in.size(); ++i) {
      bool same = in[i].rank() == in[0].rank();
      for (int k = 0; same && k < in[0].rank(); ++k) same = k == along || in[i][k] == in[0][k];
      if (!same)
        return in.error(1016, "joins along axis ", axis, ", so its inputs must agree in all others, but input 0 has ",
                        in[0], " and input ", i, " has ", in[i]);
      result[along] += in[i][along];
    }
    return result;
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/dense.hpp
// A densely connected layer: tf.keras.layers.Dense. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of Dense.
struct dense_options {
  bool use_bias = true;
  initializer kernel_initializer = initializers::glorot_uniform{};
  initializer bias_initializer = initializers::zeros{};
  regularizer kernel_regularizer = {};
  regularizer bias_regularizer = {};
  fixed_name name = {};
};

/// output = activation(input * kernel + bias), over the last axis of its input.
///
/// Shape: (..., k) to (..., units). Weights: kernel (k, units), bias (units). Cost: 2 * k * units FLOPs per row.
/// Errors: E1012 if units is below 1; E1002 if the input has no axis. Definition: Keras API, layers/core_layers/dense.
struct dense : layer<dense> {
  static constexpr std::string_view class_name = "Dense";
  static constexpr std::string_view usage =
      "dense{units}, dense{units, activation} or dense{units, activation, {.use_bias = false, .name = ...}}";

  int units;
  stagecraft::activation activation;
  bool use_bias;
  initializer kernel_initializer;
  initializer bias_initializer;
  regularizer kernel_regularizer;
  regularizer bias_regularizer;

  constexpr explicit(false) dense(int units_) : dense(dense_options{}, units_, linear) {}
  constexpr dense(int units_, dense_options const& options) : dense(options, units_, linear) {}
  // A template, since inside templates Clang takes `{.name = "..."}` for an activation, too.
  template <std::same_as<stagecraft::activation> Activation>
  constexpr dense(int units_, Activation activation_, dense_options const& options = {})
      : dense(options, units_, activation_) {}

  /// Anything else: E1025.
  template <class L = dense>
  constexpr explicit dense(...) : dense(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (units < 1) return in.error(1012, "has ", units, " units; it needs at least 1");
    if (in[0].rank() < 1) return in.error(1002, "expects an input of at least one axis, but got ", in[0]);
    auto result = in[0];
    result[result.rank() - 1] = units;
    return result;
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    weights.add({.name = "kernel",
                 .shape = {in[0].back(), units},
                 .initializer = kernel_initializer,
                 .regularizer = kernel_regularizer,
                 .layout = parameter_layout::matrix});
    if (use_bias)
      weights.add({.name = "bias", .shape = {units}, .initializer = bias_initializer, .regularizer = bias_regularizer});
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    auto const rows = in[0].size() / in[0].back();
    return 2LL * rows * in[0].back() * units + (use_bias ? static_cast<long long>(rows) * units : 0);
  }

 private:
  constexpr dense(dense_options const& options, int units_, stagecraft::activation activation_)
      : units(units_),
        activation(activation_),
        use_bias(options.use_bias),
        kernel_initializer(options.kernel_initializer),
        bias_initializer(options.bias_initializer),
        kernel_regularizer(options.kernel_regularizer),
        bias_regularizer(options.bias_regularizer) {
    layer_name = options.name;
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/dropout.hpp
// Sets a random part of its input to zero while training: tf.keras.layers.Dropout. Level 2.

namespace stagecraft::layers {

/// While training, each element is 0 with probability `rate`, and multiplied by 1 / (1 - rate) otherwise; at inference
/// the input passes unchanged. Shape unchanged, no weights. Which elements are dropped follows from the trainer's seed
/// (or `seed`, unless 0), the call and the step, not from threads.
/// Errors: E1013 if rate is not in [0, 1). Definition: Keras API, layers/regularization_layers/dropout.
struct dropout : layer<dropout> {
  static constexpr std::string_view class_name = "Dropout";
  static constexpr std::string_view usage = "dropout{rate} or dropout{rate, seed}";

  float rate;
  std::uint64_t seed;

  constexpr explicit dropout(float rate_, std::uint64_t seed_ = 0) : rate(rate_), seed(seed_) {}
  constexpr explicit dropout(double rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}
  constexpr explicit dropout(int rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}

  /// Anything else: E1025.
  template <class L = dropout>
  constexpr explicit dropout(...) : dropout(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(rate > -1e6F && rate < 1e6F))
      return in.error(1013, "has a rate that is far out or not a number; it must be at least 0 and below 1");
    if (!(rate >= 0.0F && rate < 1.0F))
      return in.error(1013, "has a rate of ", static_cast<int>(rate * 100),
                      " percent; it must be at least 0 and below 1");
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/flatten.hpp
// All axes but the batch become one: tf.keras.layers.Flatten. Level 2.

namespace stagecraft::layers {

/// Shape: (a, b, ...) to (a * b * ...). No weights, no cost: the output is the input's memory.
struct flatten : layer<flatten> {
  static constexpr std::string_view class_name = "Flatten";
  static constexpr bool is_view = true;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    return shape(in[0].size());
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/input.hpp
// The input of a model: tf.keras.Input and tf.keras.layers.InputLayer. Level 2.

namespace stagecraft::layers {

/// An input of the given shape, without the batch dimension: the first entry of `sequential`, or an argument of
/// `build`. In a functional model's `build` it is spelled `model.input(28, 28)` or `input{28, 28}(model)`.
/// E1003 if a dimension is below 1.
struct input : layer_base {
  static constexpr std::string_view class_name = "InputLayer";
  static constexpr std::string_view usage = "input{28, 28} with the dimensions of one sample";

  shape dimensions;
  dtype type = dtype::float32;

  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1 && sizeof...(Dimensions) <= shape::max_rank)
  constexpr input(Dimensions... dimension) : dimensions(dimension...) {}
  constexpr explicit input(shape const& dimensions_, dtype type_ = dtype::float32, std::string_view name = {})
      : layer_base{name}, dimensions(dimensions_), type(type_) {}

  /// Anything else: E1025.
  template <class L = input>
  constexpr explicit input(...) : input(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr symbolic_tensor operator()(model_builder& model) const { return model.input(dimensions, layer_name, type); }

  /// The same input with Keras's `name` argument.
  [[nodiscard]] constexpr input named(std::string_view name) const { return input(dimensions, type, name); }
  /// The same input with Keras's `dtype` argument.
  [[nodiscard]] constexpr input of_type(dtype new_type) const { return input(dimensions, new_type, layer_name); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/maximum.hpp
// The largest of its inputs: tf.keras.layers.Maximum. Level 2.

namespace stagecraft::layers {

/// The maximum of two or more inputs of one shape, element by element.
/// Called as `maximum{}(a, b)` or `maximum{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/maximum.
struct maximum : merge<maximum> {
  static constexpr std::string_view class_name = "Maximum";
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/multiply.hpp
// The product of its inputs: tf.keras.layers.Multiply. Level 2.

namespace stagecraft::layers {

/// Multiplies two or more inputs of one shape, element by element.
/// Called as `multiply{}(a, b)` or `multiply{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/multiply.
struct multiply : merge<multiply> {
  static constexpr std::string_view class_name = "Multiply";
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/reshape.hpp
// Gives its input another shape: tf.keras.layers.Reshape. Level 2.

namespace stagecraft::layers {

/// Shape: any to the target, which has as many elements; one dimension may be -1 and is inferred. No weights, no cost:
/// the output is the input's memory. Errors: E1017 if the numbers of elements differ.
/// Definition: Keras API, layers/reshaping_layers/reshape.
struct reshape : layer<reshape> {
  static constexpr std::string_view class_name = "Reshape";
  static constexpr std::string_view usage = "reshape{4, 7} with the new dimensions";
  static constexpr bool is_view = true;

  shape target;

  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1 && sizeof...(Dimensions) <= shape::max_rank)
  constexpr explicit reshape(Dimensions... dimension) : target(dimension...) {}
  constexpr explicit reshape(shape const& target_) : target(target_) {}

  /// Anything else: E1025.
  template <class L = reshape>
  constexpr explicit reshape(...) : reshape(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    auto result = target;
    int known = 1, unknown = -1;
    bool valid = true;
    for (int i = 0; i < target.rank(); ++i) {
      if (target[i] == -1 && unknown < 0)
        unknown = i;
      else if (target[i] < 1)
        valid = false;
      else
        known *= target[i];
    }
    if (valid && unknown >= 0 && in[0].size() % known == 0) {
      result[unknown] = in[0].size() / known;
      known = in[0].size();
    }
    if (!valid || known != in[0].size())
      return in.error(1017, "cannot give an input of shape ", in[0], " (", in[0].size(), " elements) the shape ",
                      target);
    return result;
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/subtract.hpp
// The difference of its inputs: tf.keras.layers.Subtract. Level 2.

namespace stagecraft::layers {

/// Its first input minus its second; exactly two inputs of one shape.
/// Called as `subtract{}(a, b)` or `subtract{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/subtract.
struct subtract : merge<subtract, 2> {
  static constexpr std::string_view class_name = "Subtract";
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/layers.hpp
// All layers. Level 2.

// ---- stagecraft/models/model_base.hpp
// What the three kinds of model share: each is traced by one function, and each can be called inside another model, as
// a layer is. Level 3.

namespace stagecraft {

/// The part of a model that does not depend on its type. `instance` is given at the first call inside another model;
/// calls of the same variable share their weights. `model_name` is the name of one inside another, see `named`.
struct model_base {
  int instance = -1;
  fixed_name model_name{};
};

/// Anything that can be trained, staged or called inside another model.
template <class M>
concept Model = std::derived_from<M, model_base> && requires {
  { M::kind } -> std::convertible_to<model_kind>;
};

namespace detail {

constexpr std::array<symbolic_tensor, 1> output_tensors(symbolic_tensor const& tensor) { return {tensor}; }
template <std::size_t Count>
constexpr std::array<symbolic_tensor, Count> const& output_tensors(std::array<symbolic_tensor, Count> const& tensors) {
  return tensors;
}

/// A model's class and its own member `name`; without one, it gets Keras's default name.
template <class M>
constexpr model_description description_of_model() {
  model_description description{M::kind, class_name(M::kind), {}};
  if constexpr (M::kind == model_kind::subclass) {
    description.class_name = type_name<typename M::model_type>();
    if constexpr (requires { std::string_view(M::model_type::name); }) description.name = M::model_type::name;
  }
  if constexpr (requires { std::string_view(M::name); }) description.name = M::name;
  return description;
}

/// What a model lacks to be traced, when it is called with a number of tensors (0: it is the outermost model).
template <class M, std::size_t Inputs>
inline constexpr diagnostic definition_problem = [] {
  if constexpr (requires { M::template check_definition<Inputs>(); })
    return M::template check_definition<Inputs>();
  else
    return diagnostic{};
}();

/// E1022 unless a model's function gives one tensor or several.
template <class M, class Result>
constexpr diagnostic check_result(std::string_view function) {
  diagnostic problem;
  if constexpr (std::same_as<Result, void>)
    problem.report(1022, "`", function, "` of model '", type_name<M>(),
                   "' returns nothing; return the output tensor, or "
                   "sc::outputs(a, b) for several");
  else if constexpr (!requires(Result const& result) { output_tensors(result); })
    problem.report(1022, "`", function, "` of model '", type_name<M>(), "' returns a value of type '",
                   type_name<Result>(),
                   "', which is not a tensor; return the output of a call, such as `dense(10)(x)`");
  return problem;
}

template <class M>
inline constexpr diagnostic wrong_model_call_problem = [] {
  diagnostic problem;
  problem.report(1018, "a model (", type_name<M>(),
                 ") is called inside another one without tensors of it, or with "
                 "something else; call it with the output of model.input(...) or of a layer");
  return problem;
}();

}  // namespace detail

/// Lets a model be called on symbolic tensors inside another model's `build` or `call`.
template <class Derived>
struct callable_model : model_base {
  template <std::same_as<symbolic_tensor>... More>
  constexpr auto operator()(detail::first_tensor first, More... more) & {
    return call_nested(static_cast<Derived&>(*this), first.where, first.tensor, more...);
  }
  template <std::same_as<symbolic_tensor>... More>
  constexpr auto operator()(detail::first_tensor first, More... more) && {
    return call_nested(static_cast<Derived&>(*this), first.where, first.tensor, more...);
  }
  /// Called with anything else: E1018.
  template <class... Arguments>
    requires(!detail::are_tensors<Arguments...>)
  constexpr symbolic_tensor operator()(Arguments const&...) const {
    static_assert(detail::report<detail::wrong_model_call_problem<Derived>>());
    return {};
  }

  /// The same model with Keras's `name` argument, to be called inside another one.
  [[nodiscard]] constexpr Derived named(std::string_view name) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.model_name = name;
    return copy;
  }

 private:
  template <class... Tensors>
  static constexpr auto call_nested(Derived& self, source_line const& where, Tensors... tensor) {
    constexpr auto const& problem = detail::definition_problem<Derived, sizeof...(Tensors)>;
    if constexpr (problem.failed()) {
      static_assert(detail::report<problem>());
      return symbolic_tensor{};
    } else {
      std::array<symbolic_tensor, sizeof...(Tensors)> const bound{tensor...};
      using result_type = decltype(self.trace(*bound[0].model, bound));
      for (auto const& given : bound)
        if (given.model == nullptr) return result_type{};
      auto& builder = *bound[0].model;
      auto description = detail::description_of_model<Derived>();
      if (!self.model_name.empty()) description.name = self.model_name;
      self.instance = builder.enter(description, self.instance, bound);
      result_type result = self.trace(builder, bound);
      builder.leave(detail::output_tensors(result));
      builder.problem.locate(where);
      return result;
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/models/functional.hpp
// A model written as a constexpr function over symbolic tensors: Keras's functional API. Level 3.

namespace stagecraft {

/// Base of a functional model:
///
///     struct classifier : sc::functional<classifier> {
///       static constexpr auto build(auto& model) {
///         auto x = model.input(28, 28);
///         x = flatten{}(x);
///         return dense(10)(x);             // several outputs: return sc::outputs(a, b);
///       }
///     };
///
/// `build` is ordinary code: loops, branches, functions and pipeline scopes work. A member
/// `static constexpr std::string_view name` gives the model a name; without one Keras's "model" is used.
template <class Derived>
struct functional : callable_model<Derived> {
  static constexpr model_kind kind = model_kind::functional;

  /// E1020 `build` is missing, E1022 it returns no tensor.
  template <std::size_t>
  static constexpr diagnostic check_definition() {
    if constexpr (requires(model_builder& builder) { Derived::build(builder); }) {
      using result = decltype(Derived::build(std::declval<model_builder&>()));
      return detail::check_result<Derived, result>("build");
    } else {
      diagnostic problem;
      problem.report(1020, "functional model '", detail::type_name<Derived>(),
                     "' has no function that builds it; give it "
                     "`static constexpr auto build(auto& model)`, which takes nothing else");
      return problem;
    }
  }

  static constexpr auto trace(model_builder& builder, std::span<symbolic_tensor const>) {
    return Derived::build(builder);
  }
};

}  // namespace stagecraft

// ---- stagecraft/graph/post_order.hpp
// The order in which Keras executes and lists the calls of a model, and in which a stage assignment is written: deepest
// first, and within one depth as Keras's search from the outputs gets to know them (keras.engine.functional,
// `_map_graph_network`). For calls that are consumed in the order in which they were made, that is this order too; the
// heads of a model with several outputs come last output first. A nested model counts as one node; its own calls follow
// in its own order. Level 1.

namespace stagecraft::detail {

/// What the ordering needs to see of a graph.
struct graph_records {
  std::span<call_info const> calls;
  std::span<int const> inputs;
  std::span<nested_model_info const> nested_models;
  std::span<nested_input_info const> nested_inputs;
  std::span<int const> model_outputs;
};

/// A node of one level: a call of a layer, or a call of a nested model.
struct level_node {
  int call = -1;          // the call, or the first call inside the nested model
  int nested_model = -1;  // the nested model, or -1
  int key = 0;            // equal for calls that share their weights
  int first_input = 0;    // its inputs are the nodes level_inputs[first_input, first_input + input_count)
  int input_count = 0;
  int depth = -1;
  int next = -1;  // the node known next, of the same depth
};

/// Orders one level after the other.
class post_order {
 public:
  constexpr explicit post_order(graph_records const& graph) : graph_(graph) {}

  /// All calls but the inputs.
  constexpr std::vector<int> calls() const {
    std::vector<int> result;
    result.reserve(graph_.calls.size());
    append_calls(0, result);
    return result;
  }

  /// The nodes of one model's own level, as `summary` lists them: one per layer or instance, inputs included. Deepest
  /// first, within one depth in the order in which the search from the outputs comes across the layers.
  /// A call's index, or -1 - index of a nested model.
  constexpr std::vector<int> layers(int model) const {
    level own(graph_, model);
    own.find_depths();
    return own.layers();
  }

  /// Whether each depth of a model's own level has one node of at most one input, and no layer is called twice.
  constexpr bool is_chain(int model) const {
    level own(graph_, model);
    own.find_depths();
    std::vector<char> known(own.depth_of_key.size(), 0);
    for (int const first : own.first_of_depth)
      if (first >= 0 && own.nodes[at(first)].next >= 0) return false;
    for (auto const& node : own.nodes) {
      if (node.input_count > 1 || known[at(node.key)] != 0) return false;
      known[at(node.key)] = 1;
    }
    return true;
  }

  /// The nested model directly inside `model` that holds a call, `model` itself, or -1 if the call is outside.
  static constexpr int child_holding(graph_records const& graph, int call, int model) {
    int at_level = graph.calls[at(call)].nested_model;
    if (at_level == model) return model;
    while (at_level >= 0) {
      auto const parent = graph.nested_models[at(at_level)].parent;
      if (parent == model) return at_level;
      at_level = parent;
    }
    return -1;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  constexpr void append_calls(int model, std::vector<int>& result) const {
    level own(graph_, model);
    own.find_depths();
    for (int depth = own.deepest(); depth >= 0; --depth)
      for (int i = own.first_of_depth[at(depth)]; i >= 0; i = own.nodes[at(i)].next) {
        auto const& node = own.nodes[at(i)];
        if (node.nested_model >= 0)
          append_calls(node.nested_model, result);
        else if (!graph_.calls[at(node.call)].is_input)
          result.push_back(node.call);
      }
  }

  /// The nodes of one model's own level, and their depths.
  struct level {
    graph_records const& graph;
    std::vector<level_node> nodes;
    std::vector<int> inputs;
    std::vector<int> roots;           // the nodes of the model's outputs
    std::vector<int> first_of_depth;  // the nodes of one depth, chained by `next`
    std::vector<int> visit_of_key;    // when the search came across a layer first
    std::vector<int> depth_of_key;

    constexpr level(graph_records const& graph_, int model) : graph(graph_) {
      std::vector<int> node_of(graph.calls.size(), -1);
      std::vector<int> node_of_model(graph.nested_models.size(), -1);
      nodes.reserve(graph.calls.size());
      int keys = 0;
      for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) {
        auto const& call = graph.calls[at(i)];
        int const child = call.nested_model == model ? model : child_holding(graph, i, model);
        if (child < 0) continue;
        if (child != model && node_of_model[at(child)] >= 0) {
          node_of[at(i)] = node_of_model[at(child)];
          continue;
        }
        int const index = static_cast<int>(nodes.size());
        level_node node;
        node.call = i;
        node.first_input = static_cast<int>(inputs.size());
        if (child == model) {
          node.key = 2 * call.layer;
          for (int k = 0; k < call.input_count; ++k) add_input(node_of[at(graph.inputs[at(call.first_input + k)])]);
        } else {
          auto const& nested = graph.nested_models[at(child)];
          node.nested_model = child;
          node.key = 2 * nested.instance + 1;
          node_of_model[at(child)] = index;
          for (int k = 0; k < nested.input_count; ++k) {
            int const from = graph.nested_inputs[at(nested.first_input + k)].call;
            if (from >= 0) add_input(node_of[at(from)]);
          }
        }
        node.input_count = static_cast<int>(inputs.size()) - node.first_input;
        node_of[at(i)] = index;
        nodes.push_back(node);
        if (node.key >= keys) keys = node.key + 1;
      }
      auto const& own = graph.nested_models[at(model)];
      for (int k = 0; k < own.output_count; ++k)
        if (int const root = node_of[at(graph.model_outputs[at(own.first_output + k)])]; root >= 0)
          roots.push_back(root);
      visit_of_key.resize(at(keys), -1);
      depth_of_key.resize(at(keys), 0);
    }

    [[nodiscard]] constexpr int deepest() const { return static_cast<int>(first_of_depth.size()) - 1; }

    /// Depth 0 is an output; a node is one deeper than its deepest consumer, and at least as deep as the calls of its
    /// layer that were looked at before.
    constexpr void find_depths() {
      auto const finished = search();
      std::vector<int> reached;  // in the order in which nodes first get a depth
      reached.reserve(nodes.size());
      auto const reach = [&](int index, int depth) {
        auto& node = nodes[at(index)];
        if (node.depth < 0) reached.push_back(index);
        if (node.depth < depth) node.depth = depth;
      };
      for (std::size_t i = finished.size(); i-- > 0;) {
        auto const& node = nodes[at(finished[i])];
        reach(finished[i], depth_of_key[at(node.key)]);
        depth_of_key[at(node.key)] = node.depth;
        for (int k = 0; k < node.input_count; ++k) reach(inputs[at(node.first_input + k)], node.depth + 1);
      }
      for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
        if (nodes[at(i)].depth < 0) reach(i, 0);  // inputs that nothing uses

      for (int const i : reached)
        if (nodes[at(i)].depth > deepest()) first_of_depth.resize(at(nodes[at(i)].depth) + 1, -1);
      for (std::size_t i = reached.size(); i-- > 0;) {
        auto& first = first_of_depth[at(nodes[at(reached[i])].depth)];
        nodes[at(reached[i])].next = first;
        first = reached[i];
      }
    }

    constexpr std::vector<int> layers() const {
      std::vector<char> known(visit_of_key.size(), 0);
      std::vector<int> result, of_depth;
      for (int depth = deepest(); depth >= 0; --depth) {
        of_depth.clear();
        for (int i = first_of_depth[at(depth)]; i >= 0; i = nodes[at(i)].next) {
          int const key = nodes[at(i)].key;
          if (known[at(key)] != 0) continue;
          known[at(key)] = 1;
          std::size_t place = of_depth.size();
          while (place > 0 && visit_of_key[at(key)] < visit_of_key[at(nodes[at(of_depth[place - 1])].key)]) --place;
          of_depth.insert(of_depth.begin() + static_cast<std::ptrdiff_t>(place), i);
        }
        for (int const i : of_depth) {
          auto const& node = nodes[at(i)];
          result.push_back(node.nested_model < 0 ? node.call : -1 - node.nested_model);
        }
      }
      return result;
    }

   private:
    constexpr void add_input(int node) {
      if (node >= 0) inputs.push_back(node);
    }

    /// The nodes that the outputs need, each behind all of its inputs.
    constexpr std::vector<int> search() {
      struct frame {
        int node;
        int next;
      };
      std::vector<char> entered(nodes.size(), 0);
      std::vector<int> finished;
      std::vector<frame> stack;
      finished.reserve(nodes.size());
      int visits = 0;
      auto const enter = [&](int index) {
        if (entered[at(index)] != 0) return;
        entered[at(index)] = 1;
        auto& visit = visit_of_key[at(nodes[at(index)].key)];
        if (visit < 0) visit = visits++;
        stack.push_back({index, 0});
      };
      for (int const root : roots) {
        enter(root);
        while (!stack.empty()) {
          auto& top = stack.back();
          auto const& node = nodes[at(top.node)];
          if (top.next < node.input_count) {
            enter(inputs[at(node.first_input + top.next++)]);
          } else {
            finished.push_back(top.node);
            stack.pop_back();
          }
        }
      }
      return finished;
    }
  };

  graph_records graph_;
};

}  // namespace stagecraft::detail

// ---- stagecraft/graph/traced_graph.hpp
// The result of tracing: what the outputs do not need is dropped, calls are put in Keras's order. Level 1.

namespace stagecraft::detail {

/// A traced model while it is still made of vectors.
struct traced_graph {
  diagnostic problem;
  bool uses_stages = false;
  std::vector<layer_info> layers;
  std::vector<parameter> parameters;
  std::vector<call_info> calls;
  std::vector<int> inputs;
  std::vector<nested_model_info> nested_models;
  std::vector<nested_input_info> nested_inputs;
  std::vector<int> model_outputs;
};

/// Takes over a builder's records, without the calls that no output of the model needs, as Keras does. A call keeps its
/// node index, as in Keras, where a layer counts all its calls. An input of a nested model that nothing needs is -1.
constexpr traced_graph prune(model_builder& model) {
  traced_graph graph;
  graph.problem = model.problem;
  graph.uses_stages = model.uses_stages;
  graph.nested_models = model.nested_models;
  graph.nested_inputs = model.nested_inputs;

  auto const at = [](int index) { return static_cast<std::size_t>(index); };
  std::vector<int> new_call(model.calls.size(), -1);
  if (!model.nested_models.empty()) {
    auto const& outermost = model.nested_models[0];
    for (int i = 0; i < outermost.output_count; ++i)
      new_call[at(model.model_outputs[at(outermost.first_output + i)])] = 0;
  }
  for (int i = static_cast<int>(model.calls.size()) - 1; i >= 0; --i) {
    auto const& call = model.calls[at(i)];
    if (call.is_input) new_call[at(i)] = 0;  // an input stays an input, used or not
    if (new_call[at(i)] < 0) continue;
    for (int k = 0; k < call.input_count; ++k) new_call[at(model.inputs[at(call.first_input + k)])] = 0;
  }
  int count = 0;
  for (auto& index : new_call)
    if (index == 0) index = count++;

  std::vector<int> new_layer(model.layers.size(), -1);
  graph.calls.reserve(at(count));
  graph.layers.reserve(model.layers.size());
  graph.parameters.reserve(model.parameters.size());
  graph.inputs.reserve(model.inputs.size());
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    if (new_call[i] < 0) continue;
    auto call = model.calls[i];
    auto const first_input = static_cast<int>(graph.inputs.size());
    for (int k = 0; k < call.input_count; ++k)
      graph.inputs.push_back(new_call[at(model.inputs[at(call.first_input + k)])]);
    call.first_input = first_input;
    auto& layer = new_layer[at(call.layer)];
    if (layer < 0) {
      layer = static_cast<int>(graph.layers.size());
      graph.layers.push_back(model.layers[at(call.layer)]);
      auto& info = graph.layers.back();
      info.first_call = new_call[i];
      info.call_count = 0;
      info.first_parameter = static_cast<int>(graph.parameters.size());
      for (int k = 0; k < info.parameter_count; ++k)
        graph.parameters.push_back(model.parameters[at(model.layers[at(call.layer)].first_parameter + k)]);
    }
    call.layer = layer;
    ++graph.layers[at(layer)].call_count;
    graph.calls.push_back(call);
  }
  for (auto& input : graph.nested_inputs) input.call = new_call[at(input.call)];
  for (auto& nested : graph.nested_models) {
    auto const first = static_cast<int>(graph.model_outputs.size());
    for (int i = 0; i < nested.output_count; ++i) {
      auto const call = new_call[at(model.model_outputs[at(nested.first_output + i)])];
      if (call >= 0) graph.model_outputs.push_back(call);
    }
    nested.output_count = static_cast<int>(graph.model_outputs.size()) - first;
    nested.first_output = first;
  }
  return graph;
}

}  // namespace stagecraft::detail

// ---- stagecraft/graph/graph.hpp
// A traced model as one flat constexpr value, and a view of it that all rules are written against. Level 1.

namespace stagecraft {

/// How many of each record a graph has.
struct graph_sizes {
  std::size_t layers = 0, parameters = 0, calls = 0, inputs = 0, nested_models = 0, nested_inputs = 0,
              model_outputs = 0;
};

/// A graph of any size. Everything is an index into these spans; calls stand in the order in which they were made.
struct graph_view {
  std::span<layer_info const> layers;
  std::span<parameter const> parameters;
  std::span<call_info const> calls;
  std::span<int const> inputs;
  std::span<nested_model_info const> nested_models;
  std::span<nested_input_info const> nested_inputs;
  std::span<int const> model_outputs;
  std::span<int const> order;  ///< the calls (without inputs) in Keras's order, see graph/post_order.hpp

  [[nodiscard]] constexpr call_info const& call(int index) const { return calls[static_cast<std::size_t>(index)]; }
  [[nodiscard]] constexpr layer_info const& layer(int index) const { return layers[static_cast<std::size_t>(index)]; }
  [[nodiscard]] constexpr layer_info const& layer_of(int index) const { return layer(call(index).layer); }
  [[nodiscard]] constexpr std::string_view name() const { return nested_models[0].name; }
  [[nodiscard]] constexpr model_kind kind() const { return nested_models[0].kind; }

  /// The calls whose outputs a call takes.
  [[nodiscard]] constexpr std::span<int const> inputs_of(int index) const {
    auto const& node = call(index);
    return inputs.subspan(static_cast<std::size_t>(node.first_input), static_cast<std::size_t>(node.input_count));
  }
  /// What a call of a nested model takes.
  [[nodiscard]] constexpr std::span<nested_input_info const> nested_inputs_of(int model) const {
    auto const& node = nested_models[static_cast<std::size_t>(model)];
    return nested_inputs.subspan(static_cast<std::size_t>(node.first_input),
                                 static_cast<std::size_t>(node.input_count));
  }
  /// The calls whose outputs are those of a nested model; 0 is the model itself.
  [[nodiscard]] constexpr std::span<int const> outputs_of(int model) const {
    auto const& node = nested_models[static_cast<std::size_t>(model)];
    return model_outputs.subspan(static_cast<std::size_t>(node.first_output),
                                 static_cast<std::size_t>(node.output_count));
  }
  /// The weights of a layer.
  [[nodiscard]] constexpr std::span<parameter const> parameters_of(int index) const {
    auto const& info = layer(index);
    return parameters.subspan(static_cast<std::size_t>(info.first_parameter),
                              static_cast<std::size_t>(info.parameter_count));
  }
};

/// The records of one model.
template <graph_sizes Sizes>
struct graph {
  std::array<layer_info, Sizes.layers> layers{};
  std::array<parameter, Sizes.parameters> parameters{};
  std::array<call_info, Sizes.calls> calls{};
  std::array<int, Sizes.inputs> inputs{};
  std::array<nested_model_info, Sizes.nested_models> nested_models{};
  std::array<nested_input_info, Sizes.nested_inputs> nested_inputs{};
  std::array<int, Sizes.model_outputs> model_outputs{};
  bool uses_stages = false;

  constexpr explicit graph(detail::traced_graph const& traced) : uses_stages(traced.uses_stages) {
    copy(traced.layers, layers);
    copy(traced.parameters, parameters);
    copy(traced.calls, calls);
    copy(traced.inputs, inputs);
    copy(traced.nested_models, nested_models);
    copy(traced.nested_inputs, nested_inputs);
    copy(traced.model_outputs, model_outputs);
  }

 private:
  static constexpr void copy(auto const& from, auto& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i];
  }
};

namespace detail {

constexpr graph_sizes sizes_of(traced_graph const& traced) {
  return {traced.layers.size(),        traced.parameters.size(),    traced.calls.size(),        traced.inputs.size(),
          traced.nested_models.size(), traced.nested_inputs.size(), traced.model_outputs.size()};
}

constexpr std::size_t count_ordered(std::span<call_info const> calls) {
  std::size_t count = 0;
  for (auto const& call : calls) count += call.is_input ? 0 : 1;
  return count;
}

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/models/model_graph.hpp
// The graph of a model as a constant: traced, checked and ordered once per model type. Level 3.

namespace stagecraft {

namespace detail {

template <auto... Layers>
consteval bool begins_with_input() {
  bool result = false;
  [[maybe_unused]] bool first = true;
  [[maybe_unused]] auto const see = [&](auto const& layer) {
    if (first) result = std::same_as<std::remove_cvref_t<decltype(layer)>, layers::input>;
    first = false;
  };
  [[maybe_unused]] int const seen[]{0, (see(Layers), 0)...};
  return result;
}

/// Runs a model's own code against a builder. After a broken rule, a model of one input stands in, so that what
/// follows finds something harmless.
template <class M>
constexpr traced_graph trace_model(layer_collector* collector = nullptr) {
  model_builder builder(collector);
  builder.enter(description_of_model<M>(), -1, {});
  M m{};
  builder.leave(output_tensors(m.trace(builder, {})));
  return prune(builder);
}

constexpr traced_graph stand_in() {
  model_builder builder;
  builder.enter({model_kind::sequential, "Sequential", "invalid_model"}, -1, {});
  symbolic_tensor const outputs[]{builder.input(shape(1))};
  builder.leave(outputs);
  return prune(builder);
}

/// What must be known before a graph can be stored: how large it is, and whether its layers and shapes are right.
struct trace_findings {
  diagnostic problem;
  graph_sizes sizes;
};

template <class M>
constexpr trace_findings find_out() {
  if constexpr (definition_problem<M, 0>.failed()) {
    return {definition_problem<M, 0>, sizes_of(stand_in())};
  } else {
    auto const traced = trace_model<M>();
    if (traced.problem.failed()) return {traced.problem, sizes_of(stand_in())};
    return {traced.problem, sizes_of(traced)};
  }
}

template <class M>
inline constexpr trace_findings findings = find_out<M>();

/// The first broken rule of a model's layers and shapes.
template <class M>
inline constexpr diagnostic const& layer_problem = findings<M>.problem;

/// The model that was traced: of a pipelined one, the model without its stages.
template <class M>
struct traced_model {
  using type = M;
};
template <class M>
  requires requires { typename M::unstaged; }
struct traced_model<M> : traced_model<typename M::unstaged> {};

/// Whether a model has had its compile error. What is asked of it then has stand-ins for answers.
template <class M>
inline constexpr bool is_invalid = findings<typename traced_model<M>::type>.problem.failed();

/// In place of a type that is no model: a model that has had its compile error.
struct not_a_model : callable_model<not_a_model> {
  static constexpr model_kind kind = model_kind::functional;

  template <std::size_t>
  static constexpr diagnostic check_definition() {
    diagnostic problem;
    problem.already_reported();
    return problem;
  }
  static constexpr symbolic_tensor trace(model_builder&, std::span<symbolic_tensor const>) { return {}; }
};

template <class M>
constexpr graph<findings<M>.sizes> freeze() {
  if constexpr (findings<M>.problem.failed())
    return graph<findings<M>.sizes>(stand_in());
  else
    return graph<findings<M>.sizes>(trace_model<M>());
}

template <class M>
inline constexpr auto frozen_graph = freeze<M>();

template <class M>
constexpr auto order_calls() {
  auto const& g = frozen_graph<M>;
  auto const order = post_order({g.calls, g.inputs, g.nested_models, g.nested_inputs, g.model_outputs}).calls();
  std::array<int, count_ordered(frozen_graph<M>.calls)> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = order[i];
  return result;
}

template <class M>
inline constexpr auto call_order = order_calls<M>();

template <class M>
constexpr graph_view view_graph() {
  static_assert(report<findings<M>.problem>());
  auto const& records = frozen_graph<M>;
  return {records.layers,        records.parameters,    records.calls,         records.inputs,
          records.nested_models, records.nested_inputs, records.model_outputs, call_order<M>};
}

}  // namespace detail

/// The graph of a model: everything that is known of it. Traced at its first use; a rule that the model breaks becomes
/// one compile error there (codes E1xxx).
template <Model M>
inline constexpr graph_view graph_of = detail::view_graph<M>();

namespace detail {

template <class M, bool Check>
constexpr diagnostic const& problem_to_report() {
  if constexpr (Check)
    return findings<M>.problem;
  else
    return definition_problem<M, 0>;
}

/// The verdict on a model's layers and shapes. `typename layer_verdict<M>::template model<M>` is the model itself,
/// checked where it is named.
template <class M, bool Check = true>
using layer_verdict = verdict_on<problem_to_report<M, Check>()>;

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/models/model.hpp
// A model whose layers are members and whose `call` says how they follow: a subclass of tf.keras.Model. Level 3.

namespace stagecraft {

namespace detail {

/// Calls `model.call(builder, x...)` with the tensors of a span; the number of inputs is part of the type.
template <std::size_t... Index>
constexpr auto call_subclass(auto& model, model_builder& builder, std::span<symbolic_tensor const> tensors,
                             std::index_sequence<Index...>) {
  return model.call(builder, tensors[Index]...);
}

/// E1011 a subclass without inputs, E1023 it has no `call` for so many tensors, E1022 it returns none.
template <class Subclass, std::size_t... Index>
constexpr diagnostic check_subclass(std::index_sequence<Index...>) {
  if constexpr (sizeof...(Index) == 0) {
    diagnostic problem;
    problem.report(1011, "the shapes of the inputs of model '", type_name<Subclass>(),
                   "' are not known; name one input for each tensor that its `call` takes: build<",
                   type_name<Subclass>(), ", input{28, 28}>");
    return problem;
  }
  constexpr bool callable = requires(Subclass& subclass, model_builder& builder, std::span<symbolic_tensor const> x) {
    subclass.call(builder, x[Index]...);
  };
  if constexpr (callable) {
    using result = decltype(std::declval<Subclass&>().call(
        std::declval<model_builder&>(), std::declval<std::span<symbolic_tensor const>&>()[Index]...));
    return check_result<Subclass, result>("call");
  } else {
    constexpr int count = sizeof...(Index);
    diagnostic problem;
    problem.report(1023, "model '", type_name<Subclass>(), "' has no `call` that takes ", count,
                   count == 1 ? " tensor" : " tensors", "; give it `constexpr auto call(auto& model",
                   count == 1 ? ", auto x)`" : ", ...)` with one argument for each input");
    return problem;
  }
}

}  // namespace detail

/// The type behind `model<...>`; under a name of its own, so that an argument of `call` may be named `model`.
template <class Derived>
struct subclass_model : callable_model<Derived> {
  static constexpr model_kind kind = model_kind::subclass;
  using model_type = Derived;

  template <std::size_t Inputs>
  static constexpr diagnostic check_definition() {
    return detail::check_subclass<Derived>(std::make_index_sequence<Inputs>{});
  }

  template <std::size_t Count>
  constexpr auto trace(model_builder& builder, std::array<symbolic_tensor, Count> const& bound) {
    for (std::size_t i = 0; i < Count; ++i) builder.take_input();
    return detail::call_subclass(static_cast<Derived&>(*this), builder, bound, std::make_index_sequence<Count>{});
  }
};

/// Base of a model subclass. A layer that is called twice shares its weights:
///
///     struct siamese : sc::model<siamese> {
///       dense encode{8};
///       concatenate join;
///       dense decide{1};
///       constexpr auto call(auto& model, auto left, auto right) {
///         return decide(join(encode(left), encode(right)));
///       }
///     };
///     using network = sc::build<siamese, input{16}, input{16}>;
///
/// `call` is not const: a call gives its layers their weights. Inside another model it is called as a layer is.
template <class Derived>
using model = subclass_model<Derived>;

/// The type behind `build<...>`.
template <class Subclass, layers::input... Inputs>
struct built_model : model_base {
  static constexpr model_kind kind = model_kind::subclass;
  using model_type = Subclass;

  template <std::size_t>
  static constexpr diagnostic check_definition() {
    return detail::check_subclass<Subclass>(std::make_index_sequence<sizeof...(Inputs)>{});
  }

  static constexpr auto trace(model_builder& builder, std::span<symbolic_tensor const>) {
    std::array<symbolic_tensor, sizeof...(Inputs)> const x{
        builder.input(Inputs.dimensions, Inputs.layer_name, Inputs.type)...};
    Subclass subclass{};
    return detail::call_subclass(subclass, builder, x, std::make_index_sequence<sizeof...(Inputs)>{});
  }
};

/// Keras's `model.build(input_shape)`: a model subclass whose inputs have these shapes, checked where it is named.
template <class Subclass, layers::input... Inputs>
using build =
    typename detail::layer_verdict<built_model<Subclass, Inputs...>>::template model<built_model<Subclass, Inputs...>>;

}  // namespace stagecraft

// ---- stagecraft/diagnostics/stand_in.hpp
// What queries answer about a model that has had its compile error: values that agree with whatever the user compares
// them with, so that one mistake stays one error. Level 0.

namespace stagecraft::detail {

/// In place of a number that is not known. Equal to everything; as an int it is `value`, so that loops end.
struct any_number {
  int value = 0;

  constexpr operator int() const noexcept { return value; }
  template <class T>
  friend constexpr bool operator==(any_number, T const&) noexcept {
    return true;
  }
  friend constexpr bool operator==(any_number, any_number) noexcept { return true; }
  friend constexpr bool operator!=(any_number, any_number) noexcept { return true; }
};

/// In place of a list of calls.
struct any_calls {
  std::size_t calls = 0;  // of the model, which is looked at, so that its error comes

  [[nodiscard]] constexpr any_number size() const noexcept { return {}; }
  [[nodiscard]] constexpr any_number operator[](std::size_t) const noexcept { return {}; }
  [[nodiscard]] constexpr int const* begin() const noexcept { return nullptr; }
  [[nodiscard]] constexpr int const* end() const noexcept { return nullptr; }
  template <class T>
  friend constexpr bool operator==(any_calls const&, T const&) noexcept {
    return true;
  }
};

/// In place of a value of a class: the value, but equal to everything.
template <class T>
struct any_value : T {
  template <class Other>
  friend constexpr bool operator==(any_value const&, Other const&) noexcept {
    return true;
  }
};

template <class T>
inline constexpr any_value<T> anything{};

}  // namespace stagecraft::detail

// ---- stagecraft/models/queries.hpp
// What a model's graph knows, at type level: the layer, shape and inputs of each call, the weights. With these, users
// write their own concepts, overloads and static_asserts about models. Level 3.

namespace stagecraft {

namespace detail {

/// The type of an answer: T, or a stand-in for a model that has had its compile error.
template <class M, class T, class StandIn>
using answer = std::conditional_t<is_invalid<M>, StandIn, T>;

/// E1024: a call that the model does not have.
template <class M, int Call>
inline constexpr diagnostic call_problem = [] {
  diagnostic problem;
  int const count = static_cast<int>(graph_of<M>.calls.size());
  if (!is_invalid<M> && (Call < 0 || Call >= count))
    problem.report(1024, "model '", graph_of<M>.name(), "' has no call ", Call, "; its calls are numbered from 0 to ",
                   count - 1, ", inputs included",
                   Call == -1 ? "; find_call gives -1 for a name that no layer has" : "");
  return problem;
}();

/// A call that can be asked for: `Call` itself, unless the model does not have it.
template <class M, int Call>
constexpr int existing_call() {
  static_assert(report<call_problem<M, Call>>());
  return Call >= 0 && Call < static_cast<int>(graph_of<M>.calls.size()) ? Call : 0;
}

}  // namespace detail

/// Number of calls of layers in a model, its inputs included.
template <Model M>
inline constexpr detail::answer<M, int, detail::any_number> call_count{static_cast<int>(graph_of<M>.calls.size())};

namespace detail {

template <class L>
struct collector_of final : layer_collector {
  constexpr collector_of() { wanted = tag_of<L>; }
  constexpr void take(layer_base const& layer) override { values.push_back(static_cast<L const&>(layer)); }
  std::vector<L> values;
};

template <class M, class L>
constexpr std::size_t count_layers() {
  std::size_t count = 0;
  for (auto const& layer : graph_of<M>.layers)
    if (same_type(layer.type, tag_of<L>) && static_cast<std::size_t>(layer.index_in_type) + 1 > count)
      count = static_cast<std::size_t>(layer.index_in_type) + 1;
  return count;
}

// One more trace per layer type, not per layer.
template <class M, class L, std::size_t... Index>
constexpr std::array<L, sizeof...(Index)> collect_layers(std::index_sequence<Index...>) {
  collector_of<L> collector;
  trace_model<M>(&collector);
  return {collector.values[Index]...};
}

/// All layers of one type in a model, with their options.
template <class M, class L>
inline constexpr auto layers_of_type = collect_layers<M, L>(std::make_index_sequence<count_layers<M, L>()>{});

/// Which layer makes a call: its type, and which one of that type. Of a model that has had its compile error too, as
/// far as its calls are known.
struct layer_place {
  type_tag const* type = no_type;
  int index_in_type = 0;
};

template <class M, int Call>
constexpr layer_place place_of_layer() {
  using traced = typename traced_model<M>::type;
  if constexpr (!is_invalid<M>) {
    auto const& layer = graph_of<M>.layer_of(existing_call<M, Call>());
    return {layer.type, layer.index_in_type};
  } else {
    if constexpr (!definition_problem<traced, 0>.failed() && graph_of<M>.calls.size() > 0) {
      auto const graph = trace_model<traced>();
      if (Call >= 0 && Call < static_cast<int>(graph.calls.size())) {
        auto const& layer = graph.layers[static_cast<std::size_t>(graph.calls[static_cast<std::size_t>(Call)].layer)];
        return {layer.type, layer.index_in_type};
      }
    }
    return {};
  }
}

// Named, so that the compiler keeps the name where Call is not known yet, and not the graph.
template <class M, int Call>
inline constexpr type_tag const* layer_tag = place_of_layer<M, Call>().type;

template <type_tag const* Tag>
struct layer_type {
  using type = type_of_tag<Tag>;
};
template <>
struct layer_type<no_type> {
  using type = layers::input;
};

template <class M, int Call, class L>
constexpr L layer_value() {
  constexpr auto place = place_of_layer<M, Call>();
  using traced = typename traced_model<M>::type;
  if constexpr (is_invalid<M> && !same_type(place.type, no_type)) {
    collector_of<L> collector;
    trace_model<traced>(&collector);
    return collector.values[static_cast<std::size_t>(place.index_in_type)];
  } else if constexpr (!same_type(place.type, no_type)) {
    return layers_of_type<traced, L>[static_cast<std::size_t>(place.index_in_type)];
  } else {
    constexpr int call = is_invalid<M> ? 0 : existing_call<M, Call>();
    return L(graph_of<M>.call(call).shape, graph_of<M>.call(call).type, graph_of<M>.layer_of(call).name.view());
  }
}

template <class M, int Call>
constexpr auto const& shape_of_call() {
  if constexpr (is_invalid<M>) {
    static_assert(!graph_of<M>.calls.empty());  // looks at the graph, so that the error comes
    return anything<shape>;
  } else {
    return graph_of<M>.call(existing_call<M, Call>()).shape;
  }
}

}  // namespace detail

/// The type of the layer of one call: `static_assert(std::same_as<sc::layer_t<mlp, 2>, sc::layers::dense>)`. Calls are
/// numbered from 0 in the order in which they were made; inputs count.
template <Model M, int Call>
using layer_t = typename detail::layer_type<detail::layer_tag<M, Call>>::type;

/// The layer of one call, with its options.
template <Model M, int Call>
inline constexpr layer_t<M, Call> layer_of = detail::layer_value<M, Call, layer_t<M, Call>>();

/// The shape of one call's output, without the batch.
template <Model M, int Call>
inline constexpr auto const& output_shape_of = detail::shape_of_call<M, Call>();

namespace detail {

template <std::size_t Count>
constexpr std::array<int, Count> to_array(std::span<int const> values) {
  std::array<int, Count> result{};
  for (std::size_t i = 0; i < Count; ++i) result[i] = values[i];
  return result;
}

template <class M, int Call>
constexpr auto inputs_of_call() {
  if constexpr (is_invalid<M>)
    return any_calls{graph_of<M>.calls.size()};
  else
    return to_array<graph_of<M>.inputs_of(existing_call<M, Call>()).size()>(
        graph_of<M>.inputs_of(existing_call<M, Call>()));
}

template <class M>
constexpr auto outputs_of_model() {
  if constexpr (is_invalid<M>)
    return any_calls{graph_of<M>.calls.size()};
  else
    return to_array<graph_of<M>.outputs_of(0).size()>(graph_of<M>.outputs_of(0));
}

}  // namespace detail

/// The calls whose outputs one call takes, as a std::array<int, n>.
template <Model M, int Call>
inline constexpr auto inputs_of = detail::inputs_of_call<M, Call>();

/// The calls whose outputs are the model's, as a std::array<int, n>.
template <Model M>
inline constexpr auto outputs_of = detail::outputs_of_model<M>();

/// The call of the layer with this name and node index, or -1.
template <Model M>
constexpr detail::answer<M, int, detail::any_number> find_call(std::string_view layer_name, int node_index = 0) {
  for (int i = 0; i < static_cast<int>(graph_of<M>.calls.size()); ++i)
    if (graph_of<M>.layer_of(i).name == layer_name && graph_of<M>.call(i).node_index == node_index) return {i};
  return {detail::is_invalid<M> ? 0 : -1};
}

/// Number of weights (floats) of a model: Keras's `count_params`.
template <Model M>
constexpr detail::answer<M, long long, detail::any_number> count_parameters() {
  detail::answer<M, long long, detail::any_number> count{0};
  if constexpr (!detail::is_invalid<M>)
    for (auto const& weight : graph_of<M>.parameters) count += weight.size();
  else
    static_assert(!graph_of<M>.calls.empty());  // looks at the graph, so that the error comes
  return count;
}

}  // namespace stagecraft

// ---- stagecraft/models/sequential.hpp
// A linear stack of layers: tf.keras.Sequential. Level 3.

namespace stagecraft {

namespace detail {

/// E1019 an entry is no layer, E1007 it is a layer that lacks something.
template <class Entry>
constexpr void check_entry(diagnostic& problem, int position) {
  if constexpr (std::derived_from<Entry, layer_base>) {
    if constexpr (!std::same_as<Entry, layers::input> && !Layer<Entry>) {
      if (!problem.failed()) problem = check_layer<Entry>();
    }
  } else if constexpr (!std::derived_from<Entry, callable_model<Entry>>) {
    problem.report(1019, "entry ", position, " of a sequential model is a value of type '", type_name<Entry>(),
                   "', which is neither a layer nor a model that can be called; a layer is a struct with base layer<",
                   std::is_class_v<Entry> ? type_name<Entry>() : std::string_view("itself"), ">");
  }
}

}  // namespace detail

/// The type behind `sequential<...>`.
template <auto... Layers>
struct sequential_model : callable_model<sequential_model<Layers...>> {
  static constexpr model_kind kind = model_kind::sequential;

  /// E1021 there is no entry, E1019 and E1007 an entry is no layer.
  template <std::size_t>
  static constexpr diagnostic check_definition() {
    diagnostic problem;
    if (sizeof...(Layers) == 0)
      problem.report(1021,
                     "a sequential model without layers; name its input and its layers: sequential<input{28, 28}, "
                     "flatten{}, dense{10}>");
    [[maybe_unused]] int position = 0;
    [[maybe_unused]] int const checks[]{
        0, (detail::check_entry<std::remove_cvref_t<decltype(Layers)>>(problem, position++), 0)...};
    return problem;
  }

  /// Calls one layer after the other. Inside another model the input comes from there; an own `input` must agree.
  static constexpr symbolic_tensor trace(model_builder& builder, std::span<symbolic_tensor const> bound) {
    symbolic_tensor x{&builder, 0};
    bool has_input = false;
    if (!bound.empty() && !detail::begins_with_input<Layers...>()) {
      x = builder.take_input();
      has_input = true;
    }
    int position = 0;
    // A list in braces runs from left to right, and may be longer than a fold.
    [[maybe_unused]] int const calls[]{(call_one(builder, Layers, x, has_input, position++), 0)...};
    return x;
  }

 private:
  static constexpr void call_one(model_builder& builder, auto layer, symbolic_tensor& x, bool& has_input,
                                 int position) {
    if constexpr (std::same_as<decltype(layer), layers::input>) {
      if (position == 0)
        x = builder.input(layer.dimensions, layer.layer_name, layer.type);
      else
        builder.problem.report(1009, "input ", layer.dimensions, " stands at position ", position,
                               " of a sequential model; an input can only be its first entry");
      has_input = true;
    } else {
      if (!has_input) {
        builder.problem.report(1010,
                               "the first entry of this sequential model is not an input, so that its shapes are "
                               "not known; begin it with input{...}, or call it inside another model");
        x = builder.input(shape(1));
        has_input = true;
      }
      if constexpr (requires { layer.pipeline_stage; }) {
        if (layer.pipeline_stage != unassigned && builder.current_model() == 0)
          builder.problem.report(2013, "entry ", position,
                                 " of a sequential model has a pipeline stage of its own; give "
                                 "the stages of a sequential model with pipelined<model, stages<...>>");
      }
      x = layer(detail::first_tensor(x, "", 0));  // no line: this one is not the user's
    }
  }
};

/// Keras's Sequential: `sequential<input{28, 28}, flatten{}, dense{10}>`. An entry is a layer or another model; layers
/// are written with braces. Checked where it is named, if it begins with an input; without one it can be called inside
/// another model.
template <auto... LayersInBraces>  // values: flatten{}, since flatten() and flatten would be types
using sequential = typename detail::layer_verdict<
    sequential_model<LayersInBraces...>,
    detail::begins_with_input<LayersInBraces...>()>::template model<sequential_model<LayersInBraces...>>;

}  // namespace stagecraft

// ---- stagecraft/models/summary_options.hpp
// Where the tables of a model go: Keras's arguments `line_length` and `print_fn` of `summary`. Level 3.

namespace stagecraft {

/// Keras's `print_fn`: anything that can be called with a line of text, without its end of line. Refers to what it is
/// made from, as std::string_view does; a function is kept itself. Without one, lines go to stdout.
class line_printer {
 public:
  constexpr line_printer() = default;
  template <class Print>
    requires(!std::same_as<std::remove_cvref_t<Print>, line_printer> && std::invocable<Print&, std::string_view>)
  constexpr explicit(false) line_printer(Print&& print) {
    using Callee = std::remove_reference_t<Print>;
    if constexpr (std::is_function_v<std::remove_pointer_t<std::decay_t<Print>>>) {
      callee_.function = reinterpret_cast<void (*)()>(static_cast<std::decay_t<Print>>(print));
      print_ = [](callee const& to, std::string_view line) {
        reinterpret_cast<std::decay_t<Print>>(to.function)(line);
      };
    } else {
      callee_.object = &print;
      print_ = [](callee const& to, std::string_view line) {
        (*const_cast<Callee*>(static_cast<Callee const*>(to.object)))(line);
      };
    }
  }

  void operator()(std::string_view line) const { print_(callee_, line); }

 private:
  union callee {
    void const* object = nullptr;
    void (*function)();
  };

  static void print_to_stdout(callee const&, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  }

  callee callee_;
  void (*print_)(callee const&, std::string_view) = print_to_stdout;
};

/// The arguments of `summary` and `print_pipeline_stage_assignment_summary`:
/// `sc::summary<mlp>({.line_length = 80, .print_fn = [&](std::string_view line) { ... }})`.
struct summary_options {
  /// Characters per line; 0: Keras's default for the kind of table.
  int line_length = 0;
  line_printer print_fn = {};
};

}  // namespace stagecraft

// ---- stagecraft/models/detail/table.hpp
// The layout of Keras's tables: cells are cut and filled up at the ends of their columns. Level 3.

namespace stagecraft::detail {

/// A text of any length, for one line or cell of a table.
class table_text {
 public:
  table_text() = default;
  table_text(std::string_view text) { append(text); }

  table_text& append(std::string_view text) {
    characters_.insert(characters_.end(), text.begin(), text.end());
    return *this;
  }
  table_text& append(char c) {
    characters_.push_back(c);
    return *this;
  }
  table_text& append(long long number) { return append(fixed_text<20>().append(number).view()); }
  table_text& append(int number) { return append(static_cast<long long>(number)); }
  /// A number with a comma between thousands, as Python's "{:,}".
  table_text& append_with_commas(long long number) {
    auto const digits = fixed_text<20>().append(number);
    for (std::size_t i = 0; i < digits.length; ++i) {
      if (i > 0 && (digits.length - i) % 3 == 0) append(',');
      append(digits.characters[i]);
    }
    return *this;
  }
  /// Cut or filled up with spaces.
  void resize(std::size_t length) { characters_.resize(length, ' '); }
  void end_with_space() {
    if (!characters_.empty()) characters_.back() = ' ';
  }

  [[nodiscard]] std::string_view view() const { return {characters_.data(), characters_.size()}; }

 private:
  std::vector<char> characters_;
};

/// Prints the lines of one table. `widths` are the ends of the columns as fractions of a line.
class table_printer {
 public:
  table_printer(summary_options const& options, int default_length, std::span<double const> widths)
      : length_(options.line_length > 0 ? options.line_length : default_length), print_(options.print_fn) {
    for (double const width : widths) ends_.push_back(static_cast<std::size_t>(length_ * width));
  }

  void line(std::string_view text) const { print_(text); }
  void rule(char c) const {
    std::vector<char> const line(static_cast<std::size_t>(length_), c);
    print_({line.data(), line.size()});
  }
  /// `Model: "mlp"`.
  void title(std::string_view before, std::string_view name) const {
    table_text text(before);
    line(text.append(": \"").append(name).append('"').view());
  }
  /// What is not given stays blank.
  void row(std::initializer_list<std::string_view> cells) const {
    table_text text;
    auto cell = cells.begin();
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (i > 0) text.end_with_space();
      if (cell != cells.end()) text.append(*cell++);
      text.resize(ends_[i]);
    }
    line(text.view());
  }

 private:
  int length_;
  line_printer const& print_;
  std::vector<std::size_t> ends_;
};

}  // namespace stagecraft::detail

// ---- stagecraft/models/summary.hpp
// The table of a model's layers: Keras's `summary()`, and everything that it prints as constants. Level 3.

namespace stagecraft {

/// One input of one call of a layer: Keras's `name[node_index][tensor_index]`.
struct summary_connection {
  fixed_name name;  ///< of the layer or nested model that it comes from
  int node_index = 0;
  int tensor_index = 0;
};

/// One layer, or one nested model, of a summary.
struct summary_row {
  fixed_name name;
  std::string_view class_name;
  long long parameter_count = 0;
  bool is_input = false;
  bool is_model = false;
  /// Its outputs' shapes, without the batch: one, but for a nested model with several outputs.
  std::span<shape const> output_shapes;
  /// Its calls give different shapes; `output_shapes` is the first call's.
  bool has_several_shapes = false;
  /// The inputs of all its calls; empty for an input.
  std::span<summary_connection const> connected_to;

  [[nodiscard]] constexpr shape const& output_shape() const { return output_shapes[0]; }
};

namespace detail {

/// The rows of a summary, while their number is not known.
struct summary_draft {
  std::vector<summary_row> rows;
  std::vector<shape> shapes;
  std::vector<int> shape_counts;
  std::vector<summary_connection> connections;
  std::vector<int> connection_counts;
};

struct summary_sizes {
  std::size_t rows = 0, shapes = 0, connections = 0;
};

/// Collects the rows of a graph's outermost model.
class summarizer {
 public:
  constexpr explicit summarizer(graph_view const& graph)
      : graph_(graph),
        records_{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs} {}

  constexpr summary_draft draft() {
    if (graph_.kind() == model_kind::functional) {
      for (int const node : post_order(records_).layers(0)) add_node(node);
      return draft_;
    }
    // A sequential model or a subclass: in the order of the first calls, without inputs.
    std::vector<int> seen;
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      int const child = post_order::child_holding(records_, i, 0);
      bool const nested = child > 0;
      int const key = nested ? -1 - graph_.nested_models[at(child)].instance : graph_.call(i).layer;
      bool known = graph_.call(i).is_input;
      for (int const other : seen) known = known || other == key;
      if (known) continue;
      seen.push_back(key);
      add_node(nested ? -1 - child : i);
    }
    return draft_;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  constexpr void add_node(int node) {
    shapes_before_ = draft_.shapes.size();
    connections_before_ = draft_.connections.size();
    if (node >= 0)
      add_layer(graph_.call(node).layer);
    else
      add_model(-1 - node);
    draft_.shape_counts.push_back(static_cast<int>(draft_.shapes.size() - shapes_before_));
    draft_.connection_counts.push_back(static_cast<int>(draft_.connections.size() - connections_before_));
  }

  constexpr void add_layer(int layer) {
    auto const& info = graph_.layer(layer);
    summary_row row;
    row.name = info.name;
    row.class_name = info.class_name;
    for (auto const& weight : graph_.parameters_of(layer)) row.parameter_count += weight.size();
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      auto const& call = graph_.call(i);
      if (call.layer != layer || call.nested_model != 0) continue;
      row.is_input = call.is_input;
      if (draft_.shapes.size() == shapes_before_)
        draft_.shapes.push_back(call.shape);
      else if (!(draft_.shapes.back() == call.shape))
        row.has_several_shapes = true;
      for (int const input : graph_.inputs_of(i)) connect(input);
    }
    draft_.rows.push_back(row);
  }

  constexpr void add_model(int model) {
    auto const& info = graph_.nested_models[at(model)];
    summary_row row;
    row.name = info.name;
    row.class_name = info.class_name;
    row.is_model = true;
    for (int const output : graph_.outputs_of(model)) draft_.shapes.push_back(graph_.call(output).shape);
    for (int other = model; other < static_cast<int>(graph_.nested_models.size()); ++other) {
      auto const& nested = graph_.nested_models[at(other)];
      if (nested.instance != info.instance || nested.parent != 0) continue;
      for (auto const& input : graph_.nested_inputs_of(other))
        if (input.call >= 0) connect(input.call);
    }
    for (int layer = 0; layer < static_cast<int>(graph_.layers.size()); ++layer)
      if (post_order::child_holding(records_, graph_.layer(layer).first_call, 0) == model)
        for (auto const& weight : graph_.parameters_of(layer)) row.parameter_count += weight.size();
    draft_.rows.push_back(row);
  }

  constexpr void connect(int call) {
    summary_connection connection;
    int const child = post_order::child_holding(records_, call, 0);
    if (child > 0) {
      auto const& nested = graph_.nested_models[at(child)];
      connection.name = nested.name;
      connection.node_index = nested.node_index;
      auto const outputs = graph_.outputs_of(child);
      for (std::size_t i = outputs.size(); i-- > 0;)
        if (outputs[i] == call) connection.tensor_index = static_cast<int>(i);
    } else {
      connection.name = graph_.layer_of(call).name;
      connection.node_index = graph_.call(call).node_index;
    }
    draft_.connections.push_back(connection);
  }

  graph_view const& graph_;
  graph_records records_;
  summary_draft draft_;
  std::size_t shapes_before_ = 0, connections_before_ = 0;
};

template <class M>
inline constexpr summary_sizes sizes_of_summary = [] {
  auto const draft = summarizer(graph_of<M>).draft();
  return summary_sizes{draft.rows.size(), draft.shapes.size(), draft.connections.size()};
}();

template <summary_sizes Sizes>
struct summary_tables {
  std::array<summary_row, Sizes.rows> rows{};
  std::array<shape, Sizes.shapes> shapes{};
  std::array<int, Sizes.rows> shape_counts{};
  std::array<summary_connection, Sizes.connections> connections{};
  std::array<int, Sizes.rows> connection_counts{};
};

template <class M>
inline constexpr auto summary_tables_of = [] {
  auto const draft = summarizer(graph_of<M>).draft();
  summary_tables<sizes_of_summary<M>> tables;
  for (std::size_t i = 0; i < tables.rows.size(); ++i) {
    tables.rows[i] = draft.rows[i];
    tables.shape_counts[i] = draft.shape_counts[i];
    tables.connection_counts[i] = draft.connection_counts[i];
  }
  for (std::size_t i = 0; i < tables.shapes.size(); ++i) tables.shapes[i] = draft.shapes[i];
  for (std::size_t i = 0; i < tables.connections.size(); ++i) tables.connections[i] = draft.connections[i];
  return tables;
}();

}  // namespace detail

/// The rows of a model's summary, as a std::array of summary_row in Keras's order of layers. A nested model is one row.
template <Model M>
inline constexpr auto summary_rows = [] {
  auto const& tables = detail::summary_tables_of<M>;
  auto rows = tables.rows;
  std::span<shape const> shapes(tables.shapes);
  std::span<summary_connection const> connections(tables.connections);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const shape_count = static_cast<std::size_t>(tables.shape_counts[i]);
    auto const connection_count = static_cast<std::size_t>(tables.connection_counts[i]);
    rows[i].output_shapes = shapes.first(shape_count);
    rows[i].connected_to = connections.first(connection_count);
    shapes = shapes.subspan(shape_count);
    connections = connections.subspan(connection_count);
  }
  return rows;
}();

/// Number of weights that training changes: Keras's "Trainable params".
template <Model M>
constexpr long long count_trainable_parameters() {
  long long count = 0;
  for (auto const& weight : graph_of<M>.parameters) count += weight.trainable ? weight.size() : 0;
  return count;
}

/// Whether a model's summary has no column "Connected to": a sequential model, a subclass, or a functional model whose
/// calls form one chain.
template <Model M>
inline constexpr bool is_sequential_like = [] {
  auto const& graph = graph_of<M>;
  return graph.kind() != model_kind::functional ||
         detail::post_order({graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs})
             .is_chain(0);
}();

namespace detail {

struct summary_totals {
  std::string_view name;
  model_kind kind;
  bool sequential_like;
  long long parameters, trainable;
};

inline table_text shape_cell(summary_row const& row, model_kind kind) {
  table_text text;
  // Keras does not know the shapes of a subclass's layers.
  if (row.has_several_shapes || (kind == model_kind::subclass && !row.is_model)) return text.append("multiple");
  bool const list = row.is_input || row.output_shapes.size() > 1;
  if (list) text.append('[');
  for (std::size_t i = 0; i < row.output_shapes.size(); ++i) {
    if (i > 0) text.append(", ");
    row.output_shapes[i].append_with_batch_to(text);
  }
  if (list) text.append(']');
  return text;
}

inline void print_summary(std::span<summary_row const> rows, summary_totals const& model,
                          summary_options const& options) {
  static constexpr double chain_widths[]{0.45, 0.85, 1.0};
  static constexpr double graph_widths[]{0.33, 0.55, 0.67, 1.0};
  bool const chain = model.sequential_like;
  table_printer const table(options, chain ? 65 : 98,
                            chain ? std::span<double const>(chain_widths) : std::span<double const>(graph_widths));
  table.title("Model", model.name);
  table.rule('_');
  table.row({"Layer (type)", "Output Shape", "Param #", "Connected to"});
  table.rule('=');
  for (auto const& row : rows) {
    table_text name(row.name), count;
    name.append(" (").append(row.class_name).append(')');
    count.append(row.parameter_count);
    auto const shapes = shape_cell(row, model.kind);
    std::size_t line = 0;
    do {
      table_text connection;
      if (!chain && line < row.connected_to.size()) {
        auto const& from = row.connected_to[line];
        connection.append(from.name)
            .append('[')
            .append(from.node_index)
            .append("][")
            .append(from.tensor_index)
            .append(']');
      }
      if (line == 0)
        table.row({name.view(), shapes.view(), count.view(), connection.view()});
      else
        table.row({"", "", "", connection.view()});
      ++line;
    } while (!chain && line < row.connected_to.size());
    table.rule(&row == &rows.back() ? '=' : '_');
  }
  table.line(table_text("Total params: ").append_with_commas(model.parameters).view());
  table.line(table_text("Trainable params: ").append_with_commas(model.trainable).view());
  table.line(table_text("Non-trainable params: ").append_with_commas(model.parameters - model.trainable).view());
  table.rule('_');
}

}  // namespace detail

/// Prints Keras's summary of a model: `sc::summary<mlp>();`, with options `sc::summary<mlp>({.line_length = 80});`.
/// The layout is that of Keras 2.6, 65 characters wide for a chain of layers, 98 with the column "Connected to" for
/// other functional models. As in Keras, the layers of a model subclass have "multiple" for their shape; the shapes are
/// in `summary_rows`. Subclass layers are listed in the order of their first calls (Keras: of their construction).
template <Model M>
void summary(summary_options const& options = {}) {
  detail::print_summary(summary_rows<M>,
                        {graph_of<M>.name(), graph_of<M>.kind(), is_sequential_like<M>, count_parameters<M>(),
                         count_trainable_parameters<M>()},
                        options);
}

}  // namespace stagecraft

// ---- stagecraft/pipeline/stages.hpp
// Stage numbers and device numbers as lists in template arguments. Level 3.

namespace stagecraft {

/// One stage per layer (sequential) or per call in Keras's order (functional, subclass); inputs are not counted. A
/// nested model is one entry, a stage for all of it or a list of its own: `stages<0, stages<0, 1>, 1>`. Without nested
/// lists its calls may also be written out flat.
template <auto... Stage>
struct stage_list {
  static constexpr std::size_t size = sizeof...(Stage);
};

template <auto... Stage>
inline constexpr stage_list<Stage...> stages{};

/// The device of each stage: `device_mapping<0, 1, 0>`. Empty: stage i runs on device i.
template <int... Device>
struct device_list {
  static constexpr std::array<int, sizeof...(Device)> devices{Device...};
};

template <int... Device>
inline constexpr device_list<Device...> device_mapping{};

namespace detail {

/// A stage list written out: numbers, and marks where a nested list begins and ends.
struct stage_token {
  static constexpr int begin = -1000001, end = -1000002;
  int value = 0;
};

template <class T>
inline constexpr std::size_t token_count = 1;
template <auto... Stage>
inline constexpr std::size_t token_count<stage_list<Stage...>> = [] {
  std::size_t count = 2;
  for (std::size_t const n : {std::size_t{0}, token_count<std::remove_cvref_t<decltype(Stage)>>...}) count += n;
  return count;
}();

template <std::integral Number>
constexpr void append_tokens(auto& tokens, std::size_t& count, Number number) {
  // A stage far below 0 must not be taken for a mark.
  tokens[count++] = {number < -1000000 ? -1000000 : static_cast<int>(number)};
}
template <auto... Stage>
constexpr void append_tokens(auto& tokens, std::size_t& count, stage_list<Stage...>) {
  tokens[count++] = {stage_token::begin};
  [[maybe_unused]] int const done[]{0, (append_tokens(tokens, count, Stage), 0)...};
  tokens[count++] = {stage_token::end};
}

template <auto... Stage>
constexpr auto tokens_of(stage_list<Stage...> list) {
  std::array<stage_token, token_count<stage_list<Stage...>>> tokens{};
  std::size_t count = 0;
  append_tokens(tokens, count, list);
  return tokens;
}

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/pipeline/assignment.hpp
// A stage assignment as ordinary values: got from a model, edited by a function, set again. Level 3.

namespace stagecraft {

/// The stage of one call of a layer: keras.ipu's LayerPipelineStageAssignment. Only `pipeline_stage` can be changed.
struct layer_pipeline_stage_assignment {
  graph_view const* graph = nullptr;
  int call = 0;
  int pipeline_stage = unassigned;

  [[nodiscard]] constexpr std::string_view layer_name() const { return graph->layer_of(call).name; }
  [[nodiscard]] constexpr std::string_view class_name() const { return graph->layer_of(call).class_name; }
  /// Which call of its layer, from 0.
  [[nodiscard]] constexpr int node_index() const { return graph->call(call).node_index; }
  [[nodiscard]] constexpr shape const& output_shape() const { return graph->call(call).shape; }
  /// The name of the nested model that makes the call; empty if the model itself does.
  [[nodiscard]] constexpr std::string_view nested_model() const {
    auto const model = graph->call(call).nested_model;
    return model == 0 ? std::string_view{} : graph->nested_models[static_cast<std::size_t>(model)].name.view();
  }
  [[nodiscard]] constexpr int inbound_layer_count() const { return graph->call(call).input_count; }
  /// The name of the layer behind an input of this call.
  [[nodiscard]] constexpr std::string_view inbound_layer(int index) const {
    return graph->layer_of(graph->inputs_of(call)[static_cast<std::size_t>(index)]).name;
  }
};

namespace detail {

/// Reads a stage list against a model's calls, level by level.
class stage_list_reader {
 public:
  constexpr stage_list_reader(graph_view const& graph, std::span<stage_token const> tokens, std::span<int> stages,
                              diagnostic& problem)
      : graph_(graph), tokens_(tokens), stages_(stages), problem_(problem) {}

  constexpr void read() { read_level(0, 0, static_cast<int>(graph_.order.size())); }

 private:
  /// The end of the run of ordered calls, from `first` on, that belongs to one entry of a model's list.
  [[nodiscard]] constexpr int entry_end(int first, int last, int model) const {
    int const child = child_of(first, model);
    int end = first + 1;
    while (child != model && end < last && child_of(end, model) == child) ++end;
    return end;
  }
  [[nodiscard]] constexpr int child_of(int position, int model) const {
    int at = graph_.call(graph_.order[static_cast<std::size_t>(position)]).nested_model;
    while (at != model && graph_.nested_models[static_cast<std::size_t>(at)].parent != model)
      at = graph_.nested_models[static_cast<std::size_t>(at)].parent;
    return at;
  }

  constexpr void read_level(int model, int first, int last) {
    int entries = 0, depth = 0;
    bool nested_lists = false;
    ++position_;  // begin
    for (std::size_t i = position_; tokens_[i].value != stage_token::end || depth > 0; ++i) {
      if (tokens_[i].value == stage_token::begin) nested_lists = true;
      entries += depth == 0 ? 1 : 0;
      depth += tokens_[i].value == stage_token::begin ? 1 : tokens_[i].value == stage_token::end ? -1 : 0;
    }
    int expected = 0;
    for (int i = first; i < last; i = entry_end(i, last, model)) ++expected;
    bool const flat = !nested_lists && entries == last - first;
    if (!flat && entries != expected) {
      problem_.report(2001, "the stage assignment of model '",
                      graph_.nested_models[static_cast<std::size_t>(model)].name, "' has ", entries,
                      entries == 1 ? " entry" : " entries", ", but ", expected, model_kind_counts(),
                      " need one (inputs are not counted)");
      return;
    }
    for (int i = first; i < last && !problem_.failed();) {
      int const end = flat ? i + 1 : entry_end(i, last, model);
      if (tokens_[position_].value == stage_token::begin) {
        int const child = child_of(i, model);
        if (child == model) {
          problem_.report(2001, "the stage assignment has a list for layer '",
                          graph_.layer_of(graph_.order[static_cast<std::size_t>(i)]).name,
                          "', which is not a nested model and takes one stage");
          return;
        }
        read_level(child, i, end);
      } else {
        for (int k = i; k < end; ++k)
          stages_[static_cast<std::size_t>(graph_.order[static_cast<std::size_t>(k)])] = tokens_[position_].value;
        ++position_;
      }
      i = end;
    }
    ++position_;  // end
  }

  [[nodiscard]] constexpr std::string_view model_kind_counts() const {
    return graph_.kind() == model_kind::sequential ? " layers" : " calls of layers";
  }

  graph_view const& graph_;
  std::span<stage_token const> tokens_;
  std::span<int> stages_;
  diagnostic& problem_;
  std::size_t position_ = 0;
};

}  // namespace detail

}  // namespace stagecraft

// ---- stagecraft/pipeline/pipeline_stage.hpp
// The scope that puts calls into a pipeline stage: keras.ipu.PipelineStage. Level 3.

namespace stagecraft {

/// While it lives, the calls made in a functional model's `build` (or a subclass's `call`) belong to a stage, and
/// `model.layer(dense{8})` makes layers that remember it:
///
///     { sc::pipeline_stage stage(model, 0);  x = dense(64)(x); }
///     { sc::pipeline_stage stage(model, 1);  x = dense(10)(x); }
///
/// A call's own stage goes before that of its layer. As soon as one call has a stage, all need one (E2003). Scopes are
/// never nested (E2011), and stages are numbered from 0 (E2012).
/// Definition: Graphcore, Keras with IPUs, "Pipeline stage scopes".
class pipeline_stage {
 public:
  constexpr pipeline_stage(model_builder& model, int stage, char const* file = __builtin_FILE(),
                           int line = __builtin_LINE())
      : model_(model), outer_(model.open_stage) {
    if (outer_ != unassigned)
      model.problem.report(2011, "the scope of pipeline stage ", stage, " is opened inside the scope of stage ", outer_,
                           "; scopes are never nested, close the first one before");
    if (stage < 0) model.problem.report(2012, "pipeline stage ", stage, " is negative; stages are numbered from 0");
    model.problem.locate({file, line});
    model.open_stage = stage;
  }
  constexpr ~pipeline_stage() { model_.open_stage = outer_; }
  pipeline_stage(pipeline_stage const&) = delete;
  pipeline_stage& operator=(pipeline_stage const&) = delete;

 private:
  model_builder& model_;
  int outer_;
};

}  // namespace stagecraft

// ---- stagecraft/pipeline/validation.hpp
// The rules of a stage assignment that need no schedule, each with its own code. Level 3.

namespace stagecraft::detail {

/// A model's graph with a stage per call (indexed as the graph's calls) and a device per stage (empty: stage i on
/// device i).
struct staged_graph {
  graph_view const& graph;
  std::span<int const> stages;
  std::span<int const> devices;

  [[nodiscard]] constexpr int stage(int call) const { return stages[static_cast<std::size_t>(call)]; }
  [[nodiscard]] constexpr int highest_stage() const {
    int last = -1;
    for (int const call : graph.order)
      if (stage(call) > last) last = stage(call);
    return last;
  }
  [[nodiscard]] constexpr int stage_count() const { return highest_stage() + 1; }
  [[nodiscard]] constexpr int device(int of_stage) const {
    return devices.empty() ? of_stage : devices[static_cast<std::size_t>(of_stage)];
  }
};

/// E2003: all calls have a stage. E2012: none is negative.
constexpr void check_every_call_assigned(staged_graph const& model, diagnostic& problem) {
  for (int const call : model.graph.order) {
    auto const& layer = model.graph.layer_of(call);
    if (model.stage(call) == unassigned)
      problem.report(2003, "layer '", layer.name, "' (node index ", model.graph.call(call).node_index,
                     ") has no pipeline stage; all layers of a pipelined model need one");
    else if (model.stage(call) < 0)
      problem.report(2012, "layer '", layer.name, "' is assigned to pipeline stage ", model.stage(call),
                     "; stages are numbered from 0");
  }
}

/// E2006: a sequential model begins in stage 0. E2007: each layer is in the stage of the layer before, or in the next.
constexpr void check_sequential_order(staged_graph const& model, diagnostic& problem) {
  if (model.graph.kind() != model_kind::sequential || model.graph.nested_models.size() > 1) return;
  int before = -1;
  for (int const call : model.graph.order) {
    auto const& name = model.graph.layer_of(call).name;
    if (before < 0) {
      if (model.stage(call) != 0)
        problem.report(2006, "the first layer '", name, "' is assigned to pipeline stage ", model.stage(call),
                       "; a sequential model begins in stage 0");
    } else if (int const last = model.stage(before); model.stage(call) < last || model.stage(call) - last > 1) {
      problem.report(2007, "layer '", name, "' is assigned to pipeline stage ", model.stage(call), ", but layer '",
                     model.graph.layer_of(before).name, "' before it to stage ", last,
                     "; in a sequential model each layer is in the same stage or in the next");
    }
    before = call;
  }
}

/// E2004: a call uses only what its own stage or an earlier one computes.
constexpr void check_dependencies(staged_graph const& model, diagnostic& problem) {
  for (int const call : model.graph.order)
    for (int const input : model.graph.inputs_of(call))
      if (!model.graph.call(input).is_input && model.stage(input) > model.stage(call))
        problem.report(2004, "layer '", model.graph.layer_of(call).name, "' in pipeline stage ", model.stage(call),
                       " uses the output of layer '", model.graph.layer_of(input).name, "' in stage ",
                       model.stage(input), "; a layer can only use outputs of its own or previous stages");
}

/// E2005: stages start at 0 and leave none out. E2008: there are at least two.
constexpr void check_contiguous(staged_graph const& model, diagnostic& problem) {
  int const highest = model.highest_stage();
  for (int stage = 0; stage <= highest; ++stage) {
    bool used = false;
    for (int const call : model.graph.order) used = used || model.stage(call) == stage;
    if (used) continue;
    problem.report(2005, "no layer is assigned to pipeline stage ", stage, ", but the highest stage is ", highest,
                   "; stages start at 0 and leave none out");
    return;
  }
  if (highest < 1) problem.report(2008, "all layers are in pipeline stage 0; a pipeline has at least two stages");
}

/// E2009: a device for each stage. E2014: devices are numbered from 0. E2010: calls that share weights are on one
/// device.
constexpr void check_devices(staged_graph const& model, diagnostic& problem) {
  int const count = model.stage_count();
  auto const mapped = static_cast<int>(model.devices.size());
  if (mapped > 0 && mapped != count) {
    problem.report(2009, "the device mapping has ", mapped, mapped == 1 ? " entry" : " entries", ", but the model has ",
                   count, " pipeline stages; each stage is mapped to a device");
    return;
  }
  for (int const device : model.devices)
    if (device < 0)
      problem.report(2014, "the device mapping contains device ", device, "; devices are numbered from 0");
  for (int const call : model.graph.order) {
    auto const& layer = model.graph.layer_of(call);
    if (layer.parameter_count == 0 || layer.call_count < 2) continue;
    int const first = model.stage(layer.first_call), own = model.stage(call);
    if (model.device(first) != model.device(own))
      problem.report(2010, "layer '", layer.name, "' is called in pipeline stages ", first, " and ", own,
                     ", which are on devices ", model.device(first), " and ", model.device(own),
                     "; calls that share weights need their stages on one device, see device_mapping");
  }
}

/// The first rule that a staged model breaks.
constexpr diagnostic validate_stages(staged_graph const& model) {
  diagnostic problem;
  for (auto const check :
       {check_every_call_assigned, check_sequential_order, check_dependencies, check_contiguous, check_devices})
    if (!problem.failed()) check(model, problem);
  return problem;
}

}  // namespace stagecraft::detail

// ---- stagecraft/pipeline/pipelined.hpp
// A model with a stage assignment, checked by the compiler; and what can be asked of it. Keras on IPU's
// get / set / reset_pipeline_stage_assignment. Level 3.

namespace stagecraft {

/// The type behind `pipelined<...>`.
template <Model M, auto Assignment, auto Devices>
struct pipelined_model : model_base {
  static constexpr model_kind kind = M::kind;
  using unstaged = M;
};

/// The graph of a staged model is that of the model itself.
template <class M, auto Assignment, auto Devices>
inline constexpr graph_view graph_of<pipelined_model<M, Assignment, Devices>> = graph_of<M>;

namespace detail {

/// In place of an assignment: none.
struct no_stages {};

/// Whether a parameter of a function lets it change its argument.
template <class Function>
inline constexpr bool takes_reference = true;
template <class Result, class F, class Parameter>
inline constexpr bool takes_reference<Result (F::*)(Parameter) const> =
    std::is_lvalue_reference_v<Parameter> || std::is_rvalue_reference_v<Parameter>;
template <class Result, class Parameter>
inline constexpr bool takes_reference<Result (*)(Parameter)> = std::is_reference_v<Parameter>;

/// Whether F gets a copy of what it is called with, so that its changes are lost.
template <class F, class Argument>
constexpr bool takes_copy() {
  if constexpr (requires { &F::operator(); })
    return !takes_reference<decltype(&F::operator())>;
  else if constexpr (requires { &F::template operator()<Argument>; })
    return !takes_reference<decltype(&F::template operator()<Argument>)>;
  else
    return !takes_reference<F>;
}

/// A function that edits an assignment.
template <class F, class Argument>
inline constexpr bool assigns_by_function = std::invocable<F, Argument&> && !takes_copy<F, Argument>();

/// A function, but one that cannot be given an assignment to change.
template <class F, class Argument>
inline constexpr bool has_wrong_parameter =
    !assigns_by_function<F, Argument> &&
    (std::invocable<F, Argument&> || std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); });

template <class T>
inline constexpr bool is_stage_list = false;
template <auto... Stage>
inline constexpr bool is_stage_list<stage_list<Stage...>> = true;

/// Whether all entries of a list, and of the lists in it, are numbers.
template <class T>
inline constexpr bool is_list_of_stages = std::integral<T>;
template <auto... Stage>
inline constexpr bool is_list_of_stages<stage_list<Stage...>> = [] {
  bool result = true;
  for (bool const valid : {true, is_list_of_stages<std::remove_cvref_t<decltype(Stage)>>...}) result = result && valid;
  return result;
}();

template <class T>
concept StageOrEntry = std::integral<T> || requires(T const& entry) {
  entry.pipeline_stage;
  entry.layer_name();
};

template <class T>
inline constexpr bool is_range_of_stages = requires(T const& range) {
  range.size();
  requires StageOrEntry<std::remove_cvref_t<decltype(range[0])>>;
};

/// The stages of a model's calls, indexed as the graph's calls, and what was wrong with how they were given.
template <std::size_t Calls>
struct call_stages {
  std::array<int, Calls> of_call{};
  diagnostic problem;
  bool pipelined = false;
};

template <class M>
struct staging {
  static constexpr std::array<int, 0> devices{};

  /// Stages from the scopes in the model's own code.
  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (std::size_t i = 0; i < result.of_call.size(); ++i) {
      result.of_call[i] = graph_of<M>.calls[i].pipeline_stage;
      result.pipelined = result.pipelined || result.of_call[i] != unassigned;
    }
    return result;
  }
};

template <class M>
constexpr auto current_assignment();

/// The devices of a device mapping; none of anything else.
template <class Mapping>
constexpr auto devices_of() {
  if constexpr (requires { std::remove_cvref_t<Mapping>::devices; })
    return std::remove_cvref_t<Mapping>::devices;
  else
    return std::array<int, 0>{};
}

template <class M, auto Assignment, auto Devices>
struct staging<pipelined_model<M, Assignment, Devices>> {
  static constexpr auto devices = devices_of<decltype(Devices)>();
  using assignment_type = std::remove_cvref_t<decltype(Assignment)>;

  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (auto& stage : result.of_call) stage = unassigned;
    result.pipelined = !std::same_as<assignment_type, no_stages>;
    if constexpr (is_invalid<M>) {
      result.pipelined = false;
    } else if constexpr (!requires { std::remove_cvref_t<decltype(Devices)>::devices; }) {
      result.problem.report(2018, "the device of each stage is given as a value of type '",
                            type_name<std::remove_cvref_t<decltype(Devices)>>(),
                            "'; write sc::device_mapping<0, 1, 0>, with one number for each stage");
    } else if constexpr (std::same_as<assignment_type, no_stages>) {
    } else if constexpr (assigns_by_function<assignment_type, decltype(current_assignment<M>())>) {
      auto assignment = current_assignment<M>();
      Assignment(assignment);
      for (auto const& entry : assignment) result.of_call[static_cast<std::size_t>(entry.call)] = entry.pipeline_stage;
    } else if constexpr (has_wrong_parameter<assignment_type, decltype(current_assignment<M>())>) {
      result.problem.report(2017,
                            "the function that assigns the stages does not take the assignment by reference, so that "
                            "it cannot change it; write [](auto& assignment) { ... }");
    } else if constexpr (is_stage_list<assignment_type>) {
      if constexpr (is_list_of_stages<assignment_type>) {
        auto const tokens = tokens_of(Assignment);
        stage_list_reader(graph_of<M>, tokens, result.of_call, result.problem).read();
      } else {
        result.problem.report(2019,
                              "the list of stages has an entry that is neither a number nor a list for a nested model; "
                              "write stages<0, 1> or stages<0, stages<0, 1>, 1>");
      }
    } else if constexpr (is_range_of_stages<assignment_type>) {
      read_range(result);
    } else {
      result.problem.report(
          2016, "the stages are given as a value of type '", type_name<assignment_type>(),
          "'; give stages<0, 0, 1>, a function [](auto& assignment) { ... }, an assignment got from a "
          "model, or an array of numbers");
    }
    return result;
  }

 private:
  /// An assignment got from a model and edited, or an array of stages.
  static constexpr void read_range(auto& result) {
    auto const& order = graph_of<M>.order;
    if (Assignment.size() != order.size()) {
      result.problem.report(2001, "the stage assignment of model '", graph_of<M>.name(), "' has ",
                            static_cast<int>(Assignment.size()), " entries, but ", static_cast<int>(order.size()),
                            " calls of layers need one (inputs are not counted)");
      return;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if constexpr (std::integral<std::remove_cvref_t<decltype(Assignment[0])>>) {
        result.of_call[static_cast<std::size_t>(order[i])] = Assignment[i];
      } else {
        auto const& entry = Assignment[i];
        auto const& expected = graph_of<M>.layer_of(order[i]);
        if (entry.layer_name() != expected.name.view() || entry.node_index() != graph_of<M>.call(order[i]).node_index)
          result.problem.report(
              2002, "entry ", static_cast<int>(i), " of the stage assignment is for layer '", entry.layer_name(),
              "' (node index ", entry.node_index(), "), but in this model layer '", expected.name, "' (node index ",
              graph_of<M>.call(order[i]).node_index, ") stands there; an assignment has the model's post-order");
        result.of_call[static_cast<std::size_t>(order[i])] = entry.pipeline_stage;
      }
    }
  }
};

template <class M>
inline constexpr auto staged_calls = staging<M>::stages();

template <class M>
constexpr auto current_assignment() {
  std::array<layer_pipeline_stage_assignment, graph_of<M>.order.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    int const call = graph_of<M>.order[i];
    result[i] = {&graph_of<M>, call, staged_calls<M>.of_call[static_cast<std::size_t>(call)]};
  }
  return result;
}

/// The first rule of stages that a model breaks (codes E2xxx).
template <class M>
inline constexpr diagnostic stage_problem = [] {
  auto const& calls_staged = staged_calls<M>;
  if (!calls_staged.pipelined || calls_staged.problem.failed()) return calls_staged.problem;
  return validate_stages({graph_of<M>, calls_staged.of_call, staging<M>::devices});
}();

/// Whether a model or its stages have had a compile error.
template <class M>
inline constexpr bool has_invalid_stages = is_invalid<M> || stage_problem<M>.failed();

template <class M>
inline constexpr std::array<int, graph_of<M>.calls.size()> all_in_stage_0{};

template <class M>
constexpr staged_graph staged_view() {
  static_assert(report<stage_problem<M>>());
  if constexpr (has_invalid_stages<M>)
    return {graph_of<M>, all_in_stage_0<M>, {}};
  else
    return {graph_of<M>, staged_calls<M>.of_call, staging<M>::devices};
}

/// A number asked of a model's stages; equal to everything where they have had a compile error.
template <class M>
using stage_answer = std::conditional_t<has_invalid_stages<M>, any_number, int>;

template <class M>
inline constexpr staged_graph checked_stages = staged_view<M>();

template <class M>
struct without_stages {
  using type = pipelined_model<M, no_stages{}, device_mapping<>>;
};
template <class M, auto Assignment, auto Devices>
struct without_stages<pipelined_model<M, Assignment, Devices>> : without_stages<M> {};

/// E2015: the first argument of `pipelined` is no model.
template <class T>
inline constexpr diagnostic no_model_problem = [] {
  diagnostic problem;
  problem.report(2015, "pipelined<...> is given the type '", type_name<T>(),
                 "', which is not a model; a model is "
                 "sequential<...>, a struct with base functional<...>, or build<...> of a model subclass");
  return problem;
}();

/// The first problem of a pipelined model: that of the model itself, or that of its stages.
template <class M, auto Assignment, auto Devices>
constexpr diagnostic const& pipeline_problem() {
  if constexpr (!Model<M>)
    return no_model_problem<M>;
  else if constexpr (is_invalid<M>)
    return findings<typename traced_model<M>::type>.problem;
  else
    return stage_problem<pipelined_model<M, Assignment, Devices>>;
}

template <class M, auto Assignment, auto Devices>
using verdict_on_stages = verdict_on<pipeline_problem<M, Assignment, Devices>()>;

template <class M>
using model_or_stand_in = std::conditional_t<Model<M>, M, not_a_model>;

}  // namespace detail

/// Keras on IPU's `set_pipeline_stage_assignment`: a model with a stage for each of its layers' calls. `Assignment` is
/// - `stages<0, 0, 1>`: in Keras's order, see pipeline/stages.hpp;
/// - a function that edits the model's present assignment: `[](auto& assignment) { for (auto& call : assignment) ...
/// }`;
/// - an assignment got from a model, or an array of stages.
/// `Devices` is the device of each stage: `device_mapping<0, 1, 0>`.
///
/// Checked where it is named: E2001 length, E2002 order, E2003 every call assigned, E2004 uses a later stage, E2005 a
/// stage is left out, E2006 and E2007 order of a sequential model, E2008 at least two stages, E2009 and E2014 device
/// mapping, E2010 shared weights on one device, E2012 negative stage; E2015 to E2019 arguments that are something else.
template <class M, auto Assignment, auto Devices = device_mapping<>>
using pipelined = typename detail::verdict_on_stages<M, Assignment, Devices>::template model<
    pipelined_model<detail::model_or_stand_in<M>, Assignment, Devices>>;

/// Keras on IPU's `reset_pipeline_stage_assignment`: the same model without stages.
template <Model M>
using unpipelined = typename detail::without_stages<M>::type;

/// Keras on IPU's `get_pipeline_stage_assignment`: a std::array of layer_pipeline_stage_assignment in Keras's order.
/// A copy: change it and give it to `pipelined` again. Without stages, each entry is unassigned.
template <Model M>
constexpr auto get_pipeline_stage_assignment() {
  return detail::current_assignment<M>();
}

/// Whether a model has pipeline stages.
template <Model M>
inline constexpr bool is_pipelined = detail::staged_calls<M>.pipelined;

namespace detail {

template <class M, int Call>
constexpr int stage_of_call() {
  if constexpr (has_invalid_stages<M>)
    return checked_stages<M>.stage(0);
  else
    return checked_stages<M>.stage(existing_call<M, Call>());
}

/// E2023: a stage that the model does not have.
template <class M, int Stage>
inline constexpr diagnostic stage_number_problem = [] {
  diagnostic problem;
  if (!has_invalid_stages<M> && (Stage < 0 || Stage >= checked_stages<M>.stage_count()))
    problem.report(2023, "model '", graph_of<M>.name(), "' has no pipeline stage ", Stage, "; it has ",
                   checked_stages<M>.stage_count(), " stages, numbered from 0");
  return problem;
}();

template <class M, int Stage>
constexpr int device_of_stage() {
  static_assert(report<stage_number_problem<M, Stage>>());
  return has_invalid_stages<M> || stage_number_problem<M, Stage>.failed() ? 0 : checked_stages<M>.device(Stage);
}

}  // namespace detail

/// Number of pipeline stages, 0 for a model without.
template <Model M>
inline constexpr detail::stage_answer<M> pipeline_stages{detail::checked_stages<M>.stage_count()};

/// The stage of one call; `unassigned` for a model without stages and for inputs.
template <Model M, int Call>
inline constexpr detail::stage_answer<M> stage_of{detail::stage_of_call<M, Call>()};

/// The device of a stage.
template <Model M, int Stage>
inline constexpr detail::stage_answer<M> device_of{detail::device_of_stage<M, Stage>()};

namespace detail {

template <class M, int Stage>
constexpr std::size_t count_calls_of_stage() {
  std::size_t count = 0;
  for (int const call : graph_of<M>.order) count += checked_stages<M>.stage(call) == Stage ? 1 : 0;
  return count;
}

template <class M, int Stage>
constexpr auto list_calls_of_stage() {
  if constexpr (has_invalid_stages<M>) {
    return any_calls{checked_stages<M>.stages.size()};
  } else {
    std::array<int, count_calls_of_stage<M, Stage>()> result{};
    std::size_t count = 0;
    for (int const call : graph_of<M>.order)
      if (checked_stages<M>.stage(call) == Stage) result[count++] = call;
    return result;
  }
}

}  // namespace detail

/// The calls of one stage in Keras's order, as a std::array<int, n>.
template <Model M, int Stage>
inline constexpr auto calls_of_stage = detail::list_calls_of_stage<M, Stage>();

}  // namespace stagecraft

// ---- stagecraft/pipeline/summary.hpp
// The table of a model's pipeline stages: Keras on IPU's `print_pipeline_stage_assignment_summary`, and everything that
// it prints as constants. Level 3.

namespace stagecraft {

/// One call of a layer in a summary of pipeline stages.
struct pipeline_summary_row {
  fixed_name name;
  std::string_view class_name;
  int node_index = 0;  ///< which call of its layer, counted inside its own model
  int pipeline_stage = unassigned;
  int nested_model = 0;          ///< the number of the nested model's call that it belongs to; 0: the model itself
  fixed_name nested_model_name;  ///< empty for the model itself
  std::span<fixed_name const> input_layers;  ///< the layers and nested models whose outputs it takes
};

namespace detail {

/// The name that the model of a call sees behind one of the call's inputs.
constexpr fixed_name name_of_input(graph_view const& graph, int call, int input) {
  graph_records const records{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs};
  int const model = graph.call(call).nested_model;
  int const child = post_order::child_holding(records, input, model);
  if (child == model) return graph.layer_of(input).name;
  if (child >= 0) return graph.nested_models[static_cast<std::size_t>(child)].name;
  for (auto const& own : graph.nested_inputs_of(model))
    if (own.call == input && !own.name.empty()) return own.name;
  // A model without an input of its own: Keras names one after the first layer.
  return fixed_name(graph.layer_of(call).name).append("_input");
}

template <class M>
constexpr std::size_t count_input_names() {
  std::size_t count = 0;
  for (int const call : graph_of<M>.order) count += graph_of<M>.inputs_of(call).size();
  return count;
}

template <class M>
inline constexpr auto input_names = [] {
  std::array<fixed_name, count_input_names<M>()> names{};
  std::size_t count = 0;
  for (int const call : graph_of<M>.order)
    for (int const input : graph_of<M>.inputs_of(call)) names[count++] = name_of_input(graph_of<M>, call, input);
  return names;
}();

}  // namespace detail

/// The rows of a model's summary of pipeline stages, as a std::array of pipeline_summary_row in Keras's order.
template <Model M>
inline constexpr auto pipeline_summary_rows = [] {
  auto const& graph = graph_of<M>;
  std::array<pipeline_summary_row, graph_of<M>.order.size()> rows{};
  std::span<fixed_name const> names(detail::input_names<M>);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    int const index = graph.order[i];
    auto const& call = graph.call(index);
    auto& row = rows[i];
    row.name = graph.layer_of(index).name;
    row.class_name = graph.layer_of(index).class_name;
    row.node_index = call.node_index;
    row.pipeline_stage = detail::checked_stages<M>.stage(index);
    row.nested_model = call.nested_model;
    if (call.nested_model != 0) {
      row.nested_model_name = graph.nested_models[static_cast<std::size_t>(call.nested_model)].name;
      row.node_index = 0;
      for (int before = 0; before < index; ++before)
        if (graph.call(before).layer == call.layer && graph.call(before).nested_model == call.nested_model)
          ++row.node_index;
    }
    row.input_layers = names.first(static_cast<std::size_t>(call.input_count));
    names = names.subspan(row.input_layers.size());
  }
  return rows;
}();

namespace detail {

/// Announces the nested models that hold a row and not the row before, the outermost first.
inline void print_nested_titles(table_printer const& table, graph_view const& graph, int model, int before) {
  auto const parent = [&](int of) { return graph.nested_models[static_cast<std::size_t>(of)].parent; };
  for (int outer = before; outer >= 0; outer = parent(outer))
    if (outer == model) return;
  print_nested_titles(table, graph, parent(model), before);
  table.title("Nested Model", graph.nested_models[static_cast<std::size_t>(model)].name);
  table.rule('-');
}

inline void print_pipeline_summary(graph_view const& graph, std::span<pipeline_summary_row const> rows,
                                   summary_options const& options) {
  static constexpr double sequential_widths[]{0.5, 1.0};
  static constexpr double graph_widths[]{0.4, 0.8, 1.0};
  bool const sequential = graph.kind() == model_kind::sequential;
  table_printer const table(
      options, sequential ? 60 : 89,
      sequential ? std::span<double const>(sequential_widths) : std::span<double const>(graph_widths));
  table.title("Model", graph.name());
  table.rule('_');
  if (sequential)
    table.row({"Layer (type)", "Pipeline Stage"});
  else
    table.row({"Layer (type) (node index)", "Input Layers", "Pipeline Stage"});
  table.rule('=');
  int model = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& row = rows[i];
    print_nested_titles(table, graph, row.nested_model, model);
    model = row.nested_model;
    table_text title(row.name), stage;
    title.append(" (").append(row.class_name).append(')');
    if (row.pipeline_stage == unassigned)
      stage.append("None");
    else
      stage.append(row.pipeline_stage);
    if (sequential) {
      table.row({title.view(), stage.view()});
    } else {
      title.append(" (").append(row.node_index).append(')');
      table.row(
          {title.view(), row.input_layers.empty() ? std::string_view{} : row.input_layers[0].view(), stage.view()});
      for (std::size_t k = 1; k < row.input_layers.size(); ++k) table.row({"", row.input_layers[k].view(), ""});
    }
    table.rule(i + 1 == rows.size() || rows[i + 1].nested_model != model ? '=' : '_');
  }
}

}  // namespace detail

/// Prints Keras on IPU's summary of a stage assignment, in its layout: 60 characters wide for a sequential model, 89
/// with the node index and the input layers of each call for the others. A call without a stage prints `None`.
template <Model M>
void print_pipeline_stage_assignment_summary(summary_options const& options = {}) {
  detail::print_pipeline_summary(graph_of<M>, pipeline_summary_rows<M>, options);
}

}  // namespace stagecraft

// ---- stagecraft/regularizers/l1.hpp
// The penalty l1 * sum|w|.
// Keras counterpart: tf.keras.regularizers.l1. Level 0 of the house.

namespace stagecraft::regularizers {

/// The penalty l1 * sum|w|.
struct l1 {
  float l1 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.l1 = l1};
  }
};

}  // namespace stagecraft::regularizers

// ---- stagecraft/regularizers/l1_l2.hpp
// The penalty l1 * sum|w| + l2 * sum w^2.
// Keras counterpart: tf.keras.regularizers.l1_l2. Level 0 of the house.

namespace stagecraft::regularizers {

/// The penalty l1 * sum|w| + l2 * sum w^2.
struct l1_l2 {
  float l1 = 0.01F;
  float l2 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.l1 = l1, .l2 = l2};
  }
};

}  // namespace stagecraft::regularizers

// ---- stagecraft/regularizers/l2.hpp
// The penalty l2 * sum w^2.
// Keras counterpart: tf.keras.regularizers.l2. Level 0 of the house.

namespace stagecraft::regularizers {

/// The penalty l2 * sum w^2.
struct l2 {
  float l2 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.l2 = l2};
  }
};

}  // namespace stagecraft::regularizers

// ---- stagecraft/regularizers/regularizers.hpp
// All weight penalties.
// Keras counterpart: tf.keras.regularizers. Level 0 of the house.

// ---- stagecraft/version.hpp
// The library's version: the only place where it is written; CMake reads it from here. Level 0.

namespace stagecraft {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace stagecraft

// ---- stagecraft/pipeline.hpp
// Models, their pipeline stages and the checks of both, without anything that computes: needs neither xtensor nor
// xsimd. Level 3.

// ---- stagecraft/losses/binary_crossentropy.hpp
// Cross entropy of independent yes/no targets.
// Keras counterpart: tf.keras.losses.BinaryCrossentropy. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.

namespace stagecraft::losses {

/// mean over the last axis of -(y log p + (1 - y) log(1 - p)); target and prediction (rows, columns).
/// From probabilities Keras clips to [1e-7, 1 - 1e-7] and adds 1e-7 inside the logarithms.
struct binary_crossentropy {
  bool from_logits = false;   ///< true: the model's output is unnormalised, the loss applies sigmoid itself
  float label_smoothing = 0;  ///< s: targets become y (1 - s) + s / 2

  static constexpr std::string_view name = "binary_crossentropy";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(binary_crossentropy const&, binary_crossentropy const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/categorical_crossentropy.hpp
// Cross entropy of a target distribution against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.CategoricalCrossentropy. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.

namespace stagecraft::losses {

/// -sum_c y[c] log p[c] over the last axis; target and prediction (rows, classes).
/// From probabilities Keras first divides by their sum, then clips to [1e-7, 1 - 1e-7].
struct categorical_crossentropy {
  bool from_logits = false;   ///< true: the model's output is unnormalised, the loss applies softmax itself
  float label_smoothing = 0;  ///< s: targets become y (1 - s) + s / classes

  static constexpr std::string_view name = "categorical_crossentropy";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(categorical_crossentropy const&, categorical_crossentropy const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/huber.hpp
// Squared differences near 0, absolute differences further out.
// Keras counterpart: tf.keras.losses.Huber. Level 2 of the house: options only, the loops are in kernels/loss.hpp.

namespace stagecraft::losses {

/// mean over the last axis of e^2 / 2 for |e| <= delta and delta |e| - delta^2 / 2 beyond, e = prediction - target.
/// Keras's name of the loss is `huber_loss` in logs of version 2.6 and `huber` as an identifier.
struct huber {
  float delta = 1;  ///< where the square becomes a line

  static constexpr std::string_view name = "huber";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(huber const&, huber const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/mean_absolute_error.hpp
// Mean of absolute differences.
// Keras counterpart: tf.keras.losses.MeanAbsoluteError. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.

namespace stagecraft::losses {

/// mean over the last axis of |prediction - target|; both (rows, columns). The gradient at 0 is 0.
struct mean_absolute_error {
  static constexpr std::string_view name = "mean_absolute_error";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(mean_absolute_error const&, mean_absolute_error const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/mean_squared_error.hpp
// Mean of squared differences.
// Keras counterpart: tf.keras.losses.MeanSquaredError. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.

namespace stagecraft::losses {

/// mean over the last axis of (prediction - target)^2; both (rows, columns).
struct mean_squared_error {
  static constexpr std::string_view name = "mean_squared_error";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(mean_squared_error const&, mean_squared_error const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/sparse_categorical_crossentropy.hpp
// Cross entropy of class numbers against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.SparseCategoricalCrossentropy. Level 2 of the house: options only, the loops are
// in kernels/loss.hpp.

namespace stagecraft::losses {

/// -log p[y] with y an integer class number, one per row; prediction (rows, classes).
/// From probabilities Keras clips to [1e-7, 1 - 1e-7] and normalises again (softmax of the logarithms).
struct sparse_categorical_crossentropy {
  bool from_logits = false;  ///< true: the model's output is unnormalised, the loss applies softmax itself

  static constexpr std::string_view name = "sparse_categorical_crossentropy";
  static constexpr bool sparse_targets = true;

  friend constexpr bool operator==(sparse_categorical_crossentropy const&,
                                   sparse_categorical_crossentropy const&) = default;
};

}  // namespace stagecraft::losses

// ---- stagecraft/losses/losses.hpp
// All loss functions.
// Keras counterpart: tf.keras.losses. Level 2 of the house.

// ---- stagecraft/losses/per_output.hpp
// One loss for each output of a model: Keras's list of losses. Level 2.

namespace stagecraft::losses {

namespace detail {

template <std::size_t Index, class Loss>
struct output_loss {
  Loss loss;
};

template <class Indices, class... Losses>
struct output_losses;
template <std::size_t... Index, class... Losses>
struct output_losses<std::index_sequence<Index...>, Losses...> : output_loss<Index, Losses>... {};

template <std::size_t Index, class Loss>
constexpr Loss const& loss_at(output_loss<Index, Loss> const& entry) {
  return entry.loss;
}

}  // namespace detail

/// `.loss = sc::losses::per_output(mean_squared_error{}, binary_crossentropy{})`. A single loss serves all outputs.
template <class... Losses>
struct output_loss_list : detail::output_losses<std::index_sequence_for<Losses...>, Losses...> {
  static constexpr int size = sizeof...(Losses);
};

template <class... Losses>
constexpr output_loss_list<Losses...> per_output(Losses const&... loss) {
  return {{{loss}...}};
}

/// The loss of one output. Where a list is too short (an error of its own, E4022), its first one stands in.
template <std::size_t Output, class Loss>
constexpr auto const& loss_of_output(Loss const& loss) {
  if constexpr (requires { Loss::size; })
    return detail::loss_at<(Output < Loss::size ? Output : 0)>(loss);
  else
    return loss;
}

}  // namespace stagecraft::losses

// ---- stagecraft/metrics/metric.hpp
// One metric with its options, and Keras's rule for which accuracy `accuracy` is.
// Keras counterpart: tf.keras.metrics and compile_utils. Level 2 of the house: options only, sums are in
// training/metric_state.hpp.

namespace stagecraft::metrics {

/// What is measured. Each row of a batch contributes one number, the metric is their mean over an epoch.
enum class metric_kind : unsigned char {
  accuracy,                           ///< one of the three below, see `resolve`
  binary_accuracy,                    ///< share of the columns where (prediction > threshold) == target
  categorical_accuracy,               ///< argmax of the prediction == argmax of the target
  sparse_categorical_accuracy,        ///< argmax of the prediction == target
  top_k_categorical_accuracy,         ///< argmax of the target is among the k largest predictions
  sparse_top_k_categorical_accuracy,  ///< target is among the k largest predictions
  mean_squared_error,                 ///< mean over the columns of (prediction - target)^2
  mean_absolute_error                 ///< mean over the columns of |prediction - target|
};

/// The name that Keras reports in logs, history and the progress bar.
[[nodiscard]] constexpr std::string_view name(metric_kind kind) noexcept {
  switch (kind) {
    case metric_kind::accuracy: return "accuracy";
    case metric_kind::binary_accuracy: return "binary_accuracy";
    case metric_kind::categorical_accuracy: return "categorical_accuracy";
    case metric_kind::sparse_categorical_accuracy: return "sparse_categorical_accuracy";
    case metric_kind::top_k_categorical_accuracy: return "top_k_categorical_accuracy";
    case metric_kind::sparse_top_k_categorical_accuracy: return "sparse_top_k_categorical_accuracy";
    case metric_kind::mean_squared_error: return "mean_squared_error";
    case metric_kind::mean_absolute_error: return "mean_absolute_error";
  }
  return "";
}

/// True when targets of this metric are class numbers, one per row.
[[nodiscard]] constexpr bool wants_sparse_targets(metric_kind kind) noexcept {
  return kind == metric_kind::sparse_categorical_accuracy || kind == metric_kind::sparse_top_k_categorical_accuracy;
}

/// Any metric as one structural value. Every options type of this folder converts to it, so that a list of metrics is
/// an array of these (see metric_list.hpp).
struct metric {
  metric_kind kind = metric_kind::accuracy;
  float threshold = 0.5f;  ///< binary accuracy only
  int k = 5;               ///< top-k accuracies only

  /// The name in logs: `accuracy` keeps its name whatever it is resolved to, as Keras's "accuracy" string does.
  [[nodiscard]] constexpr std::string_view name() const noexcept { return metrics::name(kind); }

  friend constexpr bool operator==(metric const&, metric const&) = default;
};

/// Keras's choice for `accuracy`: binary for predictions of width 1, else sparse categorical when the targets are class
/// numbers, else categorical. Every other metric is returned as it is.
/// \param sparse_targets whether targets are class numbers, as the loss's `sparse_targets` says
/// \param output_width last dimension of the prediction
[[nodiscard]] constexpr metric resolve(metric chosen, bool sparse_targets, int output_width) noexcept {
  if (chosen.kind != metric_kind::accuracy) return chosen;
  if (output_width == 1)
    chosen.kind = metric_kind::binary_accuracy;
  else if (sparse_targets)
    chosen.kind = metric_kind::sparse_categorical_accuracy;
  else
    chosen.kind = metric_kind::categorical_accuracy;
  return chosen;
}

/// Whether a metric can be computed from the targets that the loss takes: class numbers cannot be compared column by
/// column with a prediction wider than 1, and a row of target values is no class number. For compile-time checks.
[[nodiscard]] constexpr bool fits_targets(metric chosen, bool sparse_targets, int output_width) noexcept {
  auto const kind = resolve(chosen, sparse_targets, output_width).kind;
  return output_width == 1 || wants_sparse_targets(kind) == sparse_targets;
}

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/accuracy.hpp
// The share of right predictions, in the sense that fits the targets.
// Keras counterpart: the string "accuracy" in compile(metrics=...). Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// Resolved as Keras does: binary accuracy for predictions of width 1, sparse categorical accuracy for class numbers as
/// targets, categorical accuracy else. Reported as "accuracy" in every case.
struct accuracy {
  static constexpr std::string_view name = "accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::accuracy}; }

  friend constexpr bool operator==(accuracy const&, accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/binary_accuracy.hpp
// How often a yes/no prediction is right.
// Keras counterpart: tf.keras.metrics.BinaryAccuracy. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// Mean over the last axis of (prediction > threshold) == target; target and prediction (rows, columns).
struct binary_accuracy {
  float threshold = 0.5f;  ///< predictions above it mean 1; use 0 for logits

  static constexpr std::string_view name = "binary_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::binary_accuracy, .threshold = threshold}; }

  friend constexpr bool operator==(binary_accuracy const&, binary_accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/categorical_accuracy.hpp
// How often the largest prediction is the right class.
// Keras counterpart: tf.keras.metrics.CategoricalAccuracy. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// argmax(prediction) == argmax(target) over the last axis; target and prediction (rows, classes). The first of equal
/// values is the largest. A row with a NaN in its prediction counts as wrong.
struct categorical_accuracy {
  static constexpr std::string_view name = "categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::categorical_accuracy}; }

  friend constexpr bool operator==(categorical_accuracy const&, categorical_accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/mean_absolute_error.hpp
// Mean of the absolute differences.
// Keras counterpart: tf.keras.metrics.MeanAbsoluteError. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// mean over the last axis of |prediction - target|; target and prediction (rows, columns).
struct mean_absolute_error {
  static constexpr std::string_view name = "mean_absolute_error";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::mean_absolute_error}; }

  friend constexpr bool operator==(mean_absolute_error const&, mean_absolute_error const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/mean_squared_error.hpp
// Mean of the squared differences.
// Keras counterpart: tf.keras.metrics.MeanSquaredError. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// mean over the last axis of (prediction - target)^2; target and prediction (rows, columns).
struct mean_squared_error {
  static constexpr std::string_view name = "mean_squared_error";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::mean_squared_error}; }

  friend constexpr bool operator==(mean_squared_error const&, mean_squared_error const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/metric_list.hpp
// The metrics of a training description.
// Keras counterpart: the `metrics` argument of compile(). Level 2 of the house.

namespace stagecraft::metrics {

template <class Type>
concept Metric = requires(Type const& value, void (*take)(metric)) { take(value); };

/// Up to eight metrics, in the order in which they are reported. Structural, so that it can be part of a template
/// argument. Made from one metric or from a braced list: `.metrics = accuracy{}` or
/// `.metrics = {accuracy{}, top_k_categorical_accuracy{.k = 3}}`.
struct metric_list {
  static constexpr int capacity = 8;

  metric items[capacity]{};
  int count = 0;

  constexpr metric_list() = default;
  template <Metric... Metrics>
    requires(sizeof...(Metrics) >= 1 && sizeof...(Metrics) <= capacity)
  constexpr metric_list(Metrics const&... list) : items{metric(list)...}, count(sizeof...(Metrics)) {}

  [[nodiscard]] constexpr int size() const noexcept { return count; }
  [[nodiscard]] constexpr metric const& operator[](int index) const { return items[index]; }
  [[nodiscard]] constexpr metric const* begin() const noexcept { return items; }
  [[nodiscard]] constexpr metric const* end() const noexcept { return items + count; }

  friend constexpr bool operator==(metric_list const&, metric_list const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/sparse_categorical_accuracy.hpp
// How often the largest prediction is the right class, for class numbers as targets.
// Keras counterpart: tf.keras.metrics.SparseCategoricalAccuracy. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// argmax(prediction) == target over the last axis; one class number per row, prediction (rows, classes). The first of
/// equal values is the largest. A row with a NaN in its prediction counts as wrong.
struct sparse_categorical_accuracy {
  static constexpr std::string_view name = "sparse_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::sparse_categorical_accuracy}; }

  friend constexpr bool operator==(sparse_categorical_accuracy const&, sparse_categorical_accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/sparse_top_k_categorical_accuracy.hpp
// How often the right class is among the k largest predictions, for class numbers as targets.
// Keras counterpart: tf.keras.metrics.SparseTopKCategoricalAccuracy. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// The target is among the k largest predictions; one class number per row, prediction (rows, classes). Ties as in
/// tf.math.in_top_k: right when fewer than k predictions are strictly larger; a row with a NaN or an infinity is wrong.
struct sparse_top_k_categorical_accuracy {
  int k = 5;  ///< how many predictions count

  static constexpr std::string_view name = "sparse_top_k_categorical_accuracy";

  constexpr operator metric() const noexcept {
    return {.kind = metric_kind::sparse_top_k_categorical_accuracy, .k = k};
  }

  friend constexpr bool operator==(sparse_top_k_categorical_accuracy const&,
                                   sparse_top_k_categorical_accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/top_k_categorical_accuracy.hpp
// How often the right class is among the k largest predictions.
// Keras counterpart: tf.keras.metrics.TopKCategoricalAccuracy. Level 2 of the house:
// options only, sums are in training/metric_state.hpp.

namespace stagecraft::metrics {

/// argmax(target) is among the k largest predictions; target and prediction (rows, classes). Ties as in
/// tf.math.in_top_k: right when fewer than k predictions are strictly larger; a row with a NaN or an infinity is wrong.
struct top_k_categorical_accuracy {
  int k = 5;  ///< how many predictions count

  static constexpr std::string_view name = "top_k_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::top_k_categorical_accuracy, .k = k}; }

  friend constexpr bool operator==(top_k_categorical_accuracy const&, top_k_categorical_accuracy const&) = default;
};

}  // namespace stagecraft::metrics

// ---- stagecraft/metrics/metrics.hpp
// All metrics.
// Keras counterpart: tf.keras.metrics. Level 2 of the house.

// ---- stagecraft/optimizers/adam.hpp
// Adaptive moment estimation.
// Keras counterpart: tf.keras.optimizers.legacy.Adam (the optimizer of Keras 2.6). Level 2 of the house: options only,
// the loops are in kernels/update.hpp.

namespace stagecraft::optimizers {

/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
/// amsgrad divides by the largest v seen so far instead of v.
struct adam {
  float learning_rate = 0.001F;
  float beta_1 = 0.9F;
  float beta_2 = 0.999F;
  float epsilon = 1e-7F;
  bool amsgrad = false;

  static constexpr std::string_view name = "adam";

  /// State values per weight, in this order: m, v, largest v (only if amsgrad).
  [[nodiscard]] constexpr int slots() const { return amsgrad ? 3 : 2; }

  friend constexpr bool operator==(adam const&, adam const&) = default;
};

}  // namespace stagecraft::optimizers

// ---- stagecraft/optimizers/rmsprop.hpp
// Gradient descent divided by a moving root mean square of the gradient.
// Keras counterpart: tf.keras.optimizers.legacy.RMSprop (the optimizer of Keras 2.6). Level 2 of the house: options
// only, the loops are in kernels/update.hpp.

namespace stagecraft::optimizers {

/// v = rho v + (1 - rho) g^2; centered: a = rho a + (1 - rho) g and d = v - a^2, else d = v.
/// Without momentum: w -= learning_rate g / (sqrt(d) + epsilon).
/// With it: m = momentum m + learning_rate g / sqrt(d + epsilon), w -= m. (Keras 2.6 places epsilon differently in
/// the two cases; so does this library.)
struct rmsprop {
  float learning_rate = 0.001F;
  float rho = 0.9F;
  float momentum = 0;
  float epsilon = 1e-7F;
  bool centered = false;

  static constexpr std::string_view name = "rmsprop";

  /// State values per weight, in this order: mean square, momentum (only if it is not 0), mean gradient (only if
  /// centered).
  [[nodiscard]] constexpr int slots() const { return 1 + (momentum != 0 ? 1 : 0) + (centered ? 1 : 0); }

  friend constexpr bool operator==(rmsprop const&, rmsprop const&) = default;
};

}  // namespace stagecraft::optimizers

// ---- stagecraft/optimizers/sgd.hpp
// Gradient descent with optional (Nesterov) momentum.
// Keras counterpart: tf.keras.optimizers.legacy.SGD (the optimizer of Keras 2.6). Level 2 of the house: options only,
// the loops are in kernels/update.hpp.

namespace stagecraft::optimizers {

/// Without momentum: w -= learning_rate * g.
/// With it: m = momentum * m - learning_rate * g, then w += m, or w += momentum * m - learning_rate * g for Nesterov.
struct sgd {
  float learning_rate = 0.01F;
  float momentum = 0;
  bool nesterov = false;

  static constexpr std::string_view name = "sgd";

  /// State values per weight, in this order: momentum (only if it is not 0).
  [[nodiscard]] constexpr int slots() const { return momentum != 0 ? 1 : 0; }

  friend constexpr bool operator==(sgd const&, sgd const&) = default;
};

}  // namespace stagecraft::optimizers

// ---- stagecraft/optimizers/optimizers.hpp
// All optimizers.
// Keras counterpart: tf.keras.optimizers. Level 2 of the house.

// ---- stagecraft/pipeline/options.hpp
// How a model's steps are gathered into weight updates and executions: Keras on IPU's set_pipelining_options and
// set_gradient_accumulation_options. Level 3.

namespace stagecraft {

/// The order in which a pipeline's stages work on micro-batches.
enum class schedule : unsigned char { grouped, interleaved, sequential };

inline constexpr schedule grouped = schedule::grouped;
inline constexpr schedule interleaved = schedule::interleaved;

/// How the gradients of the micro-batches of one weight update become one.
enum class gradient_accumulation_reduction_method : unsigned char { sum, mean, running_mean };

/// Keras's keyword arguments. With the default method, sum, the effective learning rate grows with the number of steps.
struct pipelining_options {
  /// Micro-batches per weight update; 0: not set, one. A pipelined model that is trained needs it set (E2022).
  int gradient_accumulation_steps_per_replica = 0;
  gradient_accumulation_reduction_method reduction_method = gradient_accumulation_reduction_method::sum;
  /// The device executes the stages in this order; results do not depend on it.
  stagecraft::schedule schedule = stagecraft::schedule::grouped;

  /// Micro-batches per weight update.
  [[nodiscard]] constexpr int accumulation_steps() const noexcept {
    return gradient_accumulation_steps_per_replica < 1 ? 1 : gradient_accumulation_steps_per_replica;
  }
};

}  // namespace stagecraft

// ---- stagecraft/program/training.hpp
// What a model is trained with, as a compile-time description: Keras's `compile` arguments. Level 4.

namespace stagecraft {

/// Keras's `loss_weights`: the weight of each output's loss in the total, 1 by default.
struct output_weights {
  static constexpr int capacity = 8;
  float values[capacity]{1, 1, 1, 1, 1, 1, 1, 1};
  int count = 0;  ///< 0: none given

  constexpr output_weights() = default;
  template <class... Weights>
    requires(sizeof...(Weights) >= 1 && sizeof...(Weights) <= capacity)
  constexpr output_weights(Weights... weight) : values{static_cast<float>(weight)...}, count(sizeof...(Weights)) {}
};

/// Keras's `compile`, and what Keras takes at `fit` but a compiled plan must know before: the batch size.
///
///     inline constexpr auto training = sc::training{
///         .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
///         .optimizer = sc::optimizers::adam{},
///         .metrics = sc::metrics::accuracy{},
///         .batch_size = 64};
///
/// Checked with the model, where a trainer is named: E4020 batch_size, E4021 steps_per_execution, E2020 to E2022
/// gradient accumulation, E4022 to E4025 losses, metrics, outputs and loss weights.
template <class Loss = losses::mean_squared_error, class Optimizer = optimizers::rmsprop>
struct training {
  /// One loss for all outputs, or `losses::per_output(...)`.
  Loss loss = {};
  Optimizer optimizer = {};
  /// One metric, or several in braces. They are not weighted by sample weights, as Keras's `metrics`.
  stagecraft::metrics::metric_list metrics = {};
  output_weights loss_weights = {};
  /// Samples per step (per micro-batch, where gradients are accumulated).
  int batch_size = 32;
  /// Steps that run between two looks of the callbacks and of the progress bar.
  int steps_per_execution = 1;
  pipelining_options pipeline = {};
  /// Initial weights, dropout and shuffling follow from it.
  std::uint64_t seed = 1;
};

}  // namespace stagecraft

// ---- stagecraft/diagnostics/throw_error.hpp
// Throws run-time errors with a formatted text. The formatting is out of line and one for all callers, which keeps the
// many checks of data and options cheap to compile. Level 0.

namespace stagecraft::detail {

/// Throws data_error with a printf format and its arguments.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void throw_data_error(char const* code,
                                                                                               char const* format,
                                                                                               ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int const length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, ' ');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  throw data_error(code, text);
}

}  // namespace stagecraft::detail

// ---- stagecraft/training/logs.hpp
// Named numbers that training reports to callbacks.
// Keras counterpart: the `logs` dictionaries. Level 6.

namespace stagecraft {

/// An ordered list of names and numbers, in the order in which the names were first set. Setting a value whose name is
/// there already allocates nothing, so a training loop names its values once, before the first step.
class logs {
 public:
  struct entry {
    std::string name;
    double value = 0;
  };

  logs() = default;
  logs(std::initializer_list<entry> entries) : entries_(entries) {}

  /// The value's address, or null when there is none of that name.
  [[nodiscard]] double const* find(std::string_view name) const noexcept {
    for (entry const& e : entries_)
      if (e.name == name) return &e.value;
    return nullptr;
  }
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// The value of that name. Throws data_error E4013, with the names that there are.
  [[nodiscard]] double at(std::string_view name) const {
    if (double const* const value = find(name)) return *value;
    detail::throw_data_error("E4013", "logs: no value is named '%.*s'; there are: %s", static_cast<int>(name.size()),
                             name.data(), names().c_str());
  }

  /// The value of that name, appended as 0 when there was none.
  double& operator[](std::string_view name) {
    if (double const* const value = find(name)) return const_cast<double&>(*value);
    return append(name);
  }

  /// The value at a position; the way to set values without looking for names.
  double& value(std::size_t index) { return entries_[index].value; }
  [[nodiscard]] double value(std::size_t index) const { return entries_[index].value; }
  [[nodiscard]] std::string_view name(std::size_t index) const { return entries_[index].name; }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  void clear() noexcept { entries_.clear(); }
  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }

  /// All names, as "loss, accuracy".
  [[nodiscard, gnu::cold]] std::string names() const {
    std::string list;
    for (entry const& e : entries_) {
      if (!list.empty()) list += ", ";
      list += e.name;
    }
    return list;
  }

 private:
  [[gnu::cold, gnu::noinline]] double& append(std::string_view name) {
    return entries_.emplace_back(entry{std::string(name), 0}).value;
  }

  std::vector<entry> entries_;
};

}  // namespace stagecraft

// ---- stagecraft/training/weight_array.hpp
// A copy of one of a model's weights. Level 6.

namespace stagecraft {

/// Name, shape and values (row-major) of one weight, in Keras's layout, independent of how kernels store it.
/// `xt::adapt(weight.values, weight.shape)` makes an xtensor adaptor of it.
struct weight_array {
  std::string name;  ///< as Keras names it, for example "dense/kernel:0"
  std::vector<int> shape;
  std::vector<float> values;

  friend bool operator==(weight_array const&, weight_array const&) = default;
};

}  // namespace stagecraft

// ---- stagecraft/training/trainable.hpp
// What a callback sees of the model that is trained.
// Keras counterpart: `self.model` of a callback. Level 6.

namespace stagecraft {

/// A model in training, without its type. Trainers implement it.
class trainable {
 public:
  /// Set to true by a callback, `fit` ends after the current batch of training.
  bool stop_training = false;

  virtual ~trainable() = default;

  /// The model's name, as in its summary.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The optimizer's learning rate (Keras: `model.optimizer.lr`).
  [[nodiscard]] virtual float learning_rate() const = 0;
  virtual void set_learning_rate(float value) = 0;

  /// Copies of all weights, in Keras's order.
  [[nodiscard]] virtual std::vector<weight_array> get_weights() const = 0;
  /// Writes all weights back. Throws data_error E4009 when number, shapes or names differ from the model's.
  virtual void set_weights(std::vector<weight_array> const& weights) = 0;

 protected:
  trainable() = default;
  trainable(trainable const&) = default;
  trainable& operator=(trainable const&) = default;
};

}  // namespace stagecraft

// ---- stagecraft/training/callback.hpp
// What can be done at each point of training, evaluation and prediction.
// Keras counterpart: tf.keras.callbacks.Callback. Level 6.

namespace stagecraft {

/// What callbacks are told before a run (Keras: the `params` dictionary).
struct callback_params {
  int verbose = 0;
  int epochs = 1;
  int steps = 0;            ///< batches per epoch; 0 when not known
  bool validation = false;  ///< whether epochs end with a validation (not necessarily every one)
};

/// Base of all callbacks. Override the hooks you need; the others do nothing. Numbers of epochs and batches start at 0.
/// `logs` can be changed: what a callback adds at the end of an epoch is seen by the callbacks after it, by the history
/// and by the progress bar.
class callback {
 public:
  virtual ~callback() = default;

  /// Called before anything else of a run.
  virtual void set_params(callback_params const& params) { params_ = params; }
  virtual void set_model(trainable& model) { model_ = &model; }

  /// Called at the start and at the end of `fit`. At the end, logs are those of the last epoch.
  virtual void on_train_begin(logs&) {}
  virtual void on_train_end(logs&) {}

  /// Called at the start of an epoch, and at its end, with the means of the training metrics over the epoch, and those
  /// of the validation with the prefix `val_` when there was one.
  virtual void on_epoch_begin(int /*epoch*/, logs&) {}
  virtual void on_epoch_end(int /*epoch*/, logs&) {}

  /// Called before and after each batch of `fit`, or once per execution when steps_per_execution is larger than 1.
  /// After a batch, logs hold the means of the metrics from the start of the epoch on.
  virtual void on_train_batch_begin(int batch, logs& values) { on_batch_begin(batch, values); }
  virtual void on_train_batch_end(int batch, logs& values) { on_batch_end(batch, values); }

  /// Older names of the two hooks above, for callbacks that override these.
  virtual void on_batch_begin(int /*batch*/, logs&) {}
  virtual void on_batch_end(int /*batch*/, logs&) {}

  /// Called at the start and at the end of `evaluate`, and of the validation in `fit`.
  virtual void on_test_begin(logs&) {}
  virtual void on_test_end(logs&) {}

  /// Called before and after each batch of `evaluate`, and of the validation in `fit`.
  virtual void on_test_batch_begin(int /*batch*/, logs&) {}
  virtual void on_test_batch_end(int /*batch*/, logs&) {}

  /// Called at the start and at the end of `predict`. Logs are empty.
  virtual void on_predict_begin(logs&) {}
  virtual void on_predict_end(logs&) {}

  /// Called before and after each batch of `predict`. Logs are empty.
  virtual void on_predict_batch_begin(int /*batch*/, logs&) {}
  virtual void on_predict_batch_end(int /*batch*/, logs&) {}

 protected:
  callback() = default;
  callback(callback const&) = default;
  callback& operator=(callback const&) = default;

  [[nodiscard]] callback_params const& params() const noexcept { return params_; }
  /// The model in training; valid from `set_model` on, that is in every hook.
  [[nodiscard]] trainable& model() const noexcept { return *model_; }

 private:
  callback_params params_;
  trainable* model_ = nullptr;
};

}  // namespace stagecraft

// ---- stagecraft/training/python_number.hpp
// Numbers as Python prints them, for texts and files that are to look like Keras's. Level 6.

namespace stagecraft::detail {

/// Python's repr of a float, or, for float, numpy's text of a float32: the shortest digits that read back to the same
/// value, in scientific notation below 1e-4 and from 1e16 on. Numpy compares the value itself with 1e-4, so that the
/// float next to 1e-4, which is smaller, is 1e-04; Python compares the exponent of the digits.
template <class Float>
[[nodiscard, gnu::cold]] std::string python_repr(Float value) {
  if (value != value) return "nan";
  if (value - value != 0) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto const end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  std::size_t const e = text.find('e');
  int exponent = 0;
  for (std::size_t i = e + 2; i < text.size(); ++i) exponent = exponent * 10 + (text[i] - '0');
  if (text[e + 1] == '-') exponent = -exponent;
  auto const magnitude = static_cast<double>(value < 0 ? -value : value);
  bool const tiny = sizeof(Float) == sizeof(float) ? magnitude != 0 && magnitude < 1e-4 : exponent < -4;
  if (tiny || exponent >= 16) return text;

  std::string const sign = text[0] == '-' ? "-" : "";
  std::string digits;
  for (std::size_t i = sign.size(); i < e; ++i)
    if (text[i] != '.') digits += text[i];
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  auto const whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace stagecraft::detail

// ---- stagecraft/training/callbacks/csv_logger.hpp
// Writes the logs of each epoch to a file of comma separated values.
// Keras counterpart: tf.keras.callbacks.CSVLogger. Level 6.

namespace stagecraft::callbacks {

/// Names and defaults are Keras's.
struct csv_logger_options {
  std::string separator = ",";
  bool append = false;  ///< true: adds to a file that is there, without a second header
};

/// A header `epoch,<names, sorted>` and one line per epoch, as Python's csv module writes them: numbers in their
/// shortest form, lines ended by "\r\n". The columns are the names of the first epoch; when validation does not run in
/// that epoch but will later, its columns come last and hold NA in the epochs without. Each line is flushed. Throws
/// file_error E5040 when the file cannot be opened or written.
class csv_logger : public callback {
 public:
  explicit csv_logger(std::string filename, csv_logger_options options = {})
      : filename_(std::move(filename)), options_(std::move(options)) {}

  void on_train_begin(logs&) override {
    write_header_ = true;
    if (options_.append) {
      if (file existing{std::fopen(filename_.c_str(), "rb")}) write_header_ = std::fgetc(existing.get()) == EOF;
    }
    file_.reset(std::fopen(filename_.c_str(), options_.append ? "ab" : "wb"));
    if (!file_) throw file_error("E5040", "csv_logger: cannot open '" + filename_ + "' for writing");
    columns_.clear();
  }

  void on_epoch_end(int epoch, logs& values) override {
    if (columns_.empty()) {
      choose_columns(values);
      if (write_header_) {
        std::string header = "epoch";
        for (std::string const& column : columns_) header += options_.separator + column;
        write(header);
      }
    }
    std::string line = std::to_string(epoch);
    for (std::string const& column : columns_) {
      line += options_.separator;
      double const* const value = values.find(column);
      if (value == nullptr) line += "NA";
      // Keras keeps the learning rate as a float32, whose shortest form has fewer digits.
      else if (column == "lr")
        line += stagecraft::detail::python_repr(static_cast<float>(*value));
      else
        line += stagecraft::detail::python_repr(*value);
    }
    write(line);
  }

  void on_train_end(logs&) override { file_.reset(); }

 private:
  struct close_file {
    void operator()(std::FILE* opened) const noexcept { std::fclose(opened); }
  };
  using file = std::unique_ptr<std::FILE, close_file>;

  void choose_columns(logs const& values) {
    bool validated = false;
    for (logs::entry const& e : values) {
      validated = validated || e.name.starts_with("val_");
      // Sorted while they come: there are few.
      std::size_t at = columns_.size();
      while (at > 0 && e.name < columns_[at - 1]) --at;
      columns_.insert(columns_.begin() + static_cast<std::ptrdiff_t>(at), e.name);
    }
    if (validated || !params().validation) return;
    std::size_t const count = columns_.size();
    for (std::size_t i = 0; i < count; ++i)
      if (columns_[i] != "lr") columns_.push_back("val_" + columns_[i]);
  }

  void write(std::string line) {
    line += "\r\n";
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0)
      throw file_error("E5040", "csv_logger: cannot write to '" + filename_ + "'");
  }

  std::string filename_;
  csv_logger_options options_;
  file file_;
  bool write_header_ = true;
  std::vector<std::string> columns_;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/monitor.hpp
// The value that a callback watches, and what is better. Keras counterpart: the `monitor` and `mode` arguments.
// Level 6.

namespace stagecraft::callbacks {

/// Whether smaller or larger values are better.
enum class monitor_mode : unsigned char {
  automatic,  ///< from the name: larger for accuracies, smaller else
  min,
  max
};

namespace detail {

/// The monitored value, or null in an epoch without validation. Keras warns when the name is not known and goes on
/// without effect; here that is an error (data_error E4012), since the callback would never do anything.
[[nodiscard]] inline double const* find_monitored(char const* owner, std::string const& monitor, logs const& values,
                                                  callback_params const& params) {
  if (double const* const value = values.find(monitor)) return value;
  if (monitor.starts_with("val_") && params.validation && values.contains(std::string_view(monitor).substr(4)))
    return nullptr;
  stagecraft::detail::throw_data_error("E4012", "%s: monitors '%s', which is not available; there are: %s", owner,
                                       monitor.c_str(), values.names().c_str());
}

}  // namespace detail

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/text_output.hpp
// Where the text of progress bars and callbacks goes, and where their time comes from. Level 6.

namespace stagecraft {

/// Receives text. Made from any callable that takes a std::string_view; it keeps a reference, so the callable must be
/// an lvalue that lives longer. By default text goes to stdout, which is flushed each time.
class text_output {
 public:
  text_output() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, text_output> &&
             std::is_invocable_v<Function&, std::string_view>)
  text_output(Function& function)
      : receiver_(const_cast<void*>(static_cast<void const*>(&function))),
        write_([](void* receiver, std::string_view text) { (*static_cast<Function*>(receiver))(text); }) {}

  void operator()(std::string_view text) const { write_(receiver_, text); }

 private:
  static void write_to_stdout(void*, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void* receiver_ = nullptr;
  void (*write_)(void*, std::string_view) = write_to_stdout;
};

/// Tells the time in seconds. Made from any callable without arguments that returns a number; it keeps a reference, so
/// the callable must be an lvalue that lives longer. By default the system's time of day, as in Keras.
class time_source {
 public:
  time_source() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, time_source> && std::is_invocable_r_v<double, Function&>)
  time_source(Function& function)
      : source_(const_cast<void*>(static_cast<void const*>(&function))),
        seconds_([](void* source) -> double { return (*static_cast<Function*>(source))(); }) {}

  [[nodiscard]] double operator()() const { return seconds_(source_); }

 private:
  static double time_of_day(void*) {
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  void* source_ = nullptr;
  double (*seconds_)(void*) = time_of_day;
};

}  // namespace stagecraft

// ---- stagecraft/training/callbacks/early_stopping.hpp
// Ends training when a metric has stopped improving.
// Keras counterpart: tf.keras.callbacks.EarlyStopping. Level 6.

namespace stagecraft::callbacks {

/// Names and defaults are Keras's.
struct early_stopping_options {
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< what a change has to exceed to count as an improvement
  int patience = 0;      ///< epochs without improvement after which training stops
  int verbose = 0;       ///< 1: says what it does
  monitor_mode mode = monitor_mode::automatic;
  double baseline = std::numeric_limits<double>::quiet_NaN();  ///< value that has to be beaten; NaN: none
  bool restore_best_weights = false;  ///< whether the weights of the best epoch are put back at the stop
  text_output output{};
};

/// Counts the epochs in which the monitored value did not improve, and stops training at `patience` of them.
///
/// It is Keras 2.6's, but for one defect that later releases of Keras mended: there, `patience = 0` stopped training
/// after the first epoch even when that was an improvement. Throws data_error E4012 when `monitor` is not among the
/// logs.
class early_stopping : public callback {
 public:
  explicit early_stopping(early_stopping_options options = {}) : options_(std::move(options)) {
    std::string_view const monitor = options_.monitor;
    larger_is_better_ = options_.mode == monitor_mode::max ||
                        (options_.mode == monitor_mode::automatic &&
                         (monitor.ends_with("acc") || monitor.ends_with("accuracy") || monitor.ends_with("auc")));
    if (options_.min_delta < 0) options_.min_delta = -options_.min_delta;
  }

  void on_train_begin(logs&) override {
    wait_ = 0;
    stopped_epoch_ = -1;
    best_epoch_ = 0;
    auto const infinity = std::numeric_limits<double>::infinity();
    best_ = larger_is_better_ ? -infinity : infinity;
    best_weights_.clear();
  }

  void on_epoch_end(int epoch, logs& values) override {
    double const* const current = detail::find_monitored("early_stopping", options_.monitor, values, params());
    if (current == nullptr) return;
    // The first epoch's weights are put back when there is never any progress.
    if (options_.restore_best_weights && best_weights_.empty()) best_weights_ = model().get_weights();
    ++wait_;
    if (is_improvement(*current, best_)) {
      best_ = *current;
      best_epoch_ = epoch;
      if (options_.restore_best_weights) best_weights_ = model().get_weights();
      if (options_.baseline != options_.baseline || is_improvement(*current, options_.baseline)) wait_ = 0;
    }
    if (wait_ == 0 || wait_ < options_.patience) return;
    stopped_epoch_ = epoch;
    model().stop_training = true;
    if (!options_.restore_best_weights) return;
    if (options_.verbose > 0) options_.output("Restoring model weights from the end of the best epoch.\n");
    model().set_weights(best_weights_);
  }

  void on_train_end(logs&) override {
    if (stopped_epoch_ < 0 || options_.verbose == 0) return;
    char text[48];
    std::snprintf(text, sizeof(text), "Epoch %05d: early stopping\n", stopped_epoch_ + 1);
    options_.output(text);
  }

  /// The epoch, from 0, after which training was stopped, or -1.
  [[nodiscard]] int stopped_epoch() const noexcept { return stopped_epoch_; }
  /// The epoch, from 0, with the best value.
  [[nodiscard]] int best_epoch() const noexcept { return best_epoch_; }
  [[nodiscard]] double best() const noexcept { return best_; }

 private:
  [[nodiscard]] bool is_improvement(double value, double reference) const noexcept {
    return larger_is_better_ ? value - options_.min_delta > reference : value + options_.min_delta < reference;
  }

  early_stopping_options options_;
  bool larger_is_better_ = false;
  int wait_ = 0;
  int stopped_epoch_ = -1;
  int best_epoch_ = 0;
  double best_ = 0;
  std::vector<weight_array> best_weights_;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/lambda_callback.hpp
// A callback made of functions.
// Keras counterpart: tf.keras.callbacks.LambdaCallback. Level 6.

namespace stagecraft::callbacks {

/// One function per hook; those that are left out do nothing.
struct lambda_callback_options {
  using numbered = std::function<void(int, logs&)>;  ///< epoch or batch, logs
  using plain = std::function<void(logs&)>;

  numbered on_epoch_begin{}, on_epoch_end{};
  numbered on_batch_begin{}, on_batch_end{};  ///< of training
  plain on_train_begin{}, on_train_end{};
  plain on_test_begin{}, on_test_end{};
  numbered on_test_batch_begin{}, on_test_batch_end{};
  plain on_predict_begin{}, on_predict_end{};
  numbered on_predict_batch_begin{}, on_predict_batch_end{};
};

/// `lambda_callback print({.on_epoch_end = [](int epoch, logs& values) { ... }});`
class lambda_callback : public callback {
 public:
  explicit lambda_callback(lambda_callback_options functions) : functions_(std::move(functions)) {}

  void on_train_begin(logs& values) override { call(functions_.on_train_begin, values); }
  void on_train_end(logs& values) override { call(functions_.on_train_end, values); }
  void on_test_begin(logs& values) override { call(functions_.on_test_begin, values); }
  void on_test_end(logs& values) override { call(functions_.on_test_end, values); }
  void on_predict_begin(logs& values) override { call(functions_.on_predict_begin, values); }
  void on_predict_end(logs& values) override { call(functions_.on_predict_end, values); }
  void on_epoch_begin(int epoch, logs& values) override { call(functions_.on_epoch_begin, epoch, values); }
  void on_epoch_end(int epoch, logs& values) override { call(functions_.on_epoch_end, epoch, values); }
  void on_batch_begin(int batch, logs& values) override { call(functions_.on_batch_begin, batch, values); }
  void on_batch_end(int batch, logs& values) override { call(functions_.on_batch_end, batch, values); }
  void on_test_batch_begin(int batch, logs& values) override { call(functions_.on_test_batch_begin, batch, values); }
  void on_test_batch_end(int batch, logs& values) override { call(functions_.on_test_batch_end, batch, values); }
  void on_predict_batch_begin(int batch, logs& values) override {
    call(functions_.on_predict_batch_begin, batch, values);
  }
  void on_predict_batch_end(int batch, logs& values) override { call(functions_.on_predict_batch_end, batch, values); }

 private:
  template <class Function, class... Arguments>
  static void call(Function const& function, Arguments&&... arguments) {
    if (function) function(arguments...);
  }

  lambda_callback_options functions_;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/learning_rate_scheduler.hpp
// Sets the learning rate at the start of each epoch.
// Keras counterpart: tf.keras.callbacks.LearningRateScheduler. Level 6.

namespace stagecraft::callbacks {

struct learning_rate_scheduler_options {
  int verbose = 0;  ///< 1: prints the rate of each epoch
  text_output output{};
};

/// Asks a function for the learning rate: `schedule(epoch, rate so far)` or `schedule(epoch)`, epochs from 0. Adds the
/// rate to the logs of each epoch, as "lr". Throws data_error E4014 when the function returns a number that is not
/// finite.
class learning_rate_scheduler : public callback {
 public:
  template <class Schedule>
    requires(std::is_invocable_r_v<double, Schedule&, int, double> || std::is_invocable_r_v<double, Schedule&, int>)
  explicit learning_rate_scheduler(Schedule schedule, learning_rate_scheduler_options const& options = {})
      : options_(options) {
    if constexpr (std::is_invocable_r_v<double, Schedule&, int, double>) {
      schedule_ = std::move(schedule);
    } else {
      schedule_ = [schedule = std::move(schedule)](int epoch, double) mutable { return schedule(epoch); };
    }
  }

  void on_epoch_begin(int epoch, logs&) override {
    double const rate = schedule_(epoch, static_cast<double>(model().learning_rate()));
    if (rate - rate != 0) {
      stagecraft::detail::throw_data_error(
          "E4014", "learning_rate_scheduler: expected a finite learning rate for epoch %d, found %g", epoch, rate);
    }
    model().set_learning_rate(static_cast<float>(rate));
    if (options_.verbose == 0) return;
    char text[80];
    std::snprintf(text, sizeof(text), "\nEpoch %05d: LearningRateScheduler setting learning rate to ", epoch + 1);
    options_.output(text + stagecraft::detail::python_repr(rate) + ".\n");
  }

  void on_epoch_end(int, logs& values) override { values["lr"] = static_cast<double>(model().learning_rate()); }

 private:
  std::function<double(int, double)> schedule_;
  learning_rate_scheduler_options options_;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/progress_bar.hpp
// Keras's progress bar, character by character.
// Keras counterpart: tf.keras.utils.Progbar of Keras 2.6. Level 6.

namespace stagecraft {

/// How one state of the bar replaces the one before.
enum class display_mode : unsigned char {
  automatic,  ///< `dynamic` when stdout is a terminal or PyCharm's console, else `lines`
  dynamic,    ///< backspaces and a carriage return; Keras does this on every POSIX system, also into files
  lines       ///< a new line each time; Keras does this on other systems, where stdout is not a terminal
};

/// Options of `progress_bar`; names and defaults are Keras's.
struct progress_bar_options {
  int target = 0;          ///< number of steps expected; 0 when it is not known
  int width = 30;          ///< characters of the bar
  int verbose = 1;         ///< 0 silent, 1 a bar, 2 one line at the end
  double interval = 0.05;  ///< least time between two states of the bar, in seconds
  std::string_view unit_name = "step";
  display_mode display = display_mode::automatic;
  text_output output{};
  time_source time{};
};

/// Shows how far a loop of steps is, with an estimate of the time that is left and the values given so far:
///
///     32/100 [========>.....................] - ETA: 3s - loss: 0.4321 - accuracy: 0.8765
///
/// A value is shown as it is when it is stateful (Keras: all metrics of a model are), else as its mean over the steps.
/// Memory for texts is kept, so that after the first few updates nothing allocates.
class progress_bar {
 public:
  explicit progress_bar(progress_bar_options const& options = {}) : options_(options) { restart(options.target); }

  /// Starts again from step 0, with the time of now. Values, their order and what is stateful are forgotten.
  /// \param target number of steps expected; 0 when it is not known
  [[gnu::cold]] void restart(int target) {
    options_.target = target;
    dynamic_ = options_.display == display_mode::dynamic ||
               (options_.display == display_mode::automatic &&
                (isatty(fileno(stdout)) != 0 || std::getenv("PYCHARM_HOSTED") != nullptr));
    value_count_ = 0;
    total_width_ = 0;
    seen_so_far_ = 0;
    start_ = options_.time();
    last_update_ = 0;
    time_after_first_step_ = -1;
    text_.reserve(512);
  }

  /// Sets the number of steps, when it became known on the way.
  void set_target(int target) noexcept { options_.target = target; }
  void set_verbose(int verbose) noexcept { options_.verbose = verbose; }
  [[nodiscard]] int target() const noexcept { return options_.target; }

  /// Gives a value that the next `update` shows as it is (Keras: a stateful metric).
  void show(std::string_view name, double value) {
    shown_value& shown = find_or_append(name);
    shown.sum = value;
    shown.weight = 1;
    shown.pending = false;
  }

  /// Gives a value of the steps that the next `update` reports; the mean over all steps is shown.
  void show_mean(std::string_view name, double value) {
    shown_value& shown = find_or_append(name);
    shown.value = value;
    shown.pending = true;
  }

  /// Reports that `current` steps are done. The last one, `current >= target`, ends the line.
  void update(int current) { update(current, options_.target > 0 && current >= options_.target); }

  /// Reports that `current` steps are done.
  /// \param finalize whether this is the last update
  void update(int current, bool finalize) {
    double const steps = current > seen_so_far_ ? current - seen_so_far_ : 1;
    for (std::size_t i = 0; i < value_count_; ++i) values_[i].take_in(steps);
    seen_so_far_ = current;
    double const now = options_.time();
    if (options_.verbose == 1) {
      if (now - last_update_ < options_.interval && !finalize) return;
      show_bar(current, now, finalize);
    } else if (options_.verbose == 2 && finalize) {
      show_line(current, now);
    }
    last_update_ = now;
  }

  /// Reports `steps` more steps.
  void add(int steps) { update(seen_so_far_ + steps); }

 private:
  struct shown_value {
    std::string name;
    double sum = 0;
    double weight = 0;
    double value = 0;  // of the steps that come next, when pending
    bool pending = false;

    void take_in(double steps) noexcept {
      if (!pending) return;
      sum += value * steps;
      weight += steps;
      pending = false;
    }
  };

  [[gnu::cold, gnu::noinline]] shown_value& find_or_append(std::string_view name) {
    for (std::size_t i = 0; i < value_count_; ++i)
      if (values_[i].name == name) return values_[i];
    if (value_count_ == values_.size()) values_.emplace_back();
    shown_value& added = values_[value_count_++];
    added.name = name;
    added.sum = added.weight = 0;
    added.pending = false;
    return added;
  }

  [[gnu::cold, gnu::noinline]] void show_bar(int current, double now, bool finalize) {
    text_.clear();
    std::size_t const previous_width = total_width_;
    if (dynamic_) {
      text_.append(previous_width, '\b');
      text_ += '\r';
    } else {
      text_ += '\n';
    }
    std::size_t const bar_begin = text_.size();
    int const target = options_.target;
    if (target > 0) {
      append_count(current);
      text_ += " [";
      int const filled = static_cast<int>(options_.width * (static_cast<double>(current) / target));
      if (filled > 0) {
        text_.append(static_cast<std::size_t>(filled - 1), '=');
        text_ += current < target ? '>' : '=';
      }
      if (options_.width > filled) text_.append(static_cast<std::size_t>(options_.width - filled), '.');
      text_ += ']';
    } else {
      append("%7d/Unknown", current);
    }
    double const time_per_unit = estimate_step_duration(current, now);
    if (target <= 0 || finalize) {
      append(" - %.0fs", now - start_);
      append_duration(time_per_unit);
    } else {
      append_eta(time_per_unit * (target - current));
    }
    for (std::size_t i = 0; i < value_count_; ++i) append_value(values_[i], true);
    total_width_ = text_.size() - bar_begin;
    if (previous_width > total_width_) text_.append(previous_width - total_width_, ' ');
    if (finalize) text_ += '\n';
    options_.output(text_);
  }

  [[gnu::cold, gnu::noinline]] void show_line(int current, double now) {
    text_.clear();
    append_count(current);
    append(" - %.0fs", now - start_);
    for (std::size_t i = 0; i < value_count_; ++i) append_value(values_[i], false);
    text_ += '\n';
    options_.output(text_);
  }

  /// "  3/100", the count as wide as the target.
  [[gnu::cold, gnu::noinline]] void append_count(int current) {
    int digits = 1;
    for (int rest = options_.target; rest >= 10; rest /= 10) ++digits;
    append("%*d/%d", digits, current, options_.target);
  }

  [[gnu::cold, gnu::noinline]] void append_value(shown_value const& shown, bool by_magnitude) {
    double const mean = shown.sum / (shown.weight > 1 ? shown.weight : 1);
    text_ += " - ";
    text_ += shown.name;
    // Keras looks at the magnitude for the bar, but at the value itself for the single line of verbose = 2.
    bool const fixed = mean > 1e-3 || (by_magnitude && mean < -1e-3);
    if (mean != mean)
      text_ += ": nan";
    else
      append(fixed ? ": %.4f" : ": %.4e", mean);
  }

  [[gnu::cold]] void append_duration(double seconds) {
    auto const unit = static_cast<int>(options_.unit_name.size());
    char const* const name = options_.unit_name.data();
    if (seconds >= 1 || seconds == 0)
      append(" %.0fs/%.*s", seconds, unit, name);
    else if (seconds >= 1e-3)
      append(" %.0fms/%.*s", seconds * 1e3, unit, name);
    else
      append(" %.0fus/%.*s", seconds * 1e6, unit, name);
  }

  [[gnu::cold]] void append_eta(double seconds) {
    auto const whole = static_cast<long long>(seconds);
    if (seconds > 3600)
      append(" - ETA: %lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
    else if (seconds > 60)
      append(" - ETA: %lld:%02lld", whole / 60, whole % 60);
    else
      append(" - ETA: %llds", whole);
  }

  /// Seconds of one step; the first one is left out as soon as there are others.
  double estimate_step_duration(int current, double now) {
    if (current == 0) return 0;
    double const seconds = time_after_first_step_ >= 0 && current > 1 ? (now - time_after_first_step_) / (current - 1)
                                                                      : (now - start_) / current;
    if (current == 1) time_after_first_step_ = now;
    return seconds;
  }

  [[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void append(char const* format, ...) {
    char buffer[352];  // the longest double, in %.4f, has 314 characters
    std::va_list arguments;
    va_start(arguments, format);
    int const length = std::vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    if (length <= 0) return;
    auto const written = static_cast<std::size_t>(length);
    text_.append(buffer, written < sizeof(buffer) ? written : sizeof(buffer) - 1);
  }

  progress_bar_options options_;
  bool dynamic_ = false;
  std::vector<shown_value> values_;
  std::size_t value_count_ = 0;
  std::size_t total_width_ = 0;
  int seen_so_far_ = 0;
  double start_ = 0;
  double last_update_ = 0;
  double time_after_first_step_ = -1;
  std::string text_;
};

}  // namespace stagecraft

// ---- stagecraft/training/callbacks/progbar_logger.hpp
// Prints the progress bar of `fit`, `evaluate` and `predict`.
// Keras counterpart: tf.keras.callbacks.ProgbarLogger with count_mode="steps". Level 6.

namespace stagecraft::callbacks {

/// `verbose` of the run decides: 0 prints nothing, 1 a bar, 2 one line per epoch. The validation inside of `fit` is
/// silent; its values are shown at the end of the epoch. Runs add one of these by themselves.
class progbar_logger : public callback {
 public:
  /// \param options output, clock, width and so on; target and verbose are those of the run
  explicit progbar_logger(progress_bar_options const& options = {}) : output_(options.output), bar_(options) {}

  void set_params(callback_params const& params) override {
    callback::set_params(params);
    target_ = params.steps;
    in_fit_ = false;  // even if an exception ended the run before
    bar_.set_verbose(params.verbose);
  }

  void on_train_begin(logs&) override { in_fit_ = true; }
  void on_train_end(logs&) override { in_fit_ = false; }

  [[gnu::cold]] void on_epoch_begin(int epoch, logs&) override {
    restart();
    if (params().verbose == 0 || params().epochs <= 1) return;
    char text[48];
    std::snprintf(text, sizeof(text), "Epoch %d/%d\n", epoch + 1, params().epochs);
    output_(text);
  }
  void on_train_batch_end(int batch, logs& values) override { update(batch, values); }
  void on_epoch_end(int, logs& values) override { finalize(values); }

  void on_test_begin(logs&) override {
    if (!in_fit_) restart();
  }
  void on_test_batch_end(int batch, logs& values) override {
    if (!in_fit_) update(batch, values);
  }
  void on_test_end(logs& values) override {
    if (!in_fit_) finalize(values);
  }

  void on_predict_begin(logs&) override { restart(); }
  void on_predict_batch_end(int batch, logs&) override {
    logs none;
    update(batch, none);
  }
  void on_predict_end(logs&) override {
    logs none;
    finalize(none);
  }

 private:
  void restart() {
    seen_ = 0;
    bar_.restart(target_);
  }

  [[gnu::noinline]] void update(int batch, logs const& values) {
    seen_ = batch + 1;
    if (params().verbose != 1) return;
    for (logs::entry const& e : values) bar_.show(e.name, e.value);
    bar_.update(seen_, false);
  }

  [[gnu::cold]] void finalize(logs const& values) {
    if (params().verbose == 0) return;
    if (bar_.target() == 0) bar_.set_target(seen_);
    for (logs::entry const& e : values) bar_.show(e.name, e.value);
    bar_.update(bar_.target(), true);
  }

  text_output output_;
  progress_bar bar_;
  int target_ = 0;
  int seen_ = 0;
  bool in_fit_ = false;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/reduce_lr_on_plateau.hpp
// Lowers the learning rate when a metric has stopped improving.
// Keras counterpart: tf.keras.callbacks.ReduceLROnPlateau. Level 6.

namespace stagecraft::callbacks {

/// Names and defaults are Keras's.
struct reduce_lr_on_plateau_options {
  std::string monitor = "val_loss";
  double factor = 0.1;  ///< new rate = rate * factor; below 1
  int patience = 10;    ///< epochs without improvement after which the rate is lowered
  int verbose = 0;      ///< 1: says what it does
  monitor_mode mode = monitor_mode::automatic;
  double min_delta = 1e-4;  ///< what a change has to exceed to count as an improvement
  int cooldown = 0;         ///< epochs after a change in which nothing is counted
  double min_lr = 0;        ///< the rate never gets lower
  text_output output{};
};

/// Multiplies the learning rate by `factor` after `patience` epochs without improvement of the monitored value. Adds
/// the rate to the logs of each epoch, as "lr". Throws data_error E4015 for a factor of 1 or more, and E4012 when
/// `monitor` is not among the logs.
class reduce_lr_on_plateau : public callback {
 public:
  explicit reduce_lr_on_plateau(reduce_lr_on_plateau_options options = {}) : options_(std::move(options)) {
    if (!(options_.factor < 1)) {
      stagecraft::detail::throw_data_error("E4015", "reduce_lr_on_plateau: expected a factor below 1, found %.15g",
                                           options_.factor);
    }
    larger_is_better_ = options_.mode == monitor_mode::max ||
                        (options_.mode == monitor_mode::automatic &&
                         std::string_view(options_.monitor).find("acc") != std::string_view::npos);
    reset();
  }

  void on_train_begin(logs&) override { reset(); }

  void on_epoch_end(int epoch, logs& values) override {
    values["lr"] = static_cast<double>(model().learning_rate());
    double const* const current = detail::find_monitored("reduce_lr_on_plateau", options_.monitor, values, params());
    if (current == nullptr) return;
    if (cooldown_counter_ > 0) {
      --cooldown_counter_;
      wait_ = 0;
    }
    if (larger_is_better_ ? *current > best_ + options_.min_delta : *current < best_ - options_.min_delta) {
      best_ = *current;
      wait_ = 0;
    } else if (cooldown_counter_ == 0 && ++wait_ >= options_.patience) {
      lower(epoch);
    }
  }

 private:
  void reset() noexcept {
    auto const infinity = std::numeric_limits<double>::infinity();
    best_ = larger_is_better_ ? -infinity : infinity;
    cooldown_counter_ = wait_ = 0;
  }

  void lower(int epoch) {
    float const rate = model().learning_rate();
    if (!(rate > static_cast<float>(options_.min_lr))) return;
    double lowered = static_cast<double>(rate) * options_.factor;
    if (lowered < options_.min_lr) lowered = options_.min_lr;
    model().set_learning_rate(static_cast<float>(lowered));
    if (options_.verbose > 0) {
      char text[80];
      std::snprintf(text, sizeof(text), "\nEpoch %05d: ReduceLROnPlateau reducing learning rate to ", epoch + 1);
      options_.output(text + stagecraft::detail::python_repr(lowered) + ".\n");
    }
    cooldown_counter_ = options_.cooldown;
    wait_ = 0;
  }

  reduce_lr_on_plateau_options options_;
  bool larger_is_better_ = false;
  double best_ = 0;
  int cooldown_counter_ = 0;
  int wait_ = 0;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/terminate_on_nan.hpp
// Ends training when the loss is no number any more.
// Keras counterpart: tf.keras.callbacks.TerminateOnNaN. Level 6.

namespace stagecraft::callbacks {

/// Stops training after a batch whose "loss" is NaN or infinite, and says so.
class terminate_on_nan : public callback {
 public:
  explicit terminate_on_nan(text_output output = {}) : output_(output) {}

  void on_batch_end(int batch, logs& values) override {
    double const* const loss = values.find("loss");
    if (loss == nullptr || *loss - *loss == 0) return;
    char text[64];
    std::snprintf(text, sizeof(text), "Batch %d: Invalid loss, terminating training\n", batch);
    output_(text);
    model().stop_training = true;
  }

 private:
  text_output output_;
};

}  // namespace stagecraft::callbacks

// ---- stagecraft/training/callbacks/callbacks.hpp
// All callbacks.
// Keras counterpart: tf.keras.callbacks. Level 6.

// ---- stagecraft/execution/host_memory.hpp
// The memory that the host's steps work on. Level 5.

namespace stagecraft {

/// A block of zeros, aligned for every architecture, with room to read (not to write) one register beyond its end.
class aligned_block {
 public:
  explicit aligned_block(long long floats) : size_(static_cast<std::size_t>(floats)) {
    auto const bytes = (size_ + slack) * sizeof(float);
    data_ = static_cast<float*>(::operator new(bytes, alignment));
    std::memset(data_, 0, bytes);
  }
  /// The memory keeps its place.
  aligned_block(aligned_block&& other) noexcept
      : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  aligned_block& operator=(aligned_block&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~aligned_block() { ::operator delete(data_, alignment); }

  [[nodiscard]] float* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t slack = 64;
  static constexpr std::align_val_t alignment{64};

  std::size_t size_;
  float* data_;
};

/// What a step finds at run time. All else is constant.
struct host_memory {
  float* block = nullptr;  ///< the program's tensors
  float* weights = nullptr;
  float* gradients = nullptr;
  float* slots = nullptr;  ///< the optimizer's state: one copy of the weights' layout after the other
  float* workspace = nullptr;
  std::uint64_t seed = 1;
  std::uint64_t step = 0;   ///< training steps so far: tells the dropout masks of two steps apart
  std::int64_t update = 1;  ///< number of the weight update that this step belongs to, from 1
  float learning_rate = 0;
};

}  // namespace stagecraft

// ---- stagecraft/kernels/register_tile.hpp
// The micro-kernel of every matrix product: a tile of the result that stays in registers while the products are summed,
// and the choice of its height and width. Level 4 of the house; private to the kernels.

namespace stagecraft::kernels::detail {

/// Vector registers of the instruction set.
template <class Arch>
[[nodiscard]] consteval int vector_registers() {
#if XSIMD_WITH_NEON64
  return 32;
#else
  return has_avx512<Arch> ? 32 : 16;
#endif
}

/// Registers that a step of the micro-kernel needs beside sums and the row of the right factor: the broadcast element,
/// and the product where multiplication and addition are not one instruction.
template <class Arch>
[[nodiscard]] consteval int scratch_registers() {
#if defined(__FMA__) || defined(__AVX512F__) || XSIMD_WITH_NEON64
  return 1;
#else
  return 2;
#endif
}

/// Registers side by side in a panel of a matrix with so many columns: the width with the least padding; among those
/// the one whose tiles load least per multiplication.
template <class Arch>
[[nodiscard]] consteval int panel_vectors(int columns) {
  int const vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  if (vectors == 1) return 1;
  constexpr bool wide = vector_registers<Arch>() == 32;
  constexpr int candidates[] = {wide ? 4 : 2, 3, 2};
  int best = candidates[0];
  for (int candidate : candidates)
    if ((vectors + candidate - 1) / candidate * candidate < (vectors + best - 1) / best * best) best = candidate;
  return best;
}

/// The most rows of a tile that is so many registers wide.
template <class Arch>
[[nodiscard]] consteval int most_tile_rows(int vectors) {
  int const rows = (vector_registers<Arch>() - vectors - scratch_registers<Arch>()) / vectors;
  return rows < 12 ? rows : 12;
}

/// How `rows` rows are cut into tiles: `tall` tiles of `height` rows, then `low` tiles of `height - 1`. Heights that
/// differ by one at most leave no thin remainder, on which loads would cost more than products.
struct row_blocks {
  int height = 0;
  int tall = 0;
  int low = 0;
};

template <class Arch>
[[nodiscard]] consteval row_blocks cut_rows(int rows, int vectors) {
  int const most = most_tile_rows<Arch>(vectors);
  for (int height = most; height * vectors >= 16 && height * 3 >= most * 2; --height)
    if (rows % height == 0) return {height, rows / height, 0};
  int const blocks = (rows + most - 1) / most;
  int const low_height = rows / blocks;
  int const tall = rows % blocks;
  if (tall == 0) return {low_height, blocks, 0};
  return {low_height + 1, tall, blocks - tall};
}

/// Independent sums per element of the tile, each over every so manieth step: as many as hide the latency of the
/// multiply-add, 4 or 5 cycles on two units, and of reading the right factor, in a small tile.
template <class Arch>
[[nodiscard]] consteval int interleaved_sums(int rows, int vectors) {
  int const enough = rows == 1 ? 16 : 10;
  int const most = vector_registers<Arch>() == 32 ? 24 : 12;
  int sums = 1;
  while (sums < 8 && sums * rows * vectors < enough && 2 * sums * rows * vectors <= most) sums *= 2;
  return sums;
}

/// The registers' worth of floats at p, as a value that the compiler cannot read again. Without the barrier GCC 12
/// (-mtune=znver3) turns each use of a loaded row into a load of its own, which costs more than a fifth of the speed.
template <class Arch>
[[nodiscard]] inline batch<Arch> load_once(float const* p) {
  batch<Arch> const loaded = batch<Arch>::load_unaligned(p);
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
  auto value = loaded.data;
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#else
  asm("" : "+x"(value));
#endif
  return batch<Arch>(value);
#else
  return loaded;
#endif
}

/// sum[i][j] = over all steps s: left[i * LeftRow + s * LeftStep] * right[s * RightStep + j * lanes ...].
/// With Ahead > 0 the right factor is prefetched so many floats ahead: where a tile has one row, reading it is all the
/// work. Calls finish(i, j, sum[i][j]) for every i in [0, Rows) and j in [0, Vectors).
template <int Rows, int Vectors, int LeftRow, int LeftStep, int RightStep, int Ahead, class Arch, class Finish>
inline void multiply_tile(float const* left, float const* right, int steps, Finish finish) {
  constexpr int width = lanes<Arch>;
  constexpr int sums = interleaved_sums<Arch>(Rows, Vectors);
  batch<Arch> sum[sums][Rows][Vectors];
#pragma GCC unroll 8
  for (int part = 0; part < sums; ++part)
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[part][i][j] = batch<Arch>(0.0F);

  int s = 0;
  for (; s + sums <= steps; s += sums, left += sums * LeftStep, right += sums * RightStep)
#pragma GCC unroll 8
    for (int part = 0; part < sums; ++part) {
      batch<Arch> row[Vectors];
      if constexpr (Ahead > 0)
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) __builtin_prefetch(right + part * RightStep + j * width + Ahead);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) row[j] = load_once<Arch>(right + part * RightStep + j * width);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        batch<Arch> const element(left[i * LeftRow + part * LeftStep]);
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) sum[part][i][j] = fused_multiply_add(element, row[j], sum[part][i][j]);
      }
    }
  if constexpr (sums > 1) {
    for (; s < steps; ++s, left += LeftStep, right += RightStep)
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j)
          sum[0][i][j] = fused_multiply_add(batch<Arch>(left[i * LeftRow]),
                                            batch<Arch>::load_unaligned(right + j * width), sum[0][i][j]);
#pragma GCC unroll 8
    for (int distance = sums / 2; distance > 0; distance /= 2)
#pragma GCC unroll 8
      for (int part = 0; part < distance; ++part)
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) sum[part][i][j] = sum[part][i][j] + sum[part + distance][i][j];
  }

  // A fold of copies, inlined always: the sums stay in registers only if nothing takes their address, and have constant
  // indices even where the body is too large for GCC to unroll early.
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (finish(Index / Vectors, Index % Vectors, batch<Arch>(sum[0][Index / Vectors][Index % Vectors])), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>());
}

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/packed_matrix.hpp
// How the kernel of a dense layer lies in memory: in panels of a few registers' width, one panel after the other, so
// that a matrix product reads it front to back and needs no packing step. Level 4 of the house.

namespace stagecraft::kernels {

/// The layout of a Rows x Columns matrix (a dense kernel: inputs x units) in column panels.
///
/// Element (row, column) is the float at
/// `(column / panel_columns) * panel_stride + row * panel_columns + column % panel_columns`. The panel's width depends
/// on Columns and Arch only, never on the batch size: training and inference share one layout. Lanes behind the last
/// column and floats behind the last panel are padding. They are 0, and every kernel leaves them 0.
template <int Rows, int Columns, class Arch = default_architecture>
struct packed_matrix {
  static_assert(Rows > 0 && Columns > 0);

  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  /// Columns of a panel: whole registers, as many as leave the least padding.
  static constexpr int panel_columns = detail::panel_vectors<Arch>(Columns) * lanes<Arch>;
  static constexpr int panels = (Columns + panel_columns - 1) / panel_columns;
  /// Floats from a panel to the next. A row of a panel follows the last one after `panel_columns` floats, a lane
  /// after 1.
  static constexpr int panel_stride = Rows * panel_columns;
  /// Floats in all, padding included: a multiple of 64.
  static constexpr int size = (panels * panel_stride + 63) / 64 * 64;

  /// Where element (row, column) lies.
  [[nodiscard]] static constexpr int index(int row, int column) noexcept {
    return column / panel_columns * panel_stride + row * panel_columns + column % panel_columns;
  }

  /// From Rows x Columns floats, row by row, to `size` packed floats; the padding becomes 0.
  static constexpr void pack(float const* row_major, float* packed) noexcept {
    for (int i = 0; i < size; ++i) packed[i] = 0.0F;
    for (int row = 0; row < Rows; ++row)
      for (int column = 0; column < Columns; ++column) packed[index(row, column)] = row_major[row * Columns + column];
  }

  /// From `size` packed floats to Rows x Columns floats, row by row.
  static constexpr void unpack(float const* packed, float* row_major) noexcept {
    for (int row = 0; row < Rows; ++row)
      for (int column = 0; column < Columns; ++column) row_major[row * Columns + column] = packed[index(row, column)];
  }
};

}  // namespace stagecraft::kernels

// ---- stagecraft/program/arena.hpp
// Places buffers with known lifetimes in one block of memory. Level 4.

namespace stagecraft::detail {

/// A buffer that is alive from step `first` to step `last`, both included.
struct buffer_request {
  int first = 0;
  int last = 0;
  long long size = 0;     // floats
  long long offset = -1;  // given by `place`
};

/// First fit in the order of the first steps; memory is free again after a buffer's last step. Offsets are multiples of
/// 16 floats. Returns the floats needed in all.
constexpr long long place(std::span<buffer_request> requests) {
  constexpr long long alignment = 16;
  // Plain pointers: this is a constant evaluation for hundreds of buffers, in which each call of a function counts.
  buffer_request* const buffers = requests.data();
  int const count = static_cast<int>(requests.size());
  int least = 0, most = 0;
  for (int i = 0; i < count; ++i) {
    if (buffers[i].first < least) least = buffers[i].first;
    if (buffers[i].first > most) most = buffers[i].first;
  }
  std::vector<int> indices(static_cast<std::size_t>(2 * count + most - least + 2), 0);
  std::vector<long long> ends(static_cast<std::size_t>(count), 0);
  int* const order = indices.data();  // buffers by their first steps
  int* const next = order + count;    // those alive, linked by their offsets
  int* const starts = next + count;
  long long* const end = ends.data();
  for (int i = 0; i < count; ++i) ++starts[buffers[i].first - least + 1];
  for (int step = 0; step < most - least; ++step) starts[step + 1] += starts[step];
  for (int i = 0; i < count; ++i) order[starts[buffers[i].first - least]++] = i;

  int head = -1;
  long long floats = 0;
  for (int k = 0; k < count; ++k) {
    int const index = order[k];
    int const first = buffers[index].first;
    long long const size = (buffers[index].size + alignment - 1) / alignment * alignment;
    long long offset = 0;
    int before = -1;
    for (int at = head; at >= 0; at = next[at]) {
      if (buffers[at].last < first) {  // not alive any more
        (before < 0 ? head : next[before]) = next[at];
        continue;
      }
      if (buffers[at].offset - offset >= size) break;
      offset = end[at];
      before = at;
    }
    buffers[index].offset = offset;
    end[index] = offset + size;
    next[index] = before < 0 ? head : next[before];
    (before < 0 ? head : next[before]) = index;
    if (end[index] > floats) floats = end[index];
  }
  return floats;
}

}  // namespace stagecraft::detail

// ---- stagecraft/program/call_needs.hpp
// What must be kept of a call's tensors until its backward step: the part of a gradient's rule that decides about
// memory. Level 4.

namespace stagecraft {

/// Whether a program trains or only predicts.
enum class execution_mode : unsigned char { training, inference };

/// What the backward step of a call reads, and what its forward step must keep for it.
struct call_needs {
  bool input = true;    ///< backward reads the inputs' values
  bool output = true;   ///< backward reads the output's value
  bool view = false;    ///< the output is the input's memory; neither step does anything
  long long saved = 0;  ///< floats that forward keeps for backward, for the whole batch
};

/// A layer of the user's own reads what it says in `backward_uses_input`, `backward_uses_output` and `saved_size(in)`
/// (floats per sample); all inputs and outputs are kept where it says nothing.
template <Layer L>
constexpr call_needs needs_of(L const& layer, layer_inputs const& in, int batch, execution_mode) {
  call_needs needs;
  if constexpr (requires { L::backward_uses_input; }) needs.input = L::backward_uses_input;
  if constexpr (requires { L::backward_uses_output; }) needs.output = L::backward_uses_output;
  if constexpr (requires { L::is_view; }) needs.view = L::is_view;
  if constexpr (requires { layer.saved_size(in); }) needs.saved = static_cast<long long>(batch) * layer.saved_size(in);
  return needs;
}

constexpr call_needs needs_of(layers::dense const& layer, layer_inputs const& in, int batch, execution_mode) {
  bool const keeps_sum = layer.activation.gradient_needs_input();
  auto const outputs = static_cast<long long>(batch) * layer.output_shape(in).size();
  return {.output = !keeps_sum && layer.activation != linear, .saved = keeps_sum ? outputs : 0};
}

constexpr call_needs needs_of(layers::activation const& layer, layer_inputs const&, int, execution_mode) {
  bool const needs_input = layer.function.gradient_needs_input();
  return {.input = needs_input, .output = !needs_input, .view = layer.function == linear};
}

constexpr call_needs needs_of(layers::dropout const& layer, layer_inputs const&, int, execution_mode mode) {
  return {.input = false, .output = false, .view = mode == execution_mode::inference || layer.rate == 0.0F};
}

constexpr call_needs needs_of(layers::input const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::add const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::subtract const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::average const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::concatenate const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::multiply const&, layer_inputs const&, int, execution_mode) {
  return {.output = false};
}
constexpr call_needs needs_of(layers::maximum const&, layer_inputs const&, int, execution_mode) {
  return {.output = false};
}

}  // namespace stagecraft

// ---- stagecraft/program/program.hpp
// The plan that every execution policy carries out: which calls need a gradient, who writes it first, which tensors are
// alive when, and where each lies in one block of memory. Made by the compiler, one constant per model, batch and mode.
// Level 4.

namespace stagecraft {

/// The plan of one call. Offsets are floats into the program's block; -1 where there is nothing.
struct planned_call {
  call_needs needs;
  int root = 0;                            ///< the call whose memory holds the output: itself, unless it is a view
  bool needs_gradient = false;             ///< its backward step runs
  bool writes_parameter_gradient = false;  ///< first in backward order of its layer's calls: writes, the others add
  long long value = -1;
  long long gradient = -1;
  long long saved = -1;
};

/// A model's plan for one batch size. Forward steps run in the order of the calls, then the losses, then the backward
/// steps in the opposite order.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct program {
  int batch = 0;
  std::array<planned_call, Calls> calls{};
  /// For each input of each call: whether its backward step adds to a gradient that an earlier step has written.
  std::array<bool, Edges> adds_gradient{};
  /// The same for the loss of each output.
  std::array<bool, Outputs> loss_adds_gradient{};
  /// Room for a loss's gradient that must be added; -1 where it is not needed.
  long long loss_gradient = -1;
  long long floats = 0;  ///< size of the block
};

namespace detail {

/// A plan whose buffers have no place yet, but lifetimes. Slots are indices of `buffers`, or -1.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct program_draft {
  program<Calls, Edges, Outputs> result;
  std::array<buffer_request, 3 * Calls + 1> buffers{};
  int buffer_count = 0;
  std::array<int, Calls> value{}, gradient{}, saved{};
  int loss_gradient = -1;
};

/// Makes the plan of a graph whose calls' needs are known, up to the places of buffers.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
class planner {
 public:
  constexpr planner(graph_view const& graph, std::span<call_needs const> needs, int batch, execution_mode mode)
      : graph_(graph), trains_(mode == execution_mode::training), count_(static_cast<int>(Calls)) {
    result_.batch = batch;
    for (std::size_t i = 0; i < Calls; ++i) result_.calls[i].needs = needs[i];
  }

  constexpr program_draft<Calls, Edges, Outputs> const& make() {
    find_roots_and_gradients();
    if (trains_) find_first_writers();
    find_lifetimes();
    return draft_;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }
  constexpr planned_call& call(int index) { return result_.calls[at(index)]; }
  [[nodiscard]] constexpr int backward_step(int index) const { return 2 * count_ - index; }

  constexpr void find_roots_and_gradients() {
    for (int i = 0; i < count_; ++i) {
      auto& own = call(i);
      auto const inputs = graph_.inputs_of(i);
      own.root = own.needs.view && !inputs.empty() ? call(inputs[0]).root : i;
      if (!trains_) continue;
      for (auto const& weight : graph_.parameters_of(graph_.call(i).layer))
        own.needs_gradient = own.needs_gradient || weight.trainable;
      for (int const input : inputs) own.needs_gradient = own.needs_gradient || call(input).needs_gradient;
    }
  }

  constexpr void find_first_writers() {
    std::vector<char> written(Calls, 0), layer_written(graph_.layers.size(), 0);
    auto const outputs = graph_.outputs_of(0);
    for (std::size_t k = 0; k < Outputs; ++k) {
      auto& root = written[at(call(outputs[k]).root)];
      result_.loss_adds_gradient[k] = root != 0;
      root = 1;
    }
    for (int i = count_ - 1; i >= 0; --i) {
      if (!call(i).needs_gradient) continue;
      auto& layer = layer_written[at(graph_.call(i).layer)];
      call(i).writes_parameter_gradient = layer == 0;
      layer = 1;
      if (call(i).needs.view) continue;
      auto const& node = graph_.call(i);
      for (int k = 0; k < node.input_count; ++k) {
        auto& root = written[at(call(graph_.inputs[at(node.first_input + k)]).root)];
        result_.adds_gradient[at(node.first_input + k)] = root != 0;
        root = 1;
      }
    }
  }

  [[nodiscard]] constexpr long long floats_of(int index) const {
    return static_cast<long long>(result_.batch) * graph_.call(index).shape.size();
  }

  constexpr void find_lifetimes() {
    auto& buffers = draft_.buffers;
    auto &value = draft_.value, &gradient = draft_.gradient, &saved = draft_.saved;
    value.fill(-1);
    gradient.fill(-1);
    saved.fill(-1);
    auto const request = [&](int& slot, int first, int last, long long size) {
      slot = draft_.buffer_count++;
      buffers[at(slot)] = {first, last, size};
    };
    auto const extend = [&](int slot, int step) {
      if (buffers[at(slot)].last < step) buffers[at(slot)].last = step;
      if (buffers[at(slot)].first > step) buffers[at(slot)].first = step;
    };
    for (int i = 0; i < count_; ++i) {
      auto const& own = call(i);
      if (own.root == i) {
        int const filled = graph_.call(i).is_input ? -1 : i;
        request(value[at(i)], filled, i, floats_of(i));
        if (own.needs_gradient) request(gradient[at(i)], backward_step(i), backward_step(i), floats_of(i));
      }
      // A layer keeps its values while training, even if no backward step will read them.
      if (trains_ && own.needs.saved > 0)
        request(saved[at(i)], i, own.needs_gradient ? backward_step(i) : i, own.needs.saved);
      if (own.needs_gradient && own.needs.output && !own.needs.view) extend(value[at(own.root)], backward_step(i));
      for (int const input : graph_.inputs_of(i)) {
        int const root = call(input).root;
        extend(value[at(root)], i);
        if (!own.needs_gradient || own.needs.view) continue;
        if (own.needs.input) extend(value[at(root)], backward_step(i));
        if (gradient[at(root)] >= 0) extend(gradient[at(root)], backward_step(i));
      }
    }
    int const loss_step = count_;
    int largest_added_loss = -1;
    auto const outputs = graph_.outputs_of(0);
    for (std::size_t k = 0; k < Outputs; ++k) {
      int const root = call(outputs[k]).root;
      extend(value[at(root)], loss_step);
      if (gradient[at(root)] >= 0) extend(gradient[at(root)], loss_step);
      if (result_.loss_adds_gradient[k] && (largest_added_loss < 0 || floats_of(root) > floats_of(largest_added_loss)))
        largest_added_loss = root;
    }
    if (largest_added_loss >= 0) request(draft_.loss_gradient, loss_step, loss_step, floats_of(largest_added_loss));
  }

  graph_view const& graph_;
  bool trains_;
  int count_;
  program_draft<Calls, Edges, Outputs> draft_;
  program<Calls, Edges, Outputs>& result_ = draft_.result;
};

template <class M, int Call>
constexpr call_needs find_needs(int batch, execution_mode mode) {
  constexpr auto const& graph = graph_of<M>;
  diagnostic problem;
  auto const inputs = graph.inputs_of(Call);
  std::vector<shape> shapes;
  shapes.reserve(inputs.size());
  for (int const input : inputs) shapes.push_back(graph.call(input).shape);
  layer_inputs const in(shapes.data(), static_cast<int>(inputs.size()), {}, problem);
  return needs_of(layer_of<M, Call>, in, batch, mode);
}

// One constant for each call and for each part of the plan: compilers limit the steps of each.
template <class M, int Call, int Batch, execution_mode Mode>
inline constexpr call_needs needs_of_call = find_needs<M, Call>(Batch, Mode);

template <class M, int Batch, execution_mode Mode, std::size_t... Call>
constexpr auto draft_program(std::index_sequence<Call...>) {
  call_needs const needs[]{needs_of_call<M, static_cast<int>(Call), Batch, Mode>...};
  constexpr auto const& graph = graph_of<M>;
  return planner<graph.calls.size(), graph.inputs.size(), graph.outputs_of(0).size()>(graph, needs, Batch, Mode).make();
}

template <class M, int Batch, execution_mode Mode>
inline constexpr auto draft_of = draft_program<M, Batch, Mode>(std::make_index_sequence<graph_of<M>.calls.size()>{});

template <std::size_t Count>
struct placed_buffers {
  std::array<buffer_request, Count> buffers{};
  long long floats = 0;

  constexpr explicit placed_buffers(buffer_request const* requests) {
    for (std::size_t i = 0; i < Count; ++i) buffers[i] = requests[i];
    floats = place(buffers);
  }
};

template <class M, int Batch, execution_mode Mode>
inline constexpr placed_buffers<draft_of<M, Batch, Mode>.buffer_count> placed_of{
    draft_of<M, Batch, Mode>.buffers.data()};

template <class M, int Batch, execution_mode Mode>
constexpr auto plan_program() {
  constexpr auto const& draft = draft_of<M, Batch, Mode>;
  constexpr auto const& placed = placed_of<M, Batch, Mode>;
  auto result = draft.result;
  auto const offset = [&](int slot) { return slot < 0 ? -1 : placed.buffers[static_cast<std::size_t>(slot)].offset; };
  result.floats = placed.floats;
  for (std::size_t i = 0; i < result.calls.size(); ++i) {
    auto& own = result.calls[i];
    auto const root = static_cast<std::size_t>(own.root);
    own.value = offset(draft.value[root]);
    own.gradient = offset(draft.gradient[root]);
    own.saved = offset(draft.saved[i]);
  }
  result.loss_gradient = offset(draft.loss_gradient);
  return result;
}

}  // namespace detail

/// The plan of a model.
template <Model M, int Batch, execution_mode Mode>
inline constexpr auto program_of = detail::plan_program<M, Batch, Mode>();

}  // namespace stagecraft

// ---- stagecraft/execution/host_plan.hpp
// A program as the host carries it out: adds where each weight, its gradient and the optimizer's state lie, in the
// layout of one architecture's kernels. Constants only. Level 5.

namespace stagecraft {

namespace detail {

template <class M, std::size_t Parameter, class Arch>
constexpr long long stored_floats() {
  constexpr auto const& weight = graph_of<M>.parameters[Parameter];
  if constexpr (weight.layout == parameter_layout::matrix && weight.shape.rank() == 2)
    return kernels::packed_matrix<weight.shape[0], weight.shape[1], Arch>::size;
  else
    return (weight.size() + 63LL) / 64 * 64;
}

}  // namespace detail

/// Where a model's weights lie in one block, in floats. Gradients and each slot of the optimizer's state have the same
/// layout.
template <class M, class Arch>
struct weight_storage {
  static constexpr std::size_t count = graph_of<M>.parameters.size();

  std::array<long long, count> offset{};
  std::array<long long, count> size{};
  long long floats = 0;

  template <std::size_t... Parameter>
  constexpr explicit weight_storage(std::index_sequence<Parameter...>)
      : size{detail::stored_floats<M, Parameter, Arch>()...} {
    for (std::size_t i = 0; i < count; ++i) {
      offset[i] = floats;
      floats += size[i];
    }
  }
};

template <class M, class Arch>
inline constexpr weight_storage<M, Arch> weight_storage_of{std::make_index_sequence<weight_storage<M, Arch>::count>{}};

/// Everything about a step that is known at compile time.
template <class M, auto Training, execution_mode Mode, class Arch>
struct host_plan {
  using model = M;
  using architecture = Arch;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& program = program_of<M, Training.batch_size, Mode>;
  static constexpr auto const& weights = weight_storage_of<M, Arch>;
  /// A copy, for what is read at run time: Clang 19 finds members of class type of a template argument at wrong places.
  static constexpr auto training = Training;
  static constexpr bool trains = Mode == execution_mode::training;
  static constexpr bool accumulates_steps = Training.pipeline.accumulation_steps() > 1;

  /// Whether the update of a weight is carried out while its gradient is in registers, so that the gradient is never
  /// stored: nothing else may need it.
  [[nodiscard]] static constexpr bool fuses_update(int call, int parameter) {
    auto const& layer = graph.layer_of(call);
    auto const& weight = graph.parameters[static_cast<std::size_t>(layer.first_parameter + parameter)];
    return !accumulates_steps && layer.call_count == 1 && weight.trainable && weight.regularizer.empty() &&
           weight.layout == parameter_layout::matrix;
  }
};

}  // namespace stagecraft

// ---- stagecraft/execution/host_call.hpp
// One call of a layer, as its forward and backward steps on the host see it: shapes as constants, tensors as pointers.
// Level 5.

namespace stagecraft {

/// Tensors are (batch, shape...) row by row. `Call` counts as in graph_of<M>.calls.
template <class Plan, int Call>
struct host_call {
  using model = typename Plan::model;
  using plan = Plan;
  using architecture = typename Plan::architecture;

  static constexpr auto const& layer = layer_of<model, Call>;
  static constexpr int call = Call;
  static constexpr int batch = Plan::program.batch;
  static constexpr int input_count = Plan::graph.call(Call).input_count;
  static constexpr auto const& planned = Plan::program.calls[Call];
  static constexpr bool trains = Plan::trains && planned.needs_gradient;

  [[nodiscard]] static constexpr int input_call(int index) {
    return Plan::graph.inputs[static_cast<std::size_t>(Plan::graph.call(Call).first_input + index)];
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index) {
    return Plan::graph.call(input_call(index)).shape;
  }
  [[nodiscard]] static constexpr shape const& output_shape() { return Plan::graph.call(Call).shape; }
  /// Elements of one sample of the output.
  static constexpr int size = Plan::graph.call(Call).shape.size();

  /// Whether the gradient of an input is wanted at all.
  [[nodiscard]] static constexpr bool wants_input_gradient(int index) {
    return Plan::program.calls[static_cast<std::size_t>(input_call(index))].needs_gradient;
  }
  /// Whether it is to be added to what is there; else what is there is not defined.
  [[nodiscard]] static constexpr bool adds_input_gradient(int index) {
    return Plan::program.adds_gradient[static_cast<std::size_t>(Plan::graph.call(Call).first_input + index)];
  }
  /// The same for the gradients of the weights.
  static constexpr bool adds_parameter_gradient = Plan::accumulates_steps || !planned.writes_parameter_gradient;
  static constexpr int first_parameter = Plan::graph.layer_of(Call).first_parameter;
  static constexpr int parameter_count = Plan::graph.layer_of(Call).parameter_count;
  [[nodiscard]] static constexpr parameter const& parameter_info(int index) {
    return Plan::graph.parameters[static_cast<std::size_t>(first_parameter + index)];
  }

  [[nodiscard]] float const* input(int index) const {
    return memory.block + Plan::program.calls[static_cast<std::size_t>(input_call(index))].value;
  }
  [[nodiscard]] float* input_gradient(int index) const {
    return memory.block + Plan::program.calls[static_cast<std::size_t>(input_call(index))].gradient;
  }
  [[nodiscard]] float* output() const { return memory.block + planned.value; }
  [[nodiscard]] float* output_gradient() const { return memory.block + planned.gradient; }
  [[nodiscard]] float* saved() const { return memory.block + planned.saved; }
  [[nodiscard]] float const* weight(int index) const { return memory.weights + weight_offset(index); }
  [[nodiscard]] float* parameter_gradient(int index) const { return memory.gradients + weight_offset(index); }
  /// Floats that a weight takes in its layout.
  [[nodiscard]] static constexpr long long stored_floats(int index) {
    return parameter_info(index).layout == parameter_layout::plain
               ? parameter_info(index).size()
               : Plan::weights.size[static_cast<std::size_t>(first_parameter + index)];
  }
  [[nodiscard]] static constexpr long long weight_offset(int index) {
    return Plan::weights.offset[static_cast<std::size_t>(first_parameter + index)];
  }

  host_memory const& memory;
};

}  // namespace stagecraft

// ---- stagecraft/execution/operation.hpp
// How the host carries out the steps of a layer. The layers of this library have a specialisation each, beside this
// file; a layer of the user's own brings `forward` and `backward` itself. Level 5.

namespace stagecraft {

/// What a user's layer gets in `forward(auto const& call) const` and `backward(auto const& call) const`. Tensors are
/// spans of float, (batch, shape...) row by row. In `backward`, gradients are added to: they hold zeros or what other
/// calls have added before.
/// Errors: E4034 for an input or a weight that the layer does not have.
template <class Call>
class layer_call {
 public:
  explicit layer_call(Call const& call) : call_(call) {}

  static constexpr int batch = Call::batch;
  [[nodiscard]] static constexpr shape const& input_shape(int index = 0) { return Call::input_shape(index); }
  [[nodiscard]] static constexpr shape const& output_shape() { return Call::output_shape(); }

  [[nodiscard]] std::span<float const> input(int index = 0) const {
    check("an input", index, Call::input_count);
    return {call_.input(index), input_floats(index)};
  }
  /// Written by `forward`, read by `backward`.
  [[nodiscard]] std::span<float> output() const { return {call_.output(), output_floats}; }
  /// A weight, in the order of `parameters`; one whose layout is `matrix` as a kernels::packed_matrix.
  [[nodiscard]] std::span<float const> weight(int index = 0) const {
    static_assert(detail::report<no_weight_problem>());
    check("a weight", index, Call::parameter_count);
    return {call_.weight(index), static_cast<std::size_t>(Call::stored_floats(index))};
  }
  /// `saved_size` floats per sample that `forward` keeps for `backward`; only while training.
  [[nodiscard]] std::span<float> saved() const {
    return {call_.saved(), Call::planned.saved < 0 ? 0 : static_cast<std::size_t>(Call::planned.needs.saved)};
  }
  /// Whether the model is being trained.
  static constexpr bool training = Call::plan::trains;

  [[nodiscard]] std::span<float const> output_gradient() const { return {call_.output_gradient(), output_floats}; }
  /// To add to. Where nobody wants the gradient, this is memory without a use.
  [[nodiscard]] std::span<float> input_gradient(int index = 0) const {
    check("an input", index, Call::input_count);
    return {Call::wants_input_gradient(index) ? call_.input_gradient(index) : call_.memory.workspace,
            input_floats(index)};
  }
  [[nodiscard]] std::span<float> weight_gradient(int index = 0) const {
    static_assert(detail::report<no_weight_problem>());
    check("a weight", index, Call::parameter_count);
    return {call_.parameter_gradient(index), static_cast<std::size_t>(Call::stored_floats(index))};
  }

 private:
  static constexpr diagnostic no_weight_problem = [] {
    diagnostic problem;
    if (Call::parameter_count == 0)
      problem.report(4034, "layer '", Call::plan::graph.layer_of(Call::call).name,
                     "' uses a weight, but its `parameters` declares none");
    return problem;
  }();
  // The index is a constant nearly always, and then this is nothing.
  static void check(char const* what, int index, int count) {
    if (index < 0 || index >= count)
      detail::throw_data_error("E4034", "layer '%s': asked for %s with number %d, but it has %d",
                               Call::plan::graph.layer_of(Call::call).name.characters, what, index, count);
  }
  static constexpr std::size_t output_floats = static_cast<std::size_t>(Call::batch) * Call::size;
  [[nodiscard]] static constexpr std::size_t input_floats(int index) {
    return static_cast<std::size_t>(Call::batch) * static_cast<std::size_t>(Call::input_shape(index).size());
  }

  Call const& call_;
};

/// The steps of a layer on the host: `forward`, `backward` and the floats of workspace that they need. This one serves
/// the user's own layers.
template <class L>
struct operation {
  template <class Call>
  static constexpr long long workspace() {
    long long largest = 0;
    for (int i = 0; i < Call::input_count; ++i) {
      long long const floats = static_cast<long long>(Call::batch) * Call::input_shape(i).size();
      if (!Call::wants_input_gradient(i) && floats > largest) largest = floats;
    }
    return largest;
  }

  template <class Call>
  static void forward(Call const& call) {
    static_assert(
        requires { Call::layer.forward(layer_call<Call>(call)); },
        "stagecraft: a layer that is run needs `void forward(auto const& call) const`, see "
        "execution/operation.hpp [E4030]");
    if constexpr (requires { Call::layer.forward(layer_call<Call>(call)); })
      Call::layer.forward(layer_call<Call>(call));
  }

  template <class Call>
  static void backward(Call const& call) {
    static_assert(
        requires { Call::layer.backward(layer_call<Call>(call)); },
        "stagecraft: a layer that is trained needs `void backward(auto const& call) const`, see "
        "execution/operation.hpp [E4031]");
    for (int i = 0; i < Call::input_count; ++i)
      if (Call::wants_input_gradient(i) && !Call::adds_input_gradient(i) && !written_before(call, i))
        clear(call.input_gradient(i), static_cast<long long>(Call::batch) * Call::input_shape(i).size());
    if (!Call::adds_parameter_gradient)
      for (int i = 0; i < Call::parameter_count; ++i) clear(call.parameter_gradient(i), Call::stored_floats(i));
    if constexpr (requires { Call::layer.backward(layer_call<Call>(call)); })
      Call::layer.backward(layer_call<Call>(call));
  }

 private:
  static void clear(float* x, long long floats) { std::memset(x, 0, static_cast<std::size_t>(floats) * sizeof(float)); }

  // The same tensor may stand twice among the inputs: then its gradient is cleared once.
  template <class Call>
  static bool written_before(Call const& call, int index) {
    for (int i = 0; i < index; ++i)
      if (Call::wants_input_gradient(i) && call.input_gradient(i) == call.input_gradient(index)) return true;
    return false;
  }
};

/// The steps of a layer whose output is its input's memory: there are none.
struct view_operation {
  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }
  template <class Call>
  static void forward(Call const&) {}
  template <class Call>
  static void backward(Call const&) {}
};

}  // namespace stagecraft

// ---- stagecraft/kernels/activation.hpp
// Elementwise activation functions: value and gradient of a batch, and of a whole array. Softmax is in softmax.hpp.
// Keras counterpart: tf.keras.activations. Level 4 of the house.

namespace stagecraft::kernels {

/// An elementwise activation function on a batch of floats, for use inside other kernels (a matmul's epilogue, say).
///
/// - `forward(x)` gives f(x);
/// - `gradient(saved, dy)` gives f'(x) * dy, where saved is x if `Act.gradient_needs_input()`, f(x) otherwise.
///
/// NaN goes through, as in Keras: f(NaN) is NaN, for relu too. At the points where f has no derivative the gradient is
/// TensorFlow's.
///
/// Measured on [-20, 20]: relative error at most 3e-7 (exponential; 2e-7 the others), but for gelu (error at most 2e-7
/// of 1 + |y|) and hard_sigmoid (2e-8), whose small values cancel. The functions of xsimd 8.1 below them are within 1.5
/// units in the last place (exp, expm1, tanh), 0.9 (log, log1p) and 2.5 (erf).
template <activation Act, class Arch = default_architecture>
struct activation_function {
  static_assert(Act.elementwise(), "softmax is not elementwise: use kernels/softmax.hpp");
  using value = batch<Arch>;

  [[nodiscard]] static value forward(value const& x) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return x;
    if constexpr (kind == activation_kind::relu) return relu_forward(x);
    if constexpr (kind == activation_kind::sigmoid) return logistic(x);
    if constexpr (kind == activation_kind::tanh) return xsimd::tanh(x);
    if constexpr (kind == activation_kind::gelu) return x * normal_distribution(x);
    if constexpr (kind == activation_kind::gelu_tanh) return x * logistic(gelu_tanh_argument(x));
    if constexpr (kind == activation_kind::swish) return x * logistic(x);
    if constexpr (kind == activation_kind::selu)
      return xsimd::select(x < value(0.0F), value(selu_scale * selu_alpha) * xsimd::expm1(x), value(selu_scale) * x);
    if constexpr (kind == activation_kind::elu)
      return xsimd::select(x < value(0.0F), value(Act.alpha) * xsimd::expm1(x), x);
    if constexpr (kind == activation_kind::exponential) {
      // The square reaches as far as floats do; xsimd's exp gives inf from 88.38 on and 0 below -87.34.
      value const root = xsimd::exp(value(0.5F) * x);
      return root * root;
    }
    if constexpr (kind == activation_kind::softplus)
      return at_least(x, value(0.0F)) + xsimd::log1p(xsimd::exp(value(0.0F) - xsimd::abs(x)));
    if constexpr (kind == activation_kind::softsign) return x / (value(1.0F) + xsimd::abs(x));
    if constexpr (kind == activation_kind::hard_sigmoid)
      return at_most(at_least(x / value(5.0F) + value(0.5F), value(0.0F)), value(1.0F));
  }

  [[nodiscard]] static value gradient([[maybe_unused]] value const& saved, value const& dy) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return dy;
    if constexpr (kind == activation_kind::relu) return relu_gradient(saved, dy);
    if constexpr (kind == activation_kind::sigmoid) return dy * saved * (value(1.0F) - saved);
    if constexpr (kind == activation_kind::tanh) return dy * fused_negative_multiply_add(saved, saved, value(1.0F));
    if constexpr (kind == activation_kind::gelu) {
      value const density = value(0.3989422804F) * xsimd::exp(value(-0.5F) * saved * saved);
      return dy * fused_multiply_add(saved, density, normal_distribution(saved));
    }
    if constexpr (kind == activation_kind::gelu_tanh) {
      value const s = logistic(gelu_tanh_argument(saved));
      value const slope =
          value(2 * 0.7978845608F) * fused_multiply_add(value(3 * 0.044715F), saved * saved, value(1.0F));
      return dy * fused_multiply_add(saved * s * (value(1.0F) - s), slope, s);
    }
    if constexpr (kind == activation_kind::swish) {
      value const s = logistic(saved);
      return dy * fused_multiply_add(saved * s, value(1.0F) - s, s);
    }
    if constexpr (kind == activation_kind::selu)
      return dy * xsimd::select(saved < value(0.0F), saved + value(selu_scale * selu_alpha), value(selu_scale));
    if constexpr (kind == activation_kind::elu) {
      if constexpr (Act.gradient_needs_input())
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), value(Act.alpha) * xsimd::exp(saved));
      else
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), saved + value(Act.alpha));
    }
    if constexpr (kind == activation_kind::exponential) return dy * saved;
    if constexpr (kind == activation_kind::softplus) return value(0.0F) - dy * xsimd::expm1(value(0.0F) - saved);
    if constexpr (kind == activation_kind::softsign) {
      value const rest = value(1.0F) - xsimd::abs(saved);
      return dy * rest * rest;
    }
    if constexpr (kind == activation_kind::hard_sigmoid)
      return xsimd::select(xsimd::abs(saved) <= value(2.5F), value(0.2F) * dy, value(0.0F));
  }

 private:
  static constexpr float selu_scale = 1.0507009873554805F;
  static constexpr float selu_alpha = 1.6732632423543772F;

  [[nodiscard]] static value logistic(value const& x) { return value(1.0F) / (value(1.0F) + xsimd::exp(-x)); }

  [[nodiscard]] static value normal_distribution(value const& x) {
    return fused_multiply_add(value(0.5F), xsimd::erf(x * value(0.7071067812F)), value(0.5F));
  }

  // (1 + tanh(u)) / 2 = logistic(2 u)
  [[nodiscard]] static value gelu_tanh_argument(value const& x) {
    return value(2 * 0.7978845608F) * x * fused_multiply_add(value(0.044715F), x * x, value(1.0F));
  }

  [[nodiscard]] static value relu_forward(value const& x) {
    if constexpr (Act.threshold == 0 && Act.max_value < 0) {
      if constexpr (Act.alpha == 0) return at_least(x, value(0.0F));
      return xsimd::select(x > value(0.0F), x, value(Act.alpha) * x);
    } else {
      value y = xsimd::select(x <= value(Act.threshold), value(0.0F), x);
      if constexpr (Act.max_value >= 0) y = at_most(at_least(y, value(0.0F)), value(Act.max_value));
      if constexpr (Act.alpha != 0)
        y = xsimd::select(x < value(Act.threshold), y + value(Act.alpha) * (x - value(Act.threshold)), y);
      return y;
    }
  }

  [[nodiscard]] static value relu_gradient(value const& saved, value const& dy) {
    if constexpr (Act.threshold == 0 && Act.max_value < 0) {
      return xsimd::select(saved > value(0.0F), dy, value(Act.alpha) * dy);
    } else {
      // saved is the input here, but for relu6, where input and output give the same answer.
      auto passes = saved > value(Act.threshold);
      if constexpr (Act.max_value == 6 && Act.threshold == 0)
        passes = passes & (saved < value(6.0F));
      else if constexpr (Act.max_value >= 0)
        passes = passes & (saved >= value(0.0F)) & (saved <= value(Act.max_value));
      value dx = xsimd::select(passes, dy, value(0.0F));
      if constexpr (Act.alpha != 0) dx = xsimd::select(saved < value(Act.threshold), dx + value(Act.alpha) * dy, dx);
      return dx;
    }
  }
};

/// y = f(x) for n values. y may be x.
template <activation Act, class Arch = default_architecture>
inline void activation_forward(float const* x, float* y, std::int64_t n) {
  if constexpr (Act.kind == activation_kind::linear) {
    if (x != y) std::memmove(y, x, static_cast<std::size_t>(n) * sizeof(float));
  } else {
    transform<Arch>(n, [](batch<Arch> const& value) { return activation_function<Act, Arch>::forward(value); }, y, x);
  }
}

/// dx = f' * dy, or dx += f' * dy if Accumulate, for n values. `saved` is x if `Act.gradient_needs_input()`, f(x)
/// otherwise; a linear activation reads no `saved`. Without Accumulate dx may be dy or saved.
template <activation Act, bool Accumulate = false, class Arch = default_architecture>
inline void activation_backward(float const* saved, float const* dy, float* dx, std::int64_t n) {
  using function = activation_function<Act, Arch>;
  using value = batch<Arch>;
  if constexpr (Act.kind == activation_kind::linear) {
    if constexpr (Accumulate)
      transform<Arch>(
          n, [](value const& g, value const& sum) { return sum + g; }, dx, dy, static_cast<float const*>(dx));
    else
      activation_forward<Act, Arch>(dy, dx, n);
  } else if constexpr (Accumulate) {
    transform<Arch>(
        n, [](value const& s, value const& g, value const& sum) { return sum + function::gradient(s, g); }, dx, saved,
        dy, static_cast<float const*>(dx));
  } else {
    transform<Arch>(n, [](value const& s, value const& g) { return function::gradient(s, g); }, dx, saved, dy);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/softmax.hpp
// Softmax over the last axis of a row-major matrix, and its gradient.
// Keras counterpart: tf.keras.activations.softmax. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// The largest value of a row, in four partial maxima. Unspecified if there is a NaN.
template <int Columns, class Arch>
[[nodiscard]] inline float row_max(float const* x) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int blocks = Columns / (4 * width) * (4 * width);
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  batch<Arch> largest(lowest);
  if constexpr (blocks > 0) {
    batch<Arch> part[4] = {largest, largest, largest, largest};
    for (int i = 0; i < blocks; i += 4 * width) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) part[k] = xsimd::max(part[k], batch<Arch>::load_unaligned(x + i + k * width));
    }
    largest = xsimd::max(xsimd::max(part[0], part[1]), xsimd::max(part[2], part[3]));
  }
  for (int i = blocks; i < whole; i += width) largest = xsimd::max(largest, batch<Arch>::load_unaligned(x + i));
  if constexpr (whole < Columns) largest = xsimd::max(largest, load_lanes_or<Columns - whole, Arch>(x + whole, lowest));
  return horizontal_max(largest);
}

}  // namespace detail

/// y = exp(x - max x) / sum exp(x - max x) for one row. y may be x. A NaN or +inf in x makes the whole row NaN.
template <int Columns, class Arch = default_architecture>
inline void softmax_row(float const* x, float* y) {
  constexpr int width = lanes<Arch>;
  constexpr int batches = (Columns + width - 1) / width;
  constexpr int last = Columns - (batches - 1) * width;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  if constexpr (batches <= 8) {  // the row stays in registers
    batch<Arch> values[batches];
#pragma GCC unroll 8
    for (int i = 0; i + 1 < batches; ++i) values[i] = batch<Arch>::load_unaligned(x + i * width);
    values[batches - 1] = load_lanes_or<last, Arch>(x + (batches - 1) * width, lowest);
    batch<Arch> largest = values[0];
#pragma GCC unroll 8
    for (int i = 1; i < batches; ++i) largest = xsimd::max(largest, values[i]);
    batch<Arch> const shift(horizontal_max(largest));
    batch<Arch> sum(0.0F);
#pragma GCC unroll 8
    for (int i = 0; i < batches; ++i) {
      values[i] = xsimd::exp(values[i] - shift);
      sum = sum + values[i];
    }
    batch<Arch> const scale(1.0F / horizontal_sum(sum));
#pragma GCC unroll 8
    for (int i = 0; i + 1 < batches; ++i) (values[i] * scale).store_unaligned(y + i * width);
    store_lanes<last>(values[batches - 1] * scale, y + (batches - 1) * width);
  } else {
    constexpr int whole = Columns / width * width;
    constexpr int rest = Columns - whole;
    batch<Arch> const shift(detail::row_max<Columns, Arch>(x));
    batch<Arch> sum(0.0F);
    for (int i = 0; i < whole; i += width) {
      batch<Arch> const value = xsimd::exp(batch<Arch>::load_unaligned(x + i) - shift);
      sum = sum + value;
      value.store_unaligned(y + i);
    }
    if constexpr (rest > 0) {
      batch<Arch> const value = xsimd::exp(load_lanes_or<rest, Arch>(x + whole, lowest) - shift);
      sum = sum + value;
      store_lanes<rest>(value, y + whole);
    }
    float const scale = 1.0F / horizontal_sum(sum);
    transform<Arch>(
        Columns, [scale](batch<Arch> const& v) { return v * batch<Arch>(scale); }, y, static_cast<float const*>(y));
  }
}

/// y = softmax(x) along the rows of a (Rows, Columns) matrix. y may be x.
template <int Rows, int Columns, class Arch = default_architecture>
inline void softmax(float const* x, float* y) {
  for (std::int64_t row = 0; row < Rows; ++row) softmax_row<Columns, Arch>(x + row * Columns, y + row * Columns);
}

/// dx = y * (dy - sum(y * dy)) along the rows, added to dx if Accumulate. Without Accumulate dx may be dy.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_gradient(float const* y, float const* dy, float* dx) {
  using value = batch<Arch>;
  for (std::int64_t row = 0; row < Rows; ++row, y += Columns, dy += Columns, dx += Columns) {
    value const dot(transform_sum<Arch>(Columns, [](value const& a, value const& b) { return a * b; }, y, dy));
    if constexpr (Accumulate)
      transform<Arch>(
          Columns, [dot](value const& p, value const& g, value const& sum) { return sum + p * (g - dot); }, dx, y, dy,
          static_cast<float const*>(dx));
    else
      transform<Arch>(Columns, [dot](value const& p, value const& g) { return p * (g - dot); }, dx, y, dy);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/activation.hpp
// The steps of activation on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::activation> {
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;
  template <class Call>
  static constexpr int columns = Call::output_shape().back();
  template <class Call>
  static constexpr int rows = static_cast<int>(floats<Call> / columns<Call>);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    constexpr auto function = Call::layer.function;
    using arch = typename Call::architecture;
    if constexpr (function.kind == activation_kind::softmax)
      kernels::softmax<rows<Call>, columns<Call>, arch>(call.input(0), call.output());
    else if constexpr (function != linear)
      kernels::activation_forward<function, arch>(call.input(0), call.output(), floats<Call>);
  }

  template <class Call>
  static void backward(Call const& call) {
    constexpr auto function = Call::layer.function;
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool add = Call::adds_input_gradient(0);
      if constexpr (function.kind == activation_kind::softmax)
        kernels::softmax_gradient<rows<Call>, columns<Call>, add, arch>(call.output(), call.output_gradient(),
                                                                        call.input_gradient(0));
      else if constexpr (function != linear)
        kernels::activation_backward<function, add, arch>(
            function.gradient_needs_input() ? call.input(0) : call.output(), call.output_gradient(),
            call.input_gradient(0), floats<Call>);
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/elementwise.hpp
// Arithmetic over whole arrays: fill, scale, copy of blocks, and the merge layers (add, multiply, maximum...) for any
// number of inputs, forward and backward.
// Keras counterpart: tf.keras.layers.Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate. Level 4 of the
// house.

namespace stagecraft::kernels {

/// y = value, n times.
template <class Arch = default_architecture>
inline void fill(float* y, float value, std::int64_t n) {
  transform<Arch>(n, [value]() { return batch<Arch>(value); }, y);
}

/// y = factor * x, or y += factor * x if Accumulate. y may be x. This is also the gradient of add (factor 1), of
/// subtract (1 and -1) and of average (1 / number of inputs) for each of their inputs.
template <bool Accumulate = false, class Arch = default_architecture>
inline void scaled_add(float factor, float const* x, float* y, std::int64_t n) {
  using value = batch<Arch>;
  value const f(factor);
  if constexpr (Accumulate)
    transform<Arch>(
        n, [f](value const& a, value const& sum) { return fused_multiply_add(f, a, sum); }, y, x,
        static_cast<float const*>(y));
  else
    transform<Arch>(n, [f](value const& a) { return f * a; }, y, x);
}

namespace detail {

/// y[i] = combine(...combine(x[0][i], x[1][i])..., x[count - 1][i]).
template <class Arch, class Combine>
inline void merge(float const* const* x, int count, float* y, std::int64_t n, Combine const& combine) {
  if (count == 2) return transform<Arch>(n, combine, y, x[0], x[1]);
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) {
    batch<Arch> merged = batch<Arch>::load_unaligned(x[0] + i);
    for (int input = 1; input < count; ++input) merged = combine(merged, batch<Arch>::load_unaligned(x[input] + i));
    merged.store_unaligned(y + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> merged = load_first<Arch>(x[0] + i, rest);
    for (int input = 1; input < count; ++input) merged = combine(merged, load_first<Arch>(x[input] + i, rest));
    store_first(merged, y + i, rest);
  }
}

/// dx = slope, or dx += slope, where slope is function(dy, load) and load(input) reads that input's batch.
template <bool Accumulate, class Arch, class Slope>
inline void merge_backward(float const* const* x, float const* dy, float* dx, std::int64_t n, Slope const& slope) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) {
    batch<Arch> value = slope(batch<Arch>::load_unaligned(dy + i),
                              [x, i](int input) { return batch<Arch>::load_unaligned(x[input] + i); });
    if constexpr (Accumulate) value = value + batch<Arch>::load_unaligned(dx + i);
    value.store_unaligned(dx + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> value =
        slope(load_first<Arch>(dy + i, rest), [x, i, rest](int input) { return load_first<Arch>(x[input] + i, rest); });
    if constexpr (Accumulate) value = value + load_first<Arch>(dx + i, rest);
    store_first(value, dx + i, rest);
  }
}

/// dx = dy where input number `which` is the first that wins the comparison with all others, else 0.
template <bool Accumulate, class Arch, class Wins>
inline void extremum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n,
                              Wins const& wins) {
  using value = batch<Arch>;
  merge_backward<Accumulate, Arch>(x, dy, dx, n, [&](value const& g, auto const& load) {
    value const mine = load(which);
    value result = g;
    for (int input = 0; input < count; ++input)
      if (input != which) {
        value const other = load(input);
        result = input < which ? xsimd::select(wins(other, mine), value(0.0F), result)
                               : xsimd::select(wins(mine, other), result, value(0.0F));
      }
    return result;
  });
}

}  // namespace detail

/// y = x[0] + x[1] + ... for `count` >= 1 inputs of n values. y may be any input. Gradient: `scaled_add` with 1.
template <class Arch = default_architecture>
inline void add(float const* const* x, int count, float* y, std::int64_t n) {
  detail::merge<Arch>(x, count, y, n, [](batch<Arch> const& a, batch<Arch> const& b) { return a + b; });
}

/// y = a - b. Gradient: `scaled_add` with 1 and -1.
template <class Arch = default_architecture>
inline void subtract(float const* a, float const* b, float* y, std::int64_t n) {
  transform<Arch>(n, [](batch<Arch> const& u, batch<Arch> const& v) { return u - v; }, y, a, b);
}

/// y = x[0] * x[1] * ...
template <class Arch = default_architecture>
inline void multiply(float const* const* x, int count, float* y, std::int64_t n) {
  detail::merge<Arch>(x, count, y, n, [](batch<Arch> const& a, batch<Arch> const& b) { return a * b; });
}

/// The gradient of `multiply` for input number `which`: dy times the product of the other inputs.
template <bool Accumulate = false, class Arch = default_architecture>
inline void multiply_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::merge_backward<Accumulate, Arch>(x, dy, dx, n, [=](batch<Arch> const& g, auto const& load) {
    batch<Arch> product = g;
    for (int input = 0; input < count; ++input)
      if (input != which) product = product * load(input);
    return product;
  });
}

/// y = (x[0] + x[1] + ...) / count. Gradient: `scaled_add` with 1 / count.
template <class Arch = default_architecture>
inline void average(float const* const* x, int count, float* y, std::int64_t n) {
  add<Arch>(x, count, y, n);
  scaled_add<false, Arch>(1.0F / static_cast<float>(count), y, y, n);
}

/// y = max(x[0], x[1], ...), NaN where any input is NaN.
template <class Arch = default_architecture>
inline void maximum(float const* const* x, int count, float* y, std::int64_t n) {
  using value = batch<Arch>;
  detail::merge<Arch>(x, count, y, n,
                      [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(b), b, at_least(a, b)); });
}

/// The gradient of `maximum` for input number `which`: dy where it is the largest; of equal inputs the first gets all,
/// as in TensorFlow.
template <bool Accumulate = false, class Arch = default_architecture>
inline void maximum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::extremum_backward<Accumulate, Arch>(x, count, which, dy, dx, n,
                                              [](batch<Arch> const& a, batch<Arch> const& b) { return a >= b; });
}

/// y = min(x[0], x[1], ...), NaN where any input is NaN.
template <class Arch = default_architecture>
inline void minimum(float const* const* x, int count, float* y, std::int64_t n) {
  using value = batch<Arch>;
  detail::merge<Arch>(x, count, y, n,
                      [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(b), b, at_most(a, b)); });
}

/// The gradient of `minimum` for input number `which`: dy where it is the smallest; of equal inputs the first gets all.
template <bool Accumulate = false, class Arch = default_architecture>
inline void minimum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::extremum_backward<Accumulate, Arch>(x, count, which, dy, dx, n,
                                              [](batch<Arch> const& a, batch<Arch> const& b) { return a <= b; });
}

/// For each of `outer` blocks: copies (or adds, if Accumulate) `inner` values from `from` to `to`, then steps on by the
/// strides. Concatenate along an axis writes each input so; its gradient reads so.
template <bool Accumulate = false, class Arch = default_architecture>
inline void copy_blocks(std::int64_t outer, std::int64_t inner, float const* from, std::int64_t from_stride, float* to,
                        std::int64_t to_stride) {
  for (std::int64_t block = 0; block < outer; ++block, from += from_stride, to += to_stride) {
    if constexpr (Accumulate)
      scaled_add<true, Arch>(1.0F, from, to, inner);
    else
      std::memcpy(to, from, static_cast<std::size_t>(inner) * sizeof(float));
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/concatenate.hpp
// The steps of concatenate on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::concatenate> {
  /// Each input is `outer` blocks, which lie `stride` floats apart in the output.
  template <class Call>
  struct blocks {
    static constexpr int axis = Call::layer.shape_axis(Call::output_shape());
    static constexpr int outer = Call::batch * Call::output_shape().size(0, axis);
    static constexpr int stride = Call::output_shape().size(axis, Call::output_shape().rank());
    static constexpr int length(int input) {
      return Call::input_shape(input).size(axis, Call::input_shape(input).rank());
    }
    static constexpr int begin(int input) {
      int sum = 0;
      for (int i = 0; i < input; ++i) sum += length(i);
      return sum;
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using b = blocks<Call>;
    for (int i = 0; i < Call::input_count; ++i)
      kernels::copy_blocks<false, typename Call::architecture>(b::outer, b::length(i), call.input(i), b::length(i),
                                                               call.output() + b::begin(i), b::stride);
  }

  template <class Call>
  static void backward(Call const& call) {
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      (input_backward<Index>(call), ...);
    }(std::make_integer_sequence<int, Call::input_count>{});
  }

 private:
  template <int Index, class Call>
  static void input_backward(Call const& call) {
    using b = blocks<Call>;
    if constexpr (Call::wants_input_gradient(Index))
      kernels::copy_blocks<Call::adds_input_gradient(Index), typename Call::architecture>(
          b::outer, b::length(Index), call.output_gradient() + b::begin(Index), b::stride, call.input_gradient(Index),
          b::length(Index));
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/matmul.hpp
// The product of a batch with a packed matrix: the forward pass of a dense layer, bias and activation included.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.

namespace stagecraft::kernels {

/// What `matmul` does to its sums before they leave the registers: nothing.
struct no_epilogue {
  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int /*column*/) const noexcept {
    return sum;
  }
};

/// Adds bias[column]. The bias is padded to whole registers.
struct bias_epilogue {
  float const* bias;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column) const noexcept {
    return sum + Batch::load_unaligned(bias + column);
  }
};

/// An epilogue and then a function of the batch alone, such as an activation.
template <class Epilogue, class Function>
struct epilogue_then {
  Epilogue epilogue;
  Function function;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column) const {
    return function(epilogue(sum, column));
  }
};

template <class Epilogue, class Function>
epilogue_then(Epilogue, Function) -> epilogue_then<Epilogue, Function>;

namespace detail {

/// The most steps of a product that are summed at once, so that the panel they read stays in the second-level cache.
inline constexpr int most_steps = 1024;

/// Floats that a product with a single row reads ahead of its sums, where a panel does not fit into the first-level
/// cache.
inline constexpr int read_ahead = 512;

/// Stores what the epilogue gives.
template <class Epilogue>
struct store_output {
  Epilogue epilogue;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* to, int column) const {
    store_lanes<Lanes>(epilogue(sum, column), to);
  }
};

/// Stores what the epilogue gives in a second place, and a function of it in the first.
template <class Epilogue, class Function>
struct store_two_outputs {
  Epilogue epilogue;
  Function function;
  float* before;
  float const* y;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* to, int column) const {
    Batch const value = epilogue(sum, column);
    store_lanes<Lanes>(value, before + (to - y));
    store_lanes<Lanes>(function(value), to);
  }
};

/// What becomes of a tile's sums: added to the result if `add`, given to `output` if `last`, else stored.
template <int Stride, int Vectors, int LastLanes, class Arch, class Output>
struct tile_store {
  float* y;
  bool add;
  bool last;
  int column;
  Output output;

  template <int Lanes>
  void store(batch<Arch> sum, float* to, int at) const {
    if (add) sum = sum + load_lanes<Lanes, Arch>(to);
    if (last)
      output.template store<Lanes>(sum, to, at);
    else
      store_lanes<Lanes>(sum, to);
  }

  void operator()(int i, int j, batch<Arch> const& sum) const {
    float* const to = y + i * Stride + j * lanes<Arch>;
    int const at = column + j * lanes<Arch>;
    if (LastLanes == lanes<Arch> || j + 1 < Vectors)
      store<lanes<Arch>>(sum, to, at);
    else
      store<LastLanes>(sum, to, at);
  }
};

/// y (+)= left * right, through `output`: M rows of left, one panel of right of which Columns columns count.
template <int M, int LeftStride, int PanelColumns, int Columns, int Stride, class Arch, class Output>
inline void multiply_panel(float const* left, float const* right, int steps, float* y, bool add, bool last, int column,
                           Output const& output) {
  constexpr int vectors = (Columns + lanes<Arch> - 1) / lanes<Arch>;
  constexpr int last_lanes = Columns - (vectors - 1) * lanes<Arch>;
  constexpr row_blocks cut = cut_rows<Arch>(M, vectors);
  constexpr int ahead = M == 1 && LeftStride * PanelColumns > 8192 ? read_ahead : 0;
  using store = tile_store<Stride, vectors, last_lanes, Arch, Output>;
  for (int block = 0; block < cut.tall; ++block) {
    multiply_tile<cut.height, vectors, LeftStride, 1, PanelColumns, ahead, Arch>(left, right, steps,
                                                                                 store{y, add, last, column, output});
    left += cut.height * LeftStride;
    y += cut.height * Stride;
  }
  if constexpr (cut.low > 0)
    for (int block = 0; block < cut.low; ++block) {
      multiply_tile<cut.height - 1, vectors, LeftStride, 1, PanelColumns, ahead, Arch>(
          left, right, steps, store{y, add, last, column, output});
      left += (cut.height - 1) * LeftStride;
      y += (cut.height - 1) * Stride;
    }
}

/// y = output(x * w).
template <int M, int K, int N, class Arch, class Output>
inline void multiply(float const* x, float const* w, float* y, Output const& output) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr int whole = N / panel;
  constexpr int blocks = M == 1 ? 1 : (K + most_steps - 1) / most_steps;
  constexpr int steps = (K + blocks - 1) / blocks;
  for (int from = 0; from < K; from += steps) {
    int const count = blocks == 1 ? K : from + steps < K ? steps : K - from;
    bool const add = blocks > 1 && from > 0;
    bool const last = blocks == 1 || from + steps >= K;
    float const* right = w + from * panel;
    for (int p = 0; p < whole; ++p, right += layout::panel_stride)
      multiply_panel<M, K, panel, panel, N, Arch>(x + from, right, count, y + p * panel, add, last, p * panel, output);
    if constexpr (N % panel != 0)
      multiply_panel<M, K, panel, N % panel, N, Arch>(x + from, right, count, y + whole * panel, add, last,
                                                      whole * panel, output);
  }
}

}  // namespace detail

/// y = epilogue(x * w). x: M x K and y: M x N, row by row; w: packed_matrix<K, N, Arch>.
/// `epilogue(batch, column)` gets the sums of `lanes` columns, the first of which is `column`, and gives what is
/// stored.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul(float const* x, float const* w, float* y, Epilogue const& epilogue = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_output<Epilogue>{epilogue});
}

/// before = epilogue(x * w) and y = function(before), for activations whose gradient needs their input. `before` is
/// M x N, row by row, and not y.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue, class Function>
inline void matmul(float const* x, float const* w, float* before, float* y, Epilogue const& epilogue,
                   Function const& function) {
  detail::multiply<M, K, N, Arch>(x, w, y,
                                  detail::store_two_outputs<Epilogue, Function>{epilogue, function, before, y});
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/transpose.hpp
// Transposes square blocks of `lanes` x `lanes` floats in registers. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

#if defined(__AVX2__)
/// Each 128-bit part of the four rows is a 4 x 4 block; transposes every one of them.
template <class Register, class UnpackLow, class UnpackHigh, class ShuffleLow, class ShuffleHigh>
inline void transpose_parts(Register (&row)[4], UnpackLow low, UnpackHigh high, ShuffleLow join_low,
                            ShuffleHigh join_high) {
  Register const a = low(row[0], row[1]);
  Register const b = high(row[0], row[1]);
  Register const c = low(row[2], row[3]);
  Register const d = high(row[2], row[3]);
  row[0] = join_low(a, c);
  row[1] = join_high(a, c);
  row[2] = join_low(b, d);
  row[3] = join_high(b, d);
}
#endif

/// Any power of two of lanes: in each of log2(lanes) rounds, rows that are half the block apart are interleaved.
template <class Arch>
inline void interleave_block(batch<Arch> (&row)[lanes<Arch>]) {
  constexpr int n = lanes<Arch>;
  for (int round = 1; round < n; round *= 2) {
    batch<Arch> next[n];
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = xsimd::zip_lo(row[i], row[i + n / 2]);
      next[2 * i + 1] = xsimd::zip_hi(row[i], row[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) row[i] = next[i];
  }
}

}  // namespace detail

/// to[c * to_stride + r] = from[r * from_stride + c] for r and c in [0, lanes). Only the first `rows` rows of `from`
/// are read; what is written for the others is unspecified. 1 <= rows.
template <class Arch = default_architecture>
inline void transpose_block(float const* from, int from_stride, int rows, float* to, int to_stride) {
  auto const source = [=](int row) {
    return from + static_cast<std::ptrdiff_t>(row < rows ? row : rows - 1) * from_stride;
  };
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    for (int column = 0; column < 16; column += 4) {
      __m512 row[4];
      for (int i = 0; i < 4; ++i) {
        __m512 part = _mm512_castps128_ps512(_mm_loadu_ps(source(i) + column));
        part = _mm512_insertf32x4(part, _mm_loadu_ps(source(4 + i) + column), 1);
        part = _mm512_insertf32x4(part, _mm_loadu_ps(source(8 + i) + column), 2);
        row[i] = _mm512_insertf32x4(part, _mm_loadu_ps(source(12 + i) + column), 3);
      }
      detail::transpose_parts(
          row, [](__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0x44); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0xEE); });
      for (int i = 0; i < 4; ++i) _mm512_storeu_ps(to + (column + i) * to_stride, row[i]);
    }
    return;
  } else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    for (int column = 0; column < 8; column += 4) {
      __m256 row[4];
      for (int i = 0; i < 4; ++i)
        row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(source(i) + column)),
                                      _mm_loadu_ps(source(4 + i) + column), 1);
      detail::transpose_parts(
          row, [](__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0x44); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0xEE); });
      for (int i = 0; i < 4; ++i) _mm256_storeu_ps(to + (column + i) * to_stride, row[i]);
    }
    return;
  } else
#endif
  {
    batch<Arch> row[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) row[i] = batch<Arch>::load_unaligned(source(i));
    detail::interleave_block<Arch>(row);
    for (int i = 0; i < lanes<Arch>; ++i) row[i].store_unaligned(to + i * to_stride);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/matmul_gradient.hpp
// The gradients of a product with a packed matrix and of its bias: the backward pass of a dense layer.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.

namespace stagecraft::kernels {

namespace detail {

/// Columns of the weights' gradient that are transposed at once, and that a tile of the input's gradient is wide.
template <int K, class Arch>
inline constexpr int transposed_columns = packed_matrix<1, K, Arch>::panel_columns;

/// The most rows of dy of which a weight gradient copies a panel, aligned and padded with zeros, to the stack.
inline constexpr int most_copied_rows = 256;

/// The first Lanes lanes of x, then zeros, whatever the others are.
template <int Lanes, class Arch>
[[nodiscard]] inline batch<Arch> keep_lanes(batch<Arch> const& x) {
  if constexpr (Lanes == lanes<Arch>) {
    return x;
  } else {
    alignas(64) float values[lanes<Arch>] = {};
    store_lanes<Lanes>(x, values);
    return batch<Arch>::load_aligned(values);
  }
}

}  // namespace detail

/// Floats of workspace that `matmul_input_gradient` needs.
template <int K, int N, class Arch = default_architecture>
inline constexpr int input_gradient_workspace =
    (N + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch> * detail::transposed_columns<K, Arch>;

/// dx (+)= dy * transposed(w). dy: M x N and dx: M x K, row by row; w: packed_matrix<K, N, Arch>. `workspace` holds
/// `input_gradient_workspace<K, N, Arch>` floats: a panel of the transposed weights.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_input_gradient(float const* dy, float const* w, float* workspace, float* dx) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = detail::transposed_columns<K, Arch>;
  constexpr int whole = K / panel;
  auto const transpose = [&](int first, auto vectors) {
    for (int n = 0; n < N; n += width)
      for (int v = 0; v < vectors; ++v) {
        int const k = first + v * width;
        transpose_block<Arch>(w + layout::index(k, n), layout::panel_columns, K - k, workspace + n * panel + v * width,
                              panel);
      }
  };
  auto const multiply = [&]<int Columns>(int first) {
    transpose(first, std::integral_constant<int, (Columns + width - 1) / width>());
    for (int n = 0; n < N; n += detail::most_steps)
      detail::multiply_panel<M, N, panel, Columns, K, Arch>(
          dy + n, workspace + n * panel, N - n < detail::most_steps ? N - n : detail::most_steps, dx + first,
          Accumulate || n > 0, true, 0, detail::store_output<no_epilogue>{});
  };
  for (int p = 0; p < whole; ++p) multiply.template operator()<panel>(p * panel);
  if constexpr (K % panel != 0) multiply.template operator()<K % panel>(whole * panel);
}

/// Stores the weights' gradient.
struct store_gradient {
  float* gradient;

  template <class Batch>
  void operator()(Batch const& sum, int offset) const {
    sum.store_unaligned(gradient + offset);
  }
};

/// Gives every register of dw (+)= transposed(x) * dy to `finish(batch, offset)`, once, with its offset in
/// packed_matrix<K, N, Arch>; lanes of padding are 0. x: M x K and dy: M x N, row by row; up to a register behind dy's
/// end may be read. `finish` may store the gradient, or update the weight there and then so that the gradient is never
/// written. `dw` is read if Accumulate; else it may be null.
template <int M, int K, int N, bool Accumulate, class Arch = default_architecture, class Finish>
inline void matmul_weight_gradient(float const* x, float const* dy, [[maybe_unused]] float const* dw, Finish finish) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr bool copies = M <= detail::most_copied_rows;
  alignas(64) float copy[copies ? M * panel : 1];

  auto const multiply = [&]<int Columns>(int p) {
    constexpr int vectors = (Columns + width - 1) / width;
    constexpr int last_lanes = Columns - (vectors - 1) * width;
    constexpr detail::row_blocks cut = detail::cut_rows<Arch>(K, vectors);
    float const* right = dy + p * panel;
    if constexpr (copies) {
      for (int m = 0; m < M; ++m, right += N) {
        for (int j = 0; j < vectors - 1; ++j)
          batch<Arch>::load_unaligned(right + j * width).store_aligned(copy + m * panel + j * width);
        load_lanes<last_lanes, Arch>(right + (vectors - 1) * width)
            .store_aligned(copy + m * panel + (vectors - 1) * width);
      }
      right = copy;
    }
    int k = 0;
    auto const tile = [&]<int Height>() {
      int const base = p * layout::panel_stride + k * panel;
      detail::multiply_tile<Height, vectors, 1, K, copies ? panel : N, 0, Arch>(
          x + k, right, M, [=](int i, int j, batch<Arch> sum) {
            int const offset = base + i * panel + j * width;
            if (!copies && j == vectors - 1) sum = detail::keep_lanes<last_lanes, Arch>(sum);
            if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(dw + offset);
            finish(sum, offset);
          });
      k += Height;
    };
    for (int block = 0; block < cut.tall; ++block) tile.template operator()<cut.height>();
    if constexpr (cut.low > 0)
      for (int block = 0; block < cut.low; ++block) tile.template operator()<cut.height - 1>();
  };
  for (int p = 0; p < N / panel; ++p) multiply.template operator()<panel>(p);
  if constexpr (N % panel != 0) multiply.template operator()<N % panel>(N / panel);
}

/// dw (+)= transposed(x) * dy. x: M x K and dy: M x N, row by row; dw: packed_matrix<K, N, Arch>. With Accumulate the
/// padding of dw must be 0 before; it is 0 afterwards, except for registers that are padding altogether, which are not
/// touched.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_weight_gradient(float const* x, float const* dy, float* dw) {
  constexpr int rows = M < detail::most_copied_rows ? M : detail::most_copied_rows;
  matmul_weight_gradient<rows, K, N, Accumulate, Arch>(x, dy, dw, store_gradient{dw});
  int from = rows;
  if constexpr (M >= 2 * rows)
    for (; from + rows <= M; from += rows)
      matmul_weight_gradient<rows, K, N, true, Arch>(x + from * K, dy + from * N, dw, store_gradient{dw});
  if constexpr (M % rows != 0)
    matmul_weight_gradient<M % rows, K, N, true, Arch>(x + from * K, dy + from * N, dw, store_gradient{dw});
}

/// db (+)= the sums of dy's columns. dy: M x N, row by row; db: N floats, padded to whole registers.
template <int M, int N, bool Accumulate = false, class Arch = default_architecture>
inline void bias_gradient(float const* dy, float* db) {
  constexpr int width = lanes<Arch>;
  auto const sum_columns = [&]<int Vectors, int LastLanes>(int column) {
    batch<Arch> sum[2][Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[0][j] = sum[1][j] = batch<Arch>(0.0F);
    auto const add_row = [&](int part, float const* row) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j)
        sum[part][j] = sum[part][j] + (j + 1 < Vectors ? batch<Arch>::load_unaligned(row + j * width)
                                                       : load_lanes<LastLanes, Arch>(row + j * width));
    };
    float const* row = dy + column;
    for (int m = 0; m + 2 <= M; m += 2, row += 2 * N) {
      add_row(0, row);
      add_row(1, row + N);
    }
    if constexpr (M % 2 == 1) add_row(0, row);
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      batch<Arch> total = sum[0][j] + sum[1][j];
      float* const to = db + column + j * width;
      if (Accumulate) total = total + batch<Arch>::load_unaligned(to);
      total.store_unaligned(to);
    }
  };
  constexpr int most_vectors = detail::vector_registers<Arch>() / 4;
  constexpr int group = most_vectors * width;
  int column = 0;
  for (; column + group <= N; column += group) sum_columns.template operator()<most_vectors, width>(column);
  if constexpr (N % group != 0) {
    constexpr int vectors = (N % group + width - 1) / width;
    sum_columns.template operator()<vectors, N % group - (vectors - 1) * width>(column);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/update.hpp
// Weight updates of the optimizers over flat arrays, and as a function of batches for use inside other kernels.
// Keras counterpart: tf.keras.optimizers.legacy (the formulas of Keras 2.6). Level 4 of the house.

namespace stagecraft::kernels {

/// One optimizer step on a batch of weights: `update_function<Optimizer, Arch> f(learning_rate, step)`, then
/// `f(w, g, slots)` changes the weights w and the `Optimizer.slots()` state batches by the gradients g. `step` counts
/// from 1. To be specialised for each type of optimizer (a user's own, too).
template <auto Optimizer, class Arch = default_architecture, class Type = std::remove_cv_t<decltype(Optimizer)>>
struct update_function {
  static_assert(Optimizer.slots() < 0, "this optimizer has no kernel: specialise kernels::update_function for it");
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::sgd> {
  using value = batch<Arch>;
  value learning_rate;

  explicit update_function(float rate, [[maybe_unused]] std::int64_t step) : learning_rate(rate) {}

  void operator()(value& w, value const& g, [[maybe_unused]] value* slots) const {
    if constexpr (Optimizer.momentum == 0) {
      w = fused_negative_multiply_add(learning_rate, g, w);
    } else {
      value const momentum(Optimizer.momentum);
      slots[0] = fused_negative_multiply_add(learning_rate, g, momentum * slots[0]);
      if constexpr (Optimizer.nesterov)
        w = fused_negative_multiply_add(learning_rate, g, fused_multiply_add(momentum, slots[0], w));
      else
        w = w + slots[0];
    }
  }
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::rmsprop> {
  using value = batch<Arch>;
  value learning_rate;

  explicit update_function(float rate, [[maybe_unused]] std::int64_t step) : learning_rate(rate) {}

  void operator()(value& w, value const& g, value* slots) const {
    constexpr int mean_slot = Optimizer.momentum != 0 ? 2 : 1;
    value const rest(1.0F - Optimizer.rho);
    value const epsilon(Optimizer.epsilon);
    slots[0] = fused_multiply_add(rest, fused_multiply_add(g, g, -slots[0]), slots[0]);
    value square = slots[0];
    if constexpr (Optimizer.centered) {
      slots[mean_slot] = fused_multiply_add(rest, g - slots[mean_slot], slots[mean_slot]);
      // The variance; rounding may leave it a little below 0, where Keras would go on with NaN.
      square = at_least(fused_negative_multiply_add(slots[mean_slot], slots[mean_slot], square), value(0.0F));
    }
    if constexpr (Optimizer.momentum != 0) {
      slots[1] =
          fused_multiply_add(value(Optimizer.momentum), slots[1], learning_rate * g / xsimd::sqrt(square + epsilon));
      w = w - slots[1];
    } else {
      w = w - learning_rate * g / (xsimd::sqrt(square) + epsilon);
    }
  }
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::adam> {
  using value = batch<Arch>;
  value corrected_rate;  ///< learning_rate * sqrt(1 - beta_2^step) / (1 - beta_1^step)

  explicit update_function(float rate, std::int64_t step)
      : corrected_rate(
            static_cast<float>(rate * std::sqrt(1.0 - std::pow(double{Optimizer.beta_2}, static_cast<double>(step))) /
                               (1.0 - std::pow(double{Optimizer.beta_1}, static_cast<double>(step))))) {}

  void operator()(value& w, value const& g, value* slots) const {
    slots[0] = fused_multiply_add(value(1.0F - Optimizer.beta_1), g - slots[0], slots[0]);
    slots[1] = fused_multiply_add(value(1.0F - Optimizer.beta_2), fused_multiply_add(g, g, -slots[1]), slots[1]);
    value square = slots[1];
    if constexpr (Optimizer.amsgrad) square = slots[2] = xsimd::max(slots[2], slots[1]);
    w = w - corrected_rate * slots[0] / (xsimd::sqrt(square) + value(Optimizer.epsilon));
  }
};

/// One optimizer step over n weights w with the gradients g. Slot number s of weight i is slots[s * slot_stride + i];
/// all slots start at 0. `step` counts from 1. Elementwise, so a range may be split in any way; slots may be null for
/// an optimizer without state.
template <auto Optimizer, class Arch = default_architecture>
inline void update(float learning_rate, std::int64_t step, float* w, float const* g, float* slots,
                   std::int64_t slot_stride, std::int64_t n) {
  constexpr int slot_count = Optimizer.slots();
  constexpr int width = lanes<Arch>;
  update_function<Optimizer, Arch> const function(learning_rate, step);
  batch<Arch> state[slot_count + 1];
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    batch<Arch> weight = batch<Arch>::load_unaligned(w + i);
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = batch<Arch>::load_unaligned(slots + slot * slot_stride + i);
    function(weight, batch<Arch>::load_unaligned(g + i), state);
    weight.store_unaligned(w + i);
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> weight = load_first<Arch>(w + i, rest);
    for (int slot = 0; slot < slot_count; ++slot) state[slot] = load_first<Arch>(slots + slot * slot_stride + i, rest);
    function(weight, load_first<Arch>(g + i, rest), state);
    store_first(weight, w + i, rest);
    for (int slot = 0; slot < slot_count; ++slot) store_first(state[slot], slots + slot * slot_stride + i, rest);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/dense.hpp
// The steps of dense on the host. Level 5.

namespace stagecraft {

namespace detail {

/// Updates a weight with the optimizer as soon as its gradient is known.
template <auto Optimizer, class Arch>
struct update_in_registers {
  kernels::update_function<Optimizer, Arch> function;
  float* weights;
  float* slots;
  long long slot_stride;

  template <class Batch>
  void operator()(Batch const& gradient, int offset) const {
    constexpr int slot_count = Optimizer.slots();
    Batch state[slot_count + 1];
    Batch weight = Batch::load_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = Batch::load_unaligned(slots + slot * slot_stride + offset);
    function(weight, gradient, state);
    weight.store_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + offset);
  }
};

/// The products of a dense layer: one instantiation per shape, not per layer.
template <int Rows, int Inputs, int Units, activation Act, bool UseBias, class Arch>
struct dense_kernels {
  static constexpr bool in_registers = Act.kind != activation_kind::softmax;

  /// y = act(x * w + bias); if `sums` is not null, x * w + bias is kept there.
  static void forward(float const* x, float const* w, [[maybe_unused]] float const* bias, float* sums, float* y) {
    if (sums != nullptr || !in_registers) {
      float* const before = sums != nullptr ? sums : y;
      product(x, w, bias, before, [](auto const& sum) { return sum; });
      if constexpr (in_registers)
        kernels::activation_forward<Act, Arch>(before, y, static_cast<long long>(Rows) * Units);
      else
        kernels::softmax<Rows, Units, Arch>(before, y);
    } else if constexpr (in_registers) {
      product(x, w, bias, y, [](auto const& sum) { return kernels::activation_function<Act, Arch>::forward(sum); });
    }
  }

  /// dy becomes the gradient of x * w + bias.
  static void activation_backward(float const* saved, float* dy) {
    if constexpr (!in_registers)
      kernels::softmax_gradient<Rows, Units, false, Arch>(saved, dy, dy);
    else if constexpr (Act != linear)
      kernels::activation_backward<Act, false, Arch>(saved, dy, dy, static_cast<long long>(Rows) * Units);
  }

 private:
  static void product(float const* x, float const* w, [[maybe_unused]] float const* bias, float* y, auto function) {
    if constexpr (UseBias)
      kernels::matmul<Rows, Inputs, Units, Arch>(x, w, y,
                                                 kernels::epilogue_then{kernels::bias_epilogue{bias}, function});
    else
      kernels::matmul<Rows, Inputs, Units, Arch>(x, w, y, kernels::epilogue_then{kernels::no_epilogue{}, function});
  }
};

}  // namespace detail

template <>
struct operation<layers::dense> {
  template <class Call>
  struct shapes {
    static constexpr int inputs = Call::input_shape(0).back();
    static constexpr int units = Call::layer.units;
    static constexpr int rows = Call::batch * (Call::input_shape(0).size() / inputs);
    using kernels = detail::dense_kernels<rows, inputs, units, Call::layer.activation, Call::layer.use_bias,
                                          typename Call::architecture>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return kernels::input_gradient_workspace<s::inputs, s::units, typename Call::architecture>;
  }

  template <class Call>
  static void forward(Call const& call) {
    shapes<Call>::kernels::forward(call.input(0), call.weight(0), Call::layer.use_bias ? call.weight(1) : nullptr,
                                   Call::trains && Call::planned.saved >= 0 ? call.saved() : nullptr, call.output());
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename Call::architecture;
    float* const dy = call.output_gradient();
    s::kernels::activation_backward(Call::planned.saved >= 0 ? call.saved() : call.output(), dy);
    if constexpr (Call::wants_input_gradient(0))
      kernels::matmul_input_gradient<s::rows, s::inputs, s::units, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), call.memory.workspace, call.input_gradient(0));
    if constexpr (Call::plan::fuses_update(Call::call, 0)) {
      constexpr auto optimizer = Call::plan::training.optimizer;
      auto const& memory = call.memory;
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, false, arch>(
          call.input(0), dy, nullptr,
          detail::update_in_registers<optimizer, arch>{
              kernels::update_function<optimizer, arch>(memory.learning_rate, memory.update),
              memory.weights + Call::weight_offset(0), memory.slots + Call::weight_offset(0),
              Call::plan::weights.floats});
    } else {
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, Call::adds_parameter_gradient, arch>(
          call.input(0), dy, call.parameter_gradient(0));
    }
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::units, Call::adds_parameter_gradient, arch>(dy, call.parameter_gradient(1));
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/random.hpp
// Random numbers as a function: (seed, stream, counter) to 32 bits, without state. Any part of a sequence can be made
// at any time, by any thread, on any instruction set, with the same bits. Keras counterpart:
// tf.random.stateless_uniform (other bits). Level 4 of the house.

namespace stagecraft::kernels {

/// Names one random sequence: `seed` is the user's, `stream` tells the users of one seed apart (which weight, which
/// layer and step). Mixed once into two 32-bit keys.
class random_key {
 public:
  constexpr random_key(std::uint64_t seed, std::uint64_t stream)
      : mixed_(mix64(mix64(seed + 0x9E3779B97F4A7C15U) ^ (stream + 0xD1B54A32D192ED03U))) {}

  [[nodiscard]] constexpr std::uint32_t first() const { return static_cast<std::uint32_t>(mixed_); }
  [[nodiscard]] constexpr std::uint32_t second() const { return static_cast<std::uint32_t>(mixed_ >> 32U); }

  friend constexpr bool operator==(random_key const&, random_key const&) = default;

 private:
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by David Stafford).
  static constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }

  std::uint64_t mixed_;
};

namespace detail {

/// A bijection of 32 bits, for numbers and for batches of them. Constants: Chris Wellons' search of 2018 to 2022,
/// github.com/skeeto/hash-prospector.
template <class Integer>
[[nodiscard]] constexpr Integer mix32(Integer x) {
  x = (x ^ (x >> 16)) * Integer(std::uint32_t{0x21F0AAADU});
  x = (x ^ (x >> 15)) * Integer(std::uint32_t{0xD35A2D97U});
  return x ^ (x >> 15);
}

/// The second of the two keys for counters whose upper half is `high`.
[[nodiscard]] constexpr std::uint32_t second_key(random_key const& key, std::uint64_t counter) {
  auto const high = static_cast<std::uint32_t>(counter >> 32U);
  return high == 0 ? key.second() : mix32<std::uint32_t>(key.second() + mix32<std::uint32_t>(high));
}

}  // namespace detail

/// 32 random bits: two keyed rounds of a 32-bit mixer over the counter.
[[nodiscard]] constexpr std::uint32_t random_bits(random_key const& key, std::uint64_t counter) {
  auto const low = static_cast<std::uint32_t>(counter);
  return detail::mix32<std::uint32_t>(detail::mix32<std::uint32_t>(low ^ key.first()) +
                                      detail::second_key(key, counter));
}

/// A number in [0, 1) out of 2^24 equidistant ones.
[[nodiscard]] constexpr float random_uniform(random_key const& key, std::uint64_t counter) {
  return static_cast<float>(random_bits(key, counter) >> 8U) * 0x1p-24F;
}

/// `random_uniform` for the counters first, first + 1, ... of a whole batch.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> random_uniform_batch(random_key const& key, std::uint64_t first) {
  using integer = integer_batch<Arch>;
  alignas(64) std::uint32_t ramp[lanes<Arch>];
  for (int lane = 0; lane < lanes<Arch>; ++lane) ramp[lane] = static_cast<std::uint32_t>(lane);
  auto const low = static_cast<std::uint32_t>(first);
  if (low > 0xFFFFFFFFU - static_cast<std::uint32_t>(lanes<Arch>)) {  // the batch crosses into the next upper half
    alignas(64) float values[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane)
      values[lane] = random_uniform(key, first + static_cast<std::uint64_t>(lane));
    return batch<Arch>::load_aligned(values);
  }
  integer const counters = integer::load_aligned(ramp) + integer(low);
  integer const bits = detail::mix32<integer>(detail::mix32<integer>(counters ^ integer(key.first())) +
                                              integer(detail::second_key(key, first)));
  return xsimd::to_float(bit_cast<std::int32_t>(bits >> 8)) * batch<Arch>(0x1p-24F);
}

/// y[i] = the uniform number of counter first + i.
template <class Arch = default_architecture>
inline void random_uniform_fill(float* y, std::int64_t n, random_key const& key, std::uint64_t first = 0) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>)
    random_uniform_batch<Arch>(key, first + static_cast<std::uint64_t>(i)).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first(random_uniform_batch<Arch>(key, first + static_cast<std::uint64_t>(i)), y + i, rest);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/dropout.hpp
// Dropout: zeroes values at random and scales the rest, so that the mean stays. The mask is never stored: the backward
// pass draws it again from the key.
// Keras counterpart: tf.keras.layers.Dropout (training=True). Level 4 of the house.

namespace stagecraft::kernels {

/// y[i] = x[i] / (1 - rate) where the uniform number of counter first + i is at least `rate`, else 0. y may be x.
/// 0 <= rate < 1. The same values come out however a range is split, if `first` is the range's place in the whole.
template <class Arch = default_architecture>
inline void dropout(float const* x, float* y, std::int64_t n, float rate, random_key const& key,
                    std::uint64_t first = 0) {
  using value = batch<Arch>;
  std::uint64_t counter = first;
  value const limit(rate);
  value const scale(1.0F / (1.0F - rate));
  transform<Arch>(
      n,
      [&](value const& v) {
        value const uniform = random_uniform_batch<Arch>(key, counter);
        counter += lanes<Arch>;
        return xsimd::select(uniform >= limit, v * scale, value(0.0F));
      },
      y, x);
}

/// dx (or dx +=, if Accumulate) the gradient of `dropout` with the same rate, key and first.
template <bool Accumulate = false, class Arch = default_architecture>
inline void dropout_backward(float const* dy, float* dx, std::int64_t n, float rate, random_key const& key,
                             std::uint64_t first = 0) {
  if constexpr (Accumulate) {
    using value = batch<Arch>;
    std::uint64_t counter = first;
    value const limit(rate);
    value const scale(1.0F / (1.0F - rate));
    transform<Arch>(
        n,
        [&](value const& g, value const& sum) {
          value const uniform = random_uniform_batch<Arch>(key, counter);
          counter += lanes<Arch>;
          return xsimd::select(uniform >= limit, sum + g * scale, sum);
        },
        dx, dy, static_cast<float const*>(dx));
  } else {
    dropout<Arch>(dy, dx, n, rate, key, first);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/dropout.hpp
// The steps of dropout on the host: no mask is stored, the backward step draws the same numbers again. Level 5.

namespace stagecraft {

template <>
struct operation<layers::dropout> {
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  // Each call of each step draws from a sequence of its own, which is none of the weights' first values either.
  template <class Call>
  static kernels::random_key key(Call const& call) {
    auto const seed = Call::layer.seed != 0 ? Call::layer.seed : call.memory.seed;
    return {seed, ~((call.memory.step << 16U) + static_cast<std::uint64_t>(Call::call))};
  }

  template <class Call>
  static void forward(Call const& call) {
    if constexpr (!Call::planned.needs.view)
      kernels::dropout<typename Call::architecture>(call.input(0), call.output(), floats<Call>, Call::layer.rate,
                                                    key(call));
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!Call::planned.needs.view && Call::wants_input_gradient(0))
      kernels::dropout_backward<Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), floats<Call>, Call::layer.rate, key(call));
  }
};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/merge.hpp
// The steps of the merging layers on the host: add, subtract, multiply, average, maximum. Level 5.

namespace stagecraft {

namespace detail {

/// What the merging layers have in common. `Rule` says `forward(inputs, count, y, n)` and
/// `backward<Add>(inputs, count, which, dy, dx, n)`.
template <class Rule>
struct merge_operation {
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static auto inputs(Call const& call) {
    std::array<float const*, Call::input_count> x{};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = call.input(static_cast<int>(i));
    return x;
  }

  template <class Call>
  static void forward(Call const& call) {
    Rule::template forward<typename Call::architecture>(inputs(call).data(), Call::input_count, call.output(),
                                                        floats<Call>);
  }

  template <class Call>
  static void backward(Call const& call) {
    auto const x = inputs(call);
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      (input_backward<Index>(call, x.data()), ...);
    }(std::make_integer_sequence<int, Call::input_count>{});
  }

 private:
  template <int Index, class Call>
  static void input_backward(Call const& call, float const* const* x) {
    if constexpr (Call::wants_input_gradient(Index))
      Rule::template backward<Call::adds_input_gradient(Index), typename Call::architecture>(
          x, Call::input_count, Index, call.output_gradient(), call.input_gradient(Index), floats<Call>);
  }
};

struct add_rule {
  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::add<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int, int, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(1.0F, dy, dx, n);
  }
};

struct subtract_rule {
  template <class Arch>
  static void forward(float const* const* x, int, float* y, long long n) {
    kernels::subtract<Arch>(x[0], x[1], y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int, int which, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(which == 0 ? 1.0F : -1.0F, dy, dx, n);
  }
};

struct average_rule {
  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::average<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const*, int count, int, float const* dy, float* dx, long long n) {
    kernels::scaled_add<Add, Arch>(1.0F / static_cast<float>(count), dy, dx, n);
  }
};

struct multiply_rule {
  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::multiply<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const* x, int count, int which, float const* dy, float* dx, long long n) {
    kernels::multiply_backward<Add, Arch>(x, count, which, dy, dx, n);
  }
};

struct maximum_rule {
  template <class Arch>
  static void forward(float const* const* x, int count, float* y, long long n) {
    kernels::maximum<Arch>(x, count, y, n);
  }
  template <bool Add, class Arch>
  static void backward(float const* const* x, int count, int which, float const* dy, float* dx, long long n) {
    kernels::maximum_backward<Add, Arch>(x, count, which, dy, dx, n);
  }
};

}  // namespace detail

template <>
struct operation<layers::add> : detail::merge_operation<detail::add_rule> {};
template <>
struct operation<layers::subtract> : detail::merge_operation<detail::subtract_rule> {};
template <>
struct operation<layers::average> : detail::merge_operation<detail::average_rule> {};
template <>
struct operation<layers::multiply> : detail::merge_operation<detail::multiply_rule> {};
template <>
struct operation<layers::maximum> : detail::merge_operation<detail::maximum_rule> {};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/views.hpp
// Layers without steps of their own on the host: inputs are filled from outside, flatten and reshape are views.
// Level 5.

namespace stagecraft {

template <>
struct operation<layers::input> : view_operation {};
template <>
struct operation<layers::flatten> : view_operation {};
template <>
struct operation<layers::reshape> : view_operation {};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/operations.hpp
// The steps of all layers on the host. Level 5.

// ---- stagecraft/kernels/initial_values.hpp
// The first values of a weight tensor: what an initializer means, given the tensor's shape and a seed.
// Keras counterpart: tf.keras.initializers (same distributions, other random bits). Level 4 of the house.
// Not for use in a training step: orthogonal matrices allocate.

namespace stagecraft::kernels {

/// How many inputs a weight tensor joins to one output, and how many outputs one input reaches.
struct fans {
  double in;
  double out;
};

/// Keras's rule: the last two axes are inputs and outputs, all axes before them are the receptive field of a
/// convolution. A vector has its length as both, a scalar has 1.
[[nodiscard]] constexpr fans compute_fans(std::span<int const> shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive_field = 1;
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) receptive_field *= shape[axis];
  return {shape[shape.size() - 2] * receptive_field, shape[shape.size() - 1] * receptive_field};
}

/// A number from the standard normal distribution (Box and Muller), made of the counters 2 i and 2 i + 1.
[[nodiscard]] inline float random_normal(random_key const& key, std::uint64_t i) {
  constexpr double two_pi = 6.283185307179586476925;
  double const u = 1.0 - static_cast<double>(random_uniform(key, 2 * i));  // in (0, 1]
  double const v = random_uniform(key, 2 * i + 1);
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(two_pi * v));
}

/// A number from the standard normal distribution without what lies outside of [-2, 2]: drawn again until it fits.
[[nodiscard]] inline float random_truncated_normal(random_key const& key, std::uint64_t i) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    float const value = random_normal(key, i + (attempt << 48U));
    if (value >= -2.0F && value <= 2.0F) return value;
  }
}

namespace detail {

// The arithmetic below multiplies floats as doubles, which is exact, so that a compiler that fuses multiplication and
// addition gives the same bits as one that does not.

inline void fill_uniform(float* w, std::int64_t n, float low, float high, random_key const& key) {
  double const range = static_cast<float>(static_cast<double>(high) - low);
  for (std::int64_t i = 0; i < n; ++i)
    w[i] = static_cast<float>(low + range * random_uniform(key, static_cast<std::uint64_t>(i)));
}

inline void fill_normal(float* w, std::int64_t n, float mean, float stddev, bool truncated, random_key const& key) {
  for (std::int64_t i = 0; i < n; ++i) {
    auto const counter = static_cast<std::uint64_t>(i);
    double const z = truncated ? random_truncated_normal(key, counter) : random_normal(key, counter);
    w[i] = static_cast<float>(mean + stddev * z);
  }
}

inline void fill_scaled(initializer const& how, std::span<int const> shape, float* w, std::int64_t n,
                        random_key const& key) {
  fans const fan = compute_fans(shape);
  double divisor = fan.in;
  if (how.mode == fan_mode::fan_out) divisor = fan.out;
  if (how.mode == fan_mode::fan_avg) divisor = (fan.in + fan.out) / 2;
  double const variance = how.a / (divisor < 1 ? 1.0 : divisor);
  switch (how.distribution) {
    case initializer_distribution::truncated_normal:
      // The constant is the standard deviation of the truncated standard normal distribution.
      return fill_normal(w, n, 0, static_cast<float>(std::sqrt(variance) / 0.87962566103423978), true, key);
    case initializer_distribution::untruncated_normal:
      return fill_normal(w, n, 0, static_cast<float>(std::sqrt(variance)), false, key);
    case initializer_distribution::uniform: {
      auto const limit = static_cast<float>(std::sqrt(3.0 * variance));
      return fill_uniform(w, n, -limit, limit, key);
    }
  }
}

/// The dot product of two float vectors, in eight partial sums.
inline double dot(float const* a, float const* b, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int part = 0; part < 8; ++part) sums[part] += static_cast<double>(a[i + part]) * b[i + part];
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// The Q of the QR decomposition (R's diagonal positive) of a normal random matrix, by Gram and Schmidt with each
/// vector orthogonalised twice. As in Keras, the longer axis is decomposed.
inline void fill_orthogonal(float* w, std::int64_t rows, std::int64_t columns, float gain, random_key const& key) {
  std::int64_t const length = rows > columns ? rows : columns;
  std::int64_t const count = rows > columns ? columns : rows;
  auto const vectors = std::make_unique<float[]>(static_cast<std::size_t>(length * count));
  for (std::int64_t j = 0; j < count; ++j) {
    float* const vector = vectors.get() + j * length;
    for (std::int64_t i = 0; i < length; ++i) vector[i] = random_normal(key, static_cast<std::uint64_t>(i * count + j));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t k = 0; k < j; ++k) {
        float const* const other = vectors.get() + k * length;
        auto const share = static_cast<float>(dot(vector, other, length));
        for (std::int64_t i = 0; i < length; ++i)
          vector[i] = static_cast<float>(vector[i] - static_cast<double>(share) * other[i]);
      }
      double const norm = std::sqrt(dot(vector, vector, length));
      for (std::int64_t i = 0; i < length; ++i) vector[i] = static_cast<float>(vector[i] / norm);
    }
  }
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      w[row * columns + column] = gain * (rows > columns ? vectors[static_cast<std::size_t>(column * length + row)]
                                                         : vectors[static_cast<std::size_t>(row * length + column)]);
}

}  // namespace detail

/// Fills the row-major tensor w of the given shape. The values depend on the initializer's own seed if it has one (as
/// in Keras, equal seeds then give equal values), else on (seed, stream): give each weight of a model another stream.
///
/// Throws data_error E4090 for an identity that is not a matrix, E4091 for an orthogonal tensor of rank below 2.
inline void initialize(initializer const& how, std::span<int const> shape, std::uint64_t seed, std::uint64_t stream,
                       float* w) {
  std::int64_t n = 1;
  for (int const extent : shape) n *= extent;
  random_key const key = how.seed != 0 ? random_key(how.seed, 0) : random_key(seed, stream);
  switch (how.kind) {
    case initializer_kind::zeros:
    case initializer_kind::ones:
    case initializer_kind::constant:
      for (std::int64_t i = 0; i < n; ++i) w[i] = how.a;
      return;
    case initializer_kind::random_normal: return detail::fill_normal(w, n, how.a, how.b, false, key);
    case initializer_kind::truncated_normal: return detail::fill_normal(w, n, how.a, how.b, true, key);
    case initializer_kind::random_uniform: return detail::fill_uniform(w, n, how.a, how.b, key);
    case initializer_kind::variance_scaling:
    case initializer_kind::glorot_normal:
    case initializer_kind::glorot_uniform:
    case initializer_kind::he_normal:
    case initializer_kind::he_uniform:
    case initializer_kind::lecun_normal:
    case initializer_kind::lecun_uniform: return detail::fill_scaled(how, shape, w, n, key);
    case initializer_kind::orthogonal: {
      if (shape.size() < 2)
        throw data_error("E4091", "initializer orthogonal expects a tensor of rank 2 or more, got rank " +
                                      std::to_string(shape.size()));
      std::int64_t const columns = shape[shape.size() - 1];
      return detail::fill_orthogonal(w, columns == 0 ? 0 : n / columns, columns, how.a, key);
    }
    case initializer_kind::identity:
      if (shape.size() != 2)
        throw data_error("E4090",
                         "initializer identity expects a tensor of rank 2, got rank " + std::to_string(shape.size()));
      for (std::int64_t i = 0; i < n; ++i) w[i] = i / shape[1] == i % shape[1] ? how.a : 0.0F;
      return;
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/loss_row.hpp
// The interface of a loss's kernel: one row at a time.
// Level 4 of the house.

namespace stagecraft::kernels {

/// What Keras clips probabilities to: [epsilon, 1 - epsilon] (tf.keras.backend.epsilon).
inline constexpr float probability_epsilon = 1e-7F;

/// The kernel of a loss, to be specialised for each type of loss (a user's own, too):
///
///     static float evaluate(target const* t, float const* prediction, float scale, float* gradient);
///
/// returns the loss of one row of Columns predictions, without scale, and writes scale * d(loss)/d(prediction) to
/// `gradient` unless it is null. `gradient` may be `prediction`.
template <auto Loss, int Columns, class Arch, class Type = std::remove_cv_t<decltype(Loss)>>
struct loss_row {
  static_assert(Columns < 0, "this loss has no kernel: specialise stagecraft::kernels::loss_row for it");
};

/// x limited to [epsilon, 1 - epsilon]; NaN stays.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> clip_probability(xsimd::batch<float, Arch> const& x) {
  using value = xsimd::batch<float, Arch>;
  return at_least(at_most(x, value(1.0F - probability_epsilon)), value(probability_epsilon));
}

/// slope where clipping did not change x, 0 where it did: the derivative of a clipped value.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> clip_slope(xsimd::batch<float, Arch> const& x,
                                                          xsimd::batch<float, Arch> const& slope) {
  using value = xsimd::batch<float, Arch>;
  return xsimd::select((x < value(probability_epsilon)) | (x > value(1.0F - probability_epsilon)), value(0.0F), slope);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/loss_categorical.hpp
// The cross entropies over the last axis, with class numbers or a distribution as target.
// Keras counterpart: tf.keras.losses.SparseCategoricalCrossentropy, CategoricalCrossentropy. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// Calls body(load, store, keep) for each batch of a row: `load(pointer)` reads the batch of that row (0 in
/// the lanes behind the row), `store(value, pointer)` writes it, `keep(value)` puts 0 in the lanes behind the row.
template <int Columns, class Arch, class Body>
inline void for_each_batch_of_row(Body const& body) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int rest = Columns - whole;
  for (std::int64_t i = 0; i < whole; i += width)
    body([i](float const* p) { return batch<Arch>::load_unaligned(p + i); },
         [i](batch<Arch> const& value, float* p) { value.store_unaligned(p + i); },
         [](batch<Arch> const& value) { return value; });
  if constexpr (rest > 0)
    body([](float const* p) { return load_first<Arch>(p + whole, rest); },
         [](batch<Arch> const& value, float* p) { store_first(value, p + whole, rest); },
         [](batch<Arch> const& value) { return keep_first(value, rest); });
}

/// The sum of exp(x - shift) over a row, which is also written to `exponentials` unless it is null.
template <int Columns, class Arch>
[[nodiscard]] inline float row_sum_of_exponentials(float const* x, float shift, float* exponentials) {
  batch<Arch> sum(0.0F);
  for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto keep) {
    batch<Arch> const value = xsimd::exp(load(x) - batch<Arch>(shift));
    sum = sum + keep(value);
    if (exponentials != nullptr) store(value, exponentials);
  });
  return horizontal_sum(sum);
}

template <int Columns>
inline float invalid_row(float* gradient) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  if (gradient != nullptr)
    for (int column = 0; column < Columns; ++column) gradient[column] = nan;
  return nan;
}

}  // namespace detail

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::sparse_categorical_crossentropy> {
  using value_type = batch<Arch>;

  static float evaluate(std::int32_t const* target, float const* prediction, float scale, float* gradient) {
    if (*target < 0 || *target >= Columns) return detail::invalid_row<Columns>(gradient);
    if constexpr (Loss.from_logits) return from_logits(*target, prediction, scale, gradient);
    return from_probabilities(*target, prediction, scale, gradient);
  }

 private:
  static float from_logits(std::int32_t label, float const* x, float scale, float* gradient) {
    float const label_value = x[label];  // read before the gradient, which may take the same place, is written
    float const largest = detail::row_max<Columns, Arch>(x);
    float const sum = detail::row_sum_of_exponentials<Columns, Arch>(x, largest, gradient);
    if (gradient != nullptr) {
      transform<Arch>(
          Columns, [factor = scale / sum](value_type const& e) { return e * value_type(factor); }, gradient,
          static_cast<float const*>(gradient));
      gradient[label] -= scale;
    }
    return std::log(sum) + largest - label_value;
  }

  // Keras takes the logarithms of the clipped probabilities as logits: the loss is log(sum q) - log q[label].
  static float from_probabilities(std::int32_t label, float const* p, float scale, float* gradient) {
    float const label_probability = p[label];
    value_type sums(0.0F);
    detail::for_each_batch_of_row<Columns, Arch>(
        [&](auto load, auto, auto keep) { sums = sums + keep(clip_probability(load(p))); });
    float const sum = horizontal_sum(sums);
    float const low = probability_epsilon;
    float const high = 1.0F - probability_epsilon;
    bool const clipped = label_probability < low || label_probability > high;
    float const q = label_probability < low ? low : label_probability > high ? high : label_probability;
    if (gradient != nullptr) {
      transform<Arch>(
          Columns, [factor = scale / sum](value_type const& x) { return clip_slope(x, value_type(factor)); }, gradient,
          p);
      if (!clipped) gradient[label] -= scale / q;
    }
    return std::log(sum) - std::log(q);
  }
};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::categorical_crossentropy> {
  using value_type = batch<Arch>;

  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    if constexpr (Loss.from_logits) return from_logits(target, prediction, scale, gradient);
    return from_probabilities(target, prediction, scale, gradient);
  }

 private:
  static value_type smooth(value_type const& t) {
    if constexpr (Loss.label_smoothing == 0) return t;
    return t * value_type(1.0F - Loss.label_smoothing) + value_type(Loss.label_smoothing / Columns);
  }

  // The gradient is TensorFlow's softmax(x) - t, which is the derivative if the target sums to 1.
  static float from_logits(float const* target, float const* x, float scale, float* gradient) {
    float const largest = detail::row_max<Columns, Arch>(x);
    float const sum = detail::row_sum_of_exponentials<Columns, Arch>(x, largest, nullptr);
    value_type const log_sum(std::log(sum));
    value_type const shift(largest);
    value_type const inverse(1.0F / sum);
    value_type losses(0.0F);
    detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto keep) {
      value_type const shifted = load(x) - shift;
      value_type const t = smooth(load(target));
      // A target of 0 gives 0 even for a logit of -inf, as in TensorFlow.
      losses = losses + keep(xsimd::select(t == value_type(0.0F), value_type(0.0F), t * (log_sum - shifted)));
      if (gradient != nullptr) store((xsimd::exp(shifted) * inverse - t) * value_type(scale), gradient);
    });
    return horizontal_sum(losses);
  }

  // q = p / sum p, clipped; the loss is -sum t log q.
  static float from_probabilities(float const* target, float const* p, float scale, float* gradient) {
    value_type const sum(transform_sum<Arch>(Columns, [](value_type const& x) { return x; }, p));
    value_type losses(0.0F);
    value_type dots(0.0F);  // sum of q * dloss/dq
    detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto, auto keep) {
      value_type const normalized = load(p) / sum;
      value_type const q = clip_probability(normalized);
      value_type const t = smooth(load(target));
      losses = losses - keep(t * xsimd::log(q));
      dots = dots - keep(clip_slope(normalized, t));
    });
    if (gradient != nullptr) {
      value_type const dot(horizontal_sum(dots));
      value_type const factor = value_type(scale) / sum;
      detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto) {
        value_type const normalized = load(p) / sum;
        value_type const slope = clip_slope(normalized, smooth(load(target)) / clip_probability(normalized));
        store((value_type(0.0F) - slope - dot) * factor, gradient);
      });
    }
    return horizontal_sum(losses);
  }
};

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/loss_elementwise.hpp
// The losses that are a mean over the last axis: mean squared and absolute error, Huber, binary cross entropy.
// Keras counterpart: tf.keras.losses. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// The loop over a row for a loss whose value is mean(Element::value(p, t)).
template <class Element, int Columns, class Arch>
struct mean_loss_row {
  using batch_type = batch<Arch>;

  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    constexpr int width = lanes<Arch>;
    constexpr int whole = Columns / width * width;
    constexpr int rest = Columns - whole;
    batch_type const slope_scale(scale / static_cast<float>(Columns));
    batch_type sum(0.0F);
    for (std::int64_t i = 0; i < whole; i += width) {
      batch_type const p = batch_type::load_unaligned(prediction + i);
      batch_type const t = batch_type::load_unaligned(target + i);
      sum = sum + Element::value(p, t);
      if (gradient != nullptr) (Element::slope(p, t) * slope_scale).store_unaligned(gradient + i);
    }
    if constexpr (rest > 0) {
      batch_type const p = load_first<Arch>(prediction + whole, rest);
      batch_type const t = load_first<Arch>(target + whole, rest);
      sum = sum + keep_first(Element::value(p, t), rest);
      if (gradient != nullptr) store_first(Element::slope(p, t) * slope_scale, gradient + whole, rest);
    }
    return horizontal_sum(sum) / static_cast<float>(Columns);
  }
};

template <class Arch>
struct squared_error_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) { return (p - t) * (p - t); }
  static value_type slope(value_type const& p, value_type const& t) { return value_type(2.0F) * (p - t); }
};

template <class Arch>
struct absolute_error_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) { return xsimd::abs(p - t); }
  static value_type slope(value_type const& p, value_type const& t) {
    value_type const error = p - t;
    value_type const zero(0.0F);
    return xsimd::select(error > zero, value_type(1.0F),
                         xsimd::select(error < zero, value_type(-1.0F), error * zero));  // NaN stays
  }
};

template <auto Loss, class Arch>
struct huber_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) {
    value_type const size = xsimd::abs(p - t);
    return xsimd::select(size <= value_type(Loss.delta), value_type(0.5F) * size * size,
                         value_type(Loss.delta) * size - value_type(0.5F * Loss.delta * Loss.delta));
  }
  static value_type slope(value_type const& p, value_type const& t) {
    return at_least(at_most(p - t, value_type(Loss.delta)), value_type(-Loss.delta));
  }
};

template <auto Loss, class Arch>
struct binary_crossentropy_element {
  using value_type = batch<Arch>;

  static value_type smooth(value_type const& t) {
    if constexpr (Loss.label_smoothing == 0) return t;
    return t * value_type(1.0F - Loss.label_smoothing) + value_type(0.5F * Loss.label_smoothing);
  }

  static value_type value(value_type const& p, value_type const& target) {
    value_type const t = smooth(target);
    if constexpr (Loss.from_logits) {
      return at_least(p, value_type(0.0F)) - p * t + xsimd::log1p(xsimd::exp(value_type(0.0F) - xsimd::abs(p)));
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      value_type const one(1.0F);
      return value_type(0.0F) - t * xsimd::log(q + epsilon) - (one - t) * xsimd::log(one - q + epsilon);
    }
  }

  static value_type slope(value_type const& p, value_type const& target) {
    value_type const t = smooth(target);
    value_type const one(1.0F);
    if constexpr (Loss.from_logits) {
      return one / (one + xsimd::exp(-p)) - t;
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      return clip_slope(p, (one - t) / (one - q + epsilon) - t / (q + epsilon));
    }
  }
};

}  // namespace detail

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::mean_squared_error>
    : detail::mean_loss_row<detail::squared_error_element<Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::mean_absolute_error>
    : detail::mean_loss_row<detail::absolute_error_element<Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::huber>
    : detail::mean_loss_row<detail::huber_element<Loss, Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::binary_crossentropy>
    : detail::mean_loss_row<detail::binary_crossentropy_element<Loss, Arch>, Columns, Arch> {};

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/loss.hpp
// Value and gradient of the losses over a batch of rows; the losses themselves are in loss_*.hpp.
// Keras counterpart: tf.keras.losses. Level 4 of the house.

namespace stagecraft::kernels {

/// What a loss takes as target: class numbers, or a float per prediction.
template <auto Loss>
using target_type = std::conditional_t<Loss.sparse_targets, std::int32_t, float>;

/// Returns sum over rows of scale[row] * loss(row), and writes the gradient of that sum by the predictions.
///
/// - `target`: (Rows) class numbers for sparse losses, (Rows, Columns) floats otherwise;
/// - `prediction`: (Rows, Columns); probabilities, or logits if `Loss.from_logits`;
/// - `scale`: (Rows). A row with scale 0 (padding) gives 0 and the gradient 0, whatever it holds, NaN included;
/// - `gradient`: (Rows, Columns), written; null if it is not wanted. May be `prediction`;
/// - `row_loss`: (Rows), the losses without scale (0 for rows with scale 0); null if they are not wanted.
///
/// A class number outside of [0, Columns) makes the loss and the row's gradient NaN. For a model that ends in a softmax
/// or sigmoid layer, Keras in graph mode takes the logits in front of that activation instead of the probabilities;
/// value and gradient agree up to the clipping of probabilities at 1e-7.
template <auto Loss, int Rows, int Columns, class Arch = default_architecture>
inline float loss(target_type<Loss> const* target, float const* prediction, float const* scale, float* gradient,
                  float* row_loss = nullptr) {
  constexpr int target_columns = Loss.sparse_targets ? 1 : Columns;
  double total = 0;
  for (std::int64_t row = 0; row < Rows; ++row) {
    float* const row_gradient = gradient == nullptr ? nullptr : gradient + row * Columns;
    float value = 0;
    if (scale[row] != 0)
      value = loss_row<Loss, Columns, Arch>::evaluate(target + row * target_columns, prediction + row * Columns,
                                                      scale[row], row_gradient);
    else if (row_gradient != nullptr)
      for (int column = 0; column < Columns; ++column) row_gradient[column] = 0;
    if (row_loss != nullptr) row_loss[row] = value;
    total += static_cast<double>(scale[row]) * static_cast<double>(value);
  }
  return static_cast<float>(total);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/regularization.hpp
// Weight penalties: their value, and their share of the gradient.
// Keras counterpart: tf.keras.regularizers.L1L2. Level 4 of the house.

namespace stagecraft::kernels {

/// l1 * sum|w| + l2 * sum w^2 over n weights.
template <class Arch = default_architecture>
[[nodiscard]] inline float regularization_loss(regularizer const& penalty, float const* w, std::int64_t n) {
  using value = batch<Arch>;
  float loss = 0;
  if (penalty.l1 != 0) loss += penalty.l1 * transform_sum<Arch>(n, [](value const& x) { return xsimd::abs(x); }, w);
  if (penalty.l2 != 0) loss += penalty.l2 * transform_sum<Arch>(n, [](value const& x) { return x * x; }, w);
  return loss;
}

/// g += l1 * sign(w) + 2 * l2 * w, with sign(0) = 0 as in TensorFlow.
template <class Arch = default_architecture>
inline void add_regularization_gradient(regularizer const& penalty, float const* w, float* g, std::int64_t n) {
  using value = batch<Arch>;
  if (penalty.empty()) return;
  value const l1(penalty.l1);
  value const twice_l2(2.0F * penalty.l2);
  value const zero(0.0F);
  transform<Arch>(
      n,
      [=](value const& x, value const& gradient) {
        value const sign = xsimd::select(x > zero, l1, xsimd::select(x < zero, -l1, zero));
        return gradient + fused_multiply_add(twice_l2, x, sign);
      },
      g, w, static_cast<float const*>(g));
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/host_session.hpp
// Runs the steps of a program on the host: forward, losses, backward, weight update. All memory is taken when a session
// is made; no step allocates. Level 5.

namespace stagecraft {

/// Weights, optimizer state and steps of one model. Batches are always whole: rows of a partial one that hold no sample
/// have the scale 0.
template <Model M, auto Training, class Machine>
class host_session {
 public:
  using architecture = typename Machine::architecture;
  using training_plan = host_plan<M, Training, execution_mode::training, architecture>;
  using inference_plan = host_plan<M, Training, execution_mode::inference, architecture>;

  static constexpr int batch = Training.batch_size;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& outputs = outputs_of<M>;
  static constexpr std::size_t output_count = outputs.size();

  explicit host_session(std::uint64_t seed = training_plan::training.seed)
      : block_(std::max(training_plan::program.floats, inference_plan::program.floats)),
        weights_(storage.floats),
        gradients_(storage.floats),
        slots_(storage.floats * slot_count),
        workspace_(workspace_floats()),
        targets_(target_offset(output_count)),
        scales_(2LL * scale_offset(output_count)) {
    memory_ = {block_.data(), weights_.data(), gradients_.data(), slots_.data(), workspace_.data(), seed};
    memory_.learning_rate = training_plan::training.optimizer.learning_rate;
    initialize(seed);
  }

  /// Where the samples of an input go: (batch, shape...).
  [[nodiscard]] float* input(int index) {
    return memory_.block + inference_plan::program.calls[input_call(index)].value;
  }
  [[nodiscard]] static constexpr int input_count() {
    int count = 0;
    for (auto const& call : graph.calls) count += call.is_input ? 1 : 0;
    return count;
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index) { return graph.calls[input_call(index)].shape; }
  [[nodiscard]] static constexpr shape const& output_shape(std::size_t output) {
    return graph.call(outputs[output]).shape;
  }

  /// Where the targets of an output go: class numbers (batch, rows per sample) if its loss is sparse, else floats.
  template <std::size_t Output>
  [[nodiscard]] auto* target() {
    using type = kernels::target_type<loss_of<Output>>;
    return reinterpret_cast<type*>(targets_.data() + target_offset(Output));
  }
  /// The weight of each row of an output in the loss: sample weight / valid rows, 0 for rows without a sample.
  [[nodiscard]] float* scale(std::size_t output) { return scales_.data() + scale_offset(output); }
  /// Rows of the last axis that one sample of an output has.
  [[nodiscard]] static constexpr int rows_per_sample(std::size_t output) {
    return output_shape(output).size() / output_shape(output).back();
  }
  /// Whether the targets of an output are class numbers.
  [[nodiscard]] static constexpr bool sparse_targets(std::size_t output) {
    return [output]<std::size_t... Output>(std::index_sequence<Output...>) {
      bool const sparse[]{loss_of<Output>.sparse_targets...};
      return sparse[output];
    }(std::make_index_sequence<output_count>{});
  }
  /// What the last forward step gave, before a later step overwrites it.
  [[nodiscard]] float const* prediction(std::size_t output, bool training) const {
    return memory_.block + (training ? training_plan::program.calls[at(outputs[output])].value
                                     : inference_plan::program.calls[at(outputs[output])].value);
  }
  /// The losses of the last step, one per output and not weighted; and their weighted sum with the regularizers'.
  [[nodiscard]] float loss(std::size_t output) const { return losses_[output]; }
  [[nodiscard]] float total_loss() const { return total_loss_; }

  /// Forward step and losses with dropout and the like; `look` sees the predictions before the backward steps run.
  /// The weights are updated once per accumulation.
  template <class Look>
  void train_step(Look&& look) {
    run_forward<training_plan>();
    if (accumulation_steps > 1) begin_micro_batch();
    run_losses<training_plan>(std::make_index_sequence<output_count>{});
    look();
    run_backward();
    ++memory_.step;
    if (++micro_batch_ == accumulation_steps) {
      run_updates(std::make_index_sequence<storage.count>{});
      ++memory_.update;
      micro_batch_ = 0;
    }
  }

  /// Forgets micro-batches whose weights have not been updated yet.
  void begin_accumulation() { micro_batch_ = 0; }

  /// Forward step and losses, as in evaluation.
  void test_step() {
    run_forward<inference_plan>();
    run_losses<inference_plan>(std::make_index_sequence<output_count>{});
  }

  /// Forward step alone.
  void predict_step() { run_forward<inference_plan>(); }

  [[nodiscard]] float learning_rate() const { return memory_.learning_rate; }
  void set_learning_rate(float rate) { memory_.learning_rate = rate; }

  /// The stored weights of one parameter (see host_plan.hpp for the layout).
  [[nodiscard]] float* weight(std::size_t parameter) { return memory_.weights + storage.offset[parameter]; }
  [[nodiscard]] float const* weight(std::size_t parameter) const { return memory_.weights + storage.offset[parameter]; }

  /// Copies a parameter from or to its own, row-major shape.
  template <std::size_t Parameter>
  void read_weight(float* row_major) const {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::unpack(weight(Parameter), row_major);
    else
      std::copy_n(weight(Parameter), graph.parameters[Parameter].size(), row_major);
  }
  template <std::size_t Parameter>
  void write_weight(float const* row_major) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::pack(row_major, weight(Parameter));
    else
      std::copy_n(row_major, graph.parameters[Parameter].size(), weight(Parameter));
  }

  template <std::size_t Parameter>
  static constexpr bool is_packed =
      graph.parameters[Parameter].layout == parameter_layout::matrix && graph.parameters[Parameter].shape.rank() == 2;
  template <std::size_t Parameter>
  using packed =
      kernels::packed_matrix<graph.parameters[Parameter].shape[0], graph.parameters[Parameter].shape[1], architecture>;

 private:
  static constexpr auto const& storage = weight_storage_of<M, architecture>;
  static constexpr int slot_count = Training.optimizer.slots();
  static constexpr int accumulation_steps = Training.pipeline.accumulation_steps();
  template <std::size_t Output>
  static constexpr auto loss_of = losses::loss_of_output<Output>(Training.loss);

  using step = void (*)(host_memory const&);

  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  [[nodiscard]] static constexpr std::size_t input_call(int index) {
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      if (graph.calls[i].is_input && index-- == 0) return i;
    return 0;
  }
  [[nodiscard]] static constexpr long long target_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += (static_cast<long long>(batch) * output_shape(i).size() + 15) / 16 * 16;
    return offset;
  }
  [[nodiscard]] static constexpr long long scale_offset(std::size_t output) {
    long long offset = 0;
    for (std::size_t i = 0; i < output; ++i)
      offset += (static_cast<long long>(batch) * rows_per_sample(i) + 15) / 16 * 16;
    return offset;
  }

  template <class Plan, std::size_t Call>
  static void forward_step(host_memory const& memory) {
    operation<layer_t<M, static_cast<int>(Call)>>::forward(host_call<Plan, static_cast<int>(Call)>{memory});
  }
  template <std::size_t Call>
  static void backward_step(host_memory const& memory) {
    if constexpr (training_plan::program.calls[Call].needs_gradient)
      operation<layer_t<M, static_cast<int>(Call)>>::backward(host_call<training_plan, static_cast<int>(Call)>{memory});
  }

  // Steps stand in tables: an expression over all calls would meet the compilers' limits for large models.
  template <class Plan, std::size_t... Call>
  static constexpr auto forward_table(std::index_sequence<Call...>) {
    return std::array<step, sizeof...(Call)>{&forward_step<Plan, Call>...};
  }
  template <std::size_t... Call>
  static constexpr auto backward_table(std::index_sequence<Call...>) {
    return std::array<step, sizeof...(Call)>{&backward_step<Call>...};
  }
  using call_indices = std::make_index_sequence<graph.calls.size()>;

  template <class Plan>
  void run_forward() {
    static constexpr auto steps = forward_table<Plan>(call_indices{});
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (!Plan::program.calls[i].needs.view && !graph.calls[i].is_input) steps[i](memory_);
  }

  void run_backward() {
    static constexpr auto steps = backward_table(call_indices{});
    for (std::size_t i = steps.size(); i-- > 0;) {
      auto const& planned = training_plan::program.calls[i];
      if (planned.needs_gradient && !planned.needs.view) steps[i](memory_);
    }
  }

  template <class Plan, std::size_t... Output>
  void run_losses(std::index_sequence<Output...>) {
    total_loss_ = 0;
    (run_loss<Plan, Output>(), ...);
    add_regularization(std::make_index_sequence<storage.count>{});
  }

  template <class Plan, std::size_t Output>
  void run_loss() {
    constexpr int call = outputs[Output];
    constexpr int columns = output_shape(Output).back();
    constexpr int rows = batch * rows_per_sample(Output);
    constexpr float output_weight = Training.loss_weights.values[Output];
    constexpr auto const& planned = Plan::program.calls[at(call)];
    constexpr bool wants_gradient = Plan::trains && planned.needs_gradient;
    constexpr bool adds = wants_gradient && Plan::program.loss_adds_gradient[Output];
    float* gradient = nullptr;
    if constexpr (adds)
      gradient = memory_.block + Plan::program.loss_gradient;
    else if constexpr (wants_gradient)
      gradient = memory_.block + planned.gradient;

    losses_[Output] = kernels::loss<loss_of<Output>, rows, columns, architecture>(
        target<Output>(), memory_.block + planned.value, scale(Output), gradient);
    total_loss_ += output_weight * losses_[Output];
    if constexpr (wants_gradient) {
      float const factor = output_weight * gradient_factor_;
      if (factor != 1.0F)
        kernels::scaled_add<false, architecture>(factor, gradient, gradient, static_cast<std::int64_t>(rows) * columns);
      if constexpr (adds)
        kernels::scaled_add<true, architecture>(1.0F, gradient, memory_.block + planned.gradient,
                                                static_cast<std::int64_t>(rows) * columns);
    }
  }

  // Sum: gradients are added. Mean: each is divided by their number first. Running mean: what has been gathered is
  // scaled down before each one is added (keras.ipu GradientAccumulationReductionMethod).
  void begin_micro_batch() {
    using enum gradient_accumulation_reduction_method;
    constexpr auto method = Training.pipeline.reduction_method;
    auto const n = static_cast<float>(micro_batch_);
    if (method == mean) gradient_factor_ = 1.0F / static_cast<float>(accumulation_steps);
    if (method == running_mean) gradient_factor_ = 1.0F / (n + 1.0F);
    if (micro_batch_ == 0)
      kernels::fill<architecture>(memory_.gradients, 0.0F, storage.floats);
    else if (method == running_mean)
      kernels::scaled_add<false, architecture>(n / (n + 1.0F), memory_.gradients, memory_.gradients, storage.floats);
  }

  template <std::size_t... Parameter>
  void add_regularization(std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (add_regularization_of<Parameter>(), 0)...};
  }
  template <std::size_t Parameter>
  void add_regularization_of() {
    constexpr auto const& penalty = graph.parameters[Parameter].regularizer;
    if constexpr (!penalty.empty())
      total_loss_ += kernels::regularization_loss<architecture>(penalty, weight(Parameter), storage.size[Parameter]);
  }

  template <std::size_t... Parameter>
  void run_updates(std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (run_update<Parameter>(), 0)...};
  }
  template <std::size_t Parameter>
  void run_update() {
    constexpr auto const& info = graph.parameters[Parameter];
    if constexpr (info.trainable && !updated_in_backward(Parameter)) {
      constexpr auto size = storage.size[Parameter];
      constexpr auto offset = storage.offset[Parameter];
      float* const gradient = memory_.gradients + offset;
      if constexpr (!info.regularizer.empty()) {
        // Each micro-batch's loss contains the penalty: a sum of gradients contains it as often.
        constexpr bool sum = Training.pipeline.reduction_method == gradient_accumulation_reduction_method::sum;
        constexpr auto times = static_cast<float>(sum ? accumulation_steps : 1);
        constexpr regularizer penalty{info.regularizer.l1 * times, info.regularizer.l2 * times};
        kernels::add_regularization_gradient<architecture>(penalty, weight(Parameter), gradient, size);
      }
      kernels::update<Training.optimizer, architecture>(memory_.learning_rate, memory_.update, weight(Parameter),
                                                        gradient, memory_.slots + offset, storage.floats, size);
    }
  }
  [[nodiscard]] static constexpr bool updated_in_backward(std::size_t parameter) {
    for (std::size_t i = 0; i < graph.calls.size(); ++i) {
      auto const& layer = graph.layer_of(static_cast<int>(i));
      auto const index = static_cast<int>(parameter) - layer.first_parameter;
      if (index >= 0 && index < layer.parameter_count)
        return training_plan::fuses_update(static_cast<int>(i), index) && same_type(layer.type, tag_of<layers::dense>);
    }
    return false;
  }

  template <class Plan, std::size_t... Call>
  static constexpr long long largest_workspace(std::index_sequence<Call...>) {
    long long largest = 0;
    for (long long const floats : {0LL, operation<layer_t<M, static_cast<int>(Call)>>::template workspace<
                                            host_call<Plan, static_cast<int>(Call)>>()...})
      largest = std::max(largest, floats);
    return largest;
  }
  static constexpr long long workspace_floats() { return largest_workspace<training_plan>(call_indices{}); }

  void initialize(std::uint64_t seed) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (initialize_weight<Parameter>(seed), 0)...};
    }(std::make_index_sequence<storage.count>{});
  }
  // Gradients are not in use yet: their memory takes the values before they are packed.
  template <std::size_t Parameter>
  void initialize_weight(std::uint64_t seed) {
    constexpr auto const& info = graph.parameters[Parameter];
    kernels::initialize(info.initializer, std::span<int const>(info.shape.begin(), info.shape.end()), seed, Parameter,
                        memory_.gradients);
    write_weight<Parameter>(memory_.gradients);
    std::fill_n(memory_.gradients, info.size(), 0.0F);
  }

  aligned_block block_, weights_, gradients_, slots_, workspace_, targets_, scales_;
  host_memory memory_;
  std::array<float, output_count> losses_{};
  float total_loss_ = 0;
  float gradient_factor_ = 1;
  int micro_batch_ = 0;
};

}  // namespace stagecraft

// ---- stagecraft/program/training_checks.hpp
// The rules that a training description must follow, alone and with its model; each has a code. Level 4.

namespace stagecraft::detail {

/// E4020 and E4021, E2020 to E2022: numbers of samples and steps.
template <class Training>
constexpr void check_steps_of_training(Training const& training, bool pipelined, diagnostic& problem) {
  auto const& pipeline = training.pipeline;
  int const accumulation = pipeline.gradient_accumulation_steps_per_replica;
  if (training.batch_size < 1)
    problem.report(4020, "the training has batch_size ", training.batch_size, "; it must be at least 1");
  if (training.steps_per_execution < 1)
    problem.report(4021, "the training has steps_per_execution ", training.steps_per_execution,
                   "; it must be at least 1");
  if (accumulation < 0)
    problem.report(2020, "the training has gradient_accumulation_steps_per_replica ", accumulation,
                   "; it must be at least 1, or 0 if it is not set");
  if (pipelined && accumulation == 0 && pipeline.schedule != schedule::sequential)
    problem.report(2022,
                   "the model has pipeline stages, but its training has no gradient_accumulation_steps_per_replica; "
                   "a pipeline is trained on several micro-batches per weight update");
  if (accumulation > 1 && training.steps_per_execution % accumulation != 0)
    problem.report(2021, "the training has steps_per_execution ", training.steps_per_execution,
                   ", which is not a multiple of gradient_accumulation_steps_per_replica ", accumulation);
}

/// E4023: a metric that wants class numbers where the loss takes floats, or the other way round.
template <class M, auto Training, std::size_t Output>
constexpr void check_metrics_of_output(diagnostic& problem) {
  constexpr bool sparse = losses::loss_of_output<Output>(Training.loss).sparse_targets;
  constexpr int call = outputs_of<M>[Output];
  auto const width = graph_of<M>.call(call).shape.back();
  for (auto const& metric : Training.metrics)
    if (!metrics::fits_targets(metric, sparse, width))
      problem.report(4023, "metric '", metric.name(), "' does not fit output '", graph_of<M>.layer_of(call).name,
                     "' of ", width, " values, whose loss takes ", sparse ? "class numbers" : "one target per value",
                     "; choose the metric with or without sparse_, or metrics::accuracy");
}

template <class M, auto Training, std::size_t... Output>
constexpr diagnostic find_training_problem(std::index_sequence<Output...>) {
  diagnostic problem;
  check_steps_of_training(Training, is_pipelined<M>, problem);
  if constexpr (requires { decltype(Training.loss)::size; }) {
    constexpr int losses = decltype(Training.loss)::size;
    if (losses != static_cast<int>(sizeof...(Output)))
      problem.report(4022, "the training has ", losses, " losses, but model '", graph_of<M>.name(), "' has ",
                     static_cast<int>(sizeof...(Output)), sizeof...(Output) == 1 ? " output" : " outputs",
                     "; give one loss for each output, or one for all");
  }
  constexpr int weights = Training.loss_weights.count;
  if (weights != 0 && weights != static_cast<int>(sizeof...(Output)))
    problem.report(4025, "the training has ", weights, weights == 1 ? " loss weight" : " loss weights", ", but model '",
                   graph_of<M>.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   sizeof...(Output) == 1 ? " output" : " outputs", "; give one weight for each output, or none");
  if (sizeof...(Output) > output_weights::capacity)
    problem.report(4024, "model '", graph_of<M>.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   " outputs; a model that is trained has at most ", output_weights::capacity);
  if (!problem.failed()) (check_metrics_of_output<M, Training, Output>(problem), ...);
  return problem;
}

/// The first rule that a training description breaks.
template <Model M, auto Training>
inline constexpr diagnostic training_problem =
    find_training_problem<M, Training>(std::make_index_sequence<graph_of<M>.outputs_of(0).size()>());

}  // namespace stagecraft::detail

// ---- stagecraft/training/class_weight.hpp
// How much a class counts in the loss.
// Keras counterpart: the `class_weight` dictionary of fit. Level 6.

namespace stagecraft {

/// One entry of `.class_weight = {{0, 1.0f}, {1, 5.0f}}`.
struct class_weight_entry {
  int label = 0;     ///< the class
  float weight = 1;  ///< the factor of its samples' losses
};

}  // namespace stagecraft

// ---- stagecraft/training/sample_source.hpp
// One array of samples, of whatever type the user has it in, as the training loop reads it: row by row, as float.
// Keras counterpart: data_adapter's TensorLikeDataAdapter. Level 6.

namespace stagecraft {

/// Any xtensor container, adaptor, view or lazy expression of numbers; its first axis counts samples.
template <class Data>
concept TensorData = requires(Data const& data) {
  typename Data::value_type;
  requires std::is_arithmetic_v<typename Data::value_type>;
  data.dimension();
  data.shape()[0];
};

/// A std::vector, std::array or std::span of numbers: one number per sample.
template <class Data>
concept SequenceData = !TensorData<Data> && requires(Data const& data) {
  data.size();
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*data.data())>>;
  requires !std::is_same_v<std::remove_cvref_t<decltype(*data.data())>, char>;
};

template <class Data>
concept SampleData = TensorData<std::remove_cvref_t<Data>> || SequenceData<std::remove_cvref_t<Data>>;

namespace detail {

/// How to read numbers of one type. There is one table per type, so that reading is one indirect call per sample.
struct number_reader {
  void (*to_float)(void const* from, std::ptrdiff_t first, std::ptrdiff_t count, float* to);
  double (*at)(void const* from, std::ptrdiff_t index);
  int bytes;  // of one number
};

template <class Number>
inline constexpr number_reader reader_of{
    [](void const* from, std::ptrdiff_t first, std::ptrdiff_t count, float* to) {
      Number const* const numbers = static_cast<Number const*>(from) + first;
      if constexpr (std::is_same_v<Number, float>) {
        std::memcpy(to, numbers, static_cast<std::size_t>(count) * sizeof(float));
      } else {
        for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = static_cast<float>(numbers[i]);
      }
    },
    [](void const* from, std::ptrdiff_t index) { return static_cast<double>(static_cast<Number const*>(from)[index]); },
    sizeof(Number)};

/// A container, adaptor or view that is contiguous in row-major order by its type.
template <class Tensor>
concept RowMajorTensor = requires(Tensor const& data) {
  data.data() + data.data_offset();
  requires Tensor::static_layout == xt::layout_type::row_major;
};

/// Address of the first number when all of them lie one after the other in row-major order, else null.
template <class Tensor>
auto row_major_numbers(Tensor const& data) -> typename Tensor::value_type const* {
  if constexpr (requires {
                  data.data() + data.data_offset();
                  data.strides()[0];
                }) {
    std::ptrdiff_t expected = 1;
    for (std::size_t axis = data.dimension(); axis-- > 0;) {
      auto const extent = static_cast<std::ptrdiff_t>(data.shape()[axis]);
      if (extent != 1 && static_cast<std::ptrdiff_t>(data.strides()[axis]) != expected) return nullptr;
      expected *= extent;
    }
    return data.data() + data.data_offset();
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// Refers to an array of samples, without its type. An lvalue that is contiguous in row-major order (any xtensor
/// container, most views of its first axis, std::vector, std::span) is used in place and must outlive this object; an
/// rvalue is moved in and kept; a lazy expression or an array in another order is evaluated once, here. Copies share
/// what is kept. Reading never allocates; numbers that are not float are converted while they are read.
class sample_source {
 public:
  /// No data.
  sample_source() = default;

  /// Throws data_error E4016 for a single number, or for samples of more than six dimensions.
  template <class Data>
    requires(SampleData<Data> && !std::is_same_v<std::remove_cvref_t<Data>, sample_source>)
  sample_source(Data&& data) {
    using type = std::remove_cvref_t<Data>;
    if constexpr (std::is_lvalue_reference_v<Data>) {
      read(data);
    } else {
      auto kept = std::make_shared<type>(std::forward<Data>(data));
      read(*kept);
      if (!kept_) kept_ = std::move(kept);
    }
  }

  /// Whether there is an array at all (it may have no samples).
  [[nodiscard]] bool given() const noexcept { return reader_ != nullptr; }
  /// Number of samples.
  [[nodiscard]] std::ptrdiff_t count() const noexcept { return count_; }
  /// Shape of one sample; rank 0 when samples are single numbers.
  [[nodiscard]] shape const& sample_shape() const noexcept { return sample_shape_; }
  /// Numbers in one sample.
  [[nodiscard]] int sample_size() const noexcept { return sample_size_; }

  /// Writes the samples with these numbers to `destination`, one after the other.
  void gather(std::span<std::int32_t const> rows, float* destination) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + 1 < rows.size()) prefetch(rows[i + 1]);
      reader_->to_float(numbers_, offset(rows[i]), sample_size_, destination);
      destination += sample_size_;
    }
  }
  /// Writes `count` samples, from sample `first` on, to `destination`.
  void gather(std::ptrdiff_t first, std::ptrdiff_t count, float* destination) const {
    reader_->to_float(numbers_, offset(first), count * sample_size_, destination);
  }
  /// The same as whole numbers; for class numbers.
  void gather(std::span<std::int32_t const> rows, std::int32_t* destination) const {
    for (std::int32_t const row : rows)
      for (int i = 0; i < sample_size_; ++i) *destination++ = static_cast<std::int32_t>(at(row, i));
  }
  void gather(std::ptrdiff_t first, std::ptrdiff_t count, std::int32_t* destination) const {
    for (std::ptrdiff_t row = first; row < first + count; ++row)
      for (int i = 0; i < sample_size_; ++i) *destination++ = static_cast<std::int32_t>(at(row, i));
  }

  /// One number of one sample.
  [[nodiscard]] double at(std::ptrdiff_t row, int index = 0) const {
    return reader_->at(numbers_, offset(row) + index);
  }

  /// `count` samples from sample `first` on, in place.
  [[nodiscard]] sample_source slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    sample_source part = *this;
    part.first_ += first;
    part.count_ = count;
    return part;
  }

 private:
  [[nodiscard]] std::ptrdiff_t offset(std::ptrdiff_t row) const noexcept { return (first_ + row) * sample_size_; }

  /// Samples in random order come from memory: asking for the next one while this one is copied took a third off the
  /// time of a batch of 32 MNIST images.
  void prefetch(std::int32_t row) const noexcept {
    char const* const sample = static_cast<char const*>(numbers_) + offset(row) * reader_->bytes;
    std::ptrdiff_t const bytes = static_cast<std::ptrdiff_t>(sample_size_) * reader_->bytes;
    for (std::ptrdiff_t line = 0; line < bytes; line += 64) __builtin_prefetch(sample + line);
  }

  template <SequenceData Data>
  void read(Data const& data) {
    use(data.data());
    count_ = static_cast<std::ptrdiff_t>(data.size());
  }

  template <TensorData Data>
  void read(Data const& data) {
    set_shape(data.dimension(), [&](std::size_t axis) { return static_cast<std::ptrdiff_t>(data.shape()[axis]); });
    if constexpr (detail::RowMajorTensor<Data>) {
      use(data.data() + data.data_offset());
    } else {
      using number = typename Data::value_type;
      if (number const* const numbers = detail::row_major_numbers(data)) {
        use(numbers);
      } else {
        auto evaluated = std::make_shared<xt::xarray<number, xt::layout_type::row_major>>(data);
        use(evaluated->data());
        kept_ = std::move(evaluated);
      }
    }
  }

  template <class Number>
  void use(Number const* numbers) noexcept {
    numbers_ = numbers;
    reader_ = &detail::reader_of<std::remove_cv_t<Number>>;
  }

  template <class Extent>
  void set_shape(std::size_t rank, Extent extent) {
    if (rank == 0 || rank > shape::max_rank + 1) {
      detail::throw_data_error("E4016",
                               "data: expected an array of samples with at most 6 dimensions each, found an "
                               "array of %zu dimensions",
                               rank);
    }
    count_ = extent(0);
    for (std::size_t axis = 1; axis < rank; ++axis) sample_shape_.push_back(static_cast<int>(extent(axis)));
    sample_size_ = sample_shape_.size();
  }

  void const* numbers_ = nullptr;
  detail::number_reader const* reader_ = nullptr;
  std::ptrdiff_t first_ = 0;
  std::ptrdiff_t count_ = 0;
  int sample_size_ = 1;
  shape sample_shape_;
  std::shared_ptr<void const> kept_;
};

}  // namespace stagecraft

// ---- stagecraft/training/sample_set.hpp
// The arrays of all inputs, or of all outputs, of a model. Level 6.

namespace stagecraft {

template <class Data>
concept SampleTuple = !SampleData<Data> && requires { std::tuple_size<std::remove_cvref_t<Data>>::value; };

/// What `fit`, `evaluate` and `predict` take as x or y: one array, or several for a model with several inputs or
/// outputs. Made from any array that a sample_source takes, from std::tie(a, b), from a std::tuple or std::pair of
/// them, or by `inputs(a, b)`. Lvalues are used in place and must outlive this object, rvalues are kept. Up to four
/// arrays need no memory of their own, so that a set can be made in each step.
class sample_set {
 public:
  sample_set() = default;
  sample_set(sample_source source) { add(std::move(source)); }
  explicit sample_set(std::vector<sample_source> sources) {
    for (sample_source& source : sources) add(std::move(source));
  }

  template <class Data>
    requires(SampleData<Data>)
  sample_set(Data&& data) {
    add(sample_source(std::forward<Data>(data)));
  }

  template <class Tuple>
    requires(SampleTuple<Tuple>)
  sample_set(Tuple&& tuple) {
    std::apply([this](auto&&... arrays) { (add(sample_source(std::forward<decltype(arrays)>(arrays))), ...); },
               std::forward<Tuple>(tuple));
  }

  [[nodiscard]] bool given() const noexcept { return size_ != 0; }
  /// Number of arrays.
  [[nodiscard]] int size() const noexcept { return static_cast<int>(size_); }
  [[nodiscard]] sample_source const& operator[](int index) const { return begin()[index]; }
  [[nodiscard]] sample_source const* begin() const noexcept { return size_ > few_.size() ? many_.data() : few_.data(); }
  [[nodiscard]] sample_source const* end() const noexcept { return begin() + size_; }

  /// Number of samples of the first array; 0 when there is none.
  [[nodiscard]] std::ptrdiff_t count() const noexcept { return size_ == 0 ? 0 : begin()->count(); }

  /// `count` samples of every array, from sample `first` on, in place.
  [[nodiscard]] sample_set slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    sample_set parts;
    for (sample_source const& source : *this) parts.add(source.slice(first, count));
    return parts;
  }

  /// One more array.
  void add(sample_source source) {
    if (size_ < few_.size()) {
      few_[size_++] = std::move(source);
      return;
    }
    if (size_ == few_.size()) many_.assign(few_.begin(), few_.end());
    many_.push_back(std::move(source));
    ++size_;
  }

 private:
  std::array<sample_source, 4> few_;
  std::vector<sample_source> many_;  ///< all of them, when they are more
  std::size_t size_ = 0;
};

/// The arrays of a model with several inputs, in the order of its inputs: `model.fit(sc::inputs(images, sizes), y)`.
template <SampleData... Arrays>
[[nodiscard]] sample_set inputs(Arrays&&... arrays) {
  sample_set result;
  (result.add(sample_source(std::forward<Arrays>(arrays))), ...);
  return result;
}

/// The same, for the targets of a model with several outputs.
template <SampleData... Arrays>
[[nodiscard]] sample_set targets(Arrays&&... arrays) {
  return inputs(std::forward<Arrays>(arrays)...);
}

}  // namespace stagecraft

// ---- stagecraft/training/labelled_samples.hpp
// Inputs with their targets: what validation is made with.
// Keras counterpart: the tuples (x, y) and (x, y, sample_weight) of `validation_data`. Level 6.

namespace stagecraft {

/// Anything with members x and y, as the data sets of this library are.
template <class Data>
concept LabelledData = requires(Data& data) {
  sample_set(data.x);
  sample_set(data.y);
};

/// `.validation_data = test`, where test has members x and y, or `.validation_data = {x, y}`, or
/// `{x, y, sample_weight}`. Lvalues are used in place and must outlive this object, rvalues are kept.
struct labelled_samples {
  sample_set x;
  sample_set y;
  sample_source sample_weight;

  labelled_samples() = default;
  labelled_samples(sample_set inputs, sample_set targets, sample_source weights = {})
      : x(std::move(inputs)), y(std::move(targets)), sample_weight(std::move(weights)) {}

  template <class Data>
    requires(LabelledData<std::remove_reference_t<Data>> &&
             !std::is_same_v<std::remove_cvref_t<Data>, labelled_samples>)
  labelled_samples(Data&& data) : x(std::forward<Data>(data).x), y(std::forward<Data>(data).y) {}

  [[nodiscard]] bool given() const noexcept { return x.given(); }
};

}  // namespace stagecraft

// ---- stagecraft/training/fit_options.hpp
// The options of fit, evaluate and predict.
// Keras counterpart: the keyword arguments of Model.fit, Model.evaluate and Model.predict. Level 6.

namespace stagecraft {

/// Options of `fit`; names and defaults are Keras's. Data given here as lvalues are used in place, rvalues are kept.
struct fit_options {
  int batch_size = 0;                  ///< 0: the training description's
  int epochs = 1;                      ///< number of the epoch, from 1, after which training ends
  int verbose = 1;                     ///< 0 silent, 1 a progress bar, 2 one line per epoch
  std::vector<callback*> callbacks{};  ///< `{&stop, &log}`; called in this order, then the history and the bar
  double validation_split = 0;         ///< the last part of the data, before any shuffling, that is kept for validation
  labelled_samples validation_data{};  ///< takes precedence over validation_split
  bool shuffle = true;                 ///< whether each epoch visits the samples in another order
  std::vector<class_weight_entry> class_weight{};  ///< `{{0, 1.0f}, {1, 5.0f}}`, one entry for every class
  sample_source sample_weight{};                   ///< one number per sample
  int initial_epoch = 0;                           ///< number of the first epoch, from 0; to continue a training
  int steps_per_epoch = 0;                         ///< batches per epoch; 0: all of them
  int validation_freq = 1;                         ///< validation runs after every that many epochs
  int validation_steps = 0;                        ///< batches per validation; 0: all of them
  std::uint64_t seed = 0;                          ///< of the shuffling; 0: the trainer's
  bool drop_remainder = false;                     ///< true: a last batch that is not full is left out
};

/// Options of `evaluate`; names and defaults are Keras's.
struct evaluate_options {
  int batch_size = 0;             ///< 0: the training description's
  int verbose = 1;                ///< 0 silent, 1 a progress bar, 2 one line
  sample_source sample_weight{};  ///< one number per sample
  int steps = 0;                  ///< batches; 0: all of them
  std::vector<callback*> callbacks{};
};

/// Options of `predict`; names and defaults are Keras's.
struct predict_options {
  int batch_size = 0;  ///< 0: the training description's
  int verbose = 0;     ///< 0 silent, 1 a progress bar, 2 one line
  int steps = 0;       ///< batches; 0: all of them
  std::vector<callback*> callbacks{};
};

}  // namespace stagecraft

// ---- stagecraft/training/data_checks.hpp
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
//   E4017  steps_per_execution that does not divide the epoch's batches (trainer)
//   E4018  gradient accumulation that does not divide the batches of an execution (trainer)

namespace stagecraft {

namespace detail {

/// A shape as Python prints a tuple.
struct shape_text {
  fixed_text<96> text;

  [[gnu::cold]] explicit shape_text(shape const& of) { of.append_to(text); }
  [[nodiscard]] char const* c_str() const noexcept { return text.characters; }
};

/// "x", or "x[1]" when there are several.
struct array_name {
  char text[64];

  [[gnu::cold]] array_name(char const* argument, int index, int count) {
    if (count > 1)
      std::snprintf(text, sizeof(text), "%s[%d]", argument, index);
    else
      std::snprintf(text, sizeof(text), "%s", argument);
  }
};

/// Keras adds or drops a last axis of extent 1.
[[nodiscard]] inline bool same_but_for_a_last_one(shape const& found, shape const& expected) {
  bool const more = found.rank() > expected.rank();
  shape const& longer = more ? found : expected;
  shape const& shorter = more ? expected : found;
  if (longer.rank() - shorter.rank() > 1) return false;
  for (int axis = 0; axis < longer.rank(); ++axis)
    if (longer[axis] != (axis < shorter.rank() ? shorter[axis] : 1)) return false;
  return true;
}

}  // namespace detail

/// E4010, E4001: one array per input or output, samples of the model's shapes; a last axis of extent 1 may be missing
/// or too many, as in Keras.
/// \param argument the argument's name, for example "x", "y" or "validation_data.y"
inline void check_shapes(char const* argument, sample_set const& found, std::span<shape const> expected) {
  int const count = static_cast<int>(expected.size());
  if (found.size() != count) {
    detail::throw_data_error("E4010", "%s: expected %d %s, found %d", argument, count, count == 1 ? "array" : "arrays",
                             found.size());
  }
  for (int i = 0; i < count; ++i) {
    shape const& wanted = expected[static_cast<std::size_t>(i)];
    shape const& came = found[i].sample_shape();
    if (detail::same_but_for_a_last_one(came, wanted)) continue;
    char const* hint = "";
    if (std::string_view(argument).ends_with('y')) {
      if (came.size() == 1 && wanted.size() > 1) hint = "; class numbers need the loss sparse_categorical_crossentropy";
      if (wanted.size() == 1 && came.size() > 1) hint = "; one value per class needs the loss categorical_crossentropy";
    }
    detail::throw_data_error("E4001", "%s: expected samples of shape %s, found %s%s",
                             detail::array_name(argument, i, count).text, detail::shape_text(wanted).c_str(),
                             detail::shape_text(came).c_str(), hint);
  }
}

/// E4003: at least `needed` samples; `reason` says why, in brackets, with a blank before.
inline void check_count(char const* argument, std::ptrdiff_t found, std::ptrdiff_t needed = 1,
                        char const* reason = "") {
  if (found >= needed) return;
  detail::throw_data_error("E4003", "%s: expected at least %td %s%s, found %td", argument, needed,
                           needed == 1 ? "sample" : "samples", reason, found);
}

/// E4002: all arrays of both sets have the same number of samples.
inline void check_lengths(char const* first_argument, sample_set const& first, char const* second_argument,
                          sample_set const& second) {
  for (int i = 0; i < first.size() + second.size(); ++i) {
    bool const in_first = i < first.size();
    sample_set const& set = in_first ? first : second;
    int const index = in_first ? i : i - first.size();
    if (set[index].count() == first.count()) continue;
    detail::throw_data_error("E4002", "%s: expected %td samples, as many as %s has, found %td",
                             detail::array_name(in_first ? first_argument : second_argument, index, set.size()).text,
                             first.count(), detail::array_name(first_argument, 0, first.size()).text,
                             set[index].count());
  }
}

/// E4004: every number is a class, a whole number from 0 to classes - 1.
inline void check_labels(char const* argument, sample_source const& labels, int classes) {
  int const width = labels.sample_size();
  for (std::ptrdiff_t row = 0; row < labels.count(); ++row) {
    for (int i = 0; i < width; ++i) {
      double const label = labels.at(row, i);
      if (label >= 0 && label < classes && label == static_cast<double>(static_cast<int>(label))) continue;
      detail::throw_data_error("E4004", "%s: expected class numbers from 0 to %d, found %.15g at sample %td", argument,
                               classes - 1, label, row);
    }
  }
}

/// E4005: one weight per sample, shape (samples) or (samples, 1). Nothing given is fine.
inline void check_sample_weight(char const* argument, sample_source const& weights, std::ptrdiff_t samples) {
  if (!weights.given()) return;
  if (weights.sample_size() != 1) {
    detail::throw_data_error("E4005", "%s: expected one number per sample, found samples of shape %s", argument,
                             detail::shape_text(weights.sample_shape()).c_str());
  }
  if (weights.count() != samples) {
    detail::throw_data_error("E4005", "%s: expected %td numbers, one per sample, found %td", argument, samples,
                             weights.count());
  }
}

/// E4006: each class from 0 to classes - 1 exactly once, and, where targets are single numbers, no target that is no
/// class when it is rounded. An empty list is fine.
/// \param targets what `row_weights` will take the classes from
inline void check_class_weight(std::vector<class_weight_entry> const& weights, int classes,
                               sample_source const& targets = {}) {
  if (weights.empty()) return;
  for (class_weight_entry const& entry : weights) {
    if (entry.label >= 0 && entry.label < classes) continue;
    detail::throw_data_error("E4006", "class_weight: expected classes from 0 to %d, found %d", classes - 1,
                             entry.label);
  }
  for (int label = 0; label < classes; ++label) {
    int seen = 0;
    for (class_weight_entry const& entry : weights) seen += entry.label == label;
    if (seen == 1) continue;
    detail::throw_data_error("E4006",
                             "class_weight: expected one weight for each of the %d classes, found %d for class %d",
                             classes, seen, label);
  }
  if (targets.sample_size() != 1) return;
  for (std::ptrdiff_t row = 0; row < targets.count(); ++row) {
    double const target = targets.at(row);
    if (target >= -0.5 && target < classes - 0.5) continue;
    detail::throw_data_error("E4006", "class_weight: expected targets from 0 to %d, found %.15g at sample %td",
                             classes - 1, target, row);
  }
}

/// E4007: checks `validation_split` and returns the number of samples that are left to train with: the first
/// floor(samples * (1 - split)), as in Keras.
[[nodiscard]] inline std::ptrdiff_t training_count(std::ptrdiff_t samples, double split) {
  if (split == 0) return samples;
  if (!(split > 0 && split < 1))
    detail::throw_data_error("E4007", "validation_split: expected a number from 0 to below 1, found %.15g", split);
  auto const left = static_cast<std::ptrdiff_t>(static_cast<double>(samples) * (1.0 - split));
  if (left == 0 || left == samples) {
    detail::throw_data_error("E4007", "validation_split: %.15g of %td samples leaves none to %s with", split, samples,
                             left == 0 ? "train" : "validate");
  }
  return left;
}

/// E4008: checks `batch_size` and returns the one to use. A program is compiled for one batch size; it runs smaller
/// batches by padding them.
/// \param asked 0: the compiled one
[[nodiscard]] inline int batch_size_to_use(int asked, int compiled) {
  if (asked == 0) return compiled;
  if (asked < 0 || asked > compiled) {
    detail::throw_data_error("E4008", "batch_size: expected 1 to %d, the training description's batch_size, found %d",
                             compiled, asked);
  }
  return asked;
}

/// E4011: an option that counts is at least `least`.
inline void check_at_least(char const* option, int found, int least) {
  if (found < least) detail::throw_data_error("E4011", "%s: expected at least %d, found %d", option, least, found);
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
inline void check_steps(char const* option, int steps, int batches) {
  if (steps > batches)
    detail::throw_data_error("E4003", "%s: expected data for %d batches, found %d", option, steps, batches);
}

}  // namespace stagecraft

// ---- stagecraft/training/row_weights.hpp
// How much each row of a batch counts in the loss.
// Keras counterpart: sample_weight times class_weight, as data_adapter multiplies them. Level 6.

namespace stagecraft {

/// The weights of the rows of a batch: sample weight times class weight. Check both first (data_checks.hpp).
class row_weights {
 public:
  /// All weights are 1.
  row_weights() = default;
  /// \param sample_weight one number per sample, or nothing given
  /// \param by_class one weight per class, or empty
  /// \param targets where a sample's class is taken from: the number itself, or the first largest of several
  [[gnu::cold]] row_weights(sample_source sample_weight, std::vector<class_weight_entry> const& by_class,
                            sample_source targets)
      : sample_weight_(std::move(sample_weight)), targets_(std::move(targets)), by_class_(by_class.size()) {
    for (class_weight_entry const& entry : by_class) by_class_[static_cast<std::size_t>(entry.label)] = entry.weight;
  }

  /// Whether any weight can differ from 1.
  [[nodiscard]] bool given() const noexcept { return sample_weight_.given() || !by_class_.empty(); }

  /// Writes one weight per row.
  void gather(std::span<std::int32_t const> rows, float* destination) const {
    if (sample_weight_.given()) {
      sample_weight_.gather(rows, destination);
    } else {
      for (std::size_t i = 0; i < rows.size(); ++i) destination[i] = 1;
    }
    if (by_class_.empty()) return;
    for (std::size_t i = 0; i < rows.size(); ++i) destination[i] *= by_class_[class_of(rows[i])];
  }

 private:
  /// Keras rounds a single number, and takes the largest of several.
  [[nodiscard]] std::size_t class_of(std::int32_t row) const {
    int const size = targets_.sample_size();
    if (size > 1) {
      int best = 0;
      for (int i = 1; i < size; ++i)
        if (targets_.at(row, i) > targets_.at(row, best)) best = i;
      return static_cast<std::size_t>(best);
    }
    double const target = targets_.at(row);
    if (!(target >= -0.5 && target < static_cast<double>(by_class_.size()) - 0.5)) {
      detail::throw_data_error("E4006", "class_weight: expected targets from 0 to %zu, found %.15g at sample %d",
                               by_class_.size() - 1, target, static_cast<int>(row));
    }
    return static_cast<std::size_t>(target + 0.5);
  }

  sample_source sample_weight_;
  sample_source targets_;
  std::vector<float> by_class_;
};

}  // namespace stagecraft

// ---- stagecraft/training/shuffle.hpp
// The order in which an epoch visits the samples.
// Keras counterpart: the shuffle of fit; the order itself is this library's own, the same on every platform. Level 6.

namespace stagecraft {

namespace detail {

/// SplitMix64: one 64-bit number per call, from a counter.
class order_generator {
 public:
  constexpr order_generator(std::uint64_t seed, std::uint64_t stream) noexcept : state_(mix(seed) ^ mix(~stream)) {}

  /// A number in [0, bound), all equally likely (Lemire's multiplication with rejection).
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    std::uint32_t const threshold = (0u - bound) % bound;
    for (;;) {
      std::uint64_t const product = (next() >> 32) * bound;
      if (static_cast<std::uint32_t>(product) >= threshold) return static_cast<std::uint32_t>(product >> 32);
    }
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }

  std::uint64_t state_;
};

}  // namespace detail

/// Fills `order` with a permutation of 0, 1, ..., size - 1, which depends on size, seed and epoch only (Fisher-Yates).
constexpr void shuffle_order(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) noexcept {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  detail::order_generator generator(seed, epoch);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::size_t const j = generator.below(static_cast<std::uint32_t>(i));
    std::int32_t const last = order[i - 1];
    order[i - 1] = order[j];
    order[j] = last;
  }
}

/// The batches of an epoch. Memory is taken once, in the constructor.
class epoch_order {
 public:
  /// \param count number of samples
  /// \param shuffle false: the order of the data, in every epoch
  epoch_order(std::ptrdiff_t count, bool shuffle, std::uint64_t seed)
      : order_(static_cast<std::size_t>(count)), shuffle_(shuffle), seed_(seed) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::int32_t>(i);
  }

  /// Sets the order of epoch `epoch`; it does not depend on the epochs before, so a training that is continued with
  /// `initial_epoch` sees what an uninterrupted one would have seen.
  void begin_epoch(int epoch) noexcept {
    if (shuffle_) shuffle_order(order_, seed_, static_cast<std::uint64_t>(epoch));
  }

  /// Number of batches; a last one that is not full counts, unless `drop_remainder`.
  [[nodiscard]] int batches(int batch_size, bool drop_remainder = false) const noexcept {
    std::size_t const size = static_cast<std::size_t>(batch_size);
    return static_cast<int>((order_.size() + (drop_remainder ? 0 : size - 1)) / size);
  }

  /// The samples of one batch; fewer than `batch_size` in a last one that is not full.
  [[nodiscard]] std::span<std::int32_t const> batch(int index, int batch_size) const noexcept {
    std::size_t const first = static_cast<std::size_t>(index) * static_cast<std::size_t>(batch_size);
    std::size_t const left = order_.size() - first;
    return std::span(order_).subspan(first, left < static_cast<std::size_t>(batch_size) ? left : batch_size);
  }

 private:
  std::vector<std::int32_t> order_;
  bool shuffle_;
  std::uint64_t seed_;
};

}  // namespace stagecraft

// ---- stagecraft/training/data.hpp
// From the user's arrays to batches: sources, sets, weights, orders and checks. Level 6.

// ---- stagecraft/training/batch_loader.hpp
// Brings samples, targets and their weights into a session's memory, one batch at a time, and checks them before the
// first one. Level 6.

namespace stagecraft {

/// Fills whole batches: of a partial one, the rows without a sample repeat the first one, and their weight in the loss
/// is 0. Zeros would not do: a layer may have no finite value, or gradient, there.
template <class Session, auto Training>
class batch_loader {
 public:
  /// What the arguments are called in errors.
  struct argument_names {
    char const* x = "x";
    char const* y = "y";
    char const* sample_weight = "sample_weight";
  };
  static constexpr argument_names validation_names{"validation_data.x", "validation_data.y",
                                                   "validation_data.sample_weight"};

  /// No targets: for prediction. Throws data_error E4001 to E4003, E4010.
  explicit batch_loader(sample_set const& x, argument_names const& names = {}) : x_(x) {
    std::array<shape, static_cast<std::size_t>(Session::input_count())> inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = Session::input_shape(static_cast<int>(i));
    check_shapes(names.x, x, inputs);
    check_count(names.x, x.count());
    check_lengths(names.x, x, names.x, {});
  }

  /// Throws data_error E4001 to E4006 and E4010, with the arguments' names.
  batch_loader(sample_set const& x, sample_set const& y, sample_source const& sample_weight,
               std::vector<class_weight_entry> const& class_weight, argument_names const& names = {})
      : batch_loader(x, names) {
    y_ = y;
    std::array<shape, outputs> targets;
    for (std::size_t i = 0; i < outputs; ++i) {
      targets[i] = Session::output_shape(i);
      if (Session::sparse_targets(i)) --targets[i].dimension_count;
    }
    check_shapes(names.y, y, targets);
    check_lengths(names.x, x, names.y, y);
    for (std::size_t i = 0; i < outputs; ++i)
      if (Session::sparse_targets(i))
        check_labels(detail::array_name(names.y, static_cast<int>(i), static_cast<int>(outputs)).text,
                     y[static_cast<int>(i)], Session::output_shape(i).back());
    check_sample_weight(names.sample_weight, sample_weight, x.count());
    if (!class_weight.empty()) check_classes(class_weight);
    weights_ = row_weights(sample_weight, class_weight, y[0]);
  }

  [[nodiscard]] std::ptrdiff_t count() const noexcept { return x_.count(); }

  void load_inputs(Session& session, std::span<std::int32_t const> rows) const {
    for (int i = 0; i < Session::input_count(); ++i) {
      float* const to = session.input(i);
      x_[i].gather(rows, to);
      auto const size = static_cast<std::size_t>(Session::input_shape(i).size());
      for (std::size_t row = rows.size(); row < batch; ++row) std::memcpy(to + row * size, to, size * sizeof(float));
    }
  }

  void load(Session& session, std::span<std::int32_t const> rows) const {
    load_inputs(session, rows);
    load_targets(session, rows, std::make_index_sequence<outputs>{});
  }

 private:
  // E4006. As in Keras, a sample has one class, that of its only output.
  void check_classes(std::vector<class_weight_entry> const& class_weight) const {
    if (outputs > 1)
      detail::throw_data_error("E4006", "class_weight: expected a model with one output, found one with %zu", outputs);
    if (Session::rows_per_sample(0) > 1)
      detail::throw_data_error("E4006", "class_weight: expected a model with one class per sample, found one with %d",
                               Session::rows_per_sample(0));
    int const width = Session::output_shape(0).back();
    check_class_weight(class_weight, width == 1 ? 2 : width, y_[0]);
  }

  static constexpr std::size_t outputs = Session::output_count;
  static constexpr auto batch = static_cast<std::size_t>(Session::batch);

  template <std::size_t... Output>
  void load_targets(Session& session, std::span<std::int32_t const> rows, std::index_sequence<Output...>) const {
    (load_target<Output>(session, rows), ...);
  }
  template <std::size_t Output>
  void load_target(Session& session, std::span<std::int32_t const> rows) const {
    auto* const target = session.template target<Output>();
    y_[static_cast<int>(Output)].gather(rows, target);
    constexpr auto per_sample = static_cast<std::size_t>(Session::rows_per_sample(Output));
    constexpr auto width =
        Session::sparse_targets(Output) ? per_sample : static_cast<std::size_t>(Session::output_shape(Output).size());
    if (rows.size() < batch)
      std::memset(target + rows.size() * width, 0, (batch - rows.size()) * width * sizeof(*target));

    float* const scale = session.scale(Output);
    for (std::size_t i = 0; i < rows.size(); ++i) scale[i] = 1;
    if (weights_.given()) weights_.gather(rows, scale);
    // From one number per sample to one per row, backwards since they share their memory.
    float const share = 1.0F / static_cast<float>(rows.size() * per_sample);
    for (std::size_t i = rows.size(); i-- > 0;) {
      float const weight = scale[i] * share;
      for (std::size_t k = 0; k < per_sample; ++k) scale[i * per_sample + k] = weight;
    }
    for (std::size_t i = rows.size() * per_sample; i < batch * per_sample; ++i) scale[i] = 0;
  }

  sample_set x_, y_;
  row_weights weights_;
};

}  // namespace stagecraft

// ---- stagecraft/training/callback_list.hpp
// Several callbacks, called one after the other.
// Keras counterpart: tf.keras.callbacks.CallbackList. Level 6.

namespace stagecraft {

/// Calls each hook of its callbacks, in the order in which they were added. It does not own them.
class callback_list {
 public:
  callback_list() = default;
  explicit callback_list(std::vector<callback*> callbacks) : callbacks_(std::move(callbacks)) {}

  void append(callback& added) { callbacks_.push_back(&added); }
  [[nodiscard]] bool empty() const noexcept { return callbacks_.empty(); }

  void set_params(callback_params const& params) {
    for (callback* c : callbacks_) c->set_params(params);
  }
  void set_model(trainable& model) {
    for (callback* c : callbacks_) c->set_model(model);
  }

  void on_train_begin(logs& values) {
    for (callback* c : callbacks_) c->on_train_begin(values);
  }
  void on_train_end(logs& values) {
    for (callback* c : callbacks_) c->on_train_end(values);
  }
  void on_test_begin(logs& values) {
    for (callback* c : callbacks_) c->on_test_begin(values);
  }
  void on_test_end(logs& values) {
    for (callback* c : callbacks_) c->on_test_end(values);
  }
  void on_predict_begin(logs& values) {
    for (callback* c : callbacks_) c->on_predict_begin(values);
  }
  void on_predict_end(logs& values) {
    for (callback* c : callbacks_) c->on_predict_end(values);
  }
  void on_epoch_begin(int epoch, logs& values) {
    for (callback* c : callbacks_) c->on_epoch_begin(epoch, values);
  }
  void on_epoch_end(int epoch, logs& values) {
    for (callback* c : callbacks_) c->on_epoch_end(epoch, values);
  }
  void on_train_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_train_batch_begin(batch, values);
  }
  void on_train_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_train_batch_end(batch, values);
  }
  void on_test_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_test_batch_begin(batch, values);
  }
  void on_test_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_test_batch_end(batch, values);
  }
  void on_predict_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_predict_batch_begin(batch, values);
  }
  void on_predict_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_predict_batch_end(batch, values);
  }

 private:
  std::vector<callback*> callbacks_;
};

}  // namespace stagecraft

// ---- stagecraft/training/history.hpp
// What happened in each epoch of a training.
// Keras counterpart: tf.keras.callbacks.History. Level 6.

namespace stagecraft {

/// One sequence of numbers per name, in the order in which the names appeared.
class named_series {
 public:
  struct series {
    std::string name;
    std::vector<double> values;
  };

  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// The numbers of that name, one per epoch that reported it. Throws data_error E4013, with the names that there are.
  [[nodiscard]] std::vector<double> const& at(std::string_view name) const {
    if (series const* const found = find(name)) return found->values;
    throw_unknown(name);
  }
  /// Same as `at`.
  [[nodiscard]] std::vector<double> const& operator[](std::string_view name) const { return at(name); }

  [[gnu::cold]] void append(std::string_view name, double value) {
    if (series const* const found = find(name))
      const_cast<series*>(found)->values.push_back(value);
    else
      series_.push_back({std::string(name), {value}});
  }

  [[nodiscard]] std::size_t size() const noexcept { return series_.size(); }
  [[nodiscard]] bool empty() const noexcept { return series_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return series_.begin(); }
  [[nodiscard]] auto end() const noexcept { return series_.end(); }

 private:
  [[noreturn, gnu::cold]] void throw_unknown(std::string_view name) const {
    std::string list;
    for (series const& s : series_) {
      if (!list.empty()) list += ", ";
      list += s.name;
    }
    detail::throw_data_error("E4013", "history: nothing is named '%.*s'; there are: %s", static_cast<int>(name.size()),
                             name.data(), list.c_str());
  }

  [[nodiscard]] series const* find(std::string_view name) const noexcept {
    for (series const& s : series_)
      if (s.name == name) return &s;
    return nullptr;
  }

  std::vector<series> series_;
};

/// Records the logs of each epoch; `fit` returns it: `history.history["val_accuracy"].back()`.
class training_history : public callback {
 public:
  std::vector<int> epoch;  ///< the epochs' numbers, from 0
  named_series history;    ///< their logs: "loss", "val_loss", ...

  /// Same as `history.at`.
  [[nodiscard]] std::vector<double> const& at(std::string_view name) const { return history.at(name); }

  void on_train_begin(logs&) override { epoch.clear(); }
  [[gnu::cold]] void on_epoch_end(int number, logs& values) override {
    epoch.push_back(number);
    for (logs::entry const& e : values) history.append(e.name, e.value);
  }
};

}  // namespace stagecraft

// ---- stagecraft/training/invalid_trainer.hpp
// What stands in for a trainer whose model or training description has had its compile error, so that the rest of the
// program adds no more of them. Level 6.

namespace stagecraft::detail {

/// Has the members of model_trainer; none of them is ever run.
template <auto Training>
struct invalid_trainer : trainable {
  using evaluation = std::array<double, 1 + static_cast<std::size_t>(Training.metrics.size())>;
  using tensor = xt::xarray<float>;

  explicit invalid_trainer(std::uint64_t = 0) {}

  training_history fit(sample_set const&, sample_set const&, fit_options const& = {}) { return {}; }
  evaluation evaluate(sample_set const&, sample_set const&, evaluate_options const& = {}) { return {}; }
  tensor predict(sample_set const&, predict_options const& = {}) { return {}; }
  evaluation train_on_batch(sample_set const&, sample_set const&, sample_source const& = {},
                            std::vector<class_weight_entry> const& = {}) {
    return {};
  }
  evaluation test_on_batch(sample_set const&, sample_set const&, sample_source const& = {}) { return {}; }
  tensor predict_on_batch(sample_set const&) { return {}; }

  [[nodiscard]] std::string_view name() const override { return {}; }
  [[nodiscard]] float learning_rate() const override { return 0; }
  void set_learning_rate(float) override {}
  [[nodiscard]] std::vector<weight_array> get_weights() const override { return {}; }
  void set_weights(std::vector<weight_array> const&) override {}
  template <fixed_name Name>
  [[nodiscard]] tensor weight() {
    return {};
  }
};

}  // namespace stagecraft::detail

// ---- stagecraft/training/metric_state.hpp
// Running means of losses and metrics over the batches of an epoch.
// Keras counterpart: tf.keras.metrics.Mean and the update_state of the metrics; sums are kept in double where Keras
// keeps float32. Level 6.

namespace stagecraft {

/// A weighted mean that grows. The mean of nothing is 0, as in Keras.
class running_mean {
 public:
  void add(double value, double weight = 1) noexcept {
    sum_ += value * weight;
    weight_ += weight;
  }
  void reset() noexcept { sum_ = weight_ = 0; }
  [[nodiscard]] double result() const noexcept { return weight_ != 0 ? sum_ / weight_ : 0; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

namespace detail {

/// True for numbers that are neither infinite nor NaN, without <cmath>.
[[nodiscard]] inline bool is_finite(float value) noexcept { return value - value == 0; }

[[nodiscard]] inline int first_largest(float const* values, int width) noexcept {
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (values[i] > values[best]) best = i;
  return best;
}

/// Whether column `label` is the first largest. Counts what speaks against it, which needs no branch and no chain of
/// maxima.
[[nodiscard]] inline bool is_first_largest(float const* values, int width, int label) noexcept {
  if (label < 0 || label >= width) return false;
  float const value = values[label];
  int against = 0;
  for (int i = 0; i < label; ++i) against += !(values[i] < value);
  for (int i = label; i < width; ++i) against += !(values[i] <= value);
  return against == 0;
}

/// tf.math.in_top_k for one row.
[[nodiscard]] inline bool is_in_top_k(float const* values, int width, int label, int k) noexcept {
  if (label < 0 || label >= width) return false;
  float const value = values[label];
  int larger = 0;
  int not_finite = 0;
  for (int i = 0; i < width; ++i) {
    larger += values[i] > value;
    not_finite += !is_finite(values[i]);
  }
  return not_finite == 0 && larger < k;
}

}  // namespace detail

/// One metric's mean over the rows seen since the last reset. It does not allocate.
///
/// Keras's rules: compiled metrics are means over rows and do not see sample weights (pass none), weighted metrics do;
/// rows that only pad a partial batch are left out by the caller. For outputs of higher rank a row is one vector along
/// the last axis.
class metric_state {
 public:
  metric_state() = default;
  /// \param chosen the metric; `accuracy` is resolved here
  /// \param sparse_targets whether targets are class numbers
  /// \param output_width last dimension of the prediction
  metric_state(metrics::metric chosen, bool sparse_targets, int output_width)
      : metric_(metrics::resolve(chosen, sparse_targets, output_width)), width_(output_width) {}

  /// Takes in `rows` rows of predictions and their targets, `output_width` columns each.
  /// \param weights null, or one weight per row
  void update(float const* predictions, float const* targets, int rows, float const* weights = nullptr) noexcept {
    for (int row = 0; row < rows; ++row)
      mean_.add(score(row_of(predictions, row), row_of(targets, row)), weights != nullptr ? weights[row] : 1);
  }

  /// Takes in `rows` rows of predictions, and one class number per row.
  /// \param weights null, or one weight per row
  void update(float const* predictions, std::int32_t const* labels, int rows, float const* weights = nullptr) noexcept {
    for (int row = 0; row < rows; ++row)
      mean_.add(score(row_of(predictions, row), labels[row]), weights != nullptr ? weights[row] : 1);
  }

  void reset() noexcept { mean_.reset(); }
  /// The mean so far; 0 when nothing came yet.
  [[nodiscard]] double result() const noexcept { return mean_.result(); }
  /// The metric, with `accuracy` resolved.
  [[nodiscard]] metrics::metric const& resolved() const noexcept { return metric_; }

 private:
  [[nodiscard]] float const* row_of(float const* values, int row) const noexcept {
    return values + static_cast<std::ptrdiff_t>(row) * width_;
  }

  [[nodiscard]] double score(float const* prediction, float const* target) const noexcept {
    using enum metrics::metric_kind;
    switch (metric_.kind) {
      case categorical_accuracy:
      case top_k_categorical_accuracy: return score_class(prediction, detail::first_largest(target, width_));
      case sparse_categorical_accuracy:
      case sparse_top_k_categorical_accuracy: return score_class(prediction, static_cast<int>(target[0]));
      default: {
        double sum = 0;
        for (int i = 0; i < width_; ++i) sum += score_column(prediction[i], target[i]);
        return sum / width_;
      }
    }
  }

  [[nodiscard]] double score(float const* prediction, std::int32_t label) const noexcept {
    using enum metrics::metric_kind;
    switch (metric_.kind) {
      case binary_accuracy:
      case mean_squared_error:
      case mean_absolute_error: return score_column(prediction[0], static_cast<float>(label));  // width 1
      default: return score_class(prediction, label);
    }
  }

  [[nodiscard]] bool score_class(float const* prediction, int label) const noexcept {
    bool const top_k = metric_.kind == metrics::metric_kind::top_k_categorical_accuracy ||
                       metric_.kind == metrics::metric_kind::sparse_top_k_categorical_accuracy;
    return top_k ? detail::is_in_top_k(prediction, width_, label, metric_.k)
                 : detail::is_first_largest(prediction, width_, label);
  }

  [[nodiscard]] float score_column(float prediction, float target) const noexcept {
    if (metric_.kind == metrics::metric_kind::binary_accuracy)
      return (prediction > metric_.threshold ? 1.f : 0.f) == target ? 1.f : 0.f;
    float const difference = prediction - target;
    if (metric_.kind == metrics::metric_kind::mean_squared_error) return difference * difference;
    return difference < 0 ? -difference : difference;
  }

  metrics::metric metric_ = metrics::resolve({}, false, 1);
  int width_ = 1;
  running_mean mean_;
};

}  // namespace stagecraft

// ---- stagecraft/training/step_results.hpp
// What a trainer reports: the means of loss and metrics over the batches of an epoch, under Keras's names. Level 6.

namespace stagecraft {

/// Running means of one run. In Keras's order: the total loss, one loss per output if there are several, then the
/// metrics of each output, whose names begin with the output's layer if there are several.
template <class Session, auto Training>
class step_results {
 public:
  static constexpr std::size_t outputs = Session::output_count;
  static constexpr auto metrics = static_cast<std::size_t>(Training.metrics.size());
  static constexpr std::size_t losses = outputs == 1 ? 1 : 1 + outputs;
  /// Number of values: of what `evaluate` gives.
  static constexpr std::size_t count = losses + outputs * metrics;

  step_results() {
    for (std::size_t output = 0; output < outputs; ++output)
      for (std::size_t i = 0; i < metrics; ++i)
        metrics_[output * metrics + i] =
            metric_state(compiled_metrics[static_cast<int>(i)], Session::sparse_targets(output),
                         Session::output_shape(output).back());
  }

  [[nodiscard]] static std::string name(std::size_t index) {
    if (index == 0) return "loss";
    if (index < losses) return output_name(index - 1) + "_loss";
    if constexpr (metrics > 0) {
      auto const output = (index - losses) / metrics;
      std::string const metric(compiled_metrics[static_cast<int>((index - losses) % metrics)].name());
      return outputs == 1 ? metric : output_name(output) + "_" + metric;
    }
    return {};
  }

  /// Logs with all names, to be filled again and again.
  [[nodiscard]] static logs make_logs() {
    logs result;
    for (std::size_t i = 0; i < count; ++i) result[name(i)] = 0;
    return result;
  }

  void reset() {
    for (auto& loss : losses_) loss.reset();
    for (auto& metric : metrics_) metric.reset();
  }

  /// Takes in a step of `rows` samples: predictions and targets are still in the session's memory.
  void add(Session& session, int rows, bool training) {
    losses_[0].add(static_cast<double>(session.total_loss()), rows);
    if constexpr (losses > 1)
      for (std::size_t output = 0; output < outputs; ++output)
        losses_[1 + output].add(static_cast<double>(session.loss(output)), rows);
    add_metrics(session, rows, training, std::make_index_sequence<outputs>{});
  }

  [[nodiscard]] std::array<double, count> values() const {
    std::array<double, count> result{};
    for (std::size_t i = 0; i < losses; ++i) result[i] = losses_[i].result();
    for (std::size_t i = 0; i < metrics_.size(); ++i) result[losses + i] = metrics_[i].result();
    return result;
  }

  /// Into logs from `make_logs`; does not allocate, unless a callback has cleared them.
  void write(logs& values_of_step) const {
    if (values_of_step.size() < count) values_of_step = make_logs();
    auto const all = values();
    for (std::size_t i = 0; i < count; ++i) values_of_step.value(i) = all[i];
  }
  /// Into any logs, each name with a prefix.
  void write(logs& values_of_epoch, std::string const& prefix) const {
    auto const all = values();
    for (std::size_t i = 0; i < count; ++i) values_of_epoch[prefix + name(i)] = all[i];
  }

 private:
  // A copy, since Clang 19 finds members of class type of a template argument at wrong places.
  static constexpr auto compiled_metrics = Training.metrics;

  [[nodiscard]] static std::string output_name(std::size_t output) {
    std::string result(Session::graph.layer_of(Session::outputs[output]).name.view());
    int same = 0;
    for (std::size_t i = 0; i < output; ++i)
      same +=
          Session::graph.call(Session::outputs[i]).layer == Session::graph.call(Session::outputs[output]).layer ? 1 : 0;
    return same > 0 ? result + "_" + std::to_string(same) : result;
  }

  template <std::size_t... Output>
  void add_metrics(Session& session, int rows, bool training, std::index_sequence<Output...>) {
    (add_metrics_of<Output>(session, rows, training), ...);
  }
  template <std::size_t Output>
  void add_metrics_of(Session& session, int rows, bool training) {
    for (std::size_t i = 0; i < metrics; ++i)
      metrics_[Output * metrics + i].update(session.prediction(Output, training), session.template target<Output>(),
                                            rows * Session::rows_per_sample(Output));
  }

  std::array<running_mean, losses> losses_;
  std::array<metric_state, outputs * metrics> metrics_;
};

}  // namespace stagecraft

// ---- stagecraft/training/weight_views.hpp
// A model's weights as the user sees them: copies in Keras's order, and views by name over the model's own memory.
// Level 6.

namespace stagecraft::detail {

/// Appends the weights of a model's layers, and of the models inside it, in the order of Keras's `model.weights`.
constexpr void append_weights(graph_view const& graph, int model, std::vector<int>& result) {
  auto const& kind = graph.nested_models[static_cast<std::size_t>(model)].kind;
  auto const append_layer = [&](int call) {
    auto const& layer = graph.layer_of(call);
    for (int i = 0; i < layer.parameter_count; ++i) {
      int const weight = layer.first_parameter + i;
      bool known = false;
      for (int const other : result) known = known || other == weight;
      if (!known) result.push_back(weight);
    }
  };
  if (kind == model_kind::functional) {
    for (int const node :
         post_order({graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs})
             .layers(model)) {
      if (node >= 0)
        append_layer(node);
      else
        append_weights(graph, -1 - node, result);
    }
    return;
  }
  // A sequential model's layers stand in their order, a subclass's in the order of their first calls.
  for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i)
    for (int at = graph.call(i).nested_model; at >= 0; at = graph.nested_models[static_cast<std::size_t>(at)].parent)
      if (at == model) append_layer(i);
}

template <class M>
constexpr auto order_weights() {
  std::vector<int> order;
  append_weights(graph_of<M>, 0, order);
  std::array<int, graph_of<M>.parameters.size()> result{};
  std::size_t count = 0;
  for (int const weight : order) result[count++] = weight;
  return result;
}

/// The weights in Keras's order, as indices of graph_of<M>.parameters.
template <class M>
inline constexpr auto weight_order = order_weights<M>();

/// The layer that a weight belongs to.
template <class M>
constexpr int layer_of_weight(int weight) {
  int layer = 0;
  while (layer + 1 < static_cast<int>(graph_of<M>.layers.size()) &&
         weight >= graph_of<M>.layer(layer).first_parameter + graph_of<M>.layer(layer).parameter_count)
    ++layer;
  return layer;
}

/// Keras's name of a weight, such as "dense/kernel:0".
template <class M>
std::string weight_name(int weight) {
  return std::string(graph_of<M>.layer(layer_of_weight<M>(weight)).name.view()) + "/" +
         std::string(graph_of<M>.parameters[static_cast<std::size_t>(weight)].name.view()) + ":0";
}

template <class M, class Session, class Visit>
void for_each_weight(Session& session, Visit&& visit) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    [[maybe_unused]] int const done[] {
      0,
      (visit.template operator()<static_cast<std::size_t>(weight_order<M>[Index])>(session, Index), 0)...
    };
  }(std::make_index_sequence<weight_order<M>.size()>{});
}

template <class M, class Session>
std::vector<weight_array> copy_weights(Session const& session) {
  std::vector<weight_array> result(weight_order<M>.size());
  for_each_weight<M>(session, [&]<std::size_t Weight>(Session const& from, std::size_t index) {
    auto const& info = graph_of<M>.parameters[Weight];
    result[index] = {weight_name<M>(static_cast<int>(Weight)),
                     {info.shape.begin(), info.shape.end()},
                     std::vector<float>(static_cast<std::size_t>(info.size()))};
    from.template read_weight<Weight>(result[index].values.data());
  });
  return result;
}

inline void check_weight(weight_array const& found, std::string const& name, shape const& expected) {
  auto const text = [](auto const& dimensions) {
    std::string list = "(";
    for (int const dimension : dimensions) list += (list.size() > 1 ? ", " : "") + std::to_string(dimension);
    return list + ")";
  };
  if (!found.name.empty() && found.name != name)
    throw data_error("E4009", "set_weights: expected weight '" + name + "', found '" + found.name + "'");
  if (found.shape.size() != static_cast<std::size_t>(expected.rank()) ||
      !std::equal(expected.begin(), expected.end(), found.shape.begin()))
    throw data_error("E4009",
                     "set_weights: weight '" + name + "' has shape " + text(expected) + ", found " + text(found.shape));
  if (found.values.size() != static_cast<std::size_t>(expected.size()))
    throw data_error("E4009", "set_weights: weight '" + name + "' has " + std::to_string(expected.size()) +
                                  " values, found " + std::to_string(found.values.size()));
}

template <class M, class Session>
void assign_weights(Session& session, std::vector<weight_array> const& weights) {
  if (weights.size() != weight_order<M>.size())
    throw data_error("E4009", "set_weights: the model has " + std::to_string(weight_order<M>.size()) +
                                  " weights, found " + std::to_string(weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i)
    check_weight(weights[i], weight_name<M>(weight_order<M>[i]),
                 graph_of<M>.parameters[static_cast<std::size_t>(weight_order<M>[i])].shape);
  for_each_weight<M>(session, [&]<std::size_t Weight>(Session& to, std::size_t index) {
    to.template write_weight<Weight>(weights[index].values.data());
  });
}

/// The weight called "layer/weight" ("layer/weight:0" as well), or -1.
template <class M>
constexpr int find_weight(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  for (int i = 0; i < static_cast<int>(graph_of<M>.parameters.size()); ++i) {
    auto const& layer = graph_of<M>.layer(layer_of_weight<M>(i)).name.view();
    auto const& weight = graph_of<M>.parameters[static_cast<std::size_t>(i)].name.view();
    if (name.size() == layer.size() + 1 + weight.size() && name.starts_with(layer) && name[layer.size()] == '/' &&
        name.ends_with(weight))
      return i;
  }
  return -1;
}

/// E4032: a name that no weight has.
template <class M, fixed_name Name>
inline constexpr diagnostic weight_name_problem = [] {
  diagnostic problem;
  if (find_weight<M>(Name) >= 0) return problem;
  message names;
  for (int const weight : weight_order<M>) {
    names.append(names.empty() ? "" : ", ").append(graph_of<M>.layer(layer_of_weight<M>(weight)).name.view());
    names.append('/').append(graph_of<M>.parameters[static_cast<std::size_t>(weight)].name.view());
    if (names.length > 200) {
      names.append(", ...");
      break;
    }
  }
  problem.report(4032, "model '", graph_of<M>.name(), "' has no weight '", Name, "'; it has ", names);
  return problem;
}();

template <class M, fixed_name Name, class Session>
auto view_weight(Session& session) {
  constexpr int index = find_weight<M>(Name);
  static_assert(report<weight_name_problem<M, Name>>());
  constexpr auto weight = static_cast<std::size_t>(index < 0 ? 0 : index);
  constexpr auto const& dimensions = graph_of<M>.parameters[weight].shape;
  if constexpr (Session::template is_packed<weight>) {
    using packed = typename Session::template packed<weight>;
    // (panel, row, lane) in memory; in front come the rows, then the columns, without those that only fill a panel.
    std::array<std::size_t, 3> const extents{packed::panels, packed::rows, packed::panel_columns};
    auto panels = xt::adapt(session.weight(weight), std::size_t{packed::panels} * packed::panel_stride,
                            xt::no_ownership(), extents);
    auto rows =
        xt::reshape_view(xt::transpose(std::move(panels), std::array<std::size_t, 3>{1, 0, 2}),
                         std::array<std::size_t, 2>{packed::rows, std::size_t{packed::panels} * packed::panel_columns});
    return xt::view(std::move(rows), xt::all(), xt::range(0, packed::columns));
  } else {
    std::array<std::size_t, static_cast<std::size_t>(dimensions.rank())> extents{};
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(dimensions[static_cast<int>(axis)]);
    return xt::adapt(session.weight(weight), static_cast<std::size_t>(dimensions.size()), xt::no_ownership(), extents);
  }
}

}  // namespace stagecraft::detail

// ---- stagecraft/training/trainer.hpp
// Trains, evaluates and runs a model: Keras's `fit`, `evaluate`, `predict` and their relatives. Level 6.

namespace stagecraft {

/// The type behind `trainer<...>`.
template <Model M, auto Training, class Machine>
class model_trainer : public trainable {
 public:
  using traced = typename detail::traced_model<M>::type;
  using session_type = host_session<traced, Training, Machine>;
  using results = step_results<session_type, Training>;
  /// What the model is trained with.
  static constexpr auto training = Training;
  /// What `evaluate` gives: the loss and the metrics, `auto [loss, accuracy] = model.evaluate(x, y);`
  using evaluation = std::array<double, results::count>;

  /// Weights get their initial values; all memory is taken here. The seed also decides dropout and shuffling.
  explicit model_trainer(std::uint64_t seed = training.seed) : session_(seed), seed_(seed) {}

  /// Trains for `epochs` epochs. Callbacks are called as in Keras, once per execution of `steps_per_execution` steps.
  /// Everything is checked before anything runs: data_error E4001 to E4008, E4010, E4011, E4017, E4018.
  /// Definition: tf.keras.Model.fit.
  training_history fit(sample_set const& x, sample_set const& y, fit_options const& options = {}) {
    check_options(options);
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const whole(x, y, options.sample_weight, options.class_weight);
    bool const splits = !options.validation_data.given() && options.validation_split != 0;
    auto const train_count = splits ? training_count(x.count(), options.validation_split) : x.count();
    auto const part = [&](sample_source const& weights, std::ptrdiff_t first, std::ptrdiff_t count) {
      return weights.given() ? weights.slice(first, count) : weights;
    };
    loader const data = splits ? loader(x.slice(0, train_count), y.slice(0, train_count),
                                        part(options.sample_weight, 0, train_count), options.class_weight)
                               : whole;
    labelled_samples validation = options.validation_data;
    if (splits) {
      auto const rest = x.count() - train_count;
      validation = {x.slice(train_count, rest), y.slice(train_count, rest),
                    part(options.sample_weight, train_count, rest)};
    }
    bool const validates = validation.given();
    auto const validation_loader =
        validates ? loader(validation.x, validation.y, validation.sample_weight, {}, loader::validation_names) : data;
    if (validates) batches_of(validation_loader, batch_size, options.validation_steps, "validation_steps");

    // Training that is continued with initial_epoch goes on where it was; another one has orders of its own.
    if (options.initial_epoch == 0) ++fits_;
    epoch_order order(data.count(), options.shuffle, options.seed != 0 ? options.seed : seed_ + fits_);
    int batches = order.batches(batch_size, options.drop_remainder);
    check_steps("steps_per_epoch", options.steps_per_epoch, batches);
    if (options.steps_per_epoch > 0) batches = options.steps_per_epoch;
    if (batches == 0)
      throw data_error("E4003", "x: expected at least " + std::to_string(batch_size) +
                                    " samples (one batch, with drop_remainder), found " + std::to_string(data.count()));
    int const execution = steps_of_execution(batches);

    training_history history;
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.append(history);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, options.epochs, batches, validates});

    logs none, step_logs = results::make_logs(), epoch_logs = step_logs;
    stop_training = false;
    session_.begin_accumulation();
    callbacks.on_train_begin(none);
    for (int epoch = options.initial_epoch; epoch < options.epochs && !stop_training; ++epoch) {
      order.begin_epoch(epoch);
      results means;
      callbacks.on_epoch_begin(epoch, none);
      for (int first = 0; first < batches && !stop_training; first += execution) {
        callbacks.on_train_batch_begin(first, step_logs);
        for (int step = first; step < first + execution; ++step) train_step(data, order.batch(step, batch_size), means);
        means.write(step_logs);
        callbacks.on_train_batch_end(first + execution - 1, step_logs);
      }
      epoch_logs = step_logs;
      if (validates && (epoch + 1) % options.validation_freq == 0) {
        results validation_means;
        run_test(validation_loader, batch_size, options.validation_steps, callbacks, validation_means);
        validation_means.write(epoch_logs, "val_");
      }
      callbacks.on_epoch_end(epoch, epoch_logs);
    }
    callbacks.on_train_end(epoch_logs);
    return history;
  }

  /// The loss and the metrics over all samples, without dropout. Definition: tf.keras.Model.evaluate.
  evaluation evaluate(sample_set const& x, sample_set const& y, evaluate_options const& options = {}) {
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const data(x, y, options.sample_weight, {});
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, 1, batches_of(data, batch_size, options.steps), false});
    results means;
    run_test(data, batch_size, options.steps, callbacks, means);
    return means.values();
  }

  /// The model's outputs for all samples: a tensor (samples, shape...), or a std::tuple of tensors if there are several
  /// outputs. Allocates the result. Definition: tf.keras.Model.predict.
  auto predict(sample_set const& x, predict_options const& options = {}) {
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const data(x);
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.set_model(*this);
    int const batches = batches_of(data, batch_size, options.steps);
    callbacks.set_params({options.verbose, 1, batches, false});
    logs none;
    auto result = make_prediction(std::min(data.count(), std::ptrdiff_t{batches} * batch_size));
    callbacks.on_predict_begin(none);
    for (int batch = 0; batch < batches; ++batch) {
      callbacks.on_predict_batch_begin(batch, none);
      auto const first = std::ptrdiff_t{batch} * batch_size;
      auto const rows = samples(first, std::min<std::ptrdiff_t>(batch_size, data.count() - first));
      data.load_inputs(session_, rows);
      session_.predict_step();
      copy_prediction(result, first, static_cast<std::ptrdiff_t>(rows.size()));
      callbacks.on_predict_batch_end(batch, none);
    }
    callbacks.on_predict_end(none);
    return result;
  }

  /// One weight update (or one micro-batch, where gradients are accumulated) on at most `batch_size` samples.
  /// Gives the loss and metrics of these samples. Definition: tf.keras.Model.train_on_batch.
  evaluation train_on_batch(sample_set const& x, sample_set const& y, sample_source const& sample_weight = {},
                            std::vector<class_weight_entry> const& class_weight = {}) {
    loader const data(x, y, sample_weight, class_weight);
    check_one_batch(x);
    results means;
    train_step(data, samples(0, data.count()), means);
    return means.values();
  }
  /// The same without training. Definition: tf.keras.Model.test_on_batch.
  evaluation test_on_batch(sample_set const& x, sample_set const& y, sample_source const& sample_weight = {}) {
    loader const data(x, y, sample_weight, {});
    check_one_batch(x);
    results means;
    test_step(data, samples(0, data.count()), means);
    return means.values();
  }
  /// The outputs for at most `batch_size` samples. Definition: tf.keras.Model.predict_on_batch.
  auto predict_on_batch(sample_set const& x) {
    check_one_batch(x);
    return predict(x);
  }

  [[nodiscard]] std::string_view name() const override { return graph_of<traced>.name(); }
  [[nodiscard]] float learning_rate() const override { return session_.learning_rate(); }
  void set_learning_rate(float rate) override { session_.set_learning_rate(rate); }

  /// Copies of all weights, in the order of the model's layers; those of a subclass in the order of their first calls,
  /// where Keras takes the order of its attributes. Definition: tf.keras.Model.get_weights.
  [[nodiscard]] std::vector<weight_array> get_weights() const override {
    return detail::copy_weights<traced>(session_);
  }
  /// Throws data_error E4009 if number, names or shapes differ from the model's.
  void set_weights(std::vector<weight_array> const& weights) override {
    detail::assign_weights<traced>(session_, weights);
  }

  /// A weight as an xtensor expression over the model's own memory, nothing is copied:
  /// `model.template weight<"dense/kernel">()`, shape (inputs, units). Reads and writes. E4032 for an unknown name.
  template <fixed_name Name>
  [[nodiscard]] auto weight() {
    return detail::view_weight<traced, Name>(session_);
  }

  /// The session that carries out the steps.
  [[nodiscard]] session_type& session() noexcept { return session_; }

 private:
  using loader = batch_loader<session_type, Training>;

  void train_step(loader const& data, std::span<std::int32_t const> rows, results& means) {
    data.load(session_, rows);
    session_.train_step([&] { means.add(session_, static_cast<int>(rows.size()), true); });
  }
  void test_step(loader const& data, std::span<std::int32_t const> rows, results& means) {
    data.load(session_, rows);
    session_.test_step();
    means.add(session_, static_cast<int>(rows.size()), false);
  }

  // As in Keras, a bar among the user's callbacks stands in for the run's own.
  [[nodiscard]] static bool needs_bar(int verbose, std::vector<callback*> const& given) {
    bool found = false;
    for (callback* each : given) found = found || dynamic_cast<callbacks::progbar_logger*>(each) != nullptr;
    return verbose != 0 && !found;
  }

  void run_test(loader const& data, int batch_size, int steps, callback_list& callbacks, results& means) {
    int const batches = batches_of(data, batch_size, steps);
    int const execution = std::min(training.steps_per_execution, batches);
    logs step_logs = results::make_logs();
    callbacks.on_test_begin(step_logs);
    for (int first = 0; first < batches; first += execution) {
      int const last = std::min(first + execution, batches);
      callbacks.on_test_batch_begin(first, step_logs);
      for (int batch = first; batch < last; ++batch) {
        auto const begin = std::ptrdiff_t{batch} * batch_size;
        test_step(data, samples(begin, std::min<std::ptrdiff_t>(batch_size, data.count() - begin)), means);
      }
      means.write(step_logs);
      callbacks.on_test_batch_end(last - 1, step_logs);
    }
    callbacks.on_test_end(step_logs);
  }

  static int batches_of(loader const& data, int batch_size, int steps, char const* option = "steps") {
    auto const batches = static_cast<int>((data.count() + batch_size - 1) / batch_size);
    check_at_least(option, steps, 0);
    check_steps(option, steps, batches);
    return steps > 0 ? steps : batches;
  }

  /// Keras on IPU's rules: an execution is cut to an epoch that is shorter (with a warning), and must divide a longer
  /// one.
  [[nodiscard]] static int steps_of_execution(int batches) {
    constexpr int wanted = Training.steps_per_execution;
    constexpr int accumulation = Training.pipeline.accumulation_steps();
    int const steps = std::min(wanted, batches);
    if (batches % steps != 0)
      throw data_error("E4017", "steps_per_execution: expected a divisor of the epoch's " + std::to_string(batches) +
                                    " batches, found " + std::to_string(steps));
    if (steps % accumulation != 0)
      throw data_error("E4018", "gradient_accumulation_steps_per_replica: expected a divisor of the epoch's " +
                                    std::to_string(steps) + " batches, found " + std::to_string(accumulation));
    if (steps < wanted)
      std::fprintf(stderr,
                   "stagecraft: steps_per_execution %d is more than the %d steps there are; %d are executed at once\n",
                   wanted, batches, steps);
    return steps;
  }

  [[nodiscard]] std::span<std::int32_t const> samples(std::ptrdiff_t first, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i)
      samples_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
    return {samples_.data(), static_cast<std::size_t>(count)};
  }
  static void check_one_batch(sample_set const& x) {
    if (x.count() > training.batch_size)
      detail::throw_data_error("E4008",
                               "x: expected at most %d samples, the training description's batch_size, found %td",
                               training.batch_size, x.count());
  }

  template <std::size_t Output>
  using prediction_type = xt::xtensor<float, static_cast<std::size_t>(session_type::output_shape(Output).rank()) + 1>;

  template <std::size_t Output>
  [[nodiscard]] static prediction_type<Output> make_output(std::ptrdiff_t count) {
    std::array<std::size_t, static_cast<std::size_t>(session_type::output_shape(Output).rank()) + 1> extents{
        static_cast<std::size_t>(count)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(session_type::output_shape(Output)[static_cast<int>(axis) - 1]);
    return prediction_type<Output>::from_shape(extents);
  }
  [[nodiscard]] static auto make_prediction(std::ptrdiff_t count) {
    if constexpr (session_type::output_count == 1)
      return make_output<0>(count);
    else
      return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
        return std::tuple<prediction_type<Output>...>(make_output<Output>(count)...);
      }(std::make_index_sequence<session_type::output_count>{});
  }
  template <class Result>
  void copy_prediction(Result& result, std::ptrdiff_t first, std::ptrdiff_t count) const {
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (copy_output<Output>(result, first, count), ...);
    }(std::make_index_sequence<session_type::output_count>{});
  }
  template <std::size_t Output, class Result>
  void copy_output(Result& result, std::ptrdiff_t first, std::ptrdiff_t count) const {
    constexpr auto size = static_cast<std::ptrdiff_t>(session_type::output_shape(Output).size());
    float* to = nullptr;
    if constexpr (session_type::output_count == 1)
      to = result.data();
    else
      to = std::get<Output>(result).data();
    std::copy_n(session_.prediction(Output, false), count * size, to + first * size);
  }

  session_type session_;
  std::uint64_t seed_;
  std::uint64_t fits_ = 0;  // trainings that began at epoch 0: each has orders of samples of its own
  std::array<std::int32_t, static_cast<std::size_t>(Training.batch_size)> samples_{};
};

namespace detail {

/// The first rule that a model, its stages or its training description breaks.
template <class M, auto Training>
constexpr diagnostic const& trainer_problem() {
  if constexpr (is_invalid<M>)
    return findings<typename traced_model<M>::type>.problem;
  else if constexpr (has_invalid_stages<M>)
    return stage_problem<M>;
  else
    return training_problem<M, Training>;
}

template <class M, auto Training, class Machine>
using trainer_or_stand_in = std::conditional_t<trainer_problem<M, Training>().failed(), invalid_trainer<Training>,
                                               model_trainer<M, Training, Machine>>;

}  // namespace detail

/// A model, what it is trained with, and the machine that runs it, checked together where they are named:
///
///     sc::trainer<mlp, training> model;                    // on the host
///     model.fit(train.x, train.y, {.epochs = 2, .validation_data = test});
///     auto [loss, accuracy] = model.evaluate(test.x, test.y);
///     xt::xtensor<float, 2> logits = model.predict(test.x);
///
/// Errors: those of the model's layers and stages, and E4020 to E4025, E2020 to E2022 of the training.
template <Model M, auto Training, class Machine = host<>>
using trainer = typename detail::verdict_on<detail::trainer_problem<M, Training>()>::template model<
    detail::trainer_or_stand_in<M, Training, Machine>>;

}  // namespace stagecraft
