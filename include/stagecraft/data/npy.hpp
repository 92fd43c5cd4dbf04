// SPDX-License-Identifier: BSD-3-Clause
// The samples of an array in a .npy file, which need not fit in memory. Keras counterpart: np.load(path, mmap_mode="r")
// in tf.data.Dataset.from_generator. CMake: stagecraft::io.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/data/detail/file_rows.hpp>
#include <stagecraft/io/detail/npy_format.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data {

namespace detail {

/// A tensor of the shape and type of one sample, without its bytes. E5014 for an array whose samples do not lie one
/// after the other.
[[nodiscard]] inline stored_tensor row_of(io::npy_header const& header, std::string const& name) {
  if (header.shape.empty()) io::refuse("E5014", name, "expected an array of samples, found a single number");
  if (header.fortran_order && header.shape.size() > 1)
    io::refuse("E5014", name, "expected samples one after the other, found an array in Fortran's order");
  return {{}, header.type, {header.shape.begin() + 1, header.shape.end()}, {}};
}

}  // namespace detail

/// The samples along the first axis, as floats, read one by one when they are asked for. The file is opened here and
/// stays open. `sc::data::zip(sc::data::npy("x.npy"), sc::data::npy("y.npy"))` are samples to train with. Errors:
/// file_error E5001, E5013, E5014; E5014 for a single number, for an array of several axes in Fortran's order, whose
/// samples do not lie one after the other, and for more samples without numbers than an int can count; E5205, when the
/// sample is read, for a number beyond float32.
[[nodiscard]] inline dataset<xt::xarray<float>> npy(std::string const& path) {
  auto source = std::make_shared<io::byte_source const>(path);
  auto const [header, first] = io::read_npy_header(*source);
  auto row = detail::row_of(header, path);
  auto const bytes = io::bytes_of(row.shape, size_of(row.type)).value_or(0);
  detail::file_array from{std::move(source), first, static_cast<std::size_t>(bytes), header.shape[0], {}};
  for (auto const extent : row.shape) from.shape.push_back(static_cast<std::size_t>(extent));
  return detail::dataset_of_file(
      std::move(from),
      [row, path](std::span<std::byte const> of, std::span<float> to, std::int64_t sample) mutable {
        row.bytes.assign(of.begin(), of.end());
        std::ranges::copy(io::to_floats(row, path + ": sample " + std::to_string(sample)), to.begin());
      },
      "E5014");
}

}  // namespace stagecraft::data

#include <stagecraft/diagnostics/end_headers.hpp>
