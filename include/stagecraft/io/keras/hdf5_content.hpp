// SPDX-License-Identifier: BSD-3-Clause
// The interface by which Keras's readers ask for the content of an HDF5 file, which this process or another one reads,
// and limits on the bytes of unpacked parts.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The most bytes that a packed part of a model's file may become: 64 MiB, or 32 times its bytes if that is more.
/// Trained weights become less than twice their bytes, zeros a thousand times theirs.
[[nodiscard]] constexpr std::uint64_t most_unpacked(std::uint64_t packed) noexcept {
  constexpr std::uint64_t least = std::uint64_t{64} << 20, growth = 32;
  return packed > std::numeric_limits<std::uint64_t>::max() / growth ? packed : std::max(least, packed * growth);
}

/// The most bytes of a model's description in JSON in an archive; parsed, it takes some twenty times as many.
inline constexpr std::uint64_t most_config_bytes = std::uint64_t{16} << 20;

/// An array of a file, as floats.
struct stored_array {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Groups, attributes of text, and arrays of numbers. Each question throws file_error E5061 if the file is damaged.
class hdf5_content {
 public:
  hdf5_content(hdf5_content const&) = delete;
  hdf5_content& operator=(hdf5_content const&) = delete;
  virtual ~hdf5_content() = default;

  /// The name of the file in errors.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  /// True if a path of hard links leads to a group, or to an array.
  [[nodiscard]] virtual bool has_group(std::string const& path) const = 0;
  [[nodiscard]] virtual bool has_array(std::string const& path) const = 0;
  /// The names of a group's members, sorted.
  [[nodiscard]] virtual std::vector<std::string> children(std::string const& group) const = 0;
  /// The text of an attribute of a group, if there is one.
  [[nodiscard]] virtual std::optional<std::string> text(std::string const& group,
                                                        std::string const& attribute) const = 0;
  /// The texts of an attribute. Keras divides long lists into "names0", "names1" and so on.
  [[nodiscard]] virtual std::vector<std::string> texts(std::string const& group,
                                                       std::string const& attribute) const = 0;
  /// An array of numbers. Throws E5061 if there is none.
  [[nodiscard]] virtual stored_array array(std::string const& path) const = 0;

  [[noreturn]] void damaged(std::string const& place, std::string const& what) const {
    throw file_error("E5061", name_ + ": " + (place.empty() ? "" : "'" + place + "' ") + what);
  }

 protected:
  explicit hdf5_content(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

}  // namespace stagecraft::io
