// SPDX-License-Identifier: BSD-3-Clause
// The image of a file, and its conversion to another size.
#pragma once

#include <stagecraft/layers/interpolation.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft::data::detail {

/// Rows of pixels; a pixel has a number from 0 to 255 for each channel.
struct pixels {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> values;
};

/// The most pixels of an image in memory: a file of few bytes may claim very many.
inline constexpr std::uint64_t most_pixels = std::uint64_t{1} << 28;
/// The most pixels that a byte of a JPEG file can become, and the most bytes of unpacked rows that a byte of a PNG file
/// can.
inline constexpr std::uint64_t most_growth_of_byte = 1032;

/// Along one axis: the first pixel that contributes to a new one, and the shares of the pixels from there on.
struct taken_pixels {
  int first = 0;
  std::vector<float> shares;
};

/// The share of a pixel at a distance from the place of the new one.
[[nodiscard]] inline float share_at(interpolation how, float distance) {
  float const d = std::fabs(distance);
  if (how == interpolation::bicubic)
    return d < 1 ? (1.5F * d - 2.5F) * d * d + 1 : d < 2 ? ((-0.5F * d + 2.5F) * d - 4) * d + 2 : 0.0F;
  return std::max(0.0F, 1 - d);
}

/// The shares that each of `to` new pixels takes from `count` old ones that begin at `begin`, as in the layer
/// `resizing`.
[[nodiscard]] inline std::vector<taken_pixels> taken_by(int begin, int count, int to, interpolation how) {
  std::vector<taken_pixels> result(static_cast<std::size_t>(to));
  float const scale = static_cast<float>(count) / static_cast<float>(to);
  for (int i = 0; i < to; ++i) {
    auto& own = result[static_cast<std::size_t>(i)];
    auto const at = static_cast<float>(i);
    if (how == interpolation::nearest) {
      own = {begin + std::min(static_cast<int>((at + 0.5F) * scale), count - 1), {1}};
      continue;
    }
    auto place = (at + 0.5F) * scale - 0.5F;
    if (how == interpolation::bilinear) place = std::clamp(place, 0.0F, static_cast<float>(count - 1));
    int const reach = how == interpolation::bicubic ? 2 : 1;
    bool const is_area = how == interpolation::area;
    int const from = is_area ? static_cast<int>(at * scale) : static_cast<int>(std::floor(place)) - reach + 1;
    int const end = is_area ? static_cast<int>(std::ceil((at + 1) * scale)) : from + 2 * reach;
    float sum = 0;
    own.first = std::max(from, 0);
    for (int k = own.first; k < std::min(end, count); ++k) {
      auto const pixel = static_cast<float>(k);
      own.shares.push_back(is_area ? std::max(0.0F, std::min((at + 1) * scale, pixel + 1) - std::max(at * scale, pixel))
                                   : share_at(how, place - pixel));
      sum += own.shares.back();
    }
    for (float& share : own.shares) share /= sum;
    own.first += begin;
  }
  return result;
}

/// Writes `height * width * channels` numbers, in row-major order: the part of an image that `rows` and `columns`
/// select.
inline void resize(pixels const& from, std::vector<taken_pixels> const& rows, std::vector<taken_pixels> const& columns,
                   std::span<float> to) {
  auto const channels = static_cast<std::size_t>(from.channels);
  auto const line = static_cast<std::size_t>(from.width) * channels;
  std::vector<float> mixed(line);
  auto* at = to.data();
  for (auto const& row : rows) {
    std::fill(mixed.begin(), mixed.end(), 0.0F);
    for (std::size_t k = 0; k < row.shares.size(); ++k) {
      auto const* const source = from.values.data() + (static_cast<std::size_t>(row.first) + k) * line;
      for (std::size_t i = 0; i < line; ++i) mixed[i] += row.shares[k] * static_cast<float>(source[i]);
    }
    for (auto const& column : columns)
      for (std::size_t channel = 0; channel < channels; ++channel) {
        float sum = 0;
        for (std::size_t k = 0; k < column.shares.size(); ++k)
          sum += column.shares[k] * mixed[(static_cast<std::size_t>(column.first) + k) * channels + channel];
        *at++ = sum;
      }
  }
}

}  // namespace stagecraft::data::detail
