// SPDX-License-Identifier: BSD-3-Clause
// MNIST from its IDX files, as `keras.datasets.mnist.load_data()`, and other pairs of IDX files.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/datasets/idx.hpp>
#include <stagecraft/datasets/idx_file.hpp>
#include <stagecraft/datasets/labelled_split.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::datasets {

namespace detail {

inline labelled_data make_labelled_data(idx_view const& images, std::string const& images_name, idx_view const& labels,
                                        std::string const& labels_name, int classes) {
  if (images.header.type != idx_type::uint8 || images.header.shape.size() != 3) {
    complaint text(images_name);
    text.add("images, uint8 of shape (samples, rows, columns), found ").add(images.header);
    if (images.header.shape.size() == 1) text.add(": is this the file of the labels?");
    text.raise("E5005");
  }
  if (labels.header.type != idx_type::uint8 || labels.header.shape.size() != 1) {
    complaint text(labels_name);
    text.add("labels, uint8 of shape (samples), found ").add(labels.header);
    if (labels.header.shape.size() == 3) text.add(": is this the file of the images?");
    text.raise("E5005");
  }
  std::size_t const samples = labels.header.shape[0];
  std::size_t const rows = images.header.shape[1];
  std::size_t const columns = images.header.shape[2];
  if (images.header.shape[0] != samples) {
    complaint text(labels_name);
    text.add("as many labels as ")
        .add(images_name)
        .add(" has images, ")
        .add(images.header.shape[0])
        .add(", found ")
        .add(samples);
    text.raise("E5006");
  }
  if (images.data.empty()) {
    complaint(images_name).add("at least one image of at least one pixel, found ").add(images.header).raise("E5005");
  }
  for (std::size_t i = 0; i < samples; ++i) {
    if (labels.data[i] < classes) continue;
    complaint text(labels_name);
    text.add("labels from 0 to ")
        .add(static_cast<std::size_t>(classes > 0 ? classes - 1 : 0))
        .add(", found ")
        .add(labels.data[i])
        .add(" for sample ")
        .add(i);
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

/// The first of a file's usual names that exists, "" if none does: with '-' or '.' before "idx", plain before gzipped.
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
template <class Bytes = std::vector<unsigned char>>
labelled_data read_idx_pair(std::string const& images, std::string const& labels, int classes = 10) {
  // The small file is read first, so that an error in it is found before the large one is read.
  Bytes const label_bytes = detail::read_idx_bytes<Bytes>(labels);
  idx_view const label_view = parse_idx(label_bytes, labels);
  Bytes const image_bytes = detail::read_idx_bytes<Bytes>(images);
  return detail::make_labelled_data(parse_idx(image_bytes, images), images, label_view, labels, classes);
}

namespace detail {

/// The samples of `part`, "train" or "t10k".
template <class Bytes>
labelled_data read_mnist_part(std::string const& folder, char const* part) {
  std::string const images = find_mnist_file(folder, part, "images");
  std::string const labels = find_mnist_file(folder, part, "labels");
  if (images.empty() || labels.empty()) {
    complaint text(folder);
    text.add("a folder with ")
        .add(part)
        .add("-images-idx3-ubyte and ")
        .add(part)
        .add("-labels-idx1-ubyte (or .gz), found ")
        .add(!images.empty()   ? "no file of labels"
             : !labels.empty() ? "no file of images"
                               : "neither");
    text.raise("E5010");
  }
  labelled_data data = read_idx_pair<Bytes>(images, labels);
  if (data.x.shape()[1] != 28 || data.x.shape()[2] != 28) {
    complaint text(images);
    text.add("images of 28 x 28 pixels, found ").add(data.x.shape()[1]).add(" x ").add(data.x.shape()[2]);
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
/// If the folder has no train files, the t10k files are split: the first 85 % of their samples (8,500 of 10,000) are
/// `train`, the rest (the last 1,500) is `test`. Throws file_error as read_idx_pair does, and E5010 if files are
/// missing.
template <class Bytes = std::vector<unsigned char>>
labelled_split mnist(std::string const& folder) {
  bool const has_train_files = !detail::find_mnist_file(folder, "train", "images").empty() ||
                               !detail::find_mnist_file(folder, "train", "labels").empty();
  if (has_train_files)
    return {detail::read_mnist_part<Bytes>(folder, "train"), detail::read_mnist_part<Bytes>(folder, "t10k")};
  labelled_data const all = detail::read_mnist_part<Bytes>(folder, "t10k");
  std::size_t const samples = all.y.size();
  std::size_t const cut = samples - samples * 15 / 100;
  return {detail::copy_samples(all, 0, cut), detail::copy_samples(all, cut, samples)};
}

}  // namespace stagecraft::datasets

#include <stagecraft/diagnostics/end_headers.hpp>
