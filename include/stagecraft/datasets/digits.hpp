// SPDX-License-Identifier: BSD-3-Clause
// The built-in data set: handwritten-like digits, drawn by the library, with no file. It stands in for
// `keras.datasets.mnist.load_data()`, without a download.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/datasets/detail/digit_canvas.hpp>
#include <stagecraft/datasets/labelled_split.hpp>

#include <cstddef>
#include <cstdint>

namespace stagecraft::datasets {

/// Numbers of digits, and their seed. The defaults are multiples of 32 x 128 samples: 128 steps of 32.
struct digits_options {
  /// The number of images to train on.
  std::size_t train = 24576;
  /// The number of other images, to evaluate on.
  std::size_t test = 4096;
  /// The digits that are drawn and their distortions follow from it.
  std::uint64_t seed = 1;
};

namespace detail {

/// The handwriting of one person at one moment: a bent and shaken map from glyph units to the canvas.
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
  static constexpr int unit = 16;                                              // parts of a glyph's unit
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

/// Draws one digit, and now and then a stray stroke.
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

/// Draws handwritten-like digits: `options.train` samples for training and `options.test` others for evaluation.
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

#include <stagecraft/diagnostics/end_headers.hpp>
