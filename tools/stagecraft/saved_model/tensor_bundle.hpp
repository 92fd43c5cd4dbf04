// SPDX-License-Identifier: BSD-3-Clause
// Reads TensorFlow's checkpoints: a table of names (variables.index), and files of bytes
// (variables.data-00000-of-00001). Sources: tensorflow/core/util/tensor_bundle, tensorflow/core/lib/io/format.h
// (LevelDB's table), core/protobuf/tensor_bundle.proto.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The place of a tensor in a checkpoint.
struct bundle_entry {
  std::int32_t type = 0;  ///< TensorFlow's number
  std::vector<std::int64_t> shape;
  std::int32_t shard = 0;
  std::uint64_t offset = 0, size = 0;
  std::uint32_t checksum = 0;
  bool is_sliced = false;  ///< its parts have other names
};

/// The files that a checkpoint is read from.
struct bundle_files {
  std::string index_name;  ///< name of the table in errors
  std::vector<std::byte> index;
  /// Opens a file of bytes by its number and the number of all files.
  std::function<std::unique_ptr<io::byte_source const>(int shard, int count)> open;
  bool has_checksums = true;  ///< false: checksums are not compared, so that a fuzzer's bytes reach the code after them
};

/// A checkpoint, whose tensors are read when they are asked for.
class tensor_bundle {
 public:
  /// Reads the table. Throws file_error E5100 if it is damaged, or of a kind that is not read.
  explicit tensor_bundle(bundle_files files);

  [[nodiscard]] bool contains(std::string const& name) const { return entries_.contains(name); }
  /// Reads a tensor of numbers. Throws file_error: E5001 a file of bytes cannot be read, E5100 it is damaged or has no
  /// tensor of this name, E5101 elements of a type that has no counterpart.
  [[nodiscard]] stored_tensor tensor(std::string const& name) const;
  /// Reads a single text. Errors as those of tensors.
  [[nodiscard]] std::string text(std::string const& name) const;

 private:
  struct place {
    std::uint64_t offset = 0, size = 0;
  };

  [[noreturn]] void damaged(std::string const& what) const;
  [[noreturn]] void damaged(std::string const& name, std::string const& what) const;
  [[nodiscard]] std::string_view block(place const& at, char const* what) const;
  template <class Visit>
  void for_each_entry(std::string_view block, Visit const& visit) const;
  void read_table();
  void read_header(std::string_view message);
  void read_entry(std::string const& name, std::string_view message);
  [[nodiscard]] bundle_entry const& entry(std::string const& name) const;
  [[nodiscard]] std::vector<std::byte> bytes_of(std::string const& name, bundle_entry const& entry) const;

  bundle_files files_;
  std::map<std::string, bundle_entry> entries_;
  int shards_ = 0;
  mutable std::map<int, std::unique_ptr<io::byte_source const>> opened_;
  mutable std::map<int, std::uint64_t> taken_;  ///< bytes that were read from each file
};

}  // namespace stagecraft::tool
