// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files that a process of its own reads: libhdf5 has crashed on files that were made for it.
#pragma once

#include <stagecraft/io/keras/hdf5_content.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace stagecraft::io {
class hdf5_file;
}

namespace stagecraft::tool {

/// The answer of the process that reads HDF5, a copy of this one: numbers and texts in their order. Nothing that it
/// says is trusted: what is longer than the answer throws malformed.
class hdf5_answer {
 public:
  struct malformed {};

  explicit hdf5_answer(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] std::string text();
  [[nodiscard]] std::vector<std::string> texts();
  [[nodiscard]] std::vector<float> floats();

 private:
  std::byte const* take(std::uint64_t count);

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

/// An open file. The other process has 256 MiB and 64 times the file's size as its memory, and five seconds of a
/// processor and one for each MB; an answer is no longer than that memory, and comes within ten times that by the
/// clock. The program has no other thread when this is made.
///
/// Throws file_error: what io::hdf5_file throws, and E5105 if that process has ended otherwise than it should.
class hdf5_process final : public io::hdf5_content {
 public:
  static constexpr std::chrono::seconds by_size{-1};

  /// `patience`: how long each answer is waited for.
  explicit hdf5_process(std::string const& path, std::chrono::seconds patience = by_size);
  /// A file in memory, under a name for errors.
  hdf5_process(std::vector<std::byte> bytes, std::string name, std::chrono::seconds patience = by_size);
  ~hdf5_process() override;

  [[nodiscard]] bool has_group(std::string const& path) const override;
  [[nodiscard]] bool has_array(std::string const& path) const override;
  [[nodiscard]] std::vector<std::string> children(std::string const& group) const override;
  [[nodiscard]] std::optional<std::string> text(std::string const& group, std::string const& attribute) const override;
  [[nodiscard]] std::vector<std::string> texts(std::string const& group, std::string const& attribute) const override;
  [[nodiscard]] io::stored_array array(std::string const& path) const override;

 private:
  void start(std::uint64_t size, std::function<std::unique_ptr<io::hdf5_file>()> const& open);
  /// Asks with a path, and the name of an attribute. What the answer holds is read by `read`.
  template <class Read>
  auto ask(char what, std::string const& path, std::string const& attribute, Read const& read) const;
  [[nodiscard]] hdf5_answer answer(char what, std::string const& path, std::string const& attribute) const;
  [[noreturn]] void ended(std::string const& path, bool is_late = false) const;

  std::chrono::seconds patience_;
  std::uint64_t most_memory_ = 0;
  int socket_ = -1;
  mutable pid_t process_ = -1;
};

}  // namespace stagecraft::tool
