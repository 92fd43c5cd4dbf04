// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files as Keras writes them: groups, attributes of text, arrays of numbers. Needs libhdf5 (its C interface).
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/keras/hdf5_content.hpp>
#include <stagecraft/io/keras/hdf5_handle.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hdf5.h>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The number of elements of a space; the largest number if they are too many to count.
[[nodiscard]] inline std::uint64_t elements_of(std::vector<hsize_t> const& shape) {
  std::uint64_t count = 1;
  for (auto const length : shape) {
    if (length != 0 && count > std::numeric_limits<std::uint64_t>::max() / length)
      return std::numeric_limits<std::uint64_t>::max();
    count *= length;
  }
  return count;
}

[[nodiscard]] inline std::vector<hsize_t> hdf5_shape_of(hid_t space) {
  int const rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> shape(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (rank > 0) H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return shape;
}

/// An open file, read only. Links and storage outside the file are refused. Each array, and all arrays together, may
/// become 64 MiB, or 32 times the bytes that they take in the file if that is more; a text that several attributes
/// share counts for each of them.
///
/// libhdf5 reads in this process, without a time limit: a hostile file can keep it busy for ever, or end the program.
/// Read files of strangers in a process with limits, as `stagecraft import` does.
///
/// Throws file_error: E5001 the file cannot be read, E5061 it is not an HDF5 file, or is damaged, E5205 a number of an
/// array is beyond float32, E5220 arrays become larger than they may.
class hdf5_file final : public hdf5_content {
 public:
  explicit hdf5_file(std::string const& path);
  /// Opens a file in memory; errors call it `name`.
  hdf5_file(std::vector<std::byte> bytes, std::string name);
  ~hdf5_file() override;

  [[nodiscard]] bool has_group(std::string const& path) const override { return kind_of(path) == H5G_GROUP; }
  [[nodiscard]] bool has_array(std::string const& path) const override { return kind_of(path) == H5G_DATASET; }
  [[nodiscard]] std::vector<std::string> children(std::string const& group) const override;
  [[nodiscard]] std::optional<std::string> text(std::string const& group, std::string const& attribute) const override;
  [[nodiscard]] std::vector<std::string> texts(std::string const& group, std::string const& attribute) const override;
  [[nodiscard]] stored_array array(std::string const& path) const override;
  /// The whole number at a path. Throws E5061 if there is none.
  [[nodiscard]] std::int64_t whole_number(std::string const& path) const;

 private:
  void open(hid_t access);
  /// Counts an array that is about to be read. Its values must lie in the file and be no more than its bytes can
  /// become.
  void check_room(std::string const& path, hid_t id, hid_t type, std::vector<hsize_t> const& lengths) const;
  [[nodiscard]] H5G_obj_t kind_of(std::string const& path) const;
  [[nodiscard]] std::optional<std::vector<std::string>> read_texts(std::string const& group,
                                                                   std::string const& attribute) const;

  std::vector<std::byte> bytes_;
  std::uint64_t size_ = 0;
  mutable std::uint64_t listed_ = 0;    ///< groups and links that were listed
  mutable std::uint64_t read_ = 0;      ///< bytes of the file that were read as arrays
  mutable std::uint64_t unpacked_ = 0;  ///< bytes of these arrays in memory
  hid_t file_ = -1;
};

inline hdf5_file::hdf5_file(std::string const& path) : hdf5_content(path), size_(byte_source(path).size()) {
  open(H5P_DEFAULT);
}

inline hdf5_file::hdf5_file(std::vector<std::byte> bytes, std::string name)
    : hdf5_content(std::move(name)), bytes_(std::move(bytes)), size_(bytes_.size()) {
  hdf5_handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, 1 << 16, false);
  H5Pset_file_image(access, bytes_.data(), bytes_.size());
  open(access);
}

inline hdf5_file::~hdf5_file() {
  if (file_ >= 0) H5Fclose(file_);
}

inline void hdf5_file::open(hid_t access) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are reported once, by this library
  file_ = H5Fopen(name().c_str(), H5F_ACC_RDONLY, access);
  if (file_ < 0) damaged("", "is not an HDF5 file, or is damaged");
}

inline H5G_obj_t hdf5_file::kind_of(std::string const& path) const {
  if (path.empty() || path == "/") return H5G_GROUP;
  // Each part must be a hard link: others could lead out of the file.
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    auto const part = path.substr(0, slash);
    H5L_info_t link{};
    if (H5Lexists(file_, part.c_str(), H5P_DEFAULT) <= 0) return H5G_UNKNOWN;
    if (H5Lget_info(file_, part.c_str(), &link, H5P_DEFAULT) < 0) return H5G_UNKNOWN;
    if (link.type != H5L_TYPE_HARD) damaged(part, "is a link to somewhere else, which is not followed");
    if (slash == std::string::npos) break;
  }
  H5G_stat_t info{};  // unlike H5O_info_t, the same in all releases
  if (H5Gget_objinfo(file_, path.c_str(), false, &info) < 0) damaged(path, "is damaged");
  return info.type;
}

inline std::vector<std::string> hdf5_file::children(std::string const& group) const {
  if (!has_group(group)) return {};
  hdf5_handle const id(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  std::vector<std::string> names;
  H5G_info_t info{};
  if (id < 0 || H5Gget_info(id, &info) < 0 || info.nlinks > size_) damaged(group, "is damaged");
  constexpr std::uint64_t least_link = 8;  // bytes of the file, and more
  listed_ += 1 + info.nlinks;
  if (listed_ > size_ / least_link) damaged(group, "is a group that several others have");
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    auto const length = H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
    if (length < 0 || static_cast<std::uint64_t>(length) > size_) damaged(group, "is damaged");
    std::string name(static_cast<std::size_t>(length), '\0');
    H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size() + 1, H5P_DEFAULT);
    names.push_back(std::move(name));
  }
  return names;
}

inline std::optional<std::vector<std::string>> hdf5_file::read_texts(std::string const& group,
                                                                     std::string const& attribute) const {
  if (!has_group(group)) return std::nullopt;
  auto const place = group + " (attribute " + attribute + ")";
  auto const* const path = group.empty() ? "/" : group.c_str();
  if (H5Aexists_by_name(file_, path, attribute.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
  hdf5_handle const id(H5Aopen_by_name(file_, path, attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  hdf5_handle const type(H5Aget_type(id), H5Tclose);
  hdf5_handle const space(H5Aget_space(id), H5Sclose);
  if (id < 0 || type < 0 || space < 0) damaged(place, "is damaged");
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return std::vector<std::string>{};
  auto const count = elements_of(hdf5_shape_of(space));
  if (count == 0) return std::vector<std::string>{};  // Python's empty list is an array of floats
  if (H5Tget_class(type) != H5T_STRING) damaged(place, "is no text");
  auto const each = H5Tget_size(type);
  if (each == 0 || count > size_ / each) damaged(place, "claims to be larger than the file");
  std::vector<std::string> result;
  result.reserve(static_cast<std::size_t>(count));
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> texts(static_cast<std::size_t>(count), nullptr);
    hdf5_handle const memory(H5Tcopy(type), H5Tclose);
    if (H5Aread(id, memory, texts.data()) < 0) damaged(place, "is damaged");
    for (auto* text : texts) result.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, texts.data());
  } else {
    std::string all(static_cast<std::size_t>(count) * each, '\0');
    if (H5Aread(id, type, all.data()) < 0) damaged(place, "is damaged");
    for (std::size_t i = 0; i < count; ++i) {
      auto const text = all.substr(i * each, each);
      result.push_back(text.substr(0, text.find('\0')));
    }
  }
  return result;
}

inline std::optional<std::string> hdf5_file::text(std::string const& group, std::string const& attribute) const {
  auto const found = read_texts(group, attribute);
  if (!found) return std::nullopt;
  if (found->size() != 1) damaged(group + " (attribute " + attribute + ")", "is a list, not a text");
  return found->front();
}

inline std::vector<std::string> hdf5_file::texts(std::string const& group, std::string const& attribute) const {
  if (auto all = read_texts(group, attribute)) return *std::move(all);
  std::vector<std::string> result;
  for (int part = 0;; ++part) {
    auto const more = read_texts(group, attribute + std::to_string(part));
    if (!more) return result;
    result.insert(result.end(), more->begin(), more->end());
  }
}

inline void hdf5_file::check_room(std::string const& path, hid_t id, hid_t type,
                                  std::vector<hsize_t> const& lengths) const {
  hdf5_handle const creation(H5Dget_create_plist(id), H5Pclose);
  if (creation < 0) damaged(path, "is damaged");
  if (H5Pget_external_count(creation) > 0 || H5Pget_layout(creation) == H5D_VIRTUAL)
    damaged(path, "has its values in another file, which is not read");
  auto const count = elements_of(lengths);
  constexpr std::uint64_t most_growth = 1032;  // the most bytes that a byte of a deflated stream becomes
  auto const stored = H5Dget_storage_size(id);
  auto const room = H5Pget_layout(creation) == H5D_CHUNKED ? stored * most_growth : stored;
  if (stored > size_ || count > room / H5Tget_size(type)) damaged(path, "claims to be larger than its bytes");
  auto const unpacked = count * std::max<std::uint64_t>(H5Tget_size(type), sizeof(float));
  unpacked_ += unpacked;
  if (unpacked > most_unpacked(stored) || unpacked_ > most_unpacked(size_))
    refuse("E5220", name(),
           "'" + path + "' becomes " + std::to_string(unpacked) + " bytes from " + std::to_string(stored) +
               ", and all arrays " + std::to_string(unpacked_) + " from the file's " + std::to_string(size_) +
               ", expected at most " + std::to_string(most_unpacked(stored)) + " and " +
               std::to_string(most_unpacked(size_)));
  if (H5Pget_layout(creation) == H5D_CHUNKED && count > 0) {  // libhdf5 allocates a whole chunk
    std::vector<hsize_t> chunk(lengths.size());
    if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0 ||
        elements_of(chunk) > room / H5Tget_size(type))
      damaged(path, "claims to have chunks larger than its bytes");
  }
  read_ += stored;
  if (read_ > 4 * size_) damaged(path, "is an array under several names");
}

inline stored_array hdf5_file::array(std::string const& path) const {
  if (!has_array(path)) damaged(path, "is not there, or no array");
  hdf5_handle const id(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  hdf5_handle const type(H5Dget_type(id), H5Tclose);
  hdf5_handle const space(H5Dget_space(id), H5Sclose);
  if (id < 0 || type < 0 || space < 0) damaged(path, "is damaged");
  auto const kind = H5Tget_class(type);
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) damaged(path, "is no array of numbers");
  auto const lengths = hdf5_shape_of(space);
  auto const count = elements_of(lengths);
  check_room(path, id, type, lengths);
  stored_array result{path, {lengths.begin(), lengths.end()}, std::vector<float>(static_cast<std::size_t>(count))};

  if (count == 0) return result;
  auto const read = [&](hid_t as, void* to) {
    if (H5Dread(id, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0) damaged(path, "is damaged");
  };
  if (kind == H5T_INTEGER || H5Tget_size(type) <= sizeof(float)) {
    read(H5T_NATIVE_FLOAT, result.values.data());
    return result;
  }
  // libhdf5 would turn numbers beyond float32 into infinities.
  std::vector<double> wide(result.values.size());
  read(H5T_NATIVE_DOUBLE, wide.data());
  for (std::size_t i = 0; i < wide.size(); ++i)
    result.values[i] =
        narrowed(wide[i], [&] { return name() + ": array '" + path + "': element" + place_text(result.shape, i); });
  return result;
}

inline std::int64_t hdf5_file::whole_number(std::string const& path) const {
  if (!has_array(path)) damaged(path, "is not there, or no number");
  hdf5_handle const id(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  hdf5_handle const type(H5Dget_type(id), H5Tclose), space(H5Dget_space(id), H5Sclose);
  if (id < 0 || type < 0 || space < 0) damaged(path, "is damaged");
  auto const lengths = hdf5_shape_of(space);
  check_room(path, id, type, lengths);
  std::int64_t number = 0;
  if (H5Tget_class(type) != H5T_INTEGER || elements_of(lengths) != 1 ||
      H5Dread(id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number) < 0 || number < 0)
    damaged(path, "is no whole number from 0");
  return number;
}

}  // namespace stagecraft::io
