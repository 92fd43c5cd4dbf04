// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files as Keras writes them: groups, attributes of text, arrays of numbers. Needs libhdf5 (its C interface).
#pragma once

#include <cstddef>
#include <cstdint>
#include <hdf5.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// An array of a file, as floats.
struct stored_array {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// An open file, read only. Nothing outside of the file is followed: no external links, no external storage. No answer
/// takes more memory than the file can hold, deflated data at most 1032 times as much as they take in it.
///
/// Throws file_error: E5001 the file cannot be read, E5061 it is not an HDF5 file, or is damaged.
class hdf5_file {
 public:
  explicit hdf5_file(std::string const& path);
  /// A file in memory, under a name for errors.
  hdf5_file(std::vector<std::byte> bytes, std::string name);
  hdf5_file(hdf5_file const&) = delete;
  hdf5_file& operator=(hdf5_file const&) = delete;
  ~hdf5_file();

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  /// Whether there is a group, or an array, at a path of hard links.
  [[nodiscard]] bool has_group(std::string const& path) const { return kind_of(path) == H5O_TYPE_GROUP; }
  [[nodiscard]] bool has_array(std::string const& path) const { return kind_of(path) == H5O_TYPE_DATASET; }
  /// The names of what a group holds, in the order of their letters.
  [[nodiscard]] std::vector<std::string> children(std::string const& group) const;
  /// The text of an attribute of a group, if it has it.
  [[nodiscard]] std::optional<std::string> text(std::string const& group, std::string const& attribute) const;
  /// The texts of an attribute. Keras divides long lists into "names0", "names1" and so on.
  [[nodiscard]] std::vector<std::string> texts(std::string const& group, std::string const& attribute) const;
  /// An array of numbers. Throws E5061 if there is none.
  [[nodiscard]] stored_array array(std::string const& path) const;

  [[noreturn]] void damaged(std::string const& place, std::string const& what) const;

 private:
  void open(hid_t access);
  [[nodiscard]] H5O_type_t kind_of(std::string const& path) const;
  [[nodiscard]] std::optional<std::vector<std::string>> read_texts(std::string const& group,
                                                                   std::string const& attribute) const;

  std::string name_;
  std::vector<std::byte> bytes_;
  std::uint64_t size_ = 0;
  hid_t file_ = -1;
};

}  // namespace stagecraft::tool
