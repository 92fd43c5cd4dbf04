// SPDX-License-Identifier: BSD-3-Clause
// An array in a file, of which one sample after the other is read.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// The place of an array's samples in a file, and the conversion of their bytes to floats.
struct file_array {
  std::shared_ptr<io::byte_source const> source;
  std::uint64_t first = 0;         // offset of the first sample in bytes
  std::size_t row_bytes = 0;       // bytes of a sample
  std::int64_t count = 0;          // number of samples
  std::vector<std::size_t> shape;  // shape of a sample
};

/// `convert(bytes, floats, sample)` converts a sample; `sample` is its number, for errors.
template <class Convert>
class file_rows final : public stream<xt::xarray<float>> {
 public:
  file_rows(file_array from, Convert convert)
      : from_(std::move(from)),
        convert_(std::move(convert)),
        bytes_(from_.count > 0 ? from_.row_bytes : 0) {}  // without samples, the file has no bytes of them
  std::optional<xt::xarray<float>> next() override {
    if (at_ == from_.count) return std::nullopt;
    from_.source->read(from_.first + static_cast<std::uint64_t>(at_) * bytes_.size(), bytes_);
    auto sample = xt::xarray<float>::from_shape(from_.shape);
    convert_(std::span<std::byte const>(bytes_), std::span<float>(sample.data(), sample.size()), at_);
    ++at_;
    return sample;
  }

 private:
  file_array from_;
  Convert convert_;
  std::vector<std::byte> bytes_;
  std::int64_t at_ = 0;
};

/// Refuses samples with more numbers than an int can count, even if there are no samples; and more samples without
/// numbers than an int can count, since a small file may claim so many that no pass ends.
inline void check_sample_size(std::vector<std::size_t> const& shape, std::int64_t count, std::string const& name,
                              char const* code) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  std::size_t numbers = 1;
  bool is_empty = false;
  for (auto const extent : shape) {
    if (count > 0 && extent > most / numbers)
      io::refuse(code, name, "expected samples of at most 2147483647 numbers, found more");
    is_empty = is_empty || extent == 0;
    if (extent > 0) numbers *= extent;
  }
  if (is_empty && count > static_cast<std::int64_t>(most))
    io::refuse(code, name, "expected at most 2147483647 samples without numbers, found " + std::to_string(count));
}

/// \param code as for check_sample_size
template <class Convert>
[[nodiscard]] dataset<xt::xarray<float>> dataset_of_file(file_array from, Convert convert, char const* code) {
  auto const count = from.count;
  check_sample_size(from.shape, count, from.source->name(), code);
  return {count, [from = std::move(from), convert = std::move(convert)](std::uint64_t) {
            return std::make_unique<file_rows<Convert>>(from, convert);
          }};
}

}  // namespace stagecraft::data::detail
