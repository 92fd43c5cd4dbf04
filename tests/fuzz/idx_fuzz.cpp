// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the readers of IDX and gzip. The first byte chooses: a file in memory, a pair of files (the
// second byte is the length of the labels' file), or a gzipped file. Anything but a file_error or consistent data
// fails.
#include <stagecraft/datasets/gzip.hpp>
#include <stagecraft/datasets/mnist.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace datasets = stagecraft::datasets;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(std::span<unsigned char const> bytes) {
  datasets::idx_view const view = datasets::parse_idx(bytes, "fuzz");
  std::size_t size = datasets::size_of(view.header.type);
  for (std::size_t const extent : view.header.shape) size *= extent;
  require(size == view.data.size());
  require(view.header.header_bytes + size == bytes.size());
}

void check_pair(std::span<unsigned char const> labels, std::span<unsigned char const> images) {
  datasets::idx_view const label_view = datasets::parse_idx(labels, "labels");
  datasets::idx_view const image_view = datasets::parse_idx(images, "images");
  auto const data = datasets::detail::make_labelled_data(image_view, "images", label_view, "labels", 10);
  require(data.x.shape()[0] == data.y.size());
  require(data.x.size() == image_view.data.size());
  for (float const shade : data.x) require(shade >= 0.0f && shade <= 1.0f);
  for (std::int32_t const label : data.y) require(label >= 0 && label <= 9);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size < 2) return 0;
  std::span<unsigned char const> const rest(bytes + 2, size - 2);
  std::size_t const length = bytes[1] < rest.size() ? bytes[1] : rest.size();
  try {
    switch (bytes[0] % 3) {
      case 0: check(rest); break;
      case 1: check_pair(rest.first(length), rest.subspan(length)); break;
      default: check(datasets::detail::gunzip_idx(rest, "fuzz")); break;
    }
  } catch (stagecraft::file_error const& error) {
    require(error.code().substr(0, 3) == "E50");
  }
  return 0;
}
