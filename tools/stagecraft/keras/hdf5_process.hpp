// SPDX-License-Identifier: BSD-3-Clause
// Reads HDF5 files in a process of its own, since libhdf5 has crashed on hostile files.
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

/// The answer of the process that reads HDF5, a copy of this one: numbers and texts in their order. Nothing in it is
/// trusted: reading past its end throws malformed.
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

/// An open file. The other process may use 256 MiB plus 64 times the file's size as its memory, and five seconds of
/// processor time plus one for each MB; an answer is no longer than that memory, and must come within ten times that
/// time by the clock. The program must have no other thread when this is made.
///
/// Throws the errors of io::hdf5_file, and file_error E5105 if the process ends unexpectedly.
class hdf5_process final : public io::hdf5_content {
 public:
  static constexpr std::chrono::seconds by_size{-1};

  /// `patience`: the longest wait for an answer.
  explicit hdf5_process(std::string const& path, std::chrono::seconds patience = by_size);
  /// Opens a file in memory; errors call it `name`.
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
  /// Asks a question about a path and an attribute; `read` reads the answer.
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
