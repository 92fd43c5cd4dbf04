// SPDX-License-Identifier: BSD-3-Clause
// The samples of an IDX file, such as MNIST's, which need not fit in memory. CMake: stagecraft::io.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/data/detail/file_rows.hpp>
#include <stagecraft/datasets/idx.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace stagecraft::data {

namespace detail {

/// Converts numbers of an IDX file, which are big-endian, to floats.
struct idx_to_floats {
  datasets::idx_type type;
  std::string name;  ///< name of the file, for errors

  template <class Number>
  void convert(std::span<std::byte const> of, std::span<float> to, std::int64_t sample) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::array<std::byte, sizeof(Number)> bytes;
      std::reverse_copy(of.begin() + static_cast<std::ptrdiff_t>(i * sizeof(Number)),
                        of.begin() + static_cast<std::ptrdiff_t>((i + 1) * sizeof(Number)), bytes.begin());
      auto const number = std::bit_cast<Number>(bytes);
      if constexpr (std::is_same_v<Number, double>)
        to[i] = io::narrowed(
            number, [&] { return name + ": sample " + std::to_string(sample) + ": number " + std::to_string(i); });
      else
        to[i] = static_cast<float>(number);
    }
  }
  void operator()(std::span<std::byte const> of, std::span<float> to, std::int64_t sample) const {
    using enum datasets::idx_type;
    switch (type) {
      case uint8: return convert<std::uint8_t>(of, to, sample);
      case int8: return convert<std::int8_t>(of, to, sample);
      case int16: return convert<std::int16_t>(of, to, sample);
      case int32: return convert<std::int32_t>(of, to, sample);
      case float32: return convert<float>(of, to, sample);
      case float64: return convert<double>(of, to, sample);
    }
  }
};

}  // namespace detail

/// The samples along the first axis, as floats, read one by one when they are asked for. The file is opened here and
/// stays open. Bytes are numbers from 0 to 255; `map` scales them. The file must not be compressed. Errors: file_error
/// E5001 to E5004, as read_mnist; E5205, when the sample is read, for a double beyond float32.
[[nodiscard]] inline dataset<xt::xarray<float>> idx(std::string const& path) {
  auto source = std::make_shared<io::byte_source const>(path);
  auto const begin = source->read(0, std::min<std::uint64_t>(source->size(), datasets::idx_max_header_bytes));
  auto const header =
      datasets::parse_idx_header({reinterpret_cast<unsigned char const*>(begin.data()), begin.size()}, path);
  datasets::check_data_bytes(header, static_cast<std::size_t>(source->size()) - header.header_bytes, path);
  detail::file_array from{std::move(source),
                          header.header_bytes,
                          datasets::size_of(header.type),
                          static_cast<std::int64_t>(header.shape[0]),
                          {header.shape.begin() + 1, header.shape.end()}};
  for (auto const extent : from.shape) from.row_bytes *= extent;
  return detail::dataset_of_file(std::move(from), detail::idx_to_floats{header.type, path}, "E5002");
}

}  // namespace stagecraft::data

#include <stagecraft/diagnostics/end_headers.hpp>
