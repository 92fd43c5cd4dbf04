// SPDX-License-Identifier: BSD-3-Clause
// The samples of an array in a .npz file, which need not fit in memory. Keras counterpart: np.load(path)["x"] in
// tf.data.Dataset.from_tensor_slices. CMake: stagecraft::io.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/data/npy.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft::data {

namespace detail {

/// The facts of an array that a pass over it needs.
struct npz_array {
  std::string path, member;
  std::int64_t count = 0;  // number of samples
  std::uint64_t header_bytes = 0;
  stored_tensor row;  // a sample, without its bytes
  std::size_t row_bytes = 0;
  std::vector<std::size_t> shape;  // shape of a sample
};

/// Samples in the order of the file, which is unpacked on the way.
class npz_stream final : public stream<xt::xarray<float>> {
 public:
  explicit npz_stream(std::shared_ptr<npz_array const> array)
      : array_(std::move(array)), from_(array_->path, array_->member), part_(array_->row), left_(array_->count) {
    std::vector<std::byte> header(static_cast<std::size_t>(array_->header_bytes));
    from_.read(header);
  }
  std::optional<xt::xarray<float>> next() override {
    if (left_ == 0) return std::nullopt;
    auto sample = xt::xarray<float>::from_shape(array_->shape);
    auto const size = size_of(part_.type);
    // A part at a time: the bytes are not kept as a whole.
    for (std::size_t at = 0; at < array_->row_bytes; at += part_.bytes.size()) {
      part_.bytes.resize(std::min(array_->row_bytes - at, most_part * size));
      from_.read(part_.bytes);
      std::ranges::copy(io::to_floats(part_, place(), at / size), sample.data() + at / size);
    }
    if (--left_ == 0) from_.finish();  // all bytes are read: compares the checksum
    return sample;
  }

 private:
  /// The array and the sample, for errors.
  [[nodiscard]] std::string place() const { return from_.name() + ": sample " + std::to_string(array_->count - left_); }

  static constexpr std::size_t most_part = 1 << 14;  // numbers that are unpacked at once

  std::shared_ptr<npz_array const> array_;
  io::zip_stream from_;
  stored_tensor part_;  // the part of a sample that is unpacked now
  std::int64_t left_;
};

}  // namespace detail

/// The samples along the first axis of an array in a file that np.savez or np.savez_compressed wrote, as floats. Each
/// pass reads the file from its beginning and unpacks it sample by sample. `zip(npz("digits.npz", "x_train"),
/// npz("digits.npz", "y_train"))` are samples to train with. A pass takes memory for the floats of one sample. Errors:
/// file_error E5001, E5013, E5014, E5015, as read_npz; E5014 for a single number, for an array of several axes in
/// Fortran's order, whose samples do not lie one after the other, and for more samples without numbers than an int can
/// count; E5015 if there is no such array; E5205, when the sample is read, for a number beyond float32.
[[nodiscard]] inline dataset<xt::xarray<float>> npz(std::string const& path, std::string const& name) {
  auto array = std::make_shared<detail::npz_array>();
  array->path = path, array->member = name + ".npy";
  io::zip_stream from(path, array->member);
  io::zip_stream_head head(from);
  auto [header, first] = io::read_npy_header(head);
  array->row = detail::row_of(header, from.name());
  array->count = header.shape[0];
  array->header_bytes = first;
  if (array->count > 0)
    array->row_bytes = static_cast<std::size_t>((from.size() - first) / static_cast<std::uint64_t>(array->count));
  for (auto const extent : array->row.shape) array->shape.push_back(static_cast<std::size_t>(extent));
  detail::check_sample_size(array->shape, array->count, from.name(), "E5014");
  auto const count = array->count;
  return {count, [array = std::shared_ptr<detail::npz_array const>(std::move(array))](std::uint64_t) {
            return std::make_unique<detail::npz_stream>(array);
          }};
}

}  // namespace stagecraft::data

#include <stagecraft/diagnostics/end_headers.hpp>
