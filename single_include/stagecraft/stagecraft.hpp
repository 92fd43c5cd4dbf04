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
#include <atomic>
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
#include <thread>
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

// ---- stagecraft/kernels/processor_check.hpp
// A program that is compiled for a newer processor than the one it is started on says so and ends, before it dies of an
// illegal instruction. simd.hpp includes this, so that each translation unit with kernels checks what its own flags
// (-march) let the compiler use. A unit that is entered only where the processor is known to have all of that, as in a
// program that chooses among units at run time, is compiled with -DSTAGECRAFT_NO_PROCESSOR_CHECK. Processors other than
// x86-64 are not checked. Level 4 of the house.

// The instruction sets of x86 that compilers use without being asked for each by name: what the library calls them,
// what the compilers' flags do, and what is defined where the flags allow them. The macros end with this header.
#define STAGECRAFT_INSTRUCTION_SETS(X)                       \
  X(sse3, "sse3", __SSE3__)                                  \
  X(ssse3, "ssse3", __SSSE3__)                               \
  X(sse4_1, "sse4.1", __SSE4_1__)                            \
  X(sse4_2, "sse4.2", __SSE4_2__)                            \
  X(popcnt, "popcnt", __POPCNT__)                            \
  X(avx, "avx", __AVX__)                                     \
  X(avx2, "avx2", __AVX2__)                                  \
  X(fma, "fma", __FMA__)                                     \
  X(f16c, "f16c", __F16C__)                                  \
  X(bmi, "bmi", __BMI__)                                     \
  X(bmi2, "bmi2", __BMI2__)                                  \
  X(lzcnt, "lzcnt", __LZCNT__)                               \
  X(movbe, "movbe", __MOVBE__)                               \
  X(avx512f, "avx512f", __AVX512F__)                         \
  X(avx512bw, "avx512bw", __AVX512BW__)                      \
  X(avx512cd, "avx512cd", __AVX512CD__)                      \
  X(avx512dq, "avx512dq", __AVX512DQ__)                      \
  X(avx512vl, "avx512vl", __AVX512VL__)                      \
  X(avx512ifma, "avx512ifma", __AVX512IFMA__)                \
  X(avx512vbmi, "avx512vbmi", __AVX512VBMI__)                \
  X(avx512vbmi2, "avx512vbmi2", __AVX512VBMI2__)             \
  X(avx512vnni, "avx512vnni", __AVX512VNNI__)                \
  X(avx512bitalg, "avx512bitalg", __AVX512BITALG__)          \
  X(avx512vpopcntdq, "avx512vpopcntdq", __AVX512VPOPCNTDQ__) \
  X(avx512bf16, "avx512bf16", __AVX512BF16__)                \
  X(avx512fp16, "avx512fp16", __AVX512FP16__)                \
  X(avxvnni, "avxvnni", __AVXVNNI__)                         \
  X(gfni, "gfni", __GFNI__)                                  \
  X(sse4a, "sse4a", __SSE4A__)                               \
  X(fma4, "fma4", __FMA4__)                                  \
  X(xop, "xop", __XOP__)                                     \
  X(tbm, "tbm", __TBM__)

namespace stagecraft::kernels {

/// Instruction sets of x86, and sets of them: bit i stands for the i-th.
enum class instruction_set {
#define STAGECRAFT_ENUMERATOR(name, flag, macro) name,
  STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_ENUMERATOR)
#undef STAGECRAFT_ENUMERATOR
};
using instruction_sets = std::uint64_t;

// Each translation unit has its own of what stands in this namespace.
namespace {

/// What the flags of this translation unit let the compiler use. (An undefined macro's text is its own name.)
[[maybe_unused]] constexpr instruction_sets compiled_instruction_sets = 0
#define STAGECRAFT_TEXT(macro) #macro
#define STAGECRAFT_IF_DEFINED(name, flag, macro) \
  | (STAGECRAFT_TEXT(macro)[0] != '_' ? 1ULL << static_cast<int>(instruction_set::name) : 0)
    STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_IF_DEFINED)
#undef STAGECRAFT_IF_DEFINED
#undef STAGECRAFT_TEXT
    ;

}  // namespace
}  // namespace stagecraft::kernels

// The check itself runs on every processor, whatever the flags are.
#if defined(__x86_64__) && defined(__clang__)
#define STAGECRAFT_CHECKS_PROCESSOR
// clang-format off
#pragma clang attribute push( \
    __attribute__((target("arch=x86-64,no-sse3,no-popcnt,no-bmi,no-bmi2,no-lzcnt,no-movbe"))), apply_to = function)
// clang-format on
#elif defined(__x86_64__) && defined(__GNUC__)
#define STAGECRAFT_CHECKS_PROCESSOR
#pragma GCC push_options
#pragma GCC target("arch=x86-64")
#endif

namespace stagecraft::kernels::detail {

/// How compilers' flags name the instruction sets: -m<name>.
inline constexpr char const* instruction_set_names[] = {
#define STAGECRAFT_NAME(name, flag, macro) flag,
    STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_NAME)
#undef STAGECRAFT_NAME
};

[[nodiscard]] constexpr instruction_sets only(instruction_set which) { return 1ULL << static_cast<int>(which); }

/// A value of -march that stands for no single processor, and what it needs.
struct processor_level {
  char const* name;
  instruction_sets sets;
};

/// The highest level that needs nothing but `sets`.
[[nodiscard]] constexpr processor_level level_of(instruction_sets sets) {
  using enum instruction_set;
  constexpr auto v2 = only(sse3) | only(ssse3) | only(sse4_1) | only(sse4_2) | only(popcnt);
  constexpr auto v3 =
      v2 | only(avx) | only(avx2) | only(fma) | only(f16c) | only(bmi) | only(bmi2) | only(lzcnt) | only(movbe);
  constexpr auto v4 = v3 | only(avx512f) | only(avx512bw) | only(avx512cd) | only(avx512dq) | only(avx512vl);
  if ((v4 & ~sets) == 0) return {"x86-64-v4", v4};
  if ((v3 & ~sets) == 0) return {"x86-64-v3", v3};
  if ((v2 & ~sets) == 0) return {"x86-64-v2", v2};
  return {"x86-64", 0};
}

/// A text that needs no other memory. An aggregate: a constructor that nobody writes would be compiled with the flags.
struct processor_complaint {
  char text[1024];
  std::size_t length;

  constexpr processor_complaint& operator<<(char const* more) {
    while (*more != 0 && length + 1 < sizeof text) text[length++] = *more++;
    return *this;
  }
};

/// E4040, for code that needs the sets `needed` on a processor with the sets `present`: empty if it has all of them.
[[nodiscard]] constexpr processor_complaint complain_about_processor(instruction_sets needed,
                                                                     instruction_sets present) {
  processor_complaint complaint{};
  instruction_sets const missing = needed & ~present;
  if (missing == 0) return complaint;
  processor_level const level = level_of(needed);
  complaint << "stagecraft: this program is compiled for " << level.name << (needed == level.sets ? "" : " and more")
            << ", but this processor lacks ";
  char const* separator = "";
  for (int i = 0; i < static_cast<int>(sizeof instruction_set_names / sizeof *instruction_set_names); ++i)
    if ((missing >> i & 1U) != 0) {
      complaint << separator << instruction_set_names[i];
      separator = ", ";
    }
  complaint << "; compile it with -march=" << level_of(present).name
            << ", which this processor runs, or with -march=native on this machine "
               "(stagecraft's own programs: -D STAGECRAFT_ARCH=... of CMake) ["
            << "E4040"
            << "]\n";
  return complaint;
}

#if defined(STAGECRAFT_CHECKS_PROCESSOR)
/// What the processor has and the operating system lets programs use.
[[nodiscard]] inline instruction_sets instruction_sets_of_processor() {
  __builtin_cpu_init();
  instruction_sets found = 0;
#define STAGECRAFT_IF_FOUND(name, flag, macro) \
  if (__builtin_cpu_supports(flag)) found |= only(instruction_set::name);
  STAGECRAFT_INSTRUCTION_SETS(STAGECRAFT_IF_FOUND)
#undef STAGECRAFT_IF_FOUND
  return found;
}

/// Ends the program if the processor lacks any of the sets.
inline void require_processor(instruction_sets needed) {
  processor_complaint const complaint = complain_about_processor(needed, instruction_sets_of_processor());
  if (complaint.length == 0) return;
  std::fputs(complaint.text, stderr);
  std::_Exit(EXIT_FAILURE);
}

#if !defined(STAGECRAFT_NO_PROCESSOR_CHECK)
namespace {

/// Runs when the program starts or a shared library is loaded, before what is initialised there by default.
[[gnu::constructor(101)]] void check_processor() { require_processor(compiled_instruction_sets); }

}  // namespace
#endif
#endif

}  // namespace stagecraft::kernels::detail

#if defined(STAGECRAFT_CHECKS_PROCESSOR) && defined(__clang__)
#pragma clang attribute pop
#elif defined(STAGECRAFT_CHECKS_PROCESSOR)
#pragma GCC pop_options
#endif
#undef STAGECRAFT_CHECKS_PROCESSOR
#undef STAGECRAFT_INSTRUCTION_SETS

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

/// Asks for the cache line of p, which will be read soon. Any address will do.
inline void prefetch([[maybe_unused]] float const* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#endif
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

/// `transform` of one array with a function that replaces the batches of an array `batch<Arch>[N]` by its results, for
/// N = 4 and 1.
template <class Arch, class Function>
inline void transform_each(std::int64_t n, Function const& function, float const* x, float* y) {
  constexpr int width = lanes<Arch>;
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    batch<Arch> values[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) values[k] = batch<Arch>::load_unaligned(x + i + k * width);
    function(values);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) values[k].store_unaligned(y + i + k * width);
  }
  for (; i < n; i += width) {
    int const count = static_cast<int>(n - i < width ? n - i : width);
    batch<Arch> values[1] = {load_first<Arch>(x + i, count)};
    function(values);
    store_first(values[0], y + i, count);
  }
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

/// E4033: no thread at all, or more than any host has.
template <int Threads>
inline constexpr diagnostic thread_problem = [] {
  diagnostic problem;
  if (Threads < 1 || Threads > 1024)
    problem.report(4033, "host<", Threads, "> asks for ", Threads, " threads; it takes 1 to 1024");
  return problem;
}();

}  // namespace detail

/// The type behind `host<>`. The architecture is part of it, so that one program can hold translation units that are
/// compiled for different ones.
template <int Threads, class Arch>
struct host_machine {
  static_assert(detail::report<detail::thread_problem<Threads>>());
  using architecture = Arch;
  static constexpr int threads = Threads < 1 ? 1 : Threads;
};

/// The host CPU, with the kernels of the architecture that the program is compiled for. A step is divided among
/// `Threads` threads at places that follow from shapes: results have the same bits for any number of threads. Threads
/// are started with a session and wait between steps; a step with little work does not gain from them.
/// Errors: E4033 unless Threads is 1 to 1024.
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
  matrix,  ///< the right factor of matrix products, (rows..., columns): kept packed in SIMD panels
};

/// One weight: Keras's `add_weight`.
struct parameter {
  fixed_name name;          ///< Keras's name of it, such as "kernel"
  stagecraft::shape shape;  ///< without a batch dimension
  stagecraft::initializer initializer = {};
  stagecraft::regularizer regularizer = {};
  bool trainable = true;
  parameter_layout layout = parameter_layout::plain;
  int groups = 1;  ///< of a matrix: its columns are so many matrices side by side, each a factor of its own

  [[nodiscard]] constexpr int size() const noexcept { return shape.size(); }
  /// Of a matrix: the last axis, and all others together.
  [[nodiscard]] constexpr int columns() const noexcept { return shape.back(); }
  [[nodiscard]] constexpr int rows() const noexcept { return shape.size() / shape.back(); }
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

// ---- stagecraft/layers/padding.hpp
// Keras's `padding` argument, and what follows from it along one axis. Level 2.

namespace stagecraft {

/// What happens at the borders of a sliding window.
enum class padding : unsigned char {
  valid,   ///< the window stays inside the input
  same,    ///< zeros around it, so that with stride 1 the output is as long as the input; the odd one stands behind
  causal,  ///< zeros before it, so that no output sees a later input; conv1d only
};

/// A window that slides along one axis, in TensorFlow's terms.
/// Definition: TensorFlow API, nn ("Notes on padding"); Keras API, layers/convolution_layers/convolution1d (causal).
struct sliding_window {
  int input = 1;
  int window = 1;
  int stride = 1;
  int dilation = 1;
  stagecraft::padding padding = stagecraft::padding::valid;

  /// Inputs from the first to the last that one output sees.
  [[nodiscard]] constexpr int extent() const noexcept { return (window - 1) * dilation + 1; }
  /// Outputs along the axis; 0 or less if the window does not fit into the input.
  [[nodiscard]] constexpr int output() const noexcept {
    if (padding == stagecraft::padding::valid) return input < extent() ? 0 : (input - extent()) / stride + 1;
    return (input + stride - 1) / stride;
  }
  /// Zeros before the input.
  [[nodiscard]] constexpr int before() const noexcept {
    if (padding == stagecraft::padding::valid) return 0;
    return padding == stagecraft::padding::causal ? extent() - 1 : total() / 2;
  }
  /// Zeros behind the input.
  [[nodiscard]] constexpr int after() const noexcept {
    return padding == stagecraft::padding::same ? total() - total() / 2 : 0;
  }

 private:
  [[nodiscard]] constexpr int total() const noexcept {
    int const needed = (output() - 1) * stride + extent() - input;
    return needed > 0 ? needed : 0;
  }
};

}  // namespace stagecraft

// ---- stagecraft/layers/size_2d.hpp
// Keras's "an integer or a tuple of 2 integers": kernel sizes, strides, dilation rates. Level 2.

namespace stagecraft {

/// Height and width; one number stands for both: `3` is `{3, 3}`.
struct size_2d {
  int height = 1;
  int width = 1;

  constexpr size_2d() = default;
  constexpr explicit(false) size_2d(int both) : height(both), width(both) {}
  constexpr size_2d(int height_, int width_) : height(height_), width(width_) {}

  [[nodiscard]] constexpr int area() const noexcept { return height * width; }
  /// Appends "(3, 5)", in Python's spelling of tuples.
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(').append(height).append(", ").append(width).append(')');
  }
  friend constexpr bool operator==(size_2d const&, size_2d const&) = default;
};

}  // namespace stagecraft

// ---- stagecraft/layers/pooling_layer.hpp
// What the layers have in common that reduce a window which slides over an image or a sequence. Keras counterpart: the
// base classes Pooling1D and Pooling2D of tf.keras.layers.MaxPooling2D and its like. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of the pooling layers behind `pool_size`. Size is size_2d, or int along one axis.
template <class Size>
struct pooling_options {
  Size strides = 0;  ///< 0, like Keras's None: the size of the pool
  stagecraft::padding padding = padding::valid;
  fixed_name name = {};
};

/// Base of max_pooling1d, max_pooling2d, average_pooling1d and average_pooling2d. Size is size_2d, or int for a
/// sequence, which counts as an image of height 1. Channels are the last axis (`data_format="channels_last"`).
///
/// Errors: E1001; E1040 for a pool size or stride below 1; E1041 for an input of another number of axes; E1042 if the
/// window does not fit into the input; E1043 for causal padding.
template <class Derived, class Size>
struct pooling_layer : layer<Derived> {
  static constexpr bool is_2d = std::same_as<Size, size_2d>;
  /// Axes of one sample.
  static constexpr int axes = is_2d ? 3 : 2;
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  Size pool_size;
  Size strides;
  stagecraft::padding padding;

  constexpr pooling_layer() : pooling_layer(Size(2)) {}
  constexpr explicit(false) pooling_layer(Size pool_size_) : pooling_layer(pool_size_, pooling_options<Size>{}) {}
  // GCC 12 hesitates between the conversion of an int to a size_2d and the constructor that takes anything.
  template <std::same_as<int> Both>
    requires is_2d
  constexpr explicit(false) pooling_layer(Both both) : pooling_layer(Size(both)) {}
  // In parentheses, `max_pooling2d({2, 3})`, braces could stand for a copied layer as well.
  constexpr explicit pooling_layer(int const (&each)[2])
    requires is_2d
      : pooling_layer(Size(each[0], each[1])) {}
  constexpr pooling_layer(Size pool_size_, pooling_options<Size> const& options)
      : pool_size(pool_size_),
        strides(options.strides == Size(0) ? pool_size_ : options.strides),
        padding(options.padding) {
    this->layer_name = options.name;
  }
  /// Keras's positional spelling: `max_pooling2d{3, 2}` is a pool of 3 by 3 with strides of 2.
  template <class Strides>
    requires(std::same_as<Strides, int> || std::same_as<Strides, Size>)
  constexpr pooling_layer(Size pool_size_, Strides strides_, pooling_options<Size> const& options = {})
      : pooling_layer(pool_size_, pooling_options<Size>{strides_, options.padding, options.name}) {}

  /// Anything else: E1025.
  template <class L = Derived>
  constexpr explicit pooling_layer(...) : pooling_layer(Size(2)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The window's way along the height of an input of this shape; along one step if it is a sequence.
  [[nodiscard]] constexpr sliding_window rows(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[0], .window = pool_size.height, .stride = strides.height, .padding = padding};
    else
      return {};
  }
  /// The same along the width of an image, or the steps of a sequence.
  [[nodiscard]] constexpr sliding_window columns(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[1], .window = pool_size.width, .stride = strides.width, .padding = padding};
    else
      return {.input = in[0], .window = pool_size, .stride = strides, .padding = padding};
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (smallest(pool_size) < 1)
      return in.error(1040, "has a pool size of ", pool_size, "; each number must be at least 1");
    if (smallest(strides) < 1) return in.error(1040, "has strides of ", strides, "; each number must be at least 1");
    if (padding == padding::causal) return in.error(1043, "has causal padding; a pooling layer has valid or same");
    if (in[0].rank() != axes)
      return in.error(1041, "expects an input of shape ", is_2d ? "(height, width, channels)" : "(steps, channels)",
                      ", but got ", in[0]);
    int const height = rows(in[0]).output(), width = columns(in[0]).output();
    if (height < 1 || width < 1)
      return in.error(1042, "has a pool size of ", pool_size, ", which does not fit into an input of shape ", in[0]);
    return is_2d ? shape(height, width, in[0].back()) : shape(width, in[0].back());
  }
  /// One operation for each input that an output sees.
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return static_cast<long long>(rows(in[0]).output()) * columns(in[0]).output() * in[0].back() * rows(in[0]).window *
           columns(in[0]).window;
  }

 private:
  static constexpr int smallest(int size) { return size; }
  static constexpr int smallest(size_2d const& size) { return size.height < size.width ? size.height : size.width; }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/average_pooling1d.hpp
// The mean of a window that slides over a sequence: tf.keras.layers.AveragePooling1D. Level 2.

namespace stagecraft::layers {

/// The mean of each window, channel by channel; cells that `same` padding adds do not count.
///
/// Shape: (steps, channels) to (new steps, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling1d.
struct average_pooling1d : pooling_layer<average_pooling1d, int> {
  static constexpr std::string_view class_name = "AveragePooling1D";
  static constexpr std::string_view usage =
      "average_pooling1d{pool_size} or average_pooling1d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}";

  using pooling_layer<average_pooling1d, int>::pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/average_pooling2d.hpp
// The mean of a window that slides over an image: tf.keras.layers.AveragePooling2D. Level 2.

namespace stagecraft::layers {

/// The mean of each window, channel by channel; cells that `same` padding adds do not count.
///
/// Shape: (height, width, channels) to (new height, new width, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling2d.
struct average_pooling2d : pooling_layer<average_pooling2d, size_2d> {
  static constexpr std::string_view class_name = "AveragePooling2D";
  static constexpr std::string_view usage =
      "average_pooling2d{pool_size} or average_pooling2d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}";

  using pooling_layer<average_pooling2d, size_2d>::pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/batch_normalization.hpp
// Normalises each channel over the batch: tf.keras.layers.BatchNormalization. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of BatchNormalization.
struct batch_normalization_options {
  int axis = -1;
  float momentum = 0.99F;
  float epsilon = 1e-3F;
  bool center = true;
  bool scale = true;
  initializer beta_initializer = initializers::zeros{};
  initializer gamma_initializer = initializers::ones{};
  initializer moving_mean_initializer = initializers::zeros{};
  initializer moving_variance_initializer = initializers::ones{};
  regularizer beta_regularizer = {};
  regularizer gamma_regularizer = {};
  fixed_name name = {};
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with numbers of its own for each channel: each
/// index of `axis`, which counts as in Keras (the batch is axis 0, -1 the last).
///
/// While training, mean and variance are those of the batch (of its samples alone, where a batch is partial), and each
/// call moves two weights that the optimizer does not touch: moving = moving * momentum + batch * (1 - momentum). These
/// are used in evaluation and prediction. As in Keras, whose fused kernel does so, moving_variance gathers the unbiased
/// variance, of n - 1 of n values, for inputs of rank 4 or 5 (with the batch) whose axis is 1 or the last; in all other
/// cases, and for the output always, it is the variance of n.
///
/// Shape unchanged. Weights: gamma, beta, moving_mean, moving_variance (channels each). Cost: 2 FLOPs per element.
/// Errors: E1050 axis; E1052 momentum; E1053 epsilon. Definition: Keras API, layers/normalization_layers.
struct batch_normalization : layer<batch_normalization> {
  static constexpr std::string_view class_name = "BatchNormalization";
  static constexpr std::string_view usage =
      "batch_normalization{}, batch_normalization{axis} or batch_normalization{{.momentum = 0.9, .name = ...}}";

  int axis;
  float momentum;
  float epsilon;
  bool center;
  bool scale;
  initializer beta_initializer;
  initializer gamma_initializer;
  initializer moving_mean_initializer;
  initializer moving_variance_initializer;
  regularizer beta_regularizer;
  regularizer gamma_regularizer;

  constexpr batch_normalization() : batch_normalization(batch_normalization_options{}) {}
  constexpr explicit batch_normalization(int axis_) : batch_normalization(batch_normalization_options{.axis = axis_}) {}
  constexpr explicit(false) batch_normalization(batch_normalization_options const& options)
      : axis(options.axis),
        momentum(options.momentum),
        epsilon(options.epsilon),
        center(options.center),
        scale(options.scale),
        beta_initializer(options.beta_initializer),
        gamma_initializer(options.gamma_initializer),
        moving_mean_initializer(options.moving_mean_initializer),
        moving_variance_initializer(options.moving_variance_initializer),
        beta_regularizer(options.beta_regularizer),
        gamma_regularizer(options.gamma_regularizer) {
    layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = batch_normalization>
  constexpr explicit batch_normalization(...) : batch_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis among those of a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }
  [[nodiscard]] constexpr int channels(shape const& in) const { return in[shape_axis(in)]; }
  /// Whether moving_variance gathers the unbiased variance.
  [[nodiscard]] constexpr bool moves_unbiased_variance(shape const& in) const {
    int const along = shape_axis(in);
    return (in.rank() == 3 || in.rank() == 4) && (along == 0 || along == in.rank() - 1);
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    int const along = shape_axis(in[0]);
    if (along < 0 || along >= in[0].rank())
      return in.error(1050, "normalises along axis ", axis, ", which is not an axis of an input of shape ", in[0],
                      "; axis 0 is the batch, the last is ", in[0].rank());
    if (!(momentum >= 0.0F && momentum <= 1.0F))
      return in.error(1052, "has a momentum outside of 0 to 1; Keras's default is 0.99");
    if (!(epsilon >= 0.0F && epsilon < 1e30F))
      return in.error(1053, "has an epsilon that is negative or not a number; Keras's default is 0.001");
    return in[0];
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    shape const each = channels(in[0]);
    if (scale)
      weights.add({.name = "gamma", .shape = each, .initializer = gamma_initializer, .regularizer = gamma_regularizer});
    if (center)
      weights.add({.name = "beta", .shape = each, .initializer = beta_initializer, .regularizer = beta_regularizer});
    weights.add({.name = "moving_mean", .shape = each, .initializer = moving_mean_initializer, .trainable = false});
    weights.add(
        {.name = "moving_variance", .shape = each, .initializer = moving_variance_initializer, .trainable = false});
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 2LL * in[0].size(); }
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

// ---- stagecraft/layers/convolution_layer.hpp
// What all convolution layers have in common: a window that slides along one or two axes, a bias and an activation.
// Keras counterpart: the base class of tf.keras.layers.Conv1D and its like. Level 2.

namespace stagecraft::layers {

/// Base of the convolution layers. Size is size_2d, or int for those with one axis, which count as images of height 1.
/// Channels are the last axis (Keras's `data_format="channels_last"`).
///
/// Errors: E1001; E1031 for a kernel size, stride or dilation rate below 1; E1033 if strides and dilation rates are
/// both above 1; E1035 for an input of another number of axes; E1037 for causal padding along two axes.
template <class Derived, class Size>
struct convolution_layer : layer<Derived> {
  static constexpr bool is_2d = std::same_as<Size, size_2d>;
  /// Axes of one sample.
  static constexpr int axes = is_2d ? 3 : 2;

  Size kernel_size;
  Size strides;
  Size dilation_rate;
  stagecraft::padding padding;
  stagecraft::activation activation;
  bool use_bias;
  initializer bias_initializer;
  regularizer bias_regularizer;

  /// The window's way along the width of an input, or of one whose width is given.
  [[nodiscard]] constexpr sliding_window columns(int width) const {
    if constexpr (is_2d)
      return {width, kernel_size.width, strides.width, dilation_rate.width, padding};
    else
      return {width, kernel_size, strides, dilation_rate, padding};
  }
  /// The same for the height.
  [[nodiscard]] constexpr sliding_window rows(int height) const {
    if constexpr (is_2d)
      return {height, kernel_size.height, strides.height, dilation_rate.height, padding};
    else
      return {};
  }
  /// Width and height of an input.
  [[nodiscard]] static constexpr int width_of(shape const& in) { return in[in.rank() - 2]; }
  [[nodiscard]] static constexpr int height_of(shape const& in) { return is_2d ? in[in.rank() - 3] : 1; }

 protected:
  template <class Options>
  constexpr convolution_layer(Options const& options, Size const& kernel_size_, stagecraft::activation activation_)
      : kernel_size(kernel_size_),
        strides(options.strides),
        dilation_rate(options.dilation_rate),
        padding(options.padding),
        activation(activation_),
        use_bias(options.use_bias),
        bias_initializer(options.bias_initializer),
        bias_regularizer(options.bias_regularizer) {
    this->layer_name = options.name;
  }

  /// Whether the options and the number of axes are valid. With `more_axes`, axes before the image's count as batch.
  [[nodiscard]] constexpr bool check_options(layer_inputs const& in, bool more_axes = false) const {
    if (!in.expect_count(1, 1)) return false;
    int const rank = in[0].rank();
    if (least(kernel_size) < 1)
      in.error(1031, "has a kernel of size ", kernel_size, "; each number must be at least 1");
    else if (least(strides) < 1)
      in.error(1031, "has strides of ", strides, "; each number must be at least 1");
    else if (least(dilation_rate) < 1)
      in.error(1031, "has a dilation rate of ", dilation_rate, "; each number must be at least 1");
    else if (strides != Size(1) && dilation_rate != Size(1))
      in.error(1033, "has strides of ", strides, " and a dilation rate of ", dilation_rate, "; one of them must be 1");
    else if (is_2d && padding == padding::causal)
      in.error(1037, "has causal padding; only layers that convolve along one axis have that");
    else if (rank < axes || (rank > axes && !more_axes))
      in.error(1035, "expects an input of ", more_axes ? "at least " : "", axes,
               is_2d ? " axes, (height, width, channels)" : " axes, (steps, channels)", ", but got ", in[0]);
    else
      return true;
    return false;
  }
  /// Whether the window fits into the input: E1034.
  [[nodiscard]] constexpr bool check_window(layer_inputs const& in) const {
    auto const along = columns(width_of(in[0])), down = rows(height_of(in[0]));
    if (along.output() > 0 && down.output() > 0) return true;
    if constexpr (is_2d)
      in.error(1034, "has a window of ", size_2d(down.extent(), along.extent()),
               ", which does not fit into an input of ", in[0]);
    else
      in.error(1034, "has a window of ", along.extent(), " steps, which does not fit into an input of ", in[0]);
    return false;
  }
  /// The shape of an output of so many channels.
  [[nodiscard]] constexpr shape output_of(shape const& in, int channels) const {
    auto result = in;
    int const rank = in.rank();
    result[rank - 1] = channels;
    result[rank - 2] = columns(width_of(in)).output();
    if constexpr (is_2d) result[rank - 3] = rows(height_of(in)).output();
    return result;
  }
  /// (kernel_size..., inputs, outputs)
  [[nodiscard]] constexpr shape kernel_shape(int inputs, int outputs) const {
    if constexpr (is_2d)
      return {kernel_size.height, kernel_size.width, inputs, outputs};
    else
      return {kernel_size, inputs, outputs};
  }
  constexpr void add_bias(parameter_list& weights, int channels) const {
    if (use_bias)
      weights.add(
          {.name = "bias", .shape = {channels}, .initializer = bias_initializer, .regularizer = bias_regularizer});
  }
  /// Weights of one channel of the window.
  [[nodiscard]] constexpr int window_size() const { return columns(1).window * rows(1).window; }

 private:
  [[nodiscard]] static constexpr int least(int size) { return size; }
  [[nodiscard]] static constexpr int least(size_2d const& size) {
    return size.height < size.width ? size.height : size.width;
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/convolution.hpp
// What conv1d and conv2d have in common: all but the number of axes. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv1D (Size is int) and Conv2D (Size is size_2d).
template <class Size>
struct convolution_options {
  Size strides = 1;
  stagecraft::padding padding = stagecraft::padding::valid;
  Size dilation_rate = 1;
  int groups = 1;  ///< so many convolutions side by side, each of its own channels and filters
  bool use_bias = true;
  initializer kernel_initializer = initializers::glorot_uniform{};
  initializer bias_initializer = initializers::zeros{};
  regularizer kernel_regularizer = {};
  regularizer bias_regularizer = {};
  fixed_name name = {};
};

/// Base of conv1d and conv2d.
///
/// Weights: kernel (kernel_size..., channels / groups, filters), bias (filters). Cost: 2 FLOPs per weight of the kernel
/// and place of the output. Errors: those of convolution_layer; E1030 if filters is below 1; E1032 if groups does not
/// divide channels and filters; E1034 if the window does not fit into the input.
template <class Derived, class Size>
struct convolution : convolution_layer<Derived, Size> {
  using base = convolution_layer<Derived, Size>;
  using options_type = convolution_options<Size>;

  int filters;
  int groups;
  initializer kernel_initializer;
  regularizer kernel_regularizer;

  constexpr convolution(int filters_, Size const& kernel_size_)
      : convolution(options_type{}, filters_, kernel_size_, linear) {}
  constexpr convolution(int filters_, Size const& kernel_size_, options_type const& options)
      : convolution(options, filters_, kernel_size_, linear) {}
  template <std::same_as<stagecraft::activation> Activation>
  constexpr convolution(int filters_, Size const& kernel_size_, Activation activation_,
                        options_type const& options = {})
      : convolution(options, filters_, kernel_size_, activation_) {}

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!base::check_options(in, true)) return in[0];
    if (filters < 1) return in.error(1030, "has ", filters, " filters; it needs at least 1");
    int const channels = in[0].back();
    if (groups < 1 || channels % groups != 0 || filters % groups != 0)
      return in.error(1032, "has ", groups, " groups, which must divide the ", channels,
                      " channels of its input and its ", filters, " filters");
    return base::check_window(in) ? base::output_of(in[0], filters) : in[0];
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    weights.add({.name = "kernel",
                 .shape = base::kernel_shape(in[0].back() / groups, filters),
                 .initializer = kernel_initializer,
                 .regularizer = kernel_regularizer,
                 .layout = parameter_layout::matrix,
                 .groups = groups});
    base::add_bias(weights, filters);
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    long long const places = output_shape(in).size() / filters;
    return places * filters * (2LL * base::window_size() * (in[0].back() / groups) + (this->use_bias ? 1 : 0));
  }

 private:
  constexpr convolution(options_type const& options, int filters_, Size const& kernel_size_,
                        stagecraft::activation activation_)
      : base(options, kernel_size_, activation_),
        filters(filters_),
        groups(options.groups),
        kernel_initializer(options.kernel_initializer),
        kernel_regularizer(options.kernel_regularizer) {}
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/conv1d.hpp
// A convolution of sequences: tf.keras.layers.Conv1D. Level 2.

namespace stagecraft::layers {

using conv1d_options = convolution_options<int>;

/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., steps, channels) to (..., new steps, filters), where the new length is
/// floor((steps - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(steps / strides)
/// with padding::same and padding::causal. Weights: kernel (steps, channels / groups, filters), bias (filters).
/// Errors: E1030 to E1035, see convolution. Definition: Keras API, layers/convolution_layers/convolution1d.
struct conv1d : convolution<conv1d, int> {
  static constexpr std::string_view class_name = "Conv1D";
  static constexpr std::string_view usage =
      "conv1d{filters, kernel_size}, conv1d{filters, kernel_size, activation} or conv1d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}";

  using convolution::convolution;

  /// Anything else: E1025.
  template <class L = conv1d>
  constexpr explicit conv1d(...) : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/conv2d.hpp
// A convolution of images: tf.keras.layers.Conv2D. Level 2.

namespace stagecraft::layers {

using conv2d_options = convolution_options<size_2d>;

/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., height, width, channels) to (..., new height, new width, filters), where each of the new lengths is
/// floor((length - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(length / strides)
/// with padding::same. Weights: kernel (height, width, channels / groups, filters), bias (filters).
/// Errors: E1030 to E1035 and E1037, see convolution. Definition: Keras API, layers/convolution_layers/convolution2d.
struct conv2d : convolution<conv2d, size_2d> {
  static constexpr std::string_view class_name = "Conv2D";
  static constexpr std::string_view usage =
      "conv2d{filters, kernel_size}, conv2d{filters, kernel_size, activation} or conv2d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}";

  using convolution::convolution;

  /// Anything else: E1025.
  template <class L = conv2d>
  constexpr explicit conv2d(...) : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/conv2d_transpose.hpp
// The convolution that leads back, from a small image to a large one: tf.keras.layers.Conv2DTranspose. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv2DTranspose.
struct conv2d_transpose_options {
  size_2d strides = 1;
  stagecraft::padding padding = stagecraft::padding::valid;
  size_2d output_padding = no_output_padding;  ///< Keras's None unless it is given
  size_2d dilation_rate = 1;
  bool use_bias = true;
  initializer kernel_initializer = initializers::glorot_uniform{};
  initializer bias_initializer = initializers::zeros{};
  regularizer kernel_regularizer = {};
  regularizer bias_regularizer = {};
  fixed_name name = {};

  static constexpr size_2d no_output_padding{-1};
};

/// output = activation(transposed convolution of the input with the kernel + bias), channels last: the gradient of a
/// convolution with the same kernel, strides and padding, whose input has the shape of this layer's output.
///
/// Shape: (height, width, channels) to (new height, new width, filters). With k = dilation_rate * (kernel_size - 1) +
/// 1, each of the new lengths is
/// - without output_padding: length * strides with padding::same, length * strides + max(k - strides, 0) with
///   padding::valid;
/// - with it: (length - 1) * strides + k - 2 * p + output_padding, where p is k / 2 rounded down with padding::same and
///   0 with padding::valid.
/// Weights: kernel (height, width, filters, channels), bias (filters). Cost: 2 FLOPs per weight of the kernel and place
/// of the input, 1 per output for the bias.
/// Errors: E1031, E1033, E1035, E1037, see convolution_layer; E1030 if filters is below 1; E1038 if output_padding is
/// not less than the strides, or the new length is none from which a convolution leads back to the input's.
/// Definition: Keras API, layers/convolution_layers/convolution2d_transpose; keras/utils/conv_utils.py
/// (deconv_output_length).
struct conv2d_transpose : convolution_layer<conv2d_transpose, size_2d> {
  static constexpr std::string_view class_name = "Conv2DTranspose";
  static constexpr std::string_view usage =
      "conv2d_transpose{filters, kernel_size}, conv2d_transpose{filters, kernel_size, activation} or "
      "conv2d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}";

  int filters;
  size_2d output_padding;
  initializer kernel_initializer;
  regularizer kernel_regularizer;

  constexpr conv2d_transpose(int filters_, size_2d const& kernel_size_)
      : conv2d_transpose(conv2d_transpose_options{}, filters_, kernel_size_, linear) {}
  constexpr conv2d_transpose(int filters_, size_2d const& kernel_size_, conv2d_transpose_options const& options)
      : conv2d_transpose(options, filters_, kernel_size_, linear) {}
  template <std::same_as<stagecraft::activation> Activation>
  constexpr conv2d_transpose(int filters_, size_2d const& kernel_size_, Activation activation_,
                             conv2d_transpose_options const& options = {})
      : conv2d_transpose(options, filters_, kernel_size_, activation_) {}

  /// Anything else: E1025.
  template <class L = conv2d_transpose>
  constexpr explicit conv2d_transpose(...) : conv2d_transpose(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!check_options(in)) return in[0];
    if (filters < 1) return in.error(1030, "has ", filters, " filters; it needs at least 1");
    bool const given = output_padding != conv2d_transpose_options::no_output_padding;
    if (given && (output_padding.height < 0 || output_padding.height >= strides.height || output_padding.width < 0 ||
                  output_padding.width >= strides.width))
      return in.error(1038, "has an output padding of ", output_padding,
                      ", which must be at least 0 and less than its "
                      "strides of ",
                      strides);
    int const height = length(rows(height_of(in[0])), output_padding.height, given);
    int const width = length(columns(width_of(in[0])), output_padding.width, given);
    if (height < 1 || width < 1 || rows(height).output() != height_of(in[0]) ||
        columns(width).output() != width_of(in[0]))
      return in.error(1038, "has an output padding of ", output_padding, ", which makes an output of ",
                      size_2d(height, width), "; a convolution leads from there to another shape than ", in[0]);
    return {height, width, filters};
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    weights.add({.name = "kernel",
                 .shape = kernel_shape(filters, in[0].back()),
                 .initializer = kernel_initializer,
                 .regularizer = kernel_regularizer,
                 .layout = parameter_layout::matrix});
    add_bias(weights, filters);
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return 2LL * window_size() * filters * in[0].size() + (use_bias ? output_shape(in).size() : 0);
  }

 private:
  constexpr conv2d_transpose(conv2d_transpose_options const& options, int filters_, size_2d const& kernel_size_,
                             stagecraft::activation activation_)
      : convolution_layer(options, kernel_size_, activation_),
        filters(filters_),
        output_padding(options.output_padding),
        kernel_initializer(options.kernel_initializer),
        kernel_regularizer(options.kernel_regularizer) {}

  /// The output along one axis.
  [[nodiscard]] static constexpr int length(sliding_window const& window, int extra, bool given) {
    bool const same = window.padding == stagecraft::padding::same;
    int const k = window.extent();
    if (given) return (window.input - 1) * window.stride + k - (same ? k / 2 * 2 : 0) + extra;
    return window.input * window.stride + (!same && k > window.stride ? k - window.stride : 0);
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/border_2d.hpp
// Keras's `padding` and `cropping` arguments of layers that add or remove cells around an image or a sequence. Level 2.

namespace stagecraft {

/// Cells before and behind one axis; one number stands for both: `2` is `{2, 2}`.
struct border {
  int before = 0;
  int after = 0;

  constexpr border() = default;
  constexpr explicit(false) border(int both) : before(both), after(both) {}
  constexpr border(int before_, int after_) : before(before_), after(after_) {}

  [[nodiscard]] constexpr int total() const noexcept { return before + after; }
  friend constexpr bool operator==(border const&, border const&) = default;

  /// Appends "(1, 2)".
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(').append(before).append(", ").append(after).append(')');
  }
};

/// Cells around an image: `1` on all sides, `{1, 2}` above and below, left and right, or `{{top, bottom}, {left,
/// right}}`, as in Keras.
struct border_2d {
  border rows;
  border columns;

  constexpr border_2d() = default;
  constexpr explicit(false) border_2d(int all) : rows(all), columns(all) {}
  constexpr border_2d(int rows_, int columns_) : rows(rows_), columns(columns_) {}
  constexpr border_2d(border const& rows_, border const& columns_) : rows(rows_), columns(columns_) {}

  friend constexpr bool operator==(border_2d const&, border_2d const&) = default;

  /// Appends "((1, 1), (2, 2))".
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(');
    rows.append_to(text);
    text.append(", ");
    columns.append_to(text);
    text.append(')');
  }
};

}  // namespace stagecraft

// ---- stagecraft/layers/cropping1d.hpp
// Removes the ends of a sequence: tf.keras.layers.Cropping1D. Level 2.

namespace stagecraft::layers {

/// Removes the ends of a sequence. Default: 1 on each side.
///
/// Shape: (steps, channels) to (new steps, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number; E1045 if
/// nothing is left.
/// Definition: Keras API, layers/reshaping_layers/cropping1d.
struct cropping1d : layer<cropping1d> {
  static constexpr std::string_view class_name = "Cropping1D";
  static constexpr std::string_view usage = "cropping1d{1} or cropping1d{{before, after}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border cropping;

  constexpr cropping1d() : cropping1d(border(1)) {}
  constexpr explicit cropping1d(int all) : cropping1d(border(all)) {}
  constexpr explicit cropping1d(int const (&each)[2]) : cropping1d(border(each[0], each[1])) {}
  constexpr explicit cropping1d(border const& cropping_) : cropping(cropping_) {}

  /// Anything else: E1025.
  template <class L = cropping1d>
  constexpr explicit cropping1d(...) : cropping1d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (cropping.before < 0 || cropping.after < 0)
      return in.error(1044, "has a cropping of ", cropping, "; each number must be at least 0");
    if (in[0].rank() != 2) return in.error(1041, "expects an input of shape (steps, channels), but got ", in[0]);
    shape const result(in[0][0] - cropping.total(), in[0][1]);
    if (result[0] < 1)
      return in.error(1045, "has a cropping of ", cropping, ", which leaves nothing of an input of shape ", in[0]);
    return result;
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/cropping2d.hpp
// Removes the margins of an image: tf.keras.layers.Cropping2D. Level 2.

namespace stagecraft::layers {

/// Removes the margins of an image. Default: nothing.
///
/// Shape: (height, width, channels) to (new height, new width, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number; E1045 if
/// nothing is left.
/// Definition: Keras API, layers/reshaping_layers/cropping2d.
struct cropping2d : layer<cropping2d> {
  static constexpr std::string_view class_name = "Cropping2D";
  static constexpr std::string_view usage =
      "cropping2d{1}, cropping2d{{1, 2}} or cropping2d{{{top, bottom}, {left, right}}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border_2d cropping;

  constexpr cropping2d() : cropping2d(border_2d(0)) {}
  constexpr explicit cropping2d(int all) : cropping2d(border_2d(all)) {}
  constexpr explicit cropping2d(int const (&each)[2]) : cropping2d(border_2d(each[0], each[1])) {}
  constexpr explicit cropping2d(int const (&each)[2][2])
      : cropping2d(border_2d({each[0][0], each[0][1]}, {each[1][0], each[1][1]})) {}
  constexpr explicit cropping2d(border_2d const& cropping_) : cropping(cropping_) {}

  /// Anything else: E1025.
  template <class L = cropping2d>
  constexpr explicit cropping2d(...) : cropping2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (cropping.rows.before < 0 || cropping.rows.after < 0 || cropping.columns.before < 0 ||
        cropping.columns.after < 0)
      return in.error(1044, "has a cropping of ", cropping, "; each number must be at least 0");
    if (in[0].rank() != 3)
      return in.error(1041, "expects an input of shape (height, width, channels), but got ", in[0]);
    shape const result(in[0][0] - cropping.rows.total(), in[0][1] - cropping.columns.total(), in[0][2]);
    if (result[0] < 1 || result[1] < 1)
      return in.error(1045, "has a cropping of ", cropping, ", which leaves nothing of an input of shape ", in[0]);
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

// ---- stagecraft/layers/depthwise_conv2d.hpp
// A convolution of each channel by itself: tf.keras.layers.DepthwiseConv2D. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of DepthwiseConv2D.
struct depthwise_conv2d_options {
  size_2d strides = 1;
  stagecraft::padding padding = stagecraft::padding::valid;
  int depth_multiplier = 1;  ///< outputs per channel
  size_2d dilation_rate = 1;
  bool use_bias = true;
  initializer depthwise_initializer = initializers::glorot_uniform{};
  initializer bias_initializer = initializers::zeros{};
  regularizer depthwise_regularizer = {};
  regularizer bias_regularizer = {};
  fixed_name name = {};
};

/// Channel c of the input gives the channels c * depth_multiplier, ... of the output, by a kernel of one channel each.
///
/// Shape: (height, width, channels) to (new height, new width, channels * depth_multiplier), the new lengths as in
/// conv2d. Weights: depthwise_kernel (height, width, channels, depth_multiplier), bias (channels * depth_multiplier).
/// Cost: 2 * height * width FLOPs per output, and 1 for the bias. Strides may differ, which TensorFlow refuses.
/// Errors: E1031, E1033 to E1037, see convolution_layer; E1036 if depth_multiplier is below 1.
/// Definition: Keras API, layers/convolution_layers/depthwise_convolution2d.
struct depthwise_conv2d : convolution_layer<depthwise_conv2d, size_2d> {
  static constexpr std::string_view class_name = "DepthwiseConv2D";
  static constexpr std::string_view usage =
      "depthwise_conv2d{kernel_size}, depthwise_conv2d{kernel_size, activation} or depthwise_conv2d{kernel_size, "
      "activation, {.strides = 2, ...}}";

  int depth_multiplier;
  initializer depthwise_initializer;
  regularizer depthwise_regularizer;

  // GCC 12 does not choose between this constructor and the copy's for a lone number, so numbers have their own.
  constexpr explicit(false) depthwise_conv2d(size_2d const& kernel_size_)
      : depthwise_conv2d(depthwise_conv2d_options{}, kernel_size_, linear) {}
  constexpr explicit(false) depthwise_conv2d(int kernel_size_) : depthwise_conv2d(size_2d(kernel_size_)) {}
  constexpr depthwise_conv2d(size_2d const& kernel_size_, depthwise_conv2d_options const& options)
      : depthwise_conv2d(options, kernel_size_, linear) {}
  template <std::same_as<stagecraft::activation> Activation>
  constexpr depthwise_conv2d(size_2d const& kernel_size_, Activation activation_,
                             depthwise_conv2d_options const& options = {})
      : depthwise_conv2d(options, kernel_size_, activation_) {}

  /// Anything else: E1025.
  template <class L = depthwise_conv2d>
  constexpr explicit depthwise_conv2d(...) : depthwise_conv2d(size_2d(1)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!check_options(in)) return in[0];
    if (depth_multiplier < 1)
      return in.error(1036, "has a depth multiplier of ", depth_multiplier, "; it needs at least 1");
    return check_window(in) ? output_of(in[0], in[0].back() * depth_multiplier) : in[0];
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    weights.add({.name = "depthwise_kernel",
                 .shape = kernel_shape(in[0].back(), depth_multiplier),
                 .initializer = depthwise_initializer,
                 .regularizer = depthwise_regularizer});
    add_bias(weights, in[0].back() * depth_multiplier);
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return (2LL * window_size() + (use_bias ? 1 : 0)) * output_shape(in).size();
  }

 private:
  constexpr depthwise_conv2d(depthwise_conv2d_options const& options, size_2d const& kernel_size_,
                             stagecraft::activation activation_)
      : convolution_layer(options, kernel_size_, activation_),
        depth_multiplier(options.depth_multiplier),
        depthwise_initializer(options.depthwise_initializer),
        depthwise_regularizer(options.depthwise_regularizer) {}
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

// ---- stagecraft/layers/elu_layer.hpp
// The exponential linear unit as a layer of its own: tf.keras.layers.ELU. Level 2.

namespace stagecraft::layers {

/// f(x) = x for x > 0, alpha * (exp(x) - 1) below; alpha is 1 by default. It is not called `elu`, since that is the
/// activation: with alpha 1, `activation{sc::elu}` and `dense{units, sc::elu}` compute the same.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for an alpha that is not a number.
/// Definition: Keras API, layers/activation_layers/elu.
struct elu_layer : layer<elu_layer> {
  static constexpr std::string_view class_name = "ELU";
  static constexpr std::string_view usage = "elu_layer{} or elu_layer{alpha}";

  float alpha;

  constexpr elu_layer() : elu_layer(1.0F) {}
  constexpr explicit elu_layer(float alpha_) : alpha(alpha_) {}
  constexpr explicit elu_layer(double alpha_) : elu_layer(static_cast<float>(alpha_)) {}
  constexpr explicit elu_layer(int alpha_) : elu_layer(static_cast<float>(alpha_)) {}

  /// Anything else: E1025.
  template <class L = elu_layer>
  constexpr explicit elu_layer(...) : elu_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::elu(alpha); }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(alpha > -1e6F && alpha < 1e6F)) return in.error(1060, "has an alpha that is far out or not a number");
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

// ---- stagecraft/layers/global_pooling_layer.hpp
// What the layers have in common that reduce all positions of an image or a sequence. Keras counterpart: the base
// classes GlobalPooling1D and GlobalPooling2D of tf.keras.layers.GlobalAveragePooling2D and its like. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of the global pooling layers.
struct global_pooling_options {
  bool keepdims = false;  ///< the axes that are reduced stay, with a length of 1
  fixed_name name = {};
};

/// Base of global_average_pooling1d, global_average_pooling2d, global_max_pooling1d and global_max_pooling2d. Axes is 3
/// for images, 2 for sequences; channels are the last axis (`data_format="channels_last"`).
///
/// Errors: E1001; E1041 for an input of another number of axes.
template <class Derived, int Axes>
struct global_pooling_layer : layer<Derived> {
  bool keepdims;

  constexpr global_pooling_layer() : global_pooling_layer(global_pooling_options{}) {}
  constexpr explicit(false) global_pooling_layer(global_pooling_options const& options) : keepdims(options.keepdims) {
    this->layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = Derived>
  constexpr explicit global_pooling_layer(...) : global_pooling_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (in[0].rank() != Axes)
      return in.error(1041, "expects an input of shape ", Axes == 3 ? "(height, width, channels)" : "(steps, channels)",
                      ", but got ", in[0]);
    if (!keepdims) return shape(in[0].back());
    return Axes == 3 ? shape(1, 1, in[0].back()) : shape(1, in[0].back());
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/global_average_pooling1d.hpp
// The mean of each channel of a sequence: tf.keras.layers.GlobalAveragePooling1D. Level 2.

namespace stagecraft::layers {

/// The mean of each channel over all positions.
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling1d.
struct global_average_pooling1d : global_pooling_layer<global_average_pooling1d, 2> {
  static constexpr std::string_view class_name = "GlobalAveragePooling1D";
  static constexpr std::string_view usage =
      "global_average_pooling1d{} or global_average_pooling1d{{.keepdims = true, .name = ...}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  using global_pooling_layer<global_average_pooling1d, 2>::global_pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/global_average_pooling2d.hpp
// The mean of each channel of an image: tf.keras.layers.GlobalAveragePooling2D. Level 2.

namespace stagecraft::layers {

/// The mean of each channel over all positions.
///
/// Shape: (height, width, channels) to (channels), or (1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling2d.
struct global_average_pooling2d : global_pooling_layer<global_average_pooling2d, 3> {
  static constexpr std::string_view class_name = "GlobalAveragePooling2D";
  static constexpr std::string_view usage =
      "global_average_pooling2d{} or global_average_pooling2d{{.keepdims = true, .name = ...}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  using global_pooling_layer<global_average_pooling2d, 3>::global_pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/global_max_pooling1d.hpp
// The largest value of each channel of a sequence: tf.keras.layers.GlobalMaxPooling1D. Level 2.

namespace stagecraft::layers {

/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling1d.
struct global_max_pooling1d : global_pooling_layer<global_max_pooling1d, 2> {
  static constexpr std::string_view class_name = "GlobalMaxPooling1D";
  static constexpr std::string_view usage =
      "global_max_pooling1d{} or global_max_pooling1d{{.keepdims = true, .name = ...}}";

  using global_pooling_layer<global_max_pooling1d, 2>::global_pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/global_max_pooling2d.hpp
// The largest value of each channel of an image: tf.keras.layers.GlobalMaxPooling2D. Level 2.

namespace stagecraft::layers {

/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (height, width, channels) to (channels), or (1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling2d.
struct global_max_pooling2d : global_pooling_layer<global_max_pooling2d, 3> {
  static constexpr std::string_view class_name = "GlobalMaxPooling2D";
  static constexpr std::string_view usage =
      "global_max_pooling2d{} or global_max_pooling2d{{.keepdims = true, .name = ...}}";

  using global_pooling_layer<global_max_pooling2d, 3>::global_pooling_layer;
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

// ---- stagecraft/layers/axis_list.hpp
// Keras's "an integer or a list of integers": the axes that a layer works along. Level 2.

namespace stagecraft {

/// One axis or several, `-1` or `{1, 2}`, counted as in Keras: axis 0 is the batch, -1 the last one.
struct axis_list {
  static constexpr int capacity = shape::max_rank;

  int axes[capacity]{};
  int count = 0;

  template <std::integral... Axes>
    requires(sizeof...(Axes) >= 1 && sizeof...(Axes) <= capacity)
  constexpr explicit(false) axis_list(Axes... axis) : axes{static_cast<int>(axis)...}, count(sizeof...(Axes)) {}

  /// No axis at all, where a layer allows that.
  [[nodiscard]] static constexpr axis_list none() { return {}; }

  [[nodiscard]] constexpr int const* begin() const noexcept { return axes; }
  [[nodiscard]] constexpr int const* end() const noexcept { return axes + count; }
  friend constexpr bool operator==(axis_list const&, axis_list const&) = default;

  /// Appends "-1" or "(1, 2)".
  template <class Text>
  constexpr void append_to(Text& text) const {
    if (count > 1) text.append('(');
    for (int i = 0; i < count; ++i) {
      if (i > 0) text.append(", ");
      text.append(axes[i]);
    }
    if (count > 1) text.append(')');
  }

 private:
  constexpr axis_list() = default;
};

}  // namespace stagecraft

// ---- stagecraft/layers/layer_normalization.hpp
// Normalises each sample, or each row of it: tf.keras.layers.LayerNormalization. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of LayerNormalization.
struct layer_normalization_options {
  axis_list axis = -1;
  float epsilon = 1e-3F;
  bool center = true;
  bool scale = true;
  initializer beta_initializer = initializers::zeros{};
  initializer gamma_initializer = initializers::ones{};
  regularizer beta_regularizer = {};
  regularizer gamma_regularizer = {};
  fixed_name name = {};
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance over `axis`: the last axis
/// or a list of the last axes in their order, such as {1, 2} or {-2, -1} for an input of rank 3 (with the batch).
/// The same while training and in prediction.
///
/// Shape unchanged. Weights: gamma, beta, both of the shape of the normalised axes. Cost: 7 FLOPs per element.
/// Errors: E1050 axis; E1051 axes that are not the last ones; E1053 epsilon.
/// Definition: Keras API, layers/normalization_layers.
struct layer_normalization : layer<layer_normalization> {
  static constexpr std::string_view class_name = "LayerNormalization";
  static constexpr std::string_view usage =
      "layer_normalization{}, layer_normalization{axis} or layer_normalization{{.axis = {1, 2}, .name = ...}}";

  axis_list axis;
  float epsilon;
  bool center;
  bool scale;
  initializer beta_initializer;
  initializer gamma_initializer;
  regularizer beta_regularizer;
  regularizer gamma_regularizer;

  constexpr layer_normalization() : layer_normalization(layer_normalization_options{}) {}
  constexpr explicit layer_normalization(int axis_) : layer_normalization(layer_normalization_options{.axis = axis_}) {}
  constexpr explicit(false) layer_normalization(layer_normalization_options const& options)
      : axis(options.axis),
        epsilon(options.epsilon),
        center(options.center),
        scale(options.scale),
        beta_initializer(options.beta_initializer),
        gamma_initializer(options.gamma_initializer),
        beta_regularizer(options.beta_regularizer),
        gamma_regularizer(options.gamma_regularizer) {
    layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = layer_normalization>
  constexpr explicit layer_normalization(...) : layer_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The shape of what is normalised at once: the last axes, as many as `axis` names.
  [[nodiscard]] constexpr shape normalized_shape(shape const& in) const {
    shape result;
    for (int i = in.rank() - axis.count; i < in.rank(); ++i) result.push_back(in[i]);
    return result;
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    int const rank = in[0].rank();
    bool are_last = true;
    for (int i = 0; i < axis.count; ++i) {
      int const along = axis.axes[i] < 0 ? rank + axis.axes[i] : axis.axes[i] - 1;
      if (along < 0 || along >= rank)
        return in.error(1050, "normalises along axis ", axis.axes[i], ", which is not an axis of an input of shape ",
                        in[0], "; axis 0 is the batch, the last is ", rank);
      are_last = are_last && along == rank - axis.count + i;
    }
    if (!are_last)
      return in.error(1051, "normalises along axis ", axis, ", but it takes the last axes of its input alone, ",
                      "in their order; the input's shape is ", in[0], " behind the batch, which is axis 0");
    if (!(epsilon >= 0.0F && epsilon < 1e30F))
      return in.error(1053, "has an epsilon that is negative or not a number; Keras's default is 0.001");
    return in[0];
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    auto const each = normalized_shape(in[0]);
    if (scale)
      weights.add({.name = "gamma", .shape = each, .initializer = gamma_initializer, .regularizer = gamma_regularizer});
    if (center)
      weights.add({.name = "beta", .shape = each, .initializer = beta_initializer, .regularizer = beta_regularizer});
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 7LL * in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/leaky_re_lu.hpp
// A rectifier that lets a part of negative values pass: tf.keras.layers.LeakyReLU. Level 2.

namespace stagecraft::layers {

/// f(x) = x for x > 0, alpha * x below; alpha is 0.3 by default.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for an alpha that is not a number.
/// Definition: Keras API, layers/activation_layers/leaky_relu.
struct leaky_re_lu : layer<leaky_re_lu> {
  static constexpr std::string_view class_name = "LeakyReLU";
  static constexpr std::string_view usage = "leaky_re_lu{} or leaky_re_lu{alpha}";

  float alpha;

  constexpr leaky_re_lu() : leaky_re_lu(0.3F) {}
  constexpr explicit leaky_re_lu(float alpha_) : alpha(alpha_) {}
  constexpr explicit leaky_re_lu(double alpha_) : leaky_re_lu(static_cast<float>(alpha_)) {}
  constexpr explicit leaky_re_lu(int alpha_) : leaky_re_lu(static_cast<float>(alpha_)) {}

  /// Anything else: E1025.
  template <class L = leaky_re_lu>
  constexpr explicit leaky_re_lu(...) : leaky_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(alpha); }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(alpha > -1e6F && alpha < 1e6F)) return in.error(1060, "has an alpha that is far out or not a number");
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/max_pooling1d.hpp
// The largest value of a window that slides over a sequence: tf.keras.layers.MaxPooling1D. Level 2.

namespace stagecraft::layers {

/// The largest value of each window, channel by channel.
///
/// Shape: (steps, channels) to (new steps, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling1d.
struct max_pooling1d : pooling_layer<max_pooling1d, int> {
  static constexpr std::string_view class_name = "MaxPooling1D";
  static constexpr std::string_view usage =
      "max_pooling1d{pool_size} or max_pooling1d{pool_size, {.strides = 1, .padding = sc::padding::same, .name = ...}}";

  using pooling_layer<max_pooling1d, int>::pooling_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/max_pooling2d.hpp
// The largest value of a window that slides over an image: tf.keras.layers.MaxPooling2D. Level 2.

namespace stagecraft::layers {

/// The largest value of each window, channel by channel.
///
/// Shape: (height, width, channels) to (new height, new width, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling2d.
struct max_pooling2d : pooling_layer<max_pooling2d, size_2d> {
  static constexpr std::string_view class_name = "MaxPooling2D";
  static constexpr std::string_view usage =
      "max_pooling2d{pool_size} or max_pooling2d{pool_size, {.strides = 1, .padding = sc::padding::same, .name = ...}}";

  using pooling_layer<max_pooling2d, size_2d>::pooling_layer;
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

// ---- stagecraft/layers/prelu.hpp
// A rectifier that learns its slope below zero: tf.keras.layers.PReLU. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of PReLU.
struct prelu_options {
  initializer alpha_initializer = initializers::zeros{};
  regularizer alpha_regularizer = {};
  axis_list shared_axes = axis_list::none();  ///< axes along which all elements have one slope: {1, 2} for an image
  fixed_name name = {};
};

/// f(x) = x for x > 0, alpha * x below, with an alpha of its own for each element of a sample, but along the
/// `shared_axes`, which count as in Keras: the batch is axis 0, -1 is the last.
///
/// Shape unchanged. Weights: alpha, of the input's shape with 1 for the shared axes. Errors: E1001; E1062 for an axis
/// that the input does not have, or the batch. Definition: Keras API, layers/activation_layers/prelu.
struct prelu : layer<prelu> {
  static constexpr std::string_view class_name = "PReLU";
  static constexpr std::string_view usage = "prelu{} or prelu{{.shared_axes = {1, 2}, .name = ...}}";
  static constexpr bool backward_uses_output = false;

  initializer alpha_initializer;
  regularizer alpha_regularizer;
  axis_list shared_axes;

  constexpr prelu() : prelu(prelu_options{}) {}
  constexpr explicit(false) prelu(prelu_options const& options)
      : alpha_initializer(options.alpha_initializer),
        alpha_regularizer(options.alpha_regularizer),
        shared_axes(options.shared_axes) {
    layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = prelu>
  constexpr explicit prelu(...) : prelu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape alpha_shape(shape const& in) const {
    auto result = in;
    for (int i = 0; i < shared_axes.count; ++i) result[shape_axis(shared_axes.axes[i], in)] = 1;
    return result;
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    for (int i = 0; i < shared_axes.count; ++i) {
      int const axis = shape_axis(shared_axes.axes[i], in[0]);
      if (axis < 0 || axis >= in[0].rank())
        return in.error(1062, "shares its slopes along axis ", shared_axes.axes[i],
                        ", which is not an axis of an input of shape ", in[0], "; axis 0 is the batch, the last is ",
                        in[0].rank());
    }
    return in[0];
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    weights.add({.name = "alpha",
                 .shape = alpha_shape(in[0]),
                 .initializer = alpha_initializer,
                 .regularizer = alpha_regularizer});
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 2LL * in[0].size(); }

 private:
  static constexpr int shape_axis(int axis, shape const& in) { return axis < 0 ? in.rank() + axis : axis - 1; }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/re_lu.hpp
// The rectifier as a layer of its own, with its options: tf.keras.layers.ReLU. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of ReLU.
struct re_lu_options {
  float max_value = -1;  ///< the largest output; negative, like Keras's None: unlimited
  float negative_slope = 0;
  float threshold = 0;
  fixed_name name = {};
};

/// f(x) = max_value for x >= max_value, x for threshold <= x < max_value, negative_slope * (x - threshold) below.
/// `re_lu{6}` has a max_value of 6.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for a negative slope or threshold.
/// Definition: Keras API, layers/activation_layers/relu.
struct re_lu : layer<re_lu> {
  static constexpr std::string_view class_name = "ReLU";
  static constexpr std::string_view usage = "re_lu{}, re_lu{max_value} or re_lu{{.negative_slope = 0.1F, .name = ...}}";

  float max_value;
  float negative_slope;
  float threshold;

  constexpr re_lu() : re_lu(re_lu_options{}) {}
  constexpr explicit re_lu(float max_value_) : re_lu(re_lu_options{.max_value = max_value_}) {}
  constexpr explicit re_lu(double max_value_) : re_lu(static_cast<float>(max_value_)) {}
  constexpr explicit re_lu(int max_value_) : re_lu(static_cast<float>(max_value_)) {}
  constexpr explicit(false) re_lu(re_lu_options const& options)
      : max_value(options.max_value), negative_slope(options.negative_slope), threshold(options.threshold) {
    layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = re_lu>
  constexpr explicit re_lu(...) : re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const {
    return activations::relu(negative_slope, max_value < 0 ? -1 : max_value, threshold);
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(negative_slope >= 0.0F && negative_slope < 1e6F))
      return in.error(1060, "has a negative_slope that is negative or not a number; it must be at least 0");
    if (!(threshold >= 0.0F && threshold < 1e30F))
      return in.error(1060, "has a threshold that is negative or not a number; it must be at least 0");
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
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

// ---- stagecraft/layers/separable_convolution.hpp
// What separable_conv1d and separable_conv2d have in common: all but the number of axes. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of SeparableConv1D (Size is int) and SeparableConv2D (Size is size_2d).
template <class Size>
struct separable_convolution_options {
  Size strides = 1;
  stagecraft::padding padding = stagecraft::padding::valid;
  Size dilation_rate = 1;
  int depth_multiplier = 1;  ///< channels between the two steps, per channel of the input
  bool use_bias = true;
  initializer depthwise_initializer = initializers::glorot_uniform{};
  initializer pointwise_initializer = initializers::glorot_uniform{};
  initializer bias_initializer = initializers::zeros{};
  regularizer depthwise_regularizer = {};
  regularizer pointwise_regularizer = {};
  regularizer bias_regularizer = {};
  fixed_name name = {};
};

/// Base of separable_conv1d and separable_conv2d: each channel is convolved by itself, and the results are mixed.
///
/// Weights: depthwise_kernel (kernel_size..., channels, depth_multiplier), pointwise_kernel
/// (1..., channels * depth_multiplier, filters), bias (filters). Cost: 2 FLOPs per weight of both kernels and place of
/// the output. Errors: those of convolution_layer; E1030 if filters is below 1; E1034 if the window does not fit into
/// the input; E1036 if depth_multiplier is below 1.
template <class Derived, class Size>
struct separable_convolution : convolution_layer<Derived, Size> {
  using base = convolution_layer<Derived, Size>;
  using options_type = separable_convolution_options<Size>;

  int filters;
  int depth_multiplier;
  initializer depthwise_initializer;
  initializer pointwise_initializer;
  regularizer depthwise_regularizer;
  regularizer pointwise_regularizer;

  constexpr separable_convolution(int filters_, Size const& kernel_size_)
      : separable_convolution(options_type{}, filters_, kernel_size_, linear) {}
  constexpr separable_convolution(int filters_, Size const& kernel_size_, options_type const& options)
      : separable_convolution(options, filters_, kernel_size_, linear) {}
  template <std::same_as<stagecraft::activation> Activation>
  constexpr separable_convolution(int filters_, Size const& kernel_size_, Activation activation_,
                                  options_type const& options = {})
      : separable_convolution(options, filters_, kernel_size_, activation_) {}

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!base::check_options(in)) return in[0];
    if (filters < 1) return in.error(1030, "has ", filters, " filters; it needs at least 1");
    if (depth_multiplier < 1)
      return in.error(1036, "has a depth multiplier of ", depth_multiplier, "; it needs at least 1");
    return base::check_window(in) ? base::output_of(in[0], filters) : in[0];
  }
  /// Of what the first step gives.
  [[nodiscard]] constexpr shape depthwise_shape(shape const& in) const {
    return base::output_of(in, in.back() * depth_multiplier);
  }
  /// Floats that a batch keeps: sums + bias, if that is wanted, in whole cache lines; then what the first step gives.
  [[nodiscard]] constexpr long long kept_floats(shape const& in, int batch, bool sums) const {
    return kept_sums(in, batch, sums) + static_cast<long long>(batch) * depthwise_shape(in).size();
  }
  [[nodiscard]] constexpr long long kept_sums(shape const& in, int batch, bool sums) const {
    long long const floats = static_cast<long long>(batch) * base::output_of(in, filters).size();
    return sums ? (floats + 15) / 16 * 16 : 0;
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const {
    int const between = in[0].back() * depth_multiplier;
    weights.add({.name = "depthwise_kernel",
                 .shape = base::kernel_shape(in[0].back(), depth_multiplier),
                 .initializer = depthwise_initializer,
                 .regularizer = depthwise_regularizer});
    weights.add({.name = "pointwise_kernel",
                 .shape = base::is_2d ? shape(1, 1, between, filters) : shape(1, between, filters),
                 .initializer = pointwise_initializer,
                 .regularizer = pointwise_regularizer,
                 .layout = parameter_layout::matrix});
    base::add_bias(weights, filters);
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    long long const between = depthwise_shape(in[0]).size(), out = output_shape(in).size();
    return 2LL * base::window_size() * between +
           out * (2LL * in[0].back() * depth_multiplier + (this->use_bias ? 1 : 0));
  }

 private:
  constexpr separable_convolution(options_type const& options, int filters_, Size const& kernel_size_,
                                  stagecraft::activation activation_)
      : base(options, kernel_size_, activation_),
        filters(filters_),
        depth_multiplier(options.depth_multiplier),
        depthwise_initializer(options.depthwise_initializer),
        pointwise_initializer(options.pointwise_initializer),
        depthwise_regularizer(options.depthwise_regularizer),
        pointwise_regularizer(options.pointwise_regularizer) {}
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/separable_conv1d.hpp
// A convolution of sequences in two steps: tf.keras.layers.SeparableConv1D. Level 2.

namespace stagecraft::layers {

using separable_conv1d_options = separable_convolution_options<int>;

/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (steps, channels) to (new steps, filters), the new length as in conv1d.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution1d.
struct separable_conv1d : separable_convolution<separable_conv1d, int> {
  static constexpr std::string_view class_name = "SeparableConv1D";
  static constexpr std::string_view usage =
      "separable_conv1d{filters, kernel_size}, separable_conv1d{filters, kernel_size, activation} or "
      "separable_conv1d{filters, kernel_size, activation, {.strides = 2, ...}}";

  using separable_convolution::separable_convolution;

  /// Anything else: E1025.
  template <class L = separable_conv1d>
  constexpr explicit separable_conv1d(...) : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/separable_conv2d.hpp
// A convolution of images in two steps: tf.keras.layers.SeparableConv2D. Level 2.

namespace stagecraft::layers {

using separable_conv2d_options = separable_convolution_options<size_2d>;

/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (height, width, channels) to (new height, new width, filters), the new lengths as in conv2d.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution2d.
struct separable_conv2d : separable_convolution<separable_conv2d, size_2d> {
  static constexpr std::string_view class_name = "SeparableConv2D";
  static constexpr std::string_view usage =
      "separable_conv2d{filters, kernel_size}, separable_conv2d{filters, kernel_size, activation} or "
      "separable_conv2d{filters, kernel_size, activation, {.strides = 2, ...}}";

  using separable_convolution::separable_convolution;

  /// Anything else: E1025.
  template <class L = separable_conv2d>
  constexpr explicit separable_conv2d(...) : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/softmax_layer.hpp
// Softmax as a layer of its own, along any axis: tf.keras.layers.Softmax. Level 2.

namespace stagecraft::layers {

/// exp(x) divided by the sum of exp(x) along `axis`, which counts as in Keras: the batch is axis 0, -1 is the last. It
/// is not called `softmax`, since that is the activation: along the last axis, `activation{sc::softmax}` and
/// `dense{units, sc::softmax}` compute the same.
///
/// Shape unchanged, no weights. Errors: E1001; E1061 for an axis that the input does not have, or the batch.
/// Definition: Keras API, layers/activation_layers/softmax.
struct softmax_layer : layer<softmax_layer> {
  static constexpr std::string_view class_name = "Softmax";
  static constexpr std::string_view usage = "softmax_layer{} or softmax_layer{axis}";
  static constexpr bool backward_uses_input = false;

  int axis;

  constexpr explicit softmax_layer(int axis_ = -1) : axis(axis_) {}

  /// Anything else: E1025.
  template <class L = softmax_layer>
  constexpr explicit softmax_layer(...) : softmax_layer(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis among those of a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (shape_axis(in[0]) < 0 || shape_axis(in[0]) >= in[0].rank())
      return in.error(1061, "works along axis ", axis, ", which is not an axis of an input of shape ", in[0],
                      "; axis 0 is the batch, the last is ", in[0].rank());
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 5LL * in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/spatial_dropout_layer.hpp
// What spatial_dropout1d and spatial_dropout2d have in common. Keras counterpart: the base class of
// tf.keras.layers.SpatialDropout1D and SpatialDropout2D. Level 2.

namespace stagecraft::layers {

/// While training, each channel of a sample is 0 with probability `rate` at all positions, and multiplied by
/// 1 / (1 - rate) otherwise; at inference the input passes unchanged. Which channels are dropped follows from the
/// trainer's seed (or `seed`, unless 0), the call and the step, not from threads. Axes is 3 for images, 2 for
/// sequences.
///
/// Errors: E1001; E1013 if rate is not in [0, 1); E1041 for an input of another number of axes.
template <class Derived, int Axes>
struct spatial_dropout_layer : layer<Derived> {
  float rate;
  std::uint64_t seed;

  constexpr explicit spatial_dropout_layer(float rate_, std::uint64_t seed_ = 0) : rate(rate_), seed(seed_) {}
  constexpr explicit spatial_dropout_layer(double rate_, std::uint64_t seed_ = 0)
      : spatial_dropout_layer(static_cast<float>(rate_), seed_) {}
  constexpr explicit spatial_dropout_layer(int rate_, std::uint64_t seed_ = 0)
      : spatial_dropout_layer(static_cast<float>(rate_), seed_) {}

  /// Anything else: E1025.
  template <class L = Derived>
  constexpr explicit spatial_dropout_layer(...) : spatial_dropout_layer(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(rate > -1e6F && rate < 1e6F))
      return in.error(1013, "has a rate that is far out or not a number; it must be at least 0 and below 1");
    if (!(rate >= 0.0F && rate < 1.0F))
      return in.error(1013, "has a rate of ", static_cast<int>(rate * 100),
                      " percent; it must be at least 0 and below 1");
    if (in[0].rank() != Axes)
      return in.error(1041, "expects an input of shape ", Axes == 3 ? "(height, width, channels)" : "(steps, channels)",
                      ", but got ", in[0]);
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/spatial_dropout1d.hpp
// Sets random channels of a sequence to zero while training: tf.keras.layers.SpatialDropout1D. Level 2.

namespace stagecraft::layers {

/// Drops whole channels, see spatial_dropout_layer. Shape (steps, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout1d.
struct spatial_dropout1d : spatial_dropout_layer<spatial_dropout1d, 2> {
  static constexpr std::string_view class_name = "SpatialDropout1D";
  static constexpr std::string_view usage = "spatial_dropout1d{rate} or spatial_dropout1d{rate, seed}";

  using spatial_dropout_layer<spatial_dropout1d, 2>::spatial_dropout_layer;
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/spatial_dropout2d.hpp
// Sets random channels of an image to zero while training: tf.keras.layers.SpatialDropout2D. Level 2.

namespace stagecraft::layers {

/// Drops whole channels, see spatial_dropout_layer. Shape (height, width, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout2d.
struct spatial_dropout2d : spatial_dropout_layer<spatial_dropout2d, 3> {
  static constexpr std::string_view class_name = "SpatialDropout2D";
  static constexpr std::string_view usage = "spatial_dropout2d{rate} or spatial_dropout2d{rate, seed}";

  using spatial_dropout_layer<spatial_dropout2d, 3>::spatial_dropout_layer;
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

// ---- stagecraft/layers/thresholded_re_lu.hpp
// A rectifier with a threshold: tf.keras.layers.ThresholdedReLU. Level 2.

namespace stagecraft::layers {

/// f(x) = x for x > theta, 0 otherwise; theta is 1 by default.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for a negative theta.
/// Definition: Keras API, layers/activation_layers/threshold_relu.
struct thresholded_re_lu : layer<thresholded_re_lu> {
  static constexpr std::string_view class_name = "ThresholdedReLU";
  static constexpr std::string_view usage = "thresholded_re_lu{} or thresholded_re_lu{theta}";

  float theta;

  constexpr thresholded_re_lu() : thresholded_re_lu(1.0F) {}
  constexpr explicit thresholded_re_lu(float theta_) : theta(theta_) {}
  constexpr explicit thresholded_re_lu(double theta_) : thresholded_re_lu(static_cast<float>(theta_)) {}
  constexpr explicit thresholded_re_lu(int theta_) : thresholded_re_lu(static_cast<float>(theta_)) {}

  /// Anything else: E1025.
  template <class L = thresholded_re_lu>
  constexpr explicit thresholded_re_lu(...) : thresholded_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(0, -1, theta); }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (!(theta >= 0.0F && theta < 1e30F)) return in.error(1060, "has a theta that is negative or not a number");
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/up_sampling1d.hpp
// Repeats each step of a sequence: tf.keras.layers.UpSampling1D. Level 2.

namespace stagecraft::layers {

/// Repeats each step of a sequence `size` times (default 2).
///
/// Shape: (steps, channels) to (size * steps, channels). No weights, no arithmetic.
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling1d.
struct up_sampling1d : layer<up_sampling1d> {
  static constexpr std::string_view class_name = "UpSampling1D";
  static constexpr std::string_view usage = "up_sampling1d{size}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  int size;

  constexpr explicit up_sampling1d(int size_ = 2) : size(size_) {}

  /// Anything else: E1025.
  template <class L = up_sampling1d>
  constexpr explicit up_sampling1d(...) : up_sampling1d(2) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (size < 1) return in.error(1046, "has a size of ", size, "; it must be at least 1");
    if (in[0].rank() != 2) return in.error(1041, "expects an input of shape (steps, channels), but got ", in[0]);
    return {size * in[0][0], in[0][1]};
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/interpolation.hpp
// Keras's `interpolation` argument of up_sampling2d. Level 2.

namespace stagecraft {

/// How the pixels of a larger image follow from those of a smaller one.
enum class interpolation : unsigned char {
  nearest,   ///< each pixel is repeated
  bilinear,  ///< between the centres of the pixels, each of which lies at its half
};

}  // namespace stagecraft

// ---- stagecraft/layers/up_sampling2d.hpp
// Makes an image larger by whole factors: tf.keras.layers.UpSampling2D. Level 2.

namespace stagecraft::layers {

/// Keras's keyword arguments of UpSampling2D behind `size`.
struct up_sampling2d_options {
  stagecraft::interpolation interpolation = interpolation::nearest;
  fixed_name name = {};
};

/// Makes an image `size` times as high and as wide (default 2), by repeating its pixels or by bilinear interpolation.
///
/// Shape: (height, width, channels) to (size.height * height, size.width * width, channels). No weights. Channels are
/// the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling2d; TensorFlow's image.resize with half-pixel centres.
struct up_sampling2d : layer<up_sampling2d> {
  static constexpr std::string_view class_name = "UpSampling2D";
  static constexpr std::string_view usage =
      "up_sampling2d{size} or up_sampling2d{size, {.interpolation = sc::interpolation::bilinear, .name = ...}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  size_2d size;
  stagecraft::interpolation interpolation;

  constexpr up_sampling2d() : up_sampling2d(size_2d(2), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int both) : up_sampling2d(size_2d(both), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int const (&each)[2]) : up_sampling2d(size_2d(each[0], each[1])) {}
  constexpr explicit up_sampling2d(size_2d const& size_) : up_sampling2d(size_, up_sampling2d_options{}) {}
  constexpr up_sampling2d(size_2d const& size_, up_sampling2d_options const& options)
      : size(size_), interpolation(options.interpolation) {
    layer_name = options.name;
  }

  /// Anything else: E1025.
  template <class L = up_sampling2d>
  constexpr explicit up_sampling2d(...) : up_sampling2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (size.height < 1 || size.width < 1)
      return in.error(1046, "has a size of ", size, "; each number must be at least 1");
    if (in[0].rank() != 3)
      return in.error(1041, "expects an input of shape (height, width, channels), but got ", in[0]);
    return {size.height * in[0][0], size.width * in[0][1], in[0][2]};
  }
  /// Bilinear: three interpolations of three FLOPs each per element.
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return interpolation == interpolation::nearest ? 0 : 9LL * size.area() * in[0].size();
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/zero_padding1d.hpp
// Puts zeros before and behind a sequence: tf.keras.layers.ZeroPadding1D. Level 2.

namespace stagecraft::layers {

/// Puts zeros before and behind a sequence. Default: 1 on each side.
///
/// Shape: (steps, channels) to (new steps, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding1d.
struct zero_padding1d : layer<zero_padding1d> {
  static constexpr std::string_view class_name = "ZeroPadding1D";
  static constexpr std::string_view usage = "zero_padding1d{1} or zero_padding1d{{before, after}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border padding;

  constexpr zero_padding1d() : zero_padding1d(border(1)) {}
  constexpr explicit zero_padding1d(int all) : zero_padding1d(border(all)) {}
  constexpr explicit zero_padding1d(int const (&each)[2]) : zero_padding1d(border(each[0], each[1])) {}
  constexpr explicit zero_padding1d(border const& padding_) : padding(padding_) {}

  /// Anything else: E1025.
  template <class L = zero_padding1d>
  constexpr explicit zero_padding1d(...) : zero_padding1d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (padding.before < 0 || padding.after < 0)
      return in.error(1044, "has a padding of ", padding, "; each number must be at least 0");
    if (in[0].rank() != 2) return in.error(1041, "expects an input of shape (steps, channels), but got ", in[0]);
    return {in[0][0] + padding.total(), in[0][1]};
  }
};

}  // namespace stagecraft::layers

// ---- stagecraft/layers/zero_padding2d.hpp
// Puts zeros around an image: tf.keras.layers.ZeroPadding2D. Level 2.

namespace stagecraft::layers {

/// Puts zeros around an image. Default: 1 on each side.
///
/// Shape: (height, width, channels) to (new height, new width, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding2d.
struct zero_padding2d : layer<zero_padding2d> {
  static constexpr std::string_view class_name = "ZeroPadding2D";
  static constexpr std::string_view usage =
      "zero_padding2d{1}, zero_padding2d{{1, 2}} or zero_padding2d{{{top, bottom}, {left, right}}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border_2d padding;

  constexpr zero_padding2d() : zero_padding2d(border_2d(1)) {}
  constexpr explicit zero_padding2d(int all) : zero_padding2d(border_2d(all)) {}
  constexpr explicit zero_padding2d(int const (&each)[2]) : zero_padding2d(border_2d(each[0], each[1])) {}
  constexpr explicit zero_padding2d(int const (&each)[2][2])
      : zero_padding2d(border_2d({each[0][0], each[0][1]}, {each[1][0], each[1][1]})) {}
  constexpr explicit zero_padding2d(border_2d const& padding_) : padding(padding_) {}

  /// Anything else: E1025.
  template <class L = zero_padding2d>
  constexpr explicit zero_padding2d(...) : zero_padding2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (padding.rows.before < 0 || padding.rows.after < 0 || padding.columns.before < 0 || padding.columns.after < 0)
      return in.error(1044, "has a padding of ", padding, "; each number must be at least 0");
    if (in[0].rank() != 3)
      return in.error(1041, "expects an input of shape (height, width, channels), but got ", in[0]);
    return {in[0][0] + padding.rows.total(), in[0][1] + padding.columns.total(), in[0][2]};
  }
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
  } else if constexpr (std::same_as<Entry, activation>) {
    problem.report(1019, "entry ", position,
                   " of a sequential model is a value of type 'activation', which is neither a layer nor a model; the "
                   "layer is activation{...}, with the function in its braces");
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

// ---- stagecraft/execution/thread_team.hpp
// Threads that carry out one step after another together. Level 5.

namespace stagecraft {

/// `size` threads, the calling one included, that run the same work, each with its own number. The others are started
/// once; between two pieces of work they wait, first in a loop, then asleep. Nothing is allocated after the start.
///
/// Only the calling thread may throw while work runs: the others then leave their work at the next `synchronize`, and
/// the exception goes on.
/// Errors: std::system_error if the system gives no more threads.
class thread_team {
 public:
  explicit thread_team(int size) : size_(size), patience_(patience(size)) {
    others_.reserve(static_cast<std::size_t>(size - 1));
    try {
      for (int thread = 1; thread < size; ++thread) others_.emplace_back([this, thread] { serve(thread); });
    } catch (...) {
      stop();
      throw;
    }
  }
  thread_team(thread_team const&) = delete;
  thread_team& operator=(thread_team const&) = delete;
  ~thread_team() { stop(); }

  [[nodiscard]] int size() const noexcept { return size_; }

  /// Calls work(0) here and work(1), work(2), ... on the other threads, and waits for all.
  template <class Work>
  void run(Work& work) {
    work_ = &work;
    call_ = [](void* what, int thread) { (*static_cast<Work*>(what))(thread); };
    left_.store(size_ - 1, std::memory_order_relaxed);
    signal(begun_);
    try {
      work(0);
    } catch (...) {
      failed_.store(true, std::memory_order_relaxed);
      signal(passed_);
      finish();
      arrived_.store(0, std::memory_order_relaxed);
      failed_.store(false, std::memory_order_relaxed);
      throw;
    }
    finish();
  }

  /// Waits until all threads have come here. False if the work has failed: then a thread has nothing more to do.
  bool synchronize() {
    auto const phase = passed_.load(std::memory_order_acquire);
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      signal(passed_);
    } else {
      await(passed_, phase);
    }
    return !failed_.load(std::memory_order_relaxed);
  }

 private:
  using counter = std::atomic<std::uint32_t>;

  static void signal(counter& number) {
    number.fetch_add(1, std::memory_order_release);
    number.notify_all();
  }

  void await(counter const& number, std::uint32_t old) const {
    for (int attempt = 0; attempt < patience_; ++attempt) {
      if (number.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    while (number.load(std::memory_order_acquire) == old) number.wait(old, std::memory_order_acquire);
  }

  void serve(int thread) {
    for (std::uint32_t seen = 0;; ++seen) {
      await(begun_, seen);
      if (call_ == nullptr) return;
      call_(work_, thread);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) signal(ended_);
    }
  }

  void finish() {
    if (size_ == 1) return;
    await(ended_, ended_before_);
    ++ended_before_;
  }

  void stop() {
    call_ = nullptr;
    signal(begun_);
    for (auto& thread : others_) thread.join();
    others_.clear();
  }

  // Some tens of microseconds; none where threads have to take turns.
  static int patience(int size) {
    auto const processors = std::thread::hardware_concurrency();
    return processors != 0 && static_cast<unsigned>(size) > processors ? 0 : 4000;
  }

  int size_;
  int patience_;
  void* work_ = nullptr;
  void (*call_)(void*, int) = nullptr;
  std::uint32_t ended_before_ = 0;
  std::atomic<bool> failed_ = false;
  // Each in a cache line of its own: waiting for one must not slow down the others.
  alignas(64) counter begun_ = 0;
  alignas(64) counter ended_ = 0;
  alignas(64) counter passed_ = 0;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<int> left_ = 0;
  std::vector<std::thread> others_;
};

}  // namespace stagecraft

// ---- stagecraft/kernels/share.hpp
// How the work of one kernel is divided among threads: always at the same places, so that results do not depend on the
// number of threads. Level 4 of the house.

namespace stagecraft::kernels {

/// The part of a kernel's work that one of `count` threads does. A kernel numbers pieces of its work that write
/// different places, in an order that depends on shapes only; each thread does a range of them. The default is all of
/// the work.
struct share {
  int index = 0;
  int count = 1;

  struct range {
    std::int64_t first;
    std::int64_t last;
  };

  /// This thread's items of [0, items). Ranges begin at multiples of `granule` (16 floats: no two threads write one
  /// cache line).
  [[nodiscard]] constexpr range of(std::int64_t items, std::int64_t granule = 1) const noexcept {
    std::int64_t const granules = (items + granule - 1) / granule;
    auto const begin = [&](int thread) {
      std::int64_t const item = granules * thread / count * granule;
      return item < items ? item : items;
    };
    return {begin(index), begin(index + 1)};
  }
  [[nodiscard]] constexpr bool is_whole() const noexcept { return count == 1; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return index == 0; }
};

}  // namespace stagecraft::kernels

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

/// What a step finds at run time, on one thread. All else is constant.
struct host_memory {
  float* block = nullptr;  ///< the program's tensors
  float* weights = nullptr;
  float* gradients = nullptr;
  float* slots = nullptr;      ///< the optimizer's state: one copy of the weights' layout after the other
  float* workspace = nullptr;  ///< of this thread alone
  std::uint64_t seed = 1;
  std::uint64_t step = 0;   ///< training steps so far: tells the dropout masks of two steps apart
  std::int64_t update = 1;  ///< number of the weight update that this step belongs to, from 1
  float learning_rate = 0;
  int valid_samples = 0;        ///< samples of this step; the rest of the batch only fills it
  kernels::share share = {};    ///< which of the threads this is
  thread_team* team = nullptr;  ///< null if there is one thread only
};

}  // namespace stagecraft

// ---- stagecraft/kernels/flush_denormals.hpp
// Arithmetic without denormal numbers, which processors treat a hundred times as slowly as others. Level 4 of the
// house.

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace stagecraft::kernels {

/// While it lives, numbers below 2^-126 in size are 0 in the arithmetic of the calling thread: results as well as
/// operands. An optimizer's state decays into them where gradients stay 0. TensorFlow's threads do the same. Without an
/// effect on processors other than x86.
class flush_denormals {
 public:
#if defined(__SSE2__)
  flush_denormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | denormals_are_zero); }
  ~flush_denormals() { _mm_setcsr(before_); }
#else
  flush_denormals() {}
  ~flush_denormals() {}
#endif
  flush_denormals(flush_denormals const&) = delete;
  flush_denormals& operator=(flush_denormals const&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

  unsigned before_;
#endif
};

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/host_threads.hpp
// The threads that a session's steps are divided among. Level 5.

namespace stagecraft {

/// `Threads` threads, the calling one included. They keep their place when a session moves.
template <int Threads>
class host_threads {
 public:
  /// Calls `work(memory)` on each thread, with its own share and its own workspace of `workspace_floats` floats behind
  /// that of the thread before. Denormal numbers count as 0 meanwhile.
  template <class Work>
  void run(host_memory const& memory, [[maybe_unused]] long long workspace_floats, Work const& work) {
    if constexpr (Threads == 1) {
      kernels::flush_denormals const flush;
      work(memory);
    } else {
      auto on_thread = [&](int thread) {
        kernels::flush_denormals const flush;
        host_memory own = memory;
        own.workspace += thread * workspace_floats;
        own.share = {thread, Threads};
        own.team = team_.get();
        work(own);
      };
      team_->run(on_thread);
    }
  }

  /// Waits for the others, inside `run`. False if a step has failed, on the first thread.
  static bool synchronize([[maybe_unused]] host_memory const& memory) {
    if constexpr (Threads > 1)
      return memory.team->synchronize();
    else
      return true;
  }

 private:
  std::unique_ptr<thread_team> team_ = Threads > 1 ? std::make_unique<thread_team>(Threads) : nullptr;
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

  [[nodiscard]] constexpr int tiles() const { return tall + low; }
  /// The first row of a tile.
  [[nodiscard]] constexpr int row(int tile) const {
    return tile <= tall ? tile * height : tall * height + (tile - tall) * (height - 1);
  }
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

/// Calls tile.operator()<height>(row) for the tiles `first` to `last`, at least one.
template <row_blocks Cut, class Tile>
inline void for_each_tile(int first, int last, Tile const& tile) {
  if constexpr (Cut.tiles() == 1) return tile.template operator()<Cut.height>(0);
  int number = first;
  for (int const end = last < Cut.tall ? last : Cut.tall; number < end; ++number)
    tile.template operator()<Cut.height>(number * Cut.height);
  if constexpr (Cut.low > 0)
    for (; number < last; ++number) tile.template operator()<Cut.height - 1>(Cut.row(number));
}

/// Tiles of a panel that is so many columns wide.
template <class Arch>
[[nodiscard]] consteval int panel_tiles(int rows, int columns) {
  return cut_rows<Arch>(rows, (columns + lanes<Arch> - 1) / lanes<Arch>).tiles();
}

/// Calls panel.operator()<columns of the panel>(number of the panel, first tile, last tile) for a thread's share of a
/// result of Rows x Columns in panels of PanelColumns: the tiles are numbered panel by panel, so that a thread needs as
/// few panels of the right factor as possible.
template <int Rows, int Columns, int PanelColumns, class Arch, class Panel>
inline void for_each_panel(share part, Panel const& panel) {
  constexpr int whole = Columns / PanelColumns;
  constexpr int rest = Columns % PanelColumns;
  constexpr int each = panel_tiles<Arch>(Rows, PanelColumns);
  constexpr int whole_tiles = whole * each;
  constexpr int tiles_of_rest = rest > 0 ? panel_tiles<Arch>(Rows, rest > 0 ? rest : 1) : 0;
  auto const range = part.of(whole_tiles + tiles_of_rest);
  auto const first = static_cast<int>(range.first);
  auto const last = static_cast<int>(range.last);
  for (int p = first / each; p < whole && p * each < last; ++p)
    panel.template operator()<PanelColumns>(p, first > p * each ? first - p * each : 0,
                                            last < (p + 1) * each ? last - p * each : each);
  if constexpr (rest > 0)
    if (last > whole_tiles)
      panel.template operator()<rest>(whole, first > whole_tiles ? first - whole_tiles : 0, last - whole_tiles);
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

/// Nothing to do beside the products.
struct no_other_work {
  static constexpr int every = 0;

  void finish() {}
};

/// sum[i][j] = over all steps s: left[i * LeftRow + s * LeftStep] * right[s * RightStep + j * lanes ...]. With Ahead >
/// 0 the right factor is prefetched so many floats ahead: where a tile has one row, reading it is all the work. Calls
/// finish(i, j, sum[i][j]) for every i in [0, Rows) and j in [0, Vectors). If OtherWork::every > 0, other() is called
/// each time so many steps have been summed, and other.finish() behind the last: work that the processor can do beside
/// the products.
template <int Rows, int Vectors, int LeftRow, int LeftStep, int RightStep, int Ahead, class Arch, class Finish,
          class OtherWork = no_other_work>
inline void multiply_tile(float const* left, float const* right, int steps, Finish finish, OtherWork other = {}) {
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
  auto const next_steps = [&]() __attribute__((always_inline)) {
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
    s += sums;
    left += sums * LeftStep;
    right += sums * RightStep;
  };
  constexpr int every = OtherWork::every;
  if constexpr (every > 0)
    while (s + every * sums <= steps) {
#pragma GCC unroll 2
      for (int n = 0; n < every; ++n) next_steps();
      other();
    }
  while (s + sums <= steps) next_steps();
  other.finish();
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

namespace detail {

/// Copies to and from a layout that says `rows`, `columns`, `size` and `index(row, column)`.
template <class Layout>
struct row_major_copies {
  /// From rows x columns floats, row by row, to `size` packed floats; the padding becomes 0.
  static constexpr void pack(float const* row_major, float* packed) noexcept {
    for (int i = 0; i < Layout::size; ++i) packed[i] = 0.0F;
    for (int row = 0; row < Layout::rows; ++row)
      for (int column = 0; column < Layout::columns; ++column)
        packed[Layout::index(row, column)] = row_major[row * Layout::columns + column];
  }

  /// From `size` packed floats to rows x columns floats, row by row.
  static constexpr void unpack(float const* packed, float* row_major) noexcept {
    for (int row = 0; row < Layout::rows; ++row)
      for (int column = 0; column < Layout::columns; ++column)
        row_major[row * Layout::columns + column] = packed[Layout::index(row, column)];
  }
};

}  // namespace detail

/// The layout of a Rows x Columns matrix (a dense kernel: inputs x units) in column panels.
///
/// Element (row, column) is the float at
/// `(column / panel_columns) * panel_stride + row * panel_columns + column % panel_columns`. The panel's width depends
/// on Columns and Arch only, never on the batch size: training and inference share one layout. Lanes behind the last
/// column and floats behind the last panel are padding. They are 0, and every kernel leaves them 0.
template <int Rows, int Columns, class Arch = default_architecture>
struct packed_matrix : detail::row_major_copies<packed_matrix<Rows, Columns, Arch>> {
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
};

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/packed_groups.hpp
// Several packed matrices that stand side by side in one weight, such as the kernel of a grouped convolution.
// Level 4 of the house.

namespace stagecraft::kernels {

/// The layout of a Rows x Columns matrix whose columns are Groups matrices side by side: one `packed_matrix` after the
/// other. Columns is a multiple of Groups.
template <int Rows, int Columns, int Groups, class Arch = default_architecture>
struct packed_groups : detail::row_major_copies<packed_groups<Rows, Columns, Groups, Arch>> {
  static_assert(Groups > 0 && Columns % Groups == 0);

  using matrix = packed_matrix<Rows, Columns / Groups, Arch>;
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int groups = Groups;
  /// Floats in all, padding included.
  static constexpr int size = Groups * matrix::size;

  /// Where element (row, column) lies.
  [[nodiscard]] static constexpr int index(int row, int column) noexcept {
    return column / matrix::columns * matrix::size + matrix::index(row, column % matrix::columns);
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
  bool input = true;   ///< backward reads the inputs' values
  bool output = true;  ///< backward reads the output's value
  bool view = false;   ///< the output is the input's memory; neither step does anything
  /// Floats that forward keeps for backward, for the whole batch; in inference, floats that forward needs for itself.
  long long saved = 0;
  /// An activation whose gradient the reader of the output may apply: one that follows from the output.
  activation output_activation = linear;
  /// Whether the backward step can apply the gradient of such an activation to the gradient of its input...
  bool applies_activation = false;
  /// ...and whether it looks at its own output for it, not at its input.
  bool applies_activation_to_output = false;
};

/// A layer of the user's own reads what it says in `backward_uses_input`, `backward_uses_output` and `saved_size(in)`
/// (floats per sample); all inputs and outputs are kept where it says nothing.
template <Layer L>
constexpr call_needs needs_of(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  call_needs needs;
  if constexpr (requires { L::backward_uses_input; }) needs.input = L::backward_uses_input;
  if constexpr (requires { L::backward_uses_output; }) needs.output = L::backward_uses_output;
  if constexpr (requires { L::is_view; }) needs.view = L::is_view;
  if constexpr (requires { layer.saved_size(in); })
    if (mode == execution_mode::training) needs.saved = static_cast<long long>(batch) * layer.saved_size(in);
  return needs;
}

/// A layer of sums and an activation, such as dense or conv2d; `outputs` counts the floats of the whole batch.
constexpr call_needs needs_of_sums(activation function, long long outputs, execution_mode mode) {
  if (mode == execution_mode::inference) return {};
  bool const keeps_sums = function.gradient_needs_input();
  return {.output = !keeps_sums && function != linear,
          .saved = keeps_sums ? outputs : 0,
          .output_activation = !keeps_sums && function.elementwise() ? function : linear,
          .applies_activation = true};
}

namespace detail {

template <class L>
constexpr call_needs needs_of_kernel(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  return needs_of_sums(layer.activation, static_cast<long long>(batch) * layer.output_shape(in).size(), mode);
}
/// A separable convolution also keeps what its first step gives; in inference, its second step needs it.
template <class L>
constexpr call_needs needs_of_separable(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  auto needs = needs_of_kernel(layer, in, batch, mode);
  needs.saved = layer.kept_floats(in[0], batch, needs.saved > 0);
  needs.applies_activation = false;
  return needs;
}

}  // namespace detail

constexpr call_needs needs_of(layers::dense const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  return detail::needs_of_kernel(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::conv1d const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  return detail::needs_of_kernel(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::conv2d const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  return detail::needs_of_kernel(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::conv2d_transpose const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  return detail::needs_of_kernel(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::depthwise_conv2d const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  auto needs = detail::needs_of_kernel(layer, in, batch, mode);
  needs.applies_activation = false;
  return needs;
}
constexpr call_needs needs_of(layers::separable_conv1d const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  return detail::needs_of_separable(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::separable_conv2d const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  return detail::needs_of_separable(layer, in, batch, mode);
}

constexpr call_needs needs_of(layers::activation const& layer, layer_inputs const&, int, execution_mode) {
  bool const needs_input = layer.function.gradient_needs_input();
  return {.input = needs_input, .output = !needs_input, .view = layer.function == linear};
}

constexpr call_needs needs_of(layers::dropout const& layer, layer_inputs const&, int, execution_mode mode) {
  return {.input = false, .output = false, .view = mode == execution_mode::inference || layer.rate == 0.0F};
}

namespace detail {

/// Floats for two numbers per channel of each item of kernels::channel_items, and for two more per channel.
constexpr long long channel_sums(long long floats, int channels) {
  long long const items = (floats + 16383) / 16384;
  return (items < 32 ? items + 1 : 33) * 2 * ((channels + 15) / 16 * 16);
}

}  // namespace detail

constexpr call_needs needs_of(layers::batch_normalization const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  auto const floats = static_cast<long long>(batch) * in[0].size();
  bool const trains = mode == execution_mode::training;
  return {.output = false, .saved = trains ? detail::channel_sums(floats, layer.channels(in[0])) : 0};
}
constexpr call_needs needs_of(layers::layer_normalization const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  if (mode == execution_mode::inference) return {.output = false};
  auto const floats = static_cast<long long>(batch) * in[0].size();
  int const columns = layer.normalized_shape(in[0]).size();
  return {.output = false, .saved = (floats / columns + 15) / 16 * 32 + detail::channel_sums(floats, columns)};
}

constexpr call_needs needs_of(layers::spatial_dropout1d const& layer, layer_inputs const&, int, execution_mode mode) {
  return {.input = false, .output = false, .view = mode == execution_mode::inference || layer.rate == 0.0F};
}
constexpr call_needs needs_of(layers::spatial_dropout2d const& layer, layer_inputs const&, int, execution_mode mode) {
  return {.input = false, .output = false, .view = mode == execution_mode::inference || layer.rate == 0.0F};
}

namespace detail {

constexpr call_needs needs_of_activation(activation function) {
  bool const needs_input = function.gradient_needs_input();
  return {.input = needs_input, .output = !needs_input};
}

}  // namespace detail

constexpr call_needs needs_of(layers::re_lu const& layer, layer_inputs const&, int, execution_mode) {
  return detail::needs_of_activation(layer.function());
}
constexpr call_needs needs_of(layers::leaky_re_lu const& layer, layer_inputs const&, int, execution_mode) {
  return detail::needs_of_activation(layer.function());
}
constexpr call_needs needs_of(layers::elu_layer const& layer, layer_inputs const&, int, execution_mode) {
  return detail::needs_of_activation(layer.function());
}
constexpr call_needs needs_of(layers::thresholded_re_lu const& layer, layer_inputs const&, int, execution_mode) {
  return detail::needs_of_activation(layer.function());
}

namespace detail {

/// A number for each output says which cell of its window it is: one byte if there are up to 256 (two up to 65536).
template <class L>
constexpr call_needs needs_of_max_pooling(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  int const cells = layer.rows(in[0]).window * layer.columns(in[0]).window;
  long long const bytes = cells <= 1 << 8 ? 1 : cells <= 1 << 16 ? 2 : 4;
  auto const outputs = static_cast<long long>(batch) * layer.output_shape(in).size();
  return {.input = false,
          .output = false,
          .saved = mode == execution_mode::training ? (outputs * bytes + 3) / 4 : 0,
          .applies_activation = true,
          .applies_activation_to_output = true};
}

}  // namespace detail

constexpr call_needs needs_of(layers::max_pooling1d const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  return detail::needs_of_max_pooling(layer, in, batch, mode);
}
constexpr call_needs needs_of(layers::max_pooling2d const& layer, layer_inputs const& in, int batch,
                              execution_mode mode) {
  return detail::needs_of_max_pooling(layer, in, batch, mode);
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
  /// The gradient of its activation is applied by the only call that reads its output, which writes the gradient and
  /// has it in registers.
  bool activation_in_consumer = false;
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
    if (trains_) {
      find_first_writers();
      find_activations_in_consumers();
    }
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

  constexpr void find_activations_in_consumers() {
    std::vector<int> readers(Calls, 0), reader(Calls, -1);
    for (int i = 0; i < count_; ++i)
      for (int const input : graph_.inputs_of(i)) {
        ++readers[at(input)];
        reader[at(input)] = i;
      }
    for (int const output : graph_.outputs_of(0)) readers[at(output)] = -1;
    for (int i = 0; i < count_; ++i) {
      if (call(i).needs.output_activation == linear || !call(i).needs_gradient || readers[at(i)] != 1) continue;
      auto& consumer = call(reader[at(i)]);
      if (!consumer.needs.applies_activation) continue;
      call(i).activation_in_consumer = true;
      call(i).needs.output = false;
      consumer.needs.output = consumer.needs.output || consumer.needs.applies_activation_to_output;
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
      if (own.needs.saved > 0) request(saved[at(i)], i, own.needs_gradient ? backward_step(i) : i, own.needs.saved);
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
  if constexpr (weight.layout == parameter_layout::matrix)
    return kernels::packed_groups<weight.rows(), weight.columns(), weight.groups, Arch>::size;
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
template <class M, auto Training, execution_mode Mode, class Machine>
struct host_plan {
  using model = M;
  using architecture = typename Machine::architecture;
  static constexpr int threads = Machine::threads;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& program = program_of<M, Training.batch_size, Mode>;
  static constexpr auto const& weights = weight_storage_of<M, architecture>;
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
  /// The activation behind an input whose gradient the backward step of this call applies to the gradient of the input;
  /// `linear` if there is none. Such an input's gradient is written, not added to.
  [[nodiscard]] static constexpr activation applied_activation(int index) {
    auto const& source = Plan::program.calls[static_cast<std::size_t>(input_call(index))];
    return source.activation_in_consumer ? source.needs.output_activation : linear;
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
  /// Of a weight that is not trained, such as a moving mean: its layer may change it in a forward step of training.
  [[nodiscard]] float* mutable_weight(int index) const { return memory.weights + weight_offset(index); }
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

  /// The samples of this step, which come first in the batch: what is behind them in a partial batch repeats one of
  /// them and has no part in the loss, so no gradient comes from there.
  [[nodiscard]] int valid_samples() const { return memory.valid_samples; }

  /// The part of the work that is for the calling thread; all of it if the operation does not divide its work.
  [[nodiscard]] kernels::share share() const {
    if constexpr (Plan::threads > 1)
      return memory.share;
    else
      return {};
  }
  /// This thread's part of `floats` floats, in whole cache lines.
  [[nodiscard]] kernels::share::range elements(long long floats) const { return share().of(floats, 16); }
  /// Waits for the other threads, inside an operation that divides its work.
  void synchronize() const {
    if constexpr (Plan::threads > 1) memory.team->synchronize();
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

/// The steps of a layer on the host: `forward`, `backward` and the floats of workspace that they need on each thread.
/// Where `divides` is declared and true, every thread carries out a step, each with its share of the work
/// (`call.share()`); else the first one does all of it. This one serves the user's own layers.
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

namespace detail {

/// Whether a thread has something to do in the steps of an operation.
template <class Operation>
[[nodiscard]] bool takes_part(host_memory const& memory) {
  if constexpr (requires { Operation::divides; })
    if (Operation::divides) return true;
  return memory.share.is_first();
}

}  // namespace detail

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

// ---- stagecraft/kernels/math_tables.hpp
// Constants of math.hpp: tables that AVX-512 keeps in registers. Level 4 of the house.
//
// Every number is our own least-squares fit, weighted for the relative error, with the coefficients rounded to floats
// one after the other. In the first piece, which begins at 0, the coefficient 0 is 0: the error stays relative.

namespace stagecraft::kernels::detail {

/// A polynomial on each of 32 pieces of an axis: coefficient[p][i] belongs to the power p in piece i.
template <int Degree>
using piecewise_polynomial = float[Degree + 1][32];

/// tanh on pieces of 1/8 below 1, 1/4 below 3, 1/2 below 7 and 1 below 10, in powers of the distance from a piece's
/// begin. The number of a piece: the exponent's lowest two bits and the mantissa's first three of x + 1.
alignas(64) inline constexpr piecewise_polynomial<5> tanh_pieces = {
    {0.7615942F,  0.84828365F, 0.90514827F, 0.94137555F, 0.9640276F,  0.9780261F, 0.9866143F,  0.99185973F,
     0.9950548F,  0.9981779F,  0.9993293F,  0.99975324F, 0.9999092F,  0.9999666F, 0.9999877F,  0.99999547F,
     0.99999833F, 0.99999976F, 0.99999994F, 0.0F,        0.0F,        0.0F,       0.0F,        0.0F,
     0.0F,        0.124353F,   0.24491866F, 0.3583574F,  0.46211717F, 0.5545997F, 0.63514894F, 0.7039056F},
    {0.41997313F,    0.28041446F,   0.1807056F,     0.113810904F,  0.07065053F,    0.043466717F,   0.026593111F,
     0.016213516F,   0.009864724F,  0.003641269F,   0.0013397685F, 4.924693e-04F,  1.8086456e-04F, 6.5833345e-05F,
     2.4184292e-05F, 9.413247e-06F, 3.4419916e-06F, 7.168895e-07F, 6.4378435e-07F, 0.0F,           0.0F,
     0.0F,           0.0F,          0.0F,           1.0F,          0.98453677F,    0.9400153F,     0.8715797F,
     0.7864464F,     0.6924224F,    0.5965874F,     0.5045204F},
    {-0.31983796F,
     -0.2378719F,
     -0.16354682F,
     -0.1071139F,
     -0.068102404F,
     -0.042549502F,
     -0.026255557F,
     -0.01606463F,
     -0.009799042F,
     -0.0036371718F,
     -0.0013262887F,
     -4.814629e-04F,
     -1.7344608e-04F,
     -5.589824e-05F,
     -2.0173282e-05F,
     -1.3203742e-05F,
     -3.9607653e-06F,
     -1.9420017e-06F,
     -3.324699e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     3.0252062e-07F,
     -0.12244819F,
     -0.23024543F,
     -0.3123217F,
     -0.3633681F,
     -0.38416183F,
     -0.37899402F,
     -0.3552923F},
    {0.103729665F,   0.10846759F,    0.087697886F,   0.06269516F,    0.04203958F,    0.027440708F,  0.017189039F,
     0.010378999F,   0.006369116F,   0.0024163837F,  8.2510617e-04F, 2.726779e-04F,  8.333077e-05F, -5.524901e-06F,
     -3.821173e-06F, 2.5027679e-05F, 3.6087358e-06F, 3.7020347e-06F, 7.4995933e-06F, 0.0F,          0.0F,
     0.0F,           0.0F,           0.0F,           -0.33335513F,   -0.31268802F,   -0.25671685F,  -0.1789839F,
     -0.09542776F,   -0.015152614F,  0.04316507F,    0.084780246F},
    {0.025293732F,
     -0.01448715F,
     -0.025011439F,
     -0.022723798F,
     -0.017569454F,
     -0.013658716F,
     -0.008652072F,
     -0.0043798103F,
     -0.0028367585F,
     -0.0011563218F,
     -2.931065e-04F,
     -4.5479235e-05F,
     1.7317381e-05F,
     7.8743346e-05F,
     3.254695e-05F,
     -4.0893272e-05F,
     -2.3651776e-06F,
     -3.533737e-06F,
     -7.476817e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     4.654501e-04F,
     0.078819305F,
     0.13952549F,
     0.17286067F,
     0.1756338F,
     0.11671015F,
     0.08873541F,
     0.036482118F},
    {-0.034336694F,
     -0.010480072F,
     -3.626391e-05F,
     0.0031441709F,
     0.004157649F,
     0.005597392F,
     0.0034321118F,
     6.308699e-04F,
     6.935002e-04F,
     3.294783e-04F,
     2.3960845e-05F,
     -3.6670837e-05F,
     -3.8271894e-05F,
     -6.671668e-05F,
     -2.7146869e-05F,
     2.846164e-05F,
     7.1963757e-07F,
     1.2659905e-06F,
     2.7162705e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.13001752F,
     0.10803175F,
     0.057216905F,
     -0.009952594F,
     -0.06925006F,
     0.0027261858F,
     -0.031266242F,
     0.015481114F}};

/// erf around the multiples of 1/8 below 4, in powers of the distance from them.
alignas(64) inline constexpr piecewise_polynomial<4> erf_pieces = {
    {0.0F,       0.1403162F, 0.2763264F,  0.4041169F,  0.5204999F,  0.6232409F,  0.71115565F, 0.7840751F,
     0.8427008F, 0.8883882F, 0.92290014F, 0.94817007F, 0.96610516F, 0.97844374F, 0.9866717F,  0.99199003F,
     0.9953223F, 0.997346F,  0.9985373F,  0.99921703F, 0.999593F,   0.9997946F,  0.9998994F,  0.99995214F,
     0.9999779F, 0.9999901F, 0.9999957F,  0.9999982F,  0.9999993F,  0.9999997F,  0.9999999F,  0.99999994F},
    {1.1283792F,    1.1108848F,     1.0600138F,    0.9803526F,    0.8787826F,    0.7634997F,     0.64293134F,
     0.52474535F,   0.41510782F,    0.31827426F,   0.23652135F,   0.17035992F,   0.11893036F,    0.08047227F,
     0.052774966F,  0.033545773F,   0.020666923F,  0.012340761F,  0.007142268F,  0.004006438F,   0.002178255F,
     0.001147855F,  5.8626407e-04F, 2.902201e-04F, 1.392482e-04F, 6.475593e-05F, 2.9187524e-05F, 1.27509575e-05F,
     5.399034e-06F, 2.2157308e-06F, 8.813442e-07F, 3.3978304e-07F},
    {-2.3517553e-06F, -0.13885552F,    -0.26499984F,    -0.36762077F,    -0.43939823F,   -0.4771931F,
     -0.48221806F,    -0.4591728F,     -0.41509384F,    -0.3580428F,     -0.2956639F,    -0.23423779F,
     -0.17841259F,    -0.13077629F,    -0.09237161F,    -0.06286993F,    -0.041356564F,  -0.026237892F,
     -0.016089248F,   -0.009486287F,   -0.005416511F,   -0.0029907627F,  -0.0016217559F, -8.265241e-04F,
     -3.943802e-04F,  -2.0478819e-04F, -1.0637749e-04F, -7.0829636e-05F, -4.740833e-05F, -5.0802223e-06F,
     2.30836e-06F,    1.6184125e-05F},
    {-0.3763811F,    -0.35821962F,   -0.3087874F,    -0.2346505F,    -0.14643604F,   -0.055808816F,  0.026523188F,
     0.09260197F,    0.13803487F,    0.16215035F,    0.16730517F,    0.15778677F,    0.13867873F,    0.11483044F,
     0.09018912F,    0.06749709F,    0.048286702F,   0.03309847F,    0.02177661F,    0.013771359F,   0.008379984F,
     0.004911047F,   0.0027738642F,  0.0015109094F,  7.9407234e-04F, 4.0284137e-04F, 1.9734554e-04F, 9.3384595e-05F,
     4.2697586e-05F, 1.8867668e-05F, 8.0596365e-06F, 3.3287288e-06F},
    {0.011386159F,  0.06721415F,    0.1259219F,     0.16398576F,    0.18427847F,     0.17750242F,   0.1546352F,
     0.11664536F,   0.06642132F,    0.024891088F,   -0.003510857F,  -0.03182045F,    -0.04100648F,  -0.0478437F,
     -0.044917904F, -0.048079733F,  -0.029816383F,  -0.023573272F,  -0.015198111F,   -0.019105239F, -0.0146138845F,
     -0.010012964F, -0.0013206506F, -0.0035007163F, -0.0058354395F, -6.4367116e-05F, 0.0020702432F, 0.0055494164F,
     0.00577088F,   -6.360007e-04F, -0.0011636126F, -0.0035901614F}};

/// 2^(i/16), rounded.
alignas(64) inline constexpr float roots_of_two[16] = {
    1.0F,       1.0442737F, 1.0905077F, 1.1387886F, 1.1892071F, 1.2418578F, 1.2968396F, 1.3542556F,
    1.4142135F, 1.4768262F, 1.5422108F, 1.6104903F, 1.6817929F, 1.7562522F, 1.8340081F, 1.9152066F};

/// What rounding took from 2^(i/16).
alignas(64) inline constexpr float roots_of_two_rest[16] = {
    0.0F,          4.83347e-08F,    -1.307754e-08F,  5.3862223e-08F, 3.7976353e-08F,
    4.496838e-08F, -4.0189995e-08F, -1.0123349e-08F, 2.4203235e-08F, -4.500899e-08F,
    8.070905e-09F, 9.836217e-09F,   -2.4755327e-08F, -9.23577e-09F,  -1.1239278e-08F,
    9.845328e-09F};

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/simd_float_parts.hpp
// What elementary functions need of the parts of floats: rounding, exponent, mantissa and sign of a batch, and tables
// in registers. Level 4 of the house.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// x rounded to an integer, halves to the even one.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> round_to_integer(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  else
#endif
    return xsimd::nearbyint(x);
}

/// The absolute value of `magnitude` with the sign of `sign`, zeros and NaN included.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> copy_sign(xsimd::batch<float, Arch> const& magnitude,
                                                         xsimd::batch<float, Arch> const& sign) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(std::numeric_limits<std::int32_t>::min()),
                                                         _mm512_castps_si512(sign), _mm512_castps_si512(magnitude),
                                                         0xCA));  // bit by bit: the first chooses second or third
  else
#endif
    return xsimd::abs(magnitude) | (sign & xsimd::batch<float, Arch>(-0.0F));
}

/// 2^n for integers n in [-126, 127].
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> power_of_two(xsimd::batch<float, Arch> const& n) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_scalef_ps(_mm512_set1_ps(1.0F), n);
  else
#endif
    return bit_cast<float>((xsimd::to_int(n) + xsimd::batch<std::int32_t, Arch>(127)) << 23);
}

/// x * 2^n rounded once, for integers n in [-252, 254]. AVX-512 rounds n down to an integer, takes any n (infinities
/// too: 2^-inf = 0) and gives NaN for n = NaN.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> scale_by_power(xsimd::batch<float, Arch> const& x,
                                                              xsimd::batch<float, Arch> const& n) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    return _mm512_scalef_ps(x, n);
  } else
#endif
  {
    using integer = xsimd::batch<std::int32_t, Arch>;
    integer const exponent = xsimd::to_int(n);
    integer const half = exponent >> 1;
    return x * bit_cast<float>((half + integer(127)) << 23) * bit_cast<float>((exponent - half + integer(127)) << 23);
  }
}

/// x = mantissa * 2^exponent.
template <class Arch>
struct float_parts {
  xsimd::batch<float, Arch> mantissa;  ///< in [0.75, 1.5)
  xsimd::batch<float, Arch> exponent;
};

/// The parts of a positive float, denormals included. AVX-512 also gives (1, -inf) for 0, (1, inf) for inf, and NaN
/// mantissas for NaN and negative numbers; other instruction sets leave the parts of these unspecified.
template <class Arch>
[[nodiscard]] inline float_parts<Arch> parts_of(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    __m512 const mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    __m512 const exponent = _mm512_getexp_ps(x);
    __mmask16 const halved = _mm512_cmp_ps_mask(mantissa, _mm512_set1_ps(1.0F), _CMP_LT_OQ);
    return {mantissa, _mm512_mask_add_ps(exponent, halved, exponent, _mm512_set1_ps(1.0F))};
  } else
#endif
  {
    using value = xsimd::batch<float, Arch>;
    using integer = xsimd::batch<std::int32_t, Arch>;
    auto const denormal = x < value(std::numeric_limits<float>::min());
    value const normal = xsimd::select(denormal, x * value(0x1p24F), x);
    integer const bits = bit_cast<std::int32_t>(normal);
    integer const exponent = (bits - integer(0x3F400000)) >> 23;
    value const shift = xsimd::select(denormal, value(24.0F), value(0.0F));
    return {bit_cast<float>(bits - (exponent << 23)), xsimd::to_float(exponent) - shift};
  }
}

#if defined(__AVX512F__)

/// x limited to [-limit, limit]; some number of that range for NaN.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> limit_magnitude(xsimd::batch<float, Arch> const& x, float limit) {
#if defined(__AVX512DQ__)
  return _mm512_range_ps(x, _mm512_set1_ps(limit), 0x2);  // the one that is nearer to 0, with the sign of the first
#else
  return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-limit)), _mm512_set1_ps(limit));
#endif
}

/// table[index mod 16] for every lane.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> look_up(float const (&table)[16],
                                                       xsimd::batch<std::uint32_t, Arch> const& index) {
  return _mm512_permutexvar_ps(index, _mm512_load_ps(table));
}

/// table[index mod 32] for every lane.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> look_up(float const (&table)[32],
                                                       xsimd::batch<std::uint32_t, Arch> const& index) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), index, _mm512_load_ps(table + 16));
}

#endif

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// ---- stagecraft/kernels/math.hpp
// Elementary functions of batches of floats: exponentials, logarithms, tanh, erf and what activations make of them.
// Level 4 of the house.
//
// The reductions of the argument are the classical ones (W. Cody and W. Waite, "Software manual for the elementary
// functions", 1980; P. Tang's tables for exp, 1989); every polynomial is our own fit for the relative error, with its
// coefficients rounded to floats one after the other. AVX-512 looks pieces up in registers instead (math_tables.hpp).
// Errors are in units in the last place (ulp) of the correctly rounded result; where three numbers are given, they are
// those of AVX-512, of AVX2 with FMA and of SSE2. They bound what was measured: on every float of [2^-25, 128) and its
// negative with AVX-512 and AVX2 (on every 7th with SSE2), on samples of every exponent elsewhere. Results below 2^-126
// are rounded to denormals as well. NaN gives NaN.

namespace stagecraft::kernels {

namespace detail {

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class Arch, class... Rest>
[[nodiscard]] inline batch<Arch> polynomial(xsimd::batch<float, Arch> const& x, float c0, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return batch<Arch>(c0);
  else
    return fused_multiply_add(polynomial(x, rest...), x, batch<Arch>(c0));
}

/// x = n ln 2 + rest, with an integer n.
template <class Arch>
struct exponent_and_rest {
  batch<Arch> n;
  batch<Arch> rest;
};

template <class Arch>
[[nodiscard]] inline exponent_and_rest<Arch> reduce_by_ln2(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  value const n = round_to_integer(x * value(1.44269504F));
  // ln 2 in two parts; n times the first is exact.
  value const rest = fused_negative_multiply_add(n, value(0.693359375F), x);
  return {n, fused_negative_multiply_add(n, value(-2.12194440e-4F), rest)};
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class Arch>
[[nodiscard]] inline batch<Arch> exponential_rest(xsimd::batch<float, Arch> const& r) {
  return polynomial(r, 0.49999994F, 0.16666517F, 0.041668102F, 0.008369194F, 0.0013838962F);
}

/// log(1 + f) - f for f in [-0.25, 0.5].
template <class Arch>
[[nodiscard]] inline batch<Arch> logarithm_rest(xsimd::batch<float, Arch> const& f) {
  batch<Arch> const square = f * f;
  batch<Arch> const p = polynomial(f, 0.3333334F, -0.25000167F, 0.19999565F, -0.1665517F, 0.1427717F, -0.12731172F,
                                   0.116957895F, -0.090875454F, 0.03740296F);
  return fused_multiply_add(square * f, p, batch<Arch>(-0.5F) * square);
}

/// ln 2 in two parts; an exponent times the first is exact.
inline constexpr float ln2_high = 0.693145752F;
inline constexpr float ln2_low = 1.42860677e-6F;

/// log(1 + f) + exponent * ln 2.
template <class Arch>
[[nodiscard]] inline batch<Arch> logarithm_of(xsimd::batch<float, Arch> const& f,
                                              xsimd::batch<float, Arch> const& exponent) {
  batch<Arch> const rest = fused_multiply_add(exponent, batch<Arch>(ln2_low), logarithm_rest(f));
  return fused_multiply_add(exponent, batch<Arch>(ln2_high), f + rest);
}

/// log(1 + z) for z in [0, 1].
template <class Arch>
[[nodiscard]] inline batch<Arch> log1p_of_fraction(xsimd::batch<float, Arch> const& z) {
  using value = batch<Arch>;
  auto const small = z < value(0.5F);
  value const f = xsimd::select(small, z, fused_multiply_add(value(0.5F), z, value(-0.5F)));
  return logarithm_of(f, xsimd::select(small, value(0.0F), value(1.0F)));
}

/// Each x becomes the polynomial of the piece with that number at x. AVX-512 only.
template <class Arch, int Terms, int Count>
inline void evaluate_pieces(float const (&coefficient)[Terms][32], integer_batch<Arch> const (&piece)[Count],
                            batch<Arch> (&x)[Count]) {
  batch<Arch> sum[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = look_up(coefficient[Terms - 1], piece[i]);
#pragma GCC unroll 8
  for (int power = Terms - 2; power >= 0; --power)
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(sum[i], x[i], look_up(coefficient[power], piece[i]));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = sum[i];
}

/// x becomes a function of |x| with the sign of x, as its pieces say. AVX-512 only.
template <class Arch, int Count, int Terms, class Locate>
inline void evaluate_odd_function(float const (&coefficient)[Terms][32], float largest, Locate const& locate,
                                  batch<Arch> (&x)[Count]) {
  batch<Arch> distance[Count];
  integer_batch<Arch> piece[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) distance[i] = at_most(xsimd::abs(x[i]), batch<Arch>(largest));
  locate(distance, piece);
  evaluate_pieces<Arch>(coefficient, piece, distance);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = copy_sign(distance[i], x[i]);
}

/// e^x for several registers, with tables. AVX-512 only.
template <class Arch, int Count>
inline void exponentials_with_table(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
  // x = (n + i/16) ln 2 + r. The last bits of x / ln 2 + 1.5 * 2^19 are 16 n + i.
  value const magic(0x1.8p19F);
  value shifted[Count], n[Count], sum[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) shifted[i] = fused_multiply_add(x[i], value(1.44269504F), magic);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) n[i] = shifted[i] - magic;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(n[i], value(ln2_high), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(n[i], value(ln2_low), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = limit_magnitude(x[i], 0.025F);  // counts where n alone decides: far outside
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(x[i], value(0.16666847F), value(0.50001633F));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(sum[i], x[i], value(1.0F));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = sum[i] * x[i];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) {
    auto const index = bit_cast<std::uint32_t>(shifted[i]);
    value const root = look_up(roots_of_two, index);
    x[i] = root + fused_multiply_add(root, sum[i], look_up(roots_of_two_rest, index));
  }
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = scale_by_power(x[i], n[i]);
}

}  // namespace detail

// Functions that end in _each replace several registers by their results, with interleaved instructions: that keeps the
// processor busier than one register after the other.

/// `exp` of each register.
template <class Arch, int Count>
inline void exp_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
    detail::exponentials_with_table<Arch>(x);
  } else {
    for (int i = 0; i < Count; ++i) {
      auto const [n, r] = detail::reduce_by_ln2<Arch>(at_most(at_least(x[i], value(-104.0F)), value(89.0F)));
      value const less_one = fused_multiply_add(r * r, detail::exponential_rest(r), r);
      x[i] = scale_by_power(value(1.0F) + less_one, n);
    }
  }
}

/// e^x. Error: at most 0.77, 1.02, 1.05 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> exp(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  exp_each(result);
  return result[0];
}

/// e^x - 1. Error: at most 1.47, 1.47, 1.6 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> expm1(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  auto const [n, r] = detail::reduce_by_ln2<Arch>(at_most(at_least(x, value(-18.0F)), value(89.0F)));
  value const less_one = fused_multiply_add(r * r, detail::exponential_rest(r), r);
  // Half of the result, since 2^n may be inf where the result is not.
  value const power = power_of_two(n - value(1.0F));
  value const half = fused_multiply_add(power, less_one, power - value(0.5F));
  return copy_sign(xsimd::select(xsimd::abs(x) < value(0.25F), less_one, half + half), x);
}

/// The natural logarithm; log(0) = -inf, NaN below. Error: at most 0.85, 0.85, 0.9 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> log(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  auto const [mantissa, exponent] = parts_of(x);
  value const result = detail::logarithm_of<Arch>(mantissa - value(1.0F), exponent);
  if constexpr (has_avx512<Arch>) {
    return result;
  } else {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    value const special = xsimd::select(x < value(0.0F), value(nan), xsimd::select(x == value(0.0F), value(-inf), x));
    return xsimd::select((x > value(0.0F)) & (x < value(inf)), result, special);
  }
}

/// log(1 + x); -inf for -1, NaN below. Error: at most 0.85, 0.85, 0.9 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> log1p(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  value const one(1.0F);
  // 1 + x rounded gives the exponent only; the mantissa less 1 is x / 2^exponent + (1 / 2^exponent - 1). The powers
  // are four times as large, so that they are no denormals.
  value const exponent = at_most(at_least(parts_of(one + x).exponent, value(-25.0F)), value(128.0F));
  value const power = power_of_two(value(2.0F) - exponent);
  value const f = fused_multiply_add(value(0.25F) * x, power, fused_multiply_add(value(0.25F), power, -one));
  value const result = xsimd::select(xsimd::abs(x) < value(0x1p-25F), x, detail::logarithm_of(f, exponent));
  value const special = xsimd::select(x < -one, value(nan), xsimd::select(x == -one, value(-inf), x));
  return xsimd::select((x > -one) & (x < value(inf)), result, special);
}

/// `sigmoid` of each register.
template <class Arch, int Count>
inline void sigmoid_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = at_most(x[i], value(30.0F));
  exp_each(x);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = x[i] / (value(1.0F) + x[i]);
}

/// 1 / (1 + e^-x), Keras's sigmoid. Error: at most 2.41, 2.41, 2.45 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> sigmoid(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  sigmoid_each(result);
  return result[0];
}

namespace detail {

/// Each x becomes (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, since (1 + tanh(u)) / 2 = sigmoid(2 u).
template <class Arch, int Count>
inline void gelu_tanh_gate_each(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i)
    x[i] = value(2 * 0.7978845608F) * x[i] * fused_multiply_add(value(0.044715F), x[i] * x[i], value(1.0F));
  sigmoid_each(x);
}

template <class Arch>
[[nodiscard]] inline batch<Arch> gelu_tanh_gate(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  gelu_tanh_gate_each<Arch>(result);
  return result[0];
}

}  // namespace detail

/// `tanh` of each register.
template <class Arch, int Count>
inline void tanh_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
    auto const locate = [](value(&size)[Count], integer_batch<Arch>(&piece)[Count]) {
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = bit_cast<std::uint32_t>(size[i] + value(1.0F));
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i)
        size[i] = size[i] - (bit_cast<float>(piece[i] & integer_batch<Arch>(0xFFF00000U)) - value(1.0F));
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = piece[i] >> 20;
    };
    detail::evaluate_odd_function<Arch>(detail::tanh_pieces, 9.9F, locate, x);
  } else {
    for (int i = 0; i < Count; ++i) {
      value const size = at_most(xsimd::abs(x[i]), value(9.02F));
      value const e = kernels::expm1(size + size);
      x[i] = copy_sign(e / (e + value(2.0F)), x[i]);
    }
  }
}

/// The hyperbolic tangent. Error: at most 1.03, 2.61, 2.65 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> tanh(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  tanh_each(result);
  return result[0];
}

namespace detail {

/// erf without tables.
template <class Arch>
[[nodiscard]] inline batch<Arch> erf_with_exponential(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  value const size = at_most(xsimd::abs(x), value(3.93F));
  value const low = fused_multiply_add(size,
                                       polynomial(size * size, 0.12837917F, -0.3761263F, 0.11283624F, -0.02685556F,
                                                  0.005191753F, -0.0008039753F, 7.9431e-05F),
                                       size);
  // 1 - erf(x) = exp(-x * polynomial(x))
  value const exponent = -size * polynomial(size, 1.1286258F, 0.63524497F, 0.10607995F, -0.02362523F, 0.0035770275F,
                                            -0.0003065437F, 9.591366e-06F);
  value const high = value(1.0F) - kernels::exp(exponent);
  return copy_sign(xsimd::select(size < value(0.9F), low, high), x);
}

}  // namespace detail

/// `erf` of each register.
template <class Arch, int Count>
inline void erf_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
    auto const locate = [](value(&size)[Count], integer_batch<Arch>(&piece)[Count]) {
      value const magic(0x1.8p20F);  // the last bit of the sum is worth 1/8
      value shifted[Count];
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) shifted[i] = size[i] + magic;
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) size[i] = size[i] - (shifted[i] - magic);
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = bit_cast<std::uint32_t>(shifted[i]);
    };
    detail::evaluate_odd_function<Arch>(detail::erf_pieces, 3.93F, locate, x);
  } else {
    for (int i = 0; i < Count; ++i) x[i] = detail::erf_with_exponential<Arch>(x[i]);
  }
}

/// The error function. Error: at most 2.46, 1.13, 1.2 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> erf(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  erf_each(result);
  return result[0];
}

/// The normal distribution function, (1 + erf(x / sqrt 2)) / 2. Error: at most 1.2 times 2^-24.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> normal_distribution(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  return fused_multiply_add(value(0.5F), kernels::erf(x * value(0.70710678F)), value(0.5F));
}

/// `gelu` of each register.
template <class Arch, int Count>
inline void gelu_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  value half[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) {
    half[i] = value(0.5F) * x[i];
    x[i] = x[i] * value(0.70710678F);
  }
  erf_each(x);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_multiply_add(half[i], x[i], half[i]);
}

/// x * normal_distribution(x), Keras's gelu. Error: at most 1.35, 1.46, 1.85 times 2^-24 |x|.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> gelu(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  gelu_each(result);
  return result[0];
}

/// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, Keras's gelu(approximate=True). Error: at most 2.7 times
/// 2^-24 |x|.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> gelu_tanh(xsimd::batch<float, Arch> const& x) {
  return x * detail::gelu_tanh_gate(x);
}

/// log(1 + e^x). Error: at most 1.54, 1.64, 1.7 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> softplus(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  return at_least(x, value(0.0F)) + detail::log1p_of_fraction<Arch>(kernels::exp(-xsimd::abs(x)));
}

}  // namespace stagecraft::kernels

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
/// Measured on [-20, 20]: relative error at most 2.2e-7, but for gelu and hard_sigmoid, whose small values cancel: of
/// gelu at most 1.9e-7 (its tanh form 0.9e-7) of 1 + |y|, of hard_sigmoid 2.2e-8. The elementary functions below them
/// are those of kernels/math.hpp.
template <activation Act, class Arch = default_architecture>
struct activation_function {
  static_assert(Act.elementwise(), "softmax is not elementwise: use kernels/softmax.hpp");
  using value = batch<Arch>;

  [[nodiscard]] static value forward(value const& x) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return x;
    if constexpr (kind == activation_kind::relu) return relu_forward(x);
    if constexpr (kind == activation_kind::sigmoid) return kernels::sigmoid(x);
    if constexpr (kind == activation_kind::tanh) return kernels::tanh(x);
    if constexpr (kind == activation_kind::gelu) return kernels::gelu(x);
    if constexpr (kind == activation_kind::gelu_tanh) return kernels::gelu_tanh(x);
    if constexpr (kind == activation_kind::swish) return x * kernels::sigmoid(x);
    if constexpr (kind == activation_kind::selu)
      return xsimd::select(x < value(0.0F), value(selu_scale * selu_alpha) * kernels::expm1(x), value(selu_scale) * x);
    if constexpr (kind == activation_kind::elu)
      return xsimd::select(x < value(0.0F), value(Act.alpha) * kernels::expm1(x), x);
    if constexpr (kind == activation_kind::exponential) return kernels::exp(x);
    if constexpr (kind == activation_kind::softplus) return kernels::softplus(x);
    if constexpr (kind == activation_kind::softsign) return x / (value(1.0F) + xsimd::abs(x));
    if constexpr (kind == activation_kind::hard_sigmoid)
      return at_most(at_least(x / value(5.0F) + value(0.5F), value(0.0F)), value(1.0F));
  }

  /// Whether there is `forward_each`.
  static constexpr bool gains_by_interleaving =
      Act.kind == activation_kind::exponential || Act.kind == activation_kind::gelu ||
      Act.kind == activation_kind::gelu_tanh || Act.kind == activation_kind::sigmoid ||
      Act.kind == activation_kind::swish || Act.kind == activation_kind::tanh;

  /// `forward` of several registers at once, in place.
  template <int Count>
    requires gains_by_interleaving
  static void forward_each(value (&x)[Count]) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::exponential) return exp_each(x);
    if constexpr (kind == activation_kind::gelu) return gelu_each(x);
    if constexpr (kind == activation_kind::sigmoid) return sigmoid_each(x);
    if constexpr (kind == activation_kind::tanh) return tanh_each(x);
    if constexpr (kind == activation_kind::gelu_tanh || kind == activation_kind::swish) {
      value gate[Count];
      for (int i = 0; i < Count; ++i) gate[i] = x[i];
      if constexpr (kind == activation_kind::gelu_tanh)
        detail::gelu_tanh_gate_each<Arch>(gate);
      else
        sigmoid_each(gate);
      for (int i = 0; i < Count; ++i) x[i] = x[i] * gate[i];
    }
  }

  [[nodiscard]] static value gradient([[maybe_unused]] value const& saved, value const& dy) {
    constexpr activation_kind kind = Act.kind;
    if constexpr (kind == activation_kind::linear) return dy;
    if constexpr (kind == activation_kind::relu) return relu_gradient(saved, dy);
    if constexpr (kind == activation_kind::sigmoid) return dy * saved * (value(1.0F) - saved);
    if constexpr (kind == activation_kind::tanh) return dy * fused_negative_multiply_add(saved, saved, value(1.0F));
    if constexpr (kind == activation_kind::gelu) {
      value const density = value(0.3989422804F) * kernels::exp(value(-0.5F) * saved * saved);
      return dy * fused_multiply_add(saved, density, kernels::normal_distribution(saved));
    }
    if constexpr (kind == activation_kind::gelu_tanh) {
      value const s = detail::gelu_tanh_gate(saved);
      value const slope =
          value(2 * 0.7978845608F) * fused_multiply_add(value(3 * 0.044715F), saved * saved, value(1.0F));
      return dy * fused_multiply_add(saved * s * (value(1.0F) - s), slope, s);
    }
    if constexpr (kind == activation_kind::swish) {
      value const s = kernels::sigmoid(saved);
      return dy * fused_multiply_add(saved * s, value(1.0F) - s, s);
    }
    if constexpr (kind == activation_kind::selu)
      return dy * xsimd::select(saved < value(0.0F), saved + value(selu_scale * selu_alpha), value(selu_scale));
    if constexpr (kind == activation_kind::elu) {
      if constexpr (Act.gradient_needs_input())
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), value(Act.alpha) * kernels::exp(saved));
      else
        return dy * xsimd::select(saved > value(0.0F), value(1.0F), saved + value(Act.alpha));
    }
    if constexpr (kind == activation_kind::exponential) return dy * saved;
    if constexpr (kind == activation_kind::softplus) return value(0.0F) - dy * kernels::expm1(value(0.0F) - saved);
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

/// An epilogue that makes the gradient of f(x) the gradient of x: y holds f(x), for activations whose gradient needs
/// nothing else. Up to a register behind the end of y may be read.
template <activation Act, class Arch = default_architecture>
struct activation_gradient_epilogue {
  static_assert(!Act.gradient_needs_input());
  float const* y;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& gradient, int /*column*/, std::int64_t element) const {
    return activation_function<Act, Arch>::gradient(Batch::load_unaligned(y + element), gradient);
  }
};

/// y = f(x) for n values. y may be x.
template <activation Act, class Arch = default_architecture>
inline void activation_forward(float const* x, float* y, std::int64_t n) {
  if constexpr (Act.kind == activation_kind::linear) {
    if (x != y) std::memmove(y, x, static_cast<std::size_t>(n) * sizeof(float));
  } else {
    using function = activation_function<Act, Arch>;
    if constexpr (function::gains_by_interleaving)
      transform_each<Arch>(n, [](auto& values) { function::forward_each(values); }, x, y);
    else
      transform<Arch>(n, [](batch<Arch> const& value) { return function::forward(value); }, y, x);
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

// ---- stagecraft/kernels/simd_reduction.hpp
// Sums and maxima of several registers at once: as many registers as one has lanes give a register of results, for
// little more than the price of one horizontal sum each. Level 4 of the house.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// One register: lane i is what `join` makes of all lanes of rows[i], always in the same order. Overwrites the rows.
template <class Arch, class Join>
[[nodiscard]] inline batch<Arch> join_lanes(batch<Arch> (&rows)[lanes<Arch>], Join const& join) {
  constexpr int n = lanes<Arch>;
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    // Within 128 bits first: four rows become one, then the quarters of the registers.
    auto const interleave = [&join](__m512 a, __m512 b) {
      return join(batch<Arch>(_mm512_maskz_unpacklo_ps(0xFFFF, a, b)),
                  batch<Arch>(_mm512_maskz_unpackhi_ps(0xFFFF, a, b)));
    };
    auto const pair_quarters = [&join](__m512 a, __m512 b) {
      return join(batch<Arch>(_mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0x88)),
                  batch<Arch>(_mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0xDD)));
    };
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
      rows[i] = interleave(interleave(rows[i], rows[i + 2]), interleave(rows[i + 1], rows[i + 3]));
    return pair_quarters(pair_quarters(rows[0], rows[4]), pair_quarters(rows[8], rows[12]));
  } else
#endif
#if defined(__AVX__)
      if constexpr (n == 8) {  // xsimd 8.1's zip_lo and zip_hi stay within 128 bits here, others' do not
    auto const interleave = [&join](__m256 a, __m256 b) {
      return join(batch<Arch>(_mm256_unpacklo_ps(a, b)), batch<Arch>(_mm256_unpackhi_ps(a, b)));
    };
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4)
      rows[i] = interleave(interleave(rows[i], rows[i + 2]), interleave(rows[i + 1], rows[i + 3]));
    return join(batch<Arch>(_mm256_permute2f128_ps(rows[0], rows[4], 0x20)),
                batch<Arch>(_mm256_permute2f128_ps(rows[0], rows[4], 0x31)));
  } else
#endif
  {
    for (int half = n / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        rows[i] = join(xsimd::zip_lo(rows[i], rows[i + half]), xsimd::zip_hi(rows[i], rows[i + half]));
    return rows[0];
  }
}

}  // namespace detail

/// Lane i is the sum of the lanes of rows[i], for all rows in the same order. Overwrites the rows.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_sums(batch<Arch> (&rows)[lanes<Arch>]) {
  return detail::join_lanes<Arch>(rows, [](batch<Arch> const& a, batch<Arch> const& b) { return a + b; });
}

/// The same of rows in memory: `lanes` registers, aligned, one after the other.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_sums(float const* rows) {
  batch<Arch> loaded[lanes<Arch>];
#pragma GCC unroll 16
  for (int row = 0; row < lanes<Arch>; ++row) loaded[row] = batch<Arch>::load_aligned(rows + row * lanes<Arch>);
  return horizontal_sums<Arch>(loaded);
}

/// Lane i is the largest lane of rows[i]; unspecified which if one is NaN. Overwrites the rows.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_maxima(batch<Arch> (&rows)[lanes<Arch>]) {
  return detail::join_lanes<Arch>(rows, [](batch<Arch> const& a, batch<Arch> const& b) { return xsimd::max(a, b); });
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

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

/// Rows up to this length are taken `lanes` at a time: then the sums over their lanes cost little.
template <class Arch>
inline constexpr int longest_narrow_row = 8 * lanes<Arch>;

/// Asks for those rows that are `lanes` rows behind the given ones.
template <class Arch, std::same_as<float const*>... Rows>
inline void prefetch_rows_after_block(int columns, Rows... rows) {
  for (int i = 0; i < columns; i += 16) (prefetch(rows + lanes<Arch> * columns + i), ...);
}

/// Softmax of up to `lanes` narrow rows.
template <int Columns, class Arch>
inline void softmax_narrow_rows(float const* x, float* y, int rows) {
  constexpr int width = lanes<Arch>;
  constexpr int batches = (Columns + width - 1) / width;
  constexpr int before = (batches - 1) * width;  // the last batch begins here
  constexpr int last = Columns - before;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  alignas(64) float of_row[width];
  batch<Arch> joined[width];
  for (int row = 0; row < rows; ++row) {
    float const* const from = x + row * Columns;
    batch<Arch> largest = load_lanes_or<last, Arch>(from + before, lowest);
    for (int i = 0; i < before; i += width) largest = xsimd::max(largest, batch<Arch>::load_unaligned(from + i));
    joined[row] = largest;
  }
  for (int row = rows; row < width; ++row) joined[row] = batch<Arch>(0.0F);
  horizontal_maxima<Arch>(joined).store_aligned(of_row);
  alignas(64) float exponentials[width * batches * width];
  for (int row = 0; row < rows; ++row) {
    float const* const from = x + row * Columns;
    float* const to = exponentials + row * batches * width;
    prefetch_rows_after_block<Arch>(Columns, x + row * Columns, static_cast<float const*>(y + row * Columns));
    batch<Arch> const shift(of_row[row]);
    batch<Arch> sum = kernels::exp(load_lanes_or<last, Arch>(from + before, lowest) - shift);
    sum.store_aligned(to + before);
    for (int i = 0; i < before; i += width) {
      batch<Arch> const value = kernels::exp(batch<Arch>::load_unaligned(from + i) - shift);
      value.store_aligned(to + i);
      sum = sum + value;
    }
    joined[row] = sum;
  }
  (batch<Arch>(1.0F) / horizontal_sums<Arch>(joined)).store_aligned(of_row);
  for (int row = 0; row < rows; ++row) {
    float const* const from = exponentials + row * batches * width;
    float* const to = y + row * Columns;
    batch<Arch> const scale(of_row[row]);
    for (int i = 0; i < before; i += width) (batch<Arch>::load_aligned(from + i) * scale).store_unaligned(to + i);
    if (row + 1 < rows && before + width <= 2 * Columns)
      (batch<Arch>::load_aligned(from + before) * scale).store_unaligned(to + before);
    else
      store_lanes<last>(batch<Arch>::load_aligned(from + before) * scale, to + before);
  }
}

/// Softmax of one long row; brings the row at `next` near meanwhile.
template <int Columns, class Arch>
inline void softmax_wide_row(float const* x, float* y, float const* next) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int rest = Columns - whole;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  batch<Arch> const shift(row_max<Columns, Arch>(x));
  batch<Arch> sum(0.0F);
  for (int i = 0; i < whole; i += width) {
    prefetch(next + i);
    batch<Arch> const value = kernels::exp(batch<Arch>::load_unaligned(x + i) - shift);
    sum = sum + value;
    value.store_unaligned(y + i);
  }
  if constexpr (rest > 0) {
    batch<Arch> const value = kernels::exp(load_lanes_or<rest, Arch>(x + whole, lowest) - shift);
    sum = sum + value;
    store_lanes<rest>(value, y + whole);
  }
  batch<Arch> const scale(1.0F / horizontal_sum(sum));
  transform<Arch>(Columns, [scale](batch<Arch> const& v) { return v * scale; }, y, static_cast<float const*>(y));
}

/// The gradient of up to `lanes` narrow rows.
template <int Columns, bool Accumulate, class Arch>
inline void softmax_gradient_narrow_rows(float const* y, float const* dy, float* dx, int rows) {
  constexpr int width = lanes<Arch>;
  constexpr int before = (Columns - 1) / width * width;
  constexpr int last = Columns - before;
  alignas(64) float dots[width];
  batch<Arch> joined[width];
  for (int row = 0; row < rows; ++row) {
    int const first = row * Columns;
    batch<Arch> dot = load_lanes<last, Arch>(y + first + before) * load_lanes<last, Arch>(dy + first + before);
    for (int i = first; i < first + before; i += width)
      dot = fused_multiply_add(batch<Arch>::load_unaligned(y + i), batch<Arch>::load_unaligned(dy + i), dot);
    joined[row] = dot;
  }
  for (int row = rows; row < width; ++row) joined[row] = batch<Arch>(0.0F);
  horizontal_sums<Arch>(joined).store_aligned(dots);
  for (int row = 0; row < rows; ++row) {
    int const first = row * Columns;
    prefetch_rows_after_block<Arch>(Columns, y + first, dy + first, static_cast<float const*>(dx + first));
    batch<Arch> const dot(dots[row]);
    for (int i = first; i < first + before; i += width) {
      batch<Arch> value = batch<Arch>::load_unaligned(y + i) * (batch<Arch>::load_unaligned(dy + i) - dot);
      if constexpr (Accumulate) value = value + batch<Arch>::load_unaligned(dx + i);
      value.store_unaligned(dx + i);
    }
    int const i = first + before;
    batch<Arch> value = load_lanes<last, Arch>(y + i) * (load_lanes<last, Arch>(dy + i) - dot);
    if constexpr (Accumulate) value = value + load_lanes<last, Arch>(dx + i);
    store_lanes<last>(value, dx + i);
  }
}

/// The gradient of one long row; brings the next row near meanwhile.
template <int Columns, bool Accumulate, class Arch>
inline void softmax_gradient_wide_row(float const* y, float const* dy, float* dx, bool has_next) {
  using value = batch<Arch>;
  std::int64_t const step = has_next ? Columns : 0;
  value const dot(transform_sum<Arch>(Columns, [](value const& a, value const& b) { return a * b; }, y, dy));
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  for (int i = 0; i < whole; i += width) {
    prefetch(y + step + i);
    prefetch(dy + step + i);
    value slope = value::load_unaligned(y + i) * (value::load_unaligned(dy + i) - dot);
    if constexpr (Accumulate) slope = slope + value::load_unaligned(dx + i);
    slope.store_unaligned(dx + i);
  }
  if constexpr (constexpr int rest = Columns - whole; rest > 0) {
    value slope = load_lanes<rest, Arch>(y + whole) * (load_lanes<rest, Arch>(dy + whole) - dot);
    if constexpr (Accumulate) slope = slope + load_lanes<rest, Arch>(dx + whole);
    store_lanes<rest>(slope, dx + whole);
  }
}

}  // namespace detail

/// y = exp(x - max x) / sum exp(x - max x) along the rows of a (Rows, Columns) matrix. y may be x. A NaN or +inf in x
/// makes its whole row NaN. Threads share the rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void softmax(float const* x, float* y, share part = {}) {
  if constexpr (Columns <= detail::longest_narrow_row<Arch>) {
    auto const rows = part.of(Rows, 16);  // whole blocks of rows end at cache lines
    for (std::int64_t row = rows.first; row < rows.last; row += lanes<Arch>)
      detail::softmax_narrow_rows<Columns, Arch>(
          x + row * Columns, y + row * Columns,
          static_cast<int>(rows.last - row < lanes<Arch> ? rows.last - row : lanes<Arch>));
  } else {
    auto const rows = part.of(Rows);
    for (std::int64_t row = rows.first; row < rows.last; ++row)
      detail::softmax_wide_row<Columns, Arch>(x + row * Columns, y + row * Columns,
                                              x + (row + 1 < rows.last ? row + 1 : row) * Columns);
  }
}

/// dx = y * (dy - sum(y * dy)) along the rows, added to dx if Accumulate. Without Accumulate dx may be dy. Threads
/// share the rows.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_gradient(float const* y, float const* dy, float* dx, share part = {}) {
  if constexpr (Columns <= detail::longest_narrow_row<Arch>) {
    auto const rows = part.of(Rows, 16);
    for (std::int64_t row = rows.first; row < rows.last; row += lanes<Arch>)
      detail::softmax_gradient_narrow_rows<Columns, Accumulate, Arch>(
          y + row * Columns, dy + row * Columns, dx + row * Columns,
          static_cast<int>(rows.last - row < lanes<Arch> ? rows.last - row : lanes<Arch>));
  } else {
    auto const rows = part.of(Rows);
    for (std::int64_t row = rows.first; row < rows.last; ++row)
      detail::softmax_gradient_wide_row<Columns, Accumulate, Arch>(y + row * Columns, dy + row * Columns,
                                                                   dx + row * Columns, row + 1 < rows.last);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/activation.hpp
// The steps of activation on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::activation> {
  static constexpr bool divides = true;
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
    if constexpr (function.kind == activation_kind::softmax) {
      kernels::softmax<rows<Call>, columns<Call>, arch>(call.input(0), call.output(), call.share());
    } else if constexpr (function != linear) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::activation_forward<function, arch>(call.input(0) + first, call.output() + first, last - first);
    }
  }

  template <class Call>
  static void backward(Call const& call) {
    constexpr auto function = Call::layer.function;
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool add = Call::adds_input_gradient(0);
      if constexpr (function.kind == activation_kind::softmax) {
        kernels::softmax_gradient<rows<Call>, columns<Call>, add, arch>(call.output(), call.output_gradient(),
                                                                        call.input_gradient(0), call.share());
      } else if constexpr (function != linear) {
        auto const [first, last] = call.elements(floats<Call>);
        kernels::activation_backward<function, add, arch>(
            (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
            call.input_gradient(0) + first, last - first);
      }
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/prelu.hpp
// A rectifier with a slope of its own for each element, or for elements that share one, and its gradients. Keras
// counterpart: tf.keras.layers.PReLU. Level 4 of the house.

namespace stagecraft::kernels {

/// Which slope belongs to which element of a batch: axes, outermost first, along which the slope either changes or
/// stays. Neighbouring axes of one kind are one axis. The batch is the first axis, along which slopes stay.
struct slope_layout {
  static constexpr int most_axes = 8;

  int axes = 1;
  std::int64_t length[most_axes] = {1};
  bool is_shared[most_axes] = {true};

  /// For a batch of tensors with `rank` axes; the slopes' shape has 1 where they are shared.
  template <class Shape>
  static constexpr slope_layout of(int batch, int rank, Shape const& shape, Shape const& slopes) {
    slope_layout result;
    result.length[0] = batch;
    for (int axis = 0; axis < rank; ++axis) {
      if (shape[axis] == 1) continue;
      bool const shared = slopes[axis] == 1;
      if (shared != result.is_shared[result.axes - 1]) {
        result.length[result.axes] = 1;
        result.is_shared[result.axes++] = shared;
      }
      result.length[result.axes - 1] *= shape[axis];
    }
    return result;
  }

  /// Elements of the last axis: a row. Its slopes are neighbours, or there is one.
  [[nodiscard]] constexpr std::int64_t row_size() const { return length[axes - 1]; }
  [[nodiscard]] constexpr bool row_shares() const { return is_shared[axes - 1]; }
  [[nodiscard]] constexpr std::int64_t rows() const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < axes; ++axis) product *= length[axis];
    return product;
  }
  /// Rows that share their slopes, and rows that do not.
  [[nodiscard]] constexpr std::int64_t rows_of_kind(bool shared) const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < axes; ++axis)
      if (is_shared[axis] == shared) product *= length[axis];
    return product;
  }
  /// The row with number `shared` among those that share their slopes, and with number `own` otherwise.
  [[nodiscard]] constexpr std::int64_t row(std::int64_t shared, std::int64_t own) const {
    std::int64_t result = 0, stride = 1;
    for (int axis = axes - 2; axis >= 0; --axis) {
      auto& number = is_shared[axis] ? shared : own;
      result += number % length[axis] * stride;
      number /= length[axis];
      stride *= length[axis];
    }
    return result;
  }
  /// Where the slopes of a row begin.
  [[nodiscard]] constexpr std::int64_t slope_of_row(std::int64_t row) const {
    std::int64_t result = 0, stride = row_shares() ? 1 : row_size();
    for (int axis = axes - 2; axis >= 0; --axis) {
      if (!is_shared[axis]) {
        result += row % length[axis] * stride;
        stride *= length[axis];
      }
      row /= length[axis];
    }
    return result;
  }

  friend constexpr bool operator==(slope_layout const&, slope_layout const&) = default;
};

namespace detail {

/// Long rows are cut into pieces of this many elements.
inline constexpr std::int64_t prelu_piece = 4096;

/// Calls piece(begin, count, slopes) for each of this thread's pieces of rows.
template <slope_layout Layout, class Piece>
inline void for_prelu_pieces(float const* alpha, share part, Piece const& piece) {
  constexpr std::int64_t size = Layout.row_size();
  constexpr std::int64_t pieces = (size + prelu_piece - 1) / prelu_piece;
  auto const [first, last] = part.of(Layout.rows() * pieces);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const row = item / pieces, from = item % pieces * prelu_piece;
    std::int64_t const count = size - from < prelu_piece ? size - from : prelu_piece;
    piece(row * size + from, count, alpha + Layout.slope_of_row(row) + (Layout.row_shares() ? 0 : from));
  }
}

}  // namespace detail

/// y = x where x > 0, alpha * x elsewhere. Items of `part`: pieces of rows.
template <slope_layout Layout, class Arch = default_architecture>
inline void prelu(float const* x, float const* alpha, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const rectify = [](value const& v, value const& slope) { return xsimd::select(v > value(0.0F), v, slope * v); };
  detail::for_prelu_pieces<Layout>(alpha, part, [&](std::int64_t begin, std::int64_t count, float const* slopes) {
    if constexpr (Layout.row_shares())
      transform<Arch>(count, [&](value const& v) { return rectify(v, value(*slopes)); }, y + begin, x + begin);
    else
      transform<Arch>(count, rectify, y + begin, x + begin, slopes);
  });
}

/// dx (or dx +=, if Accumulate) the gradient of `prelu` for its input; 0 where x is 0, as in TensorFlow.
/// Items of `part`: pieces of rows.
template <slope_layout Layout, bool Accumulate = false, class Arch = default_architecture>
inline void prelu_input_gradient(float const* x, float const* alpha, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const gradient = [](value const& v, value const& g, value const& slope, value const& old) {
    value const zero(0.0F);
    return xsimd::select(v > zero, old + g, xsimd::select(v < zero, fused_multiply_add(slope, g, old), old));
  };
  detail::for_prelu_pieces<Layout>(alpha, part, [&](std::int64_t begin, std::int64_t count, float const* slopes) {
    auto const run = [&](auto const& function, auto... more) {
      if constexpr (Accumulate)
        transform<Arch>(count, function, dx + begin, x + begin, dy + begin, more...,
                        static_cast<float const*>(dx + begin));
      else
        transform<Arch>(
            count, [&](auto const&... values) { return function(values..., value(0.0F)); }, dx + begin, x + begin,
            dy + begin, more...);
    };
    if constexpr (Layout.row_shares())
      run([&](value const& v, value const& g, value const& old) { return gradient(v, g, value(*slopes), old); });
    else
      run(gradient, slopes);
  });
}

/// dalpha (or dalpha +=, if Accumulate) the gradient of `prelu` for its slopes: the sum of x * dy where x < 0.
/// Items of `part`: registers of slopes, or single ones.
template <slope_layout Layout, bool Accumulate = false, class Arch = default_architecture>
inline void prelu_slope_gradient(float const* x, float const* dy, float* dalpha, share part = {}) {
  using value = batch<Arch>;
  constexpr std::int64_t size = Layout.row_size();
  constexpr std::int64_t shared_rows = Layout.rows_of_kind(true);
  constexpr std::int64_t own_rows = Layout.rows_of_kind(false);
  auto const add = [](value const& v, value const& g, value const& sum) {
    return xsimd::select(v < value(0.0F), fused_multiply_add(v, g, sum), sum);
  };
  if constexpr (Layout.row_shares()) {
    auto const [first, last] = part.of(own_rows);
    for (std::int64_t own = first; own < last; ++own) {
      value sum(0.0F);
      for (std::int64_t shared = 0; shared < shared_rows; ++shared) {
        std::int64_t const begin = Layout.row(shared, own) * size;
        std::int64_t i = 0;
        for (; i + lanes<Arch> <= size; i += lanes<Arch>)
          sum = add(value::load_unaligned(x + begin + i), value::load_unaligned(dy + begin + i), sum);
        if (int const rest = static_cast<int>(size - i); rest > 0)
          sum = add(load_first<Arch>(x + begin + i, rest), load_first<Arch>(dy + begin + i, rest), sum);
      }
      dalpha[own] = (Accumulate ? dalpha[own] : 0.0F) + horizontal_sum(sum);
    }
  } else {
    constexpr std::int64_t registers = (size + lanes<Arch> - 1) / lanes<Arch>;
    auto const [first, last] = part.of(own_rows * registers);
    for (std::int64_t item = first; item < last; ++item) {
      std::int64_t const own = item / registers, from = item % registers * lanes<Arch>;
      int const count = size - from < lanes<Arch> ? static_cast<int>(size - from) : lanes<Arch>;
      value sum = Accumulate ? load_first<Arch>(dalpha + own * size + from, count) : value(0.0F);
      for (std::int64_t shared = 0; shared < shared_rows; ++shared) {
        std::int64_t const begin = Layout.row(shared, own) * size + from;
        sum = add(load_first<Arch>(x + begin, count), load_first<Arch>(dy + begin, count), sum);
      }
      store_first<Arch>(sum, dalpha + own * size + from, count);
    }
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/softmax_planes.hpp
// Softmax along an axis that is not the last, vectorised over the axes behind it, and its gradient. Keras counterpart:
// tf.keras.layers.Softmax(axis). Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// Calls function.operator()<Count>(begin) for each of this thread's registers of Count neighbouring columns of the
/// (Outer, Length, Inner) tensor; `begin` is their place in its first plane.
template <int Outer, int Length, int Inner, class Arch, class Function>
inline void for_softmax_columns(share part, Function const& function) {
  constexpr int whole = Inner / lanes<Arch>;
  constexpr int rest = Inner - whole * lanes<Arch>;
  constexpr int registers = whole + (rest > 0 ? 1 : 0);
  auto const [first, last] = part.of(static_cast<std::int64_t>(Outer) * registers);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const begin = item / registers * Length * Inner + item % registers * lanes<Arch>;
    if (rest == 0 || item % registers < whole) {
      if constexpr (whole > 0) function.template operator()<lanes<Arch>>(begin);
    } else if constexpr (rest > 0) {
      function.template operator()<rest>(begin);
    }
  }
}

}  // namespace detail

/// y = softmax(x) along the middle axis of an (Outer, Length, Inner) tensor. y may be x. A NaN or +inf in x makes all
/// that is summed with it NaN. Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, class Arch = default_architecture>
inline void softmax_planes(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    float const* const from = x + begin;
    float* const to = y + begin;
    value largest(-std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < Length; ++i) largest = xsimd::max(largest, load_lanes<Count, Arch>(from + i * Inner));
    value sum(0.0F);
    for (std::int64_t i = 0; i < Length; ++i) {
      value const exponential = xsimd::exp(load_lanes<Count, Arch>(from + i * Inner) - largest);
      sum = sum + exponential;
      store_lanes<Count>(exponential, to + i * Inner);
    }
    value const scale = value(1.0F) / sum;
    for (std::int64_t i = 0; i < Length; ++i)
      store_lanes<Count>(load_lanes<Count, Arch>(to + i * Inner) * scale, to + i * Inner);
  });
}

/// dx = y * (dy - sum(y * dy)) along the middle axis, added to dx if Accumulate. Without Accumulate dx may be dy.
/// Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_planes_gradient(float const* y, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    value dot(0.0F);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner)
      dot = fused_multiply_add(load_lanes<Count, Arch>(y + i), load_lanes<Count, Arch>(dy + i), dot);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner) {
      value const difference = load_lanes<Count, Arch>(dy + i) - dot;
      value const p = load_lanes<Count, Arch>(y + i);
      if constexpr (Accumulate)
        store_lanes<Count>(fused_multiply_add(p, difference, load_lanes<Count, Arch>(dx + i)), dx + i);
      else
        store_lanes<Count>(p * difference, dx + i);
    }
  });
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/activation_layers.hpp
// The steps of the layers on the host that are an activation with options: re_lu, leaky_re_lu, elu_layer,
// thresholded_re_lu, softmax_layer and prelu. Level 5.

namespace stagecraft {

namespace detail {

/// A layer that says its activation in `function()`.
struct activation_layer_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    constexpr auto function = Call::layer.function();
    auto const [first, last] = call.elements(floats<Call>);
    kernels::activation_forward<function, typename Call::architecture>(call.input(0) + first, call.output() + first,
                                                                       last - first);
  }

  template <class Call>
  static void backward(Call const& call) {
    constexpr auto function = Call::layer.function();
    if constexpr (Call::wants_input_gradient(0)) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::activation_backward<function, Call::adds_input_gradient(0), typename Call::architecture>(
          (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
          call.input_gradient(0) + first, last - first);
    }
  }
};

}  // namespace detail

template <>
struct operation<layers::re_lu> : detail::activation_layer_operation {};
template <>
struct operation<layers::leaky_re_lu> : detail::activation_layer_operation {};
template <>
struct operation<layers::elu_layer> : detail::activation_layer_operation {};
template <>
struct operation<layers::thresholded_re_lu> : detail::activation_layer_operation {};

template <>
struct operation<layers::softmax_layer> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr int axis = Call::layer.shape_axis(Call::output_shape());
  template <class Call>
  static constexpr int outer = Call::batch * Call::output_shape().size(0, axis<Call>);
  template <class Call>
  static constexpr int length = Call::output_shape()[axis<Call>];
  template <class Call>
  static constexpr int inner = Call::output_shape().size(axis<Call> + 1, Call::output_shape().rank());

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (inner<Call> == 1)
      kernels::softmax<outer<Call>, length<Call>, arch>(call.input(0), call.output(), call.share());
    else
      kernels::softmax_planes<outer<Call>, length<Call>, inner<Call>, arch>(call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool adds = Call::adds_input_gradient(0);
      if constexpr (inner<Call> == 1)
        kernels::softmax_gradient<outer<Call>, length<Call>, adds, arch>(call.output(), call.output_gradient(),
                                                                         call.input_gradient(0), call.share());
      else
        kernels::softmax_planes_gradient<outer<Call>, length<Call>, inner<Call>, adds, arch>(
            call.output(), call.output_gradient(), call.input_gradient(0), call.share());
    }
  }
};

template <>
struct operation<layers::prelu> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::slope_layout layout = kernels::slope_layout::of(
      Call::batch, Call::output_shape().rank(), Call::output_shape(), Call::layer.alpha_shape(Call::output_shape()));

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::prelu<layout<Call>, typename Call::architecture>(call.input(0), call.weight(0), call.output(),
                                                              call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0))
      kernels::prelu_input_gradient<layout<Call>, Call::adds_input_gradient(0), arch>(
          call.input(0), call.weight(0), call.output_gradient(), call.input_gradient(0), call.share());
    kernels::prelu_slope_gradient<layout<Call>, Call::adds_parameter_gradient, arch>(
        call.input(0), call.output_gradient(), call.parameter_gradient(0), call.share());
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/channel_rows.hpp
// Sums over the rows of a row-major matrix, one for each channel (column), and numbers per channel laid beside the
// rows: what the normalizations are made of. Level 4 of the house.

namespace stagecraft::kernels {

/// Rows of `Channels` floats, as registers meet them. Rows that are much shorter than the registers are taken in groups
/// that fill whole ones, so that each lane still belongs to one channel: a group's floats are its *columns*.
template <int Channels, class Arch = default_architecture>
struct channel_rows {
  static constexpr int width = lanes<Arch>;
  /// Rows of a group.
  static constexpr int group = [] {
    if (Channels >= 4 * width) return 1;
    int const power_of_two = Channels & -Channels;
    int rows = power_of_two >= width ? 1 : width / power_of_two;
    while (Channels * rows < 4 * width) rows *= 2;
    return rows;
  }();
  static constexpr int columns = Channels * group;
  static constexpr int vectors = (columns + width - 1) / width;
  static constexpr int last_lanes = columns - (vectors - 1) * width;
  /// Floats of an array with one number per channel. Whole registers of it are read and written.
  static constexpr int channel_floats = (Channels + 15) / 16 * 16;
  /// Floats of an array with one number per column. A register behind them may be read and written, too.
  static constexpr int column_floats = (vectors * width + width + 15) / 16 * 16;
  /// Work is divided where a group and a cache line begin: after a multiple of so many rows.
  static constexpr int granule = [] {
    int rows = group;
    while (rows * Channels % 16 != 0) rows *= 2;
    return rows;
  }();

  /// sums[s * column_floats + column] += term s of all rows. `term(sum, column, values...)` adds to the batches
  /// sum[Sums], given the first of a batch's columns and the values of each x there.
  template <int Sums, class Term, std::same_as<float const*>... Inputs>
  static void add_sums(std::int64_t rows, Term const& term, float* sums, Inputs... x) {
    constexpr int whole_blocks = (vectors - 1) / block;
    for (int i = 0; i < whole_blocks; ++i)
      add_block<block, width, Sums>(rows / group, i * block * width, term, sums, x...);
    add_block<vectors - whole_blocks * block, last_lanes, Sums>(rows / group, whole_blocks * block * width, term, sums,
                                                                x...);
    // Rows that are no whole group.
    if (int const rest = static_cast<int>(rows % group) * Channels; rest > 0) {
      std::int64_t const from = rows / group * columns;
      for (int column = 0; column < rest; column += width) {
        int const count = rest - column < width ? rest - column : width;
        batch<Arch> sum[Sums];
        for (int s = 0; s < Sums; ++s) sum[s] = batch<Arch>(0.0F);
        term(sum, column, load_first<Arch>(x + from + column, count)...);
        for (int s = 0; s < Sums; ++s) {
          float* const to = sums + s * column_floats + column;
          (batch<Arch>::load_unaligned(to) + keep_first(sum[s], count)).store_unaligned(to);
        }
      }
    }
  }

  /// The sums of a group's columns, one per channel. Gives `channels`, or `by_column` itself if they are the channels.
  static float const* fold(float const* by_column, float* channels) {
    if constexpr (group == 1) return by_column;
    for (int channel = 0; channel < Channels; channel += width) {
      batch<Arch> sum[2] = {batch<Arch>::load_unaligned(by_column + channel),
                            batch<Arch>::load_unaligned(by_column + Channels + channel)};
      for (int row = 2; row < group; row += 2) {
        sum[0] = sum[0] + batch<Arch>::load_unaligned(by_column + row * Channels + channel);
        sum[1] = sum[1] + batch<Arch>::load_unaligned(by_column + (row + 1) * Channels + channel);
      }
      (sum[0] + sum[1]).store_unaligned(channels + channel);
    }
    return channels;
  }

  /// Numbers per channel, once for each row of a group. Gives `by_column`, or `channels` itself if they are the
  /// columns.
  static float const* spread(float const* channels, float* by_column) {
    if constexpr (group == 1) return channels;
    for (int row = 0; row < group; ++row)
      for (int channel = 0; channel < Channels; channel += width)
        batch<Arch>::load_unaligned(channels + channel).store_unaligned(by_column + row * Channels + channel);
    return by_column;
  }

  /// y = function(column, batches of x...) for this thread's share of the rows. `function` reads what it needs of
  /// arrays per column by itself.
  template <class Function, std::same_as<float const*>... Inputs>
  static void transform_rows(std::int64_t rows, Function const& function, float* y, share part, Inputs... x) {
    auto const [first, last] = part.of(rows, granule);
    std::int64_t at = first * Channels;
    for (std::int64_t row = first; row + group <= last; row += group, at += columns) {
#pragma GCC unroll 8
      for (int j = 0; j + 1 < vectors; ++j)
        function(j * width, batch<Arch>::load_unaligned(x + at + j * width)...).store_unaligned(y + at + j * width);
      constexpr int j = vectors - 1;
      store_lanes<last_lanes>(function(j * width, load_lanes<last_lanes, Arch>(x + at + j * width)...),
                              y + at + j * width);
    }
    int const rest = static_cast<int>(last * Channels - at);
    for (int column = 0; column < rest; column += width) {
      int const count = rest - column < width ? rest - column : width;
      store_first<Arch>(function(column, load_first<Arch>(x + at + column, count)...), y + at + column, count);
    }
  }

 private:
  static constexpr int block = has_avx512<Arch> ? 8 : 4;  // registers of each sum at once

  template <int Vectors, int LastLanes, int Sums, class Term, class... Inputs>
  static void add_block(std::int64_t groups, int column, Term const& term, float* sums, Inputs... x) {
    batch<Arch> sum[Vectors][Sums];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j)
#pragma GCC unroll 2
      for (int s = 0; s < Sums; ++s)
        sum[j][s] = batch<Arch>::load_unaligned(sums + s * column_floats + column + j * width);
    std::int64_t at = column;
    for (std::int64_t row = 0; row < groups; ++row, at += columns) {
#pragma GCC unroll 8
      for (int j = 0; j + 1 < Vectors; ++j)
        term(sum[j], column + j * width, batch<Arch>::load_unaligned(x + at + j * width)...);
      constexpr int j = Vectors - 1;
      term(sum[j], column + j * width, load_lanes<LastLanes, Arch>(x + at + j * width)...);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j)
#pragma GCC unroll 2
      for (int s = 0; s < Sums; ++s) sum[j][s].store_unaligned(sums + s * column_floats + column + j * width);
  }
};

/// How `Rows` rows are cut for sums over them: into items, which threads share, and these into chunks, which stay in
/// the first cache. The cut depends on shapes only, so sums have the same bits for any number of threads. An item has
/// at least 16384 floats, and there are at most 32.
template <int Rows, int Channels, class Arch = default_architecture>
struct channel_items {
  using layout = channel_rows<Channels, Arch>;
  static constexpr int chunk_rows = [] {
    constexpr int step = Channels < 64 ? 64 : 16;  // whole granules of every architecture
    int const rows = 8192 / Channels / step * step;
    return rows < step ? step : rows;
  }();
  static_assert(chunk_rows % channel_rows<Channels, Arch>::granule == 0);
  static constexpr int item_rows = [] {
    int const chunks = (Rows + chunk_rows - 1) / chunk_rows;
    int const per_item = (chunks + 31) / 32;
    return (per_item < 4 ? 4 : per_item) * chunk_rows;
  }();
  /// Of all rows; fewer rows have fewer items, cut at the same places.
  static constexpr int count = (Rows + item_rows - 1) / item_rows;
  /// Floats for two numbers per channel and item.
  static constexpr long long partial_floats = 2LL * count * layout::channel_floats;

  [[nodiscard]] static constexpr std::int64_t of_rows(std::int64_t rows) { return (rows + item_rows - 1) / item_rows; }
  [[nodiscard]] static constexpr std::int64_t rows_of(std::int64_t item, std::int64_t rows) {
    std::int64_t const left = rows - item * item_rows;
    return left < item_rows ? left : item_rows;
  }
};

/// The sums of all items' sums: `sums` holds two arrays of numbers per channel.
template <int Rows, int Channels, class Arch = default_architecture>
inline void add_item_sums(float const* partial, std::int64_t rows, float* sums) {
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  std::memset(sums, 0, sizeof(float) * 2 * layout::channel_floats);
  for (std::int64_t item = 0; item < channel_items<Rows, Channels, Arch>::of_rows(rows); ++item)
    transform<Arch>(
        2 * layout::channel_floats, [](value const& a, value const& b) { return a + b; }, sums,
        static_cast<float const*>(sums), partial + 2 * item * layout::channel_floats);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/batch_normalization.hpp
// Normalization of each channel over all rows: statistics, output and gradients, for rows of channels (channels last).
// Keras counterpart: tf.keras.layers.BatchNormalization. Level 4 of the house.

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

/// Floats of workspace, on each thread, that the functions of this header need for rows of so many channels.
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
      // The rest of the mean that rounding has left, and what it does to the squares.
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

/// moving = moving * momentum + factor * value * (1 - momentum), for n channels.
template <class Arch = default_architecture>
inline void move_statistic(float momentum, float factor, float const* x, float* moving, std::int64_t n) {
  using value = batch<Arch>;
  value const keep(momentum), take((1.0F - momentum) * factor);
  transform<Arch>(
      n, [&](value const& m, value const& v) { return fused_multiply_add(v, take, m * keep); }, moving,
      static_cast<float const*>(moving), x);
}

/// y = (x - mean) * reciprocal * gamma + beta for `rows` rows. gamma or beta may be null. Arrays per channel are padded
/// to whole registers.
template <int Channels, class Arch = default_architecture>
inline void batch_normalize(float const* x, std::int64_t rows, float const* mean, float const* reciprocal,
                            float const* gamma, float const* beta, float* workspace, float* y, share part = {}) {
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  float* const scale = workspace;
  if (gamma != nullptr)
    transform<Arch>(Channels, [](value const& r, value const& g) { return r * g; }, scale, reciprocal, gamma);
  else
    std::memcpy(scale, reciprocal, sizeof(float) * Channels);
  float* const offset = scale + layout::channel_floats;
  if (beta != nullptr)
    std::memcpy(offset, beta, sizeof(float) * Channels);
  else
    std::memset(offset, 0, sizeof(float) * Channels);
  float* const columns = offset + layout::channel_floats;
  float const* const m = layout::spread(mean, columns);
  float const* const s = layout::spread(scale, columns + layout::column_floats);
  float const* const o = layout::spread(offset, columns + 2 * layout::column_floats);
  layout::transform_rows(
      rows,
      [=](int column, value const& v) {
        return fused_multiply_add(v - value::load_unaligned(m + column), value::load_unaligned(s + column),
                                  value::load_unaligned(o + column));
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
  float* const of_chunk = sums + 2 * layout::column_floats;  // not needed where a chunk's sums are the channels'
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

// ---- stagecraft/kernels/batch_normalization_planes.hpp
// Normalization of each channel over planes: statistics, output and gradients where the channels are not the last axis.
// Keras counterpart: tf.keras.layers.BatchNormalization with an axis of its own. Level 4 of the house.

namespace stagecraft::kernels {

/// `outer` x `Channels` planes of `Inner` floats. Each function works on one channel: threads divide the channels.
template <int Channels, int Inner, class Arch = default_architecture>
struct channel_planes {
  using value = batch<Arch>;

  struct statistics {
    float mean;
    float variance;  ///< that of n of n numbers
  };
  struct sums {
    float of_gradient;            ///< of dy
    float of_gradient_deviation;  ///< of dy * (x - mean)
  };

  /// Each plane's own statistics in two passes, joined by Chan's formula.
  [[nodiscard]] static statistics measure(float const* x, std::int64_t outer, int channel) {
    double mean = 0, squares = 0;
    for (std::int64_t block = 0; block < outer; ++block) {
      float const* const plane = at(x, block, channel);
      float const near = sum([](value const& v) { return v; }, plane) / static_cast<float>(Inner);
      value const shift(near);
      double const rest = sum([&](value const& v) { return v - shift; }, plane);
      double const square = sum([&](value const& v) { return (v - shift) * (v - shift); }, plane);
      double const plane_mean = static_cast<double>(near) + rest / Inner;
      double const delta = plane_mean - mean;
      auto const before = static_cast<double>(block);
      squares += square - rest * rest / Inner + delta * delta * Inner * (before / (before + 1));
      mean += delta / (before + 1);
    }
    return {static_cast<float>(mean), static_cast<float>(squares / (static_cast<double>(outer) * Inner))};
  }

  /// y = (x - mean) * scale + offset.
  static void normalize(float const* x, std::int64_t outer, int channel, float mean, float scale, float offset,
                        float* y) {
    value const m(mean), s(scale), o(offset);
    for (std::int64_t block = 0; block < outer; ++block)
      transform<Arch>(
          Inner, [&](value const& v) { return fused_multiply_add(v - m, s, o); }, at(y, block, channel),
          at(x, block, channel));
  }

  [[nodiscard]] static sums gradient_sums(float const* x, float const* dy, std::int64_t outer, int channel,
                                          float mean) {
    double of_gradient = 0, of_gradient_deviation = 0;
    value const m(mean);
    for (std::int64_t block = 0; block < outer; ++block) {
      float const *const from = at(x, block, channel), *const gradient = at(dy, block, channel);
      of_gradient += sum([](value const& g) { return g; }, gradient);
      of_gradient_deviation += sum([&](value const& g, value const& v) { return g * (v - m); }, gradient, from);
    }
    return {static_cast<float>(of_gradient), static_cast<float>(of_gradient_deviation)};
  }

  /// dx (or dx +=, if Accumulate) = scale * (dy - mean_gradient - (x - mean) * slope).
  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, std::int64_t outer, int channel, float mean, float scale,
                       float mean_gradient, float slope, float* dx) {
    value const m(mean), s(scale), d(mean_gradient), e(slope);
    auto const without_scale = [&](value const& v, value const& g) {
      return fused_negative_multiply_add(v - m, e, g - d);
    };
    for (std::int64_t block = 0; block < outer; ++block) {
      float* const to = at(dx, block, channel);
      if constexpr (Accumulate)
        transform<Arch>(
            Inner,
            [&](value const& v, value const& g, value const& before) {
              return fused_multiply_add(s, without_scale(v, g), before);
            },
            to, at(x, block, channel), at(dy, block, channel), static_cast<float const*>(to));
      else
        transform<Arch>(
            Inner, [&](value const& v, value const& g) { return s * without_scale(v, g); }, to, at(x, block, channel),
            at(dy, block, channel));
    }
  }

 private:
  template <class Float>
  static Float* at(Float* x, std::int64_t block, int channel) {
    return x + (block * Channels + channel) * Inner;
  }

  /// The sum of a function that is not 0 where its arguments are.
  template <class Function, class... Inputs>
  [[nodiscard]] static float sum(Function const& function, Inputs... x) {
    constexpr int whole = Inner / lanes<Arch> * lanes<Arch>;
    float result = whole > 0 ? transform_sum<Arch>(whole, function, x...) : 0.0F;
    if constexpr (whole < Inner)
      result +=
          horizontal_sum(keep_first<Arch>(function(load_lanes<Inner - whole, Arch>(x + whole)...), Inner - whole));
    return result;
  }
};

}  // namespace stagecraft::kernels

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

// ---- stagecraft/execution/operations/batch_normalization.hpp
// The steps of batch_normalization on the host. Sums over the batch are divided among threads at fixed places and then
// joined by each thread for itself. Level 5.

namespace stagecraft {

template <>
struct operation<layers::batch_normalization> {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    using arch = typename Call::architecture;
    static constexpr auto const& layer = Call::layer;
    static constexpr int axis = layer.shape_axis(Call::input_shape(0));
    static constexpr int channels = layer.channels(Call::input_shape(0));
    /// Floats of one channel that lie together; 1 if the channels are the last axis.
    static constexpr int inner = Call::input_shape(0).size(axis + 1, Call::input_shape(0).rank());
    static constexpr int outer_per_sample = Call::input_shape(0).size(0, axis);
    static constexpr int outer = Call::batch * outer_per_sample;
    static constexpr int gamma = 0, beta = layer.scale ? 1 : 0;
    static constexpr int moving_mean = beta + (layer.center ? 1 : 0), moving_variance = moving_mean + 1;

    // Arrays with one number per channel: in `saved` mean and reciprocal deviation, then the items' sums; in the
    // workspace four of them, then what the kernels need.
    using rows = kernels::channel_rows<channels, arch>;
    static constexpr int array = rows::channel_floats;
    using items = kernels::channel_items<outer, channels, arch>;
    static_assert(inner > 1 || !Call::plan::trains || Call::planned.needs.saved >= 2LL * array + items::partial_floats);

    static float const* gamma_of(Call const& call) { return layer.scale ? call.weight(gamma) : nullptr; }
    static float const* beta_of(Call const& call) { return layer.center ? call.weight(beta) : nullptr; }
    static float gamma_at(Call const& call, int c) { return layer.scale ? call.weight(gamma)[c] : 1.0F; }
    static float beta_at(Call const& call, int c) { return layer.center ? call.weight(beta)[c] : 0.0F; }

    /// What the batch's variance is multiplied with before it goes into the moving one.
    static float correction(Call const& call) {
      auto const n = static_cast<float>(call.valid_samples()) * static_cast<float>(outer_per_sample * inner);
      return layer.moves_unbiased_variance(Call::input_shape(0)) && n > 1 ? n / (n - 1) : 1.0F;
    }
    static void move_statistics(Call const& call, float const* mean, float const* variance, int first, int count) {
      float* const moving[]{call.mutable_weight(moving_mean) + first, call.mutable_weight(moving_variance) + first};
      kernels::move_statistic<arch>(layer.momentum, 1.0F, mean, moving[0], count);
      kernels::move_statistic<arch>(layer.momentum, correction(call), variance, moving[1], count);
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return s::inner > 1 ? 0 : 4LL * s::array + kernels::batch_normalization_workspace<s::channels, typename s::arch>;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    if constexpr (s::inner > 1)
      forward_planes(call);
    else
      forward_rows(call);
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    // What fills a partial batch has no part in the loss.
    if constexpr (Call::wants_input_gradient(0) && !Call::adds_input_gradient(0)) {
      auto const used = static_cast<std::size_t>(call.valid_samples()) * Call::size;
      if (call.share().is_first())
        std::memset(call.input_gradient(0) + used, 0, sizeof(float) * (std::size_t{Call::batch} * Call::size - used));
    }
    if constexpr (s::inner > 1)
      backward_planes(call);
    else
      backward_rows(call);
  }

 private:
  template <class Call>
  static void forward_rows(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const mean = call.memory.workspace;
    float* const variance = mean + s::array;
    float* const reciprocal = variance + s::array;
    float* const workspace = mean + 4 * s::array;
    float const* used_mean = mean;
    if constexpr (Call::plan::trains) {
      std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
      float* const partial = call.saved() + 2 * s::array;
      kernels::batch_statistics<s::outer, s::channels, arch>(call.input(0), rows, workspace, partial, call.share());
      call.synchronize();
      kernels::join_batch_statistics<s::outer, s::channels, arch>(call.input(0), partial, rows, workspace, mean,
                                                                  variance);
      kernels::reciprocal_deviation<arch>(variance, Call::layer.epsilon, reciprocal, s::channels);
      if (call.share().is_first()) {
        std::memcpy(call.saved(), mean, sizeof(float) * s::channels);
        std::memcpy(call.saved() + s::array, reciprocal, sizeof(float) * s::channels);
        s::move_statistics(call, mean, variance, 0, s::channels);
      }
    } else {
      used_mean = call.weight(s::moving_mean);
      kernels::reciprocal_deviation<arch>(call.weight(s::moving_variance), Call::layer.epsilon, reciprocal,
                                          s::channels);
    }
    kernels::batch_normalize<s::channels, arch>(call.input(0), s::outer, used_mean, reciprocal, s::gamma_of(call),
                                                s::beta_of(call), workspace, call.output(), call.share());
  }

  template <class Call>
  static void backward_rows(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float const *const mean = call.saved(), *const reciprocal = mean + s::array;
    float* const partial = call.saved() + 2 * s::array;
    float* const sums = call.memory.workspace;
    float* const workspace = sums + 4 * s::array;
    kernels::batch_normalization_sums<s::outer, s::channels, arch>(call.input(0), call.output_gradient(), rows, mean,
                                                                   workspace, partial, call.share());
    call.synchronize();
    kernels::add_item_sums<s::outer, s::channels, arch>(partial, rows, sums);
    if (call.share().is_first()) {
      constexpr bool add = Call::adds_parameter_gradient;
      if constexpr (Call::layer.center)
        kernels::scaled_add<add, arch>(1.0F, sums, call.parameter_gradient(s::beta), s::channels);
      if constexpr (Call::layer.scale)
        kernels::batch_normalization_scale_gradient<add, arch>(sums + s::array, reciprocal,
                                                               call.parameter_gradient(s::gamma), s::channels);
    }
    if constexpr (Call::wants_input_gradient(0))
      kernels::batch_normalization_gradient<s::channels, Call::adds_input_gradient(0), arch>(
          call.input(0), call.output_gradient(), rows, mean, reciprocal, s::gamma_of(call), sums, workspace,
          call.input_gradient(0), call.share());
  }

  template <class Call>
  static void forward_planes(Call const& call) {
    using s = shapes<Call>;
    using planes = kernels::channel_planes<s::channels, s::inner, typename s::arch>;
    std::int64_t const used = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    auto const [first, last] = call.share().of(s::channels);
    for (int c = static_cast<int>(first); c < last; ++c) {
      float mean = call.weight(s::moving_mean)[c], variance = call.weight(s::moving_variance)[c];
      if constexpr (Call::plan::trains) {
        auto const found = planes::measure(call.input(0), used, c);
        mean = found.mean;
        variance = found.variance;
        s::move_statistics(call, &mean, &variance, c, 1);
      }
      float const reciprocal = 1.0F / std::sqrt(variance + Call::layer.epsilon);
      if constexpr (Call::plan::trains) {
        call.saved()[c] = mean;
        call.saved()[s::array + c] = reciprocal;
      }
      planes::normalize(call.input(0), s::outer, c, mean, reciprocal * s::gamma_at(call, c), s::beta_at(call, c),
                        call.output());
    }
  }

  template <class Call>
  static void backward_planes(Call const& call) {
    using s = shapes<Call>;
    using planes = kernels::channel_planes<s::channels, s::inner, typename s::arch>;
    std::int64_t const used = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float const per_value = 1.0F / (static_cast<float>(used) * s::inner);
    auto const write = [](float& to, float gradient) { to = Call::adds_parameter_gradient ? to + gradient : gradient; };
    auto const [first, last] = call.share().of(s::channels);
    for (int c = static_cast<int>(first); c < last; ++c) {
      float const mean = call.saved()[c], reciprocal = call.saved()[s::array + c];
      auto const sums = planes::gradient_sums(call.input(0), call.output_gradient(), used, c, mean);
      if constexpr (Call::layer.center) write(call.parameter_gradient(s::beta)[c], sums.of_gradient);
      if constexpr (Call::layer.scale)
        write(call.parameter_gradient(s::gamma)[c], sums.of_gradient_deviation * reciprocal);
      if constexpr (Call::wants_input_gradient(0))
        planes::template gradient<Call::adds_input_gradient(0)>(
            call.input(0), call.output_gradient(), used, c, mean, reciprocal * s::gamma_at(call, c),
            sums.of_gradient * per_value, sums.of_gradient_deviation * per_value * reciprocal * reciprocal,
            call.input_gradient(0));
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/borders.hpp
// Copies an image into a larger one with zeros around it, and the middle of an image into a smaller one: each is the
// gradient of the other. Keras counterpart: tf.keras.layers.ZeroPadding2D, Cropping2D and those of one axis. Level 4 of
// the house.

namespace stagecraft::kernels {

/// An image (height, width, channels) and the cells around it. A sequence is an image of height 1.
struct border_shape {
  int height = 1, width = 1, channels = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int outer_height() const noexcept { return top + height + bottom; }
  [[nodiscard]] constexpr int outer_width() const noexcept { return left + width + right; }
  /// Elements of the image, and of the image with its border.
  [[nodiscard]] constexpr int size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int outer_size() const noexcept { return outer_height() * outer_width() * channels; }

  friend constexpr bool operator==(border_shape const&, border_shape const&) = default;
};

/// y = the images x with zeros around them; if Accumulate, the images are added to what is in y.
/// Items of `part`: rows of y, of all samples.
template <int Batch, border_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void add_border(float const* x, float* y, share part = {}) {
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  constexpr std::int64_t outer_row_size = static_cast<std::int64_t>(Shape.outer_width()) * Shape.channels;
  constexpr std::int64_t left = static_cast<std::int64_t>(Shape.left) * Shape.channels;
  auto const clear = [](float* from, std::int64_t floats) {
    if (!Accumulate && floats > 0) std::memset(from, 0, static_cast<std::size_t>(floats) * sizeof(float));
  };
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.outer_height());
  for (std::int64_t item = first; item < last; ++item) {
    float* const to = y + item * outer_row_size;
    std::int64_t const row = item % Shape.outer_height() - Shape.top;
    if (row < 0 || row >= Shape.height) {
      clear(to, outer_row_size);
    } else {
      float const* const from = x + (item / Shape.outer_height() * Shape.height + row) * row_size;
      clear(to, left);
      copy_blocks<Accumulate, Arch>(1, row_size, from, 0, to + left, 0);
      clear(to + left + row_size, outer_row_size - left - row_size);
    }
  }
}

/// x = the images in the middle of y, or x += them, if Accumulate.
/// Items of `part`: rows of x, of all samples.
template <int Batch, border_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void remove_border(float const* y, float* x, share part = {}) {
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  constexpr std::int64_t outer_row_size = static_cast<std::int64_t>(Shape.outer_width()) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const row = item / Shape.height * Shape.outer_height() + Shape.top + item % Shape.height;
    copy_blocks<Accumulate, Arch>(1, row_size, y + row * outer_row_size + Shape.left * Shape.channels, 0,
                                  x + item * row_size, 0);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/borders.hpp
// The steps of zero padding and cropping on the host: each is the other's backward step. Level 5.

namespace stagecraft {

namespace detail {

/// `inner` is the smaller image. A sequence is an image of one column, so that threads share its steps.
constexpr kernels::border_shape border_shape_of(shape const& inner, border const& steps) {
  return {.height = inner[0], .channels = inner[1], .top = steps.before, .bottom = steps.after};
}
constexpr kernels::border_shape border_shape_of(shape const& inner, border_2d const& border) {
  return {.height = inner[0],
          .width = inner[1],
          .channels = inner[2],
          .top = border.rows.before,
          .left = border.columns.before,
          .bottom = border.rows.after,
          .right = border.columns.after};
}

struct padding_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::border_shape shape = border_shape_of(Call::input_shape(0), Call::layer.padding);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::add_border<Call::batch, shape<Call>, false, typename Call::architecture>(call.input(0), call.output(),
                                                                                      call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::remove_border<Call::batch, shape<Call>, Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), call.share());
  }
};

struct cropping_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::border_shape shape = border_shape_of(Call::output_shape(), Call::layer.cropping);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::remove_border<Call::batch, shape<Call>, false, typename Call::architecture>(call.input(0), call.output(),
                                                                                         call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::add_border<Call::batch, shape<Call>, Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::zero_padding2d> : detail::padding_operation {};
template <>
struct operation<layers::zero_padding1d> : detail::padding_operation {};
template <>
struct operation<layers::cropping2d> : detail::cropping_operation {};
template <>
struct operation<layers::cropping1d> : detail::cropping_operation {};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/concatenate.hpp
// The steps of concatenate on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::concatenate> {
  static constexpr bool divides = true;

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
    auto const [first, last] = call.share().of(b::outer);
    for (int i = 0; i < Call::input_count; ++i)
      kernels::copy_blocks<false, typename Call::architecture>(
          last - first, b::length(i), call.input(i) + first * b::length(i), b::length(i),
          call.output() + first * b::stride + b::begin(i), b::stride);
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
    if constexpr (Call::wants_input_gradient(Index)) {
      auto const [first, last] = call.share().of(b::outer);
      kernels::copy_blocks<Call::adds_input_gradient(Index), typename Call::architecture>(
          last - first, b::length(Index), call.output_gradient() + first * b::stride + b::begin(Index), b::stride,
          call.input_gradient(Index) + first * b::length(Index), b::length(Index));
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/epilogue.hpp
// What products and convolutions do to their sums before they leave the registers: parts, and how to compose them.
// Level 4 of the house.
//
// An epilogue is called as `epilogue(sum, column, element)`: `sum` holds the sums of `lanes` neighbouring columns
// (units or channels) of one row of the result y, the first of which is number `column` of its row and is stored at
// y[element]. It gives what is stored. Behind the last column of a row the lanes hold anything, and are not stored.

namespace stagecraft::kernels {

/// Leaves the sums as they are.
struct no_epilogue {
  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int /*column*/, std::int64_t /*element*/) const noexcept {
    return sum;
  }
};

/// Adds bias[column]. The bias is padded to whole registers.
struct bias_epilogue {
  float const* bias;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column, std::int64_t /*element*/) const noexcept {
    return sum + Batch::load_unaligned(bias + column);
  }
};

/// Adds residual[element]: the same place of another tensor with the result's shape, of which up to a register behind
/// its end may be read. It may be the result itself, if nothing is stored there before the sums are complete.
struct residual_epilogue {
  float const* residual;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int /*column*/, std::int64_t element) const noexcept {
    return sum + Batch::load_unaligned(residual + element);
  }
};

/// An epilogue and then another one, or a function of the batch alone, such as an activation. For three parts:
/// `epilogue_then{epilogue_then{first, second}, third}`.
template <class Epilogue, class Then>
struct epilogue_then {
  Epilogue epilogue;
  Then then;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column, std::int64_t element) const {
    Batch const value = epilogue(sum, column, element);
    if constexpr (std::invocable<Then const&, Batch const&, int, std::int64_t>)
      return then(value, column, element);
    else
      return then(value);
  }
};

template <class Epilogue, class Then>
epilogue_then(Epilogue, Then) -> epilogue_then<Epilogue, Then>;

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/activation_epilogue.hpp
// What follows the sums of a layer with a kernel, such as dense or conv2d: bias and activation, forward and backward.
// Level 5.

namespace stagecraft::detail {

/// What a backward step does with the gradient of its first input before it is stored: applies the activation's
/// gradient of the layer that made the input, if the plan says so.
template <class Call>
[[nodiscard]] auto input_gradient_epilogue([[maybe_unused]] Call const& call) {
  constexpr auto function = Call::applied_activation(0);
  if constexpr (function == linear)
    return kernels::no_epilogue{};
  else
    return kernels::activation_gradient_epilogue<function, typename Call::architecture>{call.input(0)};
}

/// y = act(sums + bias) for Rows x Columns sums. One instantiation per shape, not per layer, of what is costly to
/// compile: epilogues are types that name no call.
template <int Rows, int Columns, activation Act, bool UseBias, class Arch>
struct activation_epilogue {
  static constexpr bool in_registers = Act.kind != activation_kind::softmax;
  static constexpr long long floats = static_cast<long long>(Rows) * Columns;

  struct apply {
    template <class Batch>
    [[nodiscard]] Batch operator()(Batch const& sum) const {
      return kernels::activation_function<Act, Arch>::forward(sum);
    }
  };

  /// `product(y, epilogue)` writes this thread's share of the sums, each through the epilogue. While training, sums +
  /// bias are kept in `before` if the activation's gradient needs them. `bias` is read if UseBias.
  template <class Call, class Product>
  static void forward(Call const& call, float const* bias, [[maybe_unused]] float* before, float* y,
                      Product const& product) {
    if constexpr (Act == linear) {
      product(y, with_bias(bias));
    } else if constexpr (!in_registers) {
      product(y, with_bias(bias));
      call.synchronize();
      kernels::softmax<Rows, Columns, Arch>(y, y, call.share());
    } else if constexpr (!Call::plan::trains || !Act.gradient_needs_input()) {
      product(y, kernels::epilogue_then{with_bias(bias), apply{}});
    } else {
      product(before, with_bias(bias));
      call.synchronize();
      auto const [first, last] = call.elements(floats);
      kernels::activation_forward<Act, Arch>(before + first, y + first, last - first);
    }
  }

  /// dy becomes the gradient of sums + bias, unless it is that already. All threads see all of dy afterwards.
  template <class Call>
  static void backward(Call const& call) {
    float const* const saved = Act.gradient_needs_input() ? call.saved() : call.output();
    float* const dy = call.output_gradient();
    if constexpr (Call::planned.activation_in_consumer) {
    } else if constexpr (!in_registers) {
      kernels::softmax_gradient<Rows, Columns, false, Arch>(saved, dy, dy, call.share());
      call.synchronize();
    } else if constexpr (Act != linear) {
      auto const [first, last] = call.elements(floats);
      kernels::activation_backward<Act, false, Arch>(saved + first, dy + first, dy + first, last - first);
      call.synchronize();
    }
  }

 private:
  static auto with_bias([[maybe_unused]] float const* bias) {
    if constexpr (UseBias)
      return kernels::bias_epilogue{bias};
    else
      return kernels::no_epilogue{};
  }
};

}  // namespace stagecraft::detail

// ---- stagecraft/kernels/convolution_shape.hpp
// Everything about a convolution but the batch size, as one compile-time value. Level 4 of the house.

namespace stagecraft::kernels {

/// A 2-D convolution of one sample, channels last: input (height, width, channels), output (output_height(),
/// output_width(), filters). A 1-D convolution has height 1. `top` to `right` are zeros around the input.
/// The kernel is Keras's (kernel_height, kernel_width, channels / groups, filters).
struct convolution_shape {
  int height = 1, width = 1, channels = 1;
  int filters = 1;
  int kernel_height = 1, kernel_width = 1;
  int stride_height = 1, stride_width = 1;
  int dilation_height = 1, dilation_width = 1;
  int groups = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int padded_height() const noexcept { return top + height + bottom; }
  [[nodiscard]] constexpr int padded_width() const noexcept { return left + width + right; }
  [[nodiscard]] constexpr bool has_padding() const noexcept { return top > 0 || left > 0 || bottom > 0 || right > 0; }
  [[nodiscard]] constexpr int output_height() const noexcept {
    return (padded_height() - (kernel_height - 1) * dilation_height - 1) / stride_height + 1;
  }
  [[nodiscard]] constexpr int output_width() const noexcept {
    return (padded_width() - (kernel_width - 1) * dilation_width - 1) / stride_width + 1;
  }
  /// Channels and filters of one group.
  [[nodiscard]] constexpr int group_channels() const noexcept { return channels / groups; }
  [[nodiscard]] constexpr int group_filters() const noexcept { return filters / groups; }
  /// Products that are summed for one output.
  [[nodiscard]] constexpr int steps() const noexcept { return kernel_height * kernel_width * group_channels(); }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * filters; }
  /// Multiply-adds count as two.
  [[nodiscard]] constexpr long long flops() const noexcept { return 2LL * steps() * output_size(); }

  friend constexpr bool operator==(convolution_shape const&, convolution_shape const&) = default;
};

/// How the kernel lies in memory: one packed matrix per group, one after the other, whose rows count (kernel row,
/// kernel column, channel of the group) and whose columns count the group's filters.
template <convolution_shape Shape, class Arch = default_architecture>
using packed_filter = packed_matrix<Shape.steps(), Shape.group_filters(), Arch>;

/// Floats of the whole kernel in that layout.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long filter_floats = static_cast<long long>(Shape.groups) * packed_filter<Shape, Arch>::size;

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/convolution_shapes.hpp
// A convolution layer's options and input, as the kernels want to know them. Level 5.

namespace stagecraft::detail {

/// The convolution that the windows of a layer make of an image, or of a sequence, of a given size.
template <class Derived, class Size>
constexpr kernels::convolution_shape convolution_of(layers::convolution_layer<Derived, Size> const& layer, int height,
                                                    int width, int channels, int filters, int groups = 1) {
  auto const rows = layer.rows(height), columns = layer.columns(width);
  return {.height = height,
          .width = width,
          .channels = channels,
          .filters = filters,
          .kernel_height = rows.window,
          .kernel_width = columns.window,
          .stride_height = rows.stride,
          .stride_width = columns.stride,
          .dilation_height = rows.dilation,
          .dilation_width = columns.dilation,
          .groups = groups,
          .top = rows.before(),
          .left = columns.before(),
          .bottom = rows.after(),
          .right = columns.after()};
}

/// Where a layer with an activation keeps sums + bias in its memory from forward to backward, if it does.
template <class Call>
constexpr bool keeps_sums = Call::plan::trains && Call::layer.activation.gradient_needs_input();

}  // namespace stagecraft::detail

// ---- stagecraft/kernels/gathered_tile.hpp
// The micro-kernel of the convolutions: like that of the matrix products, a tile of the result that stays in registers,
// but the rows of the left factor lie anywhere and its steps come in runs. Level 4 of the house; private to the
// kernels.

namespace stagecraft::kernels::detail {

/// The steps of a tile: `rows` times `columns` runs of `steps` steps, and how far the factors move from a row of runs
/// to the next, from a run to the next, and from a step to the next.
struct step_runs {
  int rows = 0;
  int columns = 1;
  int steps = 0;
  std::ptrdiff_t left_row = 0;
  std::ptrdiff_t right_row = 0;
  std::ptrdiff_t left_column = 0;
  std::ptrdiff_t right_column = 0;
  std::ptrdiff_t left_step = 1;
  std::ptrdiff_t right_step = 1;
};

/// The value as the compiler must take it: one register, and no relation to what it was before.
inline void keep_in_register([[maybe_unused]] std::ptrdiff_t& value) {
#if defined(__GNUC__)
  asm("" : "+r"(value));
#endif
}

/// The most rows of a gathered tile that is so many registers wide: each row's address takes a general register.
template <class Arch>
[[nodiscard]] consteval int most_gathered_rows(int vectors) {
  int const rows = (vector_registers<Arch>() - vectors - scratch_registers<Arch>()) / vectors;
  return rows < 10 ? rows : 10;
}

/// How many steps ahead of the sums both factors are prefetched, where they are read with large strides.
inline constexpr int steps_ahead = 8;

/// Calls visit(i, j) for i in [0, Rows) and j in [0, Vectors), as constants: indices into sums that stay in registers.
template <int Rows, int Vectors, class Visit>
[[gnu::always_inline]] inline void for_each_sum(Visit const& visit) {
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, Index / Vectors>(), std::integral_constant<int, Index % Vectors>()), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>());
}

/// Calls finish(i, j, sum) with, for every i in [0, Rows) and j in [0, Vectors), the sum over all steps of
/// left[i][where the step's left factor lies] * right[where its right factor lies + j * lanes...]. With LeftStep or
/// RightStep that is not 0, it is the distance between steps, known at compile time. A function of its own: then GCC
/// keeps all sums in registers.
template <int Rows, int Vectors, int LeftStep, int RightStep, class Arch, class Finish>
[[gnu::noinline]] void gathered_tile(float const* const* left, float const* right, step_runs const& runs,
                                     Finish finish) {
  constexpr int width = lanes<Arch>;
  float const* row[Rows];
  batch<Arch> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[i][j] = batch<Arch>(0.0F);
  }
  std::ptrdiff_t const left_step = LeftStep != 0 ? LeftStep : runs.left_step;
  std::ptrdiff_t const right_step = RightStep != 0 ? RightStep : runs.right_step;
  for (int r = 0; r < runs.rows; ++r)
    for (int c = 0; c < runs.columns; ++c) {
      std::ptrdiff_t at = r * runs.left_row + c * runs.left_column;
      std::ptrdiff_t const end = at + runs.steps * left_step;
      float const* from = right + r * runs.right_row + c * runs.right_column;
      for (; at != end; at += left_step, from += right_step) {
        keep_in_register(at);
        if constexpr (RightStep == 0) {
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) __builtin_prefetch(from + steps_ahead * right_step + j * width);
          __builtin_prefetch(row[0] + at + steps_ahead * left_step);
        }
        batch<Arch> factor[Vectors];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) factor[j] = load_once<Arch>(from + j * width);
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          batch<Arch> const element(row[i][at]);
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) sum[i][j] = fused_multiply_add(element, factor[j], sum[i][j]);
        }
      }
    }
  for_each_sum<Rows, Vectors>([&](auto i, auto j)
                                  __attribute__((always_inline)) { finish(i, j, batch<Arch>(sum[i][j])); });
}

/// The same for runs that are known at compile time and short: without loops.
template <int Rows, int Vectors, step_runs Runs, class Arch, class Finish>
[[gnu::noinline]] void short_gathered_tile(float const* const* left, float const* right, Finish finish) {
  constexpr int width = lanes<Arch>;
  batch<Arch> sum[Rows][Vectors];
  float const* row[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[i][j] = batch<Arch>(0.0F);
  }
#pragma GCC unroll 32
  for (int step = 0; step < Runs.rows * Runs.columns * Runs.steps; ++step) {
    int const r = step / Runs.steps / Runs.columns;
    int const c = step / Runs.steps % Runs.columns;
    int const s = step % Runs.steps;
    std::ptrdiff_t const at = r * Runs.left_row + c * Runs.left_column + s * Runs.left_step;
    std::ptrdiff_t const from = r * Runs.right_row + c * Runs.right_column + s * Runs.right_step;
    batch<Arch> factor[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) factor[j] = load_once<Arch>(right + from + j * width);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      batch<Arch> const element(row[i][at]);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[i][j] = fused_multiply_add(element, factor[j], sum[i][j]);
    }
  }
  for_each_sum<Rows, Vectors>([&](auto i, auto j)
                                  __attribute__((always_inline)) { finish(i, j, batch<Arch>(sum[i][j])); });
}

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/tap_classes.hpp
// Which outputs of a convolution see which part of its kernel: found at compile time, so that no zeros are copied
// around an input, and none are multiplied. Level 4 of the house; private to the kernels.

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

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/correlation.hpp
// The sliding products behind convolutions and their input's gradients: every pixel of a result is the sum, over the
// taps that meet the source, of a row of channels times a packed matrix. Level 4 of the house; private to the kernels.

namespace stagecraft::kernels::detail {

/// Where the floats of a tensor of pixels lie.
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
  /// The result's element of the first pixel.
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

  /// About how many half cycles all tiles of a panel take.
  [[nodiscard]] constexpr double cost(int height, int vectors) const {
    double const products = height * vectors;
    double const loads = height + vectors;
    double const step = products > loads ? products : loads;
    double sum = 0;
    for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
      double const steps = static_cast<double>(row.taps) * column.taps * channels;
      sum += static_cast<double>((pixels + height - 1) / height) * ((step > 8 ? step : 8) * steps + 2 * products + 40);
    });
    return sum;
  }
};

/// The height of the tiles: the least work, lost rows and what each tile costs beside its products included.
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

/// The most steps whose products are summed before the sums go to memory: what a panel of the filter may take of the
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
  /// From a pixel to the next, and what is added to that at the end of a row and of a sample.
  std::int64_t source_column_;
  std::int64_t source_row_;
  std::int64_t source_sample_;
  std::int64_t result_column_;
  std::int64_t result_row_;
  std::int64_t result_sample_;
};

/// How a panel is computed.
struct tile_plan {
  int height = 1;
  int vectors = 1;
  /// Floats between rows of the panel, and how many of its columns count.
  int panel = 1;
  int columns = 1;
  /// Whether sums go from the registers through the epilogue to the result, where a tile is whole and they are
  /// complete. Else they go by way of the first-level cache, which costs some cycles per tile, but little code.
  bool direct = false;
  /// Runs of all taps, if they are short enough to be done without loops; else no rows.
  step_runs short_runs = {};
};

/// The most steps of a tile that is worth the code of `direct`, and of `short_runs`.
inline constexpr int most_direct_steps = 1024;
inline constexpr int most_short_steps = 27;

/// Where the sums of a tile go.
template <class Epilogue>
struct correlation_output {
  float* result;
  int first_column;
  /// Whether the sums are added to what the result holds.
  bool add;
  /// Whether they are complete, and the epilogue due.
  bool last;
  Epilogue const& epilogue;

  /// Stores `rows` rows of a tile that are kept in memory; row i begins at element[i].
  template <tile_plan Plan, class Arch>
  void store(float const* sums, std::int64_t const* element, int rows) const {
    constexpr int width = lanes<Arch>;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < Plan.vectors; ++j, sums += width) {
        int const count = Plan.columns - j * width;
        std::int64_t const at = element[i] + j * width;
        batch<Arch> sum = batch<Arch>::load_aligned(sums);
        if (count >= width) {
          if (add) sum = sum + batch<Arch>::load_unaligned(result + at);
          if (last) sum = epilogue(sum, first_column + j * width, at);
          sum.store_unaligned(result + at);
        } else {
          if (add) sum = sum + load_first<Arch>(result + at, count);
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

/// Stores complete sums, of which the first Columns columns count.
template <int Columns, class Arch, class Epilogue>
struct store_sums {
  correlation_output<Epilogue> const& output;
  std::int64_t const* element;

  template <class Row, class Vector>
  [[gnu::always_inline]] void operator()(Row i, Vector j, batch<Arch> const& sum) const {
    constexpr int count = Columns - Vector::value * lanes<Arch>;
    std::int64_t const at = element[i] + j * lanes<Arch>;
    store_lanes<(count < lanes<Arch> ? count : lanes<Arch>)>(
        output.epilogue(sum, output.first_column + j * lanes<Arch>, at), output.result + at);
  }
};

/// Tiles [first, last) of a class; only tap rows [from_row, to_row) are summed.
template <tile_plan Plan, class Arch, class Epilogue>
void correlate_class(correlation const& shape, tap_class const& row, tap_class const& column, int from_row, int to_row,
                     float const* source, float const* filter, std::int64_t first, std::int64_t last,
                     correlation_output<Epilogue> const& output) {
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
  for (std::int64_t tile = first; tile < last; ++tile) {
    std::int64_t const pixels_left = pixels - tile * Plan.height;
    int const height = pixels_left < Plan.height ? static_cast<int>(pixels_left) : Plan.height;
    float const* left[Plan.height];
    std::int64_t element[Plan.height];
    for (int i = 0; i < Plan.height; ++i) {
      left[i] = source + cursor.source;
      element[i] = cursor.result + output.first_column;
      if (i + 1 < height) cursor.advance();
    }
    cursor.advance();
    if constexpr (Plan.direct) {
      if (direct && height == Plan.height) {
        store_sums<Plan.columns, Arch, Epilogue> const store{output, element};
        if constexpr (Plan.short_runs.rows > 0) {
          if (short_runs) {
            short_gathered_tile<Plan.height, Plan.vectors, Plan.short_runs, Arch>(left, filter, store);
            continue;
          }
        }
        gathered_tile<Plan.height, Plan.vectors, 1, Plan.panel, Arch>(left, filter, runs, store);
        continue;
      }
    }
    alignas(64) float sums[Plan.height * Plan.vectors * lanes<Arch>];
    gathered_tile<Plan.height, Plan.vectors, 1, Plan.panel, Arch>(left, filter, runs,
                                                                  keep_sums<Plan.vectors, Arch>{sums});
    output.template store<Plan, Arch>(sums, element, height);
  }
}

/// Tiles [first, last) of a panel; `filter` is the panel.
template <tile_plan Plan, class Arch, class Epilogue>
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
    shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
      std::int64_t const tiles = (pixels + Plan.height - 1) / Plan.height;
      std::int64_t const from = first > begin ? first - begin : 0;
      std::int64_t const to = last - begin < tiles ? last - begin : tiles;
      if (from < to)
        correlate_class<Plan, Arch>(shape, row, column, from_row, to_row, source, filter, from, to, output);
      begin += tiles;
    });
    from_row = to_row;
  } while (from_row < shape.rows.taps);
}

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/convolution.hpp
// The convolution of a batch with a packed filter, bias and activation included. Keras counterpart: Conv1D, Conv2D.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated, nor copied.

namespace stagecraft::kernels {

namespace detail {

/// The convolution itself, as a correlation.
template <int Batch, convolution_shape Shape>
struct forward_correlation {
  static constexpr convolution_axis rows = {.outputs = Shape.output_height(),
                                            .extent = Shape.height,
                                            .taps = Shape.kernel_height,
                                            .stride = Shape.stride_height,
                                            .origin = -Shape.top,
                                            .dilation = Shape.dilation_height};
  static constexpr convolution_axis columns = {.outputs = Shape.output_width(),
                                               .extent = Shape.width,
                                               .taps = Shape.kernel_width,
                                               .stride = Shape.stride_width,
                                               .origin = -Shape.left,
                                               .dilation = Shape.dilation_width};
  static constexpr auto row_classes = classify<most_classes(Shape.kernel_height)>(rows);
  static constexpr auto column_classes = classify<most_classes(Shape.kernel_width)>(columns);
  static constexpr correlation parts[1] = {{
      .samples = Batch,
      .rows = rows,
      .columns = columns,
      .row_classes = row_classes.item,
      .row_class_count = row_classes.count,
      .column_classes = column_classes.item,
      .column_class_count = column_classes.count,
      .channels = Shape.group_channels(),
      .source = {Shape.input_size(), static_cast<std::int64_t>(Shape.width) * Shape.channels, Shape.channels},
      .result = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters},
  }};
};

/// How a panel of which so many filters count is computed.
template <int Batch, convolution_shape Shape, class Arch>
[[nodiscard]] consteval tile_plan forward_plan(int columns) {
  using layout = packed_filter<Shape, Arch>;
  tile_plan plan;
  if (columns == 0) return plan;
  plan.vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  plan.height = tile_height<Arch>(forward_correlation<Batch, Shape>::parts, plan.vectors);
  plan.panel = layout::panel_columns;
  plan.columns = columns;
  plan.direct = Shape.steps() <= most_direct_steps;
  if (Shape.steps() > most_short_steps) return plan;
  std::ptrdiff_t const right_column = static_cast<std::ptrdiff_t>(Shape.group_channels()) * plan.panel;
  plan.short_runs = {.rows = Shape.kernel_height,
                     .columns = Shape.kernel_width,
                     .steps = Shape.group_channels(),
                     .left_row = static_cast<std::ptrdiff_t>(Shape.dilation_height) * Shape.width * Shape.channels,
                     .right_row = Shape.kernel_width * right_column,
                     .left_column = static_cast<std::ptrdiff_t>(Shape.dilation_width) * Shape.channels,
                     .right_column = right_column,
                     .left_step = 1,
                     .right_step = plan.panel};
  return plan;
}

}  // namespace detail

/// Floats of workspace that `convolution` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_workspace = 0;

/// y = epilogue(the convolution of x with w), or epilogue(y + the convolution) if Accumulate. x: Batch x input and y:
/// Batch x output of the shape, channels last; w: packed_filter<Shape, Arch>. Where a filter has more than 2048 steps,
/// y holds partial sums before the epilogue is called.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch = default_architecture,
          class Epilogue = no_epilogue>
void convolution(float const* x, float const* w, float* /*workspace*/, float* y, Epilogue const& epilogue = {},
                 share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  constexpr detail::correlation const(&shape)[1] = detail::forward_correlation<Batch, Shape>::parts;
  constexpr int filters = Shape.group_filters();
  constexpr int panel = layout::panel_columns;
  constexpr int whole = filters / panel;
  constexpr detail::tile_plan whole_plan = detail::forward_plan<Batch, Shape, Arch>(panel);
  constexpr detail::tile_plan rest_plan = detail::forward_plan<Batch, Shape, Arch>(filters % panel);
  constexpr std::int64_t whole_tiles = whole == 0 ? 0 : shape[0].tiles(whole_plan.height);
  constexpr std::int64_t rest_tiles = filters % panel == 0 ? 0 : shape[0].tiles(rest_plan.height);

  share::range const range = part.of(Shape.groups * (whole * whole_tiles + rest_tiles));
  std::int64_t begin = 0;
  auto const correlate = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t tiles) {
    std::int64_t const first = range.first > begin ? range.first - begin : 0;
    std::int64_t const last = range.last - begin < tiles ? range.last - begin : tiles;
    begin += tiles;
    if (first >= last) return;
    detail::correlate<Plan, Arch>(
        shape[0], x + group * Shape.group_channels(),
        w + static_cast<std::int64_t>(group) * layout::size + static_cast<std::int64_t>(p) * layout::panel_stride,
        first, last, detail::correlation_output<Epilogue>{y, group * filters + p * panel, Accumulate, false, epilogue});
  };
  for (int group = 0; group < Shape.groups; ++group) {
    if constexpr (whole > 0)
      for (int p = 0; p < whole; ++p) correlate.template operator()<whole_plan>(group, p, whole_tiles);
    if constexpr (rest_tiles > 0) correlate.template operator()<rest_plan>(group, whole, rest_tiles);
  }
}

/// The same without Accumulate.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void convolution(float const* x, float const* w, float* workspace, float* y, Epilogue const& epilogue = {},
                 share part = {}) {
  convolution<Batch, Shape, false, Arch>(x, w, workspace, y, epilogue, part);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/convolution_filter_gradient.hpp
// What the gradient of a convolution's output means for its filters. Level 4 of the house. All shapes are known at
// compile time; nothing is allocated, nor copied.
//
// It is a correlation, too, whose result's pixels are the kernel's taps and whose taps are the outputs. A tile is a few
// (tap, channel) rows of a panel of filters, summed over a block of outputs that stays in the second-level cache.

namespace stagecraft::kernels {

namespace detail {

/// About how many outputs are summed before the sums go to memory, at most.
inline constexpr int most_block_outputs = 576;

/// The same for one shape. Where a step reads much of x, a panel's part of dy should stay in the first-level cache, if
/// the gradient is small enough to be added to so often.
template <convolution_shape Shape>
inline constexpr int block_outputs =
    Shape.group_channels() >= 64 && Shape.steps() * Shape.group_filters() <= 65536 ? 128 : most_block_outputs;

/// Taps by the outputs that they meet, and how the outputs are cut into blocks: some rows of a sample, or some samples.
template <int Batch, convolution_shape Shape>
struct filter_correlation {
  static constexpr convolution_axis rows = {.outputs = Shape.kernel_height,
                                            .extent = Shape.height,
                                            .taps = Shape.output_height(),
                                            .stride = Shape.dilation_height,
                                            .origin = -Shape.top,
                                            .dilation = Shape.stride_height};
  static constexpr convolution_axis columns = {.outputs = Shape.kernel_width,
                                               .extent = Shape.width,
                                               .taps = Shape.output_width(),
                                               .stride = Shape.dilation_width,
                                               .origin = -Shape.left,
                                               .dilation = Shape.stride_width};
  static constexpr auto row_classes = classify<Shape.kernel_height>(rows);
  static constexpr auto column_classes = classify<Shape.kernel_width>(columns);
  /// For counting tiles: the channels in the place of the samples.
  static constexpr correlation parts[1] = {{
      .samples = Shape.group_channels(),
      .rows = rows,
      .columns = columns,
      .row_classes = row_classes.item,
      .row_class_count = row_classes.count,
      .column_classes = column_classes.item,
      .column_class_count = column_classes.count,
  }};
  static constexpr int outputs = Shape.output_height() * Shape.output_width();
  static constexpr int most = block_outputs<Shape>;
  static constexpr int row_blocks = outputs > most ? (outputs + most / 2) / most : 1;
  static constexpr int block_rows = (Shape.output_height() + row_blocks - 1) / row_blocks;
  static constexpr int most_samples = outputs > most ? 1 : most / outputs;
  static constexpr int block_samples = most_samples < Batch ? most_samples : Batch;
  /// Whether the panel's part of dy is copied first: where it lies in pieces, and is read often.
  static constexpr bool copies = Shape.filters > 64 && Shape.steps() >= 48;

  /// How a panel of which so many filters count is computed: in two tiles at least, for two threads.
  template <class Arch>
  [[nodiscard]] static consteval tile_plan plan(int filters) {
    tile_plan found;
    if (filters == 0) return found;
    found.vectors = (filters + lanes<Arch> - 1) / lanes<Arch>;
    found.height = tile_height<Arch>(parts, found.vectors);
    if (parts[0].tiles(found.height) == 1) found.height = (Shape.steps() + 1) / 2;
    found.panel = packed_filter<Shape, Arch>::panel_columns;
    found.columns = filters;
    return found;
  }
};

/// Outputs [row, row_end) of `samples` samples.
struct output_block {
  int samples;
  int row;
  int row_end;
};

/// The distances that the gradient of a filter's tiles follow: within x, dy and the gradient.
struct filter_distances {
  int channels;
  int kernel_width;
  pixel_grid x;
  pixel_grid dy;
};

/// Copies `vectors` registers of each of the block's outputs; of the last one, so many lanes.
template <int Vectors, int LastLanes, class Arch>
void copy_outputs(output_block const& block, pixel_grid const& distances, int width, float const* from, float* to) {
  for (int sample = 0; sample < block.samples; ++sample)
    for (int row = block.row; row < block.row_end; ++row)
      for (int column = 0; column < width; ++column, to += Vectors * lanes<Arch>) {
        float const* const pixel = from + sample * distances.sample + row * distances.row + column * distances.pixel;
        __builtin_prefetch(pixel + 8 * distances.pixel);
        for (int j = 0; j + 1 < Vectors; ++j)
          batch<Arch>::load_unaligned(pixel + j * lanes<Arch>).store_unaligned(to + j * lanes<Arch>);
        load_lanes<LastLanes, Arch>(pixel + (Vectors - 1) * lanes<Arch>)
            .store_unaligned(to + (Vectors - 1) * lanes<Arch>);
      }
}

/// Tiles [first, last) of a class of taps, summed over a block of outputs. x and dy begin with the block's first
/// sample.
template <tile_plan Plan, class Arch>
void filter_gradient_class(correlation const& shape, filter_distances const& distances, tap_class const& row,
                           tap_class const& column, output_block const& block, float const* x, float const* dy,
                           std::int64_t first, std::int64_t last, correlation_output<no_epilogue> const& output) {
  int const from = row.tap > block.row ? row.tap : block.row;
  int const to = row.tap + row.taps < block.row_end ? row.tap + row.taps : block.row_end;
  bool const empty = from >= to || column.taps == 0;
  if (empty && output.add) return;
  step_runs runs;
  runs.rows = empty ? 0 : block.samples;
  runs.columns = to - from;
  runs.steps = column.taps;
  runs.left_row = distances.x.sample;
  runs.right_row = distances.dy.sample;
  runs.left_column = shape.rows.dilation * distances.x.row;
  runs.right_column = distances.dy.row;
  runs.left_step = shape.columns.dilation * distances.x.pixel;
  runs.right_step = distances.dy.pixel;
  dy += from * distances.dy.row + column.tap * distances.dy.pixel;

  std::int64_t const rows = static_cast<std::int64_t>(row.count) * column.count * distances.channels;
  for (std::int64_t tile = first; tile < last; ++tile) {
    int const height =
        rows - tile * Plan.height < Plan.height ? static_cast<int>(rows - tile * Plan.height) : Plan.height;
    float const* left[Plan.height];
    std::int64_t element[Plan.height];
    int channel = static_cast<int>(tile * Plan.height % distances.channels);
    int const tap = static_cast<int>(tile * Plan.height / distances.channels);
    int r = row.first + tap / column.count;
    int c = column.first + tap % column.count;
    for (int i = 0; i < Plan.height; ++i) {
      left[i] =
          x + (r * shape.rows.stride + shape.rows.origin + from * shape.rows.dilation) * distances.x.row +
          (c * shape.columns.stride + shape.columns.origin + column.tap * shape.columns.dilation) * distances.x.pixel +
          channel;
      element[i] =
          output.first_column +
          static_cast<std::int64_t>((r * distances.kernel_width + c) * distances.channels + channel) * Plan.panel;
      if (i + 1 >= height || ++channel < distances.channels) continue;
      channel = 0;
      if (++c < column.first + column.count) continue;
      c = column.first;
      ++r;
    }
    alignas(64) float sums[Plan.height * Plan.vectors * lanes<Arch>];
    gathered_tile<Plan.height, Plan.vectors, 0, 0, Arch>(left, dy, runs, keep_sums<Plan.vectors, Arch>{sums});
    output.template store<Plan, Arch>(sums, element, height);
  }
}

/// Tiles [first, last) of a panel, summed over a block.
template <tile_plan Plan, class Arch>
void filter_gradient_panel(correlation const& shape, filter_distances const& distances, output_block const& block,
                           float const* x, float const* dy, std::int64_t first, std::int64_t last,
                           correlation_output<no_epilogue> const& output) {
  std::int64_t begin = 0;
  shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t rows) {
    std::int64_t const tiles = (rows + Plan.height - 1) / Plan.height;
    std::int64_t const from = first > begin ? first - begin : 0;
    std::int64_t const to = last - begin < tiles ? last - begin : tiles;
    if (from < to) filter_gradient_class<Plan, Arch>(shape, distances, row, column, block, x, dy, from, to, output);
    begin += tiles;
  });
}

}  // namespace detail

/// Floats of workspace that `convolution_filter_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_filter_gradient_workspace =
    detail::filter_correlation<detail::most_block_outputs, Shape>::copies
        ? static_cast<long long>(detail::filter_correlation<detail::most_block_outputs, Shape>::block_samples) *
              detail::filter_correlation<detail::most_block_outputs, Shape>::block_rows * Shape.output_width() *
              packed_filter<Shape, Arch>::panel_columns
        : 0;

/// dw (+)= the gradient of the filters. x: Batch x input and dy: Batch x output of the shape, channels last; up to a
/// register behind dy's end may be read. dw: packed_filter<Shape, Arch>, whose padding must be 0 and stays 0.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_filter_gradient(float const* x, float const* dy, [[maybe_unused]] float* workspace, float* dw,
                                 share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  using shape = detail::filter_correlation<Batch, Shape>;
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  constexpr int panel = layout::panel_columns;
  constexpr int whole = filters / panel;
  constexpr detail::tile_plan whole_plan = shape::template plan<Arch>(panel);
  constexpr detail::tile_plan rest_plan = shape::template plan<Arch>(filters % panel);
  constexpr std::int64_t whole_tiles = shape::parts[0].tiles(whole_plan.height);
  constexpr std::int64_t rest_tiles = filters % panel == 0 ? 0 : shape::parts[0].tiles(rest_plan.height);
  static constexpr detail::filter_distances distances = {
      .channels = channels,
      .kernel_width = Shape.kernel_width,
      .x = {Shape.input_size(), static_cast<std::int64_t>(Shape.width) * Shape.channels, Shape.channels},
      .dy = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters}};

  share::range const range = part.of(Shape.groups * (whole * whole_tiles + rest_tiles));
  bool add = Accumulate;
  auto const sum_block = [&](detail::output_block const& block, float const* x_block, float const* dy_block) {
    std::int64_t begin = 0;
    auto const sum_panel = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t tiles) {
      std::int64_t const first = range.first > begin ? range.first - begin : 0;
      std::int64_t const last = range.last - begin < tiles ? range.last - begin : tiles;
      begin += tiles;
      if (first >= last) return;
      float const* right = dy_block + group * filters + p * panel;
      detail::filter_distances at = distances;
      if constexpr (shape::copies) {
        constexpr int width = Plan.vectors * lanes<Arch>;
        detail::copy_outputs<Plan.vectors, Plan.columns - width + lanes<Arch>, Arch>(
            block, distances.dy, Shape.output_width(), right, workspace);
        at.dy.pixel = width;
        at.dy.row = Shape.output_width() * at.dy.pixel;
        at.dy.sample = (block.row_end - block.row) * at.dy.row;
        right = workspace - block.row * at.dy.row;
      }
      detail::filter_gradient_panel<Plan, Arch>(
          shape::parts[0], at, block, x_block + group * channels, right, first, last,
          detail::correlation_output<no_epilogue>{dw + static_cast<std::int64_t>(group) * layout::size +
                                                      static_cast<std::int64_t>(p) * layout::panel_stride,
                                                  0,
                                                  add,
                                                  false,
                                                  {}});
    };
    for (int group = 0; group < Shape.groups; ++group) {
      if constexpr (whole > 0)
        for (int p = 0; p < whole; ++p) sum_panel.template operator()<whole_plan>(group, p, whole_tiles);
      if constexpr (rest_tiles > 0) sum_panel.template operator()<rest_plan>(group, whole, rest_tiles);
    }
    add = true;
  };
  for (int sample = 0; sample < Batch; sample += shape::block_samples)
    for (int row = 0; row < Shape.output_height(); row += shape::block_rows)
      sum_block({sample + shape::block_samples < Batch ? shape::block_samples : Batch - sample, row,
                 row + shape::block_rows < Shape.output_height() ? row + shape::block_rows : Shape.output_height()},
                x + static_cast<std::int64_t>(sample) * Shape.input_size(),
                dy + static_cast<std::int64_t>(sample) * Shape.output_size());
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/transpose.hpp
// Transposes square blocks of `lanes` x `lanes` floats in registers. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

#if defined(__AVX__)
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
    // Whole rows are loaded once; then 128-bit parts change places, then floats within them.
    __m512 row[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) row[i] = _mm512_loadu_ps(source(i));
    __m512 part[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __m512 const a = _mm512_maskz_shuffle_f32x4(0xFFFF, row[i], row[4 + i], 0x44);
      __m512 const b = _mm512_maskz_shuffle_f32x4(0xFFFF, row[8 + i], row[12 + i], 0x44);
      __m512 const c = _mm512_maskz_shuffle_f32x4(0xFFFF, row[i], row[4 + i], 0xEE);
      __m512 const d = _mm512_maskz_shuffle_f32x4(0xFFFF, row[8 + i], row[12 + i], 0xEE);
      part[0][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0x88);
      part[1][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0xDD);
      part[2][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, c, d, 0x88);
      part[3][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, c, d, 0xDD);
    }
#pragma GCC unroll 4
    for (int column = 0; column < 4; ++column) {
      detail::transpose_parts(
          part[column], [](__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0x44); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0xEE); });
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) _mm512_storeu_ps(to + (column * 4 + i) * to_stride, part[column][i]);
    }
    return;
  } else
#endif
#if defined(__AVX__)
      if constexpr (lanes<Arch> == 8) {  // AVX without AVX2, too: xsimd 8.1's zip_lo stays within 128 bits there
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

// ---- stagecraft/kernels/convolution_input_gradient.hpp
// What the gradient of a convolution's output means for its input; also the forward pass of Keras's Conv2DTranspose.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
//
// Inputs whose distance is a multiple of the strides form a phase. Within a phase, the gradient is a correlation of dy
// with the transposed filter's taps that hit the phase, in reverse order. Every tap hits one phase.

namespace stagecraft::kernels {

namespace detail {

[[nodiscard]] constexpr int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    int const rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// A phase along one axis.
struct phase_axis {
  convolution_axis axis;
  /// The first input of the phase, and the kernel's taps that hit it: `first_tap + j * tap_step`, axis.taps of them.
  int first = 0;
  int first_tap = 0;
  int tap_step = 1;
};

/// Phase `phase` of an axis with so many inputs, outputs, taps...
[[nodiscard]] constexpr phase_axis find_phase(int phase, int inputs, int outputs, int taps, int stride, int dilation,
                                              int before) {
  phase_axis found;
  found.first = ((phase - before) % stride + stride) % stride;
  found.tap_step = stride / greatest_common_divisor(stride, dilation);
  while (found.first_tap < taps && found.first_tap * dilation % stride != phase) ++found.first_tap;
  int const hits = found.first_tap < taps ? (taps - 1 - found.first_tap) / found.tap_step + 1 : 0;
  int const distance = found.tap_step * dilation / stride;
  found.axis.outputs = found.first < inputs ? (inputs - 1 - found.first) / stride + 1 : 0;
  found.axis.extent = outputs;
  found.axis.taps = hits;
  found.axis.dilation = distance;
  if (hits > 0)
    found.axis.origin = (found.first + before - found.first_tap * dilation) / stride - (hits - 1) * distance;
  return found;
}

template <convolution_shape Shape, int Phase>
struct row_phase {
  static constexpr phase_axis value = find_phase(Phase, Shape.height, Shape.output_height(), Shape.kernel_height,
                                                 Shape.stride_height, Shape.dilation_height, Shape.top);
  static constexpr auto classes = classify<most_classes(Shape.kernel_height)>(value.axis);
};

template <convolution_shape Shape, int Phase>
struct column_phase {
  static constexpr phase_axis value = find_phase(Phase, Shape.width, Shape.output_width(), Shape.kernel_width,
                                                 Shape.stride_width, Shape.dilation_width, Shape.left);
  static constexpr auto classes = classify<most_classes(Shape.kernel_width)>(value.axis);
};

/// All phases of the gradient; number i is row phase i / stride_width, column phase i % stride_width.
template <int Batch, convolution_shape Shape>
struct backward_correlation {
  static constexpr int phases = Shape.stride_height * Shape.stride_width;

  template <int Phase>
  [[nodiscard]] static constexpr correlation phase() {
    using rows = row_phase<Shape, Phase / Shape.stride_width>;
    using columns = column_phase<Shape, Phase % Shape.stride_width>;
    constexpr std::int64_t row_floats = static_cast<std::int64_t>(Shape.width) * Shape.channels;
    return {
        .samples = Batch,
        .rows = rows::value.axis,
        .columns = columns::value.axis,
        .row_classes = rows::classes.item,
        .row_class_count = rows::classes.count,
        .column_classes = columns::classes.item,
        .column_class_count = columns::classes.count,
        .channels = Shape.group_filters(),
        .source = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters},
        .result = {Shape.input_size(), Shape.stride_height * row_floats, Shape.stride_width * Shape.channels},
        .result_first = rows::value.first * row_floats + columns::value.first * Shape.channels,
    };
  }

  struct all {
    correlation part[phases];
    phase_axis rows[phases];
    phase_axis columns[phases];
  };
  static constexpr all value = []<int... Phase>(std::integer_sequence<int, Phase...>) {
    return all{{phase<Phase>()...},
               {row_phase<Shape, Phase / Shape.stride_width>::value...},
               {column_phase<Shape, Phase % Shape.stride_width>::value...}};
  }(std::make_integer_sequence<int, phases>());
};

/// Columns of a panel of the transposed filter.
template <convolution_shape Shape, class Arch>
inline constexpr int transposed_panel = packed_matrix<1, Shape.group_channels(), Arch>::panel_columns;

/// From the filter's taps of a phase to a panel of the transposed filter, whose rows count (tap row, tap column,
/// filter), taps in reverse order. `w` is the group's; the panel begins at `channel`, of `channels` that remain.
/// Returns where the next phase's panel begins; a block of rows behind it may be overwritten.
template <class Layout, class Arch>
float* transpose_phase(float const* w, phase_axis const& rows, phase_axis const& columns, int kernel_width,
                       int all_channels, int filters, int channel, int vectors, int panel, float* to) {
  constexpr int width = lanes<Arch>;
  for (int r = rows.axis.taps - 1; r >= 0; --r)
    for (int c = columns.axis.taps - 1; c >= 0; --c, to += static_cast<std::ptrdiff_t>(filters) * panel) {
      int const tap = (rows.first_tap + r * rows.tap_step) * kernel_width + columns.first_tap + c * columns.tap_step;
      for (int f = 0; f < filters; f += width)
        for (int v = 0; v < vectors; ++v) {
          int const k = channel + v * width;
          transpose_block<Arch>(w + Layout::index(tap * all_channels + k, f), Layout::panel_columns, all_channels - k,
                                to + f * panel + v * width, panel);
        }
    }
  return to;
}

/// How a panel of which so many channels count is computed.
template <int Batch, convolution_shape Shape, class Arch>
[[nodiscard]] consteval tile_plan backward_plan(int columns) {
  tile_plan plan;
  if (columns == 0) return plan;
  plan.vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  plan.height = tile_height<Arch>(backward_correlation<Batch, Shape>::value.part, plan.vectors);
  plan.panel = transposed_panel<Shape, Arch>;
  plan.columns = columns;
  plan.direct = Shape.kernel_height * Shape.kernel_width * Shape.group_filters() <= most_direct_steps;
  return plan;
}

}  // namespace detail

/// Floats of workspace that `convolution_input_gradient` needs, for each thread: a panel of the transposed filter.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_input_gradient_workspace =
    (static_cast<long long>(Shape.kernel_height) * Shape.kernel_width * Shape.group_filters() +
     lanes<Arch>)*detail::transposed_panel<Shape, Arch>;

/// dx (+)= the gradient of the input, through the epilogue once its sums are complete. dy: Batch x output and dx: Batch
/// x input of the shape, channels last; w: packed_filter<Shape, Arch>. dx may hold partial sums before the epilogue is
/// called.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Epilogue = no_epilogue>
void convolution_input_gradient(float const* dy, float const* w, float* workspace, float* dx, Epilogue const& epilogue,
                                share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  using shapes = detail::backward_correlation<Batch, Shape>;
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  constexpr int panel = detail::transposed_panel<Shape, Arch>;
  constexpr int whole = channels / panel;
  constexpr auto const& all = shapes::value;
  constexpr detail::tile_plan whole_plan = detail::backward_plan<Batch, Shape, Arch>(panel);
  constexpr detail::tile_plan rest_plan = detail::backward_plan<Batch, Shape, Arch>(channels % panel);
  constexpr std::int64_t whole_tiles = detail::all_tiles(all.part, whole_plan.height);
  constexpr std::int64_t rest_tiles = channels % panel == 0 ? 0 : detail::all_tiles(all.part, rest_plan.height);

  share::range const range = part.of(Shape.groups * (whole * whole_tiles + rest_tiles));
  std::int64_t begin = 0;
  auto const correlate = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t panel_tiles) {
    std::int64_t phase_begin = begin;
    begin += panel_tiles;
    if (range.first >= begin || range.last <= phase_begin) return;
    float* filter = workspace;
    for (int i = 0; i < shapes::phases; ++i) {
      float const* const taps = filter;
      filter = detail::transpose_phase<layout, Arch>(w + static_cast<std::int64_t>(group) * layout::size, all.rows[i],
                                                     all.columns[i], Shape.kernel_width, channels, filters, p * panel,
                                                     Plan.vectors, panel, filter);
      std::int64_t const tiles = all.part[i].tiles(Plan.height);
      std::int64_t const first = range.first > phase_begin ? range.first - phase_begin : 0;
      std::int64_t const last = range.last - phase_begin < tiles ? range.last - phase_begin : tiles;
      phase_begin += tiles;
      if (first < last)
        detail::correlate<Plan, Arch>(
            all.part[i], dy + group * filters, taps, first, last,
            detail::correlation_output<Epilogue>{dx, group * channels + p * panel, Accumulate, false, epilogue});
    }
  };
  for (int group = 0; group < Shape.groups; ++group) {
    if constexpr (whole > 0)
      for (int p = 0; p < whole; ++p) correlate.template operator()<whole_plan>(group, p, whole_tiles);
    if constexpr (rest_tiles > 0) correlate.template operator()<rest_plan>(group, whole, rest_tiles);
  }
}

/// The same without an epilogue.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_input_gradient(float const* dy, float const* w, float* workspace, float* dx, share part = {}) {
  convolution_input_gradient<Batch, Shape, Accumulate, Arch>(dy, w, workspace, dx, no_epilogue{}, part);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/matmul.hpp
// The product of a batch with a packed matrix: the forward pass of a dense layer, bias and activation included.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.

namespace stagecraft::kernels {

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
  void store(Batch const& sum, float* y, int column, std::int64_t element) const {
    store_lanes<Lanes>(epilogue(sum, column, element), y + element);
  }
};

/// Stores what the epilogue gives in a second place, and a function of it in the first.
template <class Epilogue, class Function>
struct store_two_outputs {
  Epilogue epilogue;
  Function function;
  float* before;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* y, int column, std::int64_t element) const {
    Batch const value = epilogue(sum, column, element);
    store_lanes<Lanes>(value, before + element);
    store_lanes<Lanes>(function(value), y + element);
  }
};

/// What becomes of the sums of a tile whose first element is y[first]: added to the result if `add`, given to `output`
/// if `last`, else stored.
template <int Stride, int Vectors, int LastLanes, class Arch, class Output>
struct tile_store {
  float* y;
  std::int64_t first;
  int column;
  bool add;
  bool last;
  Output output;

  template <int Lanes>
  void store(batch<Arch> sum, std::int64_t element, int at) const {
    if (add) sum = sum + load_lanes<Lanes, Arch>(y + element);
    if (last)
      output.template store<Lanes>(sum, y, at, element);
    else
      store_lanes<Lanes>(sum, y + element);
  }

  void operator()(int i, int j, batch<Arch> const& sum) const {
    std::int64_t const element = first + i * Stride + j * lanes<Arch>;
    int const at = column + j * lanes<Arch>;
    if (LastLanes == lanes<Arch> || j + 1 < Vectors)
      store<lanes<Arch>>(sum, element, at);
    else
      store<LastLanes>(sum, element, at);
  }
};

/// The tiles `first_tile` to `last_tile` of y (+)= left * right, through `output`: M rows of left, one panel of right
/// of which Columns columns count, the first of them y's `column`. `steps` products are summed.
template <int M, int LeftStride, int PanelColumns, int Columns, int Stride, class Arch, class Output>
inline void multiply_panel(int first_tile, int last_tile, float const* left, float const* right, int steps, float* y,
                           int column, bool add, bool last, Output const& output) {
  constexpr int vectors = (Columns + lanes<Arch> - 1) / lanes<Arch>;
  constexpr int last_lanes = Columns - (vectors - 1) * lanes<Arch>;
  constexpr int ahead = M == 1 && LeftStride * PanelColumns > 8192 ? read_ahead : 0;
  for_each_tile<cut_rows<Arch>(M, vectors)>(first_tile, last_tile, [&]<int Height>(int row) {
    multiply_tile<Height, vectors, LeftStride, 1, PanelColumns, ahead, Arch>(
        left + std::int64_t{row} * LeftStride, right, steps,
        tile_store<Stride, vectors, last_lanes, Arch, Output>{y, std::int64_t{row} * Stride + column, column, add, last,
                                                              output});
  });
}

/// y = output(x * w).
template <int M, int K, int N, class Arch, class Output>
inline void multiply(float const* x, float const* w, float* y, Output const& output, share part) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr int blocks = M == 1 ? 1 : (K + most_steps - 1) / most_steps;
  constexpr int steps = (K + blocks - 1) / blocks;
  for (int from = 0; from < K; from += steps) {
    int const count = blocks == 1 ? K : from + steps < K ? steps : K - from;
    bool const add = blocks > 1 && from > 0;
    bool const last = blocks == 1 || from + steps >= K;
    for_each_panel<M, N, panel, Arch>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
      multiply_panel<M, K, panel, Columns, N, Arch>(first_tile, last_tile, x + from,
                                                    w + p * layout::panel_stride + from * panel, count, y, p * panel,
                                                    add, last, output);
    });
  }
}

}  // namespace detail

/// y = epilogue(x * w). x: M x K and y: M x N, row by row; w: packed_matrix<K, N, Arch>. See epilogue.hpp for what an
/// epilogue is. A thread's share is a range of columns, as far as the panels of w allow.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul(float const* x, float const* w, float* y, Epilogue const& epilogue = {}, share part = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_output<Epilogue>{epilogue}, part);
}

/// before = epilogue(x * w) and y = function(before), for activations whose gradient needs their input. `before` is
/// M x N, row by row, and not y.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue, class Function>
inline void matmul(float const* x, float const* w, float* before, float* y, Epilogue const& epilogue,
                   Function const& function, share part = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_two_outputs<Epilogue, Function>{epilogue, function, before},
                                  part);
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

namespace detail {

/// The input gradient of a single row: transposing the weights would cost more than the products. Each element is the
/// dot product of dy and a row of w; as many rows as a register has lanes are summed side by side.
template <int K, int N, bool Accumulate, class Arch, class Epilogue>
inline void row_input_gradient(float const* dy, float const* w, float* dx, Epilogue const& epilogue, share part) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int vectors = (N + width - 1) / width;
  constexpr int last_lanes = N - (vectors - 1) * width;
  auto const rows = [&]<int Count>(int first) {
    batch<Arch> sum[width];
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i] = batch<Arch>(0.0F);
    for (int v = 0; v < vectors; ++v) {
      batch<Arch> const factor =
          v + 1 < vectors ? batch<Arch>::load_unaligned(dy + v * width) : load_lanes<last_lanes, Arch>(dy + v * width);
      float const* const column = w + layout::index(first, v * width);
#pragma GCC unroll 16
      for (int i = 0; i < Count; ++i)
        sum[i] = fused_multiply_add(factor, batch<Arch>::load_unaligned(column + i * layout::panel_columns), sum[i]);
    }
    alignas(64) float lane_sums[width * width];
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i].store_aligned(lane_sums + i * width);
    alignas(64) float transposed[width * width];
    transpose_block<Arch>(lane_sums, width, width, transposed, width);
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i] = batch<Arch>::load_aligned(transposed + i * width);
#pragma GCC unroll 4
    for (int distance = width / 2; distance > 0; distance /= 2)
#pragma GCC unroll 8
      for (int i = 0; i < distance; ++i) sum[i] = sum[i] + sum[i + distance];
    if constexpr (Accumulate) sum[0] = sum[0] + load_lanes<Count, Arch>(dx + first);
    store_lanes<Count>(epilogue(sum[0], first, std::int64_t{first}), dx + first);
  };
  auto const [first, last] = part.of((K + width - 1) / width);
  auto block = static_cast<int>(first);
  for (int const whole = last < K / width ? static_cast<int>(last) : K / width; block < whole; ++block)
    rows.template operator()<width>(block * width);
  if constexpr (K % width != 0)
    if (block < last) rows.template operator()<K % width>(K - K % width);
}

}  // namespace detail

/// dx (+)= dy * transposed(w), through the epilogue once the sums are complete. dy: M x N and dx: M x K, row by row; w:
/// packed_matrix<K, N, Arch>. `workspace` holds `input_gradient_workspace<K, N, Arch>` floats, each thread's own: a
/// panel of the transposed weights. A thread's share is a range of dx's columns, as far as their panels allow.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture, class Epilogue = no_epilogue>
  requires(!std::same_as<Epilogue, share>)
inline void matmul_input_gradient(float const* dy, float const* w, float* workspace, float* dx,
                                  Epilogue const& epilogue = {}, share part = {}) {
  if constexpr (M == 1 && N > lanes<Arch>)
    return detail::row_input_gradient<K, N, Accumulate, Arch>(dy, w, dx, epilogue, part);
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = detail::transposed_columns<K, Arch>;
  auto const transpose = [&](int first, auto vectors) {
    for (int v = 0; v < vectors; ++v)
      for (int n = 0; n < N; n += width) {
        int const k = first + v * width;
        transpose_block<Arch>(w + layout::index(k, n), layout::panel_columns, K - k, workspace + n * panel + v * width,
                              panel);
      }
  };
  detail::for_each_panel<M, K, panel, Arch>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
    transpose(p * panel, std::integral_constant<int, (Columns + width - 1) / width>());
    for (int n = 0; n < N; n += detail::most_steps)
      detail::multiply_panel<M, N, panel, Columns, K, Arch>(
          first_tile, last_tile, dy + n, workspace + n * panel, N - n < detail::most_steps ? N - n : detail::most_steps,
          dx, p * panel, Accumulate || n > 0, n + detail::most_steps >= N, detail::store_output<Epilogue>{epilogue});
  });
}

/// The same without an epilogue.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_input_gradient(float const* dy, float const* w, float* workspace, float* dx, share part) {
  matmul_input_gradient<M, K, N, Accumulate, Arch>(dy, w, workspace, dx, no_epilogue{}, part);
}

/// Stores the weights' gradient.
struct store_gradient {
  float* gradient;

  template <class Batch>
  void operator()(Batch const& sum, int offset) const {
    sum.store_unaligned(gradient + offset);
  }
};

namespace detail {

/// Whether a weight gradient's `finish` takes long, and there are registers for its work beside the sums.
template <class Finish, class Arch>
inline constexpr bool defers_finish = vector_registers<Arch>() == 32 && requires { requires Finish::takes_long; };

/// The sums of a finished tile, which are dealt with one after the other beside the products of the next tile: the
/// processor does not look far enough ahead to take roots and divide while it multiplies already.
template <int Rows, int Vectors, int PanelColumns, int Steps, class Arch, class Finish>
struct deferred_tile {
  static constexpr int most = Rows * Vectors;
  /// Steps of the next tile's sums from one call to the next, and sums that a call deals with.
  static constexpr int calls = Steps < most ? Steps : most;
  static constexpr int every = Steps / calls;
  static constexpr int together = (most + calls - 1) / calls;

  Finish finish_one;
  float const* sums;
  float const* next = sums;
  float const* end = sums;
  int offset = 0;  ///< of the next sum in the gradient

  void operator()() {
#pragma GCC unroll 1
    for (int n = 0; n < together; ++n)
      if (next != end) one();
  }
  void finish() {
#pragma GCC unroll 1
    while (next != end) one();
  }

 private:
  void one() {
    constexpr int columns = Vectors * lanes<Arch>;
    finish_one(batch<Arch>::load_aligned(next), offset);
    next += lanes<Arch>;
    offset += lanes<Arch>;
    if constexpr (columns != PanelColumns)
      if ((next - sums) % columns == 0) offset += PanelColumns - columns;
  }
};

/// Whether a gradient with so many columns is summed with its rows in the lanes: a register would be empty to a
/// quarter.
template <class Arch>
[[nodiscard]] consteval bool sums_rows_in_lanes(int rows, int columns) {
  return columns * 4 <= lanes<Arch> * 3 && columns >= 4 && rows >= lanes<Arch>;
}

/// The weight gradient with few columns: sums tiles of its transposed, and transposes them.
template <int M, int K, int N, bool Accumulate, class Arch, class Finish>
inline void narrow_weight_gradient(float const* x, float const* dy, [[maybe_unused]] float const* dw,
                                   Finish const& finish, share part) {
  constexpr int width = lanes<Arch>;
  constexpr int tile_vectors = 2 * (N + 1) < vector_registers<Arch>() ? 2 : 1;
  alignas(64) float transposed[width * tile_vectors * width];
  for (int i = N * tile_vectors * width; i < width * tile_vectors * width; ++i) transposed[i] = 0.0F;
  auto const tile = [&]<int Vectors>(int k) {
    multiply_tile<N, Vectors, 1, N, K, 0, Arch>(dy, x + k, M, [&](int i, int j, batch<Arch> const& sum) {
      sum.store_aligned(transposed + (i * tile_vectors + j) * width);
    });
    for (int j = 0; j < Vectors; ++j) {
      alignas(64) float rows[width * width];
      transpose_block<Arch>(transposed + j * width, tile_vectors * width, width, rows, width);
      int const first = k + j * width;
      int const count = K - first < width ? K - first : width;
      for (int i = 0; i < count; ++i) {
        batch<Arch> sum = batch<Arch>::load_aligned(rows + i * width);
        int const offset = (first + i) * width;
        if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(dw + offset);
        finish(sum, offset);
      }
    }
  };
  constexpr int tile_rows = tile_vectors * width;
  constexpr int whole = K / tile_rows;
  auto const [first, last] = part.of((K + tile_rows - 1) / tile_rows);
  auto number = static_cast<int>(first);
  if constexpr (whole > 0)
    for (int const end = last < whole ? static_cast<int>(last) : whole; number < end; ++number)
      tile.template operator()<tile_vectors>(number * tile_rows);
  if constexpr (K % tile_rows != 0)
    if (number < last) tile.template operator()<(K % tile_rows + width - 1) / width>(whole * tile_rows);
}

}  // namespace detail

/// Gives every register of dw (+)= transposed(x) * dy to `finish(batch, offset)`, once, with its offset in
/// packed_matrix<K, N, Arch>; lanes of padding are 0. x: M x K and dy: M x N, row by row; up to a register behind their
/// ends may be read. `finish` may store the gradient, or update the weight there and then so that the gradient is never
/// written; with a member `static constexpr bool takes_long = true`, because it divides or takes roots, it is called
/// beside the products that follow. `dw` is read if Accumulate; else it may be null. A thread's share is a range of
/// columns, as far as the panels of dw allow: about the same as in `matmul`.
template <int M, int K, int N, bool Accumulate, class Arch = default_architecture, class Finish>
  requires(!std::same_as<Finish, share>)
inline void matmul_weight_gradient(float const* x, float const* dy, [[maybe_unused]] float const* dw, Finish finish,
                                   share part = {}) {
  if constexpr (detail::sums_rows_in_lanes<Arch>(K, N))
    return detail::narrow_weight_gradient<M, K, N, Accumulate, Arch>(x, dy, dw, finish, part);
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr bool copies = M <= detail::most_copied_rows;
  alignas(64) float copy[copies ? M * panel : 1];

  detail::for_each_panel<K, N, panel, Arch>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
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
    auto const complete = [=](batch<Arch> sum, int j, [[maybe_unused]] int offset) {
      if (!copies && j == vectors - 1) sum = detail::keep_lanes<last_lanes, Arch>(sum);
      if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(dw + offset);
      return sum;
    };
    if constexpr (!detail::defers_finish<Finish, Arch>) {
      detail::for_each_tile<cut>(first_tile, last_tile, [&]<int Height>(int k) {
        int const base = p * layout::panel_stride + k * panel;
        detail::multiply_tile<Height, vectors, 1, K, copies ? panel : N, 0, Arch>(
            x + k, right, M, [=](int i, int j, batch<Arch> const& sum) {
              int const offset = base + i * panel + j * width;
              finish(complete(sum, j, offset), offset);
            });
      });
    } else {
      alignas(64) float sums[cut.height * vectors * width];
      detail::deferred_tile<cut.height, vectors, panel, M, Arch, Finish> deferred{finish, sums};
      detail::for_each_tile<cut>(first_tile, last_tile, [&]<int Height>(int k) {
        int const base = p * layout::panel_stride + k * panel;
        detail::multiply_tile<Height, vectors, 1, K, copies ? panel : N, 0, Arch>(
            x + k, right, M,
            [=, &sums](int i, int j, batch<Arch> const& sum) {
              complete(sum, j, base + i * panel + j * width).store_aligned(sums + (i * vectors + j) * width);
            },
            deferred);
        deferred.offset = base;
        deferred.end = sums + Height * vectors * width;
      });
      deferred.finish();
    }
  });
}

/// dw (+)= transposed(x) * dy. x: M x K and dy: M x N, row by row; dw: packed_matrix<K, N, Arch>. With Accumulate the
/// padding of dw must be 0 before; it is 0 afterwards, except for registers that are padding altogether, which are not
/// touched.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_weight_gradient(float const* x, float const* dy, float* dw, share part = {}) {
  constexpr int rows = M < detail::most_copied_rows ? M : detail::most_copied_rows;
  matmul_weight_gradient<rows, K, N, Accumulate, Arch>(x, dy, dw, store_gradient{dw}, part);
  std::int64_t from = rows;
  if constexpr (M >= 2 * rows)
    for (; from + rows <= M; from += rows)
      matmul_weight_gradient<rows, K, N, true, Arch>(x + from * K, dy + from * N, dw, store_gradient{dw}, part);
  if constexpr (M % rows != 0)
    matmul_weight_gradient<M % rows, K, N, true, Arch>(x + from * K, dy + from * N, dw, store_gradient{dw}, part);
}

/// db (+)= the sums of dy's columns. dy: M x N, row by row; db: N floats, padded to whole registers. A thread's share
/// is a range of columns.
template <int M, int N, bool Accumulate = false, class Arch = default_architecture>
inline void bias_gradient(float const* dy, float* db, share part = {}) {
  constexpr int width = lanes<Arch>;
  auto const sum_columns = [&]<int Vectors, int LastLanes>(int column) {
    batch<Arch> sum[2][Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[0][j] = sum[1][j] = batch<Arch>(0.0F);
    auto const add_row = [&](int half, float const* row) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j)
        sum[half][j] = sum[half][j] + (j + 1 < Vectors ? batch<Arch>::load_unaligned(row + j * width)
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
  constexpr int group_vectors = 4;
  constexpr int group = group_vectors * width;
  constexpr int groups = (N + group - 1) / group;
  auto const range = part.of(groups);
  for (auto g = static_cast<int>(range.first); g < range.last; ++g) {
    if (N % group == 0 || g + 1 < groups) {
      if constexpr (N >= group) sum_columns.template operator()<group_vectors, width>(g * group);
    } else if constexpr (N % group != 0) {
      constexpr int vectors = (N % group + width - 1) / width;
      sum_columns.template operator()<vectors, N % group - (vectors - 1) * width>(g * group);
    }
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/conv2d_transpose.hpp
// The steps of conv2d_transpose on the host: those of the convolution that leads from its output to its input, in the
// other direction. Level 5.

namespace stagecraft {

template <>
struct operation<layers::conv2d_transpose> {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr shape const& out = Call::output_shape();
    static constexpr auto back = detail::convolution_of(Call::layer, out[0], out[1], out[2], in[2]);
    static_assert(back.output_height() == in[0] && back.output_width() == in[1]);
    static constexpr int filters = Call::layer.filters;
    static constexpr int rows = Call::batch * out[0] * out[1];
    using arch = typename Call::architecture;
    using epilogue = detail::activation_epilogue<rows, filters, Call::layer.activation, Call::layer.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max({kernels::convolution_workspace<s::back, typename s::arch>,
                     kernels::convolution_input_gradient_workspace<s::back, typename s::arch>,
                     kernels::convolution_filter_gradient_workspace<s::back, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float const* const bias = Call::layer.use_bias ? call.weight(1) : nullptr;
    float* const before = detail::keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](float* y, auto const& epilogue) {
      kernels::convolution_input_gradient<Call::batch, s::back, false, arch>(
          call.input(0), call.weight(0), call.memory.workspace, y, epilogue, call.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const dy = call.output_gradient();
    float* const workspace = call.memory.workspace;
    s::epilogue::backward(call);
    if constexpr (Call::wants_input_gradient(0))
      kernels::convolution<Call::batch, s::back, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), workspace, call.input_gradient(0), detail::input_gradient_epilogue(call), call.share());
    kernels::convolution_filter_gradient<Call::batch, s::back, Call::adds_parameter_gradient, arch>(
        dy, call.input(0), workspace, call.parameter_gradient(0), call.share());
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::filters, Call::adds_parameter_gradient, arch>(dy, call.parameter_gradient(1),
                                                                                       call.share());
  }
};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/convolution.hpp
// The steps of conv1d and conv2d on the host. Level 5.

namespace stagecraft {

namespace detail {

struct convolution_operation {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution = convolution_of(Call::layer, layer_type::height_of(in), layer_type::width_of(in),
                                                       in.back(), Call::layer.filters, Call::layer.groups);
    static constexpr int batch = Call::batch * in.size(0, in.rank() - layer_type::axes);
    static constexpr int rows = batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue = activation_epilogue<rows, convolution.filters, Call::layer.activation, Call::layer.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max({kernels::convolution_workspace<s::convolution, typename s::arch>,
                     kernels::convolution_input_gradient_workspace<s::convolution, typename s::arch>,
                     kernels::convolution_filter_gradient_workspace<s::convolution, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.use_bias ? call.weight(1) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](float* y, auto const& epilogue) {
      kernels::convolution<s::batch, s::convolution, typename s::arch>(
          call.input(0), call.weight(0), call.memory.workspace, y, epilogue, call.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const dy = call.output_gradient();
    float* const workspace = call.memory.workspace;
    s::epilogue::backward(call);
    if constexpr (Call::wants_input_gradient(0))
      kernels::convolution_input_gradient<s::batch, s::convolution, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), workspace, call.input_gradient(0), input_gradient_epilogue(call), call.share());
    kernels::convolution_filter_gradient<s::batch, s::convolution, Call::adds_parameter_gradient, arch>(
        call.input(0), dy, workspace, call.parameter_gradient(0), call.share());
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::convolution.filters, Call::adds_parameter_gradient, arch>(
          dy, call.parameter_gradient(1), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::conv1d> : detail::convolution_operation {};
template <>
struct operation<layers::conv2d> : detail::convolution_operation {};

}  // namespace stagecraft

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

// ---- stagecraft/execution/operations/update_in_registers.hpp
// The update of a weight while its gradient is still in registers. Level 5.

namespace stagecraft::detail {

/// Updates a weight with the optimizer as soon as its gradient is known.
template <auto Optimizer, class Arch>
struct update_in_registers {
  /// Optimizers with a state divide by a root of it.
  static constexpr bool takes_long = Optimizer.slots() > 0;

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

}  // namespace stagecraft::detail

// ---- stagecraft/execution/operations/dense.hpp
// The steps of dense on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::dense> {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    static constexpr int inputs = Call::input_shape(0).back();
    static constexpr int units = Call::layer.units;
    static constexpr int rows = Call::batch * (Call::input_shape(0).size() / inputs);
    using epilogue = detail::activation_epilogue<rows, units, Call::layer.activation, Call::layer.use_bias,
                                                 typename Call::architecture>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return kernels::input_gradient_workspace<s::inputs, s::units, typename Call::architecture>;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.use_bias ? call.weight(1) : nullptr;
    float* const before = Call::planned.saved >= 0 ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](float* y, auto const& epilogue) {
      kernels::matmul<s::rows, s::inputs, s::units, typename Call::architecture>(call.input(0), call.weight(0), y,
                                                                                 epilogue, call.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename Call::architecture;
    float* const dy = call.output_gradient();
    s::epilogue::backward(call);
    if constexpr (Call::wants_input_gradient(0))
      kernels::matmul_input_gradient<s::rows, s::inputs, s::units, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), call.memory.workspace, call.input_gradient(0), detail::input_gradient_epilogue(call),
          call.share());
    if constexpr (Call::plan::fuses_update(Call::call, 0)) {
      if constexpr (Call::wants_input_gradient(0)) call.synchronize();  // the weights change now
      constexpr auto optimizer = Call::plan::training.optimizer;
      auto const& memory = call.memory;
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, false, arch>(
          call.input(0), dy, nullptr,
          detail::update_in_registers<optimizer, arch>{
              kernels::update_function<optimizer, arch>(memory.learning_rate, memory.update),
              memory.weights + Call::weight_offset(0), memory.slots + Call::weight_offset(0),
              Call::plan::weights.floats},
          call.share());
    } else {
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, Call::adds_parameter_gradient, arch>(
          call.input(0), dy, call.parameter_gradient(0), call.share());
    }
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::units, Call::adds_parameter_gradient, arch>(dy, call.parameter_gradient(1),
                                                                                     call.share());
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/channel_tile.hpp
// The micro-kernel of the depthwise convolutions: each lane is a channel of its own. Level 4 of the house; private to
// the kernels.

namespace stagecraft::kernels::detail {

/// Pixels of a tile.
inline constexpr int channel_tile_rows = 8;

/// Calls finish(i, sum) with, for every i in [0, Rows), the sum over all steps of left[i][where the step's left factor
/// lies + lane] * right[where its right factor lies + lane]. Of the right factor, `count` lanes are read unless Whole.
template <int Rows, bool Whole, class Arch, class Finish>
[[gnu::noinline]] void channel_tile(float const* const* left, std::ptrdiff_t channel, float const* right,
                                    [[maybe_unused]] int count, step_runs const& runs, Finish finish) {
  float const* row[Rows];
  batch<Arch> sum[Rows][1];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i] + channel;
    sum[i][0] = batch<Arch>(0.0F);
  }
  for (int r = 0; r < runs.rows; ++r)
    for (int c = 0; c < runs.columns; ++c) {
      std::ptrdiff_t at = r * runs.left_row + c * runs.left_column;
      float const* from = right + channel + r * runs.right_row + c * runs.right_column;
      for (int s = 0; s < runs.steps; ++s, at += runs.left_step, from += runs.right_step) {
        keep_in_register(at);
        batch<Arch> factor;
        if constexpr (Whole)
          factor = load_once<Arch>(from);
        else
          factor = load_first<Arch>(from, count);
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i)
          sum[i][0] = fused_multiply_add(batch<Arch>::load_unaligned(row[i] + at), factor, sum[i][0]);
      }
    }
  for_each_sum<Rows, 1>([&](auto i, auto) __attribute__((always_inline)) { finish(i, batch<Arch>(sum[i][0])); });
}

/// The shape whose channels are repeated so that there are as many as filters.
template <convolution_shape Shape>
inline constexpr convolution_shape repeated_channels = [] {
  convolution_shape shape = Shape;
  shape.channels = shape.filters;
  shape.groups = shape.filters;
  return shape;
}();

/// to[pixel * row + f] = from[pixel * channels + f / multiplier].
inline void repeat_channels(float const* from, int pixels, int channels, int multiplier, float* to) {
  for (int i = 0; i < pixels * channels; ++i)
    for (int m = 0; m < multiplier; ++m) *to++ = from[i];
}

/// Where the kernel of a correlation begins, and how far it moves with each tap.
struct channel_kernel {
  float const* first;
  std::ptrdiff_t row;
  std::ptrdiff_t column;
};

/// Tiles [first, last) of the correlation of one sample. Calls finish(i, channel, lanes that count, element, sum) for
/// every register of a pixel, and then finish_tile(pixels, elements).
template <class Arch, class Finish, class FinishTile>
void correlate_channels(correlation const& shape, int channels, float const* source, channel_kernel const& kernel,
                        std::int64_t first, std::int64_t last, Finish const& finish, FinishTile const& finish_tile) {
  constexpr int height = channel_tile_rows;
  std::int64_t begin = 0;
  shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
    std::int64_t const tiles = (pixels + height - 1) / height;
    std::int64_t const from = first > begin ? first - begin : 0;
    std::int64_t const to = last - begin < tiles ? last - begin : tiles;
    begin += tiles;
    if (from >= to) return;
    step_runs runs;
    runs.rows = row.taps;
    runs.columns = column.taps;
    runs.steps = 1;
    runs.left_row = shape.rows.dilation * shape.source.row;
    runs.left_column = shape.columns.dilation * shape.source.pixel;
    runs.right_row = kernel.row;
    runs.right_column = kernel.column;
    float const* const left_first = source + row.tap * runs.left_row + column.tap * runs.left_column;
    float const* const right = kernel.first + row.tap * kernel.row + column.tap * kernel.column;
    pixel_cursor cursor(shape, row, column, from * height);
    for (std::int64_t tile = from; tile < to; ++tile) {
      std::int64_t const pixels_left = pixels - tile * height;
      int const rows = pixels_left < height ? static_cast<int>(pixels_left) : height;
      float const* left[height];
      std::int64_t element[height];
      for (int i = 0; i < height; ++i) {
        left[i] = left_first + cursor.source;
        element[i] = cursor.result;
        if (i + 1 < rows) cursor.advance();
      }
      cursor.advance();
      int channel = 0;
      for (; channel + lanes<Arch> <= channels; channel += lanes<Arch>)
        channel_tile<height, true, Arch>(left, channel, right, lanes<Arch>, runs, [&](int i, batch<Arch> const& sum) {
          if (i < rows) finish(i, channel, lanes<Arch>, element[i] + channel, sum);
        });
      if (int const rest = channels - channel; rest > 0)
        channel_tile<height, false, Arch>(left, channel, right, rest, runs, [&](int i, batch<Arch> const& sum) {
          if (i < rows) finish(i, channel, rest, element[i] + channel, sum);
        });
      finish_tile(rows, element);
    }
  });
}

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/depthwise_window.hpp
// The micro-kernels of the depthwise convolutions: a register of channels of neighbouring pixels in a row, over which
// a kernel slides. Which pixels meet which taps, at the borders too, is known at compile time, so that a pixel is read
// once for all taps of a kernel's row. Level 4 of the house; private to the kernels.

namespace stagecraft::kernels::detail {

/// One axis. Result o and tap t meet the source at `o * stride + t * dilation - before`; if it is transposed (the
/// gradient of such an axis), at `(o + before - t * dilation) / stride` where that leaves no remainder.
struct window_axis {
  int results = 1;
  int extent = 1;
  int taps = 1;
  int stride = 1;
  int dilation = 1;
  int before = 0;
  bool transposed = false;

  static constexpr int nowhere = -(1 << 30);

  /// Where result o meets tap t, or nowhere; beyond the borders, too.
  [[nodiscard]] constexpr int source(int o, int t) const {
    if (!transposed) return o * stride + t * dilation - before;
    int const at = o + before - t * dilation;
    return at % stride == 0 ? at / stride : nowhere;
  }
  /// How far the source moves along `o` results, which are a multiple of the stride if it is transposed.
  [[nodiscard]] constexpr int moved(int o) const { return transposed ? o / stride : o * stride; }
};

/// The axes of a convolution.
template <convolution_shape Shape>
inline constexpr window_axis forward_rows{Shape.output_height(), Shape.height,          Shape.kernel_height,
                                          Shape.stride_height,   Shape.dilation_height, Shape.top};
template <convolution_shape Shape>
inline constexpr window_axis forward_columns{Shape.output_width(), Shape.width,          Shape.kernel_width,
                                             Shape.stride_width,   Shape.dilation_width, Shape.left};

/// Neighbouring results, and which pixels of the source, counted from `moved(first result)`, they meet.
struct window_tile {
  int results = 0;
  int first = 0;
  int last = 0;

  friend constexpr bool operator==(window_tile const&, window_tile const&) = default;
};

/// How an axis is cut into tiles of `width` results; the last one may have fewer.
struct window_cut {
  window_axis axis = {};
  int width = 1;

  [[nodiscard]] constexpr int tiles() const { return (axis.results + width - 1) / width; }
  [[nodiscard]] constexpr window_tile tile(int number) const {
    int const left = axis.results - number * width;
    window_tile found{left < width ? left : width, axis.extent, -axis.extent};
    int const base = axis.moved(number * width);
    for (int o = 0; o < found.results; ++o)
      for (int t = 0; t < axis.taps; ++t) {
        int const at = axis.source(o, t);
        if (at == window_axis::nowhere || at + base < 0 || at + base >= axis.extent) continue;
        if (at < found.first) found.first = at;
        if (at >= found.last) found.last = at + 1;
      }
    if (found.first >= found.last) found.first = found.last = 0;
    return found;
  }
  /// Tiles from `number` on that are alike end here.
  [[nodiscard]] constexpr int run_end(int number) const {
    int end = number + 1;
    while (end < tiles() && tile(end) == tile(number)) ++end;
    return end;
  }
};

/// Tiles of about `most` results, as equal as can be.
[[nodiscard]] consteval window_cut cut_window(window_axis const& axis, int most) {
  int const step = axis.transposed ? axis.stride : 1;
  int const tiles = (axis.results + most - 1) / most;
  int const width = (axis.results + tiles - 1) / tiles;
  return {axis, (width + step - 1) / step * step};
}

/// A tile of an axis, as a type: GCC 12 cannot use such values in lambdas.
template <window_axis Axis, window_tile Tile>
struct window {
  static constexpr int taps = Axis.taps;
  static constexpr int extent = Axis.extent;
  static constexpr int all_results = Axis.results;
  static constexpr int results = Tile.results;
  static constexpr int first = Tile.first;
  static constexpr int last = Tile.last;

  /// Which of the tile's results meets the tap at this pixel, or -1.
  [[nodiscard]] static constexpr int result(int pixel, int tap) {
    int const moved = tap * Axis.dilation - Axis.before;
    int const o = Axis.transposed ? pixel * Axis.stride + moved : (pixel - moved) / Axis.stride;
    return o >= 0 && o < results && Axis.source(o, tap) == pixel ? o : -1;
  }
};

/// Calls visit(window<...>()) for a tile.
template <window_cut Cut, int Number = 0, class Visit>
[[gnu::always_inline]] inline void with_window(int number, Visit const& visit) {
  constexpr int end = Cut.run_end(Number);
  if constexpr (end < Cut.tiles()) {
    if (number >= end) return with_window<Cut, end>(number, visit);
  }
  visit(window<Cut.axis, Cut.tile(Number)>());
}

/// Calls visit(constant) for the constants from First to Last - 1.
template <int First, int Last, class Visit>
[[gnu::always_inline]] inline void for_constants(Visit const& visit) {
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, First + Index>()), ...);
  }(std::make_integer_sequence<int, Last - First>());
}

/// Where a row of the source lies that a row of results meets, and the first tap of the kernel's row.
struct window_row {
  std::ptrdiff_t source = 0;
  std::ptrdiff_t tap = 0;
};

/// All of them.
template <int Most>
struct window_rows {
  int count = 0;
  window_row row[Most] = {};

  window_rows(window_axis const& axis, int result, std::ptrdiff_t source_row, int taps) {
    for (int t = 0; t < axis.taps; ++t)
      if (int const at = axis.source(result, t); at >= 0 && at < axis.extent)
        row[count++] = {at * source_row, std::ptrdiff_t{t} * taps};
  }
};

/// How many results' sums stay in registers, beside the taps of a kernel's row.
template <class Arch>
[[nodiscard]] consteval int most_window_results(int taps) {
  int const registers = vector_registers<Arch>() - scratch_registers<Arch>() - 1;
  int const beside = registers - (taps < registers / 3 ? taps : registers / 3);
  int const most = beside < 14 ? beside : 14;
  return most * taps <= 98 ? most : taps < 98 / 2 ? 98 / taps : 2;
}

/// sums[o * lanes + lane] = the sum over all rows and taps of the source times the kernel, for the results of a tile.
/// `source` is the tile's register of channels, where column `moved(first result)` would lie in row 0; `Pixel` and
/// `tap` are the floats between columns and taps.
template <class Window, int Pixel, class Arch>
[[gnu::noinline]] void slide_window(float const* source, float const* kernel, std::ptrdiff_t tap, window_row const* row,
                                    window_row const* end, float* sums) {
  batch<Arch> sum[Window::results];
#pragma GCC unroll 64
  for (int o = 0; o < Window::results; ++o) sum[o] = batch<Arch>(0.0F);
  for (; row != end; ++row) {
    float const* const from = source + row->source;
    float const* factors = kernel + row->tap * tap;
    batch<Arch> factor[Window::taps];
#pragma GCC unroll 64
    for (int t = 0; t < Window::taps; ++t, factors += tap) factor[t] = load_once<Arch>(factors);
    for_constants<Window::first, Window::last>(
        [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
          batch<Arch> const pixel = load_once<Arch>(from + static_cast<std::ptrdiff_t>(At) * Pixel);
#pragma GCC unroll 64
          for (int t = 0; t < Window::taps; ++t)
            if (int const o = Window::result(At, t); o >= 0) sum[o] = fused_multiply_add(pixel, factor[t], sum[o]);
        });
  }
  for_constants<0, Window::results>(
      [&](auto o) __attribute__((always_inline)) { batch<Arch>(sum[o]).store_aligned(sums + o * lanes<Arch>); });
}

/// Rows of a kernel whose sums stay in registers, in its gradient: as equal in number as can be.
template <class Arch>
[[nodiscard]] consteval int most_group_rows(int rows, int taps) {
  int const sums = vector_registers<Arch>() == 32 ? 15 : 9;
  int const most = sums / taps > 0 ? sums / taps : 1;
  int const groups = (rows + most - 1) / most;
  return (rows + groups - 1) / groups;
}

/// Pixels of the gradient that stay in registers beside so many sums.
template <class Arch>
[[nodiscard]] consteval int most_group_results(int sums) {
  int const most = vector_registers<Arch>() - scratch_registers<Arch>() - 1 - sums;
  return most < 4 ? 4 : most < 14 ? most : 14;
}

/// Adds to sums[tap * distance + lane], for `Group` rows of taps from `tap_row` on, the sums of x times dy over rows
/// [first, last) of a tile. `x` is the tile's register of channels, as in slide_window; dy, in row 0.
template <class Window, window_axis Rows, int Group, int Pixel, class Arch>
[[gnu::noinline]] void slide_products(float const* x, float const* dy, int first, int last, int tap_row, float* sums,
                                      std::ptrdiff_t distance) {
  constexpr int taps = Window::taps;
  batch<Arch> sum[Group * taps];
#pragma GCC unroll 16
  for (int t = 0; t < Group * taps; ++t) sum[t] = batch<Arch>(0.0F);
  constexpr int height = Rows.extent;
  constexpr int dilation = Rows.dilation;
  std::ptrdiff_t group = Rows.taps - tap_row < Group ? Rows.taps - tap_row : Group;
  for (int row = first; row < last; ++row) {
    keep_in_register(group);
    float const* const right = dy + static_cast<std::ptrdiff_t>(row) * Window::all_results * Pixel;
    batch<Arch> factor[Window::results];
#pragma GCC unroll 64
    for (int o = 0; o < Window::results; ++o) factor[o] = load_once<Arch>(right + o * Pixel);
    int const source = Rows.source(row, tap_row);
    for_constants<0, Group>([&]<int R>(std::integral_constant<int, R>) __attribute__((always_inline)) {
      int const at = source + R * dilation;
      if (R >= group || at < 0 || at >= height) return;
      float const* const from = x + static_cast<std::ptrdiff_t>(at) * Window::extent * Pixel;
      for_constants<Window::first, Window::last>(
          [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
            batch<Arch> const pixel = load_once<Arch>(from + static_cast<std::ptrdiff_t>(At) * Pixel);
            for_constants<0, taps>([&]<int T>(std::integral_constant<int, T>) __attribute__((always_inline)) {
              constexpr int o = Window::result(At, T);
              if constexpr (o >= 0) sum[R * taps + T] = fused_multiply_add(pixel, factor[o], sum[R * taps + T]);
            });
          });
    });
  }
  for_constants<0, Group * taps>([&](auto t) __attribute__((always_inline)) {
    if (t >= group * taps) return;
    float* const to = sums + (tap_row * taps + t) * distance;
    (batch<Arch>::load_unaligned(to) + batch<Arch>(sum[t])).store_unaligned(to);
  });
}

/// The kernels' last channels, where they fill no register, each tap in a register of its own, with zeros behind.
template <int Taps, int Channels, class Arch>
struct window_tail {
  static constexpr int rest = Channels % lanes<Arch>;
  alignas(64) float values[(rest > 0 ? Taps : 1) * lanes<Arch>];

  explicit window_tail([[maybe_unused]] float const* kernel) {
    if constexpr (rest > 0)
      for (int t = 0; t < Taps; ++t)
        load_first<Arch>(kernel + t * Channels + Channels - rest, rest).store_aligned(values + t * lanes<Arch>);
  }
};

/// Channels that are done before the next ones: as many as let the rows that a kernel meets stay in the first-level
/// cache.
[[nodiscard]] consteval int window_channels(window_axis const& rows, window_cut const& columns, int channels) {
  int const row = columns.axis.extent;
  int const floats = (rows.transposed ? (rows.taps + rows.stride - 1) / rows.stride : rows.taps) * row;
  int blocks = 1;
  while (channels / blocks > 64 && floats * (channels / blocks) > 6144) ++blocks;
  int const block = (channels + blocks - 1) / blocks;
  return blocks == 1 ? channels : (block + 15) / 16 * 16;
}

/// Items of a sample.
[[nodiscard]] consteval std::int64_t window_items(window_axis const& rows, window_cut const& columns, int channels) {
  int const block = window_channels(rows, columns, channels);
  return std::int64_t{rows.results} * columns.tiles() * ((channels + block - 1) / block);
}

/// Items [first, last) of a pass over samples of Rows.results x Columns.axis.results pixels; an item is a tile of a row
/// of a block of channels. Calls begin_sample(sample), which gives the source, and finish(sums, results, sample, pixel
/// of the first result in the sample, channel, lanes that count) for each register of channels.
template <window_axis Rows, window_cut Columns, int Channels, class Arch, class BeginSample, class Finish>
void slide_windows(float const* kernel, std::int64_t first, std::int64_t last, BeginSample const& begin_sample,
                   Finish const& finish) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Channels / width * width;
  constexpr int tiles = Columns.tiles();
  constexpr int block = window_channels(Rows, Columns, Channels);
  constexpr int blocks = (Channels + block - 1) / block;
  window_tail<Rows.taps * Columns.axis.taps, Channels, Arch> const tail(kernel);
  std::int64_t sample = -1;
  float const* source = nullptr;
  for (std::int64_t item = first; item < last;) {
    std::int64_t const all_rows = item / tiles;
    int const row = static_cast<int>(all_rows % Rows.results);
    std::int64_t const all_blocks = all_rows / Rows.results;
    int const first_channel = static_cast<int>(all_blocks % blocks) * block;
    int const end_channel = first_channel + block < Channels ? first_channel + block : Channels;
    int const whole_end = end_channel < whole ? end_channel : whole;
    if (all_blocks / blocks != sample) {
      sample = all_blocks / blocks;
      source = begin_sample(sample);
    }
    window_rows<Rows.taps> const rows(Rows, row, std::ptrdiff_t{Columns.axis.extent} * Channels, Columns.axis.taps);
    std::int64_t const row_end = (all_rows + 1) * tiles < last ? (all_rows + 1) * tiles : last;
    for (; item < row_end; ++item) {
      int const number = static_cast<int>(item - all_rows * tiles);
      int const column = number * Columns.width;
      float const* const from = source + static_cast<std::ptrdiff_t>(Columns.axis.moved(column)) * Channels;
      std::int64_t const pixel = std::int64_t{row} * Columns.axis.results + column;
      with_window<Columns>(number, [&]<class Window>(Window) __attribute__((always_inline)) {
        alignas(64) float sums[Window::results * width];
        for (int channel = first_channel; channel < whole_end; channel += width) {
          slide_window<Window, Channels, Arch>(from + channel, kernel + channel, Channels, rows.row,
                                               rows.row + rows.count, sums);
          finish(sums, Window::results, sample, pixel, channel, std::integral_constant<int, width>());
        }
        if constexpr (whole < Channels) {
          if (end_channel < Channels) return;
          slide_window<Window, Channels, Arch>(from + whole, tail.values, width, rows.row, rows.row + rows.count, sums);
          finish(sums, Window::results, sample, pixel, whole, std::integral_constant<int, Channels - whole>());
        }
      });
    }
  }
}

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/depthwise_convolution.hpp
// The convolution of each channel with kernels of its own, bias and activation included. Keras counterpart:
// DepthwiseConv2D. Level 4 of the house. All shapes are known at compile time; nothing is allocated.

namespace stagecraft::kernels {

/// Floats of workspace that `depthwise_convolution` needs, for each thread: a sample whose channels are repeated.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_workspace =
    Shape.filters == Shape.channels ? 0 : static_cast<long long>(Shape.height) * Shape.width * Shape.filters + 64;

/// y = epilogue(the convolution of each channel of x with `filters / channels` kernels of w). The shape has as many
/// groups as channels. x: Batch x input and y: Batch x output of the shape, channels last, of which the multiplier
/// counts fastest; w: (kernel_height, kernel_width, filters), row by row. Up to a register behind x's end may be read.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void depthwise_convolution(float const* x, float const* w, [[maybe_unused]] float* workspace, float* y,
                           Epilogue const& epilogue = {}, share part = {}) {
  static_assert(Shape.groups == Shape.channels && Shape.filters % Shape.channels == 0);
  constexpr int filters = Shape.filters;
  constexpr detail::window_axis rows = detail::forward_rows<Shape>;
  constexpr detail::window_cut columns =
      detail::cut_window(detail::forward_columns<Shape>, detail::most_window_results<Arch>(Shape.kernel_width));
  share::range const range = part.of(Batch * detail::window_items(rows, columns, filters));
  detail::slide_windows<rows, columns, filters, Arch>(
      w, range.first, range.last,
      [&](std::int64_t sample) {
        float const* const source = x + sample * Shape.input_size();
        if constexpr (filters == Shape.channels) {
          return source;
        } else {
          detail::repeat_channels(source, Shape.height * Shape.width, Shape.channels, filters / Shape.channels,
                                  workspace);
          return static_cast<float const*>(workspace);
        }
      },
      [&](float const* sums, int results, std::int64_t sample, std::int64_t pixel, int channel, auto count) {
        std::int64_t at = sample * Shape.output_size() + pixel * filters + channel;
        for (int o = 0; o < results; ++o, at += filters)
          store_lanes<count>(epilogue(batch<Arch>::load_aligned(sums + o * lanes<Arch>), channel, at), y + at);
      });
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/depthwise_convolution_gradient.hpp
// The gradients of a depthwise convolution: of its input and of its kernels.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.

namespace stagecraft::kernels {

/// Floats of workspace that `depthwise_convolution_input_gradient` needs, for each thread: a tile of gradients, one for
/// each repetition of a channel.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_input_gradient_workspace =
    Shape.filters == Shape.channels ? 0 : static_cast<long long>(detail::channel_tile_rows) * (Shape.filters + 16);

namespace detail {

/// dx (+)= the gradient of the input, where there is one kernel for each channel.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch>
void slide_input_gradient(float const* dy, float const* w, float* dx, share part) {
  constexpr int channels = Shape.channels;
  constexpr window_axis rows{
      Shape.height, Shape.output_height(), Shape.kernel_height, Shape.stride_height, Shape.dilation_height, Shape.top,
      true};
  constexpr window_cut columns = cut_window({Shape.width, Shape.output_width(), Shape.kernel_width, Shape.stride_width,
                                             Shape.dilation_width, Shape.left, true},
                                            most_window_results<Arch>(Shape.kernel_width));
  share::range const range = part.of(Batch * window_items(rows, columns, channels));
  slide_windows<rows, columns, channels, Arch>(
      w, range.first, range.last, [&](std::int64_t sample) { return dy + sample * Shape.output_size(); },
      [&](float const* sums, int results, std::int64_t sample, std::int64_t pixel, int channel, auto count) {
        float* to = dx + sample * Shape.input_size() + pixel * channels + channel;
        for (int o = 0; o < results; ++o, to += channels) {
          batch<Arch> sum = batch<Arch>::load_aligned(sums + o * lanes<Arch>);
          if constexpr (Accumulate) sum = sum + load_lanes<count, Arch>(to);
          store_lanes<count>(sum, to);
        }
      });
}

}  // namespace detail

/// dx (+)= the gradient of the input. Shapes and layouts as in `depthwise_convolution`; up to a register behind dy's
/// end may be read.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_input_gradient(float const* dy, float const* w, [[maybe_unused]] float* workspace, float* dx,
                                          share part = {}) {
  if constexpr (Shape.filters == Shape.channels) {
    detail::slide_input_gradient<Batch, Shape, Accumulate, Arch>(dy, w, dx, part);
  } else {
    using shapes = detail::backward_correlation<1, detail::repeated_channels<Shape>>;
    constexpr auto const& all = shapes::value;
    constexpr int filters = Shape.filters;
    constexpr int multiplier = filters / Shape.channels;
    constexpr int kept_row = filters + 16;
    constexpr std::int64_t tiles = detail::all_tiles(all.part, detail::channel_tile_rows);
    share::range const range = part.of(Batch * tiles);
    for (std::int64_t item = range.first; item < range.last;) {
      std::int64_t const sample = item / tiles;
      std::int64_t phase_begin = sample * tiles;
      float const* const source = dy + sample * Shape.output_size();
      float* const result = dx + sample * Shape.input_size();
      for (int i = 0; i < shapes::phases; ++i) {
        detail::phase_axis const& rows = all.rows[i];
        detail::phase_axis const& columns = all.columns[i];
        std::int64_t const phase_tiles = all.part[i].tiles(detail::channel_tile_rows);
        std::int64_t const first = range.first > phase_begin ? range.first - phase_begin : 0;
        std::int64_t const last = range.last - phase_begin < phase_tiles ? range.last - phase_begin : phase_tiles;
        phase_begin += phase_tiles;
        if (first >= last) continue;
        int const last_row = rows.first_tap + (rows.axis.taps - 1) * rows.tap_step;
        int const last_column = columns.first_tap + (columns.axis.taps - 1) * columns.tap_step;
        detail::channel_kernel const kernel = {
            w + (static_cast<std::ptrdiff_t>(last_row) * Shape.kernel_width + last_column) * filters,
            -static_cast<std::ptrdiff_t>(rows.tap_step) * Shape.kernel_width * filters,
            -static_cast<std::ptrdiff_t>(columns.tap_step) * filters};
        detail::correlate_channels<Arch>(
            all.part[i], filters, source, kernel, first, last,
            [&](int row, int channel, int count, std::int64_t element, batch<Arch> sum) {
              if constexpr (multiplier > 1) {
                sum.store_unaligned(workspace + row * kept_row + channel);
              } else if (count == lanes<Arch>) {
                if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(result + element);
                sum.store_unaligned(result + element);
              } else {
                if constexpr (Accumulate) sum = sum + load_first<Arch>(result + element, count);
                store_first(sum, result + element, count);
              }
            },
            [&]([[maybe_unused]] int pixels, [[maybe_unused]] std::int64_t const* element) {
              if constexpr (multiplier > 1)
                for (int pixel = 0; pixel < pixels; ++pixel)
                  for (int channel = 0; channel < Shape.channels; ++channel) {
                    float* const to = result + element[pixel] / multiplier + channel;
                    float const* const kept = workspace + pixel * kept_row + channel * multiplier;
                    float sum = Accumulate ? *to : 0.0F;
                    for (int m = 0; m < multiplier; ++m) sum += kept[m];
                    *to = sum;
                  }
            });
      }
      item = (sample + 1) * tiles;
    }
  }
}

namespace detail {

/// Whether the kernels' gradient is summed by sliding over the input itself; else, where channels are repeated or the
/// sums of a kernel's row would fill the registers, over a copy.
template <convolution_shape Shape>
inline constexpr bool slides_over_input = Shape.filters == Shape.channels && Shape.kernel_width <= 8;

/// Whether a sample is copied before the gradient of its kernels: with zeros around it, and its channels repeated.
template <convolution_shape Shape>
inline constexpr bool copies_channels =
    !slides_over_input<Shape> && (Shape.has_padding() || Shape.filters != Shape.channels);

/// Rows of results that are done before the next register of channels: few, where many channels of short rows would
/// evict each other from the first-level cache.
template <convolution_shape Shape>
inline constexpr int filter_gradient_rows = Shape.output_width() <= 8 && Shape.channels >= 256 ? 1 : 8;

/// Channels [first, last) of the kernels' gradient, where there is one kernel for each channel.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch>
void slide_filter_gradient(float const* x, float const* dy, float* dw, int first, int last) {
  constexpr int channels = Shape.channels;
  constexpr int width = lanes<Arch>;
  constexpr int kernel_width = Shape.kernel_width;
  constexpr int taps = Shape.kernel_height * kernel_width;
  constexpr int group = most_group_rows<Arch>(Shape.kernel_height, kernel_width);
  constexpr window_axis rows = forward_rows<Shape>;
  constexpr window_cut columns = cut_window(forward_columns<Shape>, most_group_results<Arch>(group * kernel_width));
  constexpr int rows_at_once = filter_gradient_rows<Shape>;
  constexpr int rest = channels % width;
  alignas(64) float tail[(rest > 0 ? taps : 1) * width] = {};
  if constexpr (!Accumulate)
    for (int t = 0; t < taps; ++t)
      for (int channel = first; channel < last; ++channel) dw[t * channels + channel] = 0.0F;
  int const whole = last / width * width;
  for (int sample = 0; sample < Batch; ++sample) {
    float const* const source = x + static_cast<std::int64_t>(sample) * Shape.input_size();
    float const* const right = dy + static_cast<std::int64_t>(sample) * Shape.output_size();
    for (int row = 0; row < rows.results; row += rows_at_once) {
      int const row_end = row + rows_at_once < rows.results ? row + rows_at_once : rows.results;
      for (int number = 0; number < columns.tiles(); ++number) {
        int const column = number * columns.width;
        float const* const left = source + static_cast<std::ptrdiff_t>(columns.axis.moved(column)) * channels;
        float const* const from = right + static_cast<std::ptrdiff_t>(column) * channels;
        with_window<columns>(number, [&]<class Window>(Window) __attribute__((always_inline)) {
          for (int channel = first; channel < last; channel += width)
            for (int tap_row = 0; tap_row < Shape.kernel_height; tap_row += group) {
              bool const is_whole = channel < whole;
              float* const sums = is_whole ? dw + channel : tail;
              slide_products<Window, rows, group, channels, Arch>(left + channel, from + channel, row, row_end, tap_row,
                                                                  sums, is_whole ? channels : width);
            }
        });
      }
    }
  }
  if constexpr (rest > 0)
    if (whole < last)
      for (int t = 0; t < taps; ++t) {
        float* const to = dw + t * channels + whole;
        store_lanes<rest>(load_lanes<rest, Arch>(to) + batch<Arch>::load_aligned(tail + t * width), to);
      }
}

/// Taps of a tile: as many as have an address register.
[[nodiscard]] consteval int taps_of_tile(int taps) {
  int const tiles = (taps + 8) / 9;
  return (taps + tiles - 1) / tiles;
}

/// Copies a sample, with zeros around it, and each channel repeated.
template <convolution_shape Shape>
void pad_and_repeat(float const* from, float* to) {
  constexpr int multiplier = Shape.filters / Shape.channels;
  constexpr int row = Shape.padded_width() * Shape.filters;
  for (int h = 0; h < Shape.padded_height(); ++h, to += row) {
    bool const inside = h >= Shape.top && h < Shape.top + Shape.height;
    int const begin = inside ? Shape.left * Shape.filters : row;
    int const end = inside ? begin + Shape.width * Shape.filters : row;
    for (int i = 0; i < begin; ++i) to[i] = 0.0F;
    if (inside) {
      if constexpr (multiplier == 1)
        for (int i = 0; i < Shape.width * Shape.channels; ++i) to[begin + i] = from[i];
      else
        repeat_channels(from, Shape.width, Shape.channels, multiplier, to + begin);
      from += Shape.width * Shape.channels;
    }
    for (int i = end; i < row; ++i) to[i] = 0.0F;
  }
}

}  // namespace detail

/// Floats of workspace that `depthwise_convolution_filter_gradient` needs, for each thread: a padded sample.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_filter_gradient_workspace =
    detail::copies_channels<Shape>
        ? static_cast<long long>(Shape.padded_height()) * Shape.padded_width() * Shape.filters + 64
        : 0;

/// dw (+)= the gradient of the kernels. Shapes and layouts as in `depthwise_convolution`; up to a register behind x's
/// and dy's ends may be read. A thread's share is a range of registers of filters.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_filter_gradient(float const* x, float const* dy, [[maybe_unused]] float* workspace,
                                           float* dw, share part = {}) {
  constexpr int filters = Shape.filters;
  share::range const range = part.of(filters, 16);
  if (range.first >= range.last) return;
  if constexpr (detail::slides_over_input<Shape>) {
    detail::slide_filter_gradient<Batch, Shape, Accumulate, Arch>(x, dy, dw, static_cast<int>(range.first),
                                                                  static_cast<int>(range.last));
  } else {
    constexpr int taps = Shape.kernel_height * Shape.kernel_width;
    constexpr int height = detail::taps_of_tile(taps);
    constexpr bool copies = detail::copies_channels<Shape>;
    constexpr int width = copies ? Shape.padded_width() : Shape.width;
    detail::step_runs runs;
    runs.rows = 1;
    runs.columns = Shape.output_height();
    runs.steps = Shape.output_width();
    runs.left_column = static_cast<std::ptrdiff_t>(Shape.stride_height) * width * filters;
    runs.right_column = static_cast<std::ptrdiff_t>(Shape.output_width()) * filters;
    runs.left_step = static_cast<std::ptrdiff_t>(Shape.stride_width) * filters;
    runs.right_step = filters;
    for (int sample = 0; sample < Batch; ++sample) {
      bool const add = Accumulate || sample > 0;
      float const* source = x + static_cast<std::int64_t>(sample) * Shape.input_size();
      if constexpr (copies) {
        detail::pad_and_repeat<Shape>(source, workspace);
        source = workspace;
      }
      float const* const right = dy + static_cast<std::int64_t>(sample) * Shape.output_size();
      for (int first = 0; first < taps; first += height) {
        float const* left[height];
        for (int i = 0; i < height; ++i) {
          int const tap = first + i < taps ? first + i : taps - 1;
          left[i] = source + (tap / Shape.kernel_width * Shape.dilation_height * width +
                              tap % Shape.kernel_width * Shape.dilation_width) *
                                 filters;
        }
        for (std::int64_t channel = range.first; channel < range.last; channel += lanes<Arch>) {
          int const left_over = static_cast<int>(range.last - channel);
          int const count = left_over < lanes<Arch> ? left_over : lanes<Arch>;
          detail::channel_tile<height, true, Arch>(left, channel, right, count, runs, [&](int i, batch<Arch> sum) {
            if (first + i >= taps) return;
            float* const to = dw + static_cast<std::int64_t>(first + i) * filters + channel;
            if (add) sum = sum + load_first<Arch>(to, count);
            store_first(sum, to, count);
          });
        }
      }
    }
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/depthwise_conv2d.hpp
// The steps of depthwise_conv2d on the host. Level 5.

namespace stagecraft {

template <>
struct operation<layers::depthwise_conv2d> {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution =
        detail::convolution_of(Call::layer, in[0], in[1], in[2], in[2] * Call::layer.depth_multiplier, in[2]);
    static constexpr int rows = Call::batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue =
        detail::activation_epilogue<rows, convolution.filters, Call::layer.activation, Call::layer.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max({kernels::depthwise_convolution_workspace<s::convolution, typename s::arch>,
                     kernels::depthwise_convolution_input_gradient_workspace<s::convolution, typename s::arch>,
                     kernels::depthwise_convolution_filter_gradient_workspace<s::convolution, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.use_bias ? call.weight(1) : nullptr;
    float* const before = detail::keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](float* y, auto const& epilogue) {
      kernels::depthwise_convolution<Call::batch, s::convolution, typename s::arch>(
          call.input(0), call.weight(0), call.memory.workspace, y, epilogue, call.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const dy = call.output_gradient();
    float* const workspace = call.memory.workspace;
    s::epilogue::backward(call);
    if constexpr (Call::wants_input_gradient(0))
      kernels::depthwise_convolution_input_gradient<Call::batch, s::convolution, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), workspace, call.input_gradient(0), call.share());
    kernels::depthwise_convolution_filter_gradient<Call::batch, s::convolution, Call::adds_parameter_gradient, arch>(
        call.input(0), dy, workspace, call.parameter_gradient(0), call.share());
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::convolution.filters, Call::adds_parameter_gradient, arch>(
          dy, call.parameter_gradient(1), call.share());
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

/// Dropout of a product's or a convolution's sums: the value of y[element] / (1 - rate) or 0, by the same number of the
/// sequence as `dropout` takes for it, so that `dropout_backward` with the same key is its gradient.
struct dropout_epilogue {
  float rate;
  random_key key;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int /*column*/, std::int64_t element) const {
    using arch = typename Batch::arch_type;
    Batch const uniform = random_uniform_batch<arch>(key, static_cast<std::uint64_t>(element));
    return xsimd::select(uniform >= Batch(rate), sum * Batch(1.0F / (1.0F - rate)), Batch(0.0F));
  }
};

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
  static constexpr bool divides = true;
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
    if constexpr (!Call::planned.needs.view) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::dropout<typename Call::architecture>(call.input(0) + first, call.output() + first, last - first,
                                                    Call::layer.rate, key(call), static_cast<std::uint64_t>(first));
    }
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!Call::planned.needs.view && Call::wants_input_gradient(0)) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::dropout_backward<Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient() + first, call.input_gradient(0) + first, last - first, Call::layer.rate, key(call),
          static_cast<std::uint64_t>(first));
    }
  }
};

}  // namespace stagecraft

// ---- stagecraft/kernels/channel_block.hpp
// A few registers of neighbouring channels, for kernels that do the same at each position of a sample. Level 4 of the
// house.

namespace stagecraft::kernels::detail {

/// Calls `function.operator()<Vectors, Last>(first)` for blocks of channels: Vectors registers, of which the last one
/// holds Last channels.
template <int Channels, class Arch, class Function>
inline void for_channel_blocks(Function const& function) {
  constexpr int width = lanes<Arch>;
  constexpr int block = 4 * width;
  constexpr int blocks = Channels / block;
  constexpr int rest = Channels - blocks * block;
  for (int i = 0; i < blocks; ++i) function.template operator()<4, width>(i * block);
  if constexpr (rest > 0) {
    constexpr int vectors = (rest + width - 1) / width;
    function.template operator()<vectors, rest - (vectors - 1) * width>(blocks * block);
  }
}

/// Vectors registers of channels at p, the last of which holds Last channels.
template <int Vectors, int Last, class Arch>
struct channel_block {
  batch<Arch> values[Vectors];

  [[nodiscard]] static channel_block load(float const* p) {
    channel_block block;
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) block.values[i] = batch<Arch>::load_unaligned(p + i * lanes<Arch>);
    block.values[Vectors - 1] = load_lanes<Last, Arch>(p + (Vectors - 1) * lanes<Arch>);
    return block;
  }
  [[nodiscard]] static channel_block of(float value) {
    channel_block block;
#pragma GCC unroll 4
    for (auto& each : block.values) each = batch<Arch>(value);
    return block;
  }
  void store(float* p) const {
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) values[i].store_unaligned(p + i * lanes<Arch>);
    store_lanes<Last>(values[Vectors - 1], p + (Vectors - 1) * lanes<Arch>);
  }
  /// values[i] = function(values[i], other.values[i]...)
  template <class Function, class... Other>
  void combine(Function const& function, Other const&... other) {
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) values[i] = function(values[i], other.values[i]...);
  }
};

}  // namespace stagecraft::kernels::detail

// ---- stagecraft/kernels/global_pooling.hpp
// The mean or the largest value of each channel of a sample, and the gradients. Keras counterpart:
// tf.keras.layers.GlobalAveragePooling2D, GlobalMaxPooling2D and those of one axis. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// y = combine over all positions of a sample, beginning with `start`, in four partial results that are combined at the
/// end; `finish` is applied to what is stored.
template <int Positions, int Channels, class Arch, class Combine, class Finish>
inline void reduce_positions(float const* x, float* y, float start, Combine const& combine, Finish const& finish) {
  for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
    using block = channel_block<Vectors, Last, Arch>;
    constexpr int parts = Vectors <= 2 ? 4 : 2;
    block part[parts];
    for (auto& each : part) each = block::of(start);
    float const* cell = x + channel;
    int position = 0;
    for (; position + parts <= Positions; position += parts) {
#pragma GCC unroll 4
      for (int i = 0; i < parts; ++i, cell += Channels) part[i].combine(combine, block::load(cell));
    }
    for (; position < Positions; ++position, cell += Channels) part[0].combine(combine, block::load(cell));
#pragma GCC unroll 4
    for (int i = 1; i < parts; ++i) part[0].combine(combine, part[i]);
    part[0].combine(finish);
    part[0].store(y + channel);
  });
}

}  // namespace detail

/// y = the mean of each channel over a sample's positions.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, class Arch = default_architecture>
inline void global_average_pooling(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::reduce_positions<Positions, Channels, Arch>(
        x + sample * Positions * Channels, y + sample * Channels, 0.0F,
        [](value const& a, value const& b) { return a + b; },
        [](value const& sum) { return sum * value(1.0F / static_cast<float>(Positions)); });
}

/// dx (or dx +=, if Accumulate): each channel's dy, divided equally among the positions.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void global_average_pooling_gradient(float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      auto const gradient = block::load(dy + sample * Channels + channel);
      value const factor(1.0F / static_cast<float>(Positions));
      float* cell = dx + sample * Positions * Channels + channel;
      for (int position = 0; position < Positions; ++position, cell += Channels) {
        auto result = gradient;
        if constexpr (Accumulate)
          result.combine([&](value const& g, value const& old) { return fused_multiply_add(factor, g, old); },
                         block::load(cell));
        else
          result.combine([&](value const& g) { return factor * g; });
        result.store(cell);
      }
    });
}

/// y = the largest value of each channel over a sample's positions; NaN if there is one.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, class Arch = default_architecture>
inline void global_max_pooling(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::reduce_positions<Positions, Channels, Arch>(
        x + sample * Positions * Channels, y + sample * Channels, -std::numeric_limits<float>::infinity(),
        [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(a), a, at_least(b, a)); },
        [](value const& largest) { return largest; });
}

/// dx (or dx +=, if Accumulate): each channel's dy, divided equally among the positions that hold its largest value, as
/// TensorFlow does. A channel with a NaN gets NaN.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void global_max_pooling_gradient(float const* x, float const* y, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      std::int64_t const begin = sample * Positions * Channels + channel;
      auto const largest = block::load(y + sample * Channels + channel);
      auto count = block::of(0.0F);
      float const* cell = x + begin;
      for (int position = 0; position < Positions; ++position, cell += Channels)
        count.combine([](value const& sum, value const& a,
                         value const& b) { return sum + xsimd::select(a == b, value(1.0F), value(0.0F)); },
                      block::load(cell), largest);
      // Without a winner, since all are NaN, 0 / 0 is what each gets.
      auto hit = block::of(1.0F);
      hit.combine([](value const& one, value const& n) { return one / n; }, count);
      auto miss = block::of(0.0F);
      miss.combine([](value const& zero, value const& n) { return zero / n; }, count);
      auto const gradient = block::load(dy + sample * Channels + channel);
      hit.combine([](value const& a, value const& g) { return a * g; }, gradient);
      miss.combine([](value const& a, value const& g) { return a * g; }, gradient);
      cell = x + begin;
      float* sent = dx + begin;
      for (int position = 0; position < Positions; ++position, cell += Channels, sent += Channels) {
        auto result = block::load(cell);
        result.combine([](value const& a, value const& b, value const& yes,
                          value const& no) { return xsimd::select(a == b, yes, no); },
                       largest, hit, miss);
        if constexpr (Accumulate)
          result.combine([](value const& g, value const& old) { return old + g; }, block::load(sent));
        result.store(sent);
      }
    });
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/global_pooling.hpp
// The steps of the layers on the host that reduce all positions of a sample. Level 5.

namespace stagecraft {

namespace detail {

template <class Call>
inline constexpr int channels_of = Call::input_shape(0).back();
template <class Call>
inline constexpr int positions_of = Call::input_shape(0).size() / channels_of<Call>;

struct global_average_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::global_average_pooling<Call::batch, positions_of<Call>, channels_of<Call>, typename Call::architecture>(
        call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::global_average_pooling_gradient<Call::batch, positions_of<Call>, channels_of<Call>,
                                               Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), call.share());
  }
};

struct global_max_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::global_max_pooling<Call::batch, positions_of<Call>, channels_of<Call>, typename Call::architecture>(
        call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::global_max_pooling_gradient<Call::batch, positions_of<Call>, channels_of<Call>,
                                           Call::adds_input_gradient(0), typename Call::architecture>(
          call.input(0), call.output(), call.output_gradient(), call.input_gradient(0), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::global_average_pooling2d> : detail::global_average_pooling_operation {};
template <>
struct operation<layers::global_average_pooling1d> : detail::global_average_pooling_operation {};
template <>
struct operation<layers::global_max_pooling2d> : detail::global_max_pooling_operation {};
template <>
struct operation<layers::global_max_pooling1d> : detail::global_max_pooling_operation {};

}  // namespace stagecraft

// ---- stagecraft/kernels/layer_normalization.hpp
// Normalization of each row of a row-major matrix, and its gradients.
// Keras counterpart: tf.keras.layers.LayerNormalization. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// Rows of `Columns` floats: the registers of one, and what becomes of them.
template <int Columns, class Arch>
struct row_registers {
  using value = batch<Arch>;
  static constexpr int width = lanes<Arch>;
  static constexpr int vectors = (Columns + width - 1) / width;
  static constexpr int last_lanes = Columns - (vectors - 1) * width;
  static constexpr float per_column = 1.0F / Columns;

  /// `visit<Lanes>(which, column)` for each register of a row; `which` tells four chains of sums apart.
  template <class Visit>
  static void for_each(Visit const& visit) {
    constexpr int whole = (vectors - 1) / 4 * 4;
    for (int i = 0; i < whole; i += 4) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) visit.template operator()<width>(k, (i + k) * width);
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors - 1 - whole; ++k) visit.template operator()<width>(k, (whole + k) * width);
    visit.template operator()<last_lanes>((vectors - 1) % 4, (vectors - 1) * width);
  }
  /// The four chains of one sum, and their sum.
  struct chains {
    value part[4] = {value(0.0F), value(0.0F), value(0.0F), value(0.0F)};
    [[nodiscard]] value sum() const {
      if constexpr (vectors == 1) return part[0];
      if constexpr (vectors == 2) return part[0] + part[1];
      return (part[0] + part[1]) + (part[2] + part[3]);
    }
  };
  template <int Lanes>
  [[nodiscard]] static value load(float const* p) {
    return load_lanes<Lanes, Arch>(p);
  }
  template <int Lanes>
  [[nodiscard]] static value keep(value const& x) {
    if constexpr (Lanes == width)
      return x;
    else
      return keep_first<Arch>(x, Lanes);
  }

  /// y = (x - mean) * reciprocal * gamma + beta.
  template <bool Scale, bool Center>
  static void write(float const* x, value const& mean, value const& reciprocal, float const* gamma, float const* beta,
                    float* y) {
    for_each([&]<int Lanes>(int, int column) {
      value const d = load<Lanes>(x + column) - mean;
      value result = d * reciprocal;
      if constexpr (Scale && Center)
        result = fused_multiply_add(result, load<Lanes>(gamma + column), load<Lanes>(beta + column));
      else if constexpr (Scale)
        result = result * load<Lanes>(gamma + column);
      else if constexpr (Center)
        result = fused_multiply_add(d, reciprocal, load<Lanes>(beta + column));
      store_lanes<Lanes>(result, y + column);
    });
  }

  /// dy * gamma.
  template <int Lanes>
  [[nodiscard]] static value scaled(float const* dy, float const* gamma, int column) {
    value const g = load<Lanes>(dy + column);
    return gamma != nullptr ? g * load<Lanes>(gamma + column) : g;
  }
  /// The chains of the sums of dy * gamma and of that times x - mean.
  static void add_gradients(float const* x, float const* dy, value const& mean, float const* gamma, chains& sum,
                            chains& slope) {
    for_each([&]<int Lanes>(int k, int column) {
      value const g = scaled<Lanes>(dy, gamma, column);
      sum.part[k] = sum.part[k] + g;
      slope.part[k] = fused_multiply_add(g, keep<Lanes>(load<Lanes>(x + column) - mean), slope.part[k]);
    });
  }
  /// dx (+)= reciprocal * (dy * gamma - sum - (x - mean) * slope).
  template <bool Accumulate>
  static void write_gradient(float const* x, float const* dy, value const& mean, value const& reciprocal,
                             value const& sum, value const& slope, float const* gamma, float* dx) {
    for_each([&]<int Lanes>(int, int column) {
      value const g = scaled<Lanes>(dy, gamma, column);
      value result = fused_negative_multiply_add(load<Lanes>(x + column) - mean, slope, g - sum);
      if constexpr (Accumulate)
        result = fused_multiply_add(reciprocal, result, load<Lanes>(dx + column));
      else
        result = reciprocal * result;
      store_lanes<Lanes>(result, dx + column);
    });
  }
};

/// As many rows at a time as a register has lanes: each lane of a sum over columns, and of what follows from it,
/// belongs to a row. For rows of which so many stay in the first cache.
template <int Columns, class Arch>
struct row_block : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;
  static constexpr int rows = lanes<Arch>;

  /// The sums of rows that `sum_of(row)` gives as one register each.
  template <class Sum>
  [[nodiscard]] static value sums(int count, Sum const& sum_of) {
    alignas(64) float partial[rows * rows];
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) sum_of(i).store_aligned(partial + i * rows);
    for (int i = count; i < rows; ++i) value(0.0F).store_aligned(partial + i * rows);
    return horizontal_sums<Arch>(partial);
  }

  template <bool Scale, bool Center>
  static void normalize(float const* x, int count, float epsilon, float const* gamma, float const* beta, float* y,
                        float* mean, float* reciprocal) {
    // The mean as a difference from the row's first number: so nothing of it is rounded away.
    alignas(64) float offset[rows], r[rows];
    value const factor(registers::per_column);
    auto const mean_of = [&](int i) { return value(x[i * Columns]) + value(offset[i]); };
    (factor * sums(count, [&](int i) {
       value const shift(x[i * Columns]);
       typename registers::chains sum;
       registers::for_each([&]<int Lanes>(int k, int column) {
         value const d = registers::template load<Lanes>(x + i * Columns + column) - shift;
         sum.part[k] = sum.part[k] + registers::template keep<Lanes>(d);
       });
       return sum.sum();
     })).store_aligned(offset);
    value const squares = sums(count, [&](int i) {
      value const m = mean_of(i);
      typename registers::chains sum;
      registers::for_each([&]<int Lanes>(int k, int column) {
        value const d = registers::template keep<Lanes>(registers::template load<Lanes>(x + i * Columns + column) - m);
        sum.part[k] = fused_multiply_add(d, d, sum.part[k]);
      });
      return sum.sum();
    });
    (value(1.0F) / xsimd::sqrt(fused_multiply_add(factor, squares, value(epsilon)))).store_aligned(r);
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      registers::template write<Scale, Center>(x + i * Columns, mean_of(i), value(r[i]), gamma, beta, y + i * Columns);
    if (mean != nullptr)
      for (int i = 0; i < count; ++i) mean[i] = x[i * Columns] + offset[i];
    if (reciprocal != nullptr) store_first(value::load_aligned(r), reciprocal, count);
  }

  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, int count, float const* mean, float const* reciprocal,
                       float const* gamma, float* dx) {
    alignas(64) float sum[rows], slope[rows], partial[2 * rows * rows];
    for (int i = 0; i < rows; ++i) {
      typename registers::chains of_gradient, of_slope;
      if (i < count)
        registers::add_gradients(x + i * Columns, dy + i * Columns, value(mean[i]), gamma, of_gradient, of_slope);
      of_gradient.sum().store_aligned(partial + i * rows);
      of_slope.sum().store_aligned(partial + (rows + i) * rows);
    }
    value const factor(registers::per_column), r = load_first<Arch>(reciprocal, count);
    (factor * horizontal_sums<Arch>(partial)).store_aligned(sum);
    (factor * horizontal_sums<Arch>(partial + rows * rows) * r * r).store_aligned(slope);
    for (int i = 0; i < count; ++i)
      registers::template write_gradient<Accumulate>(x + i * Columns, dy + i * Columns, value(mean[i]),
                                                     value(reciprocal[i]), value(sum[i]), value(slope[i]), gamma,
                                                     dx + i * Columns);
  }
};

/// One row at a time: for long ones.
template <int Columns, class Arch>
struct long_row : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;

  template <bool Scale, bool Center>
  static void normalize(float const* x, float epsilon, float const* gamma, float const* beta, float* y, float& mean,
                        float& reciprocal) {
    typename registers::chains part, rest, square;
    registers::for_each([&]<int Lanes>(int k, int column) {
      part.part[k] = part.part[k] + registers::template load<Lanes>(x + column);
    });
    float const near = horizontal_sum(part.sum()) * registers::per_column;
    value const shift(near);
    registers::for_each([&]<int Lanes>(int k, int column) {
      prefetch(x + Columns + column);  // the next row
      value const d = registers::template keep<Lanes>(registers::template load<Lanes>(x + column) - shift);
      rest.part[k] = rest.part[k] + d;
      square.part[k] = fused_multiply_add(d, d, square.part[k]);
    });
    // What rounding has left of the mean: a second sum finds it.
    value const offset(horizontal_sum(rest.sum()) * registers::per_column);
    value const variance =
        fused_negative_multiply_add(offset, offset, value(horizontal_sum(square.sum()) * registers::per_column));
    value const m = shift + offset;
    value const r = value(1.0F) / xsimd::sqrt(at_least(variance, value(0.0F)) + value(epsilon));
    store_first<Arch>(m, &mean, 1);
    store_first<Arch>(r, &reciprocal, 1);
    registers::template write<Scale, Center>(x, m, r, gamma, beta, y);
  }

  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, float mean, float reciprocal, float const* gamma, float* dx) {
    typename registers::chains of_gradient, of_slope;
    registers::add_gradients(x, dy, value(mean), gamma, of_gradient, of_slope);
    float const sum = horizontal_sum(of_gradient.sum()) * registers::per_column;
    float const slope = horizontal_sum(of_slope.sum()) * registers::per_column * reciprocal * reciprocal;
    registers::template write_gradient<Accumulate>(x, dy, value(mean), value(reciprocal), value(sum), value(slope),
                                                   gamma, dx);
  }
};

/// sums[column] += dy, sums[Stride + column] += dy * (x - mean) * reciprocal, over `rows` rows.
template <int Columns, int Stride, class Arch>
struct column_gradients : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;
  static constexpr int block = has_avx512<Arch> ? 8 : 4;  // registers of each sum at once

  static void add(float const* x, float const* dy, std::int64_t rows, float const* mean, float const* reciprocal,
                  float* sums) {
    constexpr int whole_blocks = (registers::vectors - 1) / block;
    for (int i = 0; i < whole_blocks; ++i)
      add_block<block, registers::width>(x, dy, rows, mean, reciprocal, i * block * registers::width, sums);
    add_block<registers::vectors - whole_blocks * block, registers::last_lanes>(
        x, dy, rows, mean, reciprocal, whole_blocks * block * registers::width, sums);
  }

 private:
  template <int Vectors, int LastLanes>
  static void add_block(float const* x, float const* dy, std::int64_t rows, float const* mean, float const* reciprocal,
                        int column, float* sums) {
    constexpr int width = registers::width;
    value of_beta[Vectors], of_gamma[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      of_beta[j] = value::load_unaligned(sums + column + j * width);
      of_gamma[j] = value::load_unaligned(sums + Stride + column + j * width);
    }
    std::int64_t at = column;
    for (std::int64_t row = 0; row < rows; ++row, at += Columns) {
      value const m(mean[row]), r(reciprocal[row]);
      auto const add = [&]<int Lanes>(int j) {
        value const g = registers::template load<Lanes>(dy + at + j * width);
        value const d = registers::template load<Lanes>(x + at + j * width) - m;
        of_beta[j] = of_beta[j] + g;
        of_gamma[j] = fused_multiply_add(g, d * r, of_gamma[j]);
      };
#pragma GCC unroll 8
      for (int j = 0; j + 1 < Vectors; ++j) add.template operator()<width>(j);
      add.template operator()<LastLanes>(Vectors - 1);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      of_beta[j].store_unaligned(sums + column + j * width);
      of_gamma[j].store_unaligned(sums + Stride + column + j * width);
    }
  }
};

/// Rows up to this length are taken several at a time.
template <class Arch>
inline constexpr int longest_block_row = 16 * lanes<Arch>;

}  // namespace detail

/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta for each of `rows` rows; gamma or beta may be null. Unless
/// they are null, mean[row] and reciprocal[row] = 1 / sqrt(variance + epsilon) are kept for the gradient.
template <int Columns, class Arch = default_architecture>
inline void layer_normalize(float const* x, std::int64_t rows, float epsilon, float const* gamma, float const* beta,
                            float* y, float* mean, float* reciprocal, share part = {}) {
  constexpr bool in_blocks = Columns <= detail::longest_block_row<Arch>;
  auto const [first, last] = part.of(rows, channel_rows<Columns, Arch>::granule);
  auto const normalize = [&]<bool Scale, bool Center>() {
    if constexpr (in_blocks) {
      using block = detail::row_block<Columns, Arch>;
      for (std::int64_t row = first; row < last; row += block::rows) {
        int const count = last - row < block::rows ? static_cast<int>(last - row) : block::rows;
        block::template normalize<Scale, Center>(x + row * Columns, count, epsilon, gamma, beta, y + row * Columns,
                                                 mean == nullptr ? nullptr : mean + row,
                                                 reciprocal == nullptr ? nullptr : reciprocal + row);
      }
    } else {
      for (std::int64_t row = first; row < last; ++row) {
        float m = 0, r = 0;
        detail::long_row<Columns, Arch>::template normalize<Scale, Center>(x + row * Columns, epsilon, gamma, beta,
                                                                           y + row * Columns, m, r);
        if (mean != nullptr) mean[row] = m;
        if (reciprocal != nullptr) reciprocal[row] = r;
      }
    }
  };
  if (gamma != nullptr && beta != nullptr) return normalize.template operator()<true, true>();
  if (gamma != nullptr) return normalize.template operator()<true, false>();
  if (beta != nullptr) return normalize.template operator()<false, true>();
  normalize.template operator()<false, false>();
}

namespace detail {

/// Floats of one array of sums per column.
template <int Columns>
inline constexpr int column_sums_stride = (Columns + 31) / 16 * 16;

}  // namespace detail

/// Floats of workspace, on each thread, that `layer_normalization_gradient` needs.
template <int Columns, class Arch = default_architecture>
inline constexpr long long layer_normalization_workspace = 2LL * detail::column_sums_stride<Columns>;

/// dx (or dx +=, if Accumulate) the gradient of `layer_normalize`, unless dx is null; and, unless `partial` is null, of
/// each item of the rows (channel_items<Rows, Columns, Arch>) the sums of dy and of dy * (x - mean) * reciprocal, which
/// joined are the gradients of beta and gamma. mean and reciprocal: as `layer_normalize` left them; gamma may be null.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void layer_normalization_gradient(float const* x, float const* dy, float const* mean, float const* reciprocal,
                                         float const* gamma, float* workspace, float* dx, float* partial,
                                         share part = {}) {
  using items = channel_items<Rows, Columns, Arch>;
  constexpr int stride = detail::column_sums_stride<Columns>;
  constexpr int partial_stride = channel_rows<Columns, Arch>::channel_floats;
  auto const inputs = [&](std::int64_t row, std::int64_t end) {
    if constexpr (Columns <= detail::longest_block_row<Arch>) {
      using block = detail::row_block<Columns, Arch>;
      for (; row < end; row += block::rows)
        block::template gradient<Accumulate>(x + row * Columns, dy + row * Columns,
                                             end - row < block::rows ? static_cast<int>(end - row) : block::rows,
                                             mean + row, reciprocal + row, gamma, dx + row * Columns);
    } else {
      for (; row < end; ++row)
        detail::long_row<Columns, Arch>::template gradient<Accumulate>(x + row * Columns, dy + row * Columns, mean[row],
                                                                       reciprocal[row], gamma, dx + row * Columns);
    }
  };
  auto const [first_item, last_item] = part.of(items::count);
  for (std::int64_t item = first_item; item < last_item; ++item) {
    std::memset(workspace, 0, sizeof(float) * layer_normalization_workspace<Columns, Arch>);
    std::int64_t const begin = item * items::item_rows, end = begin + items::rows_of(item, Rows);
    // By chunks, which are in the cache when they are read again.
    for (std::int64_t row = begin; row < end; row += items::chunk_rows) {
      std::int64_t const chunk_end = row + items::chunk_rows < end ? row + items::chunk_rows : end;
      if (dx != nullptr) inputs(row, chunk_end);
      if (partial != nullptr)
        detail::column_gradients<Columns, stride, Arch>::add(x + row * Columns, dy + row * Columns, chunk_end - row,
                                                             mean + row, reciprocal + row, workspace);
    }
    if (partial == nullptr) continue;
    float* const result = partial + 2 * item * partial_stride;
    std::memcpy(result, workspace, sizeof(float) * Columns);
    std::memcpy(result + partial_stride, workspace + stride, sizeof(float) * Columns);
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/layer_normalization.hpp
// The steps of layer_normalization on the host: rows are divided among threads. Level 5.

namespace stagecraft {

template <>
struct operation<layers::layer_normalization> {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    using arch = typename Call::architecture;
    static constexpr auto const& layer = Call::layer;
    static constexpr int columns = layer.normalized_shape(Call::input_shape(0)).size();
    static constexpr int rows = Call::batch * (Call::size / columns);
    static constexpr int gamma = 0, beta = layer.scale ? 1 : 0;
    static constexpr bool has_weights = layer.scale || layer.center;

    // In `saved`: mean and reciprocal deviation of each row, then the sums of the rows' items.
    static constexpr int row_floats = (rows + 15) / 16 * 16;
    using items = kernels::channel_items<rows, columns, arch>;
    static constexpr int array = items::layout::channel_floats;
    static_assert(!Call::plan::trains || Call::planned.needs.saved >= 2LL * row_floats + items::partial_floats);

    static float const* gamma_of(Call const& call) { return layer.scale ? call.weight(gamma) : nullptr; }
    static float const* beta_of(Call const& call) { return layer.center ? call.weight(beta) : nullptr; }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max(kernels::layer_normalization_workspace<s::columns, typename s::arch>, 2LL * s::array);
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float* const mean = Call::plan::trains ? call.saved() : nullptr;
    kernels::layer_normalize<s::columns, typename s::arch>(
        call.input(0), s::rows, Call::layer.epsilon, s::gamma_of(call), s::beta_of(call), call.output(), mean,
        Call::plan::trains ? mean + s::row_floats : nullptr, call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float const* const mean = call.saved();
    float* const partial = call.saved() + 2 * s::row_floats;
    float* gradient = nullptr;
    if constexpr (Call::wants_input_gradient(0)) gradient = call.input_gradient(0);
    kernels::layer_normalization_gradient<s::rows, s::columns, Call::adds_input_gradient(0), arch>(
        call.input(0), call.output_gradient(), mean, mean + s::row_floats, s::gamma_of(call), call.memory.workspace,
        gradient, s::has_weights ? partial : nullptr, call.share());
    if constexpr (s::has_weights) {
      call.synchronize();
      if (!call.share().is_first()) return;
      float* const sums = call.memory.workspace;
      constexpr bool add = Call::adds_parameter_gradient;
      kernels::add_item_sums<s::rows, s::columns, arch>(partial, s::rows, sums);
      if constexpr (Call::layer.center)
        kernels::scaled_add<add, arch>(1.0F, sums, call.parameter_gradient(s::beta), s::columns);
      if constexpr (Call::layer.scale)
        kernels::scaled_add<add, arch>(1.0F, sums + s::array, call.parameter_gradient(s::gamma), s::columns);
    }
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
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static auto inputs(Call const& call, long long first) {
    std::array<float const*, Call::input_count> x{};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = call.input(static_cast<int>(i)) + first;
    return x;
  }

  template <class Call>
  static void forward(Call const& call) {
    auto const [first, last] = call.elements(floats<Call>);
    Rule::template forward<typename Call::architecture>(inputs(call, first).data(), Call::input_count,
                                                        call.output() + first, last - first);
  }

  template <class Call>
  static void backward(Call const& call) {
    auto const range = call.elements(floats<Call>);
    auto const x = inputs(call, range.first);
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      (input_backward<Index>(call, x.data(), range), ...);
    }(std::make_integer_sequence<int, Call::input_count>{});
  }

 private:
  template <int Index, class Call>
  static void input_backward(Call const& call, float const* const* x, kernels::share::range const& range) {
    if constexpr (Call::wants_input_gradient(Index))
      Rule::template backward<Call::adds_input_gradient(Index), typename Call::architecture>(
          x, Call::input_count, Index, call.output_gradient() + range.first, call.input_gradient(Index) + range.first,
          range.last - range.first);
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

// ---- stagecraft/kernels/pooling_shape.hpp
// Everything about a pooling layer but the batch size, as one compile-time value. Level 4 of the house.

namespace stagecraft::kernels {

/// Windows over one sample, channels last: input (height, width, channels), output (output_height(), output_width(),
/// channels). A sequence is an image of height 1. `top` to `right` are cells around the input that never count.
struct pooling_shape {
  int height = 1, width = 1, channels = 1;
  int pool_height = 1, pool_width = 1;
  int stride_height = 1, stride_width = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int output_height() const noexcept {
    return (top + height + bottom - pool_height) / stride_height + 1;
  }
  [[nodiscard]] constexpr int output_width() const noexcept {
    return (left + width + right - pool_width) / stride_width + 1;
  }
  [[nodiscard]] constexpr bool has_padding() const noexcept { return top > 0 || left > 0 || bottom > 0 || right > 0; }
  [[nodiscard]] constexpr bool overlaps() const noexcept {
    return stride_height < pool_height || stride_width < pool_width;
  }
  /// Whether each column of the input is in a window.
  [[nodiscard]] constexpr bool covers_width() const noexcept {
    return stride_width <= pool_width && (output_width() - 1) * stride_width + pool_width >= left + width;
  }
  /// Cells of a window.
  [[nodiscard]] constexpr int pool_area() const noexcept { return pool_height * pool_width; }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * channels; }
  /// Bytes that hold a cell's number within its window, counted row by row.
  [[nodiscard]] constexpr int position_bytes() const noexcept {
    return pool_area() <= 1 << 8 ? 1 : pool_area() <= 1 << 16 ? 2 : 4;
  }

  friend constexpr bool operator==(pooling_shape const&, pooling_shape const&) = default;
};

namespace detail {

template <int Bytes>
struct unsigned_of_size {
  using type = std::uint8_t;
};
template <>
struct unsigned_of_size<2> {
  using type = std::uint16_t;
};
template <>
struct unsigned_of_size<4> {
  using type = std::uint32_t;
};

}  // namespace detail

/// A cell's number within its window.
template <pooling_shape Shape>
using pooling_position = typename detail::unsigned_of_size<Shape.position_bytes()>::type;

/// Memory of floats as memory of such numbers.
template <pooling_shape Shape>
[[nodiscard]] inline pooling_position<Shape>* positions_in(float* memory) {
  return reinterpret_cast<pooling_position<Shape>*>(memory);
}

namespace detail {

/// Numbers from first to below last.
struct index_range {
  int first;
  int last;

  [[nodiscard]] constexpr int size() const { return last - first; }
};

/// Of the window that begins at input cell `begin` (less than 0 in the padding): which of its cells are in the input.
constexpr index_range cells_of_window(int begin, int pool, int length) {
  return {begin < 0 ? -begin : 0, begin + pool > length ? length - begin : pool};
}

/// Which windows hold an input cell. `before` are the cells of padding before the input.
constexpr index_range windows_of_cell(int cell, int before, int pool, int stride, int windows) {
  int const end = cell + before;
  int const first = end < pool ? 0 : (end - pool) / stride + 1;
  int const last = end / stride + 1;
  return {first, last < windows ? last : windows};
}

}  // namespace detail

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/average_pooling.hpp
// The mean of each window, and its gradient, vectorised over channels. Keras counterpart:
// tf.keras.layers.AveragePooling2D and AveragePooling1D. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// The mean of the window's cells in `rows` and `columns`, or of all its cells if it is Inside the input, for Count
/// channels. `x` is the sample, `begin` where the window begins in it, which may lie in the padding.
template <pooling_shape Shape, int Count, bool Inside, class Arch>
inline void mean_of_window(float const* x, std::int64_t begin, index_range rows, index_range columns, float* y) {
  if constexpr (Inside) {
    rows = {0, Shape.pool_height};
    columns = {0, Shape.pool_width};
  }
  batch<Arch> sum(0.0F);
#pragma GCC unroll 4
  for (int row = rows.first; row < rows.last; ++row) {
#pragma GCC unroll 4
    for (int column = columns.first; column < columns.last; ++column)
      sum = sum + load_lanes<Count, Arch>(x + begin + (row * Shape.width + column) * Shape.channels);
  }
  store_lanes<Count>(sum * batch<Arch>(1.0F / static_cast<float>(rows.size() * columns.size())), y);
}

/// One pixel of one sample's output: all channels.
template <pooling_shape Shape, bool Inside, class Arch>
inline void average_pooling_pixel(float const* x, std::int64_t begin, index_range const& rows,
                                  index_range const& columns, float* y) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  for (int channel = 0; channel < whole; channel += lanes<Arch>)
    mean_of_window<Shape, lanes<Arch>, Inside, Arch>(x, begin + channel, rows, columns, y + channel);
  if constexpr (whole < Shape.channels)
    mean_of_window<Shape, Shape.channels - whole, Inside, Arch>(x, begin + whole, rows, columns, y + whole);
}

}  // namespace detail

/// y = the mean of each window, channel by channel; cells in the padding do not count.
/// Items of `part`: rows of the output, of all samples.
template <int Batch, pooling_shape Shape, class Arch = default_architecture>
inline void average_pooling(float const* x, float* y, share part = {}) {
  constexpr int output_rows = Shape.output_height();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * output_rows);
  y += first * Shape.output_width() * Shape.channels;
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = x + item / output_rows * Shape.input_size();
    int const top = static_cast<int>(item % output_rows) * Shape.stride_height - Shape.top;
    auto const rows = detail::cells_of_window(top, Shape.pool_height, Shape.height);
    for (int output_column = 0; output_column < Shape.output_width(); ++output_column, y += Shape.channels) {
      int const left = output_column * Shape.stride_width - Shape.left;
      auto const columns = detail::cells_of_window(left, Shape.pool_width, Shape.width);
      std::int64_t const begin = (static_cast<std::int64_t>(top) * Shape.width + left) * Shape.channels;
      if (!Shape.has_padding() || (rows.size() == Shape.pool_height && columns.size() == Shape.pool_width))
        detail::average_pooling_pixel<Shape, true, Arch>(sample, begin, rows, columns, y);
      else
        detail::average_pooling_pixel<Shape, false, Arch>(sample, begin, rows, columns, y);
    }
  }
}

namespace detail {

/// dx = factor * dy in the window's cells in `columns` of one row of the input, for Count channels. Writes if this is
/// the only window that sends there, else adds.
template <pooling_shape Shape, int Count, bool Adds, class Arch>
inline void average_pooling_gradient_of_window(float const* dy, batch<Arch> const& factor, index_range columns,
                                               float* dx) {
  using value = batch<Arch>;
  value const gradient = load_lanes<Count, Arch>(dy);
#pragma GCC unroll 4
  for (int column = columns.first; column < columns.last; ++column) {
    float* const cell = dx + column * Shape.channels;
    if constexpr (Adds)
      store_lanes<Count>(fused_multiply_add(factor, gradient, load_lanes<Count, Arch>(cell)), cell);
    else
      store_lanes<Count>(factor * gradient, cell);
  }
}

/// What the windows of one row of the output, which have `window_rows` rows in the input, send to one row of it.
template <pooling_shape Shape, bool Adds, class Arch>
inline void average_pooling_gradient_row(float const* dy, int window_rows, float* dx) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  for (int window = 0; window < Shape.output_width(); ++window, dy += Shape.channels) {
    int const left = window * Shape.stride_width - Shape.left;
    index_range const columns = Shape.left > 0 || Shape.right > 0 ? cells_of_window(left, Shape.pool_width, Shape.width)
                                                                  : index_range{0, Shape.pool_width};
    batch<Arch> const factor(1.0F / static_cast<float>(window_rows * columns.size()));
    float* const cells = dx + left * Shape.channels;
    for (int channel = 0; channel < whole; channel += lanes<Arch>)
      average_pooling_gradient_of_window<Shape, lanes<Arch>, Adds, Arch>(dy + channel, factor, columns,
                                                                         cells + channel);
    if constexpr (whole < Shape.channels)
      average_pooling_gradient_of_window<Shape, Shape.channels - whole, Adds, Arch>(dy + whole, factor, columns,
                                                                                    cells + whole);
  }
}

}  // namespace detail

/// dx (or dx +=, if Accumulate): each window's dy, divided equally among its cells.
/// Items of `part`: rows of the input, of all samples.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void average_pooling_gradient(float const* dy, float* dx, share part = {}) {
  constexpr int row_size = Shape.width * Shape.channels;
  constexpr int output_row_size = Shape.output_width() * Shape.channels;
  // Whether a row of windows reaches each cell of a row once: then what was there need not be read.
  constexpr bool writes_once = !Accumulate && !Shape.overlaps() && Shape.covers_width();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = dy + item / Shape.height * Shape.output_size();
    int const row = static_cast<int>(item % Shape.height);
    auto const windows =
        detail::windows_of_cell(row, Shape.top, Shape.pool_height, Shape.stride_height, Shape.output_height());
    float* const cells = dx + item * row_size;
    if (!Accumulate && !(writes_once && windows.size() > 0))
      std::memset(cells, 0, static_cast<std::size_t>(row_size) * sizeof(float));
    for (int window = windows.first; window < windows.last; ++window) {
      auto const rows =
          detail::cells_of_window(window * Shape.stride_height - Shape.top, Shape.pool_height, Shape.height);
      detail::average_pooling_gradient_row<Shape, !writes_once, Arch>(
          sample + static_cast<std::int64_t>(window) * output_row_size, rows.size(), cells);
    }
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/small_integers.hpp
// Batches of whole numbers that lie in memory as unsigned integers of 8, 16 or 32 bits. Level 4 of the house.

namespace stagecraft::kernels {

/// The integers at p as floats; `lanes` of them are read. They are below 2^24.
template <class Arch = default_architecture, class Integer>
[[nodiscard]] inline batch<Arch> load_integers(Integer const* p) {
  static_assert(std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && sizeof(Integer) == 1)
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch> && sizeof(Integer) == 1)
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(p))));
  else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane) values[lane] = static_cast<float>(p[lane]);
    return batch<Arch>::load_aligned(values);
  }
}

/// Writes the first Count lanes, whole numbers that an Integer can hold, and nothing behind them.
template <int Count, class Integer, class Arch>
inline void store_integers(xsimd::batch<float, Arch> const& x, Integer* p) {
  static_assert(Count > 0 && Count <= lanes<Arch> && std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX2__)
  if constexpr ((has_avx512<Arch> || has_avx2<Arch>) && sizeof(Integer) == 1) {
    __m128i integers;
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>) {
      integers = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x));
    } else
#endif
    {
      __m256i const wide = _mm256_cvtps_epi32(x);
      __m128i const words = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
      integers = _mm_packus_epi16(words, words);
    }
    if constexpr (Count == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), integers);
    } else if constexpr (Count == 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), integers);
    } else {
      alignas(16) unsigned char buffer[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(buffer), integers);
      std::memcpy(p, buffer, Count);
    }
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    for (int lane = 0; lane < Count; ++lane) p[lane] = static_cast<Integer>(static_cast<std::uint32_t>(values[lane]));
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/kernels/max_pooling.hpp
// The largest value of each window, and its gradient, vectorised over channels. Keras counterpart:
// tf.keras.layers.MaxPooling2D and MaxPooling1D. Level 4 of the house.

namespace stagecraft::kernels {

namespace detail {

/// The largest of the window's cells in `rows` and `columns`, or of all its cells if it is Inside the input, for Count
/// channels. `x` is the sample, `begin` where the window begins in it, which may lie in the padding.
template <pooling_shape Shape, int Count, bool KeepsPositions, bool Inside, class Arch>
inline void max_of_window(float const* x, std::int64_t begin, index_range rows, index_range columns, float* y,
                          [[maybe_unused]] pooling_position<Shape>* positions) {
  using value = batch<Arch>;
  if constexpr (Inside) {
    rows = {0, Shape.pool_height};
    columns = {0, Shape.pool_width};
  }
  value largest(-std::numeric_limits<float>::max());
  value winner = load_lanes<Count, Arch>(x + begin + (rows.first * Shape.width + columns.first) * Shape.channels);
  value position(static_cast<float>(rows.first * Shape.pool_width + columns.first));
#pragma GCC unroll 4
  for (int row = rows.first; row < rows.last; ++row) {
#pragma GCC unroll 4
    for (int column = columns.first; column < columns.last; ++column) {
      value const cell = load_lanes<Count, Arch>(x + begin + (row * Shape.width + column) * Shape.channels);
      largest = at_least(largest, cell);
      if constexpr (KeepsPositions) {
        auto const wins = winner < cell;
        winner = xsimd::select(wins, cell, winner);
        position = xsimd::select(wins, value(static_cast<float>(row * Shape.pool_width + column)), position);
      }
    }
  }
  store_lanes<Count>(largest, y);
  if constexpr (KeepsPositions) store_integers<Count>(position, positions);
}

/// One pixel of one sample's output: all channels.
template <pooling_shape Shape, bool KeepsPositions, bool Inside, class Arch>
inline void max_pooling_pixel(float const* x, std::int64_t begin, index_range const& rows, index_range const& columns,
                              float* y, [[maybe_unused]] pooling_position<Shape>* positions) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  constexpr int rest = Shape.channels - whole;
  for (int channel = 0; channel < whole; channel += lanes<Arch>)
    max_of_window<Shape, lanes<Arch>, KeepsPositions, Inside, Arch>(x, begin + channel, rows, columns, y + channel,
                                                                    positions + (KeepsPositions ? channel : 0));
  if constexpr (rest > 0)
    max_of_window<Shape, rest, KeepsPositions, Inside, Arch>(x, begin + whole, rows, columns, y + whole,
                                                             positions + (KeepsPositions ? whole : 0));
}

/// One row of one sample's output.
template <pooling_shape Shape, bool KeepsPositions, class Arch>
inline void max_pooling_row(float const* x, int output_row, float* y,
                            [[maybe_unused]] pooling_position<Shape>* positions) {
  int const top = output_row * Shape.stride_height - Shape.top;
  auto const rows = cells_of_window(top, Shape.pool_height, Shape.height);
  for (int output_column = 0; output_column < Shape.output_width(); ++output_column) {
    int const left = output_column * Shape.stride_width - Shape.left;
    auto const columns = cells_of_window(left, Shape.pool_width, Shape.width);
    std::int64_t const begin = (static_cast<std::int64_t>(top) * Shape.width + left) * Shape.channels;
    if (!Shape.has_padding() || (rows.size() == Shape.pool_height && columns.size() == Shape.pool_width))
      max_pooling_pixel<Shape, KeepsPositions, true, Arch>(x, begin, rows, columns, y, positions);
    else
      max_pooling_pixel<Shape, KeepsPositions, false, Arch>(x, begin, rows, columns, y, positions);
    y += Shape.channels;
    if constexpr (KeepsPositions) positions += Shape.channels;
  }
}

}  // namespace detail

/// y = the largest value of each window, channel by channel. If `positions` is not null, the number of the winning cell
/// in its window is written there, for `max_pooling_gradient`.
///
/// As TensorFlow's CPU kernels have it: NaN is no candidate, and the least value is -FLT_MAX, but a NaN in the first
/// cell of a window gets its gradient; of equal values the first gets it.
/// Items of `part`: rows of the output, of all samples.
template <int Batch, pooling_shape Shape, class Arch = default_architecture>
inline void max_pooling(float const* x, float* y, pooling_position<Shape>* positions = nullptr, share part = {}) {
  constexpr int rows = Shape.output_height();
  constexpr int row_size = Shape.output_width() * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * rows);
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = x + item / rows * Shape.input_size();
    int const row = static_cast<int>(item % rows);
    if (positions != nullptr)
      detail::max_pooling_row<Shape, true, Arch>(sample, row, y + item * row_size, positions + item * row_size);
    else
      detail::max_pooling_row<Shape, false, Arch>(sample, row, y + item * row_size, nullptr);
  }
}

namespace detail {

/// What one window sends to its cells in `columns` of one row of the input, for Count channels: `first_position` is the
/// number of the window's first cell in that row. Writes to dx if it is the only one that sends there, else adds.
template <pooling_shape Shape, int Count, bool Adds, class Arch>
inline void max_pooling_gradient_of_window(pooling_position<Shape> const* positions, batch<Arch> const& gradient,
                                           int first_position, index_range columns, float* dx) {
  using value = batch<Arch>;
  value const winner = load_integers<Arch>(positions);
#pragma GCC unroll 4
  for (int column = columns.first; column < columns.last; ++column) {
    float* const cell = dx + column * Shape.channels;
    auto const wins = winner == value(static_cast<float>(first_position + column));
    if constexpr (Adds) {
      value const before = load_lanes<Count, Arch>(cell);
      store_lanes<Count>(xsimd::select(wins, before + gradient, before), cell);
    } else {
      store_lanes<Count>(xsimd::select(wins, gradient, value(0.0F)), cell);
    }
  }
}

/// What the windows of one row of the output, which begins at `outputs`, send to one row of the input.
template <pooling_shape Shape, bool Adds, class Arch, class Epilogue>
inline void max_pooling_gradient_row(pooling_position<Shape> const* positions, float const* dy, std::int64_t outputs,
                                     int first_position, float* dx, Epilogue const& epilogue) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  constexpr int rest = Shape.channels - whole;
  for (int window = 0; window < Shape.output_width(); ++window, outputs += Shape.channels) {
    int const left = window * Shape.stride_width - Shape.left;
    index_range const columns = Shape.left > 0 || Shape.right > 0 ? cells_of_window(left, Shape.pool_width, Shape.width)
                                                                  : index_range{0, Shape.pool_width};
    float* const cells = dx + left * Shape.channels;
    for (int channel = 0; channel < whole; channel += lanes<Arch>)
      max_pooling_gradient_of_window<Shape, lanes<Arch>, Adds, Arch>(
          positions + outputs + channel,
          epilogue(batch<Arch>::load_unaligned(dy + outputs + channel), channel, outputs + channel), first_position,
          columns, cells + channel);
    if constexpr (rest > 0)
      max_pooling_gradient_of_window<Shape, rest, Adds, Arch>(
          positions + outputs + whole, epilogue(load_lanes<rest, Arch>(dy + outputs + whole), whole, outputs + whole),
          first_position, columns, cells + whole);
  }
}

}  // namespace detail

/// dx (or dx +=, if Accumulate): each window's dy, through the epilogue, goes to the cell that won it, according to
/// `positions`, behind which one register of them is readable. Since a winner's value is that of its window's output,
/// the gradient of an activation before the pooling can be applied here, to fewer numbers.
/// Items of `part`: rows of the input, of all samples.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Epilogue = no_epilogue>
  requires(!std::same_as<Epilogue, share>)
inline void max_pooling_gradient(pooling_position<Shape> const* positions, float const* dy, float* dx,
                                 Epilogue const& epilogue = {}, share part = {}) {
  constexpr int row_size = Shape.width * Shape.channels;
  constexpr int output_row_size = Shape.output_width() * Shape.channels;
  // Whether a row of windows reaches each cell of a row once: then what was there need not be read.
  constexpr bool writes_once = !Accumulate && !Shape.overlaps() && Shape.covers_width();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const sample = item / Shape.height * Shape.output_size();
    int const row = static_cast<int>(item % Shape.height);
    auto const windows =
        detail::windows_of_cell(row, Shape.top, Shape.pool_height, Shape.stride_height, Shape.output_height());
    float* const cells = dx + item * row_size;
    if (!Accumulate && !(writes_once && windows.size() > 0))
      std::memset(cells, 0, static_cast<std::size_t>(row_size) * sizeof(float));
    for (int window = windows.first; window < windows.last; ++window)
      detail::max_pooling_gradient_row<Shape, !writes_once, Arch>(
          positions, dy, sample + static_cast<std::int64_t>(window) * output_row_size,
          (row + Shape.top - window * Shape.stride_height) * Shape.pool_width, cells, epilogue);
  }
}

/// The same without an epilogue.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void max_pooling_gradient(pooling_position<Shape> const* positions, float const* dy, float* dx, share part) {
  max_pooling_gradient<Batch, Shape, Accumulate, Arch>(positions, dy, dx, no_epilogue{}, part);
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/pooling.hpp
// The steps of the pooling layers with windows on the host: max_pooling1d, max_pooling2d, average_pooling1d and
// average_pooling2d. Level 5.

namespace stagecraft {

namespace detail {

template <class Call>
inline constexpr kernels::pooling_shape pooling_shape_of = [] {
  auto const& in = Call::input_shape(0);
  auto const rows = Call::layer.rows(in), columns = Call::layer.columns(in);
  return kernels::pooling_shape{.height = rows.input,
                                .width = columns.input,
                                .channels = in.back(),
                                .pool_height = rows.window,
                                .pool_width = columns.window,
                                .stride_height = rows.stride,
                                .stride_width = columns.stride,
                                .top = rows.before(),
                                .left = columns.before(),
                                .bottom = rows.after(),
                                .right = columns.after()};
}();

/// Keeps, for each output, which cell of its window it came from: the backward step reads neither inputs nor outputs.
struct max_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::max_pooling<Call::batch, pooling_shape_of<Call>, typename Call::architecture>(
        call.input(0), call.output(),
        Call::trains ? kernels::positions_in<pooling_shape_of<Call>>(call.saved()) : nullptr, call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::max_pooling_gradient<Call::batch, pooling_shape_of<Call>, Call::adds_input_gradient(0),
                                    typename Call::architecture>(
          kernels::positions_in<pooling_shape_of<Call>>(call.saved()), call.output_gradient(), call.input_gradient(0),
          epilogue(call), call.share());
  }

 private:
  // The value of a window's winner is the output: what an activation before the pooling needs for its gradient.
  template <class Call>
  static auto epilogue([[maybe_unused]] Call const& call) {
    constexpr auto function = Call::applied_activation(0);
    if constexpr (function == linear)
      return kernels::no_epilogue{};
    else
      return kernels::activation_gradient_epilogue<function, typename Call::architecture>{call.output()};
  }
};

struct average_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::average_pooling<Call::batch, pooling_shape_of<Call>, typename Call::architecture>(
        call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::average_pooling_gradient<Call::batch, pooling_shape_of<Call>, Call::adds_input_gradient(0),
                                        typename Call::architecture>(call.output_gradient(), call.input_gradient(0),
                                                                     call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::max_pooling2d> : detail::max_pooling_operation {};
template <>
struct operation<layers::max_pooling1d> : detail::max_pooling_operation {};
template <>
struct operation<layers::average_pooling2d> : detail::average_pooling_operation {};
template <>
struct operation<layers::average_pooling1d> : detail::average_pooling_operation {};

}  // namespace stagecraft

// ---- stagecraft/execution/operations/separable_convolution.hpp
// The steps of separable_conv1d and separable_conv2d on the host: a depthwise convolution, and a product with the
// pointwise kernel. Level 5.

namespace stagecraft {

namespace detail {

struct separable_convolution_operation {
  static constexpr bool divides = true;

  template <class Call>
  struct shapes {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr int between = in.back() * Call::layer.depth_multiplier;  // channels between the steps
    static constexpr int filters = Call::layer.filters;
    static constexpr auto convolution =
        convolution_of(Call::layer, layer_type::height_of(in), layer_type::width_of(in), in.back(), between, in.back());
    static constexpr int rows = Call::batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue = activation_epilogue<rows, filters, Call::layer.activation, Call::layer.use_bias, arch>;

    /// What the first step gives; sums + bias stand before it, if they are kept.
    static float* depthwise_output(Call const& call) {
      return call.saved() + Call::layer.kept_sums(in, Call::batch, keeps_sums<Call>);
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    using arch = typename s::arch;
    return std::max<long long>({kernels::depthwise_convolution_workspace<s::convolution, arch>,
                                kernels::depthwise_convolution_input_gradient_workspace<s::convolution, arch>,
                                kernels::depthwise_convolution_filter_gradient_workspace<s::convolution, arch>,
                                kernels::input_gradient_workspace<s::between, s::filters, arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const between = s::depthwise_output(call);
    kernels::depthwise_convolution<Call::batch, s::convolution, arch>(call.input(0), call.weight(0),
                                                                      call.memory.workspace, between, {}, call.share());
    call.synchronize();
    float const* const bias = Call::layer.use_bias ? call.weight(2) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](float* y, auto const& epilogue) {
      kernels::matmul<s::rows, s::between, s::filters, arch>(between, call.weight(1), y, epilogue, call.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    constexpr bool adds = Call::adds_parameter_gradient;
    float* const dy = call.output_gradient();
    float* const workspace = call.memory.workspace;
    float* const between = s::depthwise_output(call);
    s::epilogue::backward(call);
    kernels::matmul_weight_gradient<s::rows, s::between, s::filters, adds, arch>(
        between, dy, call.parameter_gradient(1), call.share());
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::filters, adds, arch>(dy, call.parameter_gradient(2), call.share());
    call.synchronize();  // its gradient takes the place of the first step's output
    kernels::matmul_input_gradient<s::rows, s::between, s::filters, false, arch>(dy, call.weight(1), workspace, between,
                                                                                 call.share());
    call.synchronize();
    if constexpr (Call::wants_input_gradient(0))
      kernels::depthwise_convolution_input_gradient<Call::batch, s::convolution, Call::adds_input_gradient(0), arch>(
          between, call.weight(0), workspace, call.input_gradient(0), call.share());
    kernels::depthwise_convolution_filter_gradient<Call::batch, s::convolution, adds, arch>(
        call.input(0), between, workspace, call.parameter_gradient(0), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::separable_conv1d> : detail::separable_convolution_operation {};
template <>
struct operation<layers::separable_conv2d> : detail::separable_convolution_operation {};

}  // namespace stagecraft

// ---- stagecraft/kernels/spatial_dropout.hpp
// Dropout of whole channels: one random number for each channel of a sample. The mask is never stored. Keras
// counterpart: tf.keras.layers.SpatialDropout2D and SpatialDropout1D (training=True). Level 4 of the house.

namespace stagecraft::kernels {

/// y = x / (1 - rate) (or y +=, if Accumulate) in the channels of a sample whose uniform number is at least `rate`,
/// else 0. The counter of sample s and channel c is s * Channels + c. This is its own gradient: x is dy then, and y is
/// dx. 0 <= rate < 1. Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void spatial_dropout(float const* x, float* y, float rate, random_key const& key, share part = {}) {
  using value = batch<Arch>;
  value const limit(rate);
  value const scale(1.0F / (1.0F - rate));
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      block factor;
      for (int i = 0; i < Vectors; ++i) {
        auto const counter = static_cast<std::uint64_t>(sample * Channels + channel + i * lanes<Arch>);
        factor.values[i] = xsimd::select(random_uniform_batch<Arch>(key, counter) >= limit, scale, value(0.0F));
      }
      std::int64_t const begin = sample * Positions * Channels + channel;
      float const* from = x + begin;
      float* to = y + begin;
      for (int position = 0; position < Positions; ++position, from += Channels, to += Channels) {
        auto result = block::load(from);
        if constexpr (Accumulate)
          result.combine(
              [](value const& v, value const& f, value const& old) {
                return xsimd::select(f > value(0.0F), fused_multiply_add(v, f, old), old);
              },
              factor, block::load(to));
        else
          result.combine(
              [](value const& v, value const& f) { return xsimd::select(f > value(0.0F), v * f, value(0.0F)); },
              factor);
        result.store(to);
      }
    });
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/spatial_dropout.hpp
// The steps of spatial dropout on the host: no mask is stored, the backward step draws the same numbers again. Level 5.

namespace stagecraft {

namespace detail {

struct spatial_dropout_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    if constexpr (!Call::planned.needs.view) run<false>(call, call.input(0), call.output());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!Call::planned.needs.view && Call::wants_input_gradient(0))
      run<Call::adds_input_gradient(0)>(call, call.output_gradient(), call.input_gradient(0));
  }

 private:
  template <bool Accumulate, class Call>
  static void run(Call const& call, float const* x, float* y) {
    constexpr int channels = Call::input_shape(0).back();
    constexpr int positions = Call::input_shape(0).size() / channels;
    kernels::spatial_dropout<Call::batch, positions, channels, Accumulate, typename Call::architecture>(
        x, y, Call::layer.rate, operation<layers::dropout>::key(call), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::spatial_dropout2d> : detail::spatial_dropout_operation {};
template <>
struct operation<layers::spatial_dropout1d> : detail::spatial_dropout_operation {};

}  // namespace stagecraft

// ---- stagecraft/kernels/up_sampling.hpp
// Makes images larger by whole factors, by repetition or bilinear interpolation, and the gradients. Keras counterpart:
// tf.keras.layers.UpSampling2D and UpSampling1D. Level 4 of the house.

namespace stagecraft::kernels {

/// An image (height, width, channels) and its two factors. A sequence is an image of height 1.
struct up_sampling_shape {
  int height = 1, width = 1, channels = 1;
  int factor_height = 1, factor_width = 1;

  [[nodiscard]] constexpr int output_height() const noexcept { return height * factor_height; }
  [[nodiscard]] constexpr int output_width() const noexcept { return width * factor_width; }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * channels; }

  friend constexpr bool operator==(up_sampling_shape const&, up_sampling_shape const&) = default;
};

/// y = x with each pixel repeated. Items of `part`: rows of x, of all samples.
template <int Batch, up_sampling_shape Shape, class Arch = default_architecture>
inline void up_sampling_nearest(float const* x, float* y, share part = {}) {
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.output_width()) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    float const* pixel = x + item * Shape.width * Shape.channels;
    float* const rows = y + item * Shape.factor_height * row_size;
    for (int column = 0; column < Shape.width; ++column, pixel += Shape.channels)
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        auto const block = detail::channel_block<Vectors, Last, Arch>::load(pixel + channel);
        float* to = rows + column * Shape.factor_width * Shape.channels + channel;
        for (int i = 0; i < Shape.factor_width; ++i, to += Shape.channels) block.store(to);
      });
    for (int i = 1; i < Shape.factor_height; ++i)
      std::memcpy(rows + i * row_size, rows, static_cast<std::size_t>(row_size) * sizeof(float));
  }
}

/// dx (or dx +=, if Accumulate) the gradient of `up_sampling_nearest`: sums over the repetitions.
/// Items of `part`: rows of dx, of all samples.
template <int Batch, up_sampling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void up_sampling_nearest_gradient(float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.output_width()) * Shape.channels;
  auto const add = [](value const& a, value const& b) { return a + b; };
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    float* pixel = dx + item * Shape.width * Shape.channels;
    float const* const rows = dy + item * Shape.factor_height * row_size;
    for (int column = 0; column < Shape.width; ++column, pixel += Shape.channels)
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        using block = detail::channel_block<Vectors, Last, Arch>;
        auto sum = block::of(0.0F);
        for (int row = 0; row < Shape.factor_height; ++row)
          for (int i = 0; i < Shape.factor_width; ++i)
            sum.combine(
                add, block::load(rows + row * row_size + (column * Shape.factor_width + i) * Shape.channels + channel));
        if constexpr (Accumulate) sum.combine(add, block::load(pixel + channel));
        sum.store(pixel + channel);
      });
  }
}

namespace detail {

/// Between which inputs of one axis each output lies, with TensorFlow's half-pixel centres; and, seen from an input,
/// which outputs lie beside it.
template <int Length, int Factor>
struct interpolated_axis {
  static constexpr int outputs = Length * Factor;

  int lower[outputs]{}, upper[outputs]{};
  float weight[outputs]{};  ///< of the upper one
  int first[Length]{}, last[Length]{};

  constexpr interpolated_axis() {
    constexpr float scale = static_cast<float>(Length) / static_cast<float>(outputs);
    for (int i = 0; i < Length; ++i) first[i] = outputs;
    for (int output = 0; output < outputs; ++output) {
      float const place = (static_cast<float>(output) + 0.5F) * scale - 0.5F;
      int const whole = place < 0 ? -1 : static_cast<int>(place);  // rounded down: place is above -1
      int const next = place > static_cast<float>(whole) ? whole + 1 : whole;
      lower[output] = whole > 0 ? whole : 0;
      upper[output] = next < Length ? next : Length - 1;
      weight[output] = place - static_cast<float>(whole);
      for (int const input : {lower[output], upper[output]}) {
        if (first[input] > output) first[input] = output;
        last[input] = output + 1;
      }
    }
  }

  /// How much of an input is in an output.
  [[nodiscard]] constexpr float share_of(int input, int output) const {
    return (lower[output] == input ? 1.0F - weight[output] : 0.0F) + (upper[output] == input ? weight[output] : 0.0F);
  }
};

template <int Length, int Factor>
inline constexpr interpolated_axis<Length, Factor> interpolation_of{};

}  // namespace detail

/// y = x, bilinearly interpolated. Items of `part`: rows of y, of all samples.
template <int Batch, up_sampling_shape Shape, class Arch = default_architecture>
inline void up_sampling_bilinear(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  constexpr auto const& rows = detail::interpolation_of<Shape.height, Shape.factor_height>;
  constexpr auto const& columns = detail::interpolation_of<Shape.width, Shape.factor_width>;
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.output_height());
  for (std::int64_t item = first; item < last; ++item) {
    auto const row = item % Shape.output_height();
    float const* const sample = x + item / Shape.output_height() * Shape.input_size();
    float const* const above = sample + rows.lower[row] * row_size;
    float const* const below = sample + rows.upper[row] * row_size;
    value const down(rows.weight[row]);
    float* pixel = y + item * Shape.output_width() * Shape.channels;
    for (int column = 0; column < Shape.output_width(); ++column, pixel += Shape.channels) {
      int const left = columns.lower[column] * Shape.channels, right = columns.upper[column] * Shape.channels;
      value const across(columns.weight[column]);
      auto const between = [&](value const& a, value const& b) { return fused_multiply_add(b - a, across, a); };
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        using block = detail::channel_block<Vectors, Last, Arch>;
        auto result = block::load(above + left + channel);
        result.combine(between, block::load(above + right + channel));
        auto under = block::load(below + left + channel);
        under.combine(between, block::load(below + right + channel));
        result.combine([&](value const& a, value const& b) { return fused_multiply_add(b - a, down, a); }, under);
        result.store(pixel + channel);
      });
    }
  }
}

/// dx (or dx +=, if Accumulate) the gradient of `up_sampling_bilinear`. Items of `part`: rows of dx, of all samples.
template <int Batch, up_sampling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void up_sampling_bilinear_gradient(float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  constexpr auto const& rows = detail::interpolation_of<Shape.height, Shape.factor_height>;
  constexpr auto const& columns = detail::interpolation_of<Shape.width, Shape.factor_width>;
  constexpr std::int64_t output_row_size = static_cast<std::int64_t>(Shape.output_width()) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    int const row = static_cast<int>(item % Shape.height);
    float const* const sample = dy + item / Shape.height * Shape.output_size();
    float* pixel = dx + item * Shape.width * Shape.channels;
    for (int column = 0; column < Shape.width; ++column, pixel += Shape.channels)
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        using block = detail::channel_block<Vectors, Last, Arch>;
        auto sum = Accumulate ? block::load(pixel + channel) : block::of(0.0F);
        for (int output_row = rows.first[row]; output_row < rows.last[row]; ++output_row) {
          float const down = rows.share_of(row, output_row);
          float const* const from = sample + output_row * output_row_size + channel;
          for (int output = columns.first[column]; output < columns.last[column]; ++output) {
            value const factor(down * columns.share_of(column, output));
            sum.combine([&](value const& s, value const& g) { return fused_multiply_add(factor, g, s); },
                        block::load(from + output * Shape.channels));
          }
        }
        sum.store(pixel + channel);
      });
  }
}

}  // namespace stagecraft::kernels

// ---- stagecraft/execution/operations/up_sampling.hpp
// The steps of up-sampling on the host. Level 5.

namespace stagecraft {

namespace detail {

/// A sequence is an image of one column, so that threads share its steps.
constexpr kernels::up_sampling_shape up_sampling_shape_of(layers::up_sampling1d const& layer, shape const& in) {
  return {.height = in[0], .channels = in[1], .factor_height = layer.size};
}
constexpr kernels::up_sampling_shape up_sampling_shape_of(layers::up_sampling2d const& layer, shape const& in) {
  return {.height = in[0],
          .width = in[1],
          .channels = in[2],
          .factor_height = layer.size.height,
          .factor_width = layer.size.width};
}
constexpr interpolation interpolation_of_layer(layers::up_sampling1d const&) { return interpolation::nearest; }
constexpr interpolation interpolation_of_layer(layers::up_sampling2d const& layer) { return layer.interpolation; }

struct up_sampling_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::up_sampling_shape shape = up_sampling_shape_of(Call::layer, Call::input_shape(0));
  template <class Call>
  static constexpr bool repeats = interpolation_of_layer(Call::layer) == interpolation::nearest;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (repeats<Call>)
      kernels::up_sampling_nearest<Call::batch, shape<Call>, arch>(call.input(0), call.output(), call.share());
    else
      kernels::up_sampling_bilinear<Call::batch, shape<Call>, arch>(call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool adds = Call::adds_input_gradient(0);
      if constexpr (repeats<Call>)
        kernels::up_sampling_nearest_gradient<Call::batch, shape<Call>, adds, arch>(
            call.output_gradient(), call.input_gradient(0), call.share());
      else
        kernels::up_sampling_bilinear_gradient<Call::batch, shape<Call>, adds, arch>(
            call.output_gradient(), call.input_gradient(0), call.share());
    }
  }
};

}  // namespace detail

template <>
struct operation<layers::up_sampling2d> : detail::up_sampling_operation {};
template <>
struct operation<layers::up_sampling1d> : detail::up_sampling_operation {};

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
    batch<Arch> const value = kernels::exp(load(x) - batch<Arch>(shift));
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
      if (gradient != nullptr) store((kernels::exp(shifted) * inverse - t) * value_type(scale), gradient);
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
      losses = losses - keep(t * kernels::log(q));
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
      return at_least(p, value_type(0.0F)) - p * t + kernels::softplus(-xsimd::abs(p));
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      value_type const one(1.0F);
      return value_type(0.0F) - t * kernels::log(q + epsilon) - (one - t) * kernels::log(one - q + epsilon);
    }
  }

  static value_type slope(value_type const& p, value_type const& target) {
    value_type const t = smooth(target);
    if constexpr (Loss.from_logits) {
      return kernels::sigmoid(p) - t;
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      value_type const one(1.0F);
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
/// have the scale 0, and `set_valid_samples` tells the layers that gather statistics of the batch.
template <Model M, auto Training, class Machine>
class host_session {
 public:
  using architecture = typename Machine::architecture;
  using training_plan = host_plan<M, Training, execution_mode::training, Machine>;
  using inference_plan = host_plan<M, Training, execution_mode::inference, Machine>;

  static constexpr int threads = Machine::threads;
  static constexpr int batch = Training.batch_size;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& outputs = outputs_of<M>;
  static constexpr std::size_t output_count = outputs.size();

  explicit host_session(std::uint64_t seed = training_plan::training.seed)
      : block_(std::max(training_plan::program.floats, inference_plan::program.floats)),
        weights_(storage.floats),
        gradients_(storage.floats),
        slots_(storage.floats * slot_count),
        workspace_(threads * workspace_floats()),
        targets_(target_offset(output_count)),
        scales_(2LL * scale_offset(output_count)) {
    memory_ = {.block = block_.data(),
               .weights = weights_.data(),
               .gradients = gradients_.data(),
               .slots = slots_.data(),
               .workspace = workspace_.data(),
               .seed = seed,
               .learning_rate = training_plan::training.optimizer.learning_rate,
               .valid_samples = batch};
    initialize(seed);
  }

  /// Where the samples of an input go: (batch, shape...).
  [[nodiscard]] float* input(int index) {
    return memory_.block + inference_plan::program.calls[input_call(index)].value;
  }
  /// Says how many samples the batch of the next steps has, from the first row on; the other rows only fill it.
  void set_valid_samples(int count) { memory_.valid_samples = count; }
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
  /// The weights are updated once per accumulation. What a layer's `forward` or `look` throws comes out, and no trained
  /// weight has changed.
  template <class Look>
  void train_step(Look&& look) {
    threads_.run(memory_, workspace_floats(), [this, &look](host_memory const& memory) {
      if (!run_forward<training_plan>(memory)) return;
      if constexpr (accumulation_steps > 1) begin_micro_batch(memory);
      if (memory.share.is_first()) {
        run_losses<training_plan>(std::make_index_sequence<output_count>{});
        look();
      }
      if (!host_threads<threads>::synchronize(memory) || !run_backward(memory)) return;
      if (micro_batch_ + 1 == accumulation_steps) run_updates(memory, std::make_index_sequence<storage.count>{});
    });
    ++memory_.step;
    if (++micro_batch_ == accumulation_steps) {
      ++memory_.update;
      micro_batch_ = 0;
    }
  }

  /// Forgets micro-batches whose weights have not been updated yet.
  void begin_accumulation() { micro_batch_ = 0; }

  /// Forward step and losses, as in evaluation.
  void test_step() {
    predict_step();
    run_losses<inference_plan>(std::make_index_sequence<output_count>{});
  }

  /// Forward step alone.
  void predict_step() {
    threads_.run(memory_, workspace_floats(), [](host_memory const& memory) { run_forward<inference_plan>(memory); });
  }

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
  static constexpr bool is_packed = graph.parameters[Parameter].layout == parameter_layout::matrix;
  template <std::size_t Parameter>
  using packed = kernels::packed_groups<graph.parameters[Parameter].rows(), graph.parameters[Parameter].columns(),
                                        graph.parameters[Parameter].groups, architecture>;

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
    using steps = operation<layer_t<M, static_cast<int>(Call)>>;
    if (detail::takes_part<steps>(memory)) steps::forward(host_call<Plan, static_cast<int>(Call)>{memory});
  }
  template <std::size_t Call>
  static void backward_step(host_memory const& memory) {
    using steps = operation<layer_t<M, static_cast<int>(Call)>>;
    if constexpr (training_plan::program.calls[Call].needs_gradient)
      if (detail::takes_part<steps>(memory)) steps::backward(host_call<training_plan, static_cast<int>(Call)>{memory});
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

  // False if the first thread has failed: then the others have nothing more to do.
  template <class Plan>
  static bool run_forward(host_memory const& memory) {
    static constexpr auto steps = forward_table<Plan>(call_indices{});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (Plan::program.calls[i].needs.view || graph.calls[i].is_input) continue;
      steps[i](memory);
      if (!host_threads<threads>::synchronize(memory)) return false;
    }
    return true;
  }

  static bool run_backward(host_memory const& memory) {
    static constexpr auto steps = backward_table(call_indices{});
    for (std::size_t i = steps.size(); i-- > 0;) {
      auto const& planned = training_plan::program.calls[i];
      if (!planned.needs_gradient || planned.needs.view) continue;
      steps[i](memory);
      if (!host_threads<threads>::synchronize(memory)) return false;
    }
    return true;
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
  void begin_micro_batch(host_memory const& memory) {
    using enum gradient_accumulation_reduction_method;
    constexpr auto method = Training.pipeline.reduction_method;
    auto const n = static_cast<float>(micro_batch_);
    if (memory.share.is_first()) {
      if (method == mean) gradient_factor_ = 1.0F / static_cast<float>(accumulation_steps);
      if (method == running_mean) gradient_factor_ = 1.0F / (n + 1.0F);
    }
    auto const [first, last] = memory.share.of(storage.floats, 16);
    float* const gradients = memory.gradients + first;
    if (micro_batch_ == 0)
      kernels::fill<architecture>(gradients, 0.0F, last - first);
    else if (method == running_mean)
      kernels::scaled_add<false, architecture>(n / (n + 1.0F), gradients, gradients, last - first);
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
  static void run_updates(host_memory const& memory, std::index_sequence<Parameter...>) {
    [[maybe_unused]] int const done[]{0, (run_update<Parameter>(memory), 0)...};
  }
  template <std::size_t Parameter>
  static void run_update(host_memory const& memory) {
    constexpr auto const& info = graph.parameters[Parameter];
    if constexpr (info.trainable && !updated_in_backward(Parameter)) {
      auto const [first, last] = memory.share.of(storage.size[Parameter], 16);
      auto const size = last - first;
      auto const offset = storage.offset[Parameter] + first;
      float* const gradient = memory.gradients + offset;
      float* const values = memory.weights + offset;
      if constexpr (!info.regularizer.empty()) {
        // Each micro-batch's loss contains the penalty: a sum of gradients contains it as often.
        constexpr bool sum = Training.pipeline.reduction_method == gradient_accumulation_reduction_method::sum;
        constexpr auto times = static_cast<float>(sum ? accumulation_steps : 1);
        constexpr regularizer penalty{info.regularizer.l1 * times, info.regularizer.l2 * times};
        kernels::add_regularization_gradient<architecture>(penalty, values, gradient, size);
      }
      kernels::update<Training.optimizer, architecture>(memory.learning_rate, memory.update, values, gradient,
                                                        memory.slots + offset, storage.floats, size);
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
  // Whole cache lines: each thread has its own part.
  static constexpr long long workspace_floats() {
    return (largest_workspace<training_plan>(call_indices{}) + 15) / 16 * 16;
  }

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
  host_threads<threads> threads_;
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
      if (came.size() == 1 && wanted.rank() > 1)
        hint = "; a flatten or a global pooling before the last layers may be missing";
      else if (came.size() == 1 && wanted.size() > 1)
        hint = "; class numbers need the loss sparse_categorical_crossentropy";
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
    session.set_valid_samples(static_cast<int>(rows.size()));
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

template <int Rank>
std::array<std::size_t, std::size_t{Rank}> extents_of(shape const& dimensions) {
  std::array<std::size_t, std::size_t{Rank}> extents{};
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    extents[axis] = static_cast<std::size_t>(dimensions[static_cast<int>(axis)]);
  return extents;
}

template <class M, fixed_name Name, class Session>
auto view_weight(Session& session) {
  constexpr int index = find_weight<M>(Name);
  static_assert(report<weight_name_problem<M, Name>>());
  constexpr auto weight = static_cast<std::size_t>(index < 0 ? 0 : index);
  constexpr auto const& dimensions = graph_of<M>.parameters[weight].shape;
  if constexpr (Session::template is_packed<weight>) {
    // (group, panel, row, lane) in memory; in front come the rows, then the columns, without those that only fill a
    // panel.
    using packed = typename Session::template packed<weight>;
    using matrix = typename packed::matrix;
    constexpr std::size_t groups{packed::groups}, panels{matrix::panels}, rows{packed::rows},
        lanes{matrix::panel_columns};
    std::array<std::size_t, 4> const extents{groups, panels, rows, lanes};
    std::array<std::ptrdiff_t, 4> const strides{groups == 1 ? 0 : matrix::size, panels == 1 ? 0 : matrix::panel_stride,
                                                rows == 1 ? 0 : matrix::panel_columns, 1};
    auto stored =
        xt::adapt(session.weight(weight), groups * panels * rows * lanes, xt::no_ownership(), extents, strides);
    auto padded = xt::reshape_view(xt::transpose(std::move(stored), std::array<std::size_t, 4>{2, 0, 1, 3}),
                                   std::array<std::size_t, 3>{rows, groups, panels * lanes});
    return xt::reshape_view(xt::view(std::move(padded), xt::all(), xt::all(), xt::range(0, matrix::columns)),
                            extents_of<dimensions.rank()>(dimensions));
  } else {
    return xt::adapt(session.weight(weight), static_cast<std::size_t>(dimensions.size()), xt::no_ownership(),
                     extents_of<dimensions.rank()>(dimensions));
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
